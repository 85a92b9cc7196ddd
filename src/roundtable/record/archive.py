"""A session as one JSON document, and the way back; pure.

The document holds what the storage holds, record and log, so that what comes of it is the same session, byte for
byte.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.errors import SessionError
from roundtable.record.fold import Fold
from roundtable.record.versions import read_record
from roundtable.types import durable_event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.types import DurableEvent, SessionRecord

__all__ = ["ARCHIVE_FORMAT", "ARCHIVE_VERSION", "archive_parts", "read_archive", "with_id"]

ARCHIVE_FORMAT: Final = "roundtable.session"
"""What the document says it is."""
ARCHIVE_VERSION: Final = 1
"""Version of the document around record and events; the record carries that of its own form."""

_NO_ARCHIVE = "ARCHIVE_UNREADABLE"


def archive_parts(record: SessionRecord, events: Iterable[DurableEvent]) -> Iterator[str]:
    """Write a session as JSON, part by part: one line for the record and one for each event."""
    head = f'"format":"{ARCHIVE_FORMAT}","version":{ARCHIVE_VERSION}'
    # Where a copy came from is no part of the session.
    yield f'{{{head},\n"session":{record.model_copy(update={"imported": False}).to_json()},\n"events":['
    between = "\n"
    for event in events:
        yield f"{between}{event.to_json()}"
        between = ",\n"
    yield "\n]}\n"


def read_archive(text: str | bytes) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Read a session that `archive_parts` wrote; whatever else the text is, it is refused whole.

    Raises:
        SessionError: The text is no such document, is of a newer version, or tells no session that could be.
    """
    document = _document(text)
    try:
        record = read_record(json.dumps(document["session"]))
        events = tuple(durable_event(json.dumps(event)) for event in document["events"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _refused("its session or an event cannot be read", error) from error
    for number, event in enumerate(events, 1):
        if event.seq != number or event.session_id != record.id:
            raise _refused(f"event {number} is not the one that belongs there")
    try:
        Fold(record, events).to_record()
    except (ValueError, ArithmeticError, LookupError) as error:
        raise _refused("its events do not make a session", error) from error
    return record, events


def with_id(
    session_id: str, record: SessionRecord, events: Iterable[DurableEvent], *, tenant: str, imported: bool = True
) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Give the same session under another id and for another tenant; `imported` tells whether somebody else made it."""
    renamed = record.model_copy(update={"id": session_id, "tenant": tenant, "imported": imported})
    return renamed, tuple(event.model_copy(update={"session_id": session_id}) for event in events)


def _document(text: str | bytes) -> dict[str, list[object]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused("it is no JSON", error) from error
    if not isinstance(document, dict) or document.get("format") != ARCHIVE_FORMAT:
        raise _refused(f"it is no JSON object with format {ARCHIVE_FORMAT!r}")
    version = document.get("version")
    if version != ARCHIVE_VERSION:
        raise _refused(f"it is of version {version!r}, and this version of roundtable-sdk reads {ARCHIVE_VERSION}")
    if not isinstance(document.get("events"), list):
        raise _refused("it has no list of events")
    return document


def _refused(why: str, cause: Exception | None = None) -> SessionError:
    return SessionError(
        f"this is no exported session: {why}",
        code=_NO_ARCHIVE,
        cause=cause,
        hint="`roundtable export ID --format json` writes what can be imported; nothing was stored.",
    )
