"""What search services have in common: one request, one JSON document, and the same faults."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlsplit

from pydantic_core import from_json

from roundtable.errors import AgentError, APIAuthError, APINetworkError, APIRateLimitError, RoundtableError
from roundtable.http import HttpClient, HttpLimits
from roundtable.tools.sources import SearchOptions, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from roundtable.http import HttpRequest, HttpResponse

__all__ = ["SEARCH_TIMEOUT_S", "HttpSearch", "short_query"]

SEARCH_TIMEOUT_S: Final = 15.0
"""Seconds a search may take."""
MOST_QUERY_CHARS: Final = 400
"""Letters of a query that every service takes."""
MOST_QUERY_WORDS: Final = 50
"""Words of a query that every service takes."""
_LIMITS: Final = HttpLimits(body_bytes=4 * 2**20)
_TITLE_CHARS, _SNIPPET_CHARS, _URL_CHARS = 300, 1_000, 2_000


class HttpSearch(ABC):
    """A search service that is asked over HTTP and answers with JSON.

    A new service is a subclass that builds the request and names the places in the document; see the source of
    `TavilySearch`. A search is one request: trying again is left to the tool that searches.

    Args:
        timeout_s: Seconds a search may take.
        client: An `httpx.AsyncClient` of the caller's, used as it is and never closed.
    """

    name: ClassVar[str]
    """Name of the service."""
    places: ClassVar[tuple[str, ...]]
    """Where the list of results stands in the document."""
    title: ClassVar[str] = "title"
    """Field of a result's title."""
    url: ClassVar[str] = "url"
    """Field of its address."""
    snippet: ClassVar[str]
    """Field of its passage."""
    date: ClassVar[str]
    """Field of its date."""

    def __init__(self, *, timeout_s: float = SEARCH_TIMEOUT_S, client: object | None = None) -> None:
        self._timeout_s = timeout_s
        self._given = client

    @abstractmethod
    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Give the request of a search; a query within the limits of every service."""

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Give the error for an answer that is no success; what the service wrote is not quoted."""
        message = f"{self.name} answered with status {answer.status}"
        match answer.status:
            case 401 | 403:
                return APIAuthError(message, provider=self.name, hint=f"Check the key of {self.name}.")
            case 429:
                return APIRateLimitError(message, provider=self.name)
            case status if status >= 500:
                return APINetworkError(message, provider=self.name)
            case _:
                return AgentError(message, provider=self.name, retryable=False)

    async def search(self, query: str, options: SearchOptions | None = None) -> tuple[SearchResult, ...]:
        """Give pages, best first; what is no page of the web is left out.

        Raises:
            APIAuthError: The key is refused.
            APIRateLimitError: Too many searches.
            APITimeoutError: No answer within the time.
            APINetworkError: The service cannot be reached, or is at fault.
            AgentError: The query is empty or refused, or the answer makes no sense.
        """
        options = options or SearchOptions()
        if not (short := short_query(query)):
            raise AgentError("there is nothing to look for", provider=self.name, retryable=False)
        # A client for one search: nothing is left open, however the program uses its event loops.
        client = HttpClient(self.name, client=self._given, limits=_LIMITS)
        try:
            answer = await client.send(self.build_request(short, options), timeout_s=self._timeout_s)
        finally:
            await client.aclose()
        if answer.status != 200:
            raise self.status_error(answer)
        return tuple(self._results(answer.body))[: options.max_results]

    def _results(self, body: bytes) -> Iterator[SearchResult]:
        for item in self._items(body):
            url = _text(item, self.url)
            if len(url) <= _URL_CHARS and _is_web(url):
                yield SearchResult(
                    title=_plain(_text(item, self.title))[:_TITLE_CHARS] or url,
                    url=url,
                    snippet=_plain(_text(item, self.snippet))[:_SNIPPET_CHARS],
                    published_date=_text(item, self.date)[:40] or None,
                )

    def _items(self, body: bytes) -> Iterator[dict[str, JsonValue]]:
        try:
            found: JsonValue = from_json(body)
        except ValueError as exc:
            # The parser's text may quote what was sent.
            raise self._nonsense() from exc
        if not isinstance(found, dict):
            raise self._nonsense()
        for place in self.places:
            found = found.get(place) if isinstance(found, dict) else None
        if found is not None and not isinstance(found, list):
            raise self._nonsense()
        yield from (item for item in found or () if isinstance(item, dict))

    def _nonsense(self) -> AgentError:
        return AgentError(
            f"{self.name} gave an answer that cannot be read",
            provider=self.name,
            retryable=True,
            hint="Check that the address is that of the service.",
        )


def short_query(query: str) -> str:
    r"""Give a query that every service takes: one line, at most 50 words and 400 letters.

    Example:
        >>> short_query("  green\n tea ")
        'green tea'
    """
    return " ".join(query.split()[:MOST_QUERY_WORDS])[:MOST_QUERY_CHARS].strip()


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and url.isprintable()


def _text(item: Mapping[str, JsonValue], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())
