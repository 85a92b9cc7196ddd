"""Token buckets: a rate per minute, and a budget for retries. They count, they never wait."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from roundtable._clock import SystemClock

if TYPE_CHECKING:
    from roundtable.protocols import Clock

__all__ = ["RateBucket", "RetryBudget"]


class RateBucket:
    """Lets so much through per minute, whoever comes first first.

    It starts full and refills steadily. Taking more than there is gives the seconds to wait; the next one waits
    behind that. An amount above a whole minute's worth is let through when the bucket is full, or it would wait for
    ever.

    Args:
        per_minute: What is let through in a minute, and at once after a pause.
        clock: Where time comes from.

    Example:
        >>> from roundtable.testing.storage_samples import ManualClock
        >>> bucket = RateBucket(60, clock=ManualClock())
        >>> bucket.take(60), bucket.take(1), bucket.take(2)
        (0.0, 1.0, 3.0)
    """

    def __init__(self, per_minute: float, *, clock: Clock | None = None) -> None:
        self.per_minute = per_minute
        self._clock: Clock = clock or SystemClock()
        self._level = per_minute
        self._seen = self._clock.monotonic()
        self._lock = Lock()

    @property
    def available(self) -> float:
        """What could be taken without waiting."""
        with self._lock:
            self._refill()
            return max(0.0, self._level)

    def take(self, amount: float = 1.0) -> float:
        """Take an amount; give the seconds to wait before using it."""
        with self._lock:
            self._refill()
            self._level -= amount
            # What exceeds the whole bucket is owed by those who come later.
            return max(0.0, -self._level - max(0.0, amount - self.per_minute)) * 60 / self.per_minute

    def give_back(self, amount: float) -> None:
        """Give back what was taken and not used; below zero, take what was used and not taken."""
        with self._lock:
            self._refill()
            self._level = min(self.per_minute, self._level + amount)

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._level = min(self.per_minute, self._level + (now - self._seen) * self.per_minute / 60)
        self._seen = now


class RetryBudget:
    """Keeps retries from adding to the trouble of a provider that fails most calls.

    A retry costs 5, one after a time-out 10. A call that succeeds on its first try gives 1 back, one that succeeds on
    a retry gives the price of that retry back. When there is too little left, failures are final. The level starts at
    500 and never leaves [0, 500].

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
        """What is left."""
        return self._level

    def take(self, cost: int) -> bool:
        """Pay for a retry; tell whether there was enough."""
        with self._lock:
            if cost > self._level:
                return False
            self._level -= cost
            return True

    def give_back(self, amount: int) -> None:
        """Put something back after a success."""
        if self._level == self.capacity:
            return
        with self._lock:
            self._level = min(self.capacity, self._level + amount)
