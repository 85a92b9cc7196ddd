"""Rules for retries: which failed calls to retry, and after which wait; and a helper for your own calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, TypeVar

from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import AgentError, APIRateLimitError, APITimeoutError, ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.agents import RetryKind, RetryPolicy

__all__ = ["EVERY_KIND", "RetryRule", "kind_of", "retry_with_backoff"]

T = TypeVar("T")

EVERY_KIND: Final[frozenset[RetryKind]] = frozenset({"rate_limit", "network", "timeout", "answer"})
"""Every kind of temporary failure."""


def kind_of(error: RoundtableError) -> RetryKind | None:
    """Return the kind of temporary failure that an error is; `None` if a retry cannot help.

    Example:
        >>> kind_of(APIRateLimitError()), kind_of(AgentError())
        ('rate_limit', None)
    """
    if not error.retryable:
        return None
    if isinstance(error, APIRateLimitError):
        return "rate_limit"
    if isinstance(error, APITimeoutError):
        return "timeout"
    if isinstance(error, AgentError) and not {"status", "exit_code"} & {*(error.details or {})}:
        return "answer"
    return "network"


@dataclass(frozen=True)
class RetryRule:
    """The gateway's rule for retries: what to retry, how often, and after how long.

    Only errors marked `retryable` are retried: rate limits, the statuses 408, 409, 425, 500 and above (not 501, 505,
    511), network errors, and useless answers. The rule respects a wait that the provider requests (`retry-after-ms`,
    `retry-after`, Gemini's `RetryInfo`, or the message of the error). If the requested wait is longer than
    `longest_wait_s`, or goes past the deadline, the call ends at once with the provider's error, and the message
    explains that.

    Example:
        >>> rule = RetryRule()
        >>> [rule.backoff_s(retry, 0.0) for retry in (1, 2, 3, 9)]
        [1.0, 2.0, 4.0, 32.0]
    """

    max_retries: int = 3
    """Most tries after the first."""
    base_delay_s: float = 1.0
    """Seconds before the first retry; doubled for each further retry."""
    max_delay_s: float = 32.0
    """Most seconds before a retry, without jitter; it applies only if the provider requests no wait."""
    jitter: float = 0.2
    """Most random addition to a wait, as a share of the wait, so that many clients do not retry at the same time."""
    longest_wait_s: float = 120.0
    """Longest wait in seconds that a provider may request."""
    answer_retries: int = 1
    """Most retries after a useless answer, which is billed."""
    on: frozenset[RetryKind] = EVERY_KIND
    """Kinds of failures to retry."""

    @property
    def most_tries(self) -> int:
        """Most tries of a call, with the first one.

        Example:
            >>> RetryRule().most_tries, RetryRule(on=frozenset({"answer"})).most_tries
            (4, 2)
        """
        kinds = self.on - {"answer"}
        return 1 + max(self.max_retries if kinds else 0, self.answer_retries if "answer" in self.on else 0)

    @classmethod
    def of(cls, policy: RetryPolicy) -> RetryRule:
        """Return the rule of a policy.

        Example:
            >>> from roundtable.types import RetryPolicy
            >>> RetryRule.of(RetryPolicy()).max_retries
            2
        """
        retries = policy.max_attempts - 1
        return cls(
            max_retries=retries,
            base_delay_s=policy.base_delay_ms / 1000,
            answer_retries=retries,
            on=frozenset(policy.on),
        )

    def backoff_s(self, retry: int, chance: float) -> float:
        """Return the seconds before a retry if the provider requests no wait.

        Args:
            retry: Number of the retry, from 1.
            chance: Random number in [0, 1) for the jitter.
        """
        # 2 ** 1000 exceeds any number of seconds. 2.0 ** 1100 would exceed the range of a float.
        delay = self.base_delay_s * 2.0 ** min(retry - 1, 1000)
        return min(delay, self.max_delay_s) * (1 + self.jitter * chance)

    def wait_s(self, error: RoundtableError, retry: int, chance: float) -> float:
        """Return the seconds before a retry: the wait that the provider requests, with jitter, or else the backoff."""
        requested_s = error.retry_after_s
        if requested_s is None or requested_s <= 0:
            return self.backoff_s(retry, chance)
        return requested_s * (1 + self.jitter * chance)

    def allows(self, error: RoundtableError, retry: int) -> bool:
        """Check whether the rule allows a retry after this error, and accepts the wait that the provider requests.

        Args:
            error: Why the last try failed.
            retry: Number of the retry, from 1.
        """
        return self.has_retry(error, retry) and (error.retry_after_s or 0.0) <= self.longest_wait_s

    def has_retry(self, error: RoundtableError, retry: int) -> bool:
        """Check whether the rule allows a retry after this error, whatever wait the provider requests.

        Args:
            error: Why the last try failed.
            retry: Number of the retry, from 1.
        """
        kind = kind_of(error)
        if kind is None or kind not in self.on:
            return False
        return retry <= (self.answer_retries if kind == "answer" else self.max_retries)


async def retry_with_backoff(
    operation: Callable[[], Awaitable[T]],
    max_retries: int = 3,
    base_delay_ms: float = 1000,
    *,
    max_delay_ms: float = 30_000,
    random: Random | None = None,
    clock: SleepingClock | None = None,
) -> T:
    """Call a function again while its error is marked `retryable`; the wait doubles each time.

    This is for your own calls. Model calls do not need it, because the gateway retries them already. Jitter shortens
    each wait by up to half, so that many programs do not retry at the same time.

    Args:
        operation: Function to call, without arguments.
        max_retries: Most tries after the first, at least 0.
        base_delay_ms: Most milliseconds before the first retry, at least 0; doubled for each further retry.
        max_delay_ms: Most milliseconds before any retry, at least 0.
        random: Source of jitter; a new generator when left out.
        clock: Sleeps between tries; the system clock when left out.

    Raises:
        ConfigurationError: A number is out of its range.
        Exception: The last error of `operation`, unchanged.

    Example:
        >>> import anyio
        >>> from roundtable.errors import APINetworkError
        >>> tries = []
        >>> async def flaky():
        ...     tries.append(1)
        ...     if len(tries) < 3:
        ...         raise APINetworkError
        ...     return "done"
        >>> async def main():
        ...     return await retry_with_backoff(flaky, base_delay_ms=1)
        >>> anyio.run(main), len(tries)
        ('done', 3)
    """
    if not isinstance(max_retries, int) or isinstance(max_retries, bool) or max_retries < 0:
        raise ConfigurationError(
            f"max_retries must be a whole number of at least 0, not {max_retries!r}",
            hint="The value is the number of tries after the first; 0 means a single call.",
        )
    base_s, max_s = _seconds("base_delay_ms", base_delay_ms), _seconds("max_delay_ms", max_delay_ms)
    if random is not None and not isinstance(random, Random):
        raise ConfigurationError(
            f"random must be a random.Random, not {random!r}", hint="Pass `random.Random(seed)`, or leave it out."
        )
    generator = random or Random()
    # Imported only when used, because tenacity imports asyncio and ssl.
    from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

    def wait_s(state: RetryCallState) -> float:
        # 2.0 ** 1100 would exceed the range of a float.
        return min(base_s * 2.0 ** min(state.attempt_number - 1, 1000), max_s) * generator.uniform(0.5, 1)

    retrying = AsyncRetrying(
        retry=retry_if_exception(_is_retryable),
        stop=stop_after_attempt(max_retries + 1),
        wait=wait_s,
        sleep=(clock or SystemClock()).sleep,
        reraise=True,
    )

    async def call() -> T:
        # tenacity only awaits the results of coroutine functions.
        return await operation()

    return await retrying(call)


def _seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ConfigurationError(
            f"{name} must be a number of at least 0, not {value!r}", hint="The unit is milliseconds: 1000 is a second."
        )
    return value / 1000


def _is_retryable(error: BaseException) -> bool:
    return getattr(error, "retryable", False) is True
