"""Debates that outlast a call: waiting, progress, cancelling, context requests, questions to the user."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from integration.engine_kit import Asked, seated
from integration.mcp_kit import ERAS, answer, call, connected, held_talkers, refused, server_of, talkers
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.mcp import McpServer
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import AgentConfig, ChatRequest, ChatResponse, SessionRecord, ToolCall


@pytest.mark.parametrize("era", ERAS)
async def test_progress_grows_with_turns_and_rounds(era: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with connected(server_of(talkers(0.01), heartbeat_s=0.01), era) as client:
        result = await client.call_tool("start_roundtable", {"topic": "Tea?", "rounds": 2}, progress_callback=hear)
        session = result.structured_content["sessionId"]
    values = [value for value, _, _ in heard]
    assert values == sorted(set(values))
    assert max(value for value, _, message in heard if "the debate is running" not in (message or "")) == 2.0
    assert max(values) < 3.0  # a debate that ends slowly is told to go on after its last round
    told = [message or "" for _, total, message in heard if total == 2.0]
    assert all(message.startswith(f"session {session}: ") for message in told)
    for word in ("round 1 of 2 begins", "Ada answered", "round 2 of 2 is complete", "the debate is running"):
        assert any(word in message for message in told)


async def test_a_caller_is_told_that_an_answer_is_being_written() -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((message or "").partition(": ")[2])

    agents = scripted_agents({"ada": [Delay(0.4, "Tea")]})
    async with connected(server_of(agents, heartbeat_s=0.05)) as client:
        await client.call_tool("start_roundtable", {"topic": "Tea?", "rounds": 1}, progress_callback=hear)
    assert "the debate is running" in heard[1 : heard.index("round 1 of 1: Ada answered")]


async def test_models_are_asked_for_whole_answers_since_progress_shows_no_pieces() -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((message or "").partition(": ")[2])

    model = Asked()
    async with connected(server_of(seated(model, "ada", "bo"))) as client:
        await client.call_tool("start_roundtable", {"topic": "Tea?", "rounds": 1}, progress_callback=hear)
    assert "round 1 of 1: Ada answered" in heard
    assert (model.streamed, model.whole) == (0, 2)


async def test_a_caller_is_told_that_a_synthesis_is_being_written() -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    written = json.dumps({"conclusion": "Tea.", "recommendation": "Tea.", "confidence": 0.8})
    agents = scripted_agents({"ada": ["Tea", Delay(0.2, written)]})
    async with connected(server_of(agents, heartbeat_s=0.02)) as client:
        named = {"sessionId": (await call(client, "start_roundtable", topic="Tea?", rounds=1))["sessionId"]}
        done = await client.call_tool("synthesize_debate", named | {"synthesizer": "ada"}, progress_callback=hear)
    assert done.structured_content["synthesis"]["conclusion"] == "Tea."
    assert heard[0] == (1.0, None, f"session {named['sessionId']}: the synthesis is being written")


@pytest.mark.parametrize("era", ERAS)
async def test_a_debate_that_outlasts_its_call_is_followed(era: str) -> None:
    agents, model = held_talkers()
    async with connected(server_of(agents), era) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=3, wait=0)
        assert (begun["status"], begun["running"]) == ("in_progress", True)
        assert begun["nextStep"]["tool"] == "get_round_details"
        named = {"sessionId": begun["sessionId"]}
        for tool in ("get_round_details", "get_consensus"):
            early = await refused(client, tool, **named, roundNumber=3)
            assert (early["code"], early["retryable"], "started yet" in early["message"]) == (
                "NOT_FOUND",
                True,
                True,
            )
            late = await refused(client, tool, **named, roundNumber=4)
            assert (late["code"], late["retryable"]) == ("NOT_FOUND", False)
        busy = await refused(client, "continue_roundtable", **named, rounds=1)
        assert (busy["code"], busy["retryable"]) == ("SESSION_ERROR", True)
        await call(client, "get_consensus", **named)
        model.let()
        first = await call(client, "get_consensus", **named, wait=20)
        assert (first["analyzedRound"], first["status"]) == (3, "completed")
        held = await call(client, "get_round_details", **named, roundNumber=3, wait=20)
        assert held["complete"]


@pytest.mark.slow
async def test_waiting_for_a_round_ends_with_the_round() -> None:
    agents, model = held_talkers()
    async with connected(server_of(agents)) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=10, wait=0.02)
        named = {"sessionId": begun["sessionId"]}
        model.let(3)
        held = await call(client, "get_round_details", **named, roundNumber=1, wait=20)
        assert (held["complete"], held["status"]) == (True, "in_progress")
        again = await call(client, "get_round_details", **named, roundNumber=1, wait=20)
        assert (again["complete"], again["status"]) == (True, "in_progress")
        paused = await call(client, "control_session", **named, action="pause")
        assert paused["previousStatus"] == "active"
        await anyio.sleep(0.5)  # it is looked for four times a second
        model.let(3)
        rested = await call(client, "get_consensus", **named, wait=20)
        assert rested["sessionStatus"] == "paused"
        resumed = await call(client, "control_session", **named, action="resume")
        assert (resumed["previousStatus"], resumed["newStatus"]) == ("paused", "active")
        stopped = await call(client, "control_session", **named, action="stop")
        assert stopped["action"] == "stop"
        done = await call(client, "get_consensus", **named, wait=20)
        assert (done["sessionStatus"], done["exit"]["reason"]) == ("completed", "stopped")


@pytest.mark.parametrize("leaves", ["detach", "stop"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_is_cancelled_detaches_or_stops(era: str, leaves: str) -> None:
    agents, model = held_talkers()
    async with connected(server_of(agents), era) as client:
        begun = anyio.Event()

        async def hear(*_: object) -> None:
            begun.set()

        async with anyio.create_task_group() as group:

            async def start() -> None:
                asked = {"topic": "Tea?", "rounds": 3, "onCancel": leaves}
                await client.call_tool("start_roundtable", asked, progress_callback=hear)

            group.start_soon(start)
            await begun.wait()
            group.cancel_scope.cancel()
        if leaves == "detach":
            model.let()
        listed = await call(client, "list_sessions")
        named = {"sessionId": listed["sessions"][0]["id"]}
        with anyio.fail_after(20):
            state: dict[str, Any] = {}
            while state.get("sessionStatus") != "completed":
                state = await call(client, "get_round_details", **named, roundNumber=1, wait=20)
                await anyio.sleep(0.01)
        assert state["currentRound"] == (3 if leaves == "detach" else 1)


class SlowStorage(MemoryStorage):
    """A storage that keeps a session some time before it says so."""

    def __init__(self) -> None:
        super().__init__()
        self.created = anyio.Event()

    async def create(self, record: SessionRecord) -> None:
        await super().create(record)
        self.created.set()
        await anyio.sleep(0.1)


async def test_a_call_that_is_cancelled_during_the_start_leaves_no_idle_session() -> None:
    storage = SlowStorage()
    async with connected(server_of(storage=storage)) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "start_roundtable", {"topic": "Tea?", "rounds": 1})
            await storage.created.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            status = ""
            while status != "completed":
                status = (await call(client, "list_sessions"))["sessions"][0]["status"]


QUERY = "How many boxes?"


def asking_server() -> McpServer:
    """Return a server with an agent that asks for a figure in the first round."""

    def reply(request: ChatRequest) -> Any:
        asked = any(message.tool_calls for message in request.messages)
        if request.metadata["round"] != "1" or asked:
            return answer("Tea")
        wish = ToolCall(id="c", name="request_context", arguments={"query": QUERY, "reason": "It decides."})
        return ChatResponse(text="", finish_reason="tool_calls", tool_calls=(wish,))

    storage = MemoryStorage()

    def make(tenant: str) -> Roundtable:
        agents = [
            BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted"), ScriptedModel(script))
            for name, script in (("ada", reply), ("bo", lambda _: answer("Tea")))
        ]
        return Roundtable(agents, storage=storage, tools=["request_context"], tenant=tenant)

    return McpServer(make)


async def waiting(client: Client) -> tuple[dict[str, str], str]:
    begun = await call(client, "start_roundtable", topic="Tea?", rounds=2)
    assert (begun["status"], begun["sessionStatus"]) == ("needs_context", "paused")
    assert begun["nextStep"]["tool"] == "continue_roundtable"
    (asked,) = begun["contextRequests"]
    assert (asked["query"], asked["agentId"], asked["priority"]) == (QUERY, "ada", "required")
    return {"sessionId": begun["sessionId"]}, asked["id"]


async def test_agents_ask_and_the_caller_answers() -> None:
    async with connected(asking_server()) as client:
        named, asked = await waiting(client)
        error = await refused(client, "continue_roundtable", **named)
        assert [one["id"] for one in error["details"]["missing"]] == [asked]
        resumed = await refused(client, "control_session", **named, action="resume")
        for told in (error, resumed):
            assert (told["code"], QUERY in told["message"]) == ("SESSION_ERROR", True)
            assert "contextResults" in told["hint"]  # what a caller of tools can do, not one of Python
            assert "context_results" not in told["hint"]
        given = [{"requestId": asked, "success": True, "result": "Two boxes."}]
        done = await call(client, "continue_roundtable", **named, contextResults=given)
        assert (done["status"], done.get("contextRequests")) == ("completed", [])
        named, _ = await waiting(client)
        assert (await call(client, "continue_roundtable", **named, force=True))["status"] == "completed"


@pytest.mark.parametrize("era", ERAS)
async def test_the_user_is_asked_if_the_client_supports_it(era: str) -> None:
    heard: list[str] = []
    replies = [
        types.ElicitResult(action="cancel"),
        types.ElicitResult(action="accept", content={"answer": "Two boxes."}),
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="accept", content={"answer": " "}),
    ]

    async def put(_: object, question: Any) -> types.ElicitResult:
        heard.append(question.message)
        return replies.pop(0)

    async with connected(asking_server(), era, elicitation_callback=put) as client:
        named, _ = await waiting(client)
        assert (await refused(client, "continue_roundtable", **named))["code"] == "SESSION_ERROR"
        assert (await call(client, "continue_roundtable", **named))["status"] == "completed"
        exported = await call(client, "export_session", **named, format="json")
        assert "Two boxes." in exported["content"]
        for _ in range(2):
            named, _ = await waiting(client)
            assert (await call(client, "continue_roundtable", **named))["status"] == "completed"
            exported = await call(client, "export_session", **named, format="json")
            assert "the user gave no answer" in exported["content"]
    assert heard == [f"Ada asks: {QUERY}"] * 4


async def test_a_resource_of_a_session_with_any_id_is_read() -> None:
    storage = MemoryStorage()
    await Roundtable(scripted_agents({"ada": "Tea"}), storage=storage).debate_once("job 1 é", "Tea?", rounds=1)
    async with connected(server_of(storage=storage)) as client:
        (content,) = (await client.read_resource("roundtable://sessions/job%201%20%C3%A9")).contents
    assert "# Tea?" in content.text


@pytest.mark.parametrize("era", ERAS)
async def test_resources_are_read(era: str) -> None:
    async with connected(server_of(), era) as client:
        done = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        place = f"roundtable://sessions/{done['sessionId']}"
        listed = [one.uri for one in (await client.list_resources()).resources]
        assert listed[:3] == ["roundtable://sessions", "roundtable://modes", "roundtable://modes/collaborative"]
        assert len((await client.list_resource_templates()).resource_templates) == 4
        for uri, kind, part in (
            ("roundtable://sessions", "application/json", done["sessionId"]),
            (place, "text/markdown", "# Tea?"),
            (f"{place}/json", "application/json", '"events"'),
            (f"{place}/rounds/1", "application/json", '"position": "Tea"'),
            ("roundtable://modes", "text/markdown", "- **delphi**: "),
            ("roundtable://modes/delphi", "text/markdown", "Use it when: "),
            ("roundtable://modes/oxford", "text/markdown", "Sides are assigned"),
        ):
            (content,) = (await client.read_resource(uri)).contents
            assert (content.mime_type, part in content.text) == (kind, True), uri
        for uri in (
            "roundtable://modes/shouting",
            "roundtable://sessions/nobody",
            f"{place}/rounds/2",
            f"{place}/rounds/x",
            f"{place}/rounds/0",
            f"{place}/rounds/{'9' * 5000}",
            "roundtable://sessions//rounds/1",
            f"roundtable://sessions/{'x' * 201}/rounds/1",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError, match=r"no |unknown ") as caught:
                await client.read_resource(uri)
            assert caught.value.error.data["code"] != "INTERNAL_ERROR"


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_are_listed_and_returned(era: str) -> None:
    async with connected(server_of(), era) as client:
        listed = {one.name: one for one in (await client.list_prompts()).prompts}
        assert [*listed] == ["debate_this", "red_team_this", "decide_between"]
        for name, arguments in (
            ("debate_this", {"topic": "Tea or coffee?", "mode": "delphi"}),
            ("debate_this", {"topic": "Tea or coffee?"}),
            ("red_team_this", {"plan": "Move to tea."}),
            ("decide_between", {"question": "What to drink?", "options": "tea, coffee"}),
        ):
            (message,) = (await client.get_prompt(name, arguments)).messages
            assert all(value in message.content.text for value in arguments.values())
            assert "start_roundtable" in message.content.text
        for name, arguments, said in (
            ("sing", {}, "unknown prompt 'sing'"),
            ("debate_this", {}, "topic is missing"),
            ("debate_this", {"topic": "x", "tune": "y"}, "tune is unknown"),
            ("debate_this", {"topic": "x" * 10_001}, "at most 10,000"),
        ):
            with pytest.raises(MCPError, match=said):
                await client.get_prompt(name, arguments)


async def test_further_rounds_keep_to_a_budget_and_a_deadline() -> None:
    async with connected(server_of()) as client:
        begun = await call(client, "start_roundtable", topic="Tea?", rounds=1)
        named = {"sessionId": begun["sessionId"]}
        more = await call(client, "continue_roundtable", **named, rounds=2, budget={"maxCalls": 4}, deadlineS=60)
        assert (more["sessionStatus"], more["exit"]["reason"]) == ("paused", "budget"), more
        used_up = await refused(client, "continue_roundtable", **named, rounds=1, budget={"maxCalls": 4})
        assert "made 4 calls; its budget is 4" in json.dumps(used_up)
        wrong = await refused(client, "continue_roundtable", **named, rounds=1, budget={"maxCalls": 0})
        assert "budget" in json.dumps(wrong)
