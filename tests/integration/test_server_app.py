"""The application before any endpoint: who gets in, and how failures are told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from integration.server_kit import client_of, served_table, token_for

from roundtable.api import AgentProfile
from roundtable.auth import LocalUser
from roundtable.errors import ConfigurationError
from roundtable.server import create_app
from roundtable.storage import MemoryStorage

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]
"""The web server knows no other."""


async def test_the_health_check_needs_no_token() -> None:
    table = served_table()
    async with client_of(table, token="wrong") as web:
        answer = await web.get("/health")
        assert (answer.status_code, answer.json()["status"]) == (200, "ok")
        assert len(answer.headers["x-request-id"]) == 32


@pytest.mark.parametrize("path", ["/api/openapi.json", "/api/sessions", "/nowhere"])
async def test_everything_else_needs_a_token(path: str) -> None:
    async with client_of(token="rt_wrong") as web:
        answer = await web.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        told = answer.json()
        assert (told["code"], set(told)) == ("UNAUTHORIZED", {"error", "code", "hint", "timestamp", "requestId"})
        assert told["requestId"] == answer.headers["x-request-id"]


@pytest.mark.slow
async def test_a_valid_token_is_accepted() -> None:
    table = served_table()
    token = await token_for(table, "ann")
    async with client_of(table, token=token) as web:
        assert (await web.get("/api/openapi.json")).json()["info"]["title"] == "AI Roundtable"


async def test_an_unknown_path_has_an_error_in_the_same_format() -> None:
    async with client_of(auth=LocalUser()) as web:
        answer = await web.get("/api/nowhere")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
        answer = await web.post("/health")
        assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert answer.headers["allow"] == "GET, HEAD"


async def test_a_foreign_host_and_origin_are_refused() -> None:
    async with client_of() as web:
        answer = await web.get("/health", headers={"host": "evil.test"})
        assert (answer.status_code, answer.json()["code"]) == (421, "MISDIRECTED_REQUEST")
        answer = await web.get("/health", headers={"origin": "http://evil.test"})
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")


@pytest.mark.slow
async def test_a_page_of_an_admitted_origin_may_call_with_a_token_and_no_other() -> None:
    table = served_table()
    token = await token_for(table, "ann")
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    async with client_of(table, token=token, origins=["https://app.example.org"]) as web:
        page = {"origin": "https://app.example.org"}
        first = await web.options("/api/debates", headers={**page, **asked, "authorization": ""})
        assert (first.status_code, first.headers["access-control-allow-origin"]) == (200, "https://app.example.org")
        assert "access-control-allow-credentials" not in first.headers
        told = await web.get("/api/openapi.json", headers=page)
        assert (told.status_code, told.headers["access-control-allow-origin"]) == (200, "https://app.example.org")
        assert "x-request-id" in told.headers["access-control-expose-headers"]
        refused = await web.get("/api/openapi.json", headers={**page, "authorization": "Bearer rt_wrong"})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example.org")
        foreign = {"origin": "https://evil.test"}
        first = await web.options("/api/debates", headers={**foreign, **asked})
        assert (first.status_code, first.headers.get("access-control-allow-origin")) == (400, None)
        assert (await web.get("/health", headers=foreign)).status_code == 403


@pytest.mark.parametrize("origin", ["*", "null", "app.example.org", "https://*.example.org", "https://a.example/x", ""])
async def test_an_invalid_origin_is_refused_at_the_start_and_not_at_each_request(origin: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(repr(origin))) as refused:
        create_app(served_table(), auth=LocalUser(), origins=[origin])
    assert "List each origin separately" in (refused.value.hint or "")


@pytest.mark.parametrize("host", ["*", "debates.example.org:8000", "https://debates.example.org", ""])
async def test_an_invalid_host_name_is_refused_at_the_start(host: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(repr(host))):
        create_app(served_table(), auth=LocalUser(), hosts=[host])


async def test_preflight_and_request_accept_an_origin_in_the_same_spelling() -> None:
    asked = {"access-control-request-method": "POST"}
    async with client_of(origins=["https://App.example.org:443/"]) as web:
        for page, status in (("https://app.example.org", 200), ("https://app.example.org.evil.test", 403)):
            first = await web.options("/api/debates", headers={"origin": page, **asked})
            assert (first.headers.get("access-control-allow-origin") == page) is (status == 200)
            assert (await web.get("/health", headers={"origin": page})).status_code == status


async def test_a_profile_with_an_unknown_tool_is_refused_at_the_start() -> None:
    profiles = [AgentProfile("clerk", tools=["fact_check"]), AgentProfile("steward", tools=["getSFDCData"])]
    with pytest.raises(ConfigurationError, match="profile 'steward': unknown tool 'getSFDCData'") as refused:
        create_app(served_table(profiles=profiles), auth=LocalUser())
    assert "--tools" in (refused.value.hint or "")


async def test_tools_that_are_known_only_once_they_are_connected_keep_no_server_from_starting() -> None:
    class Later:
        def get_tools(self) -> list[Any]:
            return []

        async def execute_tool(self, name: str, arguments: Any, context: Any = None) -> Any:
            raise AssertionError(name)

        async def prepare(self) -> None:
            raise AssertionError("not before a debate")

    table = served_table(profiles=[AgentProfile("steward", tools=["remote"])], tools=[Later()])
    create_app(table, auth=LocalUser())


class SessionsAlone:
    """A storage that keeps sessions and nothing else."""

    def __init__(self) -> None:
        self._sessions = MemoryStorage()

    def __getattr__(self, name: str) -> Any:
        if name == "kv":
            raise AttributeError(name)
        return getattr(self._sessions, name)


async def test_a_storage_without_values_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="has no key-value store") as refused:
        create_app(served_table(storage=SessionsAlone()), auth=LocalUser())
    assert "sqlite" in (refused.value.hint or "")
