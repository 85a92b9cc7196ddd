"""Stop criteria found again from their JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.exits.agreement import AllConfident, ConsensusReached
from roundtable.exits.base import AllOf, AnyOf, Exit, Load
from roundtable.exits.limits import MaxRounds, MinRounds
from roundtable.exits.movement import Converged, LeaderUnassailable, NoProgress, Stable
from roundtable.exits.outside import BudgetSpent, StopRequested
from roundtable.protocols import ExitCriterion
from roundtable.types import JsonObject, JsonValue

__all__ = ["BUILTIN_EXITS", "ExitFactory", "exit_from_spec", "exit_registry"]

ExitFactory: TypeAlias = Callable[[Mapping[str, JsonValue], Load], ExitCriterion]
"""Builds a criterion from its JSON; `load` builds its members. `YourExit.from_spec` is one."""

BUILTIN_EXITS: tuple[type[Exit], ...] = (
    AnyOf,
    AllOf,
    MaxRounds,
    MinRounds,
    ConsensusReached,
    Converged,
    AllConfident,
    Stable,
    LeaderUnassailable,
    BudgetSpent,
    NoProgress,
    StopRequested,
)
"""Every criterion that comes with the library."""


def exit_registry() -> Registry[ExitFactory]:
    """Give a new registry with the built-in criteria by kind, to which others can be added.

    Example:
        >>> "max_rounds" in exit_registry()
        True
    """
    exits = Registry[ExitFactory]("exit")
    for found in BUILTIN_EXITS:
        exits.add(found.kind, found.from_spec, summary=(found.__doc__ or "").partition("\n")[0])
    return exits


_BUILT_IN = exit_registry()


def exit_from_spec(spec: Mapping[str, JsonValue], exits: Registry[ExitFactory] | None = None) -> ExitCriterion:
    """Build a criterion from its JSON, the inverse of `to_spec`.

    Args:
        spec: The JSON object; field names in camelCase or snake_case.
        exits: Where kinds are looked up; `None` knows the built-in ones.

    Raises:
        ConfigurationError: The kind is unknown, or its fields do not fit.

    Example:
        >>> exit_from_spec({"kind": "max_rounds", "rounds": 3})
        MaxRounds(rounds=3)
    """
    known = _BUILT_IN if exits is None else exits

    def load(member: JsonObject) -> ExitCriterion:
        return exit_from_spec(member, known)

    kind = spec.get("kind")
    if not isinstance(kind, str):
        raise ConfigurationError(f"an exit needs the name of its kind, not {kind!r}; known: {', '.join(known.names())}")
    return known.get(kind)(spec, load)
