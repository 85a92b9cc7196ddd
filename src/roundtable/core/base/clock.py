"""The real clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from roundtable.core.types.base import utc_now

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["SystemClock"]


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC, with its time zone."""
        return utc_now()

    def monotonic(self) -> float:
        """Return seconds of a clock that never runs backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait, on asyncio or trio; a cancellation ends the wait at once."""
        await anyio.sleep(seconds)
