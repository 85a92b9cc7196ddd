"""Ranked pairs: lock head-to-head margins from the widest down, unless that closes a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from roundtable.scoring.grouping import Weight
from roundtable.scoring.outcome import Rule
from roundtable.scoring.pairwise import condorcet_winner
from roundtable.scoring.rules.condorcet import Margins, head_to_head, strongest_paths

__all__ = ["RANKED_PAIRS_RULES"]

Edge: TypeAlias = tuple[int, int]
Locked: TypeAlias = tuple[int, ...]
"""For each option the set, as bits, of the options that locked pairs put below it, directly or through others."""

MOST_STATES = 20_000
"""Orders of equal margins are followed up to this many different situations."""


def _groups(margins: Margins) -> Iterator[list[Edge]]:
    pairs = [(-margin, one, other) for one, row in enumerate(margins) for other, margin in enumerate(row) if margin > 0]
    for _, group in groupby(sorted(pairs), key=lambda pair: pair[0]):
        yield [(one, other) for _, one, other in group]


def _lock(locked: Sequence[int], edges: Sequence[Edge]) -> Locked:
    below = list(locked)
    for one, other in edges:
        added = below[other] | 1 << other
        for above in range(len(below)):
            if above == one or below[above] >> one & 1:
                below[above] |= added
    return tuple(below)


def _free(state: Locked, edges: Sequence[Edge]) -> list[Edge]:
    """Give the margins that are neither implied by what is locked nor contradict it."""
    return [(one, other) for one, other in edges if not (state[other] >> one & 1 or state[one] >> other & 1)]


def _all_orders(locked: Locked, edges: Sequence[Edge], one: int, budget: list[int]) -> set[Locked]:
    """Give every situation with an option unbeaten that some order of these equally wide margins leads to."""
    done: set[Locked] = set()
    seen = {locked}
    stack = [locked]
    while stack and budget[0] > 0:
        budget[0] -= 1
        state = stack.pop()
        free = _free(state, edges)
        union = _lock(state, free)
        if any(other == one and not union[one] >> above & 1 for above, other in free):
            continue
        if not free:
            done.add(state)
            continue
        # A margin that closes no cycle whatever comes first can be locked at once.
        safe = [edge for edge in free if not union[edge[1]] >> edge[0] & 1]
        following = [_lock(state, safe)] if safe else [_lock(state, [edge]) for edge in free if edge[1] != one]
        for found in following:
            if found not in seen:
                seen.add(found)
                stack.append(found)
    return done


def _favours(margins: Margins, one: int) -> bool:
    """Tell whether locking first what leads away from one option keeps it unbeaten."""
    state: Locked = tuple(0 for _ in margins)
    for edges in _groups(margins):
        while free := _free(state, edges):
            useful = [edge for edge in free if edge[0] == one or state[one] >> edge[0] & 1]
            if not useful and any(other == one for _, other in free):
                return False
            state = _lock(state, [(useful or free)[0]])
    return True


def _possible(margins: Margins) -> set[int]:
    """Give the options that can be unbeaten at all: against each defeat there is a way back that is as strong."""
    paths = strongest_paths(margins)
    ranks = {margin: rank for rank, margin in enumerate(sorted({m for row in margins for m in row if m > 0}), 1)}
    size = range(len(margins))
    return {one for one in size if all(paths[one][other] >= ranks.get(margins[other][one], 0) for other in size)}


def _can_win(margins: Margins, one: int) -> bool | None:
    """Tell whether some order of equal margins keeps an option unbeaten; `None` when there are too many to follow."""
    if _favours(margins, one):
        return True
    budget = [MOST_STATES]
    states: set[Locked] = {tuple(0 for _ in margins)}
    for edges in _groups(margins):
        states = {following for state in states for following in _all_orders(state, edges, one, budget)}
    return bool(states) or (None if budget[0] <= 0 else False)


def _ranked_pairs(margins: Margins) -> tuple[Sequence[Weight], Sequence[int], str]:
    verdicts = {one: _can_win(margins, one) for one in _possible(margins)}
    if None in verdicts.values():
        why = f"equal margins can be locked in more than {MOST_STATES} ways: undecided"
        return [0 for _ in margins], [], why
    winners = sorted(one for one, wins in verdicts.items() if wins)
    scores = [int(one in winners) for one, _ in enumerate(margins)]
    if condorcet_winner(margins) is not None:
        return scores, winners, ""
    several = "the order of equal margins decides between them" if len(winners) > 1 else "it stays unbeaten"
    return scores, winners, f"locking the widest margins first, {several}"


RANKED_PAIRS_RULES = (
    Rule(
        "ranked-pairs",
        lambda ballots, _: head_to_head(ballots, _ranked_pairs),
        "head-to-head margins locked from the widest down, all orders of equal ones",
        aliases=("tideman",),
    ),
)
"""The rules of this module."""
