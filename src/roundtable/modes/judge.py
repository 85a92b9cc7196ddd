"""A judge, or a panel of judges, after each round of another mode: their votes decide."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from roundtable.modes.instructions import NO_TOOLS
from roundtable.modes.wrapping import WrappedMode
from roundtable.types import Stage, TurnSpec, Visible
from roundtable.types.plan import BASELINE_STAGE, JUDGE_STAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import AnyTurn, DebateContext, Plan, Turn

__all__ = ["JudgedMode", "answers_by_name", "with_judge"]

_TASK: Final = (
    "You are the judge of this debate and take no part in it. Weigh the answers by their reasons and evidence alone: "
    "not by length, order, tone or confidence, and not by how many share them. "
)
_OF_OPTIONS: Final = "Vote for the option that the debate supports best, and say why."
_OF_ANSWERS: Final = "Vote for the answer that is supported best, by its name, and say why. Abstain if none is."


def answers_by_name(turns: Sequence[AnyTurn], seed: int) -> dict[str, Turn]:
    """Name the last answer of each agent in a round, as judges hear it: by numbers that follow no order of speaking.

    Args:
        turns: The turns of the round.
        seed: Seed of the debate.
    """
    last: dict[str, list[Turn]] = {}
    for turn in turns:
        own = turn.outcome == "answered" and turn.answer.kind == "position" and turn.stage != BASELINE_STAGE
        if own and turn.outcome == "answered":
            said = last.setdefault(turn.agent_id, [])
            last[turn.agent_id] = [*said, turn] if said and said[-1].stage == turn.stage else [turn]
    found = [turn for said in last.values() for turn in said]
    if not found:
        return {}
    Random(f"judge {seed} {found[0].round}").shuffle(found)
    return {f"Answer {number}": turn for number, turn in enumerate(found, start=1)}


class JudgedMode(WrappedMode):
    """A mode after each round of which judges vote; everything else is the mode's own.

    A judge hears the answers of the round without names, under numbers; each judge of a panel begins with another one,
    so that none has the advantage of the first place.

    Args:
        mode: The mode that debates.
        judges: Ids of the judges.
    """

    stage = JUDGE_STAGE
    prompt_id = "judge@1"

    def __init__(self, mode: DebateModeStrategy, judges: Sequence[str]) -> None:
        super().__init__(mode)
        self.judges: tuple[str, ...] = tuple(judges)

    def next_stage(self, view: DebateContext) -> Plan:
        """Plan as the mode does, and the judges where the mode ends a round."""
        plan = super().next_stage(view)
        if isinstance(plan, Stage):
            return plan
        held = [turn for turn in view.transcript if turn.round == view.current_round]
        answers = answers_by_name(held, view.seed)
        if not answers or any(turn.stage == JUDGE_STAGE for turn in held):
            return plan
        return Stage(
            name=JUDGE_STAGE,
            turns=tuple(self._vote(view, answers, slot, judge) for slot, judge in enumerate(self.judges)),
        )

    def _vote(self, view: DebateContext, answers: dict[str, Turn], slot: int, judge: str) -> TurnSpec:
        shown = tuple(Visible(turn=turn.key, shown_as=name) for name, turn in answers.items())
        first = slot % len(shown)
        return TurnSpec(
            slot=slot,
            agent=judge,
            role="judge",
            task=_TASK + (_OF_ANSWERS if view.options is None else _OF_OPTIONS),
            brief="Vote for the answer with the best reasons.",
            prompt_id=self.prompt_id,
            sees=shown[first:] + shown[:first],
            answer="ballot",
            options=view.options or tuple(answers),
            tools=NO_TOOLS,
        )


def with_judge(mode: DebateModeStrategy, judges: Sequence[str] = ("judge",)) -> JudgedMode:
    """Give a mode like this one after each round of which judges vote.

    Example:
        >>> from roundtable.modes import CollaborativeMode
        >>> with_judge(CollaborativeMode(), ["judge-1", "judge-2", "judge-3"]).judges
        ('judge-1', 'judge-2', 'judge-3')
    """
    return JudgedMode(mode, judges)
