"""Where sessions are kept: an append-only log of events per session, in memory or in one SQLite file.

Nothing is loaded before it is asked for, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.storage.factories import open_memory, open_sqlite
    from roundtable.storage.memory import MemoryStorage
    from roundtable.storage.owner import current_owner, is_provably_dead
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
    "current_owner": "owner",
    "is_provably_dead": "owner",
    "open_memory": "factories",
    "open_sqlite": "factories",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
