"""Rules that count first places."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from roundtable.core.base.words import amount, percent
from roundtable.scoring.ballot_forms import FirstPlaces, first_places
from roundtable.scoring.electorate import Electorate, Profile, Roll, Weight
from roundtable.scoring.outcome import VOTES, Outcome, Parameters, Rule

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparisonT

__all__ = [
    "CHOICE_RULES",
    "HALF",
    "highest",
    "leading",
    "share_of",
    "standing",
    "tally_first_places",
    "threshold_outcome",
]


HALF = Fraction(1, 2)
TWO_THIRDS = Fraction(2, 3)


def tally_first_places(profile: Profile[FirstPlaces]) -> dict[str, Weight]:
    """Sum the weight of the ballots that put each option first; options tied for first share the vote equally."""
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        part = vote.weight if len(vote.form) == 1 else Fraction(vote.weight) / len(vote.form)
        for option in vote.form:
            scores[option] += part
    return scores


def highest(scores: Mapping[str, SupportsRichComparisonT]) -> tuple[str, ...]:
    """Return the options with the highest score, even if it is 0 or below."""
    best = max(scores.values(), default=None)
    return tuple(option for option, score in scores.items() if score == best)


def leading(scores: Mapping[str, Weight]) -> tuple[str, ...]:
    """Return the options with the highest score; none when no score is above 0."""
    return highest(scores) if max(scores.values(), default=0) > 0 else ()


def standing(scores: Mapping[str, Weight], leaders: tuple[str, ...], total: Weight, unit: str = "votes") -> str:
    """Describe in words how many votes the leaders have."""
    if not leaders:
        return "nobody voted" if not total else f"no option has any {unit}"
    score = scores[leaders[0]]
    if score == total == 1 and isinstance(total, int):
        return f"1 {unit.removesuffix('s')}, the only one"
    suffix = " each" if len(leaders) > 1 else ""
    return f"{amount(score)} of {amount(total)} {unit} ({percent(Fraction(score) / total)}){suffix}"


def _plurality(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(first_places)
    scores = tally_first_places(profile)
    leaders = leading(scores)
    return Outcome(profile.roll, scores, leaders, standing(scores, leaders, profile.roll.weight))


def threshold_outcome(
    roll: Roll, scores: Mapping[str, Weight], enough: Callable[[Fraction], bool], asked: str, of: str = "cast"
) -> Outcome:
    """Create the outcome of a threshold rule: the leader passes if its share of votes, or of all ballots, is enough.

    Args:
        roll: Who voted.
        scores: The votes of each option.
        enough: Function that checks whether a share is enough.
        asked: The threshold, in words.
        of: `"cast"` for the share of the votes that count, `"seats"` for the share of all ballots that have weight.
    """
    leaders = leading(scores)
    total, unit = (roll.weight, "votes") if of == "cast" else (roll.seats, "seats")
    words = standing(scores, leaders, total, unit)
    if not leaders:
        return Outcome(roll, scores, leaders, "nobody voted", passes=False)
    first, *others = leaders
    if enough(Fraction(scores[first]) / total):
        return Outcome(roll, scores, leaders, f"{words}, {asked}")
    lead = words if others else f"{roll.labels[first]} leads with {words}"
    return Outcome(roll, scores, leaders, f"{lead}, not {asked}", passes=False)


def share_of(parameters: Parameters) -> str:
    """Return the base of shares: `"cast"` for the votes cast, `"seats"` for all ballots."""
    return parameters.one_of("of", "cast", "seats")


def _majority(ballots: Electorate, parameters: Parameters) -> Outcome:
    of = share_of(parameters)
    profile = ballots.read(first_places)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part > HALF, "more than half", of)


def _supermajority(ballots: Electorate, parameters: Parameters) -> Outcome:
    q, of = parameters.share("q"), share_of(parameters)
    profile = ballots.read(first_places)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part >= q, f"at least {q}", of)


def _unanimity(ballots: Electorate, parameters: Parameters) -> Outcome:
    of = share_of(parameters)
    profile = ballots.read(first_places)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part == 1, "all of them", of)


def _hybrid(ballots: Electorate, parameters: Parameters) -> Outcome:
    turn, turns = parameters.whole("turn", 1), parameters.whole("turns")
    small, q, of = parameters.whole("small"), parameters.share("q"), share_of(parameters)
    profile = ballots.read(first_places)
    if turn <= turns or profile.roll.cast <= small:
        why = f"required until turn {turns}" if turn <= turns else f"required for at most {small} voters"
        asked, least = f"all of them ({why})", Fraction(1)
    else:
        asked, least = f"at least {q} (from turn {turns + 1} on)", q
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part >= least, asked, of)


def _random_dictator(ballots: Electorate, parameters: Parameters) -> Outcome:
    seed = parameters.whole("seed")
    profile = ballots.read(first_places)
    scores = tally_first_places(profile)
    # One draw over the options in their canonical order, so the order of ballots does not matter.
    remaining = Fraction(random.Random(seed).random()) * profile.roll.weight
    for option, score in scores.items():
        remaining -= score
        if remaining < 0:
            chance = standing(scores, (option,), profile.roll.weight)
            return Outcome(profile.roll, scores, (option,), f"drawn at random with seed {seed}, for {chance}")
    return Outcome(profile.roll, scores, (), standing(scores, (), profile.roll.weight))


CHOICE_RULES = (
    Rule(
        "plurality",
        _plurality,
        "most first places",
        score_meaning=VOTES,
    ),
    Rule(
        "majority",
        _majority,
        "more than half of the first places",
        {"of": "cast"},
        ("simple-majority", "strict-majority"),
        score_meaning=VOTES,
    ),
    Rule(
        "supermajority",
        _supermajority,
        "at least a share q of the first places",
        {"q": TWO_THIRDS, "of": "cast"},
        ("qualified-majority",),
        score_meaning=VOTES,
    ),
    Rule(
        "unanimity",
        _unanimity,
        "all first places",
        {"of": "cast"},
        ("unanimous", "consensus"),
        score_meaning=VOTES,
    ),
    Rule(
        "hybrid",
        _hybrid,
        "unanimity in the first turns or with few voters, else a supermajority q",
        {"turn": 1, "turns": 5, "small": 3, "q": Fraction(3, 4), "of": "cast"},
        ("hybrid-majority",),
        score_meaning=VOTES,
    ),
    Rule(
        "random-dictator",
        _random_dictator,
        "the first place of a ballot drawn at random, a baseline",
        {"seed": 0},
        ("lottery", "random-ballot"),
        score_meaning=VOTES,
    ),
)
"""Rules on first places."""
