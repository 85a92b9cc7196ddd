"""What goes on beside a run: renewing its lease, and looking whether someone asks it to pause or stop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from roundtable._foreign import error_text
from roundtable.errors import RoundtableError, SessionBusy, SessionError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.engine.journal import Journal

__all__ = ["Keeper", "foreign"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_CONTROL_INTERVAL_S = 0.25


class Keeper:
    """Watches over one run.

    Args:
        journal: Where the run writes.
        ttl_s: Seconds after which the lease lapses; it is renewed every third of that.
        give_up: Is told the error that ends the run.
        stop: Ends what is under way, because someone asked to stop.
    """

    def __init__(
        self, journal: Journal, ttl_s: float, *, give_up: Callable[[RoundtableError], None], stop: Callable[[], None]
    ) -> None:
        self._journal = journal
        self._ttl_s = ttl_s
        self._give_up = give_up
        self._stop = stop
        self._fields = {"session": journal.session_id}

    async def keep_lease(self) -> None:
        """Renew the lease until cancelled, or until another owner has it."""
        while True:
            await anyio.sleep(self._ttl_s / 3)
            try:
                await self._journal.renew(self._ttl_s)
            except SessionBusy as error:
                self._give_up(error)
                return
            except StorageError as error:
                logger.warning("the lease was not renewed: %s", error.message, extra=self._fields)
            except Exception as error:  # noqa: BLE001  (a storage may be foreign code; nobody may meet an exception group)
                self._give_up(foreign(error))
                return

    async def watch_control(self) -> None:
        """See whether someone asks to pause or stop, until cancelled."""
        failing = False
        while True:
            await anyio.sleep(_CONTROL_INTERVAL_S)
            try:
                await self._journal.look()
                failing = False
            except SessionError as error:
                self._give_up(error)
                return
            except StorageError as error:
                if not failing:  # said once, not four times a second
                    logger.warning(
                        "the session could not be looked at: %s",
                        error.message,
                        extra=self._fields,
                    )
                failing = True
            except Exception as error:  # noqa: BLE001  (as above)
                self._give_up(foreign(error))
                return
            asked = self._journal.fold.pending_control
            if asked is not None and asked.cancels:
                self._stop()


def foreign(error: Exception) -> RoundtableError:
    """Give an error of foreign code as one of ours."""
    return RoundtableError(f"the debate broke on {type(error).__name__}: {error_text(error)}", cause=error)
