"""Running a plain function beside the event loop."""

from __future__ import annotations

import contextvars
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import CapacityLimiter, Event
from anyio.lowlevel import RunVar

from roundtable._foreign import error_text
from roundtable._loops import call_soon, running_loop

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MOST_THREADS", "run_in_thread"]

T = TypeVar("T")

MOST_THREADS: Final = 40
"""Plain functions that run at once in one event loop, those that nobody waits for any more included."""

_limiter: RunVar[CapacityLimiter] = RunVar("roundtable_tool_threads")


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run a function on a thread of its own and wait for it.

    A cancellation ends the wait at once. The function itself cannot be stopped: it runs on, what it gives is dropped,
    and it keeps no program from ending, which is what threads of a pool would do.

    Raises:
        Exception: Whatever the function raises.
        RuntimeError: It raised something that is made to end a program; no Ctrl-C arrives on such a thread.
    """
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(MOST_THREADS)
        _limiter.set(limiter)
    outcome: list[T] = []
    failure: list[BaseException] = []
    done, loop, borrower = Event(), running_loop(), object()
    await limiter.acquire_on_behalf_of(borrower)

    def settle() -> None:
        limiter.release_on_behalf_of(borrower)
        done.set()

    def work() -> None:
        try:
            outcome.append(context.run(function))
        except BaseException as error:  # noqa: BLE001  (raised to whoever waits)
            failure.append(error)
        call_soon(loop, settle)  # a loop that has ended has nobody left who waits

    context = contextvars.copy_context()
    Thread(target=work, name="roundtable tool", daemon=True).start()
    await done.wait()
    if failure and isinstance(failure[0], Exception):
        raise failure[0]
    if failure:
        msg = f"the function raised {type(failure[0]).__name__}: {error_text(failure[0])}"
        raise RuntimeError(msg) from failure[0]
    return outcome[0]
