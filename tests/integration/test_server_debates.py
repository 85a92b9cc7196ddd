"""Debates and conversations that are begun over HTTP: detached, waited for, streamed, begun once."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from integration.engine_kit import Asked, late, said, seated
from integration.server_kit import client_of, served_table, token_for

from roundtable import AgentConfig, Roundtable
from roundtable.agents import BaseAgent
from roundtable.api import AgentProfile
from roundtable.errors import APINetworkError
from roundtable.results.debate_result import DebateResult
from roundtable.server.limits import Limits
from roundtable.server.runs import until_begun
from roundtable.testing import ManualClock, ScriptedModel, scripted_agents
from roundtable.types import ChatRequest, RetryPolicy

if TYPE_CHECKING:
    from roundtable.api.runs import DebateHandle

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

FREE = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=None)
ASKED = {"topic": "Tea or coffee?", "rounds": 2}


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(block.split("data: ", 1)[1]) for block in text.split("\n\n") if "data: " in block]


async def test_a_debate_runs_by_itself_and_is_found_by_its_links() -> None:
    async with client_of() as web:
        begun = await web.post("/api/debates", json=ASKED)
        told = begun.json()
        assert (begun.status_code, begun.headers["location"]) == (202, told["links"]["self"])
        assert begun.headers["ratelimit"].startswith('"conversations";r=4')
        followed = await web.get(told["links"]["events"])
        assert [event["type"] for event in events_of(followed.text)][-1] == "debate_complete"
        found = await web.get(told["links"]["self"])
        assert DebateResult.model_validate_json(found.content).answer == "Tea"


async def test_a_caller_who_waits_gets_the_result_as_the_command_gives_it() -> None:
    table = served_table()
    async with client_of(table) as web:
        answer = await web.post("/api/debates?wait=20", json={**ASKED, "metadata": {"ticket": 7}})
        assert answer.status_code == 200
        result = DebateResult.model_validate_json(answer.content)
        kept = await table.for_tenant("default").session(result.session_id)
        assert (answer.text, result.config.metadata) == (kept.to_json(), {"ticket": 7})


async def test_a_caller_whose_wait_is_too_short_is_told_where_the_debate_continues() -> None:
    slow = served_table(agents=scripted_agents({"ada": late(30, "Tea"), "bo": "Tea"}))
    async with client_of(slow) as web:
        answer = await web.post("/api/debates?wait=0.05", json=ASKED)
        assert answer.status_code == 202
        assert answer.json()["sessionStatus"] in {"created", "active"}


@pytest.mark.parametrize("forks", [False, True])
async def test_a_broken_stream_continues_with_the_same_request_and_starts_nothing(forks: bool) -> None:
    limits = Limits(conversations_per_hour=1 + forks, concurrent=None, rounds_per_day=None)
    async with client_of(limits=limits) as web:
        path, asked = "/api/debates", ASKED
        if forks:
            told = (await web.post("/api/debates?wait=30", json=ASKED)).json()
            path, asked = f"/api/sessions/{told['sessionId']}/fork", {"atRound": 1}
        stream = {"accept": "text/event-stream"}
        first = await web.post(f"{path}?ids=1", json=asked, headers=stream)
        ids = [line[4:] for line in first.text.split("\n") if line.startswith("id: ")]
        before = (await web.get("/api/sessions")).json()
        again = await web.post(path, json=asked, headers={**stream, "last-event-id": ids[2]})
        assert [line[4:] for line in again.text.split("\n") if line.startswith("id: ")] == ids[3:]
        assert (await web.get("/api/sessions")).json() == before
        refused = await web.post(path, json=asked, headers={**stream, "last-event-id": "7"})
        assert (refused.status_code, refused.json()["code"]) == (409, "UNKNOWN_EVENT_ID")


async def test_events_are_streamed_with_ids_by_opt_in() -> None:
    async with client_of() as web:
        answer = await web.post("/api/debates?ids=1", json=ASKED, headers={"accept": "text/event-stream"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = events_of(answer.text)
        seqs = [event["data"]["seq"] for event in told if "seq" in event["data"]]
        assert seqs == list(range(1, len(seqs) + 1))
        assert f"id: {told[0]['data']['sessionId']}:1\ndata: " in answer.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "field", "code"),
    [
        ({}, "topic", "VALIDATION_ERROR"),
        ({"topic": "  "}, "topic", "VALIDATION_ERROR"),
        ({"topic": "Tea?", "rounds": "3"}, "rounds", "VALIDATION_ERROR"),
        ({"topic": "Tea?", "providers": {}}, "providers", "VALIDATION_ERROR"),
        ({"topic": "Tea?", "storage": "sqlite:///x"}, "storage", "VALIDATION_ERROR"),
        ({"topic": "Tea?", "agents": [{"id": "x", "provider": "openai"}]}, "agents.0", "VALIDATION_ERROR"),
        ({"topic": "Tea?", "rounds": 11}, "rounds", "MAX_ROUNDS_EXCEEDED"),
        ({"topic": "Tea?", "mode": "nowhere"}, None, "CONFIGURATION_ERROR"),
        ({"topic": "Tea?", "mode": "self-consistency:samples=1000", "rounds": 1}, None, "CONFIGURATION_ERROR"),
        ({"topic": "Tea?", "decide": "supermajority(7)"}, None, "CONFIGURATION_ERROR"),
        ({"topic": "Tea?", "exitWhen": {"kind": "nowhere"}}, None, "CONFIGURATION_ERROR"),
        ({"topic": "Tea?", "metadata": {"a": "x" * 20_000}}, "metadata", "VALIDATION_ERROR"),
    ],
)
async def test_an_invalid_request_is_refused_and_is_not_counted(asked: Any, field: str | None, code: str) -> None:
    async with client_of() as web:
        answer = await web.post("/api/debates", json=asked)
        told = answer.json()
        assert (answer.status_code, told["code"]) == (400, code), told
        assert field is None or told["details"]["field"] == field
        assert [one["remaining"] for one in (await web.get("/api/me")).json()["limits"]] == [5, 100, 2]


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_must_have_the_content_type_json(content_type: str | None) -> None:
    async with client_of() as web:
        headers = {} if content_type is None else {"content-type": content_type}
        answer = await web.post("/api/debates", content=json.dumps(ASKED), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_has_a_maximum_size_and_must_be_json() -> None:
    async with client_of() as web:
        headers = {"content-type": "application/json"}
        answer = await web.post("/api/debates", content=b'{"topic": "' + b"x" * 18_000_000, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
        for raw in (b"{", b"[" * 100_000, b'{"topic": "\xff"}', b'{"topic": "\\ud800"}', b'{"topic": NaN}', b"null"):
            answer = await web.post("/api/debates", content=raw, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR"), raw


@pytest.mark.parametrize(
    "name", ["command:/bin/sh", "claude-cli", "local:/etc/passwd", "compatible:x", "openai:gpt-5.2", "scripted"]
)
async def test_callers_can_only_use_the_agents_that_the_owner_offers(name: str) -> None:
    seats = [AgentConfig(id="mine", name="Mine", provider="command", model="cat"), *scripted_agents({"ada": "Tea"})]
    async with client_of(served_table(agents=seats)) as web:
        answer = await web.post("/api/debates", json={"topic": "Tea?", "agents": [name]})
        assert (answer.status_code, answer.json()["code"]) == (404, "AGENT_NOT_FOUND")


async def test_an_owner_can_offer_models_in_addition_to_agents() -> None:
    async with client_of(models=["scripted:x"]) as web:
        offered = (await web.get("/api/agents")).json()
        assert ([one["id"] for one in offered["agents"]], offered["models"]) == (["ada", "bo", "cy"], ["scripted:x"])
        answer = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 1, "agents": ["bo", "ada"]})
        assert [one["id"] for one in answer.json()["agents"]] == ["bo", "ada"]
        other = await web.post("/api/debates", json={"topic": "Tea?", "agents": ["scripted:y"]})
        assert other.json()["hint"] == "Agents: 'ada', 'bo', 'cy'; or a model: scripted:x."


async def test_every_option_given_as_json_reaches_the_debate() -> None:
    asked = {
        "topic": "Which?",
        "mode": "expert-panel",
        "rounds": 1,
        "options": ["Tea", "Coffee"],
        "decide": "plurality",
        "exitWhen": {"kind": "consensus"},
        "exitOnConsensus": False,
        "focusQuestion": "At night?",
        "perspectives": ["Economic", {"name": "Health", "description": "Sleep."}],
        "baseline": True,
        "skipRoundsWhen": 0.9,
        "budget": {"maxCalls": 100},
        "deadlineS": 60,
    }
    said = scripted_agents({name: {"position": "Tea", "choice": "Tea"} for name in ("ada", "bo")})
    async with client_of(served_table(agents=said)) as web:
        answer = await web.post("/api/debates?wait=20", json=asked)
        assert answer.status_code == 200, answer.text
        config = answer.json()["config"]
        assert (config["options"], config["exit"]["kind"], config["baseline"]) == (["Tea", "Coffee"], "consensus", True)
        assert [one["name"] for one in config["perspectives"]] == ["Economic", "Health"]
        assert (config["skipRoundsWhen"], config["budget"]["maxCalls"]) == (0.9, 100)


async def test_a_key_begins_one_debate_however_often_it_is_sent() -> None:
    table = served_table()
    async with client_of(table, limits=FREE) as web:
        sessions: list[str] = []
        headers = {"idempotency-key": "order-1"}

        async def ask() -> None:
            answer = await web.post("/api/debates", json=ASKED, headers=headers)
            sessions.append(answer.json()["sessionId"])

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(ask)
        assert len(set(sessions)) == 1
        again = await web.post("/api/debates?wait=20", json=ASKED, headers=headers)
        assert (again.status_code, again.json()["sessionId"]) == (200, sessions[0])
        other = await web.post("/api/debates", json={**ASKED, "rounds": 1}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
        assert len((await web.get("/api/sessions")).json()["sessions"]) == 1
        assert (await web.delete(f"/api/sessions/{sessions[0]}")).status_code == 204
        gone = await web.post("/api/debates?wait=20", json=ASKED, headers=headers)
        assert (gone.status_code, gone.json()["code"]) == (404, "SESSION_ERROR")


async def test_a_key_is_free_again_after_a_refusal_and_belongs_to_its_user() -> None:
    table = served_table()
    ann, bob = await token_for(table, "ann"), await token_for(table, "bob")
    limits = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=1)
    async with client_of(table, token=ann, limits=limits) as web:
        headers = {"idempotency-key": "k"}
        refused = await web.post("/api/debates", json=ASKED, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        mine = await web.post("/api/debates", json={"topic": "Tea?", "rounds": 1}, headers=headers)
        theirs = await web.post(
            "/api/debates", json={"topic": "Tea?", "rounds": 1}, headers=headers | {"authorization": f"Bearer {bob}"}
        )
        assert (mine.status_code, theirs.status_code) == (202, 202)
        assert mine.json()["sessionId"] != theirs.json()["sessionId"]


async def test_a_debate_that_fails_while_a_caller_waits_is_returned_as_an_error() -> None:
    broken = served_table(agents=scripted_agents({"ada": [ValueError("down")], "bo": [ValueError("down")]}))
    async with client_of(broken) as web:
        answer = await web.post("/api/debates?wait=20", json=ASKED)
        assert (answer.status_code, answer.json()["code"]) == (502, "QUORUM_LOST")
        (session,) = (await web.get("/api/sessions")).json()["sessions"]
        assert answer.json()["details"]["sessionId"] == session["sessionId"], "it can be resumed"


async def test_a_team_works_on_a_request() -> None:
    says = {"initiator": {"goal": "Name it."}, "scout": "It is Paris.", "summarizer": "Paris."}
    table = Roundtable([ScriptedModel(says)], storage="memory://", profiles=[AgentProfile("scout")])
    asked = {"agents": ["scout"], "messages": [{"role": "user", "content": "Capital of France?"}], "rounds": 1}
    async with client_of(table) as web:
        profiles = (await web.get("/api/profiles")).json()["profiles"]
        assert profiles == [{"name": "scout", "tools": [], "maxSteps": 4, "onError": "skip"}]
        answer = await web.post("/api/conversations?wait=20", json=asked)
        assert (answer.status_code, answer.json()["answer"]) == (200, "Paris.")
        unknown = await web.post("/api/conversations", json={**asked, "agents": ["spy"]})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "AGENT_NOT_FOUND")
        silent = await web.post("/api/conversations", json={**asked, "messages": [{"role": "system", "content": "x"}]})
        assert (silent.status_code, silent.json()["details"]["field"]) == (400, "messages")


async def test_profiles_are_listed_with_their_tools_and_without_their_instructions() -> None:
    def look_up(name: str) -> str:
        """Look something up."""
        return name

    steward = AgentProfile("steward", instructions="Secret.", tools=[look_up, "fact_check"], on_error="retry")
    async with client_of(served_table(profiles=[steward])) as web:
        answer = await web.get("/api/profiles")
        assert answer.json()["profiles"] == [
            {"name": "steward", "tools": ["look_up", "fact_check"], "maxSteps": 4, "onError": "retry"}
        ]
        assert "Secret" not in answer.text


async def test_a_conversation_cannot_be_forked() -> None:
    says = {"initiator": {"goal": "Name it."}, "scout": "It is Paris.", "summarizer": "Paris."}
    table = Roundtable([ScriptedModel(says)], storage="memory://", profiles=[AgentProfile("scout")])
    asked = {"agents": ["scout"], "messages": [{"role": "user", "content": "Capital of France?"}], "rounds": 1}
    async with client_of(table) as web:
        held = (await web.post("/api/conversations?wait=20", json=asked)).json()["sessionId"]
        forked = await web.post(f"/api/sessions/{held}/fork", json={"atRound": 1})
        assert (forked.status_code, forked.json()["code"]) == (400, "CONFIGURATION_ERROR")


async def test_a_debate_whose_caller_is_cancelled_during_the_start_keeps_running() -> None:
    async with served_table() as table:
        begin = until_begun(partial(table.start, "Tea?", rounds=1))
        found: list[DebateHandle] = []
        with anyio.CancelScope() as scope:
            scope.cancel()
            found.append(await begin())
        assert (await found[0].result()).answer == "Tea"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"search": {"maxUses": 0}}, "search.maxUses: Input should be greater than or equal to 1"),
        ({"search": {"allowedDomains": ["http://x"]}}, "search.allowedDomains.0: 'http://x' is not a domain"),
        ({"search": {"most": 1}}, "search.most: unknown field"),
        ({"search": "brave"}, "search: Input should be 'auto'; or: Input should be a valid boolean; or: "),
        ({"perspectives": [{"name": ""}]}, "perspectives.0.name: String should have at least 1 character"),
        ({"exitWhen": ""}, "exitWhen: String should have at least 1 character; or: Input should be an object"),
        ({"exitWhen": 5}, "exitWhen: Input should be a valid string; or: Input should be an object"),
    ],
)
async def test_a_wrong_value_of_a_union_is_refused_by_its_closest_type(body: dict[str, Any], told: str) -> None:
    async with client_of() as web:
        refused = await web.post("/api/debates", json={"topic": "Tea?", **body})
    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR")
    assert refused.json()["error"].startswith(told)


async def test_models_stream_at_a_server_because_a_page_can_be_opened_during_a_turn() -> None:
    model = Asked()
    async with served_table(agents=seated(model, "ada", "bo")) as table, client_of(table) as web:
        answer = await web.post("/api/debates?wait=20", json={"topic": "Tea?", "rounds": 1})
        assert answer.status_code == 200
        assert (model.streamed, model.whole) == (2, 0)


async def test_a_debate_on_the_server_waits_for_a_provider_that_fails_once() -> None:
    failed: set[str] = set()

    def unsteady(request: ChatRequest) -> Any:
        agent = request.metadata["agent"]
        if agent in failed:
            return said("Tea")
        failed.add(agent)
        return APINetworkError("the server failed", provider="scripted", details={"status": 500})

    model, once = ScriptedModel(unsteady), RetryPolicy(max_attempts=1)
    agents = [
        BaseAgent(AgentConfig(id=name, name=name, provider="scripted", model="m", retry=once), model)
        for name in ("ada", "bo")
    ]
    table = served_table(agents=agents)
    table._wiring.models.gateway.clock = ManualClock()
    async with client_of(table) as web:
        answer = await web.post("/api/debates?wait=20", json=ASKED)
        result = DebateResult.model_validate_json(answer.content)
    assert (result.status, result.roster.complete, len(result.waits)) == ("completed", True, 1)
