"""Looking for what other processes store of a session that is listened to here."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.errors import RoundtableError
from roundtable.server.requests import logger

if TYPE_CHECKING:
    from roundtable.api.desks import Desk
    from roundtable.engine import Subscription

__all__ = ["Feed"]

_POLL_S: Final = 0.25
_POLL_HERE_S: Final = 1.0


class Feed:
    """Looks, for all who listen here to one session, for what another process stored of it.

    Args:
        desk: Whose session it is.
        session_id: The session.
    """

    def __init__(self, desk: Desk, session_id: str) -> None:
        self.places: set[Subscription] = set()
        """Those who listen."""
        self.scope: anyio.CancelScope = anyio.CancelScope()
        """Ends it."""
        self._desk = desk
        self._session_id = session_id
        self._last = 0

    async def run(self) -> None:
        """Look again and again."""
        with self.scope:
            while True:
                # A run that is here may still wait for the one of another process to end.
                here = self._desk.running(self._session_id) is not None
                await anyio.sleep(_POLL_HERE_S if here else _POLL_S)
                await self._look()

    async def _look(self) -> None:
        if not self.places:
            return  # the last one left in the very moment in which it was time to look
        wiring = self._desk.table.wiring
        self._last = max(self._last, min(place.last_seq for place in self.places))
        try:
            _, events = await wiring.storage.read(self._session_id, self._last, tenant=wiring.options.tenant)
        except Exception as error:  # noqa: BLE001  (whatever it is, other sessions are told further)
            level = logging.DEBUG if isinstance(error, RoundtableError) else logging.ERROR
            logger.log(level, "cannot look for events: %s", error, extra={"session": self._session_id})
            for place in self.places:
                place.fall_behind()  # each meets the fault by itself, and tells it
            return
        for event in events:
            self._last = event.seq
            for place in self.places:
                place.offer(event)
