"""A search that always finds the same: for tests, and for debates about given sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from roundtable.errors import ConfigurationError
from roundtable.tools.sources import SearchOptions, SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

__all__ = ["StaticSearch"]


class StaticSearch:
    """Finds the given pages, whatever is looked for.

    Args:
        results: The pages, best first.

    Example:
        >>> import anyio
        >>> from roundtable.tools import SearchResult
        >>> search = StaticSearch([SearchResult(title="Tea", url="https://tea.example/")])
        >>> anyio.run(search.search, "green tea")[0].title, search.queries
        ('Tea', ['green tea'])
    """

    def __init__(self, results: Sequence[SearchResult] = ()) -> None:
        self._results = tuple(results)
        self.queries: list[str] = []
        """What was looked for, in order."""

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read the pages from a JSON file: a list of objects with `title`, `url` and, if you like, `snippet`.

        Raises:
            ConfigurationError: There is no such file, or it holds something else.
        """
        try:
            found = TypeAdapter(tuple[SearchResult, ...]).validate_json(Path(path).expanduser().read_bytes())
        except (OSError, RuntimeError) as exc:
            raise ConfigurationError(f"{str(path)!r} cannot be read", cause=exc, hint="Name a JSON file.") from exc
        except ValidationError as exc:
            msg = f"{str(path)!r} holds no list of pages"
            raise ConfigurationError(msg, cause=exc, hint='Such as [{"title": "Tea", "url": "https://..."}].') from exc
        return cls(found)

    async def search(self, query: str, options: SearchOptions | None = None) -> tuple[SearchResult, ...]:
        """Give the pages, as many as are asked for."""
        self.queries.append(query)
        return self._results[: (options or SearchOptions()).max_results]
