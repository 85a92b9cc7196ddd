"""Test servers that speak the vendors' wire formats: what they send is read by the library as the vendors' answers."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import roundtable as rt
from roundtable.errors import APIAuthError, APIRateLimitError, ConfigurationError, RoundtableError
from roundtable.providers import chat_model
from roundtable.settings import Settings
from roundtable.testing import VendorAnswer, VendorRefusal, VendorServer
from roundtable.testing.servers import http_reply
from roundtable.types import AgentTool, ChatRequest, ChatResponse, Message
from roundtable.vendors import VENDORS

pytestmark = pytest.mark.slow

VENDOR_NAMES = ("anthropic", "openai", "google", "perplexity", "openai-chat")
SAID = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
WEATHER = AgentTool(
    name="weather",
    description="Returns the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)


def ask(text: str = "Tea?", **more: Any) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),), **more)


async def answered(server: VendorServer, request: ChatRequest, *, streams: bool) -> tuple[ChatResponse, list[str]]:
    """Call the server once, and return the answer with the pieces of its text."""
    model = chat_model(f"{server.vendor.name}:some-model", base_url=server.url, api_key="k")
    try:
        if not streams:
            return await model.complete(request), []
        pieces: list[str] = []
        whole: ChatResponse | None = None
        async for part in model.stream(request):
            if isinstance(part, ChatResponse):
                whole = part
            elif part.text:
                pieces.append(part.text)
        assert whole is not None
        return whole, pieces
    finally:
        await model.aclose()


@pytest.mark.both_loops
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("vendor", VENDOR_NAMES)
async def test_an_answer_is_read_like_an_answer_of_the_vendor(vendor: str, streams: bool) -> None:
    text = "Grüner Tee, 日本茶 and more of it"
    with VendorServer(vendor) as server:
        server.queue(VendorAnswer(text, input_tokens=23, output_tokens=5))
        response, pieces = await answered(server, ask(), streams=streams)
    assert (response.text, response.finish_reason) == (text, "stop")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (23, 5)
    assert response.model == "some-model"
    assert "".join(pieces) == (text if streams else "")
    assert len(pieces) > 1 or not streams
    (seen,) = server.seen
    assert (seen.method, "Tea?" in seen.body.decode()) == ("POST", True)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("vendor", [name for name in VENDOR_NAMES if name != "perplexity"])
async def test_tool_calls_are_read_with_their_arguments(vendor: str, streams: bool) -> None:
    calls = [("weather", {"city": "Oslo"}), ("weather", {"city": "Århus"})]
    with VendorServer(vendor) as server:
        server.queue(VendorAnswer("Let me see.", calls=calls))
        response, _ = await answered(server, ask(tools=(WEATHER,)), streams=streams)
    assert [(call.name, dict(call.arguments)) for call in response.tool_calls] == calls
    assert (response.text, response.finish_reason) == ("Let me see.", "tool_calls")


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("vendor", VENDOR_NAMES)
async def test_a_truncated_answer_says_so(vendor: str, streams: bool) -> None:
    with VendorServer(vendor, lambda seen: VendorAnswer("Tea, beca", is_cut=True)) as server:
        response, _ = await answered(server, ask(), streams=streams)
    assert (response.text, response.finish_reason) == ("Tea, beca", "length")


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_sonar_cites_its_sources(streams: bool) -> None:
    pages = ["https://tea.example/one", "https://tea.example/two"]
    with VendorServer("perplexity", lambda seen: VendorAnswer("Tea [1][2].", citations=pages)) as server:
        response, _ = await answered(server, ask(), streams=streams)
    assert [citation.url for citation in response.citations] == pages


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
async def test_a_refusal_is_the_error_of_the_vendor(vendor: str) -> None:
    with VendorServer(vendor) as server:
        server.queue(VendorRefusal(429, "slow down", headers={"retry-after": "7"}), VendorRefusal(400, "no such model"))
        with pytest.raises(APIRateLimitError, match="slow down") as limited:
            await answered(server, ask(), streams=False)
        with pytest.raises(RoundtableError, match="no such model") as invalid:
            await answered(server, ask(), streams=True)
    assert (limited.value.retry_after_s, limited.value.retryable) == (7.0, True)
    assert not invalid.value.retryable


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_a_request_without_a_key_or_to_another_path_is_refused_and_takes_no_reply(vendor: str) -> None:
    with VendorServer(vendor) as server:
        server.queue("Tea")
        without = httpx.post(f"{server.url}/v1/messages", json={})
        headers = {"authorization": "Bearer k", "x-api-key": "k", "x-goog-api-key": "k"}
        elsewhere = httpx.post(f"{server.url}/v2/nothing", json={}, headers=headers)
        assert (without.status_code, elsewhere.status_code) == (401, 404)
        assert "/v2/nothing" in str(elsewhere.json()["error"]["message"])
        assert server.seen == []


async def test_a_wrong_key_header_is_an_authorization_error() -> None:
    refuses = VendorServer("anthropic", lambda seen: VendorRefusal(401, "invalid x-api-key"))
    with refuses as server, pytest.raises(APIAuthError, match="invalid x-api-key"):
        await answered(server, ask(), streams=False)


@pytest.mark.both_loops
@pytest.mark.parametrize("vendor", VENDOR_NAMES)
async def test_a_whole_debate_runs_against_a_vendor_server(vendor: str) -> None:
    with VendorServer(vendor, lambda seen: SAID) as server:
        config = rt.AgentConfig(id="ada", name="Ada", provider=vendor, model="some-model")
        others = config.model_copy(update={"id": "bo", "name": "Bo"})
        options: Any = {"providers": {vendor: server.config}, "storage": "memory://", "search": False}
        async with (
            rt.Roundtable([config, others], **options) as table,
            table.stream("Tea or coffee?", rounds=1) as stream,
        ):
            async for _ in stream:
                pass
            result = stream.result
    assert (result.answer, result.usage.calls) == ("Tea", 2)
    assert all("Tea or coffee?" in seen.body.decode() for seen in server.seen)
    assert result.usage.input_tokens == 22


@pytest.mark.parametrize("vendor", VENDOR_NAMES[:4])
async def test_the_environment_leads_a_program_to_the_server(vendor: str) -> None:
    with VendorServer(vendor, lambda seen: SAID) as server:
        assert set(server.environment) == {VENDORS[vendor].base_url_env, VENDORS[vendor].key_env[0]}
        settings = Settings.from_env(server.environment)
        table = rt.Roundtable(storage="memory://", settings=settings, analyzer="declared", search=False)
        result = await table.debate("Tea or coffee?", rounds=1)
        await table.aclose()
    assert result.answer == "Tea"
    assert len(server.seen) == len(result.agents)


async def test_an_answer_function_that_fails_is_an_error_with_its_words() -> None:
    def answer(seen: object) -> str:
        raise KeyError("city")

    said = "the function of this server raised KeyError: 'city'"
    with VendorServer("openai", answer) as server, pytest.raises(RoundtableError, match=said):
        await answered(server, ask(), streams=False)


async def test_models_of_perplexity_are_offered_no_tools() -> None:
    calls = VendorServer("perplexity", lambda seen: VendorAnswer(calls=[("weather", {})]))
    with calls as server, pytest.raises(RoundtableError, match="call no tools"):
        await answered(server, ask(), streams=False)


async def test_raw_bytes_are_sent_as_they_are() -> None:
    empty = VendorServer("google", lambda seen: http_reply(json.dumps({"candidates": []}).encode()))
    with empty as server, pytest.raises(RoundtableError, match="no candidates"):
        await answered(server, ask(), streams=False)


def test_an_unknown_vendor_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="unknown vendor 'antropic'") as unknown:
        VendorServer("antropic")
    assert "anthropic, openai" in str(unknown.value.hint)
