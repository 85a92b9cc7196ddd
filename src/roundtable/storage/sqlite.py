"""Sessions in one SQLite file: durable before anybody hears of them, and safe against a second process."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from roundtable._clock import SystemClock
from roundtable.errors import ConfigurationError
from roundtable.storage import statements
from roundtable.storage.copies import copy_database
from roundtable.storage.database import Database
from roundtable.storage.key_values import SQLiteKeyValue
from roundtable.storage.rules import check_append, session_place
from roundtable.storage.seed_methods import SeedStorageMethods
from roundtable.storage.statements import Key
from roundtable.storage.words import find_words
from roundtable.storage.worker import Worker, commit_together, read_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.protocols import Clock, KeyValue
    from roundtable.types import (
        DurableEvent,
        Lease,
        Owner,
        SearchHit,
        SearchQuery,
        SessionFilter,
        SessionRecord,
        SessionSummary,
    )

__all__ = ["SQLiteStorage"]

_EXIT_WAIT_S = 2.0


class SQLiteStorage(SeedStorageMethods):
    """Keeps sessions in one SQLite file, for this user only (mode 0600).

    What an awaited call stored survives the end of the process and of the machine: it returns after the
    commit, and commits are synced. Commits of callers that come together are one (see
    `commit_window_s`). A cancelled call has either happened or not; once it is under way it
    happens. Several processes may use one file, and several event loops one object.

    Nothing is opened before the first use. One thread writes and one reads; both end with `aclose`.

    A file that may only be read, for its own sake or that of its folder, is read, and nothing is made beside
    it; writing to it is a `StorageError` with `details["reason"] == "read-only"`.

    Args:
        db_path: The file; folders it lacks are made, for this user only.
        clock: Decides when leases and values lapse; the machine's when left out.
        commit_window_s: Longest wait for company before a commit, in seconds. Only callers who came in
            company the time before are waited for, so a lone caller never waits.
        busy_timeout_s: Longest wait for another process's lock, in seconds.

    Raises:
        ConfigurationError: The path cannot be that of a file, or a time is out of range.

    Example:
        >>> SQLiteStorage("debates.db").db_path
        'debates.db'
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str] = "./data/roundtable.db",
        *,
        clock: Clock | None = None,
        commit_window_s: float = 0.005,
        busy_timeout_s: float = 5.0,
    ) -> None:
        if not 0 <= commit_window_s <= 1:
            raise ConfigurationError(f"commit_window_s must be from 0 to 1 second, not {commit_window_s!r}")
        self.db_path: str = os.fspath(db_path)
        """The file, as it was given."""
        self._clock: Clock = clock or SystemClock()
        self._database = database = Database(self.db_path, busy_timeout_s)
        self._path = database.name
        self._reader = Worker(
            "roundtable-sqlite-reader",
            self._path,
            open_connection=database.open_reader,
            work=read_each,
            keeps=lambda: not database.may_only_be_read(),  # somebody else may write there meanwhile
        )
        self._writer = Worker(
            "roundtable-sqlite-writer",
            self._path,
            open_connection=database.open_writer,
            work=commit_together,
            after=database.checkpoint,
            last=self._reader.join,  # who closes last empties the write-ahead log
            window_s=commit_window_s,
        )
        self._kv = SQLiteKeyValue(self._reader, self._writer, self._clock)
        self._finalizer = weakref.finalize(self, _end, self._reader, self._writer)

    @property
    def kv(self) -> KeyValue:
        """Small values beside the sessions."""
        return self._kv

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
        """Store events, all or none, and give the number of the last one. See `Storage.append`."""
        check_append(session_id, token, events)
        key, given = _key(tenant, session_id), tuple(events)
        return await self._writer.call(
            lambda connection: statements.append(connection, key, expected_seq, token, given)
        )

    async def read(
        self, session_id: str, after: int = 0, *, tenant: str = "default"
    ) -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
        """Give the session and its events numbered above `after`, in order. See `Storage.read`."""
        key = _key(tenant, session_id)
        return await self._reader.call(lambda connection: statements.read(connection, key, after, self._path))

    async def list(self, filter: SessionFilter) -> tuple[SessionSummary, ...]:
        """List sessions, newest first. See `Storage.list`."""
        return await self._reader.call(lambda connection: statements.list_sessions(connection, filter))

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Find words in positions and their reasoning. See `FullText.search`."""
        return await self._reader.call(lambda connection: find_words(connection, query))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the file while it is in use, for this user only. See `Backup.backup`."""
        await to_thread.run_sync(copy_database, self._database, Path(path), abandon_on_cancel=False)

    async def lease(self, session_id: str, owner: Owner, ttl_s: float, *, tenant: str = "default") -> Lease:
        """Take, renew or give up the right to append. See `Storage.lease`."""
        key = _key(tenant, session_id)
        return await self._writer.call(
            lambda connection: statements.lease(connection, key, owner, ttl_s, self._clock.now)
        )

    async def holder(self, session_id: str, *, tenant: str = "default") -> Owner | None:
        """Give who runs a session. See `Leases.holder`."""
        key = _key(tenant, session_id)
        return await self._reader.call(lambda connection: statements.holder(connection, key, self._clock.now))

    async def delete(self, session_id: str, *, tenant: str = "default") -> None:
        """Remove a session and its events. See `Storage.delete`."""
        key = _key(tenant, session_id)
        await self._writer.call(lambda connection: statements.delete(connection, key))

    async def aclose(self) -> None:
        """Finish what is under way, close the file and end the threads; idempotent."""
        self._finalizer.detach()
        self._reader.stop()
        self._writer.stop()
        await self._reader.ended()
        await self._writer.ended()

    def close(self) -> None:
        """Do what `aclose` does, blocking; idempotent."""
        self._finalizer.detach()
        self._reader.stop()
        self._writer.stop()
        self._reader.join()
        self._writer.join()


def _key(tenant: str, session_id: str) -> Key:
    return Key(*session_place(tenant, session_id))


def _end(reader: Worker, writer: Worker) -> None:
    """End the threads of a storage nobody closed, at the latest when the interpreter ends."""
    reader.stop()
    writer.stop()
    if not reader.is_here and not writer.is_here:  # the last to let go of the storage may be either of them
        writer.join(_EXIT_WAIT_S)
