"""All fleets on one storage with their jobs, for pages and metrics."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import anyio
from anyio import CancelScope

from roundtable.core.base.text import error_text
from roundtable.core.errors import RoundtableError
from roundtable.core.types.base import Value
from roundtable.fleet.fleet import Fleet
from roundtable.fleet.jobs import JobStatus
from roundtable.fleet.records import PREFIX, fleet_and_job

if TYPE_CHECKING:
    from types import TracebackType

    from anyio.abc import TaskGroup

    from roundtable.api import Roundtable

__all__ = ["FleetOverview", "FleetState", "LatestFleets"]

_SHARE: Final = 20
"""After each read, the pause is at least this many times as long as the read."""
_PAUSE_S: Final = 2.0


class FleetState(Value):
    """One fleet."""

    name: str
    """Its name."""
    workers: int
    """Workers that gave a sign of life within 15 seconds."""
    jobs: tuple[JobStatus, ...]
    """Its jobs, oldest first."""


class LatestFleets(NamedTuple):
    """All fleets, as of the last read."""

    states: tuple[FleetState, ...]
    """The fleets; empty if they were never read."""
    age_s: float
    """Seconds since they were read; 0 if they were never read."""
    problem: str
    """Why the latest attempt to read the fleets failed; empty if it succeeded."""


class FleetOverview:
    """Reads the state of all fleets of a tenant, but not too often, so that large jobs don't keep the database busy.

    It creates nothing in the database, and loads DBOS only when there is a job.

    Args:
        table: The table whose storage contains the fleets, and whose tenant owns them.
    """

    def __init__(self, table: Roundtable) -> None:
        self._table = table
        self._fleets: dict[str, Fleet] = {}
        self._states: tuple[FleetState, ...] = ()
        self._fresh_until = 0.0
        self._reading = anyio.Lock()
        self._read_at = time.monotonic()
        self._stack = AsyncExitStack()
        self._group: TaskGroup | None = None
        self._refreshed: anyio.Event | None = None
        self._problem = ""

    async def __aenter__(self) -> Self:
        """Return the overview."""
        self._group = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections to the queues."""
        if self._group is not None:
            self._group.cancel_scope.cancel()
        try:
            await self._stack.aclose()
        finally:
            with CancelScope(shield=True):
                for fleet in self._fleets.values():
                    await fleet.aclose()
            self._fleets.clear()

    async def read(self) -> tuple[FleetState, ...]:
        """Return all fleets that have a job, sorted by name; the state may be a few seconds old.

        Raises:
            ConfigurationError: There are jobs, but the extra `fleet` is not installed.
            StorageError: The database cannot be used.
        """
        async with self._reading:
            begun = time.monotonic()
            if begun >= self._fresh_until:
                known = {state.name: state.jobs for state in self._states}
                self._states = tuple([await self._state(name, known.get(name, ())) for name in await self._names()])
                self._read_at = ended = time.monotonic()
                self._fresh_until = ended + max(_PAUSE_S, _SHARE * (ended - begun))
            return self._states

    async def latest(self, wait_s: float) -> LatestFleets:
        """Return all fleets that have a job; if the database does not answer in time, the state of the last read.

        The read then continues in the background, for the next call.

        Args:
            wait_s: Seconds to wait for the database.
        """
        if self._group is None:
            raise RuntimeError("fleets can be read in the background only inside `async with`")
        if self._refreshed is None:
            self._refreshed = anyio.Event()
            self._group.start_soon(self._refresh, self._refreshed)
        is_read = self._refreshed
        with anyio.move_on_after(wait_s):
            await is_read.wait()
        problem = self._problem if is_read.is_set() else f"the database did not answer within {wait_s:g} s"
        age_s = time.monotonic() - self._read_at if self._states else 0.0
        return LatestFleets(self._states, age_s, problem)

    async def _refresh(self, done: anyio.Event) -> None:
        self._problem = ""
        try:
            await self.read()
        except Exception as error:  # noqa: BLE001  (the metrics report it, and continue without the fleets)
            self._problem = error.message if isinstance(error, RoundtableError) else error_text(error)
        finally:
            self._refreshed = None
            done.set()

    async def _names(self) -> list[str]:
        table = self._table
        values = getattr(table.storage, "kv", None)
        if values is None:
            return []
        pairs = [fleet_and_job(key) for key, _ in await values.scan(PREFIX, tenant=table.tenant)]
        return sorted({names[0] for names in pairs if names is not None})

    async def _state(self, name: str, known: tuple[JobStatus, ...]) -> FleetState:
        fleet = self._fleets.setdefault(name, Fleet(self._table, name=name))
        return FleetState(name=name, workers=await fleet.workers(), jobs=await fleet.jobs(known=known))
