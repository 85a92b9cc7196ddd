"""Opinion flow: who held which answer in each round, and who moved."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.analysis.health import answer_moves, are_sides_assigned, basis_of, compare_known, read_pairs
from roundtable.scoring import casefold
from roundtable.scoring.camps import answers_by_turn, find_camps, to_open_answer
from roundtable.types import Share, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.scoring.camps import SameOrDifferent
    from roundtable.types import AgentResponse, JsonObject, RoundRecord

__all__ = ["Followed", "Opinion", "OpinionCamp", "OpinionFlow", "have_all_changed", "opinion_flow", "pair_verdicts"]

_MOST_ANSWERS: Final = 300
"""Answers of a debate that are compared with each other; the work grows with their square."""

_Place: TypeAlias = tuple[int, str]
"""Index of the round and id of the agent."""


class OpinionCamp(Value):
    """An answer that agents gave in one or several rounds, in any wording."""

    label: str
    """Short name: `A` for the answer with most agents in the last round, then `B` and so on."""
    name: str
    """The most used wording, then the shortest."""
    holders: tuple[int, ...]
    """How many agents held it, by round."""


class Opinion(Value):
    """The last answer of one agent in one round."""

    agent_id: str
    """Id of the agent."""
    round: int
    """Number of the round, from 1."""
    camp: str | None
    """Label of the camp; `None` if the answer abstains."""
    confidence: Share
    """Reported confidence."""
    moved: Literal["moved", "kept", "unknown"] | None
    """How it relates to the agent's answer in the round before; `None` without one, `"unknown"` if nobody compared
    them."""


class Followed(Value):
    """A move to an answer that other agents had given. Whether they were the reason is not known."""

    agent_id: str
    """Who moved."""
    round: int
    """Number of the round in which it gave the new answer."""
    camp: str
    """Label of the answer that it took."""
    held_by: tuple[str, ...]
    """Who held this answer in the round before."""


class OpinionFlow(Value):
    """Who held which answer in each round.

    Answers with different labels differ, or nobody compared them.
    """

    rounds: tuple[int, ...]
    """Numbers of the rounds."""
    camps: tuple[OpinionCamp, ...]
    """The camps, in the order of their labels."""
    opinions: tuple[Opinion, ...]
    """One entry for each agent and round with an answer, by round."""

    def followed(self) -> tuple[Followed, ...]:
        """Return for each move to an answer that others held in the round before who they were."""
        held = {(one.agent_id, one.round): one.camp for one in self.opinions}
        before = dict(zip(self.rounds[1:], self.rounds, strict=False))
        moves = (one for one in self.opinions if one.moved == "moved" and one.round in before)
        found = (
            Followed(
                agent_id=move.agent_id,
                round=move.round,
                camp=move.camp or "",
                held_by=tuple(
                    agent
                    for (agent, number), camp in held.items()
                    if number == before[move.round] and camp == move.camp and agent != move.agent_id
                ),
            )
            for move in moves
        )
        return tuple(one for one in found if one.held_by)

    def to_records(self) -> list[JsonObject]:
        """Return one flat row for each opinion, with the name of its camp."""
        names = {camp.label: camp.name for camp in self.camps}
        return [
            {
                "round": one.round,
                "agentId": one.agent_id,
                "camp": one.camp,
                "answer": None if one.camp is None else names[one.camp],
                "confidence": one.confidence,
                "moved": one.moved,
            }
            for one in self.opinions
        ]


def opinion_flow(rounds: Sequence[RoundRecord]) -> OpinionFlow | None:
    """Find out who held which answer in each round.

    Args:
        rounds: The complete rounds, in order.

    Returns:
        The flow, or `None` if the sides were assigned or put to a vote, there is no answer, or there are more than 300.
    """
    answers = [{response.agent_id: response for response in record.responses} for record in rounds]
    placed = {(index, agent): said for index, held in enumerate(answers) for agent, said in held.items()}
    by = basis_of(rounds, list(placed.values()))
    if not 0 < len(placed) <= _MOST_ANSWERS or by == "vote" or are_sides_assigned(rounds):
        return None
    camp_of = _by_choice(placed) if by == "choice" else _by_meaning(placed, rounds)
    changes = {(move.number, move.agent): move.changed for move in answer_moves(rounds, answers, by)}
    labelled = _labelled(camp_of, placed, len(rounds))
    labels = {key: camp.label for key, camp in labelled.items()}
    opinions: list[Opinion] = []
    for (index, agent), said in placed.items():
        key = camp_of.get((index, agent))
        before = camp_of.get((index - 1, agent)) if (index - 1, agent) in placed else None
        moved: Literal["moved", "kept", "unknown"] | None = None
        if key is not None and before is not None:
            changed = "same" if key == before else changes.get((index, agent))
            moved = "unknown" if changed is None else "kept" if changed == "same" else "moved"
        opinions.append(
            Opinion(
                agent_id=agent,
                round=rounds[index].number,
                camp=None if key is None else labels[key],
                confidence=said.confidence,
                moved=moved,
            )
        )
    return OpinionFlow(
        rounds=tuple(record.number for record in rounds), camps=tuple(labelled.values()), opinions=tuple(opinions)
    )


def have_all_changed(rounds: Sequence[RoundRecord]) -> bool:
    """Check whether every agent of the last round is known to have given another answer in the first one.

    Args:
        rounds: The complete rounds, in order.
    """
    flow = opinion_flow(rounds) if len(rounds) > 1 else None
    if flow is None:
        return False
    by_agent: dict[str, list[Opinion]] = {}
    for opinion in flow.opinions:
        by_agent.setdefault(opinion.agent_id, []).append(opinion)
    histories = [held for held in by_agent.values() if held[-1].round == flow.rounds[-1] and held[-1].camp is not None]
    return len(histories) > 1 and all(
        held[0].round == flow.rounds[0]
        and held[0].camp != held[-1].camp
        and all(opinion.moved in {"moved", "kept"} for opinion in held[1:])
        for held in histories
    )


def pair_verdicts(rounds: Sequence[RoundRecord]) -> dict[tuple[int, frozenset[str]], SameOrDifferent]:
    """Return how the last answers of each two agents of a round relate, by round and pair; unknown ones are missing.

    Args:
        rounds: The complete rounds, in order.
    """
    known = answers_by_turn(turn for record in rounds for turn in record.turns)
    found: dict[tuple[int, frozenset[str]], SameOrDifferent] = {}
    for record in rounds:
        placed = {(0, response.agent_id): response for response in record.responses}
        if all(said.choice is not None for said in placed.values()):
            camps = _by_choice(placed)
            for one, other in combinations(camps, 2):
                found[record.number, frozenset((one[1], other[1]))] = (
                    "same" if camps[one] == camps[other] else "different"
                )
            continue
        for one, others in compare_known(placed, known, [record]).items():
            for other, verdict in others.items():
                if one != other:
                    found[record.number, frozenset((one[1], other[1]))] = verdict
    return found


def _by_choice(placed: Mapping[_Place, AgentResponse]) -> dict[_Place, str]:
    return {place: casefold(said.choice) for place, said in placed.items() if said.choice is not None}


def _by_meaning(placed: Mapping[_Place, AgentResponse], rounds: Sequence[RoundRecord]) -> dict[_Place, str]:
    """Return a key for the camp of each answer; abstentions have none."""
    known = answers_by_turn(turn for record in rounds for turn in record.turns)
    names = {str(place): place for place in placed}
    answers = [to_open_answer(name, placed[place], known) for name, place in names.items()]
    camps = find_camps(answers, read_pairs(rounds)).camps
    return {names[name]: f"{number}" for number, camp in enumerate(camps) for name in camp.agents}


def _labelled(
    camp_of: Mapping[_Place, str], placed: Mapping[_Place, AgentResponse], rounds: int
) -> dict[str, OpinionCamp]:
    """Return the camps by their keys, those with most agents in the last round first."""
    holders = {key: [0] * rounds for key in camp_of.values()}
    wordings: dict[str, Counter[str]] = {key: Counter() for key in holders}
    for place, key in camp_of.items():
        said = placed[place]
        holders[key][place[0]] += 1
        wordings[key][said.choice or said.bottom_line or said.position] += 1
    names = {key: min(found, key=lambda text: (-found[text], len(text), text)) for key, found in wordings.items()}
    ordered = sorted(holders, key=lambda key: (-holders[key][-1], -sum(holders[key]), names[key], key))
    return {
        key: OpinionCamp(label=_label(number), name=names[key], holders=tuple(holders[key]))
        for number, key in enumerate(ordered)
    }


def _label(number: int) -> str:
    """Return `A` to `Z`, then `A2` and so on.

    Example:
        >>> _label(0), _label(25), _label(26)
        ('A', 'Z', 'A2')
    """
    times, letter = divmod(number, 26)
    return f"{chr(ord('A') + letter)}{times + 1 if times else ''}"
