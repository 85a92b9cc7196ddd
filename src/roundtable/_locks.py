"""Holding a file against other processes."""

from __future__ import annotations

try:
    import fcntl
except ImportError:
    # Windows, WebAssembly. A module is never None to the type checker, which looks at one system alone.
    fcntl = None  # type: ignore[assignment]

__all__ = ["lock_file"]


def lock_file(file: int) -> bool:
    """Wait for an open file and hold it until it is closed, against whoever asks the same way.

    Args:
        file: Its descriptor.

    Returns:
        Whether it is held; no where the system has no such locks, as Windows and WebAssembly.
    """
    if fcntl is None:
        return False
    fcntl.flock(file, fcntl.LOCK_EX)
    return True
