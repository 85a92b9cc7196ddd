"""Events of a session that runs on a server, whatever happens to the connection."""

from __future__ import annotations

import json
import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, Self

import anyio
from pydantic import ValidationError

from roundtable._clock import SystemClock
from roundtable.api.stream import ends_run
from roundtable.client.connection import Call, path_of
from roundtable.client.failures import ServerError, error_in_stream
from roundtable.errors import APINetworkError, APITimeoutError, RoundtableError
from roundtable.http import SseFramer
from roundtable.types.event_base import DurableBase
from roundtable.types.events import wire_event

if TYPE_CHECKING:
    from types import TracebackType

    from roundtable.client.connection import Connection
    from roundtable.http import HttpStream, SseEvent
    from roundtable.protocols import SleepingClock
    from roundtable.types import Event

__all__ = ["EventStream"]

_SILENCE_S: Final = 60.0
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 15.0


class EventStream:
    """Gives the events of a session in order, every durable one once; made by `RoundtableClient.watch`.

    A connection that breaks or falls silent is made again, and goes on after the last event that was heard; what was
    told meanwhile without being stored, such as pieces of an answer, is lost then. Ends after the event that ended the
    latest run. Use it with `async with`, or read it to its end; not from several tasks at once.

    Args:
        connection: To the server.
        session_id: Which session.
        after: Number of the last event that is known already.
        attempts: Tries in a row, without hearing anything new, after which the last failure is raised.
        silence_s: Seconds without a sign of the server after which the connection counts as broken.
        clock: What is waited on between tries.
    """

    def __init__(
        self,
        connection: Connection,
        session_id: str,
        *,
        after: int = 0,
        attempts: int = 8,
        silence_s: float = _SILENCE_S,
        clock: SleepingClock | None = None,
    ) -> None:
        self.session_id = session_id
        self.last_seq: int = after
        """Number of the last durable event that was given."""
        self._connection = connection
        self._attempts = attempts
        self._silence_s = silence_s
        self._clock = clock or SystemClock()
        self._open = AsyncExitStack()
        self._stream: HttpStream | None = None
        self._framer = SseFramer()
        self._waiting: list[SseEvent] = []
        self._failures = 0
        self._quiet_ends = 0
        self._at_end = False
        self._over = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Give the next event.

        Raises:
            SessionNotFound: The user has no such session.
            RoundtableError: The server refused, or could not be reached in all tries.
        """
        while not self._over:
            try:
                event = await self._next()
            except (APINetworkError, APITimeoutError, ServerError) as error:
                await self._hang_up()
                await self._pause_after(error)
                continue
            if event is not None and self._is_news(event):
                return event
        await self._hang_up()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop following; idempotent. The session goes on."""
        self._over = True
        await self._hang_up()

    async def _next(self) -> Event | None:
        """Give the next event of this connection; `None` where something else came or the connection ended."""
        if self._stream is None:
            query = {"after": self.last_seq}
            call = Call("GET", path_of("sessions", self.session_id, "events"), query, accept="text/event-stream")
            self._stream = await self._open.enter_async_context(self._connection.listen(call))
        if not self._waiting:
            try:
                with anyio.fail_after(self._silence_s):
                    piece = await anext(self._stream, None)
            except TimeoutError as error:
                raise APITimeoutError(f"the server said nothing for {self._silence_s:g} s") from error
            if piece is None:
                await self._ended()
                return None
            self._waiting = self._framer.feed(piece)
        return None if not self._waiting else _read(self._waiting.pop(0))

    async def _ended(self) -> None:
        """Take the end of an answer: of the session's run where nothing is left to tell, else of a connection."""
        await self._hang_up()
        self._quiet_ends += 1
        self._over = self._at_end or self._quiet_ends > 1

    def _is_news(self, event: Event) -> bool:
        self._failures = self._quiet_ends = 0
        if isinstance(event, DurableBase):
            if event.seq <= self.last_seq:
                return False
            self.last_seq = event.seq
        self._at_end = ends_run(event, so_far=self._at_end)
        return True

    async def _hang_up(self) -> None:
        self._stream, self._waiting, self._framer = None, [], SseFramer()
        with anyio.CancelScope(shield=True):
            await self._open.aclose()

    async def _pause_after(self, error: RoundtableError) -> None:
        self._failures += 1
        if not error.retryable or self._failures >= self._attempts:
            self._over = True
            raise error
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (self._failures - 1)) * random.uniform(1, 1.2)
        await self._clock.sleep(max(wait, error.retry_after_s or 0.0))


def _read(told: SseEvent) -> Event | None:
    """Give an event; `None` for a kind that a newer server tells.

    Raises:
        ServerError: It tells that the server failed, or ended the stream.
        APINetworkError: It is none.
    """
    try:
        wire = json.loads(told.data)
    except ValueError:
        wire = None
    if not isinstance(wire, dict) or not isinstance(wire.get("data"), dict):
        raise APINetworkError("the server told something that is no event", retryable=True)
    if wire.get("type") == "error" and "sessionId" not in wire["data"]:
        raise error_in_stream(wire["data"])
    try:
        return wire_event(wire)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "union_tag_invalid":
            return None
        raise APINetworkError("the server told an event that does not fit this version", retryable=False) from error
