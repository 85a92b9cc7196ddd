"""A byte that is changed in any event of an export is found, and so is any other order of its events."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from unit.report_kit import events as events_of
from unit.report_kit import record

from roundtable.core.record.chain import chain_events, find_faults, first_hash
from roundtable.errors import SessionError
from roundtable.record import archive_parts, verify_archive
from roundtable.types import DurableEvent

RECORD = record()


def events() -> list[DurableEvent]:
    return list(events_of(RECORD.id))


LOG = chain_events(first_hash(RECORD), 0, events())
LINES = "".join(archive_parts(RECORD, LOG)).encode().split(b"\n")
FIRST = 3
"""Line of the first event."""


def verdict(document: bytes) -> tuple[str, set[int]]:
    try:
        verified = verify_archive(document)
    except SessionError as error:
        assert error.code == "ARCHIVE_UNREADABLE"  # noqa: PT017  (either way it is found)
        return "unreadable", set()
    return verified.verdict, {number for fault in verified.faults for number in range(fault.first, fault.last + 1)}


@given(st.data())
def test_a_changed_byte_in_any_event_is_found(data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(LOG) - 1), label="event")
    line = LINES[FIRST + number]
    at = data.draw(st.integers(0, len(LOG[number].to_json().encode()) - 1), label="byte")
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[at]), label="new byte")
    changed = line[:at] + bytes([byte]) + line[at + 1 :]
    document = b"\n".join([*LINES[: FIRST + number], changed, *LINES[FIRST + number + 1 :]])
    found, places = verdict(document)
    assert found in {"changed", "unreadable"}
    assert found == "unreadable" or number + 1 in places


@given(st.permutations(range(len(LOG))))
def test_any_reordering_of_events_is_found(order: list[int]) -> None:
    faults = find_faults(RECORD, [LOG[at] for at in order])
    assert bool(faults) == (order != sorted(order))
    assert {fault.kind for fault in faults} <= {"reordered"}


@given(st.sets(st.integers(0, len(LOG) - 1), min_size=1))
def test_missing_events_are_found(gone: set[int]) -> None:
    document = json.loads(b"\n".join(LINES))
    document["events"] = [event for at, event in enumerate(document["events"]) if at not in gone]
    found, places = verdict(json.dumps(document).encode())
    assert found == "changed"
    assert places == {at + 1 for at in gone}
