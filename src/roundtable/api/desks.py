"""One table per user of a server, with the debates that run at it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.abc import TaskGroup, TaskStatus

    from roundtable.api.handle import DebateHandle
    from roundtable.api.table import Roundtable

__all__ = ["MOST_ENDED", "Desk", "Desks"]

MOST_ENDED: Final = 50
"""Runs that are remembered after their end, of all users together; each may hold all that was said."""


class Desk:
    """What one user's calls work with.

    Args:
        table: Their table, entered.
        tenant: Whose it is.
        runs: What runs at all desks, by tenant and session.
    """

    def __init__(self, table: Roundtable, tenant: str, runs: dict[tuple[str, str], DebateHandle]) -> None:
        self.table = table
        self._tenant = tenant
        self._runs = runs
        self._locks: dict[str, anyio.Lock] = {}

    def keep(self, handle: DebateHandle) -> None:
        """Remember a debate that runs here, so that later calls find it; those that ended first are forgotten."""
        place = self._tenant, handle.session_id
        self._runs.pop(place, None)  # a session that goes on is the last again
        self._runs[place] = handle
        ended = [place for place, one in self._runs.items() if one.done]
        for place in ended[:-MOST_ENDED]:
            del self._runs[place]

    @asynccontextmanager
    async def alone(self, session_id: str) -> AsyncGenerator[None]:
        """Have everybody else here who is about to go on with a session wait while the block is open."""
        lock = self._locks.setdefault(session_id, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._locks.pop(session_id, None)

    def handle(self, session_id: str) -> DebateHandle | None:
        """Give the latest run of a session here, whether it goes on or ended."""
        return self._runs.get((self._tenant, session_id))

    def running(self, session_id: str) -> DebateHandle | None:
        """Give the run of a session that goes on here."""
        handle = self.handle(session_id)
        return None if handle is None or handle.done else handle


class Desks:
    """The desks of all users of a server; used with `async with`.

    Args:
        make_table: Makes the table of a user, by tenant; called once for each.
    """

    def __init__(self, make_table: Callable[[str], Roundtable]) -> None:
        self.runs: dict[tuple[str, str], DebateHandle] = {}
        """What runs here, and what ended last, by tenant and session."""
        self._make_table = make_table
        self._desks: dict[str, Desk] = {}
        self._opening: dict[str, anyio.Lock] = {}
        self._group: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        # Leaving a table pauses its debates, so that they can go on later.
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)

    async def of(self, tenant: str) -> Desk:
        """Give a user's desk; the table is made and entered with their first call.

        Raises:
            ConfigurationError: The table cannot be made.
        """
        async with self._opening.setdefault(tenant, anyio.Lock()):
            if tenant not in self._desks:
                table = self._make_table(tenant)
                self._desks[tenant] = await self._group.start(self._hold, table, tenant)
        return self._desks[tenant]

    async def _hold(self, table: Roundtable, tenant: str, *, task_status: TaskStatus[Desk]) -> None:
        """Keep a table entered; it has to be left by the task that entered it."""
        async with table:
            task_status.started(Desk(table, tenant, self.runs))
            await anyio.sleep_forever()
