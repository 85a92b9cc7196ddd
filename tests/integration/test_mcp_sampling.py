"""Agents that the client's own model answers, over MCP: a real client of the SDK, with a model or without one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from integration.engine_kit import Gated, said, seated
from integration.mcp_kit import call, connected, refused, server_of
from mcp import types

from roundtable import Roundtable
from roundtable.errors import ConfigurationError
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from collections.abc import Callable

LEGACY = "legacy"


class Model:
    """The model of a client, which keeps what it was asked."""

    def __init__(self, reply: Callable[[int], str] | None = None) -> None:
        self.asked: list[types.CreateMessageRequestParams] = []
        self._reply = reply

    async def __call__(self, _: object, params: types.CreateMessageRequestParams) -> Any:
        self.asked.append(params)
        position = json.dumps({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8})
        text = position if self._reply is None else self._reply(len(self.asked))
        if text == "refused":
            return types.ErrorData(code=-1, message="the user rejected the request")
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", content=content, model="house-model", stop_reason="endTurn")


async def test_the_model_of_the_client_takes_part_and_costs_the_server_nothing() -> None:
    model = Model()
    agents = ["client:ada", "client:bo"]
    async with connected(server_of(agents), LEGACY, sampling_callback=model) as client:
        done = await call(client, "start_roundtable", topic="Tea or milk?", rounds=2, budget={"maxCostUsd": 0.01})
        details = await call(client, "get_round_details", sessionId=done["sessionId"], roundNumber=2)
    assert done["status"] == "completed"
    assert len(model.asked) == 4
    assert all(asked.max_tokens > 0 for asked in model.asked)
    assert all("Tea or milk?" in asked.messages[-1].content.text for asked in model.asked)  # type: ignore[union-attr]
    assert all(asked.system_prompt for asked in model.asked)
    assert [said["position"] for said in details["responses"]] == ["Tea"] * 2


async def test_answers_of_the_client_are_recorded_with_its_model() -> None:
    model = Model()
    server = server_of(["client"])
    async with connected(server, LEGACY, sampling_callback=model) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        exported = await call(client, "export_session", sessionId=done["sessionId"], format="json")
    assert "house-model" in exported["content"]
    assert '"costUsd":0.0' in exported["content"].replace(" ", "")


@pytest.mark.parametrize(
    ("era", "offered", "reason"),
    [(LEGACY, False, "it does not support sampling"), ("auto", True, "of the protocol does not have sampling")],
)
async def test_a_client_without_a_model_is_refused_before_anything_is_stored(
    era: str, offered: bool, reason: str
) -> None:
    options = {"sampling_callback": Model()} if offered else {}
    async with connected(server_of(["client", *scripted_agents({"ada": "Tea"})]), era, **options) as client:
        told = await refused(client, "start_roundtable", topic="Tea?", rounds=1)
        assert told["code"] == "CONFIGURATION_ERROR"
        assert reason in told["message"]
        assert "supports sampling" in told["hint"]
        assert (await call(client, "list_sessions"))["sessions"] == []


async def test_a_refusal_of_the_client_fails_one_turn_and_the_debate_continues() -> None:
    model = Model(lambda number: "refused")
    agents = [*scripted_agents({"ada": "Tea", "bo": "Tea"}), "client"]
    async with connected(server_of(agents), LEGACY, sampling_callback=model) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        exported = await call(client, "export_session", sessionId=done["sessionId"], format="json")
    assert done["status"] == "completed"
    assert "the user rejected the request" in exported["content"]


async def test_after_the_call_the_client_is_not_asked_and_the_reason_is_named() -> None:
    model, held = Model(), Gated({"*": said("Tea")})
    agents = [*seated(held, "ada"), "client"]
    async with connected(server_of(agents), LEGACY, sampling_callback=model) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", mode="socratic", rounds=1, wait=0)
        held.let()
        await call(client, "get_consensus", sessionId=begun["sessionId"], wait=20)
        details = await call(client, "get_round_details", sessionId=begun["sessionId"], roundNumber=1)
    (failure,) = details["failures"]
    assert failure["error"]["message"] == "the call of the MCP client has ended, so its model cannot be asked"
    assert failure["error"]["hint"] == "Continue the debate with a longer `wait`."
    assert model.asked == []


async def test_an_empty_answer_is_a_failed_turn() -> None:
    agents = [*scripted_agents({"ada": "Tea"}), "client"]
    async with connected(server_of(agents), LEGACY, sampling_callback=Model(lambda number: " ")) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        exported = await call(client, "export_session", sessionId=done["sessionId"], format="json")
    assert "gave no text" in exported["content"]


async def test_two_clients_are_asked_only_for_their_own_debates() -> None:
    server = server_of(["client"])
    first, second = Model(), Model()
    async with (
        connected(server, LEGACY, sampling_callback=first) as one,
        connected(server, LEGACY, sampling_callback=second) as other,
    ):
        await call(one, "start_roundtable", topic="Tea?", rounds=1)
        await call(other, "start_roundtable", topic="Milk?", rounds=2)
    assert (len(first.asked), len(second.asked)) == (1, 2)


async def test_a_missing_client_is_named_with_a_way_to_continue() -> None:
    async with Roundtable(["client"], storage="memory://") as table:
        with pytest.raises(ConfigurationError, match="no MCP client started this debate") as told:
            await table.debate("Tea?", rounds=1)
        assert "supports sampling" in (told.value.hint or "")
        assert await table.sessions() == ()
