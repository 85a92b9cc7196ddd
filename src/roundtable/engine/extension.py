"""Holding more rounds than were planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundtable.engine.requests import answered
from roundtable.errors import ConfigurationError, SessionConflict
from roundtable.types import Control

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.protocols import DebateModeStrategy
    from roundtable.record import Fold
    from roundtable.types import ContextResult

__all__ = ["Extension", "extended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What is asked for when a session is extended."""

    rounds: int = 1
    """Rounds to hold besides those planned; besides those held, once the session is completed. None of them, where a
    session that is not completed only gets answers."""
    focus_question: str | None = None
    """Narrower question for them."""
    context_results: tuple[ContextResult, ...] = ()
    """Answers to what the agents asked for."""
    force: bool = False
    """Go on without what agents require and nobody answered."""
    max_rounds: int | None = None
    """Most rounds the session may come to, those held included; as many as the mode can hold when left out."""


def extended(fold: Fold, asked: Extension, mode: DebateModeStrategy, now: datetime) -> Control:
    """Give the event that extends a session.

    Raises:
        ConfigurationError: The session may not come to so many rounds, or the mode cannot hold them.
        SessionConflict: Something that agents require is not answered; or no rounds are asked of a completed session.
    """
    results = answered(fold, asked.context_results, force=asked.force)
    planned = fold.progress.total_rounds
    if fold.progress.status == "completed":
        # After an early end the rounds left over are not held; one that was stopped half-way is finished first.
        planned = fold.current.number if fold.current is not None else 0
    total = planned + asked.rounds
    if asked.max_rounds is not None and total > asked.max_rounds:
        msg = f"{asked.rounds} more would make {total} rounds of session {fold.record.id!r}; at most {asked.max_rounds}"
        raise ConfigurationError(msg, hint="ROUNDTABLE_MAX_ROUNDS moves the limit.")
    if asked.rounds == 0 and fold.progress.status == "completed":
        raise SessionConflict(
            f"session {fold.record.id!r} is completed", hint="Extend it by at least one round to hold further ones."
        )
    if asked.rounds < 0 or total not in mode.rounds:
        allowed = f"{mode.rounds.start} to {mode.rounds.stop - 1}"
        msg = f"mode {mode.name!r} holds {allowed} rounds; {asked.rounds} more would make {total}"
        raise ConfigurationError(msg)
    return Control(
        session_id=fold.record.id,
        timestamp=now,
        action="extend",
        total_rounds=total,
        focus_question=asked.focus_question,
        context_results=results,
    )
