"""Open connections of a server: event streams, and responses that wait for the end of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.core.errors import RoundtableError
from roundtable.server.request_context import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from roundtable.api.runs import DebateHandle
    from roundtable.api.tenants import TenantSession
    from roundtable.auth.guard import Receive
    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import SleepingClock
    from roundtable.engine import Subscription

__all__ = ["ABSENT", "BUSY_S", "Listener", "ListenerTracker", "WaitingResponse", "shutdown"]


BUSY_S: Final = 5.0
"""Seconds after which a refused client should try again."""

ABSENT: Final = "the server (nobody listened any more)"
"""Name that appears as the author when the server pauses a run without listeners."""
_NOTES: Final = ":listeners"  # no user is called so


def shutdown() -> RoundtableError:
    """Return the error for clients of a server that is shutting down."""
    return RoundtableError(
        "the server is shutting down; connect again", code="SERVER_SHUTDOWN", retryable=True, retry_after_s=BUSY_S
    )


class Listener:
    """The connection of one event stream.

    Args:
        tenant_session: Tenant session of the client.
        subscription: Subscription that queues events for the client.
    """

    def __init__(self, tenant_session: TenantSession, subscription: Subscription) -> None:
        self.tenant_session = tenant_session
        self.place = subscription
        self.dismissed: bool = False
        """Whether the stream should end with a last event."""

    def end(self) -> None:
        """End the stream with a last event."""
        self.dismissed = True
        self.place.end()


class ListenerTracker:
    """Pauses runs that were started with a stream after their last listener has left.

    A listener may be connected to another process. That process then stores a note in the key-value store.

    Args:
        values: Key-value store for notes between processes.
        pause_after_s: Seconds without a listener after which a run is paused; with `None`, runs are never paused.
        clock: Clock to sleep on.
    """

    def __init__(self, values: KeyValue, pause_after_s: float | None, clock: SleepingClock) -> None:
        self._values = values
        self._pause_after_s = pause_after_s
        self._clock = clock
        self._runs: dict[tuple[TenantSession, str], DebateHandle] = {}
        self._waits: dict[tuple[TenantSession, str], anyio.CancelScope] = {}
        self._noted: dict[tuple[TenantSession, str], float] = {}

    def begin(self, tenant_session: TenantSession, handle: DebateHandle) -> None:
        """Register a run that should continue only while somebody listens."""
        if self._pause_after_s is not None:
            self._runs[tenant_session, handle.session_id] = handle

    def record_arrival(self, tenant_session: TenantSession, session_id: str) -> None:
        """Record that a session has a listener, and cancel its pause."""
        wait_scope = self._waits.pop((tenant_session, session_id), None)
        if wait_scope is not None:
            wait_scope.cancel()

    def record_departure(self, tenant_session: TenantSession, session_id: str, tasks: TaskGroup) -> None:
        """Record that a session has no more listeners in this process, and schedule its pause."""
        key = tenant_session, session_id
        self._noted.pop(key, None)
        handle = self._runs.get(key)
        if handle is not None and self._pause_after_s is not None:
            self.record_arrival(tenant_session, session_id)
            self._waits[key] = anyio.CancelScope()
            tasks.start_soon(self._pause_when_alone, tenant_session, handle, self._pause_after_s, self._waits[key])

    async def _pause_when_alone(
        self, tenant_session: TenantSession, handle: DebateHandle, pause_after_s: float, scope: anyio.CancelScope
    ) -> None:
        key = tenant_session, handle.session_id
        with scope:
            while tenant_session.running(handle.session_id) is handle:
                await self._clock.sleep(pause_after_s)
                if await self._pause(tenant_session, handle):
                    break
            # Another run of the session may have replaced this one.
            if self._runs.get(key) is handle:
                del self._runs[key]
            if self._waits.get(key) is scope:
                del self._waits[key]

    async def _pause(self, tenant_session: TenantSession, handle: DebateHandle) -> bool:
        """Pause a run unless another process has a listener; return whether the run is paused or has ended."""
        session_id = handle.session_id
        try:
            if await self._values.get(_note_key(tenant_session, session_id), tenant=_NOTES) is not None:
                return False
            if tenant_session.running(session_id) is handle:
                logger.info("a run has no listeners and is paused", extra={"session": session_id})
                # A listener that connects just now still receives the pause. Shielded, so that the request to pause is
                # never stored in part.
                with anyio.CancelScope(shield=True):
                    await tenant_session.table.control(session_id, "pause", by=ABSENT, running="settle")
        except RoundtableError as error:
            logger.warning("a run could not be paused: %s", error.message, extra={"session": session_id})
            return False
        return True

    async def note(self, tenant_session: TenantSession, session_id: str) -> None:
        """Store a note for other processes that this process has a listener to a session; cheap when called often.

        Raises:
            StorageError: The note could not be stored.
        """
        now, key = anyio.current_time(), (tenant_session, session_id)
        if self._pause_after_s is None or now < self._noted.get(key, -math.inf) + self._pause_after_s / 3:
            return
        self._noted[key] = now
        await self._values.put(_note_key(tenant_session, session_id), 1, ttl_s=self._pause_after_s, tenant=_NOTES)


def _note_key(tenant_session: TenantSession, session_id: str) -> str:
    return f"{tenant_session.table.tenant}/{session_id}"


class WaitingResponse:
    """The connection of one response that waits for the end of a run; `Streams.count_stream` counts it as a stream.

    Args:
        tenant_session: Tenant session of the client.
    """

    def __init__(self, tenant_session: TenantSession) -> None:
        self.tenant_session = tenant_session
        self._scope = anyio.CancelScope()

    def end(self) -> None:
        """Stop waiting and answer now, for example before the server shuts down."""
        self._scope.cancel()

    async def over(self, wait: Callable[[], Awaitable[None]], wait_s: float, receive: Receive) -> bool:
        """Wait until `wait` returns; return whether it did so before the timeout, a disconnect of the client, or `end`.

        Args:
            wait: Function that waits, for example for the end of a run.
            wait_s: Maximum number of seconds to wait.
            receive: ASGI `receive` of the request, which has been read completely; used to notice a disconnect.

        Raises:
            Exception: The exception that `wait` raises.
        """
        outcomes: list[Exception | None] = []
        with self._scope:
            self._scope.deadline = anyio.current_time() + wait_s
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_on_disconnect, receive)
                try:
                    await wait()
                except Exception as error:  # noqa: BLE001  (raised below, since a task group would wrap it)
                    outcomes.append(error)
                else:
                    outcomes.append(None)
                group.cancel_scope.cancel()
        failure = outcomes[0] if outcomes else None
        if failure is not None:
            raise failure
        return bool(outcomes)

    async def _end_on_disconnect(self, receive: Receive) -> None:
        """Stop waiting once the client disconnects."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()
