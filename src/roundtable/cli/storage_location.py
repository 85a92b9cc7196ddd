"""Where the sessions of a command are stored, and the command-line options for it."""

from __future__ import annotations

import logging
import shlex
import warnings
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.api import Roundtable
    from roundtable.settings import Settings

__all__ = ["SHORT_ID", "StorageLocation", "find_storage", "redact_url"]


logger: logging.Logger = logging.getLogger("roundtable.cli")

_POSTGRES: Final = frozenset({"postgres", "postgresql"})
SHORT_ID = 8
"""Length of a shortened session id, in characters; commands accept any unique beginning of an id."""


@dataclass(frozen=True, slots=True)
class StorageLocation:
    """The storage that a command line names."""

    url: str
    """Full address of the storage, possibly with secrets; `shown` is for display."""
    path: Path | None
    """The file of the storage; `None` if the storage is not a file."""
    words: tuple[str, ...] = ()
    """Arguments that make another command use the same storage."""
    servers: tuple[str, ...] = ()
    """Arguments that make another command use the same servers and tools; without keys."""
    is_default: bool = False
    """Whether neither `--db` nor `--storage` was given."""

    @property
    def is_persistent(self) -> bool:
        """Whether sessions outlive the command."""
        return not self.url.startswith("memory:")

    @property
    def shown(self) -> str:
        """The storage for display, without a user name, a password or a query.

        Example:
            >>> StorageLocation("acme://me:secret@db.example.org/debates?key=secret", None).shown
            'acme://db.example.org/debates'
        """
        return redact_url(self.url) if self.path is None else str(self.path.absolute())

    @property
    def missing(self) -> str:
        """A sentence for an empty storage whose name may be misspelled; empty for the default storage.

        Example:
            >>> StorageLocation("sqlite:////srv/tipo.db", Path("/srv/tipo.db"), ("--db", "/srv/tipo.db")).missing
            'The file does not exist; check --db.'
            >>> address = "postgresql://db.example.org/app?schema=tipo"
            >>> StorageLocation(address, None, ("--storage", address)).missing
            'Nothing is stored there; check --storage.'
        """
        if not self.is_persistent or not self.words:
            return ""
        problem = "Nothing is stored there" if self.path is None else "The file does not exist"
        return f"{problem}; check {self.words[0]}."

    async def is_empty(self, table: Roundtable) -> bool:
        """Check whether the storage has not been used yet, without creating its file or its tables.

        Raises:
            StorageError: The database cannot be reached.
        """
        from roundtable.storage.locations import is_created

        return not self.is_persistent or not await is_created(table.storage)

    def command(self, *words: str) -> str:
        """Return a shell command that uses this storage.

        Example:
            >>> StorageLocation("sqlite:///my debates.db", Path("my debates.db"), ("--db", "my debates.db")).command(
            ...     "sessions"
            ... )
            "roundtable sessions --db 'my debates.db'"
        """
        return shlex.join(["roundtable", *words, *self.words])

    def running(self, *words: str) -> str:
        """Return a shell command that continues a debate of this storage, with the same servers and tools.

        Example:
            >>> StorageLocation("memory://", None, (), ("--base-url", "compatible=http://127.0.0.1:1/v1")).running(
            ...     "resume", "1a"
            ... )
            'roundtable resume 1a --base-url compatible=http://127.0.0.1:1/v1'
        """
        return self.command(*words, *self.servers)

    def with_servers(self, base_urls: Mapping[str, str], tools: Iterable[str] = ()) -> StorageLocation:
        """Return a copy with the arguments for these base URLs and tools in `servers`."""
        words = (("--base-url", f"{name}={redact_url(url)}") for name, url in base_urls.items())
        return replace(self, servers=(*chain.from_iterable(words), *tools))


def find_storage(settings: Settings, storage: str | None, database: str | None) -> StorageLocation:
    """Find out where sessions are stored.

    Args:
        settings: Settings from the environment.
        storage: Value of `--storage`.
        database: Value of `--db`.

    Raises:
        ConfigurationError: Both options were given, or the value of `--db` is empty or the address of a storage.
    """
    if storage is not None and database is not None:
        msg = "--storage and --db cannot be used together"
        raise ConfigurationError(msg, hint="Leave one of them out.")
    if database is not None:
        return StorageLocation(f"sqlite:///{_file(database)}", Path(database).expanduser(), ("--db", database))
    if storage is not None:
        scheme, _, path = storage.partition(":///")
        return StorageLocation(
            storage, Path(path) if scheme == "sqlite" and path else None, ("--storage", _command_url(storage))
        )
    from roundtable.storage.locations import default_database

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        default_file = default_database(settings)
    for warning in caught:
        logger.warning("%s", warning.message)
    return StorageLocation(f"sqlite:///{default_file}", default_file, is_default=True)


def redact_url(url: str) -> str:
    """Return an address without secrets; addresses of SQLite and memory storages have none.

    Of the parameters of PostgreSQL, only a schema other than the default is shown.
    """
    scheme = url.partition(":")[0]
    if scheme in {"memory", "sqlite"}:
        return url
    if scheme in _POSTGRES:
        from roundtable.storage.postgres_url import shown_url

        return shown_url(url)
    from roundtable.http import masked_url

    return masked_url(url)


def _command_url(url: str) -> str:
    """Return an address for a command that can be pasted; without secrets."""
    if url.partition(":")[0] not in _POSTGRES:
        return redact_url(url)
    from roundtable.storage.postgres_url import command_url

    return command_url(url)


def _file(name: str) -> Path:
    if not name.strip():
        msg = "--db needs the name of a file"
        raise ConfigurationError(msg, hint="Write --db debates.db, or leave out --db.")
    if "://" in name:
        msg = f"--db needs the name of a file, not the address {redact_url(name)!r}"
        raise ConfigurationError(msg, hint=f"Write --storage {shlex.quote(_command_url(name))}.")
    return Path(name).expanduser()
