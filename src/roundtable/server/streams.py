"""A session told as server-sent events: every durable event once and in order, whoever runs the session."""

from __future__ import annotations

import re
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager, suppress
from math import inf
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import anyio
from fastapi import Request
from pydantic_core import to_json
from starlette.responses import Response

from roundtable.api.stream import ends_run
from roundtable.errors import RoundtableError, SessionBusy
from roundtable.server.failures import answer, error_event
from roundtable.server.feeds import Feed
from roundtable.server.heartbeats import Heartbeats
from roundtable.server.holding import BUSY_S, Held, Listener, shutdown
from roundtable.server.limits import RateLimited
from roundtable.server.requests import REQUEST_ID, logger

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from anyio.abc import TaskGroup

    from roundtable.api.desks import Desk
    from roundtable.auth.guard import Message, Receive, Send
    from roundtable.engine import Subscription
    from roundtable.server.limits import Limits
    from roundtable.server.state import Caller, ServerOptions
    from roundtable.types import Event, JsonObject

__all__ = ["ABORT", "WRITE", "EventStream", "Speak", "Streams", "event_stream", "resume_point", "whole"]

Speak: TypeAlias = Callable[["Event"], "JsonObject | None"]
"""Says what a stream tells of an event; `None` where nothing."""

ABORT: Final = "roundtable.abort"
"""Name of the ASGI extension that cuts a connection at once, whatever is still to be sent."""
WRITE: Final = "roundtable.write"
"""Name of the ASGI extension that sends a part of the answer under way, `bytes`, and says whether it did: not where
that would have to wait, or the answer has ended."""

_ID: Final = re.compile(r"(?:([0-9A-Za-z_-]{1,100}):)?([0-9]{1,15})", re.ASCII)
_KEPT: Final = 1024
_KEPT_BYTES: Final = 16 * 1024 * 1024
_SETTLE_S: Final = 0.02
_LARGE: Final = 16 * 1024
_BEAT: Final = b": keep-alive\n\n"


def whole(event: Event) -> JsonObject:
    """Tell an event with all its fields, `sessionId` and `seq` or `after` among them."""
    return event.to_wire()


def resume_point(request: Request, session_id: str | None = None) -> tuple[str | None, int, bool]:
    """Read where a client was when its stream broke off, and whether it wants ids.

    Ids are `<session>:<number of the event>`; the number alone is taken as well where the session is known.

    Args:
        request: Its request: `Last-Event-ID`, or `?ids=1` for a new client that wants ids.
        session_id: Session it asks for, if the path names one; an id of another one counts from the start.

    Returns:
        Session, number of the last event the client has, and whether ids are to be sent.
    """
    given = request.headers.get("last-event-id", "").strip()
    found = _ID.fullmatch(given)
    ids = bool(given) or request.query_params.get("ids", "0") not in {"0", "", "false"}
    if found is None or (session_id is not None and found[1] not in {None, session_id}):
        return session_id, 0, ids
    return found[1] or session_id, int(found[2]), ids


class Streams:
    """The open streams of a server; used with `async with`.

    Args:
        limits: How many there may be, in all and of each user.
        options: See `ServerOptions`.
        refused: Is told when somebody met a limit, and which.
    """

    def __init__(self, limits: Limits, options: ServerOptions, refused: Callable[[str], None]) -> None:
        self._limits = limits
        self._refused = refused
        self.heartbeat_s: Final = options.get("heartbeat_s", 15.0)
        self.beats: Final = Heartbeats(self.heartbeat_s)
        self.send_s: Final = options.get("send_s", 10.0)
        self._open: set[Listener | Held] = set()
        self._is_ending = False
        self._feeds: dict[tuple[Desk, str], Feed] = {}
        self._lines: OrderedDict[tuple[int, Speak, bool], tuple[Event, bytes]] = OrderedDict()
        self._kept_bytes = 0
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
    def room(self, desk: Desk) -> Generator[Held]:
        """Count an answer that is held back like an open stream, while the block is open.

        Raises:
            RateLimited: As `check_room`.
            RoundtableError: As `check_room`.
        """
        self.check_room(desk)
        held = Held(desk)
        self._open.add(held)
        try:
            yield held
        finally:
            self._open.discard(held)

    def check_room(self, desk: Desk) -> None:
        """Refuse a stream beyond those that a server, or one of its users, may have.

        Raises:
            RateLimited: The user has as many.
            RoundtableError: The server has as many, or is about to end; the code is `SERVER_BUSY` or `SERVER_SHUTDOWN`.
        """
        if self._is_ending:
            raise shutdown()
        total, each = self._limits.streams_total, self._limits.streams_per_user
        if each is not None and sum(listener.desk is desk for listener in self._open) >= each:
            self._refused("user_streams")
            raise RateLimited("streams", each, retry_after_s=BUSY_S)
        if total is not None and len(self._open) >= total:
            self._refused("streams")
            msg = "the server has as many open streams as it may have"
            raise RoundtableError(
                msg, code="SERVER_BUSY", retryable=True, retry_after_s=BUSY_S, hint="Try again in a few seconds."
            )

    def end(self) -> None:
        """End all streams with a last word, such as before the server ends; sessions go on or can be resumed."""
        self._is_ending = True
        for one in self._open:
            one.end()

    @contextmanager
    def listening(self, desk: Desk, place: Subscription) -> Generator[Listener]:
        """Feed a place in a session while the block is open."""
        listener, session_id = Listener(desk, place), place.session_id
        feed = self._feeds.get((desk, session_id))
        if feed is None:
            feed = self._feeds[desk, session_id] = Feed(desk, session_id)
            self._group.start_soon(feed.run)
        feed.places.add(place)
        self._open.add(listener)
        self.beats.put_off(place)
        if self._is_ending:
            listener.end()
        try:
            yield listener
        finally:
            self._open.discard(listener)
            self.beats.forget(place)
            feed.places.discard(place)
            place.close()
            if not feed.places:
                feed.scope.cancel()
                del self._feeds[desk, session_id]

    def line(self, event: Event, speak: Speak, *, ids: bool) -> bytes:
        """Give the bytes that tell an event, made once for all who hear it; none where nothing is said."""
        key = (id(event), speak, ids)
        held = self._lines.get(key)
        if held is not None:
            return held[1]
        told = speak(event)
        line = b"" if told is None else b"data: " + to_json(told) + b"\n\n"
        if ids and line and event.durable:
            line = f"id: {event.session_id}:{getattr(event, 'seq', 0)}\n".encode() + line
        self._lines[key] = (event, line)  # the event is kept too: nothing else may get its id meanwhile
        self._kept_bytes += len(line)
        while len(self._lines) > _KEPT or self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= len(self._lines.popitem(last=False)[1][1])
        return line


class EventStream(Response):
    """The answer that tells a session as it happens; made by `event_stream`."""

    media_type = "text/event-stream"

    def __init__(
        self,
        caller: Caller,
        place: Subscription,
        *,
        has_room: bool,
        at_end: bool,
        speak: Speak,
        ids: bool,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no", **headers})
        del self.headers["content-length"]
        self._streams = caller.state.streams
        self._desk = caller.desk
        self._place = place
        self._has_room = has_room
        self._at_end = at_end
        self._speak = speak
        self._ids = ids
        self._sent_at = 0.0
        self._alone = 0
        self._patience = anyio.CancelScope()
        self._write: Callable[[bytes], bool] = _never
        weakref.finalize(self, place.close).atexit = False  # of an answer that is never given

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Tell the session until a run of it ends, the client leaves, or it does not read."""
        try:
            if not self._has_room:  # else nobody would hear of what has begun, and was promised room
                self._streams.check_room(self._desk)
        except RoundtableError as error:
            await answer(error)(scope, receive, send)
            return
        self._write = scope.get("extensions", {}).get(WRITE, _never)
        with self._streams.listening(self._desk, self._place) as listener:
            async with anyio.create_task_group() as group:

                async def leave() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(leave)
                with self._patience:
                    await self._told(listener, send)
                if self._patience.cancelled_caught:
                    logger.info("a client that did not read was dropped", extra={"session": self._place.session_id})
                    abort = scope.get("extensions", {}).get(ABORT)
                    if abort is not None:
                        abort()
                        return  # and wait until the connection is gone
                group.cancel_scope.cancel()

    async def _told(self, listener: Listener, send: Send) -> None:
        await self._send(send, {"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        last = b""
        try:
            await self._tell(listener, send)
            if listener.dismissed:
                last = error_event(shutdown())
        except RoundtableError as error:
            last = error_event(error)
        except Exception as error:  # noqa: BLE001  (the stream has begun: it can be told in no other way)
            logger.error("a stream broke", exc_info=error, extra={"request": REQUEST_ID.get()})
            last = error_event(RoundtableError("Internal server error", code="INTERNAL_ERROR"))
        await self._send(send, {"type": "http.response.body", "body": last, "more_body": False})

    async def _tell(self, listener: Listener, send: Send) -> None:
        place, at_end = listener.place, self._at_end
        while True:
            wait_s, goes_on = None, False  # until a heartbeat is due
            if at_end:
                goes_on = self._desk.running(place.session_id) is not None
                # A run that goes on here will store something yet, or be over at once.
                wait_s = _SETTLE_S if goes_on else 0
            event = await place.take(wait_s)
            lines: list[bytes] = []
            # What waits already goes along, so that a server that is behind catches up.
            while event is not None:
                lines.append(self._streams.line(event, self._speak, ids=self._ids))
                at_end = ends_run(event, so_far=at_end)
                if at_end:
                    place.fall_behind()
                event = place.at_hand() if sum(map(len, lines)) < _LARGE else None
            if not lines:
                if listener.dismissed or (at_end and not goes_on):
                    return
                if anyio.current_time() >= self._sent_at + self._streams.heartbeat_s:
                    await self._check_unbroken()
                    lines.append(_BEAT)
            if body := b"".join(lines):
                if self._write(body):
                    self._sent_at = self._streams.beats.put_off(place)
                else:
                    await self._send(send, {"type": "http.response.body", "body": body, "more_body": True})

    async def _check_unbroken(self) -> None:
        """Raise what keeps the session from going on and no event tells: its run broke here, or its process died."""
        session_id = self._place.session_id
        handle = self._desk.handle(session_id)
        if handle is not None and handle.done:
            with suppress(SessionBusy):  # another process runs it
                await handle.result()
        here = self._desk.running(session_id) is not None
        is_run = here or await self._desk.table.wiring.sessions.is_run(session_id)
        self._alone = self._alone + 1 if is_run is False else 0
        if self._alone > 1:  # somebody may just be about to go on with it
            msg = f"nobody runs session {session_id!r} any more"
            raise RoundtableError(msg, code="SESSION_INTERRUPTED", hint="Resume it.")

    async def _send(self, send: Send, message: Message) -> None:
        """Send; a client that does not take it in time has no patience left."""
        self._patience.deadline = anyio.current_time() + self._streams.send_s
        await send(message)
        self._patience.deadline = inf
        self._sent_at = self._streams.beats.put_off(self._place)


def _never(_: bytes) -> bool:
    """Leave it to `send`."""
    return False


async def event_stream(
    caller: Caller,
    session_id: str,
    *,
    after: int = 0,
    begun: bool = False,
    has_room: bool = False,
    speak: Speak = whole,
    ids: bool = False,
    headers: Mapping[str, str] | None = None,
) -> EventStream:
    """Give the answer that tells a session, from the event after number `after`, until its latest run ends.

    Live events are told of sessions that run in this process. A client that reads too slowly for the 256 events that
    wait for it loses live ones; durable ones it gets from the storage. One that takes nothing for `send_s` seconds is
    dropped.

    Args:
        caller: Who listens.
        session_id: To what.
        after: Number of the last event the client has; one that the session does not have counts as 0.
        begun: Whether it has just begun here and this is called before anything else is waited for: its very first
            event is then told, live ones too.
        has_room: Whether this is called in a block of `Streams.room`, so that it is refused no more.
        speak: What is told of an event; everything when left out. A function of a module, since what it gives is kept.
        ids: Whether durable events have an `id` line before their `data` line.
        headers: Further headers.

    Raises:
        SessionNotFound: There is no such session, or it is somebody else's.
        RateLimited: The user has as many open streams as they may have.
        RoundtableError: The server has; the code is `SERVER_BUSY`.
        StorageError: The session could not be read.
    """
    wiring, at_end = caller.desk.table.wiring, False
    if not begun:
        if not has_room:
            caller.state.streams.check_room(caller.desk)
        _, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
        after = after if 0 <= after <= (events[-1].seq if events else 0) else 0
        for event in events:
            if event.seq <= after:
                at_end = ends_run(event, so_far=at_end)
    place = wiring.hub.subscribe(session_id, wiring.storage, after=after, tenant=wiring.options.tenant)
    if not begun:
        place.fall_behind()
    return EventStream(caller, place, has_room=has_room, at_end=at_end, speak=speak, ids=ids, headers=headers or {})
