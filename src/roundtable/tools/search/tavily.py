"""Tavily, https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic_core import to_json

from roundtable.errors import APIRateLimitError, ConfigurationError, RoundtableError
from roundtable.http import HttpRequest, checked_url
from roundtable.tools.search.base import SEARCH_TIMEOUT_S, HttpSearch

if TYPE_CHECKING:
    from roundtable.http import HttpResponse
    from roundtable.tools.sources import SearchOptions

__all__ = ["TavilySearch"]


class TavilySearch(HttpSearch):
    """Searches through Tavily, whose passages are made for models.

    Args:
        api_key: Key; `search_provider("tavily")` takes it from `TAVILY_API_KEY`.
        base_url: Where the API is.
        timeout_s: Seconds a search may take.
        client: An `httpx.AsyncClient` of the caller's.

    Raises:
        ConfigurationError: There is no key, or `base_url` is no address a key may be sent to.

    Example:
        >>> from roundtable.tools import SearchOptions
        >>> TavilySearch("key").build_request("green tea", SearchOptions(max_results=3)).body
        b'{"query":"green tea","max_results":3,"search_depth":"basic"}'
    """

    name: ClassVar[str] = "tavily"
    places: ClassVar[tuple[str, ...]] = ("results",)
    snippet: ClassVar[str] = "content"
    date: ClassVar[str] = "published_date"

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = "https://api.tavily.com",
        timeout_s: float = SEARCH_TIMEOUT_S,
        client: object | None = None,
    ) -> None:
        super().__init__(timeout_s=timeout_s, client=client)
        if not api_key.strip():
            raise ConfigurationError("Tavily wants a key", hint="Set TAVILY_API_KEY.")
        self._url = checked_url(base_url) + "/search"
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {api_key.strip()}"}

    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Give the request of a search."""
        asked = {"query": query, "max_results": options.max_results, "search_depth": "basic"}
        if options.recency:
            asked["time_range"] = options.recency
        return HttpRequest("POST", self._url, self._headers, to_json(asked))

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Give the error for an answer that is no success; 432 and 433 say that the plan is used up."""
        if answer.status in {432, 433}:
            return APIRateLimitError("the plan of tavily is used up", provider=self.name, retryable=False)
        return super().status_error(answer)
