"""Modes in which agents do not see each other's answers: the baselines that a debate has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from roundtable.core.errors import ConfigurationError
from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import Step, count, nothing, parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.prompts.layers import PromptLibrary
    from roundtable.core.types.debate import DebateContext

__all__ = ["IndependentVoteMode", "SelfConsistencyMode"]

_FEWEST_SAMPLES = 3


class SelfConsistencyMode(BaseModeStrategy):
    """The first agent answers several times independently, and the most common answer counts.

    Args:
        samples: Number of answers per round; if omitted, the number of seats, but at least 3.
        prompts: Source of the instructions.

    Raises:
        ConfigurationError: `samples` is less than 1.
    """

    name: str = "self-consistency"
    summary: str = "One agent answers several times independently; the most common answer counts."
    use_when: str = "You need a baseline: one model that is asked several times, at the cost of a debate."
    role: str = "solver"
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"samples": count}

    def __init__(self, *, samples: int | None = None, prompts: PromptLibrary | None = None) -> None:
        if samples is not None and samples < 1:
            raise ConfigurationError(f"samples must be at least 1, not {samples}")
        super().__init__(prompts=prompts)
        self.samples = samples

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage per round: the same agent, asked several times at once."""
        samples = self.samples or max(_FEWEST_SAMPLES, len(view.agents))
        seats = view.agents[:1] * samples
        return parallel(view, lambda seat, _: self.ask(view, seat), seats=seats, sees=nothing, name="samples")


class IndependentVoteMode(BaseModeStrategy):
    """Agents answer alone in every round; no agent ever sees another answer."""

    name: str = "independent-vote"
    summary: str = "All agents answer alone; the answers are counted."
    use_when: str = "You need a baseline: a vote without a debate."
    role: str = "voter"

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan one stage per round: an answer of every agent, without seeing any other answer."""
        return parallel(view, lambda seat, _: self.ask(view, seat), sees=nothing)
