"""Running a plain function beside the event loop, on a thread that keeps no program from ending."""

from __future__ import annotations

import contextvars
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from anyio import Event

from roundtable._foreign import error_text
from roundtable._loops import call_soon, running_loop

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["on_thread"]

T = TypeVar("T")


def _nothing() -> None:
    """Do nothing."""


async def on_thread(function: Callable[[], T], *, name: str, ended: Callable[[], None] = _nothing) -> T:
    """Run a function on a thread of its own and wait for it.

    A cancellation ends the wait at once. The function itself cannot be stopped: it runs on, what it gives is dropped,
    and it keeps no program from ending, which is what threads of a pool would do.

    Args:
        function: What to run.
        name: Name of the thread.
        ended: Called in the event loop once the function has ended, also where nobody waits for it any more.

    Raises:
        Exception: Whatever the function raises.
        RuntimeError: It raised something that is made to end a program; no Ctrl-C arrives on such a thread.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []
    done, loop = Event(), running_loop()

    def settle() -> None:
        ended()
        done.set()

    def work() -> None:
        try:
            outcome.append(context.run(function))
        except BaseException as error:  # noqa: BLE001  (raised to whoever waits)
            failure.append(error)
        call_soon(loop, settle)  # a loop that has ended has nobody left who waits

    context = contextvars.copy_context()
    try:
        Thread(target=work, name=name, daemon=True).start()
    except BaseException:  # the system gives no more threads
        ended()
        raise
    await done.wait()
    if failure and isinstance(failure[0], Exception):
        raise failure[0]
    if failure:
        msg = f"the function raised {type(failure[0]).__name__}: {error_text(failure[0])}"
        raise RuntimeError(msg) from failure[0]
    return outcome[0]
