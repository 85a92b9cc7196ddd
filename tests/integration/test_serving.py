"""The server of the kit: it serves while its block is open, and says when it cannot."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from roundtable.errors import ConfigurationError
from roundtable.testing import serving


async def hello(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def broken(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no"})


def test_an_application_is_served_while_the_block_is_open() -> None:
    with serving(hello) as url:
        assert httpx.get(url, trust_env=False, verify=False).text == "hello"
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, verify=False)
    assert "roundtable-serving" not in {thread.name for thread in threading.enumerate()}


def test_an_application_that_does_not_start_is_reported() -> None:
    with pytest.raises(ConfigurationError, match="did not start"), serving(broken):
        pytest.fail("it started")
