"""The hash chain of a session's log, and the search for changes in a log; pure.

Each stored event contains the hash of everything before it (`previous_hash`): of the session's configuration, and of
all earlier events in order. The head of a log is the hash of everything. It is always computed from all events and
never copied from an event, so it changes with any of them. An event may lack the hash: an event of an older version, or
a request to pause from another process. The next event with a hash covers it.

The hash is computed from canonical JSON without the fields that depend on where a session is stored: its id, its
tenant, and whether it was imported. So a copy under another id has the same hashes. Fields with their default value are
left out, so that a field added later does not change the hash of older events. Therefore, a default must never change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import reduce
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field

from roundtable.core.base.text import well_formed_data
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import Value
from roundtable.core.types.debate import SessionRecord

if TYPE_CHECKING:
    from roundtable.core.types.events import DurableEvent

__all__ = ["ChainHead", "LogFault", "LogHash", "chain_events", "find_faults", "first_hash", "next_hash"]

_HASH: Final = re.compile("[0-9a-f]{64}")
_ALGORITHM: Final = b"roundtable-chain-1"
_STORED_AS_RECORD: Final = {"id", "tenant", "imported", "schema_version"}
_STORED_AS_EVENT: Final = {"session_id", "previous_hash"}
_TO_JSON: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class ChainHead(Value):
    """The hash of a whole log, and the number of events that it covers."""

    events: Annotated[int, Field(ge=0)]
    """Number of the last event."""
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Hash of the session's configuration and of all events, 64 hexadecimal digits."""

    def __str__(self) -> str:
        return f"{self.events}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> ChainHead:
        """Parse a head from its displayed form, such as `12:9f86d081...`.

        Raises:
            ConfigurationError: The text is not a head.
        """
        events, _, digits = text.strip().partition(":")
        if not (events.isascii() and events.isdigit() and len(events) < 16 and _HASH.fullmatch(digits)):
            raise ConfigurationError(
                f"{text[:80]!r} is not the head of a log",
                hint="A head is a number, a colon and 64 hexadecimal digits; `roundtable verify ID` shows it.",
            )
        return cls(events=int(events), hash=digits)


FaultKind: TypeAlias = Literal["changed", "missing", "reordered", "cut", "unlinked", "unreadable"]
"""How a log can differ from what was stored."""


class LogFault(Value):
    """A part of a log that differs from what was stored."""

    kind: FaultKind
    """`changed`: these events, or the session's configuration (number 0), differ from what was stored. `missing`: these
    events were removed. `reordered`: the event is at another position. `cut`: events at the end of the log are missing.
    `unlinked`: the event has lost its hash. `unreadable`: the stored text is not an event."""
    first: int
    """Number of the first affected event; 0 for the session's configuration."""
    last: int
    """Number of the last affected event."""

    def __str__(self) -> str:
        if (self.first, self.last) == (0, 0):
            return f"the session's configuration: {self.kind}"
        start = "the session's configuration" if self.first == 0 else f"event {self.first}"
        return f"{start}: {self.kind}" if self.first == self.last else f"{start} to event {self.last}: {self.kind}"


def first_hash(record: SessionRecord) -> str:
    """Return the hash that the first event of a session contains: the hash of its configuration."""
    return sha256(b"%b\n%b" % (_ALGORITHM, _canonical(record, _STORED_AS_RECORD))).hexdigest()


def next_hash(previous: str, event: DurableEvent) -> str:
    """Return the hash of everything up to this event, from the hash of everything before it."""
    start = f"{previous}\n{_kinds(event)}\n".encode()
    return sha256(start + _canonical(event, _STORED_AS_EVENT)).hexdigest()


class LogHash:
    """The hashes of a growing log, computed on demand; while the log is unchanged, each event is hashed once."""

    def __init__(self, record: SessionRecord) -> None:
        self._record = record
        self._hash: str | None = None
        self._not_hashed: list[DurableEvent] = []
        self._is_unchanged = True
        self._carried: str | None = None
        self._since_carried: list[DurableEvent] = []
        self._chained: dict[int, tuple[DurableEvent, str]] = {}

    def chain(self, last_seq: int, events: Sequence[DurableEvent]) -> list[DurableEvent]:
        """Return the events to store next, with their numbers and hashes; `head` reuses these hashes.

        Args:
            last_seq: Number of the last stored event.
            events: The events, in order.
        """
        chained = chain_events(self.link(), last_seq, events)
        # Each event contains the hash of everything up to the event before it.
        self._chained = {
            id(event): (event, following.previous_hash)
            for event, following in pairwise(chained)
            if following.previous_hash is not None
        }
        return chained

    def add(self, event: DurableEvent) -> None:
        """Add the next event."""
        if event.previous_hash is not None:
            self._carried = event.previous_hash
            self._since_carried.clear()
        self._since_carried.append(event)
        self._not_hashed.append(event)

    def head(self) -> str:
        """Return the hash of everything added so far, computed from the configuration and every event."""
        current = first_hash(self._record) if self._hash is None else self._hash
        for event in self._not_hashed:
            self._is_unchanged &= event.previous_hash in (None, current)
            current = self._next(current, event)
        self._hash = current
        self._not_hashed.clear()
        return current

    def _next(self, previous: str, event: DurableEvent) -> str:
        """Return the hash up to this event; it may be known already, if `chain` computed it."""
        chained, known = self._chained.pop(id(event), (None, ""))
        return known if chained is event and event.previous_hash == previous else next_hash(previous, event)

    def link(self) -> str:
        """Return the hash that the next event contains: the head or, in a changed log, the hash that its events imply.

        So the next event of a changed log continues the chain that the events state, and the change stays visible.
        """
        head = self.head()
        if self._is_unchanged:
            return head
        start = first_hash(self._record) if self._carried is None else self._carried
        self._carried = reduce(next_hash, self._since_carried, start)
        self._since_carried.clear()
        return self._carried


def chain_events(previous: str, last_seq: int, events: Sequence[DurableEvent]) -> list[DurableEvent]:
    """Return new events with their numbers and hashes.

    Args:
        previous: Hash of everything stored so far.
        last_seq: Number of the last stored event.
        events: The events, in order.
    """
    chained: list[DurableEvent] = []
    for seq, event in enumerate(events, last_seq + 1):
        if chained:
            previous = next_hash(previous, chained[-1])
        chained.append(event.model_copy(update={"seq": seq, "previous_hash": previous}))
    return chained


def _kinds(event: DurableEvent) -> str:
    """Return the tags that decide which types are read; canonical JSON lacks them, since they are defaults."""
    match event.type:
        case "agent_complete" | "agent_error" | "initiator_complete" | "conversation_complete":
            turn = event.turn
            if turn is None:
                return event.type
            return f"{event.type} {turn.outcome} {turn.answer.kind if turn.outcome == 'answered' else ''}"
        case _:
            return event.type


def _canonical(value: Value, exclude: set[str]) -> bytes:
    try:
        plain = value.model_dump(mode="json", exclude=exclude, exclude_defaults=True)
        return _TO_JSON.encode(plain).encode()
    except ValueError:  # lone surrogates, which storages replace with another character
        return _canonical(type(value).model_validate(well_formed_data(value.model_dump(warnings=False))), exclude)


def find_faults(
    record: SessionRecord,
    events: Sequence[DurableEvent],
    expected: ChainHead | None = None,
    *,
    unreadable: Sequence[int] = (),
) -> tuple[LogFault, ...]:
    """Return the parts of a log that differ from what was stored, in order.

    Args:
        record: The session.
        events: Its events, in their order in the log.
        expected: A head that was noted when the log was known to be right; the log may have grown since then. Without
            it, events that were cut off at the end are not noticed.
        unreadable: Numbers of events that could not be read, and are therefore not in `events`.
    """
    return _Walk(record, events, expected, unreadable).run()


class _Walk:
    """One pass over a log.

    If a hash differs, the pass continues with the hash that the event states, so that it also finds later changes. No
    later hash confirms the events from `_unverified_from` on. A head that was noted before a change matches the hash
    that continues from the stated hashes. A head that was noted after a change matches the hash computed from all
    events.
    """

    def __init__(
        self,
        record: SessionRecord,
        events: Sequence[DurableEvent],
        expected: ChainHead | None,
        unreadable: Sequence[int],
    ) -> None:
        self._events = events
        self._expected = expected
        self._unreadable = unreadable
        self._present: set[int] = {event.seq for event in events} | set(unreadable)
        self._hash = first_hash(record)
        self._head = self._hash
        self._at_expected = {self._hash}
        self._unverified_from = 0
        self._last_seq = 0
        self._is_linked = False
        self._faults: list[LogFault] = [_fault("unreadable", seq, seq) for seq in unreadable]

    def run(self) -> tuple[LogFault, ...]:
        for index, event in enumerate(self._events):
            in_order = self._check_number(event)
            self._check_link(index, event, in_order=in_order)
            is_head = self._head == self._hash
            self._hash = next_hash(self._hash, event)
            self._head = self._hash if is_head else next_hash(self._head, event)
            self._last_seq = event.seq
            if self._expected is not None and event.seq == self._expected.events:
                self._at_expected = {self._hash, self._head}
        self._check_end(max(self._present, default=0))
        return tuple(sorted(self._faults, key=lambda fault: (fault.first, fault.last)))

    def _check_number(self, event: DurableEvent) -> bool:
        expected = self._last_seq + 1
        if event.seq == expected:
            return True
        if event.seq < expected:
            self._add("reordered", event.seq, event.seq)
        else:
            # A number may be forged and very large.
            nearby = range(expected, min(event.seq, expected + len(self._present) + 1))
            missing = next((seq for seq in nearby if seq not in self._present), None)
            if missing is not None:
                self._add("missing", missing, event.seq - 1)
        return False

    def _check_link(self, index: int, event: DurableEvent, *, in_order: bool) -> None:
        claimed = event.previous_hash
        if claimed is None:
            # A process that requests a pause does not know the log, so it leaves the hash to the next event.
            if self._is_linked and event.type != "control":
                self._add("unlinked", event.seq, event.seq)
            return
        self._is_linked = True
        if claimed != self._hash:
            if in_order and self._is_confirmed_later(index):
                # Only the hash that this event states was changed.
                self._add("changed", event.seq, event.seq)
            else:
                if in_order:
                    self._add("changed", self._unverified_from, event.seq - 1)
                self._hash = claimed
        self._unverified_from = event.seq

    def _is_confirmed_later(self, index: int) -> bool:
        """Check whether the next hash confirms the content before it, so that the hash at `index` is wrong."""
        content = next_hash(self._hash, self._events[index])
        for event in self._events[index + 1 :]:
            if event.previous_hash is not None:
                return event.previous_hash == content
            content = next_hash(content, event)
        return self._expected is not None and self._expected.hash == content

    def _check_end(self, last: int) -> None:
        expected = self._expected
        if expected is None:
            return
        if expected.events > last:
            self._add("cut", last + 1, expected.events)
        elif expected.hash not in self._at_expected and not any(
            fault.last >= self._unverified_from for fault in self._faults
        ):
            self._add("changed", min(self._unverified_from, expected.events), expected.events)

    def _add(self, kind: FaultKind, first: int, last: int) -> None:
        self._faults.append(_fault(kind, first, last))


def _fault(kind: FaultKind, first: int, last: int) -> LogFault:
    return LogFault(kind=kind, first=first, last=max(first, last))
