"""Endpoints that control sessions: pause, stop, resume, extend, fork, synthesize, approve tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import anyio
from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from roundtable.core.engine.synthesis import stored_synthesis
from roundtable.core.errors import BudgetExceeded, ConfigurationError, SessionError
from roundtable.core.types.consensus import SynthesisResult
from roundtable.server.approvals import approvals_of
from roundtable.server.openapi_parts import json_body, json_response
from roundtable.server.request_bodies import (
    ApprovalBody,
    ExtendBody,
    ForkBody,
    JsonBody,
    PauseBody,
    ResumeBody,
    StopBody,
    SynthesisBody,
)
from roundtable.server.request_limits import check_fork, check_further, check_most_rounds, seconds_of
from roundtable.server.response_bodies import ApprovalList, Started, links_of
from roundtable.server.routes.debates import options_of
from roundtable.server.routes.sessions import SessionId
from roundtable.server.runs import (
    RUN_RESPONSES,
    ResponseOptions,
    follow,
    further_rounds,
    json_answer,
    launch,
    resume_counted,
    start_run,
)
from roundtable.server.state import Caller, Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.api.runs import DebateHandle
    from roundtable.server.runs import Begin

__all__ = ["router"]


router: APIRouter = APIRouter(prefix="/api/sessions/{sessionId}", tags=["control"], default_response_class=Response)


_ACCEPTED: Final = json_response(
    "The request is accepted, but may not have taken effect yet. The response is the current state of the session.",
    Started,
    status=202,
)


@router.post(
    "/pause",
    operation_id="pauseSession",
    status_code=202,
    responses=_ACCEPTED,
    openapi_extra=json_body(PauseBody, required=False),
)
async def pause_session(
    caller: Writer, session_id: SessionId, body: Annotated[PauseBody, Depends(JsonBody(PauseBody, required=False))]
) -> Response:
    """Ask a session to pause, no matter which process runs it. No new call starts; `resume` continues the session."""
    await caller.tenant_session.table.pause(session_id, running=body.running)
    return await _state_response(caller, session_id)


@router.post(
    "/stop",
    operation_id="stopSession",
    status_code=202,
    responses=_ACCEPTED,
    openapi_extra=json_body(StopBody, required=False),
)
async def stop_session(
    caller: Writer, session_id: SessionId, body: Annotated[StopBody, Depends(JsonBody(StopBody, required=False))]
) -> Response:
    """Ask a session to stop for good, no matter which process runs it. It is then completed with its results so far."""
    await caller.tenant_session.table.stop(session_id, running=body.running)
    return await _state_response(caller, session_id)


async def _state_response(caller: Caller, session_id: str) -> Response:
    """Return the current state of a session, which may change only after its running calls have ended."""
    result = await caller.tenant_session.table.session(session_id)
    return json_answer(
        Started(session_id=session_id, session_status=result.session_status, links=links_of(session_id)), 202
    )


@router.post(
    "/resume",
    operation_id="resumeSession",
    status_code=202,
    responses=RUN_RESPONSES,
    openapi_extra=json_body(ResumeBody, required=False),
)
async def resume_session(
    caller: Writer,
    wanted: ResponseOptions,
    session_id: SessionId,
    body: Annotated[ResumeBody, Depends(JsonBody(ResumeBody, required=False))],
) -> Response:
    """Resume a session that was paused, that failed, or whose process died.

    The response is like that of `POST /api/debates`.
    """
    return await _continue_session(caller, wanted, session_id, body)


@router.post(
    "/extend",
    operation_id="extendSession",
    status_code=202,
    responses=RUN_RESPONSES,
    openapi_extra=json_body(ExtendBody, required=False),
)
async def extend_session(
    caller: Writer,
    wanted: ResponseOptions,
    session_id: SessionId,
    body: Annotated[ExtendBody, Depends(JsonBody(ExtendBody, required=False))],
) -> Response:
    """Run more rounds of a session. The response is like that of `POST /api/debates`."""
    check_most_rounds(caller, body.rounds)
    return await _continue_session(caller, wanted, session_id, body)


async def _continue_session(
    caller: Caller, wanted: ResponseOptions, session_id: str, body: ResumeBody | ExtendBody
) -> Response:
    """Resume a session, with more rounds if an `ExtendBody` asks for them, or follow a run that has already begun."""
    if wanted.follows:
        return await follow(caller, wanted, session_id)
    if isinstance(body, ExtendBody):
        action, rounds, focus_question = "extend", body.rounds, body.focus_question
        fold, further = await further_rounds(caller, session_id, added=rounds)
    else:
        action, rounds, focus_question = "resume", 0, None
        fold, further = await further_rounds(caller, session_id, step=body.step)
    deadline_s = seconds_of(caller, body.deadline_s, team=fold.record.config.team is not None)

    async def begin() -> DebateHandle:
        return await caller.tenant_session.table.start_resume(
            session_id,
            rounds=rounds,
            step=body.step,
            focus_question=focus_question,
            context_results=body.context_results,
            force=body.force,
            budget=body.budget,
            deadline_s=deadline_s,
            on_change=body.on_change,
            wait_for="all",
        )

    async def count(start: Begin) -> tuple[DebateHandle, Mapping[str, str]]:
        # Not checked earlier: a repeated request with a key would seem to ask for its rounds a second time.
        check_further(caller, fold, further)
        return await resume_counted(caller, start, further)

    request = f"{action}:{session_id}:{body.to_json()}".encode()
    return await launch(caller, wanted, begin, request=request, count=count, goes_on_from=fold.last_seq)


@router.post(
    "/fork",
    operation_id="forkSession",
    status_code=202,
    responses=RUN_RESPONSES,
    openapi_extra=json_body(ForkBody, examples={"another mode": {"atRound": 1, "mode": "adversarial"}}),
)
async def fork_session(
    caller: Writer,
    wanted: ResponseOptions,
    session_id: SessionId,
    body: Annotated[ForkBody, Depends(JsonBody(ForkBody))],
) -> Response:
    """Start a session that shares the first rounds of another session.

    The response is like that of `POST /api/debates`.
    """
    changes = options_of(caller, body)

    async def begin() -> DebateHandle:
        return await caller.tenant_session.table.start_fork(
            session_id,
            at_round=body.at_round,
            step=body.step,
            context_results=body.context_results,
            wait_for="all",
            **changes,
        )

    async def count(start: Begin) -> tuple[DebateHandle, Mapping[str, str]]:
        # Not checked earlier: after the first request with a key, the session may have been extended or deleted.
        rounds = await check_fork(caller, session_id, changes)
        return await start_run(caller, start, rounds=rounds, shared=body.at_round)

    request = f"fork:{session_id}:{body.to_json()}".encode()
    return await launch(caller, wanted, begin, request=request, count=count)


@router.post(
    "/synthesize",
    operation_id="synthesizeSession",
    responses=json_response("The synthesis.", SynthesisResult),
    openapi_extra=json_body(SynthesisBody, required=False),
)
async def synthesize_session(
    caller: Writer,
    session_id: SessionId,
    body: Annotated[SynthesisBody, Depends(JsonBody(SynthesisBody, required=False))],
) -> Response:
    """Return a synthesis of a session: the stored synthesis, or a new one that a model writes during the request.

    A new synthesis counts as one round for the caller's limits.
    """
    # Of two requests at once, the second gets what the first one wrote, and is not counted.
    async with caller.tenant_session.lock_session(f"synthesis of {session_id}"):
        return json_answer(await _synthesize_counted(caller, session_id, body.by))


async def _synthesize_counted(caller: Caller, session_id: str, by: str | None) -> SynthesisResult:
    """Return the synthesis of a session; a new one counts as one round."""
    table = caller.tenant_session.table
    written = stored_synthesis(await table.state(session_id), by)
    if written is not None:
        return written
    admission = await caller.state.limits.admit(caller.identity.user, rounds=1, begins=False)
    run = _SynthesisRun()
    admission.hold(run)
    try:
        return await table.synthesize(session_id, by=by)
    except (ConfigurationError, SessionError, BudgetExceeded):
        await admission.undo()  # no model was called
        raise
    finally:
        run.over.set()


@router.get(
    "/approvals", operation_id="listApprovals", responses=json_response("The calls, oldest first.", ApprovalList)
)
async def list_approvals(caller: Reader, session_id: SessionId) -> Response:
    """List the tool calls of a session that wait for approval, on a server with `--approve-tools`."""
    await _check_session(caller, session_id)
    return await _approvals_response(caller, session_id)


@router.post(
    "/approvals/{approvalId}",
    operation_id="decideApproval",
    responses=json_response("The calls that are still waiting, oldest first.", ApprovalList),
    openapi_extra=json_body(ApprovalBody, examples={"refuse": {"allowed": False, "reason": "It is too expensive."}}),
)
async def decide_approval(
    caller: Writer,
    session_id: SessionId,
    approval_id: Annotated[
        str, Path(alias="approvalId", min_length=1, max_length=200, description="Id of the tool call.")
    ],
    body: Annotated[ApprovalBody, Depends(JsonBody(ApprovalBody))],
) -> Response:
    """Allow a tool call, or refuse it with a reason that the agent reads; the first answer counts."""
    await _check_session(caller, session_id)
    await approvals_of(caller.state).decide(
        caller.identity.tenant, session_id, approval_id, allowed=body.allowed, reason=body.reason
    )
    return await _approvals_response(caller, session_id)


async def _check_session(caller: Caller, session_id: str) -> None:
    """Check that a session exists; for a session that runs here, the storage is not read.

    Raises:
        SessionNotFound: No session has this id.
    """
    if caller.tenant_session.running(session_id) is None:
        await caller.tenant_session.table.state(session_id)


async def _approvals_response(caller: Caller, session_id: str) -> Response:
    waiting = await approvals_of(caller.state).waiting(caller.identity.tenant, session_id)
    return json_answer(ApprovalList(approvals=waiting))


class _SynthesisRun:
    """A running synthesis, which occupies a slot of its user like every run."""

    def __init__(self) -> None:
        self.over = anyio.Event()

    async def wait(self) -> None:
        """Wait until the synthesis has ended."""
        await self.over.wait()
