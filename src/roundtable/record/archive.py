"""Export a session to one JSON document, and import it again; pure.

The document contains the stored record and the log, so an import restores the same session, byte for byte. It ends with
the head of the log, which is the hash of the record and the log, and optionally with a signature.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from roundtable.core.errors import SessionError
from roundtable.core.record.chain import ChainHead, LogHash, find_faults
from roundtable.core.record.fold import Fold
from roundtable.core.types.debate import SCHEMA_VERSION, SessionRecord
from roundtable.core.types.events import durable_event
from roundtable.record.signature import LogSignature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from roundtable.core.record.chain import LogFault
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.events import DurableEvent

__all__ = [
    "ARCHIVE_FORMAT",
    "ARCHIVE_VERSION",
    "Archive",
    "archive_parts",
    "parse_archive",
    "read_archive",
    "read_record",
    "with_id",
]

ARCHIVE_FORMAT: Final = "roundtable.session"
"""Format name in the document."""
ARCHIVE_VERSION: Final = 2
"""Version of the document; the record in the document has its own version."""

_UNREADABLE_CODE = "ARCHIVE_UNREADABLE"
_CHANGED_CODE = "ARCHIVE_CHANGED"


def _to_version_2(stored: JsonObject) -> JsonObject:
    """Migrate a record to version 2: it adds forks and the version of the prompt texts; both have defaults."""
    return stored


def _to_version_3(stored: JsonObject) -> JsonObject:
    """Migrate a record to version 3: it adds files and, in events, the hash of everything before the event."""
    return stored


_STEPS: dict[int, Callable[[JsonObject], JsonObject]] = {1: _to_version_2, 2: _to_version_3}


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


class Archive(NamedTuple):
    """The parts of an exported session, as parsed JSON."""

    session: object
    events: list[object]
    head: ChainHead | None
    """The head that the document states; documents of version 1 have none."""
    signature: LogSignature | None

    def record(self) -> SessionRecord:
        """Return the record.

        Raises:
            SessionError: The record cannot be read.
        """
        try:
            return read_record(json.dumps(self.session))
        except (TypeError, ValueError, RecursionError) as error:
            raise _unreadable("its session cannot be read", error) from error


def archive_parts(
    record: SessionRecord,
    events: Iterable[DurableEvent],
    *,
    sign: Callable[[ChainHead], LogSignature] | None = None,
) -> Iterator[str]:
    """Write a session as JSON, part by part: one line for the record, one for each event, and one for the head.

    Args:
        record: The session.
        events: Its events.
        sign: Signs the head.

    Raises:
        SessionError: The log cannot be signed, since it was changed after it was stored (code `SESSION_CHANGED`).
    """
    if sign is not None:
        events = tuple(events)
        if faults := find_faults(record, events):
            raise _changed_error(
                faults, "SESSION_CHANGED", "`roundtable verify ID` lists all faults. Nothing was signed."
            )
    start = f'"format":"{ARCHIVE_FORMAT}","version":{ARCHIVE_VERSION}'
    # The mark of an imported copy is not part of the session.
    yield f'{{{start},\n"session":{record.model_copy(update={"imported": False}).to_json()},\n"events":['
    separator, log_hash, last = "\n", LogHash(record), 0
    for event in events:
        log_hash.add(event)
        last = event.seq
        yield f"{separator}{event.to_json()}"
        separator = ",\n"
    head = ChainHead(events=last, hash=log_hash.head())
    yield f'\n],\n"head":{head.to_json()}'
    if sign is not None:
        yield f',\n"signature":{sign(head).to_json()}'
    yield "}\n"


def read_archive(text: str | bytes) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Read a session that `archive_parts` wrote.

    Raises:
        SessionError: The text is not such a document, has a newer version, or contains an impossible session. If the
            session was changed after the export, the code is `ARCHIVE_CHANGED`.
    """
    archive = parse_archive(text)
    record = archive.record()
    try:
        events = tuple(durable_event(json.dumps(event)) for event in archive.events)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unreadable("an event cannot be read", error) from error
    for number, event in enumerate(events, 1):
        if event.seq != number or event.session_id != record.id:
            raise _unreadable(f"event {number} has a different number, or belongs to another session")
    try:
        Fold(record, events).to_record()
    except (ValueError, ArithmeticError, LookupError) as error:
        raise _unreadable("its events do not make a session", error) from error
    faults = find_faults(record, events, archive.head)
    if faults:
        raise _changed_error(faults, _CHANGED_CODE, "`roundtable verify FILE` lists all faults. Nothing was stored.")
    return record, events


def with_id(
    session_id: str, record: SessionRecord, events: Iterable[DurableEvent], *, tenant: str, imported: bool = True
) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
    """Return the same session with another id and tenant; `imported` marks a session from another source."""
    renamed = record.model_copy(update={"id": session_id, "tenant": tenant, "imported": imported})
    return renamed, tuple(event.model_copy(update={"session_id": session_id}) for event in events)


def parse_archive(text: str | bytes) -> Archive:
    """Return the parts of a document that `archive_parts` wrote, without reading the session.

    Raises:
        SessionError: The text is not such a document, or has a newer version.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable("it is not JSON", error) from error
    if not isinstance(document, dict) or document.get("format") != ARCHIVE_FORMAT:
        raise _unreadable(f"it is not a JSON object with format {ARCHIVE_FORMAT!r}")
    version = document.get("version")
    if version not in (1, ARCHIVE_VERSION):
        raise _unreadable(
            f"it has version {version!r}, and this version of roundtable-sdk reads up to {ARCHIVE_VERSION}"
        )
    if "session" not in document or not isinstance(document.get("events"), list):
        raise _unreadable("it has no session, or no list of events")
    if version == ARCHIVE_VERSION and "head" not in document:
        raise _unreadable("it has no head")
    if version == 1 and any(isinstance(event, dict) and event.get("previousHash") for event in document["events"]):
        # Without this check, someone could cut the file and change its version to hide the cut.
        raise _unreadable("its version is 1, but its events have hashes, which were added in version 2")
    head, signature = document.get("head"), document.get("signature")
    try:
        return Archive(
            document["session"],
            document["events"],
            None if head is None else ChainHead.model_validate(head),
            None if signature is None else LogSignature.model_validate(signature),
        )
    except ValidationError as error:
        raise _unreadable("its head or its signature cannot be read", error) from error


def _changed_error(faults: Sequence[LogFault], code: str, hint: str) -> SessionError:
    return SessionError(
        f"this session was changed after it was stored: {'; '.join(map(str, faults[:3]))}",
        code=code,
        hint=hint,
        details={"faults": [fault.model_dump(mode="json") for fault in faults[:100]]},
    )


def _unreadable(reason: str, cause: Exception | None = None) -> SessionError:
    return SessionError(
        f"this is not an exported session: {reason}",
        code=_UNREADABLE_CODE,
        cause=cause,
        hint="Name a file that `roundtable export ID --format json` wrote. Nothing was stored.",
    )
