"""Typed functions that need to know for whom they run: the context is filled in, checked, and hidden from models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Optional, Protocol, runtime_checkable

import pytest

import roundtable as rt
from roundtable.agents import BaseAgent
from roundtable.errors import ConfigurationError
from roundtable.providers import ScriptedModel
from roundtable.tools import DefaultAgentToolkit, ToolContext
from roundtable.types import ChatRequest

pytestmark = pytest.mark.both_loops


@dataclass
class Shop:
    """Dependencies of the tools."""

    prices: dict[str, float]
    calls: list[tuple[str, str, str, int]] = field(default_factory=list)


def price(item: str, context: ToolContext[Shop]) -> float:
    """Return the price of an item.

    Args:
        item: Its name.
        context: Filled in.
    """
    context.dependencies.calls.append((context.tenant, context.session_id, context.agent_id, context.round))
    return context.dependencies.prices[item]


async def who(context: ToolContext[None]) -> str:
    """Return who asks."""
    return context.agent_id


def asks(tool: str, **arguments: object) -> ScriptedModel:
    def reply(request: ChatRequest) -> dict[str, object]:
        if not any(message.role == "tool" for message in request.messages):
            return {"toolCalls": [{"name": tool, "args": arguments}]}
        return {"position": "Tea"}

    return ScriptedModel(reply, model="ada")  # type: ignore[arg-type]


async def test_a_tool_gets_session_tenant_agent_and_round_and_the_object_of_the_caller() -> None:
    shop = Shop({"tea": 3.5})
    table = rt.Roundtable(
        [asks("price", item="tea"), asks("price", item="tea")],
        storage="memory://",
        tools=[price],
        tool_dependencies=shop,
    )
    first = await table.debate("Tea?", rounds=1)
    second = await table.for_tenant("acme").debate("Tea?", rounds=1)
    outputs = [response.tool_calls[0].output for response in first.rounds[0].responses]
    assert outputs == [{"success": True, "data": 3.5}] * 2
    assert sorted(shop.calls) == sorted(
        (tenant, result.session_id, agent, 1)
        for tenant, result in (("default", first), ("acme", second))
        for agent in result.session.agent_ids
    )


def test_models_do_not_see_the_context() -> None:
    tool = rt.tool(price)
    assert tool.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {"item": {"type": "string", "description": "Its name."}},
        "required": ["item"],
    }
    assert not tool.cached, "its result may depend on the agent"
    assert rt.tool(cached=True)(price).cached
    assert rt.tool(name="one")(lambda: 1).cached, "a function without a context is as before"


async def test_equal_calls_of_two_agents_are_separate() -> None:
    table = rt.Roundtable([asks("who"), asks("who")], storage="memory://", tools=[who])
    result = await table.debate("Tea?", rounds=1)
    names = [response.tool_calls[0].output["data"] for response in result.rounds[0].responses]  # type: ignore[index,call-overload]
    assert names == [response.agent_id for response in result.rounds[0].responses]


async def test_a_toolkit_of_an_agent_gets_the_dependencies_of_the_table() -> None:
    toolkit = DefaultAgentToolkit(standard=False)
    toolkit.register_tool(rt.tool(price))
    config = rt.AgentConfig(id="ada", name="Ada", provider="scripted")
    agent = BaseAgent(config, asks("price", item="tea"), toolkit=toolkit)
    table = rt.Roundtable([agent], storage="memory://", tool_dependencies=Shop({"tea": 2}))
    result = await table.debate("Tea?", rounds=1)
    assert result.rounds[0].responses[0].tool_calls[0].output == {"success": True, "data": 2}


@runtime_checkable
class Priced(Protocol):
    """A protocol that can be checked."""

    prices: dict[str, float]


def by_protocol(item: str, context: ToolContext[Priced]) -> float:
    """Return a price."""
    return context.dependencies.prices[item]


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        (price, None, "tool 'price' needs Shop as its dependencies, and the table has none"),
        (price, {"tea": 1}, "needs Shop as its dependencies, and the table has an object of dict"),
        (by_protocol, 7, "needs Priced as its dependencies"),
    ],
)
def test_a_table_without_what_a_tool_needs_is_refused(tool: object, given: object, message: str) -> None:
    table = rt.Roundtable([asks("price")], storage="memory://", tools=[tool], tool_dependencies=given)  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match=message):
        table._wiring.tools.closers()


def toolkit_of(tool: object) -> DefaultAgentToolkit:
    """Return a toolkit whose tool comes from another toolkit."""
    inner, outer = DefaultAgentToolkit(standard=False), DefaultAgentToolkit(standard=False)
    inner.register_tool(rt.tool(tool))  # type: ignore[arg-type]
    outer.include(inner)
    return outer


@pytest.mark.parametrize("given", [None, {"tea": 1}])
def test_a_tool_within_a_toolkit_is_checked_too(given: object) -> None:
    table = rt.Roundtable([asks("price")], storage="memory://", tools=[toolkit_of(price)], tool_dependencies=given)
    with pytest.raises(ConfigurationError, match="tool 'price' needs Shop as its dependencies"):
        table._wiring.tools.closers()
    fits = rt.Roundtable([asks("price")], storage="memory://", tools=[toolkit_of(price)], tool_dependencies=Shop({}))
    assert fits._wiring.tools.names == ("price",)


async def test_the_toolkit_of_an_agent_is_checked_before_it_is_asked() -> None:
    config = rt.AgentConfig(id="ada", name="Ada", provider="scripted")
    agent = BaseAgent(config, asks("price"))
    agent.set_toolkit(toolkit_of(price))
    async with rt.Roundtable([agent], storage="memory://") as table:
        with pytest.raises(ConfigurationError, match="tool 'price' needs Shop as its dependencies"):
            await table.debate("Tea?", rounds=1)
    own = BaseAgent(config, asks("price"))
    own.set_toolkit(toolkit_of(price).with_dependencies(Shop({"tea": 2.0})))
    async with rt.Roundtable([own], storage="memory://") as table:
        assert (await table.debate("Tea?", rounds=1)).status == "completed"


def test_valid_dependencies_are_accepted() -> None:
    table = rt.Roundtable(
        [asks("price")], storage="memory://", tools=[price, by_protocol, who], tool_dependencies=Shop({})
    )
    assert table._wiring.tools.names == ("price", "by_protocol", "who")


def for_shop_or_none(context: ToolContext[Shop | None]) -> None:
    """Do nothing."""


def for_optional(context: ToolContext[Optional[Shop]]) -> None:  # noqa: UP045  (the older spelling)
    """Do nothing."""


def for_either(context: ToolContext[Shop | list[str]]) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("function", "fits", "other"),
    [
        (for_shop_or_none, (Shop({}), None), {}),
        (for_optional, (Shop({}), None), {}),
        (for_either, (Shop({}), ["tea"]), None),
    ],
)
def test_one_type_of_a_union_fits(function: Callable[..., None], fits: tuple[object, ...], other: object) -> None:
    tool = rt.tool(function)
    for given in fits:
        tool.check_dependencies(given)
    with pytest.raises(ConfigurationError, match="Shop"):
        tool.check_dependencies(other)


async def test_outside_of_a_turn_the_call_fails_with_a_reason_and_python_calls_still_work() -> None:
    tool = rt.tool(who)
    assert (await tool.run({})).error == "tool 'who' runs only in a turn of a debate"
    toolkit = DefaultAgentToolkit(standard=False)
    toolkit.register_tool(tool)
    assert not (await toolkit.execute_tool("who", {})).success
