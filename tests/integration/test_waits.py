"""Every wait of more than a second: an event, a line of each progress display, one line of the log, a count."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import pytest
from integration.engine_kit import CountingModel, asking, engine_of, fold_of, seated

import roundtable as rt
from roundtable.cli.event_printer import EventPrinter
from roundtable.core.base.waits import Wait, report_wait, reported, reporting_to
from roundtable.core.types.events import wire_event
from roundtable.engine import RunLimits
from roundtable.errors import APINetworkError
from roundtable.gateway import Gateway
from roundtable.mcp.progress import _RoundProgress
from roundtable.providers import Delay, ScriptedModel
from roundtable.results import LiveView
from roundtable.server.metrics import Tally
from roundtable.server.pages.session import page_event
from roundtable.storage import MemoryStorage, current_owner
from roundtable.testing import ManualClock, RecordingObserver, scripted_agents
from roundtable.testing.servers import LoopbackServer
from roundtable.types import ChatRequest, Waiting, utc_now

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.types import Event

pytestmark = pytest.mark.both_loops

ASK = ChatRequest(model="", messages=())
ANSWER = '{"position": "Tea", "confidence": 0.9}'


def waits_of(events: Iterable[Event]) -> list[Waiting]:
    return [event for event in events if isinstance(event, Waiting)]


async def test_a_wait_for_a_rate_limit_is_an_event_of_the_waiting_agent(caplog: pytest.LogCaptureFixture) -> None:
    observer = RecordingObserver()
    with LoopbackServer(lambda _seen: ANSWER) as server:
        url = server.url
        config = rt.ProviderConfig(base_url=server.url, requests_per_minute=1)
        async with rt.Roundtable(
            ["compatible:m", "compatible:m"],
            providers={"compatible": config},
            storage="memory://",
            observers=[observer],
            analyzer="declared",
        ) as table:
            # Moved by each wait, so that nothing waits for real.
            table._wiring.models.gateway.clock = ManualClock()
            with caplog.at_level(logging.INFO, "roundtable.gateway"):
                result = await table.debate("Tea?", rounds=1)
    waits = waits_of(observer.events)
    assert {wait.reason for wait in waits} == {"rate"}
    first = waits[0]
    assert (first.detail, first.round) == ("the rate of 1 call a minute", 1)
    assert 0 < (first.remaining_s or 0) <= 60
    assert {wait.agent for wait in waits} <= {agent.id for agent in result.agents}
    logged = [record.getMessage() for record in caplog.records if "later waits like this" in record.getMessage()]
    assert len(logged) == 1
    assert f"compatible:m at {url}: a call waits 60 s for" in logged[0]


async def test_a_long_wait_for_a_retry_is_an_event_and_a_short_one_is_not() -> None:
    waits: list[Wait] = []
    for seconds, count in ((2.0, 1), (0.5, 0)):
        error = APINetworkError("gone", retry_after_s=seconds)
        gateway = Gateway(clock=ManualClock())
        with reporting_to(waits.append):
            await gateway.guard(ScriptedModel([error, "yes"])).complete(ASK)
        assert sum(gateway.waits.values()) == count
    (wait,) = waits
    assert (wait.reason, wait.detail) == ("retry", "the next try after API_NETWORK_ERROR")
    assert 2 <= (wait.remaining_s or 0) < 2.5


@pytest.mark.slow
async def test_a_wait_for_a_slot_is_reported_after_a_second() -> None:
    waits: list[Wait] = []
    gateway = Gateway(concurrency=1)
    model = gateway.guard(ScriptedModel([Delay(1.5, "a"), "b", "c"]))
    with reporting_to(waits.append):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(model.complete, ASK)
    assert waits == [Wait("slot", "a free slot, with 1 call at once")] * 2
    assert dict(gateway.waits) == {("scripted:scripted", "slot"): 2}


@pytest.mark.slow
async def test_a_wait_for_approval_is_an_event() -> None:
    def order(item: str) -> str:
        """Order an item."""
        return f"ordered {item}"

    async def approve(_request: object) -> bool:
        await anyio.sleep(1.3)
        return True

    def model(request: ChatRequest) -> object:
        if not any(message.role == "tool" for message in request.messages):
            return {"toolCalls": [{"name": "order", "args": {"item": "tea"}}]}
        return {"position": "ordered", "confidence": 0.9}

    observer = RecordingObserver()
    async with rt.Roundtable(
        [ScriptedModel(model)],
        storage="memory://",
        tools=[rt.tool(cached=False)(order)],
        approve_tools=approve,
        observers=[observer],
    ) as table:
        await table.debate("Shall we order?", rounds=1)
    (wait,) = waits_of(observer.events)
    assert (wait.reason, wait.detail, wait.remaining_s) == ("approval", "somebody to approve a call of order", None)
    assert wait.agent is not None


async def test_a_wait_for_the_lease_of_another_process_is_an_event() -> None:
    clock, model = ManualClock(), CountingModel("Tea")
    storage, agents = MemoryStorage(clock), seated(model, "ada")
    engine = engine_of(storage, agents)
    session = await engine.start_debate(asking(agents, rounds=1))
    elsewhere = current_owner().model_copy(update={"host": "elsewhere"})
    await storage.lease(session.id, elsewhere, 60)
    seen = []
    with engine.hub.subscribe(session.id, storage) as subscription:
        async with anyio.create_task_group() as group:
            group.start_soon(engine.run, session.id, RunLimits(wait_s=60))
            while not (waits := waits_of(seen)):
                seen.append(await subscription.take())
            clock.move(60)
    assert [(wait.reason, wait.remaining_s, wait.agent) for wait in waits] == [("lease", 60, None)]
    assert (await fold_of(storage, session.id)).progress.status == "completed"


async def test_a_wait_outside_of_a_debate_has_no_effect() -> None:
    report_wait(Wait("rate", "a rate"))
    waits: list[Wait] = []
    with reporting_to(waits.append):
        assert await reported(anyio.lowlevel.checkpoint, Wait("approval", "somebody")) is None
    assert waits == []


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyboardInterrupt(), SystemExit()])
async def test_an_error_of_a_reported_step_is_raised_unchanged(error: BaseException) -> None:
    async def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        await reported(fail, Wait("approval", "somebody"))


async def test_a_reported_step_can_be_cancelled() -> None:
    with anyio.move_on_after(0.01) as scope:
        await reported(anyio.sleep_forever, Wait("approval", "somebody"))
    assert scope.cancelled_caught


def wait_event(agent: str | None = "ada", reason: str = "rate") -> Waiting:
    return Waiting(
        session_id="s",
        timestamp=utc_now(),
        reason=reason,  # type: ignore[arg-type]
        detail="the rate of 60 calls a minute",
        remaining_s=12.3,
        agent=agent,
    )


def test_every_progress_display_has_a_line_for_a_wait() -> None:
    text = "waits 12 s for the rate of 60 calls a minute"
    printer = EventPrinter({"ada": "Ada"}, 2, lambda: 0.0)
    assert [line.text for line in printer.handle_event(wait_event())] == [f"Ada {text}"]
    assert printer.doing[0].state == "waiting"
    assert [line.text for line in printer.handle_event(wait_event(None))] == [f"The debate {text}"]
    assert printer.handle_event(wait_event(reason="retry")) == []  # the event `retry` has a line

    view = LiveView(rounds=1)
    assert view.add(wait_event()) == f"  ada {text}"
    assert text in view.to_html()
    assert view.add(wait_event(None)) == f"  The debate {text}"
    assert f"The debate {text}" in view.to_html()

    for agent, news in (("ada", f"{text}."), (None, f"The debate {text}.")):
        assert page_event(wait_event(agent))["data"]["news"] == news  # type: ignore[index,call-overload]
    assert _RoundProgress(agents=2, total=2).update(wait_event()) == f"ada {text}"


def test_waits_are_counted_by_reason() -> None:
    tally = Tally()
    for reason in ("rate", "rate", "slot"):
        tally.note_wait(reason)
    whole = Tally()
    whole.add(tally)
    assert Tally.read(whole.stored()).waits == {"rate": 2, "slot": 1}


def test_a_wait_can_be_sent_as_json() -> None:
    event = wait_event()
    assert wire_event(event.to_wire()) == event
    assert event.to_wire()["data"]["remainingS"] == 12.3  # type: ignore[index,call-overload]


def test_a_debate_without_waits_has_no_wait_events() -> None:
    observer = RecordingObserver()
    with rt.sync.Roundtable(
        scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://", observers=[observer]
    ) as table:
        table.debate("Tea?", rounds=1)
    assert waits_of(observer.events) == []
