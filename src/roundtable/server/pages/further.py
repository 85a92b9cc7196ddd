"""Actions of the pages that run more of a session: further rounds, and a fork."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from roundtable.api.offered import seated_again
from roundtable.errors import RoundtableError
from roundtable.server.pages.csrf import form_of
from roundtable.server.rendering import see
from roundtable.server.request_limits import check_affordable, check_further, check_most_rounds, seconds_of
from roundtable.server.runs import begun, further_rounds, resume_counted, until_begun
from roundtable.server.state import Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.api.options import DebateOptions

__all__ = ["router"]

router: APIRouter = APIRouter(include_in_schema=False)


@router.post("/sessions/{session_id}/extend")
async def extend(session_id: str, request: Request, caller: Writer) -> Response:
    """Run more rounds of a session."""
    added = _whole_number(await form_of(request), "rounds", "Further rounds")
    check_most_rounds(caller, added)
    fold, further = await further_rounds(caller, session_id, added=added)
    check_further(caller, fold, further)
    begin = partial(
        caller.tenant_session.table.start_resume,
        session_id,
        rounds=added,
        deadline_s=seconds_of(caller, None, team=fold.record.config.team is not None),
    )
    await resume_counted(caller, until_begun(begin), further)
    return see(f"/sessions/{session_id}")


@router.post("/sessions/{session_id}/fork")
async def fork(session_id: str, request: Request, caller: Writer) -> Response:
    """Start a session that shares the first rounds of another, in this mode or another, and show it."""
    form = await form_of(request)
    shared = _whole_number(form, "after", "After round")
    table = caller.tenant_session.table
    fold = await table.wiring.sessions.load(session_id)
    config, rounds = fold.record.config, fold.progress.total_rounds
    changes: DebateOptions = {"mode": form["mode"]} if form.get("mode") else {}
    check_most_rounds(caller, rounds)
    if config.team is None:
        agents = seated_again(table, fold.record.agents)
        await check_affordable(
            caller, config.topic, {"mode": config.mode, "rounds": rounds, "agents": agents, **changes}
        )
    begin = partial(table.start_fork, session_id, at_round=shared, **changes)
    handle, _ = await begun(caller, until_begun(begin), rounds=rounds, shared=shared)
    return see(f"/sessions/{handle.session_id}")


def _whole_number(form: Mapping[str, str], name: str, label: str) -> int:
    """Read a whole number of a form.

    Raises:
        RoundtableError: It is not a whole number from 1.
    """
    text = form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 5 and int(text)):
        raise RoundtableError(f"{label}: write a whole number from 1, not {text[:40]!r}", code="VALIDATION_ERROR")
    return int(text)
