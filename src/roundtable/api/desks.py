"""One table per user of a server, with the debates that run at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup, TaskStatus

    from roundtable.api.handle import DebateHandle
    from roundtable.api.table import Roundtable

__all__ = ["Desk", "Desks"]

_MOST_ENDED: Final = 200


class Desk:
    """What one user's calls work with.

    Args:
        table: Their table, entered.
    """

    def __init__(self, table: Roundtable) -> None:
        self.table = table
        self._handles: dict[str, DebateHandle] = {}

    def keep(self, handle: DebateHandle) -> None:
        """Remember a debate that runs here, so that later calls find it."""
        self._handles[handle.session_id] = handle
        ended = [name for name, one in self._handles.items() if one.done]
        for name in ended[:-_MOST_ENDED]:
            del self._handles[name]

    def handle(self, session_id: str) -> DebateHandle | None:
        """Give the latest run of a session here, whether it goes on or ended."""
        return self._handles.get(session_id)

    def running(self, session_id: str) -> DebateHandle | None:
        """Give the run of a session that goes on here."""
        handle = self._handles.get(session_id)
        return None if handle is None or handle.done else handle


class Desks:
    """The desks of all users of a server; used with `async with`.

    Args:
        make_table: Makes the table of a user, by tenant; called once for each.
    """

    def __init__(self, make_table: Callable[[str], Roundtable]) -> None:
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
                self._desks[tenant] = await self._group.start(self._hold, table)
        return self._desks[tenant]

    async def _hold(self, table: Roundtable, *, task_status: TaskStatus[Desk]) -> None:
        """Keep a table entered; it has to be left by the task that entered it."""
        async with table:
            task_status.started(Desk(table))
            await anyio.sleep_forever()
