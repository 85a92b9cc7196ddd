"""Closing a round: what was measured, what was decided, and whether the debate goes on."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from roundtable.analysis import AnalyzerChain, NamedMeter, decide_record, independent_agreement
from roundtable.errors import QuorumLost, RoundtableError
from roundtable.exits import broken_in
from roundtable.scoring.words import counted
from roundtable.stages import error_from_info, error_info
from roundtable.types import ConsensusMeasured, DebateComplete, DebateError, DebateExit, ExitResult, RoundComplete
from roundtable.types.plan import BASELINE_STAGE, CHAIR_STAGE, JUDGE_STAGE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from roundtable._registry import Registry
    from roundtable.errors import RoundtableError
    from roundtable.protocols import ConsensusMeter, DebateModeStrategy, ExitCriterion
    from roundtable.record import Fold
    from roundtable.scoring import Rule
    from roundtable.types import (
        AgentResponse,
        AnyTurn,
        JsonValue,
        Measured,
        RoundRecord,
        SessionRecord,
        SessionStatus,
        Stage,
        Usage,
    )

__all__ = [
    "answers_alone",
    "broken_events",
    "end_event",
    "error_event",
    "exit_after",
    "exit_event",
    "last_events",
    "leaving_events",
    "lost_quorum",
    "lost_round",
    "measure_round",
    "measured_events",
    "skipping",
    "with_measure",
]


def last_events(
    fold: Fold, now: datetime, result: ExitResult, status: SessionStatus
) -> tuple[DebateExit | DebateComplete, ...]:
    """Give the events that end a run for a reason; a debate that is over keeps the reason it has."""
    if fold.concluding:
        return (end_event(fold, now, "completed"),)
    return exit_event(fold, now, result), end_event(fold, now, status)


def exit_event(fold: Fold, now: datetime, result: ExitResult) -> DebateExit:
    """Give the event that says why a run ends."""
    return DebateExit(session_id=fold.record.id, timestamp=now, exit=result)


def end_event(fold: Fold, now: datetime, status: SessionStatus) -> DebateComplete:
    """Give the last event of a run."""
    held = sum(1 for turns in fold.rounds if turns.turns)
    return DebateComplete(session_id=fold.record.id, timestamp=now, status=status, total_rounds=held)


def broken_events(fold: Fold, now: datetime, error: RoundtableError) -> tuple[DebateExit, DebateError]:
    """Give the events of a run that broke."""
    reason = "quorum_lost" if isinstance(error, QuorumLost) else "error"
    return exit_event(
        fold, now, ExitResult(should_exit=True, reason=reason, details=error_info(error).message)
    ), error_event(fold, error, now)


def leaving_events(fold: Fold, now: datetime) -> tuple[DebateExit | DebateComplete, ...]:
    """Give the events that answer the pending request to pause or stop."""
    asked = fold.pending_control
    by = asked.by if asked and asked.by else "the caller"
    if asked is not None and asked.action == "stop":
        return last_events(
            fold, now, ExitResult(should_exit=True, reason="stopped", details=f"{by} asked to stop"), "completed"
        )
    return last_events(
        fold, now, ExitResult(should_exit=True, reason="paused", details=f"{by} asked to pause"), "paused"
    )


def error_event(fold: Fold, error: RoundtableError, now: datetime) -> DebateError:
    """Give the event that tells what broke a run, and whose turn it was where the error says so."""
    info = error_info(error)
    agent = None if info.details is None else info.details.get("agentId")
    return DebateError(
        session_id=fold.record.id,
        timestamp=now,
        error=info.message,
        code=info.code,
        info=info,
        agent=agent if isinstance(agent, str) else None,
        round=fold.current.number if fold.current else None,
    )


def lost_quorum(stage: Stage, turns: Sequence[AnyTurn], needed: int | None) -> QuorumLost | None:
    """Say, with every cause, that too few agents of a finished stage gave the positions asked for.

    A stage that asks fewer agents than the quorum needs all it asks. A stage of one turn, as in modes in which one
    speaks after another, is not judged by itself but with its round, by `lost_round`.

    Returns:
        The error to raise; `None` when enough did.
    """
    asked = {spec.slot for spec in stage.turns if spec.answer == "position"}
    answered = sum(turn.outcome == "answered" and turn.slot in asked for turn in turns)
    if len(stage.turns) == 1 or answered >= min(needed or 1, len(asked)):
        return None
    return _lost(turns, answered, len(asked), min(needed or 1, len(asked)))


def lost_round(turns: Sequence[AnyTurn], needed: int | None) -> QuorumLost | None:
    """Say, with every cause, that too few agents gave a position in a round.

    Returns:
        The error to raise; `None` when enough did, or when nothing failed.
    """
    turns = [turn for turn in turns if turn.stage != JUDGE_STAGE]
    answered = {turn.agent_id for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"}
    others = {turn.stage for turn in turns if turn.outcome == "answered" and turn.answer.kind != "position"}
    failed = {turn.agent_id for turn in turns if turn.outcome == "failed" and turn.stage not in others}
    asked = len(answered | failed)
    quorum = min(needed or 1, asked)
    if not failed or len(answered) >= quorum:
        return None
    return _lost(turns, len(answered), asked, quorum)


def _lost(turns: Sequence[AnyTurn], answered: int, asked: int, quorum: int) -> QuorumLost:
    failed = [turn for turn in turns if turn.outcome == "failed"]
    causes = "; ".join(f"{turn.agent_name or turn.agent_id}: {turn.error.message}" for turn in failed)
    msg = f"{answered} of {asked} agents answered, {quorum} needed. {causes}"
    facts: list[JsonValue] = [
        turn.error.model_dump(mode="json", exclude_none=True) | {"agentId": turn.agent_id} for turn in failed
    ]
    hint = next((turn.error.hint for turn in failed if turn.error.hint), None)
    return QuorumLost(
        msg,
        causes=(error_from_info(turn.error) for turn in failed),
        hint=hint and f"{hint} Then resume the session.",
        details={"failed": facts},
    )


async def measure_round(
    meter: ConsensusMeter, record: RoundRecord, session: SessionRecord, mode: DebateModeStrategy
) -> tuple[Measured, Measured | None]:
    """Measure the agreement of a round, and that of the private answers before it, where there are any.

    Where the meter breaks, the basic formula measures, with the cause.
    """
    chain = meter if isinstance(meter, AnalyzerChain) else AnalyzerChain([NamedMeter("analyzer", meter)])
    topic, looks = session.config.topic, mode.needs_groupthink_detection
    alone = answers_alone(record)
    before = await chain.measure(alone, topic, session_id=session.id, groupthink=looks) if alone else None
    return await chain.measure(record.responses, topic, session_id=session.id, groupthink=looks), before


def answers_alone(record: RoundRecord) -> list[AgentResponse]:
    """Give the answers of a round that are measured by themselves, beside its positions; empty where none are."""
    alone = _alone(record)
    return [turn.answer for turn in alone if turn.outcome == "answered" and turn.answer.kind == "position"]


def _private(record: RoundRecord) -> list[AnyTurn]:
    return [turn for turn in record.turns if turn.stage == BASELINE_STAGE]


def _alone(record: RoundRecord) -> list[AnyTurn]:
    """Give the answers that are measured by themselves: private ones, else first ones that later ones have replaced."""
    private = _private(record)
    said = [
        turn
        for turn in record.turns
        if turn.outcome == "answered" and turn.answer.kind == "position" and turn.stage != CHAIR_STAGE
    ]
    if private or record.number != 1 or len(said) == len(record.responses):
        return private
    stage = {turn.agent_id: turn.stage for turn in reversed(said)}
    first: list[AnyTurn] = [turn for turn in said if stage[turn.agent_id] == turn.stage]
    return first if all(turn.outcome == "answered" and turn.independent for turn in first) else private


def skipping(fold: Fold, record: RoundRecord, measured: ConsensusMeasured) -> ExitResult | None:
    """Say that the rounds to come are not held, because independent answers agree as far as was asked for."""
    threshold, level = fold.record.config.skip_rounds_when, measured.independent_agreement
    left = fold.progress.total_rounds - record.number
    if threshold is None or level is None or left < 1 or Fraction(str(level)) < Fraction(str(threshold)):
        return None
    saved = left * (len(record.turns) - len(_private(record)))
    figures: dict[str, JsonValue] = {
        "independentAgreement": level,
        "threshold": threshold,
        "roundsSkipped": left,
        "turnsSaved": saved,
    }
    spared = f"{counted(left, 'round')}, {counted(saved, 'turn')} saved"
    details = f"independent answers agree by {level:.2f}, at least {threshold:g}; {spared}"
    return ExitResult(should_exit=True, reason="skipped", details=details, figures=figures)


def measured_events(
    fold: Fold,
    record: RoundRecord,
    measured: Measured,
    before: Measured | None,
    now: datetime,
    *,
    assigned: bool,
    rules: Registry[Rule] | None = None,
) -> tuple[ConsensusMeasured, RoundComplete]:
    """Give the events that close a round."""
    consensus = measured.consensus
    if assigned:
        consensus = consensus.model_copy(update={"assigned": True})
    independent: tuple[float | None, str | None] = (None, None)
    if before is not None:
        alone = _alone(record)
        independent = independent_agreement(alone, before.consensus, assigned=assigned and not _private(record))
    elif record.number == 1:
        independent = independent_agreement(record.turns, consensus, assigned=assigned)
    answered = sum(turn.outcome == "answered" for turn in record.turns)
    return (
        ConsensusMeasured(
            session_id=fold.record.id,
            timestamp=now,
            round=record.number,
            consensus=consensus,
            decision=decide_record(record, consensus, fold.record.config, rules),
            independent_agreement=independent[0],
            independent_agreement_reason=independent[1],
            baseline=None if before is None else before.consensus,
            usage=_sum(measured.usage, None if before is None else before.usage),
        ),
        RoundComplete(
            session_id=fold.record.id,
            timestamp=now,
            round=record.number,
            answered=answered,
            failed=len(record.turns) - answered,
        ),
    )


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return one if other is None else other if one is None else one + other


def with_measure(record: RoundRecord, measured: ConsensusMeasured) -> RoundRecord:
    """Give a round as it is once its closing events are stored."""
    return record.model_copy(update={"consensus": measured.consensus, "decision": measured.decision, "complete": True})


def exit_after(
    rounds: Sequence[RoundRecord], exits: ExitCriterion | None, planned: int, ended_by_mode: str | None
) -> ExitResult | None:
    """Say why the debate ends after these complete rounds; `None` while it goes on.

    Without `exits` it ends after the planned rounds. Exits that broke, where they are guarded, are named in the result.
    """
    if ended_by_mode is not None:
        return ExitResult(should_exit=True, reason=ended_by_mode, details="the mode has nothing more to ask")
    result = None if exits is None else exits.check(rounds)
    if result is not None and result.should_exit:
        return result
    if len(rounds) >= planned:
        broken = () if result is None else broken_in(result.figures)
        details = (f"{len(rounds)} of {planned} planned rounds were held", *(f"broken exit {name}" for name in broken))
        figures: dict[str, JsonValue] = {"rounds": len(rounds), "maxRounds": planned}
        if broken:
            figures["broken"] = list(broken)
        return ExitResult(should_exit=True, reason="max_rounds", details="; ".join(details), figures=figures)
    return None
