"""Rules that count first places."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from roundtable.scoring.electorate import Electorate, Profile, Roll
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.readings import Tops, first_places
from roundtable.scoring.words import amount, percent

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparisonT

__all__ = ["CHOICE_RULES", "HALF", "highest", "leading", "standing", "tally_first_places", "threshold_outcome"]

HALF = Fraction(1, 2)
TWO_THIRDS = Fraction(2, 3)


def tally_first_places(profile: Profile[Tops]) -> dict[str, Weight]:
    """Count the weight that puts each option first; options tied on a ballot share its vote equally."""
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        part = vote.weight if len(vote.form) == 1 else Fraction(vote.weight) / len(vote.form)
        for option in vote.form:
            scores[option] += part
    return scores


def highest(scores: Mapping[str, SupportsRichComparisonT]) -> tuple[str, ...]:
    """Give the options with the highest score, whatever it is."""
    best = max(scores.values(), default=None)
    return tuple(option for option, score in scores.items() if score == best)


def leading(scores: Mapping[str, Weight]) -> tuple[str, ...]:
    """Give the options with the highest score; none when no score is above 0."""
    return highest(scores) if max(scores.values(), default=0) > 0 else ()


def standing(scores: Mapping[str, Weight], leaders: tuple[str, ...], total: Weight, unit: str = "votes") -> str:
    """Say what the leaders have."""
    if not leaders:
        return "nobody voted" if not total else f"no option has any {unit}"
    score = scores[leaders[0]]
    each = " each" if len(leaders) > 1 else ""
    return f"{amount(score)} of {amount(total)} {unit} ({percent(Fraction(score) / total)}){each}"


def _plurality(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    scores = tally_first_places(profile)
    leaders = leading(scores)
    return Outcome(profile.roll, scores, leaders, standing(scores, leaders, profile.roll.weight))


def threshold_outcome(
    roll: Roll, scores: Mapping[str, Weight], enough: Callable[[Fraction], bool], asked: str
) -> Outcome:
    """Let the leader pass when its share of the votes cast is enough."""
    leaders = leading(scores)
    words = standing(scores, leaders, roll.weight)
    if not leaders:
        return Outcome(roll, scores, leaders, words, passes=False)
    first, *others = leaders
    if enough(Fraction(scores[first]) / roll.weight):
        return Outcome(roll, scores, leaders, f"{words}, {asked}")
    lead = words if others else f"{roll.labels[first]} leads with {words}"
    return Outcome(roll, scores, leaders, f"{lead}, not {asked}", passes=False)


def _majority(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part > HALF, "more than half")


def _supermajority(ballots: Electorate, parameters: Parameters) -> Outcome:
    q = parameters.share("q")
    profile = ballots.read(first_places)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part >= q, f"at least {q}")


def _unanimity(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part == 1, "all of them")


def _hybrid(ballots: Electorate, parameters: Parameters) -> Outcome:
    turn, turns = parameters.whole("turn", 1), parameters.whole("turns")
    small, q = parameters.whole("small"), parameters.share("q")
    profile = ballots.read(first_places)
    if turn <= turns or profile.roll.cast <= small:
        why = f"turn {turn} of {turns} that ask for all" if turn <= turns else f"at most {small} voters ask for all"
        asked, least = f"all of them ({why})", Fraction(1)
    else:
        asked, least = f"at least {q} (from turn {turns + 1} on)", q
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part >= least, asked)


def _random_dictator(ballots: Electorate, parameters: Parameters) -> Outcome:
    seed = parameters.whole("seed")
    profile = ballots.read(first_places)
    scores = tally_first_places(profile)
    # One draw over the options in their canonical order: the order of ballots cannot matter.
    drawn = Fraction(random.Random(seed).random()) * profile.roll.weight
    for option, score in scores.items():
        drawn -= score
        if drawn < 0:
            chance = standing(scores, (option,), profile.roll.weight)
            return Outcome(profile.roll, scores, (option,), f"drawn at random with seed {seed}, for {chance}")
    return Outcome(profile.roll, scores, (), standing(scores, (), profile.roll.weight))


CHOICE_RULES = (
    Rule("plurality", _plurality, "most first places"),
    Rule("majority", _majority, "more than half of the first places", aliases=("simple-majority", "strict-majority")),
    Rule(
        "supermajority",
        _supermajority,
        "at least a share q of the first places",
        {"q": TWO_THIRDS},
        ("qualified-majority",),
    ),
    Rule("unanimity", _unanimity, "all first places", aliases=("unanimous", "consensus")),
    Rule(
        "hybrid",
        _hybrid,
        "unanimity in the first turns and among few voters, a supermajority q after that",
        {"turn": 1, "turns": 5, "small": 3, "q": Fraction(3, 4)},
        ("hybrid-majority",),
    ),
    Rule(
        "random-dictator",
        _random_dictator,
        "the first place of a ballot drawn at random, a baseline",
        {"seed": 0},
        ("lottery", "random-ballot"),
    ),
)
"""The rules of this module."""
