"""Wrong providers, each with the law that it must break; `test_planted_plugins.py` runs each on that law.

This is a test file of a plugin author's kind: pytest collects it by its name, never with the other tests.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
from conformance.planting import Planted, anyio_backend, fixture, planter
from conformance.test_plugin_faults import (
    ACME,
    Acme,
    AnswersShort,
    DropsCalls,
    DropsTheLimit,
    DropsUsage,
    FollowsRedirects,
    ForgetsWhenToTryAgain,
    KeepsItsConnection,
    LocksForEver,
    LogsItsKey,
    RaisesItsKey,
    ShowsItsKey,
    StreamsNoUsage,
)

from roundtable.errors import APIRateLimitError, RoundtableError
from roundtable.providers import ChatServer, OpenAIChat
from roundtable.testing import ScriptedModel
from roundtable.testing.provider_suite import Capability, ProviderSuite
from roundtable.types import (
    AgentTool,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Message,
    ModelProfile,
    Usage,
)

__all__ = ["PLANTED", "anyio_backend"]

PLANTED: Planted = []
"""Suite, law and class of each planted plugin."""
plant = planter(globals(), PLANTED)

# ------------------------------------------------------------------ providers


class Http(ProviderSuite):
    """All capabilities, and little patience."""

    capabilities = frozenset({Capability.HTTP, Capability.STREAMING, Capability.TOOLS})
    limit_s = 1.5


def provider(law: str, wrong: type[Any], suite: type = Http) -> None:
    """Plant a provider; `wrong` is created with the base URL of the API."""
    plant(suite, law, wrong, make_model=fixture(lambda: wrong))


class Changed(Acme):
    """Changes each request before it is sent."""

    def change(self, request: ChatRequest) -> ChatRequest:
        return request

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return await super().complete(self.change(request))

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return super().stream(self.change(request))


def dropping(**values: object) -> type[Changed]:
    """Return a provider that sends these values instead of those of the call."""

    class Drops(Changed):
        def change(self, request: ChatRequest) -> ChatRequest:
            return request.model_copy(update=values)

    Drops.__name__ = f"Drops{''.join(name.title().replace('_', '') for name in values)}"
    return Drops


class NoSignature(Acme):
    async def complete(self) -> ChatResponse:  # type: ignore[override]
        raise NotImplementedError


class AwaitsItsStream(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:  # type: ignore[override]
        return self.inner.stream(request)


class CountsNoCalls(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        return response.model_copy(update={"usage": response.usage.model_copy(update={"calls": 0})})


class EndsWithAPiece(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        async for item in super().stream(request):
            yield item
        yield ChatDelta(text="!")


class OneAtATime(Acme):
    """Does not answer again after a stream was left."""

    busy = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        self.busy = True
        async for item in super().stream(request):
            yield item
        self.busy = False

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if self.busy:
            await anyio.sleep_forever()
        return await super().complete(request)


class ClosesOnce(Acme):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed")
        self.closed = True
        await super().aclose()


class SharesAnswers(Acme):
    """Gives the last answer to all who wait."""

    last: ChatResponse | None = None

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.last = await super().complete(request)
        await anyio.sleep(0.2)
        return self.last


class Persistent(Acme):
    """Calls again until there is an answer, whatever the deadline."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        with anyio.CancelScope(shield=True):
            return await super().complete(request)


class TriesAgain(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError:
            return await super().complete(request)


class TakesAnything(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError:
            return ChatResponse(text="")


class RaisesItsOwn(Acme):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError as error:
            raise KeyError("choices") from error


class Undeclared(ProviderSuite):
    """Declares nothing, as if all of its capabilities were strings."""


class NotTelling(ProviderSuite):
    """Declares neither streams nor tools."""

    capabilities = frozenset({Capability.HTTP})


class Silent(ScriptedModel):
    """Answers without the API."""

    profile = ModelProfile(streams=True)

    def __init__(self, url: str) -> None:
        super().__init__({"*": "Tea"})


class SendsNothing(Changed):
    """Asks something else than the agent did."""

    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"messages": (Message(role="user", content="Hello"),)})


class AllAsUser(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        messages = tuple(message.model_copy(update={"role": "user"}) for message in request.messages)
        return request.model_copy(update={"messages": messages})


class SystemAsUser(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        messages = tuple(
            message.model_copy(update={"role": "user"}) if message.role == "system" else message
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})


class LastAlone(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"messages": request.messages[-1:]})


class Backwards(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"messages": request.messages[::-1]})


class StreamsTheLastAlone(Acme):
    """Sends everything, but for a stream the last message only."""

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return super().stream(request.model_copy(update={"messages": request.messages[-1:]}))


class AlwaysWarm(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        return request.model_copy(update={"temperature": 0.375})


class StreamsWithoutSchema(Acme):
    def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        return super().stream(request.model_copy(update={"output_schema": None}))


class NoParameters(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        tools = tuple(tool.model_copy(update={"parameters": {}}) for tool in request.tools)
        return request.model_copy(update={"tools": tools})


class NoDescriptions(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        tools = tuple(
            AgentTool(
                name=tool.name,
                description=tool.description,
                parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            )
            for tool in request.tools
        )
        return request.model_copy(update={"tools": tools})


class NoRequirement(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        choice = "auto" if request.tool_choice == "required" else request.tool_choice
        return request.model_copy(update={"tool_choice": choice})


class ForgetsArguments(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        messages = tuple(
            message.model_copy(
                update={"tool_calls": tuple(call.model_copy(update={"arguments": {}}) for call in message.tool_calls)}
            )
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})


class SwapsResults(Changed):
    def change(self, request: ChatRequest) -> ChatRequest:
        ids = [message.tool_call_id for message in request.messages if message.tool_call_id]
        turned = iter(ids[::-1])
        messages = tuple(
            message.model_copy(update={"tool_call_id": next(turned)}) if message.tool_call_id else message
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})


class StreamsNoCalls(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        async for item in super().stream(request):
            yield item.model_copy(update={"tool_calls": ()}) if isinstance(item, ChatResponse) else item


class EndsWithTheUsage(Acme):
    """Takes a stream without its terminator for whole."""

    spec = replace(ACME, dialect=OpenAIChat("acme", server=ChatServer(name="acme", done_required=False)))


class LosesCalls(EndsWithTheUsage):
    """Takes a stream that broke off for an answer without its calls."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        try:
            async for item in super().stream(request):
                yield item
        except RoundtableError:
            if not request.tools:
                raise
            yield ChatResponse(text="")


class WithoutSome:
    """Passes on the events of a stream, except those that begin with certain bytes."""

    def __init__(self, inner: Any, start: bytes) -> None:
        self.inner, self.start, self.rest = inner, start, b""

    def feed(self, chunk: bytes) -> list[ChatDelta]:
        *events, self.rest = (self.rest + chunk).split(b"\n\n")
        kept = [event for event in events if not event.startswith(self.start)]
        return [delta for event in kept for delta in self.inner.feed(event + b"\n\n")]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def skipping(start: bytes) -> type[Acme]:
    """Return a provider that skips some events of a stream."""

    class Skipping(OpenAIChat):
        def stream_decoder(self, headers: Any) -> Any:
            return WithoutSome(super().stream_decoder(headers), start)

    class SkipsErrors(Acme):
        spec = replace(ACME, dialect=Skipping("acme", server=ACME.dialect.server))  # type: ignore[attr-defined]

    return SkipsErrors


class Forgiving(OpenAIChat):
    """Reads an answer beside an error."""

    def parse_response(self, status: int, headers: Any, body: bytes) -> ChatResponse:
        document = json.loads(body)
        if isinstance(document, dict) and "choices" in document:
            document.pop("error", None)
        return super().parse_response(status, headers, json.dumps(document).encode())


class Quoting(OpenAIChat):
    """Takes the message of an error for the answer."""

    def parse_response(self, status: int, headers: Any, body: bytes) -> ChatResponse:
        error = json.loads(body).get("error")
        if isinstance(error, dict):
            return ChatResponse(text=error["message"], usage=Usage(calls=1))
        return super().parse_response(status, headers, body)


class IgnoresErrors(Acme):
    spec = replace(ACME, dialect=Forgiving("acme"))


class QuotesErrors(Acme):
    spec = replace(ACME, dialect=Quoting("acme"))


class WaitsForLimitsAlone(Acme):
    """Reads the header of a wait only for the status 429."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return await super().complete(request)
        except RoundtableError as error:
            if not isinstance(error, APIRateLimitError):
                error.retry_after_s = None
            raise


class ForgetsTheWaitOfStreams(Acme):
    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        try:
            async for item in super().stream(request):
                yield item
        except RoundtableError as error:
            error.retry_after_s = None
            raise


class WithItsOwnWait(Http):
    """The API of this vendor asks for waits in a header of its own."""

    wait_headers = ({"retry-after": "7"}, {"x-acme-wait": "7"})


provider("test_a_stream_that_breaks_off_is_an_error", EndsWithTheUsage)
provider("test_a_stream_that_breaks_off_is_an_error", LosesCalls)
provider("test_an_error_in_a_stream_is_an_error", skipping(b'data: {"error"'))
provider("test_an_error_in_a_stream_is_an_error", skipping(b"event: error"))
provider("test_a_wait_that_the_api_asks_for_is_kept", WaitsForLimitsAlone)
provider("test_a_wait_that_the_api_asks_for_is_kept", ForgetsTheWaitOfStreams)
provider("test_a_wait_that_the_api_asks_for_is_kept", Acme, WithItsOwnWait)
provider("test_a_fault_inside_a_200_is_an_error", IgnoresErrors)
provider("test_a_fault_inside_a_200_is_an_error", QuotesErrors)
provider("test_it_has_the_parts_of_a_model", NoSignature)
provider("test_it_has_the_parts_of_a_model", AwaitsItsStream)
provider("test_it_answers", DropsUsage)
provider("test_it_answers", CountsNoCalls)
provider("test_a_stream_ends_with_the_whole_answer", StreamsNoUsage)
provider("test_a_stream_ends_with_the_whole_answer", EndsWithAPiece)
provider("test_a_stream_may_be_left", OneAtATime)
provider("test_a_stream_that_is_left_lets_its_connection_go", KeepsItsConnection)
provider("test_a_stream_that_breaks_off_is_an_error", AnswersShort)
provider("test_it_closes_twice", ClosesOnce)
provider("test_tools_are_described_to_it", DropsCalls)
provider("test_calls_at_once_do_not_disturb_each_other", SharesAnswers)
provider("test_a_call_that_is_cancelled_holds_up_no_other", LocksForEver)
provider("test_a_deadline_ends_a_call", Persistent)
provider("test_a_refusal_is_an_error_of_ours", TriesAgain)
provider("test_a_refusal_is_an_error_of_ours", ForgetsWhenToTryAgain)
provider("test_an_answer_that_is_none_is_an_error_of_ours", TakesAnything)
provider("test_an_answer_with_a_part_that_is_wrong_never_breaks_it", RaisesItsOwn)
provider("test_a_redirect_is_not_followed", FollowsRedirects)
provider("test_a_key_shows_nowhere", ShowsItsKey)
provider("test_a_key_shows_nowhere", LogsItsKey)
provider("test_a_key_shows_nowhere", RaisesItsKey)
provider("test_it_declares_what_it_does", Acme, Undeclared)
provider("test_it_declares_what_it_does", Acme, NotTelling)
provider("test_it_declares_what_it_does", Silent)
provider("test_the_model_is_named", dropping(model="acme-0"))
provider("test_messages_are_sent_in_order_with_their_roles", SendsNothing)
provider("test_messages_are_sent_in_order_with_their_roles", AllAsUser)
provider("test_messages_are_sent_in_order_with_their_roles", SystemAsUser)
provider("test_messages_are_sent_in_order_with_their_roles", LastAlone)
provider("test_messages_are_sent_in_order_with_their_roles", Backwards)
provider("test_messages_are_sent_in_order_with_their_roles", StreamsTheLastAlone)
provider("test_an_option_is_sent", dropping(temperature=None))
provider("test_an_option_is_sent", dropping(seed=None))
provider("test_an_option_is_sent", dropping(stop=()))
provider("test_an_option_is_sent", AlwaysWarm)
provider("test_the_token_limit_is_sent", DropsTheLimit)
provider("test_a_schema_is_sent", dropping(output_schema=None))
provider("test_a_schema_is_sent", StreamsWithoutSchema)
provider("test_a_tool_is_sent_with_its_parameters", dropping(tools=()))
provider("test_a_tool_is_sent_with_its_parameters", NoParameters)
provider("test_a_tool_is_sent_with_its_parameters", NoDescriptions)
provider("test_the_choice_of_a_tool_is_sent", dropping(tool_choice="auto"))
provider("test_the_choice_of_a_tool_is_sent", NoRequirement)
provider("test_calls_and_results_are_sent_back", ForgetsArguments)
provider("test_calls_and_results_are_sent_back", SwapsResults)
provider("test_calls_and_results_are_sent_back", LastAlone)
provider("test_a_streamed_call_is_parsed", StreamsNoCalls)
