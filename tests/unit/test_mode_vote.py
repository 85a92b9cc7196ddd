"""Planning a vote: when it is due, what it shows, and what it asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from snapshots.prompt_views import ADA, COMPACT, FULL, ask

from roundtable.core.stages import restrict_view
from roundtable.core.types.plan import VOTE_STAGE
from roundtable.modes import BaseModeStrategy, CollaborativeMode, VotedMode, with_vote
from roundtable.parsing.answers import ParseFailure, parse_answer
from roundtable.prompts import answer_schema
from roundtable.types import (
    AgentResponse,
    AnyTurn,
    DebateContext,
    EndDebate,
    EndRound,
    Plan,
    RankingAnswer,
    Seat,
    Stage,
    Turn,
    TurnResult,
)

NAMES = ("ada", "bo", "cy")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Done(BaseModeStrategy):
    """A mode that has nothing to ask."""

    name = "done"

    def __init__(self, plan: Plan | None = None) -> None:
        super().__init__()
        self.plan = plan or EndRound()
        self.seen: list[DebateContext] = []

    def next_stage(self, view: DebateContext) -> Plan:
        self.seen.append(view)
        return self.plan


def said(agent: str, line: str, round_: int = 1) -> Turn:
    answer = AgentResponse(agent_id=agent, agent_name=agent.title(), position=f"{line}, says Bo.", bottom_line=line)
    return Turn(
        round=round_,
        stage="positions",
        slot=NAMES.index(agent),
        agent_id=agent,
        agent_name=agent.title(),
        timestamp=NOON,
        result=TurnResult(answer=answer),
    )


def after(*turns: AnyTurn, **more: object) -> DebateContext:
    seats = tuple(Seat(id=name, name=name.title()) for name in NAMES)
    facts = {"current_round": 1, "total_rounds": 1} | more
    return DebateContext(session_id="s", topic="Which city?", mode="done", agents=seats, transcript=turns, **facts)


TWO = (said("ada", "Lisbon"), said("bo", "Porto"), said("cy", "lisbon"))


def planned(mode: VotedMode, view: DebateContext) -> Stage:
    plan = mode.next_stage(view)
    assert isinstance(plan, Stage)
    assert plan.name == VOTE_STAGE
    return plan


@pytest.mark.parametrize(
    ("more", "every", "is_due"),
    [
        ({}, False, True),
        ({"total_rounds": 2}, False, False),
        ({"total_rounds": 2}, True, True),
        ({"total_rounds": 2, "ends": True}, False, True),
    ],
)
def test_a_vote_is_held_in_the_last_round_or_in_every_round(
    more: dict[str, object], *, every: bool, is_due: bool
) -> None:
    plan = with_vote(Done(), every=every).next_stage(after(*TWO, **more))
    assert isinstance(plan, Stage) is is_due


def test_a_vote_is_held_when_the_mode_ends_the_debate_which_ends_after_it() -> None:
    mode = with_vote(Done(EndDebate(reason="done")))
    view = after(*TWO, total_rounds=3)
    stage = planned(mode, view)
    votes = [
        said(spec.agent, "x").model_copy(
            update={"stage": VOTE_STAGE, "result": TurnResult(answer=RankingAnswer(ranking=(("A",),)))}
        )
        for spec in stage.turns
    ]
    assert mode.next_stage(after(*TWO, *votes, total_rounds=3)) == EndDebate(reason="done")
    assert isinstance(mode.inner, Done)
    assert all(turn.stage != VOTE_STAGE for turn in mode.inner.seen[-1].transcript)


@pytest.mark.parametrize("turns", [(), (said("ada", "Lisbon"),), (said("ada", "Lisbon"), said("cy", "lisbon."))])
def test_one_motion_or_none_needs_no_vote(turns: tuple[Turn, ...]) -> None:
    assert with_vote(Done()).next_stage(after(*turns)) == EndRound()


def test_every_agent_votes_on_letters_without_names_or_earlier_answers() -> None:
    stage = planned(with_vote(Done()), after(*TWO))
    assert [spec.agent for spec in stage.turns] == list(NAMES)
    for spec in stage.turns:
        assert (spec.answer, spec.options, spec.sees) == ("ranking", ("A", "B"), ())
        assert sorted(spec.motions.values()) == ["Lisbon", "Porto"]
        assert [note.label for note in spec.notes] == ["motion A", "motion B"]
        assert not any("says Bo" in note.text for note in spec.notes)
    assert stage.turns[0].motions != stage.turns[1].motions


def test_an_answer_that_is_an_agents_name_is_shown() -> None:
    turns = (said("ada", "Ada"), said("bo", "Rust by Cy"), said("cy", "rust"))
    spec = planned(with_vote(Done()), after(*turns)).turns[0]
    shown = {note.brief: note.text.splitlines()[1] for note in spec.notes}
    assert sorted(shown) == ["Ada", "Rust by Cy", "rust"]
    assert shown["Ada"].startswith("Position: Ada, says Speaker ")
    assert shown["Rust by Cy"].startswith("Position: Rust by Speaker ")


def test_a_position_without_a_bottom_line_is_masked_if_it_names_its_motion() -> None:
    bare = [
        turn.model_copy(update={"result": TurnResult(answer=turn.answer.model_copy(update={"bottom_line": None}))})
        for turn in TWO
    ]
    spec = planned(with_vote(Done()), after(*bare)).turns[0]
    assert all("says Speaker" in note.brief for note in spec.notes)


def test_scores_have_the_scale_that_the_prompt_states() -> None:
    specs = [planned(with_vote(Done(), rule), after(*TWO)).turns[0] for rule in ("score", "score(low=1)", "schulze")]
    assert [spec.scale for spec in specs] == [(0, 10), (1, None), (None, None)]
    assert "from 0 to 10" in specs[0].task
    free = planned(VotedMode(Done(), "scores", scale=(None, None)), after(*TWO)).turns[0]
    assert "Give each one a number; higher is better." in free.task


def test_with_options_all_of_them_are_voted_on_in_their_spelling() -> None:
    options = tuple(f"Option {number}" for number in range(30))
    stage = planned(with_vote(Done(), "approval"), after(*TWO, options=options))
    spec = stage.turns[0]
    assert (spec.answer, spec.notes) == ("approval", ())
    assert sorted(spec.options or ()) == sorted(options)
    assert dict(spec.motions) == {option: option for option in options}


def test_with_options_voters_read_an_answer_of_each_option_that_is_held() -> None:
    def chose(agent: str, option: str, reasoning: str) -> Turn:
        turn = said(agent, option)
        answer = turn.answer.model_copy(update={"choice": option, "reasoning": reasoning})
        return turn.model_copy(update={"result": TurnResult(answer=answer)})

    turns = (
        chose("ada", "Tea", "Ada likes it. " + "x" * 900),
        chose("bo", "Milk", "It keeps."),
        chose("cy", "Tea", "y"),
    )
    view = after(*turns, options=("Tea", "Milk", "Mate"))
    stage = planned(with_vote(Done()), view)
    for spec in stage.turns:
        notes = {note.text.splitlines()[0]: note.text for note in spec.notes}
        assert list(notes) == [f"Option: {name}" for name in spec.options or () if name != "Mate"]
        assert "Reasons: It keeps." in notes["Option: Milk"]
        assert max(map(len, notes.values())) < 1300
        assert not any("Ada" in text or "Bo" in text for text in notes.values())
    text = ask(ADA, FULL, restrict_view(view, stage.turns[0]))[-1].content
    assert "| Reasons: It keeps." in text
    assert "| Option: Tea" in text


@pytest.mark.parametrize(
    ("rule", "field"),
    [("plurality", "choice"), ("schulze", "ranking"), ("approval", "approved"), ("median", "scores")],
)
def test_words_and_schema_ask_for_groups_and_the_form_of_the_rule(rule: str, field: str) -> None:
    view = after(*TWO)
    context = restrict_view(view, planned(with_vote(Done(), rule), view).turns[0])
    schema = answer_schema(context, FULL)
    assert schema is not None
    assert list(schema.definition["properties"]) == ["same", field, "reasoning"]
    assert schema.definition["required"] == ["same", field, "reasoning"]
    text = ask(ADA, FULL, context)[-1].content
    assert text.index('- "same"') < text.index(f'- "{field}"')
    assert "| Answer: Lisbon" in text
    small = answer_schema(context, COMPACT)
    assert small is not None
    assert list(small.definition["properties"]) == [field, "reasoning"]
    assert 'Motion A: "' in ask(ADA, COMPACT, context)[-1].content


def test_the_wrapped_mode_shapes_only_its_own_turns() -> None:
    mode = with_vote(CollaborativeMode())
    context = restrict_view(after(*TWO), planned(with_vote(Done()), after(*TWO)).turns[0])
    assert mode.transform_context(context) is context


def test_a_ballot_with_only_unknown_letters_is_answered_with_the_known_ones() -> None:
    failure = parse_answer('{"ranking": ["Y", "Z"]}', "ranking", options=["A", "B"], motions=True)
    assert isinstance(failure, ParseFailure)
    assert failure.reason == '"ranking" names no option; the letters of the motions are A, B'
