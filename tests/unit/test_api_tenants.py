"""The desks of users: what is remembered of runs, and of how many."""

from __future__ import annotations

import pytest

from roundtable import Roundtable
from roundtable.api.tenants import MOST_ENDED, TenantSessions
from roundtable.providers import Delay
from roundtable.testing import scripted_agents

pytestmark = [pytest.mark.anyio, pytest.mark.both_loops]


async def test_each_user_keeps_their_own_tenant_session() -> None:
    table = Roundtable(storage="memory://")
    async with TenantSessions(table.for_tenant) as tenant_sessions:
        ann = await tenant_sessions.session_of("ann")
        assert await tenant_sessions.session_of("ann") is ann
        assert (await tenant_sessions.session_of("eve")).table is not ann.table
    await table.aclose()


async def test_runs_are_visible_only_to_their_user() -> None:
    table = Roundtable(scripted_agents({"ada": Delay(30, "Tea"), "bo": "Tea"}), storage="memory://")
    async with TenantSessions(table.for_tenant) as tenant_sessions:
        ann, eve = await tenant_sessions.session_of("ann"), await tenant_sessions.session_of("eve")
        handle = await ann.table.start("Tea?", rounds=1)
        ann.keep(handle)
        assert ann.running(handle.session_id) is ann.handle(handle.session_id) is handle
        assert eve.running(handle.session_id) is eve.handle(handle.session_id) is None
    await table.aclose()


@pytest.mark.slow
async def test_all_running_and_only_the_last_ended_runs_are_kept() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
    slow = Roundtable(scripted_agents({"ada": Delay(30, "Tea"), "bo": "Tea"}), storage="memory://")
    async with TenantSessions(
        lambda tenant: (slow if tenant == "ann" else table).for_tenant(tenant)
    ) as tenant_sessions:
        ann = await tenant_sessions.session_of("ann")
        going = await ann.table.start("Tea?", rounds=1)
        ann.keep(going)
        ended = []
        for place in range(MOST_ENDED + 2):
            # The users are many, what they may keep together is not more for that.
            tenant_session = await tenant_sessions.session_of(f"user{place % 5}")
            handle = await tenant_session.table.start("Tea?", rounds=1)
            await handle.wait()
            tenant_session.keep(handle)
            ended.append(tenant_session.handle(handle.session_id) is handle)
        assert all(ended)
        assert len([one for one in tenant_sessions.runs.values() if one.done]) == MOST_ENDED
        assert ann.running(going.session_id) is going
    await table.aclose()
    await slow.aclose()
