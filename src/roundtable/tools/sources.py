"""The sources that tools use: web search, search with an answer, and statements in the debate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

from pydantic import ConfigDict, Field

from roundtable.core.types.answers import Citation, ImageResult
from roundtable.core.types.base import NonEmpty, Share, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Evidence",
    "PerplexitySearchInput",
    "PerplexitySearchProvider",
    "PerplexitySearchResult",
    "SearchOptions",
    "SearchResult",
    "SessionData",
    "SessionDataProvider",
    "SnakeValue",
    "WebSearchProvider",
]


class SnakeValue(Value):
    """A value whose fields have the same names in JSON."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=str)


class SearchOptions(Value):
    """Options of a web search."""

    max_results: Annotated[int, Field(ge=1, le=20)] = 5
    """Maximum number of results, from 1 to 20."""
    recency: Literal["day", "week", "month", "year"] | None = None
    """Maximum age of a page."""


class SearchResult(Value):
    """A page that a search found."""

    title: str
    """Its title."""
    url: NonEmpty
    """Its address."""
    snippet: str = ""
    """The passage that matches the query."""
    published_date: str | None = None
    """Date of publication, as the provider writes it."""


class Evidence(Value):
    """A statement of an agent that is relevant to a claim."""

    agent_name: str
    """Name of the agent, as others see it."""
    evidence: str
    """The statement."""
    confidence: Share | None
    """Confidence that the agent reported, in [0, 1]; `None` if none is stated."""


class SessionData(Value):
    """The topic and the statements of a session."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    responses: tuple[Evidence, ...] = ()
    """The statements."""


class PerplexitySearchInput(SnakeValue):
    """Input of `perplexity_search`; its fields have the same names in JSON."""

    # Models see the descriptions of these fields: they are part of the prompt.
    query: NonEmpty
    """What to look for."""
    recency_filter: Literal["hour", "day", "week", "month"] | None = None
    """How old a page may be."""
    domain_filter: Annotated[tuple[NonEmpty, ...], Field(max_length=3)] | None = None
    """The only domains to search, at most 3."""
    return_images: bool = False
    """Whether to look for images too."""
    return_related_questions: bool = False
    """Whether to suggest questions that follow."""


class PerplexitySearchResult(SnakeValue):
    """Output of `perplexity_search`; its fields have the same names in JSON."""

    answer: str
    """The answer."""
    citations: tuple[Citation, ...] | None = None
    """Sources of the answer."""
    images: tuple[ImageResult, ...] | None = None
    """Images that the search found."""
    related_questions: tuple[str, ...] | None = None
    """Related questions."""


class WebSearchProvider(Protocol):
    """Search the web."""

    async def search(self, query: str, options: SearchOptions | None = None) -> Sequence[SearchResult]:
        """Return pages, best first.

        Raises:
            RoundtableError: The search failed; `retryable` says whether another attempt may work.
        """


class PerplexitySearchProvider(Protocol):
    """Search the web and answer in text from the results."""

    async def search(self, search_input: PerplexitySearchInput) -> PerplexitySearchResult:
        """Answer a question.

        Raises:
            RoundtableError: The search failed; `retryable` says whether another attempt may work.
        """


class SessionDataProvider(Protocol):
    """Find statements of a debate."""

    async def get_session(self, session_id: str) -> SessionData | None:
        """Return the topic and the statements of a session; `None` if no session has this id."""

    async def find_related_evidence(self, claim: str) -> Sequence[Evidence]:
        """Return the statements that are relevant to a claim."""
