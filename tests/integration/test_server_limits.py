"""Limits of users over HTTP, and across processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest
from integration.engine_kit import eventually
from integration.server_kit import client_of, served, served_table, token_for

from roundtable.auth import LocalUser
from roundtable.providers import Delay
from roundtable.server import Limits, create_app
from roundtable.server.limits import RateLimited
from roundtable.testing import ScriptedModel

CHILD = Path(__file__).with_name("limits_child.py")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_refusal_says_when_to_try_again() -> None:
    app = create_app(served_table(), auth=LocalUser())

    @app.get("/refused")
    async def refused() -> None:
        raise RateLimited("conversations", 5, window_s=3600, retry_after_s=12, headers={"RateLimit": '"x";r=0;t=12'})

    async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web:
        answer = await web.get("/refused")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "12")
    assert answer.headers["ratelimit"] == '"x";r=0;t=12'
    assert (answer.json()["code"], answer.json()["details"]["limit"]) == ("RATE_LIMIT_EXCEEDED", "conversations")


TOPIC = {"topic": "Tea?", "rounds": 1}


def told(answer: httpx.Response) -> dict[str, str]:
    """Return the remaining quota that a response states, by limit."""
    parts = [part.split(";") for part in answer.headers["ratelimit"].split(", ")]
    return {name.strip('"'): left.removeprefix("r=") for name, left, *_ in parts}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_wrong_and_forbidden_requests_are_not_counted() -> None:
    table = served_table()
    reader = await token_for(table, "ann", "read")
    async with client_of(table, token=await token_for(table, "ann")) as web:
        for path, body, status in [
            ("/api/debates", {"topic": ""}, 400),
            ("/api/debates", {**TOPIC, "rounds": 11}, 400),
            ("/api/debates", {**TOPIC, "mode": "nowhere"}, 400),
            ("/api/debates", {**TOPIC, "agents": ["nobody:x"]}, 404),
            ("/api/chat/multi", {"agents": ["nobody"], "rounds": 1, "messages": []}, 400),
            ("/api/sessions/none/resume", {}, 404),
        ]:
            answer = await web.post(path, json=body)
            assert answer.status_code == status, answer.text
            assert "ratelimit" not in answer.headers
        for headers, status in [({"authorization": "Bearer rt_no"}, 401), ({"authorization": f"Bearer {reader}"}, 403)]:
            assert (await web.post("/api/debates", json=TOPIC, headers=headers)).status_code == status
        left = told(await web.post("/api/debates?wait=30", json=TOPIC))
    assert left == {"conversations": "4", "rounds": "99", "concurrent": "1"}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_limits_count_by_user_and_not_by_token_or_address() -> None:
    table = served_table()
    tokens = [await token_for(table, user) for user in ("ann", "ann", "bo")]
    async with client_of(table, token="rt_none", limits=Limits(conversations_per_hour=2)) as web:

        async def ask(token: str, address: str) -> int:
            headers = {"authorization": f"Bearer {token}", "x-forwarded-for": address, "x-real-ip": address}
            return (await web.post("/api/debates?wait=30", json=TOPIC, headers=headers)).status_code

        statuses = [await ask(tokens[at % 2], f"10.0.0.{at}") for at in range(4)]
        assert statuses == [200, 200, 429, 429]
        assert await ask(tokens[2], "10.0.0.0") == 200


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_slot_is_freed_when_a_conversation_ends() -> None:
    slow = served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})])
    async with client_of(slow, limits=Limits(concurrent=1)) as web:
        session = (await web.post("/api/debates", json=TOPIC)).json()["sessionId"]
        answer = await web.post("/api/debates", json=TOPIC)
        assert (answer.status_code, answer.json()["details"]) == (429, {"limit": "concurrent", "quota": 1})
        assert 0 < int(answer.headers["retry-after"]) <= 30
        await web.post(f"/api/sessions/{session}/stop")
        with anyio.fail_after(10):
            while (answer := await web.post("/api/debates", json=TOPIC)).status_code == 429:
                pass
        assert answer.status_code == 202


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_user_without_a_free_slot_is_refused_before_the_debate_is_checked() -> None:
    slow = served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})])
    async with client_of(slow, limits=Limits(concurrent=1)) as web:
        impossible = {**TOPIC, "mode": "no-such-mode"}
        assert (await web.post("/api/debates", json=impossible)).status_code == 400
        first = await web.post("/api/debates", json=TOPIC, headers={"idempotency-key": "k"})
        refused = await web.post("/api/debates", json=impossible)
        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert "ratelimit" in refused.headers
        # Under a key it may have begun before, and then takes no other place.
        again = await web.post("/api/debates", json=TOPIC, headers={"idempotency-key": "k"})
        assert again.json()["sessionId"] == first.json()["sessionId"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_streams_beyond_the_limits_are_refused_and_counted() -> None:
    slow = served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})])
    async with client_of(slow, limits=Limits(streams_per_user=1)) as web:
        session = (await web.post("/api/debates", json=TOPIC)).json()["sessionId"]
        async with web.stream("GET", f"/api/sessions/{session}/events") as stream:
            await anext(stream.aiter_lines())
            answer = await web.get(f"/api/sessions/{session}/events")
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        counted = (await web.get("/api/admin/metrics")).json()["refusals"]
        assert [one["name"] for one in counted] == ["user_streams"]
        await web.post(f"/api/sessions/{session}/stop")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_waiting_requests_count_as_streams_and_are_refused_before_anything_starts() -> None:
    table = served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})])
    async with client_of(table, limits=Limits(streams_per_user=1)) as web, anyio.create_task_group() as group:
        answers: list[httpx.Response] = []

        async def wait() -> None:
            answers.append(await web.post("/api/debates?wait=60", json=TOPIC))

        group.start_soon(wait)
        with anyio.fail_after(30):
            while not (found := (await web.get("/api/sessions")).json()["sessions"]):
                pass
        for headers in ({}, {"accept": "text/event-stream"}, {"idempotency-key": "k"}):
            refused = await web.post("/api/debates?wait=60", json=TOPIC, headers=headers)
            assert (refused.status_code, refused.json()["details"]) == (429, {"limit": "streams", "quota": 1})
            assert refused.headers["retry-after"] == "5"
        assert len((await web.get("/api/sessions")).json()["sessions"]) == 1
        place = f"/api/sessions/{found[0]['sessionId']}"
        assert (await web.get(f"{place}/events")).status_code == 429
        await web.post(f"{place}/stop")
        await eventually(lambda: bool(answers), within_s=30)
        assert answers[0].json()["exit"]["reason"] == "stopped"
        assert (await web.get(f"{place}/events")).status_code == 200


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_client_that_stops_waiting_frees_its_slot() -> None:
    app = create_app(served_table(agents=[ScriptedModel({"*": Delay(60, "Tea")})]), auth=LocalUser())
    async with served(app) as url:
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web:
            with pytest.raises(httpx.ReadTimeout):
                await web.post("/api/debates?wait=600", json=TOPIC, timeout=httpx.Timeout(30, read=0.2))
        await eventually(lambda: not len(app.state.roundtable.streams), within_s=30)


@pytest.mark.slow
def test_two_processes_admit_exactly_as_many_as_are_allowed(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, str(CHILD), str(tmp_path / "limits.db"), "ann", "100"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        admitted = [int(child.communicate(timeout=120)[0]) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert sum(admitted) == 37
