"""Circuit breakers: no calls to a provider that is down, or with a key that it refuses."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.core.base.clock import SystemClock
from roundtable.core.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    CircuitOpen,
    RoundtableError,
)
from roundtable.core.types.agents import Breaker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.protocols import Clock

__all__ = ["KEY_RECOVERY_S", "BreakerState", "CircuitBreaker", "KeyBreaker", "certain_outage", "own_words"]

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]
"""`closed` allows all calls, `open` allows none, `half_open` allows one call to test whether the provider is back."""

KEY_RECOVERY_S: Final = 900.0
"""Seconds that a refused key is not used."""

_DEFAULT_LABEL: Final = "the model"

_MOST_CALLS: Final = 1000
"""Most calls that a breaker remembers; of more calls within its window, the newest count."""

_AT_ONCE: Final = {"unknown_host": "its host is unknown", "certificate": "its certificate is refused"}
_AFTER_TWO_TRIES: Final = {"refused": "it refused two connections", "lookup_failed": "its host was not found twice"}
"""Failures after which a provider is certainly down, by `details["reason"]` of the error."""

_WORDS: Final[Mapping[type[RoundtableError], str]] = {
    AgentError: "an answer that cannot be used",
    APIAuthError: "a refusal",
    APIRateLimitError: "a rate limit",
    APITimeoutError: "no answer in time",
    APINetworkError: "a failed connection",
}
"""Words for errors whose messages may quote a server, a program or a model."""


class _Switch:
    """What both breakers share: they open, refuse calls for `recovery_s` seconds, then allow one call as a probe.

    Args:
        recovery_s: Seconds that the switch stays open.
        clock: Source of the time.
    """

    def __init__(self, recovery_s: float, clock: Clock | None) -> None:
        self.recovery_s = recovery_s
        self._clock: Clock = clock or SystemClock()
        self._skipped_s = 0.0
        self._opened_at: float | None = None
        self._probing = False
        # Two event loops in two threads may share a table, and with it this object.
        self._lock = Lock()

    @property
    def state(self) -> BreakerState:
        """State of the breaker."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._probing or self.wait_s <= 0 else "open"

    @property
    def wait_s(self) -> float:
        """Seconds until a call is allowed again; 0 if a call is allowed now."""
        opened_at = self._opened_at
        if opened_at is None:
            return 0.0
        # Rounding may make a sum of floats slightly too large, but a caller must never wait longer than `recovery_s`.
        return max(0.0, min(self.recovery_s, opened_at + self.recovery_s - self._now()))

    def skip(self, seconds: float) -> None:
        """Advance the time of the breaker without waiting, for a replayed try."""
        self._skipped_s += seconds

    def reset(self) -> None:
        """Close the breaker and forget all failures."""
        with self._lock:
            self._close()

    def enter(self) -> bool:
        """Request permission for a call; return whether the call is the probe of an open breaker.

        The caller reports the outcome of the call with one of the `record_` methods.

        Raises:
            RoundtableError: The call must not be made now.
        """
        if self._opened_at is None:
            return False
        with self._lock:
            return self._enter_as_probe()

    def record_nothing(self, *, probe: bool = False) -> None:
        """Record an outcome that shows nothing about the provider; after a probe, the next call may be the probe."""
        if probe:
            with self._lock:
                self._probing = False

    def _enter_as_probe(self) -> bool:
        if self._opened_at is None:
            # Another thread closed the breaker meanwhile.
            return False
        if self._probing or self.wait_s > 0:
            raise self._open_error()
        self._probing = True
        return True

    def _open(self) -> None:
        self._opened_at, self._probing = self._now(), False

    def _close(self) -> None:
        self._opened_at, self._probing = None, False

    def _now(self) -> float:
        return self._clock.monotonic() + self._skipped_s

    def _when(self) -> str:
        """Return when the next call is made, for messages."""
        wait_s = self.wait_s
        if wait_s <= 0:
            return "one call is trying it now"
        return (
            f"a call is let through in {wait_s:.0f} s, at {self._clock.now() + timedelta(seconds=wait_s):%H:%M:%S} UTC"
        )

    def _open_error(self) -> RoundtableError:
        raise NotImplementedError


class CircuitBreaker(_Switch):
    """Refuses calls to an endpoint (provider, address and model) that keeps failing.

    The breaker opens in one of two ways: after `threshold` failed calls within the last `window_s` seconds; or, if
    `share` is set, as soon as at least `min_calls` calls ended within that time, and this share of them failed. The
    gateway also opens it at once if the provider is certainly down, with `trip`.

    While it is open, every call is refused at once. After `recovery_s` seconds, exactly one call is allowed, the probe.
    If it succeeds, the breaker closes and forgets all failures. If it fails, the breaker stays open for the same time
    again.

    The caller decides which failures count. The gateway counts each call once, when it ends, with all its retries. A
    call fails for a temporary cause that is the provider's: network errors, statuses of 500 and above, time-outs,
    useless answers. The gateway does not count

    - rate limits, since a provider that sends them works and states when to retry;
    - refusals (400, 401, 403, 404, 413, 422), since the request or the key caused them;
    - cancelled calls.

    None of these counts as a success either.

    Args:
        label: Name of the endpoint in messages.
        clock: Source of the time.
        threshold: Number of failed calls that open the breaker, if `share` is not set.
        window_s: Seconds for which a call counts.
        recovery_s: Seconds that the breaker stays open.
        share: Share of failed calls that opens the breaker, above 0 and at most 1.
        min_calls: Least number of ended calls for `share`.

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
        label: str = _DEFAULT_LABEL,
        *,
        clock: Clock | None = None,
        threshold: int | None = None,
        window_s: float | None = None,
        recovery_s: float | None = None,
        share: float | None = None,
        min_calls: int = 1,
    ) -> None:
        super().__init__(recovery_s or type(self).recovery_s, clock)
        self.label = label
        self.threshold = threshold or type(self).threshold
        self.window_s = window_s or type(self).window_s
        self.share: Fraction | None = None if share is None else Fraction(str(share))
        self.min_calls = min_calls
        self.is_on: bool = True
        """Whether the breaker opens at all."""
        self._calls: deque[tuple[float, bool]] = deque(maxlen=_MOST_CALLS)
        """When each call ended, and whether it failed."""
        self._why = ""
        self._is_certain = False
        self._cause: str | None = None
        """`details["reason"]` of the failure that showed that the provider is certainly down."""
        # Text only, since an error would keep the frames of its call alive.
        self._last_failure: tuple[str, str | None] | None = None

    @classmethod
    def of(cls, rule: Breaker | None, label: str, *, clock: Clock | None = None) -> CircuitBreaker:
        """Return the breaker of a rule; with `None`, it never opens.

        Args:
            rule: The rule.
            label: Name of the endpoint in messages.
            clock: Source of the time.

        Example:
            >>> CircuitBreaker.of(Breaker(), "acme").min_calls
            20
        """
        given = rule or Breaker()
        breaker = cls(
            label,
            clock=clock,
            threshold=given.failures,
            window_s=given.window_s,
            recovery_s=given.recovery_s,
            share=given.share if given.failures is None else None,
            min_calls=given.min_calls,
        )
        breaker.is_on = rule is not None
        return breaker

    def __repr__(self) -> str:
        return f"CircuitBreaker({self.label!r}, state={self.state!r}, failures={self.failures})"

    @property
    def failures(self) -> int:
        """Number of calls that failed within the window."""
        return self._counts()[1]

    @property
    def calls(self) -> int:
        """Number of calls that ended within the window, at most 1000; without those that show nothing.

        Example:
            >>> breaker = CircuitBreaker("acme")
            >>> breaker.record_success()
            >>> breaker.calls
            1
        """
        return self._counts()[0]

    @property
    def reason(self) -> str | None:
        """Why the breaker is open, in words of this library; `None` if it is closed."""
        return None if self._opened_at is None else self._why

    @property
    def allows_retries(self) -> bool:
        """Whether calls that have begun may go on with their retries.

        They may if the provider was found certainly down, since a server that restarts refuses connections for seconds.
        """
        return self._opened_at is None or self._is_certain

    def record_success(self, *, probe: bool = False) -> None:
        """Record a successful call; it closes the breaker if it was the probe, or the retry of an earlier call."""
        with self._lock:
            if probe or self._is_certain:
                self._close()
            self._calls.append((self._now(), False))

    def record_failure(self, error: RoundtableError | None = None, *, probe: bool = False) -> None:
        """Record a failed call that counts; for a probe, its first failed try.

        Args:
            error: The failure; the errors of refused calls name the newest one, without words of servers, programs and
                models, since these may quote a prompt.
            probe: Whether the call was the probe of an open breaker.
        """
        with self._lock:
            if self._opened_at is not None and not probe:
                # The call began before the breaker opened, so its failure shows nothing new.
                return
            self._note(error)
            if not probe:
                self._calls.append((self._now(), True))
            reason = self._reason_to_open()
            if probe or reason:
                self._why = reason or self._why
                self._is_certain, self._cause = False, None
                self._open()

    def trip(self, reason: str, error: RoundtableError | None = None, *, probe: bool = False) -> None:
        """Open the breaker at once, because the provider is certainly down.

        Args:
            reason: Why, in words of this library, such as `"its host is unknown"`.
            error: The failure; see `record_failure`.
            probe: Whether the call was the probe of an open breaker.
        """
        with self._lock:
            if self.is_on and (self._opened_at is None or probe):
                self._note(error)
                self._why, self._is_certain = reason, True
                cause = None if error is None else (error.details or {}).get("reason")
                self._cause = None if cause is None else str(cause)
                self._open()

    def _note(self, error: RoundtableError | None) -> None:
        self._last_failure = None if error is None else (own_words(error), error.hint)

    def _reason_to_open(self) -> str:
        """Return why the counts open the breaker; empty if they do not."""
        calls, failures = self._counts()
        if not self.is_on:
            return ""
        if self.share is None:
            opens = failures >= self.threshold
            return f"{failures} failures within {self.window_s:g} s" if opens else ""
        if calls < self.min_calls or failures < self.share * calls:
            return ""
        return f"{failures} of {calls} calls within {self.window_s:g} s failed"

    def _counts(self) -> tuple[int, int]:
        """Return how many calls ended within the window, and how many of them failed."""
        oldest = self._now() - self.window_s
        recent = [failed for at, failed in tuple(self._calls) if at > oldest]
        return len(recent), sum(recent)

    def _close(self) -> None:
        super()._close()
        self._calls.clear()
        self._last_failure, self._why, self._is_certain, self._cause = None, "", False, None

    def _open_error(self) -> CircuitOpen:
        reason, hint = self._last_failure or (None, None)
        cause = self._why + (f", the last: {reason}" if reason else "")
        return CircuitOpen(
            f"Circuit breaker open for {self.label}: {cause}; {self._when()}",
            retry_after_s=self.wait_s or None,
            hint=f"{hint} {CircuitOpen.default_hint}" if hint else None,
            details={"reason": "circuit_open"} | ({"cause": self._cause} if self._cause else {}),
        )


class KeyBreaker(_Switch):
    """Refuses calls with a key that the provider refuses, or whose quota is used up.

    It opens with the first refusal, and only for one key at one endpoint, so that other keys can still be used. A 403,
    or a 402 that speaks of the tokens of a request, may concern one request only; with these, it opens with the second
    refusal in a row. Every 15 minutes, exactly one call is allowed, the probe; if it succeeds, the breaker closes.

    Args:
        label: Name of the endpoint in messages.
        provider: Name of the provider.
        clock: Source of the time.
        is_on: Whether the breaker opens at all.
    """

    def __init__(self, label: str, provider: str, *, clock: Clock | None = None, is_on: bool = True) -> None:
        super().__init__(KEY_RECOVERY_S, clock)
        self.label = label
        self._provider = provider
        self._is_on = is_on
        self._refusal: tuple[str, str | None] = ("", None)
        self._is_suspect = False

    def __repr__(self) -> str:
        return f"KeyBreaker({self.label!r}, state={self.state!r})"

    def record_success(self) -> None:
        """Record a call that the provider answered with this key."""
        self._is_suspect = False
        if self._opened_at is not None:
            self.reset()

    def record_refusal(self, error: APIAuthError) -> None:
        """Record that the provider refused the key; a refusal that may concern one request only must be repeated."""
        if not self._is_on:
            return
        with self._lock:
            if self._is_suspect or self._opened_at is not None or not _may_concern_one_request(error):
                self._refusal = own_words(error), error.hint
                self._open()
            self._is_suspect = True

    def _open_error(self) -> APIAuthError:
        reason, hint = self._refusal
        return APIAuthError(
            f"{self.label} refused this key ({reason}), so it is not called; {self._when()}",
            provider=self._provider,
            retry_after_s=self.wait_s or None,
            hint=f"{hint or APIAuthError.default_hint} Then use the new key, or call `reset_breakers()` of the table.",
            details={"reason": "key_refused"},
        )


def _may_concern_one_request(error: APIAuthError) -> bool:
    """Check whether a refusal may be about its request: a model or a tool that the key may not use, or its price."""
    status = (error.details or {}).get("status")
    return status == 403 or (status == 402 and "max_tokens" in error.message)


def own_words(error: RoundtableError) -> str:
    """Return what failed in words of this library; the calls of an endpoint may belong to different tenants."""
    details = error.details or {}
    for fact, name in (("status", "status"), ("exit_code", "exit code")):
        if fact in details:
            return f"{name} {details[fact]}"
    if "connected" in details or details.get("reason") in {*_AT_ONCE, *_AFTER_TWO_TRIES}:
        return error.message  # it names only the address and the fault of the connection
    return next((words for kind, words in _WORDS.items() if isinstance(error, kind)), "an error")


def certain_outage(error: RoundtableError, *, again: bool) -> str | None:
    """Return why an error shows that the provider is certainly down; `None` if it does not.

    Args:
        error: Why a try failed.
        again: Whether the try before it, of the same call, failed in the same way.
    """
    reason = str((error.details or {}).get("reason"))
    return _AT_ONCE.get(reason) or (_AFTER_TWO_TRIES.get(reason) if again else None)
