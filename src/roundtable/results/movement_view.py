"""Who held which answer, who moved, and what an agent changed, as reports show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.report import CampView, ChangeView, FlowCell, FlowView, compare_words, new_sentences, unmarked
from roundtable.report.view import short_name
from roundtable.scoring.words import counted
from roundtable.types.debate import last_complete

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.analysis.movement import Opinion, OpinionFlow
    from roundtable.types import AgentResponse, RoundRecord

__all__ = ["Movement"]

_MOST_MOVES: Final = 6
_FLOW_CHARS: Final = 40
"""Longest answer in a sentence on who moved."""
_MOST_POINTS: Final = 3


class Movement:
    """The camps of a result and the moves between them, for a view.

    Args:
        flow: The opinion flow; `None` if the result has none.
        rounds: The rounds of the result.
        names: Names of its agents by id, by seat.
    """

    def __init__(self, flow: OpinionFlow | None, rounds: Sequence[RoundRecord], names: Mapping[str, str]) -> None:
        self._flow = flow
        self._rounds = rounds
        self._names = names
        self._held: dict[tuple[str, int], Opinion] = (
            {} if flow is None else {(one.agent_id, one.round): one for one in flow.opinions}
        )
        self._answers = {} if flow is None else {camp.label: camp.name for camp in flow.camps}
        self._said: dict[tuple[str, int], AgentResponse] = {
            (response.agent_id, held.number): response
            for held in (rounds if flow is not None else ())
            for response in held.responses
        }

    def flow_view(self) -> FlowView | None:
        """Return who held what in each round; `None` with less than two rounds."""
        flow = self._flow
        if flow is None or len(flow.rounds) < 2:
            return None
        seats = {agent: seat for seat, agent in enumerate(self._names)}
        agents = [agent for agent in self._names if any(one.agent_id == agent for one in flow.opinions)]
        return FlowView(
            rounds=flow.rounds,
            camps=tuple((camp.label, unmarked(camp.name)) for camp in flow.camps),
            rows=tuple(
                (
                    self._names[agent],
                    seats[agent],
                    tuple(_flow_cell(self._held.get((agent, number))) for number in flow.rounds),
                )
                for agent in agents
            ),
            holders=tuple(
                ", ".join(f"{camp.holders[index]} {camp.label}" for camp in flow.camps if camp.holders[index])
                for index in range(len(flow.rounds))
            ),
            note=self._note(flow),
            counts=tuple(tuple(camp.holders[index] for camp in flow.camps) for index in range(len(flow.rounds))),
        )

    def _note(self, flow: OpinionFlow) -> str:
        moves = [words for one in flow.opinions if (words := self._move(one))]
        unknown = sum(one.moved == "unknown" for one in flow.opinions)
        more = f"; and {len(moves) - _MOST_MOVES} more" if len(moves) > _MOST_MOVES else ""
        note = f"{'; '.join(moves[:_MOST_MOVES])}{more}" if moves else "not known" if unknown else "nobody"
        if unknown:
            note += f"; {counted(unknown, 'answer was', 'answers were')} not compared with the one before"
        return note

    def _move(self, one: Opinion) -> str:
        steps = self._from_to(one)
        return f"{self._names[one.agent_id]} {steps} in round {one.round}" if steps else ""

    def _from_to(self, one: Opinion) -> str:
        before = self._held.get((one.agent_id, one.round - 1))
        if one.moved != "moved" or before is None:
            return ""
        return f"from {self._answer(before.camp)} to {self._answer(one.camp)}"

    def _answer(self, camp: str | None) -> str:
        return short_name(unmarked(self._answers.get(camp or "", "no answer")), _FLOW_CHARS)

    def camps(self, answer: str | None, points: Mapping[str, Sequence[str]]) -> tuple[CampView, ...]:
        """Return the camps with those who hold them in the last complete round, and their key points.

        Args:
            answer: The answer of the debate.
            points: Key points of each agent.
        """
        last = last_complete(self._rounds)
        if self._flow is None or last is None:
            return ()
        views = []
        for camp in self._flow.camps:
            holders = [
                agent
                for agent in self._names
                if (one := self._held.get((agent, last.number))) is not None and one.camp == camp.label
            ]
            theirs = dict.fromkeys(point for agent in holders for point in points.get(agent, ()))
            views.append(
                CampView(
                    label=camp.label,
                    name=unmarked(camp.name),
                    holders=tuple(self._names[agent] for agent in holders),
                    points=tuple(theirs)[:_MOST_POINTS],
                    is_answer=camp.name == answer,
                )
            )
        return tuple(views)

    def camp_of(self, answer: AgentResponse, number: int) -> str:
        """Return the label of the camp of an answer; empty unless it is the agent's last one in the round."""
        one = self._held.get((answer.agent_id, number))
        is_last = self._said.get((answer.agent_id, number)) is answer
        return one.camp or "" if one is not None and is_last else ""

    def change_of(self, answer: AgentResponse, number: int) -> ChangeView | None:
        """Return what an answer changed against the same agent's answer in the round before; `None` without one."""
        before = self._said.get((answer.agent_id, number - 1))
        one = self._held.get((answer.agent_id, number))
        if before is None or one is None or self._said.get((answer.agent_id, number)) is not answer:
            return None
        position = compare_words(before.position, answer.position)
        sentences = new_sentences(before.reasoning, answer.reasoning)
        return ChangeView(
            summary=self._summary(one, same=not position and not sentences),
            position=position,
            sentences=sentences,
        )

    def _summary(self, one: Opinion, *, same: bool) -> str:
        steps = self._from_to(one)
        if steps:
            return f"Moved {steps}"
        if same:
            return f"The same words as in round {one.round - 1}"
        if one.moved == "unknown":
            return f"Not known whether it is the answer of round {one.round - 1}"
        return f"Keeps its answer of round {one.round - 1}, in other words"


def _flow_cell(opinion: Opinion | None) -> FlowCell:
    if opinion is None or opinion.camp is None:
        return FlowCell()
    moved = {"moved": "moved", "unknown": "not compared"}.get(opinion.moved or "", "")
    return FlowCell(camp=opinion.camp, confidence=opinion.confidence, moved=moved)
