"""Beginning and going on with sessions from a page, within the limits of who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.api.handle import DebateHandle
    from roundtable.server.state import Caller

__all__ = ["run"]


async def run(caller: Caller, begin: Callable[[], Awaitable[DebateHandle]], *, rounds: int = 0) -> DebateHandle:
    """Have a session run at the caller's desk; what cannot begin counts for nothing.

    Args:
        caller: Who asks.
        begin: Begins it, after all that can be checked.
        rounds: How many rounds are begun with it; 0 where a session goes on as planned.

    Raises:
        RateLimited: The caller has used up a limit.
    """
    admission = await caller.state.limits.admit(caller.identity.user, rounds=rounds, begins=rounds > 0)
    try:
        handle = await begin()
    except BaseException:
        await admission.undo()
        raise
    admission.hold(handle)
    caller.desk.keep(handle)
    return handle
