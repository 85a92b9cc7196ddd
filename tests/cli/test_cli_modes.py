"""Every mode from the command line, and when to use which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.kit import Command
from integration.engine_kit import some_every_day

from roundtable.modes import BUILTIN_MODES
from roundtable.results.debate_result import DebateResult

MODES = [name for name, _, _ in BUILTIN_MODES]


def test_each_mode_says_when_to_use_it(command: Command) -> None:
    text = " ".join(command("modes").out.split())
    listed = {one["name"]: one for one in command("modes", "--json").json}
    assert list(listed) == MODES
    for name, kind, summary in BUILTIN_MODES:
        assert summary.split(",", maxsplit=1)[0] in text
        assert listed[name]["useWhen"] == kind.use_when
        assert listed[name]["assignsStances"] is kind.assigns_stances
        assert range(listed[name]["minAgents"], listed[name]["maxAgents"] + 1) == kind.agent_counts
        assert listed[name]["options"] == list(kind.options)
        for option in kind.options:
            assert f"{name}:{option}=" in text
    assert "2 to 10 rounds, 2 agents or more. Use it when: The question has a right answer" in text
    assert "Options: adversarial:visibility=all|predecessor" in text
    assert text.count("Use it when: ") == len(MODES)


@pytest.fixture
def agents(tmp_path: Path) -> str:
    """Three scripted agents that can answer a turn of any kind."""
    answer = {"position": "Tea", "stance": "YES", "choice": "For", "ranking": ["Answer 1", "Answer 2", "Answer 3"]}
    names = []
    for name in ("a", "b", "c"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"*": answer}))
        names.append(f"scripted:{path}")
    return ",".join(names)


@pytest.mark.parametrize(
    "mode",
    some_every_day([*MODES, "adversarial:visibility=predecessor", "red-team-blue-team:cross_team=true"], 4),
)
def test_a_debate_is_held_in_every_mode(command: Command, agents: str, mode: str) -> None:
    done = command("debate", "Tea or coffee?", "--mode", mode, "--agents", agents, "--rounds", "2", "--json")
    result = DebateResult.from_json(done.out)
    assert (result.status, result.mode) == ("completed", mode)
    assert [len(held.turns) > 0 for held in result.rounds] == [True, True]
    assert all(turn.outcome == "answered" for held in result.rounds for turn in held.turns if turn.stage != "rankings")


def test_votes_and_rankings_are_shown_in_words(command: Command, agents: str) -> None:
    begin = ("--agents", agents, "--rounds", "1", "--storage", "memory://")
    oxford = command("debate", "Tea or coffee?", "--mode", "oxford", *begin).out
    assert "(voter): votes: For" in oxford
    council = command("debate", "Tea or coffee?", "--mode", "council", *begin).out
    assert "(reviewer): ranks: Answer 1 > Answer 2" in council
    assert '"kind"' not in oxford + council


@pytest.mark.parametrize("mode", ["adversary", "adversarial:loud=true", "adversarial:visibility=some"])
def test_a_mode_or_option_that_does_not_exist_is_refused(command: Command, agents: str, mode: str) -> None:
    done = command("debate", "Tea?", "--mode", mode, "--agents", agents)
    assert done.code == 2
    assert mode.partition(":")[0] in done.err


def test_perspectives_are_named_or_written_for_the_question(command: Command, agents: str) -> None:
    begin = ("debate", "Tea?", "--agents", agents, "--rounds", "1", "--json", "--mode")
    named = DebateResult.from_json(
        command(*begin, "expert-panel", "--perspective", "Nurses", "--perspective", "A, B").out
    )
    assert [one.name for one in named.config.perspectives] == ["Nurses", "A, B"]
    written = DebateResult.from_json(command(*begin, "expert-panel", "--perspective", "auto").out)
    assert written.rounds[0].turns[0].stage == "facilitator"
    refused = command(*begin, "delphi", "--perspective", "Nurses")
    assert (refused.code, "does not use perspectives" in refused.out) == (2, True)
