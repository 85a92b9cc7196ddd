"""Watching a debate: a stream that runs it, and a watch that only follows it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import anyio

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from anyio.abc import TaskGroup

    from roundtable.engine import DebateRun, EventHub, Subscription
    from roundtable.protocols import Storage
    from roundtable.record import Fold
    from roundtable.result import DebateResult
    from roundtable.types import DurableEvent, Event, LiveEvent

__all__ = ["DebateStream", "Prepared", "Watch"]

_POLL_S = 0.25
_TERMINAL = frozenset({"debate_complete", "error"})


@dataclass(slots=True, eq=False)
class Prepared:
    """A stored session that is ready to run."""

    session_id: str
    run: Callable[[Callable[[DebateRun], None]], Awaitable[Fold]]
    to_result: Callable[[Fold], DebateResult]
    subscribe: Callable[[], Subscription]


@dataclass(slots=True, eq=False)
class _Live:
    """What stream and running task share; the task must not keep the stream alive."""

    closed: bool = False
    run: DebateRun | None = None
    result: DebateResult | None = None
    error: Exception | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    subscription: Subscription | None = None

    def close(self) -> None:
        """Let no further model call start."""
        self.closed = True
        if self.run is not None:
            self.run.closed = True

    def started(self, run: DebateRun) -> None:
        self.run = run
        run.closed = self.closed


async def _drive(prepared: Prepared, live: _Live) -> None:
    try:
        fold = await prepared.run(live.started)
        live.result = prepared.to_result(fold)
    except Exception as error:  # noqa: BLE001  (raised again to whoever reads the stream)
        live.error = error
    finally:
        if live.result is None and live.run is not None:
            live.result = prepared.to_result(live.run.fold)
        live.done.set()
        if live.subscription is not None:
            live.subscription.end()


class DebateStream:
    """Runs a debate and gives its events as they happen.

    Use it with `async with`. The debate runs while the block is open; leaving the block, in whatever
    way, ends it: what is answered is kept, running calls are cancelled, and no further call starts.
    The session is left `paused` and can be resumed.

    Iteration ends after the last event; it raises what `Roundtable.debate` would raise.

    Example:
        ```python
        async with table.stream("Tea or coffee?") as events:
            async for event in events:
                print(event.type)
        print(events.result.answer)
        ```
    """

    def __init__(self, prepare: Callable[[], Awaitable[Prepared]]) -> None:
        self._prepare = prepare
        self._live: _Live | None = None
        self._group: TaskGroup | None = None
        self._subscription: Subscription | None = None
        self._session_id: str | None = None

    @property
    def session_id(self) -> str:
        """Id of the session.

        Raises:
            ConfigurationError: The stream was not entered yet.
        """
        if self._session_id is None:
            raise ConfigurationError(_NOT_ENTERED, hint=_HOW)
        return self._session_id

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
            ConfigurationError: Something asked for does not exist or does not fit.
        """
        if self._live is not None:
            msg = "a stream can be entered once"
            raise ConfigurationError(msg, hint="Make a new one with Roundtable.stream().")
        live = self._live = _Live()
        prepared = await self._prepare()
        self._session_id = prepared.session_id
        self._subscription = live.subscription = prepared.subscribe()
        weakref.finalize(self, live.close).atexit = False
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(_drive, prepared, live)
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
        if self._live is None or self._group is None:
            return
        self._live.close()
        if self._subscription is not None:
            self._subscription.close()
        if not self._live.done.is_set():
            self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


_NOT_ENTERED = "the stream was not entered"
_HOW = "Write `async with table.stream(...) as events: async for event in events: ...`."


class Watch:
    """Follows a session that runs here or in another process; never runs it.

    Gives every durable event once and in order, live events only of sessions that run in this process.
    Ends after the event that ended the latest run; goes on, until it is closed, while a run may follow.
    """

    def __init__(self, hub: EventHub, storage: Storage, session_id: str, *, after: int, tenant: str) -> None:
        self._subscription = hub.subscribe(session_id, storage, after=after, tenant=tenant)
        self._subscription.fall_behind()
        self._storage = storage
        self._tenant = tenant
        self._over = False
        weakref.finalize(self, self._subscription.close).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> DurableEvent | LiveEvent:
        while not self._over:
            event = await self._subscription.take(_POLL_S)
            if (event is None or event.type in _TERMINAL) and await self._at_the_end():
                self.close()
            if event is not None:
                return event
            self._subscription.fall_behind()
        raise StopAsyncIteration

    async def _at_the_end(self) -> bool:
        """Tell whether the last event told ended a run and is the last one stored."""
        last = self._subscription.last_seq
        _, events = await self._storage.read(self._subscription.session_id, max(0, last - 1), tenant=self._tenant)
        return bool(events) and events[-1].seq == last and events[-1].type in _TERMINAL

    def close(self) -> None:
        """Stop following; idempotent."""
        self._over = True
        self._subscription.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
