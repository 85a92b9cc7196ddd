"""Figures of a server: what debates and requests leave in them, where they are kept, and who may see them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration.server_kit import client_of, served, served_table, token_for

import roundtable as rt
from roundtable.api import AgentProfile
from roundtable.auth import LocalUser
from roundtable.errors import AgentError, StorageError
from roundtable.providers.scripted import ScriptedModel
from roundtable.server import create_app
from roundtable.server.metrics import Tally
from roundtable.server.metrics_observer import MetricsObserver
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.testing import ManualClock, scripted_agents
from roundtable.testing.storage_samples import NOON
from roundtable.types import Waiting

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

CALL = {"toolCalls": [{"name": "weigh", "args": {"item": "tea"}}]}
FALSE_CALL = {"toolCalls": [{"name": "weigh", "args": {"item": ""}}]}
TEA = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
DEAD = AgentError("the model is gone")


@rt.tool
def weigh(item: str) -> int:
    """Weigh something.

    Args:
        item: What.
    """
    if not item:
        raise ValueError("nothing to weigh")
    return len(item)


def figures(storage: Any = None, clock: ManualClock | None = None) -> MetricsObserver:
    clock = clock or ManualClock()
    return MetricsObserver((storage or MemoryStorage(clock=clock)).kv, clock=clock)


async def test_a_debate_counts_turns_tools_errors_and_usage() -> None:
    counted = figures()
    said = {"ada": [CALL, TEA, FALSE_CALL, TEA], "bo": [DEAD, TEA], "cy": TEA}
    table = rt.Roundtable(scripted_agents(said), storage="memory://", tools=[weigh], observers=[counted])
    await table.debate("Tea?", rounds=2)
    report = await counted.report()
    ended = report.conversations
    assert (ended.begun, ended.completed, ended.completion_rate) == (1, 1, 1.0)
    by_name = {one.agent: one for one in report.agents}
    assert (by_name["Ada"].turns, by_name["Ada"].failed) == (2, 0)
    assert (by_name["Bo"].turns, by_name["Bo"].failed) == (2, 1)
    (tool,) = report.tools
    assert (tool.tool, tool.calls, tool.failed, tool.success_rate) == ("weigh", 2, 1, 0.5)
    assert [(one.name, one.count) for one in report.errors] == [("AGENT_ERROR", 1)]
    usage = report.usage
    assert usage.calls >= 7
    assert usage.input_tokens > 0
    assert usage.tokens_per_conversation == usage.input_tokens + usage.output_tokens
    assert report.series[-1].begun == 1
    assert len(report.series) == 24
    assert counted.total.begun == 1


async def test_a_team_counts_its_initiator_and_summarizer_too() -> None:
    counted = figures()
    plan = {"goal": "Weigh tea.", "strategy": "Carefully.", "successCriteria": ["A weight"]}
    script = {"initiator": plan, "summarizer": "Three grams.", "ada": [CALL, "Three."]}
    table = rt.Roundtable([ScriptedModel(script)], storage="memory://", tools=[weigh], observers=[counted])
    await table.converse(agents=[AgentProfile("ada", tools=["weigh"])], messages="What does tea weigh?", rounds=1)
    report = await counted.report()
    assert (report.conversations.begun, report.conversations.completed) == (1, 1)
    assert {one.agent.casefold() for one in report.agents} == {"initiator", "ada", "summarizer"}
    assert [one.tool for one in report.tools] == ["weigh"]


async def test_paused_and_failed_runs_are_counted_separately() -> None:
    counted = figures()
    table = rt.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", observers=[counted])
    async with table, table.stream("Tea?", rounds=3) as events:
        async for event in events:
            if event.type == "round_complete":
                break
    lost = rt.Roundtable(scripted_agents({"ada": DEAD, "bo": DEAD}), storage="memory://", observers=[counted])
    with pytest.raises(rt.RoundtableError):
        await lost.debate("Tea?", rounds=1)
    ended = (await counted.report()).conversations
    assert (ended.begun, ended.paused, ended.broken, ended.completion_rate) == (2, 1, 1, 0.0)


async def test_the_time_of_a_run_excludes_pauses_of_its_session() -> None:
    table = rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    async with table:
        session = (await (await table.start("Tea?", rounds=2, step=True)).result()).session_id
        await (await table.start_resume(session, step=True)).result()
        await table.synthesize(session)
        await table.extend(session, rounds=1)
        _, stored = await table._wiring.storage.read(session)
    counted, now, seconds = figures(), stored[0].timestamp, list[float]()
    for event in stored:
        # Each round takes a minute, and each rest an hour.
        rests = event.type == "round_start" and event.round > 1
        now += timedelta(hours=1) if rests else timedelta(minutes=event.type == "round_complete")
        counted.notify(event.model_copy(update={"timestamp": now}))
        if event.type == "debate_complete":
            seconds.append(counted.total.times.total_s - sum(seconds))
    assert (counted.total.begun, counted.total.completed, seconds) == (1, 2, [60.0, 60.0])


async def test_waits_are_counted_by_their_reason() -> None:
    counted = figures()
    for reason in ("rate", "rate", "breaker"):
        counted.notify(Waiting(session_id="s", timestamp=NOON, after=1, reason=reason, detail="acme", remaining_s=9.0))
    assert counted.total.waits == {"rate": 2, "breaker": 1}


async def test_figures_survive_a_restart_and_processes_add_up(tmp_path: Path) -> None:
    storage = SQLiteStorage(tmp_path / "figures.db")
    one, other = figures(storage), figures(storage)
    async with one.open(), other.open():
        one.count_refusal("rounds")
        other.count_refusal("rounds")
        other.count_answer("GET", "/api/sessions", 200, 0.25)
    after = figures(storage)
    report = await after.report("7d")
    assert [(found.name, found.count) for found in report.refusals] == [("rounds", 2)]
    assert [(found.route, found.count, found.mean_s) for found in report.requests] == [("/api/sessions", 1, 0.25)]
    assert len(report.series) == 7
    assert report.series[-1].refusals == 2
    assert after.total == Tally(), "what is told to Prometheus begins anew with each process"
    await storage.aclose()


async def test_a_period_leaves_out_earlier_figures() -> None:
    clock = ManualClock()
    counted = figures(clock=clock)
    counted.count_refusal("rounds")
    clock.move(23 * 3600)
    counted.count_refusal("rounds")
    assert [step.refusals for step in (await counted.report("24h")).series] == [1, *[0] * 22, 1]
    clock.move(3600)
    assert sum(step.refusals for step in (await counted.report("24h")).series) == 1
    assert sum(step.refusals for step in (await counted.report("30d")).series) == 2


async def test_figures_that_could_not_be_stored_are_stored_later(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    storage = MemoryStorage(clock=clock)
    counted = figures(storage, clock)
    counted.count_refusal("rounds")
    await storage.kv.put("hour/2026-01-01T00:00:00+00:00", {"begun": "many"}, tenant=":figures")
    hour = next(iter(counted._pending))
    await storage.kv.put(f"hour/{hour}", {"begun": "many"}, tenant=":figures")
    await counted.flush()
    assert "metrics could not be stored" in caplog.text
    counted.count_refusal("rounds")
    with pytest.raises(StorageError, match="cannot be read"):
        await counted.report()
    await storage.kv.delete(f"hour/{hour}", tenant=":figures")
    assert [found.count for found in (await counted.report()).refusals] == [2]


async def test_metrics_need_the_scope_admin() -> None:
    table = served_table()
    for scope, status in (("write", 403), ("admin", 200)):
        async with client_of(table, token=await token_for(table, "ann", scope)) as web:
            assert (await web.get("/api/admin/metrics")).status_code == status
            assert (await web.get("/metrics")).status_code == status
    async with client_of(table, token="rt_wrong") as web:
        assert (await web.get("/metrics")).status_code == 401


async def test_a_request_counts_by_its_route() -> None:
    async with client_of() as web:
        await web.get("/api/nowhere")
        await web.get("/api/admin/metrics?period=7d")
        await web.get("/api/admin/metrics?period=7y")
        await web.request("BREW", "/ready")
        await web.get("/health")
        told = (await web.get("/api/admin/metrics")).json()
        text = (await web.get("/metrics")).text
    counted = {(one["method"], one["route"], one["status"]): one["count"] for one in told["requests"]}
    assert counted == {
        ("GET", "-", 404): 1,
        ("GET", "/api/admin/metrics", 200): 1,
        ("GET", "/api/admin/metrics", 400): 1,
    }
    assert 'roundtable_request_seconds_count{method="GET",route="/api/admin/metrics",status="200"} 2.0' in text


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"x-forwarded-for": "127.0.0.1"}, 401), ({"Forwarded": "for=::1"}, 401)],
)
async def test_metrics_can_be_read_from_this_machine_without_a_token_if_allowed(
    headers: dict[str, str], status: int
) -> None:
    table = served_table()
    async with client_of(table, token="rt_wrong", open_metrics=True) as web:
        del web.headers["authorization"]
        assert (await web.get("/metrics", headers=headers)).status_code == status
        assert (await web.get("/api/admin/metrics", headers=headers)).status_code == 401


async def test_debates_of_all_users_are_counted() -> None:
    table = served_table()
    app = create_app(table, auth=LocalUser())
    async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web:
        for user in ("ann", "bo"):
            tenant_session = await app.state.roundtable.tenant_sessions.session_of(user)
            await tenant_session.table.debate("Tea?", rounds=1)
        told = (await web.get("/api/admin/metrics")).json()
    assert told["conversations"]["begun"] == 2
    assert [one["agent"] for one in told["agents"]] == ["Ada", "Bo", "Cy"]
    assert "ann" not in str(told)


@pytest.mark.parametrize("at_round", [0, 1])
async def test_a_fork_counts_as_a_started_debate(at_round: int) -> None:
    async with client_of() as web:
        first = (await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 1})).json()["sessionId"]
        fork = await web.post(f"/api/sessions/{first}/fork?wait=20", json={"atRound": at_round, "rounds": 2})
        assert fork.status_code == 200, fork.text
        told = (await web.get("/api/admin/metrics")).json()["conversations"]
        assert (told["begun"], told["completed"]) == (2, 2)
