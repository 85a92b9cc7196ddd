"""Rules and their outcomes, before the quorum and the tie rule apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import JsonValue
from roundtable.scoring.electorate import Electorate, Roll
from roundtable.scoring.numbers import Figure, Number, exact, share, whole

__all__ = [
    "NO_SCORES",
    "POINTS",
    "VOTES",
    "BallotForm",
    "Judges",
    "Outcome",
    "ParameterValue",
    "Parameters",
    "Rule",
    "ScoreMeaning",
]

BallotForm: TypeAlias = Literal["choice", "ranking", "approval", "scores"]
"""What a rule asks a voter for: one option, a ranking, the options that the voter approves of, or a number for each
option."""

ParameterValue: TypeAlias = Number | None
"""Type of a rule's parameter."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a rule's count; options are named by their keys."""

    roll: Roll
    """Who voted and for what."""
    scores: Mapping[str, Figure]
    """Score of each option, in the rule's own unit."""
    leaders: tuple[str, ...]
    """The leading options: one, or all that are tied, or none if the rule finds no leader."""
    why: str
    """The rule's part of the sentence `Decision.why`."""
    passes: bool = True
    """Whether a sole leader reaches the threshold of the rule."""
    pairwise: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)
    """Weight of the ballots that put the option of the row above the option of the column."""
    rounds: tuple[Mapping[str, Figure], ...] = ()
    """The tally of each count of a rule that counts several times."""


class Parameters:
    """The parameters of one call of a rule: its defaults, overridden by the caller's values.

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
        """Return the parameters as JSON values; exact numbers become text."""
        return {
            name: value if value is None or isinstance(value, int | float | str) else str(value)
            for name, value in self.values.items()
        }

    def _label(self, name: str) -> str:
        return f"{name} of the rule {self.rule!r}"

    def _value(self, name: str) -> ParameterValue:
        """Return the value of a parameter.

        Raises:
            ConfigurationError: The rule does not declare it.
        """
        if name not in self.values:
            raise ConfigurationError(
                f"the rule {self.rule!r} reads the parameter {name!r}, but does not declare it",
                hint=f"Declare it with its default: Rule(..., parameters={{{name!r}: 0}}).",
            )
        return self.values[name]

    def share(self, name: str) -> Fraction:
        """Return a parameter that is a share in [0, 1].

        Raises:
            ConfigurationError: It is not a number in [0, 1].
        """
        return share(self._value(name), self._label(name))

    def number(self, name: str) -> Fraction:
        """Return a parameter that is a number.

        Raises:
            ConfigurationError: It is not a finite number.
        """
        return exact(self._value(name), self._label(name))

    def whole(self, name: str, least: int = 0) -> int:
        """Return a parameter that is a whole number.

        Raises:
            ConfigurationError: It is not a whole number, or it is below `least`.
        """
        return whole(self._value(name), self._label(name), least)

    def one_of(self, name: str, *known: str) -> str:
        """Return a parameter that is one of several words.

        Raises:
            ConfigurationError: It is not one of them.
        """
        value = self._value(name)
        if not isinstance(value, str) or value not in known:
            choices = " or ".join(f"{name}={word!r}" for word in known)
            raise ConfigurationError(f"the rule {self.rule!r} takes {choices}, not {value!r}")
        return value

    def optional(self, name: str) -> Fraction | None:
        """Return a parameter that is a number, or `None` if it is not set.

        Raises:
            ConfigurationError: It is neither a finite number nor `None`.
        """
        return None if self._value(name) is None else self.number(name)


@dataclass(frozen=True, slots=True)
class Judges:
    """The judges that a rule needs in a debate: models that don't debate, and vote for an answer after each round.

    The rule then counts their votes, not the debaters' answers. Each vote is a `Choice`; a judge that fails casts none.
    Nothing is decided unless more than half of the judges vote.

    Example:
        >>> Judges(least=3).most is None
        True
    """

    least: int = 1
    """Minimum number of judges, at least 1."""
    most: int | None = None
    """Maximum number of judges; `None` allows any number from `least` on."""
    counted_by: str | None = None
    """Name of the built-in rule that counts the judges' votes; `None` if the rule counts them itself. A rule that is
    counted by another one needs judges only if a debate names it exactly as it is registered: under an alias or with
    parameters, it counts the debaters' answers itself."""

    def __post_init__(self) -> None:
        counts = (self.least, *(() if self.most is None else (self.most,)))
        if not all(type(count) is int for count in counts) or self.least < 1 or counts[-1] < self.least:
            msg = f"Judges(least={self.least!r}, most={self.most!r}) allows no number of judges"
            raise ConfigurationError(
                msg, hint="Set least to 1 or more, and most to None or a whole number from least on."
            )

    def allows(self, number: int) -> bool:
        """Check whether a debate may have this number of judges."""
        return number >= self.least and (self.most is None or number <= self.most)


@dataclass(frozen=True, slots=True)
class ScoreMeaning:
    """What the score of an option is under a rule, for reports.

    Example:
        >>> points = ScoreMeaning("its points", share_of="scores")
        >>> points.share(2, {"tea": 2, "milk": 6}, cast=4)
        0.25
    """

    words: str = "its score by this rule"
    """The score in a few words; the option is "it", as in `"its votes"`. If empty, the rule has no score for a single
    option: reports show comparisons of two options instead of scores."""
    share_of: Literal["scores", "ballots", "one"] | None = None
    """What a score is a share of, so that reports can draw it as a bar: the sum of all `"scores"`, the number of
    `"ballots"` that counted, or `"one"`, if the score is such a share itself. `None` if scores are no shares."""

    def share(self, score: float, scores: Mapping[str, float], *, cast: int) -> float | None:
        """Return the share in [0, 1] that a score is; `None` if scores are no shares, or the whole is 0.

        Args:
            score: The score.
            scores: The scores of all options.
            cast: Number of ballots that counted.
        """
        if self.share_of is None:
            return None
        totals = {"scores": sum(max(each, 0.0) for each in scores.values()), "ballots": float(cast), "one": 1.0}
        total = totals[self.share_of]
        return min(max(score, 0.0) / total, 1.0) if total else None


VOTES: Final = ScoreMeaning("its votes", share_of="scores")
"""Meaning of scores that are numbers of votes."""
POINTS: Final = ScoreMeaning("its points", share_of="scores")
"""Meaning of scores that are numbers of points."""
NO_SCORES: Final = ScoreMeaning("")
"""Meaning for rules that compare pairs of options and have no score for a single one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision rule: a name and a pure function from votes to an outcome.

    Example:
        >>> from roundtable.scoring import Outcome, Rule, decide
        >>> from roundtable.scoring.ballot_forms import first_places
        >>> def one_view(ballots, parameters):
        ...     profile = ballots.read(first_places)
        ...     named = {option for vote in profile.votes for option in vote.form}
        ...     return Outcome(profile.roll, {}, tuple(named) if len(named) == 1 else (), "one view or none")
        >>> decide(["a", "a"], rule=Rule("one-view", one_view), options=["a", "b"]).winner
        'a'
    """

    name: str
    """Name of the rule, words joined by hyphens."""
    count: Callable[[Electorate, Parameters], Outcome]
    """Function that counts the ballots and finds the leaders."""
    summary: str = ""
    """What it does, in one line."""
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Names of its parameters, with their defaults."""
    aliases: tuple[str, ...] = ()
    """Other names of the rule."""
    form: BallotForm = "choice"
    """The form of ballot that agents are asked for under this rule; ballots in other forms may also count."""
    most_options: int | None = None
    """Maximum number of options, at least 1; with more, the rule decides nothing and says so. `None` if there is no
    limit. An audit doesn't try a rule on more options."""
    judges: Judges | None = None
    """The judges whose votes the rule counts in a debate; `None` if it counts what the debaters say. Judges vote for
    one option, so `form` must be `"choice"`."""
    score_meaning: ScoreMeaning = ScoreMeaning()
    """What the score of an option is; reports show these words beside the scores."""

    def __post_init__(self) -> None:
        if not isinstance(self.score_meaning, ScoreMeaning):
            msg = f"the rule {self.name!r} has score_meaning={self.score_meaning!r}, which is not a ScoreMeaning"
            raise ConfigurationError(msg, hint="Write ScoreMeaning('its votes', share_of='scores'), for example.")
        if self.judges is not None and self.form != "choice":
            msg = f"the rule {self.name!r} needs judges, who vote for one option, but has form={self.form!r}"
            raise ConfigurationError(msg, hint="Leave form out, or leave judges out.")
