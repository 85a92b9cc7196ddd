"""What each tool says when it cannot do what it is asked: a code, words, and what would be right; never a stack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from integration.mcp_kit import ERAS, call, connected, refused, server_of, talkers
from integration.test_mcp_runs import asking_server, waiting
from mcp.shared.exceptions import MCPError

from roundtable import Roundtable
from roundtable.errors import APIAuthError, ContextTooLong, StorageError
from roundtable.mcp import TOOLS, McpServer
from roundtable.mcp.errors import error_of
from roundtable.testing import scripted_agents
from roundtable.testing.storage_samples import nested

FORM = "INVALID_ARGUMENTS"
CHOICE = "CONFIGURATION_ERROR"
STATE = "SESSION_ERROR"
GONE = "NOT_FOUND"
ROWS: tuple[tuple[str, str, dict[str, Any], str, str], ...] = (
    # tool, session it is about, other arguments, code, words of the message
    ("start_roundtable", "", {}, FORM, "topic: Field required"),
    ("start_roundtable", "", {"topic": "T?", "agents": []}, FORM, "agents: "),
    ("start_roundtable", "", {"topic": "T?", "agents": ["ada"], "agentCount": 2}, FORM, "cannot be combined"),
    ("start_roundtable", "", {"topic": "T?", "agents": {}}, FORM, "agents: Input should be a valid list"),
    ("start_roundtable", "", {"topic": "T?", "perspectives": [{}]}, FORM, "perspectives.0.name: Field required"),
    (
        "start_roundtable",
        "",
        {"topic": "T?", "perspectives": [7]},
        FORM,
        "perspectives.0: Input should be a valid object",
    ),
    ("start_roundtable", "", {"topic": "T?", "k" * 9000: 1}, FORM, f"arguments. {'k' * 80}: Extra inputs"),
    ("start_roundtable", "", {"topic": "T?", "rounds": "many"}, FORM, "rounds: "),
    ("start_roundtable", "", {"topic": "T?", "metadata": {"x": nested(64)}}, FORM, "metadata is nested more than 64"),
    ("start_roundtable", "", {"topic": "T?", "agents": ["eve"]}, "AGENT_NOT_FOUND", "no agent 'eve'"),
    ("start_roundtable", "", {"topic": "T?", "agents": ["ada", "ada"]}, CHOICE, "the same id: 'ada'"),
    ("start_roundtable", "", {"topic": "T?", "agentCount": 9}, CHOICE, "4 agents, not 9"),
    ("start_roundtable", "", {"topic": "T?", "mode": "shouting"}, CHOICE, "unknown mode 'shouting'"),
    ("start_roundtable", "", {"topic": "T?", "rounds": 11}, CHOICE, "1 to 10, not 11"),
    ("start_roundtable", "", {"topic": "T?", "options": ["a", "a"]}, CHOICE, "all different"),
    ("start_roundtable", "", {"topic": "T?", "perspectives": ["Cost"]}, CHOICE, "does not use perspectives"),
    ("continue_roundtable", "none", {}, STATE, "unknown session"),
    ("continue_roundtable", "done", {"rounds": 0}, FORM, "rounds: "),
    ("continue_roundtable", "done", {"rounds": 50}, CHOICE, "1 to 10, not 50"),
    ("continue_roundtable", "done", {"contextResults": [{"success": True}]}, FORM, "contextResults.0.requestId: "),
    ("get_consensus", "none", {}, STATE, "unknown session"),
    ("get_consensus", "done", {"roundNumber": 0}, FORM, "roundNumber: "),
    ("get_consensus", "done", {"roundNumber": 2}, GONE, "no round 2"),
    ("get_consensus", "broken", {}, GONE, "no measured consensus"),
    ("get_agents", "", {"verbose": True}, FORM, "verbose: "),
    ("list_sessions", "", {"limit": 0}, FORM, "limit: "),
    ("list_sessions", "", {"fromDate": "yesterday"}, FORM, "fromDate: "),
    ("list_sessions", "", {"status": "lost"}, FORM, "status: "),
    ("list_sessions", "", {"cursor": "nonsense"}, FORM, "cursor: it must be the nextCursor of the previous page"),
    ("get_thoughts", "none", {"agentId": "ada"}, STATE, "unknown session"),
    ("get_thoughts", "done", {"agentId": "eve"}, GONE, "no agent 'eve'"),
    ("get_thoughts", "broken", {"agentId": "deaf"}, GONE, "gave no answer"),
    ("export_session", "none", {}, STATE, "unknown session"),
    ("export_session", "done", {"format": "pdf"}, FORM, "format: "),
    ("control_session", "none", {"action": "stop"}, STATE, "unknown session"),
    ("control_session", "done", {"action": "explode"}, FORM, "action: "),
    ("control_session", "done", {"action": "pause"}, STATE, "completed"),
    ("control_session", "done", {"action": "stop"}, STATE, "completed"),
    ("control_session", "done", {"action": "resume"}, STATE, "completed"),
    ("control_session", "begun", {"action": "resume"}, STATE, "active"),
    ("get_round_details", "none", {"roundNumber": 1}, STATE, "unknown session"),
    ("get_round_details", "done", {}, FORM, "roundNumber: Field required"),
    ("get_round_details", "done", {"roundNumber": 2}, GONE, "no round 2"),
    ("get_response_detail", "none", {"agentId": "ada"}, STATE, "unknown session"),
    ("get_response_detail", "done", {"agentId": "ada", "roundNumber": 2}, GONE, "no round 2"),
    ("get_response_detail", "done", {"agentId": "eve"}, GONE, "no agent 'eve'"),
    ("get_citations", "none", {}, STATE, "unknown session"),
    ("get_citations", "done", {"agentId": "eve"}, GONE, "no agent 'eve'"),
    ("get_citations", "done", {"roundNumber": 2}, GONE, "no round 2"),
    ("synthesize_debate", "none", {}, STATE, "unknown session"),
    ("synthesize_debate", "done", {"synthesizer": "eve"}, GONE, "no agent 'eve'"),
)
UNKNOWN = ("0" * 32, "../../etc/passwd", "a\0b", "' OR 1=1 --", "x" * 200)


@pytest.mark.parametrize("era", ERAS)
async def test_every_failure_of_a_tool_has_its_error(era: str) -> None:
    seats = [*talkers(), *scripted_agents({"deaf": [ValueError("the kettle is broken")]})]
    async with connected(server_of(seats), era) as client:
        lost = await refused(client, "start_roundtable", topic="Tea?", agents=["deaf"], rounds=1)
        begun = await call(client, "start_roundtable", topic="Tea?", agentCount=3, rounds=2, step=True)
        done = await call(client, "start_roundtable", topic="Tea?", agentCount=3, rounds=1)
        sessions = {"done": done, "begun": begun, "broken": lost, "none": {"sessionId": UNKNOWN[0]}}
        for tool, about, arguments, code, words in ROWS:
            named = {"sessionId": sessions[about]["sessionId"]} if about else {}
            error = await refused(client, tool, **named, **arguments)
            assert (error["code"], words in error["message"]) == (code, True), (tool, arguments, error)
            check(error)
        for session in UNKNOWN:
            error = await refused(client, "get_thoughts", sessionId=session, agentId="ada")
            assert error["name"] == "SessionNotFound"
    assert {row[0] for row in ROWS} == TOOLS.keys()


def check(error: dict[str, Any]) -> None:
    """Check what every error has, and what none has."""
    assert error.keys() >= {"name", "message", "code", "retryable"}
    assert all(one["allowed"] is not None for one in error.get("details", {}).get("problems", []))
    for word in (
        "Traceback",
        "errors.pydantic.dev",
        "input_value",
        "$ref",
        "tuple[",
        "Tuple",
        "dictionary",
        str(Path(__file__).parents[2]),
    ):
        assert word not in str(error)


async def test_a_refusal_lists_everything_that_is_allowed() -> None:
    async with connected(server_of()) as client:
        given = [{"success": True, "result": "x"}]
        error = await refused(client, "continue_roundtable", sessionId="s", contextResults=given)
        (problem,) = error["details"]["problems"]
        assert problem["allowed"]["items"]["properties"].keys() >= {"requestId", "success", "result", "error"}
        many = await refused(client, "start_roundtable", **{f"x{place}": 1 for place in range(100)})
        assert len(many["details"]["problems"]) == 20
        kinds = await refused(client, "start_roundtable", topic="Tea?", search={"maxUses": 0})
        assert {one["field"] for one in kinds["details"]["problems"]} == {"search", "search.maxUses"}


def test_an_error_in_a_group_of_tasks_is_reported() -> None:
    told = error_of(ExceptionGroup("unhandled errors", [ExceptionGroup("", [StorageError("the disk is full")])]))
    assert (told["code"], told["message"]) == ("STORAGE_ERROR", "the disk is full")


async def test_the_message_of_a_provider_reaches_the_caller() -> None:
    too_long = ContextTooLong(provider="anthropic", request_id="req_1")
    agents = scripted_agents({"ada": [APIAuthError("key refused", provider="openai")], "bo": [too_long]})
    async with connected(server_of(agents)) as client:
        error = await refused(client, "start_roundtable", topic="Tea?", rounds=1)
        check(error)
    assert (error["code"], error["retryable"]) == ("QUORUM_LOST", True)
    assert error["hint"].endswith("Then resume the session.")
    failed = {one["agentId"]: one for one in error["details"]["failed"]}
    assert (failed["ada"]["code"], failed["ada"]["provider"]) == ("API_AUTH_FAILED", "openai")
    assert (failed["bo"]["provider"], failed["bo"]["requestId"]) == ("anthropic", "req_1")


async def test_unexpected_context_results_are_refused_and_no_round_is_run() -> None:
    async with connected(asking_server()) as client:
        named, asked = await waiting(client)
        right = {"requestId": asked, "success": True, "result": "Two boxes."}
        for given, field in (
            ([right, {"requestId": "ctx-0", "success": True, "result": "x"}], "contextResults.1.requestId"),
            ([{"requestId": asked, "success": True}], "contextResults.0.result"),
            ([{"requestId": asked, "success": True, "result": " "}], "contextResults.0.result"),
        ):
            error = await refused(client, "continue_roundtable", **named, contextResults=given)
            (problem,) = error["details"]["problems"]
            assert (error["code"], problem["field"]) == (FORM, field)
        assert problem["allowed"]
        done = await call(client, "continue_roundtable", **named, contextResults=[right])
        assert done["totalRounds"] == done["currentRound"] == 2
        # The same once more, by a client that lost the answer: no third round.
        error = await refused(client, "continue_roundtable", **named, contextResults=[right])
        assert error["details"]["problems"][0]["allowed"] == []
        assert (await call(client, "get_consensus", **named))["currentRound"] == 2


@pytest.mark.parametrize("era", ERAS)
async def test_an_unexpected_error_is_reported_by_its_kind_and_logged(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: str) -> Roundtable:
        raise ValueError("no sk-canary-0123456789 in /home/ada/debates.db")

    async with connected(McpServer(broken), era) as client:
        error = await refused(client, "get_agents")
        check(error)
        with pytest.raises(MCPError) as caught:
            await client.list_resources()
    for told in (str(error), str(caught.value), str(caught.value.error)):
        assert "ValueError" in told
        assert not re.search("canary|/home", told)
    assert (error["code"], error["retryable"]) == ("INTERNAL_ERROR", False)
    assert error["requestId"] in error["hint"]
    assert "eport it" in error["hint"]
    assert f"a tool failed ({error['requestId']}): no sk-canary" in caplog.text
