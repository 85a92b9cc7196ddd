"""A session that is loaded while it runs says so, on every front; nothing shows an interim answer as the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from roundtable import DebateResult, Roundtable
from roundtable.cli.event_printer import EventPrinter
from roundtable.providers.scripted import ScriptedModel
from roundtable.results import LiveView
from roundtable.results.view import view_of
from roundtable.server.pages.session import page_event
from roundtable.types import AgentToolCall, ApprovalDecided, ApprovalRequested, ToolCall, utc_now

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.types import ChatRequest, ChatResponse


class Gate(ScriptedModel):
    """A model that answers at once in the first round, and waits in the second."""

    def __init__(self) -> None:
        super().__init__(lambda request: {"position": "Tea", "choice": "Tea", "confidence": 0.9}, model="ada")
        self.waits = anyio.Event()
        self.opens = anyio.Event()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if request.metadata["round"] == "2":
            self.waits.set()
            await self.opens.wait()
        return await super().complete(request)


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/table.db"


@pytest.mark.both_loops
async def test_a_running_session_is_shown_as_running_with_its_known_figures(storage: str) -> None:
    gate = Gate()
    async with Roundtable([gate], storage=storage) as table:
        handle = await table.start("Tea or milk?", rounds=2, options=["Tea", "Milk"])
        with anyio.fail_after(20):
            await gate.waits.wait()
        now = await table.session(handle.session_id)
        gate.opens.set()
        result = await handle.result()
        then = await table.session(handle.session_id)
    assert (now.status, now.session_status, now.answer) == ("running", "active", "Tea")
    assert [record.complete for record in now.rounds] == [True, False]
    assert DebateResult.from_json(now.to_json()).status == "running"
    assert "still running" in view_of(now).state
    assert "Interim, after round 1 of 2" in now.to_markdown()
    assert (result.status, then.status) == ("completed", "completed")


@pytest.mark.both_loops
async def test_another_process_sees_that_a_session_runs(tmp_path: Path) -> None:
    gate, storage = Gate(), f"sqlite:///{tmp_path}/table.db"
    async with Roundtable([gate], storage=storage) as table, Roundtable([Gate()], storage=storage) as other:
        handle = await table.start("Tea or milk?", rounds=2)
        with anyio.fail_after(20):
            await gate.waits.wait()
        assert (await other.session(handle.session_id)).status == "running"
        await handle.pause(running="cancel")
        await handle.wait()
        assert (await other.session(handle.session_id)).status == "paused"


@pytest.mark.both_loops
async def test_a_session_without_an_owner_is_not_running(storage: str) -> None:
    gate = Gate()
    async with Roundtable([gate], storage=storage) as table:
        async with table.stream("Tea or milk?", rounds=2) as events:
            async for event in events:
                if event.type == "round_complete":
                    break
        left = await table.session(events.session_id)
    assert (left.status, left.session_status) == ("partial", "paused")


def approvals() -> tuple[AgentToolCall, ApprovalRequested, ApprovalDecided]:
    place: Any = {"session_id": "s1", "timestamp": utc_now(), "agent": "ada", "round": 1, "step": 1}
    call = ToolCall(id="c1", name="order", arguments={"item": "tea"})
    asked = {"tool_call_id": "c1", "tool_name": "order"}
    return (
        AgentToolCall(**place, tool_call=call),
        ApprovalRequested(**place, **asked),
        ApprovalDecided(**place, **asked, allowed=False, reason="too dear"),
    )


def test_every_live_view_shows_that_an_agent_waits_for_approval() -> None:
    call, asked, decided = approvals()
    view, printer = LiveView(), EventPrinter({"ada": "Ada"}, 1, clock=lambda: 0.0)
    shown: list[str] = []
    for event in (call, asked, decided):
        view.add(event)
        shown.append(view.to_html())
    assert ["waits for approval of order" in page for page in shown] == [False, True, False]
    assert "may not use order" in shown[-1]
    assert [line.text for line in printer.handle_event(asked)] == ["Ada waits for approval to use order"]
    assert printer.doing[0].state == "awaiting approval"
    assert printer.handle_event(decided) == []
    assert printer.doing[0].state == "thinking"
    news = [page_event(event)["data"]["news"] for event in (call, asked, decided)]
    assert news == ["uses order.", "waits for approval of order.", "may not use order."]
    assert "allowed" not in page_event(asked)["data"]
