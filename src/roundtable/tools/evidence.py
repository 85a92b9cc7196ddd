"""Tools that look for evidence: on the web, in the debate, through a search that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from roundtable.errors import RoundtableError
from roundtable.tools.model_search import ModelSearch
from roundtable.tools.results import failed
from roundtable.tools.sources import (
    Evidence,
    PerplexitySearchInput,
    PerplexitySearchResult,
    SearchOptions,
    SearchResult,
    SnakeValue,
)
from roundtable.tools.standard import StandardTool, ToolSpec
from roundtable.tools.turn import AsksModels
from roundtable.types import ToolResult
from roundtable.types.base import NonEmpty, Value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from roundtable.tools.sources import PerplexitySearchProvider, SessionDataProvider, WebSearchProvider
    from roundtable.tools.turn import ModelAsk, ToolTurn

__all__ = [
    "FactCheck",
    "PerplexitySearch",
    "SearchWeb",
    "fact_check",
    "perplexity_search",
    "search_web",
]

_WEB_EVIDENCE = 3
_EVIDENCE_CHARS = 1_000


class _Query(SnakeValue):
    query: NonEmpty = Field(description="What to look for.")
    max_results: Annotated[int, Field(ge=1, le=10)] = Field(default=5, description="Most results, 1 to 10.")


class _Found(Value):
    results: tuple[SearchResult, ...] = ()


search_web: ToolSpec = ToolSpec(
    "search_web",
    "Searches the web; gives title, address and a passage of each page found.",
    _Query,
    _Found,
)
"""What `search_web` takes and gives."""


class SearchWeb(StandardTool[_Query]):
    """Searches the web through a provider of your choice.

    Args:
        provider: Where to search; without one the tool says that there is none.
    """

    spec = search_web
    retryable = True
    cached = True

    def __init__(self, provider: WebSearchProvider | None = None) -> None:
        self._provider = provider

    async def answer(self, given: _Query) -> ToolResult:
        """Search."""
        if self._provider is None:
            return failed("no provider of web searches is set up")
        found = await self._provider.search(given.query, SearchOptions(max_results=given.max_results))
        results = _Found(results=tuple(found)[: given.max_results])
        return ToolResult(success=True, data=results.model_dump(mode="json", exclude_none=True))


class _Claim(SnakeValue):
    claim: NonEmpty = Field(description="The claim to check.")
    source_agent: str = Field(default="unknown", description="Who made it, by the name shown.")


class _Checked(Value):
    claim: str
    source_agent: str
    web_evidence: tuple[SearchResult, ...] = ()
    debate_evidence: tuple[Evidence, ...] = ()


fact_check: ToolSpec = ToolSpec(
    "fact_check",
    "Collects what bears on a claim: pages of the web, and what others said in this debate.",
    _Claim,
    _Checked,
)
"""What `fact_check` takes and gives."""


class FactCheck(StandardTool[_Claim]):
    """Collects evidence on a claim; the model judges it.

    From the debate come positions that the turn shows, under the names it shows, without those of the agent that asks.
    A provider of session data is asked instead, except in a turn without names.

    Args:
        provider: Where to search the web; without one there is no web evidence.
        session_data: Who knows what was said.
    """

    spec = fact_check

    def __init__(
        self, provider: WebSearchProvider | None = None, session_data: SessionDataProvider | None = None
    ) -> None:
        self._provider = provider
        self._session_data = session_data

    async def answer(self, given: _Claim) -> ToolResult:
        """Collect."""
        checked = _Checked(
            claim=given.claim,
            source_agent=given.source_agent,
            web_evidence=await self._pages(given.claim),
            debate_evidence=tuple(await self._said(given.claim)),
        )
        return ToolResult(success=True, data=checked.model_dump(mode="json", exclude_none=True))

    async def _pages(self, claim: str) -> tuple[SearchResult, ...]:
        if self._provider is None:
            return ()
        try:
            return tuple(await self._provider.search(claim, SearchOptions(max_results=_WEB_EVIDENCE)))[:_WEB_EVIDENCE]
        except RoundtableError:
            return ()  # what the debate holds is evidence all the same

    async def _said(self, claim: str) -> Sequence[Evidence]:
        if self._turn is None:
            return () if self._session_data is None else await self._session_data.find_related_evidence(claim)
        view, own = self._turn.context, self._turn.agent_id
        if self._session_data is not None and not self._is_nameless():
            names = {seat.name for seat in view.agents if seat.id == own}
            return [one for one in await self._session_data.find_related_evidence(claim) if one.agent_name not in names]
        return [
            Evidence(
                agent_name=one.agent_name,
                evidence=f"{one.position}\n{one.reasoning}".strip()[:_EVIDENCE_CHARS],
                confidence=one.confidence,
            )
            for one in view.previous_responses
            if one.agent_id != own
        ]

    def _is_nameless(self) -> bool:
        """Tell whether the turn hides who is at the table."""
        turn = self._turn.context.turn if self._turn else None
        return turn is not None and (bool(turn.speaks_as) or not (self._turn and self._turn.context.agents))


perplexity_search: ToolSpec = ToolSpec(
    "perplexity_search",
    "Asks a search that reads the web and answers with its sources.",
    PerplexitySearchInput,
    PerplexitySearchResult,
)
"""What `perplexity_search` takes and gives."""


class PerplexitySearch(StandardTool[PerplexitySearchInput]):
    """Asks a search that answers.

    Args:
        provider: Who answers; `ModelSearch` makes one of a chat model that searches by itself.
    """

    spec = perplexity_search
    cached = True

    def __init__(self, provider: PerplexitySearchProvider | None = None) -> None:
        self._provider = provider

    def for_turn(self, turn: ToolTurn) -> Self | None:
        """Give the tool for one turn, with a provider that knows whom to charge."""
        own = super().for_turn(turn)
        if own is not None and isinstance(self._provider, ModelSearch):
            own._provider = self._provider.for_turn(turn)  # noqa: SLF001  (its own class)
        return own

    def asks(self) -> Sequence[ModelAsk]:
        """Give the calls to models that one search makes; see `AsksModels`."""
        return self._provider.asks() if isinstance(self._provider, AsksModels) else ()

    async def answer(self, given: PerplexitySearchInput) -> ToolResult:
        """Ask."""
        if self._provider is None:
            return failed("no answering search is set up; use search_web where it is offered")
        found = await self._provider.search(given)
        return ToolResult(success=True, data=found.model_dump(mode="json", exclude_none=True))
