"""`POST /api/chat/multi`: requests, the sixteen events, errors and limits, as seed 004 has them."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx
import pytest
from integration.server_kit import client_of, parsed, served_table, token_for

import roundtable as rt
from roundtable.api import AgentProfile
from roundtable.errors import AgentError, StorageError
from roundtable.providers import Delay
from roundtable.server import Limits
from roundtable.server.routes.chat import FIELDS, team_chat_event
from roundtable.testing import ScriptedModel
from roundtable.types import AgentToolResult, DebateError, ErrorInfo, ModelProfile, utc_now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

PATH = "/api/chat/multi"
PLAN = {
    "goal": "Identify high-value healthcare prospects using customer database analysis and contact history filtering",
    "strategy": "Combine data analysis with prospect scoring",
    "successCriteria": ["Identify at least 10 qualified prospects", "Include contact timeline analysis"],
}
QUERY = {"query": "SELECT Id, Name, Industry, LastContactDate FROM Account WHERE Industry = 'Healthcare'"}
ACCOUNTS = {"accounts": [{"Id": "001XX", "Name": "General Hospital", "LastContactDate": "2023-07-15"}], "more": None}
ASKED = {
    "agents": ["data-steward", "prospect-finder"],
    "rounds": 2,
    "messages": [{"role": "user", "content": "Find high-value prospects in the healthcare industry."}],
}
DEAD = AgentError("the model is gone")
M = TypeVar("M", bound=ScriptedModel)


@rt.tool(name="getSFDCData")
def accounts(query: str) -> dict[str, Any]:
    """Query the customer database."""
    return ACCOUNTS


@rt.tool
def notes(topic: str) -> str:
    """Look into the notes."""
    return f"nothing on {topic}"


def team_model(kind: type[M], **says: Any) -> M:
    """Return the model of a team that looks for prospects."""
    script = {
        "initiator": PLAN,
        "data-steward": [
            {"toolCalls": [{"name": "getSFDCData", "args": QUERY, "id": "tool_1"}]},
            "I found 150. 45 fit.",
        ],
        "prospect-finder": "Ranked.",
        "summarizer": "12 prospects.",
        **says,
    }
    return kind(script, chunks=2, profile=ModelProfile(streams=True))


def team_table(
    storage: str = "memory://", profiles: Any = None, model: ScriptedModel | None = None, **says: Any
) -> rt.Roundtable:
    profiles = profiles or [AgentProfile("data-steward", tools=["getSFDCData"]), AgentProfile("prospect-finder")]
    return rt.Roundtable(
        [model or team_model(ScriptedModel, **says)], storage=storage, tools=[accounts, notes], profiles=profiles
    )


@asynccontextmanager
async def asking(table: rt.Roundtable | None = None, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(table or team_table(), **options) as web:
        yield web


async def told(web: httpx.AsyncClient, **changes: Any) -> list[dict[str, Any]]:
    answer = await web.post(PATH, json={**ASKED, **changes})
    assert answer.status_code == 200, answer.text
    return parsed(answer.text)


async def test_the_example_of_the_seed_is_streamed_event_by_event() -> None:
    call = {"toolCalls": [{"name": "getSFDCData", "args": QUERY, "id": "tool_1"}]}
    says = {"data-steward": [call, "I found 150. 45 fit.", "Nothing new."]}
    async with asking(team_table(**says)) as web:
        answer = await web.post(PATH, json=ASKED)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert {"ratelimit", "ratelimit-policy", "x-request-id"} <= set(answer.headers)
    events = parsed(answer.text)
    chunks = ["agent_response_chunk", "agent_response_chunk"]
    tools = ["agent_tool_call", "agent_tool_result"]
    assert [event["type"] for event in events] == [
        *("conversation_start", "initiator_start", "initiator_complete"),
        *("round_start", "agent_start", *tools, *chunks, "agent_complete"),
        *("agent_start", *chunks, "agent_complete", "round_complete"),
        *("round_start", "agent_start", *chunks, "agent_complete"),
        *("agent_start", *chunks, "agent_complete", "round_complete"),
        *("summarizer_start", "summarizer_chunk", "summarizer_chunk", "conversation_complete"),
    ]
    for event in events:
        assert list(event) == ["type", "data"]
        assert list(event["data"]) == list(FIELDS[event["type"]])
        assert event["data"]["timestamp"].endswith("Z")
    first = {event["type"]: event["data"] for event in reversed(events)}
    assert (first["conversation_start"]["agents"], first["conversation_start"]["rounds"]) == (ASKED["agents"], 2)
    assert {name: first["initiator_complete"][name] for name in PLAN} == PLAN
    assert (first["round_start"]["goal"], first["agent_start"]["maxSteps"]) == (PLAN["goal"], 4)
    assert first["agent_tool_call"]["toolCall"] == {"name": "getSFDCData", "args": QUERY, "id": "tool_1"}
    assert (first["agent_tool_result"]["toolCallId"], first["agent_tool_result"]["step"]) == ("tool_1", 1)
    assert first["agent_tool_result"]["result"] == ACCOUNTS
    done = first["agent_complete"]
    assert done["toolCalls"] == [{"name": "getSFDCData", "args": QUERY}]
    assert (done["response"], done["steps"], done["finishReason"]) == ("I found 150. 45 fit.", 2, "completed")
    results = first["round_complete"]["results"]
    assert [list(one) for one in results] == [["agent", "response", "toolCalls", "steps"]] * 2
    assert [one["agent"] for one in results] == ASKED["agents"]
    end = first["conversation_complete"]
    assert (end["summary"], end["totalRounds"], end["totalAgents"]) == ("12 prospects.", 2, 2)
    assert 0 <= end["executionTime"] < 60


async def test_the_event_of_a_failed_agent_says_what_happens_next() -> None:
    profiles = [AgentProfile("data-steward", on_error="retry"), AgentProfile("prospect-finder")]
    async with asking(team_table(profiles=profiles, **{"data-steward": DEAD})) as web:
        events = await told(web, rounds=1)
    errors = [event["data"] for event in events if event["type"] == "agent_error"]
    assert [one["action"] for one in errors] == ["retry", "skip"]
    assert list(errors[0]) == list(FIELDS["agent_error"])
    assert events[-1]["type"] == "conversation_complete"


@pytest.mark.parametrize("everybody", [False, True])
async def test_the_reason_for_the_end_of_a_conversation_is_its_last_event(everybody: bool) -> None:
    profiles = [
        AgentProfile("data-steward", on_error="skip" if everybody else "abort"),
        AgentProfile("prospect-finder"),
    ]
    async with asking(team_table(profiles=profiles, **{"data-steward": DEAD, "prospect-finder": DEAD})) as web:
        last = (await told(web, rounds=1))[-1]
    assert (last["type"], last["data"]["code"]) == ("error", "AGENT_EXECUTION_FAILED")
    assert last["data"]["recoverable"] is True
    assert list(last["data"]) == [name for name in FIELDS["error"] if name in last["data"]]


async def test_a_conversation_that_takes_too_long_says_so_in_its_stream() -> None:
    async with asking(team_table(initiator=Delay(60, "late")), conversation_s=0.3) as web:
        last = (await told(web))[-1]
    assert (last["type"], last["data"]["code"]) == ("error", "CONVERSATION_TIMEOUT")


@pytest.mark.parametrize(
    ("how", "code", "recoverable"),
    [("pause", "CONVERSATION_PAUSED", True), ("stop", "CONVERSATION_STOPPED", False)],
)
async def test_stopping_a_conversation_ends_its_stream(how: str, code: str, recoverable: bool) -> None:
    table = team_table(**{"data-steward": Delay(5, "late")})
    async with asking(table) as web, web.stream("POST", PATH, json=ASKED) as answer:
        text = ""
        async for piece in answer.aiter_text():
            text += piece
            if '"agent_start"' in text and how:
                session = parsed(text)[0]["data"]["sessionId"]
                # Another process asks; requests of its own are tested with the endpoints.
                await getattr(table, how)(session, running="cancel")
                how = ""
        last = parsed(text)[-1]
    assert (last["type"], last["data"]["code"], last["data"]["recoverable"]) == ("error", code, recoverable)


UNFIT: tuple[tuple[dict[str, Any], int, str, str], ...] = (
    ({"agents": []}, 400, "VALIDATION_ERROR", "agents"),
    ({"agents": ["data-steward"] * 6}, 400, "VALIDATION_ERROR", "agents"),
    ({"agents": ["data-steward", "data-steward"]}, 400, "VALIDATION_ERROR", "agents"),
    ({"agents": "data-steward"}, 400, "VALIDATION_ERROR", "agents"),
    ({"agents": [7]}, 400, "VALIDATION_ERROR", "agents.0"),
    ({"agents": ["nobody"]}, 404, "AGENT_NOT_FOUND", "agents"),
    ({"rounds": 0}, 400, "VALIDATION_ERROR", "rounds"),
    ({"rounds": 11}, 400, "MAX_ROUNDS_EXCEEDED", "rounds"),
    ({"rounds": 10**30}, 400, "MAX_ROUNDS_EXCEEDED", "rounds"),
    ({"rounds": "2"}, 400, "VALIDATION_ERROR", "rounds"),
    ({"rounds": 1.5}, 400, "VALIDATION_ERROR", "rounds"),
    ({"rounds": True}, 400, "VALIDATION_ERROR", "rounds"),
    ({"messages": []}, 400, "VALIDATION_ERROR", "messages"),
    ({"messages": [{"role": "assistant", "content": "Hi"}]}, 400, "VALIDATION_ERROR", "messages"),
    ({"messages": [{"role": "user", "content": " "}]}, 400, "VALIDATION_ERROR", "messages"),
    ({"messages": [{"role": "robot", "content": "Hi"}]}, 400, "VALIDATION_ERROR", "messages.0.role"),
    ({"messages": [{"role": "user"}]}, 400, "VALIDATION_ERROR", "messages.0.content"),
    ({"messages": [{"role": "user", "content": 7}]}, 400, "VALIDATION_ERROR", "messages.0.content"),
    ({"messages": [{"role": "user", "content": "x" * 10_001}]}, 400, "VALIDATION_ERROR", "messages"),
    ({"round": 1}, 400, "VALIDATION_ERROR", "round"),
)


async def test_an_invalid_request_is_refused_with_its_field_and_is_not_counted() -> None:
    table = team_table()
    async with asking(table, limits=Limits(conversations_per_hour=1)) as web:
        for changes, status, code, field in UNFIT:
            answer = await web.post(PATH, json={**ASKED, **changes})
            body = answer.json()
            assert (answer.status_code, body["code"], body["details"]["field"]) == (status, code, field), changes
            assert {"error", "code", "details", "timestamp", "requestId"} <= set(body)
            assert body["details"]["message"]
            assert body["requestId"] == answer.headers["x-request-id"]
        assert await table.sessions() == ()
        assert (await told(web, rounds=1))[-1]["type"] == "conversation_complete"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": []}, "List should have at least 1 item, not 0"),
        ({"stream": True}, "unknown field; choose from agents, rounds, messages"),
        ({"messages": [{"role": "user", "content": "Hi", "name": "ann"}]}, "unknown field"),
    ],
)
async def test_an_invalid_request_is_described_in_terms_of_json(changes: dict[str, Any], message: str) -> None:
    async with asking(team_table()) as web:
        refused = (await web.post(PATH, json={**ASKED, **changes})).json()
    assert refused["details"]["message"] == message


async def test_messages_may_have_every_field_of_the_seed() -> None:
    call = {"id": "1", "name": "getSFDCData", "args": QUERY}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "", "toolCalls": [call], "timestamp": "2024-01-15T10:00:00Z"},
        {"role": "user", "content": "Go on.", "timestamp": "2024-01-15T10:00:05Z"},
    ]
    async with asking() as web:
        assert (await told(web, messages=messages, rounds=1))[-1]["type"] == "conversation_complete"


async def test_a_request_beyond_a_limit_is_a_429_with_the_time_to_wait() -> None:
    async with asking(limits=Limits(conversations_per_hour=1)) as web:
        assert (await web.post(PATH, json={**ASKED, "rounds": 1})).status_code == 200
        answer = await web.post(PATH, json=ASKED)
        assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert int(answer.headers["retry-after"]) > 3000
        assert "ratelimit" in answer.headers


async def test_only_users_with_write_access_can_start_a_conversation() -> None:
    table = team_table()
    token = await token_for(table, "ann", "read")
    async with asking(table, token=token) as web:
        answer = await web.post(PATH, json=ASKED)
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")


async def test_a_conversation_continues_without_its_client_and_is_found_by_an_event_id() -> None:
    async with asking(team_table(**{"prospect-finder": Delay(0.2, "Ranked.")})) as web:
        got: list[str] = []
        async with web.stream("POST", f"{PATH}?ids=1", json={**ASKED, "rounds": 1}) as answer:
            async for line in answer.aiter_lines():
                got.append(line)
                if line.startswith("data: ") and '"agent_complete"' in line:
                    break
        ids = [line[4:] for line in got if line.startswith("id: ")]
        again = await web.post(PATH, json={**ASKED, "rounds": 1}, headers={"last-event-id": ids[-1]})
        rest = [json.loads(line[6:]) for line in again.text.split("\n") if line.startswith("data: ")]
        assert "agent_complete" in [event["type"] for event in rest]
        assert rest[-1]["type"] == "conversation_complete"
        assert "ratelimit" not in again.headers
        numbers = [int(line.split(":")[-1]) for line in [*got, *again.text.split("\n")] if line.startswith("id: ")]
        assert numbers == sorted(set(numbers))
        # The end is told again to who comes back once more, and nothing runs.
        over = await web.post(PATH, json=ASKED, headers={"last-event-id": ids[0]})
        assert '"conversation_complete"' in over.text


@pytest.mark.parametrize(
    ("given", "status", "code"), [("7", 409, "UNKNOWN_EVENT_ID"), ("none:3", 404, "SESSION_ERROR")]
)
async def test_an_unknown_event_id_starts_nothing(given: str, status: int, code: str) -> None:
    async with asking() as web:
        answer = await web.post(PATH, json=ASKED, headers={"last-event-id": given})
        assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_a_debate_is_not_a_conversation() -> None:
    table = served_table()
    async with client_of(table) as web:
        result = await table.debate("Tea or coffee?", rounds=1)
        answer = await web.post(PATH, json=ASKED, headers={"last-event-id": f"{result.session_id}:1"})
        assert answer.status_code == 404


async def test_an_interrupted_conversation_continues_when_the_client_returns(tmp_path: Any) -> None:
    place = f"sqlite:///{tmp_path / 'team.db'}"
    async with (
        asking(team_table(place, **{"prospect-finder": Delay(30, "late")})) as web,
        web.stream("POST", f"{PATH}?ids=1", json={**ASKED, "rounds": 1}) as answer,
    ):
        text = ""
        async for piece in answer.aiter_text():
            text += piece
            if '"agent_complete"' in text:
                break
    last = [line[4:] for line in text.split("\n") if line.startswith("id: ")][-1]
    async with asking(team_table(place, **{"data-steward": DEAD})) as web:
        answer = await web.post(PATH, json={**ASKED, "rounds": 1}, headers={"last-event-id": last})
        rest = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")]
        assert rest[-1]["type"] == "conversation_complete"
        assert [event["data"]["agent"] for event in rest if event["type"] == "agent_complete"] == ["prospect-finder"]


async def test_if_several_clients_return_at_once_one_run_continues_and_all_receive_it(tmp_path: Any) -> None:
    place = f"sqlite:///{tmp_path / 'team.db'}"
    asked = {**ASKED, "rounds": 1}
    async with (
        asking(team_table(place, initiator=Delay(60, "late"))) as web,
        web.stream("POST", f"{PATH}?ids=1", json=asked) as answer,
    ):
        first = (await anext(answer.aiter_lines())).removeprefix("id: ")
    async with asking(team_table(place), limits=Limits(concurrent=1)) as web:
        answers: list[httpx.Response] = []

        async def come_back() -> None:
            answers.append(await web.post(PATH, json=asked, headers={"last-event-id": first}))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(come_back)
        assert [answer.status_code for answer in answers] == [200] * 3, answers[0].text
        for answer in answers:
            told = [json.loads(line[6:])["type"] for line in answer.text.split("\n") if line.startswith("data: ")]
            assert told.count("conversation_complete") == told.count("initiator_complete") == 1


@pytest.mark.parametrize(
    ("given", "bare"),
    [
        ({"success": True, "data": [1]}, [1]),
        ({"success": True}, None),
        ({"success": False, "error": "no such table"}, {"error": "no such table"}),
        ({"accounts": []}, {"accounts": []}),
        ("text", "text"),
        (None, None),
    ],
)
def test_the_event_of_a_tool_has_the_result_of_the_tool(anyio_backend: str, given: Any, bare: Any) -> None:
    event = AgentToolResult(
        session_id="s", timestamp=utc_now(), agent="ada", round=1, step=1, tool_call_id="1", result=given
    )
    told = team_chat_event(event)
    assert told is not None
    assert told["data"]["result"] == bare


def test_messages_of_a_storage_are_not_sent_to_clients(anyio_backend: str) -> None:
    error = StorageError("cannot write /home/ann/x.db")
    info = ErrorInfo.model_validate(error.to_dict())
    told = team_chat_event(
        DebateError(session_id="s", timestamp=utc_now(), error=error.message, code=error.code, info=info)
    )
    assert told is not None
    assert "/home" not in json.dumps(told)
