"""Share one result among all callers that request it at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from roundtable.core.base.eventloop import PerLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["SingleFlight"]


T = TypeVar("T")


class _Flight(Generic[T]):
    """A call in progress, with its key and its outcome."""

    def __init__(self, what: object) -> None:
        self.what = what
        self.done: anyio.Event = anyio.Event()
        self.results: list[T] = []
        self.error: Exception | None = None


class SingleFlight(Generic[T]):
    """Makes at most one call at a time for each `place`, and returns its result to all callers that wait for it.

    The callers share an error too. If the caller that makes the call is cancelled, the next caller makes it. Callers in
    another event loop make their own calls.
    """

    def __init__(self) -> None:
        self._flights: PerLoop[dict[str, _Flight[T]]] = PerLoop(dict)

    async def get(self, place: str, what: object, make: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `make`, or of a call in progress for the same `place` and `what`."""
        flights = self._flights.get()
        while (current := flights.get(place)) is not None:
            await current.done.wait()
            if current.what == what and current.error is not None:
                raise current.error
            if current.what == what and current.results:
                return current.results[0]
        flight = flights[place] = _Flight[T](what)
        try:
            flight.results.append(await make())
            return flight.results[0]
        except Exception as error:
            flight.error = error
            raise
        finally:
            del flights[place]
            flight.done.set()
