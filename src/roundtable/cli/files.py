"""Commands that write sessions to files and read them back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.api.files import find_exporter, format_of
from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import line
from roundtable.cli.place import SHORT_ID
from roundtable.cli.sessions import full_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.cli.desk import Desk

__all__ = ["backup_sessions", "export_session", "import_session"]


def _path(name: str) -> Path:
    return Path(name).expanduser()


async def export_session(
    desk: Desk, given: str, format: str | None, outputs: Sequence[str], html: str | None
) -> ExitCode:
    """Write a session to files, or to standard output where no file is named."""
    if format is not None:
        find_exporter(desk.table.wiring.catalog, format)
    files: list[tuple[Path, str]] = [(_path(name), format or format_of(name)) for name in outputs]
    if html is not None:
        files.append((_path(html), "html"))
    session_id = await full_id(desk.table, desk.place, given)
    if not files:
        desk.screen.document((await desk.table.export(session_id, format or _without_file(desk))).rstrip("\r\n"))
        return ExitCode.OK
    for path, wanted in files:
        await desk.table.export_file(session_id, path, format=wanted)
    if desk.screen.as_json:
        desk.screen.data({"sessionId": session_id, "files": [str(path) for path, _ in files]})
    desk.screen.show([line(f"Wrote {path}") for path, _ in files])
    return ExitCode.OK


def _without_file(desk: Desk) -> str:
    return "json" if desk.screen.as_json else "markdown"


async def import_session(desk: Desk, name: str, *, new_id: bool, run_programs: bool) -> ExitCode:
    """Store a session from a file, or from standard input."""
    source = sys.stdin.buffer.read() if name == "-" else _path(name)
    session_id = await desk.table.import_(source, new_id=new_id, run_programs=run_programs)
    if desk.screen.as_json:
        desk.screen.data({"sessionId": session_id})
        return ExitCode.OK
    shown = [line(f"Stored session {session_id} in {desk.place.shown}.")]
    shown.append(line(f"See it: {desk.place.command('show', session_id[:SHORT_ID])}", "dim"))
    desk.screen.show(shown)
    return ExitCode.OK


async def backup_sessions(desk: Desk, name: str) -> ExitCode:
    """Copy all sessions to one file."""
    path = _path(name)
    await desk.table.backup(path)
    if desk.screen.as_json:
        desk.screen.data({"file": str(path)})
    desk.screen.show([line(f"Copied {desk.place.shown} to {path}.")])
    return ExitCode.OK
