"""Parts for modes that the TypeScript API has, but no built-in mode uses: validators, processors and their chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from roundtable.core.types.answers import AgentResponse
from roundtable.modes.context import DebateStatistics, calculate_stats, statistics_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.debate import DebateContext

__all__ = [
    "ConfidenceRangeValidator",
    "ContextProcessor",
    "ProcessorChain",
    "RequiredFieldsValidator",
    "ResponseValidator",
    "StatisticsProcessor",
    "ValidatorChain",
]

_NO_POSITION: Final = "(no position was given)"
_NO_REASONING: Final = "(no reasoning was given)"


class ContextProcessor(Protocol):
    """Changes a context; a pure function."""

    def process(self, context: DebateContext) -> DebateContext:
        """Return the changed context."""


class StatisticsProcessor:
    """Adds a quoted note to an agent's turn: statistics of the last round that the agent may see."""

    def process(self, context: DebateContext) -> DebateContext:
        """Return the context with statistics; unchanged if it has no turn or no earlier answers."""
        rounds = sorted({turn.round for turn in context.transcript})
        if context.turn is None or not rounds:
            return context
        answers = [_positions_of(context, number) for number in rounds[-2:]]
        note = statistics_note(answers[-1], answers[-2] if len(answers) > 1 else ())
        turn = context.turn.model_copy(update={"notes": (*context.turn.notes, note)})
        return context.model_copy(update={"turn": turn})

    @staticmethod
    def calculate_stats(responses: Sequence[AgentResponse]) -> DebateStatistics:
        """Count and measure the answers of one round."""
        return calculate_stats(responses)


def _positions_of(context: DebateContext, number: int) -> tuple[AgentResponse, ...]:
    turns = [turn for turn in context.transcript if turn.round == number and turn.outcome == "answered"]
    return tuple(turn.answer for turn in turns if isinstance(turn.answer, AgentResponse))


class ProcessorChain:
    """Runs several processors, one after another.

    Args:
        processors: The processors, in order.
    """

    def __init__(self, processors: Sequence[ContextProcessor] = ()) -> None:
        self.processors: tuple[ContextProcessor, ...] = tuple(processors)

    def process(self, context: DebateContext) -> DebateContext:
        """Run all processors."""
        for processor in self.processors:
            context = processor.process(context)
        return context


class ResponseValidator(Protocol):
    """Checks one position; a pure function."""

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Return the position; it may be marked, or a value may be brought into range."""


class ConfidenceRangeValidator:
    """Moves a confidence outside 0 to 1 to the nearest end; NaN becomes 0.5."""

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Bring the confidence into range."""
        confidence = response.confidence
        if confidence is None:
            return response
        valid = 0.5 if confidence != confidence else min(1.0, max(0.0, confidence))  # noqa: PLR0124  (only NaN differs from itself)
        return response if valid == confidence else response.model_copy(update={"confidence": valid})


class RequiredFieldsValidator:
    """Puts a placeholder in place of an empty position or reasoning, so that readers see that the text is missing."""

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Fill in empty texts."""
        filled = {
            "position": response.position if response.position.strip() else _NO_POSITION,
            "reasoning": response.reasoning if response.reasoning.strip() else _NO_REASONING,
        }
        changed = {name: text for name, text in filled.items() if getattr(response, name) != text}
        return response.model_copy(update=changed) if changed else response


class ValidatorChain:
    """Runs several validators, one after another.

    Args:
        validators: The validators, in order.
    """

    def __init__(self, validators: Sequence[ResponseValidator] = ()) -> None:
        self.validators: tuple[ResponseValidator, ...] = tuple(validators)

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Run all validators."""
        for validator in self.validators:
            response = validator.validate(response, context)
        return response
