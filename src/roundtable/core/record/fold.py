"""A session as the fold of its events: one event at a time while it runs, or all at once from storage.

Both methods produce the same record, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, assert_never

from roundtable.core.record.chain import LogHash
from roundtable.core.types.answers import PlanAnswer, TextAnswer
from roundtable.core.types.chat import NO_USAGE
from roundtable.core.types.debate import DebateContext, DebateRecord, RoundRecord, Seat, Session
from roundtable.core.types.teams import INITIATOR, SUMMARIZER, AgentResult, TeamOutcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from roundtable.core.types.answers import ContextRequest, ContextResult
    from roundtable.core.types.chat import Usage
    from roundtable.core.types.consensus import AnyConsensus, Decision, SynthesisResult
    from roundtable.core.types.debate import (
        AnyTurn,
        ErrorInfo,
        ExitResult,
        ProviderWait,
        SessionRecord,
        SessionStatus,
        Turn,
    )
    from roundtable.core.types.events import (
        ConsensusMeasured,
        Control,
        ConversationComplete,
        DebateComplete,
        DebateError,
        DebateExit,
        DurableEvent,
        SynthesisComplete,
    )

__all__ = [
    "Fold",
    "Progress",
    "advance",
    "fold_debate",
    "fold_session",
    "reports",
    "result_of",
    "start_progress",
    "team_outcome",
]


def reports(turns: Iterable[AnyTurn]) -> list[Turn]:
    """Return the members' answered turns, in order."""
    return [
        turn
        for turn in turns
        if turn.outcome == "answered" and isinstance(turn.answer, TextAnswer) and turn.stage != SUMMARIZER
    ]


def result_of(turn: Turn) -> AgentResult:
    """Return the contribution of a member's turn."""
    assert isinstance(turn.answer, TextAnswer)  # noqa: S101  (only such turns are reports)
    calls, steps = turn.tools_used, turn.result.usage.calls
    return AgentResult(agent=turn.agent_id, response=turn.answer.text, tool_calls=calls, steps=steps)


def team_outcome(record: DebateRecord) -> TeamOutcome | None:
    """Return the outcome of a team; `None` for a debate."""
    if record.session.config.team is None:
        return None
    turns = [turn for debate_round in record.rounds for turn in debate_round.turns]
    answers = {turn.stage: turn.answer for turn in turns if turn.outcome == "answered"}
    plan, summary = answers.get(INITIATOR), answers.get(SUMMARIZER)
    has_initiator_turn = any(turn.stage == INITIATOR for turn in turns)
    return TeamOutcome(
        goal=plan.goal if isinstance(plan, PlanAnswer) else record.session.config.topic if has_initiator_turn else None,
        strategy=plan.strategy if isinstance(plan, PlanAnswer) else None,
        success_criteria=plan.success_criteria if isinstance(plan, PlanAnswer) else (),
        summary=summary.text if isinstance(summary, TextAnswer) else None,
        rounds=tuple(tuple(result_of(turn) for turn in reports(debate_round.turns)) for debate_round in record.rounds),
        execution_time_s=max(0.0, (record.updated_at - record.session.created_at).total_seconds()),
    )


class Progress(NamedTuple):
    """State and counts of a session."""

    status: SessionStatus
    """State of the session."""
    current_round: int
    """Number of the rounds that have begun."""
    total_rounds: int
    """Number of planned rounds, with extensions."""
    response_count: int
    """Number of stored positions."""


def start_progress(record: SessionRecord) -> Progress:
    """Return the progress of a session without events."""
    return Progress("created", 0, record.config.rounds, 0)


def advance(progress: Progress, events: Iterable[DurableEvent]) -> Progress:
    """Return the progress after these events; pure.

    A request to pause or stop changes nothing by itself: the owner of the run answers it with `debate_complete`.
    `conversation_complete` completes the session of a team. A completed session becomes active again only by `extend`,
    and a failed session only by `resume`.
    """
    status, current, total, count = progress
    for event in events:
        match event.type:
            case "debate_start" | "conversation_start":
                status = "active"
            case "round_start":
                status, current = "active", max(current, event.round)
            case "agent_complete":
                count += event.turn.answer.kind == "position"
            case "control" if event.action == "extend":
                status = "active" if status == "completed" else status
                total = max(current, event.total_rounds or total)
            case "control" if event.action == "resume":
                status = status if status == "completed" else "active"
            case "debate_complete":
                status = event.status
            case "conversation_complete":
                status = "completed"
            case "error":
                status = "error"
            case (
                "initiator_tool_call"
                | "initiator_complete"
                | "agent_tool_call"
                | "agent_tool_result"
                | "approval_decided"
                | "approval_requested"
                | "agent_error"
                | "consensus"
                | "context_requested"
                | "round_complete"
                | "exit"
                | "control"
                | "synthesis_complete"
            ):
                pass
            case _:
                assert_never(event.type)
    return Progress(status, current, total, count)


@dataclass(slots=True)
class _Round:
    number: int
    focus_question: str | None
    context_results: tuple[ContextResult, ...] = ()
    turns: dict[tuple[str, int], AnyTurn] = field(default_factory=dict)
    rejections: Counter[tuple[str, int]] = field(default_factory=Counter)
    consensus: AnyConsensus | None = None
    decision: Decision | None = None
    baseline: AnyConsensus | None = None
    begun: bool = False
    complete: bool = False
    step: bool | None = None
    waits: tuple[ProviderWait, ...] = ()
    usage: Usage = NO_USAGE
    ordered: tuple[AnyTurn, ...] | None = None
    record: RoundRecord | None = None

    @property
    def has_answers(self) -> bool:
        return any(turn.outcome == "answered" for turn in self.turns.values())

    def in_order(self) -> tuple[AnyTurn, ...]:
        if self.ordered is None:
            stage_order = {stage: index for index, stage in enumerate(dict.fromkeys(stage for stage, _ in self.turns))}
            keys = sorted(self.turns, key=lambda key: (stage_order[key[0]], key[1]))
            self.ordered = tuple(self.turns[key] for key in keys)
        return self.ordered

    def to_record(self) -> RoundRecord:
        if self.record is None:
            self.record = RoundRecord(
                number=self.number,
                turns=self.in_order(),
                focus_question=self.focus_question,
                consensus=self.consensus,
                decision=self.decision,
                baseline=self.baseline,
                complete=self.complete,
                usage=self.usage,
                waits=self.waits,
            )
        return self.record


class Fold:
    """The state of one session, built event by event.

    Example:
        >>> from roundtable.types import AgentConfig, DebateConfig, RoundStart, SessionRecord, utc_now
        >>> config = DebateConfig(topic="Tea or coffee?", agents=("ada",))
        >>> agents = (AgentConfig(id="ada", name="Ada", provider="scripted"),)
        >>> fold = Fold(SessionRecord(id="s1", config=config, agents=agents))
        >>> fold.apply(RoundStart(session_id="s1", seq=1, timestamp=utc_now(), round=1, agents=("ada",)))
        >>> fold.progress.status, fold.progress.current_round
        ('active', 1)
    """

    def __init__(self, record: SessionRecord, events: Iterable[DurableEvent] = ()) -> None:
        self.record: SessionRecord = record
        self._log_hash = LogHash(record)
        self.progress: Progress = start_progress(record)
        self.last_seq: int = 0
        self.updated_at: datetime = record.created_at
        self.rounds: list[_Round] = []
        self.usage: Usage = NO_USAGE
        self.usage_by_agent: dict[str, Usage] = {}
        self.exit: ExitResult | None = None
        self._decided: ExitResult | None = None
        """Why the debate is over, while it is paused before its synthesis."""
        self.error: ErrorInfo | None = None
        self.started: bool = False
        self.extended_after: int = 0
        """Number of complete rounds when the completed session was last extended; 0 if it was never extended."""
        self.independent_agreement: float | None = None
        self.independent_reason: str | None = "no round has been measured yet"
        self.context_requests: tuple[ContextRequest, ...] = ()
        self.synthesis: SynthesisResult | None = None
        self.synthesis_error: ErrorInfo | None = None
        self.next_focus: str | None = record.config.focus_question
        self.next_context: tuple[ContextResult, ...] = ()
        self.pending_control: Control | None = None
        self._seats = _seats(record)
        self._attachments = record.attachments
        self._shared_events = 0 if record.forked_from is None else record.forked_from.events
        if record.forked_from is not None:
            # A fork continues the debate, so an exit criterion that was already met at the fork does not end it again.
            self.extended_after = record.forked_from.at_round
        for event in events:
            self.apply(event)

    @property
    def current(self) -> _Round | None:
        """The latest round, if any has begun."""
        return self.rounds[-1] if self.rounds else None

    @property
    def concluding(self) -> bool:
        """Whether the debate is over, but not its last event stored; meanwhile, the synthesis is written."""
        return self.progress.status == "active" and self.exit is not None

    @property
    def wants_synthesis(self) -> bool:
        """Whether a synthesis is requested and missing, and the session has answers for it."""
        return (
            self.record.config.synthesize
            and self.synthesis is None
            and any(debate_round.has_answers for debate_round in self.rounds)
        )

    @property
    def head(self) -> str:
        """Hash of the configuration and all events, computed on demand."""
        return self._log_hash.head()

    @property
    def link(self) -> str:
        """The `previous_hash` of the next event; the same as `head`, unless the log was changed."""
        return self._log_hash.link()

    def chain(self, events: Sequence[DurableEvent]) -> list[DurableEvent]:
        """Return the events to store next, with their numbers and hashes."""
        return self._log_hash.chain(self.last_seq, events)

    def apply(self, event: DurableEvent) -> None:
        """Apply the next event; events that were applied before are ignored."""
        if event.seq and event.seq <= self.last_seq:
            return
        self.last_seq = event.seq or self.last_seq
        self._log_hash.add(event)
        self.updated_at = event.timestamp
        before, self.progress = self.progress, advance(self.progress, (event,))
        match event.type:
            case "agent_complete" | "agent_error" | "initiator_complete":
                self._add_turn(event.turn)
            case "debate_start" | "conversation_start":
                self.started = True
            case "round_start":
                self.error = self.exit = self._decided = None
                new_round = self._changing_round(event.round)
                new_round.begun, new_round.focus_question = True, event.focus_question
                new_round.context_results = event.context_results
                self.next_context = ()
                # In a fork, the request that contained the answers is not part of the shared past.
                self._close_requests(event.context_results)
            case "consensus":
                self._apply_measurement(event)
            case "context_requested":
                requests = {request.id: request for request in (*self.context_requests, *event.requests)}
                self.context_requests = tuple(requests.values())
            case "round_complete":
                completed = self._changing_round(event.round)
                completed.complete, completed.step, completed.waits = True, event.step, event.waits or ()
            case "control":
                self._apply_control(event, before)
            case "synthesis_complete":
                self._apply_synthesis(event)
            case "exit" | "error" | "debate_complete" | "conversation_complete":
                self._apply_end(event)
            case (
                "initiator_tool_call"
                | "agent_tool_call"
                | "agent_tool_result"
                | "approval_decided"
                | "approval_requested"
            ):
                pass
            case _:
                assert_never(event.type)

    def _apply_end(self, event: DebateExit | DebateError | DebateComplete | ConversationComplete) -> None:
        if event.type == "exit":
            self._decided = self.exit if self.concluding else None
            self.exit = event.exit
            if event.waits and self.rounds:
                open_round = self._changing_round(self.rounds[-1].number)
                open_round.waits += event.waits
            if event.usage is not None:
                self._add_turnless_usage(event.usage)
            return
        self.pending_control = None
        if event.type == "error":
            self.error = event.info
        elif event.type == "conversation_complete":
            self.exit = event.exit
            if event.turn is not None:
                self._add_turn(event.turn)

    def _add_turnless_usage(self, usage: Usage) -> None:
        """Count calls without a stored turn."""
        if self.rounds:
            self._changing_round(self.rounds[-1].number).usage += usage
        if self._is_own:
            self.usage += usage

    def _changing_round(self, number: int) -> _Round:
        """Return a round that is about to change, a new one if needed; discards what was computed from the round."""
        for existing in reversed(self.rounds):
            if existing.number == number:
                existing.ordered = existing.record = None
                return existing
        self.rounds.append(_Round(number, None))
        return self.rounds[-1]

    def _apply_synthesis(self, event: SynthesisComplete) -> None:
        self.synthesis, self.synthesis_error = event.synthesis or self.synthesis, event.error
        if self._is_own:
            self.usage += event.usage or NO_USAGE

    def _add_turn(self, turn: AnyTurn) -> None:
        # A new turn makes the synthesis outdated.
        self.synthesis = self.synthesis_error = None
        current = self._changing_round(turn.round)
        current.turns[turn.stage, turn.slot] = turn
        if turn.outcome == "failed" and turn.rejects_answer:
            current.rejections[turn.stage, turn.slot] += 1
        usage = turn.result.usage if turn.outcome == "answered" else turn.usage
        current.usage += usage
        if self._is_own:
            self.usage += usage
            self.usage_by_agent[turn.agent_id] = self.usage_by_agent.get(turn.agent_id, NO_USAGE) + usage

    @property
    def _is_own(self) -> bool:
        """Whether the current event belongs to this session, and not to the past that a fork shares."""
        return not self._shared_events or self.last_seq > self._shared_events

    def _apply_measurement(self, event: ConsensusMeasured) -> None:
        measured = self._changing_round(event.round)
        measured.consensus, measured.decision, measured.baseline = event.consensus, event.decision, event.baseline
        measured.usage += event.usage or NO_USAGE
        if self._is_own:
            self.usage += event.usage or NO_USAGE
        if event.independent_agreement is not None or event.independent_agreement_reason is not None:
            self.independent_agreement = event.independent_agreement
            self.independent_reason = event.independent_agreement_reason

    def _apply_control(self, event: Control, before: Progress) -> None:
        match event.action:
            case "pause":
                # Only a session that can run can be paused, and a pause never replaces a request to stop.
                pending = self.pending_control
                is_stronger = pending is None or (pending.action == "pause" and event.cancels)
                if before.status in {"created", "active"} and is_stronger:
                    self.pending_control = event
                return
            case "stop":
                if before.status != "completed":
                    self.pending_control = event
                return
            case "resume":
                if before.status == "completed":
                    return
                if before.status != "active":
                    self.exit, self._decided = self._decided, None
                self.pending_control = self.error = None
                self._adopt(event)
            case "extend":
                # If the end of a debate is decided, an extension that only brings answers adds no rounds.
                adds_rounds = self.progress.total_rounds > before.total_rounds
                is_decided = self.concluding or self._decided is not None
                if before.status == "completed" or (is_decided and adds_rounds):
                    self.extended_after = sum(debate_round.complete for debate_round in self.rounds)
                    self.exit = self._decided = None
            case _:
                assert_never(event.action)
        if event.focus_question is not None:
            self.next_focus = event.focus_question
        self.next_context += event.context_results
        self._close_requests(event.context_results)

    def _close_requests(self, results: Iterable[ContextResult]) -> None:
        """Close the requests for context that are answered."""
        if answered := {result.request_id for result in results}:
            self.context_requests = tuple(request for request in self.context_requests if request.id not in answered)

    def _adopt(self, event: Control) -> None:
        """Apply the configuration with which the session is resumed."""
        changed = {"agents": event.agents, "prompt_version": event.prompt_version}
        changed = {name: value for name, value in changed.items() if value is not None}
        if changed:
            self.record = self.record.model_copy(update=changed)
            self._seats = _seats(self.record)

    def view(self, *, without_stages: Collection[str] = (), ends: bool = False) -> DebateContext:
        """Return the mode's view of everything said so far.

        Args:
            without_stages: Stages of the current round to leave out, so that the mode makes again the plan that it made
                before them.
            ends: Whether an exit criterion ends the debate after the current round.
        """
        config, current = self.record.config, self.current
        turns = tuple(
            turn
            for debate_round in self.rounds
            for turn in debate_round.in_order()
            if not (debate_round is current and turn.stage in without_stages)
        )
        return DebateContext(
            session_id=self.record.id,
            tenant=self.record.tenant,
            topic=config.topic,
            mode=config.mode,
            current_round=current.number if current else 1,
            total_rounds=self.progress.total_rounds,
            previous_responses=tuple(
                answer for turn in turns if turn.outcome == "answered" and (answer := turn.answer).kind == "position"
            ),
            focus_question=current.focus_question if current else config.focus_question,
            context_results=current.context_results if current else (),
            perspectives=config.perspectives,
            options=config.options,
            attachments=self._attachments,
            agents=self._seats,
            transcript=turns,
            seed=config.seed,
            team=config.team,
            claims=config.claims,
            answer_schema=config.answer_schema,
            ends=ends,
        )

    def to_record(self) -> DebateRecord:
        """Return the record of the session so far."""
        return DebateRecord(
            session=self.record,
            status=self.progress.status,
            total_rounds=self.progress.total_rounds,
            rounds=tuple(debate_round.to_record() for debate_round in self.rounds),
            independent_agreement=self.independent_agreement,
            independent_agreement_reason=self.independent_reason,
            context_requests=self.context_requests,
            synthesis=self.synthesis,
            synthesis_error=self.synthesis_error,
            exit=self.exit,
            usage=self.usage,
            usage_by_agent=dict(self.usage_by_agent),
            error=self.error,
            last_seq=self.last_seq,
            log_hash=self.head,
            updated_at=self.updated_at,
        )

    def to_session(self) -> Session:
        """Return the session in the form of `roundtable.types.Session`."""
        config = self.record.config
        measured = [debate_round.consensus for debate_round in self.rounds if debate_round.consensus is not None]
        return Session(
            id=self.record.id,
            topic=config.topic,
            mode=config.mode,
            agent_ids=tuple(agent.id for agent in self.record.agents),
            status=self.progress.status,
            current_round=self.progress.current_round,
            total_rounds=self.progress.total_rounds,
            responses=self.view().previous_responses,
            consensus=measured[-1] if measured else None,
            perspectives=config.perspectives,
            exit_on_consensus=config.exit_on_consensus,
            created_at=self.record.created_at,
            updated_at=self.updated_at,
        )


def _seats(record: SessionRecord) -> tuple[Seat, ...]:
    return tuple(
        Seat(id=agent.id, name=agent.name, persona=agent.persona.name if agent.persona else None)
        for agent in record.agents
    )


def fold_debate(record: SessionRecord, events: Iterable[DurableEvent]) -> DebateRecord:
    """Return the record of a session from all its events."""
    return Fold(record, events).to_record()


def fold_session(record: SessionRecord, events: Iterable[DurableEvent]) -> Session:
    """Return the session from all its events."""
    return Fold(record, events).to_session()
