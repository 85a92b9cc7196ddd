"""Health of a debate: signs of groupthink over its rounds, and the sycophancy of each agent."""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable.core.types.base import Share, Value
from roundtable.core.types.consensus import GroupthinkWarning
from roundtable.core.types.plan import FIRST_VOTE_STAGE
from roundtable.scoring.camps import SameOrDifferent, answers_by_turn, compare_answers, find_round_camps, to_open_answer
from roundtable.scoring.numbers import exact
from roundtable.scoring.swing import first_votes, last_votes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.core.types.consensus import Cluster
    from roundtable.core.types.debate import RoundRecord

__all__ = [
    "RECORDED",
    "AnswerMove",
    "ComparedBy",
    "DebateHealth",
    "HealthFlag",
    "Sycophancy",
    "answer_moves",
    "are_sides_assigned",
    "basis_of",
    "compare_known",
    "debate_health",
    "detect_groupthink",
    "has_collapsed",
    "read_pairs",
]

_SURE: Final = Fraction(8, 10)
_MEAN_SURE: Final = Fraction(85, 100)
_NEEDED: Final = 2
_ADVICE: Final = "Ask for the strongest case against the common position, or add agents of another provider."

RECORDED: Final = "transcript"
"""Provider of agents in debates that other projects recorded: no provider of this library answered."""

_RISE: Final = 0.1
_DISSENT: Final = re.compile(
    r"\b(?:however|but|although|though|whereas|disagree\w*|counter\w*|objection\w*|risk\w*|unless|on the other hand)\b"
    r"|그러나|하지만|반면|반대|다만",
    re.IGNORECASE,
)


def detect_groupthink(responses: Sequence[AgentResponse], *, all_say_the_same: bool | None = None) -> GroupthinkWarning:
    """Check for three signs of groupthink; two signs are enough for a warning.

    The signs are: all confidences are at least 80 %, and at least 85 % on average; all stated stances are the same; all
    answers certainly say the same.

    Args:
        responses: The answers of a round.
        all_say_the_same: Whether all answers say the same; if omitted, the answers themselves must show it.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(
        ...         agent_id=name, agent_name=name, position="We should ship it", stance="YES", confidence=0.9
        ...     )
        ...     for name in ("ada", "bo")
        ... ]
        >>> detect_groupthink(said).detected
        True
    """
    if len(responses) < 2:
        return GroupthinkWarning(detected=False)
    if all_say_the_same is None:
        camps = find_round_camps(responses)
        all_say_the_same = len(camps.camps) == 1 and not camps.abstained
    one_answer = "all answers say the same" if all_say_the_same else None
    indicators = tuple(sign for sign in (_sure(responses), _one_side(responses), one_answer) if sign)
    detected = len(indicators) >= _NEEDED
    return GroupthinkWarning(detected=detected, indicators=indicators, recommendation=_ADVICE if detected else "")


def _sure(responses: Sequence[AgentResponse]) -> str | None:
    stated = [response.confidence for response in responses if response.confidence is not None]
    if len(stated) < len(responses):
        return None
    confidences = [exact(confidence) for confidence in stated]
    mean = sum(confidences, Fraction(0)) / len(confidences)
    if min(confidences) < _SURE or mean < _MEAN_SURE:
        return None
    return f"everybody is sure: {float(mean):.0%} on average"


def _one_side(responses: Sequence[AgentResponse]) -> str | None:
    stances = [response.stance for response in responses if response.stance]
    if len(stances) < 2 or len(set(stances)) > 1:
        return None
    return f"every stance given is {stances[0]}"


_AnswerKey: TypeAlias = tuple[int, str]
"""Index of the round and id of the agent."""
_Seen: TypeAlias = dict[str, tuple[SameOrDifferent | None, SameOrDifferent | None]]
"""For each peer, how two successive answers of an agent relate to the first answer of the peer."""


ComparedBy: TypeAlias = Literal["choice", "stance", "position", "vote"]


class HealthFlag(Value):
    """A sign that the agreement may be weak evidence."""

    name: Literal["same-family", "no-new-evidence", "confidence-only", "silent-agreement", "collapse"]
    """Name of the sign."""
    detail: str
    """Description of what was observed."""


class Sycophancy(Value):
    """How often an agent gave in to a majority without new evidence."""

    agent_id: str
    """Id of the agent."""
    outvoted: int
    """Number of rounds before which most other agents shared a position that differed from its own."""
    gave_way: int
    """Number of these rounds in which it adopted that position without citing a new source."""
    score: Share | None = None
    """`gave_way / outvoted`; `None` if the agent was never outvoted."""


class DebateHealth(Value):
    """How positions changed in a debate; counts are exact, flags are hints."""

    compared_by: ComparedBy
    """The part of an answer that was compared between rounds. `position` is the bottom line or, without one, the whole
    position; the agents' comparisons of each other's answers also count, and a different wording alone is not a change.
    `vote` is for modes with votes before and after the speeches, such as Oxford: the first vote is compared with the
    last."""
    flags: tuple[HealthFlag, ...] = ()
    """Signs found."""
    flip_rate: Share | None = None
    """Share of answers that differ from the agent's previous answer, among answers for which this is known."""
    conformity: Share | None = None
    """Share of answers that adopt a position of another agent, if another agent had a different position before."""
    obstinacy: Share | None = None
    """Share of answers that stay the same, if another agent had a different position before."""
    sycophancy: tuple[Sycophancy, ...] = ()
    """One entry for each agent."""
    unclear_moves: int = 0
    """Number of answers for which it is not known whether they differ from the agent's previous answer; no figure
    counts them."""


class AnswerMove(NamedTuple):
    """Two successive answers of an agent, and how they relate to each other and to the first answers of its peers.

    The first answer of a peer is from the same round as the agent's first answer.
    """

    agent: str
    number: int
    """Index of the round of the second answer."""
    changed: SameOrDifferent | None
    """How the second answer relates to the first."""
    peers: Mapping[str, tuple[SameOrDifferent | None, SameOrDifferent | None]]
    """For each peer, how the agent's first and second answer relate to the peer's first answer."""
    majority: frozenset[str]
    """More than half of the peers, and at least two, whose first answers say the same; empty if there is no such
    majority."""

    @property
    def differing(self) -> list[str]:
        """Peers whose first answer differs from the agent's first answer."""
        return [peer for peer, (before, _) in self.peers.items() if before == "different"]

    @property
    def adopts(self) -> SameOrDifferent | None:
        """Whether the second answer equals one of a differing peer: `"same"`, `"different"`, or `None` if unknown."""
        after = {self.peers[peer][1] for peer in self.differing}
        return "same" if "same" in after else "different" if after == {"different"} else None


def debate_health(rounds: Sequence[RoundRecord], agents: Sequence[AgentConfig]) -> DebateHealth | None:
    """Analyse the complete rounds of a debate; `None` if there are none.

    Args:
        rounds: The complete rounds, in order.
        agents: The agents of the debate.
    """
    answers = [{response.agent_id: response for response in record.responses} for record in rounds]
    if not any(answers):
        return None
    by = basis_of(rounds, [response for by_agent in answers for response in by_agent.values()])
    moves = list(_vote_moves(rounds) if by == "vote" else answer_moves(rounds, answers, by))
    facing = [move for move in moves if move.differing]
    return DebateHealth(
        compared_by=by,
        flags=tuple(_flags(answers, rounds, agents)),
        flip_rate=_share([move.changed for move in moves], "different"),
        conformity=_share([move.adopts for move in facing], "same"),
        obstinacy=_share([move.changed for move in facing], "same"),
        sycophancy=tuple(_sycophancy(moves, answers, agent.id) for agent in agents),
        unclear_moves=sum(move.changed is None for move in moves),
    )


def basis_of(rounds: Sequence[RoundRecord], responses: Sequence[AgentResponse]) -> ComparedBy:
    """Return which part of the answers of a debate is compared between rounds."""
    if any(turn.stage == FIRST_VOTE_STAGE for record in rounds for turn in record.turns):
        return "vote"
    if all(response.choice for response in responses):
        return "choice"
    if are_sides_assigned(rounds) and all(response.stance for response in responses):
        return "stance"
    return "position"


def are_sides_assigned(rounds: Sequence[RoundRecord]) -> bool:
    """Check whether sides were assigned to the agents in every round."""
    return all(record.consensus is not None and record.consensus.assigned for record in rounds)


def _share(verdicts: Sequence[SameOrDifferent | None], of: SameOrDifferent) -> float | None:
    """Return the share of a verdict among the known ones; `None` if none is known."""
    known = [verdict for verdict in verdicts if verdict is not None]
    return float(Fraction(known.count(of), len(known))) if known else None


def answer_moves(
    rounds: Sequence[RoundRecord],
    answers: Sequence[Mapping[str, AgentResponse]],
    by: ComparedBy,
) -> Iterator[AnswerMove]:
    """Yield each pair of successive answers of an agent.

    Args:
        rounds: The complete rounds, in order.
        answers: For each round, the last answer of each agent.
        by: Which part of the answers is compared.
    """
    known = answers_by_turn(turn for record in rounds for turn in record.turns)
    for number, (before, after) in enumerate(pairwise(answers), 1):
        placed = {
            (index, agent): response
            for index, by_agent in enumerate((before, after))
            for agent, response in by_agent.items()
        }
        if by == "position":
            verdicts = compare_known(placed, known, rounds[number - 1 : number + 1])
        else:
            verdicts = _verdicts_of_marks({answer_key: _mark(response, by) for answer_key, response in placed.items()})
        for agent in before.keys() & after.keys():
            if (0, agent) not in verdicts or (1, agent) not in verdicts:
                continue
            peers = [peer for peer in before if peer != agent and (0, peer) in verdicts]
            changed, by_peer = _deduce(
                verdicts[0, agent].get((1, agent)),
                {peer: (verdicts[0, peer].get((0, agent)), verdicts[0, peer].get((1, agent))) for peer in peers},
            )
            yield AnswerMove(agent, number, changed, by_peer, _majority(verdicts, peers))


def _vote_moves(rounds: Sequence[RoundRecord]) -> Iterator[AnswerMove]:
    """Yield the first and the last vote of each agent that voted both times.

    Votes are private, so the majority is empty, and nobody counts as outvoted.
    """
    turns = [turn for record in rounds for turn in record.turns]
    before, after = first_votes(turns), last_votes(turns)
    marks = {
        agent: (first, last)
        for agent, first in before.items()
        if first is not None and (last := after.get(agent)) is not None
    }
    for agent, (first, last) in marks.items():
        peers: _Seen = {
            peer: (_relation(first, its), _relation(last, its)) for peer, (its, _) in marks.items() if peer != agent
        }
        yield AnswerMove(agent, len(rounds) - 1, _relation(first, last), peers, frozenset())


def _relation(mark: str, other_mark: str) -> SameOrDifferent:
    return "same" if mark == other_mark else "different"


def _deduce(changed: SameOrDifferent | None, by_peer: _Seen) -> tuple[SameOrDifferent | None, _Seen]:
    """Return what follows for two answers of an agent and one of each peer: two known relations may imply the third.

    Two answers that say the same have the same relation to a third answer.
    """
    if changed is None and any({"same", "different"} == set(pair) for pair in by_peer.values()):
        changed = "different"
    if changed is None and ("same", "same") in by_peer.values():
        changed = "same"
    if changed is None:
        return changed, by_peer
    deduced: _Seen = {}
    for peer, (before, after) in by_peer.items():
        if changed == "same":
            deduced[peer] = (before or after, after or before)
        elif before == "same":
            deduced[peer] = (before, after or "different")
        elif after == "same":
            deduced[peer] = (before or "different", after)
        else:
            deduced[peer] = (before, after)
    return changed, deduced


def _majority(
    verdicts: Mapping[_AnswerKey, Mapping[_AnswerKey, SameOrDifferent]], peers: Sequence[str]
) -> frozenset[str]:
    """Return the camp of more than half of the peers, and at least two, in the previous round; else an empty set."""
    sames = {peer: frozenset(other for other in peers if verdicts[0, peer].get((0, other)) == "same") for peer in peers}
    camps = [frozenset(peer for peer in peers if sames[peer] == camp) for camp in set(sames.values())]
    least = max(2, len(peers) // 2 + 1)
    return next((camp for camp in camps if len(camp) >= least), frozenset())


def _mark(response: AgentResponse, by: ComparedBy) -> str:
    return (response.choice if by == "choice" else response.stance) or ""


def _verdicts_of_marks(marks: Mapping[_AnswerKey, str]) -> dict[_AnswerKey, dict[_AnswerKey, SameOrDifferent]]:
    return {
        answer_key: {other_key: _relation(mark, other_mark) for other_key, other_mark in marks.items()}
        for answer_key, mark in marks.items()
    }


def compare_known(
    placed: Mapping[_AnswerKey, AgentResponse], known: Mapping[TurnKey, AgentResponse], rounds: Sequence[RoundRecord]
) -> dict[_AnswerKey, dict[_AnswerKey, SameOrDifferent]]:
    """Return how answers of one or several rounds relate, by their own evidence and by the measurements of the rounds.

    Args:
        placed: The last answer of each agent in a round, by the index of the round in `rounds` and the agent's id.
        known: Answers by turn, to which comparisons of the answers may refer.
        rounds: The rounds.

    Returns:
        For each answer, how other answers relate to it; pairs whose relation is unknown and abstentions are missing.
    """
    names = {str(answer_key): answer_key for answer_key in placed}
    answers = (to_open_answer(name, placed[answer_key], known) for name, answer_key in names.items())
    relations = compare_answers(answers, read_pairs(rounds))
    return {
        names[name]: {names[other_name]: verdict for other_name, verdict in verdicts.items()}
        for name, verdicts in relations.items()
    }


def read_pairs(rounds: Sequence[RoundRecord]) -> dict[tuple[str, str], SameOrDifferent]:
    """Return what the measurements of rounds show about pairs of answers, each named by `str((index, agent))`."""
    return {
        (str((index, agent)), str((index, other_agent))): verdict
        for index, record in enumerate(rounds)
        for (agent, other_agent), verdict in _measured_pairs(record)
    }


def _measured_pairs(record: RoundRecord) -> Iterator[tuple[tuple[str, str], SameOrDifferent]]:
    """Yield what a measurement shows about pairs of agents' last answers.

    Answers in a camp say the same. If the lead is not open, answers outside the largest camp differ from it, unless
    they were not compared.
    """
    consensus = record.consensus
    if consensus is None:
        return
    camps = [_last_of(cluster, record.responses) for cluster in consensus.clusters]
    for camp in camps:
        for pair in combinations(camp, 2):
            yield pair, "same"
    if consensus.is_lead_open:
        return
    for other_camp in camps[1:]:
        for pair in product(camps[0], other_camp):
            if pair[1] not in consensus.not_compared:
                yield pair, "different"


def _last_of(cluster: Cluster, responses: Sequence[AgentResponse]) -> list[str]:
    """Return the agents whose last answer is in a cluster."""
    last = {response.agent_id: index for index, response in enumerate(responses)}
    if cluster.answers:
        return [agent for agent, index in last.items() if index in cluster.answers]
    counts = Counter(response.agent_id for response in responses)
    return [agent for agent in cluster.agent_ids if counts[agent] == 1]


def _flags(
    answers: Sequence[Mapping[str, AgentResponse]], rounds: Sequence[RoundRecord], agents: Sequence[AgentConfig]
) -> list[HealthFlag]:
    flags: list[HealthFlag] = []
    first, last = answers[0], answers[-1]
    agreed_first, agreed = _unanimous(rounds[0]), _unanimous(rounds[-1])
    families = {_family(agent) for agent in agents if agent.id in first}
    if agreed_first and len(families) == 1 and None not in families:
        detail = f"all agreed at once, and all {next(iter(families))}"
        flags.append(HealthFlag(name="same-family", detail=detail))
    several = len(rounds) > 1
    if has_collapsed(rounds):
        initial = _sources(first.values())
        later = {source for by_agent in answers[1:] for source in _sources(by_agent.values())}
        detail = f"disagreement in round 1 ended in unanimity in round {rounds[-1].number}"
        flags.append(HealthFlag(name="collapse", detail=detail))
        if not later - initial:
            detail = "they came to agree without a source that was not there in round 1"
            flags.append(HealthFlag(name="no-new-evidence", detail=detail))
    before, after = _mean_confidence(first), _mean_confidence(last)
    rise = after - before if before is not None and after is not None else 0.0
    if several and rise >= _RISE and len(_sources(last.values())) <= len(_sources(first.values())):
        detail = f"confidence rose by {rise:.2f} on average, the number of sources did not"
        flags.append(HealthFlag(name="confidence-only", detail=detail))
    if agreed and not any(_DISSENT.search(f"{answer.position} {answer.reasoning}") for answer in last.values()):
        detail = "all agree, and no answer of the last round names anything against it"
        flags.append(HealthFlag(name="silent-agreement", detail=detail))
    return flags


def _family(agent: AgentConfig) -> str | None:
    """Return who answers for an agent: its provider or, in a recorded debate, its model; `None` if that is unknown."""
    if agent.provider != RECORDED:
        return f"speak through {agent.provider}"
    return None if agent.model is None else f"are the model {agent.model}"


def has_collapsed(rounds: Sequence[RoundRecord]) -> bool:
    """Check whether a debate ended in unanimity, although the answers of its first round certainly differed.

    Args:
        rounds: The complete rounds, in order.
    """
    return len(rounds) > 1 and _unanimous(rounds[-1]) and not _may_agree(rounds[0])


def _may_agree(record: RoundRecord) -> bool:
    """Check whether all answers may say the same: no answer is known to differ from the largest camp."""
    if record.consensus is None:
        return True
    outside = {agent for cluster in record.consensus.clusters[1:] for agent in cluster.agent_ids}
    return outside <= set(record.consensus.not_compared)


def _unanimous(record: RoundRecord) -> bool:
    consensus = record.consensus
    if consensus is None or len(record.responses) < 2:
        return False
    members = consensus.clusters[0] if len(consensus.clusters) == 1 else None
    return members is not None and max(len(members.answers), len(members.agent_ids)) == len(record.responses)


def _sources(answers: Iterable[AgentResponse]) -> set[str]:
    return {citation.url for answer in answers for citation in answer.citations}


def _mean_confidence(answers: Mapping[str, AgentResponse]) -> float | None:
    stated = [answer.confidence for answer in answers.values() if answer.confidence is not None]
    return math.fsum(stated) / len(stated) if stated else None


def _sycophancy(moves: Iterable[AnswerMove], answers: Sequence[Mapping[str, AgentResponse]], agent: str) -> Sycophancy:
    outvoted = gave_way = 0
    for move in moves:
        if move.agent != agent or not move.majority or not move.majority <= set(move.differing):
            continue
        outvoted += 1
        earlier = [by_agent[agent] for by_agent in answers[: move.number] if agent in by_agent]
        new_sources = _sources([answers[move.number][agent]]) - _sources(earlier)
        gave_way += any(move.peers[peer][1] == "same" for peer in move.majority) and not new_sources
    score = gave_way / outvoted if outvoted else None
    return Sycophancy(agent_id=agent, outvoted=outvoted, gave_way=gave_way, score=score)
