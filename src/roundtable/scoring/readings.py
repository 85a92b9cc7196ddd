"""Forms in which rules read ballots. Every kind of ballot that holds an order can be read as an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import TypeAlias

from roundtable.scoring.ballots import (
    Abstention,
    Approval,
    Ballot,
    Choice,
    Distribution,
    Points,
    Prediction,
    Ranking,
    Scores,
    Trajectory,
    Verdict,
)
from roundtable.scoring.electorate import InvalidBallot, KeyOf
from roundtable.scoring.precise import LARGEST, exact_or_none
from roundtable.scoring.words import quoted

__all__ = [
    "Grades",
    "Order",
    "Tops",
    "approvals",
    "distribution",
    "first_places",
    "grades",
    "is_abstention",
    "number_of",
    "numbers",
    "order",
    "points",
    "shares",
]

Tops: TypeAlias = tuple[str, ...]
"""The options a ballot puts first; several share its vote equally."""

Order: TypeAlias = tuple[tuple[str, ...], ...]
"""Groups of tied options, best first; options left out are unranked."""

Grades: TypeAlias = Mapping[str, Fraction]
"""A number for each option named."""

# Shares written by hand or by a model are rounded; what is further off than this is no distribution.
_ROUNDING = Fraction(1, 50)


def is_abstention(ballot: Ballot) -> bool:
    """Tell whether a ballot says nothing on purpose."""
    return ballot is None or isinstance(ballot, Abstention)


def number_of(value: object, what: str) -> Fraction:
    """Read one number of a ballot.

    Raises:
        InvalidBallot: It is not a finite number, or beyond 1e100.
    """
    found = exact_or_none(value)
    if found is None:
        raise InvalidBallot(f"{what} is not a number: {quoted(value)}")
    if abs(found) > LARGEST:
        raise InvalidBallot(f"{what} is beyond 1e100")
    return found


def numbers(given: Mapping[str, object], key_of: KeyOf) -> dict[str, Fraction]:
    """Read a number for each option named.

    Raises:
        InvalidBallot: An option is named twice, or something is not a number.
    """
    found: dict[str, Fraction] = {}
    for option, value in given.items():
        key = key_of(option)
        if key in found:
            raise InvalidBallot(f"it names {quoted(option)} twice")
        found[key] = number_of(value, f"what it gives {quoted(option)}")
    return found


def order(ballot: Ballot, key_of: KeyOf) -> Order | None:
    """Read any ballot as an order: a choice stands before all else, approved before not approved, more before less.

    A ballot that names nothing abstains.

    Raises:
        InvalidBallot: It is of no known kind, names an option twice, or names something that is no option.
    """
    if is_abstention(ballot):
        return None
    if isinstance(ballot, str | Choice | Prediction | Verdict | Trajectory):
        single = _single(ballot)
        return None if single is None else ((key_of(single),),)
    if (graded := _graded(ballot)) is not None:
        return _by_number(numbers(graded, key_of)) or None
    return _groups(_ranked(ballot), key_of) or None


def _single(ballot: str | Choice | Prediction | Verdict | Trajectory) -> str | None:
    if isinstance(ballot, str):
        return ballot
    if isinstance(ballot, Trajectory):
        return next((option for option in reversed(ballot.options) if option is not None), None)
    return ballot.option


def _graded(ballot: Ballot) -> Mapping[str, object] | None:
    match ballot:
        case Scores():
            return ballot.scores
        case Points():
            return ballot.points
        case Distribution():
            return ballot.probabilities
        case Mapping():
            return ballot
        case _:
            return None


def _ranked(ballot: Ballot) -> Sequence[object]:
    match ballot:
        case Ranking():
            return ballot.groups
        case Approval():
            return (ballot.options,)
        case AbstractSet():
            return (ballot,)
        case list() | tuple():
            return ballot
        case _:
            raise InvalidBallot(f"a ballot cannot be {quoted(ballot)}")


def _groups(groups: Sequence[object], key_of: KeyOf) -> Order:
    found: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for group in groups:
        members: Iterable[object] = group if isinstance(group, AbstractSet | list | tuple) else (group,)
        keys = tuple(key_of(member) for member in members)
        for key in keys:
            if key in seen:
                raise InvalidBallot(f"it ranks {quoted(key)} twice")
            seen.add(key)
        if keys:
            found.append(tuple(sorted(keys)))
    return tuple(found)


def _by_number(given: Mapping[str, Fraction]) -> Order:
    places: dict[Fraction, list[str]] = {}
    for key, value in given.items():
        places.setdefault(value, []).append(key)
    return tuple(tuple(sorted(places[value])) for value in sorted(places, reverse=True))


def first_places(ballot: Ballot, key_of: KeyOf) -> Tops | None:
    """Read the options a ballot puts first; see `order`."""
    found = order(ballot, key_of)
    return None if found is None else found[0]


def approvals(ballot: Ballot, key_of: KeyOf) -> frozenset[str] | None:
    """Read the options a ballot approves: a set, or one choice. An empty set approves of nobody and counts.

    Raises:
        InvalidBallot: The ballot does not say what it approves.
    """
    if is_abstention(ballot):
        return None
    if isinstance(ballot, str | Choice | Prediction | Verdict | Trajectory):
        single = _single(ballot)
        return None if single is None else frozenset((key_of(single),))
    if isinstance(ballot, Approval):
        return frozenset(key_of(option) for option in ballot.options)
    if isinstance(ballot, AbstractSet):
        return frozenset(key_of(option) for option in ballot)
    raise InvalidBallot("it does not say which options it approves; use a set")


def grades(ballot: Ballot, key_of: KeyOf) -> Grades | None:
    """Read a number for each option graded.

    Raises:
        InvalidBallot: The ballot holds no numbers.
    """
    if is_abstention(ballot):
        return None
    graded = _graded(ballot)
    if graded is None:
        raise InvalidBallot("it holds no number for each option; use a dict")
    return numbers(graded, key_of) or None


def points(ballot: Ballot, key_of: KeyOf) -> Grades | None:
    """Read points, none below 0.

    Raises:
        InvalidBallot: The ballot holds no points, or some below 0.
    """
    found = grades(ballot, key_of)
    if found is not None and any(given < 0 for given in found.values()):
        raise InvalidBallot("it gives less than nothing to an option")
    return found


def shares(given: Mapping[str, object], key_of: KeyOf) -> Grades:
    """Read shares of one whole, up to rounding; they are divided by their sum.

    Raises:
        InvalidBallot: One is below 0, or the sum is further from 1 than rounding explains.
    """
    found = numbers(given, key_of)
    total = sum(found.values(), Fraction(0))
    if any(part < 0 for part in found.values()) or abs(total - 1) > _ROUNDING:
        raise InvalidBallot(f"its shares must be at least 0 and sum to 1, not to {float(total):.6g}")
    return {option: part / total for option, part in found.items()}


def distribution(ballot: Ballot, key_of: KeyOf) -> Grades | None:
    """Read a probability for each option; options left out have none.

    Raises:
        InvalidBallot: The ballot holds no distribution.
    """
    if is_abstention(ballot):
        return None
    graded = _graded(ballot)
    if graded is None:
        raise InvalidBallot("it holds no probability for each option; use a dict")
    return shares(graded, key_of) if graded else None
