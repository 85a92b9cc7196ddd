"""Searching the web: services behind one protocol, found by name.

Nothing is loaded before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.tools.search.base import HttpSearch
    from roundtable.tools.search.brave import BraveSearch
    from roundtable.tools.search.names import SearchFactory, builtin_searches, search_provider
    from roundtable.tools.search.searxng import SearxngSearch
    from roundtable.tools.search.static import StaticSearch
    from roundtable.tools.search.tavily import TavilySearch

__all__ = [
    "BraveSearch",
    "HttpSearch",
    "SearchFactory",
    "SearxngSearch",
    "StaticSearch",
    "TavilySearch",
    "builtin_searches",
    "search_provider",
]

_HOME = {
    "HttpSearch": "base",
    "BraveSearch": "brave",
    **dict.fromkeys(("SearchFactory", "builtin_searches", "search_provider"), "names"),
    "SearxngSearch": "searxng",
    "StaticSearch": "static",
    "TavilySearch": "tavily",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
