"""Runs that a call begins: counted, begun once, and told in the form that the caller wants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import anyio
from fastapi import Depends, Header, Query, Request
from fastapi.responses import Response

from roundtable.result import DebateResult
from roundtable.server.answers import Started, links_of
from roundtable.server.bodies import LONGEST_WAIT_S
from roundtable.server.describing import gives, streams
from roundtable.server.idempotency import Keys
from roundtable.server.streams import event_stream, resume_point

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.api.handle import DebateHandle
    from roundtable.protocols import KeyValue
    from roundtable.server.holding import Held
    from roundtable.server.state import Caller
    from roundtable.types.base import Value

__all__ = ["ANSWERED", "Begin", "Count", "Wanted", "check_limits", "json_answer", "launch", "until_begun"]

ANSWERED: Final = {
    **streams("The result, where the end was waited for; or the events as they happen.", DebateResult),
    **gives(
        "It runs by itself; `Location` is its session.",
        Started,
        status=202,
        example={
            "sessionId": "0c8f",
            "sessionStatus": "created",
            "links": links_of("0c8f").model_dump(mode="json"),
        },
    ),
}
"""The answers of what begins a run."""

_LOOK_S: Final = 5.0
"""Seconds in which what keeps a run from going on is told in the answer."""

Begin: TypeAlias = Callable[[], Awaitable["DebateHandle"]]
"""Begins a run."""
Count: TypeAlias = Callable[[Begin], Awaitable[tuple["DebateHandle", "Mapping[str, str]"]]]
"""Lets a run begin that counts; gives it, with headers that tell the limits."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """How a caller wants to hear of what begins."""

    request: Request
    wait_s: float | None
    key: str | None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def streams(self) -> bool:
        """Whether they want events."""
        return "text/event-stream" in self.request.headers.get("accept", "")

    @property
    def holds(self) -> bool:
        """Whether their connection is held until there is something to tell."""
        return self.streams or bool(self.wait_s)


async def _wanted(
    request: Request,
    wait: Annotated[
        float | None,
        Query(
            ge=0,
            le=LONGEST_WAIT_S,
            description="Seconds to wait for the end; the result is the answer then. After them, when the server is "
            "asked to end, and without it, the answer is 202, and the session goes on by itself. An answer that waits "
            "counts as an open stream.",
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            pattern=r"^[!-~]+$",
            description="The same key within 24 hours gives the same session and begins nothing.",
        ),
    ] = None,
) -> _Wanted:
    return _Wanted(request, wait, idempotency_key)


Wanted = Annotated[_Wanted, Depends(_wanted)]
"""How a caller wants to hear of what begins."""


def json_answer(value: Value, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Answer with a value as JSON."""
    kept = {"cache-control": "no-store", **(headers or {})}
    return Response(value.to_json(), status, kept, media_type="application/json")


def until_begun(begin: Begin) -> Begin:
    """Have what begins a run also raise what keeps it from going on, which else only those hear who look later."""

    async def start() -> DebateHandle:
        # What has begun counts and is kept, even where its caller is sent away just now.
        handles: list[DebateHandle] = []
        with anyio.CancelScope(shield=True):
            handles.append(await begin())
            with anyio.move_on_after(_LOOK_S):
                await handles[0].begun()
        return handles[0]

    return start


async def check_limits(caller: Caller, wanted: _Wanted, rounds: int) -> None:
    """Refuse what the caller's limits do not allow, before work is put into finding out whether it can be held.

    Under a key it may have begun long ago, and then counts no more: `launch` finds out.

    Raises:
        RateLimited: The caller has used up a limit.
    """
    if wanted.key is None:
        await caller.state.limits.check(caller.identity.user, rounds=rounds)


async def launch(
    caller: Caller, wanted: _Wanted, begin: Begin, *, request: bytes, count: Count, goes_on_from: int | None = None
) -> Response:
    """Begin a run and answer with it; call this after everything else is checked.

    Args:
        caller: Who asks.
        wanted: How they want to hear of it.
        begin: Begins it.
        request: What is asked for, told apart under a caller's key.
        count: Lets it begin, counted for the caller's limits.
        goes_on_from: Number of the last event of a session that goes on; `None` where one begins.

    Raises:
        RateLimited: The caller has used up a limit, or holds as many connections as they may.
        RoundtableError: The run cannot begin.
    """
    # A stream hears a new session from its very first event on, and with it what keeps it from going on.
    at_once = wanted.streams and wanted.key is None and goes_on_from is None
    start = begin if at_once else until_begun(begin)

    async def counted() -> str:
        handle, headers = await count(start)
        wanted.headers.update(headers)
        return handle.session_id

    # Whoever holds a connection needs room for it before anything begins.
    with caller.state.streams.room(caller.desk) if wanted.holds else nullcontext() as held:
        if at_once:
            _, _, ids = resume_point(wanted.request)
            session_id = await counted()
            return await event_stream(caller, session_id, begun=True, has_room=True, ids=ids, headers=wanted.headers)
        session_id = await (counted() if wanted.key is None else _once(caller, wanted, request, counted))
        if wanted.streams:
            return await _followed(caller, wanted, session_id, goes_on_from)
        return await _answer(caller, wanted, session_id, held)


async def _once(caller: Caller, wanted: _Wanted, request: bytes, begin: Callable[[], Awaitable[str]]) -> str:
    """Begin what the caller's key stands for, unless it has begun; give its session."""
    values: KeyValue = caller.state.table.wiring.storage.kv  # type: ignore[attr-defined]  # limits need it too
    keys = Keys(values, caller.state.clock)
    session_id, _ = await keys.once(caller.identity.user, wanted.key or "", request, begin)
    return session_id


async def _followed(caller: Caller, wanted: _Wanted, session_id: str, goes_on_from: int | None) -> Response:
    _, after, ids = resume_point(wanted.request, session_id)
    if goes_on_from is not None:
        after = after or goes_on_from
        await _goes_on(caller, session_id, goes_on_from)
    return await event_stream(caller, session_id, after=after, has_room=True, ids=ids, headers=wanted.headers)


async def _answer(caller: Caller, wanted: _Wanted, session_id: str, held: Held | None) -> Response:
    if held is not None and await _over(caller, wanted, session_id, held):
        handle = caller.desk.handle(session_id)
        result = await caller.desk.table.session(session_id) if handle is None else await handle.result()
        return json_answer(result, 200, wanted.headers)
    found = await caller.desk.table.session(session_id)
    links = links_of(session_id)
    told = Started(session_id=session_id, session_status=found.session_status, links=links)
    return json_answer(told, 202, {"location": links.self, **wanted.headers})


async def _goes_on(caller: Caller, session_id: str, last: int) -> None:
    """Wait until something is stored after an event; a stream from there would otherwise end at once."""
    wiring = caller.desk.table.wiring
    heard = wiring.hub.subscribe(session_id, wiring.storage, after=last, tenant=wiring.options.tenant)
    with heard, anyio.move_on_after(_LOOK_S):
        while heard.last_seq == last:
            await heard.take()


async def _over(caller: Caller, wanted: _Wanted, session_id: str, held: Held) -> bool:
    """Wait for the end of a run, here or at another process; say whether it came."""
    handle = caller.desk.handle(session_id)

    async def elsewhere() -> None:
        async with caller.desk.table.watch(session_id) as events:
            async for _ in events:
                pass

    wait = elsewhere if handle is None else handle.wait
    return await held.over(wait, wanted.wait_s or 0, wanted.request.receive)
