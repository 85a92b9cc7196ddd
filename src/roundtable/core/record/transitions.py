"""Transitions between the states of a session, and the past that a fork shares; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from roundtable.core.errors import SessionConflict
from roundtable.core.record.fold import Fold, Progress, advance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundtable.core.types.debate import SessionRecord, SessionStatus
    from roundtable.core.types.events import DurableEvent

__all__ = ["HeldRound", "follow", "last_held_round", "rebase_past", "shared_past"]

_ALLOWED_IN: Final[dict[str, tuple[SessionStatus, ...]]] = {
    "debate_start": ("created", "active"),
    "conversation_start": ("created", "active"),
    "round_start": ("created", "active"),
    "pause": ("created", "active"),
    "stop": ("created", "active", "paused"),
    "resume": ("created", "active", "paused", "error"),
    "to paused": ("created", "active"),
    "to completed": ("created", "active", "paused"),
    "to created": (),
    "to active": (),
    "to error": (),
}
"""States in which each step is allowed; a step without an entry is allowed in any state."""

_RUN_EVENTS: Final = frozenset({"debate_start", "control", "exit", "debate_complete", "error"})
"""Events about the run of a session, not about its content."""


def follow(session_id: str, progress: Progress, events: Iterable[DurableEvent]) -> Progress:
    """Return the progress after these events.

    Raises:
        SessionConflict: The state before one of the events does not allow that event.

    Example:
        >>> from roundtable.types import Control, utc_now
        >>> done = Progress("completed", 1, 1, 2)
        >>> follow("s1", done, [Control(session_id="s1", timestamp=utc_now(), action="pause")])
        Traceback (most recent call last):
        ...
        roundtable.core.errors.SessionConflict: session 's1' is completed; 'pause' cannot follow
    """
    for event in events:
        step = _step(event)
        if progress.status not in _ALLOWED_IN.get(step, (progress.status,)):
            msg = f"session {session_id!r} is {progress.status}; {step!r} cannot follow"
            raise SessionConflict(msg, details={"status": progress.status, "step": step})
        progress = advance(progress, (event,))
    return progress


def _step(event: DurableEvent) -> str:
    match event.type:
        case "control":
            return event.action
        case "debate_complete":
            return f"to {event.status}"
        case "conversation_complete":
            return "to completed"
        case (
            "conversation_start"
            | "initiator_tool_call"
            | "initiator_complete"
            | "debate_start"
            | "round_start"
            | "agent_tool_call"
            | "agent_tool_result"
            | "approval_decided"
            | "approval_requested"
            | "agent_complete"
            | "agent_error"
            | "consensus"
            | "context_requested"
            | "round_complete"
            | "exit"
            | "synthesis_complete"
            | "error"
        ):
            return event.type
        case _:
            assert_never(event.type)


def shared_past(fold: Fold, events: Sequence[DurableEvent], at_round: int) -> tuple[DurableEvent, ...]:
    """Return the content events up to the end of a round.

    Raises:
        SessionConflict: The round is not complete.
    """
    ends = [
        index for index, event in enumerate(events, 1) if event.type == "round_complete" and event.round <= at_round
    ]
    if at_round < 0 or len(ends) < at_round:
        complete = sum(debate_round.complete for debate_round in fold.rounds)
        rounds = "1 round is" if complete == 1 else f"{complete} rounds are"
        msg = f"session {fold.record.id!r} cannot be forked at round {at_round}: {rounds} complete"
        raise SessionConflict(msg, hint=f"Choose at_round from 0 to {complete}.")
    return tuple(event for event in events[: ends[-1] if ends else 0] if event.type not in _RUN_EVENTS)


class HeldRound(NamedTuple):
    """The last complete round of a debate."""

    number: int
    """Number of the round, from 1; 0 if no round is complete."""
    planned: int
    """Number of planned rounds when this round was run; the agents read this number in their prompts."""
    ended: bool
    """Whether the debate ended with this round, which then has the final vote; false if it was interrupted later."""


def last_held_round(record: SessionRecord, events: Sequence[DurableEvent]) -> HeldRound:
    """Return the facts that distinguish the last complete round of a debate from another round of the same number."""
    last = max((index for index, event in enumerate(events) if event.type == "round_complete"), default=-1)
    progress = Fold(record, events[: last + 1]).progress
    if last < 0:
        return HeldRound(0, progress.total_rounds, ended=False)
    number, planned = progress.current_round, progress.total_rounds
    later = [event for event in events[last + 1 :] if event.type in {"round_start", "exit", "debate_complete"}]
    # The end of a debate is stored with its last round, at the same time; the end by a pause or a stop comes later.
    ended = bool(later) and later[0].type == "exit" and later[0].timestamp == events[last].timestamp
    is_paused = len(later) > 1 and later[1].type == "debate_complete" and later[1].status == "paused"
    return HeldRound(number, planned, ended=number >= planned or (ended and not is_paused))


def rebase_past(session_id: str, past: Sequence[DurableEvent]) -> tuple[DurableEvent, ...]:
    """Return the past as events of another session, without numbers and hashes; the times do not change."""
    own = {"session_id": session_id, "seq": 0, "previous_hash": None}
    return tuple(
        event.model_copy(update={**own, "step": None} if event.type == "round_complete" else own) for event in past
    )
