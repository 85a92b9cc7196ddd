"""The MCP server as the seeds tell it: twelve tools, called once each by the SDK's client, and looked at one by one."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from contract.showing import shows
from integration.engine_kit import said, seated
from integration.mcp_kit import call, connected, refused

from roundtable.agents import AgentRegistry
from roundtable.auth import LocalUser
from roundtable.engine import DebateEngine, SessionManager
from roundtable.mcp import TOOLS, McpServer, create_mcp_server
from roundtable.modes import ModeRegistry
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel, scripted_agents
from roundtable.types import ChatResponse, Citation

if TYPE_CHECKING:
    from collections.abc import Iterator

SAID: dict[str, Any] = {
    "ada": ChatResponse(
        text=json.dumps(said("Tea", reasoning="- It keeps well for years.\n- It costs very little.")),
        citations=(Citation(title="Tea", url="https://tea.example"),),
    ),
    "bo": said("Tea"),
    "cy": said("Coffee"),
}
PLAIN = {
    "commonGround": ["Hot"], "keyDifferences": ["Caffeine"], "evolutionSummary": "None moved.", "conclusion": "Tea.",
    "recommendation": "Brew.", "confidence": 0.8,
}  # fmt: skip


def made() -> McpServer:
    """Make a server of an engine and a registry with three agents, as the seed does."""
    registry = AgentRegistry()
    model = ScriptedModel(lambda asked: SAID[asked.metadata["agent"]] if "round" in asked.metadata else PLAIN)
    for agent in seated(model, *SAID):
        registry.add_agent(agent)
    engine = DebateEngine(SessionManager(MemoryStorage()), registry, ModeRegistry())
    return create_mcp_server(debate_engine=engine, agent_registry=registry)


async def every_tool() -> dict[str, Any]:
    """Call every tool of a server in the course of one debate, and return what each answered."""
    told: dict[str, Any] = {}
    async with connected(made()) as client:
        told["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        told["get_agents"] = await call(client, "get_agents")
        begun = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=2, step=True)
        named = {"sessionId": begun["sessionId"]}
        told["start_roundtable"] = begun
        told["control_session"] = await call(client, "control_session", **named, action="pause")
        told["paused"] = (await call(client, "list_sessions"))["sessions"]
        told["resumed"] = await call(client, "control_session", **named, action="resume")
        with anyio.fail_after(20):
            while (await call(client, "list_sessions"))["sessions"][0]["status"] != "completed":
                await client.call_tool("continue_roundtable", named)  # refused where it goes on by itself
        told["get_consensus"] = await call(client, "get_consensus", **named)
        told["list_sessions"] = await call(client, "list_sessions")
        told["get_thoughts"] = await call(client, "get_thoughts", **named, agentId="cy")
        told["get_round_details"] = await call(client, "get_round_details", **named, roundNumber=1)
        told["get_response_detail"] = await call(client, "get_response_detail", **named, agentId="cy", roundNumber=2)
        told["get_citations"] = await call(client, "get_citations", **named)
        told["export_session"] = await call(client, "export_session", **named, format="markdown")
        told["synthesize_debate"] = await call(client, "synthesize_debate", **named)
        stepped = await call(client, "start_roundtable", topic="And cocoa?", rounds=2, step=True)
        told["continued"] = await call(client, "continue_roundtable", sessionId=stepped["sessionId"])
        told["unknown"] = await refused(client, "get_consensus", sessionId="nobody")
    return told


@pytest.fixture(scope="session")
def told() -> dict[str, Any]:
    """What the tools of a server answered in one debate."""
    return anyio.run(every_tool)


@shows(0, "tool", "start_roundtable")
@shows(3, "tool", "start_roundtable")
def test_a_debate_is_started_and_answered_in_four_layers(told: dict[str, Any]) -> None:
    begun = told["start_roundtable"]
    assert (begun["roundNumber"], begun["totalRounds"], begun["mode"]) == (1, 2, "collaborative")
    assert begun["decision"]["agreementScore"] == told["get_consensus"]["consensus"]["agreementLevel"]
    assert [one["agentId"] for one in begun["agentResponses"]] == ["ada", "bo", "cy"]
    assert begun["agentResponses"][0]["keyPoints"] == ["It keeps well for years.", "It costs very little."]
    assert begun["evidence"]["totalCitations"] == 1
    assert begun["metadata"]["detailReference"]["params"]["roundNumber"] == 1


@shows(0, "tool", "continue_roundtable")
@shows(3, "tool", "continue_roundtable")
def test_a_debate_continues_with_its_next_round(told: dict[str, Any]) -> None:
    assert (told["continued"]["roundNumber"], told["continued"]["status"]) == (2, "completed")
    assert len(told["continued"]["agentResponses"]) == 3


@shows(3, "tool", "control_session")
def test_a_debate_is_paused_and_resumed(told: dict[str, Any]) -> None:
    assert told["control_session"]["sessionId"] == told["start_roundtable"]["sessionId"]
    assert [one["status"] for one in told["paused"]] == ["paused"]
    assert told["resumed"]["sessionId"] == told["start_roundtable"]["sessionId"]


@shows(0, "tool", "list_sessions")
@shows(3, "tool", "list_sessions")
def test_sessions_are_listed_with_their_status(told: dict[str, Any]) -> None:
    (listed,) = told["list_sessions"]["sessions"]
    assert (listed["id"], listed["topic"]) == (told["start_roundtable"]["sessionId"], "Tea or coffee?")
    assert (listed["status"], listed["responseCount"]) == ("completed", 6)


@shows(0, "tool", "get_consensus")
@shows(3, "tool", "get_consensus")
def test_the_consensus_is_that_of_the_last_round(told: dict[str, Any]) -> None:
    found = told["get_consensus"]
    assert (found["analyzedRound"], found["responseCount"]) == (2, 3)
    assert 0 < found["consensus"]["agreementLevel"] < 1
    assert told["unknown"]["code"] == "SESSION_ERROR"


@shows(3, "tool", "get_thoughts")
def test_the_thoughts_of_an_agent_are_listed_round_by_round(told: dict[str, Any]) -> None:
    found = told["get_thoughts"]
    assert (found["agentId"], found["rounds"], found["totalResponses"]) == ("cy", 2, 2)
    assert found["confidenceEvolution"] == [{"round": 1, "confidence": 0.8}, {"round": 2, "confidence": 0.8}]


@shows(3, "tool", "export_session")
def test_a_session_is_exported(told: dict[str, Any]) -> None:
    assert told["export_session"]["content"].startswith("# Tea or coffee?")
    assert "https://tea.example" in told["export_session"]["content"]


@shows(3, "tool", "synthesize_debate")
def test_a_debate_is_synthesized(told: dict[str, Any]) -> None:
    text = json.dumps(told["synthesize_debate"])
    assert '"recommendation": "Brew."' in text
    assert '"keyDifferences": ["Caffeine"]' in text


@shows(3, "tool", "get_round_details")
def test_a_round_is_shown_whole(told: dict[str, Any]) -> None:
    found = told["get_round_details"]
    assert (found["roundNumber"], found["complete"]) == (1, True)
    assert [one["position"] for one in found["responses"]] == ["Tea", "Tea", "Coffee"]


@shows(3, "tool", "get_response_detail")
def test_the_answers_of_an_agent_are_shown_whole(told: dict[str, Any]) -> None:
    (found,) = told["get_response_detail"]["responses"]
    assert (found["position"], found["reasoning"]) == ("Coffee", "Because.")


@shows(3, "tool", "get_citations")
def test_citations_are_listed(told: dict[str, Any]) -> None:
    found = told["get_citations"]
    assert {one["url"] for one in found["citations"]} == {"https://tea.example"}


@shows(0, "tool", "get_agents")
@shows(3, "tool", "get_agents")
@shows(0, "field", "createMCPServer.debateEngine", "createMCPServer.agentRegistry")
def test_a_server_has_the_agents_and_sessions_of_its_engine(told: dict[str, Any]) -> None:
    assert told["tools"] == [*TOOLS]
    assert len(told["tools"]) == 12
    agents = told["get_agents"]["agents"]
    assert [(one["id"], one["name"], one["provider"]) for one in agents] == [
        ("ada", "Ada", "scripted"),
        ("bo", "Bo", "scripted"),
        ("cy", "Cy", "scripted"),
    ]


# ---------------------------------------------------------------- what to do


async def advised(*positions: str, confidence: float = 0.8) -> dict[str, Any]:
    """Hold a round in which these are the positions, and return what the server advises."""
    registry = AgentRegistry()
    for agent in scripted_agents(
        {f"a{place}": said(word, confidence=confidence) for place, word in enumerate(positions)}
    ):
        registry.add_agent(agent)
    async with connected(create_mcp_server(agent_registry=registry, debate_engine=engine_of(registry))) as client:
        decision: dict[str, Any] = (await call(client, "start_roundtable", topic="What?", rounds=1))["decision"]
        assert decision["actionRecommendation"]["reason"]
        return decision


def engine_of(registry: AgentRegistry) -> DebateEngine:
    return DebateEngine(SessionManager(MemoryStorage()), registry, ModeRegistry())


@shows(3, "behaviour", "proceed: high consensus")
async def test_high_consensus_says_proceed() -> None:
    decision = await advised("Tea", "Tea", "Tea")
    assert (decision["consensusLevel"], decision["actionRecommendation"]["type"]) == ("high", "proceed")


@shows(3, "behaviour", "verify: medium consensus")
async def test_medium_consensus_says_verify() -> None:
    decision = await advised("7 km", "7 km", "8 km")
    assert (decision["consensusLevel"], decision["actionRecommendation"]["type"]) == ("medium", "verify")


@shows(3, "behaviour", "query_detail: low consensus or conflicts")
async def test_low_consensus_and_doubt_say_query_detail() -> None:
    decision = await advised("7 km", "8 km", "9 km")
    assert (decision["consensusLevel"], decision["actionRecommendation"]["type"]) == ("low", "query_detail")
    assert (await advised("Tea", "Tea", "Coffee", confidence=0.4))["actionRecommendation"]["type"] == "query_detail"


# ---------------------------------------------------------------- standard input and output


@contextmanager
def standard_streams() -> Iterator[tuple[int, Path]]:
    """Put a pipe in the place of standard input and a file in that of standard output; give what they are fed by."""
    source, feed = os.pipe()
    with tempfile.NamedTemporaryFile() as target:
        kept = os.dup(0), os.dup(1)
        os.dup2(source, 0)
        os.dup2(target.fileno(), 1)
        try:
            yield feed, Path(target.name)
        finally:
            for number, saved in enumerate(kept):
                os.dup2(saved, number)
                os.close(saved)
            os.close(source)


@shows(0, "method", "MCPServer.start")
@shows(0, "behaviour", "MCP transport")
async def test_a_server_speaks_on_standard_input_and_output() -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_agents", "arguments": {}}},
    ]
    with standard_streams() as (feed, heard):
        async with anyio.create_task_group() as group:
            group.start_soon(made().start)
            os.write(feed, "".join(json.dumps(one) + "\n" for one in asked).encode())
            with anyio.fail_after(20):
                while heard.read_text("utf-8").count("\n") < 2:  # noqa: ASYNC110  (a small file)
                    await anyio.sleep(0.01)
            os.close(feed)
        first, second = map(json.loads, heard.read_text("utf-8").splitlines())
    assert first["result"]["serverInfo"]["name"] == "ai-roundtable"
    assert second["result"]["structuredContent"]["count"] == 3


async def test_a_server_speaks_over_http() -> None:
    """Serve it over HTTP to anybody on this machine, as `roundtable mcp --http` does."""
    from mcp import Client

    urls: list[str] = []
    server = made()
    assert callable(server.http_app(LocalUser()))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: server.serve_http(LocalUser(), port=0, listening=urls.append))
        with anyio.fail_after(20):
            while not urls:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.01)
        async with Client(urls[0]) as client:
            assert (await call(client, "get_agents"))["count"] == 3
        group.cancel_scope.cancel()
