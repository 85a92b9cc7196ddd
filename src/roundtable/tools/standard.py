"""The standard tools: web search, fact check, context of the debate, request for context, submit a response."""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, Field, ValidationError, field_validator

from roundtable.core.errors import RoundtableError
from roundtable.core.types.answers import ContextRequest, Stance
from roundtable.core.types.base import NonEmpty, Share, Value
from roundtable.core.types.chat import AgentTool, ToolResult
from roundtable.tools.definition import CallsModels, failed_result, invalid_tool_arguments
from roundtable.tools.functions import schema_of
from roundtable.tools.search import ModelSearch
from roundtable.tools.sources import (
    Evidence,
    PerplexitySearchInput,
    PerplexitySearchResult,
    SearchOptions,
    SearchResult,
    SnakeValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from roundtable.core.protocols import Tool
    from roundtable.core.types.base import JsonObject
    from roundtable.tools.definition import ModelCall, ToolTurn
    from roundtable.tools.sources import PerplexitySearchProvider, SessionDataProvider, WebSearchProvider

__all__ = [
    "BUILTIN_TOOLS",
    "FactCheck",
    "GetContext",
    "PerplexitySearch",
    "RequestContext",
    "SearchWeb",
    "StandardTool",
    "SubmitResponse",
    "ToolSpec",
    "fact_check",
    "get_context",
    "perplexity_search",
    "request_context",
    "search_web",
    "submit_response",
]

I = TypeVar("I", bound=BaseModel)  # noqa: E741  (input)

_WEB_EVIDENCE = 3
_EVIDENCE_CHARS = 1_000


class ToolSpec(NamedTuple):
    """Description of a standard tool: its name, its input and its output."""

    name: str
    """Name by which the model calls the tool."""
    description: str
    """Text for the model: what the tool does, and when to use it."""
    input: type[BaseModel]
    """Model of its arguments."""
    output: type[BaseModel]
    """Model of the `data` of its results."""

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""
        return AgentTool(name=self.name, description=self.description, parameters=schema_of(self.input))


class StandardTool(ABC, Generic[I]):
    """A standard tool: it validates its arguments, and each turn has its own instance."""

    spec: ClassVar[ToolSpec]
    retryable: bool = False
    """Whether a call is tried again after a temporary fault."""
    cached: bool = False
    """Whether equal calls within a round run once and share the result."""
    _turn: ToolTurn | None = None

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""
        return self.spec.definition

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Return the tool for one turn; `None` if the turn cannot use it."""
        bound = copy.copy(self)
        bound._turn = turn  # noqa: SLF001  (its own class)
        return bound

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Validate the arguments and run the tool."""
        try:
            arguments: Any = self.spec.input.model_validate(tool_input)
        except ValidationError as error:
            return invalid_tool_arguments(error)
        return await self.answer(arguments)

    @abstractmethod
    async def answer(self, given: I) -> ToolResult:
        """Run the tool with validated arguments."""


class _NoInput(Value):
    pass


class _VisiblePosition(Value):
    agent_name: str
    position: str
    confidence: Share | None


class _ContextOutput(Value):
    topic: str
    mode: str
    current_round: int
    total_rounds: int
    previous_responses: tuple[_VisiblePosition, ...] = ()
    focus_question: str | None = None


get_context: ToolSpec = ToolSpec(
    "get_context",
    "Shows the question, the round, and the positions that you may see.",
    _NoInput,
    _ContextOutput,
)
"""Name, description, input and output of `get_context`."""


class GetContext(StandardTool[BaseModel]):
    """Return what the turn shows to the agent: the question, the round, and earlier positions with visible names."""

    spec = get_context

    async def answer(self, given: BaseModel) -> ToolResult:
        """Return what the turn shows."""
        if self._turn is None:
            return failed_result("there is no debate to look at")
        context = self._turn.context
        visible = _ContextOutput(
            topic=context.topic,
            mode=context.mode,
            current_round=context.current_round,
            total_rounds=context.total_rounds,
            previous_responses=tuple(
                _VisiblePosition(
                    agent_name=response.agent_name, position=response.position, confidence=response.confidence
                )
                for response in context.previous_responses
            ),
            focus_question=context.focus_question,
        )
        return ToolResult(success=True, data=visible.model_dump(mode="json", exclude_none=True))


class _AnswerInput(SnakeValue):
    position: NonEmpty = Field(description="Your answer to the question, in a sentence or two.")
    reasoning: NonEmpty = Field(description="Why.")
    confidence: float = Field(default=0.5, description="How sure you are, from 0 to 1.")
    stance: Stance | None = Field(default=None, description="Your side, where the question is one of yes or no.")
    choice: str | None = Field(default=None, description="The option you choose, where there are options.")

    @field_validator("confidence")
    @classmethod
    def _clamp(cls, value: float) -> float:
        return min(1.0, max(0.0, value))


submit_response: ToolSpec = ToolSpec(
    "submit_response",
    "Hands in your final answer; it counts instead of any text. Call it last, and once.",
    _AnswerInput,
    _AnswerInput,
)
"""Name, description, input and output of `submit_response`."""


class SubmitResponse(StandardTool[_AnswerInput]):
    """Accept an answer as data. The answer ends the turn and replaces any text; its confidence is clamped to [0, 1]."""

    spec = submit_response

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Return the tool for a turn that asks for a position; other kinds of answers cannot be submitted."""
        spec = turn.context.turn
        return super().for_turn(turn) if spec is None or spec.answer == "position" else None

    async def answer(self, given: _AnswerInput) -> ToolResult:
        """Store the answer in the turn."""
        data = given.model_dump(mode="json", exclude_none=True)
        if self._turn is not None:
            self._turn.submitted = data
        return ToolResult(success=True, data=data)


class _SearchInput(SnakeValue):
    query: NonEmpty = Field(description="What to look for.")
    max_results: Annotated[int, Field(ge=1, le=10)] = Field(default=5, description="Most results, 1 to 10.")


class _SearchOutput(Value):
    results: tuple[SearchResult, ...] = ()


search_web: ToolSpec = ToolSpec(
    "search_web",
    "Searches the web; gives title, address and a passage of each page found.",
    _SearchInput,
    _SearchOutput,
)
"""Name, description, input and output of `search_web`."""


class SearchWeb(StandardTool[_SearchInput]):
    """Search the web through a provider of your choice.

    Args:
        provider: Provider that searches the web; without a provider, every call fails.
    """

    spec = search_web
    retryable = True
    cached = True

    def __init__(self, provider: WebSearchProvider | None = None) -> None:
        self._provider = provider

    async def answer(self, given: _SearchInput) -> ToolResult:
        """Search the web."""
        if self._provider is None:
            return failed_result("no provider of web searches is set up")
        results = await self._provider.search(given.query, SearchOptions(max_results=given.max_results))
        output = _SearchOutput(results=tuple(results)[: given.max_results])
        return ToolResult(success=True, data=output.model_dump(mode="json", exclude_none=True))


class _FactCheckInput(SnakeValue):
    claim: NonEmpty = Field(description="The claim to check.")
    source_agent: str = Field(default="unknown", description="Who made it, by the name shown.")


class _FactCheckOutput(Value):
    claim: str
    source_agent: str
    web_evidence: tuple[SearchResult, ...] = ()
    debate_evidence: tuple[Evidence, ...] = ()


fact_check: ToolSpec = ToolSpec(
    "fact_check",
    "Collects what bears on a claim: pages of the web, and what others said in this debate.",
    _FactCheckInput,
    _FactCheckOutput,
)
"""Name, description, input and output of `fact_check`."""


class FactCheck(StandardTool[_FactCheckInput]):
    """Collect evidence on a claim; the model judges the claim.

    Evidence from the debate consists of the positions that the turn shows, with visible names, but without the
    positions of the agent that asks. If there is a provider of session data, this provider is used instead, except in a
    turn that hides the names.

    Args:
        provider: Provider that searches the web; without a provider, there is no web evidence.
        session_data: Provider that finds earlier statements.
    """

    spec = fact_check

    def __init__(
        self, provider: WebSearchProvider | None = None, session_data: SessionDataProvider | None = None
    ) -> None:
        self._provider = provider
        self._session_data = session_data

    async def answer(self, given: _FactCheckInput) -> ToolResult:
        """Collect the evidence."""
        output = _FactCheckOutput(
            claim=given.claim,
            source_agent=given.source_agent,
            web_evidence=await self._web_evidence(given.claim),
            debate_evidence=tuple(await self._debate_evidence(given.claim)),
        )
        return ToolResult(success=True, data=output.model_dump(mode="json", exclude_none=True))

    async def _web_evidence(self, claim: str) -> tuple[SearchResult, ...]:
        if self._provider is None:
            return ()
        try:
            return tuple(await self._provider.search(claim, SearchOptions(max_results=_WEB_EVIDENCE)))[:_WEB_EVIDENCE]
        except RoundtableError:
            return ()  # the evidence from the debate is still useful

    async def _debate_evidence(self, claim: str) -> Sequence[Evidence]:
        if self._turn is None:
            return () if self._session_data is None else await self._session_data.find_related_evidence(claim)
        context, agent_id = self._turn.context, self._turn.agent_id
        if self._session_data is not None and not self._hides_names():
            own_names = {seat.name for seat in context.agents if seat.id == agent_id}
            evidence = await self._session_data.find_related_evidence(claim)
            return [statement for statement in evidence if statement.agent_name not in own_names]
        return [
            Evidence(
                agent_name=response.agent_name,
                evidence=f"{response.position}\n{response.reasoning}".strip()[:_EVIDENCE_CHARS],
                confidence=response.confidence,
            )
            for response in context.previous_responses
            if response.agent_id != agent_id
        ]

    def _hides_names(self) -> bool:
        """Check whether the turn hides the names of the agents."""
        turn = self._turn.context.turn if self._turn else None
        return turn is not None and (bool(turn.speaks_as) or not (self._turn and self._turn.context.agents))


perplexity_search: ToolSpec = ToolSpec(
    "perplexity_search",
    "Asks a search that reads the web and answers with its sources.",
    PerplexitySearchInput,
    PerplexitySearchResult,
)
"""Name, description, input and output of `perplexity_search`."""


class PerplexitySearch(StandardTool[PerplexitySearchInput]):
    """Ask a search service that answers in text.

    Args:
        provider: The search service; `ModelSearch` uses a chat model that can search.
    """

    spec = perplexity_search
    cached = True

    def __init__(self, provider: PerplexitySearchProvider | None = None) -> None:
        self._provider = provider

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Return the tool for one turn, with a provider that charges its calls to the turn."""
        bound = super().for_turn(turn)
        if bound is not None and isinstance(self._provider, ModelSearch):
            bound._provider = self._provider.for_turn(turn)  # noqa: SLF001  (its own class)
        return bound

    def asks(self) -> Sequence[ModelCall]:
        """Return the model calls that one search makes; see `CallsModels`."""
        return self._provider.asks() if isinstance(self._provider, CallsModels) else ()

    async def answer(self, given: PerplexitySearchInput) -> ToolResult:
        """Ask the search service."""
        if self._provider is None:
            return failed_result("no answering search is set up; use search_web where it is offered")
        result = await self._provider.search(given)
        return ToolResult(success=True, data=result.model_dump(mode="json", exclude_none=True))


class _RequestInput(SnakeValue):
    query: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        description="What you need to know. Say what, not how to find it."
    )
    reason: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="What depends on it.")
    priority: Literal["required", "optional"] = Field(
        default="required", description="Whether the debate should wait for it."
    )


class _RequestOutput(Value):
    request_id: str
    message: str


request_context: ToolSpec = ToolSpec(
    "request_context",
    "Asks the caller of the debate for information that you cannot find yourself. The answer comes with the next "
    "round; go on with what you know until then.",
    _RequestInput,
    _RequestOutput,
)
"""Name, description, input and output of `request_context`."""


class RequestContext(StandardTool[_RequestInput]):
    """Store a request to the caller in the turn; the caller answers it before the next round.

    The tool is not offered in the last round, because an answer would come too late. If several agents make equal
    requests, these have the same id.
    """

    spec = request_context

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Return the tool for a turn; `None` in the last round."""
        return None if turn.is_last_round else super().for_turn(turn)

    async def answer(self, given: _RequestInput) -> ToolResult:
        """Store the request in the turn."""
        turn = self._turn
        if turn is None:
            return failed_result("there is no debate in which something could be asked for")
        request = ContextRequest(
            id=_request_id(turn.context.session_id, given.query),
            agent_id=turn.agent_id,
            query=given.query,
            reason=given.reason,
            priority=given.priority,
        )
        if all(earlier.id != request.id for earlier in turn.requests):
            turn.requests.append(request)
        message = "asked for; the answer comes with the next round"
        receipt = _RequestOutput(request_id=request.id, message=message)
        return ToolResult(success=True, data=receipt.model_dump(mode="json"))


def _request_id(session_id: str, query: str) -> str:
    """Return the id of a request. In a session, equal words lead to the same id, ignoring case and spaces."""
    words = " ".join(query.casefold().split())
    return "ctx-" + hashlib.sha256(f"{session_id}\n{words}".encode()).hexdigest()[:10]


BUILTIN_TOOLS: Final[tuple[tuple[ToolSpec, Callable[[], Tool]], ...]] = (
    (get_context, GetContext),
    (submit_response, SubmitResponse),
    (fact_check, FactCheck),
    (request_context, RequestContext),
)
"""Each tool with its factory."""
