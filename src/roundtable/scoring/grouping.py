"""Putting equal ballots together, so that a rule's work grows with different ballots and not with voters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, cast

from roundtable.errors import ConfigurationError
from roundtable.scoring.ballots import Abstention, Approval, Ballot, Choice, Ranking, Trajectory, Verdict
from roundtable.scoring.precise import LARGEST, Number, exact
from roundtable.scoring.words import is_list, quoted

__all__ = ["Group", "Grouped", "Weight"]

Weight: TypeAlias = int | Fraction

# Ballots compare by value, so True would meet 1 and a list would meet a set: kinds are told apart by these marks.
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
    """How many have weight."""
    weight: Weight
    """Their weight together."""


class Grouped:
    """Ballots put together by value, in the order in which each value first appears.

    Args:
        ballots: The ballots; places count from 0.
        weights: One non-negative number per ballot; `None` counts them.

    Raises:
        ConfigurationError: The weights do not fit.
    """

    def __init__(self, ballots: Sequence[Ballot], weights: Sequence[Number] | None) -> None:
        self._keys, plain = _keys(ballots)
        self._absent: Container[int] = ()
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
            raise ConfigurationError(f"{len(ballots)} ballots need as many weights, not {len(weights)}")
        groups: dict[Hashable, Group] = {}
        absent: set[int] = set()
        for place, number in enumerate(weights):
            weight = exact(number, f"weight {place}")
            if weight < 0:
                raise ConfigurationError(f"weight {place} must not be negative, as {number!r} is")
            if weight > LARGEST:
                raise ConfigurationError(f"weight {place} must be at most 1e100")
            if not weight:
                absent.add(place)
                continue
            key = self._keys[place]
            group = groups.setdefault(key, Group(key, ballots[place], 0, 0))
            group.count += 1
            group.weight += weight
        self._absent = absent
        return list(groups.values())

    def places(self, reasons: Mapping[Hashable, str]) -> Iterator[tuple[int, str]]:
        """Give the place of each ballot that has weight and one of these keys, with what is said of the key."""
        if not reasons:
            return
        for place, key in enumerate(self._keys):
            if key in reasons and place not in self._absent:
                yield place, reasons[key]


def _keys(ballots: Sequence[Ballot]) -> tuple[Sequence[Hashable], bool]:
    """Give the key of each ballot, and whether the keys can be read as ballots themselves."""
    kinds = set(map(type, ballots))
    if kinds <= {str, type(None)}:
        return cast("Sequence[Hashable]", ballots), True
    if kinds == {list}:
        keys = [tuple(cast("list[Hashable]", ballot)) for ballot in ballots]
        if _hashable(keys):
            return keys, True
    return [_key(ballot) for ballot in ballots], False


def _hashable(keys: Sequence[Hashable]) -> bool:
    try:
        set(keys)
    except TypeError:
        return False
    return True


def _key(ballot: Ballot) -> Hashable:
    """Give equal ballots equal keys; a ballot that cannot be hashed is equal to itself alone."""
    try:
        key = _value(ballot)
        hash(key)
    except TypeError:
        return object()
    return key


def _value(ballot: Ballot) -> Hashable:
    if isinstance(ballot, str) or ballot is None:
        return ballot
    if isinstance(ballot, _TYPED):
        fields = [getattr(ballot, name) for name in type(ballot).__slots__]
        return (type(ballot), *((type(item), item) for item in fields))
    if isinstance(ballot, AbstractSet):
        return (_SET, frozenset(ballot))
    if isinstance(ballot, Mapping):
        return (_MAP, frozenset((option, type(number), number) for option, number in ballot.items()))
    return tuple(ballot) if isinstance(ballot, list | tuple) else object()
