"""The tools of the MCP server, called by the SDK's own client in this process, in both eras of the protocol."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from integration.mcp_kit import ERAS, PLACELESS, answer, call, connected, refused, server_of, talkers
from mcp.shared.exceptions import MCPError

from roundtable import Roundtable
from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.engine import DebateEngine, SessionManager
from roundtable.errors import ConfigurationError
from roundtable.mcp import TOOLS, create_mcp_server
from roundtable.mcp.listing import tool_list
from roundtable.modes import CollaborativeMode, ModeRegistry
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import AgentConfig, ChatRequest, ChatResponse, Citation

QUICK = {"topic": "Tea or coffee?", "rounds": 2}


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_answers(era: str) -> None:
    async with connected(server_of(), era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [*TOOLS]
        begun = await call(client, "start_roundtable", **QUICK)
        assert (begun["status"], begun["roundNumber"], begun["totalRounds"]) == ("completed", 2, 2)
        assert begun["answer"] == "Tea"
        assert [one["agentId"] for one in begun["agentResponses"]] == ["ada", "bo", "cy"]
        assert begun["metadata"]["detailReference"]["tool"] == "get_round_details"
        assert "nextStep" not in begun
        named = {"sessionId": begun["sessionId"]}
        agreed = await call(client, "get_consensus", **named)
        assert agreed["analyzedRound"] == agreed["totalRounds"] == 2
        assert agreed["responseCount"] == 3
        assert agreed["consensus"]["agreementLevel"] == begun["decision"]["agreementScore"]
        assert agreed["decision"]["winners"] == ["Tea"]
        first = await call(client, "get_consensus", **named, roundNumber=1)
        assert (first["analyzedRound"], first.get("answer")) == (1, None)
        agents = await call(client, "get_agents")
        assert (agents["count"], agents["agents"][2]["id"]) == (3, "cy")
        listed = await call(client, "list_sessions", topic="COFFEE", status="completed", mode="collaborative")
        assert [one["id"] for one in listed["sessions"]] == [begun["sessionId"]]
        assert listed["sessions"][0]["responseCount"] == 6
        thoughts = await call(client, "get_thoughts", **named, agentId="cy")
        assert (thoughts["rounds"], thoughts["totalResponses"]) == (2, 2)
        assert thoughts["confidenceEvolution"] == [{"round": 1, "confidence": 0.8}, {"round": 2, "confidence": 0.8}]
        detail = await call(client, "get_response_detail", **named, agentId="cy", roundNumber=2)
        assert [one["position"] for one in detail["responses"]] == ["Coffee"]
        held = await call(client, "get_round_details", **named, roundNumber=2)
        assert (held["complete"], len(held["responses"]), held["roundNumber"]) == (True, 3, 2)
        assert (await call(client, "get_citations", **named))["totalCitations"] == 0
        for form, start in {"markdown": "# Tea", "json": "{", "html": "<!doctype", "csv": "sessionId"}.items():
            exported = await call(client, "export_session", **named, format=form)
            assert exported["content"].startswith(start)


def test_the_published_schemas_match_what_the_tools_take_and_return() -> None:
    told = tool_list().model_dump(mode="json", by_alias=True, exclude_none=True, include={"tools"})
    assert told == {"tools": [tool.listing for tool in TOOLS.values()]}


LISTS = """
import sys
import anyio
from mcp import Client
from roundtable.mcp import create_mcp_server

async def main():
    async with Client(create_mcp_server(tables=print).lowlevel) as client:
        await client.list_tools()
        await client.list_prompts()
        await client.list_resource_templates()

anyio.run(main)
print(*sorted(name for name in sys.modules if name.startswith("roundtable.")))
"""


@pytest.mark.slow
def test_listing_the_tools_does_not_load_the_engine() -> None:
    done = subprocess.run([sys.executable, "-c", LISTS], capture_output=True, text=True, timeout=60, check=True)
    loaded = done.stdout.split()
    assert "roundtable.mcp.listing" in loaded
    heavy = ("agents", "api.table", "engine", "gateway", "modes", "plugins", "providers", "storage")
    assert not [name for name in loaded if name.startswith(tuple(f"roundtable.{part}" for part in heavy))]


@pytest.mark.parametrize("era", ERAS)
async def test_a_synthesis_is_paid_for_once(era: str) -> None:
    asked: list[ChatRequest] = []

    def reply(request: ChatRequest) -> str:
        if request.metadata.get("purpose") != "synthesis":
            return answer("Tea")
        asked.append(request)
        return '{"conclusion": "Drink tea.", "confidence": 0.7}'

    agents = [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), ScriptedModel(reply))
        for name in ("ada", "bo")
    ]
    async with connected(server_of(agents), era) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        named = {"sessionId": done["sessionId"], "synthesizer": "bo"}
        first = await call(client, "synthesize_debate", **named)
        assert (first["synthesizerId"], first["synthesis"]["conclusion"]) == ("bo", "Drink tea.")
        assert await call(client, "synthesize_debate", **named) == first
        assert len(asked) == 1
        assert (await refused(client, "synthesize_debate", **named | {"synthesizer": "eve"}))["code"] == "NOT_FOUND"


@pytest.mark.parametrize("era", ERAS)
async def test_a_debate_is_held_round_by_round_and_extended(era: str) -> None:
    async with connected(server_of(), era) as client:
        begun = await call(client, "start_roundtable", **QUICK, step=True)
        assert (begun["status"], begun["roundNumber"], begun["running"]) == ("in_progress", 1, False)
        assert begun["nextStep"]["tool"] == "continue_roundtable"
        named = {"sessionId": begun["sessionId"]}
        second = await call(client, "continue_roundtable", **named, focusQuestion="And at night?")
        assert (second["status"], second["roundNumber"], second["sessionStatus"]) == ("completed", 2, "completed")
        held = await call(client, "get_round_details", **named, roundNumber=2)
        assert held["focusQuestion"] == "And at night?"
        over = await refused(client, "continue_roundtable", **named)
        assert "`rounds`" in over["hint"]
        more = await call(client, "continue_roundtable", **named, rounds=1)
        assert (more["roundNumber"], more["totalRounds"]) == (3, 3)
        last = await call(client, "continue_roundtable", **named, rounds=2)
        assert (last["roundNumber"], last["totalRounds"]) == (5, 5)
        one = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        assert (one["status"], one["sessionStatus"]) == ("completed", "completed")


async def test_a_debate_ends_on_consensus_and_says_why() -> None:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"}, confidence=0.95)
    async with connected(server_of(agents)) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=5, exitOnConsensus=True)
        assert (done["roundNumber"], done["status"]) == (1, "completed")
        assert done["exit"]["reason"] == "consensus"


async def test_agents_are_chosen_by_name_and_by_number() -> None:
    async with connected(server_of()) as client:
        two = await call(client, "start_roundtable", topic="Tea?", rounds=1, agents=["cy", "Ada"])
        assert [one["agentId"] for one in two["agentResponses"]] == ["cy", "ada"]
        first = await call(client, "start_roundtable", topic="Tea?", rounds=1, agentCount=2)
        assert [one["agentId"] for one in first["agentResponses"]] == ["ada", "bo"]
        error = await refused(client, "start_roundtable", topic="Tea?", agentCount=4)
        assert (error["code"], "at most 3" in error["hint"]) == ("CONFIGURATION_ERROR", True)
        error = await refused(client, "start_roundtable", topic="Tea?", agents=["ada"], agentCount=2)
        assert error["code"] == "INVALID_ARGUMENTS"
        error = await refused(client, "start_roundtable", topic="Tea?", agents=["command:rm"])
        assert "'ada', 'bo', 'cy'" in error["hint"]


async def test_unknown_sessions_rounds_and_tools_are_named() -> None:
    async with connected(server_of()) as client:
        for tool, arguments in PLACELESS:
            error = await refused(client, tool, sessionId="0" * 32, **arguments)
            assert (error["name"], error["code"], error["retryable"]) == ("SessionNotFound", "SESSION_ERROR", False)
        begun = await call(client, "start_roundtable", **QUICK)
        named = {"sessionId": begun["sessionId"]}
        for tool, arguments in (
            ("get_consensus", {"roundNumber": 3}),
            ("get_round_details", {"roundNumber": 3}),
            ("get_thoughts", {"agentId": "eve"}),
            ("get_response_detail", {"agentId": "eve"}),
            ("get_response_detail", {"agentId": "ada", "roundNumber": 3}),
            ("get_citations", {"roundNumber": 3}),
            ("get_citations", {"agentId": "eve"}),
        ):
            assert (await refused(client, tool, **named, **arguments))["code"] == "NOT_FOUND"
        for action in ("pause", "resume", "stop"):
            assert (await refused(client, "control_session", **named, action=action))["code"] == "SESSION_ERROR"
        assert "nextCursor" in (await refused(client, "list_sessions", cursor="nonsense"))["message"]
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("drop_tables", {})


@pytest.mark.parametrize("tool", [*TOOLS])
async def test_wrong_arguments_are_named_with_the_allowed_values(tool: str) -> None:
    async with connected(server_of()) as client:
        error = await refused(client, tool, nonsense=1)
        problems = error["details"]["problems"]
        assert error["code"] == "INVALID_ARGUMENTS"
        assert {"nonsense", *TOOLS[tool].input_schema.get("required", ())} <= {one["field"] for one in problems}
        assert all(one["allowed"] is not None for one in problems)
        assert error["hint"].startswith(f"{tool} takes: ")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"topic": " "}, "topic"),
        ({"topic": "x" * 10_001}, "topic"),
        ({"topic": "x", "rounds": 0}, "rounds"),
        ({"topic": "x", "agentCount": 11}, "agentCount"),
        ({"topic": "x", "wait": 601}, "wait"),
        ({"topic": "x", "perspectives": [{"description": "nameless"}]}, "perspectives"),
        ({"topic": "x", "onCancel": "explode"}, "onCancel"),
    ],
)
async def test_the_limits_of_a_start_are_reported(arguments: dict[str, Any], field: str) -> None:
    async with connected(server_of()) as client:
        error = await refused(client, "start_roundtable", **arguments)
        assert error["details"]["problems"][0]["field"].startswith(field)


async def test_limits_of_the_facade_reach_the_caller_unchanged() -> None:
    async with connected(server_of()) as client:
        for arguments in ({"mode": "shouting"}, {"rounds": 11}, {"mode": "delphi", "perspectives": "auto"}):
            error = await refused(client, "start_roundtable", topic="Tea?", **arguments)
            assert error["code"] == "CONFIGURATION_ERROR"


async def test_a_broken_debate_is_an_error_and_can_be_continued() -> None:
    agents = scripted_agents({"ada": [ValueError("the kettle is broken"), "Tea", "Tea"]})
    async with connected(server_of(agents)) as client:
        error = await refused(client, "start_roundtable", topic="Tea?", rounds=1)
        assert error["code"] == "QUORUM_LOST"
        assert "the kettle is broken" in str(error)
        named = {"sessionId": error["sessionId"]}
        assert (await refused(client, "get_consensus", **named))["code"] == "NOT_FOUND"
        failed = await call(client, "get_round_details", **named, roundNumber=1)
        assert (failed["failures"][0]["agentId"], failed["complete"]) == ("ada", False)
        mended = await call(client, "continue_roundtable", **named)
        assert (mended["status"], mended["answer"]) == ("completed", "Tea")


async def test_a_failed_turn_shows_in_the_answer() -> None:
    agents = scripted_agents({"ada": "Tea", "bo": ValueError("out of leaves")})
    async with connected(server_of(agents)) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        assert [one["agentId"] for one in done["failures"]] == ["bo"]
        assert "out of leaves" in done["failures"][0]["error"]["message"]
        error = await refused(client, "get_thoughts", sessionId=done["sessionId"], agentId="bo")
        assert "gave no answer" in error["message"]


async def test_sessions_are_listed_a_page_at_a_time() -> None:
    async with connected(server_of()) as client:
        made = [(await call(client, "start_roundtable", topic=f"Tea {n}?", rounds=1))["sessionId"] for n in range(3)]
        first = await call(client, "list_sessions", limit=2)
        second = await call(client, "list_sessions", limit=2, cursor=first["nextCursor"])
        assert [one["id"] for one in (*first["sessions"], *second["sessions"])] == made[::-1]
        assert "nextCursor" not in second
        assert (await call(client, "list_sessions", fromDate="2999-01-01T00:00:00Z"))["count"] == 0
        assert (await call(client, "list_sessions", toDate="2999-01-01"))["count"] == 3


async def test_a_server_over_an_engine_and_a_registry() -> None:
    storage, registry = MemoryStorage(), AgentRegistry()
    for agent in talkers():
        registry.add_agent(agent)
    engine = DebateEngine(SessionManager(storage), registry, ModeRegistry())
    for server in (create_mcp_server(engine, registry), create_mcp_server(engine)):
        async with connected(server) as client:
            done = await call(client, "start_roundtable", **QUICK)
        assert [one["agentId"] for one in done["agentResponses"]] == ["ada", "bo", "cy"]
        assert (await SessionManager(storage).get_session(done["sessionId"])) is not None
    with pytest.raises(ConfigurationError, match="tables"):
        create_mcp_server(engine, tables=lambda _: Roundtable())


async def test_sources_are_listed_once_in_the_order_of_their_first_use() -> None:
    def reply(request: ChatRequest) -> ChatResponse:
        name, number = request.metadata["agent"], request.metadata["round"]
        found = [Citation(title=f"{name} {number}", url=f"https://{place}.example/") for place in ("all", name, number)]
        return ChatResponse(text=answer("Tea"), citations=found)

    agents = [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), ScriptedModel(reply))
        for name in ("ada", "bo")
    ]
    async with connected(server_of(agents)) as client:
        done = await call(client, "start_roundtable", **QUICK)
        assert done["evidence"]["totalCitations"] > 0
        named = {"sessionId": done["sessionId"]}
        every = await call(client, "get_citations", **named)
        cited = {one["url"]: (one["agentId"], one["roundNumber"]) for one in every["citations"]}
        assert len(cited) == every["totalCitations"] == 5
        assert cited["https://all.example/"] == cited["https://ada.example/"] == ("ada", 1)
        assert (cited["https://bo.example/"], cited["https://2.example/"]) == (("bo", 1), ("ada", 2))
        some = await call(client, "get_citations", **named, agentId="bo", roundNumber=2)
        assert [one["title"] for one in some["citations"]] == ["bo 2"] * 3


async def test_an_idle_debate_can_be_stopped_permanently() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", **QUICK, step=True)
        named = {"sessionId": begun["sessionId"]}
        stopped = await call(client, "control_session", **named, action="stop")
        assert stopped["message"] == "The session was active and is completed."
        assert (stopped["previousStatus"], stopped["newStatus"]) == ("active", "completed")


async def test_a_server_over_an_engine_uses_its_modes_and_the_settings_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = ModeRegistry()
    modes.register_mode("mine", CollaborativeMode())
    engine = DebateEngine(SessionManager(MemoryStorage()), AgentRegistry(), modes)
    table = create_mcp_server(engine)._tables("default")
    assert table._wiring.engine.modes.has_mode("mine")
    monkeypatch.setenv("DATABASE_PATH", str(tmp_path / "kept.db"))
    registry = AgentRegistry()
    for agent in talkers():
        registry.add_agent(agent)
    async with connected(create_mcp_server(agent_registry=registry, name="mine")) as client:
        assert (await call(client, "get_agents"))["count"] == 3
        assert (await call(client, "list_sessions"))["count"] == 0


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roundtable.mcp.server.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="extra 'mcp'"):
        create_mcp_server()
