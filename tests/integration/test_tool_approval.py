"""Approval of tool calls: nothing runs that was not allowed, whatever the approver does."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import roundtable as rt
from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.errors import ConfigurationError
from roundtable.providers.scripted import ScriptedModel
from roundtable.tools import DefaultAgentToolkit, ToolRequest
from roundtable.types import AgentConfig, AgentTool, ToolResult

if TYPE_CHECKING:
    from roundtable.types import ChatRequest, JsonObject

pytestmark = pytest.mark.both_loops


class Shop:
    """Counts what was ordered."""

    def __init__(self) -> None:
        self.orders: list[str] = []

    def tool(self, **options: Any) -> Any:
        @rt.tool(cached=False, **options)
        def order(item: str) -> str:
            """Order an item.

            Args:
                item: What to order.
            """
            self.orders.append(item)
            return f"ordered {item}"

        return order


def asks(name: str = "order", **arguments: Any):
    """Return a model that asks for a tool once, then tells what it got."""

    def model(request: ChatRequest) -> object:
        results = [message.content for message in request.messages if message.role == "tool"]
        if not results:
            return {"toolCalls": [{"name": name, "args": arguments or {"item": "tea"}}]}
        return {"position": results[-1], "confidence": 0.9}

    return ScriptedModel(model)


async def held(approve: object, *, tools: object = None, model: ScriptedModel | None = None, rounds: int = 1):
    shop = Shop()
    given = [shop.tool()] if tools is None else tools
    async with Roundtable([model or asks()], storage="memory://", tools=given, approve_tools=approve) as table:  # type: ignore[arg-type]
        result = await table.debate("Shall we order?", rounds=rounds)
    (call,) = [call for held in result.rounds for said in held.responses for call in said.tool_calls][:1]
    return shop, call, result


async def test_an_allowed_call_runs_and_the_approver_knows_who_calls_what() -> None:
    requests: list[ToolRequest] = []

    async def approve(request: ToolRequest) -> bool:
        requests.append(request)
        await anyio.lowlevel.checkpoint()
        return True

    shop, call, result = await held(approve)
    assert (shop.orders, call.error) == (["tea"], None)
    (request,) = requests
    assert (request.tool_name, request.arguments, request.description) == ("order", {"item": "tea"}, "Order an item.")
    assert (request.agent_id, request.session_id, request.round) == (result.agents[0].id, result.session_id, 1)
    assert (request.tenant, request.topic) == ("default", "Shall we order?")


@pytest.mark.parametrize(
    ("verdict", "error"),
    [(False, "not approved"), ("too expensive", "not approved: too expensive"), (None, "not approved"), (1, "not app")],
)
async def test_a_refused_call_does_not_run_and_the_agent_reads_why(verdict: object, error: str) -> None:
    shop, call, result = await held(lambda request: verdict)
    assert shop.orders == []
    assert call.error.startswith(error)
    assert error in result.rounds[0].responses[0].position


async def test_a_plain_function_may_return_an_awaitable() -> None:
    async def allow() -> bool:
        await anyio.lowlevel.checkpoint()
        return True

    shop, call, _ = await held(lambda request: allow())
    assert (shop.orders, call.error) == (["tea"], None)


async def test_an_approver_that_fails_allows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def approve(request: ToolRequest) -> bool:
        raise OSError("the desk is closed")

    shop, call, _ = await held(approve)
    assert (shop.orders, call.error) == ([], "not approved: nobody could be asked (OSError)")
    assert "the approver of tool calls failed" in caplog.text


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3)], ids=["is cancelled", "ends the program"])
async def test_an_approver_that_raises_a_base_exception_on_its_thread_allows_nothing(error: BaseException) -> None:
    def approve(request: ToolRequest) -> bool:
        raise error

    shop, call, _ = await held(approve)
    assert (shop.orders, call.error) == ([], "not approved: nobody could be asked (RuntimeError)")


async def test_an_approver_that_cancels_its_own_request_allows_nothing() -> None:
    async def approve(request: ToolRequest) -> bool:
        await anyio.lowlevel.checkpoint()
        raise asyncio.CancelledError

    shop, call, _ = await held(approve)
    assert (shop.orders, call.error) == ([], "not approved: nobody could be asked (CancelledError)")


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt])
async def test_an_approver_can_end_the_program_and_the_session_can_be_resumed(
    ending: type[BaseException],
) -> None:
    wants_to_end = True

    async def approve(request: ToolRequest) -> bool:
        await anyio.lowlevel.checkpoint()
        if wants_to_end:
            raise ending(3)
        return True

    shop = Shop()
    async with Roundtable([asks()], storage="memory://", tools=[shop.tool()], approve_tools=approve) as table:
        with pytest.raises(ending, match="3"):
            await table.debate("Shall we order?", rounds=1)
        assert shop.orders == []
        (session,) = await table.sessions()
        assert session.status == "paused"
        wants_to_end = False
        assert (await table.resume(session.id)).status == "completed"
    assert shop.orders == ["tea"]


async def test_a_blocking_approver_blocks_nothing_else() -> None:
    ready, asked = anyio.Event(), anyio.Event()

    def approve(request: ToolRequest) -> bool:
        anyio.from_thread.run_sync(asked.set)
        anyio.from_thread.run(ready.wait)
        return True

    async def answer() -> None:
        await asked.wait()
        ready.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(answer)
            shop, _, _ = await held(approve)
    assert shop.orders == ["tea"]


async def test_approvers_that_wait_for_a_person_take_no_threads_from_others() -> None:
    asked, answered = anyio.Semaphore(0), threading.Event()
    shared = anyio.to_thread.current_default_thread_limiter()
    threads, shared.total_tokens = shared.total_tokens, 1

    def approve(request: ToolRequest) -> bool:
        anyio.from_thread.run_sync(asked.release)
        return answered.wait(20)

    async def answer() -> None:
        await asked.acquire()
        await asked.acquire()
        await anyio.to_thread.run_sync(answered.set)

    shop = Shop()
    try:
        async with Roundtable(
            [asks(), asks()], storage="memory://", tools=[shop.tool()], approve_tools=approve
        ) as table:
            with anyio.fail_after(10):
                async with anyio.create_task_group() as group:
                    group.start_soon(answer)
                    await table.debate("Shall we order?", rounds=1)
    finally:
        answered.set()
        shared.total_tokens = threads
    assert shop.orders == ["tea", "tea"]


async def test_the_wait_for_an_approval_does_not_count_toward_the_time_limit_of_the_tool() -> None:
    async def approve(request: ToolRequest) -> bool:
        await anyio.sleep(0.2)
        return True

    shop = Shop()
    _, call, _ = await held(approve, tools=[shop.tool(timeout_s=0.1)])
    assert (shop.orders, call.error) == (["tea"], None)


async def test_no_approval_is_needed_for_invalid_arguments_or_tools_that_only_read_the_debate() -> None:
    requests: list[str] = []

    def approve(request: ToolRequest) -> bool:
        requests.append(request.tool_name)
        return False

    _, call, _ = await held(approve, model=asks(thing="tea"))
    assert "do not fit" in call.error
    _, call, _ = await held(approve, tools=["get_context"], model=asks("get_context"))
    assert requests == []


def seat(name: str) -> AgentConfig:
    return AgentConfig(id=name, name=name, provider="scripted", model="scripted")


class Foreign:
    """A toolkit of somebody else, with a tool that is named as a built-in one."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def get_tools(self) -> list[AgentTool]:
        return [AgentTool(name="get_context", description="D", parameters={"type": "object"})]

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        self.calls.append(name)
        return ToolResult(success=True, data="done")


@pytest.mark.parametrize("where", ["table", "agent", "agent's own kit"])
async def test_custom_tools_need_approval_wherever_they_are(where: str) -> None:
    foreign = Foreign()
    model = asks("get_context", item="tea")
    kit: Any = foreign
    if where == "agent's own kit":
        kit = DefaultAgentToolkit(standard=False)
        kit.include(foreign)
    agent = rt.BaseAgent(seat("ada"), model, toolkit=None if where == "table" else kit)
    tools = [foreign] if where == "table" else []
    async with Roundtable([agent], storage="memory://", tools=tools, approve_tools=lambda request: "no") as table:
        result = await table.debate("Shall we?", rounds=1)
    assert foreign.calls == []
    assert result.rounds[0].responses[0].tool_calls[0].error == "not approved: no"


def test_an_approver_that_is_not_a_function_is_refused() -> None:
    table = Roundtable([asks()], storage="memory://", approve_tools="yes")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="approve_tools must be a function, not 'yes'"):
        _ = table._wiring


async def test_each_agent_needs_its_own_approval_for_a_shared_call() -> None:
    runs: list[str] = []

    @rt.tool(cached=True)
    def price(item: str) -> str:
        """Return the price of an item.

        Args:
            item: The item.
        """
        runs.append(item)
        return f"{item} costs 2"

    requests: list[str] = []

    def approve(request: ToolRequest) -> bool | str:
        requests.append(request.agent_id)
        return True if request.agent_id != "bo" else "not bo"

    agents = [
        BaseAgent(AgentConfig(id=name, name=name, provider="scripted"), asks("price")) for name in ("ada", "bo", "cy")
    ]
    async with Roundtable(agents, storage="memory://", tools=[price], approve_tools=approve) as table:
        result = await table.debate("Shall we order?", rounds=1)
    errors = {said.agent_id: said.tool_calls[0].error for said in result.rounds[0].responses}
    assert errors == {"ada": None, "bo": "not approved: not bo", "cy": None}
    assert sorted(requests) == ["ada", "bo", "cy"]
    assert runs == ["tea"]


async def test_events_say_which_call_waits_and_how_it_was_decided() -> None:
    requests: list[ToolRequest] = []
    stored: list[list[str]] = []

    async def approve(request: ToolRequest) -> bool | str:
        requests.append(request)
        # Stored before anyone is asked, so that a page that loads now can show what waits.
        _, events = await table._wiring.storage.read(request.session_id)
        stored.append([event.type for event in events])
        return "too expensive" if len(requests) == 1 else True

    shop = Shop()
    async with Roundtable([asks()], storage="memory://", tools=[shop.tool()], approve_tools=approve) as table:
        result = await table.debate("Shall we order?", rounds=2)
        events = [event async for event in table.watch(result.session_id)]
    calls = [event for event in events if event.type == "agent_tool_call"]
    asked = [event for event in events if event.type == "approval_requested"]
    decided = [event for event in events if event.type == "approval_decided"]
    answered = [event for event in events if event.type == "agent_tool_result"]
    assert [request.call_id for request in requests] == [event.tool_call.id for event in calls]
    assert all(request.call_id for request in requests)
    places = [(event.agent, event.round, event.step, event.tool_call_id) for event in asked]
    assert places == [(event.agent, event.round, event.step, event.tool_call.id) for event in calls]
    assert places == [(event.agent, event.round, event.step, event.tool_call_id) for event in decided]
    assert [event.tool_name for event in (*asked, *decided)] == ["order"] * 4
    assert [(event.allowed, event.reason) for event in decided] == [(False, "too expensive"), (True, None)]
    assert all(ask.seq < done.seq < told.seq for ask, done, told in zip(asked, decided, answered, strict=True))
    assert [types[-2:] for types in stored] == [["agent_tool_call", "approval_requested"]] * 2


@pytest.mark.parametrize(
    ("name", "arguments"), [("get_context", {}), ("order", {"item": 3}), ("no_such_tool", {"item": "tea"})]
)
async def test_calls_without_approval_have_no_approval_events(name: str, arguments: dict[str, object]) -> None:
    shop = Shop()
    options: Any = {"tools": [shop.tool(), "get_context"], "approve_tools": lambda request: True}
    async with Roundtable([asks(name, **arguments)], storage="memory://", **options) as table:
        result = await table.debate("Shall we order?", rounds=1)
        types = {event.type async for event in table.watch(result.session_id)}
    assert "agent_tool_result" in types
    assert not types & {"approval_requested", "approval_decided"}


async def test_an_approver_that_fails_is_a_refusal_in_the_events() -> None:
    def approve(request: ToolRequest) -> bool:
        raise OSError("the desk is closed")

    shop = Shop()
    async with Roundtable([asks()], storage="memory://", tools=[shop.tool()], approve_tools=approve) as table:
        result = await table.debate("Shall we order?", rounds=1)
        (decided,) = [e async for e in table.watch(result.session_id) if e.type == "approval_decided"]
    assert (decided.allowed, decided.reason) == (False, "nobody could be asked (OSError)")


async def test_a_call_cancelled_during_its_wait_has_no_decision_and_waits_again_after_resume() -> None:
    asked = anyio.Event()
    may_answer = False

    async def approve(request: ToolRequest) -> bool:
        asked.set()
        if not may_answer:
            await anyio.sleep_forever()
        return True

    shop = Shop()
    async with Roundtable([asks()], storage="memory://", tools=[shop.tool()], approve_tools=approve) as table:
        handle = await table.start("Shall we order?", rounds=1)
        await asked.wait()
        await handle.pause(running="cancel")
        await handle.wait()
        kept = [e.type async for e in table.watch(handle.session_id) if e.type.startswith("approval")]
        may_answer = True
        assert (await table.resume(handle.session_id)).status == "completed"
        then = [e.type async for e in table.watch(handle.session_id) if e.type.startswith("approval")]
    assert kept == ["approval_requested"]
    assert then == ["approval_requested", "approval_requested", "approval_decided"]
