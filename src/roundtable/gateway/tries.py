"""One call and its tries: what is left of its time, whether there is another try, and what became of it."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

import anyio

from roundtable.errors import APITimeoutError, RoundtableError
from roundtable.gateway.usage import usage_of_failure
from roundtable.types import Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from tenacity import AsyncRetrying, RetryCallState

    from roundtable.gateway.lanes import Lane
    from roundtable.gateway.retry import RetryRule
    from roundtable.protocols import SleepingClock
    from roundtable.types import ChatResponse

__all__ = ["Deadline", "RetryNotice", "Tries", "is_missed", "named"]

_log: logging.Logger = logging.getLogger("roundtable.gateway")
PARTIAL_CHARS: Final = 4000
"""Most characters that are kept of an answer that broke off."""
_MISSED: Final = "deadline_s"


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """That a call is tried again."""

    attempt: int
    """Number of the try to come, from 2."""
    delay_s: float
    """Seconds until then."""
    error: RoundtableError
    """Why the last try failed."""
    shown: bool
    """Whether pieces of the answer were given out that are void now."""


class Deadline:
    """The end of a call: its own total time, or that of a turn or debate round it, whichever comes first.

    The call's own time runs on the clock of the gateway. What surrounds it are cancel scopes, which run on the clock
    of the event loop.

    Args:
        timeout_s: Seconds from now; None sets no deadline of its own.
        clock: Where time comes from.
    """

    def __init__(self, timeout_s: float | None, clock: SleepingClock) -> None:
        self.timeout_s = timeout_s
        self._clock = clock
        self._at = math.inf if timeout_s is None else clock.monotonic() + timeout_s

    @property
    def own_s(self) -> float:
        """Seconds left of the call's own time; infinite without a limit."""
        return self._at - self._clock.monotonic()

    @property
    def left_s(self) -> float:
        """Seconds left in all."""
        return min(self.own_s, anyio.current_effective_deadline() - anyio.current_time())

    def skip(self, seconds: float) -> None:
        """Let time pass without waiting."""
        self._at -= seconds

    def missed(self, provider: str) -> APITimeoutError:
        """Give the error of a call that did not end in time; see `is_missed`."""
        return APITimeoutError(
            f"no complete answer within {self.timeout_s:g} s", provider=provider, details={_MISSED: self.timeout_s}
        )


def is_missed(error: RoundtableError) -> bool:
    """Tell whether an error says that the gateway ended the call at its deadline, so that no time is left for a try.

    A replay of it took no time, so the clock does not tell.
    """
    return isinstance(error, APITimeoutError) and _MISSED in (error.details or {})


class Tries:
    """What happens to one call after its first try failed; made only then.

    Args:
        lane: Whose budget pays for retries.
        rule: What is tried again.
        deadline: When the call ends.
        clock: What is waited on.
        random: Where jitter comes from.
        tell: Hears of each retry before it is waited for.
    """

    def __init__(
        self,
        lane: Lane,
        rule: RetryRule,
        deadline: Deadline,
        *,
        clock: SleepingClock,
        random: Random,
        tell: Callable[[RetryNotice], Awaitable[None]] | None,
    ) -> None:
        self._lane = lane
        self._rule = rule
        self._deadline = deadline
        self._clock = clock
        self._random = random
        self._tell = tell
        self.cost: int = 0
        """Price of the try under way."""
        self._made = 0
        self._usage = Usage()
        self._shown = ""
        self._begun = False
        self._last = RoundtableError()
        self._retrying: AsyncRetrying | None = None

    async def again(self, error: RoundtableError, *, shown: str = "", begun: bool = False) -> None:
        """Take note of a try that failed, and wait until the next one may start.

        Args:
            error: Why it failed.
            shown: Text it gave out before.
            begun: Whether it gave out anything.

        Raises:
            RoundtableError: There is no next one; names the tries, what they consumed, and what was shown.
        """
        self._made += 1
        self._usage += usage_of_failure(error, begun=begun)
        self._shown, self._begun, self._last = shown, begun, error
        if not self._may(error):
            self._give_up()
        if self._retrying is None:
            self._retrying = aiter(self._policy())
            self._try = await anext(self._retrying)
        with self._try:
            raise error
        try:
            self._try = await anext(self._retrying)
        except RoundtableError:
            self._give_up()

    def settled(self, response: ChatResponse) -> ChatResponse:
        """Charge the answer of a later try with what the failed ones consumed."""
        if not self._usage.calls:
            return response
        return response.model_copy(update={"usage": self._usage + response.usage})

    def charge(self, error: RoundtableError) -> None:
        """State in the error of a try that was not made what the ones before it consumed."""
        if self._usage.calls:
            error.usage = self._usage if error.usage is None else self._usage + error.usage

    def _give_up(self) -> NoReturn:
        error = named(self._last, self._made, self._shown, self._usage)
        raise error from error.__cause__

    def _policy(self) -> AsyncRetrying:
        # Loaded with the first failure: it brings in asyncio, TLS and all.
        from tenacity import AsyncRetrying, retry_if_exception

        # tenacity asks whether, then how long, then whether to stop; then it says so and waits.
        return AsyncRetrying(
            retry=retry_if_exception(self._may),
            wait=self._wait_s,
            stop=self._is_over,
            before_sleep=self._say,
            sleep=self._pause,
            reraise=True,
        )

    def _may(self, error: BaseException) -> bool:
        if self._begun and self._tell is None:
            # Whoever has seen a piece would see it twice, and nobody would have told them.
            return False
        return isinstance(error, RoundtableError) and not is_missed(error) and self._rule.allows(error, self._made)

    def _wait_s(self, state: RetryCallState) -> float:
        return self._rule.wait_s(self._last, self._made, self._random.random())

    def _is_over(self, state: RetryCallState) -> bool:
        wait_s = state.upcoming_sleep
        # Where the breaker opened meanwhile, the cause is more telling than its refusal would be.
        if wait_s >= self._deadline.left_s or self._lane.breaker.wait_s > wait_s:
            return True
        self.cost = self._lane.pay_for_retry(self._last)
        return self.cost == 0

    async def _pause(self, seconds: float) -> None:
        if not self._last.is_recorded:
            await self._clock.sleep(seconds)
            return
        # Whoever recorded the failure has waited; breaker and deadline are to find the time that it took.
        self._lane.skip(seconds)
        self._deadline.skip(seconds)

    async def _say(self, state: RetryCallState) -> None:
        error = self._last
        delay_s = 0.0 if error.is_recorded else state.upcoming_sleep
        key = self._lane.key
        _log.warning(
            "%s: call failed (%s), trying again in %.1f s",
            key.provider,
            error.code,
            delay_s,
            extra={
                "provider": key.provider,
                "model": key.model,
                "attempt": self._made,
                "delay_ms": round(delay_s * 1000),
                "code": error.code,
            },
        )
        if self._tell is not None:
            await self._tell(RetryNotice(self._made + 1, delay_s, error, self._begun))


def named(error: RoundtableError, attempts: int, shown: str, usage: Usage) -> RoundtableError:
    """Give an error that says how many tries it took, what was shown and spent; the same one if that is nothing.

    The model may keep and raise one error object again and again, so it is copied, not changed.
    """
    if attempts < 2 and not shown and (not usage.calls or usage == error.usage):
        return error
    double = type(error).__new__(type(error), *error.args)
    double.__dict__.update(error.__dict__)
    details = dict(error.details or {})
    if attempts > 1:
        double.message = f"{error.message} (after {attempts} attempts)"
        details["attempts"] = attempts
    if shown:
        details["partial_answer"] = shown[:PARTIAL_CHARS]
    double.details = details or None
    double.usage = usage if usage.calls else error.usage
    double.args = (double.message,)
    double.__cause__ = error.__cause__
    return double.with_traceback(error.__traceback__)
