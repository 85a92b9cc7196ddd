"""A bad hour at the providers: the debate goes on without those that fail, says who and why, and keeps its deadline."""

from __future__ import annotations

import base64
import logging
import pickle
import socket
import time
import traceback
import urllib.parse

import anyio
import pytest
from integration.test_providers_http import ECHO, KEY, told

from roundtable import AgentConfig, Roundtable
from roundtable.agents import BaseAgent
from roundtable.errors import QuorumLost, RoundtableError
from roundtable.gateway import Gateway
from roundtable.providers import chat_model
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing.servers import LoopbackServer, WireReply, chat_reply, http_reply
from roundtable.types import ChatRequest, Message, RetryPolicy

ANSWER = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
FORMS = (
    KEY,
    KEY[:12],
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    urllib.parse.quote(KEY, safe=""),
)


@pytest.fixture
async def agent():
    """Make agents, and close their models afterwards: those belong to whoever brought them."""
    models = []

    def make(name, url, *, retry=None):
        config = AgentConfig(id=name, name=name.title(), provider="compatible", model=name, retry=retry)
        models.append(chat_model(f"compatible:{name}", base_url=url, api_key=KEY, settings=Settings()))
        return BaseAgent(config, models[-1])

    yield make
    for model in models:
        await model.aclose()


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


class Limited:
    """Refuses every second request for a moment."""

    def __init__(self):
        self.asked = 0

    def __call__(self, seen):
        self.asked += 1
        if self.asked % 2:
            return http_reply(told(), status=429, headers={"retry-after-ms": "60"})
        return chat_reply(ANSWER, stream=seen.wants_stream)


@pytest.fixture
def fine():
    with LoopbackServer(lambda seen: ANSWER) as server:
        yield server


@pytest.fixture
def slow():
    with LoopbackServer(lambda seen: WireReply([60.0])) as server:
        yield server


@pytest.fixture
def limited():
    with LoopbackServer(Limited()) as server:
        yield server


@pytest.mark.slow
async def test_a_debate_with_a_dead_a_slow_and_a_limited_provider_ends_degraded_and_in_time(agent, fine, slow, limited):
    seats = [
        agent("fine", fine.url),
        agent("limited", limited.url),
        agent("dead", closed_port()),
        agent("slow", slow.url),
    ]
    table = Roundtable(seats, storage=MemoryStorage(), timeout_s=2.5)
    began, heard = time.monotonic(), []
    async with table, table.stream("Tea or coffee?", rounds=1, deadline_s=20) as events:
        heard += [event async for event in events]
        result = events.result
    assert time.monotonic() - began < 10
    roster = {entry.agent_id: entry for entry in result.roster.agents}
    assert {name: (entry.answered, entry.failed) for name, entry in roster.items()} == {
        "fine": (1, 0), "limited": (1, 0), "dead": (0, 1), "slow": (0, 1),
    }  # fmt: skip
    assert (result.status, result.roster.complete) == ("completed", False)
    (dead,), (late,) = roster["dead"].errors, roster["slow"].errors
    assert dead.code == "API_NETWORK_ERROR"
    assert "could not connect (after 2 attempts)" in dead.message
    assert (late.code, "2.5 s" in late.message) == ("API_TIMEOUT", True)
    retries = [(event.agent, event.attempt, event.error.code) for event in heard if event.type == "retry"]
    assert sorted(retries) == [("dead", 2, "API_NETWORK_ERROR"), ("limited", 2, "API_RATE_LIMIT")]
    report = result.to_markdown()
    assert "Dead" in report
    assert "could not connect" in report
    # What the time-out left open is said: a call was made, and nobody knows what it consumed.
    (failed,) = [turn for turn in result.rounds[0].turns if turn.agent_id == "slow"]
    assert (failed.usage.calls, failed.usage.unreported_calls) == (1, 1)


async def test_the_deadline_of_the_debate_ends_a_wait_that_would_go_past_it(agent, fine):
    limited = http_reply(told(), status=429, headers={"retry-after": "100"})
    with LoopbackServer(lambda seen: limited) as server:
        table = Roundtable([agent("fine", fine.url), agent("limited", server.url)], storage=MemoryStorage())
        began = time.monotonic()
        result = await table.debate("Tea?", rounds=1, deadline_s=30)
        await table.aclose()
    assert time.monotonic() - began < 3
    (error,) = result.roster.agents[1].errors
    assert (error.code, error.retry_after_s, len(server.seen)) == ("API_RATE_LIMIT", 100.0, 1)


async def test_an_agent_can_have_its_own_retry_policy(agent):
    with LoopbackServer(lambda seen: http_reply(told(), status=429, headers={"retry-after-ms": "10"})) as server:
        policy = RetryPolicy(max_attempts=2)
        table = Roundtable([agent("one", server.url, retry=policy)], storage=MemoryStorage())
        with pytest.raises(QuorumLost):
            await table.debate("Tea?", rounds=1)
        await table.aclose()
        assert len(server.seen) == 2


async def test_a_stop_ends_the_tries(agent, fine):
    """A call that waits for its next try ends as soon as the debate is stopped."""
    with LoopbackServer(lambda seen: http_reply(told(), status=429, headers={"retry-after": "60"})) as server:
        table = Roundtable([agent("fine", fine.url), agent("limited", server.url)], storage=MemoryStorage())
        began = time.monotonic()
        async with table:
            handle = await table.start("Tea?", rounds=1)
            with anyio.fail_after(20):
                while not server.seen:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            await handle.stop()
            result = await handle.result()
    assert time.monotonic() - began < 30
    assert result.exit.reason == "stopped"
    assert len(server.seen) == 1


FAULTS = {
    "key repeated": (http_reply(ECHO, status=401, headers={"x-request-id": KEY}), 5),
    "key in a header": (http_reply(told(), status=500, headers={"x-request-id": KEY[:12]}), 5),
    "cut off": (WireReply([b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"], "reset"), 5),
    "not HTTP": (WireReply([KEY.encode() + b"\r\n"], "close"), 5),
    "page": (http_reply(b"<html>" + KEY.encode()), 5),
    "no JSON": (http_reply(b'{"choices": ' + KEY.encode()), 5),
    "redirect": (http_reply(b"", status=302, headers={"location": f"/trap?key={KEY}"}), 5),
    "silence": (WireReply([60.0]), 0.2),
}


def found_in(*sinks):
    return [(form, where) for form in FORMS for where, sink in enumerate(sinks) if form in sink]


@pytest.mark.parametrize(("reply", "timeout_s"), FAULTS.values(), ids=FAULTS)
async def test_no_sink_of_an_error_holds_the_key(reply, timeout_s, caplog):
    caplog.set_level(logging.DEBUG)
    ask = ChatRequest(model="", messages=(Message(role="user", content="Hello"),))
    with LoopbackServer(lambda seen: reply) as server:
        inner = chat_model("compatible:m", base_url=server.url, api_key=KEY, settings=Settings(), timeout_s=timeout_s)
        model = Gateway(timeout_s=timeout_s).guard(inner, retry=RetryPolicy(max_attempts=1))
        with pytest.raises(RoundtableError) as caught:
            await model.complete(ask)
        await inner.aclose()
    error = caught.value
    shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    # The test itself holds the key; only frames of the library and of what it calls may not.
    frames = [part for part in shown.split('  File "') if "/tests/" not in part.partition('"')[0]]
    logged = "\n".join(str(vars(record)) for record in caplog.records)
    sinks = [str(error), repr(error), str(error.to_dict(debug=True)), str(pickle.dumps(error)), logged, repr(model)]
    assert found_in(*sinks, "".join(frames)) == []


@pytest.mark.slow
async def test_no_sink_of_a_debate_holds_the_key(agent, fine, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    place, heard = tmp_path / "d.db", []
    with LoopbackServer(lambda seen: FAULTS["key repeated"][0]) as server:
        seats = [agent("fine", fine.url), agent("bad", server.url), agent("dead", closed_port())]
        async with Roundtable(seats, storage=f"sqlite:///{place}", timeout_s=1.2) as table:
            async with table.stream("Tea or coffee?", rounds=1) as events:
                heard += [event.to_json() async for event in events]
                result = events.result
            shown = repr(table)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("latin-1")
    logged = "\n".join(str(vars(record)) for record in caplog.records)
    exports = [result.to_json(), result.to_markdown(), repr(result), str(result.session)]
    assert len(heard) > 5
    assert found_in("\n".join(heard), stored, logged, shown, *exports) == []
