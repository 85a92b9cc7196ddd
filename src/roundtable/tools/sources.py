"""Where tools get what they know: the web, an answering search, and what was said in the debate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol

from pydantic import ConfigDict, Field

from roundtable.types import Citation, ImageResult
from roundtable.types.base import NonEmpty, Share, Value

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
    """How to search."""

    max_results: Annotated[int, Field(ge=1, le=20)] = 5
    """Most results, 1 to 20."""
    recency: Literal["day", "week", "month", "year"] | None = None
    """How old a page may be."""


class SearchResult(Value):
    """A page that was found."""

    title: str
    """Its title."""
    url: NonEmpty
    """Where it is."""
    snippet: str = ""
    """The passage that was found."""
    published_date: str | None = None
    """When it was published, as the provider writes it."""


class Evidence(Value):
    """What an agent said that bears on a claim."""

    agent_name: str
    """Name it is shown under."""
    evidence: str
    """What it said."""
    confidence: Share
    """Confidence it reported, in [0, 1]."""


class SessionData(Value):
    """What is known of a session."""

    id: str
    """Session id."""
    topic: str
    """The question."""
    responses: tuple[Evidence, ...] = ()
    """What was said."""


class PerplexitySearchInput(SnakeValue):
    """What `perplexity_search` is asked; its names are the same in JSON."""

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
    """What an answering search found; its names are the same in JSON."""

    answer: str
    """The answer."""
    citations: tuple[Citation, ...] | None = None
    """What it rests on."""
    images: tuple[ImageResult, ...] | None = None
    """Images found."""
    related_questions: tuple[str, ...] | None = None
    """Questions that follow."""


class WebSearchProvider(Protocol):
    """Searches the web."""

    async def search(self, query: str, options: SearchOptions | None = None) -> Sequence[SearchResult]:
        """Give pages, best first.

        Raises:
            RoundtableError: The search failed; `retryable` says whether it may work later.
        """


class PerplexitySearchProvider(Protocol):
    """Searches the web and answers from what it found."""

    async def search(self, search_input: PerplexitySearchInput) -> PerplexitySearchResult:
        """Answer.

        Raises:
            RoundtableError: The search failed; `retryable` says whether it may work later.
        """


class SessionDataProvider(Protocol):
    """Knows what was said in a debate."""

    async def get_session(self, session_id: str) -> SessionData | None:
        """Give what is known of a session; `None` when there is none."""

    async def find_related_evidence(self, claim: str) -> Sequence[Evidence]:
        """Give what was said that bears on a claim."""
