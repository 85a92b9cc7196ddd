"""A session as the fold of its events: one event at a time while it runs, or all at once from storage.

Both ways give the same record, byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from roundtable.record.progress import Progress, advance, start_progress
from roundtable.types import DebateContext, DebateRecord, RoundRecord, Seat, Session, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from roundtable.types import (
        AnyConsensus,
        AnyTurn,
        ConsensusMeasured,
        ContextRequest,
        ContextResult,
        Control,
        ConversationComplete,
        DebateComplete,
        DebateError,
        DebateExit,
        Decision,
        DurableEvent,
        ErrorInfo,
        ExitResult,
        SessionRecord,
        SessionStatus,
        SynthesisComplete,
        SynthesisResult,
    )

__all__ = ["Fold", "fold_debate", "fold_session"]


@dataclass(slots=True)
class _Round:
    number: int
    focus_question: str | None
    context_results: tuple[ContextResult, ...] = ()
    turns: dict[tuple[str, int], AnyTurn] = field(default_factory=dict)
    consensus: AnyConsensus | None = None
    decision: Decision | None = None
    baseline: AnyConsensus | None = None
    begun: bool = False
    complete: bool = False
    usage: Usage = field(default_factory=Usage)
    ordered: tuple[AnyTurn, ...] | None = None
    record: RoundRecord | None = None

    @property
    def has_answers(self) -> bool:
        return any(turn.outcome == "answered" for turn in self.turns.values())

    def in_order(self) -> tuple[AnyTurn, ...]:
        if self.ordered is None:
            stages = {stage: place for place, stage in enumerate(dict.fromkeys(stage for stage, _ in self.turns))}
            keys = sorted(self.turns, key=lambda key: (stages[key[0]], key[1]))
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
            )
        return self.record


class Fold:
    """The state of one session, grown event by event.

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
        self.progress: Progress = start_progress(record)
        self.last_seq: int = 0
        self.updated_at: datetime = record.created_at
        self.rounds: list[_Round] = []
        self.usage: Usage = Usage()
        self.usage_by_agent: dict[str, Usage] = {}
        self.exit: ExitResult | None = None
        self.error: ErrorInfo | None = None
        self.started: bool = False
        self.extended_after: int = 0
        """Complete rounds when the session, completed, was last extended; 0 when it never was."""
        self.independent_agreement: float | None = None
        self.independent_reason: str | None = "no round has been measured yet"
        self.context_requests: tuple[ContextRequest, ...] = ()
        self.synthesis: SynthesisResult | None = None
        self.synthesis_error: ErrorInfo | None = None
        self.next_focus: str | None = record.config.focus_question
        self.next_context: tuple[ContextResult, ...] = ()
        self.pending_control: Control | None = None
        self._seats = _seats(record)
        self._shared = 0 if record.forked_from is None else record.forked_from.events
        if record.forked_from is not None:
            # Whoever forks wants to go on, so what had ended the debate by then has had its say.
            self.extended_after = record.forked_from.at_round
        for event in events:
            self.apply(event)

    @property
    def current(self) -> _Round | None:
        """The latest round, if any has begun."""
        return self.rounds[-1] if self.rounds else None

    @property
    def concluding(self) -> bool:
        """Whether the debate is over and only its last event is not stored: it is, or was, being put together."""
        return self.progress.status == "active" and self.exit is not None

    @property
    def wants_synthesis(self) -> bool:
        """Whether the debate is still to be put together, with something there to put together."""
        return (
            self.record.config.synthesize and self.synthesis is None and any(held.has_answers for held in self.rounds)
        )

    def apply(self, event: DurableEvent) -> None:
        """Take the next event. Events at or below the last number are passed over."""
        if event.seq and event.seq <= self.last_seq:
            return
        self.last_seq = event.seq or self.last_seq
        self.updated_at = event.timestamp
        before, self.progress = self.progress.status, advance(self.progress, (event,))
        match event.type:
            case "agent_complete" | "agent_error" | "initiator_complete":
                self._turn(event.turn)
            case "debate_start" | "conversation_start":
                self.started = True
            case "round_start":
                self.error = self.exit = None
                held = self._find(event.round)
                held.begun, held.focus_question, held.context_results = (
                    True,
                    event.focus_question,
                    event.context_results,
                )
                self.next_context = ()
            case "consensus":
                self._measured(event)
            case "context_requested":
                known = {asked.id: asked for asked in (*self.context_requests, *event.requests)}
                self.context_requests = tuple(known.values())
            case "round_complete":
                self._find(event.round).complete = True
            case "control":
                self._control(event, before)
            case "synthesis_complete":
                self._synthesized(event)
            case "exit" | "error" | "debate_complete" | "conversation_complete":
                self._ended(event)
            case _:
                pass

    def _ended(self, event: DebateExit | DebateError | DebateComplete | ConversationComplete) -> None:
        if event.type == "exit":
            self.exit = event.exit
            return
        self.pending_control = None
        if event.type == "error":
            self.error = event.info
        elif event.type == "conversation_complete":
            self.exit = event.exit
            if event.turn is not None:
                self._turn(event.turn)

    def _find(self, number: int) -> _Round:
        """Give a round that is about to change."""
        for held in reversed(self.rounds):
            if held.number == number:
                held.ordered = held.record = None
                return held
        self.rounds.append(_Round(number, None))
        return self.rounds[-1]

    def _synthesized(self, event: SynthesisComplete) -> None:
        self.synthesis, self.synthesis_error = event.synthesis or self.synthesis, event.error
        if self._is_own:
            self.usage += event.usage or Usage()

    def _turn(self, turn: AnyTurn) -> None:
        # Whatever is said after a synthesis is not in it.
        self.synthesis = self.synthesis_error = None
        held = self._find(turn.round)
        held.turns[turn.stage, turn.slot] = turn
        spent = turn.result.usage if turn.outcome == "answered" else turn.usage
        held.usage += spent
        if self._is_own:
            self.usage += spent
            self.usage_by_agent[turn.agent_id] = self.usage_by_agent.get(turn.agent_id, Usage()) + spent

    @property
    def _is_own(self) -> bool:
        """Whether the event at hand is of this session, and not of the past it shares with another."""
        return not self._shared or self.last_seq > self._shared

    def _measured(self, event: ConsensusMeasured) -> None:
        held = self._find(event.round)
        held.consensus, held.decision, held.baseline = event.consensus, event.decision, event.baseline
        held.usage += event.usage or Usage()
        if self._is_own:
            self.usage += event.usage or Usage()
        if event.independent_agreement is not None or event.independent_agreement_reason is not None:
            self.independent_agreement = event.independent_agreement
            self.independent_reason = event.independent_agreement_reason

    def _control(self, event: Control, before: SessionStatus) -> None:
        match event.action:
            case "pause":
                # Nothing to pause where nothing can run; and who was asked to stop does not merely pause.
                asked = self.pending_control
                if before in {"created", "active"} and (asked is None or (asked.action == "pause" and event.cancels)):
                    self.pending_control = event
                return
            case "stop":
                if before != "completed":
                    self.pending_control = event
                return
            case "resume":
                if before == "completed":
                    return
                self.pending_control = self.error = self.exit = None
                self._adopt(event)
            case "extend":
                if before == "completed" or (before == "active" and self.exit is not None):
                    self.extended_after = sum(held.complete for held in self.rounds)
                    self.exit = None
            case _:
                assert_never(event.action)
        if event.focus_question is not None:
            self.next_focus = event.focus_question
        if event.context_results:
            answered = {result.request_id for result in event.context_results}
            self.next_context += event.context_results
            self.context_requests = tuple(asked for asked in self.context_requests if asked.id not in answered)

    def _adopt(self, event: Control) -> None:
        """Take over the configuration with which somebody goes on."""
        changed = {"agents": event.agents, "prompt_version": event.prompt_version}
        changed = {name: value for name, value in changed.items() if value is not None}
        if changed:
            self.record = self.record.model_copy(update=changed)
            self._seats = _seats(self.record)

    def view(self, *, without_stage: str | None = None) -> DebateContext:
        """Give the mode's view: everything said so far.

        Args:
            without_stage: Leaves out this stage of the current round, for asking the mode again what
                it had planned before that stage began.
        """
        config, current = self.record.config, self.current
        turns = tuple(
            turn
            for held in self.rounds
            for turn in held.in_order()
            if not (held is current and turn.stage == without_stage)
        )
        return DebateContext(
            session_id=self.record.id,
            topic=config.topic,
            mode=config.mode,
            current_round=current.number if current else 1,
            total_rounds=self.progress.total_rounds,
            previous_responses=tuple(
                turn.answer for turn in turns if turn.outcome == "answered" and turn.answer.kind == "position"
            ),
            focus_question=current.focus_question if current else config.focus_question,
            context_results=current.context_results if current else (),
            perspectives=config.perspectives,
            options=config.options,
            agents=self._seats,
            transcript=turns,
            seed=config.seed,
            team=config.team,
        )

    def to_record(self) -> DebateRecord:
        """Give the record of everything so far."""
        return DebateRecord(
            session=self.record,
            status=self.progress.status,
            total_rounds=self.progress.total_rounds,
            rounds=tuple(held.to_record() for held in self.rounds),
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
            updated_at=self.updated_at,
        )

    def to_session(self) -> Session:
        """Give the session as the TypeScript API shows it."""
        config = self.record.config
        measured = [held.consensus for held in self.rounds if held.consensus is not None]
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
    """Give the record of a session from all its events."""
    return Fold(record, events).to_record()


def fold_session(record: SessionRecord, events: Iterable[DurableEvent]) -> Session:
    """Give the session of the TypeScript API from all its events."""
    return Fold(record, events).to_session()
