"""The fold, event by event: what each one changes, and what none of them may."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from roundtable.record import Fold, advance, fold_debate, fold_session, start_progress
from roundtable.types import (
    AgentComplete,
    AgentConfig,
    AgentError,
    AgentResponse,
    ConsensusMeasured,
    ConsensusResult,
    ContextRequest,
    ContextRequested,
    ContextResult,
    Control,
    DebateComplete,
    DebateConfig,
    DebateError,
    DebateExit,
    DebateStart,
    DurableEvent,
    ErrorInfo,
    ExitResult,
    FailedTurn,
    RoundComplete,
    RoundStart,
    SessionRecord,
    SynthesisComplete,
    SynthesisResult,
    Turn,
    TurnResult,
    Usage,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
AGENTS = tuple(AgentConfig(id=name, name=name.title(), provider="scripted") for name in ("ada", "bo"))
RECORD = SessionRecord(
    id="s", config=DebateConfig(topic="Tea?", agents=("ada", "bo"), rounds=2), agents=AGENTS, created_at=NOON
)
WHERE: dict[str, Any] = {"session_id": "s", "timestamp": NOON}


def turn(
    slot: int, *, round: int = 1, attempt: int = 1, stage: str = "positions", position: str = "Tea"
) -> AgentComplete:
    agent = AGENTS[slot % 2]
    answer = AgentResponse(agent_id=agent.id, agent_name=agent.name, position=position, timestamp=NOON)
    made = Turn(
        round=round,
        stage=stage,
        slot=slot,
        attempt=attempt,
        agent_id=agent.id,
        agent_name=agent.name,
        timestamp=NOON,
        result=TurnResult(answer=answer, usage=Usage(calls=1)),
    )
    return AgentComplete(**WHERE, turn=made, agent=agent.id, round=round)


def failed(slot: int) -> AgentError:
    agent = AGENTS[slot]
    info = ErrorInfo(name="AgentError", message="no", code="AGENT_ERROR")
    made = FailedTurn(
        round=1, stage="positions", slot=slot, agent_id=agent.id, timestamp=NOON, error=info, usage=Usage(calls=2)
    )
    return AgentError(**WHERE, turn=made, agent=agent.id, round=1, error="no")


def control(action: Any, **more: Any) -> Control:
    return Control(**WHERE, action=action, **more)


def over(status: Any) -> DebateComplete:
    return DebateComplete(**WHERE, status=status, total_rounds=1)


def broke() -> DebateError:
    info = ErrorInfo(name="QuorumLost", message="nobody", code="QUORUM_LOST")
    return DebateError(**WHERE, error="nobody", code="QUORUM_LOST", info=info)


BEGIN: tuple[DurableEvent, ...] = (
    DebateStart(**WHERE, topic="Tea?", mode="collaborative", agents=("ada", "bo"), rounds=2),
    RoundStart(**WHERE, round=1, agents=("ada", "bo"), focus_question="Now?"),
)
EXIT = DebateExit(**WHERE, exit=ExitResult(should_exit=True, reason="max_rounds"))


def fold(*events: DurableEvent) -> Fold:
    made = Fold(RECORD)
    for event in events:
        made.apply(event)
    return made


def test_a_session_without_events_is_created_and_empty() -> None:
    record = fold_debate(RECORD, ())
    assert (record.status, record.rounds, record.last_seq, record.updated_at) == ("created", (), 0, NOON)
    session = fold_session(RECORD, ())
    assert (session.status, session.current_round, session.total_rounds) == ("created", 0, 2)


def test_turns_are_in_the_order_of_stages_and_slots_whatever_came_first() -> None:
    made = fold(
        *BEGIN, turn(1), turn(0), turn(0, stage="ruling"), turn(1, stage="positions", attempt=2, position="Milk")
    )
    (held,) = made.to_record().rounds
    assert [(said.stage, said.slot) for said in held.turns] == [("positions", 0), ("positions", 1), ("ruling", 0)]
    assert held.turns[1].attempt == 2
    # The agent that speaks again in a later stage counts with what it said last.
    assert [response.position for response in held.responses] == ["Milk", "Tea"]
    assert held.focus_question == "Now?"


def test_all_spending_is_counted_once_including_failed_tries() -> None:
    measured = ConsensusMeasured(**WHERE, round=1, consensus=ConsensusResult(agreement_level=1), usage=Usage(calls=3))
    synthesis = SynthesisComplete(**WHERE, synthesis=SynthesisResult(synthesizer_id="ada"), usage=Usage(calls=4))
    assert fold(*BEGIN, turn(0), failed(1), measured, synthesis).usage.calls == 1 + 2 + 3 + 4
    assert fold(ConsensusMeasured(**WHERE, round=1, consensus=ConsensusResult(agreement_level=1))).usage.calls == 0


def test_events_that_were_already_applied_are_skipped() -> None:
    numbered = [event.model_copy(update={"seq": place}) for place, event in enumerate((*BEGIN, turn(0)), 1)]
    made = fold(*numbered)
    before = made.to_record()
    for event in numbered:
        made.apply(event)
    assert made.to_record() == before
    assert before.last_seq == 3


def test_the_time_of_the_last_event_is_the_time_of_the_record() -> None:
    late = over("paused").model_copy(update={"timestamp": NOON + timedelta(hours=1)})
    assert fold(*BEGIN, late).updated_at == NOON + timedelta(hours=1)


def test_independent_agreement_is_reported_once() -> None:
    first = ConsensusMeasured(**WHERE, round=1, consensus=ConsensusResult(agreement_level=1), independent_agreement=0.5)
    second = ConsensusMeasured(**WHERE, round=2, consensus=ConsensusResult(agreement_level=1))
    assert fold(*BEGIN, first, second).to_record().independent_agreement == 0.5
    none = first.model_copy(update={"independent_agreement": None, "independent_agreement_reason": "one agent"})
    record = fold(*BEGIN, none, second).to_record()
    assert (record.independent_agreement, record.independent_agreement_reason) == (None, "one agent")


def test_context_is_requested_answered_and_shown_once() -> None:
    asked = tuple(
        ContextRequest(id=name, agent_id="ada", query="?", reason="!", timestamp=NOON) for name in ("r1", "r2")
    )
    made = fold(*BEGIN, ContextRequested(**WHERE, round=1, requests=asked))
    assert made.context_requests == asked
    found = ContextResult(request_id="r1", success=True, result="x")
    made.apply(control("resume", context_results=(found,), focus_question="Then?"))
    assert [left.id for left in made.context_requests] == ["r2"]
    assert (made.next_context, made.next_focus) == ((found,), "Then?")
    made.apply(RoundStart(**WHERE, round=2, agents=("ada",), context_results=(found,)))
    assert made.next_context == ()
    assert made.view().context_results == (found,)


def test_a_round_that_starts_with_answers_closes_their_requests() -> None:
    asked = tuple(
        ContextRequest(id=name, agent_id="ada", query="?", reason="!", timestamp=NOON) for name in ("r1", "r2")
    )
    found = ContextResult(request_id="r1", success=True, result="x")
    made = fold(*BEGIN, ContextRequested(**WHERE, round=1, requests=asked))
    made.apply(RoundStart(**WHERE, round=2, agents=("ada",), context_results=(found,)))
    assert [left.id for left in made.to_record().context_requests] == ["r2"]


def test_the_view_can_leave_out_the_current_stage_and_later_ones() -> None:
    made = fold(*BEGIN, turn(0), turn(1), turn(0, stage="ruling"))
    assert len(made.view().transcript) == 3
    assert [said.stage for said in made.view(without_stages=["ruling"]).transcript] == ["positions", "positions"]
    assert made.view(without_stages=["positions", "ruling"]).transcript == ()
    view = made.view()
    assert (view.current_round, view.total_rounds, view.focus_question) == (1, 2, "Now?")
    assert [seat.name for seat in view.agents] == ["Ada", "Bo"]
    fresh = Fold(RECORD).view()
    assert (fresh.current_round, fresh.transcript) == (1, ())


def test_a_round_with_only_outside_answers_has_not_started() -> None:
    made = fold(turn(0, stage="external"))
    assert made.current is not None
    assert (made.current.number, made.current.begun, made.progress.current_round) == (1, False, 0)
    made.apply(BEGIN[1])
    assert made.current.begun
    assert len(made.rounds) == 1


CREATED: tuple[DurableEvent, ...] = ()
ACTIVE = BEGIN
PAUSED = (*BEGIN, over("paused"))
BROKEN = (*BEGIN, broke())
COMPLETED = (*BEGIN, EXIT, over("completed"))


@pytest.mark.parametrize(
    ("before", "action", "status", "pending"),
    [
        pytest.param(CREATED, "pause", "created", "pause", id="created pause"),
        pytest.param(CREATED, "stop", "created", "stop", id="created stop"),
        pytest.param(ACTIVE, "pause", "active", "pause", id="active pause"),
        pytest.param(ACTIVE, "stop", "active", "stop", id="active stop"),
        pytest.param(ACTIVE, "resume", "active", None, id="active resume"),
        pytest.param(PAUSED, "pause", "paused", None, id="paused pause"),
        pytest.param(PAUSED, "stop", "paused", "stop", id="paused stop"),
        pytest.param(PAUSED, "resume", "active", None, id="paused resume"),
        pytest.param(PAUSED, "extend", "paused", None, id="paused extend"),
        pytest.param(BROKEN, "pause", "error", None, id="error pause"),
        pytest.param(BROKEN, "stop", "error", "stop", id="error stop"),
        pytest.param(BROKEN, "resume", "active", None, id="error resume"),
        pytest.param(BROKEN, "extend", "error", None, id="error extend"),
        pytest.param(COMPLETED, "pause", "completed", None, id="completed pause"),
        pytest.param(COMPLETED, "stop", "completed", None, id="completed stop"),
        pytest.param(COMPLETED, "resume", "completed", None, id="completed resume"),
        pytest.param(COMPLETED, "extend", "active", None, id="completed extend"),
    ],
)
def test_a_request_changes_a_session_only_if_its_status_allows_it(
    before: tuple[DurableEvent, ...], action: str, status: str, pending: str | None
) -> None:
    made = fold(*before, control(action))
    assert made.progress.status == status
    assert (made.pending_control and made.pending_control.action) == pending
    assert advance(start_progress(RECORD), (*before, control(action))).status == status


def test_a_stop_survives_a_pause_and_a_resume_revokes_both() -> None:
    made = fold(*ACTIVE, control("stop", by="ada"), control("pause", by="bo"))
    assert made.pending_control is not None
    assert (made.pending_control.action, made.pending_control.by) == ("stop", "ada")
    assert fold(*ACTIVE, control("pause", by="ada"), control("stop", by="bo")).pending_control.by == "bo"  # type: ignore[union-attr]
    made.apply(control("resume"))
    assert made.pending_control is None


def test_the_end_of_a_run_completes_its_requests() -> None:
    for end in (over("paused"), over("completed"), broke()):
        assert fold(*ACTIVE, control("pause"), end).pending_control is None


def test_an_extension_changes_the_plan_but_never_below_the_started_rounds() -> None:
    assert fold(*COMPLETED, control("extend", total_rounds=7)).progress.total_rounds == 7
    two = RoundStart(**WHERE, round=2, agents=("ada",))
    assert fold(*BEGIN, two, control("extend", total_rounds=1)).progress.total_rounds == 2
    assert fold(*BEGIN, control("extend")).progress.total_rounds == 2
    assert fold(*COMPLETED, control("extend")).exit is None
    assert fold(*COMPLETED).extended_after == 0
    closed = RoundComplete(**WHERE, round=1, answered=1, failed=0)
    assert fold(*BEGIN, closed, EXIT, over("completed")).extended_after == 0
    assert fold(*BEGIN, closed, EXIT, over("completed"), control("extend")).extended_after == 1
    assert fold(*BEGIN, closed, control("extend")).extended_after == 0


def test_only_an_extension_that_adds_rounds_reopens_a_debate_whose_end_is_decided() -> None:
    decided = (*BEGIN, RoundComplete(**WHERE, round=1, answered=1, failed=0), EXIT)
    for answers in (control("extend"), control("extend", total_rounds=2, focus_question="Then?")):
        made = fold(*decided, answers)
        assert (made.concluding, made.exit, made.extended_after) == (True, EXIT.exit, 0)
    made = fold(*decided, control("extend", total_rounds=3))
    assert (made.concluding, made.exit, made.extended_after) == (False, None, 1)
    next_round = RoundStart(**WHERE, round=2, agents=("ada",))
    assert fold(*decided, control("extend", total_rounds=2), next_round).exit is None


def test_a_debate_whose_end_is_decided_keeps_its_reason_over_a_pause() -> None:
    left = DebateExit(**WHERE, exit=ExitResult(should_exit=True, reason="paused"))
    decided = (*BEGIN, RoundComplete(**WHERE, round=1, answered=1, failed=0), EXIT)
    paused = (*decided, control("pause"), left, over("paused"))
    assert fold(*paused).exit == left.exit
    for resumed in (fold(*paused, control("resume")), fold(*decided, control("pause"), control("resume"))):
        assert (resumed.concluding, resumed.exit, resumed.pending_control) == (True, EXIT.exit, None)
    twice = fold(*paused, control("resume"), control("pause"), left, over("paused"), control("resume"))
    assert twice.exit == EXIT.exit
    more = fold(*paused, control("extend", total_rounds=3), control("resume"))
    assert (more.exit, more.concluding, more.extended_after) == (None, False, 1)
    undecided = fold(*BEGIN, control("pause"), left, over("paused"), control("resume"))
    assert undecided.exit is None


def test_continuing_discards_how_the_last_run_ended() -> None:
    assert fold(*BROKEN).error is not None
    assert fold(*BROKEN, control("resume")).error is None
    assert fold(*BEGIN, EXIT, over("paused")).exit is not None
    assert fold(*BEGIN, EXIT, over("paused"), control("resume")).exit is None
    assert fold(*COMPLETED, control("resume")).exit is not None


def test_progress_counts_positions_and_rounds() -> None:
    events = (*BEGIN, turn(0), failed(1), RoundComplete(**WHERE, round=1, answered=1, failed=1))
    progress = advance(start_progress(RECORD), events)
    assert (progress.status, progress.current_round, progress.response_count) == ("active", 1, 1)
    assert fold(*events).progress == progress
    assert fold(*events).to_record().rounds[0].complete
