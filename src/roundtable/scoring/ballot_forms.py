"""Functions that read ballots in the form that a rule needs: choices, rankings, scores, distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from math import isnan
from typing import Literal, TypeAlias, assert_never

from roundtable.core.base.words import quoted
from roundtable.core.types.answers import (
    AgentResponse,
    Answer,
    ApprovalAnswer,
    BallotAnswer,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    TextAnswer,
)
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
from roundtable.scoring.numbers import LARGEST, exact_or_none

__all__ = [
    "FirstPlaces",
    "Grades",
    "Order",
    "approvals",
    "ballot_from_answer",
    "distribution",
    "first_places",
    "grades",
    "in_order",
    "is_abstention",
    "number_of",
    "numbers",
    "order",
    "points",
    "shares",
]


def ballot_from_answer(answer: Answer, *, by: Literal["choice", "stance", "position"] = "choice") -> Ballot:
    """Convert an answer to a ballot, with the confidence that the agent reported.

    Args:
        answer: Any answer of a turn; an answer without a vote becomes an abstention.
        by: Which part of a position counts as the vote: the chosen option, the stance, or the wording of the position.

    Example:
        >>> answer = AgentResponse(agent_id="ada", agent_name="Ada", position="Yes, it scales.", stance="YES")
        >>> ballot_from_answer(answer, by="stance")
        Choice(option='YES', confidence=0.5, accuracy=None)
    """
    match answer:
        case AgentResponse():
            vote = {"choice": answer.choice, "stance": answer.stance, "position": answer.position}[by]
            return Choice(vote, confidence=answer.confidence)
        case BallotAnswer():
            return Choice(answer.choice)
        case RankingAnswer():
            return Ranking(answer.ranking)
        case ApprovalAnswer():
            return Abstention() if answer.approved is None else Approval(answer.approved)
        case ScoresAnswer():
            return Scores(answer.scores)
        case PlanAnswer() | TextAnswer():
            return Abstention()
        case _:
            assert_never(answer)


FirstPlaces: TypeAlias = tuple[str, ...]
"""The options that a ballot puts first; several options share the vote of the ballot equally."""

Order: TypeAlias = tuple[tuple[str, ...], ...]
"""Groups of tied options, the best group first; options left out are unranked."""

Grades: TypeAlias = Mapping[str, Fraction]
"""A number for each option that the ballot names."""

# People and models round the shares they write; shares whose sum is further from 1 than this are not a distribution.
_ROUNDING = Fraction(1, 50)


def is_abstention(ballot: Ballot) -> bool:
    """Check whether a ballot abstains on purpose."""
    return ballot is None or isinstance(ballot, Abstention)


def number_of(value: object, what: str) -> Fraction:
    """Read one number of a ballot.

    Raises:
        InvalidBallot: It is not a finite number, or it is beyond 1e100.
    """
    number = exact_or_none(value)
    if number is None:
        raise InvalidBallot(f"{what} is not a number: {quoted(value)}")
    if abs(number) > LARGEST:
        raise InvalidBallot(f"{what} is beyond 1e100")
    return number


def numbers(values: Mapping[str, object], key_of: KeyOf) -> dict[str, Fraction]:
    """Read a number for each option that a ballot names.

    Raises:
        InvalidBallot: An option is named twice, or something is not a number.
    """
    by_option: dict[str, Fraction] = {}
    for option, value in values.items():
        key = key_of(option)
        if key in by_option:
            raise InvalidBallot(f"it names {quoted(option)} twice")
        by_option[key] = number_of(value, f"its value for {quoted(option)}")
    return by_option


def order(ballot: Ballot, key_of: KeyOf) -> Order | None:
    """Read any ballot as a ranking.

    A chosen option comes before all others, approved options before those not approved, and high numbers before low
    ones.

    A ballot that names nothing abstains.

    Raises:
        InvalidBallot: The kind of ballot is unknown, or the ballot names an option twice, or something that is not an
            option.
    """
    if is_abstention(ballot):
        return None
    if isinstance(ballot, str | Choice | Prediction | Verdict | Trajectory):
        single = _single(ballot)
        return None if single is None else ((key_of(single),),)
    if (graded := _grades_of(ballot)) is not None:
        return _by_number(numbers(graded, key_of)) or None
    return _groups(_order_of(ballot), key_of) or None


def _single(ballot: str | Choice | Prediction | Verdict | Trajectory) -> str | None:
    if isinstance(ballot, str):
        return ballot
    if isinstance(ballot, Trajectory):
        return next((option for option in reversed(ballot.options) if option is not None), None)
    return ballot.option


def _grades_of(ballot: Ballot) -> Mapping[str, object] | None:
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


def _order_of(ballot: Ballot) -> Sequence[object]:
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
            raise InvalidBallot(f"a ballot cannot be {quoted(ballot)}{_remedy(ballot)}")


def _remedy(ballot: object) -> str:
    if isinstance(ballot, float) and isnan(ballot):
        return "; None abstains"
    return "; write an option as text" if isinstance(ballot, int | float | Fraction) else ""


def in_order(options: Iterable[object]) -> Iterable[object]:
    """Return options as they are or, from a set, sorted: the order of a set differs between processes."""
    return sorted(options, key=str) if isinstance(options, AbstractSet) else options


def _groups(groups: Sequence[object], key_of: KeyOf) -> Order:
    ranked: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for group in groups:
        members: Iterable[object] = in_order(group) if isinstance(group, AbstractSet | list | tuple) else (group,)
        keys = tuple(key_of(member) for member in members)
        for key in keys:
            if key in seen:
                raise InvalidBallot(f"it ranks {quoted(key)} twice")
            seen.add(key)
        if keys:
            ranked.append(tuple(sorted(keys)))
    return tuple(ranked)


def _by_number(numbers_by_key: Mapping[str, Fraction]) -> Order:
    keys_at: dict[Fraction, list[str]] = {}
    for key, value in numbers_by_key.items():
        keys_at.setdefault(value, []).append(key)
    return tuple(tuple(sorted(keys_at[value])) for value in sorted(keys_at, reverse=True))


def first_places(ballot: Ballot, key_of: KeyOf) -> FirstPlaces | None:
    """Read the options that a ballot puts first; see `order`."""
    ranking = order(ballot, key_of)
    return None if ranking is None else ranking[0]


def approvals(ballot: Ballot, key_of: KeyOf) -> frozenset[str] | None:
    """Read the options that a ballot approves: a set, or one choice. An empty set approves of none and still counts.

    Raises:
        InvalidBallot: The ballot does not state what it approves.
    """
    if is_abstention(ballot):
        return None
    if isinstance(ballot, str | Choice | Prediction | Verdict | Trajectory):
        single = _single(ballot)
        return None if single is None else frozenset((key_of(single),))
    if isinstance(ballot, Approval):
        return frozenset(key_of(option) for option in in_order(ballot.options))
    if isinstance(ballot, AbstractSet):
        return frozenset(key_of(option) for option in in_order(ballot))
    raise InvalidBallot("it does not say which options it approves; use a set")


def grades(ballot: Ballot, key_of: KeyOf) -> Grades | None:
    """Read a number for each option that a ballot grades.

    Raises:
        InvalidBallot: The ballot has no numbers.
    """
    if is_abstention(ballot):
        return None
    graded = _grades_of(ballot)
    if graded is None:
        raise InvalidBallot("it has no number for each option; use a dict")
    return numbers(graded, key_of) or None


def points(ballot: Ballot, key_of: KeyOf) -> Grades | None:
    """Read points, none below 0.

    Raises:
        InvalidBallot: The ballot has no points, or it has points below 0.
    """
    by_option = grades(ballot, key_of)
    if by_option is not None and any(number < 0 for number in by_option.values()):
        raise InvalidBallot("it gives an option fewer than 0 points")
    return by_option


def shares(values: Mapping[str, object], key_of: KeyOf) -> Grades:
    """Read shares that sum to 1, up to rounding; the result is divided by their sum.

    Raises:
        InvalidBallot: A share is below 0, or the sum is further from 1 than rounding explains.
    """
    parts = numbers(values, key_of)
    total = sum(parts.values(), Fraction(0))
    if any(part < 0 for part in parts.values()) or abs(total - 1) > _ROUNDING:
        raise InvalidBallot(f"its shares must be at least 0 and sum to 1, not to {float(total):.6g}")
    return {option: part / total for option, part in parts.items()}


def distribution(ballot: Ballot, key_of: KeyOf) -> Grades | None:
    """Read a probability for each option; options left out have the probability 0.

    Raises:
        InvalidBallot: The ballot has no distribution.
    """
    if is_abstention(ballot):
        return None
    graded = _grades_of(ballot)
    if graded is None:
        raise InvalidBallot("it has no probability for each option; use a dict")
    return shares(graded, key_of) if graded else None
