"""Bad input and faults: a code that says of which kind, a hint, no traceback, and nothing stored is lost."""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from cli.kit import PROGRAM, Command, Done, always, clean_environment, said, script

from roundtable.cli.main import complete_words
from roundtable.providers.local import SMOLLM2
from roundtable.results.debate_result import DebateResult
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply
from roundtable.types import JsonObject

pytestmark = pytest.mark.slow

CANARY = "sk-canary-8f14e45fceea167a"
KEY_REFUSED = http_reply(b'{"error":{"message":"bad key","code":"invalid_api_key"}}', status=401)


def is_plain_fault(done: Done, code: int) -> bool:
    assert done.code == code
    assert "Traceback" not in done.both
    assert "Hint: " in done.err
    assert done.err.startswith("Error: ") or "\nError: " in done.err
    return True


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param([""], 2, "topic", id="an empty topic"),
        pytest.param(["  \n "], 2, "topic", id="a blank topic"),
        pytest.param(["x" * 10_001], 2, "10000", id="a topic of 10,001 characters"),
        pytest.param(["T?", "--rounds", "0"], 2, "1 to 10", id="no rounds"),
        pytest.param(["T?", "--rounds", "11"], 2, "1 to 10", id="11 rounds"),
        pytest.param(["T?", "--rounds", "many"], 2, "--rounds", id="rounds that are no number"),
        pytest.param(["T?", "--deadline", "0"], 2, "deadline", id="no time"),
        pytest.param(["T?", "--quorum", "0"], 2, "quorum", id="no quorum"),
        pytest.param(["T?", "--mode", "colaborative"], 2, "Did you mean 'collaborative'?", id="an unknown mode"),
        pytest.param(["T?", "--decide", "dice"], 2, "plurality", id="an unknown rule"),
        pytest.param(["T?", "--options", "tea,,mate"], 2, "--options", id="an empty option"),
        pytest.param(["T?", "--option", ""], 2, "option", id="an empty whole option"),
        pytest.param(["T?", "--storage", "nope"], 2, "storage", id="no storage address"),
        pytest.param(["T?", "--db", "memory://"], 2, "--storage memory://", id="an address instead of a file"),
        pytest.param(["T?", "--storage", "redis://x"], 2, "redis", id="an unknown storage"),
        pytest.param(["T?", "--storage", "memory://", "--db", "x"], 2, "--db", id="two storages"),
        pytest.param(["T?", "--db", " "], 2, "--db", id="a database without a name"),
        pytest.param(["T?", "--base-url", "http://127.0.0.1:1"], 2, "provider=URL", id="a base URL of nobody"),
        pytest.param(["T?", "--base-url", "=http://127.0.0.1:1"], 2, "provider=URL", id="a base URL of no name"),
        pytest.param(["T?", "--base-url", "acme=http://127.0.0.1:1"], 2, "acme", id="a base URL of a stranger"),
        pytest.param(["T?", "--nope"], 2, "--nope", id="an unknown option"),
        pytest.param(["T?", "more"], 2, "more", id="a topic without quotes"),
        pytest.param(["--rounds", "2"], 2, "TOPIC", id="no topic"),
        pytest.param(["sesions"], 2, "sessions", id="a misspelt command"),
        pytest.param(["--seed", "1", "-q", "sessions"], 2, "must come before", id="a command behind options"),
        pytest.param(["sessions", "--limit", "0"], 2, "limit", id="a list of nothing"),
        pytest.param(["sessions", "--status", "asleep"], 2, "paused", id="an unknown state"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_allowed_values(
    command: Command, agree: str, words: list[str], code: int, told: str
) -> None:
    given = words if "sess" in words[0] + words[-1] else [*words, "--agents", agree]
    done = command(*given)
    assert is_plain_fault(done, code)
    assert told in done.err
    assert done.out == ""
    in_json = command(*given, "--json")
    assert in_json.code == code
    error = in_json.json
    assert isinstance(error, dict)
    assert (error["name"], error["code"]) == ("ConfigurationError", "CONFIGURATION_ERROR")
    assert error["hint"]
    assert told in error["message"] + error["hint"]
    assert in_json.err == ""
    assert not Path("data").exists()


@pytest.mark.parametrize(
    ("agents", "told"),
    [
        pytest.param("nope:model", "Known: ", id="an unknown provider"),
        pytest.param(":model", "provider", id="no provider"),
        pytest.param("openai-chat:gpt-5.2", "OPENAI_API_KEY", id="a missing key"),
        pytest.param("compatible:llama", "ROUNDTABLE_BASE_URL", id="a missing address"),
        pytest.param("local:nowhere.gguf", "nowhere.gguf", id="a missing model file"),
        pytest.param("scripted:nowhere.json", "nowhere.json", id="a missing script"),
        pytest.param("scripted", "scripted:FILE.json", id="a script that is not named"),
        pytest.param("scripted:ada.json,", "--agents", id="an empty agent"),
    ],
)
def test_an_agent_that_cannot_be_made_is_refused_before_anything_is_stored(
    command: Command, agents: str, told: str
) -> None:
    done = command("Tea?", "--agents", agents)
    assert is_plain_fault(done, 2)
    assert told in done.err
    assert not Path("data").exists()


def test_a_topic_may_begin_with_a_dash_after_two(command: Command, agree: str) -> None:
    for words in (["--agents", agree, "--rounds", "1", "--"], ["debate", "--agents", agree, "--rounds", "1", "--"]):
        done = command(*words, "-5 or 5?")
        assert done.code == 0
        assert done.out.startswith("-5 or 5?")


@pytest.mark.parametrize(
    "words", [["--focus", "stop", "Tea?"], ["--quiet", "--", "sessions"], ["--seed=1", "--focus", "show"]]
)
def test_a_word_that_is_not_a_command_is_taken_as_the_topic(words: list[str]) -> None:
    assert complete_words(words) == ["debate", *words]


def test_two_agents_with_one_id_are_refused(command: Command, place: Path) -> None:
    (place / "one").mkdir()
    for folder in (place, place / "one"):
        script(folder, "ada", {"*": said("Tea")})
    done = command("Tea?", "--agents", "scripted:ada.json,scripted:one/ada.json")
    assert is_plain_fault(done, 2)
    assert "have the same id" in done.err


def test_a_debate_without_any_model_names_every_way_to_get_one(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roundtable.core.types.providers.find_spec", lambda _module: None)
    done = command("Tea?")
    assert is_plain_fault(done, 2)
    for way in ("OPENAI_API_KEY", "ROUNDTABLE_BASE_URL", "OLLAMA_HOST", "roundtable-sdk[local]"):
        assert way in done.err


def test_a_bad_environment_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTABLE_MAX_ROUNDS", "many")
    done = command("sessions")
    assert is_plain_fault(done, 2)
    assert "ROUNDTABLE_MAX_ROUNDS" in done.err


def test_a_model_file_with_another_content_is_refused(command: Command, place: Path) -> None:
    folder = place / "cache" / "roundtable" / "models"
    folder.mkdir(parents=True)
    (folder / SMOLLM2.file).write_bytes(b"GGUF but not really")
    done = command("Tea?", "--rounds", "1")
    assert is_plain_fault(done, 2)
    assert "SHA-256" in done.err
    looked = command("doctor")
    assert looked.code == 2
    assert "[XX] embedded model" in looked.out


@pytest.mark.slow
def test_an_unreachable_server_is_named_with_a_way_to_continue(command: Command) -> None:
    url = "http://127.0.0.1:9/v1"
    done = command("Tea?", "--agents", "compatible:m", "--base-url", f"compatible={url}", "--rounds", "1")
    assert is_plain_fault(done, 4)
    assert url in done.err
    assert "roundtable resume" in done.out


BUSY = http_reply(b'{"error":{"message":"slow down"}}', status=429, headers={"retry-after-ms": "1"})
NOT_SERVED = http_reply(b'{"error":{"message":"no such thing"}}', status=400)
POSITION: JsonObject = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.7}


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        pytest.param(KEY_REFUSED, KEY_REFUSED, 3, id="every key is refused"),
        pytest.param(BUSY, BUSY, 4, id="every agent is told to wait"),
        pytest.param(KEY_REFUSED, BUSY, 5, id="two kinds of reasons"),
        pytest.param(KEY_REFUSED, POSITION, 5, id="one answers and two are needed"),
        pytest.param(NOT_SERVED, NOT_SERVED, 5, id="a reason without a code of its own"),
    ],
)
def test_the_exit_code_is_that_of_the_error_that_all_agents_share(
    command: Command, first: WireReply | JsonObject, second: WireReply | JsonObject, code: int
) -> None:
    with LoopbackServer(lambda seen: first if seen.json["model"] == "a" else second) as server:
        words = ["--agents", "compatible:a,compatible:b", "--base-url", f"compatible={server.url}", "--quorum", "2"]
        done, in_json = command("Tea?", *words), command("Tea?", *words, "--json")
    assert is_plain_fault(done, code)
    assert in_json.code == code


def test_the_exit_code_is_that_of_the_lost_round(command: Command) -> None:
    """Answers of rounds before do not hide that nobody gets through now."""
    asked: list[Seen] = []

    def answer(seen: Seen) -> WireReply | JsonObject:
        asked.append(seen)
        return POSITION if len(asked) <= 2 else BUSY

    with LoopbackServer(answer) as server:
        words = ["--agents", "compatible:a,compatible:b", "--base-url", f"compatible={server.url}", "--rounds", "2"]
        done = command("Tea?", *words, "--json")
        assert done.code == 4


def test_a_refused_key_is_named_and_never_shown(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("LOG_LEVEL", "debug")
    with LoopbackServer(lambda seen: KEY_REFUSED) as server:
        words = ("Tea?", "--agents", "openai-chat:m", "--base-url", f"openai-chat={server.url}", "--rounds", "1")
        done, in_json = command(*words), command(*words, "--json")
        assert server.seen[0].headers["authorization"] == f"Bearer {CANARY}"
    assert is_plain_fault(done, 3)
    assert json.loads(in_json.out)["details"]["failed"][0]["code"] == "API_AUTH_FAILED"
    shown = done.both + in_json.both + command("doctor").both + command("agents", "--json").both
    assert "canary" not in shown


def test_a_debate_over_http_reaches_its_end(command: Command) -> None:
    with LoopbackServer(lambda seen: {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.7}) as server:
        words = ("--agents", "compatible:a,compatible:b", "--base-url", f"compatible={server.url}", "--rounds", "2")
        done = command("Tea?", *words)
        assert len(server.seen) == 4
    assert done.code == 0
    assert "Answer: Tea" in done.out


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_corrupt_database_is_an_error_and_stays_unchanged(
    command: Command, place: Path, agree: str, content: bytes
) -> None:
    (place / "spoilt.db").write_bytes(content)
    for words in (["sessions"], ["show", "abc"], ["Tea?", "--agents", agree]):
        assert is_plain_fault(command(*words, "--db", "spoilt.db"), 7)
    assert command("doctor", "--db", "spoilt.db").code == 2
    assert (place / "spoilt.db").read_bytes() == content


def test_a_database_path_that_is_a_folder_is_an_error(command: Command, place: Path, agree: str) -> None:
    (place / "folder.db").mkdir()
    assert is_plain_fault(command("Tea?", "--agents", agree, "--db", "folder.db"), 7)
    (place / "file").write_text("no folder")
    assert is_plain_fault(command("Tea?", "--agents", agree, "--db", "file/x.db"), 7)
    assert command("doctor", "--db", "file/x.db").code == 2


def test_a_page_that_can_no_longer_be_written_does_not_hide_the_debate(command: Command, agree: str) -> None:
    done = command("Tea?", "--agents", agree, "--rounds", "1", "--html", "/dev/full")
    assert is_plain_fault(done, 7)
    assert "Answer: Tea" in done.out
    assert "/dev/full" in done.err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("nowhere/out.html", "No such file or directory", id="no folder"),
        pytest.param("folder", "Is a directory", id="a folder"),
        pytest.param("ada.json/out.html", "Not a directory", id="through a file"),
    ],
)
def test_a_page_that_cannot_be_written_is_reported_before_any_agent_is_asked(
    command: Command, place: Path, agree: str, name: str, told: str
) -> None:
    (place / "folder").mkdir()
    done = command("Tea?", "--agents", agree, "--html", name)
    assert is_plain_fault(done, 7)
    assert told in done.err
    assert done.out == ""
    assert not (place / "data").exists()


@pytest.mark.parametrize("again", [None, "show"])
def test_with_json_a_page_that_cannot_be_written_leaves_one_document(
    command: Command, agree: str, again: str | None
) -> None:
    words = ["Tea?", "--agents", agree, "--rounds", "1"]
    if again is not None:
        first = command(*words, "--json").json
        assert isinstance(first, dict)
        words = [again, str(first["sessionId"])]
    done = command(*words, "--json", "--html", "/dev/full")
    assert done.code == 7
    # One document, or this fails.
    told = done.json
    assert isinstance(told, dict)
    assert told["code"] == "STORAGE_ERROR"


def test_no_hint_suggests_to_resume_a_completed_session(command: Command, agree: str) -> None:
    asked = ["--agents", agree, "--rounds", "1"]
    unwritten = command("Tea?", *asked, "--html", "/dev/full")
    assert "roundtable show " in unwritten.err
    stored = command("Tea?", *asked, "--json").json
    assert isinstance(stored, dict)
    resumed = command("resume", str(stored["sessionId"]))
    assert resumed.code != 0
    for done in (unwritten, resumed):
        assert "roundtable resume " not in done.both


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_stored_answers_are_kept(place: Path) -> None:
    agents = always(place, {"ada": "Tea", "bo": "Tea"})

    def run(*words: str, most: int | None = None) -> Done:
        def limit() -> None:
            if most is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        done = subprocess.run(
            [*PROGRAM[:1], *PROGRAM[3:], *words],
            cwd=place,
            env=clean_environment(place),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            preexec_fn=limit,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    begun = run("Tea?", "-a", agents, "-r", "1", "--json")
    assert begun.code == 0, begun.both
    first = DebateResult.from_json(begun.out)
    full = (place / "data" / "roundtable.db").stat().st_size
    done = run("Coffee?", "-a", agents, "-r", "9", most=full)
    assert is_plain_fault(done, 7)
    again = run("show", first.session_id, "--json")
    assert again.code == 0, again.both
    assert DebateResult.from_json(again.out) == first
    with sqlite3.connect(place / "data" / "roundtable.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_an_internal_error_is_one_line_and_its_traceback_is_shown_only_on_request(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault inside")

    monkeypatch.setattr("roundtable.cli.plugins.list_modes", broken)
    done = command("modes")
    assert is_plain_fault(done, 1)
    assert "internal error: RuntimeError: a fault inside" in done.err
    assert json.loads(command("modes", "--json").out)["code"] == "ROUNDTABLE_ERROR"
    monkeypatch.setenv("ROUNDTABLE_DEBUG_MODE", "true")
    assert "Traceback" in command("modes").err
    assert "Traceback" in json.loads(command("modes", "--json").out)["stack"]


HOSTILE = (
    "[bold]x[/bold] [/nope] [link=http://evil.example]click[/link] :smile: \x1b[31mred\x1b[0m\x07 \x9b2J \u202etxt.exe"
)


def test_text_of_users_and_models_is_never_shown_as_markup_or_control_characters(command: Command, place: Path) -> None:
    answer = {"position": HOSTILE, "reasoning": f"one\r\x1b]0;owned\x07 {HOSTILE}\n{HOSTILE}", "confidence": 1}
    agents = ",".join(script(place, name, {"*": answer}) for name in ("[red]ada", "bo"))
    done = command(HOSTILE, "--agents", agents, "--rounds", "1", "--focus", HOSTILE)
    assert done.code == 0
    for text in (done.out, command("sessions").out, command("show", session_in(done)).out):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert "[bold]x[/bold] [/nope] [link=http://evil.example]click[/li" in text
    stored = DebateResult.from_json(command("show", session_in(done), "--json").out)
    assert stored.topic == HOSTILE
    for words in ([f"--{HOSTILE}"], ["T?", "--mode", HOSTILE], ["T?", "--agents", HOSTILE], ["show", HOSTILE]):
        failed = command(*words)
        assert failed.code in {2, 6}
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", failed.both)


def session_in(done: Done) -> str:
    return re.findall(r"session ([0-9a-f]{32})", done.out)[0]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["modes", "--json"], ["doctor", "--json"], ["sessions"]])
def test_output_that_cannot_be_written_is_reported_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_PATH": str(tmp_path / "debates.db")}
    with open("/dev/full", "w") as full:  # noqa: PTH123  (a device)
        done = subprocess.run(
            [sys.executable, "-m", "roundtable", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
