"""A provider over real HTTP: every fault gives one typed error, one request, and no word of the key."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import pickle
import threading
import time
import traceback
from dataclasses import replace

import anyio
import pytest

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ConfigurationError,
    ContextTooLong,
    RoundtableError,
)
from roundtable.gateway import Gateway
from roundtable.providers import BUILTIN_SPECS, OpenAIChat, chat_model
from roundtable.providers.http_model import FIRST_LISTED
from roundtable.settings import Settings
from roundtable.testing.servers import LoopbackServer, WireReply, chat_chunks, chat_reply, http_reply, sse_reply
from roundtable.types import ChatDelta, ChatRequest, ChatResponse, Message, Usage

KEY = "sk-canary+0123456789/secret"
ASK = ChatRequest(model="", messages=(Message(role="user", content="Hello"),))
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def told(message="No.", **more):
    return json.dumps({"error": {"message": message, **more}}).encode()


def base(code, message):
    return json.dumps({"choices": None, "base_resp": {"status_code": code, "status_msg": message}}).encode()


def content(text):
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def sse(*pieces):
    return b"".join(b"data: %b\n\n" % piece for piece in pieces)


ECHO = told(f"{KEY} {base64.b64encode(KEY.encode()).decode()} {KEY[:12]}", code="invalid_api_key")

BOTH = {
    # statuses
    "400": (http_reply(told(), status=400), AgentError, False),
    "400 too long": (http_reply(told(code="context_length_exceeded"), status=400), ContextTooLong, False),
    "401": (http_reply(told(), status=401), APIAuthError, False),
    "402": (http_reply(told(), status=402), APIAuthError, False),
    "403": (http_reply(told(), status=403), APIAuthError, False),
    "404": (http_reply(told(), status=404), AgentError, False),
    "408": (http_reply(b"", status=408), APITimeoutError, True),
    "409": (http_reply(b"", status=409), APINetworkError, True),
    "413": (http_reply(b"", status=413), AgentError, False),
    "422": (http_reply(b"", status=422), AgentError, False),
    "429": (http_reply(told(), status=429), APIRateLimitError, True),
    "429 no quota": (http_reply(told(code="insufficient_quota"), status=429), APIAuthError, False),
    "500 empty": (http_reply(b"", status=500), APINetworkError, True),
    "502 page": (http_reply(b"<html>bad gateway</html>", status=502), APINetworkError, True),
    "503 huge": (http_reply(told("x" * 4_000_000), status=503), APINetworkError, True),
    "504": (http_reply(b"", status=504), APITimeoutError, True),
    "529": (http_reply(told(), status=529), APINetworkError, True),
    "418": (http_reply(b"", status=418), AgentError, False),
    "999": (http_reply(b"", status=999), APINetworkError, False),
    "302": (http_reply(b"", status=302, headers={"location": "/trap"}), APINetworkError, False),
    "key repeated": (http_reply(ECHO, status=401, headers={"x-request-id": KEY}), APIAuthError, False),
    # bodies
    "not JSON": (http_reply(b'{"choices": nonsense}'), AgentError, True),
    "cut JSON": (http_reply(content("text")[:-9]), AgentError, True),
    "empty": (http_reply(b""), AgentError, True),
    "204": (WireReply([b"HTTP/1.1 204 No Content\r\n\r\n"]), AgentError, True),
    "null": (http_reply(b"null"), AgentError, False),
    "list": (http_reply(b"[]"), AgentError, False),
    "number": (http_reply(b"42"), AgentError, False),
    "object": (http_reply(b"{}"), AgentError, True),
    "error under 200": (http_reply(told(code=429)), APIRateLimitError, True),
    "MiniMax rate": (http_reply(base(1002, "rate limit")), APIRateLimitError, True),
    "MiniMax key": (http_reply(base(1004, "not authorized")), APIAuthError, False),
    "MiniMax length": (http_reply(base(2013, "invalid params, context window exceeds limit")), ContextTooLong, False),
    "403 flagged": (http_reply(told(metadata={"reasons": ["x"]}), status=403), AgentError, False),
    "page": (http_reply(b"<!doctype html><p>Log in</p>"), APINetworkError, True),
    "deep": (http_reply(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"), AgentError, False),
    "long number": (http_reply(b'{"a":' + b"9" * 5000 + b"}"), AgentError, False),
    "bad UTF-8": (http_reply(content("x").replace(b'"x"', b'"\xff"')), AgentError, True),
    "UTF-16": (http_reply(content("x").decode().encode("utf-16")), AgentError, True),
    "short body": (WireReply([HEAD + b"content-length: 99\r\n\r\n{"], "close"), APINetworkError, True),
    "no choices": (http_reply(b'{"choices": []}'), AgentError, True),
    "null text": (http_reply(content(None)), AgentError, True),
    "blank text": (http_reply(content(" \n")), AgentError, True),
    # connections
    "closed": (WireReply([], "close"), APINetworkError, True),
    "reset": (WireReply([], "reset"), APINetworkError, True),
    "half a head": (WireReply([b"HTTP/1.1 20"], "close"), APINetworkError, True),
    "not HTTP": (WireReply([b"220 smtp ready\r\n"], "close"), APINetworkError, True),
    "silence": (WireReply([60.0]), APITimeoutError, True),
    "stalled body": (WireReply([HEAD + b"content-length: 99\r\n\r\n{", 60.0]), APITimeoutError, True),
}
STREAMS = {
    # Where events were due, a document of one word is as good as nothing.
    "null": (http_reply(b"null"), AgentError, True),
    "number": (http_reply(b"42"), AgentError, True),
    "ends early": (sse_reply(chat_chunks("text", done=False, finish=None)), APINetworkError, True),
    "ends in an event": (
        sse_reply([*chat_chunks("text", done=False, finish=None), b'data: {"cho']),
        APINetworkError,
        True,
    ),
    "cut": (sse_reply(chat_chunks("text")[:2], whole=False), APINetworkError, True),
    "stalls": (WireReply([*sse_reply(chat_chunks("text")[:2], whole=False).parts, 60.0]), APITimeoutError, True),
    "only heartbeats": (sse_reply([b": ping\n\n"] * 5), AgentError, True),
    "heartbeats for ever": (sse_reply([b": ping\n\n"] * 1000, pause_s=0.02), APITimeoutError, True),
    "nothing": (sse_reply([]), AgentError, True),
    "error first": (sse_reply([sse(told(code=529))]), APINetworkError, True),
    "error late": (sse_reply([*chat_chunks("text")[:2], sse(told(code=429))]), APIRateLimitError, True),
    "MiniMax first": (sse_reply([sse(base(1008, "insufficient balance"))]), APIAuthError, False),
    "MiniMax late": (sse_reply([*chat_chunks("text")[:2], sse(base(1039, "token limit"))]), APIRateLimitError, True),
    "bad JSON": (sse_reply([*chat_chunks("text")[:2], b"data: {bad}\n\n"]), AgentError, True),
    "bad UTF-8": (sse_reply([*chat_chunks("text")[:2], b'data: {"\xff": 1}\n\n']), AgentError, True),
    "everything twice": (sse_reply([event for event in chat_chunks("text") for _ in "ab"]), AgentError, True),
    "huge event": (sse_reply([b"data: " + b"x" * 5_000_000 + b"\n\n"]), AgentError, False),
    "endless line": (sse_reply([b"x" * 65536] * 100), AgentError, False),
    "page": (sse_reply([b"<html>log in</html>"]), APINetworkError, True),
}


@pytest.fixture
def server():
    with LoopbackServer() as running:
        yield running


@contextlib.asynccontextmanager
async def model_of(server, name="compatible:m", **more):
    model = chat_model(name, base_url=server.url, api_key=KEY, settings=Settings(), **{"timeout_s": 5, **more})
    try:
        yield model
    finally:
        await model.aclose()


async def collect(model, request=ASK):
    return [piece async for piece in model.stream(request)]


def assert_clean(error, logged):
    """Look for the key in every form in everything an error can be turned into."""
    sinks = [str(error), repr(error), str(error.to_dict(debug=True)), str(pickle.dumps(error)), logged]
    sinks.append("".join(traceback.format_exception(error)))
    for form in (KEY, KEY[:12], base64.b64encode(KEY.encode()).decode(), "sk-canary%2B0123456789%2Fsecret"):
        assert all(form not in sink for sink in sinks)
    assert len(str(error)) <= 2048
    assert "<html" not in str(error)


STALL_S = 0.5


def limit_of(reply):
    """Return a short deadline where the server keeps its client waiting, and one that is never reached elsewhere."""
    return STALL_S if any(isinstance(part, float) for part in reply.parts) else 5.0


async def check(server, reply, kind, retryable, call, caplog):
    caplog.set_level(logging.DEBUG, "roundtable")
    server.queue(reply)
    start = time.monotonic()
    with pytest.raises(RoundtableError) as caught:
        await call()
    assert time.monotonic() - start < STALL_S + 2
    assert type(caught.value) is kind
    assert caught.value.retryable is retryable
    assert caught.value.provider == "compatible"
    assert_clean(caught.value, caplog.text)
    assert (len(server.seen), server.traps) == (1, 0)


@pytest.mark.parametrize(("reply", "kind", "retryable"), BOTH.values(), ids=BOTH)
async def test_a_plain_call_fails_with_its_typed_error_after_one_request(server, reply, kind, retryable, caplog):
    async with model_of(server, timeout_s=limit_of(reply)) as model:
        await check(server, reply, kind, retryable, lambda: model.complete(ASK), caplog)
        assert (await model.complete(ASK)).text == "ok"


@pytest.mark.parametrize(("reply", "kind", "retryable"), (BOTH | STREAMS).values(), ids=BOTH | STREAMS)
async def test_a_streamed_call_fails_with_its_typed_error_after_one_request(server, reply, kind, retryable, caplog):
    async with model_of(server, timeout_s=limit_of(reply)) as model:
        await check(server, reply, kind, retryable, lambda: collect(model), caplog)
        assert (await collect(model))[-1].text == "ok"


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("profile", ["deepseek", "moonshot"])
async def test_the_reasoning_behind_each_tool_call_is_part_of_every_later_request(server, profile, streamed):
    thoughts = ["Look it up.", None, "Again."]
    for number, thought in enumerate(thoughts):
        call = {"index": 0, "id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        message = {"role": "assistant", "reasoning_content": thought, "content": None, "tool_calls": [call]}
        choice = {"index": 0, "delta" if streamed else "message": message, "finish_reason": "tool_calls"}
        data = json.dumps({"choices": [choice]}).encode()
        server.queue(sse_reply([sse(data)]) if streamed else http_reply(data))
    messages = ASK.messages
    async with model_of(server, profile=profile) as model:
        for number, _ in enumerate([*thoughts, "answer"]):
            request = ASK.model_copy(update={"messages": messages})
            answer = (await collect(model, request))[-1] if streamed else await model.complete(request)
            result = Message(role="tool", content="found", tool_call_id=f"c{number}")
            messages = (*messages, answer.to_message(), result)
    asked = [message for message in server.seen[-1].json["messages"] if message["role"] == "assistant"]
    assert [message["reasoning_content"] for message in asked] == ["Look it up.", " ", "Again."]


WORDS = "Zoë says: 你好 🙂, twice."
EVENTS = chat_chunks(WORDS)
WHOLE = b"".join(EVENTS)
NOISE = b": ping\n\nevent: ping\nid: 7\nretry: 3\nfoo: bar\ndata: null\n\n"
VARIANTS = {
    "as usual": EVENTS,
    "byte by byte": [WHOLE[at : at + 1] for at in range(len(WHOLE))],
    "one chunk": [WHOLE],
    "CRLF": [event.replace(b"\n", b"\r\n") for event in EVENTS],
    "CR": [event.replace(b"\n", b"\r") for event in EVENTS],
    "CRLF cut apart": [part for event in EVENTS for part in (event.replace(b"\n", b"\r\n")[:-1], b"\n")],
    "no space": [event.replace(b"data: ", b"data:") for event in EVENTS],
    "BOM": [b"\xef\xbb\xbf", *EVENTS],
    "noise between": [part for event in EVENTS for part in (NOISE, event)],
    "data on many lines": [event.replace(b', "', b',\ndata:  "') for event in EVENTS],
    "more behind the end": [*EVENTS, b'data: {"choices": [{"delta": {"content": "no"}}]}\n\n'],
    "no empty line at the end": [*EVENTS[:-1], b"data: [DONE]"],
}


@pytest.mark.parametrize("events", VARIANTS.values(), ids=VARIANTS)
async def test_a_stream_reads_the_same_however_it_is_written(server, events):
    async with model_of(server) as model:
        server.queue(sse_reply(events))
        *deltas, response = await collect(model)
    assert "".join(delta.text for delta in deltas) == response.text == WORDS
    assert response.usage == Usage(input_tokens=11, output_tokens=7, calls=1)


async def test_a_stream_may_have_a_wrong_content_type_or_be_a_document(server):
    async with model_of(server) as model:
        server.queue(sse_reply(EVENTS, headers={"content-type": "text/plain"}), http_reply(content("whole")))
        assert (await collect(model))[-1].text == WORDS
        assert [piece.text for piece in await collect(model)] == ["whole", "whole"]  # one delta, then the answer


class Awaited(list):
    """The parts of a reply; the last ones are sent once the first text was read."""

    def __init__(self, parts, read):
        super().__init__(parts)
        self._read = read

    def __iter__(self):
        parts = list(super().__iter__())
        yield from parts[:-2]
        assert self._read.wait(4)
        yield from parts[-2:]


async def test_a_slow_stream_is_passed_on_as_it_arrives(server):
    read = threading.Event()
    reply = sse_reply(EVENTS)
    async with model_of(server, timeout_s=20) as model:
        server.queue(WireReply(Awaited(reply.parts, read), reply.end))
        async for piece in model.stream(ASK):
            read.set()
            assert isinstance(piece, ChatDelta | ChatResponse)


async def test_leaving_a_stream_closes_the_connection_at_once(server):
    async with model_of(server) as model:
        server.queue(sse_reply(chat_chunks("x" * 500, pieces=500), pause_s=0.02))
        stream = Gateway(timeout_s=30).guard(model).stream(ASK)
        assert (await anext(stream)).text
        await stream.aclose()
        with anyio.fail_after(5):  # the rest would take ten seconds
            while not server.hang_ups:  # noqa: ASYNC110
                await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        pytest.param(http_reply(content("x"), headers={"content-type": "text/plain"}), "x", id="wrong label"),
        pytest.param(http_reply(b"\xef\xbb\xbf" + content("x")), "x", id="BOM"),
        pytest.param(http_reply(content("a\ud800b")), "a\ufffdb", id="lone surrogate"),
        pytest.param(http_reply(content("x")[:-1] + b', "choices": ' + content("y")[12:]), "y", id="equal keys"),
        pytest.param(WireReply([b"HTTP/1.0 200 OK\r\n\r\n" + content("x")], "close"), "x", id="HTTP/1.0"),
    ],
)
async def test_an_odd_answer_is_read(server, reply, text):
    async with model_of(server) as model:
        server.queue(reply)
        assert (await model.complete(ASK)).text == text


async def test_the_wait_a_provider_asks_for_and_its_request_id_are_kept(server):
    headers = {"retry-after": "1.5", "x-request-id": "req_7"}
    async with model_of(server) as model:
        for call in (model.complete, lambda _: collect(model)):
            server.queue(http_reply(told(), status=429, headers=headers))
            with pytest.raises(APIRateLimitError) as caught:
                await call(ASK)
            assert (caught.value.retry_after_s, caught.value.request_id) == (1.5, "req_7")
        server.queue(http_reply(b"{}", headers=headers))
        with pytest.raises(AgentError) as empty:
            await model.complete(ASK)
        assert empty.value.request_id == "req_7"


async def test_openai_wants_its_terminator_and_others_a_finish_reason(server):
    unfinished = sse_reply(chat_chunks("text", done=False))
    async with model_of(server) as model, model_of(server, "openai-chat:gpt-5.2") as openai:
        server.queue(unfinished, unfinished)
        assert (await collect(model))[-1].text == "text"
        with pytest.raises(APINetworkError):
            await collect(openai)
        await openai.complete(ASK.model_copy(update={"temperature": 0.5}))
    assert server.seen[-1].json["max_completion_tokens"] == 4096
    assert server.seen[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_without_a_key_none_is_sent(server):
    model = chat_model("compatible:m", base_url=server.url, settings=Settings())
    assert (await model.complete(ASK)).text == "ok"
    await model.aclose()
    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("auth", ["x-api-key", "x-goog-api-key", "api-key"])
async def test_keys_travel_in_the_header_the_provider_wants(server, auth):
    from dataclasses import replace

    from roundtable.providers import BUILTIN_SPECS

    specs = {"acme": replace(BUILTIN_SPECS["compatible"], name="acme", auth=auth)}
    async with model_of(server, "acme:m", specs=specs) as model:
        await model.complete(ASK)
    assert server.seen[0].headers[auth] == KEY


class TestFirstListed:
    async def test_a_server_given_only_by_its_host_is_asked_for_its_models_once(self, server):
        model = chat_model("compatible", settings=Settings(ollama_host=server.origin))
        assert model.model == FIRST_LISTED
        await model.complete(ASK)
        await model.complete(ASK.model_copy(update={"model": FIRST_LISTED}))
        await model.complete(ASK.model_copy(update={"model": "other"}))
        await model.aclose()
        assert model.model == "first-model"
        assert [seen.json["model"] for seen in server.seen] == ["first-model", "first-model", "other"]

    @pytest.mark.parametrize(
        ("reply", "kind"),
        [
            (http_reply(b'{"data": []}'), ConfigurationError),
            (http_reply(b'{"data": [{"id": ""}, 3]}'), ConfigurationError),
            (http_reply(told(), status=401), APIAuthError),
            (http_reply(b"<html>"), AgentError),
        ],
    )
    async def test_a_server_without_a_list_is_named(self, reply, kind):
        with LoopbackServer(models=reply) as server:
            model = chat_model("compatible", settings=Settings(ollama_host=server.origin))
            with pytest.raises(kind) as caught:
                await model.complete(ASK)
            await model.aclose()
        assert caught.value.provider == "compatible"


async def test_many_debaters_at_once_get_their_own_answers(server):
    server._answer = lambda seen: seen.json["messages"][0]["content"]
    async with model_of(server) as model:
        guarded, found = Gateway(concurrency=16).guard(model), {}

        async def speak(name):
            request = ChatRequest(model="", messages=(Message(role="user", content=name),))
            found[name] = ((await guarded.complete(request)).text, (await collect(guarded, request))[-1].text)

        async with anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(speak, f"agent {number}")
    assert found == {f"agent {number}": (f"agent {number}",) * 2 for number in range(60)}


def test_a_model_is_used_from_one_event_loop_after_the_other(server):
    model = chat_model("compatible:m", base_url=server.url, settings=Settings())

    async def talk():
        assert (await model.complete(ASK)).text == (await collect(model))[-1].text == "ok"
        # The connections of this loop; the model itself can still be used.
        await model._http.aclose()

    for backend in ("asyncio", "trio", "asyncio"):
        anyio.run(talk, backend=backend)


def test_the_loopback_server_gives_its_replies():
    assert chat_reply({"a": 1}).parts[1] == chat_reply('{"a": 1}').parts[1]
    assert len(chat_reply("x", stream=True).parts) > 3


class Stumbling(OpenAIChat):
    """A dialect that expects what is not there."""

    def parse_response(self, status, headers, body):
        raise KeyError(body.decode())

    def stream_decoder(self, headers):
        raise ValueError(KEY)


async def test_an_error_of_a_dialect_on_an_answer_is_an_unexpected_format():
    spec = replace(BUILTIN_SPECS["openai-chat"], name="acme", dialect=Stumbling("acme"))
    with LoopbackServer(lambda seen: KEY) as server:
        model = chat_model("acme", specs={"acme": spec}, base_url=server.url, api_key=KEY)
        for kind, call in (("KeyError", model.complete), ("ValueError", whole)):
            with pytest.raises(AgentError, match=f"the answer does not have the expected format: {kind}") as caught:
                await (call(ASK) if kind == "KeyError" else call(model))
            assert (caught.value.provider, caught.value.retryable) == ("acme", True)
            assert KEY not in "".join(traceback.format_exception(caught.value))
        await model.aclose()


async def whole(model):
    return [one async for one in model.stream(ASK)]
