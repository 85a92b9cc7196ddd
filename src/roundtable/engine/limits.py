"""How far one run of a debate may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.types import Budget

__all__ = ["RunLimits"]


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How far one run may go."""

    rounds: int | None = None
    """Rounds to hold at most in this run; as many as planned when left out."""
    deadline_s: float | None = None
    """Seconds after which running calls are cancelled and the run ends."""
    turn_timeout_s: float | None = None
    """Seconds each turn has for all its calls."""
    lease_ttl_s: float = 15.0
    """Seconds after which a lease lapses unless renewed; it is renewed every third of that."""
    wait_s: float = 0.0
    """Seconds to wait for another owner's lease to lapse before giving up."""
    resume: bool = False
    """Whether the caller asks to go on, so that a request to pause or stop that nobody answered is void."""
    budget: Budget | None = None
    """The most the session may consume in all; what is stored with it when left out."""
