"""What the mode and the decision rule of a debate declare for its reports and recounts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from roundtable.core.base.text import error_text
from roundtable.core.errors import RoundtableError
from roundtable.core.mode.base import vote_options_of
from roundtable.logs import ROOT
from roundtable.scoring import ScoreMeaning, find_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.consensus import Decision
    from roundtable.core.types.debate import DebateConfig
    from roundtable.modes import ModeRegistry  # late: it imports every mode
    from roundtable.scoring import Rule

__all__ = ["Declarations", "declarations_of", "score_meaning_of"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.results")


class Declarations(NamedTuple):
    """What a mode and a rule declare about one debate, as plain data: a result needs neither of them any more."""

    score: ScoreMeaning = ScoreMeaning()
    """What the score of an option is."""
    vote_options: tuple[str, ...] = ()
    """Options of the mode's own vote in a debate without options."""
    aliases: Mapping[str, str] = {}
    """Ids of agents by the alias that the agents use for an answer, such as `Answer 2`."""


def declarations_of(
    config: DebateConfig,
    agents: Sequence[str],
    decision: Decision | None,
    *,
    mode: DebateModeStrategy | None = None,
    rules: Registry[Rule] | None = None,
) -> Declarations:
    """Return what the mode and the rule of a debate declare; for a mode or a rule that is not known, the defaults.

    Args:
        config: Configuration of the debate.
        agents: Ids of the debaters, in the order of their seats.
        decision: Decision of the last complete round, if there is one.
        mode: The mode; the built-in mode of that name if omitted.
        rules: Registry in which the rule is looked up; the built-in rules if omitted.
    """
    mode = mode or _builtin_modes().find_mode(config.mode)
    return Declarations(
        score_meaning_of(decision, config.decide, rules),
        () if mode is None else vote_options_of(mode),
        {} if mode is None else _aliases(mode, config, agents),
    )


def score_meaning_of(decision: Decision | None, decide: str, rules: Registry[Rule] | None = None) -> ScoreMeaning:
    """Return what the scores of a decision are.

    Args:
        decision: The decision; the default if there is none, or another rule than `decide` made it that is not known.
        decide: Name of the rule, with parameters.
        rules: Registry in which the rule is looked up; the built-in rules if omitted.
    """
    for name in () if decision is None else (decide, decision.rule):
        try:
            rule, _ = find_rule(name, rules)
        except RoundtableError:  # it is not installed, or its plugin cannot be loaded
            continue
        if decision is not None and decision.rule in {rule.name, name}:
            return rule.score_meaning
    return ScoreMeaning()


def _aliases(mode: DebateModeStrategy, config: DebateConfig, agents: Sequence[str]) -> dict[str, str]:
    read: Callable[[DebateConfig, Sequence[str]], Mapping[str, str]] | None = getattr(mode, "report_aliases", None)
    if read is None:
        return {}
    try:
        return {alias: agent for alias, agent in read(config, agents).items() if alias and agent in agents}
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a mode may be foreign code; the report can do without)
        logger.warning("report_aliases of the mode %r failed: %s", config.mode, error_text(error))
        return {}


@cache
def _builtin_modes() -> ModeRegistry:
    from roundtable.modes import ModeRegistry  # late: it imports every mode

    return ModeRegistry()
