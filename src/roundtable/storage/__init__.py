"""Where sessions are kept: an append-only log of events per session, in memory or in one SQLite file.

Nothing is loaded before it is asked for, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable._owner import current_owner, is_provably_dead
    from roundtable.storage.factories import open_memory, open_sqlite
    from roundtable.storage.memory import MemoryStorage
    from roundtable.storage.seed_methods import SeedStorageMethods
    from roundtable.storage.sqlite import SQLiteStorage

__all__ = [
    "MemoryStorage",
    "SQLiteStorage",
    "SeedStorageMethods",
    "current_owner",
    "is_provably_dead",
    "open_memory",
    "open_sqlite",
]

_HOME = {
    "MemoryStorage": "memory",
    "SQLiteStorage": "sqlite",
    "SeedStorageMethods": "seed_methods",
    "current_owner": "._owner",
    "is_provably_dead": "._owner",
    "open_memory": "factories",
    "open_sqlite": "factories",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
