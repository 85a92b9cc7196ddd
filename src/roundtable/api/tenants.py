"""One table for each user (tenant) of a server, with its running debates."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.abc import TaskGroup, TaskStatus

    from roundtable.api.runs import DebateHandle
    from roundtable.api.table import Roundtable

__all__ = ["MOST_ENDED", "TenantSession", "TenantSessions"]


MOST_ENDED: Final = 50
"""Maximum number of ended runs that are kept, for all users together; each may contain a whole debate."""


class TenantSession:
    """The table and running debates of one user.

    Args:
        table: The user's table, which must be entered.
        tenant: Name of the tenant.
        runs: Runs of all users, by tenant and session.
    """

    def __init__(self, table: Roundtable, tenant: str, runs: dict[tuple[str, str], DebateHandle]) -> None:
        self.table = table
        self._tenant = tenant
        self._runs = runs
        self._locks: dict[str, anyio.Lock] = {}

    def keep(self, handle: DebateHandle) -> None:
        """Remember a debate that runs here, so that later calls find it; drop the oldest ended runs."""
        key = self._tenant, handle.session_id
        self._runs.pop(key, None)  # a session that continues becomes the latest entry again
        self._runs[key] = handle
        ended = [key for key, run in self._runs.items() if run.done]
        for key in ended[:-MOST_ENDED]:
            del self._runs[key]

    @asynccontextmanager
    async def lock_session(self, session_id: str) -> AsyncGenerator[None]:
        """Lock a session while the block is open, so that other callers in this process wait for it."""
        lock = self._locks.setdefault(session_id, anyio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._locks.pop(session_id, None)

    def forget(self, session_id: str) -> None:
        """Drop the run of a session that was deleted."""
        self._runs.pop((self._tenant, session_id), None)

    def handle(self, session_id: str) -> DebateHandle | None:
        """Return the latest run of a session in this process, whether running or ended."""
        return self._runs.get((self._tenant, session_id))

    def running(self, session_id: str) -> DebateHandle | None:
        """Return the run of a session if it is running in this process."""
        handle = self.handle(session_id)
        return None if handle is None or handle.done else handle


class TenantSessions:
    """The tenant sessions of all users of a server; used with `async with`.

    Args:
        make_table: Creates the table of a tenant; called once for each tenant.
    """

    def __init__(self, make_table: Callable[[str], Roundtable]) -> None:
        self.runs: dict[tuple[str, str], DebateHandle] = {}
        """Running and recently ended runs, by tenant and session."""
        self._make_table = make_table
        self._sessions: dict[str, TenantSession] = {}
        self._open_locks: dict[str, anyio.Lock] = {}
        self._group: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        # Leaving a table pauses its debates, so that they can continue later.
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)

    async def session_of(self, tenant: str) -> TenantSession:
        """Return a user's session; at the first call, the table is created and entered.

        Raises:
            ConfigurationError: The table cannot be created.
        """
        async with self._open_locks.setdefault(tenant, anyio.Lock()):
            if tenant not in self._sessions:
                table = self._make_table(tenant)
                self._sessions[tenant] = await self._group.start(self._keep_entered, table, tenant)
        return self._sessions[tenant]

    async def _keep_entered(self, table: Roundtable, tenant: str, *, task_status: TaskStatus[TenantSession]) -> None:
        """Keep a table entered; the task that entered it must also leave it."""
        async with table:
            task_status.started(TenantSession(table, tenant, self.runs))
            await anyio.sleep_forever()
