"""The lease of a running session: take it, renew it, release it, and watch for requests to pause or stop."""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import anyio

from roundtable.core.base.text import error_text
from roundtable.core.base.waits import SHOWN_S, Wait
from roundtable.core.errors import RoundtableError, SessionBusy, SessionError, StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tenacity import RetryCallState

    from roundtable.core.engine.journal import Journal
    from roundtable.core.engine.plan_limits import RunLimits
    from roundtable.core.protocols import Storage
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.events import Control
    from roundtable.core.types.storage import Lease, LeaseOwner

__all__ = ["LeaseKeeper", "release", "take_lease", "wrap_error"]

logger: logging.Logger = logging.getLogger("roundtable.engine")

_RELEASE_TIMEOUT_S = 5.0
_LEASE_POLL_S = 0.25

_CONTROL_INTERVAL_S = 0.25


async def take_lease(
    storage: Storage,
    session_id: str,
    owner: LeaseOwner,
    limits: RunLimits,
    on_wait: Callable[[Wait], Awaitable[None]],
    *,
    tenant: str,
) -> Lease:
    """Take the lease; if another owner has it, wait for it to expire for as long as the limits allow.

    The wait ends early when the other owner renews the lease, which shows that its process is alive.

    Args:
        storage: Storage of the session.
        session_id: The session.
        owner: The new owner.
        limits: How long to wait.
        on_wait: Gets a wait of more than a second when it begins.
        tenant: Tenant of the session.
    """
    take = partial(storage.lease, session_id, owner, limits.lease_ttl_s, tenant=tenant)
    if limits.wait_s <= 0:
        return await take()
    # Imported only when used: tenacity imports TLS and, if it is installed, tornado.
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_fixed

    expiries: list[JsonValue] = []

    def may_expire(error: BaseException) -> bool:
        if not isinstance(error, SessionBusy):
            return False
        expiries.append((error.details or {}).get("expiresAt"))
        return expiries[-1] == expiries[0]

    async def tell_wait(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome and state.attempt_number == 1 else None
        if error is not None:
            logger.info("%s; waiting for its lease", error, extra={"session": session_id})
            if limits.wait_s > SHOWN_S:
                await on_wait(Wait("lease", "another process that ran the session to end or to give up", limits.wait_s))

    retrying = AsyncRetrying(
        retry=retry_if_exception(may_expire),
        wait=wait_fixed(_LEASE_POLL_S),
        stop=stop_after_delay(limits.wait_s),
        sleep=anyio.sleep,
        before_sleep=tell_wait,
        reraise=True,
    )
    return await retrying(take)


async def release(storage: Storage, session_id: str, owner: LeaseOwner, tenant: str) -> None:
    """Release a lease; if that fails, the lease expires by itself."""
    with anyio.move_on_after(_RELEASE_TIMEOUT_S, shield=True):
        try:
            await storage.lease(session_id, owner, 0, tenant=tenant)
        except Exception as error:  # noqa: BLE001  (a storage may be third-party code; the caller needs the error that ended the run)
            logger.warning("the lease was not released: %s", error_text(error), extra={"session": session_id})


def _do_nothing() -> None:
    """Answer a request by doing nothing."""


class LeaseKeeper:
    """Keeps the lease of one run, and watches for control requests.

    Args:
        journal: The journal of the run.
        ttl_s: Seconds until the lease expires; it is renewed after each third of that time.
        give_up: Called with the error that ends the run.
        end_waits: Ends waits for providers, when a request to pause or stop comes.
        stop: Cancels calls in progress when a request to stop comes, or when a request to pause is `pause_s` old.
        pause_s: Seconds that calls in progress have after a request to pause that lets them finish.
    """

    def __init__(
        self,
        journal: Journal,
        ttl_s: float,
        *,
        give_up: Callable[[RoundtableError], None],
        end_waits: Callable[[], None] = _do_nothing,
        stop: Callable[[], None] = _do_nothing,
        pause_s: float = inf,
    ) -> None:
        self._journal = journal
        self._ttl_s = ttl_s
        self._give_up = give_up
        self._end_waits = end_waits
        self._stop = stop
        self._pause_s = pause_s
        self._asked_at: float | None = None
        self._log_fields = {"session": journal.session_id}

    async def keep_lease(self) -> None:
        """Renew the lease until this task is cancelled, or until another owner has the lease."""
        while True:
            await anyio.sleep(self._ttl_s / 3)
            try:
                await self._journal.renew(self._ttl_s)
            except SessionBusy as error:
                self._give_up(error)
                return
            except StorageError as error:
                logger.warning("the lease was not renewed: %s", error.message, extra=self._log_fields)
            except Exception as error:  # noqa: BLE001  (a storage may be third-party code; no exception group may get out)
                self._give_up(wrap_error(error))
                return

    async def watch_control(self) -> None:
        """Check for requests to pause or stop at each notice, and at regular intervals without one; until cancelled."""
        failing = False
        while True:
            await self._journal.wait_for_control(_CONTROL_INTERVAL_S)
            try:
                await self._journal.check_control()
                failing = False
            except SessionError as error:
                self._give_up(error)
                return
            except StorageError as error:
                if not failing:  # logged once, not four times a second
                    logger.warning(
                        "the session could not be read: %s",
                        error.message,
                        extra=self._log_fields,
                    )
                failing = True
            except Exception as error:  # noqa: BLE001  (as above)
                self._give_up(wrap_error(error))
                return
            self._answer(self._journal.fold.pending_control)

    def _answer(self, request: Control | None) -> None:
        """Cancel calls in progress if a request wants that, or has waited for them long enough."""
        if request is None:
            self._asked_at = None
            return
        self._end_waits()
        now = anyio.current_time()
        self._asked_at = now if self._asked_at is None else self._asked_at
        if request.cancels or now - self._asked_at >= self._pause_s:
            self._stop()


def wrap_error(error: Exception) -> RoundtableError:
    """Return an error of third-party code, wrapped in a `RoundtableError`."""
    return RoundtableError(f"the debate failed with {type(error).__name__}: {error_text(error)}", cause=error)
