"""HTTP servers of several hosts with one database: limits, tokens, keys and control hold for all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from integration.hosts_kit import GatedProvider, issued, two_hosts

from roundtable.auth import TokenStore
from roundtable.storage import PostgresStorage

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

TOPIC = {"topic": "Tea or coffee?", "rounds": 1}


@pytest.fixture
def model() -> Iterator[GatedProvider]:
    with GatedProvider().serving() as made:
        yield made


@asynccontextmanager
async def clients(
    model: GatedProvider, storage: str, folder: Path, *words: str
) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Serve at two hosts; yield a client of each, with a token of its own for the same user."""
    tokens = [(await issued(storage, "ann", "http")).secret for _ in range(2)]
    with two_hosts(model, storage, folder, "serve", *words) as hosts:
        first, second = (
            httpx.AsyncClient(
                base_url=host, headers={"authorization": f"Bearer {token}"}, timeout=60, trust_env=False, verify=False
            )
            for host, token in zip(hosts, tokens, strict=True)
        )
        async with first, second:
            yield first, second


async def at_once(
    servers: tuple[httpx.AsyncClient, httpx.AsyncClient], times: int, **more: Any
) -> list[httpx.Response]:
    """Start debates at both servers at the same time, so many at each."""
    answers: list[httpx.Response] = []

    async def start(server: httpx.AsyncClient) -> None:
        answers.append(await server.post("/api/debates", json=TOPIC, **more))

    async with anyio.create_task_group() as group:
        for _ in range(times):
            for server in servers:
                group.start_soon(start, server)
    return answers


def statuses(answers: list[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


async def until(server: httpx.AsyncClient, session: str, status: str) -> None:
    """Wait until a server shows a session in a state."""
    with anyio.fail_after(60):
        while (await server.get(f"/api/sessions/{session}")).json()["sessionStatus"] != status:  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def test_two_servers_admit_together_as_many_debates_as_are_allowed(
    model: GatedProvider, postgres_url: str, tmp_path: Path
) -> None:
    limits = ("--limit-concurrent", "3", "--limit-conversations", "5", "--limit-rounds", "none")
    async with clients(model, postgres_url, tmp_path, *limits) as servers:
        first = await at_once(servers, 6)
        assert statuses(first) == {202: 3, 429: 9}
        assert {answer.json()["details"]["limit"] for answer in first if answer.status_code == 429} == {"concurrent"}
        model.let()
        for answer in first:
            if answer.status_code == 202:
                await until(servers[0], answer.json()["sessionId"], "completed")
        second = await at_once(servers, 6)
        assert statuses(second) == {202: 2, 429: 10}
        listed = [(await server.get("/api/sessions")).json()["sessions"] for server in servers]
        assert [len(sessions) for sessions in listed] == [5, 5]


async def test_two_servers_count_the_rounds_of_a_day_together(
    model: GatedProvider, postgres_url: str, tmp_path: Path
) -> None:
    limits = ("--limit-concurrent", "none", "--limit-conversations", "none", "--limit-rounds", "7")
    model.let()
    async with clients(model, postgres_url, tmp_path, *limits) as servers:
        answers = await at_once(servers, 6)
        assert statuses(answers) == {202: 7, 429: 5}
        assert {answer.json()["details"]["limit"] for answer in answers if answer.status_code == 429} == {"rounds"}


async def test_a_token_is_valid_at_every_server_until_it_is_revoked(
    model: GatedProvider, postgres_url: str, tmp_path: Path
) -> None:
    async with clients(model, postgres_url, tmp_path) as servers:
        token = await issued(postgres_url, "bo", "http")
        shown = {"authorization": f"Bearer {token.secret}"}
        assert [(await server.get("/api/me", headers=shown)).status_code for server in servers] == [200, 200]
        storage = PostgresStorage(postgres_url)
        await TokenStore.of(storage).revoke(token.info.id)
        await storage.aclose()
        assert [(await server.get("/api/me", headers=shown)).status_code for server in servers] == [401, 401]
        assert [(await server.get("/api/me")).status_code for server in servers] == [200, 200]


async def test_a_key_that_is_sent_to_both_servers_begins_one_debate(
    model: GatedProvider, postgres_url: str, tmp_path: Path
) -> None:
    async with clients(model, postgres_url, tmp_path) as servers:
        answers = await at_once(servers, 4, headers={"idempotency-key": "order-1"})
        assert set(statuses(answers)) <= {200, 202}, [answer.text for answer in answers]
        (session,) = {answer.json()["sessionId"] for answer in answers}
        for server in servers:
            assert [one["sessionId"] for one in (await server.get("/api/sessions")).json()["sessions"]] == [session]
        model.let()
        await until(servers[0], session, "completed")
        assert model.calls == 2


async def test_a_debate_is_paused_and_resumed_at_the_other_server(
    model: GatedProvider, postgres_url: str, tmp_path: Path
) -> None:
    async with clients(model, postgres_url, tmp_path) as (first, second):
        begun = await first.post("/api/debates", json=TOPIC | {"rounds": 2})
        session = begun.json()["sessionId"]
        await model.asked(2)
        paused = await second.post(f"/api/sessions/{session}/pause")
        assert paused.status_code == 202, paused.text
        model.let(2)
        for server in (first, second):
            await until(server, session, "paused")
        resumed = await second.post(f"/api/sessions/{session}/resume")
        assert resumed.status_code == 202, resumed.text
        await model.asked(4)
        model.let()
        for server in (first, second):
            await until(server, session, "completed")
        assert model.calls == 4


@pytest.mark.parametrize("action", ["resume", "extend"])
async def test_a_running_debate_is_not_resumed_or_extended_at_the_other_server(
    model: GatedProvider, postgres_url: str, tmp_path: Path, action: str
) -> None:
    async with clients(model, postgres_url, tmp_path) as (first, second):
        begun = await first.post("/api/debates", json=TOPIC)
        session = begun.json()["sessionId"]
        await model.asked(2)
        refused = await second.post(f"/api/sessions/{session}/{action}")
        assert refused.status_code == 409, refused.text
        # The error of a server that waits for the lease would name the process that holds it.
        assert "is running; it can be changed only while it is not running" in refused.json()["error"]
        assert refused.json()["code"] == "SESSION_ERROR"
        model.let()
        await until(second, session, "completed")
        assert model.calls == 2
