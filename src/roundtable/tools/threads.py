"""Running the plain function of a tool beside the event loop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from roundtable._threads import on_thread

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MOST_THREADS", "run_in_thread"]

T = TypeVar("T")

MOST_THREADS: Final = 40
"""Plain functions that run at once in one event loop, those that nobody waits for any more included."""

_limiter: RunVar[CapacityLimiter] = RunVar("roundtable_tool_threads")


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run a function on a thread of its own and wait for it, as `on_thread` does, once there is room for it.

    Raises:
        Exception: Whatever the function raises.
        RuntimeError: It raised something that is made to end a program; no Ctrl-C arrives on such a thread.
    """
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(MOST_THREADS)
        _limiter.set(limiter)
    borrower = object()
    await limiter.acquire_on_behalf_of(borrower)
    return await on_thread(function, name="roundtable tool", ended=partial(limiter.release_on_behalf_of, borrower))
