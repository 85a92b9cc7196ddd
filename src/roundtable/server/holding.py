"""Connections that a server holds: streams, and answers that are held back until what they tell has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from roundtable.errors import RoundtableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.api.desks import Desk
    from roundtable.auth.guard import Receive
    from roundtable.engine import Subscription

__all__ = ["BUSY_S", "Held", "Listener", "shutdown"]

BUSY_S: Final = 5.0
"""Seconds after which whoever is refused should try again."""


def shutdown() -> RoundtableError:
    """Say that the server ends."""
    return RoundtableError(
        "the server ends; connect again", code="SERVER_SHUTDOWN", retryable=True, retry_after_s=BUSY_S
    )


class Listener:
    """The connection of one stream: a client's place in a session.

    Args:
        desk: Whose stream it is.
        place: Where events wait for the client.
    """

    def __init__(self, desk: Desk, place: Subscription) -> None:
        self.desk = desk
        self.place = place
        self.dismissed: bool = False
        """Whether the stream is to end with a last word."""

    def end(self) -> None:
        """Have the stream say its last word."""
        self.dismissed = True
        self.place.end()


class Held:
    """The connection of one answer that is held back; made by `Streams.room`, and counted as an open stream.

    Args:
        desk: Whose answer it is.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._scope = anyio.CancelScope()

    def end(self) -> None:
        """Have it answered now, such as before the server ends."""
        self._scope.cancel()

    async def over(self, wait: Callable[[], Awaitable[None]], wait_s: float, receive: Receive) -> bool:
        """Wait for something; say whether it came before the time was up, the client left, or `end` was called.

        Args:
            wait: Waits for it.
            wait_s: Seconds to wait at most.
            receive: Tells when the client leaves; its request was read.

        Raises:
            Exception: What `wait` raises.
        """
        came: list[Exception | None] = []
        with self._scope:
            self._scope.deadline = anyio.current_time() + wait_s
            async with anyio.create_task_group() as group:
                group.start_soon(self._hear, receive)
                try:
                    await wait()
                except Exception as error:  # noqa: BLE001  (raised below: a task group would wrap it)
                    came.append(error)
                else:
                    came.append(None)
                group.cancel_scope.cancel()
        failure = came[0] if came else None
        if failure is not None:
            raise failure
        return bool(came)

    async def _hear(self, receive: Receive) -> None:
        """Wait for nothing any more once the client has left."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()
