"""The registry for everything that is looked up by name, such as providers and modes."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HOST", "Entry", "Registry", "same_distribution"]


HOST: Final = "roundtable-sdk"
"""The distribution with the built-in entries."""

T = TypeVar("T")


class Entry(NamedTuple, Generic[T]):
    """A registered thing, with its name and source."""

    name: str
    """Name to look it up by."""
    thing: T
    """The thing, usually a factory."""
    summary: str
    """What it is, in one line."""
    source: str
    """Plugin that registered it: the name of the plugin's distribution, module or class."""


def same_distribution(name: str, other_name: str) -> bool:
    """Check whether two names mean the same distribution; case, hyphens, dots and underscores do not matter.

    Example:
        >>> same_distribution("Roundtable_Acme", "roundtable-acme")
        True
    """
    return _normalised(name) == _normalised(other_name)


def _normalised(source: str) -> str:
    return re.sub(r"[-_.]+", "-", source).lower()


class Registry(Generic[T]):
    """Things by name, in the order in which they were added.

    `"source/name"` looks up the thing of one plugin, even if other plugins use the same name.

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
        """Called with an unknown name before the name is refused. It may add entries, or raise an error that says why
        not."""
        self.elsewhere: Callable[[], str] = str
        """Returns a sentence for the hint, about where else an unknown name may be known."""
        self.suggests: Callable[[str], str] = lambda _: ""
        """Returns what an unknown name may mean, if no known name is similar; empty if that is unknown too."""

    def add(self, name: str, thing: T, *, summary: str = "", source: str = HOST, replace: bool = False) -> None:
        """Register a thing.

        Raises:
            ConfigurationError: The name is taken and `replace` is false, or the name is not valid.
        """
        self._check_name(name)
        existing = self._entries.get(name)
        if existing is not None and not replace:
            if existing.source == source:
                msg = f"the {self.kind} {name!r} is already registered by {existing.source}"
                raise ConfigurationError(msg, hint="Register it once, or under another name.")
            msg = f"two plugins register the {self.kind} {name!r}: {existing.source} and {source}"
            raise ConfigurationError(msg, hint="Remove one of the two, or register it under another name.")
        self._entries[name] = Entry(name, thing, summary, source)

    def admit(self, entry: Entry[T]) -> str | None:
        """Add the entry of an installed plugin; a name that is taken raises no error.

        A built-in entry keeps its name. If two plugins use the same name, the plain name refers to neither entry. In
        both cases, the plugins' entries are found under `"source/name"`.

        Returns:
            The sources of the other entries with this name; `None` if there are none.

        Raises:
            ConfigurationError: The name is not valid.

        Example:
            >>> modes = Registry[int]("mode")
            >>> modes.admit(Entry("court", 1, "", "acme")), modes.admit(Entry("court", 2, "", "bolt"))
            (None, 'acme')
            >>> modes.get("bolt/court"), modes.names()
            (2, ('acme/court', 'bolt/court'))
        """
        self._check_name(entry.name)
        existing = self._entries.get(entry.name)
        if existing is None and entry.name not in self._contested:
            self._entries[entry.name] = entry
            return None
        if existing is None:
            sources = self._contested[entry.name]
            self._contested[entry.name] = (*sources, entry.source)
        elif existing.source != HOST:
            sources = (existing.source,)
            self._contested[entry.name] = (existing.source, entry.source)
            del self._entries[entry.name]
            self._add_full_name(existing)
        else:
            sources = (HOST,)
        self._add_full_name(entry)
        return ", ".join(sources)

    def _add_full_name(self, entry: Entry[T]) -> None:
        full_name = f"{entry.source}/{entry.name}"
        self._entries[full_name] = entry._replace(name=full_name)

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name or ":" in name or name != name.strip():
            rule = "must be non-empty, without ':' and without leading or trailing spaces"
            raise ConfigurationError(f"a {self.kind} name {rule}, not {name!r}")

    def get(self, name: str) -> T:
        """Return the thing with this name.

        Raises:
            ConfigurationError: The name is unknown; the message lists the known names.
        """
        return self.entry(name).thing

    def entry(self, name: str) -> Entry[T]:
        """Return the entry with this name.

        Raises:
            ConfigurationError: The name is unknown; the message lists the known names.
        """
        entry = self.find(name)
        if entry is not None:
            return entry
        close_matches = difflib.get_close_matches(name, self._entries, n=1)
        meant = close_matches[0] if close_matches else self.suggests(name)
        suggestion = f" Did you mean {meant!r}?" if meant else ""
        known = ", ".join(self._entries) or "none"
        msg = f"unknown {self.kind} {name!r}.{suggestion} Known: {known}"
        hint = f"Use one of the {self.kind}s listed, or install a plugin that adds it. {self.elsewhere()}"
        raise ConfigurationError(msg, hint=hint.rstrip())

    def find(self, name: str) -> Entry[T] | None:
        """Return the entry with this name; `None` when the name is unknown.

        Raises:
            ConfigurationError: Several plugins register this name.
        """
        entry = self._lookup(name)
        if entry is None and self.finder is not None:
            self.finder(name)
            entry = self._lookup(name)
        if entry is None and name in self._contested:
            raise self._ambiguous_name(name)
        return entry

    def _lookup(self, name: str) -> Entry[T] | None:
        match = self._entries.get(name)
        if match is None and "/" in name:
            source, _, plain = name.rpartition("/")
            match = next(
                (
                    entry
                    for entry in self._entries.values()
                    if same_distribution(entry.source, source) and entry.name.rpartition("/")[2] == plain
                ),
                None,
            )
        return match

    def _ambiguous_name(self, name: str) -> ConfigurationError:
        full_names = [f"{source}/{name}" for source in self._contested[name]]
        msg = f"{len(full_names)} plugins register the {self.kind} {name!r}: {' and '.join(full_names)}"
        return ConfigurationError(msg, hint=f"Use the full name, such as {full_names[0]!r}.")

    def remove(self, name: str) -> bool:
        """Remove a name; return whether it was known."""
        return self._entries.pop(name, None) is not None

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self._contested.clear()

    def names(self) -> tuple[str, ...]:
        """List the names in the order in which they were added."""
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[T]]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
