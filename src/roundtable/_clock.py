"""The real clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from roundtable.types.base import utc_now

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["SystemClock"]


class SystemClock:
    """Time as the machine tells it."""

    def now(self) -> datetime:
        """Give the wall time, aware and in UTC."""
        return utc_now()

    def monotonic(self) -> float:
        """Give seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait, on asyncio as on trio; a cancellation ends it at once."""
        await anyio.sleep(seconds)
