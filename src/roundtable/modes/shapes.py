"""Shapes of a round: who speaks at once with whom, and who sees whom. Pure functions that any mode can put together.

A shape gives *steps*. A step has a name and, when its time comes, says which turns to take; a round is a list of
steps, and `plan_round` gives the first that has not been held. Shapes are joined with `+`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from roundtable.types import AnyTurn, DebateContext, EndRound, Seat, Stage, Turn, TurnSpec, Visible
from roundtable.types.plan import CHAIR_STAGE

__all__ = [
    "Ask",
    "Sees",
    "Step",
    "by_name",
    "earlier_rounds",
    "everything",
    "fan_in",
    "last_only",
    "nothing",
    "parallel",
    "plan_round",
    "positions",
    "sequential",
    "teams",
    "two_phase",
]

Ask: TypeAlias = Callable[[Seat, tuple[Visible, ...]], TurnSpec]
"""Writes the turn of a seat that sees these earlier turns; its slot is set by the shape."""

Sees: TypeAlias = Callable[[DebateContext, Seat], tuple[Visible, ...]]
"""Says what a seat sees."""


class Step(NamedTuple):
    """A stage to be: its name, and its turns once everything before it was said."""

    name: str
    turns: Callable[[], Sequence[TurnSpec]]


def plan_round(view: DebateContext, steps: Sequence[Step]) -> Stage | EndRound:
    """Give the first step of the round that has not been held; a step without turns is passed over."""
    held = {turn.stage for turn in view.transcript if turn.round == view.current_round}
    for step in steps:
        if step.name in held:
            continue
        turns = step.turns()
        if turns:
            placed = (spec.model_copy(update={"slot": slot}) for slot, spec in enumerate(turns))
            return Stage(name=step.name, turns=tuple(placed))
    return EndRound()


def positions(view: DebateContext) -> tuple[Turn, ...]:
    """Give every position so far, in order."""
    return tuple(turn for turn in view.transcript if turn.outcome == "answered" and turn.answer.kind == "position")


def by_name(turns: Sequence[AnyTurn]) -> tuple[Visible, ...]:
    """Show turns under the names of their speakers."""
    return tuple(Visible(turn=turn.key, shown_as=turn.agent_name or turn.agent_id) for turn in turns)


def nothing(_view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
    """See nothing."""
    return ()


def earlier_rounds(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
    """See every position of the rounds before this one."""
    return by_name([turn for turn in positions(view) if turn.round < view.current_round])


def everything(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
    """See every position so far, those of this round included."""
    return by_name(positions(view))


def parallel(
    view: DebateContext,
    ask: Ask,
    *,
    seats: Sequence[Seat] | None = None,
    sees: Sees = earlier_rounds,
    name: str = "positions",
) -> tuple[Step, ...]:
    """Let all speak at once.

    Args:
        view: What was said so far.
        ask: Writes a turn.
        seats: Who speaks; everybody when left out.
        sees: What each sees; the rounds before this one when left out.
        name: Name of the stage.

    Example:
        >>> seats = (Seat(id="ada", name="Ada"), Seat(id="bo", name="Bo"))
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="m", agents=seats)
        >>> stage = plan_round(view, parallel(view, lambda seat, seen: TurnSpec(slot=0, agent=seat.id, sees=seen)))
        >>> [(turn.slot, turn.agent) for turn in stage.turns]
        [(0, 'ada'), (1, 'bo')]
    """
    chosen = view.agents if seats is None else seats
    return (Step(name, lambda: [ask(seat, sees(view, seat)) for seat in chosen]),)


def sequential(
    view: DebateContext,
    ask: Ask,
    *,
    seats: Sequence[Seat] | None = None,
    sees: Sees = everything,
    name: str = "speaker",
) -> tuple[Step, ...]:
    """Let one speak after another; each sees what came before, in this round too."""
    chosen = view.agents if seats is None else seats
    return tuple(
        chain.from_iterable(
            parallel(view, ask, seats=(seat,), sees=sees, name=f"{name}-{place}")
            for place, seat in enumerate(chosen, start=1)
        )
    )


def last_only(view: DebateContext, ask: Ask, *, seats: Sequence[Seat] | None = None) -> tuple[Step, ...]:
    """Let all but the last speak at once, then the last, who sees everybody: nearly as fast as all at once."""
    chosen = view.agents if seats is None else seats
    first = parallel(view, ask, seats=chosen[:-1], name="first")
    return first + parallel(view, ask, seats=chosen[-1:], sees=everything, name="last")


def teams(
    view: DebateContext, ask: Ask, members: Sequence[Sequence[Seat]], *, sees: Sees | None = None
) -> tuple[Step, ...]:
    """Let fixed teams speak at once; each seat sees earlier turns of its own team.

    Args:
        view: What was said so far.
        ask: Writes a turn.
        members: The teams.
        sees: What a seat sees instead.
    """
    team_of = {seat.id: frozenset(one.id for one in team) for team in members for seat in team}

    def own(view: DebateContext, seat: Seat) -> tuple[Visible, ...]:
        earlier = [turn for turn in positions(view) if turn.round < view.current_round]
        return by_name([turn for turn in earlier if turn.agent_id in team_of[seat.id]])

    seated = [seat for seat in view.agents if seat.id in team_of]
    return parallel(view, ask, seats=seated, sees=sees or own, name="teams")


def two_phase(view: DebateContext, ask: Ask, first: Sequence[Seat], second: Sequence[Seat]) -> tuple[Step, ...]:
    """Let one group speak at once, then another at once, which sees the first."""
    return parallel(view, ask, seats=first, name="first-phase") + parallel(
        view, ask, seats=second, sees=everything, name="second-phase"
    )


def fan_in(view: DebateContext, ask: Ask, chair: Seat, *, seats: Sequence[Seat] | None = None) -> tuple[Step, ...]:
    """Let all speak at once, then the chair, who sees everybody and whose word is the answer of the round."""
    return parallel(view, ask, seats=seats) + parallel(view, ask, seats=(chair,), sees=everything, name=CHAIR_STAGE)
