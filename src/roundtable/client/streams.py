"""Events of a session on a server; the stream reconnects if a connection is lost."""

from __future__ import annotations

import json
import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, Self

import anyio
from pydantic import ValidationError

from roundtable.api.runs import ends_run
from roundtable.client.connection import ApiRequest, ServerError, error_in_stream, object_of, path_of
from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import APINetworkError, APITimeoutError, RoundtableError
from roundtable.core.types.events import DurableBase, wire_event
from roundtable.http import SseFramer

if TYPE_CHECKING:
    from types import TracebackType

    from roundtable.client.connection import Connection
    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.events import Event
    from roundtable.http import HttpStream, SseEvent

__all__ = ["EventStream"]

_SILENCE_S: Final = 60.0
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 15.0
_PATIENCE_S: Final = 86_400.0
"""A day: the answers of a batch may take as long."""


class EventStream:
    """The events of a session in order, each durable event once; created by `RoundtableClient.watch`.

    If a connection breaks or falls silent, the stream reconnects and continues after the last event that it received.
    Events that are not stored, such as chunks of an answer, are lost if they are sent while there is no connection. The
    stream ends after the event that ends the latest run. If the session has no event with the number in `after`, the
    events start from the first one. Use the stream with `async with`, or read it to its end. Do not read it from
    several tasks at once.

    Args:
        connection: Connection to the server.
        session_id: Session to watch.
        after: Number of the last event that the caller already has.
        attempts: Number of consecutive tries without a new event after which the last error is raised.
        silence_s: Seconds without any data after which the connection counts as broken.
        patience_s: Seconds for which responses may keep ending without an event, for example because of a proxy,
            although the session still counts as active; after that, the stream gives up. A day by default.
        clock: Clock for the waits between tries.
    """

    def __init__(
        self,
        connection: Connection,
        session_id: str,
        *,
        after: int = 0,
        attempts: int = 8,
        silence_s: float = _SILENCE_S,
        patience_s: float = _PATIENCE_S,
        clock: SleepingClock | None = None,
    ) -> None:
        self.session_id = session_id
        self.last_seq: int = after
        """Number of the last durable event that was returned."""
        self._connection = connection
        self._attempts = attempts
        self._silence_s = silence_s
        self._patience_s = patience_s
        self._clock = clock or SystemClock()
        self._ends_since = 0.0
        """Time of the first end of a response since the last event."""
        self._stack = AsyncExitStack()
        self._stream: HttpStream | None = None
        self._framer = SseFramer()
        self._buffered: list[SseEvent] = []
        self._failures = 0
        self._empty_ends = 0
        self._run_ended = False
        self._is_first = True
        """Whether the next durable event is the first one of its connection."""
        self._closed = False

    async def __aenter__(self) -> Self:
        """Connect; if the session cannot be watched, the error is raised here.

        Raises:
            SessionNotFound: The user has no such session.
            RoundtableError: The server refused, or could not be reached in any try.
        """
        while not self._closed and self._stream is None:
            try:
                await self._connect()
            except (APINetworkError, APITimeoutError, ServerError) as error:
                await self._wait_or_raise(error)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Return the next event.

        Raises:
            SessionNotFound: The user has no such session.
            APITimeoutError: The responses kept ending without an event for `patience_s`.
            RoundtableError: The server refused, or could not be reached in any try.
        """
        while not self._closed:
            try:
                event = await self._next()
            except (APINetworkError, APITimeoutError, ServerError) as error:
                await self._disconnect()
                await self._wait_or_raise(error)
                continue
            if event is not None and self._is_new(event):
                return event
        await self._disconnect()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop watching; idempotent. The session continues."""
        self._closed = True
        await self._disconnect()

    async def _next(self) -> Event | None:
        """Return the next event of this connection; `None` for other data or the end of the connection."""
        stream = self._stream or await self._connect()
        if not self._buffered:
            try:
                with anyio.fail_after(self._silence_s):
                    chunk = await anext(stream, None)
            except TimeoutError as error:
                raise APITimeoutError(f"the server sent nothing for {self._silence_s:g} s") from error
            if chunk is None:
                await self._handle_end()
                return None
            self._buffered = self._framer.feed(chunk)
        return None if not self._buffered else _parse(self._buffered.pop(0))

    async def _connect(self) -> HttpStream:
        query = {"after": self.last_seq}
        call = ApiRequest("GET", path_of("sessions", self.session_id, "events"), query, accept="text/event-stream")
        self._is_first = True
        self._stream = await self._stack.enter_async_context(self._connection.listen(call))
        return self._stream

    async def _handle_end(self) -> None:
        """Handle the end of a response: either the run is over, or the connection was lost.

        A proxy may also end responses that take long. So after two responses without an event, the server is asked
        whether the session still runs.

        Raises:
            APITimeoutError: The responses kept ending without an event for `patience_s`.
        """
        await self._disconnect()
        self._empty_ends += 1
        if self._empty_ends == 1:
            self._ends_since = self._clock.monotonic()
        if self._run_ended:
            self._closed = True
        elif self._empty_ends > 1:
            answer = await self._connection.ask(ApiRequest("GET", path_of("sessions", self.session_id)))
            self._closed = object_of(answer).get("sessionStatus") not in {"created", "active"}
            if not self._closed:
                if self._clock.monotonic() - self._ends_since >= self._patience_s:
                    msg = f"session {self.session_id!r} had no event for {self._patience_s:g} s, and its streams end"
                    hint = "Resume the session, or raise the time limit that a proxy has for responses."
                    raise APITimeoutError(msg, retryable=False, hint=hint)
                await self._clock.sleep(min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** min(self._empty_ends - 2, 8)))

    def _is_new(self, event: Event) -> bool:
        if isinstance(event, DurableBase):
            if self._is_first and event.seq == 1:  # sent only to clients that have no event of this session
                self.last_seq = 0
            self._is_first = False
            if event.seq <= self.last_seq:
                return False
            self.last_seq = event.seq
        self._failures = self._empty_ends = 0
        self._run_ended = ends_run(event, so_far=self._run_ended)
        return True

    async def _disconnect(self) -> None:
        self._stream, self._buffered, self._framer = None, [], SseFramer()
        with anyio.CancelScope(shield=True):
            await self._stack.aclose()

    async def _wait_or_raise(self, error: RoundtableError) -> None:
        self._failures += 1
        if not error.retryable or self._failures >= self._attempts:
            self._closed = True
            raise error
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (self._failures - 1)) * random.uniform(1, 1.2)
        await self._clock.sleep(max(wait, error.retry_after_s or 0.0))


def _parse(message: SseEvent) -> Event | None:
    """Parse an event; return `None` for a kind that only newer versions know.

    Raises:
        ServerError: The event says that the server failed or ended the stream.
        APINetworkError: The data is not an event.
    """
    try:
        value = json.loads(message.data)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        raise APINetworkError("the server sent data that is not an event", retryable=True)
    if value.get("type") == "error" and "sessionId" not in value["data"]:
        raise error_in_stream(value["data"])
    try:
        return wire_event(value)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "union_tag_invalid":
            return None
        raise APINetworkError("the server sent an event that does not match this version", retryable=False) from error
