"""Answers that are held back: what ends them, and what is said of that."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from integration.server_kit import served_table

from roundtable.api.tenants import TenantSession
from roundtable.errors import StorageError
from roundtable.server.connections import WaitingResponse

pytestmark = [pytest.mark.anyio, pytest.mark.both_loops]


async def stays() -> dict[str, Any]:
    """Be a client that stays."""
    await anyio.sleep_forever()
    raise AssertionError


async def leaves() -> dict[str, Any]:
    return {"type": "http.disconnect"}


async def comes() -> None:
    """Be what is waited for, and be there."""


def held() -> WaitingResponse:
    return WaitingResponse(TenantSession(served_table(), "ann", {}))


async def test_a_wait_reports_whether_something_came_in_time() -> None:
    assert await held().over(comes, 60, stays)


async def test_a_wait_ends_with_its_time_its_client_or_the_server() -> None:
    assert not await held().over(anyio.sleep_forever, 0.001, stays)
    assert not await held().over(anyio.sleep_forever, 60, leaves)
    for before in (True, False):
        one = held()
        async with anyio.create_task_group() as group:

            async def end(held: WaitingResponse = one) -> None:
                held.end()

            if before:
                one.end()
            group.start_soon(end)
            assert not await one.over(anyio.sleep_forever, 60, stays)


async def test_an_error_during_a_wait_is_raised_unchanged() -> None:
    async def fails() -> None:
        raise StorageError("the disk is full")

    with pytest.raises(StorageError, match="the disk is full"):
        await held().over(fails, 60, stays)
