"""Shapes of a round, which say who speaks together and who sees which turns; and readers of a mode's options.

A shape is a function that returns *steps*. A step has a name, and a function that plans its turns after all earlier
steps have run. A round is a list of steps, and `plan_round` returns the first step that has not run yet. Use `+` to
join the steps of several shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from roundtable.core.types.debate import AnyTurn, DebateContext, Seat, Turn
from roundtable.core.types.plan import CHAIR_STAGE, EndRound, Stage, TurnSpec, Visible

__all__ = [
    "CreateTurn",
    "Reader",
    "Step",
    "Visibility",
    "by_name",
    "count",
    "earlier_rounds",
    "everything",
    "fan_in",
    "flag",
    "last_only",
    "nothing",
    "one_of",
    "parallel",
    "plan_round",
    "positions",
    "sequential",
    "split_mode_name",
    "teams",
    "two_phase",
]


_MAX_COUNT: Final = 1_000


def split_mode_name(text: str) -> tuple[str, dict[str, str]]:
    """Split a mode's name from its options.

    Raises:
        ValueError: An option has no value, or is set twice.

    Example:
        >>> split_mode_name("adversarial:visibility=predecessor")
        ('adversarial', {'visibility': 'predecessor'})
    """
    name, colon, settings = text.partition(":")
    options: dict[str, str] = {}
    for item in settings.split(",") if colon else ():
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"{item!r} is not of the form 'option=value'")
        option = key.strip().replace("-", "_")
        if option in options:
            raise ValueError(f"{option!r} is set twice")
        options[option] = value.strip()
    return name, options


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of the values of an option, with a description of the allowed values."""

    takes: str
    """The allowed values, as shown to users."""
    read: Callable[[str], object]
    """A function that reads a value, or raises a `ValueError` that explains what is wrong."""

    def __call__(self, text: str) -> object:
        """Read a value."""
        return self.read(text)


def one_of(*allowed: str) -> Reader:
    """Create a reader that accepts one of several words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    return Reader("|".join(allowed), read)


def _flag(text: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise ValueError(f"{text!r} is neither true nor false")
    return known[text.lower()]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_MAX_COUNT)) or not 1 <= int(text) <= _MAX_COUNT:
        raise ValueError(f"{text!r} is not a whole number from 1 to {_MAX_COUNT:,}")
    return int(text)


flag: Final = Reader("true|false", _flag)
"""Reader of true or false."""
count: Final = Reader("NUMBER", _count)
"""Reader of a whole number from 1 to 1,000."""


CreateTurn: TypeAlias = Callable[[Seat, tuple[Visible, ...]], TurnSpec]
"""A function that creates the turn of a seat, which sees these earlier turns; the shape sets the slot of the turn."""

Visibility: TypeAlias = Callable[[DebateContext, Seat], tuple[Visible, ...]]
"""A function that returns the earlier turns that a seat sees."""


class Step(NamedTuple):
    """A future stage: its name, and a function that plans its turns after all earlier steps have run."""

    name: str
    turns: Callable[[], Sequence[TurnSpec]]


def plan_round(view: DebateContext, steps: Sequence[Step]) -> Stage | EndRound:
    """Return the first step of the round that has not run yet; steps without turns are skipped."""
    stages_run = {turn.stage for turn in view.transcript if turn.round == view.current_round}
    for step in steps:
        if step.name in stages_run:
            continue
        turns = step.turns()
        if turns:
            numbered = (
                spec if spec.slot == slot else spec.model_copy(update={"slot": slot}) for slot, spec in enumerate(turns)
            )
            return Stage(name=step.name, turns=tuple(numbered))
    return EndRound()


def positions(view: DebateContext) -> tuple[Turn, ...]:
    """Return all position turns so far, in order."""
    return tuple(turn for turn in view.transcript if turn.outcome == "answered" and turn.answer.kind == "position")


def by_name(turns: Sequence[AnyTurn]) -> tuple[Visible, ...]:
    """Return turns as visible under the names of their speakers."""
    return tuple(Visible(turn=turn.key, shown_as=turn.agent_name or turn.agent_id) for turn in turns)


def nothing(_view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
    """Return nothing: a seat does not see any earlier turns."""
    return ()


def earlier_rounds(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
    """Return every position of earlier rounds: a seat sees these."""
    return by_name([turn for turn in positions(view) if turn.round < view.current_round])


def everything(view: DebateContext, _seat: Seat) -> tuple[Visible, ...]:
    """Return every position so far, including this round: a seat sees these."""
    return by_name(positions(view))


_SAME_FOR_ALL: Final = (nothing, earlier_rounds, everything)
"""The results of these functions do not depend on the seat."""


def parallel(
    view: DebateContext,
    ask: CreateTurn,
    *,
    seats: Sequence[Seat] | None = None,
    sees: Visibility = earlier_rounds,
    name: str = "positions",
) -> tuple[Step, ...]:
    """Plan one stage in which all seats speak at once.

    Args:
        view: The debate so far.
        ask: Creates the turn of a seat.
        seats: Seats that speak; all if omitted.
        sees: What each seat sees; earlier rounds if omitted.
        name: Name of the stage.

    Example:
        >>> seats = (Seat(id="ada", name="Ada"), Seat(id="bo", name="Bo"))
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="m", agents=seats)
        >>> stage = plan_round(view, parallel(view, lambda seat, seen: TurnSpec(slot=0, agent=seat.id, sees=seen)))
        >>> [(turn.slot, turn.agent) for turn in stage.turns]
        [(0, 'ada'), (1, 'bo')]
    """
    speakers = view.agents if seats is None else seats

    def turns() -> list[TurnSpec]:
        if speakers and sees in _SAME_FOR_ALL:
            visible = sees(view, speakers[0])
            return [ask(seat, visible) for seat in speakers]
        return [ask(seat, sees(view, seat)) for seat in speakers]

    return (Step(name, turns),)


def sequential(
    view: DebateContext,
    ask: CreateTurn,
    *,
    seats: Sequence[Seat] | None = None,
    sees: Visibility = everything,
    name: str = "speaker",
) -> tuple[Step, ...]:
    """Plan one stage for each speaker; by default, each speaker sees all earlier positions, including this round."""
    speakers = view.agents if seats is None else seats
    return tuple(
        chain.from_iterable(
            parallel(view, ask, seats=(seat,), sees=sees, name=f"{name}-{number}")
            for number, seat in enumerate(speakers, start=1)
        )
    )


def last_only(view: DebateContext, ask: CreateTurn, *, seats: Sequence[Seat] | None = None) -> tuple[Step, ...]:
    """Plan two stages: all seats except the last at once, then the last seat, which sees all others."""
    speakers = view.agents if seats is None else seats
    first = parallel(view, ask, seats=speakers[:-1], name="first")
    return first + parallel(view, ask, seats=speakers[-1:], sees=everything, name="last")


def teams(
    view: DebateContext, ask: CreateTurn, members: Sequence[Sequence[Seat]], *, sees: Visibility | None = None
) -> tuple[Step, ...]:
    """Plan one stage in which fixed teams speak at once; by default, each seat sees earlier rounds of its own team.

    Args:
        view: The debate so far.
        ask: Creates the turn of a seat.
        members: The seats of each team.
        sees: What each seat sees, if not the default.
    """
    team_of = {seat.id: frozenset(member.id for member in team) for team in members for seat in team}

    def own(view: DebateContext, seat: Seat) -> tuple[Visible, ...]:
        earlier = [turn for turn in positions(view) if turn.round < view.current_round]
        return by_name([turn for turn in earlier if turn.agent_id in team_of[seat.id]])

    seats = [seat for seat in view.agents if seat.id in team_of]
    return parallel(view, ask, seats=seats, sees=sees or own, name="teams")


def two_phase(view: DebateContext, ask: CreateTurn, first: Sequence[Seat], second: Sequence[Seat]) -> tuple[Step, ...]:
    """Plan two stages: all seats of one group at once, then all seats of a second group, which see the first group."""
    return parallel(view, ask, seats=first, name="first-phase") + parallel(
        view, ask, seats=second, sees=everything, name="second-phase"
    )


def fan_in(
    view: DebateContext, ask: CreateTurn, chair: Seat, *, seats: Sequence[Seat] | None = None
) -> tuple[Step, ...]:
    """Plan two stages: all seats at once, then the chair, which sees all others and gives the answer of the round."""
    return parallel(view, ask, seats=seats) + parallel(view, ask, seats=(chair,), sees=everything, name=CHAIR_STAGE)
