"""Functions that callers pass as arguments: checks, and calls that cannot fail."""

from __future__ import annotations

import functools
import inspect
import logging
from typing import TYPE_CHECKING, TypeVar

from roundtable.core.base.text import error_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio import CapacityLimiter

__all__ = ["call_function", "is_async", "reporter"]

T = TypeVar("T")


def is_async(function: object) -> bool:
    """Check whether a function, or the `__call__` of an object, is `async`; also behind `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(type(function), "__call__", None)  # noqa: B004  (the method itself is needed)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


async def call_function(function: Callable[[T], object], argument: T, *, limiter: CapacityLimiter) -> object:
    """Call a caller's function and return its result; if the result is awaitable, it is awaited.

    An `async` function runs in the event loop. Any other function runs in a thread, which is abandoned if the call is
    cancelled.

    Args:
        function: The caller's function.
        argument: Its argument.
        limiter: Limiter of the threads.
    """
    if is_async(function):
        returned = function(argument)
    else:
        # A plain function may return an awaitable. Trio accepts none from a thread, so it comes in a tuple.
        from anyio import to_thread  # `import roundtable` does not load anyio

        (returned,) = await to_thread.run_sync(lambda: (function(argument),), abandon_on_cancel=True, limiter=limiter)
    return await returned if inspect.isawaitable(returned) else returned


def reporter(name: str, function: Callable[[T], object], logger: logging.Logger) -> Callable[[T], None]:
    """Return a function that passes each value to a caller's function; if that function fails, it is not called again.

    Args:
        name: Name of the argument with the caller's function, for the log.
        function: The caller's function.
        logger: Logger of the error.
    """
    has_failed = False

    def report(value: T) -> None:
        nonlocal has_failed
        if has_failed:
            return
        try:
            function(value)
        except Exception as error:  # noqa: BLE001  (foreign code; no result depends on it)
            has_failed = True
            logger.warning("%s failed and is not called again: %s: %s", name, type(error).__name__, error_text(error))

    return report
