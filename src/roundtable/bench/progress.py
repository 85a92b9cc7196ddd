"""A line that shows the progress of many debates, in a terminal, a notebook or a log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from roundtable._core.words import counted, duration

if TYPE_CHECKING:
    from roundtable.results.many import Progress

__all__ = ["print_progress", "progress_line"]

_LOG_STEPS: Final = 20
"""Number of lines that a log gets in total."""
_FAST: Final = 10


def print_progress(progress: Progress) -> None:
    """Write the progress to standard error: one line that changes or, in a log, a new line after every 5 %.

    Pass this function as `on_progress` to `run_study` or `Roundtable.debate_many`.
    """
    stream, is_last = sys.stderr, progress.ended == progress.total
    # Jupyter handles a carriage return like a terminal, but `isatty` of its stream is false.
    if stream.isatty() or type(stream).__module__.startswith("ipykernel"):
        end = "\n" if is_last else ""
        stream.write(f"\r{progress_line(progress)}\x1b[K{end}")  # the code clears the rest of a longer line
    elif is_last or progress.ended * _LOG_STEPS // progress.total > (progress.ended - 1) * _LOG_STEPS // progress.total:
        stream.write(f"{progress_line(progress)}\n")
    stream.flush()


def progress_line(progress: Progress) -> str:
    """Return the progress in a line.

    Example:
        >>> from roundtable.results.many import Progress
        >>> progress_line(Progress(ended=20, total=60, failed=1, elapsed_s=30.0))
        '20 of 60 debates, 1 failed, 0 calls, 0.67 a second, 1 min left'
    """
    parts = [f"{progress.ended:,} of {counted(progress.total, 'debate')}"]
    parts += [f"{progress.failed:,} failed"] if progress.failed else []
    parts.append(counted(progress.usage.calls, "call"))
    if progress.usage.known_cost_usd:
        parts.append(f"{progress.usage.known_cost_usd:.2f} USD")
    if progress.elapsed_s > 0:
        rate = progress.ended / progress.elapsed_s
        parts.append(f"{rate:,.0f} a second" if rate >= _FAST else f"{rate:.2g} a second")
    left_s = progress.left_s
    parts.append(f"{duration(progress.elapsed_s)} in all" if not left_s else f"{duration(left_s)} left")
    return ", ".join(parts)
