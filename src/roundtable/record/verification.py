"""Checks whether a log or an exported session is the same as what was stored; pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import ValidationError, computed_field

from roundtable.core.record.chain import ChainHead, LogFault, LogHash, find_faults
from roundtable.core.types.base import Value
from roundtable.core.types.debate import SCHEMA_VERSION
from roundtable.core.types.events import durable_event
from roundtable.record.archive import parse_archive
from roundtable.record.signature import SignatureState, check_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent

__all__ = ["Verification", "verify_archive", "verify_log"]

Verdict: TypeAlias = Literal["intact", "changed", "unlinked"]

_SIGNATURES: Final[dict[SignatureState, str]] = {
    "valid": "Signature: valid, of this key.",
    "own": "Signature: fits the key in the file. Name the signer's public key to check whose it is.",
    "other_key": "Signature: of another key.",
    "invalid": "Signature: does not fit this log.",
}


class Verification(Value):
    """The result of a check of a log."""

    session_id: str
    """Session id."""
    events: int
    """Number of events."""
    head: ChainHead
    """Hash of the configuration and all events. Note it (`str(head)`), so that a later check can compare with it."""
    linked_from: int | None = None
    """First event with a hash. The hash covers all earlier events in their form at the time when that event was stored.
    `None` if no event has a hash."""
    faults: tuple[LogFault, ...] = ()
    """Parts of the log that differ from what was stored."""
    compared: bool = False
    """Whether the log was compared with a head: the head in the file, or one that you noted."""
    signature: SignatureState | None = None
    """State of the signature; `None` if there is none."""
    key_missing: bool = False
    """Whether a key was given, but the log has no signature."""

    @computed_field  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def verdict(self) -> Verdict:
        """`intact`, `changed`, or `unlinked` if there are no hashes to compare with.

        The verdict is also `changed` if a signature is missing although a key was given, is wrong, or is of another
        key.
        """
        if self.faults or self.key_missing or self.signature in {"invalid", "other_key"}:
            return "changed"
        return "intact" if self.compared or self.linked_from is not None else "unlinked"

    def to_text(self) -> str:
        """Return the result in plain lines."""
        return "\n".join(_lines(self)) + "\n"


def _lines(outcome: Verification) -> list[str]:
    match outcome.verdict:
        case "intact":
            first = f"Intact: {outcome.events} events, each covered by a hash."
            if outcome.linked_from is None:
                first = f"Intact since its head was noted: {outcome.events} events of a version without hashes."
            elif outcome.linked_from > 1:
                first += f" Event {outcome.linked_from} is the first with a hash, and covers those before it."
        case "unlinked":
            first = f"Not verifiable: {outcome.events} events of a version without hashes, and no head to compare with."
        case "changed":
            first = (
                f"Changed: {len(outcome.faults)} places differ from what was stored." if outcome.faults else "Changed."
            )
            if len(outcome.faults) == 1:
                first = "Changed: 1 place differs from what was stored."
            if not outcome.faults:
                first = "The required signature is missing or does not match."
    lines = [first, *(f"- {fault}" for fault in outcome.faults)]
    if outcome.signature is not None:
        lines.append(_SIGNATURES[outcome.signature])
    if outcome.key_missing:
        lines.append("Signature: none.")
    lines.append(f"Head: {outcome.head}")
    return lines


def verify_log(
    record: SessionRecord,
    events: Sequence[DurableEvent],
    *,
    expected: ChainHead | None = None,
    unreadable: Sequence[int] = (),
) -> Verification:
    """Check a log against its hashes.

    Args:
        record: The session.
        events: Its events.
        expected: A head that was noted earlier; the log may have grown since then.
        unreadable: Numbers of events that could not be read.
    """
    log_hash = LogHash(record)
    for event in events:
        log_hash.add(event)
    last = max((*(event.seq for event in events), *unreadable), default=0)
    return Verification(
        session_id=record.id,
        events=last,
        head=ChainHead(events=last, hash=log_hash.head()),
        linked_from=next((event.seq for event in events if event.previous_hash is not None), None),
        faults=find_faults(record, events, expected, unreadable=unreadable),
        compared=expected is not None,
    )


def verify_archive(
    text: str | bytes, *, expected: ChainHead | None = None, public_key: bytes | None = None
) -> Verification:
    """Check an exported session against its hashes, its head and its signature.

    In addition to the values, the check compares the exact text of each event with the text that an export writes.

    Args:
        text: The output of `roundtable export --format json`.
        expected: A head that was noted earlier.
        public_key: The public key of the signer, as PEM; if given, a file without a signature is not accepted.

    Raises:
        SessionError: The text is not an exported session: it is not JSON, has a newer version, or has a configuration
            that cannot be read.
        ConfigurationError: `public_key` is not a key, or the extra `sign` is missing.
    """
    document, literal = parse_archive(text), _literal_json(text)
    record = document.record()
    events: list[DurableEvent] = []
    unreadable: list[int] = []
    respelled: list[LogFault] = []
    literal_session, literal_events = (literal["session"], literal["events"])
    for number, (raw, spelled) in enumerate(zip(document.events, literal_events, strict=True), 1):
        try:
            event = durable_event(json.dumps(raw))
        except (ValidationError, ValueError, RecursionError):
            unreadable.append(number)
            continue
        events.append(event)
        if event.session_id != record.id or not _is_spelled_as(spelled, event.to_json()):
            respelled.append(LogFault(kind="changed", first=event.seq, last=event.seq))
    if not _is_record_spelled(literal_session, record):
        respelled.append(LogFault(kind="changed", first=0, last=0))
    verification = verify_log(record, events, expected=document.head, unreadable=unreadable)
    faults = [*verification.faults, *(fault for fault in respelled if not _is_covered(fault, verification.faults))]
    if document.head is not None and document.head.events < verification.events:
        faults.append(LogFault(kind="changed", first=document.head.events + 1, last=verification.events))
    if expected is not None and expected != document.head:
        faults += find_faults(record, events, expected, unreadable=unreadable)
    faults = sorted(dict.fromkeys(faults), key=lambda fault: (fault.first, fault.last))
    changes: dict[str, object] = {
        "faults": tuple(faults),
        "compared": verification.compared or expected is not None,
        "key_missing": public_key is not None and document.signature is None,
    }
    if document.signature is not None:
        changes["signature"] = check_signature(document.signature, document.head or verification.head, public_key)
    return verification.model_copy(update=changes)


def _is_covered(fault: LogFault, faults: Sequence[LogFault]) -> bool:
    return any(covering.first <= fault.first <= covering.last for covering in faults)


def _is_record_spelled(literal: object, record: SessionRecord) -> bool:
    if record.schema_version != SCHEMA_VERSION or not isinstance(literal, dict):
        return True
    return literal.get("schemaVersion") != ("number", str(SCHEMA_VERSION)) or _is_spelled_as(literal, record.to_json())


def _is_spelled_as(literal: object, text: str) -> bool:
    """Check whether every member of parsed JSON is written as in `text`; members that are missing are defaults."""
    return _is_part(literal, _literal_json(text))


def _is_part(literal: object, written: object) -> bool:
    match literal, written:
        case dict(), dict():
            return all(name in written and _is_part(item, written[name]) for name, item in literal.items())
        case list(), list():
            return len(literal) == len(written) and all(map(_is_part, literal, written))
        case _:
            return type(literal) is type(written) and literal == written


def _literal_json(text: str | bytes) -> Any:  # noqa: ANN401  (parsed JSON)
    """Return parsed JSON whose numbers are written exactly as in the text."""

    def number(spelled: str) -> tuple[str, str]:
        return "number", spelled

    return json.loads(text, parse_float=number, parse_int=number, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    # If a name occurs twice, the second value hides the first.
    return members if len(members) == len(pairs) else members | {"": "repeated"}
