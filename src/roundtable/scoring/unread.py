"""Ballots that were given but could not be read: whether they could have overturned the outcome of a rule."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Final

from roundtable.core.base.scale import DEFAULT_SCALE
from roundtable.core.base.words import counted, listing
from roundtable.scoring.ballots import Choice, Ranking, Scores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from roundtable.scoring.ballots import Ballot
    from roundtable.scoring.numbers import Number

__all__ = ["MOST_TRIED", "adds_up", "unread_in_words", "unread_options", "ways_to_vote", "worst_ballots"]

MOST_TRIED: Final = 100
"""Maximum number of ways to vote that are tried; with more ways, unread ballots count as able to change the result."""

_ADDITIVE: Final = frozenset(
    {
        *("plurality", "majority", "supermajority", "unanimity", "hybrid"),
        *("approval", "borda", "dowdall", "confidence-weighted", "reconcile"),
    }
)
"""Built-in rules that add a fixed amount to the score of an option for each vote, and less to all other options."""
_BY_PLACES: Final = frozenset({"borda", "dowdall"})
_BY_GRADES: Final = frozenset({"score", "median"})
_BY_PAIRS: Final = frozenset({"condorcet", "copeland", "schulze", "ranked-pairs", "kemeny-young"})
"""Built-in rules under which an option wins if it beats every other one head to head."""
_BY_MAJORITY: Final = frozenset({"irv", "coombs"})
"""Built-in rules under which an option wins if more than half of the ballots put it first."""


def adds_up(rule: str) -> bool:
    """Check whether a built-in rule only adds up votes, so that only votes for the strongest rival must be tried.

    Under such a rule, a vote for an option raises its score more than that of any other option. Unread ballots
    therefore come closest to the winner if all of them are votes for the rival with the highest score. If they are
    spread over several rivals, each rival gets fewer of them, and the winner gets no fewer votes. A threshold compares
    the winner with the number of votes, which is the same in both cases.

    Args:
        rule: Name of the built-in rule.

    Example:
        >>> adds_up("plurality"), adds_up("schulze")
        (True, False)
    """
    return rule in _ADDITIVE


def unread_options(names: Collection[str], number: int) -> list[str]:
    """Return names of options that nobody named, for unread ballots that may name any option.

    Args:
        names: The options that are named, in lower case.
        number: How many names to return.

    Example:
        >>> unread_options({"tea", "option 1"}, 2)
        ['option 2', 'option 3']
    """
    unused = (name for count in itertools.count(1) if (name := f"option {count}") not in names)
    return list(itertools.islice(unused, number))


def ways_to_vote(
    options: Sequence[str], winner: str, ballots: int, *, alike: bool, is_additive: bool
) -> Iterator[tuple[str, ...]] | None:
    """Return the ways in which unread ballots may have voted; `None` if there are too many ways to try them all.

    Args:
        options: The options, those with the highest scores first.
        winner: The option that wins without the unread ballots.
        ballots: Number of unread ballots.
        alike: Whether all of them have the same weight, so that it makes no difference which one votes for what.
        is_additive: Whether the rule only adds up votes; see `adds_up`.

    Example:
        >>> list(ways_to_vote(["Tea", "Milk", "Mate"], "Tea", 2, alike=True, is_additive=True))
        [('Milk', 'Milk')]
        >>> [*ways_to_vote(["Tea", "Milk"], "Tea", 2, alike=True, is_additive=False)]
        [('Milk', 'Milk'), ('Milk', 'Tea'), ('Tea', 'Tea')]
        >>> ways_to_vote([*"abcdefgh"], "a", 8, alike=True, is_additive=False) is None
        True
    """
    rivals = [option for option in options if option != winner]
    if is_additive or not rivals:
        return iter([(rival,) * ballots for rival in rivals[:1]])
    number = comb(len(rivals) + ballots, ballots) if alike else (len(rivals) + 1) ** ballots
    if number > MOST_TRIED:
        return None
    choices = [*rivals, winner]
    return (
        itertools.combinations_with_replacement(choices, ballots)
        if alike
        else itertools.product(choices, repeat=ballots)
    )


def worst_ballots(
    rule: str,
    options: Sequence[str],
    winner: str,
    *,
    limits: tuple[Fraction | None, Fraction | None] = (None, None),
    scores: Iterable[Fraction] = (),
) -> list[tuple[str, Ballot]] | None:
    """Return the rankings, approvals or scores that could harm a winner most, each with the rule to count it by.

    If all unread ballots are such a ballot, and the winner wins even so, it wins whatever these ballots say. `None`
    means that no such ballots are known, so the unread ballots count as able to change the result.

    - By places or grades, each option needs one ballot: it has the best place or grade, and the winner the worst.
    - By pairs, an option that beats all others wins. A ballot that puts all others before it costs it most.
    - In rules that drop options one by one, an option wins that is first on more than half of the ballots.

    Args:
        rule: Name of the built-in rule.
        options: The options, those with the highest scores first.
        winner: The option that wins without the unread ballots.
        limits: Lowest and highest score under the rule. If both are `None`, scores are taken to be from 0 to 10, or
            between the lowest and highest one that was given.
        scores: The scores on the ballots that could be read.

    Example:
        >>> worst_ballots("schulze", ["Tea", "Milk", "Mate"], "Tea")
        [('condorcet', Ranking(groups=(('Milk', 'Mate'),)))]
        >>> worst_ballots("star", ["Tea", "Milk"], "Tea") is None
        True
    """
    rivals = [option for option in options if option != winner]
    if not rivals:
        return []
    if rule in _BY_PAIRS:
        return [("condorcet", Ranking((tuple(rivals),)))]
    if rule in _BY_MAJORITY:
        return [("majority", Choice(rivals[0]))]
    if len(rivals) > MOST_TRIED:
        return None
    if rule in _BY_PLACES:
        return [(rule, Ranking((rival, *(other for other in rivals if other != rival)))) for rival in rivals]
    if rule in _BY_GRADES and (ends := _ends(limits, scores)) is not None:
        low, high = ends
        # Under the sum of grades, an option that is left out may get less than the lowest grade, or more than the best.
        extremes: list[dict[str, Number]] = [
            grades for rival in rivals for grades in ({winner: low, rival: high}, {winner: low}, {rival: high})
        ]
        return [(rule, Scores(grades)) for grades in extremes]
    return None


def _ends(limits: tuple[Fraction | None, Fraction | None], scores: Iterable[Fraction]) -> tuple[Number, Number] | None:
    """Return the lowest and the highest score that a ballot may give; `None` if one of them has no limit."""
    low, high = limits
    if low is not None and high is not None:
        return low, high
    if low is not None or high is not None:
        return None
    given = (*map(Fraction, DEFAULT_SCALE), *scores)
    return min(given), max(given)


def unread_in_words(voters: Sequence[str]) -> str:
    """Return how many answers could not be read, and whose they are, in words.

    Example:
        >>> unread_in_words(["ada", "bo"])
        '2 answers could not be read (ada and bo)'
    """
    return f"{counted(len(voters), 'answer')} could not be read ({listing(voters)})"
