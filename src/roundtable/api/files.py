"""Sessions as files: export for people, spreadsheets and other programs; import."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.api.checks import is_path_safe
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.files import write_parts
from roundtable.core.errors import ConfigurationError, SessionError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from roundtable.api.assembly import TableParts
    from roundtable.api.debates import Debates
    from roundtable.core.base.registry import Entry
    from roundtable.core.record.chain import ChainHead
    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.plugins import Catalog, Exporter
    from roundtable.record.signature import LogSignature
    from roundtable.record.verification import Verification

__all__ = ["ExportFormat", "SessionFiles", "can_sign", "find_exporter", "format_of", "parts_of"]

ExportFormat: TypeAlias = Literal["markdown", "json", "html", "csv"]
"""Built-in export formats; plugins may add others. Only `"json"` can be imported."""

_LARGEST_BYTES: Final = 256 * 1024 * 1024


def format_of(path: str | PathLike[str], catalog: Catalog | None = None) -> str:
    """Return the export format for a file name, by its ending.

    Args:
        path: The file.
        catalog: The known formats; without it, only the built-in ones.

    Raises:
        ConfigurationError: No format has this ending.

    Example:
        >>> format_of("debate.md"), format_of("Debate.HTML")
        ('markdown', 'html')
    """
    from roundtable.plugins.exporters import BUILTIN_EXPORTERS, file_endings

    ending = Path(path).suffix.lower()
    built_in = [(name, exporter) for name, exporter, _ in BUILTIN_EXPORTERS]
    formats = built_in if catalog is None else [(entry.name, entry.thing) for entry in catalog.exporters]
    endings: dict[str, str] = {}
    for name, exporter in formats:
        for each in file_endings(name, exporter):
            endings.setdefault(each, name)
    if ending in endings:
        return endings[ending]
    # A plugin that is not loaded yet may have a format of this name.
    if ending and catalog is not None and (entry := catalog.exporters.find(ending.removeprefix("."))) is not None:
        return entry.name
    msg = f"unknown export format of {str(path)!r}"
    raise ConfigurationError(msg, hint=f"Set the format, or use a name that ends in {', '.join(endings)}.")


@explains_arguments
class SessionFiles(ABC):
    """Export and import of sessions; base class of `Roundtable`."""

    @property
    @abstractmethod
    def _wiring(self) -> TableParts:
        """The objects behind the table."""

    @property
    @abstractmethod
    def _debates(self) -> Debates:
        """The debates of the table."""

    async def export(self, session_id: str, format: ExportFormat | str = "markdown") -> str:
        """Return a stored session as text; no model is called.

        Args:
            session_id: Which session.
            format: `"markdown"` and `"html"` (one self-contained page) are for people, `"csv"` has one line per turn,
                and `"json"` is the complete session, which `import_` reads. Plugins may add other formats.

        Raises:
            SessionNotFound: No session has this id.
            ConfigurationError: The format is unknown or binary.
            PluginError: The exporter of a plugin failed.
        """
        texts: list[str] = []
        for part in await parts_of(self._wiring, self._debates, session_id, format):
            if isinstance(part, bytes):
                msg = f"the export format {format!r} is not text"
                raise ConfigurationError(msg, hint="Export to a file: `export_file`, or `roundtable export -o FILE`.")
            texts.append(part)
        return "".join(texts)

    async def export_file(
        self,
        session_id: str,
        path: str | PathLike[str],
        *,
        format: ExportFormat | str | None = None,
        sign_with: str | PathLike[str] | None = None,
    ) -> Path:
        """Write a stored session to a file, part by part, and return the file's path.

        Only this user can read a new file. An existing file is replaced once the new file is complete. A symbolic link
        is replaced, never followed.

        Args:
            session_id: Which session.
            path: The file.
            format: As for `export`; when left out, the suffix of the file determines it.
            sign_with: File of an Ed25519 private key (PEM, without a password) that signs the session; of the built-in
                formats, only `"json"` can be signed. `roundtable verify` checks the signature. Needs the extra `sign`.

        Raises:
            SessionNotFound: No session has this id.
            ConfigurationError: The format is unknown or cannot be signed, or the key is not an Ed25519 private key.
            SessionError: The session cannot be signed because it was changed after it was stored (code
                `SESSION_CHANGED`).
            PluginError: The exporter of a plugin failed.
            StorageError: The file cannot be written.
        """
        from anyio import to_thread

        target = Path(path)
        catalog = self._wiring.catalog
        kind = format or format_of(target, catalog)
        sign = None
        if sign_with is not None:
            if not can_sign(catalog, kind):
                raise ConfigurationError(f"the format {kind!r} cannot be signed", hint="Use the format 'json'.")
            sign = await to_thread.run_sync(_read_signer, Path(sign_with))
        parts = await parts_of(self._wiring, self._debates, session_id, kind, sign=sign)
        await to_thread.run_sync(write_parts, target, parts)
        return target

    async def verify(self, session_id: str, *, head: ChainHead | str | None = None) -> Verification:
        """Check whether a stored session was changed later: each event contains the hash of everything before it.

        To check an exported file, use `roundtable.record.verify_archive`.

        Args:
            session_id: Which session.
            head: The head (number and hash of the last event) from an earlier check, or from a page or an export. The
                comparison with it also detects events that were cut off at the end, and a log that was rewritten as a
                whole.

        Raises:
            SessionNotFound: No session has this id.
            ConfigurationError: `head` is not the head of a log.
            StorageError: The storage found damage itself.

        Example:
            >>> import anyio
            >>> from roundtable import Roundtable
            >>> from roundtable.testing import scripted_agents
            >>> async def main():
            ...     table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
            ...     result = await table.debate("Tea or coffee?", rounds=1)
            ...     return await table.verify(result.session_id)
            >>> anyio.run(main).verdict
            'intact'
        """
        from roundtable.core.record.chain import ChainHead
        from roundtable.record.verification import verify_log

        expected = ChainHead.parse(head) if isinstance(head, str) else head
        wiring = self._wiring
        record, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
        return verify_log(record, events, expected=expected)

    async def import_(
        self, source: str | bytes | PathLike[str], *, new_id: bool = False, run_programs: bool = False
    ) -> str:
        """Store a session that was exported as JSON, and return its id; no model is called.

        The session then belongs to this table's tenant. The document is checked completely before anything is stored.

        Args:
            source: The document, which begins with a brace, or the path of a file that contains it.
            new_id: Whether to store the session under a new id, for example because a session with its id exists.
            run_programs: Whether `resume`, `extend` and `fork` may start programs on this machine that the session
                names as agents, such as `claude-cli` or `command:mytool`. If not, these methods refuse, unless the
                table has these agents.

        Raises:
            SessionError: The document is not a valid exported session, or was changed after the export (code
                `ARCHIVE_CHANGED`); or the session's id is not safe as part of a path, such as `..` or an id with a
                slash.
            SessionConflict: A session with this id exists.
            StorageError: The file cannot be read, or the session cannot be stored.
        """
        from anyio import to_thread

        from roundtable.core.base.eventloop import on_thread
        from roundtable.record.archive import read_archive, with_id
        from roundtable.record.session_edit import store_whole

        # Read on a thread that can be abandoned, because the path may be a pipe that nobody writes to.
        text = await on_thread(partial(_read_document, source), name="roundtable import")
        if len(text) > _LARGEST_BYTES:
            msg = f"the session to import is larger than {_LARGEST_BYTES >> 20} MiB"
            raise SessionError(msg, hint="Name a file that `roundtable export ID --format json` wrote.")
        record, events = await to_thread.run_sync(read_archive, text)
        _check_result(record, events)
        name = secrets.token_hex(16) if new_id else _check_path_safe(record.id)
        wiring = self._wiring
        tenant = wiring.options.tenant
        await store_whole(wiring.storage, *with_id(name, record, events, tenant=tenant, imported=not run_programs))
        return name


def _read_signer(path: Path) -> Callable[[ChainHead], LogSignature]:
    """Return a function that signs with the key in a file; raise at once if the key is not usable."""
    from roundtable.core.record.chain import ChainHead
    from roundtable.record.signature import sign_head

    try:
        key = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read the key {str(path)!r}: {error.strerror}", cause=error) from error
    sign_head(ChainHead(events=0, hash="0" * 64), key)
    return partial(sign_head, private_key=key)


async def parts_of(
    wiring: TableParts,
    debates: Debates,
    session_id: str,
    format: str,
    *,
    sign: Callable[[ChainHead], LogSignature] | None = None,
) -> Iterator[str | bytes]:
    """Return a stored session in a format, as an iterator that produces its parts on demand.

    Args:
        wiring: The objects behind a table.
        debates: The debates of the table.
        session_id: Which session.
        format: The format.
        sign: Signs the session; the format must be one that can be signed.

    Raises:
        SessionNotFound: No session has this id.
        ConfigurationError: The format is unknown.
    """
    from roundtable.plugins.exporters import SessionExporter

    exporter = find_exporter(wiring.catalog, format)
    write = exporter.thing
    if isinstance(write, SessionExporter):
        record, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
        if sign is not None and write.write_signed is not None:
            return _export_parts(exporter, partial(write.write_signed, record, events, sign))
        return _export_parts(exporter, partial(write.write, record, events))
    from roundtable.results.debate_result import DebateResult

    fold = await wiring.sessions.load(session_id)
    mode, rules = debates.mode_of(fold.record), wiring.catalog.rules
    return _export_parts(exporter, partial(write, DebateResult.from_record(fold.to_record(), mode=mode, rules=rules)))


def find_exporter(catalog: Catalog, format: str) -> Entry[Exporter]:
    """Return the exporter of a format.

    Raises:
        ConfigurationError: The format is unknown.
    """
    exporter = catalog.exporters.find(format)
    if exporter is None:
        msg = f"unknown export format {format!r}"
        raise ConfigurationError(msg, hint=f"Formats: {', '.join(catalog.exporters.names())}.")
    return exporter


def can_sign(catalog: Catalog, format: str) -> bool:
    """Check whether files in a format can be signed.

    Raises:
        ConfigurationError: The format is unknown.
    """
    from roundtable.plugins.exporters import SessionExporter

    exporter = find_exporter(catalog, format).thing
    return isinstance(exporter, SessionExporter) and exporter.write_signed is not None


def _export_parts(exporter: Entry[Exporter], write: Callable[[], str | bytes | Iterator[str]]) -> Iterator[str | bytes]:
    from roundtable.plugins.errors import use_entry

    with use_entry("exporter", exporter):
        output = write()
        for part in (output,) if isinstance(output, str | bytes) else output:
            if not isinstance(part, str | bytes):
                msg = f"it returned {type(part).__name__} instead of text or bytes"
                raise TypeError(msg)
            yield part


def _check_result(record: SessionRecord, events: tuple[DurableEvent, ...]) -> None:
    """Check that a session has a result; without this check, it could be stored but never shown."""
    from roundtable.core.record.fold import fold_debate
    from roundtable.results.debate_result import DebateResult

    try:
        DebateResult.from_record(fold_debate(record, events))
    except (ValueError, ArithmeticError, LookupError) as error:
        raise SessionError("this is not an exported session: it has no result", cause=error) from error


def _check_path_safe(session_id: str) -> str:
    """Return an id if it is safe as part of a path."""
    if not is_path_safe(session_id):
        msg = f"a session cannot be imported with the id {session_id!r}"
        raise SessionError(msg, hint="Import the session under a new id.")
    return session_id


def _read_document(source: str | bytes | PathLike[str]) -> str | bytes:
    """Return the document, read from its file if `source` is a path."""
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
