"""Things that belong to one event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Loop", "PerLoop", "call_soon", "running_loop"]

T = TypeVar("T")


class Loop(Protocol):
    """Either kind of event loop, as seen from another thread."""

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> object:
        """Call back in the loop (asyncio)."""

    def run_sync_soon(self, callback: Callable[[], object], /) -> object:
        """Call back in the loop (trio)."""


def running_loop() -> Loop:
    """Give the event loop this runs in."""
    return cast("Loop", current_token().native_token)


def call_soon(loop: Loop, callback: Callable[[], object]) -> bool:
    """Have an event loop call something soon, from any thread, without waiting until it did.

    A loop that stopped may still take a call that it never makes: who waited for it would wait for ever.

    Returns:
        Whether the loop took it; no if it was closed.
    """
    call = loop.call_soon_threadsafe if hasattr(loop, "call_soon_threadsafe") else loop.run_sync_soon
    try:
        call(callback)
    except RuntimeError:
        return False
    return True


class PerLoop(Generic[T]):
    """One thing for each event loop that asks, made on the first call in that loop.

    Connections and limiters must not cross event loops, yet a model may well be used from two: from a
    script that runs one loop after the other, or from a notebook's loop and the synchronous facade's.

    Args:
        make: Makes the thing; called inside the loop.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._things: WeakKeyDictionary[object, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Give the thing of the running event loop."""
        loop = current_token().native_token
        found = self._things.get(loop)
        if found is None:
            self._forget_closed()
            found = self._things[loop] = self._make()
        return found

    def pop(self) -> T | None:
        """Give up the thing of the running event loop, if there is one."""
        return self._things.pop(current_token().native_token, None)

    def _forget_closed(self) -> None:
        # A connection holds its loop, so a closed loop would otherwise stay for as long as this object.
        for loop in list(self._things):
            is_closed = getattr(loop, "is_closed", None)
            if is_closed is not None and is_closed():
                del self._things[loop]
