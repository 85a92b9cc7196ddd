"""State that all calls to one endpoint share: rate limits, circuit breaker, retry budget."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable._core.clock import SystemClock
from roundtable.errors import AgentError, APIAuthError, APIRateLimitError, CircuitOpen, RoundtableError
from roundtable.gateway.retry import kind_of

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.protocols import Clock, SleepingClock
    from roundtable.types import ChatRequest, RateLimit, Usage

__all__ = [
    "LONGEST_WAIT_S",
    "BreakerState",
    "CircuitBreaker",
    "EndpointKey",
    "EndpointState",
    "RateBucket",
    "Rates",
    "RetryBudget",
]

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
"""`closed` allows all calls, `open` allows none, `half_open` allows one call to test whether the provider is back."""

_DEFAULT_LABEL: Final = "the model"

_DAY_S: Final = 86_400.0
"""Longest period of a provider's limit."""

LONGEST_WAIT_S: Final = 60.0
"""Most seconds that a call waits for the rates to allow it."""
_CHARS_PER_TOKEN: Final = 4
"""Rough estimate that is rather too high for English texts; after the call, its usage is known."""


class CircuitBreaker:
    """Refuses calls to an endpoint (provider, address, model and key) that keeps failing.

    `threshold` failures within the last `window_s` seconds open the breaker. While it is open, every call is refused at
    once. After `recovery_s` seconds, exactly one call is allowed, the probe. If it succeeds, the breaker closes and
    forgets all failures. If it fails, the breaker stays open for the same time again.

    The caller decides which failures count. The gateway counts each failed try with a temporary cause: network errors,
    statuses of 500 and above, time-outs, useless answers. It does not count

    - rate limits, since a provider that sends them works and states when to retry;
    - refusals (400, 401, 403, 404, 413, 422), since the request caused them;
    - cancelled calls.

    None of these counts as a success either.

    Args:
        label: Name of the endpoint in messages.
        clock: Source of the time.
        threshold: Number of failures that open the breaker.
        window_s: Seconds for which a failure counts.
        recovery_s: Seconds that the breaker stays open.

    Example:
        >>> breaker = CircuitBreaker("acme")
        >>> for _ in range(5):
        ...     breaker.record_failure(probe=breaker.enter())
        >>> breaker.state
        'open'
        >>> breaker.reset()
        >>> breaker.state
        'closed'
    """

    threshold: int = 5
    window_s: float = 60.0
    recovery_s: float = 60.0

    def __init__(
        self,
        label: str = _DEFAULT_LABEL,
        *,
        clock: Clock | None = None,
        threshold: int | None = None,
        window_s: float | None = None,
        recovery_s: float | None = None,
    ) -> None:
        self.label = label
        self.threshold = threshold or type(self).threshold
        self.window_s = window_s or type(self).window_s
        self.recovery_s = recovery_s or type(self).recovery_s
        self._clock: Clock = clock or SystemClock()
        self._failures: deque[float] = deque(maxlen=self.threshold)
        self._opened_at: float | None = None
        # Text only, since an error would keep the frames of its call alive.
        self._last_failure: tuple[str, str | None] | None = None
        self._probing = False
        # Two event loops in two threads may share a table, and with it this object.
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"CircuitBreaker({self.label!r}, state={self.state!r}, failures={self.failures})"

    @property
    def state(self) -> BreakerState:
        """State of the breaker."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._probing or self.wait_s <= 0 else "open"

    @property
    def failures(self) -> int:
        """Number of failures within the window, at most `threshold`."""
        oldest = self._clock.monotonic() - self.window_s
        return sum(at > oldest for at in tuple(self._failures))

    @property
    def wait_s(self) -> float:
        """Seconds until a call is allowed again; 0 if a call is allowed now."""
        opened_at = self._opened_at
        if opened_at is None:
            return 0.0
        # Rounding may make a sum of floats slightly too large, but a caller must never wait longer than `recovery_s`.
        return max(0.0, min(self.recovery_s, opened_at + self.recovery_s - self._clock.monotonic()))

    def reset(self) -> None:
        """Close the breaker and forget all failures."""
        with self._lock:
            self._close()

    def enter(self) -> bool:
        """Request permission for a call; return whether the call is the probe of an open breaker.

        The caller reports the outcome of the call with one of the `record_` methods.

        Raises:
            CircuitOpen: The call must not be made now.
        """
        if self._opened_at is None:
            return False
        with self._lock:
            return self._enter_as_probe()

    def record_success(self, *, probe: bool = False) -> None:
        """Record a successful call."""
        if probe:
            self.reset()

    def record_failure(self, error: RoundtableError | None = None, *, probe: bool = False) -> None:
        """Record a failure that counts.

        Args:
            error: The failure; the errors of refused calls name the newest one, without words of servers, programs and
                models, since these may quote a prompt.
            probe: Whether the call was the probe of an open breaker.
        """
        with self._lock:
            now = self._clock.monotonic()
            if self._opened_at is not None and not probe:
                # The call began before the breaker opened, so its failure shows nothing new.
                return
            self._last_failure = None if error is None else (_own_words(error), error.hint)
            if probe:
                self._opened_at, self._probing = now, False
                return
            self._failures.append(now)
            if self.failures >= self.threshold:
                self._opened_at = now

    def record_nothing(self, *, probe: bool = False) -> None:
        """Record an outcome that shows nothing about the provider; after a probe, the next call may be the probe."""
        if probe:
            with self._lock:
                self._probing = False

    def _enter_as_probe(self) -> bool:
        if self._opened_at is None:
            # Another thread closed the breaker meanwhile.
            return False
        if self._probing or self.wait_s > 0:
            raise self._open_error()
        self._probing = True
        return True

    def _close(self) -> None:
        self._failures.clear()
        self._opened_at, self._probing, self._last_failure = None, False, None

    def _open_error(self) -> CircuitOpen:
        wait_s = self.wait_s
        reason, hint = self._last_failure or (None, None)
        when = f"a call is let through in {wait_s:.0f} s" if wait_s > 0 else "one call is trying it now"
        failures = f"{self.threshold} failures within {self.window_s:g} s" + (f", the last: {reason}" if reason else "")
        return CircuitOpen(
            f"Circuit breaker open for {self.label}: {failures}; {when}",
            retry_after_s=wait_s or None,
            hint=f"{hint} {CircuitOpen.default_hint}" if hint else None,
        )


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


def _own_words(error: RoundtableError) -> str:
    """Return what failed in words of this library; the calls of an endpoint may belong to different tenants."""
    details = error.details or {}
    for fact, name in (("status", "status"), ("exit_code", "exit code")):
        if fact in details:
            return f"{name} {details[fact]}"
    return "an answer that cannot be used" if isinstance(error, AgentError) else error.message


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
    """Whether `requests_per_minute` is a default rate; limits in response headers replace a default rate."""
    tokens_per_minute: float | None = None
    """Tokens per minute, input and output together."""


class _EndpointClock:
    """The clock of an endpoint: a clock, advanced by the waits that are skipped when recorded calls are replayed."""

    def __init__(self, clock: SleepingClock) -> None:
        self._clock = clock
        self.skipped_s = 0.0

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() + self.skipped_s


class EndpointState:
    """The state that all calls to one endpoint share: breaker, rates, retry budget.

    Args:
        key: Key of the endpoint.
        rates: Calls and tokens allowed per minute.
        budget: Pays for the retries of the provider.
        clock: Source of the time; sleeps during waits.
        parts: Number of processes that share the rates.
        calls_at_once: Most calls in progress at the same time; the gateway's own limit when left out.
    """

    def __init__(
        self,
        key: EndpointKey,
        rates: Rates,
        budget: RetryBudget,
        clock: SleepingClock,
        parts: int = 1,
        *,
        calls_at_once: int | None = None,
    ) -> None:
        self.key = key
        self.calls_at_once = calls_at_once
        self._time = _EndpointClock(clock)
        self.breaker: CircuitBreaker = CircuitBreaker(f"{key.provider}:{key.model}", clock=self._time)
        self.budget = budget
        self._clock = clock
        requests, tokens = rates.requests_per_minute, rates.tokens_per_minute
        self._requests = None if requests is None else RateBucket(requests, clock=clock, parts=parts)
        self._learns = rates.learns
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
        return "the last calls failed, so the circuit breaker is open" if self.breaker.wait_s > 0 else None

    def share(self, parts: int) -> None:
        """Change the number of processes that share the rates, from now on."""
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
        """Advance the time of the breaker without waiting, for a replayed try."""
        self._time.skipped_s += seconds

    async def admit(self, request: ChatRequest, patience_s: float) -> float:
        """Wait until the rates allow a call; return the number of tokens reserved for the call.

        The caller ends each admitted call with `ended` or, if it was not sent, with `give_back`.

        Args:
            request: The call.
            patience_s: Most seconds to wait; never more than `LONGEST_WAIT_S`.

        Raises:
            APIRateLimitError: The wait would be longer than that.
        """
        tokens = 0.0
        self._count(1)
        wait_s = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            tokens = float(sum(len(message.content) for message in request.messages) / _CHARS_PER_TOKEN)
            tokens += request.max_tokens
            wait_s = max(wait_s, self._tokens.take(tokens))
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
        """Replace the request limit by the one in response headers, if the current limit is only a default.

        Args:
            limit: The limit in the headers.
            sent_at: When the call was sent, on the clock's `monotonic`. An answer may arrive after the answers to later
                calls, whose limit is more recent; its limit is then ignored.
        """
        if not self._learns or self._requests is None or limit is None or not limit.requests_limit:
            return
        with self._lock:
            if sent_at < self._learned_at:
                return
            self._learned_at = sent_at
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

    def succeeded(self, usage: Usage, *, probe: bool, set_aside: float | None, cost: int) -> None:
        """Record a successful try.

        Args:
            usage: Usage of the try.
            probe: Whether the try was the breaker's probe.
            set_aside: Tokens that `admit` reserved; `None` for a call without admission, such as a recorded call.
            cost: Price of the retry; 0 for a first try.
        """
        self.breaker.record_success(probe=probe)
        self.refusal = None
        self.budget.give_back(cost or self.budget.refund)
        if set_aside is not None:
            self.give_back(tokens=set_aside - usage.total_tokens)

    def failed(self, error: BaseException | None, *, probe: bool, set_aside: float) -> None:
        """Record a try that failed or was cancelled."""
        own_error = error if isinstance(error, RoundtableError) else None
        kind = None if own_error is None else kind_of(own_error)
        if isinstance(error, APIAuthError):
            # Callers that share the key see this, and a provider may quote the prompt of one of them.
            reason = f"the provider refused the last call ({_own_words(error)})"
            self.refusal = f"{reason}. {error.hint}" if error.hint else reason
            self.refused_at = self._clock.monotonic()
        if kind is None or kind == "rate_limit":
            self.breaker.record_nothing(probe=probe)
        else:
            self.breaker.record_failure(own_error, probe=probe)
        if self._tokens is not None:
            self.give_back(tokens=set_aside)

    def pay_for_retry(self, error: RoundtableError) -> int:
        """Pay for a retry after this error; return its price, or 0 if the budget is too low."""
        cost = self.budget.timeout_cost if kind_of(error) == "timeout" else self.budget.cost
        return cost if self.budget.take(cost) else 0
