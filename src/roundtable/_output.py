"""Files that results are written to: whole or not at all, for this user, and never through a symbolic link."""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING, Final

from roundtable.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["obstacle", "write_parts"]

_GATHERED: Final = 256 * 1024


def write_parts(path: Path, parts: Iterable[str | bytes]) -> None:
    """Write texts (as UTF-8) and bytes to a file, part by part.

    A file is replaced once the new one is whole; a pipe or a device is written to as it stands.

    Raises:
        StorageError: It cannot be written; a file that was there is as it was.
    """
    try:
        if _is_stream(path):
            with path.open("wb") as stream:
                stream.writelines(map(_raw, parts))
        else:
            _replace(path, parts)
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{str(path)!r} cannot be written: {getattr(error, 'strerror', None) or error}",
            cause=error,
            details={"path": str(path), "reason": "unreachable"},
        ) from error


def _replace(path: Path, parts: Iterable[str | bytes]) -> None:
    if path.is_dir():
        raise IsADirectoryError(None, "Is a directory")
    draft = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(draft, flags, 0o600), "wb", _GATHERED) as file:
            file.writelines(map(_raw, parts))
            if path.is_file() and not path.is_symlink():
                draft.chmod(stat.S_IMODE(path.stat().st_mode))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _raw(part: str | bytes) -> bytes:
    return part.encode() if isinstance(part, str) else part


def _is_stream(path: Path) -> bool:
    """Tell whether a pipe or a device stands there, which nothing may replace."""
    return path.exists() and not path.is_file() and not path.is_dir()


def obstacle(path: Path) -> str | None:
    """Say why a file cannot be written; leaves no trace."""
    if _is_stream(path):
        return None  # opening it may wait, or be heard
    if path.is_dir():
        return "Is a directory"
    try:
        draft = path.with_name(f".{secrets.token_hex(8)}.part")
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        draft.unlink()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
