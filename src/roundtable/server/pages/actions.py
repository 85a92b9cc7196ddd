"""Actions of the buttons on a session's page: pause, resume, step, stop, extend, fork, answer, approve tool calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal, assert_never

from fastapi import APIRouter, Request, Response

from roundtable.core.errors import RoundtableError
from roundtable.core.types.answers import ContextResult
from roundtable.server.approvals import approvals_of
from roundtable.server.pages.csrf import form_of
from roundtable.server.rendering import see_session
from roundtable.server.request_limits import check_fork, check_further, check_most_rounds, seconds_of
from roundtable.server.runs import further_rounds, resume_counted, start_run, until_begun
from roundtable.server.state import Writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.options import DebateOptions
    from roundtable.server.state import Caller

__all__ = ["router"]

_ANSWER: Final = "answer:"

router: APIRouter = APIRouter(include_in_schema=False)


@router.post("/sessions/{session_id}/answer")
async def answer(session_id: str, request: Request, caller: Writer) -> Response:
    """Resume a session whose agents requested information, with the answers in the form."""
    form = await form_of(request)
    await _resume(caller, session_id, results=_results(form), force="force" in form)
    return see_session(session_id)


@router.post("/sessions/{session_id}/approve")
async def approve(session_id: str, request: Request, caller: Writer) -> Response:
    """Allow or refuse a tool call, as chosen in the form."""
    form = await form_of(request)
    await approvals_of(caller.state).decide(
        caller.identity.tenant,
        session_id,
        form.get("approval", ""),
        allowed=form.get("verdict") == "allow",
        reason=form.get("reason", ""),
    )
    return see_session(session_id)


@router.post("/sessions/{session_id}/extend")
async def extend(session_id: str, request: Request, caller: Writer) -> Response:
    """Run more rounds of a session."""
    added = _whole_number(await form_of(request), "rounds", "Further rounds")
    check_most_rounds(caller, added)
    await _resume(caller, session_id, rounds=added)
    return see_session(session_id)


@router.post("/sessions/{session_id}/fork")
async def fork(session_id: str, request: Request, caller: Writer) -> Response:
    """Start a session that shares the first rounds of another session, in the same or another mode, and show it."""
    form = await form_of(request)
    shared = _whole_number(form, "after", "After round")
    changes: DebateOptions = {"mode": form["mode"]} if form.get("mode") else {}
    rounds = await check_fork(caller, session_id, changes)
    begin = partial(caller.tenant_session.table.start_fork, session_id, at_round=shared, wait_for="all", **changes)
    handle, _ = await start_run(caller, until_begun(begin), rounds=rounds, shared=shared)
    return see_session(handle.session_id)


@router.post("/sessions/{session_id}/{action}")  # after routes whose paths it would also match
async def act(session_id: str, action: Literal["pause", "resume", "step", "stop"], caller: Writer) -> Response:
    """Pause a session, resume it to its end or for one round, or stop it for good."""
    table = caller.tenant_session.table
    match action:
        case "pause":
            await table.pause(session_id)
        case "stop":
            await table.stop(session_id)
        case "resume" | "step":
            await _resume(caller, session_id, step=action == "step")
        case _:
            assert_never(action)
    return see_session(session_id)


def _whole_number(form: Mapping[str, str], name: str, label: str) -> int:
    """Read a whole number of a form.

    Raises:
        RoundtableError: The field is not a whole number of at least 1.
    """
    text = form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 5 and int(text)):
        raise RoundtableError(f"{label}: write a whole number from 1, not {text[:40]!r}", code="VALIDATION_ERROR")
    return int(text)


def _results(form: Mapping[str, str]) -> tuple[ContextResult, ...]:
    """Return the answers of a form; empty fields are not answers."""
    return tuple(
        ContextResult(request_id=name.removeprefix(_ANSWER), success=True, result=text.strip())
        for name, text in form.items()
        if name.startswith(_ANSWER) and name != _ANSWER and text.strip()
    )


async def _resume(
    caller: Caller,
    session_id: str,
    *,
    rounds: int = 0,
    step: bool = False,
    results: Sequence[ContextResult] = (),
    force: bool = False,
) -> None:
    fold, further = await further_rounds(caller, session_id, added=rounds, step=step)
    check_further(caller, fold, further)
    begin = partial(
        caller.tenant_session.table.start_resume,
        session_id,
        rounds=rounds,
        step=step,
        context_results=results,
        force=force,
        wait_for="all",
        deadline_s=seconds_of(caller, None, team=fold.record.config.team is not None),
    )
    await resume_counted(caller, until_begun(begin), further)
