"""Storage of sessions: an append-only log of events for each session, in memory, in one SQLite file, or in PostgreSQL.

Modules are loaded on first use, so that importing this package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.base.clock import SystemClock
    from roundtable.core.base.owner import current_owner, is_provably_dead
    from roundtable.core.base.text import well_formed
    from roundtable.storage.locations import open_memory, open_postgres, open_sqlite
    from roundtable.storage.memory import MemoryStorage
    from roundtable.storage.postgres import PostgresStorage
    from roundtable.storage.sqlite import SQLiteStorage
    from roundtable.storage.whole_sessions import WholeSessionMethods

__all__ = [
    "MemoryStorage",
    "PostgresStorage",
    "SQLiteStorage",
    "SystemClock",
    "WholeSessionMethods",
    "current_owner",
    "is_provably_dead",
    "open_memory",
    "open_postgres",
    "open_sqlite",
    "well_formed",
]

_HOME = {
    "MemoryStorage": "memory",
    "PostgresStorage": "postgres",
    "SQLiteStorage": "sqlite",
    "SystemClock": ".core.base.clock",
    "WholeSessionMethods": "whole_sessions",
    "current_owner": ".core.base.owner",
    "is_provably_dead": ".core.base.owner",
    "open_memory": "locations",
    "open_postgres": "locations",
    "open_sqlite": "locations",
    "well_formed": ".core.base.text",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
