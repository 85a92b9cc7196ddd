"""What a tool may know of the turn it is called in, and what it leaves behind there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from roundtable.errors import RoundtableError
from roundtable.types import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.protocols import ChatModel, Tool
    from roundtable.types import ChatRequest, ChatResponse, ContextRequest, DebateContext, JsonObject

__all__ = ["AsksModels", "ModelAsk", "ToolTurn", "TurnTool"]


@dataclass(slots=True)
class ToolTurn:
    """One turn of one agent in one debate; made for the turn and gone with it, so that no two debates mix."""

    context: DebateContext
    """What the agent sees, and nothing besides: hidden turns and hidden names are hidden from its tools too."""
    requests: list[ContextRequest] = field(default_factory=list)
    """What the agent asked the caller for."""
    submitted: JsonObject | None = None
    """The answer handed in by a tool; it takes the place of the text."""
    usage: list[Usage] = field(default_factory=list)
    """What models consumed that its tools asked; charged to the turn."""
    guard: Callable[[ChatModel], ChatModel] | None = field(default=None, repr=False)
    """Puts a model behind the limits, the budget and the cassette of the table."""

    async def ask(self, model: ChatModel, request: ChatRequest) -> ChatResponse:
        """Let a tool call a model on behalf of the turn: the call keeps to the budget and is charged to the turn.

        Raises:
            RoundtableError: The call failed, or the budget does not cover it.
        """
        debate = {"session": self.context.session_id, "round": str(self.context.current_round), "agent": self.agent_id}
        request = request.model_copy(update={"metadata": {**debate, **request.metadata}})
        guarded = model if self.guard is None else self.guard(model)
        try:
            response = await guarded.complete(request)
        except RoundtableError as error:
            self.usage.append(error.usage or Usage())
            raise
        except BaseException:
            # The tool's time was up: what the call consumed is not known, that it was made is.
            self.usage.append(Usage(calls=1, unreported_calls=1))
            raise
        self.usage.append(response.usage)
        return response

    @property
    def agent_id(self) -> str:
        """Id of the agent that calls; empty where no turn is taken."""
        return self.context.turn.agent if self.context.turn else ""

    @property
    def is_last_round(self) -> bool:
        """Whether no round comes after this one."""
        return self.context.current_round >= self.context.total_rounds


@runtime_checkable
class TurnTool(Protocol):
    """What a `Tool` may have besides: a form of its own for each turn. Say `cached = True` to share its results."""

    def for_turn(self, turn: ToolTurn) -> Tool | None:
        """Give the tool for one turn; `None` where the turn has no use for it."""


class ModelAsk(NamedTuple):
    """A call that a tool may make of a model."""

    model: ChatModel
    """Which model."""
    request: ChatRequest
    """What it is asked, without what the agent writes into it."""


@runtime_checkable
class AsksModels(Protocol):
    """What a `Tool` may have besides, so that `estimate` and a budget in dollars know of the models it asks."""

    def asks(self) -> Sequence[ModelAsk]:
        """Give the calls to models that one call of the tool makes at most."""
