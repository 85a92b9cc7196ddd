"""Teams over HTTP as seed 004 tells them: one server, asked by its own client and by anybody's."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from anyio.abc import SocketAttribute, SocketStream
from contract.showing import shows
from integration.server_kit import parsed, token_for

from roundtable import Roundtable
from roundtable.api import AgentProfile, load_profiles
from roundtable.auth import TokenAuthenticator, TokenStore
from roundtable.client import RoundtableClient
from roundtable.errors import AgentError, RoundtableError, SessionNotFound
from roundtable.server import Limits, create_app, serve
from roundtable.settings import Settings
from roundtable.testing import Delay, ScriptedModel
from roundtable.types import ChatRequest, ModelProfile

PATH = "/api/chat/multi"
CRM = Path(__file__).resolve().parents[2] / "examples/crm"
TEAM = ["data-steward", "prospect-finder", "contract-reader"]
ASKED = {"agents": TEAM, "rounds": 1, "messages": [{"role": "user", "content": "Find high-value prospects."}]}
LOOK = {"toolCalls": [{"name": "getSFDCData", "args": {"query": "SELECT Id FROM Account"}, "id": "tool_0"}]}
PLAIN = {
    "commonGround": ["Hot"], "keyDifferences": [], "evolutionSummary": "None moved.", "conclusion": "Tea.",
    "recommendation": "Brew.", "confidence": 0.8,
}  # fmt: skip
FREE = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=None)


def crm_table(**options: Any) -> Roundtable:
    """Make the team of the example: its profiles, its tools, and what its agents say where no model is asked."""
    script, tools = runpy.run_path(str(CRM / "script.py")), runpy.run_path(str(CRM / "tools.py"))
    looked: set[str] = set()

    def reply(asked: ChatRequest) -> Any:
        agent = asked.metadata.get("agent", "")
        if agent == "shaky":
            slow = "Slow" in asked.messages[-1].content
            return Delay(20, "Too late.") if slow else AgentError("the model is gone")
        if "round" not in asked.metadata:
            return PLAIN
        if agent not in {*TEAM, "initiator", "summarizer"}:
            said = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
            return Delay(0.1, said) if "Slow" in asked.messages[-1].content else said
        if agent == "initiator" and not looked and any(tool.name == "getSFDCData" for tool in asked.tools):
            looked.add(agent)
            return LOOK
        return script["reply"](asked)

    model = ScriptedModel(reply, chunks=2, profile=ModelProfile(streams=True))
    profiles = [*load_profiles(CRM / "profiles.toml"), AgentProfile("shaky", on_error="skip")]
    helpers = [tools[name] for name in ("get_sfdc_data", "score_prospects", "read_contracts")]
    return Roundtable([model], storage=options.pop("storage", "memory://"), tools=helpers, profiles=profiles, **options)


async def until_revoked(web: httpx.AsyncClient, tokens: TokenStore) -> str:
    """Follow a conversation until the token that it was begun with is revoked, and return the stream."""
    made = await tokens.create("bo", scopes=("read", "write"), audience="http")
    asked = {"agents": ["shaky"], "rounds": 1, "messages": [{"role": "user", "content": "Slow prospects?"}]}
    text = ""
    async with web.stream("POST", PATH, json=asked, headers={"authorization": f"Bearer {made.secret}"}) as answer:
        async for piece in answer.aiter_text():
            text += piece
            if '"agent_start"' in piece:
                await tokens.revoke(made.info.id)
    return text


async def run_server() -> dict[str, Any]:
    """Serve the team to a user and an administrator, and return what each of their requests was answered."""
    table, urls = crm_table(), list[str]()
    tokens = TokenStore.of(table._wiring.storage)
    app = create_app(table, auth=TokenAuthenticator(tokens, audience="http"), check_s=0.02)

    @app.get("/api/fails")
    async def fails() -> None:
        raise RuntimeError("a secret of the server")

    user, admin = await token_for(table, "ann"), await token_for(table, "root", "read", "admin")
    told: dict[str, Any] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: serve(app, port=0, listening=urls.append))
        with anyio.fail_after(20):
            while not urls:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.005)
        headers = {"authorization": f"Bearer {user}"}
        async with httpx.AsyncClient(
            base_url=urls[0], headers=headers, timeout=20, trust_env=False, verify=False
        ) as web:
            told["stream"] = await web.post(PATH, json=ASKED)
            told["broken"] = await web.post(PATH, json={**ASKED, "agents": ["shaky", "data-steward"]})
            told["lost"] = await web.post(PATH, json={**ASKED, "agents": ["shaky"]})
            told["invalid"] = await web.post(PATH, json={**ASKED, "agents": []})
            told["rounds"] = await web.post(PATH, json={**ASKED, "rounds": 11})
            told["nobody"] = await web.post(PATH, json={**ASKED, "agents": ["nobody"]})
            told["anonymous"] = await web.post(PATH, json=ASKED, headers={"authorization": "Bearer rt_wrong"})
            told["fails"] = await web.get("/api/fails")
            for _ in range(2):
                await web.post(PATH, json={**ASKED, "agents": ["data-steward"]})
            told["sixth"] = await web.post(PATH, json=ASKED)
            told["metrics"] = await web.get("/api/admin/metrics", headers={"authorization": f"Bearer {admin}"})
            told["page"] = await web.get("/admin", headers={"authorization": f"Bearer {admin}"})
            told["refused"] = await web.get("/api/admin/metrics")
            told["revoked"] = await until_revoked(web, tokens)
        group.cancel_scope.cancel()
    return told


@pytest.fixture(scope="session")
def told() -> dict[str, Any]:
    """What a server answered."""
    return anyio.run(run_server)


@pytest.fixture(scope="session")
def events(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a conversation, read as the seed's JavaScript reads them."""
    return parsed(told["stream"].text)


def data_of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == kind]


@shows(4, "http", "POST /api/chat/multi")
@shows(4, "behaviour", "status 200", 'data: {"type": ..., "data": {...}}')
def test_a_conversation_is_a_stream_of_events(told: dict[str, Any], events: list[dict[str, Any]]) -> None:
    assert told["stream"].status_code == 200
    assert told["stream"].headers["content-type"].startswith("text/event-stream")
    assert all(list(event) == ["type", "data"] and event["data"]["timestamp"].endswith("Z") for event in events)
    blocks = told["stream"].text.rstrip("\n").split("\n\n")
    assert len([block for block in blocks if block.startswith("data: ")]) == len(events)


@shows(4, "function", "useMultiAgentChat")
def test_a_reader_of_the_stream_learns_how_it_ended(events: list[dict[str, Any]]) -> None:
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("conversation_start", "conversation_complete")
    assert not data_of(events, "error")


@shows(4, "event", "conversation_start", "conversation_complete")
def test_a_conversation_begins_and_ends_with_its_figures(events: list[dict[str, Any]]) -> None:
    (first,), (last,) = data_of(events, "conversation_start"), data_of(events, "conversation_complete")
    assert (first["agents"], first["rounds"], bool(first["sessionId"])) == (TEAM, 1, True)
    assert (last["totalRounds"], last["totalAgents"]) == (1, 3)
    assert last["summary"].startswith("Call in this order: 1. ")
    assert 0 <= last["executionTime"] < 60


@shows(4, "event", "initiator_start", "initiator_complete")
def test_the_initiator_makes_a_goal_of_the_request(events: list[dict[str, Any]]) -> None:
    (begun,), (done,) = data_of(events, "initiator_start"), data_of(events, "initiator_complete")
    assert begun["agent"] == "initiator"
    assert done["goal"].startswith("List high-value healthcare prospects")
    assert (bool(done["strategy"]), len(done["successCriteria"])) == (True, 3)


@shows(4, "event", "round_start", "round_complete")
def test_a_round_begins_with_its_goal_and_ends_with_its_results(events: list[dict[str, Any]]) -> None:
    (begun,), (done,) = data_of(events, "round_start"), data_of(events, "round_complete")
    assert (begun["round"], begun["agents"]) == (1, TEAM)
    assert begun["goal"].startswith("List high-value healthcare prospects")
    assert [one["agent"] for one in done["results"]] == TEAM
    assert all(set(one) == {"agent", "response", "toolCalls", "steps"} for one in done["results"])


@shows(4, "event", "agent_start", "agent_response_chunk", "agent_complete")
def test_the_answer_of_an_agent_is_streamed(events: list[dict[str, Any]]) -> None:
    assert [(one["agent"], one["round"], one["maxSteps"]) for one in data_of(events, "agent_start")] == [
        (name, 1, 4) for name in TEAM
    ]
    for one in data_of(events, "agent_complete"):
        chunks = [piece["chunk"] for piece in data_of(events, "agent_response_chunk") if piece["agent"] == one["agent"]]
        assert "".join(chunks) == one["response"]
        assert (one["steps"], one["finishReason"], len(one["toolCalls"])) == (2, "completed", 1)


@shows(4, "event", "agent_tool_call", "agent_tool_result")
@shows(4, "type", "ToolCall")
@shows(4, "behaviour", "agent data-steward", "agent prospect-finder", "agent contract-reader")
def test_the_agents_of_the_team_use_their_own_tools(events: list[dict[str, Any]]) -> None:
    calls, results = data_of(events, "agent_tool_call"), data_of(events, "agent_tool_result")
    assert [(one["agent"], one["step"], one["toolCall"]["name"]) for one in calls] == [
        ("data-steward", 1, "getSFDCData"),
        ("prospect-finder", 1, "scoreProspects"),
        ("contract-reader", 1, "readContracts"),
    ]
    assert all(set(one["toolCall"]) == {"name", "args", "id"} for one in calls)
    assert [one["toolCallId"] for one in results] == [one["toolCall"]["id"] for one in calls]
    assert [list(one["result"]) for one in results] == [["rows", "count"], ["asOf", "prospects"], ["contracts"]]


@shows(4, "event", "summarizer_start", "summarizer_chunk")
def test_the_summarizer_tells_the_summary_as_it_writes_it(events: list[dict[str, Any]]) -> None:
    kinds = [event["type"] for event in events]
    assert kinds.index("round_complete") < kinds.index("summarizer_start") < kinds.index("summarizer_chunk")
    (end,) = data_of(events, "conversation_complete")
    assert "".join(one["chunk"] for one in data_of(events, "summarizer_chunk")) == end["summary"]


@shows(4, "event", "initiator_tool_call")
async def test_the_initiator_may_use_tools() -> None:
    async with crm_table() as table:
        run = table.stream_conversation(
            agents=["data-steward"],
            messages="Find prospects.",
            rounds=1,
            initiator=AgentProfile("initiator", tools=["getSFDCData"]),
        )
        async with run as stream:
            calls = [event async for event in stream if event.type == "initiator_tool_call"]
    assert [call.to_wire()["data"]["toolCall"] for call in calls] == [LOOK["toolCalls"][0]]


@shows(4, "event", "agent_error")
def test_the_event_of_a_failed_agent_says_what_happens_next(told: dict[str, Any]) -> None:
    events = parsed(told["broken"].text)
    (failed,) = data_of(events, "agent_error")
    assert (failed["agent"], failed["round"], failed["action"]) == ("shaky", 1, "skip")
    assert failed["error"] == "the model is gone"
    assert events[-1]["type"] == "conversation_complete"


@shows(4, "event", "error")
def test_a_conversation_that_fails_ends_with_its_error(told: dict[str, Any]) -> None:
    last = parsed(told["lost"].text)[-1]
    assert (last["type"], last["data"]["code"]) == ("error", "AGENT_EXECUTION_FAILED")
    assert (last["data"]["recoverable"], bool(last["data"]["error"])) == (True, True)


@shows(4, "behaviour", "status 400")
def test_an_invalid_request_is_refused_with_the_wrong_field(told: dict[str, Any]) -> None:
    answer = told["invalid"]
    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["details"]["field"] == "agents"
    assert (told["rounds"].status_code, told["rounds"].json()["code"]) == (400, "MAX_ROUNDS_EXCEEDED")
    assert (told["nobody"].status_code, told["nobody"].json()["code"]) == (404, "AGENT_NOT_FOUND")


@shows(4, "behaviour", "status 401", "Authorization: Bearer <session-token>")
def test_a_request_without_a_token_is_refused(told: dict[str, Any]) -> None:
    assert (told["anonymous"].status_code, told["anonymous"].json()["code"]) == (401, "UNAUTHORIZED")
    assert told["stream"].status_code == 200


def test_revoking_a_token_ends_its_streams_with_an_error(told: dict[str, Any]) -> None:
    begun, *_, last = parsed(told["revoked"])
    assert (begun["type"], last["type"], last["data"]["code"]) == ("conversation_start", "error", "UNAUTHORIZED")
    assert (last["data"]["recoverable"], bool(last["data"]["error"])) == (True, True)


@shows(4, "behaviour", "status 429", "rate limit headers")
def test_the_sixth_conversation_of_an_hour_is_refused(told: dict[str, Any]) -> None:
    assert (told["sixth"].status_code, told["sixth"].json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert int(told["sixth"].headers["retry-after"]) > 0
    assert '"conversations"' in told["stream"].headers["ratelimit-policy"]
    assert "r=4" in told["stream"].headers["ratelimit"]


@shows(4, "behaviour", "status 500")
def test_an_internal_error_reveals_no_details(told: dict[str, Any]) -> None:
    assert (told["fails"].status_code, told["fails"].json()["code"]) == (500, "INTERNAL_ERROR")
    assert "secret" not in told["fails"].text


@shows(4, "behaviour", "conversation completion rates", "average execution time per agent", "tool call success rates")
@shows(4, "behaviour", "error frequency and types", "resource usage per conversation")
def test_an_administrator_sees_the_figures(told: dict[str, Any]) -> None:
    figures = told["metrics"].json()
    ended = figures["conversations"]
    assert (ended["begun"], ended["completed"]) == (5, 4)
    assert ended["completionRate"] == pytest.approx(0.8)
    by_name = {one["agent"]: one for one in figures["agents"]}
    assert (by_name["data-steward"]["turns"], by_name["data-steward"]["meanS"] >= 0) == (4, True)
    assert by_name["shaky"]["failed"] == by_name["shaky"]["turns"] > 0
    assert {one["tool"]: one["successRate"] for one in figures["tools"]}["scoreProspects"] == 1.0
    assert {one["name"]: one["count"] for one in figures["errors"]}["AGENT_ERROR"] > 0
    assert figures["usage"]["tokensPerConversation"] > 0


@shows(4, "behaviour", "admin dashboard")
def test_the_dashboard_is_for_administrators(told: dict[str, Any]) -> None:
    assert told["refused"].status_code == 403
    assert told["page"].status_code == 200
    assert "4 of 5 runs" in told["page"].text


# ---------------------------------------------------------------- the client


async def control(client: RoundtableClient) -> list[str]:
    """Pause a debate, let it go on, stop it, and return how it stood each time."""
    slow = await client.start("Slow?", rounds=3)
    stood: list[str] = []
    async with client.watch(slow) as events:
        async for event in events:
            if event.type == "round_start":
                await client.pause(slow)
        seen = events.last_seq
    stood.append((await client.result(slow)).status)
    await client.resume(slow)
    async with client.watch(slow, after=seen) as events:
        async for event in events:
            if event.type == "round_start":
                await client.stop(slow)
    stopped = await client.result(slow)
    return [*stood, stopped.status, stopped.exit.reason if stopped.exit else ""]


async def use_client() -> dict[str, Any]:
    """Call every method of the client against a server in the same process, and return the results."""
    got: dict[str, Any] = {}
    table, urls = crm_table(), list[str]()
    app = create_app(table, auth=TokenAuthenticator(TokenStore.of(table._wiring.storage), audience="http"), limits=FREE)
    token = await token_for(table, "ann")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: serve(app, port=0, listening=urls.append))
        with anyio.fail_after(20):
            while not urls:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.005)
        async with RoundtableClient(urls[0], token=token) as client:
            got["team"] = await client.converse(agents=TEAM[:2], messages="Find prospects.", rounds=1)
            begun = await client.start_conversation(agents=TEAM[:1], messages="Find accounts.", rounds=1)
            got["kinds"] = [event.type async for event in client.watch(begun)]
            got["debate"] = await client.debate("Tea?", rounds=2)
            name = await client.start("Cocoa?", rounds=1)
            got["watched"] = [event.type async for event in client.watch(name)]
            got["result"] = await client.result(name)
            got["sessions"] = await client.sessions(limit=1)
            got["export"] = await client.export(name)
            await client.extend(name, rounds=1)
            got["extended"] = [event.type async for event in client.watch(name)].count("round_complete")
            fork = await client.fork(name, at_round=1, focus_question="With milk?")
            got["forked"] = [event.type async for event in client.watch(fork)][-1]
            got["control"] = await control(client)
            got["synthesis"] = await client.synthesize(name)
            got["approvals"] = await client.approvals(name)
            with pytest.raises(RoundtableError, match="waiting") as unknown:
                await client.decide_approval(name, "nobody", allowed=True)
            got["unknown"] = unknown.value.code
            got["agents"], got["modes"] = await client.agents(), await client.modes()
            got["profiles"], got["me"] = await client.profiles(), await client.me()
            await client.delete(name)
            with pytest.raises(SessionNotFound):
                await client.result(name)
        group.cancel_scope.cancel()
    return got


@pytest.fixture(scope="session")
def got() -> dict[str, Any]:
    """What the client got."""
    return anyio.run(use_client)


@shows(4, "function", "startMultiAgentConversation")
def test_the_client_starts_conversations_and_reads_typed_events(got: dict[str, Any]) -> None:
    assert got["team"].answer.startswith("Call in this order: 1. ")
    assert got["kinds"][0] == "conversation_start"
    assert got["kinds"][-1] == "conversation_complete"


def test_the_client_holds_debates(got: dict[str, Any]) -> None:
    assert (len(got["debate"].rounds), got["debate"].status) == (2, "completed")
    assert got["control"] == ["paused", "partial", "stopped"]
    assert got["synthesis"].recommendation == "Brew."
    assert got["debate"].answer == "Tea"
    assert (got["watched"][-1], got["result"].status) == ("debate_complete", "completed")
    assert [one.topic for one in got["sessions"].sessions] == ["Cocoa?"]
    assert got["export"].startswith(b"# Cocoa?")
    assert (got["extended"], got["forked"]) == (2, "debate_complete")
    assert "collaborative" in str(got["modes"])
    assert got["agents"]["agents"]
    assert "data-steward" in str(got["profiles"])
    assert got["me"]["user"] == "ann"
    assert (got["approvals"], got["unknown"]) == ((), "NOT_FOUND")


async def test_a_closed_client_ends_its_connections() -> None:
    ended = anyio.Event()

    async def answer(stream: SocketStream) -> None:
        async with stream:
            assert b"GET /api/me" in await stream.receive()
            await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
            ended.set()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        client = RoundtableClient(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}")
        assert await client.me() == {}
        assert not ended.is_set()
        await client.aclose()
        with anyio.fail_after(5):
            await ended.wait()
        group.cancel_scope.cancel()


def test_limits_come_from_the_environment() -> None:
    assert Limits.from_settings(Settings.from_env({})) == Limits()
