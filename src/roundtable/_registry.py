"""One shape for everything that is found by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "Registry"]

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
    """Plugin it comes from."""


class Registry(Generic[T]):
    """Things by name, in the order they were added.

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

    def add(
        self, name: str, thing: T, *, summary: str = "", source: str = "roundtable-sdk", replace: bool = False
    ) -> None:
        """Register a thing.

        Raises:
            ConfigurationError: The name is taken and `replace` is off, or is no usable name.
        """
        if not name or ":" in name or name != name.strip():
            msg = f"a {self.kind} name must be non-empty, without ':' and without outer spaces, not {name!r}"
            raise ConfigurationError(msg)
        taken = self._entries.get(name)
        if taken is not None and not replace:
            msg = f"two plugins register the {self.kind} {name!r}: {taken.source} and {source}"
            raise ConfigurationError(msg, hint="Leave one of the two out, or have it use another name.")
        self._entries[name] = Entry(name, thing, summary, source)

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
        found = self._entries.get(name)
        if found is None:
            near = difflib.get_close_matches(name, self._entries, n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(self._entries) or "none"
            msg = f"unknown {self.kind} {name!r}.{meant} Known: {known}"
            raise ConfigurationError(msg, hint=f"Use one of the {self.kind}s listed, or install a plugin that adds it.")
        return found

    def remove(self, name: str) -> bool:
        """Forget a name; tell whether it was known."""
        return self._entries.pop(name, None) is not None

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def names(self) -> tuple[str, ...]:
        """List the names in the order they were added."""
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
