"""What a program that serves debates asks of a table, by public methods alone."""

from __future__ import annotations

import anyio
import pytest

from roundtable import AgentConfig, Budget, ProviderConfig, Roundtable
from roundtable.agents import AgentRegistry
from roundtable.core.types.request import DebateRequest
from roundtable.engine import DebateEngine, SessionManager
from roundtable.errors import ConfigurationError, SessionError, SessionNotFound
from roundtable.modes import CollaborativeMode, ModeRegistry
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents

pytestmark = pytest.mark.anyio


def table(**more: object) -> Roundtable:
    return Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), **({"storage": "memory://"} | more))  # type: ignore[arg-type]


async def test_events_and_state_describe_the_same_session_from_any_event_on() -> None:
    async with table() as served:
        result = await served.debate("Tea?", rounds=1)
        events = await served.events(result.session_id)
        assert [event.seq for event in events] == [*range(1, len(events) + 1)]
        assert await served.events(result.session_id, after=3) == events[3:]
        assert await served.events(result.session_id, after=10_000) == ()
        state = await served.state(result.session_id)
        assert (state.last_seq, state.progress.status) == (events[-1].seq, "completed")


async def test_a_subscription_starts_after_the_given_event_and_continues_with_the_next_run() -> None:
    async with table() as served:
        first = await served.debate("Tea?", rounds=1)
        last = (await served.state(first.session_id)).last_seq
        with served.subscribe(first.session_id, after=last, pieces=False) as subscription:
            await served.extend(first.session_id)
            seen = []
            with anyio.fail_after(30):
                while (event := await subscription.take()) is not None:
                    seen.append(event)
                    if event.type == "debate_complete":
                        break
        durable = [event.seq for event in seen if event.durable]
        assert durable == [*range(last + 1, last + 1 + len(durable))]


async def test_a_subscription_reads_stored_events_of_any_process() -> None:
    storage = MemoryStorage()
    async with table(storage=storage) as one, table(storage=storage) as other:
        result = await one.debate("Tea?", rounds=1)
        with anyio.fail_after(30):
            for reader in (one, other):
                with reader.subscribe(result.session_id) as subscription:
                    event = await subscription.take()
                    assert event is not None
                    assert event.type == "debate_start"
            with other.subscribe(result.session_id, after=2) as subscription:
                event = await subscription.take()
                assert event is not None
                assert event.durable
                assert event.seq == 3
            with other.subscribe("nobody") as subscription, pytest.raises(SessionNotFound):
                await subscription.take()


async def test_a_subscription_that_does_not_catch_up_waits_for_news() -> None:
    async with table() as served:
        result = await served.debate("Tea?", rounds=1)
        with served.subscribe(result.session_id, catch_up=False) as subscription:
            assert await subscription.take(0.05) is None


@pytest.mark.parametrize("ask", ["state", "events", "is_running", "export_parts", "control"])
async def test_an_unknown_session_and_one_of_another_tenant_are_not_found(ask: str) -> None:
    async with table() as served:
        result = await served.debate("Tea?", rounds=1)
        other = served.for_tenant("acme")
        more = {"export_parts": ("json",), "control": ("pause",)}.get(ask, ())
        for asked, session_id in ((served, "nobody"), (other, result.session_id)):
            with pytest.raises(SessionNotFound):
                await getattr(asked, ask)(session_id, *more)


async def test_a_session_that_ended_takes_no_request() -> None:
    async with table() as served:
        result = await served.debate("Tea?", rounds=1)
        assert await served.is_running(result.session_id) is False
        with pytest.raises(SessionError):
            await served.control(result.session_id, "pause", by="bot")
        for action in ("extend", "puase"):
            with pytest.raises(ConfigurationError, match=action):
                await served.control(result.session_id, action)  # type: ignore[arg-type]


async def test_a_request_is_stored_with_its_author_and_carried_out_by_who_runs_the_session() -> None:
    async with table() as served:
        handle = await served.start("Tea?", rounds=3, step=True)
        await handle.wait()
        await served.control(handle.session_id, "stop", by="bot", running="settle")
        asked = [event for event in await served.events(handle.session_id) if event.type == "control"]
        assert [(event.action, event.by) for event in asked][-1] == ("stop", "bot")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"mode": "colaborative"}, "colaborative"),
        ({"decide": "pluralty"}, "pluralty"),
        ({"agents": ("opnai:gpt-5",)}, "opnai"),
        ({"rounds": 400}, "rounds"),
        ({"exit_when": {"kind": "nonsense"}}, "nonsense"),
        ({"exit_when": "nonsense()"}, "nonsense"),
    ],
)
async def test_an_invalid_request_is_refused_without_a_key(wrong: dict[str, object], says: str) -> None:
    served = Roundtable(storage="memory://", settings=Settings.from_env({}))
    served.check_request(DebateRequest(topic="Tea?", agents=("anthropic", "openai:gpt-5")))
    request = DebateRequest.model_validate({"topic": "Tea?", **wrong})
    with pytest.raises(ConfigurationError, match=says):
        served.check_request(request)


async def test_prices_are_required_only_for_a_budget_in_dollars_and_known_agents() -> None:
    config = AgentConfig(id="x", name="X", provider="box", model="nobody-prices-this")
    served = Roundtable(
        [config],
        providers={"box": ProviderConfig(kind="compatible", base_url="http://127.0.0.1:9/v1")},
        storage="memory://",
    )
    await served.check_prices([None], Budget(max_calls=3))
    await served.check_prices([("anthropic:unknown-here",)], Budget(max_cost_usd=1))  # no key here: left to the workers
    with pytest.raises(ConfigurationError, match="nobody-prices-this"):
        await served.check_prices([None], Budget(max_cost_usd=1))


async def test_a_storage_without_key_values_is_named_with_the_purpose() -> None:
    class Bare(MemoryStorage):
        kv = None  # type: ignore[assignment]

    assert table().key_value("limits") is not None
    with pytest.raises(ConfigurationError, match="Bare has no key-value store, so it cannot keep polls"):
        table(storage=Bare()).key_value("polls")


async def test_the_offer_names_agents_modes_providers_and_endpoints() -> None:
    served = table(providers={"box": ProviderConfig(kind="compatible", base_url="http://127.0.0.1:9/v1")})
    offered = [offer.config.id for offer in served.agent_offers()]
    assert [agent.id for agent in served.agents()] == offered == ["ada", "bo"]
    assert {"collaborative", "delphi"} <= {mode.name for mode in served.modes()} == set(served.catalog.modes.names())
    assert {"anthropic", "box", "scripted", "callable"} <= served.provider_names()
    assert served.provider_configs["box"].kind == "compatible"
    assert served.given_agents is not None
    assert Roundtable(storage="memory://").given_agents is None
    assert (served.tenant, served.for_tenant("acme").tenant) == ("default", "acme")
    assert served.default_rates() == {"scripted": None}
    assert served.price_source


async def test_the_agents_modes_and_rules_of_an_engine_are_those_of_its_table() -> None:
    storage, agents = MemoryStorage(), AgentRegistry()
    for agent in scripted_agents({"ada": "Tea", "bo": "Tea"}):
        agents.add_agent(agent)
    modes = ModeRegistry()
    modes.register_mode("quick", CollaborativeMode(), summary="As quick as it gets.")
    engine = DebateEngine(SessionManager(storage), agents, modes)
    async with Roundtable.from_engine(engine, tenant="acme") as served:
        assert served.storage is storage
        assert served.tenant == "acme"
        assert [agent.id for agent in served.agents()] == ["ada", "bo"]
        assert "quick" in {mode.name for mode in served.modes()}
        result = await served.debate("Tea?", rounds=1, mode="quick")
        assert (result.answer, result.mode) == ("Tea", "quick")
    usual = Roundtable.from_engine(None)
    assert usual.given_agents is None


async def test_an_estimate_in_a_thread_equals_the_direct_estimate() -> None:
    served = table()
    assert await served.estimate_aside("Tea?", rounds=2) == served.estimate("Tea?", rounds=2)
    with pytest.raises(ConfigurationError):
        await served.estimate_aside("Tea?", rounds=2, most_calls=1)


async def test_a_fork_is_followed_from_its_first_new_event() -> None:
    async with table() as served:
        first = await served.debate("Tea?", rounds=2)
        async with served.stream_fork(first.session_id, at_round=1, mode="adversarial") as stream:
            events = [event async for event in stream]
        assert [event.round for event in events if event.type == "round_complete"] == [2]
        stored = await served.events(stream.session_id)
        past = [event.seq for event in stored if event.type == "round_complete" and event.round == 1]
        durable = [event.seq for event in events if event.durable]
        assert durable == [*range(durable[0], len(stored) + 1)]
        assert durable[0] > past[0]
        assert {"agent_start", "agent_complete"} <= {event.type for event in events}  # live ones too
        assert stream.result.mode == "adversarial"


async def test_the_parts_of_an_export_join_to_the_whole_export() -> None:
    async with table() as served:
        result = await served.debate("Tea?", rounds=1)
        for kind in ("markdown", "html", "csv", "json"):
            parts = await served.export_parts(result.session_id, kind)
            assert "".join(str(part) for part in parts) == await served.export(result.session_id, kind)
        with pytest.raises(ConfigurationError):
            await served.export_parts(result.session_id, "odt")
