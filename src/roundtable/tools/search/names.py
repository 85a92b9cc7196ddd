"""Search services by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.settings import Settings
from roundtable.tools.search.brave import BraveSearch
from roundtable.tools.search.searxng import SearxngSearch
from roundtable.tools.search.static import StaticSearch
from roundtable.tools.search.tavily import TavilySearch

if TYPE_CHECKING:
    from roundtable.tools.sources import WebSearchProvider

__all__ = ["SearchFactory", "builtin_searches", "search_provider"]

SearchFactory: TypeAlias = "Callable[[str, Settings], WebSearchProvider]"
"""Makes a provider from what stands behind the colon, and the settings."""


def builtin_searches() -> Registry[SearchFactory]:
    """Give the services that ship, in a registry of one's own.

    Example:
        >>> builtin_searches().names()
        ('brave', 'tavily', 'searxng', 'static')
    """
    searches: Registry[SearchFactory] = Registry("search provider")
    searches.add("brave", _brave, summary="Brave's own index; BRAVE_API_KEY.")
    searches.add("tavily", _tavily, summary="Tavily, made for models; TAVILY_API_KEY.")
    searches.add("searxng", _searxng, summary="A SearXNG server of your own: searxng:URL, or SEARXNG_URL.")
    searches.add("static", _static, summary="Always the same pages, from a JSON file: static:FILE.")
    return searches


def search_provider(
    name: str, *, settings: Settings | None = None, searches: Registry[SearchFactory] | None = None
) -> WebSearchProvider:
    """Make a provider of web searches by its name.

    Args:
        name: `brave`, `tavily`, `searxng:URL` or `static:FILE`. Behind `brave:` and `tavily:` may stand another address
            of their API; a bare `searxng` is found at `SEARXNG_URL`.
        settings: Where keys come from; the environment when left out.
        searches: The services known; those that ship when left out.

    Raises:
        ConfigurationError: There is no such service, or a key or address is missing or wrong.

    Example:
        >>> search_provider("searxng:http://127.0.0.1:8080").name
        'searxng'
    """
    kind, _, rest = name.strip().partition(":")
    factory = (searches or builtin_searches()).get(kind)
    return factory(rest.strip(), settings or Settings.from_env())


def _brave(rest: str, settings: Settings) -> WebSearchProvider:
    key = _key(settings.brave_api_key, "brave", "brave_api_key")
    return BraveSearch(key, base_url=rest) if rest else BraveSearch(key)


def _tavily(rest: str, settings: Settings) -> WebSearchProvider:
    key = _key(settings.tavily_api_key, "tavily", "tavily_api_key")
    return TavilySearch(key, base_url=rest) if rest else TavilySearch(key)


def _searxng(rest: str, settings: Settings) -> WebSearchProvider:
    url = rest or settings.searxng_url
    if not url:
        msg = "searxng wants the address of a server"
        raise ConfigurationError(msg, hint="Write searxng:http://127.0.0.1:8080, or set SEARXNG_URL.")
    return SearxngSearch(url)


def _static(rest: str, _settings: Settings) -> WebSearchProvider:
    return StaticSearch.from_file(rest) if rest else StaticSearch()


def _key(found: str | None, service: str, field: str) -> str:
    if found is None:
        msg = f"{service} wants a key, and there is none"
        raise ConfigurationError(msg, hint=f"Set {' or '.join(Settings.variables(field))}.")
    return found
