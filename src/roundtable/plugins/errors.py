"""Use the objects that plugins registered, so that errors name the plugin that caused them."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from roundtable.core.base.registry import HOST
from roundtable.core.base.text import error_text
from roundtable.core.errors import PluginError, RoundtableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from roundtable.core.base.registry import Entry

__all__ = ["make", "use_entry"]


P = ParamSpec("P")
T = TypeVar("T")

_REQUIRED_ATTRIBUTES: Final = {
    "provider": ("provider", "model", "profile", "complete", "stream", "aclose"),
    "storage": ("create", "append", "read", "list", "lease", "delete", "aclose"),
    "analyzer": ("measure",),
    "tool": ("definition", "run"),
    "search provider": ("search",),
    "observer": ("notify",),
}
"""The attributes that an object of each kind must have."""
_EXPECTED: Final = {
    "provider": "a chat model, an object with provider, model, profile, complete, stream and aclose",
    "storage": "a storage, an object with create, append, read, list, lease, delete and aclose",
    "tool": "a tool, such as a function marked with @roundtable.tool",
    "search provider": "a search provider, an object with search",
    "observer": "an observer, an object with notify(event)",
    "analyzer": "an analyzer, such as a PlainAnalyzer",
}
"""How hints describe what a factory of each kind must return."""


@contextmanager
def use_entry(kind: str, entry: Entry[T]) -> Generator[T]:
    """Yield the registered object of an entry; exceptions raised while it is used become errors that name its plugin.

    Errors of the library stay unchanged, because plugins raise them on purpose. Exceptions of built-in objects stay
    unchanged as well.

    Raises:
        PluginError: The object raised an exception or `SystemExit`, which is the cause of this error.
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
    """Create an object with a registered factory.

    Raises:
        PluginError: The factory of a plugin failed, or returned an object of another kind.
    """
    with use_entry(kind, entry) as factory:
        product = factory(*args, **keywords)
    if inspect.iscoroutine(product):
        product.close()  # it is never awaited
    missing = [name for name in _REQUIRED_ATTRIBUTES.get(kind, ()) if not hasattr(product, name)]
    if missing:
        msg = f"the {kind} {entry.name!r} of {entry.source} is {type(product).__name__}, which has no `{missing[0]}`"
        expected = _EXPECTED.get(kind, f"a {kind}")
        raise PluginError(msg, plugin=entry.source, stage="use", hint=f"Its factory must return {expected}.")
    return product
