"""A copy of a SQLite file while it is in use: one state of it, whole or not at all."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from roundtable.errors import StorageError
from roundtable.storage.database import storage_error

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.storage.database import Database

__all__ = ["copy_database"]


def copy_database(database: Database, path: Path) -> None:
    """Copy a database to a file that does not exist yet; it appears there once it is whole and on the disk.

    Args:
        database: What to copy; who writes to it is not held up.
        path: The new file, made for this user only.

    Raises:
        StorageError: There is such a file, it cannot be written, or the database cannot be read.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))
        try:
            _copy(database, draft)
            _publish(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError as error:
        raise StorageError(
            f"{str(path)!r} exists already",
            hint="Give the path of a file that does not exist; a backup never replaces one.",
            cause=error,
            details={"path": str(path), "reason": "exists"},
        ) from error
    except OSError as error:
        raise StorageError(
            f"no backup can be written to {str(path)!r}: {error.strerror or error}",
            hint="Check that the folder exists and may be written to.",
            cause=error,
            details={"path": str(path), "reason": "unreachable"},
        ) from error


def _publish(draft: Path, path: Path) -> None:
    """Give the copy its name, without replacing anything."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError as error:  # a file system without links, such as that of a memory stick
        if path.exists():
            raise FileExistsError(path) from error
        draft.rename(path)


def _copy(database: Database, draft: Path) -> None:
    with closing(database.open_reader()) as source:
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
                source.backup(copy)
                # Nothing beside it belongs to the copy: it is one file until somebody writes to it.
                copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        except sqlite3.Error as error:
            raise storage_error(error, database.name) from error
    with draft.open("rb") as written:
        os.fsync(written.fileno())
