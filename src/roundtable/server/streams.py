"""Sessions as server-sent events, with heartbeats; each durable event once and in order, from any process."""

from __future__ import annotations

import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from fastapi import Request
from pydantic_core import to_json
from starlette.responses import Response

from roundtable.api.runs import ends_run
from roundtable.core.errors import RoundtableError, SessionBusy
from roundtable.core.types.events import sse_event_id
from roundtable.server.connections import BUSY_S, Listener, WaitingResponse, shutdown
from roundtable.server.errors import answer, error_event
from roundtable.server.limits import RateLimited
from roundtable.server.logs import SharedLogs
from roundtable.server.request_context import REQUEST_ID, logger

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from anyio.abc import TaskGroup

    from roundtable.api.runs import DebateHandle
    from roundtable.api.tenants import TenantSession
    from roundtable.auth.guard import Message, Receive, Send
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.events import Event
    from roundtable.engine import Subscription
    from roundtable.server.connections import ListenerTracker
    from roundtable.server.limits import Limits
    from roundtable.server.state import Caller, ServerOptions

__all__ = [
    "ABORT",
    "WRITE",
    "EventFormatter",
    "EventStream",
    "Heartbeats",
    "StoragePoller",
    "Streams",
    "event_stream",
    "followed_session",
    "full_event",
    "resume_point",
    "unknown_event_id",
]

_POLL_S: Final = 0.25
_POLL_HERE_S: Final = 1.0

ABORT: Final = "roundtable.abort"
"""Name of the ASGI extension that closes a connection at once and drops unsent data."""
WRITE: Final = "roundtable.write"
"""Name of the ASGI extension that sends a part of the open response (`bytes`) without waiting. It returns whether the
part was sent: false if sending would have to wait, or if the response has ended."""

_MAX_CACHED: Final = 1024
_MAX_CACHED_BYTES: Final = 16 * 1024 * 1024
_SETTLE_S: Final = 0.02
_RECHECK_S: Final = 2.0
"""Seconds after which a new stream checks again that nobody runs its session: another process may just be resuming it.
If the session ran before, a heartbeat has to pass, since a busy process may renew its lease late."""
_BATCH_BYTES: Final = 16 * 1024
_HEARTBEAT: Final = b": keep-alive\n\n"


class Heartbeats:
    """Wakes streams that have sent nothing for some time, so that they send a heartbeat.

    One queue for all streams is cheaper than a timer for each stream, which every event would have to reset.

    Args:
        every_s: Seconds of silence after which a stream is woken.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._due: OrderedDict[Subscription, float] = OrderedDict()  # ordered by time, since all intervals are equal

    def put_off(self, subscription: Subscription) -> float:
        """Restart the interval of a stream; return the current time, as of `anyio.current_time`."""
        now = anyio.current_time()
        self._due[subscription] = now + self._every_s
        self._due.move_to_end(subscription)
        return now

    def forget(self, subscription: Subscription) -> None:
        """Remove a stream that has ended."""
        del self._due[subscription]

    async def run(self) -> None:
        """Wake streams when they are due, until cancelled."""
        while True:
            # A stream that opens during the sleep is due after all others, and not before the sleep ends.
            await anyio.sleep(self._left_s())
            subscription = next(iter(self._due), None)
            if subscription is not None and self._left_s() <= 0:
                subscription.wake()
                self.put_off(subscription)

    def _left_s(self) -> float:
        """Return the seconds until the next stream is due."""
        now = anyio.current_time()
        return max(0.0, next(iter(self._due.values()), now + self._every_s) - now)


class StoragePoller:
    """Polls the storage for events of a session that another process may run, for all its streams in this process.

    Args:
        tenant_session: Tenant session of the session's owner.
        session_id: Id of the session.
        attendance: Stores notes for other processes that this process has listeners.
        logs: Reads the stored events.
    """

    def __init__(
        self, tenant_session: TenantSession, session_id: str, attendance: ListenerTracker, logs: SharedLogs
    ) -> None:
        self.places: set[Subscription] = set()
        """Subscriptions of the streams."""
        self.scope: anyio.CancelScope = anyio.CancelScope()
        """Cancels the poller."""
        self._tenant_session = tenant_session
        self._session_id = session_id
        self._attendance = attendance
        self._logs = logs
        self._last = 0

    async def run(self) -> None:
        """Poll until cancelled."""
        with self.scope:
            while True:
                # A run in this process may still be waiting for another process to end its run.
                here = self._tenant_session.running(self._session_id) is not None
                await anyio.sleep(_POLL_HERE_S if here else _POLL_S)
                await self._poll()

    async def _poll(self) -> None:
        if not self.places:
            return  # the last stream has just ended
        self._last = max(self._last, min(subscription.last_seq for subscription in self.places))
        try:
            if self._tenant_session.running(self._session_id) is None:
                await self._attendance.note(self._tenant_session, self._session_id)
            events = await self._logs.read(self._tenant_session, self._session_id, self._last)
        except Exception as error:  # noqa: BLE001  (whatever it is, streams of other sessions continue)
            level = logging.DEBUG if isinstance(error, RoundtableError) else logging.ERROR
            logger.log(level, "cannot read new events: %s", error, extra={"session": self._session_id})
            for subscription in self.places:
                subscription.fall_behind()  # then each stream reads for itself, and reports the error
            return
        for event in events:
            self._last = event.seq
            for subscription in self.places:
                subscription.offer(event)


EventFormatter: TypeAlias = Callable[["Event"], "JsonObject | None"]
"""Converts an event to the JSON that a stream sends; returns `None` to skip the event."""


def full_event(event: Event) -> JsonObject:
    """Return an event with all its fields, including `sessionId` and `seq` or `after`."""
    return event.to_wire()


def resume_point(request: Request, session_id: str | None = None) -> tuple[str | None, int, bool]:
    """Parse where a client's last stream stopped, and whether the client wants ids.

    Ids are `<session>:<number of the event>`; the number alone is enough if the path names the session.

    Args:
        request: Request with `Last-Event-ID`, or with `?ids=1` if a new client wants ids.
        session_id: Session that the path names, if any. If `Last-Event-ID` is of another session, the stream starts
            from the beginning.

    Returns:
        The session, the number of the last event that the client has, and whether to send ids.
    """
    last_id = request.headers.get("last-event-id", "").strip()
    session, number = sse_event_id(last_id)
    ids = bool(last_id) or request.query_params.get("ids", "0") not in {"0", "", "false"}
    if session_id is not None and session not in {"", session_id}:
        return session_id, 0, ids
    return session or session_id, number, ids


def followed_session(request: Request) -> tuple[str, int] | None:
    """Return the session that a client continues to follow, for a request that could also start a new session.

    Returns:
        The session and the number of the last event that the client has; `None` if the request has no `Last-Event-ID`,
        so that it starts a new session.

    Raises:
        RoundtableError: The header is not an id of this server; the code is `UNKNOWN_EVENT_ID`.
    """
    session_id, after, _ = resume_point(request)
    if session_id is not None:
        return session_id, after
    if request.headers.get("last-event-id"):
        raise unknown_event_id("an id of this server", "Leave out the header to start a new session.")
    return None


def unknown_event_id(expected: str, hint: str) -> RoundtableError:
    """Return the error for a request that would continue a stream after an event that does not exist.

    Args:
        expected: What `Last-Event-ID` should be.
        hint: What to do instead.
    """
    message = f"Last-Event-ID is not {expected}"
    return RoundtableError(message, code="UNKNOWN_EVENT_ID", details={"field": "Last-Event-ID"}, hint=hint)


class Streams:
    """The open streams of a server; use it with `async with`.

    Args:
        limits: Maximum numbers of streams, in total and per user.
        options: See `ServerOptions`.
        refused: Called with the name of a limit when a request exceeds it.
        attendance: Tracks which sessions have listeners.
    """

    def __init__(
        self, limits: Limits, options: ServerOptions, refused: Callable[[str], None], attendance: ListenerTracker
    ) -> None:
        self._limits = limits
        self._refused = refused
        self._attendance = attendance
        self.heartbeat_s: Final = options.get("heartbeat_s", 15.0)
        self.beats: Final = Heartbeats(self.heartbeat_s)
        self.send_s: Final = options.get("send_s", 10.0)
        self.logs: Final = SharedLogs()
        self._open: set[Listener | WaitingResponse] = set()
        self._is_ending = False
        self._pollers: dict[tuple[TenantSession, str], StoragePoller] = {}
        self._lines: OrderedDict[tuple[int, EventFormatter, bool], tuple[Event, bytes]] = OrderedDict()
        self._cached_bytes = 0
        self._group: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._group.start_soon(self.beats.run)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end()
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def count_stream(self, tenant_session: TenantSession) -> Generator[WaitingResponse]:
        """Count a response that waits for the end of a run as an open stream, until the block ends.

        Raises:
            RateLimited: As for `check_room`.
            RoundtableError: As for `check_room`.
        """
        self.check_room(tenant_session)
        waiting = WaitingResponse(tenant_session)
        self._open.add(waiting)
        try:
            yield waiting
        finally:
            self._open.discard(waiting)

    def check_room(self, tenant_session: TenantSession) -> None:
        """Check that the server and the user may have one more stream.

        Raises:
            RateLimited: The user has too many open streams.
            RoundtableError: The server has too many open streams (`SERVER_BUSY`) or is shutting down
                (`SERVER_SHUTDOWN`).
        """
        if self._is_ending:
            raise shutdown()
        total, per_user = self._limits.streams_total, self._limits.streams_per_user
        if (
            per_user is not None
            and sum(listener.tenant_session is tenant_session for listener in self._open) >= per_user
        ):
            self._refused("user_streams")
            raise RateLimited("streams", per_user, retry_after_s=BUSY_S)
        if total is not None and len(self._open) >= total:
            self._refused("streams")
            msg = "the server has too many open streams"
            raise RoundtableError(
                msg, code="SERVER_BUSY", retryable=True, retry_after_s=BUSY_S, hint="Try again in a few seconds."
            )

    def end(self) -> None:
        """End all streams with a last event, for example before shutdown; sessions continue or can be resumed."""
        self._is_ending = True
        for connection in self._open:
            connection.end()

    @contextmanager
    def deliver_events(self, tenant_session: TenantSession, subscription: Subscription) -> Generator[Listener]:
        """Deliver new events of a session to a subscription until the block ends."""
        listener, session_id = Listener(tenant_session, subscription), subscription.session_id
        poller = self._pollers.get((tenant_session, session_id))
        if poller is None:
            poller = self._pollers[tenant_session, session_id] = StoragePoller(
                tenant_session, session_id, self._attendance, self.logs
            )
            self._group.start_soon(poller.run)
        poller.places.add(subscription)
        self._attendance.record_arrival(tenant_session, session_id)
        self._open.add(listener)
        self.beats.put_off(subscription)
        if self._is_ending:
            listener.end()
        try:
            yield listener
        finally:
            self._open.discard(listener)
            self.beats.forget(subscription)
            poller.places.discard(subscription)
            subscription.close()
            if not poller.places:
                poller.scope.cancel()
                del self._pollers[tenant_session, session_id]
                self._attendance.record_departure(tenant_session, session_id, self._group)

    def register_run(self, tenant_session: TenantSession, handle: DebateHandle) -> None:
        """Register a run that was started with a stream, so that it is paused after its last listener has left."""
        self._attendance.begin(tenant_session, handle)
        if (tenant_session, handle.session_id) not in self._pollers:  # the client that started it may never connect
            self._attendance.record_departure(tenant_session, handle.session_id, self._group)

    def line(self, event: Event, format_event: EventFormatter, *, ids: bool) -> bytes:
        """Return the bytes of an event, cached for all its streams; empty if `format_event` skips the event."""
        key = (id(event), format_event, ids)
        cached = self._lines.get(key)
        if cached is not None:
            return cached[1]
        message = format_event(event)
        line = b"" if message is None else b"data: " + to_json(message) + b"\n\n"
        if ids and line and event.durable:
            line = f"id: {event.sse_id}\n".encode() + line
        self._lines[key] = (event, line)  # keeps the event, so that no other object gets its `id()`
        self._cached_bytes += len(line)
        while len(self._lines) > _MAX_CACHED or self._cached_bytes > _MAX_CACHED_BYTES:
            self._cached_bytes -= len(self._lines.popitem(last=False)[1][1])
        return line


class EventStream(Response):
    """The response that streams the events of a session; created by `event_stream`."""

    media_type = "text/event-stream"

    def __init__(
        self,
        caller: Caller,
        subscription: Subscription,
        *,
        has_room: bool,
        at_end: bool,
        begun: bool,
        format_event: EventFormatter,
        ids: bool,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no", **headers})
        del self.headers["content-length"]
        self._streams = caller.state.streams
        self._tenant_session = caller.tenant_session
        self._subscription = subscription
        self._has_room = has_room
        self._at_end = at_end
        self._speak = format_event
        self._ids = ids
        self._sent_at = 0.0
        self._recheck_at = inf if begun else 0.0  # a session that nobody runs when the stream begins ends it soon
        self._recheck_s = self._streams.heartbeat_s if begun else min(_RECHECK_S, self._streams.heartbeat_s)
        self._checks_without_run = 0
        self._send_scope = anyio.CancelScope()
        self._write: Callable[[bytes], bool] = _no_write
        weakref.finalize(self, subscription.close).atexit = False  # closes it even if the response is never sent

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Stream events until a run ends, the client disconnects, or it stops reading."""
        try:
            if not self._has_room:  # otherwise room was reserved for the stream before the run started
                self._streams.check_room(self._tenant_session)
        except RoundtableError as error:
            await answer(error)(scope, receive, send)
            return
        self._write = scope.get("extensions", {}).get(WRITE, _no_write)
        with self._streams.deliver_events(self._tenant_session, self._subscription) as listener:
            async with anyio.create_task_group() as group:

                async def wait_for_disconnect() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(wait_for_disconnect)
                with self._send_scope:
                    await self._respond(listener, send)
                if self._send_scope.cancelled_caught:
                    logger.info(
                        "a client that stopped reading was disconnected",
                        extra={"session": self._subscription.session_id},
                    )
                    abort = scope.get("extensions", {}).get(ABORT)
                    if abort is not None:
                        abort()
                        return  # the task group then waits until the connection is closed
                group.cancel_scope.cancel()

    async def _respond(self, listener: Listener, send: Send) -> None:
        await self._send(send, {"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        last = b""
        try:
            await self._stream_events(listener, send)
            if listener.dismissed:
                last = error_event(shutdown())
        except RoundtableError as error:
            last = error_event(error)
        except Exception as error:  # noqa: BLE001  (the stream has started, so send the error as its last event)
            logger.error("a stream failed", exc_info=error, extra={"request": REQUEST_ID.get()})
            last = error_event(RoundtableError("Internal server error", code="INTERNAL_ERROR"))
        await self._send(send, {"type": "http.response.body", "body": last, "more_body": False})

    async def _stream_events(self, listener: Listener, send: Send) -> None:
        subscription, at_end = listener.place, self._at_end
        while True:
            wait_s, is_running = None, False  # until a heartbeat is due
            if at_end:
                is_running = self._tenant_session.running(subscription.session_id) is not None
                # A run in this process will either store another event or end at once.
                wait_s = _SETTLE_S if is_running else 0
            elif self._recheck_at < inf:
                wait_s = max(0.0, self._recheck_at - anyio.current_time())
            event = await subscription.take(wait_s)
            lines: list[bytes] = []
            # Send all queued events together, so that a slow server can catch up.
            while event is not None:
                lines.append(self._streams.line(event, self._speak, ids=self._ids))
                self._checks_without_run = 0  # somebody runs it, and may have stored more than was read so far
                at_end = ends_run(event, so_far=at_end)
                if at_end:
                    subscription.fall_behind()
                event = subscription.next_queued() if sum(map(len, lines)) < _BATCH_BYTES else None
            if not lines:
                if listener.dismissed or (at_end and not is_running):
                    return
                now = anyio.current_time()
                is_silent = now >= self._sent_at + self._streams.heartbeat_s
                if is_silent or (now >= self._recheck_at and not at_end):
                    await self._check_still_running()
                if is_silent:
                    lines.append(_HEARTBEAT)
            await self._send_lines(lines, send)

    async def _send_lines(self, lines: list[bytes], send: Send) -> None:
        body = b"".join(lines)
        if body and self._write(body):
            self._sent_at = self._streams.beats.put_off(self._subscription)
        elif body:
            await self._send(send, {"type": "http.response.body", "body": body, "more_body": True})
        if len(body) >= _BATCH_BYTES:
            await checkpoint()  # a client that catches up does not delay other requests

    async def _check_still_running(self) -> None:
        """Raise an error if the session stopped without an event, because its run failed here or its process died."""
        session_id = self._subscription.session_id
        runs_here = self._tenant_session.running(session_id) is not None
        is_run = runs_here or await self._tenant_session.table.is_running(session_id)
        handle = self._tenant_session.handle(session_id)
        if not is_run and handle is not None and handle.done:
            with suppress(SessionBusy):  # another process was running it
                await handle.result()
        if is_run is not False:
            self._checks_without_run, self._recheck_at = 0, inf
            self._recheck_s = self._streams.heartbeat_s
            return
        self._checks_without_run += 1
        if self._checks_without_run > 1:
            msg = f"no process runs session {session_id!r} any more"
            raise RoundtableError(msg, code="SESSION_INTERRUPTED", hint="Resume the session.")
        self._recheck_at = anyio.current_time() + self._recheck_s
        self._subscription.fall_behind()  # the run may have stored its last events just before it ended

    async def _send(self, send: Send, message: Message) -> None:
        """Send a message; a client that does not read it in time is disconnected."""
        self._send_scope.deadline = anyio.current_time() + self._streams.send_s
        await send(message)
        self._send_scope.deadline = inf
        self._sent_at = self._streams.beats.put_off(self._subscription)


def _no_write(_: bytes) -> bool:
    """Return `False`, in place of a missing `WRITE` extension, so that `send` is used."""
    return False


async def event_stream(
    caller: Caller,
    session_id: str,
    *,
    after: int = 0,
    begun: bool = False,
    has_room: bool = False,
    format_event: EventFormatter = full_event,
    ids: bool = False,
    headers: Mapping[str, str] | None = None,
) -> EventStream:
    """Return the response that streams a session from the event after number `after` until its latest run ends.

    Live events are sent only if the session runs in this process. A client that is more than 256 events behind loses
    live events, but gets all durable events from the storage. A client that reads nothing for `send_s` seconds is
    disconnected.

    Args:
        caller: Who listens.
        session_id: Id of the session.
        after: Number of the last event that the client has. If the session has no such event, the stream starts from
            the beginning.
        begun: Whether the session was just started here, without an `await` since then. The stream then has all events
            of the session, including live events.
        has_room: Whether this is called in a block of `Streams.count_stream`, so that the stream is not refused any
            more.
        format_event: Converts events; `full_event` when left out. It must be a module-level function, because its
            results are cached.
        ids: Whether durable events have an `id` line before their `data` line.
        headers: Additional response headers.

    Raises:
        SessionNotFound: No session of this user has this id.
        RateLimited: The user has too many open streams.
        RoundtableError: The server has too many open streams; the code is `SERVER_BUSY`.
        StorageError: The session could not be read.
    """
    at_end = False
    if not begun:
        if not has_room:
            caller.state.streams.check_room(caller.tenant_session)
        events = await caller.state.streams.logs.read(caller.tenant_session, session_id)
        after = after if 0 <= after <= (events[-1].seq if events else 0) else 0
        for event in events:
            if event.seq <= after:
                at_end = ends_run(event, so_far=at_end)
    read = partial(caller.state.streams.logs.read, caller.tenant_session, session_id)
    subscription = caller.tenant_session.table.subscribe(session_id, after=after, catch_up=not begun, read=read)
    return EventStream(
        caller,
        subscription,
        has_room=has_room,
        at_end=at_end,
        begun=begun,
        format_event=format_event,
        ids=ids,
        headers=headers or {},
    )
