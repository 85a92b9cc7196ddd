"""Adversarial: agents speak one after another; each states the others' case in its strongest form, then attacks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.base import SEQUENTIAL_TOOLS, BaseModeStrategy
from roundtable.core.mode.shapes import Step, by_name, everything, one_of, positions, sequential
from roundtable.core.types.agents import Persona

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.prompts.layers import PromptLibrary
    from roundtable.core.types.debate import DebateContext, Seat
    from roundtable.core.types.plan import Visible

__all__ = ["AdversarialMode"]


class AdversarialMode(BaseModeStrategy):
    """Agents speak one after another; each states the others' case in its strongest form, then challenges it.

    Args:
        visibility: With `"all"`, a speaker sees all earlier rounds and all earlier speakers of this round. With
            `"predecessor"`, a speaker sees only the latest position of another agent.
        prompts: Source of the instructions.

    Raises:
        ConfigurationError: The visibility is neither `"all"` nor `"predecessor"`.

    Example:
        >>> AdversarialMode(visibility="predecessor").visibility
        'predecessor'
    """

    name: str = "adversarial"
    summary: str = "One after another; each states the others' case in its strongest form, then attacks it."
    use_when: str = "You have a proposal and want to know whether it survives attack."
    personas: tuple[Persona | None, ...] = (
        Persona(name="Proponent", description="You build the case for a bold answer and defend it."),
        Persona(name="Opponent", description="You build the case against it and press where it is weak."),
    )
    needs_groupthink_detection: bool = False
    agent_counts: range = range(2, 101)
    role: str = "challenger"
    tools = SEQUENTIAL_TOOLS
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"visibility": one_of("all", "predecessor")}

    def __init__(
        self, *, visibility: Literal["all", "predecessor"] = "all", prompts: PromptLibrary | None = None
    ) -> None:
        if visibility not in {"all", "predecessor"}:
            raise ConfigurationError(f"visibility must be 'all' or 'predecessor', not {visibility!r}")
        super().__init__(prompts=prompts)
        self.visibility = visibility

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage for each speaker."""
        sees = everything if self.visibility == "all" else _predecessor
        return sequential(view, lambda seat, visible: self.ask(view, seat, visible), sees=sees)


def _predecessor(view: DebateContext, seat: Seat) -> tuple[Visible, ...]:
    return by_name([turn for turn in positions(view) if turn.agent_id != seat.id][-1:])
