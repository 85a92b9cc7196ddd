"""Edit a stored session: compute the difference as events, and append them under a lease."""

from __future__ import annotations

import uuid
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from anyio import current_time, move_on_after, sleep

from roundtable.core.base.owner import current_owner
from roundtable.core.errors import (
    ConfigurationError,
    RoundtableError,
    SessionBusy,
    SessionConflict,
    SessionError,
    SessionNotFound,
    StaleSequence,
    StorageError,
)
from roundtable.core.record.fold import Fold, Progress, advance
from roundtable.core.types.agents import AgentConfig
from roundtable.core.types.debate import DebateConfig, ErrorInfo, SessionRecord, Turn, TurnResult
from roundtable.core.types.events import (
    AgentComplete,
    ConsensusMeasured,
    Control,
    DebateComplete,
    DebateError,
    DebateStart,
    RoundStart,
)
from roundtable.core.types.plan import EXTERNAL

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from roundtable.core.protocols import Clock, Storage
    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.debate import Session
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.storage import Lease, LeaseOwner

__all__ = ["append_response", "difference", "external_turns", "record_of", "save_changes", "store_past", "store_whole"]

_FIXED_FIELDS = ("topic", "mode", "agent_ids", "perspectives", "exit_on_consensus", "created_at")

_EDITOR_PREFIX = "amend-"
_LEASE_S = 15.0
_WAIT_S = 15.0
_RELEASE_S = 5.0


def record_of(session: Session, tenant: str) -> SessionRecord:
    """Create the record of a session that is not stored yet.

    A session contains only the names of its agents, so the record has the provider `"external"` for them.

    Raises:
        SessionError: The session is not valid.
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
    except (ValueError, ConfigurationError) as error:
        raise SessionError(f"session {session.id!r} cannot be stored: {error}", cause=error) from error


def external_turns(
    fold: Fold, responses: tuple[AgentResponse, ...], now: datetime, *, round: int | None = None
) -> tuple[DurableEvent, ...]:
    """Create events for answers from outside: turns in the stage `external`, in the next free slots.

    Args:
        fold: The stored session.
        responses: The answers.
        now: Time of the events.
        round: Round of the turns; the current round when left out.
    """
    number = round or max(fold.progress.current_round, 1)
    slots = [
        turn.slot
        for debate_round in fold.to_record().rounds
        for turn in debate_round.turns
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
    """Return the events that turn the stored session into `session`.

    Raises:
        SessionError: No events can do this: a fixed field or a stored answer would change, or the state does not allow
            the change.
    """
    stored = fold.to_session()
    for name in _FIXED_FIELDS:
        if getattr(stored, name) != getattr(session, name):
            raise _refusal(session, f"{name!r} is fixed when a session is created")
    if session.current_round > session.total_rounds:
        raise _refusal(session, f"round {session.current_round} of {session.total_rounds} does not exist")
    added = _new_answers(stored, session)
    steps = _Steps(fold, session, now)
    steps.extend_rounds()
    steps.start_rounds()
    steps.events += external_turns(fold, added, now, round=max(session.current_round, 1))
    steps.measure()
    steps.reach_status()
    target = Progress(
        session.status, session.current_round, session.total_rounds, fold.progress.response_count + len(added)
    )
    if steps.progress() != target:
        raise _refusal(session, f"its status cannot change from {stored.status!r} to {session.status!r} in this way")
    return tuple(steps.events)


def _new_answers(stored: Session, session: Session) -> tuple[AgentResponse, ...]:
    """Return the answers that are not stored yet, in order."""
    unmatched = Counter(response.to_json() for response in stored.responses)
    added: list[AgentResponse] = []
    for response in session.responses:
        text = response.to_json()
        if unmatched[text]:
            unmatched[text] -= 1
        else:
            added.append(response)
    if unmatched.total():
        raise _refusal(session, "a stored answer is never changed or dropped")
    return tuple(added)


def _refusal(session: Session, reason: str) -> SessionError:
    return SessionConflict(
        f"session {session.id!r} cannot be saved like this: {reason}",
        hint="Read the session again and change only its status and rounds, or add answers.",
    )


class _Steps:
    """Collects the events of a difference, within the allowed states of a session."""

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
            raise _refusal(
                self._session, f"total_rounds must be at least {planned}, the number of planned rounds, not {wanted}"
            )
        if wanted > planned:
            self.events.append(
                Control(session_id=self._session.id, timestamp=self._now, action="extend", total_rounds=wanted)
            )

    def start_rounds(self) -> None:
        current, wanted = self._fold.progress.current_round, self._session.current_round
        if wanted < current:
            raise _refusal(self._session, f"round {current} has begun already")
        for number in range(current + 1, wanted + 1):
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
        measured = {debate_round.number for debate_round in record.rounds if debate_round.consensus is not None}
        if session.consensus is None or not session.current_round or session.current_round in measured:
            raise _refusal(session, "the consensus of a round is stored once")
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
            self.events.append(self._error_event())
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
                raise _refusal(self._session, "to continue a completed session, increase total_rounds")
            case "active":
                pass

    def _error_event(self) -> DebateError:
        message = "the session was set to 'error' by its caller"
        return DebateError(
            session_id=self._session.id,
            timestamp=self._now,
            error=message,
            code=SessionError.default_code,
            info=ErrorInfo(name=SessionError.__name__, message=message, code=SessionError.default_code),
        )


async def save_changes(storage: Storage, session: Session, *, tenant: str, clock: Clock) -> None:
    """Store a session: a new session completely, an existing session by appending the difference as events.

    Raises:
        SessionError: The difference would change or remove stored data, or the state does not allow it; none of the
            difference is stored.
        SessionBusy: The session is running.
    """
    try:
        await storage.read(session.id, tenant=tenant)
    except SessionNotFound:
        record = record_of(session, tenant)
        difference(Fold(record), session, clock.now())  # raises before anything is stored
        with suppress(SessionError):  # another process may have created it meanwhile; the next step checks that
            await storage.create(record)
    await _append_under_lease(storage, session.id, tenant, lambda fold: difference(fold, session, clock.now()))


async def append_response(
    storage: Storage, session_id: str, response: AgentResponse, *, tenant: str, clock: Clock
) -> None:
    """Add an answer to the current round of a session, in the next free slot of stage `external`.

    Raises:
        SessionError: The session is unknown.
        SessionBusy: The session is running.
    """
    await _append_under_lease(storage, session_id, tenant, lambda fold: external_turns(fold, (response,), clock.now()))


async def store_whole(storage: Storage, record: SessionRecord, events: tuple[DurableEvent, ...]) -> None:
    """Store a session from another source with all its events; all or nothing.

    Raises:
        SessionConflict: A session with this id exists.
        StorageError: The session could not be stored.
    """
    await storage.create(record)
    await store_past(storage, record.id, events, tenant=record.tenant, owner=_editor())


async def store_past(
    storage: Storage, session_id: str, events: tuple[DurableEvent, ...], *, tenant: str, owner: LeaseOwner
) -> None:
    """Store the first events of a new session in one write; if that fails or is cancelled, delete the session.

    The session is not deleted if another owner has its lease, or if it has other events.

    Raises:
        SessionBusy: Another owner has the lease of the session.
        StaleSequence: The session has events.
        StorageError: The events could not be stored.
    """
    stored = False
    try:
        lease = await storage.lease(session_id, owner, _LEASE_S, tenant=tenant)
        if events:
            await storage.append(session_id, 0, lease.token, events, tenant=tenant)
        await storage.lease(session_id, owner, 0, tenant=tenant)
        stored = True
    finally:
        if not stored:
            with move_on_after(_RELEASE_S, shield=True), suppress(RoundtableError):
                await _delete_unused(storage, session_id, events, tenant=tenant, owner=owner)


async def _delete_unused(
    storage: Storage, session_id: str, events: tuple[DurableEvent, ...], *, tenant: str, owner: LeaseOwner
) -> None:
    """Delete a session that has no other events than the given ones, unless another owner has its lease."""
    await storage.lease(session_id, owner, _LEASE_S, tenant=tenant)
    _, stored = await storage.read(session_id, tenant=tenant)
    if stored in ((), events):
        await storage.delete(session_id, tenant=tenant)
    else:
        await storage.lease(session_id, owner, 0, tenant=tenant)


def _editor() -> LeaseOwner:
    return current_owner(f"{_EDITOR_PREFIX}{uuid.uuid4().hex}")


async def _append_under_lease(
    storage: Storage, session_id: str, tenant: str, plan: Callable[[Fold], tuple[DurableEvent, ...]]
) -> None:
    """Append the events that `plan` returns for the stored session, under a lease."""
    owner = _editor()
    lease = await _take_lease(storage, session_id, owner, tenant)
    try:
        while True:
            fold = Fold(*await storage.read(session_id, tenant=tenant))
            try:
                events = fold.chain(plan(fold))
                await storage.append(session_id, fold.last_seq, lease.token, events, tenant=tenant)
                return
            except StaleSequence:
                continue  # another process may have stored a control event meanwhile, which needs no lease
    finally:
        # If this fails, the lease expires by itself; the events are stored in any case.
        with move_on_after(_RELEASE_S, shield=True), suppress(SessionError, StorageError):
            await storage.lease(session_id, owner, 0, tenant=tenant)


async def _take_lease(storage: Storage, session_id: str, owner: LeaseOwner, tenant: str) -> Lease:
    """Take the lease; if another edit has it, wait, but do not wait for a run."""
    deadline = current_time() + _WAIT_S
    while True:
        try:
            return await storage.lease(session_id, owner, _LEASE_S, tenant=tenant)
        except SessionBusy as error:
            name = str((error.details or {}).get("owner", ""))
            if not name.startswith(_EDITOR_PREFIX) or current_time() >= deadline:
                raise
        await sleep(0.005)
