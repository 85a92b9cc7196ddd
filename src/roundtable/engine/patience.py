"""How long a run waits for the providers of failed turns, before it goes on without them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import anyio

from roundtable._core.clock import SystemClock
from roundtable._core.waits import SHOWN_S, Wait, report_wait
from roundtable.errors import (
    AgentError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CircuitOpen,
    ConfigurationError,
    RoundtableError,
)
from roundtable.stages import error_from_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundtable.protocols import SleepingClock
    from roundtable.types import AnyTurn, ErrorInfo, FailedTurn
    from roundtable.types.events import WaitReason

__all__ = [
    "OUTAGE_S",
    "Patience",
    "ProviderPatience",
    "Retake",
    "Seat",
    "check_outage",
    "failed_by_providers",
    "is_of_provider",
    "is_outage",
    "pause_s",
]

logger: logging.Logger = logging.getLogger("roundtable.engine")

OUTAGE_S: Final = 600.0
"""Seconds for which a debate waits for a provider in each outage, unless set otherwise."""
_FIRST_PAUSE_S: Final = 1.0
_SECOND_CHANCE_S: Final = 2.0
"""Seconds before the second try of a turn whose provider is not away."""
_LONGEST_PAUSE_S: Final = 30.0
_TRIES: Final = 2
"""Tries of a turn whose provider is not away."""
_AWAY: Final = frozenset({502, 503, 504, 529})
"""Statuses of a provider that is overloaded or cannot be reached behind its own gateway."""
_LASTING: Final = frozenset({"certificate"})
"""Causes of an open breaker that do not pass while a debate waits."""


def is_of_provider(error: RoundtableError) -> bool:
    """Check whether a turn failed for the sake of its provider, so that the same call may succeed later.

    Example:
        >>> is_of_provider(APITimeoutError()), is_of_provider(AgentError())
        (True, False)
    """
    if is_outage(error):
        return True
    return error.retryable and isinstance(error, APIRateLimitError | APINetworkError | APITimeoutError | AgentError)


def is_outage(error: RoundtableError) -> bool:
    """Check whether a provider takes no calls at the moment: a breaker, a rate limit, overload, or no connection.

    Example:
        >>> is_outage(CircuitOpen()), is_outage(APIRateLimitError(retryable=False)), is_outage(APITimeoutError())
        (True, False, False)
    """
    details = error.details or {}
    if isinstance(error, CircuitOpen):
        return details.get("cause") not in _LASTING
    if isinstance(error, APIRateLimitError):  # a used-up quota is not retryable, and names no time
        return error.retryable or error.retry_after_s is not None
    is_away = details.get("connected") is False or details.get("status") in _AWAY
    return error.retryable and (is_away or bool(error.retry_after_s))


def failed_by_providers(turns: Iterable[AnyTurn]) -> list[FailedTurn]:
    """Return the turns that failed for the sake of their providers."""
    return [turn for turn in turns if turn.outcome == "failed" and is_of_provider(error_from_info(turn.error))]


def pause_s(attempts: int, errors: Sequence[RoundtableError], *, first_s: float = _FIRST_PAUSE_S) -> float:
    """Return the seconds until a debate is tried again: as long as a provider asked, or else more after each attempt.

    Args:
        attempts: Number of attempts that failed, from 1.
        errors: Why the last attempt failed.
        first_s: Seconds after the first attempt; doubled for each further attempt, up to 30 s.
    """
    requested_s = max((error.retry_after_s or 0.0 for error in errors), default=0.0)
    # A breaker that names no time tests its provider at this moment, and the test may take as long as any call.
    return requested_s or min(first_s * 2.0 ** min(attempts - 1, 16), _LONGEST_PAUSE_S)


def check_outage(outage_s: object) -> None:
    """Check the seconds that debates wait in each outage.

    Raises:
        ConfigurationError: They are not a number of at least 0.
    """
    if isinstance(outage_s, bool) or not isinstance(outage_s, int | float) or not outage_s >= 0:
        raise ConfigurationError(f"outage_s must be a number of seconds of at least 0, not {outage_s!r}")


class Retake(NamedTuple):
    """Failed turns to take again after a wait."""

    turns: Sequence[FailedTurn]
    """The turns, first those whose providers are away."""
    seconds: float
    """How long the debate waited for the providers, without the time until it got its place back."""


class Patience(Protocol):
    """Decides whether a run waits for providers after a stage with failed turns."""

    async def wait(self, failed: Sequence[FailedTurn], *, stops: bool) -> Retake | None:
        """Wait for the providers of failed turns; return the turns to take again, or `None` if they had their chances.

        Args:
            failed: Turns of one stage that failed for the sake of their providers.
            stops: Whether the debate could not continue without them.
        """


class Seat(Protocol):
    """The place of a debate among those that run at the same time."""

    def waits(self, seconds: float, error: ErrorInfo) -> None:
        """Free the place for the time of a wait, unless the wait is short."""

    async def returns(self, within_s: float) -> None:
        """Take a place again after a wait; after `within_s` seconds, continue without one."""


class ProviderPatience:
    """Waits during outages, and gives each turn that fails in another way a second chance; for one run of a debate.

    Args:
        outage_s: Most seconds to wait in each outage.
        complete_rounds: Whether to wait for every agent; if not, only where the debate could not continue.
        seat: Place of the debate among many; it is free for others during waits. Without one, the first wait for each
            provider and cause is logged here.
        clock: Source of the time; sleeps during waits.
    """

    def __init__(
        self,
        *,
        outage_s: float = OUTAGE_S,
        complete_rounds: bool = True,
        seat: Seat | None = None,
        clock: SleepingClock | None = None,
    ) -> None:
        self._outage_s = outage_s
        self._complete_rounds = complete_rounds
        self._seat = seat
        self._clock: SleepingClock = clock or SystemClock()
        self._stage: tuple[int, str] | None = None
        self._away: set[int] = set()
        """Slots of the stage whose turns failed by an outage."""
        self._attempts = 0
        self._began: float | None = None
        self._logged: set[tuple[str, str]] = set()

    async def wait(self, failed: Sequence[FailedTurn], *, stops: bool) -> Retake | None:
        """Wait for the providers of failed turns; see `Patience`."""
        if not (self._complete_rounds or stops):
            return None
        retake = self._next_retake(failed, anyio.current_effective_deadline() - anyio.current_time())
        if retake is None:
            return None
        turns, seconds = retake
        self._report(turns[0], seconds)
        if self._seat is not None:
            self._seat.waits(seconds, turns[0].error)
        begun = self._clock.monotonic()
        await self._clock.sleep(seconds)
        waited_s = self._clock.monotonic() - begun
        if self._seat is not None:
            await self._return_to(self._seat)
        return Retake(turns, waited_s)

    async def _return_to(self, seat: Seat) -> None:
        """Take the place again, and leave at least half of the time before the deadline for the turns."""
        begun = self._clock.monotonic()
        await seat.returns((anyio.current_effective_deadline() - anyio.current_time()) / 2)
        if self._began is not None:
            self._began += self._clock.monotonic() - begun

    def _next_retake(self, failed: Sequence[FailedTurn], left_s: float) -> Retake | None:
        """Return the turns to take again, and the seconds until then; `None` if all had their chances.

        Args:
            failed: Turns of one stage that failed for the sake of their providers.
            left_s: Seconds until the deadline.
        """
        now, stage = self._clock.monotonic(), (failed[0].round, failed[0].stage)
        if stage != self._stage:
            self._stage, self._away, self._attempts, self._began = stage, set(), 0, None
        errors = {turn.slot: error_from_info(turn.error) for turn in failed}
        # During an outage, the call that tests whether the provider is back fails in another way than those before it.
        self._away |= {slot for slot, error in errors.items() if is_outage(error)}
        away = [turn for turn in failed if turn.slot in self._away]
        others = [turn for turn in failed if turn.slot not in self._away and turn.attempt < _TRIES]
        if away:
            self._began = now if self._began is None else self._began
            seconds = self._pause_s([errors[turn.slot] for turn in away])
            if others:
                seconds = max(seconds, _SECOND_CHANCE_S)
            if now + seconds - self._began <= self._outage_s and seconds < left_s:
                return Retake([*away, *others], seconds)
        return Retake(others, _SECOND_CHANCE_S) if others and left_s > _SECOND_CHANCE_S else None

    def _pause_s(self, errors: Sequence[RoundtableError]) -> float:
        """Return the seconds of the next wait; they grow anew after a provider that said when to try again."""
        self._attempts += 1
        seconds = pause_s(self._attempts, errors)
        if any(error.retry_after_s for error in errors):
            self._attempts = 0
        return seconds

    def _report(self, turn: FailedTurn, seconds: float) -> None:
        """Report a wait to the display of the debate; log the first one for each provider and cause."""
        error = turn.error
        provider = error.provider or turn.provider or "a provider"
        if seconds > SHOWN_S:
            reason: WaitReason = "rate" if error.code == "API_RATE_LIMIT" else "breaker"
            report_wait(Wait(reason, f"{provider}, so that no agent is missing ({error.code})", seconds))
        if self._seat is None and (provider, error.code) not in self._logged:  # a batch logs the waits of its debates
            self._logged.add((provider, error.code))
            logger.info(
                "the debate waits %.0f s for %s, so that no agent is missing (%s: %s); "
                "its later waits like this are not logged",
                seconds,
                provider,
                error.code,
                error.message,
                extra={"provider": provider},
            )
