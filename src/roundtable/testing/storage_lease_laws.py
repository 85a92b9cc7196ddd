"""Laws of a storage: who may append, and for how long."""

from __future__ import annotations

from datetime import timedelta

import anyio
import pytest

from roundtable._owner import current_owner
from roundtable.errors import LeaseLost, SessionBusy, SessionError
from roundtable.protocols import Leases, Storage
from roundtable.testing.storage_samples import ManualClock, answered, owner_elsewhere, record

__all__ = ["LeaseLaws"]


class LeaseLaws:
    """Leases and their tokens."""

    async def test_the_same_owner_renews_and_keeps_its_token(self, storage: Storage, clock: ManualClock) -> None:
        """Renewing moves the end, not the token, also after it lapsed."""
        made, owner = record(), owner_elsewhere()
        await storage.create(made)
        first = await storage.lease(made.id, owner, 15)
        assert first.owner == owner
        assert first.expires_at == clock.now() + timedelta(seconds=15)
        clock.move(10)
        second = await storage.lease(made.id, owner, 15)
        assert second.token == first.token
        assert second.expires_at == clock.now() + timedelta(seconds=15)
        clock.move(100)
        assert (await storage.lease(made.id, owner, 15)).token == first.token

    async def test_a_held_session_is_busy_for_others_until_the_lease_lapses(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """Then the next holder's token is larger, and the old one is refused."""
        made = record()
        await storage.create(made)
        held = await storage.lease(made.id, owner_elsewhere("first"), 15)
        clock.move(14.999)
        with pytest.raises(SessionBusy) as error:
            await storage.lease(made.id, owner_elsewhere("second"), 15)
        assert error.value.retryable
        assert error.value.details == {
            "owner": "first",
            "host": "another-host.invalid",
            "pid": 7,
            "expiresAt": held.expires_at.isoformat(),
        }
        clock.move(0.001)
        taken = await storage.lease(made.id, owner_elsewhere("second"), 15)
        assert taken.token > held.token
        with pytest.raises(LeaseLost):
            await storage.append(made.id, None, held.token, [answered(made.id)])
        assert await storage.append(made.id, 0, taken.token, [answered(made.id)]) == 1

    async def test_a_token_nobody_was_given_opens_nothing(self, storage: Storage) -> None:
        """Neither a smaller nor a larger one."""
        made = record()
        await storage.create(made)
        held = await storage.lease(made.id, owner_elsewhere(), 15)
        for token in (held.token + 1, held.token - 1, 0, -1, 2**70):
            with pytest.raises(LeaseLost):
                await storage.append(made.id, 0, token, [answered(made.id)])

    async def test_a_lapsed_lease_holds_until_somebody_takes_it(self, storage: Storage, clock: ManualClock) -> None:
        """Time alone spoils no token."""
        made = record()
        await storage.create(made)
        held = await storage.lease(made.id, owner_elsewhere(), 15)
        clock.move(1000)
        assert await storage.append(made.id, 0, held.token, [answered(made.id)]) == 1

    async def test_giving_a_lease_up_frees_the_session_and_spoils_the_token(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """`ttl_s=0` ends a lease; tokens go on growing."""
        made, owner = record(), owner_elsewhere()
        await storage.create(made)
        held = await storage.lease(made.id, owner, 15)
        given_up = await storage.lease(made.id, owner, 0)
        assert (given_up.token, given_up.expires_at) == (held.token, clock.now())
        with pytest.raises(LeaseLost):
            await storage.append(made.id, None, held.token, [answered(made.id)])
        other = await storage.lease(made.id, owner_elsewhere("other"), 15)
        assert other.token > held.token
        await storage.lease(made.id, owner_elsewhere("other"), 0)
        assert (await storage.lease(made.id, owner, 15)).token > other.token

    async def test_only_the_holder_gives_a_lease_up(self, storage: Storage) -> None:
        """`ttl_s=0` of somebody else is refused like any other."""
        made = record()
        await storage.create(made)
        held = await storage.lease(made.id, owner_elsewhere(), 15)
        with pytest.raises(SessionBusy):
            await storage.lease(made.id, owner_elsewhere("other"), 0)
        assert await storage.append(made.id, 0, held.token, [answered(made.id)]) == 1

    async def test_a_dead_owner_of_this_host_is_taken_over_at_once(self, storage: Storage) -> None:
        """Nobody waits for a process that cannot come back."""
        made, me = record(), current_owner()
        await storage.create(made)
        rebooted = me.model_copy(update={"name": "dead", "boot_id": "00000000-an-earlier-boot"})
        held = await storage.lease(made.id, rebooted, 15)
        assert (await storage.lease(made.id, me, 15)).token > held.token

    async def test_of_many_who_ask_one_gets_the_lease(self, storage: Storage) -> None:
        """Taking is atomic."""
        made = record()
        await storage.create(made)
        outcomes: list[bool] = []

        async def ask(number: int) -> None:
            try:
                await storage.lease(made.id, owner_elsewhere(str(number)), 15)
            except SessionBusy:
                outcomes.append(False)
            else:
                outcomes.append(True)

        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(ask, number)
        assert sorted(outcomes) == [False] * 9 + [True]

    @pytest.mark.parametrize("ttl_s", [-1.0, float("nan")])
    async def test_a_lease_of_no_length_is_a_mistake(self, storage: Storage, ttl_s: float) -> None:
        """Negative and undefined lengths are the caller's mistake."""
        made = record()
        await storage.create(made)
        with pytest.raises(ValueError, match="zero seconds or more"):
            await storage.lease(made.id, current_owner(), ttl_s)

    async def test_no_lease_lasts_longer_than_an_hour_without_being_renewed(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """However long it was asked for, and whatever clock it was written under."""
        made, start = record(), clock.now()
        await storage.create(made)
        endless = await storage.lease(made.id, owner_elsewhere("first"), float("inf"))
        assert endless.expires_at == start + timedelta(hours=1)
        clock.move(365 * 24 * 3600.0)
        await storage.lease(made.id, owner_elsewhere("first"), 15)
        clock.move(-365 * 24 * 3600.0)
        taken = await storage.lease(made.id, owner_elsewhere("second"), 15)
        assert taken.token > endless.token
        with pytest.raises(LeaseLost):
            await storage.append(made.id, 0, endless.token, [answered(made.id)])

    async def test_a_storage_that_tells_who_runs_a_session_takes_nothing_by_it(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """Nobody, the holder, nobody again once the lease lapsed; and it still holds then. Optional."""
        if not isinstance(storage, Leases):
            return
        made, owner = record(), owner_elsewhere()
        await storage.create(made)
        assert await storage.holder(made.id) is None
        held = await storage.lease(made.id, owner, 15)
        assert await storage.holder(made.id) == owner
        clock.move(15)
        assert await storage.holder(made.id) is None
        assert await storage.append(made.id, 0, held.token, [answered(made.id)]) == 1
        dead = current_owner("dead").model_copy(update={"boot_id": "00000000-an-earlier-boot"})
        await storage.lease(made.id, dead, 15)
        assert await storage.holder(made.id) is None
        with pytest.raises(SessionError):
            await storage.holder("another session")
        with pytest.raises(SessionError):
            await storage.holder(made.id, tenant="another tenant")
