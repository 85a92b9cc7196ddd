"""What a caller asks for in one debate, and what is stored of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from roundtable.api.checks import (
    check_budget,
    check_deadline,
    check_flag,
    check_list,
    check_mapping,
    check_mode_given,
    check_options,
    check_rounds,
)
from roundtable.errors import ConfigurationError
from roundtable.types import DebateConfig, Perspective
from roundtable.types.base import first_misfit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.options import Perspectives
    from roundtable.api.seats import AgentLike, Seated
    from roundtable.api.wiring import Wiring
    from roundtable.exits import Exit
    from roundtable.modes import ModeRegistry
    from roundtable.protocols import Agent, DebateModeStrategy
    from roundtable.scoring import Rule
    from roundtable.types import Budget, JsonValue

__all__ = ["Ask", "Asked", "checked", "config_of", "facilitated", "unusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a caller asks for in one debate."""

    topic: str
    mode: str | DebateModeStrategy = "collaborative"
    rounds: int = 3
    options: Sequence[str] | None = None
    decide: str | Rule = "plurality"
    exit_when: Exit | None = None
    exit_on_consensus: bool | None = None
    focus_question: str | None = None
    perspectives: Perspectives = None
    agents: Sequence[AgentLike] | None = None
    budget: Budget | None = None
    baseline: bool = False
    synthesize: bool = False
    skip_rounds_when: float | None = None
    deadline_s: float | None = None
    metadata: Mapping[str, JsonValue] | None = None


class Asked(NamedTuple):
    """What a caller asks for, checked."""

    ask: Ask
    seats: tuple[Seated, ...]
    config: DebateConfig
    mode: DebateModeStrategy | None
    """The mode itself, where the caller brought it."""
    beside: Mapping[str, Agent]
    """Who sits beside the table, by id."""


def checked(ask: Ask, most_rounds: int) -> Ask:
    """Refuse what is of the wrong kind or out of range.

    Raises:
        ConfigurationError: Something is.
    """
    check_rounds(ask.rounds, most_rounds)
    check_budget(ask.budget)
    check_deadline(ask.deadline_s)
    check_options(ask.options)
    check_mapping("metadata", ask.metadata)
    for flag in ("exit_on_consensus", "baseline", "synthesize"):
        check_flag(flag, getattr(ask, flag))
    check_mode_given(ask.mode)
    return ask


def facilitated(ask: Ask, known: ModeRegistry) -> Ask:
    """Turn `perspectives="auto"` into the option of the mode that has them written."""
    if ask.perspectives is None:
        return ask
    if ask.perspectives != "auto":
        check_list("perspectives", ask.perspectives, "a list, or 'auto'")
        return ask
    if not isinstance(ask.mode, str):
        msg = "perspectives='auto' goes with a mode given by name"
        raise ConfigurationError(msg, hint="Make the mode with facilitated=True instead.")
    if "facilitated" not in getattr(known.get_mode(ask.mode), "options", {}):
        msg = f"perspectives='auto' does not go with the mode {ask.mode!r}"
        raise ConfigurationError(msg, hint="Use the mode 'expert-panel', or leave perspectives out.")
    written = f"{ask.mode}{',' if ':' in ask.mode else ':'}facilitated=true"
    return replace(ask, mode=written, perspectives=None)


def config_of(ask: Ask, names: tuple[str, str], agents: Sequence[str], wiring: Wiring) -> DebateConfig:
    """Give what is stored of it.

    Args:
        ask: What a caller asks for.
        names: Names of mode and rule.
        agents: Ids of who takes part, in speaking order.
        wiring: What belongs to the table.

    Raises:
        ConfigurationError: A value is out of range.
    """
    mode, rule = names
    try:
        return DebateConfig(
            topic=ask.topic,
            mode=mode,
            agents=tuple(agents),
            rounds=ask.rounds,
            focus_question=ask.focus_question,
            perspectives=tuple(
                Perspective(name=one) if isinstance(one, str) else one for one in ask.perspectives or ()
            ),
            options=None if ask.options is None else tuple(ask.options),
            decide=rule,
            exit=None if ask.exit_when is None else wiring.exit_spec(ask.exit_when),
            exit_on_consensus=ask.exit_on_consensus,
            budget=ask.budget,
            quorum=wiring.options.quorum,
            baseline=ask.baseline,
            synthesize=ask.synthesize,
            skip_rounds_when=ask.skip_rounds_when,
            seed=wiring.options.seed,
            metadata=dict(ask.metadata or {}),
        )
    except ValidationError as error:
        raise unusable(error) from None


def unusable(error: ValidationError) -> ConfigurationError:
    """Say in the caller's words what does not fit."""
    where, why = first_misfit(error)
    where = where or "the debate"
    hint = "Give a question of 1 to 10,000 characters." if where == "topic" else f"Mend {where!r} and try again."
    return ConfigurationError(f"{where}: {why}", cause=error, hint=hint)
