"""A debate that runs by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import SessionError

if TYPE_CHECKING:
    from roundtable.api.live import Live
    from roundtable.api.stream import Watch
    from roundtable.api.table import Roundtable
    from roundtable.result import DebateResult
    from roundtable.types import RunningCalls

__all__ = ["DebateHandle"]


class DebateHandle:
    """A running debate, made by `Roundtable.start`, `carry_on` or `start_fork`."""

    def __init__(self, table: Roundtable, live: Live) -> None:
        self._table = table
        self._live = live

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._live.prepared.session_id

    @property
    def done(self) -> bool:
        """Whether the debate is over."""
        return self._live.done.is_set()

    def events(self, *, after: int = 0) -> Watch:
        """Follow the debate from the event after number `after`, until it is over here, for whatever reason.

        That includes a pause, and the end of the one round that `step=True` holds; `Roundtable.watch` goes on into
        the next run. Once it is over, what is stored is given.
        """
        from roundtable.api.stream import Watch

        wiring = self._table.wiring
        tenant = wiring.options.tenant
        return Watch(wiring.hub, wiring.storage, self.session_id, after=after, tenant=tenant, live=self._live)

    async def begun(self) -> None:
        """Wait until it goes on here, and nothing keeps it from that any more; or until it is over.

        Raises:
            RoundtableError: What keeps it from going on, such as somebody else who is running it.
        """
        live = self._live
        await live.begun.wait()
        if not live.running and live.error is not None:
            raise live.error

    async def wait(self) -> None:
        """Wait until the debate is over, however it ends; `result` says how."""
        await self._live.done.wait()

    async def result(self) -> DebateResult:
        """Wait for the end and give the result; partial when the table was left meanwhile.

        Raises:
            RoundtableError: What `Roundtable.debate` would have raised.
            SessionError: The table was left before anybody was asked.
        """
        live = self._live
        await self.wait()
        if live.error is not None:
            raise live.error
        if live.result is None:
            msg = f"the table was left before session {self.session_id!r} began"
            raise SessionError(msg, hint="Resume the session.")
        return live.result

    async def pause(self, *, running: RunningCalls = "settle") -> None:
        """Ask the debate to pause; `Roundtable.resume` goes on with it."""
        await self._table.pause(self.session_id, running=running)

    async def stop(self, *, running: RunningCalls = "cancel") -> None:
        """Ask the debate to stop for good."""
        await self._table.stop(self.session_id, running=running)
