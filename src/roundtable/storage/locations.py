"""Where sessions go when nobody says where."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtable.settings import Settings

__all__ = ["default_database", "writable_database"]


def default_database(settings: Settings) -> Path:
    """Give the file of the default storage.

    A file that somebody chose is taken as it stands: using it fails when it cannot be used, rather than
    sessions going where nobody looks for them. Only the one that nobody chose may be replaced, with a warning.

    Example:
        >>> from roundtable.settings import Settings
        >>> default_database(Settings(database_path=Path("/nowhere/debates.db"))).name
        'debates.db'
    """
    if settings.names_database:
        return settings.database_path
    return writable_database(settings.database_path, settings.data_home)


def writable_database(wanted: Path, data_home: Path | str | None = None) -> Path:
    """Give the wanted file, or one in the user's data folder when that cannot be written; says so once.

    Args:
        wanted: The file asked for, made by the storage on first use.
        data_home: The user's data folder; `~/.local/share` when left out.
    """
    if _can_write(wanted):
        return wanted
    folder = Path(data_home) if data_home else Path.home() / ".local" / "share"
    instead = folder / "roundtable" / "roundtable.db"
    _warn_once(str(wanted), str(instead))
    return instead


def _can_write(path: Path) -> bool:
    if path.exists():
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)


@cache
def _warn_once(wanted: str, instead: str) -> None:
    # A warning rather than a log line: it must be seen in a script that configures no logging.
    warnings.warn(f"{wanted} cannot be written; sessions are kept in {instead}", UserWarning, stacklevel=3)
