"""Changing a stored session by hand, under a lease like everybody else."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from anyio import current_time, move_on_after, sleep

from roundtable._owner import current_owner
from roundtable.errors import RoundtableError, SessionBusy, SessionError, SessionNotFound, StaleSequence, StorageError
from roundtable.record.difference import difference, external_turns, record_of
from roundtable.record.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import Clock, Storage
    from roundtable.types import AgentResponse, DurableEvent, Lease, Owner, Session, SessionRecord

__all__ = ["append_response", "save_changes", "store_past", "store_whole"]

_AMENDER = "amend-"
_LEASE_S = 15.0
_WAIT_S = 15.0
_RELEASE_S = 5.0


async def save_changes(storage: Storage, session: Session, *, tenant: str, clock: Clock) -> None:
    """Store a session: a new one whole, of a stored one the difference, as events.

    Raises:
        SessionError: What is stored would be changed or dropped, or the states do not allow it;
            nothing of the difference is stored then.
        SessionBusy: The session is being run.
    """
    try:
        await storage.read(session.id, tenant=tenant)
    except SessionNotFound:
        record = record_of(session, tenant)
        difference(Fold(record), session, clock.now())  # refuses before anything is stored
        with suppress(SessionError):  # somebody else may have been faster; what differs then, is said below
            await storage.create(record)
    await _amend(storage, session.id, tenant, lambda fold: difference(fold, session, clock.now()))


async def append_response(
    storage: Storage, session_id: str, response: AgentResponse, *, tenant: str, clock: Clock
) -> None:
    """Add an answer to the current round of a session, in the next free slot of stage `external`.

    Raises:
        SessionError: There is no such session.
        SessionBusy: It is being run.
    """
    await _amend(storage, session_id, tenant, lambda fold: external_turns(fold, (response,), clock.now()))


async def store_whole(storage: Storage, record: SessionRecord, events: tuple[DurableEvent, ...]) -> None:
    """Store a session that was held elsewhere, with all its events; all of it or nothing.

    Raises:
        SessionConflict: The id exists.
        StorageError: It could not be stored.
    """
    await storage.create(record)
    await store_past(storage, record.id, events, tenant=record.tenant, owner=_amender())


async def store_past(
    storage: Storage, session_id: str, events: tuple[DurableEvent, ...], *, tenant: str, owner: Owner
) -> None:
    """Store the events a new session begins with, in one go; where that fails or is cancelled, remove the session.

    Raises:
        StorageError: They could not be stored.
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
                await storage.delete(session_id, tenant=tenant)


def _amender() -> Owner:
    return current_owner(f"{_AMENDER}{uuid.uuid4().hex}")


async def _amend(
    storage: Storage, session_id: str, tenant: str, plan: Callable[[Fold], tuple[DurableEvent, ...]]
) -> None:
    """Append what `plan` makes of the stored session, with nobody else appending meanwhile."""
    owner = _amender()
    lease = await _take(storage, session_id, owner, tenant)
    try:
        while True:
            fold = Fold(*await storage.read(session_id, tenant=tenant))
            try:
                await storage.append(session_id, fold.last_seq, lease.token, plan(fold), tenant=tenant)
                return
            except StaleSequence:
                continue  # a control event needs no lease and may come between
    finally:
        # If this fails, the lease lapses by itself; what was stored is stored.
        with move_on_after(_RELEASE_S, shield=True), suppress(SessionError, StorageError):
            await storage.lease(session_id, owner, 0, tenant=tenant)


async def _take(storage: Storage, session_id: str, owner: Owner, tenant: str) -> Lease:
    """Take the lease; wait for others who only amend, never for one who runs the session."""
    deadline = current_time() + _WAIT_S
    while True:
        try:
            return await storage.lease(session_id, owner, _LEASE_S, tenant=tenant)
        except SessionBusy as error:
            name = str((error.details or {}).get("owner", ""))
            if not name.startswith(_AMENDER) or current_time() >= deadline:
                raise
        await sleep(0.005)
