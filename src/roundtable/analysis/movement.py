"""Opinion flow: which agent gave which answer in each round, and who changed their answer."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.analysis.health import answer_moves, are_sides_assigned, basis_of, compare_known, read_pairs
from roundtable.core.types.base import Share, Value
from roundtable.scoring.camps import answers_by_turn, find_camps, to_open_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.debate import RoundRecord
    from roundtable.scoring.camps import SameOrDifferent

__all__ = ["Followed", "Opinion", "OpinionCamp", "OpinionFlow", "have_all_changed", "opinion_flow", "pair_verdicts"]

_OWN_LABEL: Final = re.compile(r"\(?([A-Za-z])(?:[).:]\s|\)?\Z)")
"""The letter of an option, as in *B) Porto*."""
_MOST_ANSWERS: Final = 300
"""Maximum answers of a debate that are compared with each other; the time grows with their square."""

_AnswerKey: TypeAlias = tuple[int, str]
"""Index of the round and id of the agent."""


class OpinionCamp(Value):
    """An answer that agents gave in one or several rounds, in any wording."""

    label: str
    """Short name: `A` for the answer with the most agents in the last round, then `B` and so on."""
    name: str
    """The most frequent wording; of equally frequent ones, the shortest."""
    holders: tuple[int, ...]
    """For each round, how many agents gave this answer."""


class Opinion(Value):
    """The last answer of one agent in one round."""

    agent_id: str
    """Id of the agent."""
    round: int
    """Number of the round, from 1."""
    camp: str | None
    """Label of the camp; `None` if the answer abstains."""
    confidence: Share | None
    """Reported confidence; `None` if none is stated."""
    moved: Literal["moved", "kept", "unknown"] | None
    """How the answer relates to the agent's answer in the previous round: `None` if there is none, `"unknown"` if it is
    not known whether the two say the same."""


class Followed(Value):
    """A change to an answer that other agents had given before. Whether they were the reason is not known."""

    agent_id: str
    """Id of the agent that changed its answer."""
    round: int
    """Number of the round in which the agent gave its new answer."""
    camp: str
    """Label of the new answer."""
    held_by: tuple[str, ...]
    """Ids of the agents that gave this answer in the previous round."""


class OpinionFlow(Value):
    """Who held which answer in each round.

    Answers with different labels differ, or it is not known whether they do.
    """

    rounds: tuple[int, ...]
    """Numbers of the rounds."""
    camps: tuple[OpinionCamp, ...]
    """The camps; those with the most agents in the last round come first."""
    opinions: tuple[Opinion, ...]
    """One entry for each agent and round with an answer, by round."""

    def followed(self) -> tuple[Followed, ...]:
        """Return each change to an answer that others gave in the previous round, with these others."""
        camp_of = {(opinion.agent_id, opinion.round): opinion.camp for opinion in self.opinions}
        before = dict(zip(self.rounds[1:], self.rounds, strict=False))
        moves = (opinion for opinion in self.opinions if opinion.moved == "moved" and opinion.round in before)
        candidates = (
            Followed(
                agent_id=move.agent_id,
                round=move.round,
                camp=move.camp or "",
                held_by=tuple(
                    agent
                    for (agent, number), camp in camp_of.items()
                    if number == before[move.round] and camp == move.camp and agent != move.agent_id
                ),
            )
            for move in moves
        )
        return tuple(followed for followed in candidates if followed.held_by)

    def to_records(self) -> list[JsonObject]:
        """Return one flat row for each opinion, with the name of its camp."""
        names = {camp.label: camp.name for camp in self.camps}
        return [
            {
                "round": opinion.round,
                "agentId": opinion.agent_id,
                "camp": opinion.camp,
                "answer": None if opinion.camp is None else names[opinion.camp],
                "confidence": opinion.confidence,
                "moved": opinion.moved,
            }
            for opinion in self.opinions
        ]


def opinion_flow(rounds: Sequence[RoundRecord]) -> OpinionFlow | None:
    """Find which agent gave which answer in each round.

    Args:
        rounds: The complete rounds, in order.

    Returns:
        The flow. It is `None` if sides were assigned, if the mode has votes before and after the speeches, or if there
        are no answers or more than 300.
    """
    answers = [{response.agent_id: response for response in record.as_stated.responses} for record in rounds]
    placed = {
        (index, agent): response for index, by_agent in enumerate(answers) for agent, response in by_agent.items()
    }
    by = basis_of(rounds, list(placed.values()))
    if not 0 < len(placed) <= _MOST_ANSWERS or by == "vote" or are_sides_assigned(rounds):
        return None
    camp_of = _by_choice(placed) if by == "choice" else _by_meaning(placed, rounds)
    changes = {(move.number, move.agent): move.changed for move in answer_moves(rounds, answers, by)}
    labelled = _labelled(camp_of, placed, len(rounds))
    labels = {key: camp.label for key, camp in labelled.items()}
    opinions: list[Opinion] = []
    for (index, agent), response in placed.items():
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
                confidence=response.confidence,
                moved=moved,
            )
        )
    return OpinionFlow(
        rounds=tuple(record.number for record in rounds), camps=tuple(labelled.values()), opinions=tuple(opinions)
    )


def have_all_changed(rounds: Sequence[RoundRecord]) -> bool:
    """Check whether every agent of the last round certainly gave a different answer in the first round.

    Args:
        rounds: The complete rounds, in order.
    """
    flow = opinion_flow(rounds) if len(rounds) > 1 else None
    if flow is None:
        return False
    by_agent: dict[str, list[Opinion]] = {}
    for opinion in flow.opinions:
        by_agent.setdefault(opinion.agent_id, []).append(opinion)
    histories = [
        history
        for history in by_agent.values()
        if history[-1].round == flow.rounds[-1] and history[-1].camp is not None
    ]
    return len(histories) > 1 and all(
        history[0].round == flow.rounds[0]
        and history[0].camp != history[-1].camp
        and all(opinion.moved in {"moved", "kept"} for opinion in history[1:])
        for history in histories
    )


def pair_verdicts(rounds: Sequence[RoundRecord]) -> dict[tuple[int, frozenset[str]], SameOrDifferent]:
    """Return how the last answers of each two agents of a round relate, by round and pair; unknown pairs are missing.

    Args:
        rounds: The complete rounds, in order.
    """
    known = answers_by_turn(turn for record in rounds for turn in record.turns)
    verdicts: dict[tuple[int, frozenset[str]], SameOrDifferent] = {}
    for record in rounds:
        placed = {(0, response.agent_id): response for response in record.responses}
        if all(response.choice is not None for response in placed.values()):
            camps = _by_choice(placed)
            for answer_key, other_key in combinations(camps, 2):
                verdicts[record.number, frozenset((answer_key[1], other_key[1]))] = (
                    "same" if camps[answer_key] == camps[other_key] else "different"
                )
            continue
        for answer_key, others in compare_known(placed, known, [record]).items():
            for other_key, verdict in others.items():
                if answer_key != other_key:
                    verdicts[record.number, frozenset((answer_key[1], other_key[1]))] = verdict
    return verdicts


def _by_choice(placed: Mapping[_AnswerKey, AgentResponse]) -> dict[_AnswerKey, str]:
    return {answer_key: response.choice for answer_key, response in placed.items() if response.choice is not None}


def _by_meaning(placed: Mapping[_AnswerKey, AgentResponse], rounds: Sequence[RoundRecord]) -> dict[_AnswerKey, str]:
    """Return a key for the camp of each answer; abstentions are missing."""
    known = answers_by_turn(turn for record in rounds for turn in record.turns)
    names = {str(answer_key): answer_key for answer_key in placed}
    answers = [to_open_answer(name, placed[answer_key], known) for name, answer_key in names.items()]
    camps = find_camps(answers, read_pairs(rounds)).camps
    return {names[name]: f"{number}" for number, camp in enumerate(camps) for name in camp.agents}


def _labelled(
    camp_of: Mapping[_AnswerKey, str], placed: Mapping[_AnswerKey, AgentResponse], rounds: int
) -> dict[str, OpinionCamp]:
    """Return the camps by their keys; those with the most agents in the last round come first."""
    holders = {key: [0] * rounds for key in camp_of.values()}
    wordings: dict[str, Counter[str]] = {key: Counter() for key in holders}
    for answer_key, key in camp_of.items():
        response = placed[answer_key]
        holders[key][answer_key[0]] += 1
        wordings[key][response.choice or response.bottom_line or response.position] += 1
    names = {key: min(counts, key=lambda text: (-counts[text], len(text), text)) for key, counts in wordings.items()}
    ordered = sorted(holders, key=lambda key: (-holders[key][-1], -sum(holders[key]), names[key], key))
    labels = _labels([names[key] for key in ordered])
    return {
        key: OpinionCamp(label=label, name=names[key], holders=tuple(holders[key]))
        for label, key in zip(labels, ordered, strict=True)
    }


def _labels(names: Sequence[str]) -> list[str]:
    """Return the labels of camps: those of their options or, if these have none, letters.

    Example:
        >>> _labels(["B) Porto", "A) Lisbon"]), _labels(["Porto", "Lisbon"]), _labels(["B) Porto", "Lisbon"])
        (['B', 'A'], ['A', 'B'], ['1', '2'])
    """
    found = [match[1] for match in map(_OWN_LABEL.match, names) if match is not None]
    if len(found) == len(names) == len({label.casefold() for label in found}):
        return found
    return [f"{number}" if found else _label(number - 1) for number in range(1, len(names) + 1)]


def _label(number: int) -> str:
    """Return `A` to `Z`, then `A2` and so on.

    Example:
        >>> _label(0), _label(25), _label(26)
        ('A', 'Z', 'A2')
    """
    times, letter = divmod(number, 26)
    return f"{chr(ord('A') + letter)}{times + 1 if times else ''}"
