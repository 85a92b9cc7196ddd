"""A line that shows the progress of many debates, in a terminal, a notebook or a log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from roundtable.core.base.words import counted, duration

if TYPE_CHECKING:
    from roundtable.results.many import Progress

__all__ = ["print_progress", "progress_line"]

_LOG_STEPS: Final = 20
"""Number of lines that a log gets in total."""
_FAST: Final = 10


def print_progress(progress: Progress) -> None:
    """Write the progress to standard error: one line that changes or, in a log, a new line after every 5 %.

    Pass this function as `on_progress` to `run_study` or `Roundtable.debate_many`. A log also gets a line when debates
    have waited for ten seconds for one cause, or will, and further lines after a minute, two minutes, four minutes and
    so on.
    """
    stream, is_last = sys.stderr, progress.ended == progress.total
    # Jupyter handles a carriage return like a terminal, but `isatty` of its stream is false.
    if stream.isatty() or type(stream).__module__.startswith("ipykernel"):
        end = "\n" if is_last else ""
        stream.write(f"\r{progress_line(progress)}\x1b[K{end}")  # the code clears the rest of a longer line
    elif _is_logged(progress):
        stream.write(f"{progress_line(progress)}\n")
    stream.flush()


def _is_logged(progress: Progress) -> bool:
    """Check whether a log gets a line."""
    if progress.is_wait_news or not progress.has_ended:
        return progress.is_wait_news
    ended, total = progress.ended, progress.total
    return ended == total or ended * _LOG_STEPS // total > (ended - 1) * _LOG_STEPS // total


def progress_line(progress: Progress) -> str:
    """Return the progress in a line.

    Example:
        >>> from roundtable.results.many import Progress
        >>> progress_line(Progress(ended=20, total=60, failed=1, elapsed_s=30.0))
        '20 of 60 debates, 1 failed, 0 calls, 0.67 a second, 1 min left'
        >>> progress_line(Progress(ended=0, total=2, elapsed_s=9.0, waiting=2, waiting_for="acme: could not connect"))
        '0 of 2 debates, 0 calls, 9 s so far, 2 waiting for acme: could not connect'
        >>> waits = {"waiting": 2, "waiting_for": "acme: could not connect", "waited_s": 120.0, "wait_left_s": 30.0}
        >>> progress_line(Progress(ended=0, total=2, elapsed_s=150.0, **waits))
        '0 of 2 debates, 0 calls, 2 min so far, 2 waiting for acme: could not connect (2 min so far, next try in 30 s)'
    """
    parts = [f"{progress.ended:,} of {counted(progress.total, 'debate')}"]
    parts += [f"{progress.failed:,} failed"] if progress.failed else []
    parts += [f"{progress.stored:,} stored before"] if progress.stored else []
    parts.append(counted(progress.usage.calls, "call"))
    if progress.usage.known_cost_usd:
        parts.append(f"{progress.usage.known_cost_usd:.2f} USD")
    if (rate := progress.per_second) is not None:
        parts.append(f"{rate:,.0f} a second" if rate >= _FAST else f"{rate:.2g} a second")
    left_s = progress.left_s
    if left_s:
        parts.append(f"{duration(left_s)} left")
    else:
        parts.append(f"{duration(progress.elapsed_s)} {'in all' if progress.ended == progress.total else 'so far'}")
    if progress.waiting:
        parts.append(f"{progress.waiting:,} waiting for {progress.waiting_for}{_wait_times(progress)}")
    return ", ".join(parts)


def _wait_times(progress: Progress) -> str:
    """Return how long debates have waited, and when they try again; empty if neither is worth telling."""
    times = [f"{duration(progress.waited_s)} so far"] if progress.waited_s >= 1 else []
    times += [f"next try in {duration(progress.wait_left_s)}"] if progress.wait_left_s else []
    return f" ({', '.join(times)})" if times else ""
