"""Breaking the silence of many streams with one timer."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from roundtable.engine import Subscription

__all__ = ["Heartbeats"]


class Heartbeats:
    """Stirs each listener who was told nothing for some time.

    A timer for each of them would have to be set and taken back with every event that is told.

    Args:
        every_s: Seconds of silence after which a listener is stirred.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._due: OrderedDict[Subscription, float] = OrderedDict()  # the next one first: all wait equally long

    def put_off(self, place: Subscription) -> float:
        """Count the silence of a listener from now on; give the time, as `anyio.current_time` tells it."""
        now = anyio.current_time()
        self._due[place] = now + self._every_s
        self._due.move_to_end(place)
        return now

    def forget(self, place: Subscription) -> None:
        """Let go of a listener who left."""
        del self._due[place]

    async def run(self) -> None:
        """Stir whoever it is time for, for ever."""
        while True:
            # Whoever comes during the sleep is due after all who are here, and not before it ends.
            await anyio.sleep(self._left_s())
            place = next(iter(self._due), None)
            if place is not None and self._left_s() <= 0:
                place.stir()
                self.put_off(place)

    def _left_s(self) -> float:
        """Give the seconds until the next one is due."""
        now = anyio.current_time()
        return max(0.0, next(iter(self._due.values()), now + self._every_s) - now)
