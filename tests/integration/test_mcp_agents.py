"""Who can debate over MCP: models, how agents fare, how many, and with which parts of an engine."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from integration.mcp_kit import call, connected, refused, talkers

from roundtable import ProviderConfig, Roundtable, hookimpl
from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.core.base.ledger import Ledger
from roundtable.engine import DebateEngine, EventHub, SessionManager
from roundtable.exits import ExitSettings, exit_registry
from roundtable.gateway import Gateway
from roundtable.mcp import create_mcp_server
from roundtable.mcp.server import McpServer
from roundtable.modes import BUILTIN_MODES, CollaborativeMode, ModeRegistry
from roundtable.providers import chat_model
from roundtable.providers.scripted import ScriptedModel
from roundtable.scoring import rule_registry
from roundtable.settings import Settings
from roundtable.storage import MemoryStorage
from roundtable.testing.doubles import ManualClock
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.types import AgentConfig, AgentHealth, Budget, ConsensusResult, Measured

pytestmark = pytest.mark.anyio

REFUSED = http_reply(b'{"error": {"message": "invalid key for the prompt \'canary\'"}}', status=401)


async def agents_of(server: McpServer) -> dict[str, Any]:
    async with connected(server) as client:
        return {one["id"]: one for one in (await call(client, "get_agents"))["agents"]}


async def test_default_seats_are_listed_with_their_models() -> None:
    settings = Settings(anthropic_api_key="k", openai_api_key="k", default_agent_count=2)
    table = Roundtable(storage="memory://", settings=settings)
    listed = await agents_of(McpServer(lambda _: table))
    models = {one["provider"]: one["model"] for one in listed.values()}
    assert models == {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5.2"}


async def test_a_local_server_that_does_not_list_its_model_yet_has_no_model() -> None:
    settings = Settings(ollama_host="127.0.0.1:9", default_agent_count=2)
    offers = Roundtable(storage="memory://", settings=settings).agent_offers()
    assert {one.config.model for one in offers} == {None}


async def test_a_refused_key_shows_until_a_call_succeeds() -> None:
    with LoopbackServer() as server:
        chosen = [AgentConfig(id=name, name=name, provider="compatible", model="m") for name in ("far", "away")]
        keys = {"compatible": ProviderConfig(base_url=server.url, api_key="k")}
        table = Roundtable([*chosen, *talkers()], storage="memory://", providers=keys)
        async with connected(McpServer(lambda _: table)) as client:

            async def inactive() -> dict[str, str]:
                listed = (await call(client, "get_agents"))["agents"]
                return {one["id"]: one["error"] for one in listed if not one["active"]}

            assert await inactive() == {}
            server.queue(REFUSED, REFUSED, REFUSED)  # the third would read the answers of the others
            done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
            assert len(done["failures"]) == 2
            found = await inactive()
            assert sorted(found) == ["away", "far"]
            reason = "the provider refused the last call (status 401). Check the provider's API key"
            assert found["far"].startswith(reason)
            assert "canary" not in str(found)
            table.reset_breakers()  # the key is right now
            await call(client, "start_roundtable", topic="Tea?", rounds=1)
            assert await inactive() == {}


async def test_agents_that_fail_a_check_of_their_registry_are_inactive() -> None:
    class Ailing(BaseAgent):
        health = AgentHealth(healthy=True)

        async def health_check(self) -> AgentHealth:
            return self.health

    registry = AgentRegistry()
    for name in ("ada", "bo"):
        registry.add_agent(Ailing(AgentConfig(id=name, name=name, provider="scripted"), ScriptedModel(["Tea"])))
    server = create_mcp_server(agent_registry=registry)
    async with connected(server) as client:
        assert all(one["active"] for one in (await call(client, "get_agents"))["agents"])
        Ailing.health = AgentHealth(healthy=False, error="out of leaves")
        await registry.run_health_checks(fresh=True)
        listed = (await call(client, "get_agents"))["agents"]
        assert [(one["active"], one["error"]) for one in listed] == [(False, "out of leaves")] * 2
        Ailing.health = AgentHealth(healthy=True)
        await registry.run_health_checks(fresh=True)
        registry.deactivate_agent("bo")
        listed = (await call(client, "get_agents"))["agents"]
        assert [(one["active"], one.get("error")) for one in listed] == [(True, None), (False, "inactive")]


async def test_a_good_check_makes_an_agent_active_whose_key_was_refused() -> None:
    with LoopbackServer() as server:
        model = chat_model("compatible:m", base_url=server.url, api_key="k", settings=Settings())
        registry = AgentRegistry()
        far = BaseAgent(AgentConfig(id="far", name="Far", provider="compatible"), Gateway().guard(model))
        for agent in (far, *talkers()):
            registry.add_agent(agent)
        engine = DebateEngine(SessionManager(MemoryStorage()), registry, ModeRegistry())
        async with connected(create_mcp_server(engine)) as client:

            async def is_active() -> bool:
                listed = (await call(client, "get_agents"))["agents"]
                return bool(next(one["active"] for one in listed if one["id"] == "far"))

            await registry.run_health_checks()
            assert await is_active()
            server.queue(REFUSED)
            await call(client, "start_roundtable", topic="Tea?", rounds=1)
            assert not await is_active()
            await registry.run_health_checks()  # known for a minute, nobody is asked
            assert not await is_active()
            await registry.run_health_checks(fresh=True)
            assert await is_active()
        await model.aclose()


@pytest.mark.parametrize(("most", "asked", "seated"), [(5, 10, 5), (3, 4, 3), (10, 10, 10), (5, 2, 2)])
async def test_the_number_of_agents_is_cut_to_what_the_server_allows(most: int, asked: int, seated: int) -> None:
    settings = Settings(compatible_base_url="http://127.0.0.1:9/v1", compatible_model="m", max_agents=most)
    with LoopbackServer() as server:
        keys = {"compatible": ProviderConfig(base_url=server.url)}
        table = Roundtable(["compatible:m"], storage="memory://", settings=settings, providers=keys)
        async with connected(McpServer(lambda _: table)) as client:
            done = await call(client, "start_roundtable", topic="Tea?", rounds=1, agentCount=asked)
    assert len(done["agentResponses"]) == seated


class Fixed:
    """Measures every round alike."""

    async def measure(self, responses: Any, topic: str, **_: Any) -> Measured:
        return Measured(consensus=ConsensusResult(agreement_level=0.25, method="fixed"))


async def test_a_server_over_an_engine_holds_debates_as_the_engine_does() -> None:
    storage, registry, clock, heard = MemoryStorage(), AgentRegistry(), ManualClock(), []
    for agent in talkers():
        registry.add_agent(agent)
    modes, rules, exits = ModeRegistry(), rule_registry(), exit_registry()
    own = CollaborativeMode()
    modes.register_mode("collaborative", own)
    engine = DebateEngine(
        SessionManager(storage, clock=clock),
        registry,
        modes,
        meter=Fixed(),
        hub=EventHub([lambda event: heard.append(event.type)]),
        rules=rules,
        exits=exits,
        exit_settings=ExitSettings(enabled=False),
        turn_timeout_s=7,
        ledger=Ledger(Budget(max_calls=4)),
    )
    server = create_mcp_server(engine)
    table = server._tables("default")
    ours = table._wiring.engine
    assert (ours.meter, ours.exit_settings, ours.turn_timeout_s) == (engine.meter, engine.exit_settings, 7)
    assert (ours.ledger, ours.pace, ours.sessions.clock) == (engine.ledger, engine.pace, clock)
    assert ours.modes.get_mode("collaborative") is own
    assert {entry.name for entry in rules} <= {entry.name for entry in ours.rules}
    async with connected(server) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=2)
        assert done["decision"]["agreementScore"] == 0.25
        assert done["exit"]["reason"] == "budget"
    assert "debate_complete" in heard
    assert engine.ledger.table.spent.calls == 4
    stored = await SessionManager(storage).get_session(done["sessionId"])
    assert stored is not None
    assert stored.created_at == clock.now()


async def test_rules_and_exits_of_an_engine_are_known_to_its_server() -> None:
    rules, exits = rule_registry(), exit_registry()
    plurality = rules.get("plurality")
    rules.add("ours", plurality)
    exits.add("own", exits.get("max_rounds"))
    engine = DebateEngine(SessionManager(MemoryStorage()), AgentRegistry(), ModeRegistry(), rules=rules, exits=exits)
    wiring = create_mcp_server(engine)._tables("acme")._wiring
    assert wiring.rule_name("ours") == "ours"
    assert wiring.catalog.exits.get("own") is exits.get("own")
    assert (wiring.sessions.tenant, wiring.engine.rules, wiring.engine.exits) == (
        "acme",
        wiring.catalog.rules,
        wiring.catalog.exits,
    )


async def modes_listed(server: McpServer) -> list[str]:
    async with connected(server) as client:
        start = (await client.list_tools()).tools[0]
        schema = start.input_schema["properties"]["mode"]
        for mode in ("adversarial:visibility=predecessor", "collaborative"):
            jsonschema.validate(mode, schema)
        for mode in ("delfi", "delphi:", "nobody/delfi", ""):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(mode, schema)
        assert schema["default"] == "collaborative"
        return list(schema["anyOf"][0]["enum"])


async def test_the_built_in_modes_are_listed_as_values() -> None:
    table = Roundtable(talkers(), storage="memory://")
    assert await modes_listed(McpServer(lambda _: table)) == [name for name, _, _ in BUILTIN_MODES]


async def test_modes_of_plugins_and_engines_are_listed_with_them() -> None:
    class Mine:
        @hookimpl
        def roundtable_register_modes(self, registrar: Any, host: Any) -> None:
            registrar.add("of-mine", CollaborativeMode(), summary="Mine.")

    table = Roundtable(talkers(), storage="memory://", plugins=[Mine()])
    assert "of-mine" in await modes_listed(McpServer(lambda _: table))
    assert "of-mine" in await modes_listed(McpServer(table.for_tenant))
    modes = ModeRegistry()
    modes.register_mode("of-engine", CollaborativeMode())
    engine = DebateEngine(SessionManager(MemoryStorage()), AgentRegistry(), modes)
    assert "of-engine" in await modes_listed(create_mcp_server(engine))


async def test_a_table_that_cannot_be_made_still_lists_its_tools() -> None:
    def broken(_: str) -> Roundtable:
        raise ValueError("no table")

    assert "delphi" in await modes_listed(McpServer(broken))


async def test_an_unknown_mode_is_refused_by_the_server_too() -> None:
    table = Roundtable(talkers(), storage="memory://")
    async with connected(McpServer(lambda _: table)) as client:
        error = await refused(client, "start_roundtable", topic="Tea?", mode="delfi")
        assert "Did you mean 'delphi'?" in error["message"]
        done = await call(client, "start_roundtable", topic="Tea?", mode="adversarial:visibility=predecessor", rounds=1)
        assert done["mode"] == "adversarial:visibility=predecessor"
