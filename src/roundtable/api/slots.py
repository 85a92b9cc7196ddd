"""How many debates run at the same time, and how they wait for providers."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, get_args

import anyio

from roundtable.api.checks import check_flag
from roundtable.core.engine.patience import OUTAGE_S, ProviderPatience, WaitFor, check_outage
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from roundtable.core.engine.patience import Patience
    from roundtable.core.types.chat import ModelCall
    from roundtable.core.types.debate import ErrorInfo
    from roundtable.gateway import Gateway

__all__ = ["BatchPatience", "DebateSeat", "Slots"]

_CONGESTED: Final = frozenset({429, 503, 529})
"""Statuses with which a provider asks for fewer calls."""
_KEPT_S: Final = 5.0
"""Longest wait for which a debate keeps its slot; it would wait longer for the next one."""


class Slots:
    """Slots of a batch: those that want one get it in turn.

    The number of slots is halved when a provider refuses a call because of its rate or its load. It grows again by one
    when as many jobs as there are slots have ended without that, up to `most`.

    Args:
        most: Maximum number of slots, 1 or more.
        adapts: Whether the number changes.

    Example:
        >>> slots = Slots(8, adapts=False)
        >>> slots.halve()
        >>> slots.at_once
        8
    """

    def __init__(self, most: int, *, adapts: bool = True) -> None:
        self.most = most
        """Maximum number of slots."""
        self._adapts = adapts
        self._number = float(most)
        self._taken = 0
        self._waiting: deque[anyio.Event] = deque()

    @property
    def at_once(self) -> int:
        """Number of slots now."""
        return int(self._number)

    async def take(self) -> None:
        """Take a slot, as soon as one is free and nobody else has waited for longer."""
        if self._taken < self.at_once and not self._waiting:
            self._taken += 1
            return
        turn = anyio.Event()
        self._waiting.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.put_back()
            else:
                self._waiting.remove(turn)
            raise

    def put_back(self) -> None:
        """Put a slot back; the job that has waited longest gets it."""
        self._taken -= 1
        self._admit()

    def grow(self) -> None:
        """Add the part of a slot that one ended job is worth."""
        if self._adapts:
            self._number = min(float(self.most), self._number + 1 / self.at_once)
            self._admit()

    def halve(self) -> None:
        """Set the number of slots to half of the jobs that run, at least 1; these jobs keep their slots."""
        if self._adapts:
            self._number = max(1.0, float(min(self.at_once, max(self._taken, 2)) // 2))

    def hear(self, call: ModelCall) -> None:
        """Halve the number of slots if a provider refused this call because of its rate or its load.

        While more jobs run than there are slots, the last halving has not taken effect yet, so nothing changes.
        """
        is_refused = call.error == "APIRateLimitError" or call.status in _CONGESTED
        if is_refused and self._taken <= self.at_once:
            self.halve()

    @contextmanager
    def follow(self, gateway: Gateway) -> Generator[None]:
        """Adapt to the calls of a gateway while the block is open."""
        gateway.call_listeners = (*gateway.call_listeners, self.hear)
        try:
            yield
        finally:
            gateway.call_listeners = tuple(one for one in gateway.call_listeners if one != self.hear)

    def _admit(self) -> None:
        while self._waiting and self._taken < self.at_once:
            self._taken += 1
            self._waiting.popleft().set()


class DebateSeat:
    """The slot of one debate; others have it while the debate waits longer for a provider.

    Args:
        slots: All slots.
    """

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_taken = False
        self.on_change: Callable[[tuple[float, ErrorInfo] | None], None] = lambda _: None
        """Called when a wait begins, with its seconds and its cause, and with `None` when it is over."""

    async def returns(self, within_s: float = inf) -> None:
        """Take a slot, if the debate has none; after `within_s` seconds, continue without one."""
        if not self._is_taken:
            with anyio.move_on_after(within_s):
                await self._slots.take()
                self._is_taken = True
        self.on_change(None)

    def waits(self, seconds: float, error: ErrorInfo) -> None:
        """Put the slot back for a wait of more than a few seconds."""
        if seconds > _KEPT_S:
            self.leave()
        self.on_change((seconds, error))

    def leave(self) -> None:
        """Put the slot back, if the debate has one."""
        if self._is_taken:
            self._is_taken = False
            self._slots.put_back()


@dataclass(frozen=True, slots=True)
class BatchPatience:
    """How the debates of a batch wait for their providers.

    Raises:
        ConfigurationError: A setting is not valid.
    """

    wait_for: WaitFor = "all"
    """Which agents a round waits for if their providers fail."""
    outage_s: float = OUTAGE_S
    """Most seconds that a debate waits in each outage."""
    adapt: bool = True
    """Whether the number of debates at the same time adapts to the providers."""

    def __post_init__(self) -> None:
        if self.wait_for not in get_args(WaitFor):
            names = ", ".join(get_args(WaitFor))
            raise ConfigurationError(f"unknown value of wait_for: {self.wait_for!r}; choose one of {names}")
        check_outage(self.outage_s)
        check_flag("adapt", self.adapt)

    def of_debate(
        self, gateway: Gateway, seat: DebateSeat | None = None, refused: set[tuple[str, str]] | None = None
    ) -> Patience:
        """Return the patience of one debate.

        Args:
            gateway: Gateway of its calls.
            seat: Place of the debate among many.
            refused: Providers and causes of waits that were refused as too long and logged.
        """
        return ProviderPatience(
            outage_s=self.outage_s,
            wait_for=self.wait_for,
            seat=seat,
            clock=gateway.clock,
            refused=refused,
        )
