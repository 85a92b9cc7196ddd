"""How a debate changes right answers, and how well confidence is calibrated, for questions whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.metrics.agreement import tally
from roundtable.metrics.dynamics import Positions
from roundtable.scoring.normalisation import Normalise, normaliser
from roundtable.scoring.numbers import Measure, Number, share, whole

__all__ = [
    "Transitions",
    "brier_score",
    "expected_calibration_error",
    "jury_bound",
    "oracle_gap",
    "transitions",
]


@dataclass(frozen=True, slots=True)
class Transitions:
    """Numbers of agents by whether they are right before and after a debate. `+` adds up the numbers of debates.

    Example:
        >>> (Transitions(wrong_to_right=1) + Transitions(wrong_to_right=2)).wrong_to_right
        3
    """

    kept_right: int = 0
    """Right before and after."""
    right_to_wrong: int = 0
    """Right before, wrong after."""
    wrong_to_right: int = 0
    """Wrong before, right after."""
    kept_wrong: int = 0
    """Wrong before and after, with the same wrong answer or another one."""

    def __add__(self, other: Transitions) -> Transitions:
        """Add up the numbers of two debates."""
        return Transitions(
            self.kept_right + other.kept_right,
            self.right_to_wrong + other.right_to_wrong,
            self.wrong_to_right + other.wrong_to_right,
            self.kept_wrong + other.kept_wrong,
        )

    @property
    def vulnerability(self) -> Measure:
        """P(wrong after | right before), in [0, 1], exact; undefined when nobody was right before."""
        was_right = self.kept_right + self.right_to_wrong
        if not was_right:
            return Measure(None, "nobody was right before")
        return Measure(Fraction(self.right_to_wrong, was_right))

    @property
    def correction(self) -> Measure:
        """P(right after | wrong before), in [0, 1], exact; undefined when nobody was wrong before."""
        was_wrong = self.kept_wrong + self.wrong_to_right
        if not was_wrong:
            return Measure(None, "nobody was wrong before")
        return Measure(Fraction(self.wrong_to_right, was_wrong))


def transitions(before: Positions, after: Positions, gold: str, *, normalise: Normalise = "casefold") -> Transitions:
    """Count how many agents are right before and after; agents without an answer in one of the rounds are left out.

    Args:
        before: Agent to answer in one round.
        after: Agent to answer in a later round.
        gold: The right answer.
        normalise: How spellings are compared to find out which are the same answer.

    Example:
        >>> transitions({"ada": "4", "bo": "5"}, {"ada": "4.0", "bo": "4"}, "4", normalise="numeric")
        Transitions(kept_right=1, right_to_wrong=0, wrong_to_right=1, kept_wrong=0)
    """
    key_of = normaliser(normalise)
    right = key_of(gold)
    pairs = [(old, after.get(agent)) for agent, old in before.items()]
    rightness = [
        (key_of(old) == right, key_of(new) == right) for old, new in pairs if old is not None and new is not None
    ]
    return Transitions(
        rightness.count((True, True)),
        rightness.count((True, False)),
        rightness.count((False, True)),
        rightness.count((False, False)),
    )


def oracle_gap(
    answers: Iterable[Sequence[str | None]], gold: Iterable[str], *, normalise: Normalise = "casefold"
) -> Measure:
    """Measure what a perfect chooser would gain over the vote.

    It is the share of questions for which any agent is right, minus the share for which the vote is right. The vote is
    by plurality; a tie is not right, even if the right answer is among the tied ones. Range: [0, 1], exact, no unit;
    the figures contain both shares (`oracle` and `vote`). Undefined without questions. Source: arXiv 2605.00914.

    Args:
        answers: For each question, the answers of the agents; `None` for a missing answer.
        gold: The right answer to each question.
        normalise: How spellings are compared to find out which are the same answer.

    Raises:
        ConfigurationError: There are not as many gold answers as questions.

    Example:
        >>> oracle_gap([["4", "5", "5"], ["7", "7", "8"]], ["4", "7"]).value
        Fraction(1, 2)
    """
    questions, truths = list(answers), list(gold)
    if len(questions) != len(truths):
        raise ConfigurationError(
            f"each question needs one gold answer: {counted(len(questions), 'question')}, but {len(truths)}"
        )
    if not questions:
        return Measure(None, "there are no questions")
    key_of = normaliser(normalise)
    any_right = vote_right = 0
    for question_answers, truth in zip(questions, truths, strict=True):
        counts, right = tally(question_answers, normalise), key_of(truth)
        any_right += right in counts
        most = max(counts.values(), default=0)
        vote_right += [key for key, count in counts.items() if count == most] == [right]
    oracle, vote = Fraction(any_right, len(questions)), Fraction(vote_right, len(questions))
    return Measure(oracle - vote, figures={"oracle": oracle, "vote": vote})


def _forecasts(probabilities: Sequence[Number], outcomes: Sequence[bool | int]) -> list[tuple[Fraction, int]]:
    if len(probabilities) != len(outcomes):
        given = counted(len(probabilities), "probability", "probabilities")
        raise ConfigurationError(f"each probability needs one outcome: {given}, but {len(outcomes)}")
    if any(outcome not in (0, 1) for outcome in outcomes):
        raise ConfigurationError("an outcome must be True or False")
    shares = [share(probability, "a probability") for probability in probabilities]
    return list(zip(shares, map(int, outcomes), strict=True))


def brier_score(probabilities: Sequence[Number], outcomes: Sequence[bool | int]) -> Measure:
    """Compare forecasts with what happened: the mean of `(p - o)^2` over binary outcomes o.

    Range: [0, 1], exact, no unit; 0 is perfect, and forecasts that are always 0.5 have a score of 1/4. Undefined
    without forecasts.
    Source: G. Brier, Monthly Weather Review 78 (1950), binary form.

    Args:
        probabilities: Forecast probability of each event, in [0, 1].
        outcomes: Whether each event happened.

    Raises:
        ConfigurationError: Lengths differ, or a probability or an outcome is not valid.

    Example:
        >>> brier_score([0.9, 0.4], [True, False]).value
        Fraction(17, 200)
    """
    forecasts = _forecasts(probabilities, outcomes)
    if not forecasts:
        return Measure(None, "there are no forecasts")
    return Measure(sum(((p - o) ** 2 for p, o in forecasts), Fraction(0)) / len(forecasts))


def expected_calibration_error(
    probabilities: Sequence[Number], outcomes: Sequence[bool | int], *, bins: int = 10
) -> Measure:
    """Measure the distance of confidence from the share of successes: `ECE = sum n_b / n |mean outcome - mean p|`.

    Bins have equal width and include their lower bound: [0, 1/B), [1/B, 2/B), ...; the last bin also includes 1. Range:
    [0, 1], exact, no unit; 0 is perfectly calibrated. The value depends on the number of bins; `figures["bins"]` is the
    number of bins with a forecast. Undefined without forecasts. Source: M. Naeini, G. Cooper and M. Hauskrecht, AAAI
    2015.

    Args:
        probabilities: Confidence in [0, 1].
        outcomes: Whether the answer was right.
        bins: Number of bins B, at least 1.

    Raises:
        ConfigurationError: Lengths differ, or a probability, an outcome or the number of bins is not valid.

    Example:
        >>> expected_calibration_error([0.9, 0.9], [True, False]).value
        Fraction(2, 5)
    """
    bins = whole(bins, "the number of bins", 1)
    forecasts = _forecasts(probabilities, outcomes)
    if not forecasts:
        return Measure(None, "there are no forecasts")
    gaps: dict[int, Fraction] = {}
    for p, o in forecasts:
        number = min(int(p * bins), bins - 1)
        gaps[number] = gaps.get(number, Fraction(0)) + o - p
    return Measure(sum(map(abs, gaps.values()), Fraction(0)) / len(forecasts), figures={"bins": len(gaps)})


def jury_bound(voters: int, accuracy: Number, *, correlation: Number = 0) -> Measure:
    """Return the probability that a majority of voters is right: `sum over k > n/2 of P(k of n right)`.

    The number of right votes is binomial if votes are independent, else beta-binomial with pairwise correlation rho.
    With an even number of voters, a tie is not right. Range: [0, 1], exact, no unit; with rho = 1, it is the accuracy
    of one voter. Source: Condorcet (1785); K. Ladha, Am. J. Polit. Sci. 36 (1992).

    Args:
        voters: Number n of voters, at least 1.
        accuracy: Probability p that one voter is right.
        correlation: Pairwise correlation rho of the votes, in [0, 1].

    Raises:
        ConfigurationError: A number is out of range.

    Example:
        >>> float(jury_bound(3, 0.6)), float(jury_bound(3, 0.6, correlation=1))
        (0.648, 0.6)
    """
    voters = whole(voters, "the number of voters", 1)
    p, rho = share(accuracy, "accuracy"), share(correlation, "correlation")
    if rho == 1:
        return Measure(p)
    # Integers over one common denominator are fast; as fractions, each of the many terms would be reduced.
    right, wrong = p * (1 - rho), (1 - p) * (1 - rho)
    unit = math.lcm(right.denominator, wrong.denominator, rho.denominator)
    a, b, r = int(right * unit), int(wrong * unit), int(rho * unit)
    if a == 0:
        return Measure(Fraction(0))
    # The term of k voters is `C(n, k) a (a + r) ... b (b + r) ...`, with k factors of a and n - k of b. Each term is
    # computed from the next one, and the divisions have no remainder.
    total = term = _rising(a, r, voters)
    for k in range(voters - 1, voters // 2, -1):
        term = term * (k + 1) * (b + (voters - k - 1) * r) // ((voters - k) * (a + k * r))
        total += term
    return Measure(Fraction(total, _rising(a + b, r, voters)))


def _rising(start: int, step: int, count: int) -> int:
    return math.prod(start + number * step for number in range(count))
