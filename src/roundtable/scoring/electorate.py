"""The ballots of one decision: spellings become options, and each invalid ballot is listed with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeAlias, TypeVar, cast

from roundtable.core.base.words import counted, is_list, quoted
from roundtable.core.errors import ConfigurationError
from roundtable.scoring.ballots import Abstention, Approval, Ballot, Choice, Ranking, Trajectory, Verdict
from roundtable.scoring.normalisation import Normalise, normaliser
from roundtable.scoring.numbers import LARGEST, Number, exact

__all__ = ["Electorate", "Group", "Grouped", "InvalidBallot", "KeyOf", "Profile", "Reading", "Roll", "Vote", "Weight"]


Weight: TypeAlias = int | Fraction

# Keys are compared by value: these markers distinguish sets and mappings from lists with the same items.
_SET, _MAP = object(), object()
_TYPED = (Abstention, Approval, Choice, Ranking, Trajectory, Verdict)


@dataclass(slots=True)
class Group:
    """Equal ballots."""

    key: Hashable
    """What makes them equal."""
    ballot: Ballot
    """One of them."""
    count: int
    """How many ballots of the group have weight."""
    weight: Weight
    """Their total weight."""


class Grouped:
    """Ballots grouped by value, in the order in which each value first appears.

    Args:
        ballots: The ballots; indices count from 0.
        weights: One non-negative number per ballot; `None` gives each ballot the weight 1.

    Raises:
        ConfigurationError: The weights are not one valid number per ballot.
    """

    def __init__(self, ballots: Sequence[Ballot], weights: Sequence[Number] | None) -> None:
        self._keys, plain = _keys(ballots)
        self._weightless: Container[int] = ()
        if weights is not None:
            self.groups: list[Group] = self._weigh(ballots, weights)
            return
        first = {} if plain else dict(zip(reversed(self._keys), reversed(ballots), strict=True))
        self.groups = [
            Group(key, cast("Ballot", key) if plain else first[key], count, count)
            for key, count in Counter(self._keys).items()
        ]

    def _weigh(self, ballots: Sequence[Ballot], weights: Sequence[Number]) -> list[Group]:
        if not is_list(weights):
            msg = f"weights must be a list with one number per ballot, not {quoted(weights)}"
            raise ConfigurationError(msg, hint="Leave weights out to count all ballots alike.")
        weights = list(weights)
        if len(weights) != len(ballots):
            raise ConfigurationError(
                f"weights must have one number per ballot: {counted(len(ballots), 'ballot')}, but {len(weights)}"
            )
        groups: dict[Hashable, Group] = {}
        weightless: set[int] = set()
        for index, number in enumerate(weights):
            weight = exact(number, f"weight {index}")
            if weight < 0:
                raise ConfigurationError(f"weight {index} must not be negative: {number!r}")
            if weight > LARGEST:
                raise ConfigurationError(f"weight {index} must be at most 1e100")
            if not weight:
                weightless.add(index)
                continue
            key = self._keys[index]
            group = groups.setdefault(key, Group(key, ballots[index], 0, 0))
            group.count += 1
            group.weight += weight
        self._weightless = weightless
        return list(groups.values())

    @property
    def size(self) -> int:
        """The number of ballots, including those without weight."""
        return len(self._keys)

    def places(self, reasons: Mapping[Hashable, str]) -> Iterator[tuple[int, str]]:
        """Yield the index of each ballot that has weight and whose key is in `reasons`, with the reason."""
        if not reasons:
            return
        for index, key in enumerate(self._keys):
            if key in reasons and index not in self._weightless:
                yield index, reasons[key]


def _keys(ballots: Sequence[Ballot]) -> tuple[Sequence[Hashable], bool]:
    """Return the key of each ballot, and whether the keys can be read as ballots themselves."""
    kinds = set(map(type, ballots))
    if kinds <= {str, type(None)}:
        return cast("Sequence[Hashable]", ballots), True
    if kinds == {list}:
        keys = [tuple(cast("list[Hashable]", ballot)) for ballot in ballots]
        if _is_hashable(keys):
            return keys, True
    return [_ballot_key(ballot) for ballot in ballots], False


def _is_hashable(keys: Sequence[Hashable]) -> bool:
    try:
        set(keys)
    except TypeError:
        return False
    return True


def _ballot_key(ballot: Ballot) -> Hashable:
    """Return a key that equal ballots share; a ballot that cannot be hashed gets a key of its own."""
    try:
        key = _ballot_value(ballot)
        hash(key)
    except TypeError:
        return object()
    return key


def _ballot_value(ballot: Ballot) -> Hashable:
    if isinstance(ballot, str) or ballot is None:
        return ballot
    # Types are part of the key, since True equals 1.
    if isinstance(ballot, _TYPED):
        fields = [getattr(ballot, name) for name in type(ballot).__slots__]
        return (type(ballot), *((type(item), item) for item in fields))
    if isinstance(ballot, AbstractSet):
        return (_SET, frozenset(ballot))
    if isinstance(ballot, Mapping):
        return (_MAP, frozenset((option, type(number), number) for option, number in ballot.items()))
    return tuple(ballot) if isinstance(ballot, list | tuple) else object()


F = TypeVar("F")

KeyOf: TypeAlias = Callable[[object], str]
"""A function that returns the key of the option that a spelling names; it raises `InvalidBallot` if there is no such
option."""

Reading: TypeAlias = Callable[[Ballot, KeyOf], F | None]
"""A function that reads a ballot in the form that a rule needs. It returns `None` for an abstention, and raises
`InvalidBallot` if the ballot cannot count."""


class InvalidBallot(ValueError):
    """A ballot cannot count; the message says why. A `Reading` raises this error, and the decision records it."""


@dataclass(frozen=True, slots=True)
class Vote(Generic[F]):
    """Equal ballots, in the form that a rule reads."""

    weight: Weight
    """Their total weight; equal to their number if no weights are given."""
    ballots: int
    """How many equal ballots there are."""
    form: F
    """Their content, as the rule reads it, with keys of options."""


@dataclass(frozen=True, slots=True)
class Roll:
    """Who voted and for what, independently of the rule."""

    options: tuple[str, ...]
    """Keys of the options: in the order in which they were declared, else sorted."""
    labels: Mapping[str, str]
    """Key to label: the declared spelling, or else the most frequent spelling, without white space around it. Of
    equally frequent spellings, it is the first in sort order. White space stays if two options would otherwise share a
    label."""
    appearance: tuple[str, ...]
    """Keys in the order in which the options were declared, else in the order in which valid ballots first name
    them."""
    mapping: Mapping[str, str]
    """Spelling on a ballot to label."""
    abstained: tuple[int, ...]
    """Indices of ballots that abstained."""
    invalid: Mapping[int, str]
    """Index of each ballot that cannot count, with the reason."""
    cast: int
    """Number of ballots that count."""
    ballots: int
    """Number of ballots that have weight, whether they count or not."""
    weight: Weight
    """Total weight of the ballots that count."""
    seats: Weight = 0
    """Total weight of all ballots, whether they count or not."""

    def names(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the labels of these options, in the order of `options`."""
        selected = frozenset(keys)
        return tuple(self.labels[key] for key in self.options if key in selected)


@dataclass(frozen=True, slots=True)
class Profile(Generic[F]):
    """The votes of an electorate, as one rule reads them."""

    roll: Roll
    """Who voted and for what."""
    votes: tuple[Vote[F], ...]
    """The votes that count, in the order in which their ballots first appear."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """The options of an electorate."""

    labels: Mapping[str, str]
    """Key to option."""
    exact: Mapping[str, str]
    """Spelling of each option, without white space around it, to its key."""
    shared: Mapping[str, tuple[str, ...]]
    """Key that several options have to these options; ballots must spell them exactly."""


@dataclass(slots=True)
class _Speller:
    """Converts spellings to keys, and remembers the spellings of valid ballots."""

    normalise: Callable[[str], str]
    declared: _Declared | None
    keys: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    pending: list[str] = field(default_factory=list)

    def key(self, spelling: object) -> str:
        """Return the key of the option that a spelling names.

        Raises:
            InvalidBallot: It is not text, is blank, or names none of the declared options, or may mean several.
        """
        if not isinstance(spelling, str):
            raise InvalidBallot(f"{quoted(spelling)} is not the name of an option")
        if not spelling.strip():
            raise InvalidBallot("it names a blank option")
        key = self.keys.get(spelling)
        if key is None:
            key = self.keys[spelling] = self._find(spelling)
        self.pending.append(spelling)
        return key

    def _find(self, spelling: str) -> str:
        """Return the key of the option with exactly this spelling, else of the only option that is alike."""
        if self.declared is None:
            return _key_of(spelling, self.normalise)
        exact = self.declared.exact.get(spelling.strip())
        if exact is not None:
            return exact
        key = _key_of(spelling, self.normalise)
        if key in self.declared.shared:
            alike = " or ".join(map(repr, self.declared.shared[key]))
            raise InvalidBallot(f"{quoted(spelling)} may mean {alike}")
        if key not in self.declared.labels:
            raise InvalidBallot(f"{quoted(spelling)} is not one of the options")
        return key

    def labels(self) -> Mapping[str, str]:
        """Return the label of each option, in the order of declaration or of first appearance."""
        if self.declared is not None:
            return self.declared.labels
        stripped: Counter[tuple[str, str]] = Counter()
        for spelling, count in self.counts.items():
            stripped[self.keys[spelling], spelling.strip()] += count
        labels = _most_frequent(stripped)
        shared = Counter(labels.values())
        if len(shared) < len(labels):  # two options have spellings that differ only in white space
            exact = _most_frequent({(self.keys[spelling], spelling): count for spelling, count in self.counts.items()})
            labels = {key: label if shared[label] == 1 else exact[key] for key, label in labels.items()}
        return labels


def _most_frequent(counts: Mapping[tuple[str, str], int]) -> dict[str, str]:
    best: dict[str, tuple[int, str]] = {}
    for (key, spelling), count in counts.items():
        rank = (-count, spelling)
        best[key] = min(best.get(key, rank), rank)
    return {key: spelling for key, (_, spelling) in best.items()}


def _key_of(spelling: str, normalise: Callable[[str], object]) -> str:
    key = normalise(spelling)
    if not isinstance(key, str):
        raise ConfigurationError(f"the normalisation must return text, not {key!r}, for {quoted(spelling)}")
    return key


def _declared_options(options: Iterable[object], how: Normalise) -> _Declared:
    """Return the options with their keys; options with one key are distinguished by their exact spelling.

    Raises:
        ConfigurationError: The options are not a list of different names, or the caller's own function gives two of
            them one key.
    """
    if not is_list(options):
        msg = f"options must be a list of names, not {quoted(options)}"
        raise ConfigurationError(msg, hint="Leave options out to use the options that the ballots name.")
    names: list[str] = []
    for option in options:
        if not isinstance(option, str) or not option.strip():
            raise ConfigurationError(f"an option must be a name, not {option!r}")
        names.append(option)
    key_of = normaliser(how)
    keys = [_key_of(name, key_of) for name in names]
    alike: dict[str, list[str]] = {}
    for key, name in zip(keys, names, strict=True):
        alike.setdefault(key, []).append(name)
    is_own = callable(how)
    labels: dict[str, str] = {}
    for folded, name in zip(keys, names, strict=True):
        key = folded if is_own or len(alike[folded]) == 1 else name.strip()
        if key in labels:
            raise ConfigurationError(f"options {labels[key]!r} and {name!r} count as one; rename one of them")
        labels[key] = name
    exact = {} if is_own or how == "exact" else {name.strip(): key for key, name in labels.items()}
    return _Declared(labels, exact, {key: tuple(several) for key, several in alike.items() if len(several) > 1})


class Electorate:
    """Ballots with their weights and options, ready to be read by a rule.

    Args:
        ballots: One per voter; indices count from 0.
        weights: One number from 0 to 1e100 per ballot, without a unit. A ballot of weight 0 is ignored. `None` gives
            all ballots the same weight.
        options: All options; `None` uses the options that valid ballots name.
        normalise: How to find out whether two spellings name the same option.

    Raises:
        ConfigurationError: The ballots, weights or options are not valid, or there are not as many weights as ballots.

    Example:
        >>> from roundtable.scoring.ballot_forms import first_places
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
            raise ConfigurationError(msg, hint="The list can be empty; None stands for a voter who abstains.")
        self._normalise = normaliser(normalise)
        self._declared = None if options is None else _declared_options(options, normalise)
        self._grouped = Grouped(list(ballots), weights)
        self._profiles: dict[object, Profile[object]] = {}

    @property
    def size(self) -> int:
        """The number of ballots, including those without weight."""
        return self._grouped.size

    def read(self, reading: Reading[F]) -> Profile[F]:
        """Read every ballot in the form that a rule needs; the result is cached for each reading function."""
        profile = self._profiles.get(reading)
        if profile is None:
            profile = self._profiles[reading] = cast("Profile[object]", self._read(reading))
        return cast("Profile[F]", profile)

    def _read(self, reading: Reading[F]) -> Profile[F]:
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
            abstained=tuple(index for index, _ in self._grouped.places(abstained)),
            invalid=dict(self._grouped.places(invalid)),
            cast=sum(vote.ballots for vote in votes),
            ballots=sum(group.count for group in groups),
            weight=sum(vote.weight for vote in votes),
            seats=sum(group.weight for group in groups),
        )
