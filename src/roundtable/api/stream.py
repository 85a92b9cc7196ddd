"""Watching a debate: a stream that runs it, and a watch that only follows it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Self

from roundtable.api.checks import check_name
from roundtable.api.live import Live
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from anyio.abc import TaskGroup

    from roundtable.api.live import Prepared
    from roundtable.engine import EventHub, Subscription
    from roundtable.protocols import Storage
    from roundtable.result import DebateResult
    from roundtable.types import Event

__all__ = ["DebateStream", "Watch", "ends_run"]

_POLL_S = 0.25
_TERMINAL = frozenset({"conversation_complete", "debate_complete", "error"})


class DebateStream:
    """Runs a debate and gives its events as they happen.

    Use it with `async with`, inside the `async with` of its table. The debate runs while the block is
    open; leaving the block, in whatever way, ends it: what is answered is kept, running calls are
    cancelled, and no further call starts. The session is left `paused` and can be resumed. A stream that
    is dropped without leaving its block starts no further call either.

    Iteration ends after the last event; it raises what `Roundtable.debate` would raise.

    Example:
        ```python
        async with roundtable.Roundtable() as table:
            async with table.stream("Tea or coffee?") as events:
                async for event in events:
                    print(event.type)
            print(events.result.answer)
        ```
    """

    def __init__(self, prepare: Callable[[], Awaitable[Prepared]], tasks: Callable[[], TaskGroup]) -> None:
        self._prepare = prepare
        self._tasks = tasks
        self._entered = False
        self._live: Live | None = None
        self._subscription: Subscription | None = None

    @property
    def session_id(self) -> str:
        """Id of the session.

        Raises:
            ConfigurationError: The stream was not entered yet.
        """
        if self._live is None:
            raise ConfigurationError(_NOT_ENTERED, hint=_HOW)
        return self._live.prepared.session_id

    @property
    def result(self) -> DebateResult:
        """The result, once the debate is over or the block was left.

        Raises:
            ConfigurationError: The debate is still running, or was left before anything was stored.
        """
        if self._live is None or self._live.result is None:
            msg = "the debate has no result yet"
            raise ConfigurationError(msg, hint="Read the events to their end, or leave the block, first.")
        return self._live.result

    async def __aenter__(self) -> Self:
        """Create the session and begin.

        Raises:
            ConfigurationError: The table was not entered, or something asked for does not exist or does not fit.
        """
        if self._entered:
            msg = "a stream can be entered once"
            raise ConfigurationError(msg, hint="Make a new one with Roundtable.stream().")
        self._entered = True
        self._tasks()
        prepared = await self._prepare()
        group = self._tasks()  # asked again: the table may have been left meanwhile
        self._subscription = prepared.subscribe()
        live = self._live = Live(prepared)
        live.follow(self._subscription)
        # The task belongs to the table, not to this block: a block that is never left, or left by another
        # task than the one that entered it, as asynchronous generators are, can then harm nobody.
        group.start_soon(live.drive)
        weakref.finalize(self, live.close).atexit = False
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        live, subscription = self._live, self._subscription
        if live is None or subscription is None:
            raise ConfigurationError(_NOT_ENTERED, hint=_HOW)
        event = await subscription.take()
        if event is not None:
            return event
        if live.error is not None:
            raise live.error
        raise StopAsyncIteration

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the debate if it still runs, and wait until it has."""
        if self._live is not None:
            await self._live.leave()


_NOT_ENTERED = "the stream was not entered"
_HOW = "Write `async with table.stream(...) as events: async for event in events: ...`."


class Watch:
    """Follows a session that runs here or in another process; never runs it.

    Gives every durable event once and in order, live events only of sessions that run in this process.
    Ends after the event that ended the latest run; goes on, until it is closed, while a run may follow. With `live`
    it ends with that run, however it ends.
    """

    def __init__(
        self, hub: EventHub, storage: Storage, session_id: str, *, after: int, tenant: str, live: Live | None = None
    ) -> None:
        check_name("session_id", session_id)
        self._subscription = hub.subscribe(session_id, storage, after=after, tenant=tenant)
        self._subscription.fall_behind()
        if live is not None:
            live.follow(self._subscription)
        self._storage = storage
        self._tenant = tenant
        self._is_of_run = live is not None
        self._started = False
        self._at_end = False
        self._closed = False
        weakref.finalize(self, self._subscription.close).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not self._started:
            await self._look_back()
        while not self._closed:
            ended = self._subscription.ended  # asked before: what was stored by then is given first
            event = await self._subscription.take(0 if self._at_end else _POLL_S)
            if event is not None:
                # The end of a run before is nothing to a follower of this one, whose own end lets it go.
                self._at_end = not self._is_of_run and ends_run(event, so_far=self._at_end)
                if self._at_end:
                    self._subscription.fall_behind()
                return event
            if self._at_end or ended:
                self.close()
            self._subscription.fall_behind()
        raise StopAsyncIteration

    async def _look_back(self) -> None:
        """See whether a run had ended where this watch begins."""
        place = self._subscription
        if place.last_seq and not self._is_of_run:
            _, events = await self._storage.read(place.session_id, tenant=self._tenant)
            for event in events:
                if event.seq <= place.last_seq:
                    self._at_end = ends_run(event, so_far=self._at_end)
        self._started = True

    def close(self) -> None:
        """Stop following; idempotent."""
        self._closed = True
        self._subscription.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ends_run(event: Event, *, so_far: bool) -> bool:
    """Tell whether no run is under way after this event."""
    if event.type == "synthesis_complete" or (event.type == "control" and event.action in {"pause", "stop"}):
        return so_far  # made of a debate that may long be over; a request changes nothing by itself
    return event.type in _TERMINAL
