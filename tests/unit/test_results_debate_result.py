"""A result says what a debate came to, and never more than that."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from unit.test_record_fold import BEGIN, RECORD, WHERE, broke, control, failed, over, turn

from roundtable.errors import ConfigurationError
from roundtable.record import fold_debate
from roundtable.results.debate_result import DebateResult
from roundtable.types import (
    AgentResponse,
    Answer,
    ApprovalAnswer,
    BallotAnswer,
    Cluster,
    Comparison,
    ConsensusMeasured,
    ConsensusResult,
    ContextRequest,
    ContextRequested,
    DebateExit,
    Decision,
    DurableEvent,
    ExitResult,
    RankingAnswer,
    RoundComplete,
    ScoresAnswer,
    Turn,
    TurnResult,
    Usage,
)


def result(*events: DurableEvent, **config: Any) -> DebateResult:
    record = RECORD.model_copy(update={"config": RECORD.config.model_copy(update=config)}) if config else RECORD
    return DebateResult.from_record(fold_debate(record, events))


def measured(decision: Decision | None = None) -> tuple[DurableEvent, ...]:
    clusters = (Cluster(theme="Tea", agent_ids=("ada",)), Cluster(theme="Milk", agent_ids=("bo",)))
    consensus = ConsensusResult(agreement_level=0.5, clusters=clusters, summary="They differ.")
    return (
        ConsensusMeasured(**WHERE, round=1, consensus=consensus, decision=decision),
        RoundComplete(**WHERE, round=1, answered=2, failed=0),
    )


def ended(reason: str, status: Any) -> tuple[DurableEvent, ...]:
    return DebateExit(**WHERE, exit=ExitResult(should_exit=True, reason=reason, details="so")), over(status)


TEA = Decision(rule="plurality", winners=("Tea",), passed=True, why="Tea wins")
TIE = Decision(rule="plurality", winners=("Tea", "Milk"), is_tie=True, why="tie between Tea and Milk")


def test_a_mode_that_plans_no_turn_is_the_reason_for_a_missing_answer() -> None:
    nobody = Decision(rule="plurality", why="no decision: nobody voted.")
    consensus = ConsensusResult(agreement_level=0, answers=0)
    empty = result(
        *BEGIN,
        ConsensusMeasured(**WHERE, round=1, consensus=consensus, decision=nobody),
        RoundComplete(**WHERE, round=1, answered=0, failed=0),
        *ended("mode", "completed"),
    )
    assert not empty.rounds[0].turns
    assert empty.answer_reason == "no agent was asked: the mode 'collaborative' planned no turn"


@pytest.mark.parametrize(
    ("events", "status"),
    [
        pytest.param((), "partial", id="created"),
        pytest.param(BEGIN, "partial", id="running or dead"),
        pytest.param((*BEGIN, *ended("max_rounds", "completed")), "completed", id="completed"),
        pytest.param((*BEGIN, *ended("stopped", "completed")), "partial", id="stopped"),
        pytest.param((*BEGIN, *ended("paused", "paused")), "paused", id="paused"),
        pytest.param((*BEGIN, *ended("deadline", "paused")), "partial", id="deadline"),
        pytest.param((*BEGIN, *ended("cancelled", "paused")), "partial", id="cancelled"),
        pytest.param((*BEGIN, broke()), "partial", id="error"),
    ],
)
def test_the_status_follows_the_session_and_the_reason(events: tuple[DurableEvent, ...], status: str) -> None:
    assert result(*events).status == status


@pytest.mark.parametrize(("priority", "status"), [("required", "needs_context"), ("optional", "completed")])
def test_a_question_that_must_be_answered_is_shown_first(priority: Any, status: str) -> None:
    asked = ContextRequest(id="r", agent_id="ada", query="?", reason="!", priority=priority)
    made = result(*BEGIN, ContextRequested(**WHERE, round=1, requests=(asked,)), *ended("max_rounds", "completed"))
    assert (made.status, made.context_requests) == (status, (asked,))


def test_the_answer_is_the_winner_of_the_last_complete_round() -> None:
    made = result(*BEGIN, turn(0), turn(1), *measured(TEA))
    assert (made.answer, made.answer_source, made.answer_reason) == ("Tea", "cluster", None)
    chosen = result(*BEGIN, turn(0), *measured(TEA), options=("Tea", "Milk"))
    assert chosen.answer_source == "option"


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        pytest.param(BEGIN, "no round was completed", id="nothing complete"),
        pytest.param((*BEGIN, *measured()), "no decision rule was applied", id="no rule"),
        pytest.param((*BEGIN, *measured(TIE)), "tie between Tea and Milk", id="tie"),
    ],
)
def test_without_an_answer_there_is_a_reason(events: tuple[DurableEvent, ...], reason: str) -> None:
    made = result(*events)
    assert (made.answer, made.answer_source, made.answer_reason) == (None, "none", reason)


def test_ballots_are_choices_stances_or_clusters() -> None:
    made = result(*BEGIN, turn(0), turn(1, position="Milk"), *measured(TEA))
    assert made.ballots() == made.ballots(1) == made.ballots(-1, by="cluster") == ("Tea", "Milk")
    assert made.ballots(by="choice") == made.ballots(by="stance") == (None, None)
    for number in (0, 2, -2):
        with pytest.raises(IndexError, match=f"no round {number}; 1 have started"):
            made.ballots(number)
    wrong: Any = "wording"
    with pytest.raises(ConfigurationError, match="by must be one of choice, stance, cluster, not 'wording'"):
        made.ballots(by=wrong)
    open_round = result(*BEGIN, turn(0))
    assert open_round.ballots() == (None,)


def test_the_roster_names_everybody_and_every_failure() -> None:
    made = result(*BEGIN, turn(0), failed(1))
    ada, bo = made.roster.agents
    assert (ada.answered, ada.failed, bo.answered, bo.failed) == (1, 0, 0, 1)
    assert [error.message for error in bo.errors] == ["no"]
    assert not made.roster.complete
    assert "no" in made.to_text()
    assert result().roster.complete


def test_a_printed_result_shows_the_outcome_and_not_every_answer() -> None:
    made = result(*BEGIN, turn(0), turn(1, position="Milk"), *measured(TIE), *ended("max_rounds", "completed"))
    assert str(made).startswith("Tea?\n\nAnswer: none")
    assert "tie between Tea and Milk" in str(made)
    assert "Round 1" in made.to_text()
    assert "Round 1" not in str(made)
    assert (
        repr(made)
        == "DebateResult(session_id='s', topic='Tea?', mode='collaborative', status='completed', answer=None)"
    )


def test_rows_are_flat_and_one_per_turn() -> None:
    ballot = turn(0, stage="vote")
    voted = ballot.turn.model_copy(update={"result": TurnResult(answer=BallotAnswer(choice="Tea"))})
    rows = result(*BEGIN, turn(0), failed(1), ballot.model_copy(update={"turn": voted})).to_records()
    assert [(row["agentId"], row["stage"], row["outcome"]) for row in rows] == [
        ("ada", "positions", "answered"),
        ("bo", "positions", "failed"),
        ("ada", "vote", "answered"),
    ]
    assert (rows[0]["position"], rows[1]["errorCode"]) == ("Tea", "AGENT_ERROR")
    assert "position" not in rows[2]
    assert rows[2]["ballot"] == "Tea"
    assert json.loads(json.dumps(rows)) == rows


def test_a_row_contains_comparisons_and_votes() -> None:
    key = turn(0).turn.key
    compared = (Comparison(turn=key, verdict="same"),)
    answers: list[Answer] = [
        AgentResponse(agent_id="bo", agent_name="Bo", position="Tea!", bottom_line="Tea", compared=compared),
        RankingAnswer(ranking=(("Tea",), ("Milk", "Mate")), same=(("Milk", "Mate"),)),
        ApprovalAnswer(approved=("Tea", "Milk")),
        ScoresAnswer(scores={"Tea": 7.5, "Milk": 0.1 + 0.2}),
        BallotAnswer(choice=None),
        ApprovalAnswer(approved=None),
        ApprovalAnswer(approved=()),
        RankingAnswer(ranking=()),
    ]
    turns = [
        turn(number).turn.model_copy(update={"result": TurnResult(answer=it)}) for number, it in enumerate(answers)
    ]
    made = result(*BEGIN, *(turn(number).model_copy(update={"turn": it}) for number, it in enumerate(turns)))
    rows = made.to_records()
    assert (rows[0]["bottomLine"], rows[0]["compared"]) == ("Tea", "1/positions/0: same")
    assert [row["ballot"] for row in rows[1:]] == [
        '[["Tea"],["Milk","Mate"]]',
        '["Tea","Milk"]',
        '{"Tea":7.5,"Milk":0.30000000000000004}',
        *("null", "null", "[]", "null"),
    ]
    assert [row.get("same") for row in rows] == [None, '[["Milk","Mate"]]', *[None] * 6]
    assert "1/positions/0: same" in made.to_csv()
    assert '"[[""Milk"",""Mate""]]"' in made.to_csv()


@pytest.mark.parametrize(
    ("choice", "cell"),
    [
        pytest.param("Tea; Milk > Mate", "Tea; Milk > Mate", id="signs of other notations"),
        pytest.param("Tee für \u4e8c", "Tee für \u4e8c", id="other scripts"),
        pytest.param("42", "42", id="number"),
        pytest.param("nullify it", "nullify it", id="begins like an abstention"),
        pytest.param("null", '"null"', id="like an abstention"),
        pytest.param('["Tea"]', '"[\\"Tea\\"]"', id="like approvals"),
        pytest.param(" {Tea}", '" {Tea}"', id="like scores"),
        pytest.param('"Tea"', '"\\"Tea\\""', id="quoted"),
        pytest.param("", '""', id="empty"),
    ],
)
def test_a_ballot_in_a_table_can_be_read_back(choice: str, cell: str) -> None:
    ballot = turn(0, stage="vote")
    voted = ballot.turn.model_copy(update={"result": TurnResult(answer=BallotAnswer(choice=choice))})
    (row,) = result(*BEGIN, ballot.model_copy(update={"turn": voted})).to_records()
    assert row["ballot"] == cell
    is_json = cell == "null" or cell[:1] in set('"[{')
    assert (json.loads(cell) if is_json else cell) == choice


def test_the_session_of_the_seed_equals_that_of_the_fold() -> None:
    from roundtable.record import fold_session

    events = (*BEGIN, turn(0), turn(1), *measured(TEA), *ended("max_rounds", "completed"))
    assert result(*events).session == fold_session(RECORD, events)


def test_a_result_survives_its_json_byte_for_byte() -> None:
    made = result(*BEGIN, turn(0), failed(1), *measured(TIE), *ended("max_rounds", "completed"))
    assert DebateResult.from_json(made.to_json()).to_json() == made.to_json()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "[x](javascript:alert(1))",
        "\x1b[31m\u202e",
        "| a | b |\n# H",
    ],
)
def test_text_of_agents_stays_text_in_every_rendering(hostile: str) -> None:
    made = result(*BEGIN, turn(0, position=hostile), turn(1), *measured(TIE))
    page = _Page()
    page.feed(made._repr_html_())
    assert not page.tags & {"script", "img", "iframe", "object", "style", "link"}
    assert not any(name.startswith("on") for name in page.attributes)
    assert made._repr_markdown_() == made.to_markdown()
    assert not re.search(r"(?<!\\)<(script|img)", made.to_markdown())  # a backslash makes it text
    assert "\x1b" not in made.to_text()


def test_every_rendering_shows_the_state_of_the_debate() -> None:
    vote = turn(0, stage="vote")
    voted = vote.turn.model_copy(update={"result": TurnResult(answer=BallotAnswer(choice="Tea"), usage=Usage(calls=1))})
    assert isinstance(voted, Turn)
    events = (
        *BEGIN,
        turn(0),
        turn(1, position="Milk"),
        vote.model_copy(update={"turn": voted}),
        *measured(TIE),
        control("stop"),
        *ended("stopped", "completed"),
    )
    made = result(*events)
    for shown in (made.to_text(), made.to_markdown(), made.to_html()):
        for said in ("Tea?", "They differ.", "tie between Tea and Milk", "stopped", "Milk", "collaborative"):
            assert said in shown.replace("\\", "")
