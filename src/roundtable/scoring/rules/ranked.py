"""Rules for rankings: Condorcet, Copeland, Schulze, ranked pairs, Kemeny-Young, IRV, Coombs, Borda, Dowdall."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TypeAlias

from roundtable.core.base.words import amount, listing
from roundtable.scoring.ballot_forms import Order, order
from roundtable.scoring.electorate import Electorate, Profile, Roll, Weight
from roundtable.scoring.outcome import NO_SCORES, POINTS, Outcome, Parameters, Rule, ScoreMeaning
from roundtable.scoring.pairwise import (
    Matrix,
    beaten,
    condorcet_winner,
    cycle,
    margins_of,
    pairwise_matrix,
    strengths_by,
    table,
)
from roundtable.scoring.rules.choice import highest

__all__ = [
    "CONDORCET_RULES",
    "ELIMINATION_RULES",
    "KEMENY_RULES",
    "MOST_COMPARED_OPTIONS",
    "MOST_OPTIONS",
    "POSITIONAL_RULES",
    "RANKED_PAIRS_RULES",
    "STRENGTH",
    "Margins",
    "head_to_head",
    "kemeny_scores",
    "schulze_paths",
    "schulze_winners",
    "strongest_paths",
]


Margins: TypeAlias = Sequence[Sequence[int]]

Resolve: TypeAlias = Callable[[Margins], tuple[Sequence[Weight], Sequence[int], str]]
"""A function from margins to scores, leaders, and a phrase on how a cycle or tie was resolved."""


MOST_COMPARED_OPTIONS = 200
"""Maximum number of options that are compared in pairs: time and memory grow with the square of their number, or
faster. With more, head-to-head rules decide nothing, and the other rules for rankings leave out the table of pairs."""


def head_to_head(ballots: Electorate, resolve: Resolve, strengths: Callable[[Matrix], Margins] = margins_of) -> Outcome:
    """Create the outcome of a head-to-head rule; its reason begins with whether one option beats all others.

    Args:
        ballots: The ballots, read as rankings.
        resolve: Finds the leaders by the strength of each head-to-head win.
        strengths: Measures the strength of a win; positive for the winner, negative for the loser.
    """
    profile = ballots.read(order)
    roll = profile.roll
    if len(roll.options) > MOST_COMPARED_OPTIONS:
        return _too_many_options(roll, MOST_COMPARED_OPTIONS)
    matrix = pairwise_matrix(profile)
    margins = strengths(matrix)
    scores, leaders, words = resolve(margins)
    parts = [_situation(roll, margins), words] if roll.cast else ["nobody voted"]
    return Outcome(
        roll,
        dict(zip(roll.options, scores, strict=True)),
        tuple(roll.options[index] for index in leaders) if roll.cast else (),
        "; ".join(part for part in parts if part),
        pairwise=table(roll, matrix),
    )


def _too_many_options(roll: Roll, most: int) -> Outcome:
    why = f"exact for at most {most} options, and there are {len(roll.options)}: undecided"
    return Outcome(roll, {}, (), why if roll.cast else "nobody voted")


def _pairs(profile: Profile[Order]) -> Mapping[str, Mapping[str, Weight]]:
    """Return the table of pairs; an empty one for too many options."""
    roll = profile.roll
    return table(roll, pairwise_matrix(profile)) if len(roll.options) <= MOST_COMPARED_OPTIONS else {}


def _situation(roll: Roll, margins: Margins) -> str:
    labels = [roll.labels[option] for option in roll.options]
    winner = condorcet_winner(margins)
    if winner is not None:
        return f"{labels[winner]} beats all others head to head"
    path = cycle(margins)
    if path is None:
        unbeaten = [label for label, row in zip(labels, margins, strict=True) if min(row) >= 0]
        return f"no option beats all others head to head, and {listing(unbeaten)} lose to none"
    return f"no option beats all others head to head: {' > '.join(labels[index] for index in [*path, path[0]])}"


def _condorcet(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    winner = condorcet_winner(margins)
    return [len(beaten(margins, option)) for option in range(len(margins))], [] if winner is None else [winner], ""


def _copeland(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    scores = [sum((margin > 0) - (margin < 0) for margin in row) for row in margins]
    best = max(scores, default=0)
    leaders = [option for option, score in enumerate(scores) if score == best]
    return scores, leaders, f"head-to-head wins minus losses: {best:+d}"


def schulze_paths(matrix: Matrix) -> list[list[int]]:
    """Return, for each pair, the rank of the strength of its strongest path; 0 for no path.

    A path is as strong as its weakest margin. Equal strengths have equal ranks; larger is stronger.

    Args:
        matrix: Row i, column j holds the weight of the ballots that put option i above option j.

    Source: M. Schulze, Social Choice and Welfare 36 (2011), with margins.

    Example:
        >>> schulze_paths([[0, 2, 1], [1, 0, 2], [2, 1, 0]])
        [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    return strongest_paths(margins_of(matrix))


def strongest_paths(margins: Margins) -> list[list[int]]:
    """Return the same as `schulze_paths`, but from margins.

    Margins are added in descending order; the strength of a pair is the margin that first connects it.
    """
    size = range(len(margins))
    pairs = [
        (margin, winner, loser) for winner, row in enumerate(margins) for loser, margin in enumerate(row) if margin > 0
    ]
    ranks = {margin: rank for rank, margin in enumerate(sorted({margin for margin, _, _ in pairs}), 1)}
    paths = [[0 for _ in size] for _ in size]
    reached = [0 for _ in size]
    for margin, winner, loser in sorted(pairs, reverse=True):
        if reached[winner] >> loser & 1:
            continue
        reachable = reached[loser] | 1 << loser
        for start in size:
            if start != winner and not reached[start] >> winner & 1:
                continue
            new = reachable & ~reached[start] & ~(1 << start)
            reached[start] |= new
            while new:
                lowest = new & -new
                paths[start][lowest.bit_length() - 1] = ranks[margin]
                new ^= lowest
    return paths


def schulze_winners(matrix: Matrix) -> list[int]:
    """Return the options whose strongest path to every other option is at least as strong as the path back.

    Example:
        >>> schulze_winners([[0, 2, 2], [1, 0, 2], [1, 1, 0]])
        [0]
    """
    return _unbeaten(schulze_paths(matrix))


def _unbeaten(paths: Sequence[Sequence[int]]) -> list[int]:
    size = range(len(paths))
    return [option for option in size if all(paths[option][other] >= paths[other][option] for other in size)]


def _schulze(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    paths = strongest_paths(margins)
    size = range(len(paths))
    scores = [sum(paths[option][other] > paths[other][option] for other in size) for option in size]
    leaders = _unbeaten(paths)
    if condorcet_winner(margins) is not None:
        return scores, leaders, ""
    level = "leave them level" if len(leaders) > 1 else "put one option first"
    return scores, leaders, f"the strongest paths {level}"


STRENGTH = {"strength": "margins"}

CONDORCET_RULES = (
    Rule(
        "condorcet",
        lambda ballots, _: head_to_head(ballots, _condorcet),
        "the option that beats all others head to head, if there is one",
        form="ranking",
        most_options=MOST_COMPARED_OPTIONS,
        score_meaning=NO_SCORES,
    ),
    Rule(
        "copeland",
        lambda ballots, _: head_to_head(ballots, _copeland),
        "most head-to-head wins minus losses",
        form="ranking",
        most_options=MOST_COMPARED_OPTIONS,
        score_meaning=ScoreMeaning("its wins minus its losses in comparisons of two options"),
    ),
    Rule(
        "schulze",
        lambda ballots, parameters: head_to_head(ballots, _schulze, strengths_by(parameters)),
        "strongest paths of head-to-head margins, or of winning votes",
        STRENGTH,
        ("beatpath", "beat-path"),
        form="ranking",
        most_options=MOST_COMPARED_OPTIONS,
        score_meaning=NO_SCORES,
    ),
)
"""Condorcet, Copeland and Schulze."""


MOST_OPTIONS = 12
"""Maximum options for an exact count. With more options, the rule decides nothing, and states this limit as the
reason."""


def kemeny_scores(matrix: Matrix) -> list[Weight]:
    """Return, for each option, the agreement of the best ranking that puts this option first.

    The agreement of a ranking is the weight of all pairwise preferences that it shares with the ballots. A ranking with
    the highest agreement has the least total Kendall distance. The result is exact, by dynamic programming over sets of
    options.

    Source: J. Kemeny, Daedalus 88 (1959); for the dynamic programming, M. Held and R. Karp (1962).

    Example:
        >>> kemeny_scores([[0, 2, 2], [1, 0, 2], [1, 1, 0]])
        [6, 5, 4]
    """
    size = len(matrix)
    all_options = (1 << size) - 1
    best: list[Weight] = [0] * (1 << size)
    for members in range(1, 1 << size):
        options = [option for option in range(size) if members >> option & 1]
        best[members] = max(
            _weight_above(matrix, option, options) + best[members & ~(1 << option)] for option in options
        )
    options = list(range(size))
    return [_weight_above(matrix, option, options) + best[all_options & ~(1 << option)] for option in range(size)]


def _weight_above(matrix: Matrix, option: int, options: Sequence[int]) -> Weight:
    """Return the total weight that puts an option above each other option of a set; the diagonal is 0."""
    row = matrix[option]
    return sum(row[other] for other in options)


def _kemeny(ballots: Electorate, _: Parameters) -> Outcome:
    profile = ballots.read(order)
    roll = profile.roll
    if not roll.cast:
        return Outcome(roll, {}, (), "nobody voted")
    if len(roll.options) > MOST_OPTIONS:
        return replace(_too_many_options(roll, MOST_OPTIONS), pairwise=_pairs(profile))
    matrix = pairwise_matrix(profile)
    pairs = table(roll, matrix)
    scores = dict(zip(roll.options, kemeny_scores(matrix), strict=True))
    best = max(scores.values())
    leaders = highest(scores)
    total = sum(sum(row) for row in matrix)
    each = "for each, " if len(leaders) > 1 else ""
    why = f"{each}the best ranking that puts it first shares {amount(best)} of {amount(total)} pairwise preferences"
    return Outcome(roll, scores, leaders, why, pairwise=pairs)


KEMENY_RULES = (
    Rule(
        "kemeny-young",
        _kemeny,
        "the ranking that shares the most pairwise preferences",
        aliases=("kemeny",),
        form="ranking",
        most_options=MOST_OPTIONS,
        score_meaning=ScoreMeaning("the pairwise preferences that agree with the best ranking in which it comes first"),
    ),
)
"""Kemeny-Young."""


Edge: TypeAlias = tuple[int, int]
Locked: TypeAlias = tuple[int, ...]
"""For each option, the set (as bits) of the options that locked pairs put below it, directly or through other
options."""

MOST_STATES = 20_000
"""Maximum states that ranked pairs visits when equal margins can be locked in several orders."""
MOST_LOOKS = 2_000_000
"""Maximum looks at a margin while ranked pairs decides which margins to lock; they take less than a second."""


class _TooManyOrdersError(Exception):
    """There are more orders of equal margins than can be tried."""


@dataclass(slots=True)
class _Budget:
    """What ranked pairs may still spend on one profile."""

    states: int
    looks: int

    def spend(self, looks: int, states: int = 0) -> None:
        self.looks -= looks
        self.states -= states
        if min(self.looks, self.states) < 0:
            raise _TooManyOrdersError


def _margin_groups(margins: Margins) -> Iterator[list[Edge]]:
    pairs = [
        (-margin, winner, loser) for winner, row in enumerate(margins) for loser, margin in enumerate(row) if margin > 0
    ]
    for _, group in groupby(sorted(pairs), key=lambda pair: pair[0]):
        yield [(winner, loser) for _, winner, loser in group]


def _lock(locked: Sequence[int], edges: Sequence[Edge]) -> Locked:
    below = list(locked)
    for winner, loser in edges:
        added = below[loser] | 1 << loser
        for above in range(len(below)):
            if above == winner or below[above] >> winner & 1:
                below[above] |= added
    return tuple(below)


def _open_edges(state: Locked, edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges that the locked edges neither imply nor contradict."""
    return [
        (winner, loser) for winner, loser in edges if not (state[loser] >> winner & 1 or state[winner] >> loser & 1)
    ]


def _states_unbeaten(locked: Locked, edges: Sequence[Edge], option: int, budget: _Budget) -> set[Locked]:
    """Return each state that some order of locking these equal margins leads to and that leaves the option unbeaten."""
    done: set[Locked] = set()
    seen = {locked}
    stack = [locked]
    while stack:
        budget.spend(len(edges), states=1)
        state = stack.pop()
        open_edges = _open_edges(state, edges)
        budget.spend(len(open_edges) * len(state))
        union = _lock(state, open_edges)
        if any(loser == option and not union[option] >> above & 1 for above, loser in open_edges):
            continue
        if not open_edges:
            done.add(state)
            continue
        # A margin that closes no cycle in any order can be locked at once.
        safe = [edge for edge in open_edges if not union[edge[1]] >> edge[0] & 1]
        budget.spend(len(open_edges) * len(state))
        next_states = (
            [_lock(state, safe)] if safe else [_lock(state, [edge]) for edge in open_edges if edge[1] != option]
        )
        for next_state in next_states:
            if next_state not in seen:
                seen.add(next_state)
                stack.append(next_state)
    return done


def _wins_if_favoured(margins: Margins, option: int, budget: _Budget) -> bool:
    """Check whether an option stays unbeaten if, of equal margins, the ones that lead away from it are locked first."""
    state: Locked = tuple(0 for _ in margins)
    for edges in _margin_groups(margins):
        while open_edges := _open_edges(state, edges):
            useful = [edge for edge in open_edges if edge[0] == option or state[option] >> edge[0] & 1]
            if not useful and any(loser == option for _, loser in open_edges):
                return False
            budget.spend(len(edges) + len(state))
            state = _lock(state, [(useful or open_edges)[0]])
    return True


def _possible_winners(margins: Margins) -> set[int]:
    """Return the options that can be unbeaten: for each of their defeats, there is a path back that is as strong."""
    paths = strongest_paths(margins)
    ranks = {margin: rank for rank, margin in enumerate(sorted({m for row in margins for m in row if m > 0}), 1)}
    size = range(len(margins))
    return {
        option for option in size if all(paths[option][other] >= ranks.get(margins[other][option], 0) for other in size)
    }


def _can_win(margins: Margins, option: int, budget: _Budget) -> bool:
    """Check whether some order of equal margins keeps an option unbeaten."""
    if _wins_if_favoured(margins, option, budget):
        return True
    states: set[Locked] = {tuple(0 for _ in margins)}
    for edges in _margin_groups(margins):
        states = {next_state for state in states for next_state in _states_unbeaten(state, edges, option, budget)}
    return bool(states)


def _ranked_pairs(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    winner = condorcet_winner(margins)
    if winner is not None:
        return [int(option == winner) for option, _ in enumerate(margins)], [winner], ""
    looks = MOST_LOOKS
    verdicts: dict[int, bool] = {}
    try:
        for option in _possible_winners(margins):
            budget = _Budget(MOST_STATES, looks)
            verdicts[option] = _can_win(margins, option, budget)
            looks = budget.looks
    except _TooManyOrdersError:
        why = "equal margins can be locked in too many orders to try them all: undecided"
        return [0 for _ in margins], [], why
    winners = sorted(option for option, wins in verdicts.items() if wins)
    scores = [int(option in winners) for option, _ in enumerate(margins)]
    several = "the order of equal margins decides between them" if len(winners) > 1 else "it stays unbeaten"
    return scores, winners, f"locking the widest margins first, {several}"


RANKED_PAIRS_RULES = (
    Rule(
        "ranked-pairs",
        lambda ballots, parameters: head_to_head(ballots, _ranked_pairs, strengths_by(parameters)),
        "lock head-to-head margins, or winning votes, from the largest down, in every order of equal ones",
        STRENGTH,
        ("tideman",),
        form="ranking",
        most_options=MOST_COMPARED_OPTIONS,
        score_meaning=NO_SCORES,
    ),
)
"""Ranked pairs."""


Remaining: TypeAlias = frozenset[str]
Tally: TypeAlias = dict[str, Weight]
Drop: TypeAlias = Callable[[Profile[Order], Tally], list[Remaining]]
"""A function from the ballots and the tally of first places to each set of options that may be dropped next."""

MOST_ELIMINATION_STATES = 10_000
"""Maximum different sets of remaining options that are visited when tied options can be dropped in several orders."""
MOST_PLACES = 300_000
"""Maximum number of options in all counts, on all ballots; they take less than a second."""


def _first_places(profile: Profile[Order], remaining: Remaining) -> Tally:
    """Count first places among the remaining options; a ballot that ranks none of them is exhausted."""
    tally: Tally = dict.fromkeys((option for option in profile.roll.options if option in remaining), 0)
    for vote in profile.votes:
        for group in vote.form:
            if top := [option for option in group if option in remaining]:
                _split_vote(tally, top, vote.weight)
                break
    return tally


def _last_places(profile: Profile[Order], remaining: Remaining) -> Tally:
    """Count last places among the remaining options; unranked options are tied for the last place."""
    tally: Tally = dict.fromkeys((option for option in profile.roll.options if option in remaining), 0)
    for vote in profile.votes:
        groups = [members for group in vote.form if (members := [option for option in group if option in remaining])]
        if groups:
            unranked = remaining.difference(*groups)
            _split_vote(tally, sorted(unranked) or groups[-1], vote.weight)
    return tally


def _split_vote(tally: Tally, options: list[str], weight: Weight) -> None:
    part = weight if len(options) == 1 else Fraction(weight) / len(options)
    for option in options:
        tally[option] += part


def _drop_fewest_firsts(_: Profile[Order], firsts: Tally) -> list[Remaining]:
    fewest = min(firsts.values())
    tied = [option for option, votes in firsts.items() if votes == fewest]
    higher = [votes for votes in firsts.values() if votes > fewest]
    # If the tied options together have fewer votes than the next option, all of them are dropped before it in any
    # order.
    if len(tied) > 1 and higher and fewest * len(tied) < min(higher):
        return [frozenset(tied)]
    return [frozenset((option,)) for option in tied]


def _drop_most_lasts(profile: Profile[Order], firsts: Tally) -> list[Remaining]:
    lasts = _last_places(profile, frozenset(firsts))
    most = max(lasts.values())
    return [frozenset((option,)) for option, votes in lasts.items() if votes == most]


def _majority_options(firsts: Tally) -> list[str]:
    """Return the options with a majority of the ballots that still count.

    The last remaining option always has a majority.
    """
    total = sum(firsts.values())
    return [option for option, votes in firsts.items() if votes * 2 > total]


def _eliminate(ballots: Electorate, drop: Drop) -> Outcome:
    profile = ballots.read(order)
    roll = profile.roll
    pairs = _pairs(profile)
    if not roll.cast:
        return Outcome(roll, {}, (), "nobody voted", pairwise=pairs)
    start = frozenset(roll.options)
    winners: set[str] = set()
    rounds: list[Tally] = []
    on_first_path = True
    seen = {start}
    stack = [start]
    places = 0
    while stack or places > MOST_PLACES:
        if len(seen) > MOST_ELIMINATION_STATES or places > MOST_PLACES:
            why = "ties can be broken in too many ways to count them all: undecided"
            return Outcome(roll, _first_places(profile, start), (), why, pairwise=pairs)
        remaining = stack.pop()
        places += len(remaining) * (1 + len(profile.votes))
        firsts = _first_places(profile, remaining)
        if on_first_path:
            rounds.append(firsts)
        if majority := _majority_options(firsts):
            winners.update(majority)
            on_first_path = False
            continue
        for dropped in drop(profile, firsts):
            places += len(remaining)
            if places <= MOST_PLACES and (next_remaining := remaining - dropped) not in seen:
                seen.add(next_remaining)
                stack.append(next_remaining)
    leaders = tuple(option for option in roll.options if option in winners)
    # Each option's votes in the last count that included it.
    scores = {option: votes for tally in rounds for option, votes in tally.items()}
    return Outcome(roll, scores, leaders, _why(roll.labels, rounds, winners), pairwise=pairs, rounds=tuple(rounds))


def _why(labels: Mapping[str, str], rounds: list[Tally], winners: set[str]) -> str:
    parts: list[str] = []
    for number, (tally, following) in enumerate(pairwise(rounds), 1):
        dropped = [labels[option] for option in tally if option not in following]
        parts.append(f"count {number} drops {listing(dropped)}")
    if len(winners) > 1:
        parts.append("the order in which tied options are dropped decides between them")
    else:
        parts.append(f"count {len(rounds)} leaves a majority")
    return ", ".join(parts)


def _irv(ballots: Electorate, _: Parameters) -> Outcome:
    return _eliminate(ballots, _drop_fewest_firsts)


def _coombs(ballots: Electorate, _: Parameters) -> Outcome:
    return _eliminate(ballots, _drop_most_lasts)


_LAST_COUNT = ScoreMeaning("its votes in the last count that included it", share_of="scores")

ELIMINATION_RULES = (
    Rule(
        "irv",
        _irv,
        "drop the option with the fewest first places until one has a majority",
        aliases=("instant-runoff", "instant-run-off", "ranked-choice", "hare"),
        form="ranking",
        score_meaning=_LAST_COUNT,
    ),
    Rule(
        "coombs",
        _coombs,
        "drop the option with the most last places until one has a majority",
        form="ranking",
        score_meaning=_LAST_COUNT,
    ),
)
"""Instant run-off and Coombs."""


def _positional(ballots: Electorate, points: Callable[[int, int], Weight], *, unranked: bool) -> Outcome:
    """Score each option by the points for its place on each ballot; tied options share their points equally.

    Args:
        ballots: The ballots.
        points: Function that returns points from a place (1 is best) and the number of options.
        unranked: Whether unranked options share the remaining places; otherwise they get no points.
    """
    profile = ballots.read(order)
    roll = profile.roll
    size = len(roll.options)
    scores: dict[str, Weight] = dict.fromkeys(roll.options, 0)
    all_options = frozenset(roll.options)
    for vote in profile.votes:
        groups = vote.form
        if unranked and (unranked_options := all_options.difference(*groups)):
            groups = (*groups, tuple(unranked_options))
        place = 1
        for group in groups:
            after = place + len(group)
            group_points = sum(points(shared, size) for shared in range(place, after))
            points_each = Fraction(group_points) * vote.weight / len(group)
            for option in group:
                scores[option] += points_each
            place = after
    best = max(scores.values(), default=0)
    leaders = highest(scores) if roll.cast else ()
    suffix = " each" if len(leaders) > 1 else ""
    why = "nobody voted"
    if leaders:
        points_won, votes = "point" if best == 1 else "points", "vote" if roll.weight == 1 else "votes"
        why = f"{amount(best)} {points_won} from {amount(roll.weight)} {votes}{suffix}"
    return Outcome(roll, scores, leaders, why, pairwise=_pairs(profile))


def _borda(ballots: Electorate, _: Parameters) -> Outcome:
    return _positional(ballots, lambda place, size: size - place, unranked=True)


def _dowdall(ballots: Electorate, _: Parameters) -> Outcome:
    return _positional(ballots, lambda place, _: Fraction(1, place), unranked=False)


POSITIONAL_RULES = (
    Rule(
        "borda",
        _borda,
        "m - 1 points for the first of m places down to 0 for the last",
        form="ranking",
        score_meaning=POINTS,
    ),
    Rule(
        "dowdall",
        _dowdall,
        "1, 1/2, 1/3, ... points for the places, none for unranked options",
        aliases=("nauru",),
        form="ranking",
        score_meaning=POINTS,
    ),
)
"""Borda and Dowdall."""
