"""Progress of many debates: how many have ended, which wait, and how much of the time was work."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio import sleep

from roundtable.core.base.functions import reporter
from roundtable.core.base.outage_reports import Reminders
from roundtable.core.base.words import counted, duration, shortened
from roundtable.core.types.chat import Usage
from roundtable.results.many import FailedDebate, Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.api.debates import Debates
    from roundtable.api.slots import DebateSeat, Slots
    from roundtable.core.types.debate import ErrorInfo
    from roundtable.results.debate_result import DebateResult

__all__ = ["Cause", "ProgressCount", "WaitLog", "WaitNews", "WaitState"]

logger: logging.Logger = logging.getLogger("roundtable.api")

_CAUSE_CHARS: Final = 120
_TICK_S: Final = 10.0
"""Seconds between two reports while debates wait."""
_LONG_WAIT_S: Final = 10.0
"""Seconds of waiting from which a log shows a cause."""
_AGAIN_S: Final = 60.0
"""Seconds until the second line about a cause; also, how long nobody must wait for it until it counts as over."""


class Cause(NamedTuple):
    """What debates wait for."""

    provider: str | None
    """Provider, if it is known."""
    code: str
    """Code of its error."""


class WaitState(NamedTuple):
    """A cause of waits, now."""

    waited_s: float
    """Seconds since the first wait for it."""
    is_news: bool
    """Whether a log should have a line about it now."""


class _Outage:
    """A cause of waits, since its first wait."""

    def __init__(self, now: float) -> None:
        self.since = self.until = now
        self.reminders: Reminders | None = None


class WaitNews:
    """Which waits a log shows: each cause after ten seconds, and then after a minute, two minutes, and so on.

    Args:
        at_once: Whether the first wait for each cause is shown at once as well, however short it is.

    Example:
        >>> news, cause = WaitNews(), Cause("acme", "API_NETWORK_ERROR")
        >>> waits = [(0, 1), (1, 2), (3, 4), (7, 8), (15, 16), (31, 30), (61, 30), (91, 30)]
        >>> [now for now, left_s in waits if news.note(cause, now, left_s).is_news]
        [7, 91]
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._outages: dict[Cause, _Outage] = {}

    def note(self, cause: Cause, now: float, left_s: float) -> WaitState:
        """Note that debates wait for a cause.

        Args:
            cause: What they wait for.
            now: The time in seconds.
            left_s: Seconds until they try again.
        """
        outage = self._outages.get(cause)
        is_first = outage is None
        if outage is None or now - outage.until > _AGAIN_S:
            outage = self._outages[cause] = _Outage(now)
        outage.until = max(outage.until, now + left_s)
        waited_s = now - outage.since
        if outage.reminders is not None:
            is_news = outage.reminders.is_due(waited_s)
        elif waited_s + left_s >= _LONG_WAIT_S:
            is_news = True
            outage.reminders = Reminders(waited_s + _AGAIN_S)
        else:
            is_news = self._at_once and is_first
        return WaitState(waited_s, is_news)


class WaitLog:
    """What a table has logged about the waits of its debates."""

    def __init__(self) -> None:
        self.news: Final = WaitNews(at_once=True)
        """Waits of debates of batches."""
        self.refused: Final[set[tuple[str, str]]] = set()
        """Providers and causes of waits that were refused as too long; each is logged once."""


class _Wait(NamedTuple):
    """The wait of one debate."""

    cause: Cause
    text: str
    seconds: float
    ends_at: float


class ProgressCount:
    """Counts debates as they end and wait, and reports the progress.

    Args:
        total: Number of debates.
        on_progress: Function that gets the progress.
        slots: Slots of the debates.
        debates: What runs the debates.
    """

    def __init__(
        self, total: int, on_progress: Callable[[Progress], None] | None, slots: Slots, debates: Debates
    ) -> None:
        self._total = total
        self._on_progress = None if on_progress is None else reporter("on_progress", on_progress, logger)
        self._clock = debates.gateway.clock
        self._begun = self._counted_at = self._clock.monotonic()
        self._worked_s = 0.0
        self._slots = slots
        self._active = self._ended = self._failed = self._stored = 0
        self._usage = Usage()
        self._waits: dict[DebateSeat, _Wait] = {}
        self._news = WaitNews()
        self._logged = debates.wait_log.news

    def follow(self, seat: DebateSeat) -> None:
        """Count the debate of a seat as begun; report when it begins to wait, and when it continues."""

        def note(wait: tuple[float, ErrorInfo] | None) -> None:
            self._count_work()
            if wait is not None:
                seconds, error = wait
                text = f"{error.provider}: {error.message}" if error.provider else error.message
                cause = Cause(error.provider, error.code)
                self._waits[seat] = _Wait(cause, text, seconds, self._clock.monotonic() + seconds)
                self._log(cause, text)
            elif self._waits.pop(seat, None) is None:
                return
            self._report(has_ended=False)

        self._count_work()
        self._active += 1
        seat.on_change = note

    def add(self, outcome: DebateResult | FailedDebate, seat: DebateSeat, *, ran: bool = True) -> None:
        """Count a debate that has ended; `ran` states whether any of it ran in this call."""
        self._count_work()
        self._waits.pop(seat, None)  # a request to pause or stop ends a debate during its wait
        self._active -= 1
        self._ended += 1
        self._stored += not ran
        if isinstance(outcome, FailedDebate):
            self._failed += 1
        result = outcome.partial if isinstance(outcome, FailedDebate) else outcome
        if result is not None:
            self._usage += result.usage
        self._report()

    async def remind(self) -> None:
        """Report regularly while debates wait; runs until it is cancelled."""
        while True:
            await sleep(_TICK_S)
            if self._waits:
                cause = self._most_frequent()
                self._log(cause, next(wait.text for wait in self._waits.values() if wait.cause == cause))
                self._report(has_ended=False)

    def _count_work(self) -> None:
        """Count the time since the last change as work, as far as debates ran: as many as could run, or fewer."""
        now = self._clock.monotonic()
        running, places = self._active - len(self._waits), min(self._slots.at_once, self._active)
        share = min(1.0, running / places) if places else 1.0
        self._worked_s += share * (now - self._counted_at)
        self._counted_at = now

    def _most_frequent(self) -> Cause:
        return Counter(wait.cause for wait in self._waits.values()).most_common(1)[0][0]

    def _left_s(self, cause: Cause) -> float:
        """Return the seconds until the first debate that waits for a cause tries again; 0 if it waits for a slot."""
        now = self._clock.monotonic()
        return max(0.0, min(wait.ends_at for wait in self._waits.values() if wait.cause == cause) - now)

    def _log(self, cause: Cause, text: str) -> None:
        """Log the first wait for each cause, and long waits at growing intervals."""
        left_s, waiting = self._left_s(cause), sum(wait.cause == cause for wait in self._waits.values())
        state = self._logged.note(cause, self._clock.monotonic(), left_s)
        if state.is_news and not state.waited_s:
            logger.info("a debate waits %.0f s for its provider, and others may too: %s", left_s, text)
        elif state.is_news:
            debates, so_far = counted(waiting, "debate waits", "debates wait"), duration(state.waited_s)
            then = f", and the next try is in {left_s:.0f} s" if left_s else ""
            logger.info("%s, %s so far%s: %s", debates, so_far, then, text)

    def _report(self, *, has_ended: bool = True) -> None:
        if self._on_progress is None:
            return
        self._count_work()
        now, waits = self._counted_at, self._waits.values()
        progress = Progress(
            ended=self._ended,
            total=self._total,
            failed=self._failed,
            stored=self._stored,
            has_ended=has_ended,
            at_once=self._slots.at_once,
            usage=self._usage,
            elapsed_s=now - self._begun,
            worked_s=self._worked_s,
        )
        if waits:
            cause = self._most_frequent()
            left_s = self._left_s(cause)
            state = self._news.note(cause, now, left_s)
            text = next(wait.text for wait in waits if wait.cause == cause)
            progress = progress.model_copy(
                update={
                    "waiting": len(waits),
                    "waiting_for": shortened(text, _CAUSE_CHARS),
                    "waiting_provider": cause.provider,
                    "waiting_code": cause.code,
                    "wait_s": max(wait.seconds for wait in waits),
                    "wait_left_s": left_s,
                    "waited_s": state.waited_s,
                    "is_wait_news": state.is_news,
                }
            )
        self._on_progress(progress)
