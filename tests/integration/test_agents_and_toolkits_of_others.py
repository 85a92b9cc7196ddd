"""An agent or a toolkit that inherits nothing gets what the built-in ones get: estimates, prices, and its search."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from integration.engine_kit import said

import roundtable as rt
from roundtable.errors import ConfigurationError
from roundtable.protocols import ChatModel
from roundtable.providers.scripted import ScriptedModel
from roundtable.tools import DefaultAgentToolkit, ModelCall
from roundtable.types import (
    AgentConfig,
    AgentHealth,
    AgentInfo,
    AgentResponse,
    AgentTool,
    ChatRequest,
    DebateContext,
    JsonObject,
    Message,
    ModelProfile,
    ToolResult,
    TurnResult,
)

TOPIC = "Tea or coffee?"
PRICES = {"scripted:*": {"input": 1, "output": 10}}
TOOLS = ModelProfile(calls_tools=True)


def config_of(name: str) -> AgentConfig:
    return AgentConfig(id=name, name=name.title(), provider="scripted", max_tokens=200)


class Silent:
    """An agent that inherits nothing, and does not say what it asks its model."""

    def __init__(self, name: str, model: Any, *, warns: str = "") -> None:
        self.id, self.name = name, name.title()
        self.chat_model: ChatModel = model
        self.toolkit: Any = None
        self.refused: list[str] = []
        self._warns = (warns,) if warns else ()

    def set_toolkit(self, toolkit: Any) -> None:
        self.toolkit = toolkit

    def _request(self, context: DebateContext) -> ChatRequest:
        return rt.BaseAgent(config_of(self.id), self.chat_model, nonce=lambda: "n" * 16).first_request(context)

    def search_refused(self, session_id: str) -> None:
        self.refused.append(session_id)

    async def take_turn(self, context: DebateContext, listener: Any = None) -> TurnResult:
        if listener is not None:
            await listener.before_call()
        response = await self.chat_model.complete(self._request(context))
        answer = AgentResponse(agent_id=self.id, agent_name=self.name, position="Tea", reasoning="So.", confidence=0.5)
        return TurnResult(answer=answer, usage=response.usage, warnings=self._warns)

    async def health_check(self) -> AgentHealth:
        return AgentHealth(healthy=True)

    def get_info(self) -> AgentInfo:
        return AgentInfo(id=self.id, name=self.name, provider="scripted", model="scripted")


class Plain(Silent):
    """The same agent, which says what it asks."""

    def first_request(self, context: DebateContext) -> ChatRequest:
        return self._request(context)


class Oracle:
    """A toolkit that inherits nothing; its one tool asks a model."""

    tool = AgentTool(name="oracle", description="Asks.", parameters={"type": "object"})

    def __init__(self, model: ChatModel, *, states: bool = True) -> None:
        self.model = model
        if states:
            self.asks = self._calls

    def get_tools(self) -> tuple[AgentTool, ...]:
        return (self.tool,)

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True)

    def _calls(self, allow: Collection[str] | None = None) -> list[list[ModelCall]]:
        if allow is not None and "oracle" not in allow:
            return []
        request = ChatRequest(messages=(Message(role="user", content="?"),), max_tokens=100)
        return [[ModelCall(self.model, request)]]


class OracleTool:
    """The same tool, for the built-in toolkit."""

    definition = Oracle.tool

    def __init__(self, model: ChatModel) -> None:
        self._oracle = Oracle(model)

    def asks(self) -> list[ModelCall]:
        return self._oracle.asks()[0]

    async def run(self, tool_input: JsonObject) -> ToolResult:
        return ToolResult(success=True)


def model_with_tools(*replies: Any) -> ScriptedModel:
    return ScriptedModel([*replies], profile=TOOLS)


def table_of(*agents: Any, **more: Any) -> rt.Roundtable:
    return rt.Roundtable([*agents], storage="memory://", prices=PRICES, analyzer="basic", **more)


def base(name: str, model: Any, toolkit: Any = None) -> rt.BaseAgent:
    return rt.BaseAgent(config_of(name), model, toolkit=toolkit, nonce=lambda: "n" * 16)


async def test_a_custom_agent_that_states_its_request_is_estimated_like_a_base_agent() -> None:
    model = ScriptedModel({"*": [said("Tea")] * 4})
    table = table_of(Plain("ada", model), Plain("bo", model))
    worst = table.estimate(TOPIC, rounds=2)
    assert worst == table_of(base("ada", model), base("bo", model)).estimate(TOPIC, rounds=2)
    assert worst.cost_usd is not None
    assert not [note for note in worst.notes if "unknown" in note]
    result = await table.debate(TOPIC, rounds=2)
    assert result.usage.calls == 4 <= worst.calls
    assert result.usage.input_tokens <= worst.input_tokens


def test_the_cost_of_an_agent_that_states_nothing_is_unknown() -> None:
    worst = table_of(Silent("ada", ScriptedModel([]))).estimate(TOPIC, rounds=1)
    assert (worst.calls, worst.cost_usd) == (1, None)
    assert "how much ada may use is unknown, because they do not say what they ask a model" in worst.notes


@pytest.mark.parametrize("place", ["table", "agent", "own agent", "nested"])
def test_a_custom_toolkit_that_states_its_calls_is_priced_like_the_built_in_one(place: str) -> None:
    asked = ScriptedModel([], model="oracle")
    standard = DefaultAgentToolkit(standard=False)
    standard.register_tool(OracleTool(asked))
    worst = {}
    for name, kit in {"own": Oracle(asked), "built-in": standard, "silent": Oracle(asked, states=False)}.items():
        agent: Any = base("ada", model_with_tools())
        tools: list[Any] = []
        if place == "table":
            tools = [kit]
        elif place == "agent":
            agent = base("ada", model_with_tools(), toolkit=kit)
        elif place == "own agent":
            agent = Plain("ada", model_with_tools())
            agent.set_toolkit(kit)
        else:
            outer = DefaultAgentToolkit(standard=False)
            outer.include(kit)
            tools = [outer]
        worst[name] = table_of(agent, tools=tools).estimate(TOPIC, rounds=1)
    assert worst["own"] == worst["built-in"]
    assert worst["own"].calls - worst["silent"].calls == 10
    assert worst["own"].output_tokens - worst["silent"].output_tokens == 10 * 100
    assert worst["own"].cost_usd is not None
    assert worst["silent"].cost_usd is not None
    assert worst["own"].cost_usd > worst["silent"].cost_usd


@pytest.mark.parametrize("of_table", [True, False])
async def test_a_budget_in_dollars_needs_the_prices_of_a_custom_toolkit(of_table: bool) -> None:
    kit = Oracle(ScriptedModel([], model="unpriced"))
    agent = base("ada", model_with_tools(said("Tea")), toolkit=None if of_table else kit)
    table = rt.Roundtable(
        [agent],
        storage="memory://",
        analyzer="basic",
        tools=[kit] if of_table else [],
        prices={"scripted:scripted": {"input": 1, "output": 10}},
    )
    with pytest.raises(ConfigurationError, match="no price is known for scripted:unpriced"):
        await table.debate(TOPIC, rounds=1, budget=rt.Budget(max_cost_usd=1))


async def test_a_resumed_session_tells_an_agent_that_its_search_was_refused() -> None:
    model = ScriptedModel({"*": [said("Tea")] * 2})
    ada = Plain("ada", model, warns="the provider refused its own web search, so this agent goes on without it")
    async with table_of(ada) as table:
        first = await (await table.start(TOPIC, rounds=2, step=True)).result()
        assert ada.refused == []
        await table.resume(first.session_id)
        assert ada.refused == [first.session_id]
