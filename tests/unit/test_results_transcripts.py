"""Debates that others recorded are results: decision, movement, frames and pictures follow from their answers."""

from __future__ import annotations

import io
from typing import Any

import pytest
from matplotlib.figure import Figure

from roundtable import DebateResult, decide
from roundtable.metrics import Transcript, Utterance
from roundtable.results import result_of_transcript

ROUNDS = [{"a": "Lisbon", "b": "Porto", "c": None}, {"a": "Lisbon", "b": "lisbon", "c": "Faro"}, {"a": "Lisbon"}]
PICTURES = ("rounds", "opinions", "pairs", "influence", "votes", "confidence", "tokens", "time")


def transcript(rounds: list[dict[str, str | None]], *, text: str = "My answer: {}.") -> Transcript:
    said = tuple(
        tuple(Utterance(agent, text.format(answer), answer) for agent, answer in spoken.items()) for spoken in rounds
    )
    return Transcript("7", "Where?", tuple(rounds[0]), said, metadata={"licence": "MIT"})


@pytest.fixture(scope="module")
def result() -> DebateResult:
    return result_of_transcript(transcript(ROUNDS[:2]))


def test_the_decision_is_that_of_the_last_round(result: DebateResult) -> None:
    assert result.decision is not None
    assert result.decision.scores == decide(["Lisbon", "lisbon", "Faro"], rule="plurality").scores
    assert (result.answer, result.decision.is_unanimous, result.status) == ("Lisbon", False, "completed")
    assert result_of_transcript(transcript(ROUNDS)).decision.is_unanimous  # type: ignore[union-attr]
    assert result.config.metadata == {"licence": "MIT"}


def test_moves_are_those_of_the_answers(result: DebateResult) -> None:
    flow = result.opinion_flow()
    assert flow is not None
    camps = {(row["round"], row["agentId"]): row["answer"] for row in flow.to_records()}
    names = {agent.name: agent.id for agent in result.agents}
    assert camps[1, names["b"]] == "Porto"
    assert camps[2, names["b"]] == "Lisbon"
    assert camps[1, names["c"]] is None


@pytest.mark.slow
def test_frames_and_pictures_work(result: DebateResult) -> None:
    rows = result.frames("turns", "records")
    assert [row["agentName"] for row in rows] == ["a", "b", "c"] * 2
    assert [row["independent"] for row in rows] == [True] * 3 + [False] * 3
    assert rows[0]["position"] == "My answer: Lisbon."
    assert rows[0]["bottomLine"] == "Lisbon"
    assert len(result.frames("votes", "records")) == 6
    for name in PICTURES:
        figure = Figure(layout="constrained")
        getattr(result.plot, name)(figure.subplots())
        figure.savefig(io.BytesIO(), format="svg")
    assert result.audit().winner == "Lisbon"
    assert "Lisbon" in result.to_html()
    assert DebateResult.from_json(result.to_json()) == result


def test_texts_count_where_no_answer_is_known() -> None:
    plain = Transcript("1", "", ("a", "b"), ((Utterance("a", "It is 4."), Utterance("b", "It is 5.")),))
    result = result_of_transcript(plain)
    assert {answer.position for answer in result.rounds[0].responses} == {"It is 4.", "It is 5."}
    assert result.topic == "(the question is not known)"
    read = result_of_transcript(plain, extract=lambda text: text.rstrip(".").split()[-1])
    assert read.answer is None
    assert {*read.decision.scores} == {"4", "5"}  # type: ignore[union-attr]
    seen = result_of_transcript(plain, independent=False)
    assert (read.independent_agreement, seen.independent_agreement) == (0.0, None)


@pytest.mark.parametrize("rounds", [(), ((),)])
def test_a_debate_in_which_nobody_spoke_has_no_answer(rounds: Any) -> None:
    result = result_of_transcript(Transcript("1", "Where?", (), rounds))
    assert result.answer is None
    assert result.frames("turns", "records") == []


def test_the_same_transcript_is_the_same_session() -> None:
    one, same = (result_of_transcript(transcript(ROUNDS)) for _ in range(2))
    assert one == same
    assert one.session_id != result_of_transcript(transcript(ROUNDS[:1])).session_id
