"""Commands that write sessions to files and read them back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.api.files import can_sign, find_exporter, format_of
from roundtable.cli.event_printer import line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.sessions import full_id
from roundtable.cli.storage_location import SHORT_ID
from roundtable.core.errors import ConfigurationError
from roundtable.core.record.chain import ChainHead
from roundtable.record.verification import verify_archive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.cli.context import CommandContext

__all__ = ["backup_sessions", "export_session", "import_session", "verify_session"]


def _path(name: str) -> Path:
    return Path(name).expanduser()


async def export_session(
    context: CommandContext,
    id_prefix: str,
    format: str | None,
    outputs: Sequence[str],
    html: str | None,
    *,
    sign_with: str | None = None,
) -> ExitCode:
    """Write a session to files, or to standard output if no file is named."""
    catalog = context.table.catalog
    if format is not None:
        find_exporter(catalog, format)
    files: list[tuple[Path, str]] = [(_path(name), format or format_of(name, catalog)) for name in outputs]
    if html is not None:
        files.append((_path(html), "html"))
    if sign_with is not None and (not files or not all(can_sign(catalog, file_format) for _, file_format in files)):
        raise ConfigurationError(
            "--sign needs a file in a format that can be signed, such as json",
            hint="For example: --format json --output session.json",
        )
    if not files and context.screen.as_json and format not in {None, "json"}:
        msg = f"--json prints JSON, but --format {format} asks for another format"
        raise ConfigurationError(msg, hint="Leave out --json, or name a file with --output.")
    session_id = await full_id(context.table, context.place, id_prefix)
    if not files:
        context.screen.document(
            (await context.table.export(session_id, format or _default_format(context))).rstrip("\r\n")
        )
        return ExitCode.OK
    for path, file_format in files:
        await context.table.export_file(
            session_id, path, format=file_format, sign_with=None if sign_with is None else _path(sign_with)
        )
    if context.screen.as_json:
        context.screen.data({"sessionId": session_id, "files": [str(path) for path, _ in files]})
    context.screen.show([line(f"Wrote {path}", wraps=False) for path, _ in files])
    return ExitCode.OK


def _default_format(context: CommandContext) -> str:
    return "json" if context.screen.as_json else "markdown"


async def verify_session(context: CommandContext, target: str, head: str | None, key: str | None) -> ExitCode:
    """Check whether a stored session or an exported file is unchanged since it was written."""
    path = _path(target)
    expected = None if head is None else ChainHead.parse(head)
    if target == "-" or path.is_file():
        public_key = None if key is None else _read(_path(key))
        verification = verify_archive(
            sys.stdin.buffer.read() if target == "-" else _read(path), expected=expected, public_key=public_key
        )
    elif key is not None:
        raise ConfigurationError("--key needs an exported file: signatures are not stored with sessions")
    else:
        session_id = await full_id(context.table, context.place, target)
        verification = await context.table.verify(session_id, head=expected)
    if context.screen.as_json:
        context.screen.document(verification.to_json())
    else:
        context.screen.show(line(text) for text in verification.to_text().splitlines())
    return ExitCode.OK if verification.verdict == "intact" else ExitCode.FAILED


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}", cause=error) from error


async def import_session(context: CommandContext, name: str, *, new_id: bool, run_programs: bool) -> ExitCode:
    """Store a session from a file, or from standard input."""
    source = sys.stdin.buffer.read() if name == "-" else _path(name)
    session_id = await context.table.import_(source, new_id=new_id, run_programs=run_programs)
    if context.screen.as_json:
        context.screen.data({"sessionId": session_id})
        return ExitCode.OK
    lines = [line(f"Stored session {session_id} in {context.place.shown}.", wraps=False)]
    lines.append(line(f"See it: {context.place.command('show', session_id[:SHORT_ID])}", "dim", wraps=False))
    context.screen.show(lines)
    return ExitCode.OK


async def backup_sessions(context: CommandContext, name: str) -> ExitCode:
    """Copy all sessions to one file."""
    path = _path(name)
    if context.place.path is not None and await context.place.is_empty(context.table):
        msg = f"nothing to copy: nothing is stored in {context.place.shown}"
        raise ConfigurationError(msg, hint="Name the storage of the sessions with --db.")
    await context.table.backup(path)
    if context.screen.as_json:
        context.screen.data({"file": str(path)})
    context.screen.show([line(f"Copied {context.place.shown} to {path}.", wraps=False)])
    return ExitCode.OK
