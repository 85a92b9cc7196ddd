"""What every chat model must do, as tests that the author of a provider inherits."""

from __future__ import annotations

import contextlib
import enum
import inspect
import json
import logging
import traceback
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import anyio.lowlevel
import pytest

from roundtable.errors import APIAuthError, APINetworkError, APIRateLimitError, APITimeoutError, RoundtableError
from roundtable.gateway import Gateway
from roundtable.gateway.wrapping import close_stream
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, call_reply, chat_reply, http_reply
from roundtable.testing.suite import Suite
from roundtable.types import AgentTool, ChatDelta, ChatRequest, ChatResponse, JsonValue, Message, ModelProfile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from roundtable.protocols import ChatModel

__all__ = ["KEY", "Capability", "ProviderSuite"]

KEY = "canary-key-6f1d"
"""The key that a model under test is made with; it must show nowhere."""
_ROLES = ("system", "user", "assistant", "user")
_JUNK: tuple[JsonValue, ...] = (None, 7, -1, "x", [], [7], {}, {"x": None})
_TOOL = AgentTool(name="look_up", description="Looks a word up.", parameters={"type": "object", "properties": {}})


class Capability(enum.Enum):
    """What a provider can do; tests ask for capabilities, never for names of vendors."""

    HTTP = "http"
    """It is reached over HTTP at an address that can be given, with a key."""
    STREAMING = "streaming"
    """It sends answers in pieces."""
    TOOLS = "tools"
    """It takes descriptions of tools."""


class ProviderSuite(Suite):
    """Inherit this, say what the provider can do, give one fixture; its models are held to the `ChatModel` protocol.

    Over HTTP the suite plays the server. It answers with Chat Completions; for another wire give `answer` and
    `stream_answer` in it, both with the text `"Tea"`, the tokens that they state as `consumed`, and `call_answer` where
    the provider takes tools; override `wants_stream` where something else than `stream` asks for pieces.

    Example:
        ```python
        class TestAcme(ProviderSuite):
            capabilities = frozenset({Capability.HTTP, Capability.STREAMING})

            @pytest.fixture
            def make_model(self):
                return lambda url: make_acme("acme-1", ProviderConfig(base_url=url, api_key=KEY), Settings())
        ```
    """

    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    """What the provider can do."""
    answer: ClassVar[WireReply] = chat_reply("Tea")
    """A whole answer on the wire."""
    stream_answer: ClassVar[WireReply] = chat_reply("Tea", stream=True)
    """A streamed answer on the wire."""
    call_answer: ClassVar[WireReply] = call_reply("look_up", {"word": "tea"})
    """An answer on the wire that asks for the tool `look_up` with the word `"tea"`."""
    consumed: ClassVar[tuple[int, int] | None] = (11, 7)
    """Tokens in and out that these answers state; `None` where the wire states none."""
    limit_s: ClassVar[float] = 30.0
    """Seconds one call may take."""

    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        """Give a function from the root of an API to a model, which need not look at it."""
        raise NotImplementedError("a provider suite needs a fixture `make_model`")

    @pytest.fixture
    def server(self) -> Iterator[LoopbackServer]:
        """Give the server that the suite plays."""
        with LoopbackServer(lambda seen: self.stream_answer if self.wants_stream(seen) else self.answer) as server:
            yield server

    def wants_stream(self, seen: Seen) -> bool:
        """Tell whether a request asks for an answer in pieces."""
        return seen.wants_stream

    @pytest.fixture
    async def model(self, make_model: Callable[[str], ChatModel], server: LoopbackServer) -> AsyncIterator[ChatModel]:
        """Give the model under test."""
        model = make_model(server.url)
        yield model
        await model.aclose()

    def _ask(self, model: ChatModel, **more: object) -> ChatRequest:
        messages = (Message(role="user", content="Tea or coffee?"),)
        return ChatRequest.model_validate({"model": model.model, "messages": messages} | more)

    def _is(self, capability: Capability) -> bool:
        return capability in self.capabilities

    def test_it_has_the_parts_of_a_model(self, make_model: Callable[[str], ChatModel], server: LoopbackServer) -> None:
        """Names, a profile, and methods that can be called as the library calls them."""
        model = make_model(server.url)
        assert isinstance(model.provider, str)
        assert model.provider
        assert isinstance(model.model, str)
        assert isinstance(model.profile, ModelProfile)
        assert inspect.iscoroutinefunction(model.complete)
        assert not inspect.iscoroutinefunction(model.stream), "stream gives an iterator at once"
        for method in (model.complete, model.stream):
            inspect.signature(method).bind(self._ask(model))
        inspect.signature(model.aclose).bind()

    async def test_it_answers(self, model: ChatModel) -> None:
        """With a whole answer and a usage that takes nothing back."""
        with anyio.fail_after(self.limit_s):
            response: object = await model.complete(self._ask(model))
        assert isinstance(response, ChatResponse)
        self._check_usage(response)
        if self._is(Capability.HTTP):
            assert response.text == "Tea"

    def _check_usage(self, response: ChatResponse) -> None:
        usage = response.usage
        assert min(usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.calls) >= 0
        assert usage.cost_usd is None or usage.cost_usd >= 0
        if self._is(Capability.HTTP) and self.consumed is not None:
            assert (usage.input_tokens, usage.output_tokens) == self.consumed, "budgets live on what answers state"

    async def test_a_stream_ends_with_the_whole_answer(self, model: ChatModel) -> None:
        """Any number of pieces, then one response which they add up to."""
        pieces: list[str] = []
        whole: list[ChatResponse] = []
        with anyio.fail_after(self.limit_s):
            async for one in model.stream(self._ask(model)):
                assert not whole, "the response comes last"
                if isinstance(one, ChatDelta):
                    pieces.append(one.text)
                else:
                    whole.append(one)
        assert len(whole) == 1
        assert "".join(pieces) in {"", whole[0].text}
        self._check_usage(whole[0])
        if self._is(Capability.STREAMING):
            assert pieces
            assert model.profile.streams

    async def test_a_stream_may_be_left(self, model: ChatModel) -> None:
        """Whoever has heard enough lets go, and the model answers the next call."""
        with anyio.fail_after(self.limit_s):
            stream = model.stream(self._ask(model))
            async for _ in stream:
                break
            await close_stream(stream)
            assert isinstance(await model.complete(self._ask(model)), ChatResponse)

    async def test_a_stream_that_is_left_lets_its_connection_go(self, model: ChatModel, server: LoopbackServer) -> None:
        """The vendor stops writing, and charging, when nobody listens any more."""
        if not (self._is(Capability.HTTP) and self._is(Capability.STREAMING)):
            return
        parts = self.stream_answer.parts
        server.queue(WireReply([*parts[:-1], 60.0, parts[-1]]))
        stream = model.stream(self._ask(model))
        with anyio.fail_after(self.limit_s):
            async for _ in stream:
                break
            await close_stream(stream)
            await _hung_up(server)

    async def test_a_stream_that_breaks_off_is_an_error(self, model: ChatModel, server: LoopbackServer) -> None:
        """An answer that lacks its end is never taken for a short one; it may be asked for again."""
        if not (self._is(Capability.HTTP) and self._is(Capability.STREAMING)):
            return
        *parts, last = self.stream_answer.parts
        begun = parts[: max(2, len(parts) // 2)]
        is_chunked = last == b"0\r\n\r\n"
        server.queue(WireReply([*begun, last]) if is_chunked else WireReply(begun, "close"))
        with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError) as caught:
            async for _ in model.stream(self._ask(model)):
                pass
        assert caught.value.retryable

    async def test_it_closes_twice(self, make_model: Callable[[str], ChatModel], server: LoopbackServer) -> None:
        """And before it was ever used."""
        model = make_model(server.url)
        await model.aclose()
        await model.aclose()

    async def test_tools_are_described_to_it(self, model: ChatModel, server: LoopbackServer) -> None:
        """Where it takes tools, their names reach the wire, what it asks of them is read, and so are results."""
        if not self._is(Capability.TOOLS):
            return
        if not self._is(Capability.HTTP):
            with anyio.fail_after(self.limit_s):
                await model.complete(self._ask(model, tools=(_TOOL,)))
            return
        server.queue(self.call_answer)
        with anyio.fail_after(self.limit_s):
            asked = await model.complete(self._ask(model, tools=(_TOOL,)))
            assert b"look_up" in server.seen[-1].body
            assert [(call.name, dict(call.arguments)) for call in asked.tool_calls] == [("look_up", {"word": "tea"})]
            told = Message(role="tool", content="a-drink-5c1", tool_call_id=asked.tool_calls[0].id)
            said = (*self._ask(model).messages, Message(role="assistant", tool_calls=asked.tool_calls), told)
            assert (await model.complete(self._ask(model, tools=(_TOOL,), messages=said))).text == "Tea"
        assert b"a-drink-5c1" in server.seen[-1].body

    async def test_all_that_is_said_reaches_the_wire(self, model: ChatModel, server: LoopbackServer) -> None:
        """Who the agent is, every message, and how long the answer may be."""
        if not self._is(Capability.HTTP):
            return
        told = [{"role": role, "content": f"{place}-word-8b3"} for place, role in enumerate(_ROLES)]
        said = tuple(map(Message.model_validate, told))
        with anyio.fail_after(self.limit_s):
            await model.complete(self._ask(model, messages=said, max_tokens=1234))
        body = server.seen[-1].body.decode()
        assert [body.count(message.content) for message in said] == [1] * 4
        assert "1234" in body, "a budget is kept by the limit of each answer"

    async def test_calls_at_once_do_not_disturb_each_other(self, model: ChatModel) -> None:
        """Agents of one stage share a model."""
        with anyio.fail_after(self.limit_s):
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(model.complete, self._ask(model))

    async def test_a_call_that_is_cancelled_holds_up_no_other(self, model: ChatModel) -> None:
        """Wherever it was cancelled: turns are, when a debate is stopped."""
        with anyio.fail_after(self.limit_s):
            for steps in range(6):
                async with anyio.create_task_group() as group:
                    group.start_soon(model.complete, self._ask(model))
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    group.cancel_scope.cancel()
            assert isinstance(await model.complete(self._ask(model)), ChatResponse)

    async def test_a_deadline_ends_a_call(self, model: ChatModel, server: LoopbackServer) -> None:
        """The library's own deadline holds for it, and the connection is let go."""
        if not self._is(Capability.HTTP):
            return
        server.queue(WireReply([60.0, *self.answer.parts]))
        guarded = Gateway().guard(model, timeout_s=0.2)
        with anyio.fail_after(self.limit_s), pytest.raises(APITimeoutError):
            await guarded.complete(self._ask(model))
        with anyio.fail_after(self.limit_s):
            await _hung_up(server)
            assert isinstance(await model.complete(self._ask(model)), ChatResponse)

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(401, APIAuthError), (403, APIAuthError), (429, APIRateLimitError), (500, APINetworkError), (418, None)],
        ids=str,
    )
    async def test_a_refusal_is_an_error_of_ours(
        self, model: ChatModel, server: LoopbackServer, status: int, kind: type[RoundtableError] | None
    ) -> None:
        """With its provider, and without a second try: the gateway alone tries again."""
        if not self._is(Capability.HTTP):
            return
        headers = {"content-type": "application/json", "retry-after": "7"}
        server.queue(http_reply(json.dumps({"error": {"message": "no"}}).encode(), status=status, headers=headers))
        with anyio.fail_after(self.limit_s), pytest.raises(kind or RoundtableError) as caught:
            await model.complete(self._ask(model))
        assert caught.value.provider == model.provider
        assert len(server.seen) == 1
        assert caught.value.retryable == (status in {429, 500})
        if status == 429:
            assert caught.value.retry_after_s == 7

    @pytest.mark.parametrize("body", [b"", b"\0\xff", b"<html>", b"null", b"[]", b'{"error": 7}'], ids=ascii)
    async def test_an_answer_that_is_none_is_an_error_of_ours(
        self, model: ChatModel, server: LoopbackServer, body: bytes
    ) -> None:
        """Never an exception of a JSON reader, and never an empty answer."""
        if not self._is(Capability.HTTP):
            return
        server.queue(http_reply(body), http_reply(body))
        with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError):
            await model.complete(self._ask(model))
        if self._is(Capability.STREAMING):
            with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError):
                async for _ in model.stream(self._ask(model)):
                    pass

    async def test_an_answer_with_a_part_that_is_wrong_never_breaks_it(
        self, model: ChatModel, server: LoopbackServer
    ) -> None:
        """Whatever stands where something else should, it is an answer, or an error of ours."""
        if not self._is(Capability.HTTP):
            return
        for body in _spoilt(self.answer):
            server.queue(http_reply(body))
            with anyio.fail_after(self.limit_s), contextlib.suppress(RoundtableError):
                assert isinstance(await model.complete(self._ask(model)), ChatResponse), body

    async def test_a_redirect_is_not_followed(self, model: ChatModel, server: LoopbackServer) -> None:
        """Nobody is sent the key who was not named."""
        if not self._is(Capability.HTTP):
            return
        headers = {"location": f"{server.origin}/trap"}
        server.queue(http_reply(b"", status=307, headers=headers))
        with anyio.fail_after(self.limit_s), pytest.raises(RoundtableError):
            await model.complete(self._ask(model))
        assert server.traps == 0

    async def test_a_key_shows_nowhere(
        self, model: ChatModel, server: LoopbackServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Not in what the model shows of itself, in its log, in an address or in an error; the server gets it."""
        if not self._is(Capability.HTTP):
            return
        body = json.dumps({"error": {"message": f"the key {KEY} is refused"}}).encode()
        with caplog.at_level(logging.DEBUG), anyio.fail_after(self.limit_s):
            response = await model.complete(self._ask(model))
            server.queue(http_reply(body, status=401))
            with pytest.raises(RoundtableError) as caught:
                await model.complete(self._ask(model))
        error = caught.value
        shown = (repr(model), caplog.text, repr(response), repr(error), str(error), json.dumps(error.to_dict()))
        causes = "".join(traceback.format_exception(error))
        assert not any(KEY in text for text in (*shown, causes, *(seen.path for seen in server.seen)))
        assert all(any(KEY in value for value in seen.headers.values()) for seen in server.seen)


async def _hung_up(server: LoopbackServer) -> None:
    while not server.hang_ups:  # noqa: ASYNC110  (the server is on threads of its own)
        await anyio.sleep(0.01)


def _spoilt(answer: WireReply) -> Iterator[bytes]:
    """Give an answer in JSON with each of its parts replaced by what it is not."""
    body = b"".join(part for part in answer.parts if isinstance(part, bytes)).partition(b"\r\n\r\n")[2]
    document: JsonValue = json.loads(body)
    for holder, key in list(_places(document)):
        held = holder[key]
        for junk in _JUNK:
            holder[key] = junk
            yield json.dumps(document).encode()
        holder[key] = held


def _places(value: JsonValue) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield value, key
        yield from _places(part)
