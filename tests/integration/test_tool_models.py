"""Models that tools ask: what they consume is the turn's, and the budget, the limits and the cassette hold for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

import roundtable
from roundtable.agents import BaseAgent
from roundtable.errors import APINetworkError, ConfigurationError
from roundtable.providers import Cassette
from roundtable.providers.scripted import ScriptedModel
from roundtable.tools import (
    DefaultAgentToolkit,
    ModelCall,
    ModelSearch,
    PerplexitySearch,
    SearchWeb,
    ToolDefinition,
    ToolTurn,
    create_default_toolkit,
)
from roundtable.types import (
    AgentConfig,
    AgentTool,
    ChatRequest,
    ChatResponse,
    DebateContext,
    JsonObject,
    Message,
    ToolResult,
    Usage,
)

TOPIC = "Tea or coffee?"
PRICES = {"scripted:scripted": {"input": 0.0, "output": 1.0}}


def reply(usage: Usage) -> ChatResponse:
    return ChatResponse(text="Tea came to Europe in 1610.", usage=usage)


def wishing(*calls: tuple[str, JsonObject]) -> Any:
    """Script a model that makes these calls one after another in every turn, and then answers."""

    def script(request: ChatRequest) -> Any:
        made = sum(bool(message.tool_calls) for message in request.messages)
        if made < len(calls) and request.tools:
            return {"toolCalls": [{"name": calls[made][0], "args": calls[made][1]}]}
        return ChatResponse(
            text='{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}',
            usage=Usage(input_tokens=1, output_tokens=1, calls=1),
        )

    return script


SEARCH: tuple[str, JsonObject] = ("perplexity_search", {"query": "When?"})


def seat(script: Any, **more: Any) -> BaseAgent:
    return BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), ScriptedModel(script), **more)


def searcher() -> ScriptedModel:
    return ScriptedModel([reply(Usage(input_tokens=100, output_tokens=50, calls=1))] * 3)


@pytest.mark.parametrize("how", ["tool", "toolkit", "own toolkit"])
async def test_the_usage_of_a_search_by_a_model_is_charged_to_the_turn(how: str) -> None:
    search = ModelSearch(searcher())
    kit = create_default_toolkit(perplexity_search_provider=search)
    ada = seat(wishing(SEARCH), toolkit=kit if how == "own toolkit" else None)
    tools: list[Any] = {"tool": [PerplexitySearch(search)], "toolkit": [kit], "own toolkit": []}[how]
    result = await roundtable.Roundtable([ada], storage="memory://", tools=tools).debate(TOPIC, rounds=1)
    assert (result.usage.output_tokens, result.usage.calls) == (51, 3)


async def test_a_search_by_a_model_keeps_to_the_budget_of_the_debate() -> None:
    model = searcher()
    table = roundtable.Roundtable(
        [seat(wishing(SEARCH))], storage="memory://", tools=[PerplexitySearch(ModelSearch(model))], prices=PRICES
    )
    result = await table.debate(TOPIC, rounds=1, budget=roundtable.Budget(max_calls=1))
    assert not model.requests
    assert (result.status, result.exit.reason) == ("partial", "budget")


async def test_the_worst_case_counts_model_calls_of_tools() -> None:
    prices = {"scripted:scripted": {"input": 1.0, "output": 1.0}, "scripted:dear": {"input": 10.0, "output": 10.0}}
    tools: list[Any] = [
        PerplexitySearch(ModelSearch(ScriptedModel([]), max_tokens=10)),
        Telling(ScriptedModel([], model="dear")),
    ]
    bare, equipped, nested = (
        roundtable.Roundtable([seat(wishing(), toolkit=kit)], storage="memory://", tools=given, prices=prices)
        for kit, given in (
            (None, [lookup]),
            (None, [lookup, *tools]),
            (DefaultAgentToolkit(standard=False), []),
        )
    )
    own = nested._wiring.options.agents[0].toolkit
    inner = DefaultAgentToolkit(standard=False)
    for one in tools:
        inner.register_tool(one)
    own.include(inner)
    without, worst, within = (table.estimate(TOPIC, rounds=1) for table in (bare, equipped, nested))
    most = 10  # tool calls of a turn, each with one call of a model
    assert worst.calls - without.calls == most
    assert within.calls == worst.calls
    assert worst.output_tokens - without.output_tokens == most * 100  # of the dearer tool
    assert worst.planned_calls == without.planned_calls == 1
    assert worst.cost_usd > without.cost_usd + most * 100 * 10e-6


async def test_a_budget_in_dollars_needs_the_prices_of_models_that_tools_ask() -> None:
    tools = [PerplexitySearch(ModelSearch(ScriptedModel([], model="unpriced")))]
    table = roundtable.Roundtable([seat(wishing())], storage="memory://", tools=tools, prices=PRICES)
    with pytest.raises(ConfigurationError, match="no price is known for scripted:unpriced"):
        await table.debate(TOPIC, rounds=1, budget=roundtable.Budget(max_cost_usd=1))
    assert await table.sessions() == ()


def lookup(word: str) -> str:
    """Look a word up."""
    return word


class Telling:
    """A tool of somebody's own that says which model it asks."""

    definition = AgentTool(name="tell", description="Asks.", parameters={"type": "object"})

    def __init__(self, model: Any) -> None:
        self.model = model

    def asks(self) -> list[ModelCall]:
        return [ModelCall(self.model, ChatRequest(messages=(Message(role="user", content="?"),), max_tokens=100))]

    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True)


async def test_a_search_by_a_model_is_recorded_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "taped.jsonl"
    said: list[Any] = []
    for mode, model in (("record", searcher()), ("replay", ScriptedModel([]))):
        ada = seat(wishing(SEARCH))
        tools = [PerplexitySearch(ModelSearch(model))]
        async with roundtable.Roundtable(
            [ada], storage="memory://", tools=tools, cassette=Cassette(path, mode), analyzer="basic"
        ) as table:
            result = await table.debate(TOPIC, rounds=1)
        said.append(result.rounds[0].responses[0].tool_calls[0].output)
        assert len(model.requests) == (mode == "record")
    assert said[0] == said[1]


class Asking:
    """A tool of somebody's own that asks a model on behalf of its turn."""

    definition = AgentTool(name="ask", description="Asks.")

    def __init__(self, model: Any, turn: ToolTurn | None = None) -> None:
        self.model, self.turn = model, turn
        self.timeout_s = 0.05

    def for_turn(self, turn: ToolTurn) -> Asking:
        return Asking(self.model, turn)

    async def run(self, tool_input: JsonObject) -> ToolResult:
        assert self.turn is not None
        request = ChatRequest(model="", messages=(Message(role="user", content="When?"),))
        return ToolResult(success=True, data=(await self.turn.ask(self.model, request)).text)


class Slow(ScriptedModel):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        await anyio.sleep(30)
        return await super().complete(request)


class Broken(ScriptedModel):
    async def complete(self, request: ChatRequest) -> ChatResponse:
        error = APINetworkError("gone", retryable=False)
        error.usage = Usage(input_tokens=7, calls=1)
        raise error


@pytest.mark.parametrize(
    ("model", "tokens", "unreported"),
    [
        pytest.param(searcher(), 101, 1, id="answers"),
        pytest.param(Slow(["x"]), 1, 2, id="does not answer in time"),
        pytest.param(Broken(["x"]), 8, 1, id="fails"),
    ],
)
async def test_a_custom_tool_asks_a_model_through_its_turn(model: Any, tokens: int, unreported: int) -> None:
    table = roundtable.Roundtable([seat(wishing(("ask", {})))], storage="memory://", tools=[Asking(model)])
    result = await table.debate(TOPIC, rounds=1)
    assert result.usage.input_tokens == tokens
    assert (result.usage.calls, result.usage.unreported_calls) == (3, unreported)


async def test_a_turn_without_a_table_asks_the_model_directly() -> None:
    kit = DefaultAgentToolkit(standard=False)
    kit.register_tool(Asking(searcher()))
    response = await seat(wishing(("ask", {})), toolkit=kit).generate_response(
        DebateContext(session_id="s", topic=TOPIC, mode="collaborative")
    )
    assert response.tool_calls[0].output == {"success": True, "data": "Tea came to Europe in 1610."}


async def test_a_default_toolkit_among_the_tools_of_a_table_knows_the_debate() -> None:
    asked: JsonObject = {"position": "Coffee", "reasoning": "Habit.", "confidence": 0.4}
    calls = [("get_context", {}), ("submit_response", asked)]
    table = roundtable.Roundtable([seat(wishing(*calls))], storage="memory://", tools=[create_default_toolkit()])  # type: ignore[arg-type]  # tuples of JSON
    (response,) = (await table.debate(TOPIC, rounds=1)).rounds[0].responses
    assert response.position == "Coffee"
    assert isinstance(response.tool_calls[0].output, dict)
    assert response.tool_calls[0].output["success"] is True


class Box:
    """A toolkit of somebody else's."""

    def get_tools(self) -> tuple[AgentTool, ...]:
        return (AgentTool(name="look", description="Looks."),)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True)


@pytest.mark.parametrize("more", [Box(), ToolDefinition("look", "Looks.", {}, len)])
async def test_two_tools_with_the_same_name_are_refused_before_any_agent_is_asked(more: Any) -> None:
    table = roundtable.Roundtable([seat(wishing())], storage="memory://", tools=[Box(), SearchWeb(), more])
    with pytest.raises(ConfigurationError, match="there are two tools named 'look'"):
        await table.debate(TOPIC, rounds=1)
