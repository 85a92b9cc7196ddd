"""A mode with all stages that the configuration of a debate adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.capabilities import Facilitated
from roundtable.modes.vote import with_vote
from roundtable.modes.wrappers import with_baseline, with_judge, with_moderator

if TYPE_CHECKING:
    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.debate import DebateConfig
    from roundtable.scoring import Rule

__all__ = ["prepare_mode"]


def prepare_mode(
    mode: DebateModeStrategy, config: DebateConfig, rules: Registry[Rule] | None = None
) -> DebateModeStrategy:
    """Return a mode with the additional stages of a debate: facilitator, private round, judges, vote, moderator.

    Args:
        mode: The mode.
        config: Configuration of the debate.
        rules: Registry to look up the decision rule, which determines the question of a vote; `None` for the built-in
            rules.
    """
    facilitator, judges = config.seats.get("facilitator", ()), config.seats.get("judge", ())
    if facilitator and isinstance(mode, Facilitated):
        mode = mode.with_facilitator(facilitator[0])
    if config.baseline:
        mode = with_baseline(mode)
    if config.vote:
        mode = with_vote(mode, config.decide, every=config.vote == "every", rules=rules)
    if judges:
        mode = with_judge(mode, judges)
    moderators = config.seats.get("moderator", ())
    return with_moderator(mode, moderators[0]) if moderators else mode
