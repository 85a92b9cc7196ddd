"""Resources that several models of one provider share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["RefCounted"]


T = TypeVar("T")


class RefCounted(Generic[T]):
    """One shared resource per key, which is kept as long as it has users.

    Example:
        >>> shared = RefCounted[list[str]]()
        >>> shared.take("a", list) is shared.take("a", list), shared.give_back("a"), shared.give_back("a")
        (True, None, [])
    """

    def __init__(self) -> None:
        self._resources: dict[Hashable, tuple[T, int]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the resource of a key, and add a user to its count. `make` creates the resource for the first user.

        Each user must call `give_back` once.
        """
        resource, users = self._resources.get(key) or (make(), 0)
        self._resources[key] = (resource, users + 1)
        return resource

    def give_back(self, key: Hashable) -> T | None:
        """Remove a user from the count. The last user gets the resource and must close it; others get `None`."""
        resource, users = self._resources.pop(key)
        if users == 1:
            return resource
        self._resources[key] = (resource, users - 1)
        return None
