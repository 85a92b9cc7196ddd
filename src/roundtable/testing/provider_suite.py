"""Conformance tests for chat models, to inherit in the tests of a provider."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import anyio.lowlevel
import pytest

from roundtable.core.chat_models import close_stream
from roundtable.core.errors import APIAuthError, APINetworkError, APIRateLimitError, APITimeoutError, RoundtableError
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.base import JsonObject, JsonValue
from roundtable.core.types.chat import AgentTool, ChatDelta, ChatResponse, Message
from roundtable.gateway import Gateway
from roundtable.testing.provider_request_laws import TOOL, Capability, RequestLaws
from roundtable.testing.servers import (
    LoopbackServer,
    Seen,
    WireReply,
    chat_chunks,
    chat_reply,
    http_reply,
    sse_reply,
)
from roundtable.testing.suite import Suite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from roundtable.core.protocols import ChatModel

__all__ = ["KEY", "Capability", "ProviderSuite"]

KEY = "canary-key-6f1d"
"""The API key of models under test; it must not appear in any output."""
_MARKS = ("T1a", "T2a", "T3a", "T4a")
"""Answers with the same length as `"Tea"`."""
_FAULT: JsonObject = {"error": {"type": "overloaded_error", "message": "Overloaded", "code": 529}}
_VARIANTS = {"answer": ("cut_answer",), "stream_answer": ("stream_cut_answer", "running_answer")}
"""Responses of the suite that a class in another wire format has to replace."""
_JUNK: tuple[JsonValue, ...] = (None, 7, -1, "x", [], [7], {}, {"x": None})


class ProviderSuite(RequestLaws, Suite):
    """Tests of the `ChatModel` protocol: inherit this class, set `capabilities`, and define the fixture `make_model`.

    For HTTP providers, the suite runs a local server, which answers with Chat Completions. For another wire format:

    - Set `answer` and `stream_answer`, both with the text `"Tea"`, and set `consumed` to their token counts.
    - If the provider supports tools, set `call_answer` and `stream_call_answer`.
    - If requests do not ask for a stream with the field `stream`, override `wants_stream`.
    - If the body of requests is not JSON, override `body_of`.
    - If the API reports errors in another form, set `fault` and `stream_errors`.
    - Set `cut_answer` and `stream_cut_answer`, and, if its streams report tokens more than once, `running_answer`.

    If the API asks for waits in a header of its own, add it to `wait_headers`.

    If the API lacks some fields, such as `"seed"`, list them in `unsupported`.

    Example:
        ```python
        class TestAcme(ProviderSuite):
            capabilities = frozenset({Capability.HTTP, Capability.STREAMING})

            @pytest.fixture
            def make_model(self):
                return lambda url: make_acme("acme-1", ProviderConfig(base_url=url, api_key=KEY), Settings())
        ```
    """

    answer: ClassVar[WireReply] = chat_reply("Tea")
    """A complete response in the wire format."""
    stream_answer: ClassVar[WireReply] = chat_reply("Tea", stream=True)
    """A streamed response in the wire format."""
    consumed: ClassVar[tuple[int, int] | None] = (11, 7)
    """Input and output tokens of these responses; `None` if the wire format does not report tokens."""

    cut_answer: ClassVar[WireReply | None] = chat_reply("Tea", finish="length")
    """The complete response, but cut off at the token limit. `None` by default if the class sets `answer`."""
    stream_cut_answer: ClassVar[WireReply | None] = chat_reply("Tea", stream=True, finish="length")
    """The streamed response, but cut off at the token limit. `None` by default if the class sets `stream_answer`."""
    running_answer: ClassVar[WireReply | None] = sse_reply(chat_chunks("Tea", running=True))
    """The streamed response from an API that reports several times what the response has used so far, finally
    `consumed`. `None` if the API reports it once, and by default if the class sets `stream_answer`."""
    fault: ClassVar[JsonObject] = _FAULT
    """Fields with which the API reports an error in a response with the status 200, alone or beside an answer. `{}` if
    the API never does this."""
    stream_errors: ClassVar[tuple[bytes, ...]] = (
        b"data: %b\n\n" % json.dumps(_FAULT).encode(),
        b"event: error\ndata: %b\n\n" % json.dumps({"type": "error", **_FAULT}).encode(),
    )
    """Events with which the API reports an error inside a stream; by default, both usual forms of server-sent events.
    """
    needs_terminator: ClassVar[bool] = True
    """Whether a stream is complete only with its last event. Set it to `False` if the API may end a stream after the
    finish reason; a cut stream may then be a complete answer, but never a shorter one."""
    wait_headers: ClassVar[tuple[Mapping[str, str], ...]] = ({"retry-after": "7"},)
    """Headers of refusals with which the API asks for a wait of seven seconds. Add the API's own headers."""

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        for part, variants in _VARIANTS.items():
            if part in vars(cls):
                for variant in variants:
                    if variant not in vars(cls):
                        setattr(cls, variant, None)

    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        """Return a function that creates a model for the base URL of an API; the model may ignore the URL."""
        raise NotImplementedError("a provider suite needs a fixture `make_model`")

    @pytest.fixture
    def server(self) -> Iterator[LoopbackServer]:
        """Return the local server of the suite."""
        with LoopbackServer(self._reply_to) as server:
            yield server

    def _reply_to(self, request: Seen) -> WireReply:
        reply = self.stream_answer if self.wants_stream(request) else self.answer
        mark = next((mark for mark in _MARKS if f"mark-{mark}".encode() in request.body), None)
        if mark is None:
            return reply
        parts = [part.replace(b"Tea", mark.encode()) if isinstance(part, bytes) else part for part in reply.parts]
        return WireReply(parts, reply.end)

    def wants_stream(self, seen: Seen) -> bool:
        """Check whether a request asks for a stream."""
        return seen.wants_stream

    @pytest.fixture
    async def model(self, make_model: Callable[[str], ChatModel], server: LoopbackServer) -> AsyncIterator[ChatModel]:
        """Return the model under test."""
        model = make_model(server.url)
        yield model
        await model.aclose()

    def test_it_has_the_parts_of_a_model(self, make_model: Callable[[str], ChatModel], server: LoopbackServer) -> None:
        """The model has names, a profile, and methods with the signatures that the library calls."""
        model = make_model(server.url)
        assert isinstance(model.provider, str)
        assert model.provider
        assert isinstance(model.model, str)
        assert isinstance(model.profile, ModelProfile)
        assert inspect.iscoroutinefunction(model.complete)
        assert not inspect.iscoroutinefunction(model.stream), "stream must return an iterator, not a coroutine"
        for method in (model.complete, model.stream):
            inspect.signature(method).bind(self._request(model))
        inspect.signature(model.aclose).bind()

    async def test_it_answers(self, model: ChatModel) -> None:
        """A call returns a complete response, and its usage is never negative."""
        with anyio.fail_after(self.limit_s):
            response: object = await model.complete(self._request(model))
        assert isinstance(response, ChatResponse)
        self._check_usage(response)
        if self._has(Capability.HTTP):
            assert response.text == "Tea"

    def _check_usage(self, response: ChatResponse) -> None:
        usage = response.usage
        assert usage.calls == 1, "a response is one call"
        assert min(usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.calls) >= 0
        assert usage.cost_usd is None or usage.cost_usd >= 0
        if self._has(Capability.HTTP) and self.consumed is not None:
            assert (usage.input_tokens, usage.output_tokens) == self.consumed, "budgets need the usage of each response"

    async def test_a_stream_ends_with_the_whole_answer(self, model: ChatModel) -> None:
        """A stream yields any number of pieces, then one response with their joined text."""
        pieces: list[str] = []
        responses: list[ChatResponse] = []
        with anyio.fail_after(self.limit_s):
            async for item in model.stream(self._request(model)):
                assert not responses, "the response must come last"
                if isinstance(item, ChatDelta):
                    pieces.append(item.text)
                else:
                    responses.append(item)
        assert len(responses) == 1
        assert "".join(pieces) in {"", responses[0].text}
        self._check_usage(responses[0])
        if self._has(Capability.STREAMING):
            assert pieces
            assert model.profile.streams

    async def test_a_running_total_is_not_added_up(self, model: ChatModel, server: LoopbackServer) -> None:
        """If a stream reports several times what it has used so far, the last report is the usage of the response."""
        if not (self._has(Capability.HTTP) and self._has(Capability.STREAMING)) or self.running_answer is None:
            return
        server.queue(self.running_answer)
        outcome = await self._outcome_of_stream(model)
        assert isinstance(outcome, ChatResponse), f"the stream raised {outcome!r}"
        self._check_usage(outcome)

    async def test_an_answer_that_was_cut_says_so(self, model: ChatModel, server: LoopbackServer) -> None:
        """The finish reason of a response that ended at the token limit is `length`, also in a stream."""
        if not self._has(Capability.HTTP):
            return
        reasons: dict[str, str] = {}
        if self.cut_answer is not None:
            server.queue(self.cut_answer)
            with anyio.fail_after(self.limit_s):
                reasons["complete"] = (await model.complete(self._request(model))).finish_reason
        if self.stream_cut_answer is not None and self._has(Capability.STREAMING):
            server.queue(self.stream_cut_answer)
            outcome = await self._outcome_of_stream(model)
            assert isinstance(outcome, ChatResponse), f"the stream raised {outcome!r}"
            reasons["stream"] = outcome.finish_reason
        wrong = {way: reason for way, reason in reasons.items() if reason != "length"}
        assert not wrong, f"the answer ended at the token limit, but its finish reason is {wrong}; it must be 'length'"

    async def test_a_stream_may_be_left(self, model: ChatModel) -> None:
        """After a stream is closed early, the model answers the next call."""
        with anyio.fail_after(self.limit_s):
            stream = model.stream(self._request(model))
            async for _ in stream:
                break
            await close_stream(stream)
            assert isinstance(await model.complete(self._request(model)), ChatResponse)

    async def test_a_stream_that_is_left_lets_its_connection_go(self, model: ChatModel, server: LoopbackServer) -> None:
        """Closing a stream early closes its connection, so that the vendor stops writing and charging."""
        if not (self._has(Capability.HTTP) and self._has(Capability.STREAMING)):
            return
        parts = self.stream_answer.parts
        server.queue(WireReply([*parts[:-1], 60.0, parts[-1]]))
        stream = model.stream(self._request(model))
        with anyio.fail_after(self.limit_s):
            async for _ in stream:
                break
            await close_stream(stream)
            await _wait_for_hang_up(server)

    async def test_a_stream_that_breaks_off_is_an_error(self, model: ChatModel, server: LoopbackServer) -> None:
        """A stream that is cut after any event but the last is a retryable error, never a short answer."""
        if not (self._has(Capability.HTTP) and self._has(Capability.STREAMING)):
            return
        for reply in (self.stream_answer, *([self.stream_call_answer] if self._has(Capability.TOOLS) else [])):
            server.queue(reply)
            whole = await self._outcome_of_stream(model)
            head, events, end = _parts_of_stream(reply)
            for count in range(min(1, len(events) - 1), len(events)):
                server.queue(WireReply([head, *events[:count]], "close"))
                outcomes = [await self._outcome_of_stream(model)]
                if end:
                    server.queue(WireReply([head, *events[:count], *end]))
                    outcomes.append(await self._outcome_of_stream(model))
                for outcome in outcomes:
                    if isinstance(outcome, ChatResponse):
                        is_complete = not self.needs_terminator and _said(outcome) == _said(whole)
                        assert is_complete, (
                            f"the stream ended after {count} of {len(events)} events, and the model answered "
                            f"{_said(outcome)}: raise an error without the terminator of the stream. If the API sends "
                            "none, set needs_terminator = False"
                        )
                    else:
                        assert outcome.retryable, f"a stream that ended early may be tried again, unlike {outcome!r}"

    async def test_an_error_in_a_stream_is_an_error(self, model: ChatModel, server: LoopbackServer) -> None:
        """An error that the API sends inside a stream is an error, wherever it stands and whatever follows it."""
        if not (self._has(Capability.HTTP) and self._has(Capability.STREAMING)):
            return
        head, events, end = _parts_of_stream(self.stream_answer)
        if not end and b"content-length" in head.lower():
            return
        for sent in self.stream_errors:
            event = b"%x\r\n%b\r\n" % (len(sent), sent) if end else sent
            for count in range(len(events)):
                parts = [head, *events[:count], event, *events[count:], *end]
                server.queue(WireReply(parts, "keep" if end else "close"))
                outcome = await self._outcome_of_stream(model)
                assert not isinstance(outcome, ChatResponse), (
                    f"after {count} of {len(events)} events the API sent {sent!r}, and the model answered "
                    f"{_said(outcome)}: raise an error. If the API sends errors in another form, set `stream_errors`"
                )
                assert outcome.provider == model.provider, "an error names the provider"

    async def _outcome_of_stream(self, model: ChatModel) -> ChatResponse | RoundtableError:
        """Return the response of a stream, or the error that it raises."""
        try:
            with anyio.fail_after(self.limit_s):
                items = [item async for item in model.stream(self._request(model, tools=self._tools))]
        except RoundtableError as error:
            return error
        assert items, "a stream yields a response or raises an error"
        assert isinstance(items[-1], ChatResponse), "a stream ends with a response or an error"
        return items[-1]

    @property
    def _tools(self) -> tuple[AgentTool, ...]:
        return (TOOL,) if self._has(Capability.TOOLS) else ()

    async def test_it_closes_twice(self, make_model: Callable[[str], ChatModel], server: LoopbackServer) -> None:
        """Closing twice, or before the first call, does nothing."""
        model = make_model(server.url)
        await model.aclose()
        await model.aclose()

    async def test_tools_are_described_to_it(self, model: ChatModel, server: LoopbackServer) -> None:
        """With tools, the request names them, their calls are parsed, and their results are sent."""
        if not self._has(Capability.TOOLS):
            return
        if not self._has(Capability.HTTP):
            with anyio.fail_after(self.limit_s):
                await model.complete(self._request(model, tools=(TOOL,)))
            return
        server.queue(self.call_answer)
        with anyio.fail_after(self.limit_s):
            response = await model.complete(self._request(model, tools=(TOOL,)))
            assert b"look_up" in server.seen[-1].body
            calls = response.tool_calls
            assert [(call.name, dict(call.arguments)) for call in calls] == [("look_up", {"word": "tea"})]
            assert response.finish_reason == "tool_calls"
            self._check_usage(response)
            result = Message(role="tool", content="a-drink-5c1", tool_call_id=calls[0].id)
            messages = (*self._request(model).messages, Message(role="assistant", tool_calls=calls), result)
            assert (await model.complete(self._request(model, tools=(TOOL,), messages=messages))).text == "Tea"
        assert b"a-drink-5c1" in server.seen[-1].body

    async def test_calls_at_once_do_not_disturb_each_other(self, model: ChatModel) -> None:
        """Agents of one stage may share a model; each gets the answer to its own request."""
        texts: dict[str, str] = {}

        async def call(mark: str) -> None:
            message = Message(role="user", content=f"mark-{mark}")
            texts[mark] = (await model.complete(self._request(model, messages=(message,)))).text

        with anyio.fail_after(self.limit_s):
            async with anyio.create_task_group() as group:
                for mark in _MARKS:
                    group.start_soon(call, mark)
        if self._has(Capability.HTTP):
            assert texts == {mark: mark for mark in _MARKS}

    async def test_a_call_that_is_cancelled_holds_up_no_other(self, model: ChatModel) -> None:
        """A call may be cancelled at any step, for example when a debate is stopped."""
        with anyio.fail_after(self.limit_s):
            for steps in range(6):
                async with anyio.create_task_group() as group:
                    group.start_soon(model.complete, self._request(model))
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    group.cancel_scope.cancel()
            assert isinstance(await model.complete(self._request(model)), ChatResponse)

    async def test_a_deadline_ends_a_call(self, model: ChatModel, server: LoopbackServer) -> None:
        """If a call exceeds the library's deadline, the call ends, and its connection is closed."""
        if not self._has(Capability.HTTP):
            return
        server.queue(WireReply([60.0, *self.answer.parts]))
        guarded = Gateway().guard(model, timeout_s=0.2)
        with anyio.fail_after(self.limit_s), pytest.raises(APITimeoutError):
            await guarded.complete(self._request(model))
        with anyio.fail_after(self.limit_s):
            await _wait_for_hang_up(server)
            assert isinstance(await model.complete(self._request(model)), ChatResponse)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(401, APIAuthError), (403, APIAuthError), (429, APIRateLimitError), (500, APINetworkError), (418, None)],
        ids=str,
    )
    async def test_a_refusal_is_an_error_of_ours(
        self, model: ChatModel, server: LoopbackServer, status: int, kind: type[RoundtableError] | None
    ) -> None:
        """An error response becomes a library error with the provider's name; only the gateway retries."""
        if not self._has(Capability.HTTP):
            return
        headers = {"content-type": "application/json", "retry-after": "7"}
        server.queue(http_reply(json.dumps({"error": {"message": "no"}}).encode(), status=status, headers=headers))
        with anyio.fail_after(self.limit_s), pytest.raises(kind or RoundtableError) as caught:
            await model.complete(self._request(model))
        assert caught.value.provider == model.provider
        assert len(server.seen) == 1
        assert caught.value.retryable == (status in {429, 500})
        if status == 429:
            assert caught.value.retry_after_s == 7

    @pytest.mark.parametrize("status", [429, 503])
    async def test_a_wait_that_the_api_asks_for_is_kept(
        self, model: ChatModel, server: LoopbackServer, status: int
    ) -> None:
        """If a refusal says how long to wait, `retry_after_s` of the error says it as well, also for a stream."""
        if not self._has(Capability.HTTP):
            return
        for wait in self.wait_headers:
            headers = {"content-type": "application/json", **wait}
            refusal = http_reply(json.dumps({"error": {"message": "no"}}).encode(), status=status, headers=headers)
            server.queue(refusal)
            with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError) as caught:
                await model.complete(self._request(model))
            outcomes: list[ChatResponse | RoundtableError] = [caught.value]
            if self._has(Capability.STREAMING):
                server.queue(refusal)
                outcomes.append(await self._outcome_of_stream(model))
            for outcome in outcomes:
                wait_s = getattr(outcome, "retry_after_s", None)
                assert wait_s == 7, f"a refusal with the headers {dict(wait)} asks for 7 s, but the wait is {wait_s}"

    async def test_a_fault_inside_a_200_is_an_error(self, model: ChatModel, server: LoopbackServer) -> None:
        """An error that the API sends with the status 200, alone or beside an answer, is an error, never an answer."""
        if not (self._has(Capability.HTTP) and self.fault):
            return
        document = _document_of(self.answer)
        bodies: list[JsonValue] = [self.fault]
        if isinstance(document, dict):
            bodies.append({**document, **self.fault})
        for body in bodies:
            server.queue(http_reply(json.dumps(body).encode()))
            text = None
            with anyio.fail_after(self.limit_s), contextlib.suppress(RoundtableError):
                text = (await model.complete(self._request(model))).text
            assert text is None, (
                f"the API answered {json.dumps(body)!r:.300} with the status 200, and the model answered {text!r}. "
                "Raise an error; if the API reports errors in another form, set `fault`"
            )

    @pytest.mark.parametrize("body", [b"", b"\0\xff", b"<html>", b"null", b"[]", b'{"error": 7}'], ids=ascii)
    async def test_an_answer_that_is_none_is_an_error_of_ours(
        self, model: ChatModel, server: LoopbackServer, body: bytes
    ) -> None:
        """An invalid response becomes a library error, never an exception of the JSON parser or an empty answer."""
        if not self._has(Capability.HTTP):
            return
        server.queue(http_reply(body), http_reply(body))
        with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError):
            await model.complete(self._request(model))
        if self._has(Capability.STREAMING):
            with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError):
                async for _ in model.stream(self._request(model)):
                    pass

    async def test_an_answer_with_a_part_that_is_wrong_never_breaks_it(
        self, model: ChatModel, server: LoopbackServer
    ) -> None:
        """A response with a field of the wrong type leads to an answer or to a library error."""
        if not self._has(Capability.HTTP):
            return
        for body in _with_wrong_types(self.answer):
            server.queue(http_reply(body))
            with anyio.fail_after(self.limit_s), contextlib.suppress(RoundtableError):
                assert isinstance(await model.complete(self._request(model)), ChatResponse), body

    async def test_a_redirect_is_not_followed(self, model: ChatModel, server: LoopbackServer) -> None:
        """The key is sent only to the configured server."""
        if not self._has(Capability.HTTP):
            return
        headers = {"location": f"{server.origin}/trap"}
        server.queue(http_reply(b"", status=307, headers=headers))
        with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError):
            await model.complete(self._request(model))
        assert server.traps == 0

    async def test_a_key_shows_nowhere(
        self, model: ChatModel, server: LoopbackServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        """No `repr`, log, address or error contains the key; only the server gets it."""
        if not self._has(Capability.HTTP):
            return
        body = json.dumps({"error": {"message": f"the key {KEY} is refused"}}).encode()
        with caplog.at_level(logging.DEBUG), anyio.fail_after(self.limit_s):
            response = await model.complete(self._request(model))
            server.queue(http_reply(body, status=401))
            with pytest.raises(RoundtableError) as caught:
                await model.complete(self._request(model))
        error = caught.value
        shown = (repr(model), caplog.text, repr(response), repr(error), str(error), json.dumps(error.to_dict()))
        causes = "".join(traceback.format_exception(error))
        assert not any(KEY in text for text in (*shown, causes, *(request.path for request in server.seen)))
        assert all(any(KEY in value for value in request.headers.values()) for request in server.seen)


async def _wait_for_hang_up(server: LoopbackServer) -> None:
    while not server.hang_ups:  # noqa: ASYNC110  (the server runs on other threads)
        await anyio.sleep(0.01)


def _document_of(answer: WireReply) -> JsonValue:
    body = b"".join(part for part in answer.parts if isinstance(part, bytes)).partition(b"\r\n\r\n")[2]
    document: JsonValue = json.loads(body)
    return document


def _parts_of_stream(reply: WireReply) -> tuple[bytes, list[bytes], list[bytes]]:
    """Return the head of a streamed response, its events, and the end of its last chunk, if it is sent in chunks."""
    head, *events = (part for part in reply.parts if isinstance(part, bytes))
    end = [events.pop()] if events and events[-1] == b"0\r\n\r\n" else []
    return head, events, end


def _said(outcome: ChatResponse | RoundtableError) -> str:
    """Return what a response says, as text that can be compared."""
    assert isinstance(outcome, ChatResponse), f"a complete stream raised {outcome!r}"
    calls = [f"{call.name}({dict(call.arguments)})" for call in outcome.tool_calls]
    return repr(" ".join(filter(None, (outcome.text, *calls))))


def _with_wrong_types(answer: WireReply) -> Iterator[bytes]:
    """Yield variants of a JSON response, in each of which one part has the wrong type."""
    document = _document_of(answer)
    for holder, key in list(_containers_and_keys(document)):
        original = holder[key]
        for junk in _JUNK:
            holder[key] = junk
            yield json.dumps(document).encode()
        holder[key] = original


def _containers_and_keys(value: JsonValue) -> Iterator[tuple[Any, Any]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield value, key
        yield from _containers_and_keys(child)
