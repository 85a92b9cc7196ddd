"""Brave Search, https://api-dashboard.search.brave.com/app/documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlencode

from roundtable.errors import APIAuthError, ConfigurationError, RoundtableError
from roundtable.http import HttpRequest, checked_url
from roundtable.tools.search.base import SEARCH_TIMEOUT_S, HttpSearch

if TYPE_CHECKING:
    from roundtable.http import HttpResponse
    from roundtable.tools.sources import SearchOptions

__all__ = ["BraveSearch"]

_FRESHNESS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class BraveSearch(HttpSearch):
    """Searches Brave's own index of the web.

    Args:
        api_key: Key of the plan; `search_provider("brave")` takes it from `BRAVE_API_KEY`.
        base_url: Where the API is.
        timeout_s: Seconds a search may take.
        client: An `httpx.AsyncClient` of the caller's.

    Raises:
        ConfigurationError: There is no key, or `base_url` is no address a key may be sent to.

    Example:
        >>> from roundtable.tools import SearchOptions
        >>> BraveSearch("key").build_request("green tea", SearchOptions(recency="week")).url.partition("?")[2]
        'q=green+tea&count=5&result_filter=web&text_decorations=false&freshness=pw'
    """

    name: ClassVar[str] = "brave"
    places: ClassVar[tuple[str, ...]] = ("web", "results")
    snippet: ClassVar[str] = "description"
    date: ClassVar[str] = "page_age"

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = "https://api.search.brave.com/res/v1",
        timeout_s: float = SEARCH_TIMEOUT_S,
        client: object | None = None,
    ) -> None:
        super().__init__(timeout_s=timeout_s, client=client)
        if not api_key.strip():
            raise ConfigurationError("Brave wants a key", hint="Set BRAVE_API_KEY.")
        self._url = checked_url(base_url) + "/web/search"
        self._headers = {"accept": "application/json", "x-subscription-token": api_key.strip()}

    def build_request(self, query: str, options: SearchOptions) -> HttpRequest:
        """Give the request of a search."""
        asked = {"q": query, "count": options.max_results, "result_filter": "web", "text_decorations": "false"}
        if options.recency:
            asked["freshness"] = _FRESHNESS[options.recency]
        return HttpRequest("GET", f"{self._url}?{urlencode(asked)}", self._headers)

    def status_error(self, answer: HttpResponse) -> RoundtableError:
        """Give the error for an answer that is no success; a key that is no key is status 422 here."""
        if answer.status == 422 and b"SUBSCRIPTION_TOKEN_INVALID" in answer.body:
            return APIAuthError("brave does not know the key", provider=self.name, hint="Check BRAVE_API_KEY.")
        return super().status_error(answer)
