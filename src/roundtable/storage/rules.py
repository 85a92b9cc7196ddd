"""What every storage decides alike: which appends are taken, who may hold a lease, which turns are the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable._foreign import well_formed
from roundtable._owner import is_provably_dead
from roundtable.errors import (
    ConfigurationError,
    LeaseLost,
    SessionBusy,
    SessionConflict,
    SessionError,
    SessionNotFound,
    StaleSequence,
)
from roundtable.storage.text import span_end, value_text
from roundtable.types import Lease, Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from roundtable.types import DurableEvent

__all__ = [
    "LONGEST_LEASE_S",
    "MAX_NUMBER",
    "LeaseState",
    "TurnPlace",
    "check_append",
    "check_fence",
    "check_number",
    "event_text",
    "grant",
    "known_turn",
    "live_holder",
    "session_exists",
    "session_not_found",
    "session_place",
    "turn_place",
]

MAX_NUMBER = 2**63 - 1
"""Largest whole number a database holds."""
LONGEST_LEASE_S: Final = 3600.0
"""Seconds that a lease lasts at most, however long it was asked for; its holder renews it meanwhile."""


class TurnPlace(NamedTuple):
    """The key under which a turn counts once."""

    round: int
    """Round, from 1."""
    stage: str
    """Stage."""
    slot: int
    """Slot."""
    attempt: int
    """Try, from 1."""


class LeaseState(NamedTuple):
    """A lease as stored."""

    token: int
    """Token of the last holder."""
    owner: str | None
    """The last holder as JSON; `None` once it gave the lease up."""
    expires_at: datetime
    """When it lapses."""

    def to_lease(self, owner: Owner) -> Lease:
        """Give it as its holder sees it."""
        return Lease(token=self.token, owner=owner, expires_at=self.expires_at)


def session_place(tenant: str, session_id: str) -> tuple[str, str]:
    """Give what a session is kept under.

    Raises:
        ConfigurationError: The id is no text, such as a result in place of its `session_id`.

    Example:
        >>> session_place("default", "4f1c")
        ('default', '4f1c')
    """
    if not isinstance(session_id, str):
        msg = f"a session is named by its id, a text, not by {type(session_id).__name__}"
        raise ConfigurationError(msg, hint="Such as `result.session_id`.")
    return well_formed(tenant), well_formed(session_id)


def session_not_found(session_id: str) -> SessionError:
    """Make the error for an id that this tenant has no session of."""
    return SessionNotFound(f"there is no session {session_id!r}")


def session_exists(session_id: str) -> SessionError:
    """Make the error for an id that is taken."""
    return SessionConflict(f"there is a session {session_id!r} already", hint="Use another id, or resume it.")


def check_append(session_id: str, token: int | None, events: Sequence[DurableEvent]) -> None:
    """Refuse events that could never be stored, before anything is asked of the medium.

    Raises:
        LeaseLost: Something else than `control` is to be stored without a token.
        SessionError: An event belongs to another session or is not durable.
    """
    for event in events:
        if not event.durable:
            raise SessionError(f"a live event ({event.type!r}) is told, never stored")
        if event.session_id != session_id:
            raise SessionError(f"an event of session {event.session_id!r} cannot be stored with {session_id!r}")
        if token is None and event.type != "control":
            raise LeaseLost(
                f"storing {event.type!r} takes the token of a lease; without one only 'control' is taken",
                hint="Take a lease with `lease` and pass its token.",
            )
        place = turn_place(event)
        if place is not None and max(place.round, place.slot, place.attempt) > MAX_NUMBER:
            raise SessionError("the round, slot and attempt of a turn must be less than 2**63")


def check_fence(session_id: str, held: LeaseState | None, token: int) -> None:
    """Refuse a token that is not the current one.

    A lease that has merely run out still holds: nobody else has taken the session meanwhile.

    Raises:
        LeaseLost: The token is stale.
    """
    if held is None or held.owner is None or held.token != token:
        raise LeaseLost(f"the lease on session {session_id!r} is lost: its token {token} is not the current one")


def check_number(session_id: str, expected: int | None, last: int) -> None:
    """Refuse an append to a log that has moved on.

    Raises:
        StaleSequence: `expected` is not the last number.
    """
    if expected is not None and expected != last:
        raise StaleSequence(
            f"session {session_id!r} stands at event {last}, not at {expected}",
            details={"expected": expected, "last": last},
        )


def turn_place(event: DurableEvent) -> TurnPlace | None:
    """Give the key of the turn an event reports, if it reports one."""
    match event.type:
        case "agent_complete" | "agent_error":
            turn = event.turn
            return TurnPlace(turn.round, well_formed(turn.stage), turn.slot, turn.attempt)
        case _:
            return None


def known_turn(place: TurnPlace, stored: str, offered: str) -> None:
    """Accept a turn that is stored already, as long as it says the same.

    The number and time of the event around a turn may differ: they tell of the writing, not of the turn.

    Raises:
        SessionConflict: It says something else.
    """
    if _body(stored) != _body(offered):
        raise SessionConflict(
            f"slot {place.slot} of stage {place.stage!r} in round {place.round}, attempt {place.attempt}, "
            "is stored with another answer",
            hint="Read the stored turn and use it; a new try needs the next attempt number.",
        )


def _body(text: str) -> dict[str, object]:
    body: dict[str, object] = json.loads(text)
    return {name: value for name, value in body.items() if name not in {"seq", "timestamp"}}


def event_text(event: DurableEvent, seq: int) -> str:
    """Give an event as JSON under its number."""
    return value_text(event if event.seq == seq else event.model_copy(update={"seq": seq}))


def grant(
    session_id: str,
    held: LeaseState | None,
    owner: Owner,
    ttl_s: float,
    *,
    now: datetime,
    next_token: Callable[[], int],
) -> LeaseState:
    """Decide over a request for a lease; `ttl_s=0` takes it and gives it up at once.

    An end that is further ahead than a lease may last was written under a clock that was wrong, and holds nobody off.

    Raises:
        SessionBusy: Another owner holds it, has time left and is not provably dead.
        ValueError: `ttl_s` is negative or not a number.
    """
    until = span_end(now, min(ttl_s, LONGEST_LEASE_S))
    asking = value_text(owner)
    if held is None or held.owner is None:
        token = next_token()
    elif held.owner == asking:
        token = held.token
    else:
        holder = live_holder(held, now)
        if holder is not None:
            raise _busy(session_id, holder, held.expires_at, now)
        token = next_token()
    return LeaseState(token, asking if ttl_s else None, until)


def live_holder(held: LeaseState | None, now: datetime) -> Owner | None:
    """Give who holds a lease that has time left, unless that process is provably dead."""
    if held is None or held.owner is None or not now < held.expires_at <= span_end(now, LONGEST_LEASE_S):
        return None
    holder = Owner.from_json(held.owner)
    return None if is_provably_dead(holder) else holder


def _busy(session_id: str, holder: Owner, expires_at: datetime, now: datetime) -> SessionBusy:
    return SessionBusy(
        f"session {session_id!r} is being run by process {holder.pid} on {holder.host!r}",
        retry_after_s=(expires_at - now).total_seconds(),
        details={
            "owner": holder.name,
            "host": holder.host,
            "pid": holder.pid,
            "expiresAt": expires_at.isoformat(),
        },
    )
