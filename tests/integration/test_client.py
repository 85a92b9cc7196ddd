"""The client against a server: debates, teams, sessions and errors, with the types of the library."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import anyio
import pytest
from integration.server_kit import served_table, token_for

from roundtable import Budget, ConsensusReached, Roundtable
from roundtable.api import AgentProfile
from roundtable.auth import LocalUser, TokenStore
from roundtable.client import RoundtableClient, ServerError, SyncRoundtableClient
from roundtable.errors import ConfigurationError, SessionConflict, SessionError, SessionNotFound
from roundtable.server import create_app
from roundtable.server.limits import Limits
from roundtable.testing import Delay, ScriptedModel, scripted_agents, serving
from roundtable.types import ChatMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from roundtable.types import JsonValue

pytestmark = pytest.mark.anyio

TEAM = {
    "initiator": {"goal": "Name the capital.", "strategy": "Ask.", "successCriteria": ["A name"]},
    "scout": "It is Paris.",
    "summarizer": "Paris.",
}
FREE = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=None)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of three agents, for everybody on this machine."""
    with serving(create_app(served_table(), auth=LocalUser(), limits=FREE)) as url:
        yield url


@pytest.fixture
def slow_url() -> Iterator[str]:
    """A server whose agents take a while."""
    slow = {name: Delay(0.2, {"position": "Tea"}) for name in ("ada", "bo")}
    with serving(create_app(served_table(agents=scripted_agents(slow)), auth=LocalUser(), limits=FREE)) as url:
        yield url


async def test_a_debate_gives_the_result_that_the_library_gives(url: str) -> None:
    async with RoundtableClient(url) as client:
        result = await client.debate("Tea or coffee?", rounds=2, mode="delphi", budget=Budget(max_calls=50))
    here = await served_table().debate("Tea or coffee?", rounds=2, mode="delphi")
    assert (result.answer, result.decision, len(result.rounds)) == (here.answer, here.decision, 2)
    assert type(result) is type(here)
    assert "Tea" in result.to_markdown()


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_no_id_leads_to_another_place_of_the_server(url: str, name: str) -> None:
    async with RoundtableClient(url) as client:
        with pytest.raises(SessionNotFound):
            await client.result(name)
        with pytest.raises(SessionNotFound):
            await client.delete(name)
        with pytest.raises(SessionNotFound):
            await client.pause(name)


async def test_an_unknown_session_is_refused_when_a_watch_is_entered(url: str) -> None:
    entered = False
    async with RoundtableClient(url) as client:
        with pytest.raises(SessionNotFound):
            async with client.watch("nope"):
                entered = True
    assert not entered


async def test_every_option_of_a_debate_reaches_the_server(url: str) -> None:
    async with RoundtableClient(url) as client:
        result = await client.debate(
            "Tea or coffee?",
            rounds=3,
            options=["Tea", "Coffee"],
            decide="majority",
            exit_when=ConsensusReached(0.1),
            agents=["ada", "bo"],
            focus_question="For breakfast?",
            metadata={"ticket": 7},
        )
        listed = (await client.sessions(limit=1)).sessions[0]
    assert (listed.agent_ids, listed.metadata, len(result.rounds)) == (("ada", "bo"), {"ticket": 7}, 1)
    assert result.exit is not None
    assert result.exit.reason == "consensus"


async def test_a_team_works_and_answers() -> None:
    table = Roundtable([ScriptedModel(TEAM)], storage="memory://", profiles=[AgentProfile("scout")])
    with serving(create_app(table, auth=LocalUser())) as url:
        async with RoundtableClient(url) as client:
            said = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Capital?")]
            result = await client.converse(agents=["scout"], messages=said, rounds=1, order="parallel")
            assert result.answer == "Paris."
            assert result.team is not None
            assert result.team.goal == "Name the capital."
            session_id = await client.start_conversation(agents=["scout"], messages="Capital of France?", rounds=1)
            kinds = [event.type async for event in client.watch(session_id)]
            assert (kinds[0], kinds[-1]) == ("conversation_start", "conversation_complete")
            profiles = await client.profiles()
            assert [one["name"] for one in profiles["profiles"]] == ["scout"]


@pytest.mark.slow
async def test_a_session_is_paused_resumed_stopped_and_extended(slow_url: str) -> None:
    async with RoundtableClient(slow_url) as client:
        session_id = await client.start("Tea?", rounds=10)
        stream = client.watch(session_id)
        async for event in stream:
            if event.type == "round_complete":
                await client.pause(session_id)
        assert (await client.result(session_id)).status == "paused"
        await client.resume(session_id)
        async with client.watch(session_id, after=stream.last_seq) as rest:
            async for event in rest:
                if event.type == "round_complete":
                    await client.stop(session_id)
        stopped = await client.result(session_id)
        assert stopped.exit is not None
        assert stopped.exit.reason == "stopped"
        held = len(stopped.rounds)
        await client.extend(session_id, rounds=1, focus_question="With milk?")
        async for event in client.watch(session_id, after=rest.last_seq):
            last = event.type
        assert last == "debate_complete"
        assert len((await client.result(session_id)).rounds) == held + 1


async def test_a_session_without_the_event_to_follow_is_watched_from_its_start(url: str) -> None:
    async with RoundtableClient(url) as client:
        result = await client.debate("Tea or coffee?", rounds=1)
        with anyio.fail_after(30):
            numbers = [event.seq async for event in client.watch(result.session_id, after=1000) if event.durable]
    assert numbers == list(range(1, numbers[-1] + 1))


class ShortAnswers:
    """Ends each stream of events after a moment, as proxies do with responses that take long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.ended = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return
        with anyio.move_on_after(0.3) as limit:
            await self._app(scope, receive, send)
        if limit.cancelled_caught:
            self.ended += 1
            await send({"type": "http.response.body", "body": b"", "more_body": False})


@pytest.mark.slow
async def test_the_client_waits_for_a_debate_even_if_a_proxy_ends_long_responses() -> None:
    slow = {name: Delay(2.0, {"position": "Tea"}) for name in ("ada", "bo")}
    proxy = ShortAnswers(create_app(served_table(agents=scripted_agents(slow)), auth=LocalUser(), limits=FREE))
    with serving(proxy) as url:
        async with RoundtableClient(url) as client:
            result = await client.debate("Tea?", rounds=1)
    assert (result.status, result.answer, proxy.ended > 2) == ("completed", "Tea", True)


async def test_an_extension_over_the_wire_keeps_to_its_budget_and_deadline(url: str) -> None:
    async with RoundtableClient(url) as client:
        first = await client.debate("Tea or coffee?", rounds=1)
        await client.extend(first.session_id, rounds=2, budget=Budget(max_calls=4), deadline_s=60)
        rounds = [event.type async for event in client.watch(first.session_id) if event.type == "debate_complete"]
        result = await client.result(first.session_id)
    assert len(rounds) == 2
    assert (result.exit and result.exit.reason, result.usage.calls) == ("budget", 4)


async def test_a_fork_shares_the_past_and_continues_independently() -> None:
    with serving(create_app(served_table(), auth=LocalUser(), limits=FREE)) as url:
        async with RoundtableClient(url) as client:
            told = await client.debate("Tea?", rounds=2)
            fork = await client.fork(told.session_id, at_round=1, mode="delphi", focus_question="With milk?")
            async for _ in client.watch(fork):
                pass
            other = await client.result(fork)
            assert (other.mode, other.config.focus_question, len(other.rounds)) == ("delphi", "With milk?", 2)
            assert other.rounds[0].turns == told.rounds[0].turns
            with pytest.raises(SessionConflict) as refused:
                await client.fork(told.session_id, at_round=3)
            assert refused.value.hint == "Choose at_round from 0 to 2."


async def test_sessions_are_listed_searched_exported_and_deleted() -> None:
    app = create_app(served_table(), auth=LocalUser(), limits=FREE)
    with serving(app) as url:
        async with RoundtableClient(url) as client:
            for topic in ("First?", "Second?", "Third?"):
                await client.debate(topic, rounds=1, mode="council")
            page = await client.sessions(mode="council", limit=2)
            assert [one.topic for one in page.sessions] == ["Third?", "Second?"]
            rest = await client.sessions(mode="council", limit=2, cursor=page.next_cursor)
            assert ([one.topic for one in rest.sessions], rest.next_cursor) == (["First?"], None)
            assert len((await client.sessions(words="Tea", status="completed", limit=2)).sessions) == 2
            name = rest.sessions[0].id
            assert b"First?" in await client.export(name)
            assert await client.audit(name) == (await client.result(name)).audit()
            assert (await client.export(name, "html")).startswith(b"<!doctype html>")
            await client.delete(name)
            with pytest.raises(SessionNotFound):
                await client.result(name)


async def test_the_client_lists_what_the_server_offers(url: str) -> None:
    async with RoundtableClient(url) as client:
        assert [one["id"] for one in (await client.agents())["agents"]] == ["ada", "bo", "cy"]
        assert "delphi" in {one["name"] for one in (await client.modes())["modes"]}
        assert (await client.me())["user"] == "default"


async def test_refusals_carry_the_message_of_the_server(url: str) -> None:
    async with RoundtableClient(url) as client:
        with pytest.raises(ServerError) as caught:
            await client.start("Tea?", rounds=11)
        assert (caught.value.code, caught.value.status) == ("MAX_ROUNDS_EXCEEDED", 400)
        assert caught.value.request_id is not None
        assert caught.value.hint == "Change the request as the message says."
        done = (await client.debate("Tea?", rounds=1)).session.id
        with pytest.raises(SessionConflict):
            await client.resume(done)
        with pytest.raises(ServerError, match="nobody"):
            await client.synthesize(done, by="nobody")


def nested(depth: int) -> list[object]:
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "not JSON compliant"),
        ("\ud800", "not valid Unicode"),
        ({"\ud800": 1}, "not valid Unicode"),
        (b"\xff", "not valid Unicode"),
        (object(), "unknown type"),
        (nested(300), "depth"),
        (10**5000, "4300 digits"),
    ],
    ids=["nan", "text", "name", "bytes", "object", "deep", "long number"],
)
async def test_a_value_that_is_not_json_is_refused_with_the_name_of_its_field(
    url: str, value: JsonValue, why: str
) -> None:
    async with RoundtableClient(url) as client:
        with pytest.raises(ConfigurationError, match=f"^metadata: .*{why}"):
            await client.start("Tea?", rounds=1, metadata={"a": value})


async def test_texts_that_are_not_unicode_are_refused_in_every_field(url: str) -> None:
    async with RoundtableClient(url) as client:
        with pytest.raises(ConfigurationError, match="topic"):
            await client.start("Tea\ud800?", rounds=1)
        with pytest.raises(ConfigurationError, match="Unicode"):
            await client.sessions(words="\ud800")
        with pytest.raises(SessionNotFound):
            await client.result("\ud800")


async def website(scope: Scope, receive: Receive, send: Send) -> None:
    """Another program at the address: it answers everything with a page."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b"<h1>Welcome</h1>"})


async def test_the_page_of_another_program_is_refused_with_a_hint_at_the_address() -> None:
    with serving(website) as url:
        async with RoundtableClient(url) as client:
            with pytest.raises(SessionError) as caught:
                await client.me()
            with pytest.raises(SessionError):
                await client.start("Tea?", rounds=1)
    assert "Roundtable server" in str(caught.value.hint)


async def test_limits_and_an_expired_token_are_errors() -> None:
    table = served_table()
    token = await token_for(table, "ann")
    with serving(create_app(table, limits=Limits(conversations_per_hour=1))) as url:
        async with RoundtableClient(url, token=token) as client:
            mine = await client.start("Tea?", rounds=1)
            assert [event.type async for event in client.watch(mine)][-1] == "debate_complete"
            with pytest.raises(ServerError) as caught:
                await client.start("Coffee?", rounds=1)
            assert (caught.value.code, caught.value.status) == ("RATE_LIMIT_EXCEEDED", 429)
            assert 3_500 < (caught.value.retry_after_s or 0) <= 3_600
            async with RoundtableClient(url, token=await token_for(table, "ben")) as other:
                with pytest.raises(SessionNotFound):
                    await other.result(mine)
            store = TokenStore.of(table._wiring.storage)
            await store.revoke((await store.list("ann"))[0].id)
            with pytest.raises(ServerError) as caught:
                await client.me()
            assert (caught.value.code, caught.value.status) == ("UNAUTHORIZED", 401)


def test_the_blocking_client_does_the_same(url: str) -> None:
    with SyncRoundtableClient(url) as client:
        result = client.debate("Tea or coffee?", rounds=1)
        assert result.answer == "Tea"
        name = client.start("Tea?", rounds=1)
        with client.watch(name) as events:
            assert [event.type for event in events][-1] == "debate_complete"
        assert client.result(name).status == "completed"
        assert client.fork(name, at_round=0) != name
        client.extend(name, rounds=1)
        assert [event.type for event in client.watch(name, after=events.last_seq)][-1] == "debate_complete"
        assert name in [one.id for one in client.sessions().sessions]
        client.delete(name)
        with pytest.raises(SessionNotFound):
            client.watch(name).__enter__()
        assert client.agents().keys() >= {"agents"}
        assert client.modes().keys() >= {"modes"}
        assert client.profiles() == {"profiles": []}
        assert client.me()["user"] == "default"


def test_both_clients_take_the_same_arguments() -> None:
    def methods(kind: type) -> dict[str, object]:
        named = {"aclose": "close"}
        return {
            named.get(name, name): [
                (one.name, one.kind, one.default) for one in inspect.signature(method).parameters.values()
            ]
            for name, method in vars(kind).items()
            if callable(method) and (not name.startswith("_") or name == "__init__")
        }

    assert methods(RoundtableClient) == methods(SyncRoundtableClient)
