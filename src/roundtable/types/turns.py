"""What became of a planned turn: an answer, or a failure that is data."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from roundtable.types.answers import Answer, ToolCallRecord
from roundtable.types.base import JsonObject, Timestamp, Value
from roundtable.types.chat import FinishReason, Usage
from roundtable.types.plan import TurnKey
from roundtable.types.requests import ContextRequest

__all__ = ["AnyTurn", "ErrorInfo", "FailedTurn", "Turn", "TurnResult"]


class ErrorInfo(Value):
    """An error as JSON, in the form of `RoundtableError.to_dict`; free of secrets and stacks."""

    name: str
    """Class name."""
    message: str
    """What happened and what to do."""
    code: str
    """Stable machine-readable code."""
    provider: str | None = None
    """Provider that failed."""
    retryable: bool = False
    """Whether the same call may succeed later."""
    cause: str | None = None
    """Message of the wrapped error."""
    hint: str | None = None
    """How to recover."""
    request_id: str | None = None
    """The provider's id of the failed call."""
    retry_after_s: float | None = None
    """Seconds the provider asked to wait."""
    details: JsonObject | None = None
    """Facts that belong to one kind of error."""
    stack: str | None = None
    """Stack trace; only in debug mode, never stored."""


class TurnResult(Value):
    """What an agent returns for one turn: the answer and what it took to get it."""

    answer: Answer
    """The answer."""
    usage: Usage = Usage()
    """Tokens and calls of this turn, repair tries included."""
    usage_by_call: tuple[Usage, ...] = ()
    """The same by model call, in order; empty where an agent does not say."""
    provider: str | None = None
    """Provider that answered."""
    model: str | None = None
    """Model that answered."""
    finish_reason: FinishReason = "stop"
    """Why the completion ended."""
    truncated: bool = False
    """Whether the completion was cut by its token limit."""
    repaired: bool = False
    """Whether the text needed repair to be read."""
    warnings: tuple[str, ...] = ()
    """What a reader of the answer should know, such as a confidence that was missing."""
    request_ids: tuple[str, ...] = ()
    """The provider's ids of the calls."""
    prompt_version: str | None = None
    """Version of the prompt texts used."""
    context_requests: tuple[ContextRequest, ...] = ()
    """What the agent asked the caller for."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """Tools used, where the answer has no place of its own for them; a position has."""


class _Placed(Value):
    round: Annotated[int, Field(ge=1)]
    """Round, from 1."""
    stage: str
    """Stage name."""
    slot: Annotated[int, Field(ge=0)]
    """Place within the stage, from 0."""
    attempt: Annotated[int, Field(ge=1)] = 1
    """Which try at this slot, from 1."""
    agent_id: str
    """Agent that was asked."""
    agent_name: str = ""
    """Its display name."""
    role: str = "participant"
    """Role it played."""
    duration_s: Annotated[float, Field(ge=0)] = 0.0
    """Wall time in seconds."""
    timestamp: Timestamp
    """When the turn ended."""

    @property
    def key(self) -> TurnKey:
        """Place of this turn in its session."""
        return TurnKey(self.round, self.stage, self.slot)


class Turn(_Placed):
    """A turn that was answered."""

    outcome: Literal["answered"] = "answered"
    result: TurnResult
    """The answer and its figures."""
    independent: bool = False
    """Whether the agent had seen no other answer when it gave this one."""

    @property
    def answer(self) -> Answer:
        """The answer itself."""
        return self.result.answer

    @property
    def tools_used(self) -> tuple[ToolCallRecord, ...]:
        """Tools the agent used, whether the answer has a place for them or not."""
        answer = self.result.answer
        return answer.tool_calls if answer.kind == "position" else self.result.tool_calls


class FailedTurn(_Placed):
    """A turn that failed; the debate goes on without it and says so."""

    outcome: Literal["failed"] = "failed"
    error: ErrorInfo
    """Why."""
    usage: Usage = Usage()
    """What was spent before the failure."""


AnyTurn: TypeAlias = Annotated[Turn | FailedTurn, Field(discriminator="outcome")]
"""Either outcome, told apart by `outcome`."""
