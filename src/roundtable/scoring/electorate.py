"""The ballots of one decision: spellings become options, nothing is dropped unnamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from roundtable.errors import ConfigurationError
from roundtable.scoring.ballots import Ballot
from roundtable.scoring.grouping import Group, Grouped, Weight
from roundtable.scoring.precise import Number
from roundtable.scoring.spelling import Normalise, normaliser
from roundtable.scoring.words import is_list, quoted

__all__ = ["Electorate", "InvalidBallot", "KeyOf", "Profile", "Reading", "Roll", "Vote"]

F = TypeVar("F")

KeyOf: TypeAlias = Callable[[object], str]
"""Gives the key of the option that a spelling stands for; refuses what is no option."""

Reading: TypeAlias = Callable[[Ballot, KeyOf], F | None]
"""Reads a ballot in the form a rule needs: `None` abstains, `InvalidBallot` cannot count."""


class InvalidBallot(ValueError):
    """A ballot cannot count; the message says why. Raised by readings, recorded in the decision."""


@dataclass(frozen=True, slots=True)
class Vote(Generic[F]):
    """Equal ballots, in the form a rule reads."""

    weight: Weight
    """Their weight together; their number when all weigh alike."""
    ballots: int
    """How many there are."""
    form: F
    """What they say, in keys of options."""


@dataclass(frozen=True, slots=True)
class Roll:
    """Who voted and what for, whatever the rule."""

    options: tuple[str, ...]
    """Keys of the options: in the order declared, else sorted."""
    labels: Mapping[str, str]
    """Key to label: the spelling declared, else the most frequent one (of equally frequent ones the first sorted)."""
    appearance: tuple[str, ...]
    """Keys in the order declared, else in the order in which valid ballots first name them."""
    mapping: Mapping[str, str]
    """Spelling as cast to label."""
    abstained: tuple[int, ...]
    """Places of ballots that abstained."""
    invalid: Mapping[int, str]
    """Places of ballots that cannot count, and why."""
    cast: int
    """Number of ballots that count."""
    ballots: int
    """Number of ballots that have weight, whether they count or not."""
    weight: Weight
    """Weight of the ballots that count."""

    def names(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Give the labels of these options, in the order of `options`."""
        chosen = frozenset(keys)
        return tuple(self.labels[key] for key in self.options if key in chosen)


@dataclass(frozen=True, slots=True)
class Profile(Generic[F]):
    """The votes of an electorate as one rule reads them."""

    roll: Roll
    """Who voted and what for."""
    votes: tuple[Vote[F], ...]
    """The votes that count, in the order in which they first appear."""


@dataclass(slots=True)
class _Speller:
    """Turns spellings into keys and remembers those of valid ballots."""

    normalise: Callable[[str], str]
    declared: Mapping[str, str] | None
    keys: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    pending: list[str] = field(default_factory=list)

    def key(self, spelling: object) -> str:
        """Give the option a spelling stands for.

        Raises:
            InvalidBallot: It is no text, blank, or none of the options declared.
        """
        if not isinstance(spelling, str):
            raise InvalidBallot(f"{quoted(spelling)} is not the name of an option")
        if not spelling.strip():
            raise InvalidBallot("it names a blank option")
        key = self.keys.get(spelling)
        if key is None:
            key = self.keys[spelling] = _key_of(spelling, self.normalise)
        if self.declared is not None and key not in self.declared:
            raise InvalidBallot(f"{quoted(spelling)} is not one of the options")
        self.pending.append(spelling)
        return key

    def labels(self) -> Mapping[str, str]:
        """Give each option its label, in the order declared or of first appearance."""
        if self.declared is not None:
            return self.declared
        best: dict[str, tuple[int, str]] = {}
        for spelling, count in self.counts.items():
            key, rank = self.keys[spelling], (-count, spelling)
            best[key] = min(best.get(key, rank), rank)
        return {key: spelling for key, (_, spelling) in best.items()}


def _key_of(spelling: str, normalise: Callable[[str], object]) -> str:
    key = normalise(spelling)
    if not isinstance(key, str):
        raise ConfigurationError(f"the normalisation must give text, not {key!r}, for {quoted(spelling)}")
    return key


def _declared(options: Iterable[object], normalise: Callable[[str], str]) -> dict[str, str]:
    if not is_list(options):
        msg = f"options must be a list of names, not {quoted(options)}"
        raise ConfigurationError(msg, hint="Leave options out to take those that the ballots name.")
    declared: dict[str, str] = {}
    for option in options:
        if not isinstance(option, str) or not option.strip():
            raise ConfigurationError(f"an option must be a name, not {option!r}")
        taken = declared.setdefault(_key_of(option, normalise), option)
        if taken is not option:
            raise ConfigurationError(f"options {taken!r} and {option!r} count as one; rename one of them")
    return declared


class Electorate:
    """Ballots with their weights and options, ready to be read by a rule.

    Args:
        ballots: One per voter; places count from 0.
        weights: One number from 0 to 1e100 per ballot, no unit; a ballot of weight 0 is absent. `None`: all alike.
        options: The options there are; `None` takes those that valid ballots name.
        normalise: When two spellings name one option.

    Raises:
        ConfigurationError: Ballots, weights or options do not fit.

    Example:
        >>> from roundtable.scoring.readings import first_places
        >>> profile = Electorate(["Tea", "tea.", None, "coffee"]).read(first_places)
        >>> profile.roll.labels, profile.roll.abstained
        ({'tea': 'Tea', 'coffee': 'coffee'}, (2,))
    """

    def __init__(
        self,
        ballots: Iterable[Ballot],
        *,
        weights: Sequence[Number] | None = None,
        options: Iterable[str] | None = None,
        normalise: Normalise = "casefold",
    ) -> None:
        if not is_list(ballots):
            msg = f"ballots must be a list with one ballot per voter, not {quoted(ballots)}"
            raise ConfigurationError(msg, hint="An empty list is fine; None in it abstains.")
        self._normalise = normaliser(normalise)
        self._declared = None if options is None else _declared(options, self._normalise)
        self._grouped = Grouped(list(ballots), weights)

    def read(self, reading: Reading[F]) -> Profile[F]:
        """Read every ballot in the form a rule needs."""
        speller = _Speller(self._normalise, self._declared)
        votes: list[Vote[F]] = []
        abstained: dict[Hashable, str] = {}
        invalid: dict[Hashable, str] = {}
        for group in self._grouped.groups:
            speller.pending.clear()
            try:
                form = reading(group.ballot, speller.key)
            except InvalidBallot as error:
                invalid[group.key] = str(error)
                continue
            if form is None:
                abstained[group.key] = ""
                continue
            votes.append(Vote(group.weight, group.count, form))
            for spelling in speller.pending:
                speller.counts[spelling] += group.count
        return Profile(self._roll(speller, votes, abstained, invalid), tuple(votes))

    def _roll(
        self,
        speller: _Speller,
        votes: Sequence[Vote[F]],
        abstained: Mapping[Hashable, str],
        invalid: Mapping[Hashable, str],
    ) -> Roll:
        labels = speller.labels()
        groups: Sequence[Group] = self._grouped.groups
        return Roll(
            options=tuple(labels if self._declared is not None else sorted(labels)),
            labels=labels,
            appearance=tuple(labels),
            mapping={spelling: labels[speller.keys[spelling]] for spelling in sorted(speller.counts)},
            abstained=tuple(place for place, _ in self._grouped.places(abstained)),
            invalid=dict(self._grouped.places(invalid)),
            cast=sum(vote.ballots for vote in votes),
            ballots=sum(group.count for group in groups),
            weight=sum(vote.weight for vote in votes),
        )
