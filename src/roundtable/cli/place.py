"""Where the sessions of a command are kept, and how to say so on the command line."""

from __future__ import annotations

import logging
import shlex
import warnings
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.settings import Settings

__all__ = ["SHORT_ID", "Place", "find_place", "harmless"]

logger: logging.Logger = logging.getLogger("roundtable.cli")

SHORT_ID = 8
"""Letters of a session id that are shown where the whole one is not needed; any beginning that is unique will do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A storage, as the command line names it."""

    url: str
    """Address of the storage, with whatever it holds; `shown` is for people."""
    path: Path | None
    """The file, where it is one."""
    words: tuple[str, ...] = ()
    """What to add to a command so that it looks in the same place."""
    servers: tuple[str, ...] = ()
    """What to add to a command that asks agents, so that it reaches the same servers and tools; no key is among it."""

    @property
    def lasts(self) -> bool:
        """Whether a session is still there after the command."""
        return not self.url.startswith("memory:")

    @property
    def shown(self) -> str:
        """How to call it, without a user name, a password or a query.

        Example:
            >>> Place("acme://me:secret@db.example.org/debates?key=secret", None).shown
            'acme://db.example.org/debates'
        """
        return harmless(self.url) if self.path is None else str(self.path.absolute())

    def is_empty(self) -> bool:
        """Tell whether nothing can be in it yet; reading it would only make a file."""
        return not self.lasts or (self.path is not None and not self.path.exists())

    def command(self, *words: str) -> str:
        """Give a command to type that works on this storage.

        Example:
            >>> Place("sqlite:///my debates.db", Path("my debates.db"), ("--db", "my debates.db")).command("sessions")
            "roundtable sessions --db 'my debates.db'"
        """
        return shlex.join(["roundtable", *words, *self.words])

    def running(self, *words: str) -> str:
        """Give a command to type that goes on with a debate of this storage.

        Example:
            >>> Place("memory://", None, (), ("--base-url", "compatible=http://127.0.0.1:1/v1")).running("resume", "1a")
            'roundtable resume 1a --base-url compatible=http://127.0.0.1:1/v1'
        """
        return self.command(*words, *self.servers)

    def reaching(self, base_urls: Mapping[str, str], tools: Iterable[str] = ()) -> Place:
        """Give the same place for a command that was told where providers are reached and what agents may call."""
        words = (("--base-url", f"{name}={harmless(url)}") for name, url in base_urls.items())
        return replace(self, servers=(*chain.from_iterable(words), *tools))


def find_place(settings: Settings, storage: str | None, database: str | None) -> Place:
    """Find out where sessions are kept.

    Args:
        settings: What the environment says.
        storage: An address of a storage, if one was given.
        database: A file, if one was given.

    Raises:
        ConfigurationError: Both were given, or one of them is empty.
    """
    if storage is not None and database is not None:
        msg = "--storage and --db both say where sessions are kept"
        raise ConfigurationError(msg, hint="Leave one of them out.")
    if database is not None:
        return Place(f"sqlite:///{_file(database)}", Path(database).expanduser(), ("--db", database))
    if storage is not None:
        scheme, _, path = storage.partition(":///")
        return Place(storage, Path(path) if scheme == "sqlite" and path else None, ("--storage", harmless(storage)))
    from roundtable.storage.locations import default_database

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = default_database(settings)
    for warning in told:
        logger.warning("%s", warning.message)
    return Place(f"sqlite:///{found}", found)


def harmless(url: str) -> str:
    """Give an address without what only its owner may know; those of our own storages hold no such thing."""
    if url.partition(":")[0] in {"memory", "sqlite"}:
        return url
    from roundtable.http import shown_url

    return shown_url(url)


def _file(name: str) -> Path:
    if not name.strip():
        msg = "--db needs the name of a file"
        raise ConfigurationError(msg, hint="Write --db debates.db, or leave it out.")
    return Path(name).expanduser()
