"""Delphi: all agents answer at once, without names, and see statistics of the last round."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import Step, parallel, positions
from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.plan import Visible
from roundtable.modes.context import AnonymizationProcessor, statistics_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.protocols import Agent
    from roundtable.core.types.agents import Persona
    from roundtable.core.types.debate import DebateContext, Seat
    from roundtable.core.types.plan import Note, TurnSpec

__all__ = ["DelphiMode", "numbers_of", "shuffled_numbers"]


def shuffled_numbers(view: DebateContext) -> dict[str, int]:
    """Return a number from 1 for every seat; it stays the same in the whole debate, and does not show the seat."""
    return numbers_of(view.seed, view.topic, [seat.id for seat in view.agents])


def numbers_of(seed: int, topic: str, agents: Sequence[str]) -> dict[str, int]:
    """Return the number (from 1) of each agent, for debates that show numbers instead of names.

    Args:
        seed: Seed of the debate.
        topic: The question of the debate.
        agents: Ids of the agents, in the order of their seats.
    """
    order = [*agents]
    # Seeded with data of the session, so that the same debate always has the same numbers.
    random.Random(f"{seed} {topic}").shuffle(order)
    return {agent_id: number for number, agent_id in enumerate(order, start=1)}


class DelphiMode(BaseModeStrategy):
    """Agents answer in parallel; from the second round on, they see earlier answers without names, and statistics.

    Each agent gets a number for the whole debate, which is drawn at random with the seed of the debate. Answers are
    shown in the order of these numbers, and names in the text of answers are masked. The statistics describe the last
    round, and what changed since the round before it.
    """

    name: str = "delphi"
    summary: str = "All at once, without names, with statistics of the last round."
    use_when: str = "You want judgements or forecasts that are not biased by who said what."
    personas: tuple[Persona | None, ...] = (None,)
    agent_counts: range = range(2, 101)

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage per round: an answer of every participant."""
        numbers = shuffled_numbers(view)
        return parallel(view, lambda seat, sees: self._judge(view, seat, sees, numbers), sees=self._earlier_answers)

    def _judge(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...], numbers: dict[str, int]) -> TurnSpec:
        alias = f"Participant {numbers[seat.id]}"
        return self.ask(view, seat, sees, speaks_as=alias, notes=self._statistics(view), opening=not sees)

    @staticmethod
    def _earlier_answers(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
        numbers = shuffled_numbers(view)
        earlier = [turn for turn in positions(view) if turn.round < view.current_round]
        last = len(numbers) + 1
        ordered = sorted(earlier, key=lambda turn: (turn.round, numbers.get(turn.agent_id, last)))
        return tuple(Visible(turn=turn.key, shown_as=_alias(numbers, turn.agent_id)) for turn in ordered)

    @staticmethod
    def _statistics(view: DebateContext) -> tuple[Note, ...]:
        answers_by_round: dict[int, list[AgentResponse]] = {}
        for turn in positions(view):
            if turn.round < view.current_round and isinstance(turn.answer, AgentResponse):
                answers_by_round.setdefault(turn.round, []).append(turn.answer)
        rounds = sorted(answers_by_round)
        if not rounds:
            return ()
        return (statistics_note(answers_by_round[rounds[-1]], answers_by_round[rounds[-2]] if len(rounds) > 1 else ()),)

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Remove identities from what the agent and its tools see."""
        return AnonymizationProcessor().process(context)


def _alias(numbers: dict[str, int], agent_id: str) -> str:
    return f"Participant {numbers[agent_id]}" if agent_id in numbers else "An outside contribution"
