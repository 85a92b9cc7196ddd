"""What every storage that keeps plain events and summaries does alike; pure, and for authors of storages too."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from roundtable._foreign import well_formed
from roundtable.record import Progress, follow, start_progress
from roundtable.storage.rules import TurnPlace, check_number, event_text, known_turn, turn_place
from roundtable.storage.text import has_notes, json_text, searchable
from roundtable.types import SessionSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.types import DurableEvent, SessionFilter, SessionRecord

__all__ = ["Numbered", "is_wanted", "moved_on", "numbered", "opened"]


class Numbered(NamedTuple):
    """An event that is to be stored."""

    event: DurableEvent
    """The event as it was given."""
    text: str
    """The event as JSON under its number."""
    place: TurnPlace | None
    """The turn it reports, if any; of each turn one event is kept."""


def opened(record: SessionRecord) -> SessionSummary:
    """Give the summary of a session without events."""
    return SessionSummary(
        id=record.id,
        topic=record.config.topic,
        mode=record.config.mode,
        agent_ids=tuple(agent.id for agent in record.agents),
        created_at=record.created_at,
        updated_at=record.created_at,
        metadata=record.config.metadata,
        **start_progress(record)._asdict(),
    )


def moved_on(summary: SessionSummary, stored: Sequence[Numbered]) -> SessionSummary:
    """Give the summary after these events.

    Raises:
        SessionConflict: The state of the session does not allow one of them.
    """
    if not stored:
        return summary
    events = [one.event for one in stored]
    progress = Progress(summary.status, summary.current_round, summary.total_rounds, summary.response_count)
    facts = {"last_seq": summary.last_seq + len(stored), "updated_at": events[-1].timestamp}
    return summary.model_copy(update=facts | follow(summary.id, progress, events)._asdict())


def is_wanted(summary: SessionSummary, wanted: SessionFilter) -> bool:
    """Tell whether a session of the right tenant is to be listed."""
    return (
        (wanted.topic is None or searchable(wanted.topic) in searchable(summary.topic))
        and (wanted.mode is None or well_formed(wanted.mode) == summary.mode)
        and (wanted.status is None or wanted.status == summary.status)
        and (wanted.created_from is None or wanted.created_from <= summary.created_at)
        and (wanted.created_to is None or summary.created_at <= wanted.created_to)
        and (wanted.updated_before is None or summary.updated_at < wanted.updated_before)
        and (wanted.place is None or (summary.created_at, summary.id) < wanted.place)
        and (not wanted.metadata or has_notes(json_text(dict(summary.metadata)), json_text(dict(wanted.metadata))))
    )


def numbered(events: Sequence[DurableEvent], last: int, stored: Callable[[TurnPlace], str | None]) -> list[Numbered]:
    """Number the events that are new, from the last one on; turns that are stored already are left out.

    Args:
        events: What is to be stored.
        last: Number of the last stored event.
        stored: Gives the stored event of a turn, as JSON.

    Raises:
        SessionConflict: A turn is stored with another answer.
        StaleSequence: An event has a number already, and it is another.
    """
    fresh: list[Numbered] = []
    turns: dict[TurnPlace, str] = {}
    for event in events:
        seq = last + len(fresh) + 1
        text, place = event_text(event, seq), turn_place(event)
        if place is not None:
            known = turns.get(place) or stored(place)
            if known is not None:
                known_turn(place, known, text)
                continue
            turns[place] = text
        if event.seq:
            check_number(event.session_id, event.seq - 1, seq - 1)
        fresh.append(Numbered(event, text, place))
    return fresh
