"""Debates played on a mode without any agent: every turn is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, get_args

from hypothesis import strategies as st

from roundtable.types import (
    AgentResponse,
    BallotAnswer,
    DebateContext,
    ErrorInfo,
    FailedTurn,
    PlanAnswer,
    RankingAnswer,
    ScoresAnswer,
    Seat,
    Stage,
    Stance,
    TextAnswer,
    Turn,
    TurnResult,
)
from roundtable.types.plan import EXTERNAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import DebateModeStrategy
    from roundtable.types import Answer, AnswerKind, AnyTurn, Plan, TurnSpec

__all__ = ["LATER", "MARK", "MAX_STAGES", "Played", "debates", "fewest_agents", "opening_views"]

MARK = "\u2042untrusted\u2042"
"""Stands in the topic and in everything agents say; no instruction of a mode may hold it."""
MAX_STAGES = 40
"""Stages after which a round counts as endless."""
LATER = datetime(2031, 5, 17, 13, tzinfo=UTC)
"""An hour after everything else happened."""
_NOON = datetime(2031, 5, 17, 12, tzinfo=UTC)

# Made and drawn once each: a debate of many turns spends most of its time on drawing.
_SEVERAL_OPTIONS = st.none() | st.just((f"{MARK} one", f"{MARK} two"))
_FOCUS = st.none() | st.just(f"{MARK}, really?")
_SAID = st.sampled_from(tuple(product("abc", (0.0, 0.5, 1.0), (None, *get_args(Stance)))))


@dataclass(slots=True)
class Played:
    """A debate as it went: what the mode saw each time it was asked, and what it planned."""

    steps: list[tuple[DebateContext, Plan]] = field(default_factory=list)
    """View and plan, in order."""

    @property
    def stages(self) -> list[tuple[DebateContext, Stage]]:
        """The steps in which somebody was asked to speak."""
        return [(view, plan) for view, plan in self.steps if isinstance(plan, Stage)]


def fewest_agents(mode: DebateModeStrategy) -> int:
    """Give the smallest table a mode makes sense with; 1 where it says nothing about that."""
    counts = getattr(mode, "agent_counts", None)
    return counts.start if isinstance(counts, range) else 1


@st.composite
def opening_views(
    draw: st.DrawFn, most_agents: int = 9, most_rounds: int = 10, *, fewest_agents: int = 1
) -> DebateContext:
    """Draw the view a mode has before anything was said."""
    count = draw(st.integers(fewest_agents, max(fewest_agents, most_agents)))
    options = draw(_SEVERAL_OPTIONS)
    return DebateContext(
        session_id="s",
        topic=f"{MARK}?",
        mode="sample",
        total_rounds=draw(st.integers(1, most_rounds)),
        options=options,
        focus_question=draw(_FOCUS),
        agents=tuple(Seat(id=f"a{number}", name=f"Agent {number}") for number in range(count)),
        seed=draw(st.integers(0, 9)),
    )


def debates(
    mode: DebateModeStrategy, *, most_agents: int = 9, most_rounds: int = 10, failing: bool = True
) -> st.SearchStrategy[Played]:
    """Draw whole debates: each turn is answered or fails, and outsiders add positions now and then.

    Args:
        mode: The mode that plans them.
        most_agents: Seats at the table, at most.
        most_rounds: Rounds, at most; a mode that allows fewer is held to that.
        failing: Whether turns may fail.
    """

    @st.composite
    def draw_debate(draw: st.DrawFn) -> Played:
        view = draw(opening_views(most_agents, most_rounds, fewest_agents=fewest_agents(mode)))
        allowed = [number for number in range(1, view.total_rounds + 1) if number in mode.rounds] or [mode.rounds.start]
        view = view.model_copy(update={"total_rounds": allowed[-1]})
        played = Played()
        for number in range(1, view.total_rounds + 1):
            view = view.model_copy(update={"current_round": number})
            view = _play_round(draw, mode, view, played, failing=failing)
            if played.steps[-1][1].kind == "end_debate":
                break
        return played

    return draw_debate()


def _play_round(
    draw: st.DrawFn, mode: DebateModeStrategy, view: DebateContext, played: Played, *, failing: bool
) -> DebateContext:
    for _ in range(MAX_STAGES):
        if draw(st.integers(0, 5)) == 0:
            view = _with(view, _external(view))
        plan = mode.next_stage(view)
        played.steps.append((view, plan))
        if not isinstance(plan, Stage):
            return view
        taken = [_taken(draw, view, plan.name, spec, failing=failing) for spec in plan.turns]
        view = _with(view, *taken)
    msg = f"mode {mode.name!r} does not end round {view.current_round}: {MAX_STAGES} stages were planned"
    raise AssertionError(msg)


def _with(view: DebateContext, *turns: AnyTurn) -> DebateContext:
    return view.model_copy(update={"transcript": (*view.transcript, *turns)})


def _external(view: DebateContext) -> Turn:
    slot = sum(1 for turn in view.transcript if (turn.round, turn.stage) == (view.current_round, EXTERNAL))
    answer = AgentResponse(agent_id="guest", agent_name="Guest", position=f"{MARK} from outside", timestamp=_NOON)
    return Turn(
        round=view.current_round,
        stage=EXTERNAL,
        slot=slot,
        agent_id="guest",
        agent_name="Guest",
        timestamp=_NOON,
        result=TurnResult(answer=answer),
    )


def _taken(draw: st.DrawFn, view: DebateContext, stage: str, spec: TurnSpec, *, failing: bool) -> AnyTurn:
    name = next((seat.name for seat in view.agents if seat.id == spec.agent), spec.agent)
    if failing and draw(st.integers(0, 3)) == 0:
        return FailedTurn(
            round=view.current_round,
            stage=stage,
            slot=spec.slot,
            agent_id=spec.agent,
            agent_name=name,
            role=spec.role,
            timestamp=_NOON,
            error=ErrorInfo(name="AgentError", message=MARK, code="AGENT_ERROR"),
        )
    return Turn(
        round=view.current_round,
        stage=stage,
        slot=spec.slot,
        agent_id=spec.agent,
        agent_name=name,
        role=spec.role,
        timestamp=_NOON,
        result=TurnResult(answer=_ANSWERS[spec.answer](draw, spec, name)),
        independent=not spec.sees,
    )


def _position(draw: st.DrawFn, spec: TurnSpec, name: str) -> Answer:
    letter, confidence, stance = draw(_SAID)
    return AgentResponse(
        agent_id=spec.agent,
        agent_name=name,
        position=f"{MARK} {letter}",
        reasoning=MARK,
        confidence=confidence,
        stance=stance,
        choice=draw(_one_of(spec.options)) if spec.options else None,
        timestamp=_NOON,
    )


@cache
def _one_of(options: tuple[str | None, ...]) -> st.SearchStrategy[str | None]:
    return st.sampled_from(options)


def _named(spec: TurnSpec) -> tuple[str, ...]:
    return spec.options or ("one", "two")


_ANSWERS: dict[AnswerKind, Callable[[st.DrawFn, TurnSpec, str], Answer]] = {
    "position": _position,
    "ballot": lambda draw, spec, _: BallotAnswer(choice=draw(_one_of((None, *_named(spec))))),
    "ranking": lambda draw, spec, _: RankingAnswer(
        ranking=tuple((option,) for option in draw(st.permutations(_named(spec))))
    ),
    "scores": lambda draw, spec, _: ScoresAnswer(
        scores={option: float(draw(st.integers(0, 10))) for option in _named(spec)}
    ),
    "plan": lambda _draw, _spec, _name: PlanAnswer(goal=MARK, strategy=MARK),
    "text": lambda _draw, _spec, _name: TextAnswer(text=MARK),
}
