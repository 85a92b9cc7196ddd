"""Rules that weight votes or pool probabilities: confidence-weighted vote, log odds, linear and logarithmic pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

from roundtable.core.base.words import amount
from roundtable.scoring.ballot_forms import Grades, distribution, first_places, number_of
from roundtable.scoring.ballots import Ballot, Choice
from roundtable.scoring.electorate import Electorate, InvalidBallot, KeyOf, Profile, Roll, Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule, ScoreMeaning
from roundtable.scoring.rules.choice import leading, standing

__all__ = ["DIGITS", "POOL_RULES", "WEIGHTED_RULES", "highest", "reconcile_weight", "weighed_logarithms"]


Known: TypeAlias = tuple[str, Fraction]
"""An option, and the voter's confidence or accuracy."""

DIGITS = 50
TOLERANCE = Decimal("1e-40")
"""Sums of logarithms have 50 significant digits; two sums that differ by at most this tolerance count as equal."""


def _confident(ballot: Ballot, key_of: KeyOf) -> Known | None:
    tops = first_places(ballot, key_of)
    return None if tops is None else (tops[0], _confidence(ballot))


def _confidence(ballot: Ballot) -> Fraction:
    if not isinstance(ballot, Choice) or ballot.confidence is None:
        raise InvalidBallot("it reports no confidence")
    confidence = number_of(ballot.confidence, "its confidence")
    if not 0 <= confidence <= 1:
        raise InvalidBallot(f"its confidence must lie in [0, 1], not be {amount(confidence)}")
    return confidence


def reconcile_weight(confidence: Fraction) -> Fraction:
    """Return the weight that ReConcile's step function gives a confidence in [0, 1].

    The weight is 0.1 for a confidence up to 0.6, then 0.3 for one below 0.8, 0.5 below 0.9, 0.8 below 1, and 1 for a
    confidence of 1.

    Source: Chen, Saha and Bansal, ACL 2024 (arXiv 2309.13007), as in the authors' code.

    Example:
        >>> reconcile_weight(Fraction(3, 5)), reconcile_weight(Fraction(9, 10))
        (Fraction(1, 10), Fraction(4, 5))
    """
    if confidence <= Fraction(3, 5):
        return Fraction(1, 10)
    for below, weight in ((Fraction(4, 5), 3), (Fraction(9, 10), 5), (Fraction(1), 8)):
        if confidence < below:
            return Fraction(weight, 10)
    return Fraction(1)


def _weigh(profile: Profile[Known], weight_of: Callable[[Fraction], Fraction]) -> dict[str, Weight]:
    scores: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        option, number = vote.form
        scores[option] += weight_of(number) * vote.weight
    return scores


def _by_confidence(ballots: Electorate, weight_of: Callable[[Fraction], Fraction]) -> Outcome:
    profile = ballots.read(_confident)
    scores = _weigh(profile, weight_of)
    leaders = leading(scores)
    total = sum(scores.values())
    if not leaders:
        why = "all weights are 0" if profile.votes else "nobody voted with a confidence"
        return Outcome(profile.roll, scores, (), why)
    return Outcome(profile.roll, scores, leaders, standing(scores, leaders, total, "weight"))


def _accurate(ballot: Ballot, key_of: KeyOf) -> Known | None:
    tops = first_places(ballot, key_of)
    if tops is None:
        return None
    if not isinstance(ballot, Choice) or ballot.accuracy is None:
        raise InvalidBallot("its voter's accuracy is not known")
    accuracy = number_of(ballot.accuracy, "its voter's accuracy")
    if not 0 < accuracy < 1:
        raise InvalidBallot(f"its voter's accuracy must lie strictly between 0 and 1, not be {amount(accuracy)}")
    return tops[0], accuracy


def weighed_logarithms(terms: Iterable[tuple[Fraction, Fraction]]) -> Decimal:
    """Add up the natural logarithms of positive fractions, each times its weight, in the decimal context's precision.

    The sum does not depend on the order of the terms. A sum within the tolerance of 0 is returned as 0.

    Example:
        >>> weighed_logarithms([(Fraction(9), Fraction(1, 2)), (Fraction(1, 3), Fraction(1))])
        Decimal('0')
    """
    total = Decimal(0)
    for value, weight in sorted(terms):
        total += (Decimal(value.numerator) / value.denominator).ln() * weight.numerator / weight.denominator
    return Decimal(0) if abs(total) <= TOLERANCE else total


def highest(scores: Mapping[str, Decimal]) -> tuple[str, ...]:
    """Return the options whose score is within the tolerance of the highest score."""
    best = max(scores.values(), default=Decimal(0))
    return tuple(option for option, score in scores.items() if score == best or best - score <= TOLERANCE)


def _log_odds(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(_accurate)
    roll = profile.roll
    with localcontext(prec=DIGITS):
        terms: dict[str, list[tuple[Fraction, Fraction]]] = {option: [] for option in roll.options}
        for vote in profile.votes:
            option, accuracy = vote.form
            terms[option].append((accuracy / (1 - accuracy), Fraction(vote.weight)))
        scores = {option: weighed_logarithms(option_terms) for option, option_terms in terms.items()}
        leaders = highest(scores)
    figures = {option: float(score) for option, score in scores.items()}
    if all(accuracy * 2 == 1 for _, accuracy in (vote.form for vote in profile.votes)):
        why = "all weights are 0" if profile.votes else "nobody with a known accuracy voted"
        return Outcome(roll, figures, (), why)
    return Outcome(roll, figures, leaders, f"log-odds {amount(figures[leaders[0]])}")


_WEIGHTED = ScoreMeaning("its votes, weighted by confidence", share_of="scores")
_POOLED = ScoreMeaning("its pooled probability", share_of="one")

WEIGHTED_RULES = (
    Rule(
        "confidence-weighted",
        lambda ballots, _: _by_confidence(ballots, lambda confidence: confidence),
        "first places weighed by reported confidence",
        aliases=("confidence", "weighted"),
        score_meaning=_WEIGHTED,
    ),
    Rule(
        "reconcile",
        lambda ballots, _: _by_confidence(ballots, reconcile_weight),
        "first places weighed by reported confidence in ReConcile's steps",
        aliases=("reconcile-steps", "confidence-steps"),
        score_meaning=_WEIGHTED,
    ),
    Rule(
        "log-odds",
        _log_odds,
        "first places weighed by ln(p / (1 - p)) of the voter's accuracy p",
        aliases=("log-odds-weighted",),
        score_meaning=ScoreMeaning("its log-odds, from the accuracy of its voters"),
    ),
)
"""Rules that weight first places."""


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
            probabilities = [
                (vote.form.get(option, Fraction(0)), Fraction(vote.weight) / roll.weight) for vote in profile.votes
            ]
            # If one voter gives an option the probability 0, its geometric mean is 0.
            if all(probability for probability, _ in probabilities):
                logs[option] = weighed_logarithms(probabilities)
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
    confidence = _confidence(ballot)
    return key_of(ballot.option), confidence


def _spread(chosen: str, confidence: Fraction, options: Sequence[str]) -> Grades:
    """Split the probability that a confidence leaves equally over the other options; a sole option gets all of it."""
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
    Rule(
        "linear-pool",
        _linear,
        "highest mean probability",
        aliases=("linear-opinion-pool",),
        score_meaning=_POOLED,
    ),
    Rule(
        "log-pool",
        _log_pool,
        "highest geometric mean of probabilities",
        aliases=("log-opinion-pool", "logarithmic-pool"),
        score_meaning=_POOLED,
    ),
    Rule(
        "soft-vote",
        _soft_vote,
        "highest mean probability; for a choice with a confidence, the other options share the rest equally",
        aliases=("soft",),
        score_meaning=_POOLED,
    ),
)
"""Rules that pool probabilities."""
