"""Storages from their addresses: what `storage="sqlite:///debates.db"` means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError
from roundtable.http import shown_url

if TYPE_CHECKING:
    from roundtable.storage.memory import MemoryStorage
    from roundtable.storage.sqlite import SQLiteStorage

__all__ = ["open_memory", "open_sqlite"]


def open_memory(url: str = "memory://") -> MemoryStorage:
    """Make a storage that lives as long as the process.

    Raises:
        ConfigurationError: The address says more than `memory://`.
    """
    from roundtable.storage.memory import MemoryStorage

    if url not in {"memory:", "memory://"}:
        raise ConfigurationError(f"{shown_url(url)!r} is no storage address", hint="Use 'memory://' as it stands.")
    return MemoryStorage()


def open_sqlite(url: str) -> SQLiteStorage:
    """Make a storage of one file. Nothing is opened or created before its first use.

    Everything after the third slash is the path as it stands: `sqlite:///debates.db` lies in the
    working directory, `sqlite:////var/lib/debates.db` is absolute.

    Raises:
        ConfigurationError: The address names no file.

    Example:
        >>> open_sqlite("sqlite:///debates.db").db_path
        'debates.db'
    """
    from roundtable.storage.sqlite import SQLiteStorage

    scheme, slashes, path = url.partition(":///")
    if scheme != "sqlite" or not slashes or not path:
        raise ConfigurationError(
            f"{shown_url(url)!r} is no address of an SQLite file",
            hint="Write 'sqlite:///debates.db' for a relative path or 'sqlite:////var/lib/debates.db' for an "
            "absolute one.",
        )
    return SQLiteStorage(path)
