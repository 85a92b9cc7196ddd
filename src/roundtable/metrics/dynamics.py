"""How positions change from round to round: who changes, who follows whom, and how often disagreement collapses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError
from roundtable.scoring.normalisation import Normalise, normaliser
from roundtable.scoring.numbers import Measure, exact_or_none

__all__ = [
    "Positions",
    "Rounds",
    "conformity",
    "disagreement_collapse",
    "flip_rate",
    "influence_matrix",
    "modal_adoption",
    "obstinacy",
    "position_drift",
]

Positions: TypeAlias = Mapping[str, str | None]
"""Agent to position in one round; `None`, or no entry, for an agent without a position."""

Rounds: TypeAlias = Sequence[Positions]
"""The rounds of one debate, in order."""

NO_MOVES = Measure(None, "no agent answered in two rounds in a row")
NO_DISSENT = Measure(None, "no agent had a peer with a different position")


@dataclass(frozen=True, slots=True)
class _Move:
    agent: str
    old: str
    new: str
    peers: Mapping[str, str]
    """Positions of the other agents before the move."""

    @property
    def differing(self) -> set[str]:
        """Positions of peers that differ from the agent's own."""
        return set(self.peers.values()) - {self.old}


def _position_keys(positions: Positions, normalise: Normalise) -> dict[str, str]:
    key_of = normaliser(normalise)
    return {agent: key_of(position) for agent, position in positions.items() if position is not None}


def _moves(rounds: Rounds, normalise: Normalise) -> Iterator[_Move]:
    for before, after in pairwise([_position_keys(positions, normalise) for positions in rounds]):
        for agent in before.keys() & after.keys():
            peers = {peer: position for peer, position in before.items() if peer != agent}
            yield _Move(agent, before[agent], after[agent], peers)


def _true_share(outcomes: Iterable[bool], undefined: Measure) -> Measure:
    flags = list(outcomes)
    return Measure(Fraction(sum(flags), len(flags)), figures={"of": len(flags)}) if flags else undefined


def position_drift(
    rounds: Rounds,
    *,
    distance: Callable[[str, str], Fraction | float] | None = None,
    normalise: Normalise = "casefold",
) -> Measure:
    """Measure how far positions change between rounds: the mean distance over agents and pairs of successive rounds.

    Without `distance`, the distance of two numbers is the difference of their values; that of other positions is 0 if
    they are the same, else 1. Range: at least 0, in the unit of the distance; exact unless `distance` returns floats.
    Undefined when no agent answered in two rounds in a row.

    Args:
        rounds: The rounds of one debate.
        distance: Function that returns the distance of two positions; it gets them as written.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> position_drift([{"ada": "10", "bo": "12"}, {"ada": "11", "bo": "12"}]).value
        Fraction(1, 2)
    """
    distance_of = distance or _value_distance(normaliser(normalise))
    distances = [
        distance_of(old, new)
        for before, after in pairwise(rounds)
        for agent in sorted(before)
        if (old := before[agent]) is not None and (new := after.get(agent)) is not None
    ]
    if not distances:
        return NO_MOVES
    return Measure(sum(distances, Fraction(0)) / len(distances), figures={"of": len(distances)})


def _value_distance(key_of: Callable[[str], str]) -> Callable[[str, str], Fraction]:
    def apart(first: str, second: str) -> Fraction:
        first_number, second_number = exact_or_none(first), exact_or_none(second)
        if first_number is None or second_number is None:
            return Fraction(key_of(first) != key_of(second))
        return abs(first_number - second_number)

    return apart


def flip_rate(rounds: Rounds, *, normalise: Normalise = "casefold") -> Measure:
    """Measure how often agents change their position: changes divided by pairs of successive answers.

    Range: [0, 1], exact, no unit. Undefined if no agent answered in two rounds in a row. `figures["of"]` counts the
    pairs.

    Args:
        rounds: The rounds of one debate.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> flip_rate([{"ada": "yes", "bo": "no"}, {"ada": "yes", "bo": "yes"}]).value
        Fraction(1, 2)
    """
    return _true_share((move.new != move.old for move in _moves(rounds, normalise)), NO_MOVES)


def conformity(rounds: Rounds, *, normalise: Normalise = "casefold") -> Measure:
    """Measure how often an agent adopts a peer's position when a peer differs: P(adopt | a peer differs).

    Range: [0, 1], exact, no unit. Undefined if no agent who answered twice in a row had a differing peer.
    Source: the peer-following rate of arXiv 2510.07517, for any number of agents.

    Args:
        rounds: The rounds of one debate.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> conformity([{"ada": "yes", "bo": "no"}, {"ada": "yes", "bo": "yes"}]).value
        Fraction(1, 2)
    """
    contested = (move for move in _moves(rounds, normalise) if move.differing)
    return _true_share((move.new in move.differing for move in contested), NO_DISSENT)


def obstinacy(rounds: Rounds, *, normalise: Normalise = "casefold") -> Measure:
    """Measure how often an agent keeps its position when a peer differs: P(keep | a peer differs).

    Range: [0, 1], exact, no unit. It is at most `1 - conformity`; the agents in neither share moved to a position that
    no peer held. Undefined in the same cases as `conformity`.

    Args:
        rounds: The rounds of one debate.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> obstinacy([{"ada": "yes", "bo": "no"}, {"ada": "yes", "bo": "maybe"}]).value
        Fraction(1, 2)
    """
    contested = (move for move in _moves(rounds, normalise) if move.differing)
    return _true_share((move.new == move.old for move in contested), NO_DISSENT)


def modal_adoption(rounds: Rounds, *, normalise: Normalise = "casefold") -> Measure:
    """Measure how often a minority agent adopts the most frequent position: P(adopt the mode | in the minority).

    Pairs of successive rounds count only if the earlier round has a single most frequent position. Range: [0, 1],
    exact, no unit. Undefined if no agent who answered twice in a row was in a minority. Source: arXiv 2605.00914.

    Args:
        rounds: The rounds of one debate.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> modal_adoption([{"a": "x", "b": "x", "c": "y"}, {"a": "x", "b": "x", "c": "x"}]).value
        Fraction(1, 1)
    """
    adopted: list[bool] = []
    for move in _moves(rounds, normalise):
        counts = Counter([move.old, *move.peers.values()])
        (mode, most), *others = counts.most_common()
        if move.old != mode and most > others[0][1]:
            adopted.append(move.new == mode)
    return _true_share(adopted, Measure(None, "no agent was in a minority against a single most frequent position"))


def influence_matrix(rounds: Rounds, *, normalise: Normalise = "casefold") -> dict[str, dict[str, Measure]]:
    """Measure how often each agent moved to the position of each other agent.

    Row i, column j is taken from the pairs of successive rounds in which i and j had different positions in the earlier
    round, and j answered in the later round. The value is the share of these pairs in which j moved to i's earlier
    position. Range: [0, 1], exact, no unit. If there is no such pair, the value is undefined. If several agents had the
    position that j moves to, each of them is credited: the matrix shows association, not cause.

    Args:
        rounds: The rounds of one debate.
        normalise: How spellings are compared to find out which are the same position.

    Example:
        >>> matrix = influence_matrix([{"ada": "yes", "bo": "no"}, {"ada": "yes", "bo": "yes"}])
        >>> matrix["ada"]["bo"].value, matrix["bo"]["ada"].value
        (Fraction(1, 1), Fraction(0, 1))
    """
    agents = sorted({agent for positions in rounds for agent in positions})
    moved: dict[tuple[str, str], list[bool]] = {}
    for move in _moves(rounds, normalise):
        for peer, position in move.peers.items():
            if position != move.old:
                moved.setdefault((peer, move.agent), []).append(move.new == position)
    never = Measure(None, "they never differed")
    return {
        peer: {agent: _true_share(moved.get((peer, agent), ()), never) for agent in agents if agent != peer}
        for peer in agents
    }


def disagreement_collapse(
    debates: Iterable[Rounds], *, gold: Iterable[str | None] | None = None, normalise: Normalise = "casefold"
) -> Measure:
    """Measure how many debates that began in disagreement end unanimous or, with gold answers, unanimously wrong.

    Range: [0, 1], exact, no unit. The figures contain the number of debates that began in disagreement (`debates`), and
    how many of them collapsed (`collapsed`). A last round with fewer than two positions is not unanimous. With gold
    answers, debates whose gold answer is `None` are left out. Undefined when no debate began in disagreement. Source:
    disagreement collapse rate of arXiv 2509.23055.

    Args:
        debates: The rounds of each debate.
        gold: The right answer of each debate. Without `gold`, every unanimous end counts, right or wrong.
        normalise: How spellings are compared to find out which are the same position.

    Raises:
        ConfigurationError: There are not as many gold answers as debates.

    Example:
        >>> split, agreed = {"ada": "yes", "bo": "no"}, {"ada": "yes", "bo": "yes"}
        >>> disagreement_collapse([[split, agreed], [split, split]]).value
        Fraction(1, 2)
    """
    all_rounds = list(debates)
    answers: list[str | None] = [None] * len(all_rounds) if gold is None else list(gold)
    if len(answers) != len(all_rounds):
        raise ConfigurationError(
            f"each debate needs one gold answer: {counted(len(all_rounds), 'debate')}, but "
            f"{counted(len(answers), 'gold answer')}"
        )
    key_of = normaliser(normalise)
    collapsed: list[bool] = []
    for rounds, answer in zip(all_rounds, answers, strict=True):
        if not rounds or (gold is not None and answer is None):
            continue
        first, last = (list(_position_keys(rounds[index], normalise).values()) for index in (0, -1))
        if len(set(first)) > 1:
            wrong = answer is None or key_of(answer) not in last
            collapsed.append(len(last) > 1 and len(set(last)) == 1 and wrong)
    if not collapsed:
        return Measure(None, "no debate began in disagreement")
    figures = {"debates": len(collapsed), "collapsed": sum(collapsed)}
    return Measure(Fraction(sum(collapsed), len(collapsed)), figures=figures)
