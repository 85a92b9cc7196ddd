"""Sessions told as server-sent events: framing, ids, replay, heartbeats, clients that leave or do not read."""

from __future__ import annotations

import json
import random
import socket
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest
from fastapi import Request
from integration.engine_kit import Gated, eventually
from integration.server_kit import parsed, served, served_table, token_for
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from roundtable.api.tenants import TenantSessions
from roundtable.auth import LocalUser
from roundtable.core.base.clock import SystemClock
from roundtable.errors import AgentError, RoundtableError, StorageError
from roundtable.providers import Delay
from roundtable.server import create_app
from roundtable.server.connections import ListenerTracker
from roundtable.server.limits import Limits
from roundtable.server.serving import WireProtocol
from roundtable.server.state import Reader
from roundtable.server.streams import Streams, event_stream, resume_point
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel
from roundtable.types import Control, DebateConfig, utc_now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import FastAPI

    from roundtable import Roundtable

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


def told_app(table: Roundtable, **options: Any) -> FastAPI:
    """Return a server with an endpoint that streams a session, and one that begins it."""
    app = create_app(table, auth=options.pop("auth", LocalUser()), **options)
    formats = {"format_event": options.pop("format_event")} if "format_event" in options else {}

    @app.get("/told/{session_id}")
    async def told(session_id: str, caller: Reader, request: Request) -> Response:
        _, after, ids = resume_point(request, session_id)
        return await event_stream(caller, session_id, after=after, ids=ids, **formats)

    @app.post("/begin")
    async def begin(caller: Reader) -> str:
        handle = await caller.tenant_session.table.start("Tea or coffee?", rounds=1)
        caller.tenant_session.keep(handle)
        return handle.session_id

    return app


@asynccontextmanager
async def telling(table: Roundtable | None = None, **options: Any) -> AsyncIterator[tuple[httpx.AsyncClient, FastAPI]]:
    app = told_app(table or served_table(), **options)
    async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web:
        yield web, app


def numbered(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Read a stream with ids."""
    blocks = [block.split("\n") for block in text.split("\n\n") if "data: " in block]
    return [(lines[0] if len(lines) > 1 else "", json.loads(lines[-1][6:])) for lines in blocks]


def nobody_pauses() -> ListenerTracker:
    return ListenerTracker(MemoryStorage().kv, None, SystemClock())


async def test_a_stream_is_read_by_the_javascript_of_the_seed_and_replayed_as_it_was_stored() -> None:
    async with telling() as (web, app):
        session = (await web.post("/begin")).json()
        answer = await web.get(f"/told/{session}")
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-cache", "no")
        assert "\r" not in answer.text
        assert "id:" not in answer.text
        events = parsed(answer.text)
        assert (events[0]["type"], events[-1]["type"]) == ("debate_start", "debate_complete")
        stored = [one["data"]["seq"] for one in events if "seq" in one["data"]]
        assert stored == list(range(1, len(stored) + 1))
        again = parsed((await web.get(f"/told/{session}")).text)
        assert [one["data"]["seq"] for one in again] == stored
        assert len(app.state.roundtable.streams) == 0


@pytest.mark.slow
@pytest.mark.parametrize("place", ["{session}:{seq}", "{seq}"])
async def test_a_client_that_returns_with_an_event_id_gets_later_events(place: str) -> None:
    async with telling() as (web, _):
        session = (await web.post("/begin")).json()
        whole = numbered((await web.get(f"/told/{session}?ids=1")).text)
        ids = [one[0] for one in whole if one[0]]
        assert ids == [f"id: {session}:{number}" for number in range(1, len(ids) + 1)]
        stored = [event for name, event in whole if name]
        for seq in range(len(stored) + 1):
            back = {"last-event-id": place.format(session=session, seq=seq)}
            rest = numbered((await web.get(f"/told/{session}", headers=back)).text)
            assert [event for _, event in rest] == stored[seq:]


async def test_an_unknown_id_replays_everything() -> None:
    async with telling() as (web, _):
        session = (await web.post("/begin")).json()
        whole = [event for name, event in numbered((await web.get(f"/told/{session}?ids=1")).text) if name]
        for given in ("999", f"{session}:999", "other:2", "junk", "-1", "1e3", "\u00b2", "9" * 40):
            back = {b"last-event-id": given.encode("latin-1")}
            again = numbered((await web.get(f"/told/{session}", headers=back)).text)
            assert [event for _, event in again] == whole, given


async def test_an_unknown_session_is_a_404_and_no_stream() -> None:
    async with telling() as (web, _):
        answer = await web.get("/told/none")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


async def test_a_session_of_another_user_is_reported_like_an_unknown_one() -> None:
    table = served_table()
    tokens = [await token_for(table, user) for user in ("ann", "bob")]
    ann, bob = ({"authorization": f"Bearer {token}"} for token in tokens)
    async with telling(table, auth=None) as (web, _):
        session = (await web.post("/begin", headers=ann)).json()
        assert (await web.get(f"/told/{session}", headers=ann)).status_code == 200
        foreign = (await web.get(f"/told/{session}", headers=bob)).json()
        unknown = (await web.get("/told/none", headers=bob)).json()
        told = [{**one, "timestamp": "", "requestId": "", "error": ""} for one in (foreign, unknown)]
        assert told[0] == told[1]


async def test_heartbeats_are_comments_that_the_client_of_the_seed_ignores() -> None:
    model = Gated({"*": "Tea"})
    async with telling(served_table(agents=[model]), heartbeat_s=0.05) as (web, _):
        session, text = (await web.post("/begin")).json(), ""
        async with web.stream("GET", f"/told/{session}") as answer:
            async for piece in answer.aiter_text():
                text += piece
                if text.count(": keep-alive\n\n") == 2:
                    model.let()
        assert parsed(text)[-1]["type"] == "debate_complete"


async def test_a_stream_of_a_session_that_no_process_runs_ends_at_once() -> None:
    table = served_table()
    async with telling(table, heartbeat_s=0.02) as (web, _):
        sessions = table.for_tenant("default")._wiring.sessions
        left = await sessions.create_session(DebateConfig(topic="Tea?", agents=("ada", "bo")))
        (error,) = parsed((await web.get(f"/told/{left.id}")).text)
        assert (error["data"]["code"], error["data"]["recoverable"]) == ("SESSION_INTERRUPTED", True)
        assert error["data"]["error"] == f"no process runs session '{left.id}' any more"


@pytest.mark.slow
async def test_a_stream_of_a_session_between_two_steps_ends_at_once() -> None:
    table = served_table()
    async with telling(table) as (web, _), table.for_tenant("default") as tenant:
        handle = await tenant.start("Tea or coffee?", rounds=2, step=True)
        await handle.wait()
        began = time.monotonic()
        events = parsed((await web.get(f"/told/{handle.session_id}")).text)
        assert time.monotonic() - began < 10
        assert [event["type"] for event in events][-2:] == ["round_complete", "error"]
        assert events[-1]["data"]["code"] == "SESSION_INTERRUPTED"


async def test_a_session_that_is_resumed_just_after_its_stream_started_is_streamed() -> None:
    table = served_table()
    async with telling(table) as (web, _), table.for_tenant("default") as tenant:
        handle = await tenant.start("Tea or coffee?", rounds=2, step=True)
        await handle.wait()
        texts: list[str] = []

        async def hear() -> None:
            texts.append((await web.get(f"/told/{handle.session_id}")).text)

        async with anyio.create_task_group() as group:
            group.start_soon(hear)
            await anyio.sleep(0.5)
            await tenant.resume(handle.session_id)
        assert parsed(texts[0])[-1]["type"] == "debate_complete"


async def test_a_session_that_failed_here_and_runs_elsewhere_is_streamed() -> None:
    storage, elsewhere = MemoryStorage(), Gated({"*": "Tea"})
    failing = served_table(agents=[ScriptedModel({"*": AgentError("the model is down")})], storage=storage)
    other = served_table(agents=[elsewhere], storage=storage)
    async with telling(failing) as (web, app), other.for_tenant("default") as tenant:
        session = (await web.post("/begin")).json()
        tenant_session = await app.state.roundtable.tenant_sessions.session_of("default")
        await tenant_session.handle(session).wait()
        handle = await tenant.start_resume(session)
        await eventually(lambda: elsewhere.waiting)
        texts: list[str] = []

        async def hear() -> None:
            texts.append((await web.get(f"/told/{session}")).text)

        async with anyio.create_task_group() as group:
            group.start_soon(hear)
            await anyio.sleep(0.5)
            elsewhere.let()
        assert (await handle.result()).status == "completed"
        assert parsed(texts[0])[-1]["type"] == "debate_complete"


@pytest.mark.slow
async def test_a_session_whose_process_renews_its_lease_late_is_waited_for() -> None:
    table = served_table()
    async with telling(table, heartbeat_s=3.0) as (web, _):
        wiring = table.for_tenant("default")._wiring
        session = (await wiring.sessions.create_session(DebateConfig(topic="Tea?", agents=("ada", "bo")))).id
        lease = partial(wiring.storage.lease, session, wiring.sessions.owner(), tenant="default")
        texts: list[str] = []

        async def hear() -> None:
            texts.append((await web.get(f"/told/{session}")).text)

        async with anyio.create_task_group() as group:
            await lease(2.0)
            group.start_soon(hear)
            await anyio.sleep(5.5)  # longer than from the heartbeat to a hasty second check
            assert not texts
            await lease(60.0)
            await anyio.sleep(2.0)
            assert not texts
            group.cancel_scope.cancel()


@pytest.mark.slow
async def test_an_idle_session_is_checked_again_after_a_new_event() -> None:
    table = served_table()
    async with telling(table) as (web, _), anyio.create_task_group() as group:
        wiring = table.for_tenant("default")._wiring
        session = (await wiring.sessions.create_session(DebateConfig(topic="Tea?", agents=("ada", "bo")))).id

        async def store_later() -> None:
            await anyio.sleep(1.0)
            control = Control(session_id=session, timestamp=utc_now(), action="pause")
            await wiring.storage.append(session, None, None, [control], tenant="default")

        group.start_soon(store_later)
        began = time.monotonic()
        events = parsed((await web.get(f"/told/{session}")).text)
        assert [event["type"] for event in events] == ["control", "error"]
        assert time.monotonic() - began > 3.0  # two seconds before the event, and two after the next check


@pytest.mark.slow
async def test_events_of_another_process_are_streamed(tmp_path: Any) -> None:
    place = f"sqlite:///{tmp_path / 'shared.db'}"
    async with telling(served_table(storage=place)) as (web, _), served_table(storage=place) as other:
        handle = await other.start("Tea or coffee?", rounds=1)
        events = parsed((await web.get(f"/told/{handle.session_id}")).text)
        assert events[-1]["type"] == "debate_complete"
        assert [one["data"]["seq"] for one in events] == list(range(1, len(events) + 1))


async def test_an_event_is_encoded_once_for_all_its_streams() -> None:
    said: list[str] = []

    def speak(event: Any) -> dict[str, Any]:
        said.append(event.type)
        return {"type": event.type, "data": {}}

    model = Gated({"*": "Tea"})
    async with telling(served_table(agents=[model]), format_event=speak) as (web, app):
        session = (await web.post("/begin")).json()
        told: list[str] = []

        async def hear() -> None:
            told.append((await web.get(f"/told/{session}")).text)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(hear)
            await eventually(lambda: len(app.state.roundtable.streams) == 5)
            model.let()
        assert len(said) < 2 * len(parsed(told[0]))
        assert all(text.endswith(told[0][-30:]) for text in told)


async def test_a_client_that_leaves_is_forgotten_at_once_and_the_debate_continues() -> None:
    model = Gated({"*": "Tea"})
    async with telling(served_table(agents=[model])) as (web, app):
        state = app.state.roundtable
        session = (await web.post("/begin")).json()
        async with web.stream("GET", f"/told/{session}") as answer:
            await anext(answer.aiter_bytes())
            assert len(state.streams) == 1
        await eventually(lambda: not len(state.streams))
        tenant_session = await state.tenant_sessions.session_of("default")
        assert session not in tenant_session.table._wiring.hub._subscribers
        model.let()
        assert (await tenant_session.handle(session).result()).status == "completed"


def loud(event: Any) -> dict[str, Any]:
    """Return a large value for each field."""
    return {"type": event.type, "data": "x" * 1_500_000}


@pytest.mark.slow
@pytest.mark.parametrize("server", [WireProtocol, H11Protocol])
async def test_a_client_that_does_not_read_is_dropped_and_others_are_not(server: Any, caplog: Any) -> None:
    caplog.set_level("INFO", "roundtable.server")
    app = told_app(served_table(), send_s=0.3, format_event=loud)
    async with (
        served(app, server) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web,
    ):
        streams = app.state.roundtable.streams
        session = (await web.post("/begin")).json()
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", web.base_url.port))
        deaf.sendall(f"GET /told/{session} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        with anyio.fail_after(20):
            assert parsed((await web.get(f"/told/{session}")).text)[-1]["type"] == "debate_complete"
            while len(streams):  # noqa: ASYNC110
                await anyio.sleep(0.02)
        deaf.close()
    assert "a client that stopped reading was disconnected" in [record.message for record in caplog.records]


async def test_only_bytes_of_the_latest_events_are_kept() -> None:
    said: list[int] = []

    def speak(event: Any) -> dict[str, Any]:
        said.append(event.seq)
        return {"type": event.type, "data": {}}

    streams = Streams(Limits(), {}, said.append, nobody_pauses())
    events = [
        Control(session_id="s", timestamp=utc_now(), seq=number, action="pause") for number in range(1, 1 + 2 * 1024)
    ]
    for event in [*events, events[-1], events[0]]:
        assert streams.line(event, speak, ids=True).startswith(f"id: s:{event.seq}\ndata: ".encode())
    assert said == [*range(1, 1 + 2 * 1024), 1]
    del said[:]
    for event in [*events[-20:], events[-1], events[-20]]:
        assert len(streams.line(event, loud, ids=False)) > 1_500_000
    assert sum(len(line) for _, line in streams._lines.values()) <= 16 * 1024 * 1024


async def test_a_stream_beyond_the_limit_of_the_server_is_a_503() -> None:
    table = served_table(agents=[Gated({"*": "Tea"})])
    async with telling(table, limits=Limits(streams_total=1)) as (web, _):
        session = (await web.post("/begin")).json()
        async with web.stream("GET", f"/told/{session}") as answer:
            await anext(answer.aiter_bytes())
            refused = await web.get(f"/told/{session}")
            assert (refused.status_code, refused.json()["code"]) == (503, "SERVER_BUSY")
            assert int(refused.headers["retry-after"]) >= 1


async def test_a_stream_beyond_the_limit_of_the_user_is_a_429() -> None:
    table = served_table(agents=[Gated({"*": "Tea"})])
    async with telling(table, limits=Limits(streams_per_user=1)) as (web, _):
        session = (await web.post("/begin")).json()
        async with web.stream("GET", f"/told/{session}") as answer:
            await anext(answer.aiter_bytes())
            refused = await web.get(f"/told/{session}")
            assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
            assert refused.json()["details"]["limit"] == "streams"


async def test_the_end_of_the_server_is_the_last_word_of_a_stream() -> None:
    table = served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})])
    async with telling(table) as (web, app):
        session = (await web.post("/begin")).json()
        async with web.stream("GET", f"/told/{session}") as answer:
            lines = answer.aiter_text()
            text = await anext(lines)
            app.state.roundtable.streams.end()
            async for piece in lines:
                text += piece
        last = parsed(text)[-1]
        assert (last["type"], last["data"]["code"], last["data"]["recoverable"]) == ("error", "SERVER_SHUTDOWN", True)
        late = await web.get(f"/told/{session}")
        assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (503, "SERVER_SHUTDOWN", "5")


async def test_a_stream_that_starts_while_the_server_ends_is_told_so() -> None:
    table = served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})])
    app = told_app(table)

    @app.post("/begin-late")
    async def begin(caller: Reader) -> Response:
        with caller.state.streams.count_stream(caller.tenant_session):
            handle = await caller.tenant_session.table.start("Tea?", rounds=1)
            caller.tenant_session.keep(handle)
            caller.state.streams.end()
            return await event_stream(caller, handle.session_id, begun=True, has_room=True)

    async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web:
        last = parsed((await web.post("/begin-late")).text)[-1]
        assert last["data"]["code"] == "SERVER_SHUTDOWN"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (RuntimeError("/home/ann/secret.py"), "INTERNAL_ERROR"),
        (StorageError("the disk is full"), "STORAGE_ERROR"),
        (RoundtableError("no", code="X"), "X"),
    ],
)
async def test_a_fault_within_a_stream_is_its_last_event(fault: Exception, code: str) -> None:
    def speak(event: Any) -> None:
        raise fault

    async with telling(format_event=speak) as (web, _):
        session = (await web.post("/begin")).json()
        answer = await web.get(f"/told/{session}")
        (error,) = parsed(answer.text)
        assert (answer.status_code, error["type"], error["data"]["code"]) == (200, "error", code)
        assert "secret" not in answer.text


async def heard(web: httpx.AsyncClient, session: str, cuts: random.Random) -> list[dict[str, Any]]:
    """Hear a session out, leaving after a random number of bytes again and again; give the durable events."""
    stored: list[dict[str, Any]] = []
    last: dict[str, str] = {}
    while True:
        room, text = cuts.randrange(1, 6000), ""
        async with web.stream("GET", f"/told/{session}?ids=1", headers=last) as answer:
            async for piece in answer.aiter_text():
                text += piece
                if len(text) >= room:
                    break
            else:
                room = len(text)
        got = [(name, event) for name, event in numbered(text[: text.rfind("\n\n", 0, room) + 2]) if name]
        stored += [event for _, event in got]
        if got:
            last = {"last-event-id": got[-1][0].removeprefix("id: ")}
        if stored and stored[-1]["type"] == "debate_complete":
            return stored


@pytest.mark.parametrize("times", [4, pytest.param(50, marks=pytest.mark.slow)])
async def test_a_client_that_leaves_at_any_event_misses_and_repeats_nothing(times: int) -> None:
    cuts = random.Random(7)
    async with telling(served_table(agents=[ScriptedModel({"*": Delay(0.03, "Tea, " * 50)}, chunks=5)])) as (web, _):
        for _ in range(times):
            session = (await web.post("/begin")).json()
            stored = await heard(web, session, cuts)
            assert [event["data"]["seq"] for event in stored] == list(range(1, len(stored) + 1))
            assert stored == [event for name, event in numbered((await web.get(f"/told/{session}?ids=1")).text) if name]


async def test_a_client_that_leaves_during_a_check_of_its_session_affects_no_other() -> None:
    table = served_table()
    async with (
        TenantSessions(table.for_tenant) as tenant_sessions,
        Streams(Limits(), {}, lambda _: None, nobody_pauses()) as streams,
    ):
        tenant_session = await tenant_sessions.session_of("ann")
        wiring = tenant_session.table._wiring
        place = wiring.hub.subscribe("s", wiring.storage, tenant="ann")
        with streams.deliver_events(tenant_session, place):
            await anyio.sleep(0.01)
            time.sleep(0.3)  # noqa: ASYNC251  (while everybody waits, its time to look comes)
            for _ in range(2):
                await anyio.lowlevel.checkpoint()
        await anyio.sleep(0.01)
        assert len(streams) == 0
    await table.aclose()


async def test_an_unusual_storage_error_in_one_stream_affects_no_other(caplog: Any) -> None:
    class Odd(MemoryStorage):
        def __init__(self) -> None:
            super().__init__()
            self.looked = anyio.Event()

        async def read(self, *_: Any, **__: Any) -> Any:
            self.looked.set()
            raise OSError("no such device")

    table = served_table(storage=(storage := Odd()))
    async with (
        TenantSessions(table.for_tenant) as tenant_sessions,
        Streams(Limits(), {}, lambda _: None, nobody_pauses()) as streams,
    ):
        tenant_session = await tenant_sessions.session_of("ann")
        place = tenant_session.table._wiring.hub.subscribe("s", storage, tenant="ann")
        with streams.deliver_events(tenant_session, place):
            await storage.looked.wait()
            with pytest.raises(OSError, match="no such device"):
                await place.take()  # whoever listens meets it
    assert "no such device" in caplog.text
    await table.aclose()
