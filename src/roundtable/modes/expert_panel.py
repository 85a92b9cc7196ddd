"""Expert panel: everybody at once, each from a perspective of its own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar

from roundtable.modes.base import BaseModeStrategy
from roundtable.modes.instructions import NO_TOOLS
from roundtable.modes.options import flag
from roundtable.modes.perspectives import DEFAULT_PERSPECTIVES, parse_perspectives, perspective_notes
from roundtable.modes.shapes import Step, nothing, parallel
from roundtable.types import GeneratedPerspective, Note, Seat, TextAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.prompts import PromptLibrary
    from roundtable.types import AnyPerspective, DebateContext, TurnSpec, Visible

__all__ = ["ExpertPanelMode", "with_facilitator"]

_STAGE = "facilitator"


class ExpertPanelMode(BaseModeStrategy):
    """Agents judge in parallel, each from the perspective it was given; perspectives go round-robin by seat.

    The perspectives are those of the debate. Where it names none they are technical, economic, ethical and
    social, or, with `facilitated=True`, written by the first agent before the panel begins: as many as there are
    seats, missing ones filled up, stored like any answer.

    Args:
        facilitated: Whether perspectives are written for the question where the caller gave none.
        facilitator: Id of the agent that writes them; the first at the table when left out.
        prompts: Where the instructions come from.
    """

    name: str = "expert-panel"
    summary: str = "All at once, each from a perspective of its own."
    use_when: str = "The question has several sides that need different knowledge."
    takes_perspectives: bool = True
    role: str = "expert"
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"facilitated": flag}

    def __init__(
        self, *, facilitated: bool = False, facilitator: str | None = None, prompts: PromptLibrary | None = None
    ) -> None:
        super().__init__(prompts=prompts)
        self.facilitated = facilitated
        self.facilitator = facilitator

    def perspectives(self, view: DebateContext) -> tuple[AnyPerspective, ...]:
        """Give the perspectives of a debate: the caller's, else the facilitator's, else the defaults."""
        if view.perspectives:
            return view.perspectives
        for turn in view.transcript:
            if turn.stage == _STAGE and turn.outcome == "answered" and isinstance(turn.answer, TextAnswer):
                return parse_perspectives(turn.answer.text, len(view.agents))
        return DEFAULT_PERSPECTIVES

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan the facilitator where one is asked for, then a judgement of every expert."""
        needs = self.facilitated and not view.perspectives and view.current_round == 1
        own = self.facilitator
        asked = view.agents[:1] if own is None else (Seat(id=own, name="Facilitator"),)
        written = parallel(
            view,
            lambda seat, _: self._facilitate(view, seat),
            seats=asked if needs else (),
            sees=nothing,
            name=_STAGE,
        )
        return written + parallel(view, lambda seat, sees: self._judge(view, seat, sees))

    def _facilitate(self, view: DebateContext, seat: Seat) -> TurnSpec:
        asked = Note(label="number of perspectives", text=str(len(view.agents)))
        facts = {"role": "facilitator", "answer": "text", "opening": True, "tools": NO_TOOLS}
        return self.ask(view, seat, (), notes=(asked,), **facts)

    def _judge(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
        chosen = self.perspectives(view)
        place = [other.id for other in view.agents].index(seat.id)
        detailed = any(isinstance(one, GeneratedPerspective) and one.focus_areas for one in chosen)
        role = "specialist" if detailed else "expert"
        return self.ask(view, seat, sees, role=role, notes=perspective_notes(chosen, place), opening=not sees)


def with_facilitator(mode: ExpertPanelMode, facilitator: str | None = None) -> ExpertPanelMode:
    """Give a panel whose perspectives are written for the question by a facilitator.

    Args:
        mode: The panel.
        facilitator: Id of an agent beside the table; the first at the table when left out.
    """
    double = copy.copy(mode)
    double.facilitated, double.facilitator = True, facilitator
    return double
