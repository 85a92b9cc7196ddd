"""Letting many debates that run side by side take turns on one event loop."""

from __future__ import annotations

from functools import partial
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from roundtable._loops import PerLoop

__all__ = ["Pace"]

STEPS: Final = 8
"""Steps of debates that one pass of the loop takes up; one costs about a millisecond."""


class Pace:
    """Lets a few steps of debates into each pass of the event loop, in the order in which they ask.

    Without it, a thousand debates whose agents are ready at once keep everybody else on the loop waiting until
    all of them have had their turn, which takes seconds. Nobody waits while few debates run.

    Args:
        steps: Steps that a pass takes up.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self._rooms: PerLoop[anyio.Semaphore] = PerLoop(partial(anyio.Semaphore, steps, fast_acquire=True))

    async def step(self) -> None:
        """Wait until there is room in a pass; give it back with the next one."""
        async with self._rooms.get():
            await checkpoint()
