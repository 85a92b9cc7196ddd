"""Whether agents thought for themselves, as far as a transcript shows: groupthink over rounds, sycophancy by agent."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from roundtable.scoring import casefold, conformity, flip_rate, obstinacy
from roundtable.types import Share, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roundtable.types import AgentConfig, AgentResponse, RoundRecord

__all__ = ["DebateHealth", "HealthFlag", "Sycophancy", "debate_health"]

_RISE: Final = 0.1
_DISSENT: Final = re.compile(
    r"\b(?:however|but|although|though|whereas|disagree\w*|counter\w*|objection\w*|risk\w*|unless|on the other hand)\b"
    r"|그러나|하지만|반면|반대|다만",
    re.IGNORECASE,
)


class HealthFlag(Value):
    """A sign that agreement may mean little."""

    name: Literal["same-family", "no-new-evidence", "confidence-only", "silent-agreement", "collapse"]
    """Which sign."""
    detail: str
    """What was seen."""


class Sycophancy(Value):
    """How often one agent gave way to a majority without anything new."""

    agent_id: str
    """Who."""
    outvoted: int
    """Rounds it went into while most others held one other position."""
    gave_way: int
    """Of these, how often it then took that position and cited no source it had not cited before."""
    score: Share | None = None
    """`gave_way / outvoted`; `None` when it was never outvoted."""


class DebateHealth(Value):
    """How a debate moved; counts are exact, flags are hints."""

    compared_by: Literal["choice", "stance", "position"]
    """What of an answer was compared from round to round; with `position`, every rewording is a change."""
    flags: tuple[HealthFlag, ...] = ()
    """Signs seen."""
    flip_rate: Share | None = None
    """Share of answers that differ from the agent's last."""
    conformity: Share | None = None
    """Share of those facing another position that took one of the others'."""
    obstinacy: Share | None = None
    """Share of those facing another position that kept theirs."""
    sycophancy: tuple[Sycophancy, ...] = ()
    """By agent."""


class _Moves(NamedTuple):
    rounds: Sequence[Mapping[str, AgentResponse]]
    held: Sequence[Mapping[str, str]]


def debate_health(rounds: Sequence[RoundRecord], agents: Sequence[AgentConfig]) -> DebateHealth | None:
    """Look at the complete rounds of a debate; `None` while there is none.

    Args:
        rounds: The complete rounds, in order.
        agents: Who takes part.
    """
    answered = [{said.agent_id: said for said in held.responses} for held in rounds]
    if not any(answered):
        return None
    every = [said for held in answered for said in held.values()]
    by: Literal["choice", "stance", "position"] = "position"
    if all(said.choice for said in every):
        by = "choice"
    elif all(said.stance for said in every):
        by = "stance"
    held = [{agent: casefold(getattr(said, by)) for agent, said in one.items()} for one in answered]
    moves = _Moves(answered, held)
    measures = {
        name: measure(held).value
        for name, measure in (("flip_rate", flip_rate), ("conformity", conformity), ("obstinacy", obstinacy))
    }
    return DebateHealth(
        compared_by=by,
        flags=tuple(_flags(moves, rounds, agents)),
        **{name: None if value is None else float(value) for name, value in measures.items()},
        sycophancy=tuple(_sycophancy(moves, agent.id) for agent in agents),
    )


def _flags(moves: _Moves, rounds: Sequence[RoundRecord], agents: Sequence[AgentConfig]) -> list[HealthFlag]:
    found: list[HealthFlag] = []
    first, last = moves.rounds[0], moves.rounds[-1]
    agreed_first, agreed = _unanimous(rounds[0]), _unanimous(rounds[-1])
    families = {agent.provider for agent in agents if agent.id in first}
    if agreed_first and len(families) == 1:
        seen = f"all agreed at once, and all speak through {next(iter(families))}"
        found.append(HealthFlag(name="same-family", detail=seen))
    several = len(rounds) > 1
    if several and agreed and not agreed_first:
        before = _sources(first.values())
        since = {source for held in moves.rounds[1:] for source in _sources(held.values())}
        seen = f"disagreement in round 1 ended in unanimity in round {rounds[-1].number}"
        found.append(HealthFlag(name="collapse", detail=seen))
        if not since - before:
            seen = "they came to agree without a source that was not there in round 1"
            found.append(HealthFlag(name="no-new-evidence", detail=seen))
    rise = _mean_confidence(last) - _mean_confidence(first)
    if several and rise >= _RISE and len(_sources(last.values())) <= len(_sources(first.values())):
        seen = f"confidence rose by {rise:.2f} on average, the number of sources did not"
        found.append(HealthFlag(name="confidence-only", detail=seen))
    if agreed and not any(_DISSENT.search(f"{said.position} {said.reasoning}") for said in last.values()):
        seen = "all agree, and no answer of the last round names anything against it"
        found.append(HealthFlag(name="silent-agreement", detail=seen))
    return found


def _unanimous(held: RoundRecord) -> bool:
    consensus = held.consensus
    if consensus is None or len(held.responses) < 2:
        return False
    return len(consensus.clusters) == 1 and len(consensus.clusters[0].agent_ids) == len(held.responses)


def _sources(answers: Iterable[AgentResponse]) -> set[str]:
    return {citation.url for said in answers for citation in said.citations}


def _mean_confidence(held: Mapping[str, AgentResponse]) -> float:
    return math.fsum(said.confidence for said in held.values()) / len(held) if held else 0.0


def _sycophancy(moves: _Moves, agent: str) -> Sycophancy:
    outvoted = gave_way = 0
    for place, (before, after) in enumerate(pairwise(moves.held)):
        if agent not in before or agent not in after:
            continue
        peers = Counter(position for peer, position in before.items() if peer != agent)
        leading = peers.most_common(1)
        if not leading or 2 * leading[0][1] <= peers.total() or leading[0][0] == before[agent]:
            continue
        outvoted += 1
        cited = {source for held in moves.rounds[: place + 1] if agent in held for source in _sources([held[agent]])}
        fresh = _sources([moves.rounds[place + 1][agent]]) - cited
        gave_way += after[agent] == leading[0][0] and not fresh
    score = gave_way / outvoted if outvoted else None
    return Sycophancy(agent_id=agent, outvoted=outvoted, gave_way=gave_way, score=score)
