"""Sources that the results of tools and searches name."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from roundtable.core.base.addresses import site_of
from roundtable.core.types.answers import Citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundtable.core.types.base import JsonValue

__all__ = ["MOST_SOURCES", "sources_in", "titled_sources_in"]

MOST_SOURCES: Final = 50
"""Most sources that the results of the tools of one turn add to its answer."""

_DEPTH: Final = 4


def sources_in(outputs: Iterable[JsonValue]) -> list[Citation]:
    """Return the sources that results of searches name; a page without a title gets the name of its site.

    Example:
        >>> [source.title for source in sources_in([[{"url": "https://docs.example.org/tea"}]])]
        ['docs.example.org']
    """
    return list(islice((source for output in outputs for source in _sources(output, untitled=True)), MOST_SOURCES))


def titled_sources_in(data: JsonValue) -> list[Citation]:
    """Return the sources that the result of a tool names: objects with a title and an address on the web."""
    return list(_sources(data))


def _sources(data: JsonValue, depth: int = _DEPTH, *, untitled: bool = False) -> Iterator[Citation]:
    if isinstance(data, list) and depth:
        for item in data:
            yield from _sources(item, depth - 1, untitled=untitled)
    elif isinstance(data, dict):
        url, title, snippet = data.get("url"), data.get("title"), data.get("snippet")
        if isinstance(url, str) and url.startswith(("http://", "https://")) and (untitled or isinstance(title, str)):
            name = title if isinstance(title, str) and title else site_of(url)
            yield Citation(title=name, url=url, snippet=snippet if isinstance(snippet, str) else None)
        elif depth:
            for item in data.values():
                yield from _sources(item, depth - 1, untitled=untitled)
