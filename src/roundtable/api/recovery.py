"""Continue sessions that ended processes left unfinished: each only once, even if several processes recover."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import anyio

from roundtable.api.debates import finish
from roundtable.api.many import run_jobs
from roundtable.core.base.owner import current_owner
from roundtable.core.capabilities import Leases
from roundtable.core.errors import RoundtableError, SessionBusy, SessionConflict, SessionNotFound, StorageError
from roundtable.core.stages import error_info
from roundtable.core.types.storage import SessionFilter
from roundtable.engine import RunLimits
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import RecoveredSession

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from roundtable.api.assembly import TableParts
    from roundtable.api.changes import OnChange
    from roundtable.api.debates import Debates
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.debate import SessionStatus
    from roundtable.core.types.storage import SessionSummary

__all__ = ["recover"]

_LEASE_S = RunLimits().lease_ttl_s
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class _Left:
    """The sessions that an ended process may have left unfinished, grouped by what is known about the process."""

    free: tuple[SessionSummary, ...]
    """Sessions that no process runs."""
    doubtful: tuple[SessionSummary, ...]
    """Sessions whose processes are on other hosts and may have ended."""


async def recover(
    debates: Debates, wiring: TableParts, *, concurrency: int, cancelled: bool, on_change: OnChange
) -> tuple[RecoveredSession, ...]:
    """Continue the sessions that were left unfinished; see `Roundtable.recover`."""
    left = await _find_left(wiring, cancelled=cancelled)
    places = anyio.Semaphore(concurrency)
    recovered: list[RecoveredSession] = []

    async def continue_one(summary: SessionSummary) -> RecoveredSession:
        async with places:
            return await _continue(debates, wiring, summary, on_change=on_change)

    async def continue_free(summaries: Sequence[SessionSummary]) -> None:
        recovered.extend(await run_jobs([partial(continue_one, summary) for summary in summaries], at_once=concurrency))

    failure: StorageError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(continue_free, left.free)
        if left.doubtful:
            # A process that is still alive renews its lease in this time.
            await anyio.sleep(_LEASE_S)
            try:
                ended = [summary for summary in left.doubtful if not await _is_run(wiring, summary.id)]
            except StorageError as error:
                failure = error  # raised below; raised here, it would cancel the debates that are being continued
            else:
                group.start_soon(continue_free, ended)
    if failure is not None:
        raise failure
    order = {summary.id: number for number, summary in enumerate((*left.free, *left.doubtful))}
    return tuple(sorted(recovered, key=lambda session: order[session.session_id]))


async def _find_left(wiring: TableParts, *, cancelled: bool) -> _Left:
    free: list[SessionSummary] = []
    doubtful: list[SessionSummary] = []
    async for summary in _unfinished_sessions(wiring, cancelled=cancelled):
        storage = wiring.storage
        holder = await storage.holder(summary.id, tenant=wiring.options.tenant) if isinstance(storage, Leases) else None
        if holder is None:
            free.append(summary)
        elif holder.host != current_owner().host:
            doubtful.append(summary)
    return _Left(tuple(reversed(free)), tuple(reversed(doubtful)))  # the oldest first


async def _unfinished_sessions(wiring: TableParts, *, cancelled: bool) -> AsyncGenerator[SessionSummary]:
    """Yield the sessions that somebody neither ended nor paused on purpose, newest first."""
    statuses: tuple[SessionStatus, ...] = ("active", "created", *(("paused",) if cancelled else ()))
    # A session is created a moment before its process takes the lease.
    begun_before = wiring.sessions.clock.now() - timedelta(seconds=_LEASE_S)
    for status in statuses:
        wanted = SessionFilter(tenant=wiring.options.tenant, status=status, limit=_PAGE)
        while page := await wiring.sessions.summaries(wanted):
            for summary in page:
                is_new = status == "created" and summary.created_at > begun_before
                is_chosen = status == "paused" and summary.exit_reason != "cancelled"
                if not is_new and not is_chosen and summary.error is None:
                    yield summary
            wanted = wanted.model_copy(update={"after": page[-1].cursor})


async def _is_run(wiring: TableParts, session_id: str) -> bool:
    try:
        return await wiring.sessions.is_run(session_id) is True
    except SessionNotFound:
        return True  # deleted meanwhile, so there is nothing to continue


def _is_held_in_steps(fold: Fold) -> bool:
    """Check whether a session waits between two rounds because its owner runs it step by step, one round each.

    Logs of earlier versions do not say why a session waits there; such a session is left to its owner.
    """
    rounds, is_active = len(fold.rounds), fold.progress.status == "active" and fold.exit is None
    rests = is_active and 0 < rounds < fold.progress.total_rounds and fold.rounds[-1].complete
    return rests and fold.rounds[-1].step is not False


async def _continue(
    debates: Debates, wiring: TableParts, summary: SessionSummary, *, on_change: OnChange
) -> RecoveredSession:
    recovered = partial(RecoveredSession, session_id=summary.id, topic=summary.topic)
    try:
        fold = await wiring.sessions.load(summary.id)
        if fold.pending_control is not None:
            # A pause or stop was requested after the process had ended.
            await wiring.engine.carry_out_control(summary.id)
            return recovered(outcome="ended")
        if _is_held_in_steps(fold):
            return recovered(outcome="waiting")
        result = await finish(await debates.prepare_resume(summary.id, on_change=on_change))
    except (SessionBusy, SessionNotFound) as error:
        return recovered(outcome="taken", error=error_info(error))
    except SessionConflict as error:
        is_waiting = "missing" in (error.details or {})
        return recovered(outcome="waiting" if is_waiting else "taken", error=error_info(error))
    except RoundtableError as error:
        partial_result = error.partial if isinstance(error.partial, DebateResult) else None
        return recovered(outcome="failed", error=error_info(error), result=partial_result)
    return recovered(outcome="completed" if result.status == "completed" else "partial", result=result)
