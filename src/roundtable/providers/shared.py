"""Things that several models of one provider use together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Shared"]

T = TypeVar("T")


class Shared(Generic[T]):
    """Keeps one thing per key for as long as somebody uses it.

    Example:
        >>> shared = Shared[list[str]]()
        >>> shared.take("a", list) is shared.take("a", list), shared.give_back("a"), shared.give_back("a")
        (True, None, [])
    """

    def __init__(self) -> None:
        self._things: dict[Hashable, tuple[T, int]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give the thing of a key, made if nobody has it yet; each taker must give it back once."""
        thing, users = self._things.get(key) or (make(), 0)
        self._things[key] = (thing, users + 1)
        return thing

    def give_back(self, key: Hashable) -> T | None:
        """Say that one user is done; gives the thing to the last one, who must close it."""
        thing, users = self._things.pop(key)
        if users == 1:
            return thing
        self._things[key] = (thing, users - 1)
        return None
