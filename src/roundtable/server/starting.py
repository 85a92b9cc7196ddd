"""Beginning what counts for a user's limits, and going on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from roundtable.api.handle import DebateHandle
    from roundtable.server.state import Caller

__all__ = ["begun"]

_UNDO_S = 2.0


async def begun(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], *, rounds: int, begins: bool = True
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Count a conversation or debate for the caller's limits, and let it run on their desk.

    Everything that can be checked must have been: what is refused by `start` counts for nothing, but only after the
    limits were asked.

    Args:
        caller: Who asks.
        start: Begins it.
        rounds: Rounds it may hold.
        begins: Whether it is new; not where it goes on.

    Returns:
        The running conversation, and the headers that tell the limits.

    Raises:
        RateLimited: One of the caller's limits is used up.
        RoundtableError: What `start` raises.
    """
    admission = await caller.state.limits.admit(caller.identity.user, rounds=rounds, begins=begins)
    try:
        handle = await start()
    except BaseException:
        with anyio.move_on_after(_UNDO_S, shield=True):
            await admission.undo()
        raise
    caller.desk.keep(handle)
    admission.hold(handle)
    return handle, admission.headers
