"""What the calls of one provider, address and model share: their rate, their breaker, their budget for retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.errors import APIRateLimitError, RoundtableError
from roundtable.gateway.breaker import CircuitBreaker
from roundtable.gateway.buckets import RateBucket, RetryBudget
from roundtable.gateway.retry import kind_of

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.protocols import SleepingClock
    from roundtable.types import ChatRequest, Usage

__all__ = ["Lane", "LaneKey", "Rates"]

_CHARS_PER_TOKEN: Final = 4
"""A rough estimate, on the safe side for English; what was used is known after the call."""


class LaneKey(NamedTuple):
    """Whose calls share a lane."""

    provider: str
    """Name of the provider."""
    endpoint: str
    """Root of its API; empty where there is none."""
    model: str
    """Model id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How many calls and tokens a provider allows in a minute; None where it need not be kept to."""

    requests_per_minute: float | None = None
    """Calls, tries included."""
    tokens_per_minute: float | None = None
    """Tokens, sent and generated together."""


class _LaneTime:
    """The time of a lane: that of a clock, and what replays of recorded calls did not wait."""

    def __init__(self, clock: SleepingClock) -> None:
        self._clock = clock
        self.skipped_s = 0.0

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() + self.skipped_s


class Lane:
    """The state of one provider, address and model.

    Args:
        key: Whose it is.
        rates: How many calls and tokens are let through.
        budget: What the retries of the provider are paid from.
        clock: Where time comes from, and what is waited on.
    """

    def __init__(self, key: LaneKey, rates: Rates, budget: RetryBudget, clock: SleepingClock) -> None:
        self.key = key
        self._time = _LaneTime(clock)
        self.breaker: CircuitBreaker = CircuitBreaker(f"{key.provider}:{key.model}", clock=self._time)
        self.budget = budget
        self._clock = clock
        requests, tokens = rates.requests_per_minute, rates.tokens_per_minute
        self._requests = None if requests is None else RateBucket(requests, clock=clock)
        self._tokens = None if tokens is None else RateBucket(tokens, clock=clock)
        self.has_rate: bool = requests is not None or tokens is not None
        """Whether calls have to ask `admit`."""

    def __repr__(self) -> str:
        key, breaker = self.key, self.breaker
        name = f"{key.provider}:{key.model}" + (f" at {key.endpoint}" if key.endpoint else "")
        return (
            f"Lane({name!r}, breaker={breaker.state!r}, failures={breaker.failures}, budget={self.budget.available:g})"
        )

    def skip(self, seconds: float) -> None:
        """Let time pass without waiting, for a try whose outcome is a recording."""
        self._time.skipped_s += seconds

    async def admit(self, request: ChatRequest, patience_s: float) -> float:
        """Wait until the rates allow a call; give the tokens set aside for it.

        Args:
            request: The call.
            patience_s: Most seconds to wait.

        Raises:
            APIRateLimitError: It would take longer.
        """
        tokens = 0.0
        wait_s = 0.0 if self._requests is None else self._requests.take()
        if self._tokens is not None:
            tokens = float(sum(len(message.content) for message in request.messages) / _CHARS_PER_TOKEN)
            tokens += request.max_tokens
            wait_s = max(wait_s, self._tokens.take(tokens))
        if wait_s == 0:
            return tokens
        started = False
        try:
            if wait_s > patience_s:
                raise APIRateLimitError(
                    f"the rate set for {self.key.provider!r} is used up for {wait_s:.0f} s more",
                    provider=self.key.provider,
                    retry_after_s=wait_s,
                    retryable=False,
                    hint="Lower `concurrency`, or raise `requests_per_minute` and `tokens_per_minute`.",
                )
            await self._clock.sleep(wait_s)
            started = True
        finally:
            if not started:
                self.give_back(requests=1, tokens=tokens)
        return tokens

    def give_back(self, *, requests: float = 0.0, tokens: float = 0.0) -> None:
        """Give back what was set aside and not used."""
        if self._requests is not None:
            self._requests.give_back(requests)
        if self._tokens is not None:
            self._tokens.give_back(tokens)

    def succeeded(self, usage: Usage, *, probe: bool, set_aside: float, cost: int) -> None:
        """Say that a try succeeded.

        Args:
            usage: What it consumed.
            probe: What the breaker said when it was let in.
            set_aside: Tokens that `admit` set aside.
            cost: Price of the retry that it was; 0 for a first try.
        """
        self.breaker.record_success(probe=probe)
        self.budget.give_back(cost or self.budget.refund)
        if self._tokens is not None:
            self.give_back(tokens=set_aside - usage.total_tokens)

    def failed(self, error: BaseException | None, *, probe: bool, set_aside: float) -> None:
        """Say that a try failed, or was cancelled."""
        kind = kind_of(error) if isinstance(error, RoundtableError) else None
        if kind is None or kind == "rate_limit":
            self.breaker.record_nothing(probe=probe)
        else:
            self.breaker.record_failure(probe=probe)
        if self._tokens is not None:
            self.give_back(tokens=set_aside)

    def pay_for_retry(self, error: RoundtableError) -> int:
        """Pay for a retry after this error; give its price, 0 when there is too little left."""
        cost = self.budget.timeout_cost if kind_of(error) == "timeout" else self.budget.cost
        return cost if self.budget.take(cost) else 0
