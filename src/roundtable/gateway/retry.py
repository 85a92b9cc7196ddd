"""Whether a failed call is tried again, and after how long. Pure; nothing here waits but the helper at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from roundtable._clock import SystemClock
from roundtable.errors import AgentError, APIRateLimitError, APITimeoutError, ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.protocols import SleepingClock
    from roundtable.types import RetryKind, RetryPolicy

__all__ = ["EVERY_KIND", "RetryRule", "kind_of", "retry_with_backoff"]

T = TypeVar("T")

EVERY_KIND: Final[frozenset[RetryKind]] = frozenset({"rate_limit", "network", "timeout", "answer"})
"""All that may pass by itself."""


def kind_of(error: RoundtableError) -> RetryKind | None:
    """Say what kind of passing trouble an error is; None when a retry cannot help.

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
    """The gateway's rule: what is tried again, how often, and after how long.

    Only errors marked `retryable` are tried again: rate limits, statuses 408, 409, 425, 500 and above, faults of the
    network, and answers that are of no use. A wait the provider asks for (`retry-after-ms`, `retry-after`, Gemini's
    `RetryInfo`) is kept to; one longer than `longest_wait_s`, or than what is left until the deadline, ends the call
    at once with the provider's error.

    Example:
        >>> rule = RetryRule()
        >>> [rule.backoff_s(retry, 0.0) for retry in (1, 2, 3, 9)]
        [1.0, 2.0, 4.0, 32.0]
    """

    max_retries: int = 3
    """Tries after the first."""
    base_delay_s: float = 1.0
    """Seconds before the first retry; doubles with each further one."""
    max_delay_s: float = 32.0
    """Most seconds of a wait of our own, before jitter."""
    jitter: float = 0.2
    """Most that chance adds to a wait, as a share of it, so that many clients do not come back at once."""
    longest_wait_s: float = 120.0
    """Most seconds a provider may ask to wait."""
    answer_retries: int = 1
    """Tries after an answer that came, and was paid for, and is of no use."""
    on: frozenset[RetryKind] = EVERY_KIND
    """What is tried again."""

    @property
    def most_tries(self) -> int:
        """Most tries of a call, the first included.

        Example:
            >>> RetryRule().most_tries, RetryRule(on=frozenset({"answer"})).most_tries
            (4, 2)
        """
        kinds = self.on - {"answer"}
        return 1 + max(self.max_retries if kinds else 0, self.answer_retries if "answer" in self.on else 0)

    @classmethod
    def of(cls, policy: RetryPolicy) -> RetryRule:
        """Give the rule a policy states.

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
        """Give the seconds before a retry where the provider asks for none.

        Args:
            retry: Which retry, from 1.
            chance: A number in [0, 1) that makes the jitter.
        """
        # 2 ** 1000 is more than any number of seconds, and 2.0 ** 1100 is more than a float can hold.
        delay = self.base_delay_s * 2.0 ** min(retry - 1, 1000)
        return min(delay, self.max_delay_s) * (1 + self.jitter * chance)

    def wait_s(self, error: RoundtableError, retry: int, chance: float) -> float:
        """Give the seconds before a retry: what the provider asked for and a little more, or the backoff."""
        asked = error.retry_after_s
        if asked is None or asked <= 0:
            return self.backoff_s(retry, chance)
        return asked * (1 + self.jitter * chance)

    def allows(self, error: RoundtableError, retry: int) -> bool:
        """Tell whether the rule has a retry left for this error, and would wait as long as the provider asks.

        Args:
            error: Why the last try failed.
            retry: Which retry it would be, from 1.
        """
        kind = kind_of(error)
        if kind is None or kind not in self.on or (error.retry_after_s or 0.0) > self.longest_wait_s:
            return False
        return retry <= (self.answer_retries if kind == "answer" else self.max_retries)


async def retry_with_backoff(
    operation: Callable[[], Awaitable[T]],
    max_retries: int = 3,
    base_delay_ms: float = 1000,
    *,
    clock: SleepingClock | None = None,
) -> T:
    """Call something again while its error is marked `retryable`, waiting twice as long each time.

    For calls of your own. Model calls need none of this: the gateway has tried them again already.

    Args:
        operation: What to call, without arguments.
        max_retries: Tries after the first.
        base_delay_ms: Milliseconds before the first retry.
        clock: What to wait on.

    Raises:
        ConfigurationError: A number is out of its range.
        Exception: What `operation` raised last, unchanged.

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
        raise ConfigurationError(f"max_retries must be a whole number of at least 0, not {max_retries!r}")
    if not isinstance(base_delay_ms, int | float) or not 0 <= base_delay_ms < math.inf:
        raise ConfigurationError(f"base_delay_ms must be a number of at least 0, not {base_delay_ms!r}")
    # Loaded at the first retry: tenacity brings asyncio and ssl along, which naming a model does not need.
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential

    patiently = AsyncRetrying(
        retry=retry_if_exception(_is_retryable),
        stop=stop_after_attempt(max_retries + 1),
        wait=wait_exponential(multiplier=base_delay_ms / 1000),
        sleep=(clock or SystemClock()).sleep,
        reraise=True,
    )

    async def call() -> T:
        # tenacity awaits what coroutine functions give, and nothing else.
        return await operation()

    return await patiently(call)


def _is_retryable(error: BaseException) -> bool:
    return getattr(error, "retryable", False) is True
