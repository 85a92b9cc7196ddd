"""One SQLite file: its schema, how to open it safely, and how its errors become `StorageError`s."""

from __future__ import annotations

import logging
import os
import shlex
import sqlite3
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from roundtable.core.errors import ConfigurationError, StorageError
from roundtable.storage.rules import has_metadata

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__all__ = [
    "APPLICATION_ID",
    "MIGRATIONS",
    "Database",
    "check_format",
    "file_identity",
    "migrate",
    "needs_reconnect",
    "storage_error",
]

_log: logging.Logger = logging.getLogger(__name__)

APPLICATION_ID = 0x5254_424C
"""Marks the files of this library: "RTBL"."""

_SCHEMA_1 = (
    # One row per session. The other columns repeat parts of `record` and the state after the events, so that lists need
    # not read these.
    """
    CREATE TABLE sessions (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        record TEXT NOT NULL,
        topic TEXT NOT NULL,
        topic_searched TEXT NOT NULL,
        mode TEXT NOT NULL,
        agent_ids TEXT NOT NULL,
        status TEXT NOT NULL,
        current_round INTEGER NOT NULL,
        total_rounds INTEGER NOT NULL,
        response_count INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL,
        PRIMARY KEY (tenant, id)
    )
    """,
    "CREATE INDEX sessions_by_age ON sessions (tenant, created_us, id)",
    """
    CREATE TABLE events (
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        type TEXT NOT NULL,
        timestamp_us INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (tenant, session_id, seq),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    # The event of each turn. A turn is stored only once, even if it is sent several times.
    """
    CREATE TABLE turns (
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        round INTEGER NOT NULL,
        stage TEXT NOT NULL,
        slot INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (tenant, session_id, round, stage, slot, attempt),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE leases (
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        token INTEGER NOT NULL,
        owner TEXT,
        expires_us INTEGER NOT NULL,
        PRIMARY KEY (tenant, session_id),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    ) WITHOUT ROWID
    """,
    # The last issued token. It is not in `leases`: if a session is deleted and created again under the same id, the new
    # session must not accept a token of the deleted one.
    "CREATE TABLE tokens (tenant TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE key_values (
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        expires_us INTEGER,
        PRIMARY KEY (tenant, key)
    )
    """,
    "CREATE INDEX key_values_by_expiry ON key_values (tenant, expires_us) WHERE expires_us IS NOT NULL",
)

_SCHEMA_2 = (
    # The caller's metadata, so that lists can be filtered by metadata. A damaged row must not prevent opening the file.
    "ALTER TABLE sessions ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}'",
    """
    UPDATE sessions
    SET metadata = coalesce(CASE WHEN json_valid(record) THEN json_extract(record, '$.config.metadata') END, '{}')
    """,
    # The event of each position; the text of the position is in the full-text index under the same row id.
    # `statements.delete` deletes from both tables: a trigger could not, because SQLite does not let a trigger change
    # the index while `trusted_schema` is off.
    """
    CREATE TABLE positions (
        place INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        round INTEGER NOT NULL,
        agent_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX positions_by_session ON positions (tenant, session_id)",
    """
    CREATE VIRTUAL TABLE position_texts
    USING fts5(position, reasoning, tokenize = 'unicode61 remove_diacritics 2')
    """,
    """
    INSERT INTO positions (tenant, session_id, seq, round, agent_id, agent_name)
    SELECT tenant, session_id, seq, json_extract(body, '$.turn.round'), json_extract(body, '$.turn.agentId'),
           json_extract(body, '$.turn.agentName')
    FROM events
    WHERE type = 'agent_complete'
      AND CASE WHEN json_valid(body) THEN json_extract(body, '$.turn.result.answer.kind') END = 'position'
    ORDER BY tenant, session_id, seq
    """,
    """
    INSERT INTO position_texts (rowid, position, reasoning)
    SELECT place, json_extract(body, '$.turn.result.answer.position'),
           json_extract(body, '$.turn.result.answer.reasoning')
    FROM positions JOIN events USING (tenant, session_id, seq)
    """,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_SCHEMA_1, _SCHEMA_2)
"""The statements that upgrade the schema from version n to n + 1; version 0 is an empty file."""

_CHECKPOINT_BYTES = 4 * 1024 * 1024
_WARN_BYTES = 64 * 1024 * 1024
_CHECKPOINT_WAIT_S = 0.1
_FIXED_RESET_RACE = (3, 51, 3)

_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG})


def check_format(connection: sqlite3.Connection, path: str, known: int = len(MIGRATIONS)) -> int:
    """Return the schema version of a file; 0 for an empty file. Writes nothing.

    Args:
        connection: An open connection.
        path: Path of the file, for messages.
        known: The newest version that this version of the library can read.

    Raises:
        StorageError: The file belongs to another application, or to a newer version of this library.
    """
    # One statement reads a single state of the file, even while another process adds the tables.
    query = (
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_user_version, pragma_application_id"
    )
    row: tuple[int, int, int] = connection.execute(query).fetchone()
    version, application_id, tables = row
    if application_id != APPLICATION_ID and (application_id or version or tables):
        raise StorageError(
            f"{path!r} is a database of another application",
            hint=f"Choose another path than {path!r}. The file was not changed.",
            details={"path": path, "reason": "foreign"},
        )
    if version > known:
        raise StorageError(
            f"{path!r} was written by a newer version of roundtable-sdk: schema {version}, newest known {known}",
            hint=f"Upgrade roundtable-sdk, or choose another path than {path!r}. The file was not changed.",
            details={"path": path, "reason": "newer", "found": version, "known": known},
        )
    return version


def migrate(connection: sqlite3.Connection, path: str, migrations: Sequence[tuple[str, ...]] = MIGRATIONS) -> None:
    """Upgrade a file to the newest schema version in one transaction.

    Args:
        connection: An open connection in autocommit mode.
        path: Path of the file, for messages.
        migrations: The statements of each upgrade.

    Raises:
        StorageError: The file belongs to another application, or to a newer version of this library.
    """
    newest = len(migrations)
    if check_format(connection, path, newest) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Check again under the lock: another process may have upgraded the file.
        for statements in migrations[check_format(connection, path, newest) :]:
            for statement in statements:
                connection.execute(statement)
        _set_version(connection, newest)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _set_version(connection: sqlite3.Connection, version: int) -> None:
    # A pragma accepts no bound parameters. Both values are integers from this module.
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
    connection.execute(f"PRAGMA user_version = {version:d}")


class _ErrorKind(NamedTuple):
    reason: str
    message: str
    hint: str
    retryable: bool = False


_BUSY = _ErrorKind(
    "locked",
    "{path!r} is locked by another process",
    "Wait for the other process, or end the process that writes to {path!r}, then try again.",
    retryable=True,
)
_UNREADABLE = _ErrorKind(
    "corrupt",
    "{path!r} is damaged or not a SQLite database",
    "Restore a backup, or copy the readable part to a new file: roundtable doctor --db FILE --salvage NEW. "
    "{path!r} was not changed.",
)
_UNREACHABLE = _ErrorKind(
    "unreachable",
    "{path!r} cannot be opened",
    "Check that the folder of {path!r} exists and is writable, and that the path is not a folder.",
)
_FORBIDDEN = _ErrorKind(
    "unreachable",
    "this user has no permission to read {path!r}",
    "Ask the owner of {path!r} for read permission, or choose another file.",
)
_READ_ONLY = _ErrorKind(
    "read-only",
    "{path!r} cannot be written to",
    "Check the permissions of {path!r} and of its folder, or choose another file. Stored sessions can still be read.",
)
_UNREADABLE_LOG = _ErrorKind(
    "read-only",
    "{path!r} has a write-ahead log, which cannot be read in a folder without write permission",
    "Copy {path!r} and its '-wal' file to a writable folder, and read the copy.",
)
_OLD_SCHEMA = _ErrorKind(
    "read-only",
    "{path!r} is empty or has an older schema, and cannot be written to",
    "Make {path!r} and its folder writable once, so that the schema can be upgraded.",
)
_ERROR_KINDS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: _ErrorKind(
        "full",
        "the disk of {path!r} is full",
        "Free space on the disk of {path!r}, then try again. Stored sessions are not affected.",
        retryable=True,
    ),
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CORRUPT: _UNREADABLE,
    sqlite3.SQLITE_NOTADB: _UNREADABLE,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_PERM: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _ErrorKind(
        "io",
        "reading or writing {path!r} failed",
        "Check the disk and the file system of {path!r}, then try again.",
        retryable=True,
    ),
    sqlite3.SQLITE_TOOBIG: _ErrorKind(
        "too-big", "a value is too large for {path!r}", "Store less than a gigabyte in one event or value in {path!r}."
    ),
}
_OTHER_ERROR = _ErrorKind("other", "the database {path!r} failed", "Check {path!r}; the cause is the error of SQLite.")


def storage_error(error: sqlite3.Error | UnicodeDecodeError, path: str) -> StorageError:
    """Return the `StorageError` for an error of SQLite; its hint names the path.

    If a file is damaged, SQLite may quote invalid UTF-8 in its message; Python then raises `UnicodeDecodeError`
    instead.
    """
    kind = _UNREADABLE if isinstance(error, UnicodeDecodeError) else _ERROR_KINDS.get(_error_code(error), _OTHER_ERROR)
    return _error_of_kind(kind, path, error)


def _error_of_kind(
    kind: _ErrorKind, path: str, cause: sqlite3.Error | UnicodeDecodeError | None = None
) -> StorageError:
    detail = "" if cause is None else f": {cause}"
    return StorageError(
        f"{kind.message.format(path=path)}{detail}",
        hint=kind.hint.format(path=path),
        retryable=kind.retryable,
        cause=cause,
        details={"path": path, "reason": kind.reason},
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of the file at a path; `None` if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def needs_reconnect(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Check whether the connection must be closed and opened again after this error."""
    return _error_code(error) not in _HARMLESS


def _error_code(error: sqlite3.Error | UnicodeDecodeError) -> int:
    # The low byte is the primary code. Errors that Python itself raises have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class Database:
    """Open connections to one SQLite file.

    Only the writer checkpoints the write-ahead log, and only while it holds the write lock: before version 3.51.3,
    SQLite can lose a transaction if one connection checkpoints while another one writes.

    Args:
        path: The file.
        busy_timeout_s: Longest wait for a lock of another process, in seconds.
        make_folder: Whether to create missing folders.

    Raises:
        ConfigurationError: The path is not a valid file path, or `busy_timeout_s` is out of range.
    """

    def __init__(self, path: str, busy_timeout_s: float, *, make_folder: bool = False) -> None:
        if not path or "\0" in path or path == ":memory:":
            raise ConfigurationError(
                f"{path!r} is not a valid path of a database file",
                hint="Pass the path of a file; 'memory://' stores sessions in memory.",
            )
        if not 0 <= busy_timeout_s <= 3600:
            raise ConfigurationError(f"busy_timeout_s must be from 0 to 3600 seconds, not {busy_timeout_s!r}")
        self.path: Path = Path(path).absolute()
        self.name: str = str(self.path)
        self._busy_timeout_s = busy_timeout_s
        self._make_folder = make_folder
        self._log_file = Path(f"{self.name}-wal")
        self._log_index = Path(f"{self.name}-shm")
        self._next_checkpoint = _CHECKPOINT_BYTES

    def open_writer(self) -> sqlite3.Connection:
        """Open the connection that writes; this creates the file, or upgrades its schema.

        Raises:
            StorageError: The file cannot be used; it is not changed.
        """
        if sqlite3.sqlite_version_info < _FIXED_RESET_RACE:
            _log.debug("SQLite %s: checkpoints run under the write lock", sqlite3.sqlite_version)
        if self.is_read_only():
            raise _error_of_kind(_READ_ONLY if os.access(self.path, os.R_OK) else _FORBIDDEN, self.name)
        self._next_checkpoint = _CHECKPOINT_BYTES
        return self._open()

    def is_read_only(self) -> bool:
        """Check whether the file exists, but the file or its folder is not writable."""
        try:
            if not self.path.is_file():
                return False
        except OSError as error:  # such as a folder that may not be searched
            raise self._creation_error(error) from error
        return not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK | os.X_OK))

    def open_reader(self) -> sqlite3.Connection:
        """Open a read-only connection. If the file is not writable, use the connection for one transaction only.

        Raises:
            StorageError: The file cannot be used; it is not changed.
        """
        if self.is_read_only():
            return self._open_unwritable()
        connection = self._open()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def checkpoint(self, connection: sqlite3.Connection) -> None:
        """Checkpoint the write-ahead log if it has grown enough.

        With `TRUNCATE`, SQLite takes the write lock before the checkpoint; see the class for the reason. If a long read
        blocks the checkpoint, the next attempt follows when the log has grown by the same amount again.
        """
        size = self._log_size()
        if size < self._next_checkpoint:
            return
        try:
            _set_busy_timeout(connection, _CHECKPOINT_WAIT_S)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            _set_busy_timeout(connection, self._busy_timeout_s)
        remaining = self._log_size()
        self._next_checkpoint = remaining + _CHECKPOINT_BYTES
        if remaining >= _WARN_BYTES:
            _log.warning("%s has grown to %d MiB: a long read prevents the checkpoint", self._log_file, remaining >> 20)

    def _open(self) -> sqlite3.Connection:
        """Open a connection, and wait up to the busy timeout for a lock.

        SQLite's own busy timeout does not apply while another process switches the file to write-ahead logging.
        """
        deadline = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                self._create_file()
                return self._connect()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if _error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise storage_error(error, self.name) from error
                time.sleep(0.01)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, timeout=self._busy_timeout_s, isolation_level=None
        )
        with _close_on_error(connection):
            check_format(connection, self.name)  # before anything that writes
            _add_functions(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA mmap_size = 0")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            migrate(connection, self.name)
        return connection

    def _open_unwritable(self) -> sqlite3.Connection:
        """Open a file that is not writable, without creating a `-shm` file, which would lock out the owner of the file.

        A process that writes has an index (`-shm`) of the log, which this connection can share. If there is neither a
        log nor an index, the file is complete (`immutable`), but only until someone writes. So do not reuse the
        connection.
        """
        if self._log_size() and not self._log_index.exists():
            raise _error_of_kind(_UNREADABLE_LOG, self.name)
        options = "" if self._log_index.exists() else "&immutable=1"
        try:
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro{options}", uri=True, timeout=self._busy_timeout_s, isolation_level=None
            )
            with _close_on_error(connection):
                version = check_format(connection, self.name)
                _add_functions(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if os.access(self.path, os.R_OK):
                raise storage_error(error, self.name) from error
            raise _error_of_kind(_FORBIDDEN, self.name, error) from error
        if version < len(MIGRATIONS):
            connection.close()
            raise _error_of_kind(_OLD_SCHEMA, self.name)
        return connection

    def check_new(self) -> None:
        """Check that the file can be created, without creating it.

        Raises:
            StorageError: The file cannot be created.
        """
        try:
            self._check_folder()
            folder = self.path.parent
            while not folder.exists():
                folder = folder.parent
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise self._creation_error(error) from error

    def _create_file(self) -> None:
        """Create the file with mode 0600, and missing folders if `make_folder` allows that.

        Raises:
            StorageError: The file cannot be created. By default, folders are not created, since the path may have a
                typo.
        """
        try:
            self._check_folder()
            for folder in reversed(self.path.parents):
                if not folder.exists():
                    folder.mkdir(mode=0o700, exist_ok=True)
            if not self.path.exists():
                flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
                os.close(os.open(self.path, flags, 0o600))
        except OSError as error:
            raise self._creation_error(error) from error

    def _check_folder(self) -> None:
        parent = self.path.parent
        if self.path.is_dir():
            raise StorageError(
                f"{self.name!r} is a folder; name a file in this folder",
                hint=f"For example {str(self.path / 'debates.db')!r}.",
                details={"path": self.name, "reason": "unreachable"},
            )
        if not self._make_folder and not parent.exists():
            raise StorageError(
                f"{self.name!r} cannot be created: there is no folder {str(parent)!r}",
                hint=f"Create it with mkdir -p {shlex.quote(str(parent))}, or choose another path than {self.name!r}.",
                details={"path": self.name, "reason": "unreachable"},
            )

    def _creation_error(self, error: OSError) -> StorageError:
        return StorageError(
            f"{self.name!r} cannot be created: {error.strerror or error}",
            hint=f"Check that the folder of {self.name!r} may be searched and written, or choose another file.",
            cause=error,
            details={"path": self.name, "reason": "unreachable"},
        )

    def _log_size(self) -> int:
        try:
            return self._log_file.stat().st_size
        except OSError:
            return 0


@contextmanager
def _close_on_error(connection: sqlite3.Connection) -> Generator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _add_functions(connection: sqlite3.Connection) -> None:
    """Register the SQL functions that the queries use."""
    connection.create_function("has_metadata", 2, has_metadata, deterministic=True)


def _set_busy_timeout(connection: sqlite3.Connection, seconds: float) -> None:
    # A pragma accepts no bound parameters. The value is an integer.
    connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000):d}")
