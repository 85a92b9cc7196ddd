"""Sessions as files: written for people, spreadsheets and other programs, and read back."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable._output import write_parts
from roundtable.errors import ConfigurationError, SessionError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from roundtable._registry import Entry
    from roundtable.api.wiring import Wiring
    from roundtable.plugins import Catalog, Exporter
    from roundtable.result import DebateResult
    from roundtable.types import DurableEvent, SessionRecord

__all__ = ["ExportFormat", "SessionFiles", "exported_parts", "find_exporter", "format_of"]

ExportFormat: TypeAlias = Literal["markdown", "json", "html", "csv"]
"""Forms in which a session is exported, beside those of plugins; only `"json"` can be imported."""

_SUFFIXES: Final[dict[str, ExportFormat]] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".csv": "csv",
}
_LARGEST_BYTES: Final = 256 * 1024 * 1024


def format_of(path: str | PathLike[str]) -> ExportFormat:
    """Tell the format of a file by the end of its name.

    Raises:
        ConfigurationError: The name says nothing.

    Example:
        >>> format_of("debate.md"), format_of("Debate.HTML")
        ('markdown', 'html')
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        msg = f"the name {str(path)!r} does not say in which format to export"
        raise ConfigurationError(msg, hint=f"Give the format, or a name that ends in {', '.join(_SUFFIXES)}.")
    return _SUFFIXES[suffix]


class SessionFiles(ABC):
    """Writing sessions to files and reading them back; `Roundtable` has all of it."""

    @property
    @abstractmethod
    def wiring(self) -> Wiring:
        """The objects behind the table."""

    async def export(self, session_id: str, format: ExportFormat | str = "markdown") -> str:
        """Give a stored session as text; nobody is asked anything.

        Args:
            session_id: Which session.
            format: `"markdown"` and `"html"` (one page that needs nothing beside it) are for people, `"csv"` has one
                line per turn, and `"json"` is the session itself, which `import_` takes. Plugins bring further ones.

        Raises:
            SessionNotFound: There is no such session.
            ConfigurationError: There is no such format, or it is none of texts.
            PluginError: The exporter of a plugin failed.
        """
        texts: list[str] = []
        for part in await exported_parts(self.wiring, session_id, format):
            if isinstance(part, bytes):
                msg = f"the export format {format!r} is no text"
                raise ConfigurationError(msg, hint="Write it to a file: `export_file`, or `roundtable export -o FILE`.")
            texts.append(part)
        return "".join(texts)

    async def export_file(
        self, session_id: str, path: str | PathLike[str], *, format: ExportFormat | str | None = None
    ) -> Path:
        """Write a stored session to a file, part by part, and give the file's path.

        A new file can be read by this user alone. One that exists is replaced as a whole once the new one is written;
        a symbolic link is replaced, never followed.

        Args:
            session_id: Which session.
            path: The file.
            format: As for `export`; told by the end of the name when left out.

        Raises:
            SessionNotFound: There is no such session.
            ConfigurationError: There is no such format, or the name does not say which.
            PluginError: The exporter of a plugin failed.
            StorageError: The file cannot be written.
        """
        from anyio import to_thread

        target = Path(path)
        parts = await exported_parts(self.wiring, session_id, format or format_of(target))
        await to_thread.run_sync(write_parts, target, parts)
        return target

    async def import_(
        self, source: str | bytes | PathLike[str], *, new_id: bool = False, run_programs: bool = False
    ) -> str:
        """Store a session that was exported as JSON, and give its id; nobody is asked anything.

        It is this table's then, whoever's it was. The document is judged whole before anything is stored.

        Args:
            source: The document, which begins with a brace, or the path of a file that holds one.
            new_id: Whether to store it under a new id, beside one that exists.
            run_programs: Whether `resume`, `extend` and `fork` may start programs of this machine that it names as
                agents, such as `claude-cli` or `command:mytool`. Otherwise they refuse, unless this table seats them.

        Raises:
            SessionError: The document is no exported session, or one that could not be; or its id could lead a path
                elsewhere, such as `..` or one with a slash.
            SessionConflict: A session of that id exists.
            StorageError: The file cannot be read, or the session cannot be stored.
        """
        from anyio import to_thread

        from roundtable._threads import on_thread
        from roundtable.record import read_archive, store_whole, with_id

        # On a thread that can be left: what has the name of a file may be a pipe that nobody writes to.
        text = await on_thread(partial(_document, source), name="roundtable import")
        if len(text) > _LARGEST_BYTES:
            raise SessionError(f"a session to import has at most {_LARGEST_BYTES >> 20} MiB")
        record, events = await to_thread.run_sync(read_archive, text)
        _check_result(record, events)
        name = secrets.token_hex(16) if new_id else _plain(record.id)
        wiring = self.wiring
        tenant = wiring.options.tenant
        await store_whole(wiring.storage, *with_id(name, record, events, tenant=tenant, imported=not run_programs))
        return name


async def exported_parts(wiring: Wiring, session_id: str, format: str) -> Iterator[str | bytes]:
    """Give a stored session in a format, part by part, as they are asked for.

    Raises:
        SessionNotFound: There is no such session.
        ConfigurationError: There is no such format.
    """
    exporter = find_exporter(wiring.catalog, format)
    if exporter is None:
        from roundtable.record import archive_parts

        return archive_parts(*await wiring.storage.read(session_id, tenant=wiring.options.tenant))
    from roundtable.result import DebateResult

    fold = await wiring.sessions.load(session_id)
    return _parts(exporter, DebateResult.from_record(fold.to_record()))


def find_exporter(catalog: Catalog, format: str) -> Entry[Exporter] | None:
    """Give what writes a format; `None` for `json`, which is the session rather than its result.

    Raises:
        ConfigurationError: There is no such format.
    """
    if format == "json":
        return None
    found = catalog.exporters.find(format)
    if found is None:
        msg = f"there is no export format {format!r}"
        raise ConfigurationError(msg, hint=f"Formats: json, {', '.join(catalog.exporters.names())}.")
    return found


def _parts(exporter: Entry[Exporter], result: DebateResult) -> Iterator[str | bytes]:
    from roundtable.plugins.using import using

    with using("exporter", exporter) as write:
        written = write(result)
        for part in (written,) if isinstance(written, str | bytes) else written:
            if not isinstance(part, str | bytes):
                msg = f"it wrote {type(part).__name__}, where text or bytes are wanted"
                raise TypeError(msg)
            yield part


def _check_result(record: SessionRecord, events: tuple[DurableEvent, ...]) -> None:
    """Refuse a session that could be stored and never be shown."""
    from roundtable.record import fold_debate
    from roundtable.result import DebateResult

    try:
        DebateResult.from_record(fold_debate(record, events))
    except (ValueError, ArithmeticError, LookupError) as error:
        raise SessionError("this is no exported session: it has no result", cause=error) from error


def _plain(session_id: str) -> str:
    """Refuse an id that would lead elsewhere as part of a path; ids of the library are hexadecimal."""
    if session_id in {".", ".."} or set(session_id) & {"/", "\\", "\0"}:
        msg = f"a session cannot be imported as {session_id!r}"
        raise SessionError(msg, hint="Import it under a new id.")
    return session_id


def _document(source: str | bytes | PathLike[str]) -> str | bytes:
    """Give the document itself, from its file where it is in one."""
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip()[:1] in {"", "{"}):
        return source
    path = Path(source)
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}",
            cause=error,
            details={"path": str(path), "reason": "unreachable"},
        ) from error
