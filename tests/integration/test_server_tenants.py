"""Every endpoint, called by everybody who may not: the unknown stay out, and nobody reaches what is somebody else's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from integration.engine_kit import late
from integration.server_kit import served, served_table, token_for

from roundtable import Roundtable
from roundtable.api import AgentProfile
from roundtable.auth import TokenAuthenticator, TokenStore
from roundtable.core.base.clock import SystemClock
from roundtable.server import create_app
from roundtable.server.limits import Limits
from roundtable.testing import ScriptedModel, scripted_agents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

OPEN, READ, WRITE, ADMIN = "open", "read", "write", "admin"
TEAM = {"agents": ["scout"], "messages": [{"role": "user", "content": "Who?"}]}

NEEDS: dict[str, tuple[str, Any]] = {
    "GET /health": (OPEN, None),
    "GET /ready": (OPEN, None),
    "GET /metrics": (ADMIN, None),
    "GET /api/admin/metrics": (ADMIN, None),
    "GET /api/openapi.json": (READ, None),
    "GET /api/agents": (READ, None),
    "GET /api/modes": (READ, None),
    "GET /api/profiles": (READ, None),
    "GET /api/me": (READ, None),
    "GET /api/sessions": (READ, None),
    "GET /api/sessions/{sessionId}": (READ, None),
    "GET /api/sessions/{sessionId}/events": (READ, None),
    "GET /api/sessions/{sessionId}/export": (READ, None),
    "GET /api/sessions/{sessionId}/approvals": (READ, None),
    "GET /api/sessions/{sessionId}/arguments": (READ, None),
    "GET /api/sessions/{sessionId}/audit": (READ, None),
    "GET /api/sessions/{sessionId}/consensus": (READ, None),
    "GET /api/sessions/{sessionId}/rounds/{round}": (READ, None),
    "POST /api/debates": (WRITE, {"topic": "Tea?", "rounds": 1}),
    "POST /api/conversations": (WRITE, TEAM),
    "POST /api/chat/multi": (WRITE, TEAM | {"rounds": 1}),
    "POST /api/sessions/{sessionId}/pause": (WRITE, {}),
    "POST /api/sessions/{sessionId}/stop": (WRITE, {}),
    "POST /api/sessions/{sessionId}/resume": (WRITE, {}),
    "POST /api/sessions/{sessionId}/extend": (WRITE, {}),
    "POST /api/sessions/{sessionId}/fork": (WRITE, {"atRound": 1}),
    "POST /api/sessions/{sessionId}/synthesize": (WRITE, {}),
    "POST /api/sessions/{sessionId}/approvals/{approvalId}": (WRITE, {"allowed": False}),
    "DELETE /api/sessions/{sessionId}": (WRITE, None),
}
"""What each endpoint needs, and a body that is right; one that is missing here fails the first test."""


PAGES: dict[str, str] = {
    "GET /login": OPEN,
    "POST /login": OPEN,
    "GET /favicon.ico": OPEN,
    "GET /static/{name}": OPEN,
    "GET /shared/{token}": OPEN,
    "POST /logout": READ,
    "GET /": READ,
    "GET /admin": ADMIN,
    "GET /admin/fleets": ADMIN,
    "GET /sessions": READ,
    "GET /sessions/{session_id}": READ,
    "GET /sessions/{session_id}/events": READ,
    "POST /sessions/{session_id}/answer": WRITE,
    "POST /sessions/{session_id}/approve": WRITE,
    "POST /sessions/{session_id}/extend": WRITE,
    "POST /sessions/{session_id}/fork": WRITE,
    "GET /sessions/{session_id}/share": WRITE,
    "POST /sessions/{session_id}/share": WRITE,
    "POST /sessions/{session_id}/unshare": WRITE,
    "POST /sessions/{session_id}/{action}": WRITE,
    "GET /start": WRITE,
    "POST /start": WRITE,
}
"""The same of pages, whose forms need more than a body."""


def endpoints(app: FastAPI) -> Iterator[str]:
    """List what an application answers to."""
    for route in iter_route_contexts(app.routes):
        yield from (f"{method} {route.path}" for method in route.methods or () if method != "HEAD")


def split(endpoint: str, session_id: str = "x") -> tuple[str, str]:
    method, _, path = endpoint.partition(" ")
    path = path.replace("{sessionId}", session_id).replace("{session_id}", session_id)
    return method, path.replace("{round}", "1").replace("{action}", "pause").replace("{name}", "none.css")


class Yesterday(SystemClock):
    """A clock that is behind."""

    def now(self) -> datetime:
        return datetime.now(UTC) - timedelta(days=1)


def told(answer: httpx.Response) -> tuple[int, dict[str, Any]]:
    """Return status and body of a response, without the time and number of the request."""
    if answer.headers.get("content-type") != "application/json":
        return answer.status_code, {"text": answer.text}
    return answer.status_code, {k: v for k, v in answer.json().items() if k not in {"timestamp", "requestId"}}


async def called(web: httpx.AsyncClient, endpoint: str, token: str | None, session_id: str = "x") -> httpx.Response:
    method, path = split(endpoint, session_id)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    _, body = NEEDS.get(endpoint, (READ, None))
    return (
        await web.request(method, path, headers=headers, json=body)
        if body is not None
        else await web.request(method, path, headers=headers)
    )


def tables() -> Roundtable:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    return served_table(agents=agents, profiles=[AgentProfile("scout")])


async def test_every_endpoint_is_tested() -> None:
    assert sorted(endpoints(create_app(tables()))) == sorted({**NEEDS, **PAGES})


@pytest.mark.slow
async def test_an_unknown_caller_is_refused_at_every_endpoint() -> None:
    table = tables()
    store = TokenStore.of(table._wiring.storage)
    old = (await TokenStore.of(table._wiring.storage, clock=Yesterday()).create("ann", days=0.5)).secret
    revoked = await store.create("ann", audience="http")
    await store.revoke(revoked.info.id)
    other = (await store.create("ann", audience="mcp")).secret
    strangers = {"nothing": None, "wrong": "rt_wrong", "expired": old, "revoked": revoked.secret, "of mcp": other}
    app = create_app(table)
    async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web:
        for endpoint, (needs, _) in NEEDS.items():
            answers = [told(await called(web, endpoint, token)) for token in strangers.values()]
            if needs == OPEN:
                assert {status for status, _ in answers} == {200}, endpoint
                continue
            assert all(answer == answers[0] for answer in answers), endpoint
            assert (answers[0][0], answers[0][1]["code"]) == (401, "UNAUTHORIZED"), endpoint
        for endpoint, needs in PAGES.items():
            statuses = {(await called(web, endpoint, token)).status_code for token in strangers.values()}
            assert needs == OPEN or statuses == {401}, endpoint


@pytest.mark.slow
async def test_a_token_allows_exactly_what_its_scopes_say() -> None:
    table = tables()
    tokens = {scope: await token_for(table, "ann", scope) for scope in (READ, WRITE, ADMIN)}
    rank = [READ, WRITE, ADMIN]
    free = Limits(conversations_per_hour=None, concurrent=None, rounds_per_day=None)
    async with (
        served(create_app(table, limits=free)) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web,
    ):
        for endpoint, (needs, _) in NEEDS.items():
            for held, token in tokens.items():
                status, body = told(await called(web, endpoint, token))
                may = needs == OPEN or rank.index(held) >= rank.index(needs)
                assert (status != 403) == may, (endpoint, held, body)
                assert may or body["code"] == "FORBIDDEN", (endpoint, held)
                assert status not in {401, 500}, (endpoint, held, body)


async def test_a_user_without_write_access_learns_nothing_about_a_body() -> None:
    table = tables()
    token = await token_for(table, "ann", READ)
    async with (
        served(create_app(table)) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web,
    ):
        for endpoint, (needs, body) in NEEDS.items():
            if needs == WRITE and body is not None:
                method, path = split(endpoint)
                headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
                answer = await web.request(method, path, headers=headers, content=b"{")
                assert answer.status_code == 403, endpoint


async def test_a_session_of_another_user_is_answered_like_an_unknown_one() -> None:
    table = served_table(agents=scripted_agents({"ada": late(30, "Tea"), "bo": "Tea"}))
    ann, bob = await token_for(table, "ann"), await token_for(table, "bob")
    async with (
        served(create_app(table)) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web,
    ):
        begun = await called(web, "POST /api/debates", ann)
        session_id, missing = begun.json()["sessionId"], "f" * 32
        tried = [endpoint for endpoint in NEEDS if "{sessionId}" in endpoint]
        assert len(tried) == 16
        for endpoint in tried:
            theirs, nowhere = await called(web, endpoint, bob, session_id), await called(web, endpoint, bob, missing)
            assert theirs.text.count(session_id) == nowhere.text.count(missing), endpoint
            status, body = told(theirs)
            assert (status, body["code"]) == (404, "SESSION_ERROR"), endpoint
            there = {name: str(value).replace(session_id, missing) for name, value in body.items()}
            assert there == {name: str(value) for name, value in told(nowhere)[1].items()}, endpoint
            assert theirs.headers.keys() == nowhere.headers.keys(), endpoint
        assert (await called(web, "GET /api/sessions", bob)).json()["sessions"] == []
        mine = (await called(web, "GET /api/sessions", ann)).json()["sessions"]
        assert [one["sessionId"] for one in mine] == [session_id]
        left = (await called(web, "GET /api/sessions/{sessionId}", ann, session_id)).json()
        assert left["sessionStatus"] in {"created", "active"}


async def test_texts_and_idempotency_keys_of_other_users_are_not_found() -> None:
    table = tables()
    ann, bob = await token_for(table, "ann"), await token_for(table, "bob")
    async with (
        served(create_app(table)) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web,
    ):
        asked = {"topic": "Tea?", "rounds": 1}
        both = []
        for token in (ann, bob):
            headers = {"authorization": f"Bearer {token}", "idempotency-key": "same"}
            both.append((await web.post("/api/debates?wait=20", json=asked, headers=headers)).json()["sessionId"])
        assert both[0] != both[1]
        found = await web.get("/api/sessions?q=tea", headers={"authorization": f"Bearer {bob}"})
        assert {hit["sessionId"] for hit in found.json()["hits"]} == {both[1]}


async def test_a_custom_authenticator_decides_alone() -> None:
    table = tables()
    own = TokenAuthenticator(TokenStore.of(table._wiring.storage), audience="elsewhere")
    token = await token_for(table, "ann")
    async with (
        served(create_app(table, auth=own)) as url,
        httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as web,
    ):
        assert (await called(web, "GET /api/me", token)).status_code == 401


@pytest.mark.slow
async def test_the_configuration_of_agents_is_shown_only_to_the_user_of_the_session() -> None:
    says = {"initiator": {"goal": "Name it."}, "scout": "It is Paris.", "summarizer": "Paris."}
    profiles = [AgentProfile("scout", instructions="Mind the gap.")]
    table = Roundtable([ScriptedModel(says)], storage="memory://", profiles=profiles)
    tokens = [await token_for(table, *who) for who in (("ann", "write"), ("ann", "read"), ("bo", "admin"))]
    write, read, other = ({"authorization": f"Bearer {token}"} for token in tokens)
    asked = {**TEAM, "rounds": 1}
    async with (
        served(create_app(table)) as url,
        httpx.AsyncClient(base_url=url, trust_env=False, verify=False, timeout=30) as web,
    ):
        held = await web.post("/api/conversations?wait=20", json=asked, headers=write)
        assert "Mind the gap." in held.text
        place = f"/api/sessions/{held.json()['sessionId']}"
        for path in (place, f"{place}/export?format=json"):
            assert "Mind the gap." in (await web.get(path, headers=read)).text
            assert (await web.get(path, headers=other)).status_code == 404
        quiet = ["/api/sessions", "/api/sessions?q=paris", "/api/profiles", "/api/agents", place.removeprefix("/api")]
        quiet += [f"{place}/{part}" for part in ("events", "rounds/1", "export?format=html", "export?format=csv")]
        for path in quiet:
            answer = await web.get(path, headers=read)
            assert (path, answer.status_code, "Mind the gap." in answer.text) == (path, 200, False)
        assert "Mind the gap." not in (await web.post("/api/chat/multi", json=asked, headers=write)).text
