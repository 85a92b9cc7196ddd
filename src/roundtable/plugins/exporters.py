"""Exporters: what they get and declare, and the built-in export formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from roundtable.core.record.chain import ChainHead
    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.record.signature import LogSignature
    from roundtable.results.debate_result import DebateResult

__all__ = ["BUILTIN_EXPORTERS", "Exporter", "ResultExporter", "SessionExporter", "Signer", "file_endings"]

Exporter: TypeAlias = "Callable[[DebateResult], str | bytes | Iterator[str]] | SessionExporter"
"""Function that writes a result in a format: as text, as bytes for a file, or as parts of a text in order.

A `SessionExporter` writes the stored session instead. An exporter may have two more attributes, which `ResultExporter`
and `SessionExporter` set:

- `media_type`, such as `"application/pdf"`: the type that a server sends. By default, text is sent as `text/plain` and
  bytes as `application/octet-stream`.
- `file_endings`, such as `(".pdf",)`: names of files that are written in this format. By default, it is the name of the
  format.
"""

Signer: TypeAlias = "Callable[[ChainHead], LogSignature]"
"""Function that signs the head of a log."""


@dataclass(frozen=True, slots=True)
class ResultExporter:
    """An exporter of results that declares its media type and its file endings.

    Example:
        >>> ResultExporter(str, "text/plain", (".txt",)).file_endings
        ('.txt',)
    """

    write: Callable[[DebateResult], str | bytes | Iterator[str]]
    """Writes a result: as text, as bytes for a file, or as parts of a text in order."""
    media_type: str | None = None
    """Type that a server sends; `None` for the default."""
    file_endings: tuple[str, ...] = ()
    """Endings of file names in this format, with the dot, in lower case; the first one is the usual one."""

    def __call__(self, result: DebateResult) -> str | bytes | Iterator[str]:
        """Write a result."""
        return self.write(result)


@dataclass(frozen=True, slots=True)
class SessionExporter:
    """An exporter of stored sessions: it gets the record and all events, from which results are computed.

    The built-in format `json` is one.

    Example:
        >>> def count(record, events):
        ...     return f"{record.id}: {len(events)} events"
        >>> SessionExporter(count).write_signed is None
        True
    """

    write: Callable[[SessionRecord, Sequence[DurableEvent]], str | bytes | Iterator[str]]
    """Writes a session: as text, as bytes for a file, or as parts of a text in order."""
    media_type: str | None = None
    """Type that a server sends; `None` for the default."""
    file_endings: tuple[str, ...] = ()
    """Endings of file names in this format, with the dot, in lower case; the first one is the usual one."""
    write_signed: Callable[[SessionRecord, Sequence[DurableEvent], Signer], str | bytes | Iterator[str]] | None = None
    """Writes a session with a signature; `None` if the format cannot be signed."""


def file_endings(name: str, exporter: Exporter) -> tuple[str, ...]:
    """Return the endings of file names in a format.

    Example:
        >>> file_endings("yaml", str)
        ('.yaml',)
    """
    declared: Sequence[str] = getattr(exporter, "file_endings", ())
    return tuple(declared) or (f".{name.rpartition('/')[2].lower()}",)


def _session(record: SessionRecord, events: Sequence[DurableEvent]) -> Iterator[str]:
    # Imported late, here and below, because most debates are never exported.
    from roundtable.record.archive import archive_parts

    return archive_parts(record, events)


def _signed_session(record: SessionRecord, events: Sequence[DurableEvent], sign: Signer) -> Iterator[str]:
    from roundtable.record.archive import archive_parts

    return archive_parts(record, events, sign=sign)


def _markdown(result: DebateResult) -> Iterator[str]:
    from roundtable.report import markdown_parts
    from roundtable.results.view import view_of

    return markdown_parts(view_of(result))


def _page(result: DebateResult) -> Iterator[str]:
    from roundtable.report import page_parts
    from roundtable.results.view import view_of

    return page_parts(view_of(result))


def _csv(result: DebateResult) -> Iterator[str]:
    from roundtable.report import csv_parts
    from roundtable.results.rows import TURN_COLUMNS

    return csv_parts(TURN_COLUMNS, result.to_records())


BUILTIN_EXPORTERS: Final[tuple[tuple[str, ResultExporter | SessionExporter, str], ...]] = (
    (
        "json",
        SessionExporter(_session, "application/json", (".json",), _signed_session),
        "For import: the complete session, which can be signed.",
    ),
    (
        "markdown",
        ResultExporter(_markdown, "text/markdown", (".md", ".markdown")),
        "For people: text with headings and tables.",
    ),
    ("html", ResultExporter(_page, "text/html", (".html", ".htm")), "For people: one page without other files."),
    ("csv", ResultExporter(_csv, "text/csv", (".csv",)), "For spreadsheets: one line per turn."),
)
"""Name, exporter and summary of each built-in format."""
