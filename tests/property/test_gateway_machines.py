"""Retry delays, breaker and buckets held against plain models of what they promise, in any order of events."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from roundtable.errors import AgentError, APINetworkError, APIRateLimitError, APITimeoutError, CircuitOpen
from roundtable.gateway import CircuitBreaker, RateBucket, RetryBudget, RetryRule
from roundtable.testing.doubles import ManualClock
from roundtable.types import Breaker

SHARE = st.floats(0, 1, exclude_max=True)
SECONDS = st.floats(0, 200, allow_nan=False).map(lambda number: round(number, 3))
FAILURES = st.sampled_from([APIRateLimitError, APINetworkError, APITimeoutError])


class FailureBreaker(RuleBasedStateMachine):
    """The breaker by failures against a list of moments at which failures were counted."""

    calls = Bundle("calls")

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.breaker = CircuitBreaker("it", clock=self.clock)
        self.failures = []
        self.opened_at = None
        self.probe = None
        self.made = 0

    def let_in(self):
        if self.opened_at is None:
            return True
        return self.probe is None and self.clock.monotonic() >= self.opened_at + 60

    @rule(target=calls)
    def enter(self):
        if not self.let_in():
            with pytest.raises(CircuitOpen) as refused:
                self.breaker.enter()
            assert refused.value.retry_after_s is None or 0 < refused.value.retry_after_s <= 60
            return multiple()
        probe = self.breaker.enter()
        assert probe is (self.opened_at is not None)
        self.made += 1
        call = (self.made, probe)
        if probe:
            self.probe = call
        return call

    @rule(call=consumes(calls))
    def succeed(self, call):
        self.breaker.record_success(probe=call[1])
        if call == self.probe:
            self.probe, self.opened_at, self.failures = None, None, []

    @rule(call=consumes(calls))
    def fail(self, call):
        now = self.clock.monotonic()
        self.breaker.record_failure(probe=call[1])
        if call == self.probe:
            self.probe, self.opened_at = None, now
        elif self.opened_at is None:
            self.failures = [at for at in self.failures if at > now - 60] + [now]
            if len(self.failures) >= 5:
                self.opened_at = now

    @rule(call=consumes(calls))
    def end_otherwise(self, call):
        self.breaker.record_nothing(probe=call[1])
        if call == self.probe:
            self.probe = None

    @rule(seconds=SECONDS)
    def wait(self, seconds):
        self.clock.move(seconds)

    @precondition(lambda self: self.probe is None)
    @rule()
    def reset(self):
        self.breaker.reset()
        self.opened_at, self.failures = None, []

    @invariant()
    def agrees(self):
        now = self.clock.monotonic()
        if self.opened_at is None:
            assert self.breaker.state == "closed"
            recent = [at for at in self.failures if at > now - 60]
            # Never open before five failures in the window.
            assert self.breaker.failures == len(recent) < 5
        elif self.probe is None and now < self.opened_at + 60:
            assert self.breaker.state == "open"
            assert self.breaker.wait_s == pytest.approx(self.opened_at + 60 - now)
        else:
            assert self.breaker.state == "half_open"


class ShareBreaker(RuleBasedStateMachine):
    """The breaker by share against a list of calls, and of moments at which they ended."""

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.breaker = CircuitBreaker.of(Breaker(min_calls=5, window_s=50, recovery_s=30), "it", clock=self.clock)
        self.calls = []
        self.opened_at = None
        self.certain = False
        self.probing = False

    def now(self):
        return self.clock.monotonic()

    def recent(self):
        return [failed for at, failed in self.calls if at > self.now() - 50]

    @rule(outcome=st.sampled_from(["ok", "failed", "failed", "nothing"]))
    def call(self, outcome):
        """A call that begins while the breaker is closed, or before it opened."""
        if outcome == "ok":
            self.breaker.record_success()
            if self.certain:  # the retry of a call that had begun before
                self.opened_at, self.calls, self.certain, self.probing = None, [], False, False
            self.calls.append((self.now(), False))
        elif outcome == "nothing":
            self.breaker.record_nothing()
        else:
            self.breaker.record_failure(APINetworkError())
            if self.opened_at is None:
                self.calls.append((self.now(), True))
                if len(self.recent()) >= 5 and 2 * sum(self.recent()) >= len(self.recent()):
                    self.opened_at = self.now()

    @rule()
    def find_the_provider_down(self):
        self.breaker.trip("its host is unknown")
        if self.opened_at is None:
            self.opened_at, self.certain = self.now(), True

    @rule()
    def enter(self):
        if self.opened_at is None:
            assert self.breaker.enter() is False
        elif self.probing or self.now() < self.opened_at + 30:
            with pytest.raises(CircuitOpen):
                self.breaker.enter()
        else:
            assert self.breaker.enter() is True
            self.probing = True

    @precondition(lambda self: self.probing)
    @rule(outcome=st.sampled_from(["ok", "failed", "down", "nothing"]))
    def end_the_probe(self, outcome):
        self.probing = False
        if outcome == "ok":
            self.breaker.record_success(probe=True)
            self.opened_at, self.calls, self.certain = None, [(self.now(), False)], False
        elif outcome == "nothing":
            self.breaker.record_nothing(probe=True)
        elif outcome == "down":
            self.breaker.trip("its host is unknown", probe=True)
            self.opened_at, self.certain = self.now(), True
        else:
            self.breaker.record_failure(probe=True)
            self.opened_at, self.certain = self.now(), False

    @rule(seconds=SECONDS)
    def wait(self, seconds):
        self.clock.move(seconds)

    @invariant()
    def agrees(self):
        assert (self.breaker.calls, self.breaker.failures) == (len(self.recent()), sum(self.recent()))
        assert 0 <= self.breaker.wait_s <= 30
        assert self.breaker.allows_retries is (self.opened_at is None or self.certain)
        if self.opened_at is None:
            assert (self.breaker.state, self.breaker.reason) == ("closed", None)
        else:
            waits = self.now() < self.opened_at + 30 and not self.probing
            assert self.breaker.state == ("open" if waits else "half_open")
            assert self.breaker.reason


class Budget(RuleBasedStateMachine):
    """The retry budget against a number between 0 and 500."""

    def __init__(self):
        super().__init__()
        self.budget = RetryBudget()
        self.level = 500

    @rule(cost=st.sampled_from([5, 10]), times=st.integers(1, 40))
    def pay(self, cost, times):
        for _ in range(times):
            assert self.budget.take(cost) is (self.level >= cost)
            self.level -= cost if self.level >= cost else 0

    @rule(amount=st.sampled_from([1, 5, 10]), times=st.integers(1, 40))
    def succeed(self, amount, times):
        for _ in range(times):
            self.budget.give_back(amount)
        self.level = min(500, self.level + amount * times)

    @invariant()
    def agrees(self):
        assert 0 <= self.budget.available == self.level <= 500


class Rate(RuleBasedStateMachine):
    """The rate bucket: over any stretch of time no more is let through than its rate and one full bucket allow."""

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.used = []

    @initialize(per_minute=st.sampled_from([1, 6, 60, 600, 90_000]))
    def begin(self, per_minute):
        self.per_minute = per_minute
        self.bucket = RateBucket(per_minute, clock=self.clock)

    @rule(share=st.floats(0.001, 1.5))
    def take(self, share):
        amount = share * self.per_minute
        wait = self.bucket.take(amount)
        assert wait >= 0
        at = self.clock.monotonic() + wait
        # First come, first served.
        assert not self.used or at >= self.used[-1][0] - 1e-6
        self.used.append((at, amount))

    @rule(share=st.floats(0.001, 1.0))
    def take_and_give_back(self, share):
        before = self.bucket.take(0)
        self.bucket.take(share * self.per_minute)
        self.bucket.give_back(share * self.per_minute)
        assert self.bucket.take(0) == pytest.approx(before, abs=1e-6)

    @rule(seconds=SECONDS)
    def wait(self, seconds):
        self.clock.move(seconds)

    @invariant()
    def keeps_to_its_rate(self):
        for first in range(len(self.used)):
            began = self.used[first][0]
            let_through = 0.0
            for at, amount in self.used[first:]:
                # One that is larger than the bucket goes through a full one; what follows pays for it.
                allowed = self.per_minute * (1 + (at - began) / 60) * (1 + 1e-9) + 1e-6
                let_through += amount
                assert let_through - max(0.0, amount - self.per_minute) <= allowed

    @invariant()
    def holds_at_most_a_minute(self):
        assert 0 <= self.bucket.available <= self.per_minute


class Delays(RuleBasedStateMachine):
    """The waits of one call, as the failures come."""

    @initialize(retries=st.integers(0, 8), base=st.floats(0, 60), jitter=st.floats(0, 1), longest=st.floats(1, 300))
    def begin(self, retries, base, jitter, longest):
        self.rule = RetryRule(max_retries=retries, base_delay_s=base, jitter=jitter, longest_wait_s=longest)
        self.made = 0
        self.last = 0.0

    @rule(kind=FAILURES, asked=st.none() | st.floats(-10, 1e6), share=SHARE)
    def fail(self, kind, asked, share):
        error = kind(retry_after_s=asked)
        retry = self.made + 1
        wait = self.rule.wait_s(error, retry, share)
        assert math.isfinite(wait)
        assert wait >= 0
        if not self.rule.allows(error, retry):
            assert self.made >= self.rule.max_retries or (asked or 0) > self.rule.longest_wait_s
            return
        self.made = retry
        if asked is not None and asked > 0:
            # Never earlier than asked, and little later.
            assert asked <= wait <= asked * (1 + self.rule.jitter)
        else:
            plain = min(self.rule.base_delay_s * 2 ** (retry - 1), self.rule.max_delay_s)
            assert plain <= wait <= plain * (1 + self.rule.jitter)
            assert wait <= self.rule.max_delay_s * (1 + self.rule.jitter)

    @rule(share=SHARE)
    def fail_for_good(self, share):
        for error in (AgentError(), APINetworkError(retryable=False)):
            assert not self.rule.allows(error, 1)

    @invariant()
    def tries_are_bounded(self):
        assert getattr(self, "made", 0) <= 8


for _machine in (FailureBreaker, ShareBreaker, Budget, Rate, Delays):
    globals()[f"Test{_machine.__name__}"] = _machine.TestCase
    _machine.TestCase.settings = settings(stateful_step_count=50, deadline=None)


@given(retry=st.integers(1, 5000), share=SHARE)
def test_no_number_of_retries_breaks_the_backoff(retry, share):
    rule = RetryRule()
    assert 1 <= rule.backoff_s(retry, share) <= 32 * 1.2


@given(retry=st.integers(1, 20), share=SHARE)
def test_the_backoff_never_shrinks_but_for_jitter(retry, share):
    rule = RetryRule(jitter=0)
    assert rule.backoff_s(retry + 1, share) >= rule.backoff_s(retry, share)
