"""Collaborative: one stage a round, all at once, everybody sees what was answered before, nobody the round itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.modes import CollaborativeMode
from roundtable.prompts import load_mode_prompt
from roundtable.testing.mode_suite import SimulatedDebate, debates, opening_views
from roundtable.types import DebateContext, EndRound, FailedTurn, Stage

LAW = settings(deadline=None)
played_debates = debates(CollaborativeMode())


@LAW
@given(played_debates)
def test_each_round_is_one_stage_of_all_agents_in_the_order_of_the_seats(played: SimulatedDebate) -> None:
    plans = [plan for _, plan in played.steps]
    assert [plan.kind for plan in plans] == ["stage", "end_round"] * (len(plans) // 2)
    for view, stage in played.stages:
        assert stage.name == "positions"
        assert [spec.agent for spec in stage.turns] == [seat.id for seat in view.agents]
        assert all(spec.answer == "position" and spec.options == view.options for spec in stage.turns)


@LAW
@given(played_debates)
def test_every_agent_sees_exactly_the_answered_positions_of_earlier_rounds(played: SimulatedDebate) -> None:
    for view, stage in played.stages:
        wanted = [
            (turn.key, turn.agent_name)
            for turn in view.transcript
            if turn.outcome == "answered" and turn.round < view.current_round
        ]
        for spec in stage.turns:
            assert [(visible.turn, visible.shown_as) for visible in spec.sees] == wanted


@LAW
@given(played_debates)
def test_the_number_of_rounds_played_is_the_number_planned(played: SimulatedDebate) -> None:
    assert len(played.stages) == played.steps[0][0].total_rounds


@LAW
@given(opening_views(), st.integers(1, 10))
def test_a_round_in_which_every_agent_failed_leaves_no_trace(view: DebateContext, round_: int) -> None:
    mode = CollaborativeMode()
    opening = mode.next_stage(view)
    assert isinstance(opening, Stage)
    failed = tuple(
        FailedTurn.model_validate(
            {
                "round": round_,
                "stage": "positions",
                "slot": spec.slot,
                "agent_id": spec.agent,
                "timestamp": "2026-01-01T00:00:00Z",
                "error": {"name": "AgentError", "message": "m", "code": "AGENT_ERROR"},
            }
        )
        for spec in opening.turns
    )
    held = view.model_copy(update={"current_round": round_, "transcript": failed})
    assert mode.next_stage(held) == EndRound()
    assert mode.next_stage(held.model_copy(update={"current_round": round_ + 1})) == opening


@LAW
@given(played_debates)
def test_instructions_change_once_there_is_something_to_answer(played: SimulatedDebate) -> None:
    prompt = load_mode_prompt("collaborative").role("participant")
    for _, stage in played.stages:
        for spec in stage.turns:
            assert (prompt.later_sections[0] in spec.task) is bool(spec.sees)
            assert spec.brief == prompt.compact(opening=not spec.sees)
