"""SearXNG, https://docs.searxng.org/dev/search_api.html."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlencode

from roundtable.errors import AgentError, RoundtableError
from roundtable.http import HttpRequest, checked_url
from roundtable.tools.search.base import SEARCH_TIMEOUT_S, HttpSearch

if TYPE_CHECKING:
    from roundtable.http import HttpResponse
    from roundtable.tools.sources import SearchOptions

__all__ = ["SearxngSearch"]


class SearxngSearch(HttpSearch):
    """Searches through a SearXNG server of your own, without a key.

    Its settings must allow JSON (`search.formats: [html, json]`); many public servers do not.

    Args:
        base_url: Where the server is, such as `http://127.0.0.1:8080`; no key is sent there, so plain http will do.
        timeout_s: Seconds a search may take.
        client: An `httpx.AsyncClient` of the caller's.

    Raises:
        ConfigurationError: `base_url` is no http address.

    Example:
        >>> from roundtable.tools import SearchOptions
        >>> SearxngSearch("http://127.0.0.1:8080/").build_request("green tea", SearchOptions(recency="year")).url
        'http://127.0.0.1:8080/search?q=green+tea&format=json&time_range=year'
    """

    name: ClassVar[str] = "searxng"
    places: ClassVar[tuple[str, ...]] = ("results",)
    snippet: ClassVar[str] = "content"
    date: ClassVar[str] = "publishedDate"

    def __init__(self, base_url: str, *, timeout_s: float = SEARCH_TIMEOUT_S, client: object | None = None) -> None:
        super().__init__(timeout_s=timeout_s, client=client)
        self._url = checked_url(base_url, what="the address of SearXNG", has_key=False) + "/search"

    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Give the request of a search."""
        asked = {"q": query, "format": "json"}
        if options.recency:
            asked["time_range"] = options.recency
        return HttpRequest("GET", f"{self._url}?{urlencode(asked)}", {"accept": "application/json"})

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Give the error for an answer that is no success; 403 says that JSON is not allowed."""
        if answer.status == 403:
            return AgentError(
                "the SearXNG server does not allow answers in JSON",
                provider=self.name,
                retryable=False,
                hint="Add json to search.formats in its settings.yml.",
            )
        return super().status_error(answer)
