"""Close a round: its agreement, its decision, and whether the debate continues."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

from roundtable.core.base.words import counted, listing
from roundtable.core.errors import QuorumLost, RoundtableError
from roundtable.core.stages import error_from_info, error_info
from roundtable.core.types.debate import ExitResult
from roundtable.core.types.events import ConsensusMeasured, DebateComplete, DebateError, DebateExit, RoundComplete
from roundtable.core.types.plan import BASELINE_STAGE, CHAIR_STAGE, JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE
from roundtable.scoring.camps import answers_by_turn
from roundtable.scoring.numbers import exact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from roundtable.core.capabilities import ComparingMeter
    from roundtable.core.protocols import ConsensusMeter
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.chat import Usage
    from roundtable.core.types.consensus import AnyConsensus, Decision, Measured
    from roundtable.core.types.debate import (
        AnyTurn,
        DebateConfig,
        FailedTurn,
        RoundRecord,
        SessionRecord,
        SessionStatus,
    )
    from roundtable.core.types.plan import Stage

__all__ = [
    "DebateExits",
    "Decider",
    "broken_events",
    "check_round_quorum",
    "check_stage_quorum",
    "closing_events",
    "early_exit",
    "end_event",
    "error_event",
    "exit_after",
    "exit_event",
    "independent_agreement",
    "independent_answers",
    "last_events",
    "leaving_events",
    "measure_round",
    "step_figures",
    "with_measure",
    "without_votes",
]


class Decider(Protocol):
    """Decides a round by its judges or by the rule of the debate; it raises nothing."""

    def __call__(
        self,
        record: RoundRecord,
        consensus: AnyConsensus | None,
        config: DebateConfig,
        /,
        *,
        before: Sequence[RoundRecord],
        vote_options: Sequence[str],
    ) -> Decision:
        """Return the decision of a round.

        Args:
            record: The round.
            consensus: Its agreement.
            config: Configuration of the debate.
            before: The earlier rounds.
            vote_options: Options of the mode's own vote in a debate without options.
        """


class DebateExits(Protocol):
    """The exit criteria of a debate; they raise nothing."""

    def check(self, rounds: Sequence[RoundRecord], extended_after: int, /) -> ExitResult | None:
        """Check the complete rounds.

        Args:
            rounds: The rounds; at least one.
            extended_after: Number of rounds before the caller extended the debate. A criterion that already held then
                doesn't end the debate again.

        Returns:
            The result; `None` if no criterion is left.
        """

    def failed_in(self, result: ExitResult, /) -> tuple[str, ...]:
        """List the criteria that raised an error, each with its cause."""


def last_events(
    fold: Fold, now: datetime, result: ExitResult, status: SessionStatus
) -> tuple[DebateExit | DebateComplete, ...]:
    """Return the events that end a run for a reason; a debate that is already over keeps its own reason."""
    if fold.concluding:
        return (end_event(fold, now, "completed"),)
    return exit_event(fold, now, result), end_event(fold, now, status)


def exit_event(fold: Fold, now: datetime, result: ExitResult) -> DebateExit:
    """Return the event with the reason why a run ends."""
    return DebateExit(session_id=fold.record.id, timestamp=now, exit=result)


def end_event(fold: Fold, now: datetime, status: SessionStatus) -> DebateComplete:
    """Return the last event of a run."""
    rounds = sum(1 for debate_round in fold.rounds if debate_round.turns)
    return DebateComplete(session_id=fold.record.id, timestamp=now, status=status, total_rounds=rounds)


def broken_events(fold: Fold, now: datetime, error: RoundtableError) -> tuple[DebateExit, DebateError]:
    """Return the events of a run that failed."""
    reason = "quorum_lost" if isinstance(error, QuorumLost) else "error"
    return exit_event(
        fold, now, ExitResult(should_exit=True, reason=reason, details=error_info(error).message)
    ), error_event(fold, error, now)


def leaving_events(fold: Fold, now: datetime, *, step: bool) -> tuple[DebateExit | DebateComplete, ...]:
    """Return the events that answer the pending request to pause or stop.

    A debate that only lacks its synthesis can be paused too; it keeps its own exit reason, which counts after a resume.

    Args:
        fold: The session.
        now: Time of the events.
        step: Whether the rounds run one at a time; a paused session keeps this setting.
    """
    request = fold.pending_control
    by = request.by if request and request.by else "the caller"
    if request is not None and request.action == "stop":
        return last_events(
            fold, now, ExitResult(should_exit=True, reason="stopped", details=f"{by} asked to stop"), "completed"
        )
    result = ExitResult(should_exit=True, reason="paused", details=f"{by} asked to pause", figures=step_figures(step))
    if fold.concluding and fold.wants_synthesis:
        return exit_event(fold, now, result), end_event(fold, now, "paused")
    return last_events(fold, now, result, "paused")


def step_figures(step: bool) -> dict[str, JsonValue]:  # noqa: FBT001  (the only parameter)
    """Return the figures of an exit that record whether the rounds run one at a time."""
    return {"step": True} if step else {}


def error_event(fold: Fold, error: RoundtableError, now: datetime) -> DebateError:
    """Return the event of the error that ended a run; if the error names an agent, so does the event."""
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


def check_stage_quorum(stage: Stage, turns: Sequence[AnyTurn], needed: int | None) -> QuorumLost | None:
    """Check the quorum of a finished stage: enough agents must give a position, if the stage requests positions.

    If a stage has fewer agents than the quorum, all of them must answer. A stage of one turn, as in modes in which
    agents speak one after another, is not checked by itself; `check_round_quorum` checks the whole round.

    Returns:
        The error to raise, with every cause; `None` if the quorum is met.
    """
    slots = {spec.slot for spec in stage.turns if spec.answer == "position"}
    answered = sum(turn.outcome == "answered" and turn.slot in slots for turn in turns)
    quorum = min(needed or 1, len(slots))
    if len(stage.turns) == 1 or answered >= quorum:
        return None
    return _quorum_error(turns, answered, len(slots), quorum)


def check_round_quorum(turns: Sequence[AnyTurn], needed: int | None) -> QuorumLost | None:
    """Check the quorum of a round: enough agents must give a position.

    Returns:
        The error to raise, with every cause; `None` if the quorum is met, or no turn failed.
    """
    turns = [turn for turn in turns if turn.stage not in {BASELINE_STAGE, JUDGE_STAGE, MODERATOR_STAGE, VOTE_STAGE}]
    answered = {turn.agent_id for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"}
    other_stages = {turn.stage for turn in turns if turn.outcome == "answered" and turn.answer.kind != "position"}
    failed = {turn.agent_id for turn in turns if turn.outcome == "failed" and turn.stage not in other_stages}
    agent_count = len(answered | failed)
    quorum = min(needed or 1, agent_count)
    if not failed or len(answered) >= quorum:
        return None
    return _quorum_error(turns, len(answered), agent_count, quorum)


def _cause(turn: FailedTurn) -> str:
    """Return who failed and why; a turn that was taken again after a wait says how often it was taken."""
    again = f", in each of {turn.attempt} turns" if turn.attempt > 1 else ""
    return f"{turn.agent_name or turn.agent_id}: {turn.error.message}{again}"


def _quorum_error(turns: Sequence[AnyTurn], answered: int, agent_count: int, quorum: int) -> QuorumLost:
    failed = [turn for turn in turns if turn.outcome == "failed"]
    causes = "; ".join(map(_cause, failed))
    msg = f"{answered} of {counted(agent_count, 'agent')} answered, {quorum} needed. {causes}"
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
    meter: ConsensusMeter,
    record: RoundRecord,
    session: SessionRecord,
    before: Sequence[RoundRecord] = (),
    *,
    groupthink: bool,
) -> tuple[Measured, Measured | None]:
    """Measure the agreement of a round and, if it has independent answers, the agreement of those.

    Args:
        meter: Measures the agreement; what it raises is not caught.
        record: The round.
        session: The session.
        before: The earlier rounds; answers of this round may refer to their answers.
        groupthink: Whether to look for signs of groupthink.
    """
    topic, session_id = session.config.topic, session.id
    if getattr(meter, "compares_earlier", False):
        turns = (turn for round_record in (*before, record) for turn in round_record.turns)
        comparing = cast("ComparingMeter", meter).measure
        measure = partial(
            comparing, topic=topic, session_id=session_id, groupthink=groupthink, earlier=answers_by_turn(turns)
        )
    else:
        measure = partial(meter.measure, topic=topic, session_id=session_id, groupthink=groupthink)
    independent = independent_answers(record)
    baseline = await measure(independent) if independent else None
    measured = await measure(record.responses)
    # The agreement covers only the agents that answered, so the summary names the agents that did not.
    names = [turn.agent_name or turn.agent_id for turn in record.missing]
    missing = f"{listing(names)} did not answer." if names else ""
    baseline = None if baseline is None else _with_answer_count(baseline, len(independent))
    return _with_answer_count(measured, len(record.responses), missing), baseline


def _with_answer_count(measured: Measured, answers: int, missing: str = "") -> Measured:
    """Add the number of answers and a note on missing agents to a measurement."""
    summary = f"{measured.consensus.summary} {missing}".strip()
    own_count = measured.consensus.answers
    answered = answers - len(measured.consensus.abstained) if own_count is None else own_count
    consensus = measured.consensus.model_copy(update={"answers": answered, "summary": summary})
    return measured.model_copy(update={"consensus": consensus})


def independent_answers(record: RoundRecord) -> list[AgentResponse]:
    """Return the independent answers of a round, which are measured in addition to its positions; may be empty."""
    turns = _independent_turns(record)
    return [turn.answer for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"]


def _private_turns(record: RoundRecord) -> list[AnyTurn]:
    return [turn for turn in record.turns if turn.stage == BASELINE_STAGE]


def _independent_turns(record: RoundRecord) -> list[AnyTurn]:
    """Return the turns of the independent answers: the private answers, or else first positions that were replaced."""
    private = _private_turns(record)
    positions = [
        turn
        for turn in record.turns
        if turn.outcome == "answered" and turn.answer.kind == "position" and turn.stage != CHAIR_STAGE
    ]
    if private or record.number != 1 or len(positions) == len(record.responses):
        return private
    first_stages = {turn.agent_id: turn.stage for turn in reversed(positions)}
    first: list[AnyTurn] = [turn for turn in positions if first_stages[turn.agent_id] == turn.stage]
    return first if all(turn.outcome == "answered" and turn.independent for turn in first) else private


def independent_agreement(
    turns: Sequence[AnyTurn], consensus: AnyConsensus, *, assigned: bool
) -> tuple[float | None, str | None]:
    """Return the agreement of independent answers, or the reason why there is no such agreement.

    Args:
        turns: All turns of the first round.
        consensus: The consensus of the positions of that round.
        assigned: Whether the mode assigned a side to each agent.
    """
    positions = [
        turn
        for turn in turns
        if turn.outcome == "answered" and turn.answer.kind == "position" and turn.stage != CHAIR_STAGE
    ]
    if assigned:
        return None, "the mode assigned stances, so no answer was independent"
    if len(positions) - len(consensus.abstained) < 2:
        return None, "fewer than two agents answered in the first round"
    if not all(turn.independent for turn in positions):
        return None, "agents of the first round had seen answers of others"
    return consensus.agreement_level, None


def early_exit(fold: Fold, record: RoundRecord, measured: ConsensusMeasured) -> ExitResult | None:
    """Return the exit that skips the remaining rounds, if the independent answers agree enough; else `None`."""
    threshold, level = fold.record.config.skip_rounds_when, measured.independent_agreement
    remaining = fold.progress.total_rounds - record.number
    if threshold is None or level is None or remaining < 1 or exact(level) < exact(threshold):
        return None
    answered, asked = _count_independent(record, measured)
    if 2 * answered <= asked:
        return None
    saved = remaining * (len(without_votes(record)) - len(_private_turns(record)))
    figures: dict[str, JsonValue] = {
        "independentAgreement": level,
        "threshold": threshold,
        "roundsSkipped": remaining,
        "turnsSaved": saved,
    }
    savings = f"{counted(remaining, 'round')}, {counted(saved, 'turn')} saved"
    details = f"independent answers agree by {level:.2f}, at least {threshold:g}; {savings}"
    return ExitResult(should_exit=True, reason="skipped", details=details, figures=figures)


def _count_independent(record: RoundRecord, measured: ConsensusMeasured) -> tuple[int, int]:
    """Return the number of agents that gave an independent answer and did not abstain, and of those that were asked."""
    turns = _independent_turns(record)
    if measured.baseline is None or not turns:
        return len(record.responses) - len(measured.consensus.abstained), len(record.responses) + len(record.missing)
    answered = sum(turn.outcome == "answered" for turn in turns)
    return answered - len(measured.baseline.abstained), len({turn.agent_id for turn in turns})


def closing_events(
    fold: Fold,
    record: RoundRecord,
    measured: Measured,
    before: Measured | None,
    now: datetime,
    *,
    assigned: bool,
    decide: Decider,
    rounds: Sequence[RoundRecord] = (),
    vote_options: Sequence[str] = (),
) -> tuple[ConsensusMeasured, RoundComplete]:
    """Return the events that close a round.

    Args:
        fold: The session.
        record: The round.
        measured: Its agreement.
        before: The agreement of its independent answers, if it has any.
        now: Time of the events.
        assigned: Whether the mode assigned a side to each agent.
        decide: Decides the round.
        rounds: The rounds before it.
        vote_options: Options of the mode's own vote in a debate without options.
    """
    consensus = measured.consensus
    if assigned:
        consensus = consensus.model_copy(update={"assigned": True})
    independent: tuple[float | None, str | None] = (None, None)
    if before is not None:
        turns = _independent_turns(record)
        independent = independent_agreement(turns, before.consensus, assigned=assigned and not _private_turns(record))
    elif record.number == 1:
        independent = independent_agreement(record.turns, consensus, assigned=assigned)
    answered = sum(turn.outcome == "answered" for turn in record.turns)
    return (
        ConsensusMeasured(
            session_id=fold.record.id,
            timestamp=now,
            round=record.number,
            consensus=consensus,
            decision=decide(record, consensus, fold.record.config, before=rounds, vote_options=vote_options),
            independent_agreement=independent[0],
            independent_agreement_reason=independent[1],
            baseline=None if before is None else before.consensus,
            usage=_sum_usage(measured.usage, None if before is None else before.usage),
        ),
        RoundComplete(
            session_id=fold.record.id,
            timestamp=now,
            round=record.number,
            answered=answered,
            failed=len(record.turns) - answered,
        ),
    )


def _sum_usage(first: Usage | None, second: Usage | None) -> Usage | None:
    return first if second is None else second if first is None else first + second


def with_measure(record: RoundRecord, measured: ConsensusMeasured) -> RoundRecord:
    """Return a round with the results of its closing events."""
    return record.model_copy(update={"consensus": measured.consensus, "decision": measured.decision, "complete": True})


def without_votes(record: RoundRecord) -> tuple[AnyTurn, ...]:
    """Return the turns of a round without its final vote, since votes do not change the agreement."""
    return tuple(turn for turn in record.turns if turn.stage != VOTE_STAGE and not turn.decides)


def exit_after(
    rounds: Sequence[RoundRecord],
    exits: DebateExits | None,
    planned: int,
    ended_by_mode: str | None,
    *,
    extended_after: int = 0,
) -> ExitResult | None:
    """Return why the debate ends after these complete rounds; `None` if it continues.

    The result names exit criteria that raised an error.

    Args:
        rounds: The complete rounds.
        exits: The exit criteria; without them, the debate ends after the planned rounds.
        planned: Number of planned rounds.
        ended_by_mode: Why the mode ended the debate, if it did.
        extended_after: Number of rounds before the caller extended the debate.
    """
    if ended_by_mode is not None:
        return ExitResult(should_exit=True, reason=ended_by_mode, details="the mode has nothing more to ask")
    result = None if exits is None else exits.check(rounds, extended_after)
    if result is not None and result.should_exit:
        return result
    if len(rounds) >= planned:
        broken = () if exits is None or result is None else exits.failed_in(result)
        details = (
            f"{len(rounds)} of {counted(planned, 'planned round was', 'planned rounds were')} held",
            *(f"broken exit {name}" for name in broken),
        )
        figures: dict[str, JsonValue] = {"rounds": len(rounds), "maxRounds": planned}
        if broken:
            figures["broken"] = list(broken)
        return ExitResult(should_exit=True, reason="max_rounds", details="; ".join(details), figures=figures)
    return None
