"""What a rule makes of the votes, before quorum and the tie rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from roundtable.errors import ConfigurationError
from roundtable.scoring.electorate import Electorate, Roll
from roundtable.scoring.measure import Figure
from roundtable.scoring.precise import Number, exact, share, whole
from roundtable.types import JsonValue

__all__ = ["Outcome", "ParameterValue", "Parameters", "Rule"]

ParameterValue: TypeAlias = Number | None
"""What a parameter of a rule can be."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule makes of the votes; all names are keys of options."""

    roll: Roll
    """Who voted and what for."""
    scores: Mapping[str, Figure]
    """What each option got, in the rule's own unit."""
    leaders: tuple[str, ...]
    """The options that lead, all of them on a tie; none when the rule finds no leader."""
    why: str
    """The outcome in words."""
    passes: bool = True
    """Whether a leader that stands alone has what the rule asks for."""
    pairwise: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)
    """How much weight puts the row above the column."""
    rounds: tuple[Mapping[str, Figure], ...] = ()
    """The tally of each count."""


class Parameters:
    """The parameters of one call of a rule: its defaults, overridden by what the caller gave.

    Example:
        >>> Parameters("supermajority", {"q": "2/3"}, {"q": 0.75}).share("q")
        Fraction(3, 4)
    """

    def __init__(self, rule: str, defaults: Mapping[str, ParameterValue], given: Mapping[str, ParameterValue]) -> None:
        unknown = [name for name in given if name not in defaults]
        if unknown:
            known = ", ".join(defaults) or "none"
            raise ConfigurationError(f"the rule {rule!r} has no parameter {unknown[0]!r}; it has: {known}")
        self.rule = rule
        self.values: dict[str, ParameterValue] = {**defaults, **given}

    def to_json(self) -> dict[str, JsonValue]:
        """Give the parameters as JSON values; exact numbers as text."""
        return {
            name: value if value is None or isinstance(value, int | float | str) else str(value)
            for name, value in self.values.items()
        }

    def _what(self, name: str) -> str:
        return f"{name} of the rule {self.rule!r}"

    def share(self, name: str) -> Fraction:
        """Give a share in [0, 1].

        Raises:
            ConfigurationError: It is none.
        """
        return share(self.values[name], self._what(name))

    def number(self, name: str) -> Fraction:
        """Give a number.

        Raises:
            ConfigurationError: It is none.
        """
        return exact(self.values[name], self._what(name))

    def whole(self, name: str, least: int = 0) -> int:
        """Give a whole number.

        Raises:
            ConfigurationError: It is none, or below `least`.
        """
        return whole(self.values[name], self._what(name), least)

    def one_of(self, name: str, *known: str) -> str:
        """Give one of several words.

        Raises:
            ConfigurationError: It is none of them.
        """
        found = self.values[name]
        if not isinstance(found, str) or found not in known:
            raise ConfigurationError(f"{self._what(name)} must be one of {', '.join(known)}, not {found!r}")
        return found

    def optional(self, name: str) -> Fraction | None:
        """Give a number, or `None` where none is set.

        Raises:
            ConfigurationError: It is something else.
        """
        return None if self.values[name] is None else self.number(name)


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision rule: a name and a pure function from votes to an outcome.

    Example:
        >>> from roundtable.scoring import Outcome, Rule, decide
        >>> from roundtable.scoring.readings import first_places
        >>> def one_view(ballots, parameters):
        ...     profile = ballots.read(first_places)
        ...     named = {option for vote in profile.votes for option in vote.form}
        ...     return Outcome(profile.roll, {}, tuple(named) if len(named) == 1 else (), "one view or none")
        >>> decide(["a", "a"], rule=Rule("one-view", one_view), options=["a", "b"]).winner
        'a'
    """

    name: str
    """Name it is asked for by, words joined by hyphens."""
    count: Callable[[Electorate, Parameters], Outcome]
    """Reads the ballots and says who leads."""
    summary: str = ""
    """What it does, in a line."""
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Its parameters with their defaults."""
    aliases: tuple[str, ...] = ()
    """Other names it is known by."""
