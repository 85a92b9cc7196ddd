"""Taking the lease of a session, waiting for it as long as is allowed, and giving it up."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import anyio
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_fixed

from roundtable._foreign import error_text
from roundtable.errors import SessionBusy

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from roundtable.engine.limits import RunLimits
    from roundtable.engine.session_manager import SessionManager
    from roundtable.protocols import Storage
    from roundtable.types import JsonValue, Lease, Owner

__all__ = ["release", "take_lease"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_RELEASE_TIMEOUT_S = 5.0
_LEASE_POLL_S = 0.25


async def take_lease(sessions: SessionManager, session_id: str, owner: Owner, limits: RunLimits) -> Lease:
    """Take the lease, waiting for another owner's to lapse as long as the limits say.

    An owner that renews its lease meanwhile is alive, and not waited for any longer.
    """
    take = partial(sessions.storage.lease, session_id, owner, limits.lease_ttl_s, tenant=sessions.tenant)
    if limits.wait_s <= 0:
        return await take()
    lapses: list[JsonValue] = []

    def may_lapse(error: BaseException) -> bool:
        if not isinstance(error, SessionBusy):
            return False
        lapses.append((error.details or {}).get("expiresAt"))
        return lapses[-1] == lapses[0]

    def say(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome and state.attempt_number == 1 else None
        if error is not None:
            logger.info("%s; waiting for its lease", error, extra={"session": session_id})

    patiently = AsyncRetrying(
        retry=retry_if_exception(may_lapse),
        wait=wait_fixed(_LEASE_POLL_S),
        stop=stop_after_delay(limits.wait_s),
        sleep=anyio.sleep,
        before_sleep=say,
        reraise=True,
    )
    return await patiently(take)


async def release(storage: Storage, session_id: str, owner: Owner, tenant: str) -> None:
    """Give up a lease; one that cannot be given up lapses by itself."""
    with anyio.move_on_after(_RELEASE_TIMEOUT_S, shield=True):
        try:
            await storage.lease(session_id, owner, 0, tenant=tenant)
        except Exception as error:  # noqa: BLE001  (a storage may be foreign code; what ended the run is what counts)
            logger.warning("the lease was not given up: %s", error_text(error), extra={"session": session_id})
