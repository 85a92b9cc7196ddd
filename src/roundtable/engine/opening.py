"""What a session and its rounds begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.modes.team import TeamMode, goal_of
from roundtable.types import ConversationStart, DebateStart, RoundStart

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.modes import ModeRegistry
    from roundtable.protocols import DebateModeStrategy
    from roundtable.record import Fold
    from roundtable.types import DebateConfig

__all__ = ["mode_of", "round_event", "start_event"]


def mode_of(config: DebateConfig, known: ModeRegistry) -> DebateModeStrategy:
    """Give the mode of a session; that of a team needs more than a name, so it is in no registry.

    Raises:
        ConfigurationError: The mode is unknown.
    """
    return TeamMode() if config.team is not None else known.get_mode(config.mode)


def start_event(fold: Fold, now: datetime) -> DebateStart | ConversationStart:
    """Give the event that a session begins with."""
    session_id, config = fold.record.id, fold.record.config
    if config.team is not None:
        return ConversationStart(session_id=session_id, timestamp=now, agents=config.agents, rounds=config.rounds)
    return DebateStart(
        session_id=session_id,
        timestamp=now,
        topic=config.topic,
        mode=config.mode,
        agents=config.agents,
        rounds=config.rounds,
    )


def round_event(fold: Fold, number: int, now: datetime) -> RoundStart:
    """Give the event that a round begins with; it tells a team its goal."""
    config = fold.record.config
    return RoundStart(
        session_id=fold.record.id,
        timestamp=now,
        round=number,
        agents=config.agents,
        focus_question=fold.next_focus,
        context_results=fold.next_context,
        goal=None if config.team is None else goal_of(fold.view()).goal,
    )
