"""Rules that read more than votes: predictions of others, trajectories, verdicts of judges."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from roundtable.core.base.words import amount
from roundtable.scoring.ballot_forms import FirstPlaces, Grades, in_order, is_abstention, shares
from roundtable.scoring.ballots import Ballot, Choice, Prediction, Trajectory, Verdict
from roundtable.scoring.electorate import Electorate, InvalidBallot, KeyOf, Profile, Reading, Weight
from roundtable.scoring.outcome import Judges, Outcome, Parameters, Rule, ScoreMeaning
from roundtable.scoring.rules.choice import HALF, share_of, tally_first_places, threshold_outcome

__all__ = ["OTHER_RULES"]


Predicted: TypeAlias = tuple[str, Grades]
"""A vote, and the share of votes that its voter expects for each option."""

Path: TypeAlias = tuple[str | None, ...]
"""A voter's answer in each round."""


def _prediction(ballot: Ballot, key_of: KeyOf) -> Predicted | None:
    if is_abstention(ballot):
        return None
    if not isinstance(ballot, Prediction):
        raise InvalidBallot("it does not predict the others' votes")
    return key_of(ballot.option), shares(ballot.predicted, key_of)


def _surprisingly_popular(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(_prediction)
    roll = profile.roll
    if not roll.cast:
        return Outcome(roll, {}, (), "nobody voted with a prediction")
    scores: dict[str, Fraction] = dict.fromkeys(roll.options, Fraction(0))
    for vote in profile.votes:
        chosen, predicted = vote.form
        scores[chosen] += Fraction(vote.weight) / roll.weight
        for option, share in predicted.items():
            scores[option] -= share * vote.weight / roll.weight
    chosen_by_some = {vote.form[0] for vote in profile.votes}
    best = max(scores[option] for option in chosen_by_some)
    leaders = tuple(option for option in roll.options if option in chosen_by_some and scores[option] == best)
    return Outcome(roll, scores, leaders, f"share of votes minus predicted share {float(best):+.6g}")


def _trajectory(ballot: Ballot, key_of: KeyOf) -> Path | None:
    if is_abstention(ballot):
        return None
    match ballot:
        case Trajectory():
            answers: Sequence[object] = ballot.options
        case list() | tuple():
            answers = ballot
        case str():
            answers = (ballot,)
        case _:
            raise InvalidBallot("it is not a list with one answer per round")
    path = tuple(None if answer is None else key_of(answer) for answer in answers)
    return None if all(answer is None for answer in path) else path


def _free_mad(ballots: Electorate, parameters: Parameters) -> Outcome:
    initial, leave = parameters.number("initial"), parameters.number("leave")
    adopt, keep = parameters.number("adopt"), parameters.number("keep")
    profile = ballots.read(_trajectory)
    raw: dict[str, Fraction] = dict.fromkeys(profile.roll.options, Fraction(0))
    supporters: dict[str, Weight] = dict.fromkeys(profile.roll.options, 0)
    for vote in profile.votes:
        previous: str | None = None
        for number, answer in enumerate(vote.form):
            if answer is None:
                continue
            weight = Fraction(vote.weight) / (number + 1)
            if previous is None:
                raw[answer] += initial * weight
            elif answer == previous:
                raw[answer] += keep * weight
            else:
                raw[previous] -= leave * weight
                raw[answer] += adopt * weight
            previous = answer
        for answer in set(vote.form) - {None}:
            supporters[str(answer)] += vote.weight
    scores = {option: score / supporters[option] for option, score in raw.items() if supporters[option]}
    if not scores:
        return Outcome(profile.roll, scores, (), "nobody answered")
    best = max(scores.values())
    leaders = tuple(option for option, score in scores.items() if score == best)
    return Outcome(profile.roll, scores, leaders, f"trajectory score {amount(best)} for each supporter")


def _verdict(recuse: str) -> Reading[FirstPlaces]:
    def read(ballot: Ballot, key_of: KeyOf) -> FirstPlaces | None:
        if isinstance(ballot, Choice | str):
            ballot = Verdict(ballot if isinstance(ballot, str) else ballot.option)
        if is_abstention(ballot):
            return None
        if not isinstance(ballot, Verdict):
            raise InvalidBallot("it is not a verdict")
        if ballot.option is None:
            return None
        option = key_of(ballot.option)
        if ballot.swapped is not None and key_of(ballot.swapped) != option:
            raise InvalidBallot("the verdict changes with the order in which the options are shown")
        own = {key_of(name) for name in in_order(ballot.own)}
        if own and recuse == "judge":
            raise InvalidBallot("the judge's own family wrote one of the options")
        if option in own:
            raise InvalidBallot("the judge chose an option of its own family")
        return (option,)

    return read


def _verdicts(ballots: Electorate, parameters: Parameters) -> Profile[FirstPlaces]:
    return ballots.read(_verdict(parameters.one_of("recuse", "vote", "judge")))


def _judge(ballots: Electorate, parameters: Parameters) -> Outcome:
    profile = _verdicts(ballots, parameters)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part == 1, "all of them")


def _panel(ballots: Electorate, parameters: Parameters) -> Outcome:
    of = share_of(parameters)
    profile = _verdicts(ballots, parameters)
    return threshold_outcome(profile.roll, tally_first_places(profile), lambda part: part > HALF, "more than half", of)


RECUSAL = {"recuse": "vote"}
_VERDICTS = ScoreMeaning("votes of judges for it", share_of="scores")

OTHER_RULES = (
    Rule(
        "surprisingly-popular",
        _surprisingly_popular,
        "the choice whose share of votes exceeds its predicted share the most",
        score_meaning=ScoreMeaning("its share of votes minus the share predicted for it"),
    ),
    Rule(
        "free-mad",
        _free_mad,
        "answers scored along each voter's path through the rounds",
        {"initial": 20, "leave": 25, "adopt": 30, "keep": 20},
        ("trajectory", "freemad"),
        score_meaning=ScoreMeaning("its trajectory score for each supporter"),
    ),
    Rule(
        "judge",
        _judge,
        "the verdict of one judge; several verdicts must agree",
        RECUSAL,
        judges=Judges(most=1, counted_by="majority"),
        score_meaning=_VERDICTS,
    ),
    Rule(
        "judge-panel",
        _panel,
        "more than half of the judges",
        {**RECUSAL, "of": "cast"},
        ("jury", "panel"),
        judges=Judges(least=2, counted_by="majority"),
        score_meaning=_VERDICTS,
    ),
)
"""Rules on predictions, trajectories and verdicts."""
