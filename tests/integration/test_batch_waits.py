"""Debates of a batch wait for their providers instead of failing, and nobody reads a round with a gap."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest
from integration.engine_kit import said

from roundtable import Roundtable, testing
from roundtable.agents import BaseAgent
from roundtable.bench import Question, print_progress, run_study
from roundtable.errors import (
    AgentError,
    APINetworkError,
    APIRateLimitError,
    CircuitOpen,
    ConfigurationError,
    QuorumLost,
    RoundtableError,
)
from roundtable.providers.scripted import ScriptedModel
from roundtable.results import DebateResult
from roundtable.results.many import Progress
from roundtable.testing import ManualClock
from roundtable.types import AgentConfig, Budget, ChatRequest, RetryPolicy, Waiting

pytestmark = pytest.mark.both_loops

ONCE = RetryPolicy(max_attempts=1)
Fault = Callable[[ChatRequest, int], RoundtableError | None]


def broken(**details: Any) -> APINetworkError:
    return APINetworkError("the server failed", provider="scripted", details={"status": 500} | details)


def unreachable() -> APINetworkError:
    return APINetworkError("could not connect", provider="scripted", details={"connected": False})


class Faulty:
    """A model that fails as a test says, and counts the calls of each turn."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.calls: Counter[tuple[str, str, str]] = Counter()
        self.order: list[tuple[str, str, str]] = []
        self.prompts: dict[tuple[str, str, str], str] = {}

    def __call__(self, request: ChatRequest) -> Any:
        text = json.dumps([message.content for message in request.messages])
        topic = next((name for name in ("Tea", "Milk", "Rum") if f"{name} or water?" in text), "")
        turn = (topic, request.metadata["agent"], request.metadata["round"])
        self.calls[turn] += 1
        self.order.append(turn)
        self.prompts[turn] = text
        return self.fault(request, self.calls[turn]) or said(request.metadata["agent"].title())


def table_of(fault: Fault, *names: str, **options: Any) -> tuple[Roundtable, Faulty]:
    """Return a table whose agents share a model; the clock of its waits moves by itself."""
    model = Faulty(fault)
    agents = [
        BaseAgent(
            AgentConfig(id=name, name=name.title(), provider="scripted", model=name, retry=ONCE),
            ScriptedModel(model, model=name),
        )
        for name in names or ("ada", "bo")
    ]
    table = Roundtable(agents, storage="memory://", **options)
    table._wiring.models.gateway.clock = ManualClock()
    return table, model


def fails(agent: str, times: int, error: Callable[[], RoundtableError] = broken, *, at: str = "1") -> Fault:
    """Return a fault of one agent in one round, for its first calls."""

    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        is_hit = request.metadata["agent"] == agent and request.metadata["round"] == at
        return error() if is_hit and call <= times else None

    return fault


async def test_only_the_failed_agent_is_asked_again_and_the_others_wait_for_its_answer() -> None:
    table, model = table_of(fails("bo", 1))
    (result,) = await table.debate_many(["Tea or water?"], rounds=2)
    assert (result.status, result.roster.complete) == ("completed", True)
    assert dict(model.calls) == {
        ("Tea", "ada", "1"): 1, ("Tea", "bo", "1"): 2, ("Tea", "ada", "2"): 1, ("Tea", "bo", "2"): 1,
    }  # fmt: skip
    assert "Bo" in model.prompts["Tea", "ada", "2"]
    (wait,) = result.waits
    assert (wait.provider, wait.code, wait.reason) == ("scripted", "API_NETWORK_ERROR", "the server failed")
    assert [len(debate_round.waits) for debate_round in result.rounds] == [1, 0]
    assert await table.session(result.session_id) == result


async def test_after_the_second_failure_the_debate_continues_without_the_agent() -> None:
    table, model = table_of(fails("bo", 2))
    (result,) = await table.debate_many(["Tea or water?"], rounds=2)
    assert (result.status, result.roster.complete) == ("completed", False)
    assert (model.calls["Tea", "bo", "1"], model.calls["Tea", "bo", "2"]) == (2, 1)


@pytest.mark.parametrize("error", [unreachable, CircuitOpen, APIRateLimitError], ids=["away", "breaker", "rate"])
async def test_an_outage_is_waited_for_however_often_the_call_fails(error: Callable[[], RoundtableError]) -> None:
    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        return error() if request.metadata["round"] == "2" and call <= 7 else None

    table, model = table_of(fault)
    (result,) = await table.debate_many(["Tea or water?"], rounds=2)
    assert (result.status, result.roster.complete, model.calls["Tea", "bo", "2"]) == ("completed", True, 8)
    (wait,) = result.waits
    assert wait.seconds == pytest.approx(1 + 2 + 4 + 8 + 16 + 30 + 30)


async def test_the_outage_of_one_agent_gives_no_other_agent_more_than_a_second_chance() -> None:
    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        if request.metadata["agent"] == "bo":
            return AgentError("useless", provider="scripted", retryable=True)
        return unreachable() if request.metadata["agent"] == "ada" and call <= 4 else None

    table, model = table_of(fault, "ada", "bo", "cy")
    (result,) = await table.debate_many(["Tea or water?"], rounds=1)
    assert [turn.outcome for turn in result.rounds[0].turns] == ["answered", "failed", "answered"]
    assert [model.calls["Tea", name, "1"] for name in ("ada", "bo", "cy")] == [5, 2, 1]


async def test_nobody_waits_for_a_provider_whose_certificate_is_refused() -> None:
    def refused(_: ChatRequest, __: int) -> RoundtableError:
        details = {"connected": False, "reason": "certificate"}
        return APINetworkError("refused", provider="scripted", retryable=False, details=details)

    table, model = table_of(refused)
    results = await table.debate_many(["Tea or water?", "Milk or water?"], rounds=1, concurrency=1)
    assert [failure.error.code for failure in results.failures] == ["QUORUM_LOST", "QUORUM_LOST"]
    assert {topic for topic, _, _ in model.order} == {"Tea"}
    assert table._wiring.models.gateway.clock.monotonic() == 0


async def test_the_call_that_tests_a_provider_may_fail_in_another_way() -> None:
    def fault(_: ChatRequest, call: int) -> RoundtableError | None:
        return {1: unreachable(), 2: broken(), 3: broken()}.get(call)

    table, _ = table_of(fault)
    (result,) = await table.debate_many(["Tea or water?"], rounds=1)
    assert result.roster.complete


async def test_an_outage_that_lasts_too_long_fails_the_debate_as_before() -> None:
    table, model = table_of(lambda _, __: CircuitOpen("open", retry_after_s=60))
    results = await table.debate_many(["Tea or water?"], rounds=1, outage_s=300)
    (failed,) = results.failures
    assert (failed.error.code, model.calls["Tea", "bo", "1"]) == ("QUORUM_LOST", 6)


async def test_a_failure_that_is_not_the_fault_of_the_provider_is_final() -> None:
    table, model = table_of(fails("bo", 9, lambda: APIRateLimitError("quota", provider="scripted", retryable=False)))
    (result,) = await table.debate_many(["Tea or water?"], rounds=1)
    assert (result.roster.complete, result.waits, model.calls["Tea", "bo", "1"]) == (False, (), 1)


WAYS: list[Callable[..., Any]] = []


def way(function: Callable[..., Any]) -> Callable[..., Any]:
    WAYS.append(function)
    return function


@way
async def many(table: Roundtable, wait_for: Any) -> DebateResult:
    results = await table.debate_many(["Tea or water?"], rounds=1, wait_for=wait_for, on_error="raise")
    return results[0]


@way
async def resumed(table: Roundtable, wait_for: Any) -> DebateResult:
    before = await table.debate_many(["Tea or water?"], rounds=1, budget=Budget(max_seconds=0.000001))
    results = await table.resume_many(before, wait_for=wait_for, on_error="raise", budget=Budget(max_seconds=600))
    return results[0]


@way
async def once(table: Roundtable, wait_for: Any) -> DebateResult:
    return await table.debate_once("one", "Tea or water?", rounds=1, wait_for=wait_for)


@way
async def started(table: Roundtable, wait_for: Any) -> DebateResult:
    async with table:
        return await (await table.start("Tea or water?", rounds=1, wait_for=wait_for)).result()


@pytest.mark.parametrize("run", WAYS)
async def test_the_argument_wait_for_means_the_same_in_every_function(run: Callable[..., Any]) -> None:
    """One agent fails once: only `all` waits. Both fail once: `all` and `quorum` wait, and `none` loses the quorum."""
    for wait_for, calls in (("all", 2), ("quorum", 1), ("none", 1)):
        table, model = table_of(fails("bo", 1))
        result = await run(table, wait_for)
        assert (result.roster.complete, model.calls["Tea", "bo", "1"]) == (calls == 2, calls)
    for wait_for in ("all", "quorum"):
        table, model = table_of(lambda _, call: unreachable() if call == 1 else None)
        result = await run(table, wait_for)
        assert (result.roster.complete, model.calls["Tea", "bo", "1"]) == (True, 2)
    table, model = table_of(lambda _, call: unreachable() if call == 1 else None)
    with pytest.raises(QuorumLost):
        await run(table, "none")


async def test_incomplete_rounds_can_be_allowed_and_then_only_a_lost_debate_waits() -> None:
    table, model = table_of(fails("bo", 1))
    (result,) = await table.debate_many(["Tea or water?"], rounds=1, wait_for="quorum")
    assert (result.roster.complete, model.calls["Tea", "bo", "1"]) == (False, 1)
    table, model = table_of(lambda _, call: unreachable() if call == 1 else None)
    (result,) = await table.debate_many(["Tea or water?"], rounds=1, wait_for="quorum")
    assert (result.roster.complete, model.calls["Tea", "bo", "1"]) == (True, 2)


async def test_a_wait_past_the_deadline_is_not_started() -> None:
    table, model = table_of(fails("bo", 9, lambda: CircuitOpen("open", retry_after_s=60)))
    (result,) = await table.debate_many(["Tea or water?"], rounds=1, deadline_s=30)
    assert (result.status, result.roster.complete, model.calls["Tea", "bo", "1"]) == ("completed", False, 1)


async def test_a_wait_is_an_event_of_the_debate() -> None:
    heard: list[Any] = []
    table, _ = table_of(fails("bo", 1), observers=[heard.append])
    await table.debate_many(["Tea or water?"], rounds=1)
    assert [event.text for event in heard if event.type == "waiting"] == [
        "waits 2 s for scripted, so that no agent is missing (API_NETWORK_ERROR)"
    ]


async def test_a_single_debate_does_not_wait_unless_asked_to() -> None:
    table, model = table_of(fails("bo", 1))
    assert not (await table.debate("Tea or water?", rounds=1)).roster.complete
    table, model = table_of(fails("bo", 1))
    result = await table.debate_once("one", "Tea or water?", rounds=1, wait_for="all")
    assert (result.roster.complete, model.calls["Tea", "bo", "1"]) == (True, 2)


async def test_other_debates_continue_while_one_waits() -> None:
    """With one slot, the debates of the outage can only continue if the last debate gets the slot meanwhile."""
    asked: set[str] = set()

    def fault(request: ChatRequest, _: int) -> RoundtableError | None:
        text = json.dumps([message.content for message in request.messages])
        if "Milk or water?" in text:
            asked.add("Milk")
        return unreachable() if "Tea or water?" in text and not asked else None

    table, model = table_of(fault)
    results = await table.debate_many(["Tea or water?", "Milk or water?"], rounds=1, concurrency=1)
    assert [result.roster.complete for result in results] == [True, True]
    assert [topic for topic, _, _ in model.order][-2:] == ["Tea", "Tea"]


async def test_a_short_wait_does_not_send_a_debate_to_the_end_of_the_queue() -> None:
    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        text = json.dumps([message.content for message in request.messages])
        return broken() if "Tea or water?" in text and request.metadata["agent"] == "bo" and call == 1 else None

    table, model = table_of(fault)
    await table.debate_many(["Tea or water?", "Milk or water?"], rounds=1, concurrency=1)
    assert [topic for topic, _, _ in model.order] == ["Tea", "Tea", "Tea", "Milk", "Milk"]


async def test_a_rate_counts_only_the_time_in_which_debates_ran() -> None:
    """Nine calls of two seconds, and waits of 91 seconds."""

    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        clock.move(2)
        return unreachable() if request.metadata["agent"] == "bo" and call <= 7 else None

    table, _ = table_of(fault)
    clock = table._wiring.models.gateway.clock = ManualClock()
    heard: list[Progress] = []
    await table.debate_many(["Tea or water?"], rounds=1, on_progress=heard.append)
    assert (heard[-1].elapsed_s, heard[-1].worked_s, heard[-1].per_second) == (109, 18, 1 / 18)
    assert Progress(ended=10, total=30, elapsed_s=700, worked_s=100).left_s == 200


def test_a_batch_does_not_end_before_the_next_try_of_debates_that_wait() -> None:
    working = Progress(ended=28, total=30, elapsed_s=28)
    assert working.left_s == 2
    assert working.model_copy(update={"waiting": 2, "wait_left_s": 40.0}).left_s == 40
    assert working.model_copy(update={"waiting": 2, "wait_left_s": 0.0}).left_s == 2
    assert Progress(ended=0, total=30, elapsed_s=28, waiting=2, wait_left_s=40.0).left_s is None


async def test_a_log_shows_waits_that_begin_short_and_last_for_minutes(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    table, _ = table_of(fails("bo", 15, unreachable))
    with caplog.at_level(logging.INFO, "roundtable.api"):
        await table.debate_many(["Tea or water?"], rounds=1, on_progress=print_progress)
    waits = [line.partition("so far, ")[2] for line in capsys.readouterr().err.splitlines() if "waiting" in line]
    cause = "1 waiting for scripted: could not connect"
    assert waits == [
        f"{cause} (7 s so far, next try in 8 s)",
        f"{cause} (2 min so far, next try in 30 s)",
        f"{cause} (4 min so far, next try in 30 s)",
    ]
    assert [record.getMessage() for record in caplog.records if "wait" in record.getMessage()] == [
        "a debate waits 1 s for its provider, and others may too: scripted: could not connect",
        "1 debate waits, 7 s so far, and the next try is in 8 s: scripted: could not connect",
        "1 debate waits, 2 min so far, and the next try is in 30 s: scripted: could not connect",
        "1 debate waits, 4 min so far, and the next try is in 30 s: scripted: could not connect",
    ]


async def test_progress_says_which_debates_wait_and_counts_only_running_time(caplog: pytest.LogCaptureFixture) -> None:
    table, _ = table_of(fails("bo", 1, unreachable))
    heard: list[Progress] = []
    with caplog.at_level(logging.INFO, "roundtable.api"):
        await table.debate_many(["Tea or water?"], rounds=1, name="drinks", on_progress=heard.append)
    assert [(one.ended, one.waiting, one.waiting_for, one.has_ended) for one in heard] == [
        (0, 1, "scripted: could not connect", False), (0, 0, None, False), (1, 0, None, True),
    ]  # fmt: skip
    assert heard[0].left_s is None
    assert [record.message for record in caplog.records if "waits" in record.message] == [
        "a debate waits 1 s for its provider, and others may too: scripted: could not connect"
    ]
    heard.clear()
    await table.debate_many(["Tea or water?", "Milk or water?"], rounds=1, name="drinks", on_progress=heard.append)
    last = heard[-1]
    assert (last.ended, last.stored, last.ran) == (2, 1, 1)
    only_read = [one for one in heard if one.ended == one.stored]
    assert all(one.left_s is None for one in only_read)


class SlowOutage(ManualClock):
    """A clock on which one of the waits never ends; three seconds of it pass."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number
        self.hangs = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.left -= 1
        if self.left == 0:
            self.move(3.0)
            self.hangs.set()
            await anyio.sleep_forever()
        await super().sleep(seconds)


@pytest.mark.parametrize(("end", "number"), [("left", 4), ("paused", 4), ("deadline", 1)])
async def test_the_waits_of_an_open_round_are_kept_however_the_run_ends(end: str, number: int) -> None:
    """Before the end, waits of 1, 2 and 4 seconds, and 3 of 8 seconds; the deadline ends the first wait."""
    table, _ = table_of(fails("bo", number + 1, unreachable))
    clock = table._wiring.models.gateway.clock = SlowOutage(number)
    deadline_s = 1.2 if end == "deadline" else None
    run = partial(table.debate_once, "one", "Tea or water?", rounds=1, wait_for="all")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(run, deadline_s=deadline_s))
            await clock.hangs.wait()
            if end == "paused":
                await table.pause("one")
            if end == "left":
                group.cancel_scope.cancel()
    before = await table.session("one")
    waits = [("scripted", {4: 1 + 2 + 4 + 3, 1: 3}[number])]
    assert [(wait.provider, wait.seconds) for wait in before.waits] == waits
    result = await run()
    assert (result.status, result.roster.complete) == ("completed", True)
    assert [(wait.provider, wait.seconds) for wait in result.waits] == [*waits, ("scripted", 1)]
    fork = await table.fork("one", at_round=1, rounds=2)
    assert fork.waits == result.waits


async def test_the_waits_before_a_lost_quorum_are_kept() -> None:
    table, _ = table_of(lambda _, __: unreachable())
    with pytest.raises(QuorumLost) as lost:
        await table.debate_once("one", "Tea or water?", rounds=1, wait_for="all", outage_s=7)
    assert lost.value.partial is not None
    assert [wait.seconds for wait in (await table.session("one")).waits] == [7.0]
    assert lost.value.partial == await table.session("one")


async def test_the_event_of_a_failed_turn_says_what_happens_next() -> None:
    """Two outages, a second chance that fails, and a refusal."""
    heard: list[Any] = []

    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        match request.metadata["agent"]:
            case "ada":
                return unreachable() if call <= 2 else None
            case "bo":
                return broken()
            case "cy":
                return AgentError("no", provider="scripted")
        return None

    table, _ = table_of(fault, "ada", "bo", "cy", "di", observers=[heard.append])
    await table.debate_many(["Tea or water?"], rounds=1)
    errors = [event for event in heard if event.type == "agent_error"]
    told = {agent: [one.action for one in errors if one.agent == agent] for agent in ("ada", "bo", "cy")}
    assert told == {"ada": ["retry", "retry"], "bo": ["retry", "skip"], "cy": ["skip"]}


async def test_a_request_to_pause_ends_a_wait_and_the_rest_is_run_later() -> None:
    table, model = table_of(fails("bo", 1, lambda: CircuitOpen("open", retry_after_s=300)))
    table._wiring.models.gateway.clock = type(table._wiring.engine.sessions.clock)()
    async with table:
        handle = await table.start("Tea or water?", rounds=1, wait_for="all")
        with anyio.fail_after(20):
            async for event in handle.events():
                if isinstance(event, Waiting):
                    break
            await handle.pause()
            paused = await handle.result()
        assert (paused.status, paused.session_status) == ("paused", "paused")
        assert [wait.provider for wait in paused.waits] == ["scripted"]
        result = await (await table.start_resume(handle.session_id, wait_for="all")).result()
    assert (result.status, result.roster.complete) == ("completed", True)
    assert (model.calls["Tea", "ada", "1"], model.calls["Tea", "bo", "1"]) == (1, 2)


async def test_a_batch_that_is_cancelled_during_a_wait_continues_without_a_gap() -> None:
    table, model = table_of(fails("bo", 1, lambda: CircuitOpen("open", retry_after_s=300)))
    table._wiring.models.gateway.clock = type(table._wiring.engine.sessions.clock)()
    waits = anyio.Event()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await table.debate_many(["Tea or water?"], rounds=1, name="drinks", on_progress=lambda _: waits.set())

        group.start_soon(run)
        with anyio.fail_after(20):
            await waits.wait()
        group.cancel_scope.cancel()
    (result,) = await table.debate_many(["Tea or water?"], rounds=1, name="drinks")
    assert (result.status, result.roster.complete) == ("completed", True)
    assert (model.calls["Tea", "ada", "1"], model.calls["Tea", "bo", "1"]) == (1, 2)


async def test_a_debate_that_ends_during_a_wait_no_longer_waits() -> None:
    table, _ = table_of(fails("bo", 1, lambda: CircuitOpen("open", retry_after_s=300)))
    table._wiring.models.gateway.clock = type(table._wiring.engine.sessions.clock)()
    heard: list[Progress] = []
    waits = anyio.Event()

    def note(progress: Progress) -> None:
        heard.append(progress)
        waits.set()

    async def pause() -> None:
        await waits.wait()
        (session,) = await table.sessions()
        await table.pause(session.id)

    with anyio.fail_after(400):  # a wait past this time is not begun
        async with anyio.create_task_group() as group:
            group.start_soon(pause)
            (result,) = await table.debate_many(["Tea or water?"], rounds=1, on_progress=note)
    assert result.status == "paused"
    assert [(one.ended, one.waiting) for one in heard] == [(0, 1), (1, 0)]


async def test_a_recovered_debate_takes_up_its_wait() -> None:
    table, model = table_of(fails("bo", 1, lambda: CircuitOpen("open", retry_after_s=300)), "ada", "bo", "cy")
    table._wiring.models.gateway.clock = type(table._wiring.engine.sessions.clock)()
    waits = anyio.Event()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await table.debate_many(["Tea or water?"], rounds=2, name="drinks", on_progress=lambda _: waits.set())

        group.start_soon(run)
        with anyio.fail_after(20):
            await waits.wait()
        group.cancel_scope.cancel()
    (recovered,) = await table.recover(cancelled=True)
    assert recovered.result is not None
    assert (recovered.result.status, recovered.result.roster.complete) == ("completed", True)
    assert [model.calls["Tea", name, "1"] for name in ("ada", "bo", "cy")] == [1, 2, 1]


async def test_the_first_wait_of_a_single_debate_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    table, _ = table_of(fails("bo", 4, unreachable))
    with caplog.at_level(logging.INFO, "roundtable.engine"):
        await table.debate_once("one", "Tea or water?", rounds=1, wait_for="all")
    failed = [(record.levelname, record.message) for record in caplog.records if "agent failed" in record.message]
    assert {level for level, _ in failed} == {"INFO"}
    assert all("asked again after a wait" in message for _, message in failed)
    (logged,) = [record.message for record in caplog.records if "debate waits" in record.message]
    assert logged == (
        "the debate waits 1 s for scripted, so that no agent is missing (API_NETWORK_ERROR: could not connect)"
    )


async def test_resumed_batches_wait_too() -> None:
    table, model = table_of(fails("bo", 1, at="2"))
    first = await table.debate_many(["Tea or water?"], rounds=2, budget=None, deadline_s=None, exit_when=None)
    assert first[0].roster.complete
    table, model = table_of(fails("bo", 4, lambda: CircuitOpen("open", retry_after_s=60)))
    lost = await table.debate_many(["Tea or water?"], rounds=1, outage_s=0, quorum=2)
    assert len(lost.failures) == 1
    (result,) = await table.resume_many(lost)
    assert (result.status, result.roster.complete, model.calls["Tea", "ada", "1"]) == ("completed", True, 1)


async def test_a_provider_that_asks_for_fewer_calls_gets_fewer_debates() -> None:
    def fault(request: ChatRequest, call: int) -> RoundtableError | None:
        return APIRateLimitError("slower", provider="scripted") if call == 1 else None

    heard: list[Progress] = []
    questions = ["Tea or water?", "Milk or water?", "Rum or water?"] * 2
    table, _ = table_of(fault)
    await table.debate_many(questions, rounds=1, concurrency=4, on_progress=heard.append)
    assert min(one.at_once or 0 for one in heard) < 4
    heard.clear()
    table, _ = table_of(fault)
    await table.debate_many(questions, rounds=1, concurrency=4, on_progress=heard.append, adapt=False)
    assert {one.at_once for one in heard} == {4}
    assert table._wiring.models.gateway.call_listeners == ()


async def test_a_log_shows_a_long_wait_while_other_debates_end(capsys: pytest.CaptureFixture[str]) -> None:
    """A debate of a thousand waits for three minutes, and the others end meanwhile, one in three seconds."""
    wait = {"waiting": 1, "waiting_for": "acme: could not connect"}
    for number in range(1, 61):
        is_news = number in {2, 20, 40}
        heard = Progress(ended=number, total=100_000, elapsed_s=3.0 * number, is_wait_news=is_news, **wait)
        print_progress(heard)
    assert capsys.readouterr().err.count("1 waiting for acme") == 3


async def test_a_study_warns_once_of_a_wait_that_is_too_long(caplog: pytest.LogCaptureFixture) -> None:
    table, _ = table_of(fails("bo", 1, lambda: CircuitOpen("open", retry_after_s=300)), analyzer="basic")
    questions = [Question(id=name, question=f"{name} or water?", gold="Ada") for name in ("Tea", "Milk", "Rum")]
    with caplog.at_level(logging.WARNING, "roundtable"):
        await run_study(table, questions, outage_s=20, resamples=100)
    assert len([one for one in caplog.records if "goes on without waiting" in one.getMessage()]) == 1


async def test_a_study_says_which_arms_left_questions_unanswered() -> None:
    table = Roundtable(testing.scripted_agents({"ada": "Both have merits.", "bo": "It depends."}), storage="memory://")
    questions = [Question(id=name, question=f"{name}?", gold="A", options=("A", "B")) for name in ("1", "2")]
    report = await run_study(table, questions, rounds=1, resamples=100)
    assert (
        "count as wrong (the agents were tied or refused, or no answer could be read): single 2 of 2"
        in report.to_markdown()
    )


async def test_a_study_loses_no_question_to_its_providers() -> None:
    table, _ = table_of(lambda _, call: broken() if call == 1 else None, analyzer="basic")
    heard: list[Progress] = []
    questions = [Question(id="1", question="Tea or water?", gold="Ada")]
    report = await run_study(table, questions, on_progress=heard.append, resamples=100)
    assert report.failed == {}
    assert any(one.waiting for one in heard)
    assert heard[-1].at_once == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outage_s": -1}, "outage_s must be a number of seconds of at least 0, not -1"),
        ({"outage_s": "long"}, "outage_s must be"),
        ({"wait_for": "some"}, "unknown value of wait_for: 'some'; choose one of all, quorum, none"),
        ({"wait_for": True}, "unknown value of wait_for: True; choose"),
        ({"adapt": "yes"}, "adapt must be"),
    ],
)
async def test_settings_of_waits_are_checked_before_the_first_call(given: dict[str, Any], message: str) -> None:
    table, model = table_of(lambda _, __: None)
    with pytest.raises(ConfigurationError, match=message):
        await table.debate_many(["Tea or water?"], **given)
    assert not model.calls


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"topic": "Rum?", "options": "Tea"}, {}, "row 3 of 4: options must be a list"),
        (
            {"topic": "Rum?", "option": ["Tea"]},
            {},
            "row 3 of 4: a question has the unknown field 'option'.*Did you mean 'options'",
        ),
        ("", {}, "row 3 of 4: topic"),
        (7, {}, "row 3 of 4: a question must be a text, a mapping or a DebateRequest, not 7"),
        (None, {}, "row 3 of 4: a question must be a text, a mapping or a DebateRequest, not None"),
        (["Rum?"], {}, "row 3 of 4: a question must be a text, a mapping or a DebateRequest, not .'Rum"),
        ({"rounds": 2}, {}, "row 3 of 4: the question lacks its 'topic': the mapping has only 'rounds'"),
        ({}, {}, "row 3 of 4: the question lacks its 'topic': the mapping is empty"),
        ({"topic": None}, {}, "row 3 of 4: topic must be a text, not None"),
        ({"topic": float("nan")}, {}, "row 3 of 4: topic must be a text, not nan"),
        ({"topic": "  "}, {}, "row 3 of 4: topic"),
        ({"question": "Rum?"}, {}, "row 3 of 4: a question has the unknown field 'question'.*Did you mean 'topic'"),
        ({"topic": "Rum?", 7: 1}, {}, "row 3 of 4: a question has the unknown field 7"),
        ({"topic": "Rum?", "rounds": "two"}, {}, "row 3 of 4: rounds"),
        ("Rum?", {"rounds": 0}, "^rounds"),
        ({"topic": "Rum?", "mode": "duel"}, {}, "row 3 of 4: .*duel"),
        ("Rum?", {"modes": ["duel"]}, "^[^r].*duel"),
    ],
    ids=[
        "options",
        "field",
        "empty",
        "number",
        "none",
        "list",
        "no topic",
        "empty row",
        "topic none",
        "topic nan",
        "blank",
        "other name",
        "number as name",
        "rounds",
        "all rows",
        "mode",
        "modes",
    ],
)
async def test_a_row_that_is_not_valid_is_named_before_the_first_call(row: Any, options: Any, message: str) -> None:
    table, model = table_of(lambda _, __: None)
    with pytest.raises(ConfigurationError) as refused:
        await table.debate_many(["Tea or water?", "Milk or water?", row, "Rum or water?"], **options)
    assert re.search(message, f"{refused.value} {refused.value.hint}", re.DOTALL)
    assert not model.calls
