"""What the command asks before it removes anything, and what it says of sessions that somebody began elsewhere."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from cli.kit import Command

from roundtable.sync import Roundtable
from roundtable.testing import scripted_agents


class Terminal(io.StringIO):
    """Standard input with somebody at it, who types this."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def begun(place: Path) -> str:
    """A session of which one round of two was held."""
    with Roundtable(scripted_agents({"ada": "Tea", "bo": "Milk"}), storage=f"sqlite:///{place}/d.db") as table:
        return table.start("Tea or milk?", rounds=2, step=True).result().session_id


@pytest.mark.parametrize(
    "words",
    [pytest.param(("delete", "last"), id="delete"), pytest.param(("prune", "--before", "2999-01-01"), id="prune")],
)
def test_nothing_is_deleted_without_confirmation(
    words: tuple[str, ...], command: Command, begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, code in (("\n", 1), ("no\n", 1), ("", 1), ("Y\n", 0)):
        assert begun in command("sessions", "--db", "d.db", "--json").out
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        done = command(*words, "--db", "d.db")
        assert done.code == code, answer
        assert "for good? [y/N]" in done.err
    assert begun not in command("sessions", "--db", "d.db", "--json").out


def test_a_session_that_another_process_started_can_be_paused_and_stopped(command: Command, begun: str) -> None:
    paused = command("pause", "last", "--db", "d.db")
    assert paused.code == 0
    assert f"Asked session {begun} to pause; it is paused now. Resume: roundtable resume" in paused.out
    stopped = command("stop", begun, "--running", "settle", "--db", "d.db", "--json")
    told = json.loads(stopped.out)
    assert (told["sessionId"], told["asked"], told["sessionStatus"]) == (begun, "stop", "completed")
    odd = command("stop", begun, "--running", "gently", "--db", "d.db")
    assert (odd.code, "unknown value for --running: 'gently'" in odd.both) == (2, True)


def test_the_command_agents_also_lists_other_usable_providers(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTABLE_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    shown = command("agents")
    assert shown.code == 0
    assert "Agents:" in shown.out
    assert "Other providers that you could use:" in shown.out
    assert "ANTHROPIC_API_KEY is set" in shown.out
    assert "set ROUNDTABLE_MODEL" in shown.out


def test_a_memory_storage_cannot_be_salvaged(command: Command) -> None:
    checks = {
        one["name"]: one for one in json.loads(command("doctor", "--storage", "memory://", "--json").out)["checks"]
    }
    assert checks["storage"]["state"] == "warning"
    refused = command("doctor", "--storage", "memory://", "--salvage", "saved.db")
    assert (refused.code, "only a SQLite file can be salvaged" in refused.both) == (2, True)


def test_a_file_that_cannot_be_created_is_reported_before_the_debate(command: Command, place: Path) -> None:
    (place / "file").write_text("no folder")
    told = command("doctor", "--db", "file/below/d.db", "--json").out
    (storage,) = [one for one in json.loads(told)["checks"] if one["name"] == "storage"]
    assert (storage["state"], "cannot be created" in storage["detail"]) == ("broken", True)
