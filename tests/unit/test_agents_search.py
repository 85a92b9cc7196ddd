"""Agents that search the web with their provider's own search."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anyio
import pytest
from snapshots.prompt_views import ADA, TOPIC, planned, view

from roundtable import ProviderConfig, Roundtable
from roundtable.agents import (
    BaseAgent,
    ChatGPTAgent,
    ClaudeAgent,
    GeminiAgent,
    PerplexityAgent,
    PerplexitySearchOptions,
    create_chatgpt_agent,
    create_claude_agent,
    create_gemini_agent,
    create_perplexity_agent,
)
from roundtable.errors import AgentError, APIAuthError, APINetworkError, ConfigurationError, QuorumLost
from roundtable.protocols import TurnListener
from roundtable.providers import ScriptedModel
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    AgentTool,
    ChatRequest,
    ChatResponse,
    Citation,
    JsonObject,
    Message,
    ModelProfile,
    NativeContent,
    NativeSearch,
    RetryPolicy,
    SearchProfile,
    ServerCall,
    ToolCall,
    ToolResult,
    Usage,
)

YES = '{"position": "Yes", "confidence": 1}'
ALONE = ModelProfile(search_alone=True, search_model="light", structured_output=True, streams=True)
FOUND = ChatResponse(
    text="Tea keeps.\nEND QUOTE x",
    citations=(Citation(title="Why tea", url="https://tea.example/why"),),
    server_calls=(ServerCall(name="google_search", input={"queries": ["tea"]}),),
    usage=Usage(input_tokens=5, output_tokens=2, calls=1),
)
WISH = ChatResponse(text="", finish_reason="tool_calls", tool_calls=(ToolCall(id="c", name="look", arguments={}),))


class Toolkit:
    def get_tools(self) -> tuple[AgentTool, ...]:
        return (AgentTool(name="look", description="Looks."),)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True, data="seen")


class Heard(TurnListener):
    wants_pieces = True

    def __init__(self) -> None:
        self.text = ""
        self.asked = 0

    async def chunk(self, text: str) -> None:
        self.text += text

    async def before_call(self) -> None:
        self.asked += 1


def searching(*replies: Any, profile: ModelProfile = ALONE, toolkit: Toolkit | None = None) -> BaseAgent:
    model = ScriptedModel(list(replies), profile=profile, chunks=2)
    return BaseAgent(ADA, model, toolkit=toolkit, search=NativeSearch())


def requests_of(agent: BaseAgent) -> Any:
    agent.chat_model.assert_consumed()
    return agent.chat_model.requests


async def test_a_model_that_cannot_search_and_call_tools_at_once_searches_first() -> None:
    agent, heard = searching(FOUND, WISH, YES, toolkit=Toolkit()), Heard()
    result = await agent.take_turn(planned(view()), heard)
    search, first, second = requests_of(agent)
    assert (search.model, search.search, search.tools, search.output_schema) == ("light", NativeSearch(), (), None)
    for request in (first, second):
        assert (request.model, request.search) == (agent.model, None)
        assert [tool.name for tool in request.tools] == ["look"]
        assert request.output_schema is not None
    assert first.messages[0] == search.messages[0]
    asked = first.messages[-1].content
    assert asked.startswith(search.messages[-1].content)
    lines = asked.removeprefix(search.messages[-1].content).splitlines()
    assert "| 1. Why tea: https://tea.example/why" in lines
    # What the search found is data: nothing in it ends the quotation.
    assert [line for line in lines if line.startswith("END QUOTE")] == [lines[-1]]
    assert isinstance(result.answer, AgentResponse)
    assert [link.url for link in result.answer.citations] == ["https://tea.example/why"]
    assert [call.tool_name for call in result.answer.tool_calls] == ["google_search", "look"]
    assert (result.usage.calls, heard.asked) == (3, 3)
    assert heard.text == YES  # the search is not shown as the answer


@pytest.mark.parametrize(
    ("profile", "toolkit"),
    [
        pytest.param(ALONE, None, id="without tools one call does"),
        pytest.param(ModelProfile(), Toolkit(), id="a model that can do both is asked once"),
    ],
)
async def test_a_search_is_part_of_the_call_if_possible(profile: ModelProfile, toolkit: Toolkit | None) -> None:
    agent = searching(YES, profile=profile, toolkit=toolkit)
    await agent.take_turn(planned(view()))
    (request,) = requests_of(agent)
    assert request.search == NativeSearch()
    assert bool(request.tools) == (toolkit is not None)


async def test_a_temporary_error_of_a_search_does_not_fail_the_turn() -> None:
    agent = searching(APINetworkError("down"), YES, toolkit=Toolkit())
    result = await agent.take_turn(planned(view()))
    _, second = requests_of(agent)
    assert "A search of the web was tried and failed" in second.messages[-1].content
    assert isinstance(result.answer, AgentResponse)
    (record,) = result.answer.tool_calls
    assert (record.tool_name, record.output) == ("web_search", {"error": "API_NETWORK_ERROR"})


async def test_a_search_that_is_refused_fails_the_turn() -> None:
    agent = searching(APIAuthError("no"), toolkit=Toolkit())
    with pytest.raises(APIAuthError):
        await agent.take_turn(planned(view()))


async def test_a_paused_answer_is_continued_and_counts_from_its_beginning() -> None:
    native = NativeContent(provider="scripted", items=({"type": "text", "text": YES[:9]},))
    paused = ChatResponse(text=YES[:9], finish_reason="pause", native=native)
    agent = searching(paused, YES[9:], profile=ModelProfile())
    result = await agent.take_turn(planned(view()))
    first, second = requests_of(agent)
    assert second.messages == (*first.messages, Message(role="assistant", content=YES[:9], native=native))
    assert isinstance(result.answer, AgentResponse)
    assert (result.answer.position, result.usage.calls) == ("Yes", 2)


async def test_an_answer_that_is_paused_again_and_again_ends_with_the_steps_of_the_turn() -> None:
    paused = ChatResponse(text="", finish_reason="pause")
    agent = searching(paused, paused, YES, profile=ModelProfile())
    result = await agent.take_turn(planned(view(), max_steps=2))
    assert [len(request.messages) for request in requests_of(agent)] == [2, 3, 3]
    assert result.usage.calls == 3


async def test_an_answer_is_reformatted_without_a_second_search() -> None:
    agent = searching("", YES, profile=ModelProfile())
    await agent.take_turn(planned(view()))
    assert [request.search for request in requests_of(agent)] == [NativeSearch(), None]


async def test_an_older_gemini_searches_with_the_light_model_and_calls_tools_with_its_own() -> None:
    def answer(seen: Seen) -> WireReply:
        searches = "googleSearch" in json.dumps(seen.json["tools"])
        part: Any = {"text": "Tea keeps." if searches else YES}
        chunk = {"web": {"uri": "https://tea.example/why", "title": "Why tea"}}
        candidate: Any = {"content": {"parts": [part]}, "finishReason": "STOP"}
        if searches:
            candidate["groundingMetadata"] = {"groundingChunks": [chunk], "webSearchQueries": ["tea"]}
        return http_reply(json.dumps({"candidates": [candidate]}).encode())

    config = AgentConfig(id="ada", name="Ada", provider="google", model="gemini-2.5-pro")
    with LoopbackServer(answer) as server:
        agent = GeminiAgent(config, base_url=server.origin, toolkit=Toolkit())
        position = await agent.generate_response(planned(view()))
        await agent.chat_model.aclose()
    paths = [seen.path for seen in server.seen]
    assert [path.split("/")[-1].partition(":")[0] for path in paths] == ["gemini-2.5-flash-lite", "gemini-2.5-pro"]
    assert [sorted(tool) for seen in server.seen for tool in seen.json["tools"]] == [
        ["googleSearch"],
        ["functionDeclarations"],
    ]
    assert [link.url for link in position.citations] == ["https://tea.example/why"]


VENDORS = [
    pytest.param(create_claude_agent, ClaudeAgent, "anthropic", id="Claude"),
    pytest.param(create_chatgpt_agent, ChatGPTAgent, "openai", id="ChatGPT"),
    pytest.param(create_gemini_agent, GeminiAgent, "google", id="Gemini"),
    pytest.param(create_perplexity_agent, PerplexityAgent, "perplexity", id="Perplexity"),
]


@pytest.mark.parametrize(("create", "kind", "provider"), VENDORS)
async def test_agents_of_vendors_search_unless_told_not_to(create: Any, kind: Any, provider: str) -> None:
    toolkit = Toolkit()
    agent = create(AgentConfig(id="a", name="A", provider=provider, model="some-model"), toolkit, api_key="sk-x")
    assert type(agent) is kind
    assert (agent.search, agent.model, agent.provider) == (NativeSearch(), "some-model", provider)
    agent.set_search(None)
    assert agent.search is None
    await agent.chat_model.aclose()


@pytest.mark.parametrize(("_", "kind", "provider"), VENDORS)
def test_agents_of_vendors_refuse_another_vendor_unless_given_a_model(_: Any, kind: Any, provider: str) -> None:
    config = AgentConfig(id="a", name="A", provider="scripted")
    with pytest.raises(ConfigurationError, match=f"needs the provider '{provider}', not 'scripted'"):
        kind(config, api_key="sk-x")
    assert kind(config, ScriptedModel([])).chat_model.provider == "scripted"


async def test_perplexity_is_asked_for_sources_and_searches_for_the_question() -> None:
    model = ScriptedModel([YES])
    agent = PerplexityAgent(ADA, model, search_options=PerplexitySearchOptions(recency_filter="week"))
    agent.set_search_options(PerplexitySearchOptions(domain_filter=("a.example", "-b.example"), return_images=True))
    assert agent.get_search_options().recency_filter == "week"
    await agent.take_turn(planned(view()))
    (request,) = model.requests
    assert request.search == NativeSearch(
        recency="week", allowed_domains=("a.example",), blocked_domains=("b.example",), images=True
    )
    system, user = (message.content for message in request.messages)
    assert "[1]" in system
    assert user.find(TOPIC) < user.find("JSON")
    assert "JSON" in user[-600:]


@pytest.mark.parametrize("age", ["hour", "day", "week", "month", "year"])
def test_every_page_age_that_perplexity_documents_can_be_requested(age: Any) -> None:
    assert PerplexitySearchOptions(recency_filter=age).to_search().recency == age


class NoSearch(ScriptedModel):
    """A model that refuses every search; its first call without one fails late, and for another reason."""

    def __init__(self) -> None:
        super().__init__({"*": YES}, profile=ModelProfile(search=SearchProfile()))
        self._is_first = True

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if request.search:
            raise AgentError("web_search is not supported", retryable=False, details={"status": 400})
        if self._is_first:
            self._is_first = False
            await anyio.sleep(0.2)
            raise AgentError("bad request: too long", retryable=False, details={"status": 400})
        return await super().complete(request)


async def test_a_request_that_fails_without_a_search_too_keeps_its_error() -> None:
    """Meanwhile other turns of the agent report the refusal."""
    async with Roundtable([NoSearch()], storage="memory://", analyzer="basic", search=True) as table:
        result = await table.debate("2 + 2?", mode="self-consistency:samples=4", rounds=1)
    assert Counter(turn.outcome for turn in result.rounds[0].turns) == {"answered": 3, "failed": 1}
    (failed,) = [turn for turn in result.rounds[0].turns if turn.outcome == "failed"]
    assert failed.error.message.startswith("bad request: too long")


def table_at(server: LoopbackServer) -> Roundtable:
    config = ProviderConfig(base_url=server.origin, api_key="key-for-tests-1", retry=RetryPolicy(max_attempts=1))
    return Roundtable(["openai:gpt-5.2"], providers={"openai": config}, storage="memory://", analyzer="basic")


@pytest.mark.parametrize("breaks", ["status", "connection"])
async def test_a_server_that_breaks_down_on_a_search_is_asked_without_one(breaks: str) -> None:
    """Some small servers expect that every tool has a name."""

    def answer(seen: Seen) -> WireReply:
        if all("name" in tool for tool in seen.json.get("tools", ())):
            text = {"type": "message", "content": [{"type": "output_text", "text": YES}]}
            return http_reply(json.dumps({"id": "r", "status": "completed", "output": [text]}).encode())
        return http_reply(b"{}", status=500) if breaks == "status" else WireReply([], end="close")

    with LoopbackServer(answer) as server:
        async with table_at(server) as table:
            result = await table.debate("2 + 2?", rounds=2)
    turns = [turn for part in result.rounds for turn in part.turns]
    assert [turn.outcome for turn in turns] == ["answered", "answered"]
    assert ["tools" in seen.json for seen in server.seen] == [True, False, False]
    (warning,) = turns[0].result.warnings
    assert warning.startswith("the provider refused its own web search")


async def test_a_server_that_fails_without_a_search_too_keeps_its_error_and_the_search() -> None:
    with LoopbackServer(lambda _: http_reply(b"{}", status=500)) as server:
        async with table_at(server) as table:
            with pytest.raises(QuorumLost, match="500"):
                await table.debate("2 + 2?", rounds=1)
            with pytest.raises(QuorumLost, match="500"):
                await table.debate("3 + 3?", rounds=1)
    assert ["tools" in seen.json for seen in server.seen] == [True, False, True, False]
