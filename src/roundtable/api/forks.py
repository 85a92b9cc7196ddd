"""What a forked debate takes over from the one it was forked from, and what its caller changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from roundtable.errors import ConfigurationError
from roundtable.types import Control, DebateStart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from roundtable.api.options import DebateOptions
    from roundtable.protocols import Agent, DebateModeStrategy
    from roundtable.record import Fold
    from roundtable.types import ContextResult, DebateConfig, DurableEvent

__all__ = ["first_events", "inherited", "kept"]


def inherited(
    fold: Fold, at_round: int, agents: Sequence[Agent], mode: DebateModeStrategy | None, changes: DebateOptions
) -> DebateOptions:
    """Give what to ask for: as it was in the other debate, but for the changes.

    Raises:
        ConfigurationError: No round is left to hold.
    """
    config = fold.record.config
    planned = changes.get("rounds", fold.progress.total_rounds)
    if isinstance(planned, int) and planned <= at_round:
        msg = f"a fork at round {at_round} with rounds={planned} has no round left to hold"
        raise ConfigurationError(msg, hint=f"Fork at an earlier round, or give rounds={at_round + 1} or more.")
    focus = fold.rounds[at_round - 1].focus_question if at_round else config.focus_question
    before = {
        "mode": mode or config.mode,
        "rounds": planned,
        "options": config.options,
        "decide": config.decide,
        "focus_question": focus,
        "perspectives": config.perspectives or None,
        "agents": agents,
        "budget": config.budget,
        "baseline": config.baseline,
        "synthesize": config.synthesize,
        "skip_rounds_when": config.skip_rounds_when,
        "metadata": config.metadata,
    }
    return cast("DebateOptions", before | {**changes})


def kept(config: DebateConfig, before: DebateConfig, changes: DebateOptions) -> DebateConfig:
    """Give the configuration with what no caller can say, or did not."""
    taken: dict[str, object] = {"quorum": before.quorum, "seed": before.seed}
    if not {"exit_when", "exit_on_consensus"} & set(changes):
        taken |= {"exit": before.exit, "exit_on_consensus": before.exit_on_consensus}
    return config.model_copy(update=taken)


def first_events(
    fold: Fold,
    past: Sequence[DurableEvent],
    config: DebateConfig,
    context_results: Sequence[ContextResult],
    now: datetime,
) -> tuple[DurableEvent, ...]:
    """Give the events a fork begins with; none where nothing is shared."""
    session_id = fold.record.id
    more = Control(
        session_id=session_id,
        timestamp=now,
        action="extend",
        total_rounds=config.rounds,
        context_results=tuple(context_results),
    )
    events = (*past, more) if context_results else tuple(past)
    if not events:
        return ()
    start = DebateStart(
        session_id=session_id,
        timestamp=now,
        topic=config.topic,
        mode=config.mode,
        agents=config.agents,
        rounds=config.rounds,
    )
    return (start, *events)
