"""Rules that eliminate options one by one: instant run-off and Coombs, in all parallel universes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from roundtable.scoring.electorate import Electorate, Profile
from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Outcome, Parameters, Rule
from roundtable.scoring.pairwise import pairwise_matrix, table
from roundtable.scoring.readings import Order, order
from roundtable.scoring.words import listing

__all__ = ["ELIMINATION_RULES"]

Remaining: TypeAlias = frozenset[str]
Tally: TypeAlias = dict[str, Weight]
Drop: TypeAlias = Callable[[Tally, Tally], list[Remaining]]
"""Gives each set of options that may be dropped next, by their first and last places."""

MOST_STATES = 10_000
"""Elimination ties are followed up to this many different sets of remaining options."""


def _firsts(profile: Profile[Order], remaining: Remaining) -> Tally:
    """Count first places among the remaining options; a ballot that ranks none of them is exhausted."""
    tally: Tally = dict.fromkeys((option for option in profile.roll.options if option in remaining), 0)
    for vote in profile.votes:
        for group in vote.form:
            if top := [option for option in group if option in remaining]:
                _share(tally, top, vote.weight)
                break
    return tally


def _lasts(profile: Profile[Order], remaining: Remaining) -> Tally:
    """Count last places among the remaining options: unranked ones are tied last."""
    tally: Tally = dict.fromkeys((option for option in profile.roll.options if option in remaining), 0)
    for vote in profile.votes:
        groups = [kept for group in vote.form if (kept := [option for option in group if option in remaining])]
        if groups:
            unranked = remaining.difference(*groups)
            _share(tally, sorted(unranked) or groups[-1], vote.weight)
    return tally


def _share(tally: Tally, options: list[str], weight: Weight) -> None:
    part = weight if len(options) == 1 else Fraction(weight) / len(options)
    for option in options:
        tally[option] += part


def _drop_fewest_firsts(firsts: Tally, _: Tally) -> list[Remaining]:
    fewest = min(firsts.values())
    tied = [option for option, votes in firsts.items() if votes == fewest]
    higher = [votes for votes in firsts.values() if votes > fewest]
    # Whatever the order, all of them go before anybody else when together they stay below the next.
    if len(tied) > 1 and higher and fewest * len(tied) < min(higher):
        return [frozenset(tied)]
    return [frozenset((option,)) for option in tied]


def _drop_most_lasts(_: Tally, lasts: Tally) -> list[Remaining]:
    most = max(lasts.values())
    return [frozenset((option,)) for option, votes in lasts.items() if votes == most]


def _winners_here(firsts: Tally) -> list[str]:
    """Give who has a majority of the ballots that still count; some always count, so the last one left has one."""
    total = sum(firsts.values())
    return [option for option, votes in firsts.items() if votes * 2 > total]


def _eliminate(ballots: Electorate, drop: Drop) -> Outcome:
    profile = ballots.read(order)
    roll = profile.roll
    pairs = table(roll, pairwise_matrix(profile))
    if not roll.cast:
        return Outcome(roll, {}, (), "nobody voted", pairwise=pairs)
    start = frozenset(roll.options)
    winners: set[str] = set()
    rounds: list[Tally] = []
    on_first_path = True
    seen = {start}
    stack = [start]
    while stack:
        if len(seen) > MOST_STATES:
            why = f"ties can be broken in more than {MOST_STATES} ways: undecided"
            return Outcome(roll, _firsts(profile, start), (), why, pairwise=pairs)
        remaining = stack.pop()
        firsts = _firsts(profile, remaining)
        if on_first_path:
            rounds.append(firsts)
        if here := _winners_here(firsts):
            winners.update(here)
            on_first_path = False
            continue
        for dropped in drop(firsts, _lasts(profile, remaining)):
            if (left := remaining - dropped) not in seen:
                seen.add(left)
                stack.append(left)
    leaders = tuple(option for option in roll.options if option in winners)
    # Each option's votes in the last count in which it stood.
    scores = {option: votes for tally in rounds for option, votes in tally.items()}
    return Outcome(roll, scores, leaders, _why(roll.labels, rounds, winners), pairwise=pairs, rounds=tuple(rounds))


def _why(labels: Mapping[str, str], rounds: list[Tally], winners: set[str]) -> str:
    parts: list[str] = []
    for number, (tally, following) in enumerate(pairwise(rounds), 1):
        gone = [labels[option] for option in tally if option not in following]
        parts.append(f"count {number} drops {listing(gone)}")
    if len(winners) > 1:
        parts.append("the order in which tied options are dropped decides between them")
    else:
        parts.append(f"count {len(rounds)} leaves a majority")
    return ", ".join(parts)


def _irv(ballots: Electorate, _: Parameters) -> Outcome:
    return _eliminate(ballots, _drop_fewest_firsts)


def _coombs(ballots: Electorate, _: Parameters) -> Outcome:
    return _eliminate(ballots, _drop_most_lasts)


ELIMINATION_RULES = (
    Rule(
        "irv",
        _irv,
        "drop the option with the fewest first places until one has a majority",
        aliases=("instant-runoff", "instant-run-off", "ranked-choice", "hare"),
    ),
    Rule("coombs", _coombs, "drop the option with the most last places until one has a majority"),
)
"""The rules of this module."""
