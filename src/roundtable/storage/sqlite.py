"""Storage in one SQLite file: data is durable before a call returns, and several processes may use the file."""

from __future__ import annotations

import os
import secrets
import sqlite3
import weakref
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import Path as AsyncPath
from anyio import to_thread

from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import ConfigurationError, StorageError
from roundtable.core.types.storage import QueueDatabase, SessionFilter
from roundtable.storage import statements
from roundtable.storage.database import Database, storage_error
from roundtable.storage.fulltext import find_words
from roundtable.storage.keyvalue import SQLiteKeyValue
from roundtable.storage.rules import check_append, session_key
from roundtable.storage.statements import Key
from roundtable.storage.whole_sessions import WholeSessionMethods
from roundtable.storage.worker import Worker, commit_together, read_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import Clock
    from roundtable.core.types.debate import SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.core.types.storage import Lease, LeaseOwner, SearchHit, SearchQuery, SessionSummary

__all__ = ["SQLiteStorage", "copy_database"]

_EXIT_WAIT_S = 2.0
_DEFAULT_PATH: Final = "./data/roundtable.db"


def copy_database(database: Database, path: Path) -> None:
    """Copy a database to a new file. The file appears only when the copy is complete and synced to disk.

    Args:
        database: The database to copy; writers are not blocked meanwhile.
        path: The new file, created with mode 0600.

    Raises:
        StorageError: The file exists already or cannot be written, or the database cannot be read.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))
        try:
            _copy(database, temporary)
            _publish(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError as error:
        raise StorageError(
            f"{str(path)!r} exists already",
            hint="Choose a path where no file exists; a backup never replaces a file.",
            cause=error,
            details={"path": str(path), "reason": "exists"},
        ) from error
    except OSError as error:
        raise StorageError(
            f"the backup {str(path)!r} cannot be written: {error.strerror or error}",
            hint="Check that the folder exists and is writable.",
            cause=error,
            details={"path": str(path), "reason": "unreachable"},
        ) from error


def _publish(temporary: Path, path: Path) -> None:
    """Rename the copy to its final path, without replacing a file."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:  # a file system without hard links, such as FAT
        if path.exists():
            raise FileExistsError(path) from error
        temporary.rename(path)


def _copy(database: Database, temporary: Path) -> None:
    with closing(database.open_reader()) as source:
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
                source.backup(copy)
                # Without a write-ahead log, the copy is a single file until someone writes to it.
                copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        except sqlite3.Error as error:
            raise storage_error(error, database.name) from error
    with temporary.open("rb") as file:
        os.fsync(file.fileno())


class SQLiteStorage(WholeSessionMethods):
    """Store sessions in one SQLite file, which only the current user can access (mode 0600).

    As soon as the awaited call returns, data survives a crash of the process or the machine, since the call returns
    after the commit, and commits are synced. Concurrent callers share one commit (see `commit_window_s`). A cancelled
    call is stored as a whole or not at all; once it has started, it completes. Several processes may use one file, and
    several event loops may use one object.

    The file is opened on first use. One thread writes and one thread reads; both end with `aclose`.

    If the file or its folder is not writable, the file can still be read, and no other file is created next to it.
    Writing raises a `StorageError` with `details["reason"] == "read-only"`.

    Args:
        db_path: The file. A missing folder is created only for the default path, with access for the current user only.
        clock: Decides when leases and values expire; the system clock by default.
        commit_window_s: Longest wait for more callers before a commit, in seconds. The writer waits only if the last
            commit served several callers, so a single caller never waits.
        busy_timeout_s: Longest wait for a lock of another process, in seconds.
        make_folder: Whether to create missing folders; by default only for the default path.

    Raises:
        ConfigurationError: The path is not a valid file path, or a time is out of range.

    Example:
        >>> SQLiteStorage("debates.db").db_path
        'debates.db'
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str] = _DEFAULT_PATH,
        *,
        clock: Clock | None = None,
        commit_window_s: float = 0.005,
        busy_timeout_s: float = 5.0,
        make_folder: bool | None = None,
    ) -> None:
        if not 0 <= commit_window_s <= 1:
            raise ConfigurationError(f"commit_window_s must be from 0 to 1 second, not {commit_window_s!r}")
        self.db_path: str = os.fspath(db_path)
        """The file, as the caller passed it."""
        self._clock: Clock = clock or SystemClock()
        creates_folder = self.db_path == _DEFAULT_PATH if make_folder is None else make_folder
        self._database = database = Database(self.db_path, busy_timeout_s, make_folder=creates_folder)
        self._path = database.name
        self._reader = Worker(
            "roundtable-sqlite-reader",
            self._path,
            open_connection=database.open_reader,
            work=read_each,
            keeps=lambda: not database.is_read_only(),  # another process may write between two read operations
        )
        self._writer = Worker(
            "roundtable-sqlite-writer",
            self._path,
            open_connection=database.open_writer,
            work=commit_together,
            after=database.checkpoint,
            last=self._reader.join,  # the connection that is closed last empties the write-ahead log
            window_s=commit_window_s,
        )
        self._kv = SQLiteKeyValue(self._reader, self._writer, self._clock)
        self._finalizer = weakref.finalize(self, _end_threads, self._reader, self._writer)

    @property
    def kv(self) -> KeyValue:
        """Key-value store for small values."""
        return self._kv

    async def is_created(self) -> bool:
        """Check whether the file exists. Nothing is created.

        Raises:
            StorageError: The folder cannot be read.
        """
        try:
            return await AsyncPath(self.db_path).exists()
        except OSError as error:
            raise StorageError(f"{self.db_path!r} cannot be read: {error.strerror}", cause=error) from error

    def queue_database(self) -> QueueDatabase:
        """Return where a fleet keeps its queue: in a second file, `NAME.fleet.db`, in the same folder."""
        own = Path(self.db_path).absolute()
        path = own.with_name(f"{own.stem}.fleet.db")
        return QueueDatabase(f"sqlite:///{path}", None, str(path), repr(str(own)))

    async def create(self, record: SessionRecord) -> None:
        """Store a new, empty session. See `Storage.create`."""
        await self._writer.call(lambda connection: statements.create(connection, record))

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        """Store events, all or none, and return the number of the last one. See `Storage.append`."""
        check_append(session_id, token, events)
        key, batch = _key(tenant, session_id), tuple(events)
        return await self._writer.call(
            lambda connection: statements.append(connection, key, expected_seq, token, batch)
        )

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Return the session and its events numbered above `after`, in order. See `Storage.read`."""
        key = _key(tenant, session_id)
        return await self._reader.call(lambda connection: statements.read(connection, key, after, self._path))

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first. See `Storage.list`."""
        return await self._reader.call(lambda connection: statements.list_sessions(connection, filter))

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning. See `FullText.search`."""
        return await self._reader.call(lambda connection: find_words(connection, query))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the file while it is in use; only the current user can access it. See `Backup.backup`."""
        await to_thread.run_sync(copy_database, self._database, Path(path), abandon_on_cancel=False)

    async def lease(self, session_id: str, owner: LeaseOwner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take, renew or release the right to append. See `Storage.lease`."""
        key = _key(tenant, session_id)
        return await self._writer.call(
            lambda connection: statements.lease(connection, key, owner, ttl_s, self._clock.now)
        )

    async def holder(self, session_id: str, *, tenant: str = "default") -> LeaseOwner | None:
        """Return the owner that runs a session. See `Leases.holder`."""
        key = _key(tenant, session_id)
        return await self._reader.call(lambda connection: statements.holder(connection, key, self._clock.now))

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events. See `Storage.delete`."""
        key = _key(tenant, session_id)
        await self._writer.call(lambda connection: statements.delete(connection, key))

    async def aclose(self) -> None:
        """Finish running calls, close the file and end the threads; idempotent."""
        self._finalizer.detach()
        self._reader.stop()
        self._writer.stop()
        await self._reader.wait_ended()
        await self._writer.wait_ended()

    def close(self) -> None:
        """Close the storage like `aclose`, but block the thread; idempotent."""
        self._finalizer.detach()
        self._reader.stop()
        self._writer.stop()
        self._reader.join()
        self._writer.join()


def _key(tenant: str, session_id: str) -> Key:
    return Key(*session_key(tenant, session_id))


def _end_threads(reader: Worker, writer: Worker) -> None:
    """End the threads of a storage that was not closed; this runs when the interpreter exits, or earlier."""
    reader.stop()
    writer.stop()
    # The last reference to the storage may be dropped on one of these threads, which cannot join itself.
    if not reader.is_here and not writer.is_here:
        writer.join(_EXIT_WAIT_S)
