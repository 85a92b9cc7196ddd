"""What events lead from a stored session to the session a caller wants; pure.

The TypeScript API saves whole sessions. A log takes events only, so the difference is told as events where
the states allow it, and refused where it would change what has been said.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from roundtable.errors import SessionConflict, SessionError
from roundtable.record.progress import Progress, advance
from roundtable.types import (
    AgentComplete,
    AgentConfig,
    ConsensusMeasured,
    Control,
    DebateComplete,
    DebateConfig,
    DebateError,
    DebateStart,
    ErrorInfo,
    RoundStart,
    SessionRecord,
    Turn,
    TurnResult,
)
from roundtable.types.plan import EXTERNAL

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.record.fold import Fold
    from roundtable.types import AgentResponse, DurableEvent, Session

__all__ = ["difference", "external_turns", "record_of"]

"""Stage of the turns, and provider of the agents, that come from outside."""

_FIXED = ("topic", "mode", "agent_ids", "perspectives", "exit_on_consensus", "created_at")


def record_of(session: Session, tenant: str) -> SessionRecord:
    """Make the record of a session that is not stored yet.

    A session names its agents and no more, so they are recorded with the provider `"external"`.

    Raises:
        SessionError: The session could not have been created.
    """
    names = {response.agent_id: response.agent_name for response in session.responses}
    try:
        return SessionRecord(
            id=session.id,
            tenant=tenant,
            config=DebateConfig(
                topic=session.topic,
                mode=session.mode,
                agents=session.agent_ids,
                rounds=session.total_rounds,
                perspectives=session.perspectives,
                exit_on_consensus=session.exit_on_consensus,
            ),
            agents=tuple(
                AgentConfig(id=agent, name=names.get(agent) or agent, provider=EXTERNAL) for agent in session.agent_ids
            ),
            created_at=session.created_at,
        )
    except ValueError as error:
        raise SessionError(f"session {session.id!r} cannot be stored: {error}", cause=error) from error


def external_turns(
    fold: Fold, responses: tuple[AgentResponse, ...], now: datetime, *, round: int | None = None
) -> tuple[DurableEvent, ...]:
    """Tell answers from outside as turns of the current round, stage `external`, in the next free slots.

    Args:
        fold: The session as it is stored.
        responses: The answers.
        now: The time of writing.
        round: Another round than the current one.
    """
    number = round or max(fold.progress.current_round, 1)
    slots = [
        turn.slot
        for held in fold.to_record().rounds
        for turn in held.turns
        if turn.round == number and turn.stage == EXTERNAL
    ]
    first = max(slots, default=-1) + 1
    return tuple(
        AgentComplete(
            session_id=fold.record.id,
            timestamp=now,
            agent=response.agent_id,
            round=number,
            turn=Turn(
                round=number,
                stage=EXTERNAL,
                slot=slot,
                agent_id=response.agent_id,
                agent_name=response.agent_name,
                timestamp=response.timestamp,
                result=TurnResult(answer=response),
            ),
        )
        for slot, response in enumerate(responses, first)
    )


def difference(fold: Fold, session: Session, now: datetime) -> tuple[DurableEvent, ...]:
    """Give the events after which the stored session is `session`.

    Raises:
        SessionError: No events lead there: something fixed or already said would change, or the
            states do not allow it.
    """
    stored = fold.to_session()
    for name in _FIXED:
        if getattr(stored, name) != getattr(session, name):
            raise _refused(session, f"{name!r} is fixed when a session is created")
    if session.current_round > session.total_rounds:
        raise _refused(session, f"round {session.current_round} of {session.total_rounds} does not exist")
    added = _added(stored, session)
    steps = _Steps(fold, session, now)
    steps.extend_rounds()
    steps.start_rounds()
    steps.events += external_turns(fold, added, now, round=max(session.current_round, 1))
    steps.measure()
    steps.reach_status()
    wanted = Progress(
        session.status, session.current_round, session.total_rounds, fold.progress.response_count + len(added)
    )
    if steps.progress() != wanted:
        raise _refused(session, f"nothing leads from {stored.status!r} to {session.status!r} in that way")
    return tuple(steps.events)


def _added(stored: Session, session: Session) -> tuple[AgentResponse, ...]:
    """Give the answers that are not stored yet, in order."""
    left = Counter(response.to_json() for response in stored.responses)
    added: list[AgentResponse] = []
    for response in session.responses:
        text = response.to_json()
        if left[text]:
            left[text] -= 1
        else:
            added.append(response)
    if left.total():
        raise _refused(session, "a stored answer is never changed or dropped")
    return tuple(added)


def _refused(session: Session, why: str) -> SessionError:
    return SessionConflict(
        f"session {session.id!r} cannot be saved like this: {why}",
        hint="Read the session again and change only its status and rounds, or add answers.",
    )


class _Steps:
    """Collects the events, keeping to the states of a session."""

    def __init__(self, fold: Fold, session: Session, now: datetime) -> None:
        self.events: list[DurableEvent] = []
        self._fold = fold
        self._session = session
        self._now = now

    def progress(self) -> Progress:
        return advance(self._fold.progress, self.events)

    def extend_rounds(self) -> None:
        wanted, planned = self._session.total_rounds, self._fold.progress.total_rounds
        if wanted < planned:
            raise _refused(self._session, f"{planned} rounds are planned, and the number only grows")
        if wanted > planned:
            self.events.append(
                Control(session_id=self._session.id, timestamp=self._now, action="extend", total_rounds=wanted)
            )

    def start_rounds(self) -> None:
        begun, wanted = self._fold.progress.current_round, self._session.current_round
        if wanted < begun:
            raise _refused(self._session, f"round {begun} has begun already")
        for number in range(begun + 1, wanted + 1):
            self._activate()
            self.events.append(
                RoundStart(
                    session_id=self._session.id,
                    timestamp=self._now,
                    round=number,
                    agents=self._session.agent_ids,
                )
            )

    def measure(self) -> None:
        session, record = self._session, self._fold.to_record()
        if session.consensus == self._fold.to_session().consensus:
            return
        measured = {held.number for held in record.rounds if held.consensus is not None}
        if session.consensus is None or not session.current_round or session.current_round in measured:
            raise _refused(session, "the consensus of a round is stored once")
        self.events.append(
            ConsensusMeasured(
                session_id=session.id,
                timestamp=self._now,
                round=session.current_round,
                consensus=session.consensus,
            )
        )

    def reach_status(self) -> None:
        wanted = self._session.status
        if wanted in {self.progress().status, "created"}:
            return
        if wanted == "error":
            self.events.append(self._failed())
            return
        self._activate()
        if wanted != "active":
            self.events.append(
                DebateComplete(
                    session_id=self._session.id,
                    timestamp=self._now,
                    status=wanted,
                    total_rounds=self._session.current_round,
                )
            )

    def _activate(self) -> None:
        match self.progress().status:
            case "created":
                config = self._fold.record.config
                self.events.append(
                    DebateStart(
                        session_id=self._session.id,
                        timestamp=self._now,
                        topic=config.topic,
                        mode=config.mode,
                        agents=self._session.agent_ids,
                        rounds=self.progress().total_rounds,
                    )
                )
            case "paused" | "error":
                self.events.append(Control(session_id=self._session.id, timestamp=self._now, action="resume"))
            case "completed":
                raise _refused(self._session, "a completed session goes on only with more rounds planned")
            case "active":
                pass

    def _failed(self) -> DebateError:
        why = "the session was set to 'error' by its caller"
        return DebateError(
            session_id=self._session.id,
            timestamp=self._now,
            error=why,
            code=SessionError.default_code,
            info=ErrorInfo(name=SessionError.__name__, message=why, code=SessionError.default_code),
        )
