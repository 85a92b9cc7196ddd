"""The command: `roundtable`, or `python -m roundtable`."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

HINT = "The command needs its extra. Install it with: pip install 'roundtable-sdk[cli]'"
LEAVE = (130, 143)
"""Exit codes of an interruption, after which no thread that still computes is waited for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code.

    Args:
        arguments: The words after the name of the command; those of the process when left out.

    Example:
        >>> main(["--version"])
        roundtable ...
        0
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words == ["--version"]:
        from roundtable._version import __version__

        sys.stdout.write(f"roundtable {__version__}\n")
        return 0
    try:
        from roundtable.cli import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"rich", "typer"}:
            raise
        sys.stderr.write(f"{HINT}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    code = run(words)
    if arguments is None:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """Let nothing that happens from here on look like a fault: everything is said and stored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if code in LEAVE:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
