"""Runs that a request starts: limits, idempotency keys, and the kind of response that the caller wants."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeAlias

import anyio
from fastapi import Depends, Header, Query, Request
from fastapi.responses import Response
from pydantic import Field, ValidationError

from roundtable.core.errors import RoundtableError, SessionBusy, SessionConflict, StorageError
from roundtable.core.record.fold import Fold
from roundtable.core.types.base import Timestamp, Value
from roundtable.core.types.events import Control
from roundtable.results.debate_result import DebateResult
from roundtable.server.limits import Further
from roundtable.server.openapi_parts import json_response, streams
from roundtable.server.request_bodies import LONGEST_WAIT_S
from roundtable.server.response_bodies import Started, links_of
from roundtable.server.streams import event_stream, followed_session, resume_point, unknown_event_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from roundtable.api.runs import DebateHandle
    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.events import DurableEvent
    from roundtable.server.connections import WaitingResponse
    from roundtable.server.limits import Admission
    from roundtable.server.state import Caller

__all__ = [
    "KEPT_S",
    "RUN_RESPONSES",
    "Begin",
    "Claimed",
    "Count",
    "Keys",
    "ResponseOptions",
    "check_limits",
    "follow",
    "further_rounds",
    "json_answer",
    "launch",
    "resume_counted",
    "resume_counted_locked",
    "start_run",
    "until_begun",
]

_UNDO_S: Final = 2.0
_ENDING_S: Final = 5.0

KEPT_S: Final = 86_400
"""Seconds for which an idempotency key is stored."""
_TENANT: Final = ":requests"  # no user is called so
_CLAIM_S: Final = 60
"""Seconds after which a request that has not finished counts as dead."""
_PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.05

RUN_RESPONSES: Final = {
    **streams(
        "A stream of the events; or the result, if the request waited for it and the run ended in time.", DebateResult
    ),
    **json_response(
        "The session runs in the background; the header `Location` has its path.",
        Started,
        status=202,
        example={
            "sessionId": "0c8f",
            "sessionStatus": "created",
            "links": links_of("0c8f").model_dump(mode="json"),
        },
    ),
}
"""Responses of endpoints that start a run."""

_RUNNING: Final = "session {!r} is running; it can be changed only while it is not running"
_RUNNING_HINT: Final = "Wait for its end, or pause it."

_START_CHECK_S: Final = 5.0
"""Seconds within which an error at the start of a run is raised to the caller of the request."""


async def start_run(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], *, rounds: int, shared: int = 0
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Count a conversation or debate for the caller's limits and start it in their tenant session.

    Make all other checks before you call this. It checks the limits before `start`, and doesn't count a run that
    `start` refuses.

    Args:
        caller: Who makes the request.
        start: Starts the run.
        rounds: Number of the last round that the run may reach.
        shared: How many of these rounds the run shares with another session.

    Returns:
        The run, and the response headers about the limits.

    Raises:
        RateLimited: One of the caller's limits is used up.
        RoundtableError: The error that `start` raises.
    """
    admission = await caller.state.limits.admit(caller.identity.user, rounds=max(0, rounds - shared))
    handle = await _start_or_undo(caller, admission, start)
    if shared:
        caller.state.figures.count_fork()
    admission.hold(handle, session=handle.session_id, through=rounds)
    return handle, admission.headers


async def resume_counted(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], further: Further
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Count and resume a session, like `start_run`: it takes a slot, and its rounds count unless they were counted.

    Args:
        caller: Who makes the request.
        start: Resumes the session.
        further: The rounds that the session may run; see `further_rounds`.

    Raises:
        SessionConflict: The session is running here.
        SessionBusy: Another process runs the session.
        RateLimited: One of the caller's limits is used up.
        RoundtableError: The error that `start` raises.
    """
    # If two requests arrive together, only one may resume; the other would wait for the end and then resume again.
    async with caller.tenant_session.lock_session(further.session):
        await _check_not_running_elsewhere(caller, further.session)
        return await resume_counted_locked(caller, start, further)


async def resume_counted_locked(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], further: Further
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Count and resume a session, like `resume_counted`, inside a block of `TenantSession.lock_session`."""
    await _check_not_running(caller, further.session)
    admission = await caller.state.limits.go_on(caller.identity.user, further)
    handle = await _start_or_undo(caller, admission, start)
    admission.hold(handle)
    return handle, admission.headers


async def _check_not_running(caller: Caller, session_id: str) -> None:
    """Check that a session is not running.

    Raises:
        SessionConflict: The session is running.
    """
    running = caller.tenant_session.running(session_id)
    if running is not None:
        # Clients may receive the last event before the run is cleaned up.
        fold = await caller.tenant_session.table.state(session_id)
        if fold.progress.status not in {"created", "active"}:
            with anyio.move_on_after(_ENDING_S):
                await running.wait()
    if caller.tenant_session.running(session_id) is not None:
        raise SessionConflict(_RUNNING.format(session_id), hint=_RUNNING_HINT)


async def _check_not_running_elsewhere(caller: Caller, session_id: str) -> None:
    """Check that no other process runs a session, so that the request does not wait until the session's lease ends.

    A process that has just paused or ended the session may still have the lease; `start_resume` waits in this case.

    Raises:
        SessionBusy: Another process runs the session.
    """
    table = caller.tenant_session.table
    if caller.tenant_session.running(session_id) is not None or not await table.is_running(session_id):
        return
    if (await table.state(session_id)).progress.status in {"created", "active"}:
        hint = f"{_RUNNING_HINT} If its server died, try again after 15 seconds."
        raise SessionBusy(_RUNNING.format(session_id), hint=hint)


async def _start_or_undo(
    caller: Caller, admission: Admission, start: Callable[[], Awaitable[DebateHandle]]
) -> DebateHandle:
    try:
        handle = await start()
    except BaseException:
        with anyio.move_on_after(_UNDO_S, shield=True):
            await admission.undo()
        raise
    caller.tenant_session.keep(handle)
    return handle


async def further_rounds(
    caller: Caller, session_id: str, *, added: int = 0, step: bool = False
) -> tuple[Fold, Further]:
    """Return which rounds a session may run when it is resumed.

    Args:
        caller: Owner of the session.
        session_id: Id of the session.
        added: Number of rounds to add, as for `extend`.
        step: Whether to run only the next round.

    Returns:
        The session, and its rounds.

    Raises:
        SessionNotFound: No session has this id.
        StorageError: The session could not be read.
    """
    table = caller.tenant_session.table
    record, events = await table.storage.read(session_id, tenant=table.tenant)
    fold = Fold(record, events)
    status, current, planned, _ = fold.progress
    complete = sum(entry.complete for entry in fold.rounds)
    through = (current if status == "completed" else planned) + added
    least = max(added, int(_repeats_calls(fold, events)))
    return fold, Further(session_id, complete, min(through, complete + 1) if step else through, least)


def _repeats_calls(fold: Fold, events: Sequence[DurableEvent]) -> bool:
    """Check whether calls will be made again because they failed, or because a user or a timeout cancelled them.

    Calls that were interrupted by the end of a server or process do not count, since users did not cause this.
    """
    if fold.progress.status == "error" or (fold.exit is not None and fold.exit.reason == "deadline"):
        return True
    if fold.exit is None or fold.exit.reason != "paused":
        return False
    controls = (event for event in reversed(events) if isinstance(event, Control))
    return any(control.cancels for control in takewhile(lambda control: control.action == "pause", controls))


class _Claim(Value):
    """The request that uses an idempotency key."""

    claim: str
    """Random id of the request that claimed the key."""
    request: str
    """Digest of the request's content."""
    at: Timestamp
    """When the key was claimed."""
    session_id: str | None = Field(default=None)
    """Session that the request started; `None` while it is starting."""
    after: int | None = Field(default=None)
    """Number of the last event before the request; stored only if the request continues a session."""


class Claimed(NamedTuple):
    """The session of an idempotency key."""

    session_id: str
    """Id of the session."""
    started: bool
    """Whether this request started the session."""
    after: int | None
    """Number of the last event before the first request with the key, if that request continued a session."""


class Keys:
    """The idempotency keys of all users.

    Args:
        values: Key-value store for the keys.
        clock: Clock that decides how old the keys are.
        patience_s: Seconds for which a second request waits for the first request.
    """

    def __init__(self, values: KeyValue, clock: SleepingClock, *, patience_s: float = _PATIENCE_S) -> None:
        self._values = values
        self._clock = clock
        self._patience_s = patience_s

    async def once(
        self,
        user: str,
        key: str,
        request: bytes,
        begin: Callable[[], Awaitable[str]],
        *,
        after: int | None = None,
    ) -> Claimed:
        """Start a session once per key: return the session of an earlier request with this key, or start a session.

        Args:
            user: Who makes the request.
            key: The user's idempotency key.
            request: Content of the request; different content with the same key is refused.
            begin: Starts the session and returns its id; if it raises, the key can be used again.
            after: Number of the last event of a session that is continued; `None` for a new session.

        Returns:
            The session, whether this request started it, and the `after` of the first request with this key.

        Raises:
            RoundtableError: The key was used for another request (`IDEMPOTENCY_KEY_REUSED`), or the first request with
                this key is still being answered (`IDEMPOTENCY_KEY_IN_USE`).
        """
        entry_key = f"{user}/{sha256(key.encode()).hexdigest()}"
        mine = _Claim(
            claim=secrets.token_hex(8), request=sha256(request).hexdigest(), at=self._clock.now(), after=after
        )
        current = await self._claim(entry_key, mine)
        if current.claim != mine.claim:
            return await self._wait_for_other(entry_key, mine, current)
        try:
            session_id = await begin()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._values.delete(entry_key, tenant=_TENANT)
            raise
        finished = mine.model_copy(update={"session_id": session_id})
        with anyio.CancelScope(shield=True):
            await self._values.put(entry_key, _stored(finished), ttl_s=KEPT_S, tenant=_TENANT)
        return Claimed(session_id, started=True, after=after)

    async def _claim(self, entry_key: str, mine: _Claim) -> _Claim:
        def take(value: JsonValue) -> JsonValue:
            claim = _parse_claim(value)
            return value if claim is not None and not self._has_expired(claim) else _stored(mine)

        stored = _parse_claim(await self._values.update(entry_key, take, ttl_s=KEPT_S, tenant=_TENANT))
        return stored or mine

    def _has_expired(self, claim: _Claim) -> bool:
        age_s = (self._clock.now() - claim.at).total_seconds()
        return age_s > (_CLAIM_S if claim.session_id is None else KEPT_S)

    async def _wait_for_other(self, entry_key: str, mine: _Claim, claim: _Claim) -> Claimed:
        if claim.request != mine.request:
            msg = "this Idempotency-Key was used for another request"
            raise RoundtableError(msg, code="IDEMPOTENCY_KEY_REUSED", hint="Use a new key for each request.")
        with anyio.move_on_after(self._patience_s):
            while claim.session_id is None:
                await anyio.sleep(_POLL_S)
                stored = _parse_claim(await self._values.get(entry_key, tenant=_TENANT))
                if stored is None:
                    break
                claim = stored
        if claim.session_id is None:
            msg = "the first request with this Idempotency-Key is still being answered, or has just failed"
            raise RoundtableError(msg, code="IDEMPOTENCY_KEY_IN_USE", retryable=True, retry_after_s=1)
        return Claimed(claim.session_id, started=False, after=claim.after)


def _stored(claim: _Claim) -> JsonValue:
    # Leave out fields that are `None`, since servers of earlier releases refuse fields that they do not know.
    return claim.model_dump(mode="json", exclude_none=True)


def _parse_claim(value: JsonValue) -> _Claim | None:
    if value is None:
        return None
    try:
        return _Claim.model_validate(value, strict=False)
    except ValidationError as error:
        raise StorageError("the stored request of an Idempotency-Key cannot be read", cause=error) from error


Begin: TypeAlias = Callable[[], Awaitable["DebateHandle"]]
"""Starts a run."""
Count: TypeAlias = Callable[[Begin], Awaitable[tuple["DebateHandle", "Mapping[str, str]"]]]
"""Starts a run that counts for the limits; returns the run and the response headers about the limits."""


@dataclass(frozen=True, slots=True)
class _ResponseOptions:
    """How a caller wants the response to a request that starts a run."""

    request: Request
    wait_s: float | None
    key: str | None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def streams(self) -> bool:
        """Whether the caller wants events."""
        return "text/event-stream" in self.request.headers.get("accept", "")

    @property
    def holds(self) -> bool:
        """Whether the connection stays open during the run."""
        return self.streams or bool(self.wait_s)

    @property
    def follows(self) -> bool:
        """Whether the caller continues an interrupted stream, after the event that `Last-Event-ID` names."""
        return self.streams and self.key is None and bool(self.request.headers.get("last-event-id"))


async def _response_options(
    request: Request,
    wait: Annotated[
        float | None,
        Query(
            ge=0,
            le=LONGEST_WAIT_S,
            description="Seconds to wait for the end of the run. If the run ends in this time, the response is the "
            "result. If the run takes longer, if the server shuts down, or if `wait` is left out, the response is 202 "
            "and the session runs in the background. A request that waits counts as an open stream.",
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=200,
            pattern=r"^[!-~]+$",
            description="A second request with the same key within 24 hours returns the session of the first request, "
            "and starts nothing new. Its stream begins where the stream of the first request began.",
        ),
    ] = None,
) -> _ResponseOptions:
    return _ResponseOptions(request, wait, idempotency_key)


ResponseOptions = Annotated[_ResponseOptions, Depends(_response_options)]
"""How a caller wants the response to a request that starts a run."""


def json_answer(value: Value, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as a JSON response."""
    all_headers = {"cache-control": "no-store", **(headers or {})}
    return Response(value.to_json(), status, all_headers, media_type="application/json")


def until_begun(begin: Begin) -> Begin:
    """Wrap `begin` so that it also raises errors at the start of the run, instead of only storing them."""

    async def start() -> DebateHandle:
        # Shielded, so that a run that has started is counted and kept even if its request is cancelled now.
        handles: list[DebateHandle] = []
        with anyio.CancelScope(shield=True):
            handles.append(await begin())
            with anyio.move_on_after(_START_CHECK_S):
                await handles[0].begun()
        return handles[0]

    return start


async def check_limits(caller: Caller, wanted: _ResponseOptions, rounds: int) -> None:
    """Check the caller's limits before the request is checked in detail.

    This does not apply to two kinds of requests. With an idempotency key, the session may already exist and not count
    again; `launch` checks this. A request that continues a stream starts nothing.

    Raises:
        RateLimited: The caller has used up a limit.
    """
    if wanted.key is None and not wanted.follows:
        await caller.state.limits.check(caller.identity.user, rounds=rounds)


async def launch(
    caller: Caller,
    wanted: _ResponseOptions,
    begin: Begin,
    *,
    request: bytes,
    count: Count,
    goes_on_from: int | None = None,
) -> Response:
    """Start a run and return the response; call this after everything else is checked.

    Args:
        caller: Who makes the request.
        wanted: How the caller wants the response.
        begin: Starts the run.
        request: Content of the request, compared when an idempotency key is used again.
        count: Starts the run and counts it for the caller's limits.
        goes_on_from: Number of the last event of a session that is resumed; `None` for a new session.

    Raises:
        RateLimited: The caller has used up a limit, or has too many open streams.
        RoundtableError: The run cannot start, or `Last-Event-ID` is not an id of this server.
    """
    # The stream of a new session gets all events from the first one, including errors at its start.
    streams_at_once = wanted.streams and wanted.key is None and goes_on_from is None
    starter = begin if streams_at_once else until_begun(begin)

    async def start_counted() -> str:
        handle, headers = await count(starter)
        wanted.headers.update(headers)
        if wanted.streams:
            caller.state.streams.register_run(caller.tenant_session, handle)
        return handle.session_id

    # A request that keeps its connection open needs room among the open streams before anything starts.
    with caller.state.streams.count_stream(caller.tenant_session) if wanted.holds else nullcontext() as waiting:
        if streams_at_once:
            _, _, ids = resume_point(wanted.request)
            if (followed := followed_session(wanted.request)) is not None:
                session_id, after = followed
                return await event_stream(caller, session_id, after=after, has_room=True, ids=True)
            session_id = await start_counted()
            return await event_stream(caller, session_id, begun=True, has_room=True, ids=ids, headers=wanted.headers)
        if wanted.key is None:
            session_id = await start_counted()
        else:
            claimed = await _once(caller, wanted, request, start_counted, goes_on_from)
            session_id, goes_on_from = claimed.session_id, claimed.after
        if wanted.streams:
            return await _stream_response(caller, wanted, session_id, goes_on_from)
        return await _json_response(caller, wanted, session_id, waiting)


async def follow(caller: Caller, wanted: _ResponseOptions, session_id: str) -> Response:
    """Return the rest of a stream that broke off, from the event that `Last-Event-ID` names; start nothing.

    Raises:
        RoundtableError: The header names no event of this session; the code is `UNKNOWN_EVENT_ID`.
    """
    named, after, _ = resume_point(wanted.request)
    if not after or named not in {None, session_id}:
        raise unknown_event_id(f"an event of session {session_id!r}", "Leave out the header to continue the session.")
    with caller.state.streams.count_stream(caller.tenant_session):
        return await event_stream(caller, session_id, after=after, has_room=True, ids=True)


async def _once(
    caller: Caller,
    wanted: _ResponseOptions,
    request: bytes,
    begin: Callable[[], Awaitable[str]],
    goes_on_from: int | None,
) -> Claimed:
    """Start or continue the session of the caller's key, unless an earlier request has already done so."""
    keys = Keys(caller.state.table.key_value("idempotency keys"), caller.state.clock)
    return await keys.once(caller.identity.user, wanted.key or "", request, begin, after=goes_on_from)


async def _stream_response(
    caller: Caller, wanted: _ResponseOptions, session_id: str, goes_on_from: int | None
) -> Response:
    _, after, ids = resume_point(wanted.request, session_id)
    if goes_on_from is not None:
        after = after or goes_on_from
        await _wait_for_new_event(caller, session_id, goes_on_from)
    return await event_stream(caller, session_id, after=after, has_room=True, ids=ids, headers=wanted.headers)


async def _json_response(
    caller: Caller, wanted: _ResponseOptions, session_id: str, waiting: WaitingResponse | None
) -> Response:
    if waiting is not None and await _wait_for_end(caller, wanted, session_id, waiting):
        handle = caller.tenant_session.handle(session_id)
        result = await caller.tenant_session.table.session(session_id) if handle is None else await handle.result()
        return json_answer(result, 200, wanted.headers)
    current = await caller.tenant_session.table.session(session_id)
    links = links_of(session_id)
    body = Started(session_id=session_id, session_status=current.session_status, links=links)
    return json_answer(body, 202, {"location": links.self, **wanted.headers})


async def _wait_for_new_event(caller: Caller, session_id: str, last: int) -> None:
    """Wait until an event is stored after the event `last`; otherwise a stream from there would end at once."""
    subscription = caller.tenant_session.table.subscribe(session_id, after=last, pieces=False)
    with subscription, anyio.move_on_after(_START_CHECK_S):
        while subscription.last_seq == last:
            await subscription.take()


async def _wait_for_end(caller: Caller, wanted: _ResponseOptions, session_id: str, waiting: WaitingResponse) -> bool:
    """Wait for the end of a run in this process or another one; return whether the run ended in time."""
    handle = caller.tenant_session.handle(session_id)

    async def watch_until_end() -> None:
        async with caller.tenant_session.table.watch(session_id) as events:
            async for _ in events:
                pass

    wait = watch_until_end if handle is None else handle.wait
    return await waiting.over(wait, wanted.wait_s or 0, wanted.request.receive)
