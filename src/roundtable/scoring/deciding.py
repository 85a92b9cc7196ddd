"""From ballots to a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.scoring.ballots import Ballot
from roundtable.scoring.electorate import Electorate, Roll
from roundtable.scoring.measure import Figure
from roundtable.scoring.outcome import Outcome, Parameters, ParameterValue, Rule
from roundtable.scoring.precise import Number, share
from roundtable.scoring.readings import first_places
from roundtable.scoring.spelling import Normalise
from roundtable.scoring.words import counted, listing
from roundtable.types import Decision

__all__ = ["TieRule", "decide"]

TieRule: TypeAlias = Literal["declare", "first"] | Callable[[tuple[str, ...]], str | None]
"""What happens on a tie: say so; take the option that comes first; or a function from the tied options to one of
them or `None`."""


def decide(
    ballots: Iterable[Ballot],
    *,
    rule: str | Rule = "plurality",
    tie: TieRule = "declare",
    quorum: Number | None = None,
    weights: Sequence[Number] | None = None,
    options: Iterable[str] | None = None,
    normalise: Normalise = "casefold",
    rules: Registry[Rule] | None = None,
    **parameters: ParameterValue,
) -> Decision:
    """Decide by a rule. Exact, free of randomness, and the order of ballots never matters unless `tie="first"`.

    Bad ballots are named in the decision, never raised; a number of a ballot beyond 1e100 is a bad one. A deadlock is a
    result.

    Args:
        ballots: One per voter: text (choice), list (ranking, ties as inner lists), set (approval), dict (scores),
            `None` (abstains), or a typed ballot.
        rule: Name of a rule, also with its parameters as in `"supermajority(3/4)"`, or a rule of your own.
        tie: `"declare"` leaves a tie standing; `"first"` takes the tied option that comes first in `options`, or
            without them the one that the ballots name first; a function is given the tied options.
        quorum: Ballots that must count: an int is a number, anything else a share in [0, 1] of all ballots.
        weights: One number from 0 to 1e100 per ballot, no unit; scaling all changes no winner. Weight 0 is absent.
        options: The options there are; a ballot for another is invalid. `None` takes those that are named.
        normalise: When two spellings name one option: `"casefold"`, `"exact"`, `"numeric"` or a function.
        rules: Where to look for the rule; `None` knows the built-in ones.
        parameters: Parameters of the rule, such as `q` of `supermajority`.

    Returns:
        The decision, with everything it rests on and `why` in words.

    Raises:
        ConfigurationError: The call itself is wrong: an unknown rule or parameter, weights or options that do not fit.

    Example:
        >>> decision = decide(["Tea", "tea.", "coffee", None])
        >>> decision.winner, decision.abstained
        ('Tea', (3,))
        >>> decide(["a", "a", "b", "b"], rule="majority").is_tie
        True
        >>> decide(["a", "A"]).is_unanimous, decide(["a", None]).is_unanimous
        (True, False)
    """
    # The rules are many modules: they are loaded when something is first decided.
    from roundtable.scoring.rules import find_rule

    _check_call(rule, tie)
    found, given = (rule, {}) if isinstance(rule, Rule) else find_rule(rule, rules)
    chosen = Parameters(found.name, found.parameters, {**given, **parameters})
    electorate = Electorate(ballots, weights=weights, options=options, normalise=normalise)
    outcome = found.count(electorate, chosen)
    needed = _needed(quorum, outcome.roll.ballots)
    return _decision(found.name, chosen, outcome, needed, tie, is_unanimous=_is_unanimous(electorate, outcome.roll))


def _is_unanimous(electorate: Electorate, roll: Roll) -> bool:
    profile = electorate.read(first_places)
    if min(profile.roll.cast, roll.cast) < roll.ballots:
        return False
    tops = {vote.form for vote in profile.votes}
    return len(tops) == 1 and len(tops.pop()) == 1


def _check_call(rule: object, tie: object) -> None:
    """Refuse what is no rule, and a tie rule that there is not, whether there will be a tie or not."""
    if not isinstance(rule, Rule | str):
        msg = f"rule must be the name of a rule, or a Rule, not {rule!r}"
        raise ConfigurationError(msg, hint="Write rule='plurality', for one.")
    if not callable(tie) and tie not in ("declare", "first"):
        msg = f"tie must be 'declare', 'first' or a function, not {tie!r}"
        raise ConfigurationError(msg, hint="Leave tie out to have a tie declared.")


def _needed(quorum: Number | None, ballots: int) -> Fraction:
    if quorum is None:
        return Fraction(0)
    if isinstance(quorum, int):
        if isinstance(quorum, bool) or quorum < 0:
            raise ConfigurationError(f"quorum must be a number of ballots or a share in [0, 1], not {quorum!r}")
        return Fraction(quorum)
    return share(quorum, "quorum") * ballots


def _decision(
    rule: str, parameters: Parameters, outcome: Outcome, needed: Fraction, tie: TieRule, *, is_unanimous: bool
) -> Decision:
    roll = outcome.roll
    quorum_met = roll.cast >= needed
    standing = outcome.leaders if quorum_met else ()
    tied = standing if len(standing) > 1 else ()
    picked = _break_tie(tie, tied, roll) if tied else None
    if picked is not None:
        standing = (picked,)
    winners = standing if outcome.passes else ()
    return Decision(
        rule=rule,
        parameters=parameters.to_json(),
        winners=roll.names(winners),
        is_tie=len(standing) > 1,
        passed=len(winners) == 1,
        is_unanimous=is_unanimous,
        quorum_met=quorum_met,
        tied=roll.names(tied),
        scores=_labelled(roll, outcome.scores),
        margins=_labelled(roll, _margins(outcome.scores)),
        pairwise={roll.labels[one]: _labelled(roll, row) for one, row in outcome.pairwise.items()},
        rounds=tuple(_labelled(roll, tally) for tally in outcome.rounds),
        cast=roll.cast,
        abstained=roll.abstained,
        invalid=roll.invalid,
        mapping=roll.mapping,
        why=_why(outcome, standing, winners, picked, needed),
    )


def _break_tie(tie: TieRule, tied: tuple[str, ...], roll: Roll) -> str | None:
    if callable(tie):
        labels = roll.names(tied)
        label = tie(labels)
        if label is not None and label not in labels:
            raise ConfigurationError(f"the tie rule must pick one of {listing(labels)} or None, not {label!r}")
        return next((key for key in tied if roll.labels[key] == label), None)
    return min(tied, key=roll.appearance.index) if tie == "first" else None


def _labelled(roll: Roll, figures: Mapping[str, Figure]) -> dict[str, float]:
    return {roll.labels[key]: float(figures[key]) for key in roll.options if key in figures}


def _margins(scores: Mapping[str, Figure]) -> dict[str, Figure]:
    """Give each option's lead over the best other one; with one option there is nothing to lead over."""
    ranked = sorted(scores.values(), reverse=True)
    if len(ranked) < 2:
        return {}
    best, second = ranked[:2]
    return {key: score - (second if score == best else best) for key, score in scores.items()}


def _why(
    outcome: Outcome, standing: tuple[str, ...], winners: tuple[str, ...], picked: str | None, needed: Fraction
) -> str:
    roll = outcome.roll
    parts = [outcome.why]
    if picked is not None:
        parts.append(f"the tie rule picks {roll.labels[picked]}")
    if roll.cast < needed:
        parts.append(f"quorum is not met: {counted(roll.cast, 'ballot')} of {roll.ballots} count, {needed} needed")
    if roll.abstained:
        parts.append(f"{len(roll.abstained)} abstained")
    if roll.invalid:
        place, reason = next(iter(roll.invalid.items()))
        parts.append(f"{counted(len(roll.invalid), 'ballot is', 'ballots are')} invalid (number {place}: {reason})")
    head = f"tie between {listing(roll.names(standing))}" if len(standing) > 1 else "no decision"
    if len(winners) == 1:
        head = f"{roll.labels[winners[0]]} wins"
    return f"{head}: {'; '.join(parts)}."
