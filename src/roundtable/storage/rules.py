"""Rules that all storages share: for valid appends, for leases, for equal turns, and for damaged rows."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, assert_never, get_args

from roundtable.core.base.owner import is_provably_dead
from roundtable.core.base.text import normal_form, well_formed, well_formed_data
from roundtable.core.errors import (
    ConfigurationError,
    LeaseLost,
    SessionBusy,
    SessionConflict,
    SessionError,
    SessionNotFound,
    StaleSequence,
    StorageError,
)
from roundtable.core.types.base import Value
from roundtable.core.types.debate import SessionRecord, SessionStatus
from roundtable.core.types.events import durable_event
from roundtable.core.types.storage import Lease, LeaseOwner, SessionSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.events import DurableEvent

__all__ = [
    "EARLIEST",
    "LONGEST_LEASE_S",
    "MAX_NUMBER",
    "LeaseState",
    "Numbered",
    "TurnId",
    "check_append",
    "check_number",
    "check_same_turn",
    "check_token",
    "event_text",
    "from_micros",
    "grant",
    "has_metadata",
    "json_text",
    "live_holder",
    "numbered",
    "record_text",
    "searchable",
    "session_exists",
    "session_key",
    "session_not_found",
    "span_end",
    "to_micros",
    "to_summary",
    "turn_id",
    "unreadable",
    "value_text",
]

V = TypeVar("V", bound=Value)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
"""Earlier than every session."""
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_MOST_TOPIC_CHARS: Final = 10_001
_MOST_BRACKETS: Final = 128
"""JSON with no more opening brackets is not nested too deeply for pydantic, which reads 200 levels."""

_log: logging.Logger = logging.getLogger(__name__)

MAX_NUMBER = 2**63 - 1
"""Largest whole number that a database can store."""
LONGEST_LEASE_S: Final = 3600.0
"""Longest duration of a lease in seconds, even if more is requested; the holder renews the lease in time."""


def value_text(value: Value) -> str:
    """Return a value as JSON, with lone surrogates replaced."""
    try:
        return value.to_json()
    except ValueError:  # pydantic does not write lone surrogates
        return type(value).model_validate(well_formed_data(value.model_dump(warnings=False))).to_json()


def json_text(value: JsonValue) -> str:
    """Return a plain JSON value as JSON text, with lone surrogates replaced.

    Raises:
        ValueError: The value contains NaN, an infinity or itself, is nested too deeply, or contains a number that is
            too long.
        TypeError: The value is not a JSON value.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError as error:
        raise ValueError("the value is nested too deeply to be stored") from error
    cleaned = well_formed(text)
    # The replacement may have made two names of one object equal; parsing keeps only one of them.
    return text if cleaned == text else json_text(json.loads(cleaned))


def has_metadata(notes: str, wanted: str) -> bool:
    """Check whether one JSON object has every member of another, with the same value and type.

    Example:
        >>> has_metadata('{"case": "a", "n": 1}', '{"n": 1}'), has_metadata('{"n": true}', '{"n": 1}')
        (True, False)
    """
    try:
        stored: object = json.loads(notes)
    except (ValueError, TypeError, RecursionError):
        return False  # a damaged row has no readable metadata
    if not isinstance(stored, dict):
        return False
    required: dict[str, object] = json.loads(wanted)
    return all(
        name in stored and json.dumps(stored[name], sort_keys=True) == json.dumps(value, sort_keys=True)
        for name, value in required.items()
    )


def searchable(text: str) -> str:
    """Return the form of a text in which topics are compared: normalised, and without differences of case.

    Topics have at most 10,000 characters, so no more of a text is looked at than shows that it is longer.
    """
    return normal_form(well_formed(text[:_MOST_TOPIC_CHARS]), "NFKC").casefold()


def to_micros(moment: datetime) -> int:
    """Return a time as whole microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(count: int) -> datetime:
    """Return the time for a result of `to_micros`.

    Example:
        >>> from_micros(to_micros(datetime(1, 1, 1, tzinfo=UTC))).year
        1
    """
    return _EPOCH + count * _MICROSECOND


def span_end(now: datetime, seconds: float) -> datetime:
    """Return the time `seconds` after `now`, or the latest possible time.

    Raises:
        ValueError: `seconds` is negative or not a number.
    """
    if not seconds >= 0:
        msg = f"a time span must be zero seconds or more, not {seconds!r}"
        raise ValueError(msg)
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


class TurnId(NamedTuple):
    """The key of a turn within a session; each key is stored once."""

    round: int
    """Round, from 1."""
    stage: str
    """Name of the stage."""
    slot: int
    """Slot in the stage, from 0."""
    attempt: int
    """Attempt, from 1."""


class LeaseState(NamedTuple):
    """The stored form of a lease."""

    token: int
    """Token of the last holder."""
    owner: str | None
    """The last holder as JSON; `None` after the lease was released."""
    expires_at: datetime
    """Time when the lease expires."""

    def to_lease(self, owner: LeaseOwner) -> Lease:
        """Return the lease for its holder."""
        return Lease(token=self.token, owner=owner, expires_at=self.expires_at)


def session_key(tenant: str, session_id: str) -> tuple[str, str]:
    """Return the key under which a session is stored.

    Raises:
        ConfigurationError: The id is not a text; it may be, for example, a result instead of `result.session_id`.

    Example:
        >>> session_key("default", "4f1c")
        ('default', '4f1c')
    """
    if not isinstance(session_id, str):
        msg = f"a session id must be a text, not {type(session_id).__name__}"
        raise ConfigurationError(msg, hint="Pass an id such as `result.session_id`.")
    return well_formed(tenant), well_formed(session_id)


def session_not_found(session_id: str) -> SessionError:
    """Return the error for an unknown session id of this tenant."""
    return SessionNotFound(f"unknown session {session_id!r}")


def session_exists(session_id: str) -> SessionError:
    """Return the error for an id that is in use."""
    return SessionConflict(f"session {session_id!r} exists already", hint="Use another id, or resume that session.")


def check_append(session_id: str, token: int | None, events: Sequence[DurableEvent]) -> None:
    """Check that no event is one that can never be stored; this runs before the storage is accessed.

    Raises:
        LeaseLost: No token was passed for an event other than `control`.
        SessionError: An event belongs to another session or is not durable.
    """
    for event in events:
        if not event.durable:
            raise SessionError(f"a live event ({event.type!r}) cannot be stored")
        if event.session_id != session_id:
            raise SessionError(f"an event of session {event.session_id!r} cannot be stored with {session_id!r}")
        if token is None and event.type != "control":
            raise LeaseLost(
                f"storing {event.type!r} needs the token of a lease; only 'control' events are stored without one",
                hint="Take a lease with `lease` and pass its token.",
            )
        turn_key = turn_id(event)
        if turn_key is not None and max(turn_key.round, turn_key.slot, turn_key.attempt) > MAX_NUMBER:
            raise SessionError("the round, slot and attempt of a turn must be less than 2**63")


def check_token(session_id: str, lease: LeaseState | None, token: int) -> None:
    """Check that a token is the current one.

    An expired lease stays valid until another owner takes it.

    Raises:
        LeaseLost: The token is stale.
    """
    if lease is None or lease.owner is None or lease.token != token:
        raise LeaseLost(f"the lease on session {session_id!r} is lost: its token {token} is not the current one")


def check_number(session_id: str, expected: int | None, last: int) -> None:
    """Check that the last event has the number that the caller expects.

    Raises:
        StaleSequence: `expected` is not the last number.
    """
    if expected is not None and expected != last:
        raise StaleSequence(
            f"the last event of session {session_id!r} is {last}, not {expected}",
            details={"expected": expected, "last": last},
        )


def turn_id(event: DurableEvent) -> TurnId | None:
    """Return the key of the turn that an event reports; `None` if it reports no turn."""
    match event.type:
        case "agent_complete" | "agent_error":
            turn = event.turn
            return TurnId(turn.round, well_formed(turn.stage), turn.slot, turn.attempt)
        case (
            "conversation_start"
            | "initiator_tool_call"
            | "initiator_complete"
            | "conversation_complete"
            | "debate_start"
            | "round_start"
            | "agent_tool_call"
            | "agent_tool_result"
            | "approval_decided"
            | "approval_requested"
            | "consensus"
            | "context_requested"
            | "round_complete"
            | "exit"
            | "control"
            | "synthesis_complete"
            | "debate_complete"
            | "error"
        ):
            return None
        case _:
            assert_never(event.type)


def check_same_turn(turn_key: TurnId, stored: str, offered: str) -> None:
    """Check that a turn equals the stored turn with the same key.

    The number, the time and the chain hash of the two events may differ, since they describe the write, not the turn.

    Raises:
        SessionConflict: The turns differ.
    """
    if _turn_body(stored) != _turn_body(offered):
        raise SessionConflict(
            f"slot {turn_key.slot} of stage {turn_key.stage!r} in round {turn_key.round}, attempt {turn_key.attempt}, "
            "is stored with another answer",
            hint="Read the stored turn and use it; to try again, use the next attempt number.",
        )


def _turn_body(text: str) -> dict[str, object]:
    body: dict[str, object] = json.loads(text)
    return {name: value for name, value in body.items() if name not in {"seq", "timestamp", "previousHash"}}


def event_text(event: DurableEvent, seq: int) -> str:
    """Return an event as JSON with its number.

    Raises:
        StorageError: The event could not be read again; it may be nested too deeply, for example.
    """
    try:
        text = value_text(event if event.seq == seq else event.model_copy(update={"seq": seq}))
        # Reading each event back would cost a seventh of an append; one with few brackets cannot be nested too deeply.
        if text.count("{") + text.count("[") > _MOST_BRACKETS:
            durable_event(text)
    except (ValueError, RecursionError) as error:
        raise _unstorable(f"an event {event.type!r} of session {event.session_id!r}", error) from error
    return text


def record_text(record: SessionRecord) -> tuple[str, SessionRecord]:
    """Return a record as JSON, and the record that is read from this JSON.

    Raises:
        StorageError: The record could not be read again.
    """
    try:
        text = value_text(record)
        return text, SessionRecord.from_json(text)
    except (ValueError, RecursionError) as error:
        raise _unstorable(f"session {record.id!r}", error) from error


def _unstorable(label: str, cause: ValueError | RecursionError) -> StorageError:
    return StorageError(
        f"{label} cannot be stored, because it could not be read again",
        hint="It contains a value that JSON cannot express, or that is nested too deeply. Nothing was stored.",
        cause=cause,
        details={"reason": "unstorable"},
    )


def grant(
    session_id: str,
    lease: LeaseState | None,
    owner: LeaseOwner,
    ttl_s: float,
    *,
    now: datetime,
    next_token: Callable[[], int],
) -> LeaseState:
    """Decide about a request for a lease. With `ttl_s=0`, the lease is taken and released at once.

    A stored end that is later than any lease can last was written with a wrong clock, and is ignored.

    Raises:
        SessionBusy: Another owner has the lease, the lease has not expired, and the owner's process is not provably
            dead.
        ValueError: `ttl_s` is negative or not a number.
    """
    expires_at = span_end(now, min(ttl_s, LONGEST_LEASE_S))
    owner_json = value_text(owner)
    if lease is None or lease.owner is None:
        token = next_token()
    elif lease.owner == owner_json:
        token = lease.token
    else:
        holder = live_holder(lease, now)
        if holder is not None:
            raise _busy_error(session_id, holder, lease.expires_at, now)
        token = next_token()
    return LeaseState(token, owner_json if ttl_s else None, expires_at)


def live_holder(lease: LeaseState | None, now: datetime) -> LeaseOwner | None:
    """Return the holder of a lease; `None` if there is no lease, it has expired, or its process has certainly ended."""
    if lease is None or lease.owner is None or not now < lease.expires_at <= span_end(now, LONGEST_LEASE_S):
        return None
    holder = LeaseOwner.from_json(lease.owner)
    return None if is_provably_dead(holder) else holder


def _busy_error(session_id: str, holder: LeaseOwner, expires_at: datetime, now: datetime) -> SessionBusy:
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


@dataclass(slots=True)
class Numbered:
    """An event to store, with its number and the key of its turn."""

    event: DurableEvent
    """The event as the caller passed it."""
    seq: int
    """Number of the event."""
    place: TurnId | None
    """Key of the turn that the event reports, if any; only one event is stored for each turn."""
    _text: str | None = None

    @property
    def text(self) -> str:
        """The event as JSON, with its number; computed on first use."""
        if self._text is None:
            self._text = event_text(self.event, self.seq)
        return self._text


def numbered(events: Sequence[DurableEvent], last: int, stored: Callable[[TurnId], str | None]) -> list[Numbered]:
    """Number the new events after the last stored one; events of turns that are already stored are left out.

    Args:
        events: The events to store.
        last: Number of the last stored event.
        stored: Returns the stored event of a turn, as JSON.

    Raises:
        SessionConflict: A turn is stored with another answer.
        StaleSequence: An event already has a number, and it is not the next one.
    """
    entries: list[Numbered] = []
    turns: dict[TurnId, Numbered] = {}
    for event in events:
        entry = Numbered(event, last + len(entries) + 1, turn_id(event))
        if entry.place is not None:
            earlier = turns.setdefault(entry.place, entry)
            stored_text = stored(entry.place) if earlier is entry else earlier.text
            if stored_text is not None:
                check_same_turn(entry.place, stored_text, entry.text)
                continue
        if event.seq:
            check_number(event.session_id, event.seq - 1, entry.seq - 1)
        entries.append(entry)
    return entries


def to_summary(row: tuple[Any, ...]) -> SessionSummary:
    """Return the summary of one row. If the row is damaged, log that, and return the readable parts.

    Args:
        row: The columns that `list_sessions` selects: id, topic, mode, agent ids, status, current round, planned
            rounds, number of responses, microseconds of creation and of last change, number of the last event,
            metadata, exit reason.
    """
    try:
        return SessionSummary(
            id=row[0],
            topic=row[1],
            mode=row[2],
            agent_ids=tuple(json.loads(row[3])),
            status=row[4],
            current_round=row[5],
            total_rounds=row[6],
            response_count=row[7],
            created_at=from_micros(row[8]),
            updated_at=from_micros(row[9]),
            last_seq=row[10],
            metadata=json.loads(row[11]),
            exit_reason=row[12],
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        _log.warning("session %r is only partly readable in a list: %s", row[0], type(error).__name__)
        return _damaged_summary(row)


def _damaged_summary(row: tuple[Any, ...]) -> SessionSummary:
    status: Any = row[4] if row[4] in get_args(SessionStatus) else "error"
    rounds, planned, responses, last = (
        value if isinstance(value, int) and value >= 0 else 0 for value in (row[5], row[6], row[7], row[10])
    )
    return SessionSummary(
        id=_shown_text(row[0]),
        topic=_shown_text(row[1]),
        mode=_shown_text(row[2]),
        agent_ids=(),
        status=status,
        current_round=rounds,
        total_rounds=planned,
        response_count=responses,
        created_at=_shown_time(row[8]),
        updated_at=_shown_time(row[9]),
        last_seq=last,
        error="its entry in the storage is damaged",
    )


def _shown_text(value: object) -> str:
    """Return a text that can be shown, whatever type of value the damaged column contains."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return well_formed(value) if isinstance(value, str) else ""


def _shown_time(value: object) -> datetime:
    """Return a time; if it is invalid, the earliest or the latest time, so that the row keeps its position."""
    try:
        return from_micros(value)  # type: ignore[arg-type]  # a damaged row may contain any value
    except (TypeError, OverflowError, ValueError):
        return EARLIEST if isinstance(value, int) and value < 0 else _LATEST


def unreadable(path: str, label: str, cause: ValueError) -> StorageError:
    """Return the error for a row that exists, but contains a value that this version cannot parse."""
    return StorageError(
        f"{label} in {path!r} contains a value that this version cannot read",
        hint=f"Restore {path!r} from a backup, or delete {label}. Nothing else is affected.",
        cause=cause,
        details={"path": path, "reason": "corrupt"},
    )
