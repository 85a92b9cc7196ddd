"""The events of a debate as server-sent events, for web applications with their own request handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import anyio

from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.events import sse_event_id

if TYPE_CHECKING:
    from roundtable.api.runs import DebateStream, Watch

__all__ = ["HEARTBEAT", "SseMessages", "sse_event_id", "sse_messages"]

HEARTBEAT: Final = ": keep-alive\n\n"
"""A comment that browsers ignore, but that shows proxies that the connection is in use."""

_TERMINAL: Final = frozenset({"conversation_complete", "debate_complete", "error"})


def sse_messages(events: DebateStream | Watch, *, heartbeat_s: float = 15.0) -> SseMessages:
    r"""Return the events of an entered stream or watch as server-sent events, with heartbeats in quiet times.

    Pass the returned iterator to the streaming response of your web framework, with the media type `text/event-stream`.

    Args:
        events: What `table.stream(...)` or `table.watch(...)` returns.
        heartbeat_s: Seconds without an event after which a heartbeat is sent; many proxies close a connection on which
            nothing is sent for a minute.

    Raises:
        ConfigurationError: `heartbeat_s` is not above 0.

    Example:
        >>> import anyio
        >>> from roundtable import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> async def main():
        ...     async with Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://") as table:
        ...         async with table.stream("Tea?", rounds=1) as events:
        ...             return [message async for message in sse_messages(events)]
        >>> messages = anyio.run(main)
        >>> messages[0][:4], '"type":"debate_start"' in messages[0], '"type":"debate_complete"' in messages[-1]
        ('id: ', True, True)
    """
    if not heartbeat_s > 0:
        raise ConfigurationError(f"heartbeat_s must be above 0, not {heartbeat_s!r}")
    return SseMessages(events, heartbeat_s)


class SseMessages:
    """The iterator that `sse_messages` returns.

    It ends after the last event. If the last event has reported an error, this error is not raised again, because the
    response has already begun. Any other error of the stream is raised.
    """

    def __init__(self, events: DebateStream | Watch, heartbeat_s: float) -> None:
        self._events = events
        self._heartbeat_s = heartbeat_s
        self._last = ""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        # Streams and watches lose no event if waiting for the next one is cancelled.
        with anyio.move_on_after(self._heartbeat_s):
            try:
                event = await anext(self._events)
            except RoundtableError:
                if self._last in _TERMINAL:
                    raise StopAsyncIteration from None
                raise
            self._last = event.type
            return event.to_sse()
        return HEARTBEAT
