"""Limits of users against a plain model that keeps everything and counts it anew each time."""

from __future__ import annotations

from typing import NamedTuple

import anyio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from roundtable.server import Limits
from roundtable.server.limits import Admission, RateLimited, UserLimits
from roundtable.server.quota import DAY_S, HOUR_S, LEASE_S
from roundtable.storage import MemoryStorage
from roundtable.testing import ManualClock

LIMITS = Limits(conversations_per_hour=3, concurrent=2, rounds_per_day=9)
USERS = st.sampled_from(["ann", "bo"])


class Kept(NamedTuple):
    """A request that was admitted."""

    user: str
    at_s: float
    begins: bool
    rounds: int
    admission: Admission


class LimitsMachine(RuleBasedStateMachine):
    """Users begin, go on, take back and end conversations while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.limits = UserLimits(MemoryStorage(clock=self.clock).kv, LIMITS, clock=self.clock)
        self.kept: list[Kept] = []

    def counts(self, user: str) -> dict[str, int]:
        now_s = self.clock.monotonic()
        mine = [one for one in self.kept if one.user == user]
        return {
            "conversations": 3 - sum(one.begins for one in mine if now_s - one.at_s < HOUR_S),
            "rounds": 9 - sum(one.rounds for one in mine if now_s - one.at_s < DAY_S),
            "concurrent": 2 - sum(1 for one in mine if now_s - one.at_s < LEASE_S),
        }

    @rule(user=USERS, rounds=st.integers(0, 10), begins=st.booleans())
    def ask(self, user: str, rounds: int, begins: bool) -> None:
        left = self.counts(user)
        wanted = {"conversations": int(begins), "rounds": rounds, "concurrent": 1}
        fits = all(wanted[name] <= left[name] for name in left)
        try:
            admission = anyio.run(lambda: self.limits.admit(user, rounds=rounds, begins=begins))
        except RateLimited as error:
            assert not fits
            self._waits_long_enough(error, wanted[error.limit], user)
        else:
            assert fits
            self.kept.append(Kept(user, self.clock.monotonic(), begins, rounds, admission))

    def _waits_long_enough(self, error: RateLimited, wanted: int, user: str) -> None:
        """After the time that was told it fits, and a second before it does not."""
        if error.retry_after_s is None:
            assert wanted > 9
            return
        self.clock.move(error.retry_after_s - 1)
        assert self.counts(user)[error.limit] < wanted or error.retry_after_s < 1
        self.clock.move(1)
        assert self.counts(user)[error.limit] >= wanted

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        taken = data.draw(st.sampled_from(self.kept))
        anyio.run(taken.admission.undo)
        self.kept.remove(taken)

    @rule(seconds=st.sampled_from([1, LEASE_S - 1, LEASE_S, HOUR_S - 1, HOUR_S, DAY_S // 2, DAY_S]))
    def wait(self, seconds: int) -> None:
        self.clock.move(seconds)

    @invariant()
    def what_is_left_is_what_the_model_says(self) -> None:
        for user in ("ann", "bo"):
            standings = anyio.run(self.limits.standings, user)
            assert {one.name: one.remaining for one in standings} == self.counts(user)


TestLimits = LimitsMachine.TestCase
TestLimits.settings = settings(max_examples=min(25, settings().max_examples), stateful_step_count=20, deadline=None)
