"""Sharing one paid result among all who ask for it at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from roundtable._loops import PerLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Shared"]

T = TypeVar("T")


class _Making(Generic[T]):
    """Something under way: what it is, and what came of it."""

    def __init__(self, what: object) -> None:
        self.what = what
        self.over: anyio.Event = anyio.Event()
        self.made: list[T] = []
        self.error: Exception | None = None


class Shared(Generic[T]):
    """Makes at most one thing at a time for each place, and gives it to all who asked for it meanwhile.

    They share an error too. Where the one who makes it is cancelled, the next one makes it. Those who ask in another
    event loop know nothing of it.
    """

    def __init__(self) -> None:
        self._under_way: PerLoop[dict[str, _Making[T]]] = PerLoop(dict)

    async def get(self, place: str, what: object, make: Callable[[], Awaitable[T]]) -> T:
        """Give what `make` gives, or what somebody's `make` of the same `what` gives who is at it already."""
        under_way = self._under_way.get()
        while (other := under_way.get(place)) is not None:
            await other.over.wait()
            if other.what == what and other.error is not None:
                raise other.error
            if other.what == what and other.made:
                return other.made[0]
        making = under_way[place] = _Making[T](what)
        try:
            making.made.append(await make())
            return making.made[0]
        except Exception as error:
            making.error = error
            raise
        finally:
            del under_way[place]
            making.over.set()
