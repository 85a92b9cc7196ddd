"""Beginning what counts for a user's limits, and going on with it."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.errors import SessionConflict
from roundtable.record import Fold
from roundtable.server.limits import Further
from roundtable.types import Control

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from roundtable.api.handle import DebateHandle
    from roundtable.server.limits import Admission
    from roundtable.server.state import Caller
    from roundtable.types import DurableEvent

__all__ = ["begun", "further_rounds", "gone_on", "gone_on_alone"]

_UNDO_S: Final = 2.0
_ENDING_S: Final = 5.0


async def begun(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], *, rounds: int, shared: int = 0
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Count a conversation or debate for the caller's limits, and let it run on their desk.

    Everything that can be checked must have been: what is refused by `start` counts for nothing, but only after the
    limits were asked.

    Args:
        caller: Who asks.
        start: Begins it.
        rounds: Rounds it may come to.
        shared: How many of them it has from another session.

    Returns:
        The running conversation, and the headers that tell the limits.

    Raises:
        RateLimited: One of the caller's limits is used up.
        RoundtableError: What `start` raises.
    """
    admission = await caller.state.limits.admit(caller.identity.user, rounds=max(0, rounds - shared))
    handle = await _running(caller, admission, start)
    admission.hold(handle, session=handle.session_id, through=rounds)
    return handle, admission.headers


async def gone_on(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], further: Further
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Go on with a session like `begun`: it takes a place, and counts those rounds that were not counted yet.

    Args:
        caller: Who asks.
        start: Goes on with it.
        further: The rounds that it may hold; see `further_rounds`.

    Raises:
        SessionConflict: It runs here.
        RateLimited: One of the caller's limits is used up.
        RoundtableError: What `start` raises.
    """
    # Of two who ask at once, one goes on with it; the other would wait for its end, and then do so once more.
    async with caller.desk.alone(further.session):
        return await gone_on_alone(caller, start, further)


async def gone_on_alone(
    caller: Caller, start: Callable[[], Awaitable[DebateHandle]], further: Further
) -> tuple[DebateHandle, Mapping[str, str]]:
    """Go on with a session like `gone_on`, within a block of `Desk.alone`."""
    await _check_at_rest(caller, further.session)
    admission = await caller.state.limits.go_on(caller.identity.user, further)
    handle = await _running(caller, admission, start)
    admission.hold(handle)
    return handle, admission.headers


async def _check_at_rest(caller: Caller, session_id: str) -> None:
    """Refuse to go on with what goes on.

    Raises:
        SessionConflict: The session runs.
    """
    running = caller.desk.running(session_id)
    if running is not None:
        # Its last event may have been heard before its run is put away.
        fold = await caller.desk.table.wiring.sessions.load(session_id)
        if fold.progress.status not in {"created", "active"}:
            with anyio.move_on_after(_ENDING_S):
                await running.wait()
    if caller.desk.running(session_id) is not None:
        msg = f"session {session_id!r} is running; what is to change can be said once it rests"
        raise SessionConflict(msg, hint="Wait for its end, or pause it.")


async def _running(caller: Caller, admission: Admission, start: Callable[[], Awaitable[DebateHandle]]) -> DebateHandle:
    try:
        handle = await start()
    except BaseException:
        with anyio.move_on_after(_UNDO_S, shield=True):
            await admission.undo()
        raise
    caller.desk.keep(handle)
    return handle


async def further_rounds(
    caller: Caller, session_id: str, *, added: int = 0, step: bool = False
) -> tuple[Fold, Further]:
    """Say which rounds a session may hold when it goes on.

    Args:
        caller: Whose session it is.
        session_id: Which.
        added: Rounds to hold besides, counted as `extend` counts them.
        step: Whether only the next one is held.

    Returns:
        The session, and its rounds.

    Raises:
        SessionNotFound: There is no such session.
        StorageError: It could not be read.
    """
    wiring = caller.desk.table.wiring
    record, events = await wiring.storage.read(session_id, tenant=wiring.options.tenant)
    fold = Fold(record, events)
    status, current, planned, _ = fold.progress
    held = sum(one.complete for one in fold.rounds)
    through = (current if status == "completed" else planned) + added
    least = max(added, int(_was_cut_short(fold, events)))
    return fold, Further(session_id, held, min(through, held + 1) if step else through, least)


def _was_cut_short(fold: Fold, events: Sequence[DurableEvent]) -> bool:
    """Tell whether calls are made once more because somebody cancelled them, a time-out did, or they failed.

    What the end of a server or process cut short is not its users' doing.
    """
    if fold.progress.status == "error" or (fold.exit is not None and fold.exit.reason == "deadline"):
        return True
    if fold.exit is None or fold.exit.reason != "paused":
        return False
    asked = (event for event in reversed(events) if isinstance(event, Control))
    return any(one.cancels for one in takewhile(lambda one: one.action == "pause", asked))
