"""The command: `roundtable`, or `python -m roundtable`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_HINT = "The command needs its extra. Install it with: pip install 'roundtable-sdk[cli]'"
_INTERRUPTED = (129, 130, 143)
"""Exit codes of an interruption. With one of them, the process exits without waiting for threads that still compute."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: The words after the name of the command. When left out, the arguments of the process are used.

    Example:
        >>> main(["--version"])
        roundtable ...
        0
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    _fill_closed_streams()
    if words == ["--version"]:
        from roundtable._version import __version__

        return _print(f"roundtable {__version__}\n")
    try:
        from roundtable.cli import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"rich", "typer"}:
            raise
        sys.stderr.write(f"{_HINT}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    code = run(words)
    if arguments is None:
        _leave(code)
    return code


def _fill_closed_streams() -> None:
    """Open the null device in place of closed standard streams (`>&-`); otherwise a file could get their number.

    Reading from such a standard input returns nothing, and text written to such a standard error is dropped. Writing to
    a closed standard output still fails, as it does in every program.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR if name == "stderr" else os.O_RDONLY)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            os.set_inheritable(descriptor, True)  # noqa: FBT003  (it takes no keyword)
            # The stream has to stay open as long as the process runs.
            stream = open(descriptor, mode, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _print(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        from roundtable.core.base.files import report_stdout_error

        return report_stdout_error(error)
    return 0


def _leave(code: int) -> None:
    """Restore the usual Ctrl-C. After an interruption, flush the output and exit at once: all results are stored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if code in _INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # the terminal is gone
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
