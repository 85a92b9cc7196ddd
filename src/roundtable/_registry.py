"""One shape for everything that is found by name."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HOST", "Entry", "Registry", "same_source"]

HOST: Final = "roundtable-sdk"
"""The distribution whose things are built in."""

T = TypeVar("T")


class Entry(NamedTuple, Generic[T]):
    """A registered thing."""

    name: str
    """Name it is asked for by."""
    thing: T
    """The thing, usually a factory."""
    summary: str
    """What it is, in a line."""
    source: str
    """Plugin it comes from: the name of its distribution, or of its module or class."""


def same_source(one: str, other: str) -> bool:
    """Tell whether two names mean one distribution: case, hyphens, dots and underscores do not matter.

    Example:
        >>> same_source("Roundtable_Acme", "roundtable-acme")
        True
    """
    return _folded(one) == _folded(other)


def _folded(source: str) -> str:
    return re.sub(r"[-_.]+", "-", source).lower()


class Registry(Generic[T]):
    """Things by name, in the order they were added.

    `"source/name"` asks for the thing of one plugin, whoever else has one of that name.

    Args:
        kind: What is registered, for messages: `"provider"`, `"mode"`, ...

    Example:
        >>> modes = Registry[type]("mode")
        >>> modes.add("quiet", object, summary="Nobody speaks.")
        >>> modes.names()
        ('quiet',)
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[T]] = {}
        self._contested: dict[str, tuple[str, ...]] = {}
        self.finder: Callable[[str], None] | None = None
        """Asked about a name nobody knows, before it is refused: it may add things, or raise why it cannot."""
        self.elsewhere: Callable[[], str] = str
        """Says where else a name that is refused may be known, as a sentence for the hint."""

    def add(self, name: str, thing: T, *, summary: str = "", source: str = HOST, replace: bool = False) -> None:
        """Register a thing.

        Raises:
            ConfigurationError: The name is taken and `replace` is off, or is no usable name.
        """
        self._check_name(name)
        taken = self._entries.get(name)
        if taken is not None and not replace:
            msg = f"two plugins register the {self.kind} {name!r}: {taken.source} and {source}"
            raise ConfigurationError(msg, hint="Leave one of the two out, or have it use another name.")
        self._entries[name] = Entry(name, thing, summary, source)

    def admit(self, entry: Entry[T]) -> str | None:
        """Take what an installed plugin brings; a name that is taken breaks nothing, and never changes its meaning.

        What is built in keeps its name. Between two plugins the name means neither any more. Either way both are
        there under `"source/name"`.

        Returns:
            Whose thing has the name too; `None` when nobody's.

        Raises:
            ConfigurationError: It is no usable name.

        Example:
            >>> modes = Registry[int]("mode")
            >>> modes.admit(Entry("court", 1, "", "acme")), modes.admit(Entry("court", 2, "", "bolt"))
            (None, 'acme')
            >>> modes.get("bolt/court"), modes.names()
            (2, ('acme/court', 'bolt/court'))
        """
        self._check_name(entry.name)
        taken = self._entries.get(entry.name)
        if taken is None and entry.name not in self._contested:
            self._entries[entry.name] = entry
            return None
        if taken is None:
            sources = self._contested[entry.name]
            self._contested[entry.name] = (*sources, entry.source)
        elif taken.source != HOST:
            sources = (taken.source,)
            self._contested[entry.name] = (taken.source, entry.source)
            del self._entries[entry.name]
            self._rename(taken)
        else:
            sources = (HOST,)
        self._rename(entry)
        return ", ".join(sources)

    def _rename(self, entry: Entry[T]) -> None:
        full = f"{entry.source}/{entry.name}"
        self._entries[full] = entry._replace(name=full)

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name or ":" in name or name != name.strip():
            msg = f"a {self.kind} name must be non-empty, without ':' and without outer spaces, not {name!r}"
            raise ConfigurationError(msg)

    def get(self, name: str) -> T:
        """Give the thing of this name.

        Raises:
            ConfigurationError: There is none; the message lists what there is.
        """
        return self.entry(name).thing

    def entry(self, name: str) -> Entry[T]:
        """Give the whole entry of this name.

        Raises:
            ConfigurationError: There is none; the message lists what there is.
        """
        found = self.find(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(name, self._entries, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(self._entries) or "none"
        msg = f"unknown {self.kind} {name!r}.{meant} Known: {known}"
        hint = f"Use one of the {self.kind}s listed, or install a plugin that adds it. {self.elsewhere()}"
        raise ConfigurationError(msg, hint=hint.rstrip())

    def find(self, name: str) -> Entry[T] | None:
        """Give the whole entry of this name; `None` when nobody knows it.

        Raises:
            ConfigurationError: Several plugins have one of this name.
        """
        found = self._find(name)
        if found is None and self.finder is not None:
            self.finder(name)
            found = self._find(name)
        if found is None and name in self._contested:
            raise self._contest(name)
        return found

    def _find(self, name: str) -> Entry[T] | None:
        found = self._entries.get(name)
        if found is None and "/" in name:
            source, _, plain = name.rpartition("/")
            found = next(
                (
                    entry
                    for entry in self._entries.values()
                    if same_source(entry.source, source) and entry.name.rpartition("/")[2] == plain
                ),
                None,
            )
        return found

    def _contest(self, name: str) -> ConfigurationError:
        full = [f"{source}/{name}" for source in self._contested[name]]
        msg = f"{len(full)} plugins register the {self.kind} {name!r}: {' and '.join(full)}"
        return ConfigurationError(msg, hint=f"Say whose is meant, such as {full[0]!r}.")

    def remove(self, name: str) -> bool:
        """Forget a name; tell whether it was known."""
        return self._entries.pop(name, None) is not None

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._contested.clear()

    def names(self) -> tuple[str, ...]:
        """List the names in the order they were added."""
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
