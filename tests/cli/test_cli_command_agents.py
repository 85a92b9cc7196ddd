"""Programs as agents from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.kit import Command
from integration.command_kit import SPEAKS, Stubs

from roundtable.results.debate_result import DebateResult


def test_programs_debate_and_continue_their_conversations(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubs = Stubs(tmp_path / "bin")
    stubs.make("claude", SPEAKS)
    stubs.make("stub", SPEAKS)
    monkeypatch.setenv("PATH", stubs.environment()["PATH"])
    done = command("Tea?", "--agents", "claude-cli:sonnet,command:stub", "--rounds", "2", "--json")
    assert done.code == 0
    result = DebateResult.from_json(done.out)
    assert [turn.result.provider for turn in result.rounds[0].turns if turn.outcome == "answered"] == [
        "claude-cli",
        "command",
    ]
    for name in ("claude", "stub"):
        assert ["--resume" in str(start["argv"]) for start in stubs.starts(name)] == [False, True]


def test_a_missing_program_is_named_with_a_way_to_continue(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = command("Tea?", "--agents", "claude-cli", "--rounds", "1")
    assert done.code == 5
    assert "Install from https://claude.ai/cli" in done.out + done.err
