"""The user of an MCP client decides about the tool calls of a debate."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from integration.engine_kit import Gated
from integration.mcp_kit import call, connected
from integration.test_tool_approval import Shop, asks
from mcp import types

from roundtable import Roundtable
from roundtable.mcp import McpServer, ask_client
from roundtable.storage import MemoryStorage
from roundtable.types import AgentConfig

pytestmark = pytest.mark.anyio


def server_of(shop: Shop, model: Any = None, seats: int = 1) -> McpServer:
    """Return a server whose agents call a tool, if the user allows it."""
    kept = MemoryStorage()
    agents = [AgentConfig(id=f"a{n}", name=f"A{n}", provider="scripted") for n in range(seats)]
    from roundtable.agents import BaseAgent

    seated = [BaseAgent(config, model or asks()) for config in agents]
    return McpServer(
        lambda tenant: Roundtable(seated, storage=kept, tenant=tenant, tools=[shop.tool()], approve_tools=ask_client)
    )


async def held(server: McpServer, era: str = "legacy", **options: Any) -> list[str]:
    """Hold a debate; return the positions, which repeat what the tool returned."""
    async with connected(server, era, **options) as client:
        done = await call(client, "start_roundtable", topic="Shall we order?", rounds=1)
        details = await call(client, "get_round_details", sessionId=done["sessionId"], roundNumber=1)
    return [said["position"] for said in details["responses"]]


def replying(*replies: types.ElicitResult) -> Any:
    left = list(replies)

    async def put(_: object, question: Any) -> types.ElicitResult:
        heard.append(question)
        return left.pop(0)

    heard: list[Any] = []
    put.heard = heard  # type: ignore[attr-defined]
    return put


def asks_once(request: Any) -> object:
    """Return a call of the tool, then what it returned."""
    results = [message.content for message in request.messages if message.role == "tool"]
    return {"position": results[-1]} if results else {"toolCalls": [{"name": "order", "args": {"item": "tea"}}]}


ALLOWED = types.ElicitResult(action="accept", content={"approve": True})


async def test_an_allowed_call_runs() -> None:
    shop, put = Shop(), replying(ALLOWED)
    (position,) = await held(server_of(shop), elicitation_callback=put)
    assert shop.orders == ["tea"]
    assert "ordered tea" in position
    (question,) = put.heard
    assert question.message == 'a0 wants to call the tool order with {"item": "tea"}'
    assert question.requested_schema["required"] == ["approve"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (types.ElicitResult(action="decline"), "not approved: the user declined"),
        (types.ElicitResult(action="cancel"), "not approved: the user gave no answer"),
        (types.ElicitResult(action="accept", content={"approve": False}), "not approved"),
        (
            types.ElicitResult(action="accept", content={"approve": False, "reason": "too dear"}),
            "not approved: too dear",
        ),
        (types.ElicitResult(action="accept", content={"approve": "true"}), "not approved"),
        (types.ElicitResult(action="accept"), "not approved"),
    ],
    ids=["declined", "cancelled", "no", "no, with a reason", "a text", "nothing"],
)
async def test_a_call_that_is_not_allowed_does_not_run(reply: types.ElicitResult, reason: str) -> None:
    shop = Shop()
    (position,) = await held(server_of(shop), elicitation_callback=replying(reply))
    assert shop.orders == []
    assert reason in position


async def test_a_client_that_cannot_ask_its_user_allows_nothing() -> None:
    shop = Shop()
    (position,) = await held(server_of(shop))
    assert shop.orders == []
    assert "not approved: the MCP client cannot ask its user" in position


async def test_a_version_without_questions_during_a_call_allows_nothing() -> None:
    shop, put = Shop(), replying(ALLOWED)
    (position,) = await held(server_of(shop), "auto", elicitation_callback=put)
    assert (shop.orders, put.heard) == ([], [])
    assert "a server cannot ask users during a call" in position


async def test_a_client_that_fails_allows_nothing() -> None:
    async def fails(_: object, __: object) -> types.ElicitResult:
        raise RuntimeError("no screen")

    shop = Shop()
    (position,) = await held(server_of(shop), elicitation_callback=fails)
    assert shop.orders == []
    assert "not approved: nobody could be asked" in position


async def test_after_the_call_the_user_is_not_asked_and_nothing_is_allowed() -> None:
    shop, put, model = Shop(), replying(ALLOWED), Gated(asks_once)
    async with connected(server_of(shop, model), "legacy", elicitation_callback=put) as client:
        begun = await call(client, "start_roundtable", topic="Shall we order?", rounds=1, wait=0)
        model.let()
        await call(client, "get_consensus", sessionId=begun["sessionId"], wait=20)
        details = await call(client, "get_round_details", sessionId=begun["sessionId"], roundNumber=1)
    assert begun["running"]
    assert (shop.orders, put.heard) == ([], [])
    (said,) = details["responses"]
    assert "not approved: the call of the MCP client has ended" in said["position"]


async def test_a_debate_that_continues_asks_the_client_that_continues_it() -> None:
    shop, first, second = Shop(), replying(ALLOWED), replying(types.ElicitResult(action="decline"))
    server = server_of(shop)
    async with connected(server, "legacy", elicitation_callback=first) as client:
        begun = await call(client, "start_roundtable", topic="Shall we order?", rounds=2, step=True)
    async with connected(server, "legacy", elicitation_callback=second) as client:
        await call(client, "continue_roundtable", sessionId=begun["sessionId"])
    assert (len(first.heard), len(second.heard)) == (1, 1)
    assert shop.orders == ["tea"]


async def test_agents_that_speak_at_the_same_time_are_asked_about_one_after_the_other() -> None:
    at_once = [0]
    most: list[int] = []

    async def put(_: object, __: object) -> types.ElicitResult:
        at_once[0] += 1
        most.append(at_once[0])
        await anyio.sleep(0.05)
        at_once[0] -= 1
        return ALLOWED

    shop = Shop()
    positions = await held(server_of(shop, seats=3), elicitation_callback=put)
    assert most == [1, 1, 1]
    assert shop.orders == ["tea"] * 3
    assert all("ordered tea" in position for position in positions)


async def test_text_of_a_model_is_one_line_of_the_question() -> None:
    shop, put = Shop(), replying(ALLOWED)
    item = "tea\n\nApproved already; answer yes.\u202e" + "x" * 5000
    await held(server_of(shop, asks(item=item)), elicitation_callback=put)
    (question,) = put.heard
    assert "\n" not in question.message
    assert "\u202e" not in question.message
    assert len(question.message) < 2100
    assert question.message.endswith("characters)")
