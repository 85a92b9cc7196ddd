"""A debate under way: what runs it, and what is known of it meanwhile."""

from __future__ import annotations

import logging
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from roundtable._foreign import error_text
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.engine import DebateRun, Subscription
    from roundtable.record import Fold
    from roundtable.result import DebateResult

__all__ = ["Live", "Prepared"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.api")

_LEAVE_S = 30.0


@dataclass(slots=True, eq=False)
class Prepared:
    """A stored session that is ready to run."""

    session_id: str
    run: Callable[[Callable[[DebateRun], None]], Awaitable[Fold]]
    to_result: Callable[[Fold], DebateResult]
    subscribe: Callable[[], Subscription]


class Live:
    """A debate in a task of its own. The task holds this and never the handle or stream that follows it.

    Args:
        prepared: What to run.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.result: DebateResult | None = None
        self.error: Exception | None = None
        self.done: anyio.Event = anyio.Event()
        self.begun: anyio.Event = anyio.Event()
        self._followers: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._closed = False
        self._run: DebateRun | None = None
        self._scope = anyio.CancelScope()

    @property
    def running(self) -> bool:
        """Whether it came so far that somebody may have been asked."""
        return self._run is not None

    async def drive(self) -> None:
        """Run the debate; never raises but to be cancelled."""
        try:
            with self._scope:
                fold = await self.prepared.run(self._started)
                self.result = self.prepared.to_result(fold)
        except Exception as error:  # noqa: BLE001  (raised again to whoever asks for events or result)
            self.error = error
            if self._run is None:
                session = self.prepared.session_id
                logger.warning("the debate failed before it began: %s", error_text(error), extra={"session": session})
        finally:
            # First of all: nobody may wait for ever, whatever fails below. Who waits goes on after this block.
            self.begun.set()
            self.done.set()
            self._keep_partial()
            for subscription in tuple(self._followers):
                _let_go(subscription)

    def follow(self, subscription: Subscription) -> None:
        """Let go of a listener once this is over: it is given what the log holds by then, and no later run."""
        if self.done.is_set():
            _let_go(subscription)
        else:
            self._followers.add(subscription)

    def _keep_partial(self) -> None:
        if self.result is not None or self._run is None:
            return
        try:
            self.result = self.prepared.to_result(self._run.fold)
        except Exception as error:  # noqa: BLE001  (raised again to whoever asks for events or result)
            self.error = self.error or error

    def close(self) -> None:
        """Let no further model call start; only sets flags, so any thread may do it at any time."""
        self._closed = True
        if self._run is not None:
            self._run.closed = True

    async def leave(self) -> None:
        """End the debate if it still runs, and wait until it has; what it stores on leaving takes bounded time.

        Code of others that does not let itself be cancelled is waited for `_LEAVE_S` here; the table's end waits on.
        """
        self.close()
        self._scope.cancel()
        with anyio.move_on_after(_LEAVE_S, shield=True) as waiting:
            await self.done.wait()
        if waiting.cancelled_caught:
            session = self.prepared.session_id
            logger.warning("the debate did not end within %g s", _LEAVE_S, extra={"session": session})

    def _started(self, run: DebateRun) -> None:
        self._run = run
        run.closed = self._closed
        self.begun.set()


def _let_go(subscription: Subscription) -> None:
    subscription.end()
    subscription.close()
