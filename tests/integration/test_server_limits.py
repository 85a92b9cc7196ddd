"""Limits of users over HTTP, and across processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from integration.server_kit import served, served_table

from roundtable.auth import LocalUser
from roundtable.server import create_app
from roundtable.server.limits import RateLimited

CHILD = Path(__file__).with_name("limits_child.py")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_refusal_says_when_to_come_back() -> None:
    app = create_app(served_table(), auth=LocalUser())

    @app.get("/refused")
    async def refused() -> None:
        raise RateLimited("conversations", 5, window_s=3600, retry_after_s=12, headers={"RateLimit": '"x";r=0;t=12'})

    async with served(app) as url, httpx.AsyncClient(base_url=url, trust_env=False) as web:
        answer = await web.get("/refused")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "12")
    assert answer.headers["ratelimit"] == '"x";r=0;t=12'
    assert (answer.json()["code"], answer.json()["details"]["limit"]) == ("RATE_LIMIT_EXCEEDED", "conversations")


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
