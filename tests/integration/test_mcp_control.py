"""Pausing, resuming, stopping and going on over MCP: what each may follow, and what the answer says."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from integration.engine_kit import Gated, late, said, seated
from integration.mcp_kit import call, connected, held_talkers, refused, server_of

from roundtable import Roundtable
from roundtable.core.base.owner import current_owner
from roundtable.mcp.server import McpServer
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel, scripted_agents

pytestmark = pytest.mark.anyio


async def until(client: Any, session_id: str, status: str) -> dict[str, Any]:
    """Wait until a session is in a state, and give its entry in the list."""
    with anyio.fail_after(10):
        while True:
            listed = (await call(client, "list_sessions"))["sessions"]
            (found,) = [one for one in listed if one["id"] == session_id]
            if found["status"] == status:
                return found
            await anyio.sleep(0.01)


@pytest.mark.slow
async def test_a_resumed_debate_is_active_in_the_answer() -> None:
    agents, model = held_talkers()
    async with connected(server_of(agents)) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=10, wait=0)
        named = {"sessionId": begun["sessionId"]}
        for _ in range(3):
            await call(client, "control_session", **named, action="pause")
            await anyio.sleep(0.3)  # it is looked for four times a second
            model.let(3)
            await until(client, begun["sessionId"], "paused")
            resumed = await call(client, "control_session", **named, action="resume")
            assert (resumed["previousStatus"], resumed["newStatus"]) == ("paused", "active")
        await call(client, "control_session", **named, action="stop")


async def test_resuming_a_stepped_debate_revokes_the_pause_and_runs_no_round() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=4, step=True)
        named = {"sessionId": begun["sessionId"]}
        paused = await call(client, "control_session", **named, action="pause")
        assert paused["newStatus"] == "paused"
        resumed = await call(client, "control_session", **named, action="resume")
        assert (resumed["previousStatus"], resumed["newStatus"]) == ("paused", "active")
        assert "continue_roundtable with step runs its next round" in resumed["message"]
        state = await call(client, "get_consensus", **named)
        assert (state["currentRound"], state["running"], state["sessionStatus"]) == (1, False, "active")
        second = await call(client, "continue_roundtable", **named, step=True)
        assert (second["roundNumber"], second["sessionStatus"]) == (2, "active")


async def test_resuming_a_paused_step_runs_the_rest_of_it() -> None:
    model = Gated({"*": said("Tea")})
    async with connected(server_of(seated(model, "ada", "bo"))) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", mode="adversarial", rounds=4, step=True, wait=0.05)
        assert begun["running"]
        named = {"sessionId": begun["sessionId"]}
        await call(client, "control_session", **named, action="pause")
        await anyio.sleep(0.3)
        model.let(1)
        assert (await until(client, begun["sessionId"], "paused"))["currentRound"] == 1
        model.let()
        resumed = await call(client, "control_session", **named, action="resume")
        assert resumed["newStatus"] == "active"
        state = await call(client, "get_round_details", **named, roundNumber=1, wait=20)
        assert (state["complete"], state["currentRound"]) == (True, 1)
        await call(client, "get_consensus", **named, wait=20)
        state = await call(client, "get_consensus", **named)
        assert (state["currentRound"], state["running"]) == (1, False)


async def test_a_paused_debate_continues_only_with_resume() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=3, step=True)
        named = {"sessionId": begun["sessionId"]}
        await call(client, "control_session", **named, action="pause")
        for more in ({}, {"rounds": 1}, {"step": True}, {"focusQuestion": "At night?"}):
            error = await refused(client, "continue_roundtable", **named, **more)
            assert "is paused" in error["message"]
            assert "resume" in error["hint"]
        assert (await call(client, "get_consensus", **named))["currentRound"] == 1


async def test_a_stopped_debate_stays_stopped() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=3, step=True)
        named = {"sessionId": begun["sessionId"]}
        await call(client, "control_session", **named, action="stop")
        for more in ({}, {"rounds": 1}, {"step": True}):
            error = await refused(client, "continue_roundtable", **named, **more)
            assert "stopped for good" in error["message"]
            assert f"roundtable extend {begun['sessionId']}" in error["hint"]
            assert f"roundtable fork {begun['sessionId']}" in error["hint"]
        assert (await refused(client, "control_session", **named, action="resume"))["hint"]
        assert (await call(client, "get_consensus", **named))["currentRound"] == 1


async def test_a_finished_debate_continues_only_for_requested_rounds() -> None:
    async with connected(server_of()) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        named = {"sessionId": done["sessionId"]}
        for more in ({}, {"step": True}, {"focusQuestion": "At night?"}, {"force": True}):
            error = await refused(client, "continue_roundtable", **named, **more)
            assert "is completed" in error["message"]
            assert "`rounds`" in error["hint"]
            assert "fork" in error["hint"]
        longer = await call(client, "continue_roundtable", **named, rounds=2)
        assert (longer["roundNumber"], longer["status"]) == (3, "completed")


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(None, id="before the first round"),
        pytest.param(("agent_complete", 1), id="in a round"),
        pytest.param(("round_complete", 2), id="after the last round"),
        pytest.param(("exit", 1), id="before the synthesis"),
    ],
)
async def test_a_debate_whose_process_died_is_resumed(last: tuple[str, int] | None) -> None:
    storage = MemoryStorage()
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})

    def table_on(place: MemoryStorage) -> Roundtable:
        writer = ScriptedModel({"*": [{"conclusion": "Tea."}] * 9})
        return Roundtable(agents, storage=place, seats={"synthesizer": writer})

    whole = await table_on(storage).debate("Tea?", rounds=2, synthesize=True)
    record, events = await storage.read(whole.session_id)
    dead = MemoryStorage()
    await dead.create(record)
    if last is not None:
        kind, count = last
        lease = await dead.lease(record.id, current_owner(), 5)
        upto = [place for place, event in enumerate(events) if event.type == kind][count - 1] + 1
        await dead.append(record.id, 0, lease.token, events[:upto])
        await dead.lease(record.id, lease.owner, 0)
    async with connected(McpServer(lambda _: table_on(dead))) as client:
        named = {"sessionId": record.id}
        resumed = await call(client, "control_session", **named, action="resume")
        assert resumed["previousStatus"] == ("created" if last is None else "active")
        assert resumed["newStatus"] in {"active", "completed"}
        assert "left by its process" in resumed["message"]
        done = await call(client, "get_consensus", **named, wait=20)
        assert (done["status"], done["currentRound"]) == ("completed", 2)


async def test_a_running_debate_is_not_resumed() -> None:
    storage = MemoryStorage()
    agents = scripted_agents({"ada": late(0.3, "Tea"), "bo": "Tea"})
    async with Roundtable(agents, storage=storage) as elsewhere:
        handle = await elsewhere.start("Tea?", rounds=1)
        await handle.begun()
        async with connected(server_of(agents, storage)) as client:
            error = await refused(client, "control_session", sessionId=handle.session_id, action="resume")
            assert "only a session that is not running" in error["message"]
            assert "15 seconds" in error["hint"]


@pytest.mark.slow
async def test_only_one_of_two_simultaneous_calls_continues_a_debate() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=4, step=True)
        named = {"sessionId": begun["sessionId"]}
        outcomes: list[Any] = []

        async def step() -> None:
            answer = await client.call_tool("continue_roundtable", {**named, "step": True})
            text = str(answer.content[0])
            outcomes.append("by another call at the same time" in text if answer.is_error else answer)

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(step)
        assert sum(outcome is True for outcome in outcomes) == 1
        assert (await call(client, "get_consensus", **named))["currentRound"] == 2


async def test_an_audit_of_a_running_debate_waits_for_its_first_round() -> None:
    agents, model = held_talkers()
    async with connected(server_of(agents)) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=1, wait=0)
        state = await call(client, "get_consensus", sessionId=begun["sessionId"], audit=True)
        assert (state["status"], state.get("audit")) == ("in_progress", None)
        model.let(3)
        state = await call(client, "get_consensus", sessionId=begun["sessionId"], audit=True, wait=30)
        assert state["audit"]


async def test_a_debate_between_two_steps_cannot_be_resumed() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=3, step=True)
        error = await refused(client, "control_session", sessionId=begun["sessionId"], action="resume")
        assert "between two rounds" in error["message"]
        assert "continue_roundtable" in error["hint"]
