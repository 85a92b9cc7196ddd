"""What all tools that ship have in common, and the two that only look at the debate and at the answer."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator

from roundtable.tools.functions import schema_of
from roundtable.tools.results import failed, unfit
from roundtable.tools.sources import SnakeValue
from roundtable.types import AgentTool, Stance, ToolResult
from roundtable.types.base import NonEmpty, Share, Value

if TYPE_CHECKING:
    from typing import Self

    from roundtable.tools.turn import ToolTurn
    from roundtable.types import JsonObject

__all__ = ["GetContext", "StandardTool", "SubmitResponse", "ToolSpec", "get_context", "submit_response"]

I = TypeVar("I", bound=BaseModel)  # noqa: E741  (input)


class ToolSpec(NamedTuple):
    """A tool that ships, as data: what it is called, what it takes and what it gives."""

    name: str
    """Name the model calls."""
    description: str
    """What it does and when to use it, for the model."""
    input: type[BaseModel]
    """Its arguments."""
    output: type[BaseModel]
    """What the `data` of its results hold."""

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""
        return AgentTool(name=self.name, description=self.description, parameters=schema_of(self.input))


class StandardTool(Generic[I]):
    """A tool that ships: it checks its own arguments, and has a form for each turn."""

    spec: ClassVar[ToolSpec]
    retryable: bool = False
    """Whether it may be tried again after a fault that may pass."""
    cached: bool = False
    """Whether the same call made twice within a round is carried out once."""
    _turn: ToolTurn | None = None

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""
        return self.spec.definition

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Give the tool for one turn; `None` where the turn has no use for it."""
        own = copy.copy(self)
        own._turn = turn  # noqa: SLF001  (its own class)
        return own

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Check the arguments and do it."""
        try:
            given: Any = self.spec.input.model_validate(tool_input)
        except ValidationError as error:
            return unfit(error)
        return await self.answer(given)

    async def answer(self, given: I) -> ToolResult:
        """Do it with checked arguments."""
        raise NotImplementedError


class _Nothing(Value):
    pass


class _Said(Value):
    agent_name: str
    position: str
    confidence: Share


class _Context(Value):
    topic: str
    mode: str
    current_round: int
    total_rounds: int
    previous_responses: tuple[_Said, ...] = ()
    focus_question: str | None = None


get_context: ToolSpec = ToolSpec(
    "get_context",
    "Shows the question, the round, and the positions that you may see.",
    _Nothing,
    _Context,
)
"""What `get_context` takes and gives."""


class GetContext(StandardTool[BaseModel]):
    """Tells an agent what its turn shows: the question, the round, earlier positions under the names shown."""

    spec = get_context

    async def answer(self, given: BaseModel) -> ToolResult:
        """Give what the turn shows."""
        if self._turn is None:
            return failed("there is no debate to look at")
        view = self._turn.context
        seen = _Context(
            topic=view.topic,
            mode=view.mode,
            current_round=view.current_round,
            total_rounds=view.total_rounds,
            previous_responses=tuple(
                _Said(agent_name=one.agent_name, position=one.position, confidence=one.confidence)
                for one in view.previous_responses
            ),
            focus_question=view.focus_question,
        )
        return ToolResult(success=True, data=seen.model_dump(mode="json", exclude_none=True))


class _Answer(SnakeValue):
    position: NonEmpty = Field(description="Your answer to the question, in a sentence or two.")
    reasoning: NonEmpty = Field(description="Why.")
    confidence: float = Field(default=0.5, description="How sure you are, from 0 to 1.")
    stance: Stance | None = Field(default=None, description="Your side, where the question is one of yes or no.")
    choice: str | None = Field(default=None, description="The option you choose, where there are options.")

    @field_validator("confidence")
    @classmethod
    def _clamped(cls, value: float) -> float:
        return min(1.0, max(0.0, value))


submit_response: ToolSpec = ToolSpec(
    "submit_response",
    "Hands in your final answer; it counts instead of any text. Call it last, and once.",
    _Answer,
    _Answer,
)
"""What `submit_response` takes and gives."""


class SubmitResponse(StandardTool[_Answer]):
    """Takes an answer as data. It ends the turn and wins over text; a confidence out of range is brought into it."""

    spec = submit_response

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Give the tool for a turn that asks for a position; no other answer can be handed in so."""
        asked = turn.context.turn
        return super().for_turn(turn) if asked is None or asked.answer == "position" else None

    async def answer(self, given: _Answer) -> ToolResult:
        """Keep the answer for the turn."""
        data = given.model_dump(mode="json", exclude_none=True)
        if self._turn is not None:
            self._turn.submitted = data
        return ToolResult(success=True, data=data)
