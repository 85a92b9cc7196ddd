"""Council: members answer alone and rank the answers without names; a chair combines the answers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from roundtable.core.mode.base import NO_TOOLS, BaseModeStrategy
from roundtable.core.mode.shapes import Step, parallel, positions
from roundtable.core.types.answers import RankingAnswer
from roundtable.core.types.plan import CHAIR_STAGE, REVIEWER_ROLE, Note, Visible
from roundtable.modes.context import AnonymizationProcessor
from roundtable.modes.delphi import numbers_of, shuffled_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.protocols import Agent
    from roundtable.core.types.debate import AnyTurn, DebateConfig, DebateContext, Seat, Turn
    from roundtable.core.types.plan import TurnSpec

__all__ = ["CouncilMode", "mean_ranks"]

_ANSWERS: Final = "answers"
_RANKINGS: Final = "rankings"


def mean_ranks(turns: Sequence[AnyTurn]) -> dict[str, Fraction]:
    """Return the mean place of each answer over all rankings that contain it, best first; ties share a mean place.

    Args:
        turns: Turns of one round; those without a ranking are skipped.
    """
    places: dict[str, list[Fraction]] = {}
    for turn in turns:
        if turn.outcome != "answered" or not isinstance(turn.answer, RankingAnswer):
            continue
        ranked = 0
        for group in turn.answer.ranking:
            place = ranked + Fraction(len(group) + 1, 2)
            ranked += len(group)
            for option in group:
                places.setdefault(option, []).append(place)
    means = {option: sum(values, Fraction(0)) / len(values) for option, values in places.items()}
    return dict(sorted(means.items(), key=lambda item: (item[1], item[0])))


class CouncilMode(BaseModeStrategy):
    """Members answer alone and rank the others' answers without names; then the chair writes the council's answer.

    No member ranks its own answer. The first agent is the chair; as the chair, it does not see which answer is its own.
    The chair's text is the answer of the debate. Agreement and ballots come from the members' answers, including the
    answer of the agent that is the chair; the decision rule shows how a vote on these answers would end. `mean_ranks`
    combines the rankings.
    """

    name: str = "council"
    summary: str = "Agents answer alone and rank the answers without names; a chair combines them."
    use_when: str = "You want the best of several answers, judged by peers who cannot favour anybody."
    agent_counts: range = range(2, 101)
    role: str = "member"

    def report_aliases(self, config: DebateConfig, agents: Sequence[str]) -> Mapping[str, str]:
        """Return the member behind each numbered answer."""
        return {f"Answer {number}": agent for agent, number in numbers_of(config.seed, config.topic, agents).items()}

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan the answers, the rankings, and the turn of the chair."""
        chair = view.agents[:1] if self.stage_turns(view, _ANSWERS) else ()
        return (
            *parallel(view, lambda seat, sees: self.ask(view, seat, sees), sees=self._earlier_answers, name=_ANSWERS),
            Step(_RANKINGS, lambda: self._reviews(view)),
            *parallel(
                view,
                lambda seat, sees: self._conclude(view, seat, sees),
                seats=chair,
                sees=self._all_answers,
                name=CHAIR_STAGE,
            ),
        )

    def _reviews(self, view: DebateContext) -> list[TurnSpec]:
        reviews = []
        for seat in view.agents:
            sees = _under_aliases(view, [turn for turn in self.stage_turns(view, _ANSWERS) if turn.agent_id != seat.id])
            if len(sees) > 1:
                names = tuple(visible.shown_as for visible in sees)
                reviews.append(
                    self.ask(
                        view,
                        seat,
                        sees,
                        role=REVIEWER_ROLE,
                        answer="ranking",
                        counts="inform",
                        options=names,
                        tools=NO_TOOLS,
                    )
                )
        return reviews

    def _conclude(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
        ranks = mean_ranks(self.turns_of_round(view))
        lines = [f"{name}: mean place {float(mean):.2f}" for name, mean in ranks.items()]
        notes = [Note(label="how members ranked the answers", text="\n".join(lines))] if lines else []
        return self.ask(view, seat, sees, role="chair", notes=tuple(notes), opening=False)

    def _all_answers(self, view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
        return _under_aliases(view, self.stage_turns(view, _ANSWERS))

    @staticmethod
    def _earlier_answers(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
        return _under_aliases(view, [turn for turn in positions(view) if turn.round < view.current_round])

    def transform_context(self, context: DebateContext, agent: Agent | None = None) -> DebateContext:
        """Remove identities from what the agent sees; the chair also does not see which answer is its own."""
        own = context.turn is not None and context.turn.role == "chair"
        return AnonymizationProcessor(own=own).process(context)


def _under_aliases(view: DebateContext, turns: Sequence[Turn]) -> tuple[Visible, ...]:
    numbers = shuffled_numbers(view)
    last = len(numbers) + 1
    ordered = sorted(turns, key=lambda turn: (turn.round, turn.stage == CHAIR_STAGE, numbers.get(turn.agent_id, last)))
    return tuple(Visible(turn=turn.key, shown_as=_alias(numbers, turn)) for turn in ordered)


def _alias(numbers: Mapping[str, int], turn: Turn) -> str:
    if turn.stage == CHAIR_STAGE:
        return "The council"
    return f"Answer {numbers[turn.agent_id]}" if turn.agent_id in numbers else "An outside answer"
