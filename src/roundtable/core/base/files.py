"""Write files completely or not at all, lock them against other processes, and find the user's data folder."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import StorageError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

__all__ = ["discard_stdout", "lock_file", "report_stdout_error", "user_data_folder", "write_error", "write_parts"]


_BUFFER_BYTES: Final = 256 * 1024
_LOCK_POLL_S: Final = 0.1
"""Seconds between two attempts to get a lock."""


def user_data_folder(data_home: Path | str | None) -> Path:
    """Return the folder for the library's data of this user.

    Args:
        data_home: The folder for the data of all programs; `~/.local/share` by default.
    """
    return (Path(data_home) if data_home else Path.home() / ".local" / "share") / "roundtable"


def report_stdout_error(error: OSError) -> int:
    """Report why standard output cannot be written, unless the reader closed the pipe; return the exit code, 1."""
    if not isinstance(error, BrokenPipeError):
        with suppress(OSError):
            sys.stderr.write(f"The output cannot be written: {error.strerror}\n")
            sys.stderr.flush()
    discard_stdout()
    return 1


def discard_stdout() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit raises no error."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, sys.stdout.fileno())
    os.close(null_device)


def write_parts(path: Path, parts: Iterable[str | bytes]) -> None:
    """Write texts (as UTF-8) and bytes to a file, part by part.

    An existing file is replaced once the new file is complete. A pipe or a device is written to directly.

    Raises:
        StorageError: The path cannot be written; an existing file is unchanged.
    """
    try:
        if _is_stream(path):
            with path.open("wb") as stream:
                stream.writelines(map(_encoded, parts))
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
    part_file = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(part_file, flags, 0o600), "wb", _BUFFER_BYTES) as file:
            file.writelines(map(_encoded, parts))
            if path.is_file() and not path.is_symlink():
                part_file.chmod(stat.S_IMODE(path.stat().st_mode))
            file.flush()
            os.fsync(file.fileno())
        part_file.replace(path)
    finally:
        part_file.unlink(missing_ok=True)


def _encoded(part: str | bytes) -> bytes:
    return part.encode() if isinstance(part, str) else part


def _is_stream(path: Path) -> bool:
    """Check whether the path is a pipe or a device, which must not be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_error(path: Path) -> str | None:
    """Return why a file cannot be written, or `None` if it can; no file is left behind."""
    if _is_stream(path):
        return None  # opening it may block, and its reader may notice
    if path.is_dir():
        return "Is a directory"
    try:
        part_file = path.with_name(f".{secrets.token_hex(8)}.part")
        os.close(os.open(part_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        part_file.unlink()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


try:
    import fcntl
except ImportError:
    # Windows, WebAssembly. The type checker looks at one platform only, where the module is never None.
    fcntl = None  # type: ignore[assignment]


def lock_file(file: int, *, stopped: threading.Event | None = None) -> bool:
    """Wait for the exclusive lock of an open file, and keep the lock until the file is closed.

    Args:
        file: Descriptor of the file.
        stopped: Event that ends the wait.

    Returns:
        Whether the lock is held; `False` if the wait was ended, and on systems without such locks, such as Windows and
        WebAssembly.
    """
    if fcntl is None:
        return False
    if stopped is None:
        fcntl.flock(file, fcntl.LOCK_EX)
        return True
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if stopped.wait(_LOCK_POLL_S):
                return False
        else:
            return True
