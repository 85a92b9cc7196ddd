"""People who use a server decide about the tool calls of its debates, on pages and over the API."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from integration.browser_kit import HOSTILE
from integration.pages_kit import visiting
from integration.server_kit import served, served_table, token_for
from integration.test_tool_approval import Shop, asks

from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.client import RoundtableClient
from roundtable.core.base.clock import SystemClock
from roundtable.errors import ConfigurationError, RoundtableError, StorageError
from roundtable.server import ServerApproval, create_app
from roundtable.server.approvals import OpenApprovals
from roundtable.storage import MemoryStorage
from roundtable.testing import ManualClock, scripted_agents
from roundtable.tools import ToolRequest
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from roundtable.types import OpenApproval

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


def table_of(shop: Shop, *, seats: int = 1, item: str = "tea", **options: Any) -> Roundtable:
    """Return a table whose agents order something, if somebody allows it."""
    agents = [
        BaseAgent(AgentConfig(id=f"a{n}", name=f"Ann {n}", provider="scripted"), asks(item=item)) for n in range(seats)
    ]
    options = {"approve_tools": ServerApproval(), **options}
    return served_table(agents=agents, tools=[shop.tool()], **options)


@asynccontextmanager
async def connected(table: Roundtable) -> AsyncIterator[RoundtableClient]:
    token = await token_for(table, "ann")
    async with served(create_app(table)) as url, RoundtableClient(url, token=token) as client:
        yield client


async def waiting(client: RoundtableClient, session_id: str, count: int = 1) -> tuple[OpenApproval, ...]:
    """Wait until calls of a session wait for approval."""
    with anyio.fail_after(20):
        while len(found := await client.approvals(session_id)) < count:  # noqa: ASYNC110  (it tells nobody)
            await anyio.sleep(0.02)
    return found


async def test_a_call_that_is_allowed_over_the_api_is_made() -> None:
    shop = Shop()
    async with connected(table_of(shop)) as client:
        session_id = await client.start("Shall we order?", rounds=1)
        (question,) = await waiting(client, session_id)
        assert (question.agent_id, question.tool_name, question.arguments) == ("a0", "order", {"item": "tea"})
        assert (question.round, question.description) == (1, "Order an item.")
        assert (question.expires_at - question.asked_at).total_seconds() == 600
        assert shop.orders == []
        assert await client.decide_approval(session_id, question.approval_id, allowed=True) == ()
        events = [event async for event in client.watch(session_id)]
        (asked,) = [event for event in events if event.type == "approval_requested"]
        (call,) = [event for event in events if event.type == "agent_tool_call"]
        assert question.tool_call_id == asked.tool_call_id == call.tool_call.id
        result = await client.result(session_id)
        assert "ordered tea" in result.rounds[0].responses[0].position
        assert shop.orders == ["tea"]
        with pytest.raises(RoundtableError, match="this call is not waiting") as second:  # the first answer counts
            await client.decide_approval(session_id, question.approval_id, allowed=False)
        assert second.value.code == "NOT_FOUND"


async def test_the_agent_reads_why_a_call_was_refused() -> None:
    shop = Shop()
    async with connected(table_of(shop, seats=2)) as client:
        session_id = await client.start("Shall we order?", rounds=1)
        first, second = await waiting(client, session_id, 2)
        (left,) = await client.decide_approval(session_id, first.approval_id, allowed=False, reason="too dear")
        assert left == second
        await client.decide_approval(session_id, second.approval_id, allowed=False)
        async for _ in client.watch(session_id):
            pass
        said = {turn.agent_id: turn for turn in (await client.result(session_id)).rounds[0].responses}
        assert said[first.agent_id].tool_calls[0].error == "not approved: too dear"
        assert said[second.agent_id].tool_calls[0].error == "not approved"
        assert shop.orders == []


async def test_a_call_can_be_allowed_at_another_server_with_the_same_storage(tmp_path: Any) -> None:
    shop, storage = Shop(), f"sqlite:///{tmp_path / 'debates.db'}"
    here, there = table_of(shop, storage=storage), served_table(storage=storage)
    async with connected(here) as client, connected(there) as other:
        session_id = await client.start("Shall we order?", rounds=1)
        (question,) = await waiting(other, session_id)
        await other.decide_approval(session_id, question.approval_id, allowed=True)
        async for _ in client.watch(session_id):
            pass
        assert shop.orders == ["tea"]


async def test_other_users_see_and_decide_nothing() -> None:
    shop = Shop()
    table = table_of(shop)
    ann, bob = await token_for(table, "ann"), await token_for(table, "bob")
    async with (
        served(create_app(table)) as url,
        RoundtableClient(url, token=ann) as client,
        RoundtableClient(url, token=bob) as stranger,
    ):
        session_id = await client.start("Shall we order?", rounds=1)
        (question,) = await waiting(client, session_id)
        with pytest.raises(RoundtableError, match="unknown session"):
            await stranger.approvals(session_id)
        with pytest.raises(RoundtableError, match="unknown session"):
            await stranger.decide_approval(session_id, question.approval_id, allowed=True)
        assert await client.approvals(session_id) == (question,)
        await client.stop(session_id)
        with anyio.fail_after(20):
            while await client.approvals(session_id):  # noqa: ASYNC110  (the call is over, so nothing waits)
                await anyio.sleep(0.02)
    assert shop.orders == []


async def test_the_page_does_not_ask_users_who_may_only_read() -> None:
    shop = Shop()
    table = table_of(shop)
    async with visiting("read", table=table) as ann, table.for_tenant("ann") as hers:
        await ann.log_in()
        handle = await hers.start("Shall we order?", rounds=1)
        values = table._wiring.storage.kv  # type: ignore[attr-defined]
        with anyio.fail_after(20):
            while not await values.scan(tenant=":approvals"):  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.02)
        page = (await ann.get(f"/sessions/{handle.session_id}")).text
        assert ">running</span>" in page
        assert "wants to call" not in page
        assert "waits for your approval" not in (await ann.get("/sessions")).text


async def test_the_page_asks_those_who_may_write_and_shows_arguments_as_text() -> None:
    shop = Shop()
    table = table_of(shop, item=f"{HOSTILE} pay\u200bpal.example")
    async with visiting(table=table) as ann:
        await ann.log_in()
        started = await ann.web.post(
            "/api/debates",
            json={"topic": "Shall we order?", "rounds": 1},
            headers={"x-csrf-token": ann.csrf, "accept": "application/json"},
        )
        session_id = started.json()["sessionId"]
        with anyio.fail_after(20):
            while "wants to call the tool" not in ann.page:
                await ann.get(f"/sessions/{session_id}")
        assert "waits for your approval" in (await ann.web.get("/sessions")).text
        form = ann.page[ann.page.index('id="approval-') :]
        assert "&lt;script&gt;window.acted = 1&lt;/script&gt;" in form
        assert "<script>window.acted" not in ann.page
        # What is approved is what is called: nothing is hidden.
        assert "pay\\u200bpal.example" in form
        assert "\\u202e" in form
        approval = form.partition('name="approval" value="')[2].partition('"')[0]
        wrong = await ann.post(f"/sessions/{session_id}/approve", csrf="0" * 64, approval=approval, verdict="allow")
        assert wrong.status_code == 403
        unknown = await ann.post(f"/sessions/{session_id}/approve", csrf=ann.csrf, approval="x", verdict="allow")
        assert (unknown.status_code, "this call is not waiting for approval" in unknown.text) == (404, True)
        csrf = ann.csrf
        # Without a word that allows it, a call is refused.
        done = await ann.post(f"/sessions/{session_id}/approve", csrf=csrf, approval=approval, reason=" no ")
        assert done.status_code == 303
        with anyio.fail_after(20):
            while ">running</span>" in (await ann.get(f"/sessions/{session_id}")).text:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.02)
        assert "not approved: no" in ann.page
    assert shop.orders == []


async def test_an_approver_belongs_to_one_table() -> None:
    approver = ServerApproval()
    async with table_of(Shop(), approve_tools=approver) as here, table_of(Shop(), approve_tools=approver) as there:
        create_app(here)
        create_app(here)  # another application of the same table
        with pytest.raises(ConfigurationError, match="already belongs to another table") as caught:
            create_app(there)
    assert caught.value.hint == "Create one ServerApproval for each table."


def request() -> ToolRequest:
    return ToolRequest("order", {"item": "tea"}, "Order an item.", agent_id="a0", session_id="s", tenant="ann")


async def test_without_a_server_or_an_answer_a_call_is_refused() -> None:
    approval = ServerApproval(wait_s=30)
    assert await approval(request()) == "no server runs this debate, so nobody can be asked"
    clock, storage = ManualClock(), MemoryStorage()
    create_app(Roundtable(storage=storage, approve_tools=approval), clock=clock)
    start = clock.now()
    assert await approval(request()) == "nobody answered in time"
    assert 30 <= (clock.now() - start).total_seconds() <= 31
    assert await storage.kv.scan(tenant=":approvals") == ()


class Troubled:
    """A key-value store with trouble: a call can hang, or fail some times."""

    def __init__(self, hangs: str = "", fails: tuple[str, int] = ("", 0)) -> None:
        self.kv = MemoryStorage().kv
        self.hangs = hangs
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            if name == self.hangs:
                await anyio.sleep_forever()
            if name == self.fails[0] and self.fails[1]:
                self.fails = name, self.fails[1] - 1
                raise StorageError("the database is locked", retryable=True)
            return await getattr(self.kv, name)(*args, **options)

        return call


async def asked(approvals: OpenApprovals, answers: list[Any], wait_s: float = 60.0) -> None:
    answers.append(await approvals.ask(request(), wait_s))


async def first_of(approvals: OpenApprovals) -> str:
    with anyio.fail_after(20):
        while not (found := await approvals.waiting("ann", "s")):  # noqa: ASYNC110  (it tells nobody)
            await anyio.sleep(0.01)
    return found[0].approval_id


@pytest.mark.slow
@pytest.mark.parametrize("fails", [("get", 2), ("delete", 1), ("put", 2), ("update", 0)])
async def test_a_storage_that_fails_for_a_moment_changes_no_decision(fails: tuple[str, int]) -> None:
    approvals, answers = OpenApprovals(Troubled(fails=fails), SystemClock()), []  # type: ignore[arg-type, var-annotated]
    async with anyio.create_task_group() as group:
        group.start_soon(asked, approvals, answers)
        await approvals.decide("ann", "s", await first_of(approvals), allowed=True)
    assert answers == [True]


async def test_a_storage_that_hangs_does_not_hold_up_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.server.approvals._DELETE_S", 0.2)
    approvals = OpenApprovals(Troubled(hangs="delete"), SystemClock())  # type: ignore[arg-type]
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(asked, approvals, [])
            await first_of(approvals)
            group.cancel_scope.cancel()


async def test_a_decision_counts_until_the_last_moment_and_not_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.server.approvals._POLL_S", 1.0)
    approvals, answers = OpenApprovals(MemoryStorage().kv, SystemClock()), []  # type: ignore[var-annotated]
    async with anyio.create_task_group() as group:
        group.start_soon(asked, approvals, answers, 0.5)
        approval_id = await first_of(approvals)
        await anyio.sleep(0.3)
        await approvals.decide("ann", "s", approval_id, allowed=True)
    assert answers == [True]
    with pytest.raises(RoundtableError, match="this call is not waiting"):
        await approvals.decide("ann", "s", approval_id, allowed=True)
    assert await approvals.waiting("ann", "s") == ()


async def test_a_damaged_question_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    kv = MemoryStorage().kv
    approvals = OpenApprovals(kv, SystemClock())
    async with anyio.create_task_group() as group:
        group.start_soon(asked, approvals, [])
        approval_id = await first_of(approvals)
        ((key, _),) = await kv.scan("", tenant=":approvals")
        await kv.put(key.replace(approval_id, "damaged"), {"agent": 5}, tenant=":approvals")
        assert [question.approval_id for question in await approvals.waiting("ann", "s")] == [approval_id]
        assert await approvals.waiting_sessions("ann", ["other", "s"]) == {"s"}
        assert await approvals.waiting_sessions("bob", ["other", "s"]) == frozenset()
        assert await approvals.waiting_sessions("ann", []) == frozenset()
        group.cancel_scope.cancel()
    assert "damaged" in caplog.text


async def test_the_question_of_a_dead_process_is_removed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.server.approvals._KEPT_S", 0.5)
    monkeypatch.setattr("roundtable.server.approvals._RENEW_S", 0.1)
    kv = MemoryStorage().kv
    approvals, dead = OpenApprovals(kv, SystemClock()), OpenApprovals(Troubled(hangs="get"), SystemClock())  # type: ignore[arg-type]
    dead._values.kv = kv  # type: ignore[attr-defined]
    answers: list[Any] = []
    async with anyio.create_task_group() as group:
        group.start_soon(asked, dead, [])  # it stores its question and then does nothing, like a dead process
        first = await first_of(approvals)
        group.start_soon(asked, approvals, answers)
        with anyio.fail_after(10):
            while first in {question.approval_id for question in await approvals.waiting("ann", "s")}:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        await anyio.sleep(0.5)  # the living question is renewed
        await approvals.decide("ann", "s", await first_of(approvals), allowed=True)
        with anyio.fail_after(10):
            while not answers:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    assert answers == [True]


async def test_a_session_that_started_with_approval_does_not_continue_without_it() -> None:
    shop, storage = Shop(), MemoryStorage()
    async with table_of(shop, storage=storage, approve_tools=lambda _: False) as table:
        handle = await table.start("Shall we order?", rounds=2, step=True)
        await handle.wait()
    async with table_of(shop, storage=storage, approve_tools=None) as without:
        with pytest.raises(
            ConfigurationError, match=r"lacks objects that session .* started with: .*approve_tools"
        ) as caught:
            await without.resume(handle.session_id)
        assert "approve_tools" in str(caught.value.details)
    assert shop.orders == []
    async with table_of(shop, storage=storage, approve_tools=lambda _: True) as again:
        result = await again.resume(handle.session_id)
    assert (result.status, shop.orders) == ("completed", ["tea"])


async def test_a_session_without_tools_needs_no_approver_and_a_fork_asks_if_its_table_does() -> None:
    storage = MemoryStorage()
    says = {"ada": ["Tea"] * 3, "bo": ["Tea"] * 3}
    async with served_table(agents=scripted_agents(says), storage=storage, approve_tools=lambda _: True) as table:
        session_id = (await table.debate("Tea?", rounds=1)).session_id
    async with served_table(agents=scripted_agents(says), storage=storage) as without:
        assert (await without.extend(session_id, rounds=1)).status == "completed"
    shop = Shop()
    async with table_of(shop, storage=storage, approve_tools=lambda _: False) as table:
        session_id = (await table.debate("Shall we order?", rounds=1)).session_id
    async with table_of(shop, storage=storage, approve_tools=lambda _: "no") as other:
        fork = await other.fork(session_id, at_round=0)
        with_approval = await other.session(fork.session_id)
    assert with_approval.rounds[0].responses[0].tool_calls[0].error == "not approved: no"
    async with table_of(shop, storage=storage, approve_tools=None) as without:
        assert (await without.fork(session_id, at_round=0)).status == "completed"
    assert shop.orders == ["tea"]


@pytest.mark.parametrize("wait_s", [0, -1, float("inf"), float("nan"), True, "60", 1e12])
async def test_a_wait_that_makes_no_sense_is_refused(wait_s: Any) -> None:
    with pytest.raises(ConfigurationError, match="wait_s must be a number of seconds above 0"):
        ServerApproval(wait_s)
