"""How outages are reported: once, at growing intervals, and when they are over."""

from __future__ import annotations

import logging
import time
from typing import Final

from roundtable.core.base.words import duration

__all__ = ["Outage", "Reminders"]

_SHORTEST_INTERVAL_S: Final = 60.0
_LONGEST_INTERVAL_S: Final = 3600.0


class Reminders:
    """When something that lasts is reported again: after a while, then after a minute, two minutes, four minutes ...

    Args:
        after_s: Seconds until the first report; what ends earlier is not reported.

    Example:
        >>> reminders = Reminders(10.0)
        >>> [passed_s for passed_s in range(0, 300, 5) if reminders.is_due(passed_s)]
        [10, 70, 140, 280]
    """

    def __init__(self, after_s: float = 0.0) -> None:
        self._next_s = after_s

    def is_due(self, passed_s: float) -> bool:
        """Check whether a report is due, at least once an hour; if so, the next one is due later.

        Args:
            passed_s: Seconds since the beginning.
        """
        if passed_s < self._next_s:
            return False
        self._next_s = passed_s + min(max(passed_s, _SHORTEST_INTERVAL_S), _LONGEST_INTERVAL_S)
        return True


class Outage:
    """Logs that something cannot be used: once, then at growing intervals, and once when it works again.

    The first line is logged at once or after `patience_s` seconds, the next ones after a minute, two minutes, four
    minutes and so on, but at least once an hour. Other failures are logged as debug messages.

    Args:
        log: Where to log.
        away: What happens during the outage, such as "the worker waits for the database".
        back: What happens when it ends, such as "the worker reaches the database again".
        level: Level of the messages.
        patience_s: Seconds after the first failure until an outage is logged; a shorter one is not.
    """

    def __init__(
        self, log: logging.Logger, away: str, back: str, *, level: int = logging.WARNING, patience_s: float = 0.0
    ) -> None:
        self._log = log
        self._away = away
        self._back = back
        self._level = level
        self._patience_s = patience_s
        self._since_s: float | None = None
        self._reminders = Reminders()
        self._is_logged = False

    def failed(self, reason: str) -> None:
        """Report a failed attempt.

        Args:
            reason: Why it failed, without secrets.
        """
        now = time.monotonic()
        if self._since_s is None:
            self._since_s, self._reminders, self._is_logged = now, Reminders(self._patience_s), False
        passed_s = now - self._since_s
        if not self._reminders.is_due(passed_s):
            self._log.debug("%s: %s", self._away, reason)
            return
        for_ = f" ({duration(passed_s)} so far)" if self._is_logged else ""
        self._log.log(self._level, "%s%s: %s", self._away, for_, reason)
        self._is_logged = True

    def ended(self) -> None:
        """Report that an attempt succeeded; this does nothing unless an outage was logged."""
        since_s, self._since_s = self._since_s, None
        if since_s is not None and self._is_logged:
            self._log.log(self._level, "%s, after %s", self._back, duration(time.monotonic() - since_s))
            self._is_logged = False
