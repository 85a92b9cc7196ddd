"""Debates that others recorded are results: decision, movement, frames and pictures follow from their answers."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from matplotlib.figure import Figure

from roundtable import DebateResult, Results, decide
from roundtable.metrics import Transcript, Utterance
from roundtable.reading import Asked, read_answer
from roundtable.results import result_of_transcript
from roundtable.scoring.open_answers import parse_open
from roundtable.types import AgentResponse

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


def test_moves_follow_the_answers(result: DebateResult) -> None:
    flow = result.opinion_flow()
    assert flow is not None
    camps = {(row["round"], row["agentId"]): row["answer"] for row in flow.to_records()}
    names = {agent.name: agent.id for agent in result.agents}
    assert camps[1, names["b"]] == "Porto"
    assert camps[2, names["b"]] == "Lisbon"
    assert camps[1, names["c"]] is None


def parsed_texts(result: DebateResult) -> list[str]:
    """Return the texts that are parsed while a result is converted to text."""
    texts: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is parse_open.__code__:
            texts.append(frame.f_locals["text"])

    sys.setprofile(note)
    try:
        str(result)
    finally:
        sys.setprofile(None)
    return texts


@pytest.mark.parametrize("answers", ["known", "unknown", "equal"])
def test_showing_a_result_parses_each_text_once(answers: str) -> None:
    long = "A long answer. " * 50
    said = tuple(
        tuple(
            Utterance(
                agent, long if answers == "equal" else f"{long}{agent}{number}", agent if answers == "known" else None
            )
            for agent in "abc"
        )
        for number in range(3)
    )
    debate = result_of_transcript(Transcript("7", "Where?", tuple("abc"), said))
    stored = DebateResult.from_json(debate.to_json())
    for result in (debate, stored):
        first = parsed_texts(result)
        assert len(first) == len(set(first))
        assert parsed_texts(result) == []
    assert str(stored) == str(debate)
    assert stored == DebateResult.from_json(debate.to_json())  # what was parsed is not part of the value


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


def test_texts_count_if_no_answer_is_known() -> None:
    plain = Transcript("1", "", ("a", "b"), ((Utterance("a", "It is 4."), Utterance("b", "It is 5.")),))
    result = result_of_transcript(plain)
    assert {answer.position for answer in result.rounds[0].responses} == {"It is 4.", "It is 5."}
    assert result.topic == "(the question is not known)"
    read = result_of_transcript(plain, extract=lambda text: text.rstrip(".").split()[-1])
    assert read.answer is None
    assert {*read.decision.scores} == {"4", "5"}  # type: ignore[union-attr]
    seen = result_of_transcript(plain, independent=False)
    assert (read.independent_agreement, seen.independent_agreement) == (0.0, None)


def test_an_unstated_confidence_is_shown_nowhere(result: DebateResult) -> None:
    turns = [turn for record in result.rounds for turn in record.turns]
    assert {turn.answer.confidence for turn in turns if turn.answer.kind == "position"} == {None}  # type: ignore[union-attr]
    assert {row["confidence"] for row in result.frames("turns", "records")} == {None}
    assert {row["confidence"] for row in result.frames("votes", "records")} == {None}
    flow = result.opinion_flow()
    assert flow is not None
    assert {opinion.confidence for opinion in flow.opinions} == {None}
    page = re.sub(r"<style>.*?</style>", "", result.to_html(), flags=re.DOTALL)
    for shown in (result.to_text(), result.to_markdown(), page, str(result)):
        assert "50%" not in shown
        assert "50 %" not in shown
        assert "mean confidence of" not in shown


def test_no_advice_uses_an_unstated_confidence() -> None:
    same = result_of_transcript(transcript([{"a": "Lisbon", "b": "Lisbon", "c": "Lisbon"}] * 2))
    assert same.response is not None
    advice = same.response.decision.action_recommendation
    assert (advice.type, advice.reason) == ("verify", "Agreement is high; no answer states a confidence.")
    assert {summary.confidence for summary in same.response.agent_responses} == {None}
    assert {summary.confidence_change for summary in same.response.agent_responses} == {None}
    assert same.response.metadata.verification_hints == ()
    again = Results([same]).redecide("confidence-weighted")[0]
    assert (again.answer, again.decision.cast, len(again.decision.invalid)) == (None, 0, 3)  # type: ignore[union-attr]
    audit = same.audit()
    assert audit.weighted is None
    assert ("votes weighted by confidence", "some answers state no confidence") in [
        (skipped.change, skipped.reason) for skipped in audit.not_tried
    ]


def test_confidences_of_the_file_count() -> None:
    said = (Utterance("a", "It is 4.", "4", confidence=0.9), Utterance("b", "4.", "4", confidence=0.8))
    result = result_of_transcript(Transcript("1", "2 + 2?", ("a", "b"), (said,)))
    assert [response.confidence for response in result.rounds[0].responses] == [0.9, 0.8]
    assert result.response is not None
    assert "mean confidence of 85%" in result.response.decision.action_recommendation.reason


def test_the_models_of_the_file_are_those_of_the_agents() -> None:
    said = transcript([{"a": "Lisbon", "b": "Lisbon"}] * 2)
    plain = result_of_transcript(said)
    assert {agent.model for agent in plain.agents} == {None}
    assert plain.health is not None
    assert "same-family" not in {flag.name for flag in plain.health.flags}

    named = result_of_transcript(replace(said, metadata={"model": "qwen"}))
    assert {agent.model for agent in named.agents} == {"qwen"}
    assert {turn.model for turn in named.rounds[0].turns} == {"qwen"}
    assert {turn.result.model for turn in named.rounds[1].turns if turn.outcome == "answered"} == {"qwen"}
    assert named.health is not None
    (flag,) = [flag for flag in named.health.flags if flag.name == "same-family"]
    assert flag.detail == "all agreed at once, and all are the model qwen"

    rounds = tuple(
        tuple(replace(utterance, model=model) for utterance, model in zip(spoken, models, strict=True))
        for spoken, models in zip(said.rounds, [("qwen", "llama"), ("qwen", None)], strict=True)
    )
    mixed = result_of_transcript(replace(said, rounds=rounds, metadata={"model": "phi"}))
    assert [agent.model for agent in mixed.agents] == ["qwen", None]  # b had two models
    assert [turn.model for record in mixed.rounds for turn in record.turns] == ["qwen", "llama", "qwen", "phi"]
    assert mixed.health is not None
    assert "same-family" not in {flag.name for flag in mixed.health.flags}


QUESTION = "Which city is the capital of Portugal? A) Porto, B) Lisbon, C) Faro"


@pytest.mark.parametrize(
    ("question", "options", "answers", "asked"),
    [
        (QUESTION, (), ("B", "C", None), Asked("choice", ("A", "B", "C"))),
        (QUESTION, (), ("Lisbon", "B", None), Asked()),
        (QUESTION, (), ("D", "B", "B"), Asked()),
        ("Why? (A) One. (C) Three. (B) Two.", (), ("A", "B", "A"), Asked("choice", ("A", "B"))),
        ("Which one?", ("Lisbon", "Porto"), (None, None, None), Asked("choice", ("Lisbon", "Porto"))),
        ("How much is it?", (), ("4", "1/2", "-3.5"), Asked("number")),
        ("How much is it?", (), ("4", "four", None), Asked()),
        (QUESTION, (), (None, None, None), Asked()),
    ],
)
def test_every_answer_is_read_by_the_reader_too(
    question: str, options: tuple[str, ...], answers: tuple[str | None, ...], asked: Asked
) -> None:
    texts = ("B", "I choose \\boxed{4}.", "Lisbon")
    said = tuple(Utterance(name, text, answer) for name, text, answer in zip("abc", texts, answers, strict=True))
    result = result_of_transcript(Transcript("1", question, ("a", "b", "c"), (said,), options=options))
    for response, text, answer in zip(result.rounds[0].responses, texts, answers, strict=True):
        assert response.reading == read_answer(text, asked)
        known = any(answer is not None for answer in answers)
        assert response.bottom_line == (answer if answer is not None else "ABSTAIN" if known else None)
    assert DebateResult.from_json(result.to_json()) == result


def test_a_difference_between_file_and_reader_is_a_warning() -> None:
    said = tuple(
        Utterance(name, text, answer)
        for name, text, answer in [("a", "B", "A"), ("b", "B", "B"), ("c", "B", None), ("d", "Hm.", "C")]
    )
    result = result_of_transcript(Transcript("1", QUESTION, ("a", "b", "c", "d"), (said,)))
    assert [turn.result.warnings for turn in result.rounds[0].turns if turn.outcome == "answered"] == [
        ("the file states 'A', but the text reads 'B'",),
        (),
        ("the file states no answer, but the text reads 'B'",),
        (),
    ]
    assert [response.bottom_line for response in result.rounds[0].responses] == ["A", "B", "ABSTAIN", "C"]
    labelled = (Utterance("a", "A) Tea", "A"), Utterance("b", "B) Milk", "B"))
    listed = Transcript("1", "Which one?", ("a", "b"), (labelled,), options=("A) Tea", "B) Milk"))
    warned = [
        turn.result.warnings for turn in result_of_transcript(listed).rounds[0].turns if turn.outcome == "answered"
    ]
    assert warned == [(), ()]


@pytest.mark.parametrize("rounds", [(), ((),)])
def test_a_debate_without_turns_has_no_answer(rounds: Any) -> None:
    result = result_of_transcript(Transcript("1", "Where?", (), rounds))
    assert result.answer is None
    assert result.frames("turns", "records") == []


def test_the_same_transcript_is_the_same_session() -> None:
    one, same = (result_of_transcript(transcript(ROUNDS)) for _ in range(2))
    assert one == same
    assert one.session_id != result_of_transcript(transcript(ROUNDS[:1])).session_id


def pointing(*rounds: tuple[str, ...], **kwargs: Any) -> DebateResult:
    agents = ("ada", "bo", "cy")[: len(rounds[0])]
    said = tuple(tuple(Utterance(*pair) for pair in zip(agents, texts, strict=True)) for texts in rounds)
    return result_of_transcript(Transcript("1", "Which city?", agents, said, **kwargs))


def readings_of(result: DebateResult, number: int) -> list[tuple[str, str | None, int | None]]:
    found = [response.reading for response in result.rounds[number].responses if isinstance(response, AgentResponse)]
    return [
        (reading.certainty, reading.value, reading.source.slot if reading.source else None)
        for reading in found
        if reading is not None
    ]


def test_an_answer_that_points_back_is_the_answer_that_its_author_was_shown() -> None:
    result = pointing(
        ("I choose Porto.", "I choose Lisbon."),
        ("No change.", "I agree with Ada."),
        ("I agree with Bo.", "I stand by my answer."),
        options=("Lisbon", "Porto"),
    )
    assert readings_of(result, 1) == [("certain", "Porto", 0), ("certain", "Porto", 0)]
    assert readings_of(result, 2) == [("certain", "Porto", 1), ("certain", "Porto", 1)]
    assert result.rounds[2].consensus is not None
    assert result.rounds[2].consensus.agreement_level == 1


def test_an_answer_that_points_to_nobody_or_to_an_unread_answer_stays_unread() -> None:
    result = pointing(
        ("I agree with Bo.", "Lisbon or Porto, I can't tell."),
        ("I agree with Dee.", "I agree with Ada."),
        options=("Lisbon", "Porto"),
    )
    assert [certainty for certainty, _, _ in readings_of(result, 0)] == ["unread", "unread"]
    assert [certainty for certainty, _, _ in readings_of(result, 1)] == ["unread", "unread"]


def test_an_answer_that_also_states_something_else_stays_unread() -> None:
    result = pointing(("Porto", "Lisbon"), ("Porto", "I agree with Ada. Lisbon"))
    assert readings_of(result, 1)[1][0] == "unread"


def test_words_that_point_back_before_any_shown_answer_are_an_answer() -> None:
    result = pointing(("No change.", "Lisbon"), ("Lisbon", "I agree with Ada."))
    assert readings_of(result, 0)[0] == ("certain", None, None)


def test_open_answers_that_point_back_are_compared_by_the_words_of_their_source() -> None:
    result = pointing(("Porto", "Lisbon"), ("Porto", "I agree with Ada."))
    assert readings_of(result, 1)[1] == ("certain", "Porto", 0)
    assert result.rounds[1].consensus is not None
    assert result.rounds[1].consensus.agreement_level == 1


def test_the_answer_of_the_file_is_kept_next_to_a_resolved_reference() -> None:
    said = ((Utterance("ada", "It is 4.", "4"), Utterance("bo", "It is 5.", "5")),)
    said += ((Utterance("ada", "Same as before.", "4"), Utterance("bo", "I agree with Ada.", "5")),)
    result = result_of_transcript(Transcript("1", "2 + 2?", ("ada", "bo"), said))
    assert readings_of(result, 1) == [("certain", "4", 0), ("certain", "4", 0)]
    lines = [response.bottom_line for response in result.rounds[1].responses if isinstance(response, AgentResponse)]
    assert lines == ["4", "5"]
