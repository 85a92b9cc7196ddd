"""How far a session has come: what a list shows, folded one event at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.types import DurableEvent, SessionRecord, SessionStatus

__all__ = ["Progress", "advance", "start_progress"]


class Progress(NamedTuple):
    """State and counts of a session."""

    status: SessionStatus
    """State."""
    current_round: int
    """Rounds begun."""
    total_rounds: int
    """Rounds planned, extensions included."""
    response_count: int
    """Stored positions."""


def start_progress(record: SessionRecord) -> Progress:
    """Give the progress of a session without events."""
    return Progress("created", 0, record.config.rounds, 0)


def advance(progress: Progress, events: Iterable[DurableEvent]) -> Progress:
    """Give the progress after these events; pure.

    A request to pause or stop changes nothing by itself: whoever runs the session answers it with
    `debate_complete`. `conversation_complete` completes the session of a team. A completed session is made active by
    `extend` alone, a broken one by `resume` alone.
    """
    status, current, total, count = progress
    for event in events:
        match event.type:
            case "debate_start" | "conversation_start":
                status = "active"
            case "round_start":
                status, current = "active", max(current, event.round)
            case "agent_complete":
                count += event.turn.answer.kind == "position"
            case "control" if event.action == "extend":
                status = "active" if status == "completed" else status
                total = max(current, event.total_rounds or total)
            case "control" if event.action == "resume":
                status = status if status == "completed" else "active"
            case "debate_complete":
                status = event.status
            case "conversation_complete":
                status = "completed"
            case "error":
                status = "error"
            case _:
                pass
    return Progress(status, current, total, count)
