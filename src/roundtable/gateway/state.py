"""State that all calls to one endpoint share: rate limits, circuit breakers, retry budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.base.clock import SystemClock
from roundtable.core.base.waits import SHOWN_S, Wait
from roundtable.core.base.words import counted
from roundtable.core.errors import APIAuthError, APIRateLimitError, RoundtableError
from roundtable.gateway.breaker import KeyBreaker, certain_outage, own_words
from roundtable.gateway.retry import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.protocols import Clock, SleepingClock
    from roundtable.core.types.base import RateLimit
    from roundtable.core.types.chat import ChatRequest, Usage
    from roundtable.gateway.breaker import CircuitBreaker

__all__ = [
    "LONGEST_WAIT_S",
    "NO_PROBE",
    "EndpointKey",
    "EndpointState",
    "Probes",
    "RateBucket",
    "Rates",
    "RetryBudget",
]

_DAY_S: Final = 86_400.0
"""Longest period of a provider's limit."""

LONGEST_WAIT_S: Final = 60.0
"""Most seconds that a call waits for the rates to allow it."""
_CHARS_PER_TOKEN: Final = 4
"""Rough estimate that is rather too high for English texts; after the call, its usage is known."""


class RateBucket:
    """A token bucket: it limits amounts per minute, first come, first served.

    The bucket is full at first and refills steadily. A caller that takes more than the level gets the seconds to wait;
    the next caller waits in addition to that. An amount above the capacity only needs a full bucket, since it would
    otherwise wait forever.

    Args:
        per_minute: Amount per minute; also the most that can be taken at once after a pause.
        clock: Source of the time.
        parts: Number of processes that share the limit; this process uses an equal part.

    Example:
        >>> from roundtable.testing.doubles import ManualClock
        >>> bucket = RateBucket(60, clock=ManualClock())
        >>> bucket.take(60), bucket.take(1), bucket.take(2)
        (0.0, 1.0, 3.0)
    """

    def __init__(self, per_minute: float, *, clock: Clock | None = None, parts: int = 1) -> None:
        self.per_minute: float = per_minute / parts
        self._parts = parts
        self._capacity = per_minute / parts
        self._clock: Clock = clock or SystemClock()
        self._level = self._capacity
        self._refilled_at = self._clock.monotonic()
        self._lock = Lock()

    @property
    def available(self) -> float:
        """Amount that can be taken without waiting."""
        with self._lock:
            self._refill()
            return max(0.0, self._level)

    def take(self, amount: float = 1.0) -> float:
        """Take an amount; return the seconds to wait before using it."""
        with self._lock:
            self._refill()
            self._level -= amount
            # The part of the amount that exceeds the capacity makes only later callers wait.
            return max(0.0, -self._level - max(0.0, amount - self._capacity)) * 60 / self.per_minute

    def give_back(self, amount: float) -> None:
        """Return an amount that was taken but not used; a negative amount was used but not taken."""
        with self._lock:
            self._refill()
            self._level = min(self._capacity, self._level + amount)

    def share(self, parts: int) -> None:
        """Change the number of processes that share the limit, from now on."""
        with self._lock:
            self._refill()
            self._capacity *= self._parts / parts
            self.per_minute *= self._parts / parts
            self._level = min(self._level, self._capacity)
            self._parts = parts

    @property
    def most_waiting(self) -> int | None:
        """Number of callers that take 1 and wait for at most a minute; `None` if the limit is not shared."""
        return None if self._parts == 1 else max(1, int(self._capacity))

    def adopt_limit(self, limit: int, *, remaining: int | None, reset_s: float | None, pending: int) -> None:
        """Replace the limit by the one that a provider states, with its remainder and the time of its reset.

        The used part refills steadily until the reset, whether the limit applies to a minute or to a day.

        Args:
            limit: New capacity; above 0.
            remaining: Amount left of the limit; when left out, the known level changes by as much as the capacity.
            reset_s: Seconds until the limit is full again; when left out, the whole limit refills in a minute.
            pending: Amount that was taken here, and that the provider may not have counted yet.
        """
        with self._lock:
            self._refill()
            old_capacity, self._capacity = self._capacity, limit / self._parts
            if remaining is None:
                self._level += self._capacity - old_capacity
            else:
                self._level = min(remaining, limit) / self._parts - pending
            used = 0 if remaining is None else limit - remaining
            is_timed = used > 0 and reset_s is not None and reset_s > 0
            per_minute = used * 60 / min(reset_s, _DAY_S) if is_timed and reset_s else limit
            self.per_minute = per_minute / self._parts
            self._level = min(self._capacity, self._level)

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._level = min(self._capacity, self._level + (now - self._refilled_at) * self.per_minute / 60)
        self._refilled_at = now


class RetryBudget:
    """Limits the retries of a provider that fails most calls, so that retries do not add to its load.

    A retry costs 5 points; a retry after a time-out costs 10. A call that succeeds on its first try returns 1 point. A
    call that succeeds on a retry returns the price of that retry. When too few points are left, failures are final. The
    level starts at 500 points and stays within [0, 500].

    Example:
        >>> budget = RetryBudget()
        >>> all(budget.take(RetryBudget.cost) for _ in range(100)), budget.take(RetryBudget.cost)
        (True, False)
    """

    capacity: int = 500
    cost: int = 5
    timeout_cost: int = 10
    refund: int = 1

    def __init__(self) -> None:
        self._level = self.capacity
        self._lock = Lock()

    @property
    def available(self) -> int:
        """Points left."""
        return self._level

    def take(self, cost: int) -> bool:
        """Pay for a retry; return whether enough points were left."""
        with self._lock:
            if cost > self._level:
                return False
            self._level -= cost
            return True

    def give_back(self, amount: int) -> None:
        """Add points after a success."""
        if self._level == self.capacity:
            return
        with self._lock:
            self._level = min(self.capacity, self._level + amount)


class EndpointKey(NamedTuple):
    """Key of an endpoint; calls with the same key share an `EndpointState`."""

    provider: str
    """Name of the provider."""
    endpoint: str
    """Root of the provider's API; empty if there is none."""
    model: str
    """Model id."""
    account: str = ""
    """Mark of the API key that pays, different in each process; empty if there is no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Calls and tokens per minute that a provider allows; `None` for no limit."""

    requests_per_minute: float | None = None
    """Calls per minute; each try counts."""
    learns: bool = False
    """Whether nobody set `requests_per_minute`, so that limits in response headers replace it."""
    tokens_per_minute: float | None = None
    """Tokens per minute, input and output together."""


class Probes(NamedTuple):
    """Whether a call is the probe of an open breaker."""

    endpoint: bool = False
    """Whether it tests if the provider is back."""
    key: bool = False
    """Whether it tests if the provider accepts the key again."""


NO_PROBE: Final = Probes()


class EndpointState:
    """The state that all calls to one endpoint with one key share: breakers, rates, retry budget.

    Args:
        key: Key of the endpoint.
        rates: Calls and tokens allowed per minute.
        breaker: Circuit breaker of the provider, address and model; calls with other keys share it.
        budget: Pays for the retries of the provider.
        clock: Source of the time; sleeps during waits.
        parts: Number of processes that share the rates.
        calls_at_once: Most calls in progress at the same time; the gateway's own limit when left out.
    """

    def __init__(
        self,
        key: EndpointKey,
        rates: Rates,
        breaker: CircuitBreaker,
        budget: RetryBudget,
        *,
        clock: SleepingClock,
        parts: int = 1,
        calls_at_once: int | None = None,
    ) -> None:
        self.key = key
        self.calls_at_once = calls_at_once
        self.breaker = breaker
        # A program on this machine has no key that a provider could refuse.
        is_on = breaker.is_on and bool(key.account or key.endpoint)
        self.key_breaker: KeyBreaker = KeyBreaker(breaker.label, key.provider, clock=clock, is_on=is_on)
        """Stops calls with a key that the provider refuses."""
        self.budget = budget
        self._clock = clock
        requests, tokens = rates.requests_per_minute, rates.tokens_per_minute
        self._requests = None if requests is None else RateBucket(requests, clock=clock, parts=parts)
        self._learns = rates.learns
        self._parts = parts
        self._pending = 0
        self._learned_at = -math.inf
        self._lock = Lock()
        self._tokens = None if tokens is None else RateBucket(tokens, clock=clock, parts=parts)
        self.has_rate: bool = requests is not None or tokens is not None
        """Whether each call needs an admission by `admit`."""
        self.refusal: str | None = None
        """Why the provider refused the API key in the last call, without its own words; `None` after a success."""
        self.refused_at: float = 0.0
        """Time of that refusal, on the clock's `monotonic`."""

    def __repr__(self) -> str:
        key, breaker = self.key, self.breaker
        name = f"{key.provider}:{key.model}" + (f" at {key.endpoint}" if key.endpoint else "")
        budget = self.budget.available
        return f"EndpointState({name!r}, breaker={breaker.state!r}, failures={breaker.failures}, budget={budget:g})"

    @property
    def trouble(self) -> str | None:
        """Why calls fail now: the API key was refused, or the breaker is open; `None` if they may succeed."""
        if self.refusal is not None:
            return self.refusal
        return f"the circuit breaker is open: {self.breaker.reason}" if self.breaker.wait_s > 0 else None

    def allows_retry(self, wait_s: float) -> bool:
        """Check whether the breakers will let a retry through.

        Args:
            wait_s: Seconds until the retry.
        """
        return self.key_breaker.wait_s <= wait_s and (self.breaker.allows_retries or self.breaker.wait_s <= wait_s)

    def enter(self, *, is_retry: bool = False, tests_key: bool = False) -> Probes:
        """Request permission of the breakers for a try; return whether the try is a probe.

        Args:
            is_retry: Whether the call has begun before.
            tests_key: Whether a key that the provider has refused is tried again.

        Raises:
            APIAuthError: The provider refused the key shortly before.
            CircuitOpen: The breaker is open.
        """
        if self.breaker.state == self.key_breaker.state == "closed":
            return NO_PROBE
        key = not tests_key and self.key_breaker.enter()
        if is_retry and self.breaker.allows_retries:
            return Probes(key=key)
        try:
            return Probes(self.breaker.enter(), key)
        except RoundtableError:
            self.key_breaker.record_nothing(probe=key)
            raise

    def reset(self) -> None:
        """Close both breakers and forget all failures, so that the next call is made."""
        self.breaker.reset()
        self.key_breaker.reset()
        self.refusal = None

    def share(self, parts: int) -> None:
        """Change the number of processes that share the rates, from now on."""
        self._parts = parts
        for bucket in (self._requests, self._tokens):
            if bucket is not None:
                bucket.share(parts)

    def slots(self, concurrency: int) -> int:
        """Return how many calls may be in progress at once; fewer if a shared rate would make calls wait too long.

        Args:
            concurrency: Most calls at the same time, without regard to the rates.
        """
        most = None if self._requests is None else self._requests.most_waiting
        return concurrency if most is None else min(concurrency, most)

    def skip(self, seconds: float) -> None:
        """Advance the time of the breakers without waiting, for a replayed try."""
        self.breaker.skip(seconds)
        self.key_breaker.skip(seconds)

    async def admit(self, request: ChatRequest, patience_s: float, on_wait: Callable[[Wait], None]) -> float:
        """Wait until the rates allow a call; return the number of tokens reserved for the call.

        The caller ends each admitted call with `ended` or, if it was not sent, with `give_back`.

        Args:
            request: The call.
            patience_s: Most seconds to wait; never more than `LONGEST_WAIT_S`.
            on_wait: Gets a wait of more than a second when it begins.

        Raises:
            APIRateLimitError: The wait would be longer than that.
        """
        tokens = 0.0
        self._count(1)
        wait_s, rate = 0.0, ""
        if self._requests is not None:
            wait_s, rate = self._requests.take(), _amount(self._requests.per_minute, "call")
        if self._tokens is not None:
            tokens = float(sum(len(message.content) for message in request.messages) / _CHARS_PER_TOKEN)
            tokens += request.max_tokens
            tokens_wait_s = self._tokens.take(tokens)
            if tokens_wait_s > wait_s:
                wait_s, rate = tokens_wait_s, _amount(self._tokens.per_minute, "token")
        if wait_s == 0:
            return tokens
        started = False
        try:
            if wait_s > min(patience_s, LONGEST_WAIT_S):
                raise APIRateLimitError(
                    f"the rate limit of {self.key.provider!r} is reached; the next call can be made in {wait_s:.0f} s",
                    provider=self.key.provider,
                    retry_after_s=wait_s,
                    retryable=False,
                    hint="Lower `concurrency` of the table, or raise `requests_per_minute` and `tokens_per_minute` in "
                    "ProviderConfig to the rates that your key is allowed; `None` sets no limit.",
                )
            if wait_s > SHOWN_S:
                on_wait(Wait("rate", f"the rate of {rate} a minute", wait_s))
            await self._clock.sleep(wait_s)
            started = True
        finally:
            if not started:
                self.give_back(requests=1, tokens=tokens)
        return tokens

    def give_back(self, *, requests: int = 0, tokens: float = 0.0) -> None:
        """Return tokens that were reserved but not used; for a call that was not sent, return the call too."""
        if requests:
            self._count(-requests)
        if self._requests is not None:
            self._requests.give_back(requests)
        if self._tokens is not None:
            self._tokens.give_back(tokens)

    def ended(self) -> None:
        """Record the end of a call that `admit` admitted."""
        self._count(-1)

    def adopt_limit(self, limit: RateLimit | None, sent_at: float) -> None:
        """Replace the request limit by the one in response headers, unless a caller has set the limit.

        Args:
            limit: The limit in the headers.
            sent_at: When the call was sent, on the clock's `monotonic`. An answer may arrive after the answers to later
                calls, whose limit is more recent; its limit is then ignored.
        """
        if not self._learns or limit is None or not limit.requests_limit:
            return
        with self._lock:
            if sent_at < self._learned_at:
                return
            self._learned_at = sent_at
            if self._requests is None:
                self._requests = RateBucket(limit.requests_limit, clock=self._clock, parts=self._parts)
                self.has_rate = True
        self._requests.adopt_limit(
            limit.requests_limit,
            remaining=limit.requests_remaining,
            reset_s=limit.requests_reset_s,
            # The stated limit already counts the answered call.
            pending=max(0, self._pending - 1),
        )

    def _count(self, calls: int) -> None:
        with self._lock:
            self._pending += calls

    def succeeded(self, usage: Usage, *, probes: Probes, set_aside: float | None, cost: int) -> None:
        """Record a successful call.

        Args:
            usage: Usage of the last try.
            probes: Whether the last try was a probe.
            set_aside: Tokens that `admit` reserved; `None` for a call without admission, such as a recorded call.
            cost: Price of the retry; 0 for a first try.
        """
        self.breaker.record_success(probe=probes.endpoint)
        self.key_breaker.record_success()
        self.refusal = None
        self.budget.give_back(cost or self.budget.refund)
        if set_aside is not None:
            self.give_back(tokens=set_aside - usage.total_tokens)

    def failed(self, error: BaseException | None, *, probes: Probes, set_aside: float, again: bool) -> None:
        """Record a try that failed or was cancelled; the call may be tried again.

        Args:
            error: The failure.
            probes: Whether the try was a probe.
            set_aside: Tokens that `admit` reserved.
            again: Whether the try before it, of the same call, failed for the same reason.
        """
        own_error = error if isinstance(error, RoundtableError) else None
        outage = None if own_error is None else certain_outage(own_error, again=again)
        if isinstance(error, APIAuthError):
            # Callers that share the key see this, and a provider may quote the prompt of one of them.
            reason = f"the provider refused the last call ({own_words(error)})"
            self.refusal = f"{reason}. {error.hint}" if error.hint else reason
            self.refused_at = self._clock.monotonic()
            self.key_breaker.record_refusal(error)
        else:
            self.key_breaker.record_nothing(probe=probes.key)
        if outage is not None:
            self.breaker.trip(outage, own_error, probe=probes.endpoint)
        elif probes.endpoint and own_error is not None and _counts(own_error):
            self.breaker.record_failure(own_error, probe=True)
        else:
            self.breaker.record_nothing(probe=probes.endpoint)
        if self._tokens is not None:
            self.give_back(tokens=set_aside)

    def call_failed(self, error: RoundtableError) -> None:
        """Record that a call ended with this failure of its last try."""
        if _counts(error):
            self.breaker.record_failure(error)

    def pay_for_retry(self, error: RoundtableError) -> int:
        """Pay for a retry after this error; return its price, or 0 if the budget is too low."""
        cost = self.budget.timeout_cost if kind_of(error) == "timeout" else self.budget.cost
        return cost if self.budget.take(cost) else 0


def _amount(per_minute: float, unit: str) -> str:
    """Return an amount in words; a provider's limit of a day is a fraction per minute."""
    return f"{per_minute:.3g} {unit}s" if per_minute < 100 and per_minute != 1 else counted(round(per_minute), unit)


def _counts(error: RoundtableError) -> bool:
    """Check whether a failure counts for the circuit breaker: its cause is temporary and the provider's."""
    return kind_of(error) not in {None, "rate_limit"}
