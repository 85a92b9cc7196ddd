"""Debates within budgets: what is refused, what is kept, and how one goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import anyio
import pytest
from integration.engine_kit import CountingModel, fold_of, late, said, seated, table_of

from roundtable import Budget, ConsensusReached, Roundtable
from roundtable.core.engine.spending import seconds_of
from roundtable.errors import BudgetExceeded, ConfigurationError
from roundtable.gateway import DebateKey, FallbackModel
from roundtable.modes import CollaborativeMode
from roundtable.providers import Delay, ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import ChatResponse, DebateContext, Plan, TextAnswer, Turn, TurnResult, Usage

pytestmark = pytest.mark.both_loops

PRICES = {"scripted:*": {"input": 1, "output": 10}}


class Sized(CountingModel):
    """A model whose every call takes the same."""

    def __init__(self, tokens=100, **more):
        super().__init__("Tea", **more)
        self.tokens = tokens

    async def complete(self, request):
        response = await super().complete(request)
        return response.model_copy(update={"usage": Usage(output_tokens=self.tokens, calls=1)})


async def test_a_spent_budget_pauses_the_debate_and_a_larger_one_continues_it():
    model, storage = Sized(), MemoryStorage()
    table = table_of(model, storage=storage)
    result = await table.debate("Tea or coffee?", rounds=3, budget=Budget(max_calls=4))
    assert (result.status, result.session_status, result.exit.reason) == ("partial", "paused", "budget")
    assert "made 4 calls; its budget is 4" in result.exit.details
    assert (len(model.begun), result.usage.calls) == (4, 4)
    assert result.rounds[0].complete
    assert len(result.rounds[1].turns) == 1
    assert all(turn.outcome == "answered" for held in result.rounds for turn in held.turns)
    with pytest.raises(BudgetExceeded, match="made 4 calls; its budget is 4") as refused:
        await table.resume(result.session_id)
    assert "--budget calls=" in refused.value.hint
    assert (len(model.begun), (await table.session(result.session_id)).to_json()) == (4, result.to_json())
    done = await table.resume(result.session_id, budget=Budget(max_calls=9))
    assert (done.status, len(model.begun), done.usage.calls) == ("completed", 9, 9)
    await fold_of(storage, result.session_id)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("budget", [Budget(max_tokens=9000), Budget(max_cost_usd=0.09)], ids=["tokens", "dollars"])
async def test_a_debate_never_spends_more_than_its_budget(streams, budget):
    model = Sized(900, streams=streams)
    result = await table_of(model, prices=PRICES).debate("Tea or coffee?", rounds=8, budget=budget)
    assert result.exit.reason == "budget"
    assert result.usage.total_tokens <= 9000
    assert result.usage.cost_usd <= 0.09
    # Worst cases are some 5,000 tokens each: calls wait for each other rather than be refused.
    assert len(model.begun) >= 4


async def test_a_budget_below_one_call_is_refused_before_anything_is_paid():
    model, storage = Sized(), MemoryStorage()
    table = table_of(model, storage=storage)
    with pytest.raises(BudgetExceeded, match="may take") as refused:
        await table.debate("Tea or coffee?", budget=Budget(max_tokens=100))
    assert model.begun == []
    session_id = refused.value.details["sessionId"]
    stored = await table.session(session_id)
    assert (stored.session_status, stored.exit.reason, stored.usage.calls) == ("paused", "budget", 0)
    assert (await table.resume(session_id, budget=Budget(max_tokens=100_000))).status == "completed"


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(max_calls=3), "the debate has made 3 calls; its budget is 3"),
        (Budget(max_calls=1), "the debate has made 3 calls; its budget is 1"),
        (Budget(max_tokens=1), "the debate has spent 300 tokens; its budget is 1"),
        (Budget(max_cost_usd=0.001), "the debate has spent 0.003 USD; its budget is 0.001"),
        (Budget(max_seconds=1e-9), "the seconds of the budget are used up"),
        (Budget(max_calls=4, synthesis_share=0.1), "made 3 calls and some is kept for the synthesis; its budget is 4"),
    ],
    ids=["all calls", "calls", "tokens", "dollars", "seconds", "set aside"],
)
async def test_an_extension_that_the_budget_does_not_cover_leaves_the_session_as_it_was(budget, why):
    model, storage = Sized(), MemoryStorage()
    async with table_of(model, storage=storage, prices=PRICES) as table:
        held = await table.debate("Tea or coffee?", rounds=1)
        before = await storage.read(held.session_id)
        for _ in range(2):
            with pytest.raises(BudgetExceeded, match=why) as refused:
                await table.extend(held.session_id, rounds=1, budget=budget)
            with pytest.raises(BudgetExceeded, match=why):
                await (await table.start_resume(held.session_id, rounds=1, budget=budget)).result()
        assert refused.value.details == {"sessionId": held.session_id}
        assert "budget=" in refused.value.hint
        assert await storage.read(held.session_id) == before
        longer = await table.extend(held.session_id, rounds=1, budget=Budget(max_calls=6))
        assert (longer.status, longer.total_rounds, longer.usage.calls) == ("completed", 2, 6)


async def test_a_budget_given_for_a_run_counts_for_that_run_alone():
    model = Sized()
    table = table_of(model)
    half = await table.debate("Tea or coffee?", rounds=2, budget=Budget(max_calls=2))
    done = await table.resume(half.session_id, budget=Budget(max_calls=6))
    with pytest.raises(BudgetExceeded, match="made 6 calls; its budget is 2"):
        await table.extend(half.session_id, rounds=1)
    assert (await table.session(half.session_id)).to_json() == done.to_json()
    longer = await table.extend(half.session_id, rounds=1, budget=Budget(max_calls=9))
    assert (longer.status, len(longer.rounds), longer.usage.calls) == ("completed", 3, 9)


async def test_a_used_up_budget_lets_a_run_end_that_needs_no_call():
    model, storage = Sized(), MemoryStorage()
    table = table_of(model, storage=storage)
    budget = Budget(max_calls=3)
    told = await table.debate("Tea or coffee?", rounds=1, budget=budget)
    record, events = await storage.read(told.session_id)
    last = next(event.seq for event in reversed(events) if event.type == "agent_complete")
    killed = MemoryStorage()
    await killed.create(record)
    owner = table._wiring.sessions.owner()
    lease = await killed.lease(record.id, owner, 30)
    await killed.append(record.id, 0, lease.token, [event for event in events if event.seq <= last])
    await killed.lease(record.id, owner, 0)
    done = await table_of(model, storage=killed).resume(record.id)
    assert (done.status, len(model.begun)) == ("completed", 3)


async def test_the_budget_of_a_table_is_shared_by_its_debates():
    model = Sized()
    table = table_of(model, budget=Budget(max_calls=5))
    first = await table.debate("Tea or coffee?", rounds=1)
    second = await table.debate("Milk or none?", rounds=1)
    assert (first.status, second.status, len(model.begun)) == ("completed", "partial", 5)
    assert "the table has made 5 calls; its budget is 5" in second.exit.details
    with pytest.raises(BudgetExceeded):
        await table.debate("Sugar?")


async def test_debates_that_run_at_once_never_overspend_the_budget_of_the_table():
    model = CountingModel(lambda _: late(0.002, "Tea"))
    table = table_of(model, budget=Budget(max_calls=10))
    results = []

    async def one(number):
        results.append(await table.debate(f"Question {number}?", rounds=2))

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(one, number)
    assert len(model.begun) == 10
    assert sum(result.usage.calls for result in results) == 10
    assert {result.exit.reason for result in results} <= {"budget", "max_rounds"}


async def test_another_process_reads_the_spending_from_the_log(tmp_path):
    url = f"sqlite:///{tmp_path / 'd.db'}"
    budget = Budget(max_calls=4)
    result = await _closing(table_of(Sized(), storage=url), lambda t: t.debate("Tea?", rounds=2, budget=budget))
    model = Sized()
    with pytest.raises(BudgetExceeded, match="made 4 calls; its budget is 4"):
        await _closing(table_of(model, storage=url), lambda t: t.resume(result.session_id))
    assert model.begun == []
    # What the session spent before counts for the table that goes on with it, too.
    table = table_of(model, storage=url, budget=Budget(max_calls=5))
    more = await _closing(table, lambda t: t.resume(result.session_id, budget=Budget(max_calls=99)))
    assert (more.exit.reason, more.usage.calls, len(model.begun)) == ("budget", 5, 1)


async def _closing(table, act):
    async with table:
        return await act(table)


@pytest.mark.slow
async def test_seconds_end_a_debate_like_a_deadline_but_say_budget():
    model = CountingModel(lambda request: said("Tea") if request.metadata["agent"] == "ada" else late(30, "Tea"))
    table = table_of(model)
    with anyio.fail_after(20):
        result = await table.debate("Tea or coffee?", budget=Budget(max_seconds=1.0), deadline_s=15)
        assert (result.exit.reason, result.session_status) == ("budget", "paused")
        assert [turn.agent_id for turn in result.rounds[0].turns] == ["ada"]
        sooner = await table.debate("Tea or coffee?", budget=Budget(max_seconds=15), deadline_s=0.2)
        assert sooner.exit.reason == "deadline"


def test_seconds_count_only_while_turns_run():
    from datetime import timedelta

    from roundtable.types import utc_now

    start = utc_now()

    def turn(begin, end):
        return Turn(
            round=1,
            stage="s",
            slot=0,
            agent_id="a",
            timestamp=start + timedelta(seconds=end),
            duration_s=end - begin,
            result=TurnResult(answer=TextAnswer(text="x")),
        )

    assert seconds_of([]) == 0
    together = seconds_of([turn(5, 7), turn(0, 2), turn(1, 3), turn(1, 2)])
    assert together == pytest.approx(5, abs=1e-3)


async def test_a_repair_that_is_refused_fails_its_turn_and_states_what_was_spent():
    class Together(ScriptedModel):
        """Ada hears back once Bo has asked: the second call of the budget is his, and none is left to repair with."""

        async def complete(self, request):
            if request.metadata["agent"] == "bo":
                bo_asked.set()
            await bo_asked.wait()
            return await super().complete(request)

    bo_asked = anyio.Event()
    unreadable = ChatResponse(text="", usage=Usage(output_tokens=10, calls=1))
    model = Together({"ada": [unreadable, said("Tea")], "bo": [said("Tea")]})
    result = await table_of(model, "ada", "bo").debate("Tea or coffee?", rounds=2, budget=Budget(max_calls=2))
    turn = result.rounds[0].turns[0]
    assert (turn.outcome, turn.error.code, turn.usage.calls) == ("failed", "BUDGET_EXCEEDED", 1)
    assert (result.exit.reason, result.usage.calls) == ("budget", 2)


async def test_dollars_need_prices_before_anything_is_paid():
    model = Sized()
    with pytest.raises(ConfigurationError, match="no price is known for scripted:counting") as refused:
        await table_of(model).debate("Tea or coffee?", budget=Budget(max_cost_usd=1))
    assert "prices=" in refused.value.hint
    spare = ScriptedModel({"*": said("Tea")}, model="spare")
    chain = FallbackModel(model, spare)
    table = Roundtable(
        seated(chain, "ada"),
        storage="memory://",
        budget=Budget(max_cost_usd=1),
        prices={"scripted:counting": PRICES["scripted:*"]},
    )
    with pytest.raises(ConfigurationError, match="scripted:spare"):
        await table.debate("Tea or coffee?")
    assert model.begun == []


class Silent:
    """An agent that answers by other means than a chat model, and says what it took."""

    def __init__(self, name):
        self.id = name
        self.name = name
        self.asked = 0

    async def take_turn(self, context, listener=None):
        from roundtable.types import AgentResponse

        self.asked += 1
        answer = AgentResponse(agent_id=self.id, agent_name=self.name, position="Tea", reasoning="", confidence=1)
        return TurnResult(answer=answer, usage=Usage(output_tokens=50, calls=1))

    async def health_check(self):
        raise NotImplementedError

    def get_info(self):
        from roundtable.types import AgentInfo

        return AgentInfo(id=self.id, name=self.name, provider="own", model="own")


async def test_agents_without_a_meter_count_once_their_turns_are_stored():
    agents = [Silent("ada"), Silent("bo")]
    table = Roundtable(agents, storage="memory://", budget=Budget(max_calls=3))
    result = await table.debate("Tea or coffee?", rounds=5)
    assert (result.exit.reason, result.usage.calls) == ("budget", 4)


async def test_a_budget_of_another_kind_is_refused():
    for table, more in ((table_of(Sized(), budget=5), {}), (table_of(Sized()), {"budget": 0.5})):
        with pytest.raises(ConfigurationError, match="budget must be a Budget"):
            await table.debate("Tea or coffee?", **more)
    with pytest.raises(ConfigurationError, match="greater than 0"):
        Budget(max_cost_usd=0)


async def test_charges_are_exact():
    model = Sized(1)
    table = table_of(model, prices={"scripted:*": {"input": 0, "output": "0.1"}}, budget=Budget(max_cost_usd=5))
    result = await table.debate("Tea or coffee?", rounds=3)
    assert table._wiring.models.ledger.table.spent.cost_usd == Decimal("0.0000009")
    assert result.usage.cost_usd == 9e-7


async def test_a_debate_leaves_enough_budget_for_its_synthesis():
    model = ScriptedModel(
        lambda request: {"conclusion": "Tea."} if request.metadata.get("purpose") else said("Tea"), model="m"
    )
    table = table_of(model, "ada", "bo", budget=Budget(max_calls=4, synthesis_share=0.2))
    result = await table.debate("Tea or coffee?", rounds=5)
    assert (result.exit.reason, result.usage.calls) == ("budget", 3)
    ada = table._wiring.seats(None)[0].agent
    view = DebateContext(session_id=result.session_id, topic="Tea?", mode="collaborative")
    assert (await ada.generate_synthesis(view)).conclusion == "Tea."
    with pytest.raises(BudgetExceeded):
        await ada.generate_synthesis(view)


async def test_sessions_with_the_same_id_have_separate_budgets():
    table = table_of(ScriptedModel(lambda _: said("Tea"), model="m"), "ada", "bo", budget=Budget(max_calls=100))

    async def hold(tenant: str) -> tuple[str, int]:
        result = await table.for_tenant(tenant).debate_once("job", "Tea?", rounds=2, budget=Budget(max_calls=4))
        return result.status, result.usage.calls

    async with anyio.create_task_group() as group:
        for tenant in ("ann", "bo"):
            group.start_soon(hold, tenant)
    assert [await hold(tenant) for tenant in ("ann", "bo", "cy")] == [("completed", 4)] * 3
    await table.for_tenant("ann").delete("job")
    assert await hold("ann") == ("completed", 4)
    assert table._wiring.models.ledger.table.spent.calls == 16


@pytest.mark.parametrize("how", ["delete", "prune"])
async def test_the_account_of_a_deleted_session_is_dropped(how: str):
    table = Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage="memory://", budget=Budget(max_calls=1000))
    held, kept = [(await table.for_tenant("ann").debate("Tea?", rounds=1)).session for _ in range(2)]
    await table.for_tenant("ben").debate_once(held.id, "Tea?", rounds=1)
    if how == "delete":
        await table.for_tenant("ann").delete(held.id)
    else:
        await table.for_tenant("ann").prune(before=datetime.now(UTC) + timedelta(hours=1))
    ledger = table._wiring.models.ledger
    spent = [ledger.open(DebateKey(one.id, "ann", one.created_at), None).spent.calls for one in (held, kept)]
    assert spent == [0, 2 if how == "delete" else 0]
    ben = await table.for_tenant("ben").session(held.id)
    assert ledger.open(DebateKey(held.id, "ben", ben.session.created_at), None).spent.calls == 2
    assert ledger.table.spent.calls == 6


def measuring(_: object) -> dict[str, object]:
    """Return what an analyzer finds in a round in which all agents agree."""
    cluster = {"theme": "Tea", "agentIds": ["ada", "bo"], "summary": "Tea"}
    return {
        "agreementLevel": 0.95,
        "clusters": [cluster],
        "summary": "Tea",
        "commonGround": [],
        "disagreementPoints": [],
    }


@pytest.mark.slow
async def test_the_calls_of_a_measurement_that_is_cancelled_are_counted():
    agents = CountingModel(
        lambda request: said("Tea" if request.metadata["agent"] == "ada" else "Milk, when it is hot")
    )
    analyzer = ScriptedModel([Delay(30, "too late")] * 2)
    seats = {"analyzer": analyzer}
    table = Roundtable(seated(agents, "ada", "bo"), storage="memory://", analyzer="ai", seats=seats)
    result = await table.debate("Tea?", rounds=2, deadline_s=1.0)
    assert result.exit is not None
    assert (result.exit.reason, len(analyzer.requests)) == ("deadline", 1)
    assert (result.usage.calls, result.usage.unreported_calls, result.usage.cost_usd) == (3, 1, None)
    again = await table.resume(result.session_id, deadline_s=1.0)
    assert (again.usage.calls, again.usage.unreported_calls, len(analyzer.requests)) == (4, 2, 2)


@pytest.mark.slow
async def test_the_calls_of_a_synthesis_that_is_cancelled_are_counted():
    writer = ScriptedModel([Delay(30, "too late"), {"conclusion": "Tea."}])
    seats = {"synthesizer": writer}
    table = Roundtable(seated(CountingModel("Tea"), "ada", "bo"), storage="memory://", analyzer="basic", seats=seats)
    result = await table.debate("Tea?", rounds=1, synthesize=True, deadline_s=1.0)
    assert (result.session_status, result.usage.calls, result.usage.unreported_calls) == ("completed", 3, 1)
    fold = await fold_of(table._wiring.storage, result.session_id)
    assert fold.synthesis_error is not None
    assert fold.synthesis_error.message == "the synthesis was cancelled"
    await table.synthesize(result.session_id)
    again = await table.session(result.session_id)
    assert again.synthesis is not None
    assert (again.synthesis.conclusion, again.usage.calls, again.usage.unreported_calls) == ("Tea.", 4, 1)


async def test_a_measurement_whose_round_waits_for_its_vote_is_counted_when_the_budget_ends_the_run():
    agents = ScriptedModel(lambda _: {"position": "Tea", "choice": "Tea", "ranking": ["Tea", "Milk"]}, model="m")
    analyzer = ScriptedModel(measuring)
    table = Roundtable(seated(agents, "ada", "bo"), storage="memory://", analyzer="ai", seats={"analyzer": analyzer})
    options = {"options": ["Tea", "Milk"], "vote": True, "exit_when": ConsensusReached(0.9)}
    result = await table.debate("Tea?", rounds=3, budget=Budget(max_calls=3), **options)
    assert (result.exit and result.exit.reason, result.usage.calls) == ("budget", 3)
    again = await table.resume(result.session_id, budget=Budget(max_calls=6))
    assert (again.exit and again.exit.reason, again.usage.calls) == ("consensus", 6)


class FailsAtTheEnd(CollaborativeMode):
    """A mode that cannot plan the vote of a debate that ends early."""

    name = "fails-at-the-end"

    def next_stage(self, view: DebateContext) -> Plan:
        if view.ends:
            raise KeyError("the vote")
        return super().next_stage(view)


async def test_a_measurement_is_counted_once_when_the_plan_of_the_vote_after_it_fails():
    agents = ScriptedModel(lambda _: {"position": "Tea", "choice": "Tea"}, model="m")
    seats = {"analyzer": ScriptedModel(measuring)}
    table = Roundtable(seated(agents, "ada", "bo"), storage="memory://", analyzer="ai", seats=seats)
    options = {"options": ["Tea", "Milk"], "vote": True, "exit_when": ConsensusReached(0.9)}
    with pytest.raises(ConfigurationError, match="the vote") as broken:
        await table.debate("Tea?", rounds=3, mode=FailsAtTheEnd(), **options)
    assert broken.value.session_id is not None
    usage = (await table.session(broken.value.session_id)).usage
    assert (usage.calls, usage.unreported_calls) == (3, 0)
