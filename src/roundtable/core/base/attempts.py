"""Which attempt at a turn the running code belongs to."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

__all__ = ["CURRENT_ATTEMPT", "TurnAttempt"]


@dataclass(frozen=True, slots=True, eq=False)
class TurnAttempt:
    """One attempt at a turn; a repetition of the same attempt, after an interruption, is another object."""

    rejections: int = 0
    """How many stored attempts at the turn failed because of an answer; this attempt must get new answers."""


CURRENT_ATTEMPT: Final[ContextVar[TurnAttempt | None]] = ContextVar("roundtable_turn_attempt", default=None)
"""The attempt whose calls the running code makes; `None` outside of turns."""
