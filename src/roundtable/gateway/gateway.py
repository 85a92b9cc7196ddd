"""The one place every model call passes: admission, breaker, retries, deadline, errors and usage in one shape."""

from __future__ import annotations

import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from roundtable._clock import SystemClock
from roundtable._loops import PerLoop
from roundtable.errors import ConfigurationError
from roundtable.gateway.buckets import RetryBudget
from roundtable.gateway.guarded import Guard, GuardedModel
from roundtable.gateway.lanes import Lane, LaneKey, Rates
from roundtable.gateway.retry import RetryRule
from roundtable.gateway.wrapping import endpoint_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from roundtable.protocols import ChatModel, SleepingClock
    from roundtable.types import RetryPolicy

__all__ = ["Gateway"]


class Gateway:
    """Guards models, whoever wrote them: HTTP, local or a plugin's.

    Models guarded by one gateway share its limits. A call

    - waits until fewer than `concurrency` calls of its provider, address and model are under way, and until the
      rates set for the provider allow it;
    - is refused with `CircuitOpen` while the breaker of its provider, address and model is open;
    - is tried again as the retry rule says, and holds its place meanwhile. A failed try is paid from a budget that the
      provider's calls share; when that is used up, failures are final;
    - ends with `APITimeoutError` at its total deadline, tries and waits included, which starts once it is let in;
    - fails with a `RoundtableError` only: a foreign exception becomes an `AgentError` that keeps it as its
      cause, a group of exceptions never gets out, cancellation and other `BaseException`s pass untouched;
    - reports usage that is never negative and counts at least one call; what failed tries consumed is added, or stands
      in the error's `usage`.

    Which failures count against what:

    | | tried again | counts for the breaker | costs of the budget |
    |---|---|---|---|
    | rate limit (429) | yes | no | 5 |
    | fault of network or server (409, 425, 500 and above) | yes | yes | 5 |
    | time-out (408, 504, no answer in time) | yes, while there is time | yes | 10 |
    | answer of no use (no JSON, empty) | once | yes | 5 |
    | refusal (400, 401, 403, 404, 413, 422), spent quota | no | no | |
    | cancelled by the caller, a turn's or a debate's deadline | no | no | |

    `x-should-retry` of a provider wins over the first column.

    Args:
        concurrency: Most calls under way at once per provider, address and model, in each event loop.
        timeout_s: Total deadline of a call in seconds; `None` leaves it to the model.
        retry: What is tried again, for models guarded without a policy of their own.
        clock: Where time comes from, and what retries wait on.
        seed: Makes the jitter of waits repeatable.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import ChatRequest
        >>> model = Gateway(concurrency=2, timeout_s=5).guard(ScriptedModel(["Yes."]))
        >>> anyio.run(model.complete, ChatRequest(model="", messages=())).text
        'Yes.'
    """

    def __init__(
        self,
        *,
        concurrency: int = 8,
        timeout_s: float | None = None,
        retry: RetryRule | None = None,
        clock: SleepingClock | None = None,
        seed: int | None = None,
    ) -> None:
        if concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {concurrency!r}")
        self.concurrency = concurrency
        self.timeout_s: float | None = _positive("timeout_s", timeout_s)
        self.retry: RetryRule = retry or RetryRule()
        self.clock: SleepingClock = clock or SystemClock()
        self.random: random.Random = random.Random(seed)
        self._lanes: dict[LaneKey, Lane] = {}
        self._budgets: dict[tuple[str, str], RetryBudget] = {}
        self._limiters: PerLoop[dict[LaneKey, anyio.CapacityLimiter]] = PerLoop(dict)

    def guard(
        self,
        model: ChatModel,
        *,
        timeout_s: float | None = None,
        retry: RetryPolicy | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> GuardedModel:
        """Wrap a model; one that this gateway guards already is given back as it is, unless a policy is given.

        A model that another gateway guards is taken over with its deadline and its policy: no call is tried again in
        two places.

        Args:
            model: The model.
            timeout_s: Total deadline of its calls in seconds; the gateway's when left out.
            retry: What is tried again; the gateway's rule when left out.
            requests_per_minute: Calls its provider allows in a minute, tries included.
            tokens_per_minute: Tokens its provider allows in a minute.
        """
        if isinstance(model, GuardedModel):
            taken = model if model.gateway is self else GuardedModel(self, model.inner, model.guard)
            return taken if retry is None else taken.with_retry(retry)
        rates = Rates(
            requests_per_minute=_positive("requests_per_minute", requests_per_minute),
            tokens_per_minute=_positive("tokens_per_minute", tokens_per_minute),
        )
        guard = Guard(
            timeout_s=self.timeout_s if timeout_s is None else _positive("timeout_s", timeout_s),
            rule=self.retry if retry is None else RetryRule.of(retry),
            rates=rates,
        )
        return GuardedModel(self, model, guard)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The state of each provider, address and model that has been called."""
        return tuple(self._lanes.values())

    def lane(self, model: ChatModel, name: str, rates: Rates) -> Lane:
        """Give the state that the calls of a provider, address and model share; the first caller sets its rates."""
        key = LaneKey(model.provider, endpoint_of(model), name or model.model)
        lane = self._lanes.get(key)
        if lane is None:
            budget = self._budgets.setdefault(key[:2], RetryBudget())
            lane = self._lanes.setdefault(key, Lane(key, rates, budget, self.clock))
        return lane

    @asynccontextmanager
    async def admitted(self, lane: Lane) -> AsyncGenerator[None]:
        """Wait for a place among the calls under way, and hold it."""
        limiters = self._limiters.get()
        limiter = limiters.get(lane.key)
        if limiter is None:
            limiter = limiters[lane.key] = anyio.CapacityLimiter(self.concurrency)
        # An own borrower: a stream may be closed by another task than the one that opened it.
        borrower = object()
        try:
            limiter.acquire_on_behalf_of_nowait(borrower)
        except anyio.WouldBlock:
            await limiter.acquire_on_behalf_of(borrower)
        try:
            yield
        finally:
            limiter.release_on_behalf_of(borrower)


def _positive(what: str, number: float | None) -> float | None:
    if number is not None and not number > 0:
        unit = " of seconds" if what.endswith("_s") else ""
        raise ConfigurationError(f"{what} must be a positive number{unit}, not {number!r}")
    return number
