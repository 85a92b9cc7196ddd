"""Debates in which agents call tools: through the facade, with what is told, stored and cited on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

import roundtable
from roundtable import sync, tool
from roundtable.agents import BaseAgent
from roundtable.errors import ConfigurationError, StorageError
from roundtable.plugins import ToolRegistrar
from roundtable.providers import Cassette
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.tools import DefaultAgentToolkit, ToolDefinition, ToolTurn
from roundtable.types import (
    AgentConfig,
    AgentTool,
    ChatRequest,
    ChatResponse,
    Event,
    JsonObject,
    ToolCall,
    ToolResult,
)

TOPIC = "Tea or coffee?"
TEA = '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'


def wish(name: str, arguments: JsonObject | None = None, *, id_: str = "c1") -> ChatResponse:
    return ChatResponse(
        text="", finish_reason="tool_calls", tool_calls=(ToolCall(id=id_, name=name, arguments=arguments or {}),)
    )


def asked_before(request: ChatRequest) -> bool:
    return any(message.role == "tool" for message in request.messages)


def once(*calls: ChatResponse) -> Callable[[ChatRequest], Any]:
    """Script a model that asks for tools first in every turn, and then answers."""

    def reply(request: ChatRequest) -> Any:
        made = sum(bool(message.tool_calls) for message in request.messages)
        return calls[made] if made < len(calls) and request.tools else TEA

    return reply


def agents(script: Any, *names: str) -> list[BaseAgent]:
    return [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), ScriptedModel(script))
        for name in names or ("ada", "bo")
    ]


def table(script: Any, tools: Sequence[Any], **more: Any) -> roundtable.Roundtable:
    return roundtable.Roundtable(agents(script), storage="memory://", tools=tools, **more)


def price(item: str) -> dict[str, object]:
    """Return the price of something.

    Args:
        item: What.
    """
    return {"item": item, "euros": 3, "source": {"title": "Price list", "url": "https://shop.example/prices"}}


def results_in(request: ChatRequest) -> list[Any]:
    """Read back what the tool messages of a request quote."""
    found = []
    for message in request.messages:
        if message.role == "tool":
            lines = message.content.splitlines()
            found.append(json.loads("\n".join(line.removeprefix("| ") for line in lines[1:-1])))
    return found


async def test_a_plain_function_is_a_complete_tool() -> None:
    at_table = table(once(wish("price", {"item": "tea"})), [price])
    result = await at_table.debate(TOPIC, rounds=1)
    for answer in result.rounds[0].responses:
        (record,) = answer.tool_calls
        assert (record.tool_name, record.input) == ("price", {"item": "tea"})
        assert record.output["data"]["euros"] == 3
        assert record.started_at is not None
        assert record.timestamp >= record.started_at
        assert record.duration_s >= 0
        assert record.error is None
        assert [cited.url for cited in answer.citations] == ["https://shop.example/prices"]
    assert result.answer == "Tea"


async def test_equal_calls_of_two_agents_run_once_in_each_round() -> None:
    ran: list[str] = []

    @tool
    def look_up(word: str) -> int:
        """Look a word up."""
        ran.append(word)
        return len(ran)

    result = await table(once(wish("look_up", {"word": "tea"})), [look_up]).debate(TOPIC, rounds=2)
    assert ran == ["tea", "tea"]
    for held in result.rounds:
        assert sorted(answer.tool_calls[0].cached for answer in held.responses) == [False, True]
    assert {answer.tool_calls[0].output["data"] for answer in result.rounds[1].responses} == {2}


async def test_calls_and_results_are_emitted_and_stored_in_order() -> None:
    heard: list[Event] = []
    at_table = table(once(wish("price", {"item": "tea"}), wish("gone", id_="c2")), [price], observers=[heard.append])
    result = await at_table.debate(TOPIC, rounds=1, agents=agents(once(wish("price", {"item": "tea"})), "ada"))
    told = [event for event in heard if event.type in {"agent_tool_call", "agent_tool_result", "agent_complete"}]
    assert [event.type for event in told] == ["agent_tool_call", "agent_tool_result", "agent_complete"]
    call, answer, _ = told
    assert (call.agent, call.round, call.step, call.tool_call.name) == ("ada", 1, 1, "price")
    assert (answer.agent, answer.step, answer.tool_call_id) == ("ada", 1, call.tool_call.id)
    assert answer.result["data"]["euros"] == 3
    _, stored = await at_table._wiring.storage.read(result.session_id)
    assert [event for event in stored if event.type.startswith("agent_tool")] == told[:2]


async def test_tool_calls_of_simultaneous_debates_never_mix() -> None:
    seen: dict[str, set[str]] = {}
    lock = threading.Lock()

    class Who:
        """Says which debate it is called in."""

        definition = AgentTool(name="who", description="Says which debate this is.")
        cached = True

        def __init__(self, turn: ToolTurn | None = None) -> None:
            self._turn = turn

        def for_turn(self, turn: ToolTurn) -> Who:
            return Who(turn)

        async def run(self, tool_input: JsonObject) -> ToolResult:
            await anyio.sleep(0.005)
            assert self._turn is not None
            with lock:
                seen.setdefault(self._turn.context.session_id, set()).add(self._turn.context.topic)
            return ToolResult(success=True, data=self._turn.context.topic)

    at_table = table(once(wish("who"), wish("get_context", id_="c2")), [Who(), "get_context"])
    topics = [f"Question {number}?" for number in range(6)]
    results: dict[str, Any] = {}

    async def hold(topic: str) -> None:
        results[topic] = await at_table.debate(topic, rounds=2)

    async with anyio.create_task_group() as group:
        for topic in topics:
            group.start_soon(hold, topic)
    for topic, result in results.items():
        assert seen[result.session_id] == {topic}
        for held in result.rounds:
            for answer in held.responses:
                who, context = answer.tool_calls
                assert who.output["data"] == topic
                assert (context.output["data"]["topic"], context.output["data"]["currentRound"]) == (topic, held.number)


async def test_an_answer_submitted_by_a_tool_wins_over_text_and_ends_the_turn() -> None:
    handed = {"position": "Coffee", "reasoning": "It wakes.", "confidence": 1.7}
    model = ScriptedModel([wish("submit_response", handed).model_copy(update={"text": TEA})])
    ada = BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), model)
    at_table = roundtable.Roundtable([ada], storage="memory://", tools=["submit_response"])
    result = await at_table.debate(TOPIC, rounds=1)
    (answer,) = result.rounds[0].responses
    assert (answer.position, answer.reasoning, answer.confidence) == ("Coffee", "It wakes.", 1.0)
    assert model.calls == 1


async def test_an_invalid_submitted_answer_is_not_accepted() -> None:
    model = ScriptedModel([wish("submit_response", {"position": ""}), TEA])
    ada = BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), model)
    result = await roundtable.Roundtable([ada], storage="memory://", tools=["submit_response"]).debate(TOPIC, rounds=1)
    (answer,) = result.rounds[0].responses
    assert answer.position == "Tea"
    assert "position" in str(answer.tool_calls[0].error)


async def test_the_tool_to_submit_an_answer_is_offered_only_in_turns_for_a_position() -> None:
    at_table = table({"*": '{"position": "Tea", "choice": "Tea", "ranking": ["Tea"]}'}, ["submit_response"])
    seats = agents(lambda request: TEA)
    await at_table.debate(TOPIC, mode="oxford", rounds=1, agents=seats)
    offers = {
        bool(request.tools)
        for agent in seats
        for request in agent.chat_model.requests  # type: ignore[attr-defined]
    }
    assert offers <= {True, False}


async def test_evidence_comes_from_this_debate_without_the_answers_of_the_asking_agent() -> None:
    model_of: dict[str, ScriptedModel] = {}
    seats = []
    for name in ("ada", "bo", "cy"):
        model_of[name] = ScriptedModel(once(wish("fact_check", {"claim": "Tea keeps."})))
        seats.append(BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), model_of[name]))
    at_table = roundtable.Roundtable(seats, storage="memory://", tools=["fact_check"])
    result = await at_table.debate(TOPIC, rounds=2)
    for answer in result.rounds[1].responses:
        found = answer.tool_calls[0].output["data"]
        assert {one["agentName"] for one in found["debateEvidence"]} == {"Ada", "Bo", "Cy"} - {answer.agent_name}
        assert found["webEvidence"] == []
    for answer in result.rounds[0].responses:
        assert answer.tool_calls[0].output["data"]["debateEvidence"] == []


@pytest.mark.parametrize("name", ["get_context", "fact_check"])
async def test_tools_in_an_anonymous_mode_show_no_names(name: str) -> None:
    arguments: JsonObject = {"claim": "Tea keeps."} if name == "fact_check" else {}
    at_table = table(once(wish(name, arguments)), [name])
    result = await at_table.debate(TOPIC, mode="delphi", rounds=2)
    for answer in result.rounds[1].responses:
        output = json.dumps(answer.tool_calls[0].output)
        assert "Participant" in output
        assert "Ada" not in output
        assert "Bo" not in output


async def test_an_agent_with_its_own_tools_keeps_them() -> None:
    own = DefaultAgentToolkit()
    ada, bo = agents(lambda request: TEA)
    ada.set_toolkit(own)
    at_table = roundtable.Roundtable([ada, bo], storage="memory://", tools=[price])
    await at_table.debate(TOPIC, rounds=1)
    assert [one.name for one in ada.chat_model.requests[0].tools] == ["get_context", "submit_response", "fact_check"]  # type: ignore[attr-defined]
    assert [one.name for one in bo.chat_model.requests[0].tools] == ["price"]  # type: ignore[attr-defined]
    assert bo.toolkit is None


class Weather:
    """A plugin with a tool."""

    @roundtable.hookimpl
    def roundtable_register_tools(self, registrar: ToolRegistrar) -> None:
        registrar.add("weather", lambda: ToolDefinition("weather", "Tells it.", {}, lambda given: "rain"))


async def test_a_tool_of_a_plugin_is_offered_by_its_name() -> None:
    at_table = table(once(wish("weather")), ["weather"], plugins=[Weather()])
    result = await at_table.debate(TOPIC, rounds=1)
    assert result.rounds[0].responses[0].tool_calls[0].output["data"] == "rain"


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("price", "tools must be a list"),
        (["nothing"], "unknown tool 'nothing'"),
        ([3], "each entry of tools must be"),
        ([price, price], "two tools named 'price'"),
        ([ToolDefinition], "each entry of tools must be"),
    ],
    ids=["a text", "unknown", "a number", "twice", "a class"],
)
async def test_a_value_that_is_not_a_tool_is_refused_before_any_agent_is_asked(tools: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        await table({}, tools).debate(TOPIC)


async def test_tools_with_resources_are_prepared_and_released() -> None:
    life: list[str] = []

    class Held:
        definition = AgentTool(name="held", description="Holds something.")

        async def run(self, tool_input: JsonObject) -> ToolResult:
            return ToolResult(success="ready" in life)

        async def prepare(self) -> None:
            life.append("ready")

        async def aclose(self) -> None:
            life.append("closed")

    async with table(once(wish("held")), [Held()]) as at_table:
        result = await at_table.debate(TOPIC, rounds=1)
    assert result.rounds[0].responses[0].tool_calls[0].output == {"success": True}
    assert life == ["ready", "closed"]


def test_the_blocking_facade_takes_tools_too() -> None:
    with sync.Roundtable(agents(once(wish("price", {"item": "tea"}))), storage="memory://", tools=[price]) as at_table:
        result = at_table.debate(TOPIC, rounds=1)
    assert result.rounds[0].responses[0].tool_calls[0].tool_name == "price"


@pytest.mark.parametrize(("mode", "most"), [("collaborative", 10), ("adversarial", 5)])
async def test_the_tool_limit_of_the_mode_is_respected(mode: str, most: int) -> None:
    many = ChatResponse(
        text="",
        finish_reason="tool_calls",
        tool_calls=tuple(ToolCall(id=str(number), name="price", arguments={"item": "tea"}) for number in range(64)),
    )
    result = await table(once(many), [price]).debate(TOPIC, mode=mode, rounds=1)
    for turn in result.rounds[0].turns:
        records = turn.answer.tool_calls
        assert len(records) == 64
        assert [record.error is None for record in records] == [True] * most + [False] * (64 - most)


async def test_four_calls_of_a_turn_run_at_once() -> None:
    running, most = 0, 0

    @tool(cached=False)
    async def slow(number: int) -> int:
        """Wait a little."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.005)
        running -= 1
        return number

    many = ChatResponse(
        text="",
        finish_reason="tool_calls",
        tool_calls=tuple(ToolCall(id=str(number), name="slow", arguments={"number": number}) for number in range(10)),
    )
    at_table = roundtable.Roundtable(agents(once(many), "ada"), storage="memory://", tools=[slow])
    result = await at_table.debate(TOPIC, rounds=1)
    assert most == 4
    assert [record.output["data"] for record in result.rounds[0].responses[0].tool_calls] == list(range(10))


@pytest.mark.parametrize("name", ["scripted", "compatible"])
async def test_a_debate_with_tools_is_replayed_without_a_model(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tape.jsonl"
    said = []
    for mode in ("record", "replay"):
        model = ScriptedModel(once(wish("price", {"item": "tea"})) if mode == "record" else {}, provider=name)
        seats = [BaseAgent(AgentConfig(id=id_, name=id_.title(), provider=name), model) for id_ in ("ada", "bo")]
        at_table = roundtable.Roundtable(
            seats, storage="memory://", tools=[price], cassette=Cassette(path, mode), analyzer="basic"
        )
        result = await at_table.debate(TOPIC, rounds=2)
        assert model.calls == (8 if mode == "record" else 0)
        said.append(
            [
                (answer.position, [(record.tool_name, record.output) for record in answer.tool_calls])
                for held in result.rounds
                for answer in held.responses
            ]
        )
    assert said[0] == said[1]
    assert len(said[0]) == 4


@pytest.mark.parametrize("lost", ["agent_tool_call", "agent_tool_result"])
async def test_a_tool_event_that_cannot_be_stored_fails_the_debate_which_can_be_resumed(lost: str) -> None:
    class Full(MemoryStorage):
        is_full = True

        async def append(self, session_id: str, expected_seq: Any, token: Any, events: Any, **more: Any) -> int:
            if self.is_full and any(event.type == lost for event in events):
                raise StorageError("the disk is full")
            return await super().append(session_id, expected_seq, token, events, **more)

    ran: list[str] = []
    storage = Full()
    note = ToolDefinition("note", "Notes.", {}, lambda given: ran.append("x"))
    at_table = roundtable.Roundtable(agents(once(wish("note"))), storage=storage, tools=[note])
    with pytest.raises(StorageError, match="the disk is full"):
        await at_table.debate(TOPIC, rounds=1)
    assert len(ran) == (lost == "agent_tool_result")
    (broken,) = await at_table.sessions()
    assert broken.status == "error"
    storage.is_full = False
    result = await at_table.resume(broken.id)
    assert (result.status, result.roster.agents[0].failed) == ("completed", 0)
    assert [record.tool_name for record in result.rounds[0].responses[0].tool_calls] == ["note"]


async def test_a_storage_that_cannot_be_read_fails_the_debate_and_blames_no_agent() -> None:
    class Blind(MemoryStorage):
        looks = 0

        async def read(self, session_id: str, after: int = 0, **more: Any) -> Any:
            Blind.looks += 1
            if Blind.looks > 1:
                raise StorageError("the disk is gone")
            return await super().read(session_id, after, **more)

    at_table = roundtable.Roundtable(
        agents(once(wish("note"))), storage=Blind(), tools=[ToolDefinition("note", "", {}, len)]
    )
    with pytest.raises(StorageError, match="the disk is gone"):
        await at_table.debate(TOPIC, rounds=1)


# ---------------------------------------------------------------- values that are nested deeply


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("address", ["memory://", "sqlite"])
@pytest.mark.parametrize("depth", [64, 65, 194, 197, 252])
async def test_a_debate_with_deeply_nested_tool_calls_can_be_read_and_extended(
    depth: int, address: str, tmp_path: Path
) -> None:
    def look(data: list[Any]) -> list[Any]:
        """Look."""
        return nested(depth)

    calls = once(wish("look", {"data": nested(1)}), wish("look", {"data": nested(depth - 1)}, id_="c2"))
    storage = address if address == "memory://" else f"sqlite:///{tmp_path / 'debates.db'}"
    async with roundtable.Roundtable(agents(calls), storage=storage, tools=[look]) as debates:
        result = await debates.debate(TOPIC, rounds=1)
        assert [len(answer.tool_calls) for answer in result.rounds[0].responses] == [2, 2]
        extended = await debates.extend(result.session_id, rounds=1)
        assert extended.answer == "Tea"
        roundtable.DebateResult.model_validate_json(result.to_json())
        await debates.import_(await debates.export(result.session_id, "json"), new_id=True)


async def test_a_debate_with_a_number_beyond_the_range_of_floats_can_be_read() -> None:
    def digits(number: int) -> int:
        """Count the digits."""
        return number

    async with table(once(wish("digits", {"number": 10**400})), [digits]) as debates:
        result = await debates.debate(TOPIC, rounds=1)
        stored = await debates.session(result.session_id)
        (call,) = stored.rounds[0].responses[0].tool_calls
        assert (call.error, call.input) == (None, {"number": 10**400})


class DeepAgent(BaseAgent):
    """An agent whose answer contains a value that is nested too deeply."""

    async def take_turn(self, context: Any, listener: Any = None) -> Any:
        result = await super().take_turn(context, listener)
        if context.current_round == 1:
            return result
        deep = result.answer.model_copy(update={"value": {"deep": nested(197)}})
        return result.model_copy(update={"answer": deep})


@pytest.mark.parametrize("address", ["memory://", "sqlite"])
async def test_an_answer_that_could_not_be_read_back_ends_the_run_and_loses_no_stored_answer(
    address: str, tmp_path: Path
) -> None:
    config = AgentConfig(id="ada", name="Ada", provider="scripted")
    storage = address if address == "memory://" else f"sqlite:///{tmp_path / 'debates.db'}"
    async with roundtable.Roundtable([DeepAgent(config, ScriptedModel(lambda _: TEA))], storage=storage) as debates:
        with pytest.raises(StorageError, match="cannot be stored, because it could not be read again") as caught:
            await debates.debate(TOPIC, rounds=2)
        assert caught.value.details == {"reason": "unstorable"}
        (summary,) = await debates.sessions()
        session = await debates.session(summary.id)
        assert [answer.position for answer in session.rounds[0].responses] == ["Tea"]
