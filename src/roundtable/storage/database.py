"""One SQLite file: opening it safely, and saying in words what went wrong with it."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from roundtable.errors import ConfigurationError, StorageError
from roundtable.storage.schema import MIGRATIONS, check_format, migrate
from roundtable.storage.text import has_notes

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["Database", "file_identity", "is_spoilt", "storage_error", "unreadable"]

_log: logging.Logger = logging.getLogger(__name__)

_CHECKPOINT_BYTES = 4 * 1024 * 1024
_WARN_BYTES = 64 * 1024 * 1024
_CHECKPOINT_WAIT_S = 0.1
_FIXED_RESET_RACE = (3, 51, 3)


class _Kind(NamedTuple):
    reason: str
    message: str
    hint: str
    retryable: bool = False


_BUSY = _Kind(
    "locked",
    "{path!r} is locked by another process",
    "Wait for the other process, or end what keeps {path!r} open for writing, then try again.",
    retryable=True,
)
_UNREADABLE = _Kind(
    "corrupt",
    "{path!r} is damaged or no SQLite database",
    "Restore a backup, or save what can be read into a new file: roundtable doctor --db FILE --salvage NEW; "
    "{path!r} was not changed.",
)
_UNREACHABLE = _Kind(
    "unreachable",
    "{path!r} cannot be opened",
    "Check that the folder of {path!r} exists, that it may be written to, and that the path names a file.",
)
_FORBIDDEN = _Kind(
    "unreachable",
    "{path!r} may not be read by this user",
    "Ask the owner of {path!r} for the right to read it, or give the path of another file.",
)
_READ_ONLY = _Kind(
    "read-only",
    "{path!r} cannot be written to",
    "Check the permissions of {path!r} and of its folder, or give the path of another file; what is stored can "
    "still be shown.",
)
_LOG_OUT_OF_REACH = _Kind(
    "read-only",
    "{path!r} has a log beside it that cannot be read where nothing may be written",
    "Copy {path!r} and the file of its name with '-wal' behind it to a folder that may be written to, and read "
    "it there.",
)
_NEVER_FILLED = _Kind(
    "read-only",
    "{path!r} is empty or of an older version, and cannot be written to",
    "Make {path!r} and its folder writable once, so that it can be brought to the present version.",
)
_KINDS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: _Kind(
        "full",
        "there is no room left for {path!r}",
        "Free space on the disk of {path!r}, then try again; what was stored before is unharmed.",
        retryable=True,
    ),
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CORRUPT: _UNREADABLE,
    sqlite3.SQLITE_NOTADB: _UNREADABLE,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_PERM: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _Kind(
        "io",
        "the medium of {path!r} failed to read or write",
        "Check the disk and the file system of {path!r}, then try again.",
        retryable=True,
    ),
    sqlite3.SQLITE_TOOBIG: _Kind(
        "too-big", "a value is too large for {path!r}", "Store less than a gigabyte in one event or value in {path!r}."
    ),
}
_OTHER = _Kind("other", "the database {path!r} failed", "Check {path!r}; the cause says what SQLite made of it.")
_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG})


def storage_error(error: sqlite3.Error | UnicodeDecodeError, path: str) -> StorageError:
    """Say in words what SQLite said in codes; the hint names the path.

    A damaged file can make SQLite quote bytes that are no text, which Python reports in place of SQLite's error.
    """
    kind = _UNREADABLE if isinstance(error, UnicodeDecodeError) else _KINDS.get(_code(error), _OTHER)
    return _fault(kind, path, error)


def _fault(kind: _Kind, path: str, cause: sqlite3.Error | UnicodeDecodeError | None = None) -> StorageError:
    told = "" if cause is None else f": {cause}"
    return StorageError(
        f"{kind.message.format(path=path)}{told}",
        hint=kind.hint.format(path=path),
        retryable=kind.retryable,
        cause=cause,
        details={"path": path, "reason": kind.reason},
    )


def unreadable(path: str, what: str, cause: ValueError) -> StorageError:
    """Make the error for a row that is whole but says nothing this version understands."""
    return StorageError(
        f"{what} in {path!r} holds a value that this version cannot read",
        hint=f"Restore {path!r} from a backup, or delete {what}; everything else is not affected.",
        cause=cause,
        details={"path": path, "reason": "corrupt"},
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """Tell which file stands at a path; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_spoilt(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Tell whether the connection should be opened anew after this error."""
    return _code(error) not in _HARMLESS


def _code(error: sqlite3.Error | UnicodeDecodeError) -> int:
    # The low byte is the primary code; errors of the Python layer have none.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class Database:
    """Where a SQLite file is and how connections to it are made.

    The rule for the write-ahead log: it is carried over into the file by nobody but the writer, and
    only while it holds the lock against every other writer. SQLite before 3.51.3 can lose a transaction
    when one connection does that while another one writes.

    Args:
        path: The file.
        busy_timeout_s: How long to wait for a lock held by another process, in seconds.

    Raises:
        ConfigurationError: The path cannot be that of a file.
    """

    def __init__(self, path: str, busy_timeout_s: float) -> None:
        if not path or "\0" in path or path == ":memory:":
            raise ConfigurationError(
                f"{path!r} is no path of a database file",
                hint="Give a file's path; 'memory://' keeps sessions in memory.",
            )
        if not 0 <= busy_timeout_s <= 3600:
            raise ConfigurationError(f"busy_timeout_s must be from 0 to 3600 seconds, not {busy_timeout_s!r}")
        self.path: Path = Path(path).absolute()
        self.name: str = str(self.path)
        self._busy_timeout_s = busy_timeout_s
        self._log_file = Path(f"{self.name}-wal")
        self._log_index = Path(f"{self.name}-shm")
        self._next_checkpoint = _CHECKPOINT_BYTES

    def open_writer(self) -> sqlite3.Connection:
        """Open the connection that writes; creates the file, or brings it to the present version.

        Raises:
            StorageError: The file cannot be used; it is left as it was.
        """
        if sqlite3.sqlite_version_info < _FIXED_RESET_RACE:
            _log.debug("SQLite %s: checkpoints are made under the write lock", sqlite3.sqlite_version)
        if self.may_only_be_read():
            raise _fault(_READ_ONLY if os.access(self.path, os.R_OK) else _FORBIDDEN, self.name)
        self._next_checkpoint = _CHECKPOINT_BYTES
        return self._open()

    def may_only_be_read(self) -> bool:
        """Tell whether the file is there but, itself or for the sake of its folder, cannot be written to."""
        if not self.path.is_file():
            return False
        return not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK | os.X_OK))

    def open_reader(self) -> sqlite3.Connection:
        """Open a connection that only reads; in a place that may only be read, one for a single look.

        Raises:
            StorageError: The file cannot be used; it is left as it was.
        """
        if self.may_only_be_read():
            return self._open_unwritable()
        connection = self._open()
        connection.execute("PRAGMA query_only = ON")
        return connection

    def checkpoint(self, connection: sqlite3.Connection) -> None:
        """Carry the write-ahead log over into the file once it has grown.

        `TRUNCATE` takes the write lock first, see the class. A reader that stays long in the way makes
        this wait a moment and try again when the log has grown by as much again.
        """
        size = self._log_size()
        if size < self._next_checkpoint:
            return
        try:
            _set_busy_timeout(connection, _CHECKPOINT_WAIT_S)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            _set_busy_timeout(connection, self._busy_timeout_s)
        left = self._log_size()
        self._next_checkpoint = left + _CHECKPOINT_BYTES
        if left >= _WARN_BYTES:
            _log.warning("%s has grown to %d MiB: a reader keeps it from being emptied", self._log_file, left >> 20)

    def _open(self) -> sqlite3.Connection:
        """Open, waiting for a lock as long as is allowed.

        SQLite's own waiting does not cover the moment in which another process switches the file to
        write-ahead logging.
        """
        deadline = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                self._make_file()
                return self._connect()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise storage_error(error, self.name) from error
                time.sleep(0.01)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, timeout=self._busy_timeout_s, isolation_level=None
        )
        with _closing_on_failure(connection):
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
        """Open what may only be read, and make no file beside it: one of a stranger would lock the owner out.

        Somebody who writes keeps an index beside the log, which can be shared. Where neither is there, the file
        is whole by itself (`immutable`), for as long as nobody writes: do not keep the connection.
        """
        if self._log_size() and not self._log_index.exists():
            raise _fault(_LOG_OUT_OF_REACH, self.name)
        alone = "" if self._log_index.exists() else "&immutable=1"
        try:
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=ro{alone}", uri=True, timeout=self._busy_timeout_s, isolation_level=None
            )
            with _closing_on_failure(connection):
                version = check_format(connection, self.name)
                _add_functions(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if os.access(self.path, os.R_OK):
                raise storage_error(error, self.name) from error
            raise _fault(_FORBIDDEN, self.name, error) from error
        if version < len(MIGRATIONS):
            connection.close()
            raise _fault(_NEVER_FILLED, self.name)
        return connection

    def _make_file(self) -> None:
        """Make the file and the folders it lacks, for this user only."""
        try:
            for folder in reversed(self.path.parents):
                if not folder.exists():
                    folder.mkdir(mode=0o700, exist_ok=True)
            if not self.path.exists():
                flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
                os.close(os.open(self.path, flags, 0o600))
        except OSError as error:
            raise StorageError(
                f"{self.name!r} cannot be created: {error.strerror or error}",
                hint=f"Check that the folder of {self.name!r} may be written to, or give the path of another file.",
                cause=error,
                details={"path": self.name, "reason": "unreachable"},
            ) from error

    def _log_size(self) -> int:
        try:
            return self._log_file.stat().st_size
        except OSError:
            return 0


@contextmanager
def _closing_on_failure(connection: sqlite3.Connection) -> Generator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _add_functions(connection: sqlite3.Connection) -> None:
    """Give the queries the functions they use besides those of SQLite."""
    connection.create_function("has_notes", 2, has_notes, deterministic=True)


def _set_busy_timeout(connection: sqlite3.Connection, seconds: float) -> None:
    # A pragma takes no bound parameters; the value is a number.
    connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000):d}")
