"""Tables of several users over one set of models and one storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from roundtable import Budget, Roundtable, sync
from roundtable.errors import BudgetExceeded, ConfigurationError, SessionNotFound
from roundtable.providers.scripted import Delay
from roundtable.testing import RecordingObserver, scripted_agents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def test_users_share_models_and_storage_and_see_only_their_own_sessions() -> None:
    async with Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
        ann, ben = table.for_tenant("ann"), table.for_tenant("ben")
        assert ann._wiring.storage is ben._wiring.storage is table._wiring.storage
        assert ann._wiring.models is ben._wiring.models
        held = await ann.debate("Tea or coffee?", rounds=1)
        assert [found.id for found in await ann.sessions()] == [held.session.id]
        assert await ben.sessions() == await table.sessions() == ()
        with pytest.raises(SessionNotFound):
            await ben.session(held.session.id)


async def test_a_user_gets_no_events_of_a_session_of_another_user() -> None:
    async with (
        Roundtable(scripted_agents({"ada": Delay(0.1, {"position": "Tea"})}), storage="memory://") as table,
        table.for_tenant("ann") as ann,
        table.for_tenant("ben") as ben,
    ):
        handle = await ann.start("Tea?", rounds=2)
        with anyio.fail_after(5), pytest.raises(SessionNotFound):
            await anext(aiter(ben.watch(handle.session_id)))
        assert (await handle.result()).answer == "Tea"


async def test_closing_the_table_of_a_tenant_leaves_the_shared_parts_open(tmp_path: Path) -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage=f"sqlite:///{tmp_path / 'd.db'}")
    async with table:
        async with table.for_tenant("ann") as ann:
            await ann.debate("Tea?", rounds=1)
        assert len(await table.for_tenant("ann").sessions()) == 1
        # It can be used again, as every table.
        assert len(await ann.sessions()) == 1


async def test_the_table_of_a_tenant_follows_its_table_when_that_is_closed_and_used_again(tmp_path: Path) -> None:
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    table = Roundtable(agents, storage=f"sqlite:///{tmp_path}/debates.db")
    ann = table.for_tenant("ann")
    nested = ann.for_tenant("ben")
    held = [await tenant.debate("Tea or coffee?", rounds=1) for tenant in (ann, nested)]
    await table.aclose()
    for tenant, result in zip((ann, nested), held, strict=True):
        assert [found.id for found in await tenant.sessions()] == [result.session.id]
        assert tenant._wiring.storage is table._wiring.storage
        assert (await tenant.debate("Tea or water?", rounds=1)).answer == "Tea"
    await table.aclose()


async def test_a_budget_of_the_table_is_shared() -> None:
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", budget=Budget(max_calls=1))
    await table.for_tenant("ann").debate("Tea?", rounds=1)
    with pytest.raises(BudgetExceeded):
        await table.for_tenant("ben").debate("Tea?", rounds=1)


async def test_an_observer_of_one_tenant_gets_no_events_of_others() -> None:
    all_of_them, of_ann = RecordingObserver(), RecordingObserver()
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", observers=[all_of_them])
    held = await table.for_tenant("ann", observers=[of_ann]).debate("Tea?", rounds=1)
    other = await table.for_tenant("ben").debate("Tea?", rounds=1)
    assert {event.session_id for event in of_ann.events} == {held.session.id}
    assert {event.session_id for event in all_of_them.events} == {held.session.id, other.session.id}


async def test_tables_of_tenants_have_the_observers_of_their_table_too() -> None:
    first, second, third = RecordingObserver(), RecordingObserver(), RecordingObserver()
    table = Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://", observers=[first])
    ann = table.for_tenant("ann", observers=[second])
    held = await ann.for_tenant("ben", observers=[third]).debate("Tea?", rounds=1)
    for observer in (first, second, third):
        assert {event.session_id for event in observer.events} == {held.session.id}
    await ann.debate("Tea?", rounds=1)
    assert len(third.events) < len(second.events) == len(first.events)


async def test_a_tenant_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="tenant"):
        await Roundtable(storage="memory://").for_tenant("").sessions()


def test_the_blocking_facade_has_tables_of_tenants_too() -> None:
    with sync.Roundtable(scripted_agents({"ada": "Tea"}), storage="memory://") as table:
        table.for_tenant("ann").debate("Tea?", rounds=1)
        assert len(table.for_tenant("ann").sessions()) == 1
        assert table.sessions() == ()
