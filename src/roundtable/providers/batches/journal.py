"""The journal of batches. It records which call is in which batch, so that no call is paid for twice."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio.to_thread

from roundtable.core.base.files import user_data_folder
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from roundtable.providers.batches.wires import BatchCall

    T = TypeVar("T")

__all__ = ["BatchJournal", "KnownBatch", "default_journal"]

_log: logging.Logger = logging.getLogger(__name__)

_KEPT_S: Final = 30 * 86_400.0
"""How long the journal keeps batches: the vendors keep the answers for at most 30 days."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS batches (
    batch_key TEXT PRIMARY KEY, batch_id TEXT, begun_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS calls (
    call_key TEXT PRIMARY KEY, batch_key TEXT NOT NULL REFERENCES batches (batch_key) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS accounts (
    batch_key TEXT PRIMARY KEY REFERENCES batches (batch_key) ON DELETE CASCADE, account TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS waiting (
    call_key TEXT PRIMARY KEY REFERENCES calls (call_key) ON DELETE CASCADE,
    session_hash TEXT NOT NULL, round INTEGER NOT NULL, provider TEXT NOT NULL
);
"""


class KnownBatch(NamedTuple):
    """A batch that the journal knows."""

    batch_key: str
    """Our own id."""
    batch_id: str | None
    """The vendor's id; `None` while the batch is being submitted, or if a process crashed before the id arrived."""
    begun_at: float
    """When the batch was submitted, in seconds since 1970."""
    account: str | None
    """Hash of the key that the batch was submitted with; `None` if the hash was not recorded."""


class BatchJournal:
    """A file that records batches; several processes can use it at the same time. It holds no texts and no API keys.

    Args:
        path: The file; its folder is created on first use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"BatchJournal({str(self.path)!r})"

    async def find(self, call_key: str) -> KnownBatch | None:
        """Return the batch of a call; `None` for a new call."""

        def read(database: sqlite3.Connection) -> KnownBatch | None:
            query = (
                "SELECT batch_key, batch_id, begun_at, account FROM calls JOIN batches USING (batch_key) "
                "LEFT JOIN accounts USING (batch_key) WHERE call_key = ?"
            )
            row = database.execute(query, (call_key,)).fetchone()
            return None if row is None else KnownBatch(*row)

        return await self._run(read)

    async def begin(
        self, batch_key: str, calls: Sequence[BatchCall], now: float, *, provider: str, account: str
    ) -> list[str]:
        """Record that a batch is about to be submitted. Return the keys of those calls that are in no other batch."""

        def write(database: sqlite3.Connection) -> list[str]:
            database.execute("DELETE FROM batches WHERE begun_at < ?", (now - _KEPT_S,))
            database.execute("INSERT INTO batches VALUES (?, NULL, ?)", (batch_key, now))
            database.execute("INSERT INTO accounts VALUES (?, ?)", (batch_key, account))
            insert = "INSERT INTO calls VALUES (?, ?) ON CONFLICT DO NOTHING"
            new_calls = [call for call in calls if database.execute(insert, (call.key, batch_key)).rowcount]
            of_debates = [call for call in new_calls if call.session_id]
            rows = [(call.key, _hashed(call.session_id), call.round, provider) for call in of_debates]
            database.executemany("INSERT INTO waiting VALUES (?, ?, ?, ?)", rows)
            return [call.key for call in new_calls]

        return await self._run(write)

    async def note_read(self, call_keys: Iterable[str]) -> None:
        """Record that the answers of calls have been read."""
        rows = [(key,) for key in call_keys]
        await self._run(lambda database: database.executemany("DELETE FROM waiting WHERE call_key = ?", rows))

    async def waiting(self, session_id: str, after_round: int = 0) -> dict[str, int]:
        """Return the number of calls of a session that were submitted, but whose answers were not read, by provider.

        The file is only read, never created. If it cannot be read, the result is empty.

        Args:
            session_id: The session.
            after_round: Count only the calls of later rounds, and calls outside of rounds.
        """
        query = (
            "SELECT provider, count(*) FROM waiting WHERE session_hash = ? AND (round > ? OR round = 0) "
            "GROUP BY provider"
        )

        def read() -> dict[str, int]:
            if not self.path.is_file():
                return {}
            try:
                with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                    return dict(database.execute(query, (_hashed(session_id), after_round)).fetchall())
            except sqlite3.Error as error:
                _log.warning("the journal of batches %s cannot be read: %s", self.path, error)
                return {}

        return await anyio.to_thread.run_sync(read)

    async def forget_waiting(self, session_id: str) -> None:
        """Forget that calls of a session are waiting for answers, because they will be made again."""
        query = "DELETE FROM waiting WHERE session_hash = ?"
        await self._run(lambda database: database.execute(query, (_hashed(session_id),)))

    async def size(self, batch_key: str) -> int:
        """Return how many calls a batch has."""
        query = "SELECT count(*) FROM calls WHERE batch_key = ?"
        return await self._run(lambda database: int(database.execute(query, (batch_key,)).fetchone()[0]))

    async def record_submission(self, batch_key: str, batch_id: str) -> None:
        """Record the vendor's id of a batch."""
        await self._run(
            lambda database: database.execute(
                "UPDATE batches SET batch_id = ? WHERE batch_key = ?", (batch_id, batch_key)
            )
        )

    async def forget(self, call_key: str) -> None:
        """Forget a call, so that the next equal call is made again."""
        await self._run(lambda database: database.execute("DELETE FROM calls WHERE call_key = ?", (call_key,)))

    async def forget_batch(self, batch_key: str) -> None:
        """Forget a batch and its calls: it was not submitted, has failed, or is gone."""
        await self._run(lambda database: database.execute("DELETE FROM batches WHERE batch_key = ?", (batch_key,)))

    async def check(self) -> None:
        """Check that the file can be written.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        await self._run(lambda _: None)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with closing(sqlite3.connect(self.path, timeout=30.0, isolation_level=None)) as database:
                    database.execute("PRAGMA foreign_keys = ON")
                    database.executescript(_SCHEMA)
                    database.execute("BEGIN IMMEDIATE")
                    result = work(database)
                    database.execute("COMMIT")
                    return result
            except (OSError, sqlite3.Error) as error:
                raise ConfigurationError(
                    f"the journal of batches {str(self.path)!r} cannot be used: {error}",
                    hint="Name another file, as in BatchOptions(journal='batches.db').",
                ) from error

        return await anyio.to_thread.run_sync(run)


def default_journal(data_home: Path | None) -> Path:
    """Return the file that records batches if the options name none.

    Args:
        data_home: The user's data folder; `~/.local/share` by default.
    """
    return user_data_folder(data_home) / "batches.db"


def _hashed(session_id: str) -> str:
    return sha256(session_id.encode()).hexdigest()
