"""How long a run waits for the providers of failed turns, before it goes on without them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

import anyio

from roundtable.core.base.clock import SystemClock
from roundtable.core.base.outage_reports import Reminders
from roundtable.core.base.waits import SHOWN_S, Wait, report_wait
from roundtable.core.base.words import duration
from roundtable.core.errors import (
    AgentError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CircuitOpen,
    ConfigurationError,
    RoundtableError,
)
from roundtable.core.stages import error_from_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.debate import AnyTurn, ErrorInfo, FailedTurn
    from roundtable.core.types.events import WaitReason

__all__ = [
    "OUTAGE_S",
    "Patience",
    "ProviderPatience",
    "Seat",
    "WaitFor",
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
_LEAST_PAUSE_S: Final = 0.1
"""Shortest rest of the time for an outage that is worth another try."""
_SHORT_OUTAGE_S: Final = 10.0
"""Seconds of waiting in an outage until it is logged, if the debate has logged one like it before."""
_LASTING: Final = frozenset({"certificate"})
"""Causes of an open breaker that do not pass while a debate waits."""

WaitFor: TypeAlias = Literal["all", "quorum", "none"]
"""Which agents a round waits for if their providers fail: `all` of them; only as many as the debate needs to continue
(`quorum`); or `none`, so that the round goes on at once."""


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


class Patience(Protocol):
    """Decides whether a run waits for providers after a stage with failed turns."""

    async def wait(
        self, failed: Sequence[FailedTurn], *, stops: bool, note: Callable[[FailedTurn, float], None]
    ) -> Sequence[FailedTurn]:
        """Wait for the providers of failed turns; return the turns to take again, none if they had their chances.

        Args:
            failed: Turns of one stage that failed for the sake of their providers.
            stops: Whether the debate could not continue without them.
            note: Gets the first of these turns and the seconds when a wait ends, also if it is cancelled.
        """

    def will_wait(self, turn: FailedTurn, left_s: float) -> bool:
        """Check whether the run will wait for the provider of a turn that has just failed, and take the turn again.

        Args:
            turn: A turn that failed for any reason.
            left_s: Seconds until the deadline of the debate.
        """


class Seat(Protocol):
    """The place of a debate among those that run at the same time."""

    def waits(self, seconds: float, error: ErrorInfo) -> None:
        """Free the place for the time of a wait, unless the wait is short."""

    async def returns(self, within_s: float) -> None:
        """Take a place again after a wait; after `within_s` seconds, continue without one."""


class _Retake(NamedTuple):
    """Failed turns to take again, and the seconds until then."""

    turns: Sequence[FailedTurn]
    """The turns, first those whose providers are away."""
    seconds: float


@dataclass(slots=True)
class _Outages:
    """What a debate has waited for in one stage."""

    stage: tuple[int, str] | None = None
    away: set[int] = field(default_factory=set)
    """Slots whose turns failed by an outage."""
    attempts: int = 0
    began: float | None = None
    waited_s: float = 0.0


class ProviderPatience:
    """Waits during outages, and gives each turn that fails in another way a second chance; for one run of a debate.

    Args:
        outage_s: Most seconds to wait in each outage.
        wait_for: Which agents to wait for: `all`, `quorum` or `none`.
        seat: Place of the debate among many; it is free for others during waits. Without one, the waits are logged
            here: the first one for each provider and cause, and long ones at growing intervals.
        clock: Source of the time; sleeps during waits.
        refused: Providers and causes of waits that were refused as too long and logged; the debates of a batch share
            it, so that each is logged once.
    """

    def __init__(
        self,
        *,
        outage_s: float = OUTAGE_S,
        wait_for: WaitFor = "all",
        seat: Seat | None = None,
        clock: SleepingClock | None = None,
        refused: set[tuple[str, str]] | None = None,
    ) -> None:
        self._outage_s = outage_s
        self._wait_for: WaitFor = wait_for
        self._seat = seat
        self._clock: SleepingClock = clock or SystemClock()
        self._outages = _Outages()
        self._reminders: dict[tuple[str, str], Reminders] = {}
        self._refused: set[tuple[str, str]] = set() if refused is None else refused

    async def wait(
        self, failed: Sequence[FailedTurn], *, stops: bool, note: Callable[[FailedTurn, float], None]
    ) -> Sequence[FailedTurn]:
        """Wait for the providers of failed turns; see `Patience`."""
        if self._wait_for == "none" or (self._wait_for == "quorum" and not stops):
            return ()
        retake = self._next_retake(failed, anyio.current_effective_deadline() - anyio.current_time())
        if retake is None:
            return ()
        turns, seconds = retake
        self._report(turns[0], seconds)
        if self._seat is not None:
            self._seat.waits(seconds, turns[0].error)
        begun = self._clock.monotonic()
        try:
            await self._clock.sleep(seconds)
        finally:
            waited_s = max(0.0, self._clock.monotonic() - begun)
            self._outages.waited_s += waited_s
            note(turns[0], waited_s)
        if self._seat is not None:
            await self._return_to(self._seat)
        return turns

    def will_wait(self, turn: FailedTurn, left_s: float) -> bool:
        """Check whether the run will wait for the provider of a failed turn; see `Patience`.

        With `wait_for="quorum"`, this depends on the other turns of the stage, and the answer is no.
        """
        error = error_from_info(turn.error)
        if self._wait_for != "all" or not is_of_provider(error):
            return False
        outages = self._outages if (turn.round, turn.stage) == self._outages.stage else _Outages()
        if turn.slot not in outages.away and not is_outage(error):
            return turn.attempt < _TRIES and left_s > _SECOND_CHANCE_S
        return self._fitting_s(outages, error, left_s) is not None

    async def _return_to(self, seat: Seat) -> None:
        """Take the place again, and leave at least half of the time before the deadline for the turns."""
        begun = self._clock.monotonic()
        await seat.returns((anyio.current_effective_deadline() - anyio.current_time()) / 2)
        if self._outages.began is not None:
            self._outages.began += self._clock.monotonic() - begun

    def _next_retake(self, failed: Sequence[FailedTurn], left_s: float) -> _Retake | None:
        """Return the turns to take again, and the seconds until then; `None` if all had their chances.

        Args:
            failed: Turns of one stage that failed for the sake of their providers.
            left_s: Seconds until the deadline.
        """
        stage = failed[0].round, failed[0].stage
        if stage != self._outages.stage:
            self._outages = _Outages(stage)
        outages = self._outages
        errors = {turn.slot: error_from_info(turn.error) for turn in failed}
        # During an outage, the call that tests whether the provider is back fails in another way than those before it.
        outages.away |= {slot for slot, error in errors.items() if is_outage(error)}
        others = [turn for turn in failed if turn.slot not in outages.away and turn.attempt < _TRIES]
        others = others if left_s > _SECOND_CHANCE_S else []
        away = {turn.slot: turn for turn in failed if turn.slot in outages.away}
        waits = {slot: self._fitting_s(outages, errors[slot], left_s) for slot in away}
        for slot, turn in away.items():
            if waits[slot] is None:
                self._report_refusal(turn, errors[slot], left_s)
        fitting = {slot: seconds for slot, seconds in waits.items() if seconds is not None}
        if away:
            outages.began = self._clock.monotonic() if outages.began is None else outages.began
            # They grow anew after a provider that said when to try again.
            outages.attempts = 0 if any(errors[slot].retry_after_s for slot in away) else outages.attempts + 1
        turns = [*(away[slot] for slot in fitting), *others]
        seconds = max(_SECOND_CHANCE_S if others else 0.0, *fitting.values(), 0.0)
        return _Retake(turns, seconds) if turns else None

    def _fitting_s(self, outages: _Outages, error: RoundtableError, left_s: float) -> float | None:
        """Return the seconds of the next wait in an outage; `None` if it would take too long."""
        passed_s = 0.0 if outages.began is None else self._clock.monotonic() - outages.began
        seconds, rest_s = pause_s(outages.attempts + 1, [error]), self._outage_s - passed_s
        if not error.retry_after_s and rest_s >= _LEAST_PAUSE_S:
            seconds = min(seconds, rest_s)
        return seconds if seconds <= rest_s and seconds < left_s else None

    def _report(self, turn: FailedTurn, seconds: float) -> None:
        """Report a wait to the display of the debate, and log it if that is due."""
        error, key = turn.error, _cause(turn)
        provider, code = key
        if seconds > SHOWN_S:
            reason: WaitReason = "rate" if code == "API_RATE_LIMIT" else "breaker"
            report_wait(Wait(reason, f"{provider}, so that no agent is missing ({code})", seconds))
        if self._seat is not None:  # a batch logs the waits of its debates
            return
        waited_s = self._outages.waited_s
        if not waited_s:  # an outage that begins; the first one like it is logged at once
            self._reminders[key] = Reminders(_SHORT_OUTAGE_S if key in self._reminders else 0.0)
        if self._reminders.setdefault(key, Reminders()).is_due(waited_s + seconds):
            so_far = f", {duration(waited_s)} so far" if waited_s else ""
            logger.info(
                "the debate waits %.0f s for %s%s, so that no agent is missing (%s: %s)",
                seconds,
                provider,
                so_far,
                code,
                error.message,
                extra={"provider": provider},
            )

    def _report_refusal(self, turn: FailedTurn, error: RoundtableError, left_s: float) -> None:
        """Log that a provider asks for a longer wait than the debate may take, once for each provider and cause."""
        provider, code = key = _cause(turn)
        asked_s = error.retry_after_s
        if not asked_s or not self._outage_s or asked_s >= left_s or key in self._refused:
            return
        self._refused.add(key)
        logger.warning(
            "a debate goes on without waiting for %s, which takes no call for another %.0f s: that is longer than "
            "outage_s=%g allows (%s). Raise outage_s, or let an open breaker test its provider sooner with "
            "ProviderConfig(breaker=Breaker(recovery_s=...))",
            provider,
            asked_s,
            self._outage_s,
            code,
            extra={"provider": provider},
        )


def _cause(turn: FailedTurn) -> tuple[str, str]:
    """Return the provider that a turn failed for, and the code of its error."""
    return turn.error.provider or turn.provider or "a provider", turn.error.code
