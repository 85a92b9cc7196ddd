"""Using what a plugin brought: whatever goes wrong in it says whose it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from roundtable._foreign import error_text
from roundtable._registry import HOST
from roundtable.errors import PluginError, RoundtableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from roundtable._registry import Entry

__all__ = ["make", "using"]

P = ParamSpec("P")
T = TypeVar("T")

_HAS: Final = {
    "provider": ("complete",),
    "storage": ("append", "read"),
    "analyzer": ("measure",),
    "tool": ("definition", "run"),
    "search provider": ("search",),
    "observer": ("notify",),
}
"""What a made thing of each kind has at the least."""
_SUCH_AS: Final = {
    "tool": "a tool, such as a function marked with @roundtable.tool",
    "observer": "an observer, an object with notify(event)",
    "analyzer": "an analyzer, such as a PlainAnalyzer",
}
"""How to say what is asked for, where a plain function may have been given in its place."""


@contextmanager
def using(kind: str, entry: Entry[T]) -> Generator[T]:
    """Give the thing of an entry; what is raised while it is used becomes an error that names its plugin.

    Errors of the library pass as they are: with them a plugin says what it lacks. So does what a built-in thing raises.

    Raises:
        PluginError: It failed, or wanted to end the program; the cause is what it raised.
    """
    try:
        yield entry.thing
    except RoundtableError:
        raise
    except (Exception, SystemExit) as error:
        if entry.source == HOST:
            raise
        msg = f"the {kind} {entry.name!r} of {entry.source} failed: {type(error).__name__}: {error_text(error)}"
        raise PluginError(msg, plugin=entry.source, stage="use", cause=error) from error


def make(kind: str, entry: Entry[Callable[P, T]], *args: P.args, **keywords: P.kwargs) -> T:
    """Have a registered factory make its thing.

    Raises:
        PluginError: The factory of a plugin failed, or made something else.
    """
    with using(kind, entry) as factory:
        made = factory(*args, **keywords)
    lacking = [name for name in _HAS.get(kind, ()) if not hasattr(made, name)]
    if lacking:
        msg = f"the {kind} {entry.name!r} of {entry.source} is {type(made).__name__}, which has no `{lacking[0]}`"
        wanted = _SUCH_AS.get(kind, f"a {kind}")
        raise PluginError(msg, plugin=entry.source, stage="use", hint=f"Its factory must give {wanted}.")
    return made
