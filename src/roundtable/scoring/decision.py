"""From ballots to a decision: apply the rule, the quorum and the tie rule, and say why in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Real
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from roundtable.core.base.arguments import explains_arguments
from roundtable.core.base.registry import Registry
from roundtable.core.base.words import counted, is_list, listing, quoted
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.consensus import Decision
from roundtable.core.types.debate import RuleName
from roundtable.scoring.ballot_forms import first_places
from roundtable.scoring.ballots import Abstention, Ballot, Choice, Prediction, Scores, Trajectory, Verdict
from roundtable.scoring.electorate import Electorate, Roll
from roundtable.scoring.normalisation import Normalise
from roundtable.scoring.numbers import Figure, Number, exact, exact_or_none, share
from roundtable.scoring.outcome import Outcome, Parameters, ParameterValue, Rule
from roundtable.scoring.unread import adds_up, unread_in_words, unread_options, ways_to_vote, worst_ballots

__all__ = ["TieRule", "decide"]


TieRule: TypeAlias = Literal["declare", "first"] | Callable[[tuple[str, ...]], str | None]
"""What happens on a tie: `"declare"` reports the tie, `"first"` picks the tied option that comes first, and a function
returns one of the tied options, or `None` to report the tie."""

_NONE_UNREAD: Final[Mapping[int, str]] = MappingProxyType({})


@explains_arguments
def decide(
    ballots: Iterable[Ballot],
    *,
    rule: RuleName | Rule = "plurality",
    tie: TieRule = "declare",
    quorum: Number | None = None,
    weights: Sequence[Number] | None = None,
    options: Iterable[str] | None = None,
    normalise: Normalise = "casefold",
    rules: Registry[Rule] | None = None,
    voters: Sequence[str] | None = None,
    unread: Collection[str] = (),
    **parameters: ParameterValue,
) -> Decision:
    """Decide by a rule. Exact and deterministic; the order of ballots matters only with `tie="first"`.

    Invalid ballots are listed in the decision and never raise an error. A ballot with a number beyond 1e100 is invalid.
    A deadlock is a result, not an error.

    Args:
        ballots: One ballot per voter: a text (choice), a list (ranking, with ties as inner lists), a set (approval), a
            dict (scores), `None` (abstention), or a typed ballot.
        rule: A `Rule`, or the name of one, optionally with parameters as in `"supermajority(3/4)"`.
        tie: `"declare"` reports a tie. `"first"` picks the tied option that comes first in `options` or, without
            `options`, the tied option that the ballots name first (a set in alphabetical order). A function gets the
            tied options and returns one of them, or `None` to report the tie.
        quorum: How many ballots must count: an int is a number of ballots; any other number is a share in [0, 1] of all
            ballots. A float is read as the fraction it was computed from, so that `5/6` of six ballots is five.
        weights: One number from 0 to 1e100 per ballot, without a unit: multiplying all weights by the same number
            changes no winner. A ballot of weight 0 is ignored.
        options: All options; a ballot that names any other option is invalid. Options with one key of a built-in
            `normalise`, such as `CO` and `Co`, must be spelt exactly. `None` uses the options that
            the ballots name.
        normalise: How to find out whether two spellings name the same option: `"casefold"`, `"exact"`, `"numeric"`,
            `"open"` or a function; see `normalise`.
        rules: Registry in which to look up the rule; `None` for the built-in rules.
        voters: A different name for each ballot. With names, the decision lists abstentions and invalid ballots by
            voter name instead of by index.
        unread: Names of voters that gave a ballot that could not be read. Their ballots count for no option. If some
            ballots of these voters would have changed the outcome, there is no winner.
        parameters: Parameters of the rule, such as `q` of `supermajority`.

    Returns:
        The decision, with all the figures behind it and the reason in words in `why`.

    Raises:
        ConfigurationError: An argument is wrong: the rule or a parameter is unknown, or weights, options or voters are
            not valid.

    Example:
        >>> decision = decide(["Tea", "tea.", "coffee", None])
        >>> decision.winner, decision.abstained
        ('Tea', (3,))
        >>> decide(["a", "a", "b", "b"], rule="majority").is_tie
        True
        >>> decide(["a", None], voters=["ada", "bo"]).abstained
        ('bo',)
        >>> decide(["a", "A"]).is_unanimous, decide(["a", None]).is_unanimous
        (True, False)
        >>> decide(["a", "a", "b", None], voters=["ada", "bo", "cy", "di"], unread=["di"]).winner  # it may be for "b"
        >>> decide(["a", "a", None], voters=["ada", "bo", "cy"], unread=["cy"]).winner
        'a'
    """
    # The rules span many modules, so they are loaded at the first decision.
    from roundtable.scoring.rules import BUILTIN_RULES, find_rule

    _check_call(rule, tie)
    counting_rule, from_name = (rule, {}) if isinstance(rule, Rule) else find_rule(rule, rules)
    count = _Count(
        rule=counting_rule,
        parameters=Parameters(counting_rule.name, counting_rule.parameters, {**from_name, **parameters}),
        tie=tie,
        quorum=quorum,
        weights=list(weights) if weights is not None and is_list(weights) else weights,
        options=list(options) if options is not None and is_list(options) else options,
        normalise=normalise,
        voters=voters,
    )
    if not unread or not is_list(ballots):  # ballots that are not a list are refused there
        return count.decide(ballots)
    is_built_in = any(counting_rule is built_in for built_in in BUILTIN_RULES)
    return _decide_with_unread(count, list(ballots), unread, is_built_in=is_built_in)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """A decision before its ballots are known; see the arguments of `decide`."""

    rule: Rule
    parameters: Parameters
    tie: TieRule
    quorum: Number | None
    weights: Sequence[Number] | None
    options: Iterable[str] | None
    normalise: Normalise
    voters: Sequence[str] | None

    def decide(self, ballots: Iterable[Ballot], unread: Mapping[int, str] = _NONE_UNREAD) -> Decision:
        """Decide on ballots.

        Args:
            ballots: The ballots; those that could not be read are `None`.
            unread: Voters whose ballots could not be read, by index.
        """
        electorate = Electorate(ballots, weights=self.weights, options=self.options, normalise=self.normalise)
        names = _names(self.voters, electorate.size)
        outcome = _check_outcome(self.rule.count(electorate, self.parameters), self.rule.name)
        quorum_ballots = _quorum_ballots(self.quorum, outcome.roll.ballots)
        is_unanimous = _is_unanimous(electorate, outcome.roll)
        if unread:
            abstained = tuple(index for index in outcome.roll.abstained if index not in unread)
            outcome = replace(outcome, roll=replace(outcome.roll, abstained=abstained))
        return _decision(
            self.rule.name,
            self.parameters,
            outcome,
            quorum_ballots,
            self.tie,
            names=names,
            is_unanimous=is_unanimous,
            unread=tuple(unread.values()),
        )


def _decide_with_unread(
    count: _Count, ballots: Sequence[Ballot], unread: Collection[str], *, is_built_in: bool
) -> Decision:
    """Decide without ballots that could not be read; there is no winner if they could have overturned the outcome."""
    names = _names(count.voters, len(ballots))
    unknown = next(iter(sorted({*unread}.difference(names))), None)
    if unknown is not None:
        hint = "Give the names of all voters as voters=[...]."
        raise ConfigurationError(f"unread names {unknown!r}, which is not one of the voters", hint=hint)
    unread = frozenset(unread)
    by_index = {index: name for index, name in enumerate(names) if name in unread}
    readable = [None if name in unread else ballot for name, ballot in zip(names, ballots, strict=True)]
    decision = count.decide(readable, by_index)
    if decision.winner is None or not _may_be_overturned(
        count, readable, [*by_index], decision, decision.winner, is_built_in=is_built_in
    ):
        return decision
    words = unread_in_words(decision.unread)
    it = "it" if len(by_index) == 1 else "them"
    counted_without = f"{decision.why.removesuffix(f'; {words}.')}."
    why = f"no decision: {words}, which could change the result. Without {it}, {counted_without}"
    return decision.model_copy(
        update={"winners": (), "passed": False, "tied": (), "withheld": decision.winner, "why": why}
    )


def _may_be_overturned(
    count: _Count,
    ballots: Sequence[Ballot],
    unread: Sequence[int],
    decision: Decision,
    winner: str,
    *,
    is_built_in: bool,
) -> bool:
    """Check whether the winner could lose or only tie, whatever ballots the unread ones are.

    They have the form of the others. A vote for one option states full confidence, as the strongest vote that a voter
    can cast.
    """
    is_additive = is_built_in and adds_up(count.rule.name)
    if any(map(_names_several, ballots)) and not (is_additive and count.rule.form in {"choice", "approval"}):
        return not is_built_in or _may_be_outdone(count, ballots, unread, decision, winner)
    is_additive = is_additive and count.tie == "declare"  # a tie rule may prefer any of the tied options
    if count.options is None and count.rule.name == "random-dictator":
        return True  # the draw depends on the names of all options, and those on unread ballots are not known
    weights = {1 if count.weights is None else exact(count.weights[index]) for index in unread}
    ways = ways_to_vote(
        _ranked_options(count, decision, 1 if is_additive else len(unread)),
        winner,
        len(unread),
        alike=len(weights) == 1,
        is_additive=is_additive,
    )
    if ways is None:
        return True
    for way in ways:
        votes = {index: Choice(option, confidence=1) for index, option in zip(unread, way, strict=True)}
        if not _still_wins(count, ballots, votes, decision, winner):
            return True
    return False


def _names_several(ballot: Ballot) -> bool:
    """Check whether a ballot ranks, approves or grades options, and does not only choose one."""
    return not (ballot is None or isinstance(ballot, str | Choice | Abstention | Prediction | Verdict | Trajectory))


def _may_be_outdone(
    count: _Count, ballots: Sequence[Ballot], unread: Sequence[int], decision: Decision, winner: str
) -> bool:
    """Check whether the winner of a built-in rule could lose or only tie by unread rankings, approvals or scores."""
    from roundtable.scoring.rules import find_rule  # late, as in `decide`

    if callable(count.tie) or count.options is None:
        return True  # the ballots may name any number of further options
    parameters = count.parameters.values
    worst = worst_ballots(
        count.rule.name,
        _ranked_options(count, decision),
        winner,
        limits=(exact_or_none(parameters.get("low")), exact_or_none(parameters.get("high"))),
        scores=filter(None, map(exact_or_none, _scores_on(ballots))),
    )
    if worst is None:
        return True
    for rule, ballot in worst:
        tried = count if rule == count.rule.name else _counted_by(count, find_rule(rule)[0])
        if not _still_wins(tried, ballots, dict.fromkeys(unread, ballot), decision, winner):
            return True
    return False


def _counted_by(count: _Count, rule: Rule) -> _Count:
    return replace(count, rule=rule, parameters=Parameters(rule.name, rule.parameters, {}))


def _scores_on(ballots: Sequence[Ballot]) -> Iterator[object]:
    for ballot in ballots:
        scores = ballot.scores if isinstance(ballot, Scores) else ballot
        yield from scores.values() if isinstance(scores, Mapping) else ()


def _ranked_options(count: _Count, decision: Decision, unknown: int = 0) -> list[str]:
    """Return the options, those with the highest scores first.

    Args:
        count: The count.
        decision: The decision without unread ballots.
        unknown: How many options to add that only unread ballots may name, if the options were not declared.
    """
    options = [*(decision.mapping.values() if count.options is None else count.options)]
    if count.options is None:
        options += unread_options({option.casefold() for option in options}, unknown)
    return sorted(dict.fromkeys(options), key=lambda option: -decision.scores.get(option, 0))


def _still_wins(
    count: _Count, ballots: Sequence[Ballot], votes: Mapping[int, Ballot], decision: Decision, winner: str
) -> bool:
    """Check whether an option still wins with other ballots; it does not if the rule can't count these ballots."""
    tried = count.decide([votes.get(index, ballot) for index, ballot in enumerate(ballots)])
    return tried.winner == winner and not tried.invalid.keys() - decision.invalid.keys()


def _check_outcome(outcome: object, rule: str) -> Outcome:
    """Check what a custom rule returned.

    Raises:
        ConfigurationError: It is not an outcome, or it names something that is not an option.
    """
    if not isinstance(outcome, Outcome) or not isinstance(outcome.roll, Roll) or not isinstance(outcome.why, str):
        raise ConfigurationError(
            f"the rule {rule!r} must return an Outcome with a roll and a reason, not {quoted(outcome)}",
            hint="Return Outcome(profile.roll, scores, leaders, why).",
        )
    is_named = is_list(outcome.leaders) and all(isinstance(leader, str) for leader in outcome.leaders)
    if not is_named or len(set(outcome.leaders)) < len(outcome.leaders):
        raise ConfigurationError(
            f"the leaders of the rule {rule!r} must be a tuple of different options, not {quoted(outcome.leaders)}",
            hint="Return one leader as ('tea',), and none as ().",
        )
    tallies = (outcome.scores, *outcome.pairwise.values(), *outcome.rounds) if _has_tables(outcome) else ("",)
    if not all(isinstance(tally, Mapping) and all(map(_is_number, tally.values())) for tally in tallies):
        raise ConfigurationError(
            f"the rule {rule!r} must return its figures as mappings of options to numbers",
            hint="Return scores={'tea': 2}, and leave out pairwise and rounds if there are none.",
        )
    rows = (outcome.leaders, outcome.pairwise, *tallies)
    unknown = next((option for row in rows for option in row if option not in outcome.roll.labels), None)
    if unknown is not None:
        raise ConfigurationError(
            f"the rule {rule!r} names {quoted(unknown)}, which is not an option of its ballots",
            hint="Use the options of the profile: those in `vote.form` or in `profile.roll.labels`.",
        )
    return outcome


def _has_tables(outcome: Outcome) -> bool:
    return isinstance(outcome.pairwise, Mapping) and isinstance(outcome.rounds, tuple)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool) and isfinite(value)


def _is_unanimous(electorate: Electorate, roll: Roll) -> bool:
    profile = electorate.read(first_places)
    if min(profile.roll.cast, roll.cast) < roll.ballots:
        return False
    tops = {vote.form for vote in profile.votes}
    return len(tops) == 1 and len(tops.pop()) == 1


def _check_call(rule: object, tie: object) -> None:
    """Raise an error if `rule` is not a rule or the tie rule is unknown, even if there will not be a tie."""
    if not isinstance(rule, Rule | str):
        msg = f"rule must be the name of a rule, or a Rule, not {rule!r}"
        raise ConfigurationError(msg, hint="For example, write rule='plurality'.")
    if not callable(tie) and tie not in ("declare", "first"):
        msg = f"tie must be 'declare', 'first' or a function, not {tie!r}"
        raise ConfigurationError(msg, hint="Leave tie out to report a tie as a tie.")


def _names(voters: object, ballots: int) -> tuple[str, ...]:
    """Return the names of the voters; empty if none are given."""
    if voters is None:
        return ()
    hint = "Give one name per ballot, all different, or leave voters out to identify ballots by index."
    if not is_list(voters):
        raise ConfigurationError(f"voters must be a list of names, not {quoted(voters)}", hint=hint)
    names: tuple[object, ...] = tuple(cast("Iterable[object]", voters))
    earlier: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"a voter must be a name, not {quoted(name)}", hint=hint)
        if name in earlier:
            raise ConfigurationError(f"two ballots have the same voter {name!r}", hint=hint)
        earlier.add(name)
    if len(names) != ballots:
        raise ConfigurationError(f"{counted(ballots, 'ballot')} cannot have {counted(len(names), 'voter')}", hint=hint)
    return cast("tuple[str, ...]", names)


def _quorum_ballots(quorum: Number | None, ballots: int) -> Fraction:
    if quorum is None:
        return Fraction(0)
    if isinstance(quorum, int):
        if isinstance(quorum, bool) or quorum < 0:
            raise ConfigurationError(f"quorum must be a number of ballots or a share in [0, 1], not {quorum!r}")
        return Fraction(quorum)
    return share(quorum, "quorum") * ballots


def _decision(
    rule: str,
    parameters: Parameters,
    outcome: Outcome,
    quorum_ballots: Fraction,
    tie: TieRule,
    *,
    names: tuple[str, ...],
    is_unanimous: bool,
    unread: tuple[str, ...],
) -> Decision:
    roll = outcome.roll
    quorum_met = roll.cast >= quorum_ballots
    leaders = outcome.leaders if quorum_met else ()
    tied = leaders if len(leaders) > 1 else ()
    picked = _break_tie(tie, tied, roll) if tied else None
    if picked is not None:
        leaders = (picked,)
    winners = leaders if outcome.passes else ()
    return Decision(
        rule=rule,
        parameters=parameters.to_json(),
        winners=roll.names(winners),
        is_tie=len(leaders) > 1,
        passed=len(winners) == 1,
        is_unanimous=is_unanimous,
        quorum_met=quorum_met,
        tied=roll.names(tied),
        scores=_by_label(roll, outcome.scores),
        margins=_by_label(roll, _margins(outcome.scores)),
        pairwise={roll.labels[option]: _by_label(roll, row) for option, row in outcome.pairwise.items()},
        rounds=tuple(_by_label(roll, tally) for tally in outcome.rounds),
        cast=roll.cast,
        voters=names,
        abstained=tuple(names[index] for index in roll.abstained) if names else roll.abstained,
        unread=unread,
        invalid={names[index] if names else index: reason for index, reason in roll.invalid.items()},
        mapping=roll.mapping,
        why=_why(outcome, leaders, winners, picked, quorum_ballots, names=names, unread=unread),
    )


def _break_tie(tie: TieRule, tied: tuple[str, ...], roll: Roll) -> str | None:
    if callable(tie):
        labels = roll.names(tied)
        label = tie(labels)
        if label is not None and label not in labels:
            raise ConfigurationError(f"the tie rule must pick one of {listing(labels)} or None, not {label!r}")
        return next((key for key in tied if roll.labels[key] == label), None)
    return min(tied, key=roll.appearance.index) if tie == "first" else None


def _by_label(roll: Roll, figures: Mapping[str, Figure]) -> dict[str, float]:
    return {roll.labels[key]: float(figures[key]) for key in roll.options if key in figures}


def _margins(scores: Mapping[str, Figure]) -> dict[str, Figure]:
    """Return each option's lead over the best other option; empty if there is only one option."""
    ranked = sorted(scores.values(), reverse=True)
    if len(ranked) < 2:
        return {}
    best, second = ranked[:2]
    return {key: score - (second if score == best else best) for key, score in scores.items()}


def _why(
    outcome: Outcome,
    leaders: tuple[str, ...],
    winners: tuple[str, ...],
    picked: str | None,
    quorum_ballots: Fraction,
    *,
    names: tuple[str, ...],
    unread: tuple[str, ...],
) -> str:
    roll = outcome.roll
    # If no ballot at all could be read, it would be wrong to say that nobody voted.
    parts = [outcome.why] if roll.cast or roll.invalid or not unread else []
    if picked is not None:
        parts.append(f"the tie rule picks {roll.labels[picked]}")
    if roll.cast < quorum_ballots:
        parts.append(
            f"quorum is not met: {counted(roll.cast, 'ballot')} of {roll.ballots} count, {quorum_ballots} needed"
        )
    if roll.abstained:
        absent = listing([names[index] for index in roll.abstained]) + " did not vote" if names else ""
        parts.append(absent or f"{len(roll.abstained)} abstained")
    if roll.invalid:
        index, reason = next(iter(roll.invalid.items()))
        voter = names[index] if names else f"number {index}"
        parts.append(f"{counted(len(roll.invalid), 'ballot is', 'ballots are')} invalid ({voter}: {reason})")
    if unread:
        parts.append(unread_in_words(unread))
    head = f"tie between {listing(roll.names(leaders))}" if len(leaders) > 1 else "no decision"
    if len(winners) == 1:
        head = f"{roll.labels[winners[0]]} wins"
    return f"{head}: {'; '.join(parts)}."
