"""How large a run may be: model calls and seconds of teams, and the rounds of sessions that go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from integration.engine_kit import late
from integration.server_kit import client_of, served_table

import roundtable as rt
from roundtable.api import AgentProfile
from roundtable.errors import AgentError
from roundtable.providers import Delay
from roundtable.server import Limits
from roundtable.storage import MemoryStorage
from roundtable.testing import ScriptedModel, scripted_agents

if TYPE_CHECKING:
    import httpx

    from roundtable import Roundtable

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

ASKED: dict[str, Any] = {
    "agents": ["clerk", "editor"],
    "rounds": 2,
    "messages": [{"role": "user", "content": "Whom to call?"}],
}


@rt.tool
def notes(topic: str) -> str:
    """Look into the notes."""
    return topic


def team_table(**says: Any) -> Roundtable:
    """Return a table with a team that makes 5 calls a round at most: a clerk with a tool, and an editor without one."""
    script = {"initiator": {"goal": "Name it."}, "*": "Done.", **says}
    profiles = [AgentProfile("clerk", tools=["notes"]), AgentProfile("editor")]
    return rt.Roundtable([ScriptedModel(script)], storage="memory://", tools=[notes], profiles=profiles)


async def rounds_left(web: httpx.AsyncClient) -> int:
    limits = {one["limit"]: one["remaining"] for one in (await web.get("/api/me")).json()["limits"]}
    return int(limits["rounds"])


async def at_rest(web: httpx.AsyncClient, place: str) -> dict[str, Any]:
    """Wait for the end of a run."""
    with anyio.fail_after(30):
        await web.get(f"{place}/events")
    return dict((await web.get(place)).json())


async def cut_short(web: httpx.AsyncClient, place: str) -> None:
    """Pause a session whose agents think, and cancel their calls."""
    with anyio.fail_after(30):
        # Whoever has just gone on with it has not said so yet.
        while (await web.post(f"{place}/pause", json={"running": "cancel"})).status_code != 202:
            pass
    assert (await at_rest(web, place))["exit"]["reason"] == "paused"


@pytest.mark.parametrize("path", ["/api/chat/multi", "/api/conversations"])
async def test_a_team_makes_no_more_calls_than_allowed(path: str) -> None:
    table = team_table()
    async with client_of(table, most_calls=12) as web:
        fits = await web.post(path, json=ASKED)
        assert fits.status_code in {200, 202}, fits.text
        left = await rounds_left(web)
        refused = await web.post(path, json={**ASKED, "rounds": 3})
        assert (refused.status_code, refused.json()["code"]) == (400, "CONFIGURATION_ERROR")
        assert refused.json()["error"] == "this conversation may take 17 model calls; 12 are allowed"
        assert await rounds_left(web) == left


async def test_continuing_a_debate_makes_no_more_calls_than_allowed() -> None:
    table = team_table(**{"*": Delay(0.05, "Done.")})  # so that no round is held before the time is over
    own = table.for_tenant("default")
    long = await own.converse(agents=["clerk"], messages="Whom to call?", rounds=4, timeout_s=0.001)
    debate = await own.debate("Tea?", rounds=9, deadline_s=0.001)
    async with client_of(table, most_calls=8) as web:
        for session, what in [(long, "4 more rounds may take 18 model calls"), (debate, "9 more rounds take 9 model")]:
            refused = await web.post(f"/api/sessions/{session.session_id}/resume")
            assert (refused.status_code, refused.json()["code"]) == (400, "CONFIGURATION_ERROR"), refused.text
            assert what in refused.json()["error"]
        one = await web.post(f"/api/sessions/{debate.session_id}/resume?wait=30", json={"step": True})
        assert one.status_code == 200, one.text


@pytest.mark.slow
async def test_repeating_a_request_with_its_key_does_not_count_its_calls_again() -> None:
    table = served_table(agents=scripted_agents({"ada": late(0.3, "Tea"), "bo": "Tea"}))
    free = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=None)
    async with client_of(table, limits=free, most_calls=6) as web:
        first = (await web.post("/api/debates?wait=30", json={"topic": "Tea?", "rounds": 1})).json()["sessionId"]
        for path, asked in (("extend", {"rounds": 3}), ("fork", {"atRound": 1, "rounds": 2})):
            told = [
                await web.post(f"/api/sessions/{first}/{path}", json=asked, headers={"idempotency-key": path})
                for _ in range(2)
            ]
            assert [one.status_code for one in told] == [202, 202], told[1].text
            assert len({one.json()["sessionId"] for one in told}) == 1
            await at_rest(web, f"/api/sessions/{first}")
        assert (await web.delete(f"/api/sessions/{first}")).status_code == 204
        again = await web.post(f"/api/sessions/{first}/fork", json=asked, headers={"idempotency-key": "fork"})
        assert (again.status_code, again.json()["sessionId"]) == (202, told[0].json()["sessionId"])


@pytest.mark.parametrize(("fewer", "status"), [(0, 202), (1, 400)])
async def test_a_fork_makes_no_more_calls_than_allowed_including_the_first_answers(fewer: int, status: int) -> None:
    table = served_table()
    debate = await table.for_tenant("default").debate("Tea?", rounds=2, baseline=True)
    async with client_of(table, most_calls=debate.usage.calls - fewer) as web:
        forked = await web.post(f"/api/sessions/{debate.session_id}/fork", json={"atRound": 1})
    assert forked.status_code == status, forked.text


@pytest.mark.slow
async def test_a_conversation_gets_its_seconds_each_time_it_continues() -> None:
    table = team_table(clerk=Delay(60, "late"))
    own = table.for_tenant("default")
    begun = await own.converse(agents=["clerk"], messages="Whom to call?", rounds=1, timeout_s=0.2)
    place = f"/api/sessions/{begun.session_id}"
    async with client_of(table, conversation_s=0.3) as web:
        for _ in range(2):
            late = await web.post(f"{place}/resume?wait=60")
            assert (late.status_code, late.json()["exit"]["reason"]) == (200, "deadline"), late.text
        for path, asked, field in [
            (f"{place}/resume", {"deadlineS": 1}, "deadlineS"),
            (f"{place}/extend", {"deadlineS": 1}, "deadlineS"),
            ("/api/conversations", {**ASKED, "timeoutS": 1}, "timeoutS"),
        ]:
            refused = await web.post(path, json=asked)
            assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR"), refused.text
            assert refused.json()["details"] == {"field": field, "message": "must be at most 0.3"}
        left_out = await web.post("/api/conversations?wait=60", json={**ASKED, "agents": ["clerk"]})
        assert (left_out.status_code, left_out.json()["exit"]["reason"]) == (200, "deadline"), left_out.text


async def test_requested_rounds_are_counted_once() -> None:
    async with client_of(served_table()) as web:
        begun = await web.post("/api/debates?wait=30", json={"topic": "Tea?", "rounds": 3, "step": True})
        place = f"/api/sessions/{begun.json()['sessionId']}"
        assert await rounds_left(web) == 97
        for held in (2, 3):
            more = await web.post(f"{place}/resume?wait=30", json={"step": True})
            assert len(more.json()["rounds"]) == held
            assert await rounds_left(web) == 97
        more = await web.post(f"{place}/extend?wait=30", json={"rounds": 2})
        assert (len(more.json()["rounds"]), await rounds_left(web)) == (5, 95)


async def test_rounds_of_a_session_started_elsewhere_are_counted_when_they_are_run() -> None:
    table = served_table()
    own = table.for_tenant("default")
    async with own:
        first = await (await own.start("Tea?", rounds=4, step=True)).result()
    place = f"/api/sessions/{first.session_id}"
    async with client_of(table) as web:
        await web.post(f"{place}/resume?wait=30", json={"step": True})
        assert await rounds_left(web) == 99
        done = await web.post(f"{place}/resume?wait=30")
        assert (len(done.json()["rounds"]), await rounds_left(web)) == (4, 97)


@pytest.mark.slow
async def test_calls_that_a_caller_makes_repeat_count_as_a_round() -> None:
    slow = served_table(agents=scripted_agents({"ada": late(60, "Tea"), "bo": "Tea"}))
    async with client_of(slow) as web:
        place = (await web.post("/api/debates", json={"topic": "Tea?"})).headers["location"]
        for left in (96, 95):
            await cut_short(web, place)
            again = await web.post(f"{place}/resume")
            assert (again.status_code, await rounds_left(web)) == (202, left), again.text
        await cut_short(web, place)
        short = await web.post(f"{place}/resume?wait=30", json={"deadlineS": 0.05})
        assert (short.json()["exit"]["reason"], await rounds_left(web)) == ("deadline", 94)
        await web.post(f"{place}/resume", json={"step": True})
        assert await rounds_left(web) == 93
        await cut_short(web, place)
        await web.post(f"{place}/pause")  # which cancels nothing, and hides nothing
        await web.post(f"{place}/resume")
        assert await rounds_left(web) == 92
        await web.post(f"{place}/stop")


@pytest.mark.slow
async def test_retrying_a_failed_debate_is_counted_and_resuming_one_after_a_server_restart_is_not() -> None:
    table = served_table(agents=scripted_agents({"ada": [AgentError("no")], "bo": [AgentError("no")]}))
    async with client_of(table) as web:
        failed = await web.post("/api/debates", json={"topic": "Tea?"})
        place = failed.headers["location"]
        assert (await at_rest(web, place))["sessionStatus"] == "error"
        assert await rounds_left(web) == 97
        await web.post(f"{place}/resume")
        assert await rounds_left(web) == 96
    shared = MemoryStorage()
    kept = served_table(agents=scripted_agents({"ada": late(60, "Tea"), "bo": "Tea"}), storage=shared)
    async with client_of(kept) as web:
        place = (await web.post("/api/debates", json={"topic": "Tea?"})).headers["location"]
    async with client_of(served_table(storage=shared)) as web:
        assert (await web.post(f"{place}/resume?wait=30")).status_code == 200
        assert await rounds_left(web) == 97


async def test_a_user_without_remaining_rounds_can_finish_the_requested_rounds() -> None:
    limits = Limits(rounds_per_day=3)
    table = served_table()
    async with client_of(table, limits=limits) as web:
        begun = await web.post("/api/debates?wait=30", json={"topic": "Tea?", "rounds": 3, "step": True})
        place = f"/api/sessions/{begun.json()['sessionId']}"
        assert (await web.post(f"{place}/resume?wait=30")).status_code == 200
        refused = await web.post(f"{place}/extend")
        assert (refused.status_code, refused.json()["details"]["limit"]) == (429, "rounds")
