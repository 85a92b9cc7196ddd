"""The default location of sessions, and storages from a URL."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.core.base.files import user_data_folder
from roundtable.core.errors import ConfigurationError
from roundtable.http import masked_url

if TYPE_CHECKING:
    from roundtable.core.protocols import Storage
    from roundtable.settings import Settings
    from roundtable.storage.memory import MemoryStorage
    from roundtable.storage.postgres import PostgresStorage
    from roundtable.storage.sqlite import SQLiteStorage

__all__ = [
    "check_new",
    "default_database",
    "is_created",
    "open_memory",
    "open_postgres",
    "open_sqlite",
    "writable_database",
]


def default_database(settings: Settings) -> Path:
    """Return the file of the default storage.

    A configured file is always used. If it cannot be written, storing fails, so that sessions never go to a location
    where nobody looks for them. Only the built-in default may be replaced, with a warning.

    Example:
        >>> from roundtable.settings import Settings
        >>> default_database(Settings(database_path=Path("/nowhere/debates.db"))).name
        'debates.db'
    """
    if settings.names_database:
        return settings.database_path
    return writable_database(settings.database_path, settings.data_home)


def writable_database(wanted: Path, data_home: Path | str | None = None) -> Path:
    """Return the wanted file or, if it cannot be written, a file in the user's data folder; warns once.

    Args:
        wanted: The preferred file; the storage creates it on first use.
        data_home: The user's data folder; `~/.local/share` by default.
    """
    if _can_write(wanted):
        return wanted
    fallback = user_data_folder(data_home) / "roundtable.db"
    _warn_once(str(wanted), str(fallback))
    return fallback


def _can_write(path: Path) -> bool:
    try:
        if path.exists():
            return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        parent = path.absolute().parent
        while not parent.exists():
            parent = parent.parent
    except OSError:  # a folder that may not be searched
        return False
    return parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)


@cache
def _warn_once(wanted: str, fallback: str) -> None:
    # A warning, not a log record, so that a script without logging shows it too.
    warnings.warn(f"{wanted} cannot be written; sessions are stored in {fallback}", UserWarning, stacklevel=3)


async def is_created(storage: Storage) -> bool:
    """Check whether a storage has been used before; unlike reading it, this creates no file and no tables.

    Raises:
        StorageError: The database cannot be reached.
    """
    check = getattr(storage, "is_created", None)
    return check is None or bool(await check())


async def check_new(storage: Storage) -> None:
    """Check that a storage that `is_created` reports as unused can be created; this creates no tables.

    Raises:
        StorageError: The tables cannot be created.
    """
    check = getattr(storage, "check_new", None)
    if check is not None:
        await check()


def open_memory(url: str = "memory://") -> MemoryStorage:
    """Create a storage in memory; its sessions are lost when the process ends.

    Raises:
        ConfigurationError: The URL is not `memory://`.
    """
    from roundtable.storage.memory import MemoryStorage

    if url not in {"memory:", "memory://"}:
        raise ConfigurationError(f"{masked_url(url)!r} is not a storage address", hint="Use exactly 'memory://'.")
    return MemoryStorage()


def open_sqlite(url: str, *, make_folder: bool = False) -> SQLiteStorage:
    """Create a storage for one SQLite file. The file is opened or created on first use.

    Everything after the third slash is the path: `sqlite:///debates.db` is relative to the working directory,
    `sqlite:////var/lib/debates.db` is absolute. The folder must exist, unless `make_folder` is true.

    Raises:
        ConfigurationError: The URL does not name a file.

    Example:
        >>> open_sqlite("sqlite:///debates.db").db_path
        'debates.db'
    """
    from roundtable.storage.sqlite import SQLiteStorage

    scheme, slashes, path = url.partition(":///")
    if scheme != "sqlite" or not slashes or not path:
        raise ConfigurationError(
            f"{masked_url(url)!r} is not the URL of a SQLite file",
            hint="Write 'sqlite:///debates.db' for a relative path, or 'sqlite:////var/lib/debates.db' for an "
            "absolute path.",
        )
    return SQLiteStorage(path, make_folder=make_folder)


def open_postgres(url: str) -> PostgresStorage:
    """Create a storage for a PostgreSQL database; it connects on first use. Needs the extra `postgres`.

    Args:
        url: See `PostgresStorage`.

    Raises:
        ConfigurationError: The URL cannot be used, or the extra `postgres` is not installed.

    Example:
        >>> open_postgres("postgresql://me:secret@db.example.org/app").address
        'postgresql://db.example.org/app'
    """
    try:
        from roundtable.storage.postgres import PostgresStorage
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "psycopg":
            raise
        raise ConfigurationError(
            "the storage 'postgresql' needs psycopg, which is not installed",
            cause=error,
            hint="pip install 'roundtable-sdk[postgres]'",
        ) from error
    return PostgresStorage(url)
