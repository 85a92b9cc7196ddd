"""Delphi: everybody at once, without names, with the figures of the last round."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.processors import AnonymizationProcessor
from roundtable.modes.shapes import Step, parallel, positions
from roundtable.modes.statistics import statistics_note
from roundtable.types import AgentResponse, Visible

if TYPE_CHECKING:
    from roundtable.protocols import Agent
    from roundtable.types import DebateContext, Note, Seat, TurnSpec

__all__ = ["DelphiMode", "shuffled_numbers"]


def shuffled_numbers(view: DebateContext) -> dict[str, int]:
    """Give every seat a number from 1 that it keeps for the whole debate and that says nothing about its place."""
    order = [seat.id for seat in view.agents]
    # Seeded by data of the session, so that the same debate always has the same numbers.
    random.Random(f"{view.seed} {view.topic}").shuffle(order)
    return {agent_id: number for number, agent_id in enumerate(order, start=1)}


class DelphiMode(BaseModeStrategy):
    """Agents answer in parallel; from the second round on they see the answers without names, and statistics.

    Each agent has one number for the whole debate, drawn with the seed of the debate; answers are shown in the order
    of the numbers, and names written into answers are masked. The statistics are those of the last round alone.
    """

    name: str = "delphi"
    summary: str = "All at once, without names, with the figures of the last round."
    use_when: str = "You want judgements or forecasts that are not bent by who said what."
    agent_counts: range = range(2, 101)

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage a round: a judgement of every participant."""
        numbers = shuffled_numbers(view)
        return parallel(view, lambda seat, sees: self._judge(view, seat, sees, numbers), sees=self._seen)

    def _judge(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...], numbers: dict[str, int]) -> TurnSpec:
        alias = f"Participant {numbers[seat.id]}"
        return self.ask(view, seat, sees, speaks_as=alias, notes=self._notes(view), opening=not sees)

    @staticmethod
    def _seen(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
        numbers = shuffled_numbers(view)
        earlier = [turn for turn in positions(view) if turn.round < view.current_round]
        last = len(numbers) + 1
        ordered = sorted(earlier, key=lambda turn: (turn.round, numbers.get(turn.agent_id, last)))
        return tuple(Visible(turn=turn.key, shown_as=_alias(numbers, turn.agent_id)) for turn in ordered)

    @staticmethod
    def _notes(view: DebateContext) -> tuple[Note, ...]:
        said: dict[int, list[AgentResponse]] = {}
        for turn in positions(view):
            if turn.round < view.current_round and isinstance(turn.answer, AgentResponse):
                said.setdefault(turn.round, []).append(turn.answer)
        rounds = sorted(said)
        if not rounds:
            return ()
        return (statistics_note(said[rounds[-1]], said[rounds[-2]] if len(rounds) > 1 else ()),)

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Take identities out of whatever the agent, and with it its tools, gets to see."""
        return AnonymizationProcessor().process(context)


def _alias(numbers: dict[str, int], agent_id: str) -> str:
    return f"Participant {numbers[agent_id]}" if agent_id in numbers else "An outside contribution"
