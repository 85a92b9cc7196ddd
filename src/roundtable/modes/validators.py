"""Looking at an answer before it is stored: marks, and values brought into their range. No words are put into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from roundtable.types import RoleViolation

if TYPE_CHECKING:
    from roundtable.types import AgentResponse, DebateContext, Stance

__all__ = [
    "ConfidenceRangeValidator",
    "RequiredFieldsValidator",
    "ResponseValidator",
    "StanceValidator",
    "ValidatorChain",
]

NO_POSITION: Final = "(no position was given)"
NO_REASONING: Final = "(no reasoning was given)"


class ResponseValidator(Protocol):
    """Looks at one position; pure."""

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Give the position, marked or brought into range."""


class StanceValidator:
    """Marks an answer that takes another side than the one it was given. The side itself stays as it is.

    Args:
        expected: The side; that of the turn when left out.

    Example:
        >>> from roundtable.types import AgentResponse, DebateContext
        >>> said = AgentResponse(agent_id="ada", agent_name="Ada", position="No.", stance="NO")
        >>> view = DebateContext(session_id="s", topic="Tea?", mode="devils-advocate")
        >>> StanceValidator("YES").validate(said, view).role_violation
        RoleViolation(expected='YES', actual='NO')
    """

    def __init__(self, expected: Stance | None = None) -> None:
        self.expected: Stance | None = expected

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Mark the answer where it strays."""
        expected = self.expected or (context.turn.stance if context.turn else None)
        if expected is None or response.stance == expected:
            return response
        breach = RoleViolation(expected=expected, actual=response.stance)
        return response.model_copy(update={"role_violation": breach})


class ConfidenceRangeValidator:
    """Moves a confidence outside 0 to 1 to the nearest end; one that is no number becomes 0.5."""

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Bring the confidence into range."""
        given = response.confidence
        kept = 0.5 if given != given else min(1.0, max(0.0, given))  # noqa: PLR0124  (only NaN differs from itself)
        return response if kept == given else response.model_copy(update={"confidence": kept})


class RequiredFieldsValidator:
    """Puts a placeholder where the position or the reasoning is empty, so that a reader sees that it is missing."""

    def validate(self, response: AgentResponse, context: DebateContext) -> AgentResponse:
        """Fill in what is empty."""
        filled = {
            "position": response.position if response.position.strip() else NO_POSITION,
            "reasoning": response.reasoning if response.reasoning.strip() else NO_REASONING,
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
        """Run them all."""
        for validator in self.validators:
            response = validator.validate(response, context)
        return response
