"""Ballots: the votes of voters, as plain values or typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from roundtable.core.errors import ConfigurationError
from roundtable.scoring.numbers import Number, exact

__all__ = [
    "Abstention",
    "Approval",
    "Ballot",
    "Choice",
    "Distribution",
    "Points",
    "Prediction",
    "Ranking",
    "Scores",
    "Tied",
    "Trajectory",
    "Verdict",
]


def _reject_text(options: object, kind: str) -> None:
    if isinstance(options, str):
        hint = f"Write {kind}([{options!r}])."
        raise ConfigurationError(f"{kind} takes options, not the text {options!r}", hint=hint)


Tied: TypeAlias = str | Sequence[str] | AbstractSet[str]
"""One option, or several tied options."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A vote for one option.

    Example:
        >>> Choice("yes", confidence=0.8).option
        'yes'
    """

    option: str | None
    """The option; `None` abstains."""
    confidence: Number | None = None
    """Reported confidence in [0, 1]; only the confidence-weighted rules and the soft vote use it."""
    accuracy: Number | None = None
    """The voter's known share of right answers, strictly between 0 and 1; only `log-odds` uses it."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Options from best to worst. Options in the same group are tied; options left out are unranked.

    Example:
        >>> Ranking.from_ranks({"b": 2, "a": 1, "c": 4, "d": 2}).groups
        (('a',), ('b', 'd'), ('c',))
    """

    groups: Sequence[Tied]
    """Options or groups of tied options, best first; an empty group is ignored."""

    def __post_init__(self) -> None:
        """Check that the value is not text.

        Raises:
            ConfigurationError: It is text, not a sequence of options.
        """
        _reject_text(self.groups, "Ranking")

    @classmethod
    def from_ranks(cls, ranks: Mapping[str, Number]) -> Ranking:
        """Build a ranking from rank numbers, lowest best; equal numbers tie, and gaps between numbers have no meaning.

        Raises:
            ConfigurationError: A rank is not a number.
        """
        options_at: dict[Fraction, list[str]] = {}
        for option, rank in ranks.items():
            options_at.setdefault(exact(rank, f"the rank of {option!r}"), []).append(option)
        return cls(tuple(tuple(options_at[rank]) for rank in sorted(options_at)))


@dataclass(frozen=True, slots=True)
class Approval:
    """Every option that the voter approves of; an empty set approves of none and still counts as a vote."""

    options: AbstractSet[str] | Sequence[str]
    """The options approved."""

    def __post_init__(self) -> None:
        """Check that the value is not text.

        Raises:
            ConfigurationError: It is text, not a collection of options.
        """
        _reject_text(self.options, "Approval")


@dataclass(frozen=True, slots=True)
class Scores:
    """A grade for each option that the voter grades; higher is better."""

    scores: Mapping[str, Number]
    """Option to grade."""


@dataclass(frozen=True, slots=True)
class Points:
    """A fixed number of points, distributed over options."""

    points: Mapping[str, Number]
    """Option to points; no points are below 0."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The probability that the voter gives each option."""

    probabilities: Mapping[str, Number]
    """Option to probability; options left out have the probability 0."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A vote, and the share of votes that the voter expects for each option."""

    option: str
    """The option voted for."""
    predicted: Mapping[str, Number]
    """Option to expected share of votes, which is 0 for options left out."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One voter's answers in all rounds."""

    options: Sequence[str | None]
    """The answer of each round, starting with the first; `None` for a round without an answer."""

    def __post_init__(self) -> None:
        """Check that the value is not text.

        Raises:
            ConfigurationError: It is text, not a sequence of answers.
        """
        _reject_text(self.options, "Trajectory")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A stored answer of a judge.

    Example:
        >>> Verdict("a", swapped="b").swapped
        'b'
    """

    option: str | None
    """Option the judge chose; `None` abstains."""
    swapped: str | None = None
    """Option that the same judge chose when the options were shown in reverse order; `None` if the judge was not
    asked."""
    own: Sequence[str] | AbstractSet[str] = ()
    """Options written by a model of the same family as the judge."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """A deliberate abstention; the same as a plain `None`."""


Ballot: TypeAlias = (
    str
    | Sequence[Tied]
    | AbstractSet[str]
    | Mapping[str, Number]
    | Choice
    | Ranking
    | Approval
    | Scores
    | Points
    | Distribution
    | Prediction
    | Trajectory
    | Verdict
    | Abstention
    | None
)
"""A plain ballot (text, list, set, dict, `None`) or a typed one."""
