"""The past that a forked session shares with the one it was forked from; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.errors import SessionConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.record.fold import Fold
    from roundtable.types import DurableEvent

__all__ = ["past_until", "with_past"]

_OF_A_RUN: Final = frozenset({"debate_start", "control", "exit", "debate_complete", "error"})
"""Events that tell how the session was run, and not what was said in it."""


def past_until(fold: Fold, events: Sequence[DurableEvent], at_round: int) -> tuple[DurableEvent, ...]:
    """Give what was said up to the end of a round.

    Raises:
        SessionConflict: The round was not held to its end.
    """
    ends = [
        place for place, event in enumerate(events, 1) if event.type == "round_complete" and event.round <= at_round
    ]
    if at_round < 0 or len(ends) < at_round:
        held = sum(held.complete for held in fold.rounds)
        ended = "1 round was" if held == 1 else f"{held} rounds were"
        msg = f"session {fold.record.id!r} cannot be forked at round {at_round}: {ended} held to the end"
        raise SessionConflict(msg, hint=f"Give at_round from 0 to {held}.")
    return tuple(event for event in events[: ends[-1] if ends else 0] if event.type not in _OF_A_RUN)


def with_past(session_id: str, past: Sequence[DurableEvent]) -> tuple[DurableEvent, ...]:
    """Give the past as events of another session, to be numbered anew; times stay as they were."""
    return tuple(event.model_copy(update={"session_id": session_id, "seq": 0}) for event in past)
