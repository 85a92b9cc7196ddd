"""Export a session to one JSON document, and import it again; pure.

The document contains the stored record and the log, so an import restores the same session, byte for byte.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from roundtable.errors import SessionError
from roundtable.record.fold import Fold
from roundtable.types import SCHEMA_VERSION, SessionRecord, durable_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from roundtable.types import DurableEvent, JsonObject

__all__ = ["ARCHIVE_FORMAT", "ARCHIVE_VERSION", "archive_parts", "read_archive", "read_record", "with_id"]


def _to_version_2(stored: JsonObject) -> JsonObject:
    """Migrate a record to version 2, which added forks and the version of the prompt texts; both have defaults."""
    return stored


_STEPS: dict[int, Callable[[JsonObject], JsonObject]] = {1: _to_version_2}


def read_record(text: str | bytes) -> SessionRecord:
    """Read the record of a session from its JSON, in this or any earlier version.

    Raises:
        ValueError: The text is not a record, or has a newer version.

    Example:
        >>> old = '{"id": "s", "config": {"topic": "Tea?", "agents": []}, "agents": [], "schemaVersion": 1}'
        >>> read_record(old).schema_version == SCHEMA_VERSION
        True
    """
    stored = json.loads(text)
    version = stored.get("schemaVersion") if isinstance(stored, dict) else None
    if version == SCHEMA_VERSION or not isinstance(version, int):
        return SessionRecord.from_json(text)
    if version > SCHEMA_VERSION:
        msg = f"the session has version {version}; this version of roundtable-sdk reads up to {SCHEMA_VERSION}"
        raise ValueError(msg)
    while version in _STEPS:
        stored, version = _STEPS[version](stored), version + 1
    return SessionRecord.from_json(json.dumps(stored | {"schemaVersion": version}))


ARCHIVE_FORMAT: Final = "roundtable.session"
"""Format name in the document."""
ARCHIVE_VERSION: Final = 1
"""Version of the document; the record inside has its own version."""

_UNREADABLE_CODE = "ARCHIVE_UNREADABLE"


def archive_parts(record: SessionRecord, events: Iterable[DurableEvent]) -> Iterator[str]:
    """Write a session as JSON, part by part: one line for the record and one for each event."""
    head = f'"format":"{ARCHIVE_FORMAT}","version":{ARCHIVE_VERSION}'
    # Whether this copy was imported is not part of the session.
    yield f'{{{head},\n"session":{record.model_copy(update={"imported": False}).to_json()},\n"events":['
    separator = "\n"
    for event in events:
        yield f"{separator}{event.to_json()}"
        separator = ",\n"
    yield "\n]}\n"


def read_archive(text: str | bytes) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Read a session that `archive_parts` wrote.

    Raises:
        SessionError: The text is not such a document, has a newer version, or contains an impossible session.
    """
    document = _parse_document(text)
    try:
        record = read_record(json.dumps(document["session"]))
        events = tuple(durable_event(json.dumps(event)) for event in document["events"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _unreadable("its session or an event cannot be read", error) from error
    for number, event in enumerate(events, 1):
        if event.seq != number or event.session_id != record.id:
            raise _unreadable(f"event {number} is not the one that belongs there")
    try:
        Fold(record, events).to_record()
    except (ValueError, ArithmeticError, LookupError) as error:
        raise _unreadable("its events do not make a session", error) from error
    return record, events


def with_id(
    session_id: str, record: SessionRecord, events: Iterable[DurableEvent], *, tenant: str, imported: bool = True
) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Return the same session with another id and tenant; `imported` marks a session from another source."""
    renamed = record.model_copy(update={"id": session_id, "tenant": tenant, "imported": imported})
    return renamed, tuple(event.model_copy(update={"session_id": session_id}) for event in events)


def _parse_document(text: str | bytes) -> dict[str, list[object]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable("it is not JSON", error) from error
    if not isinstance(document, dict) or document.get("format") != ARCHIVE_FORMAT:
        raise _unreadable(f"it is not a JSON object with format {ARCHIVE_FORMAT!r}")
    version = document.get("version")
    if version != ARCHIVE_VERSION:
        raise _unreadable(f"it has version {version!r}, and this version of roundtable-sdk reads {ARCHIVE_VERSION}")
    if not isinstance(document.get("events"), list):
        raise _unreadable("it has no list of events")
    return document


def _unreadable(reason: str, cause: Exception | None = None) -> SessionError:
    return SessionError(
        f"this is not an exported session: {reason}",
        code=_UNREADABLE_CODE,
        cause=cause,
        hint="Import a file that `roundtable export ID --format json` wrote. Nothing was stored.",
    )
