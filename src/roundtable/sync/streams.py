"""What a running debate is followed by, without `await`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from roundtable._portal import Portal
    from roundtable.api.handle import DebateHandle as AsyncHandle
    from roundtable.api.stream import DebateStream as AsyncStream
    from roundtable.api.stream import Watch as AsyncWatch
    from roundtable.result import DebateResult
    from roundtable.types import Event, RunningCalls

__all__ = ["DebateHandle", "DebateStream", "Watch", "made_on_loop"]

T = TypeVar("T")


class _Events:
    """Iterates over events of the loop behind the portal."""

    def __init__(self, source: AsyncStream | AsyncWatch, portal: Portal) -> None:
        self._source = source
        self._portal = portal

    def __enter__(self) -> Self:
        self._portal.call(self._source.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.call(lambda: self._source.__aexit__(None, None, None))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        event = self._portal.call(self._next)
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> Event | None:
        try:
            return await self._source.__anext__()
        except StopAsyncIteration:
            return None


class DebateStream(_Events):
    """Runs a debate and gives its events as they happen; enter it with `with`, then iterate."""

    _source: AsyncStream

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._source.session_id

    @property
    def result(self) -> DebateResult:
        """The result, once the debate is over or the block was left."""
        return self._source.result


class Watch(_Events):
    """Follows a session that runs here or in another process; never runs it."""

    _source: AsyncWatch

    def close(self) -> None:
        """Stop following; idempotent."""

        async def close() -> None:
            self._source.close()

        self._portal.call(close)


class DebateHandle:
    """A running debate, made by `Roundtable.start`, `carry_on` or `start_fork`."""

    def __init__(self, handle: AsyncHandle, portal: Portal) -> None:
        self._handle = handle
        self._portal = portal

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._handle.session_id

    @property
    def done(self) -> bool:
        """Whether the debate is over."""
        return self._handle.done

    def events(self, *, after: int = 0) -> Watch:
        """Follow the debate from the event after number `after`, until it is over here, for whatever reason."""
        return Watch(made_on_loop(self._portal, lambda: self._handle.events(after=after)), self._portal)

    def begun(self) -> None:
        """Wait until it goes on here; raises what keeps it from that."""
        self._portal.call(self._handle.begun)

    def wait(self) -> None:
        """Wait until the debate is over, however it ends."""
        self._portal.call(self._handle.wait)

    def result(self) -> DebateResult:
        """Wait for the end and give the result; raises what `Roundtable.debate` would have raised."""
        return self._portal.call(self._handle.result)

    def pause(self, *, running: RunningCalls = "settle") -> None:
        """Ask the debate to pause."""
        self._portal.call(lambda: self._handle.pause(running=running))

    def stop(self, *, running: RunningCalls = "cancel") -> None:
        """Ask the debate to stop for good."""
        self._portal.call(lambda: self._handle.stop(running=running))


def made_on_loop(portal: Portal, make: Callable[[], T]) -> T:
    """Make an object on the portal's loop, which some objects bind to when they are made."""

    async def run() -> T:
        return make()

    return portal.call(run)
