"""Rules that pool distributions: linear and logarithmic opinion pools, soft vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

from roundtable.scoring.ballots import Ballot, Choice
from roundtable.scoring.electorate import Electorate, InvalidBallot, KeyOf, Profile, Roll
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.readings import Grades, distribution, number_of
from roundtable.scoring.rules.choices import leading
from roundtable.scoring.rules.weighted import DIGITS, highest, weighed_logarithms
from roundtable.scoring.words import amount

__all__ = ["POOL_RULES"]

Sure: TypeAlias = tuple[str, Fraction]
"""An option and the confidence in it."""


def _pooled(roll: Roll, sums: Mapping[str, Weight]) -> Outcome:
    if not roll.cast:
        return Outcome(roll, {}, (), "nobody gave a distribution")
    scores = {option: Fraction(mass) / roll.weight for option, mass in sums.items()}
    leaders = leading(scores)
    return Outcome(roll, scores, leaders, f"pooled probability {amount(scores[leaders[0]])}")


def _linear(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(distribution)
    sums: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        for option, probability in vote.form.items():
            sums[option] += probability * vote.weight
    return _pooled(profile.roll, sums)


def _log_pool(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(distribution)
    roll = profile.roll
    with localcontext(prec=DIGITS):
        logs: dict[str, Decimal] = {}
        for option in roll.options:
            given = [
                (vote.form.get(option, Fraction(0)), Fraction(vote.weight) / roll.weight) for vote in profile.votes
            ]
            # One voter who rules an option out rules it out for all.
            if all(probability for probability, _ in given):
                logs[option] = weighed_logarithms(given)
        leaders = highest(logs)
        best = max(logs.values(), default=Decimal(0))
        means = {option: (log - best).exp() for option, log in logs.items()}
        total = sum(means.values())
        scores = {option: float(means[option] / total) if option in means else 0.0 for option in roll.options}
    if not leaders or not roll.cast:
        why = "every option is ruled out by somebody" if roll.cast else "nobody gave a distribution"
        return Outcome(roll, scores if roll.cast else {}, (), why)
    return Outcome(roll, scores, leaders, f"pooled probability {amount(scores[leaders[0]])}")


def _soft(ballot: Ballot, key_of: KeyOf) -> Grades | Sure | None:
    if not isinstance(ballot, Choice):
        return distribution(ballot, key_of)
    if ballot.option is None:
        return None
    if ballot.confidence is None:
        raise InvalidBallot("it reports no confidence")
    confidence = number_of(ballot.confidence, "its confidence")
    if not 0 <= confidence <= 1:
        raise InvalidBallot(f"its confidence must lie in [0, 1], not be {amount(confidence)}")
    return key_of(ballot.option), confidence


def _spread(chosen: str, confidence: Fraction, options: Sequence[str]) -> Grades:
    """Leave what a voter is not sure of to the other options equally; a lone option gets all."""
    others = len(options) - 1
    if not others:
        return {chosen: Fraction(1)}
    return {option: confidence if option == chosen else (1 - confidence) / others for option in options}


def _soft_vote(ballots: Electorate, _: Parameters) -> Outcome:
    profile: Profile[Grades | Sure] = ballots.read(_soft)
    options = profile.roll.options
    sums: dict[str, Weight] = dict.fromkeys(options, 0)
    for vote in profile.votes:
        spread = vote.form if isinstance(vote.form, Mapping) else _spread(*vote.form, options)
        for option, probability in spread.items():
            sums[option] += probability * vote.weight
    return _pooled(profile.roll, sums)


POOL_RULES = (
    Rule("linear-pool", _linear, "highest mean probability", aliases=("linear-opinion-pool",)),
    Rule(
        "log-pool",
        _log_pool,
        "highest geometric mean of probabilities",
        aliases=("log-opinion-pool", "logarithmic-pool"),
    ),
    Rule(
        "soft-vote",
        _soft_vote,
        "highest mean probability; a choice with a confidence leaves the rest to the other options equally",
        aliases=("soft",),
    ),
)
"""The rules of this module."""
