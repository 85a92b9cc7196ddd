"""Following a session over connections that break, on servers that say exactly what the test wants."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from roundtable.client import RoundtableClient, ServerError, SyncRoundtableClient
from roundtable.client.connection import Connection
from roundtable.client.streams import EventStream
from roundtable.errors import APINetworkError, APITimeoutError, ConfigurationError, SessionConflict, SessionNotFound
from roundtable.testing.doubles import ManualClock
from roundtable.testing.servers import LoopbackServer, WireReply, http_reply, sse_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.anyio

AT = "2026-01-01T00:00:00Z"


def told(kind: str, seq: int, **data: Any) -> bytes:
    """Return an event as a server sends it."""
    numbered = {"sessionId": "s1", "timestamp": AT, "seq": seq, **data}
    return b"data: " + json.dumps({"type": kind, "data": numbered}).encode() + b"\n\n"


START = told("debate_start", 1, topic="Tea?", mode="collaborative", agents=["ada"], rounds=1)
ROUND = told("round_start", 2, round=1, agents=["ada"])
LIVE = (
    b'data: {"type":"agent_response_chunk","data":{"sessionId":"s1","timestamp":"'
    + AT.encode()
    + (b'","after":2,"agent":"ada","round":1,"chunk":"Te"}}\n\n')
)
END = told("debate_complete", 3, status="completed", totalRounds=1)
BEAT = b": still here\n\n"


def stream_of(*events: bytes, whole: bool = True) -> WireReply:
    return sse_reply(events, whole=whole)


@contextmanager
def serving(*replies: WireReply) -> Iterator[LoopbackServer]:
    """Serve answers in order; all of them have to be asked for."""
    with LoopbackServer() as server:
        server.queue(*replies)
        yield server
        assert len(server.seen) == len(replies)


def refusal(status: int, body: bytes, **headers: str) -> WireReply:
    return http_reply(body, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


async def heard(url: str, *, after: int = 0, **options: Any) -> tuple[list[Any], ManualClock]:
    """Read a session to its end."""
    clock = ManualClock()
    connection = Connection(url, None, client=None, timeout_s=5)
    try:
        async with EventStream(connection, "s1", after=after, clock=clock, **options) as stream:
            return [event async for event in stream], clock
    finally:
        await connection.aclose()


def kinds(events: Sequence[Any]) -> list[str]:
    return [event.type for event in events]


async def test_events_are_typed_and_comments_are_skipped() -> None:
    with serving(stream_of(START, BEAT, ROUND + LIVE, END)) as server:
        events, _ = await heard(server.origin)
    assert kinds(events) == ["debate_start", "round_start", "agent_response_chunk", "debate_complete"]
    assert events[2].chunk == "Te"
    assert server.seen[0].path == "/api/sessions/s1/events?after=0"


async def test_a_broken_connection_is_reopened_and_no_event_comes_twice() -> None:
    with serving(stream_of(START, ROUND, whole=False), stream_of(ROUND, LIVE, END)) as server:
        events, clock = await heard(server.origin)
    assert kinds(events) == ["debate_start", "round_start", "agent_response_chunk", "debate_complete"]
    assert [seen.path.partition("?")[2] for seen in server.seen] == ["after=0", "after=2"]
    assert 0.5 <= clock.monotonic() <= 0.6


async def test_a_stream_that_a_proxy_ends_is_opened_again() -> None:
    with serving(stream_of(START), stream_of(ROUND), stream_of(END)) as server:
        events, _ = await heard(server.origin)
    assert kinds(events) == ["debate_start", "round_start", "debate_complete"]


async def test_a_stream_without_further_events_ends() -> None:
    with serving(stream_of(), stream_of(), http_reply(b'{"sessionStatus": "completed"}')) as server:
        assert (await heard(server.origin, after=3))[0] == []


async def test_a_running_session_is_followed_although_streams_end_without_an_event() -> None:
    running = http_reply(b'{"sessionStatus": "active"}')
    with serving(stream_of(START), stream_of(BEAT), running, stream_of(END)) as server:
        events, clock = await heard(server.origin)
    assert kinds(events) == ["debate_start", "debate_complete"]
    assert clock.monotonic() == 0.5


async def test_a_session_that_only_seems_to_run_is_abandoned_after_the_documented_time() -> None:
    running = http_reply(b'{"sessionStatus": "active"}')
    replies = [stream_of(START), stream_of(BEAT), *[running, stream_of()] * 6, running]
    with serving(*replies) as server, pytest.raises(APITimeoutError, match="no event for 20 s") as caught:
        await heard(server.origin, patience_s=20)
    assert "Resume the session" in (caught.value.hint or "")


async def test_each_event_restarts_the_patience() -> None:
    running = http_reply(b'{"sessionStatus": "active"}')
    silence = [stream_of(), *[running, stream_of()] * 5, running]
    with serving(stream_of(START), *silence, stream_of(ROUND), *silence, stream_of(END)) as server:
        events, clock = await heard(server.origin, patience_s=20)
    assert kinds(events) == ["debate_start", "round_start", "debate_complete"]
    assert clock.monotonic() > 20


async def test_the_patience_starts_when_streams_start_to_end_and_not_with_the_last_event() -> None:
    running, clock = http_reply(b'{"sessionStatus": "active"}'), ManualClock()
    with serving(stream_of(START), stream_of(BEAT), running, stream_of(END)) as server:
        connection = Connection(server.origin, None, client=None, timeout_s=5)
        async with EventStream(connection, "s1", patience_s=20, clock=clock) as stream:
            events = [await anext(stream)]
            clock.move(30)  # one long connection, until the server restarts twice
            events += [event async for event in stream]
        await connection.aclose()
    assert kinds(events) == ["debate_start", "debate_complete"]


async def test_a_session_that_was_stored_again_is_streamed_from_its_start() -> None:
    with serving(stream_of(START, ROUND, whole=False), stream_of(START, ROUND, END)) as server:
        events, _ = await heard(server.origin, after=9)
    assert kinds(events) == ["debate_start", "round_start"] * 2 + ["debate_complete"]


async def test_old_events_do_not_keep_a_stream_open() -> None:
    done = http_reply(b'{"sessionStatus": "completed"}')
    with serving(stream_of(ROUND), stream_of(ROUND), done) as server:
        assert (await heard(server.origin, after=3))[0] == []


async def test_events_after_the_end_of_the_debate_are_delivered() -> None:
    late = told("synthesis_complete", 4, error={"code": "PARSE_ERROR", "message": "no", "name": "ParseError"})
    with serving(stream_of(START, END, late)) as server:
        assert kinds((await heard(server.origin))[0]) == ["debate_start", "debate_complete", "synthesis_complete"]


@pytest.mark.slow
async def test_a_silent_server_counts_as_disconnected() -> None:
    silent = WireReply([*stream_of(START, whole=False).parts, 5.0], "close")
    with serving(silent, stream_of(END)) as server:
        events, _ = await heard(server.origin, silence_s=1.0)
    assert kinds(events) == ["debate_start", "debate_complete"]


async def test_a_server_that_stays_away_is_abandoned() -> None:
    busy = refusal(503, b'{"error": "full", "code": "STORAGE_ERROR"}', retry_after="7")
    with serving(*[busy] * 4) as server:
        with pytest.raises(ServerError, match="full") as caught:
            await heard(server.origin, attempts=4)
        assert (caught.value.status, caught.value.retry_after_s) == (503, 7.0)


async def test_an_unknown_event_of_a_newer_server_is_skipped() -> None:
    with serving(stream_of(START, told("mind_reading", 2), END)) as server:
        assert kinds((await heard(server.origin))[0]) == ["debate_start", "debate_complete"]


@pytest.mark.parametrize("code", ["SERVER_SHUTDOWN", "STORAGE_ERROR"])
async def test_a_server_that_announces_its_end_is_asked_again(code: str) -> None:
    data = {"error": "connect again", "code": code, "recoverable": True, "timestamp": AT}
    leave = b"data: " + json.dumps({"type": "error", "data": data}).encode() + b"\n\n"
    with serving(stream_of(START, leave), stream_of(ROUND, END)) as server:
        events, _ = await heard(server.origin)
    assert kinds(events) == ["debate_start", "round_start", "debate_complete"]
    assert server.seen[1].path == "/api/sessions/s1/events?after=1"


async def test_an_expired_token_is_an_error() -> None:
    gone = b'data: {"type":"error","data":{"error":"the token is no longer valid","code":"UNAUTHORIZED"}}\n\n'
    with serving(stream_of(START, gone)) as server, pytest.raises(ServerError, match="no longer valid") as caught:
        await heard(server.origin)
    assert caught.value.code == "UNAUTHORIZED"


async def test_a_session_that_no_process_runs_any_more_is_an_error_that_says_what_to_do() -> None:
    dead = b'data: {"type":"error","data":{"error":"nobody runs it","code":"SESSION_INTERRUPTED"}}\n\n'
    with serving(stream_of(START, dead)) as server, pytest.raises(ServerError, match="nobody runs it") as caught:
        await heard(server.origin)
    assert caught.value.hint == "The process that ran the session has ended. Continue the session with `resume`."


@pytest.mark.parametrize("junk", [b"data: {\n\n", b"data: []\n\n", b'data: {"type": "round_start"}\n\n'])
async def test_an_invalid_event_counts_as_a_network_failure(junk: bytes) -> None:
    with serving(stream_of(junk), stream_of(START, END)) as server:
        assert len((await heard(server.origin))[0]) == 2


async def test_an_event_that_does_not_fit_its_schema_ends_the_stream() -> None:
    odd = stream_of(told("round_start", 1, round="many"))
    with serving(odd) as server, pytest.raises(APINetworkError, match="does not match"):
        await heard(server.origin)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "SESSION_ERROR", SessionNotFound),
        (409, "SESSION_ERROR", SessionConflict),
        (401, "UNAUTHORIZED", ServerError),
        (404, "NOT_FOUND", ServerError),
    ],
)
async def test_refusals_have_types(status: int, code: str, kind: type[Exception]) -> None:
    body = json.dumps({"error": "no", "code": code, "requestId": "r1"}).encode()
    with serving(refusal(status, body)) as server:
        async with RoundtableClient(server.origin) as client:
            with pytest.raises(kind, match="no"):
                await client.result("s1")
    assert server.seen[0].path == "/api/sessions/s1/export?format=json"


async def test_an_answer_that_is_not_json_is_reported_as_it_is() -> None:
    with serving(refusal(502, b"<h1>Bad gateway</h1>")) as server:
        async with RoundtableClient(server.origin) as client:
            with pytest.raises(ServerError, match="Bad gateway") as caught:
                await client.me()
    assert caught.value.retryable


async def test_a_request_that_begins_a_debate_is_sent_again_under_the_same_key() -> None:
    with serving(WireReply([b"HTTP/1.1 2"], end="close"), refusal(202, b'{"sessionId": "s9"}')) as server:
        async with RoundtableClient(server.origin, token="rt_x") as client:
            assert await client.start("Tea?", mode="delphi", focus_question="Which?", rounds=2) == "s9"
    keys = {seen.headers["idempotency-key"] for seen in server.seen}
    assert len(keys) == 1
    assert server.seen[1].json == {"topic": "Tea?", "mode": "delphi", "focusQuestion": "Which?", "rounds": 2}
    assert server.seen[0].headers["authorization"] == "Bearer rt_x"


def test_a_token_is_never_sent_over_plain_http_to_another_machine() -> None:
    with pytest.raises(ConfigurationError, match="plain http"):
        RoundtableClient("http://debates.example.org", token="rt_x")
    assert "rt_x" not in repr(RoundtableClient("https://debates.example.org", token="rt_x"))


def test_the_blocking_client_follows_streams_too() -> None:
    with (
        serving(stream_of(START, ROUND, whole=False), stream_of(END)) as server,
        SyncRoundtableClient(server.origin) as client,
        client.watch("s1") as events,
    ):
        assert kinds(list(events)) == ["debate_start", "round_start", "debate_complete"]
        assert (events.session_id, events.last_seq) == ("s1", 3)
