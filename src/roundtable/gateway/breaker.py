"""The circuit breaker: a provider that fails again and again is left alone for a while."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable._clock import SystemClock
from roundtable.errors import CircuitOpen

if TYPE_CHECKING:
    from roundtable.protocols import Clock

__all__ = ["BreakerState", "CircuitBreaker"]

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
"""`closed` lets all calls through, `open` none, `half_open` one that tries whether the provider is back."""

_LABEL: Final = "the model"


class CircuitBreaker:
    """Counts failures of one provider, address and model.

    `threshold` failures within the last `window_s` seconds open it. While it is open every call is refused at once.
    After `recovery_s` seconds exactly one call is let through: if it succeeds the breaker closes and forgets, if it
    fails the breaker stays open for as long again.

    What counts is for the caller to say. The gateway counts each failed try of a kind that may pass: faults of the
    network, statuses of 500 and above, time-outs, useless answers. Rate limits do not count, since a provider that
    sends them is well and has said when to come back; nor do refusals (400, 401, 403, 404, 413, 422), which are the
    request's fault, nor calls that were cancelled. Those are no successes either.

    Args:
        label: What the message calls it.
        clock: Where time comes from.
        threshold: Failures that open it.
        window_s: Seconds a failure is remembered.
        recovery_s: Seconds it stays open.

    Example:
        >>> breaker = CircuitBreaker("acme")
        >>> for _ in range(5):
        ...     breaker.record_failure(probe=breaker.enter())
        >>> breaker.state
        'open'
        >>> breaker.reset()
        >>> breaker.state
        'closed'
    """

    threshold: int = 5
    window_s: float = 60.0
    recovery_s: float = 60.0

    def __init__(
        self,
        label: str = _LABEL,
        *,
        clock: Clock | None = None,
        threshold: int | None = None,
        window_s: float | None = None,
        recovery_s: float | None = None,
    ) -> None:
        self.label = label
        self.threshold = threshold or type(self).threshold
        self.window_s = window_s or type(self).window_s
        self.recovery_s = recovery_s or type(self).recovery_s
        self._clock: Clock = clock or SystemClock()
        self._failures: deque[float] = deque(maxlen=self.threshold)
        self._opened_at: float | None = None
        self._probing = False
        # Two event loops in two threads may share a table.
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"CircuitBreaker({self.label!r}, state={self.state!r}, failures={self.failures})"

    @property
    def state(self) -> BreakerState:
        """Whether calls are let through now."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._probing or self.wait_s <= 0 else "open"

    @property
    def failures(self) -> int:
        """Failures within the window, at most as many as open it."""
        oldest = self._clock.monotonic() - self.window_s
        return sum(at > oldest for at in tuple(self._failures))

    @property
    def wait_s(self) -> float:
        """Seconds until a call is let through again; 0 when it is now."""
        opened_at = self._opened_at
        if opened_at is None:
            return 0.0
        return max(0.0, opened_at + self.recovery_s - self._clock.monotonic())

    def reset(self) -> None:
        """Close it and forget all failures."""
        with self._lock:
            self._close()

    def enter(self) -> bool:
        """Ask to make a call; tell whether it is the one that tries whether the provider is back.

        Whoever was let in says how the call ended, by one of the methods below.

        Raises:
            CircuitOpen: It must not be made now.
        """
        if self._opened_at is None:
            return False
        with self._lock:
            return self._enter_open()

    def record_success(self, *, probe: bool = False) -> None:
        """Say that a call succeeded."""
        if probe:
            self.reset()

    def record_failure(self, *, probe: bool = False) -> None:
        """Say that a call failed in a way that counts."""
        with self._lock:
            now = self._clock.monotonic()
            if probe:
                self._opened_at, self._probing = now, False
                return
            if self._opened_at is not None:
                # A call from before it opened; what it tells is known.
                return
            self._failures.append(now)
            if self.failures >= self.threshold:
                self._opened_at = now

    def record_nothing(self, *, probe: bool = False) -> None:
        """Say that a call ended in a way that says nothing about the provider; the next call may try instead."""
        if probe:
            with self._lock:
                self._probing = False

    def _enter_open(self) -> bool:
        if self._opened_at is None:
            # Another thread closed it meanwhile.
            return False
        if self._probing or self.wait_s > 0:
            raise self._refusal()
        self._probing = True
        return True

    def _close(self) -> None:
        self._failures.clear()
        self._opened_at, self._probing = None, False

    def _refusal(self) -> CircuitOpen:
        wait_s = self.wait_s
        when = f"a call is let through in {wait_s:.0f} s" if wait_s > 0 else "one call is trying it now"
        return CircuitOpen(
            f"Circuit breaker open for {self.label}: {self.threshold} failures within {self.window_s:g} s; {when}",
            retry_after_s=wait_s or None,
        )
