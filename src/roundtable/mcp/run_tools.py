"""Tools that run debates: start, continue, control and synthesize them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.api.offered import debate_options
from roundtable.core.errors import RoundtableError
from roundtable.core.types.answers import ContextResult
from roundtable.mcp.errors import invalid_value
from roundtable.mcp.outputs import ControlOutput, SynthesisOutput
from roundtable.mcp.progress import follow, heartbeats, latest
from roundtable.mcp.views import agent_of, debate_output

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from roundtable.api.runs import DebateHandle
    from roundtable.core.types.answers import ContextRequest
    from roundtable.core.types.base import JsonValue
    from roundtable.mcp.inputs import ContinueInput, ControlInput, StartInput, SynthesisInput
    from roundtable.mcp.outputs import DebateOutput
    from roundtable.mcp.tool import ToolCallContext
    from roundtable.results.debate_result import DebateResult

__all__ = ["continue_debate", "control", "start_debate", "synthesize"]


_MAX_CONTROL_S: Final = 5.0
_POLL_S: Final = 0.25


async def start_debate(call: ToolCallContext, arguments: StartInput) -> DebateOutput:
    """Start a debate, and wait for its end, at most for the requested time."""
    if arguments.agents is not None and arguments.agent_count is not None:
        problem = "cannot be combined with agents"
        raise invalid_value("start_roundtable", "agentCount", problem, ["agents", "agentCount"])
    table = call.tenant_session.table
    # A list, because type checkers assume that the scope may suppress an exception.
    started: list[DebateHandle] = []
    # If the call is cancelled here, no stored session may be left behind that no process runs.
    with anyio.CancelScope(shield=True):
        handle = await table.start(
            arguments.topic,
            step=arguments.step,
            wait_for="all",
            **debate_options(table, arguments, count=arguments.agent_count),
        )
        started.append(handle)
    call.tenant_session.keep(started[0])
    return await _outcome(call, started[0].session_id, arguments, started[0])


async def continue_debate(call: ToolCallContext, arguments: ContinueInput) -> DebateOutput:
    """Continue a debate, and wait for its end, at most for the requested time."""
    table, session_id = call.tenant_session.table, arguments.session_id
    before, running = await latest(call, session_id)
    if running:
        if _has_changes(arguments):
            msg = f"session {session_id!r} is running; it can be changed only while it is not running"
            hint = "Wait for its end with get_consensus, or pause it with control_session."
            raise RoundtableError(msg, code="SESSION_ERROR", retryable=True, hint=hint)
        return await _outcome(call, session_id, arguments, call.tenant_session.running(session_id))
    results = _check_results(before, arguments.context_results)
    _check_continuable(before, arguments)
    if not arguments.force:
        results = (*results, *await _ask_user(call, before, results))
        _check_answered(before, results)
    async with _hold_session(call, before):
        handle = await table.start_resume(
            session_id,
            rounds=arguments.rounds or 0,
            step=arguments.step,
            focus_question=arguments.focus_question,
            context_results=results,
            force=arguments.force,
            budget=arguments.budget,
            deadline_s=arguments.deadline_s,
            on_change=arguments.on_change,
            wait_for="all",
        )
        call.tenant_session.keep(handle)
    return await _outcome(call, session_id, arguments, handle)


@asynccontextmanager
async def _hold_session(call: ToolCallContext, before: DebateResult) -> AsyncGenerator[None]:
    """Keep other calls from continuing a session while the block is open.

    Raises:
        RoundtableError: Another call has continued the session since it was read.
    """
    session_id = before.session_id
    async with call.tenant_session.lock_session(session_id):
        now, running = await latest(call, session_id)
        if running or (now.session_status, now.head) != (before.session_status, before.head):
            msg = f"session {session_id!r} was continued by another call at the same time"
            hint = "Wait for its end with get_consensus, then continue it if you need more rounds."
            raise RoundtableError(msg, code="SESSION_ERROR", retryable=True, hint=hint)
        yield


def _has_changes(arguments: ContinueInput) -> bool:
    return any(
        (
            arguments.rounds,
            arguments.focus_question,
            arguments.context_results,
            arguments.step,
            arguments.budget,
            arguments.deadline_s,
        )
    )


def _check_continuable(before: DebateResult, arguments: ContinueInput) -> None:
    """Check that a debate is neither stopped nor paused; a completed debate needs additional rounds.

    Raises:
        RoundtableError: The debate cannot be continued; the hint says what to do instead.
    """
    session_id, status = before.session_id, before.session_status
    reason = None if before.exit is None else before.exit.reason
    if status == "completed" and reason == "stopped":
        msg = f"session {session_id!r} was stopped for good"
        hint = (
            "start_roundtable begins a new debate. The operator of the server can continue this debate: "
            f"`roundtable extend {session_id}` adds rounds, `roundtable fork {session_id}` continues a copy."
        )
    elif status == "completed" and not arguments.rounds:
        msg = f"session {session_id!r} is completed: all its rounds ran, or nothing was left to debate"
        hint = (
            "Call continue_roundtable with `rounds` to add that many rounds. `roundtable fork` continues a copy "
            "from an earlier round."
        )
    elif status == "paused" and reason == "paused":
        msg = f"session {session_id!r} is paused"
        hint = "Call control_session with the action resume; the debate then continues by itself."
    else:
        return
    raise RoundtableError(msg, code="SESSION_ERROR", hint=hint)


def _check_results(before: DebateResult, results: Sequence[ContextResult]) -> tuple[ContextResult, ...]:
    """Check that each answer of the caller belongs to an open request, and return the answers.

    A client may repeat a call because the first response was lost. This check refuses the repeated call, which would
    otherwise run a round that nobody requested.

    Raises:
        InvalidArguments: An answer does not belong to an open request, or is empty.
    """
    waiting: list[JsonValue] = [request.id for request in before.context_requests]
    for index, result in enumerate(results):
        field = f"contextResults.{index}"
        if result.request_id not in waiting:
            problem = f"no agent waits for {result.request_id!r}"
            raise invalid_value("continue_roundtable", f"{field}.requestId", problem, waiting)
        if result.success and not (result.result or "").strip():
            problem = "success needs a result"
            raise invalid_value("continue_roundtable", f"{field}.result", problem, "text, or success false")
    return tuple(results)


async def _ask_user(
    call: ToolCallContext, before: DebateResult, results: Sequence[ContextResult]
) -> tuple[ContextResult, ...]:
    """Ask the user for required information that the call does not contain, if the client can ask its user."""
    open_requests = _unanswered_requests(before, results)
    if not open_requests:
        return ()
    names = {agent.id: agent.name for agent in before.agents}
    answers = await call.ask([(request, names.get(request.agent_id, request.agent_id)) for request in open_requests])
    return tuple(
        ContextResult(request_id=request_id, success=True, result=answer)
        if answer is not None
        else ContextResult(request_id=request_id, success=False, error="the user gave no answer")
        for request_id, answer in answers.items()
    )


def _unanswered_requests(before: DebateResult, results: Sequence[ContextResult]) -> list[ContextRequest]:
    """Return the required requests without an answer."""
    if before.status != "needs_context":
        return []
    answered = {result.request_id for result in results}
    return [
        request for request in before.context_requests if request.priority == "required" and request.id not in answered
    ]


def _check_answered(before: DebateResult, results: Sequence[ContextResult] = ()) -> None:
    """Check that no agent waits for required information; the engine checks this too, but has no hint for tool callers.

    Raises:
        RoundtableError: Agents wait for information; `details["missing"]` lists the requests.
    """
    missing = _unanswered_requests(before, results)
    if missing:
        queries = "; ".join(f"{request.id}: {request.query}" for request in missing)
        raise RoundtableError(
            f"session {before.session_id!r} waits for information that its agents require: {queries}",
            code="SESSION_ERROR",
            hint="Call continue_roundtable with an entry in contextResults for each entry of contextRequests: if some "
            "answers are missing, none is stored. With force, the debate continues without the missing answers.",
            details={"missing": [request.model_dump(mode="json") for request in missing]},
        )


async def _outcome(
    call: ToolCallContext, session_id: str, arguments: StartInput | ContinueInput, handle: DebateHandle | None
) -> DebateOutput:
    """Wait for a run, and return its state after that; without a handle, another server runs it."""
    table = call.tenant_session.table
    try:
        await follow(call, session_id, handle, wait_s=arguments.wait)
    except anyio.get_cancelled_exc_class():
        if arguments.on_cancel == "stop":
            with anyio.move_on_after(_MAX_CONTROL_S, shield=True):
                await table.stop(session_id)
        raise
    if handle is not None and handle.done:
        return debate_output(await handle.result(), running=False)
    result, running = await latest(call, session_id)
    return debate_output(result, running=handle is not None or running)


async def control(call: ToolCallContext, arguments: ControlInput) -> ControlOutput:
    """Pause, resume or stop a debate."""
    table, session_id = call.tenant_session.table, arguments.session_id
    before, runs = (await table.session(session_id)).session_status, True
    if arguments.action == "pause":
        await table.pause(session_id)
    elif arguments.action == "stop":
        await table.stop(session_id)
    else:
        async with call.tenant_session.lock_session(session_id):  # if two calls arrive together, only one resumes
            runs = await _resume(call, *await latest(call, session_id))
    after = (await table.session(session_id)).session_status
    return ControlOutput(
        session_id=session_id,
        action=arguments.action,
        previous_status=before,
        new_status=after,
        message=_control_message(arguments.action, before, after, runs=runs),
    )


async def _resume(call: ToolCallContext, session: DebateResult, running: bool) -> bool:  # noqa: FBT001  (of `latest`)
    """Resume a debate that was paused or failed, or whose process died; return whether it is running afterwards.

    A debate that runs in steps continues to the end of its round. If the round is already complete, the debate waits
    for the next step.
    """
    table, session_id = call.tenant_session.table, session.session_id
    _check_resumable(session, running=running)
    _check_answered(session)
    step = session.exit is not None and session.exit.figures.get("step") is True
    if step and session.rounds and session.rounds[-1].complete:
        await table.control(session_id, "resume")
        return False
    fold = await table.state(session_id)
    subscription = table.subscribe(session_id, after=fold.last_seq, catch_up=False, pieces=False)
    with subscription, anyio.move_on_after(_MAX_CONTROL_S):
        handle = await table.start_resume(session_id, step=step, wait_for="all")
        call.tenant_session.keep(handle)
        # If the debate cannot be resumed, raise the error here; otherwise only a later call would show it.
        await handle.begun()
        # The first durable event stores the new state of the session.
        while not handle.done and ((event := await subscription.take(_POLL_S)) is None or not event.durable):
            pass
    return True


def _check_resumable(session: DebateResult, *, running: bool) -> None:
    """Check that a debate is not running, completed, or between two steps.

    Raises:
        RoundtableError: The debate cannot be resumed; the hint says what to do instead.
    """
    session_id, status = session.session_id, session.session_status
    if status in {"paused", "error"}:
        return
    if status == "completed":
        msg = f"session {session_id!r} is completed; only a paused or failed session can be resumed"
        hint = "Unless the session was stopped for good, continue_roundtable with `rounds` adds rounds to it."
    elif running:
        msg = f"session {session_id!r} is {status} and running; only a session that is not running can be resumed"
        hint = "Wait for its end with get_consensus. If its process has just died, try again in 15 seconds."
    elif session.exit is None and 0 < len(session.rounds) < session.total_rounds and session.rounds[-1].complete:
        msg = f"session {session_id!r} is {status} and between two rounds; it is not paused"
        hint = "continue_roundtable runs the remaining rounds; with step, it runs only one of them."
    else:
        return  # its process died
    raise RoundtableError(msg, code="SESSION_ERROR", hint=hint)


def _control_message(action: str, before: str, after: str, *, runs: bool) -> str:
    if not runs:
        return f"The session was {before} and is {after}; continue_roundtable with step runs its next round."
    if action == "resume":
        was = "left by its process" if before in {"created", "active"} else before
        return f"The session was {was} and continues; it is {after}."
    if after == before:
        return f"The session was asked to {action}; it is {after} until its running calls have ended."
    return f"The session was {before} and is {after}."


async def synthesize(call: ToolCallContext, arguments: SynthesisInput) -> SynthesisOutput:
    """Return the synthesis of a debate; if none is stored, a model writes it."""
    table, synthesizer = call.tenant_session.table, arguments.synthesizer
    if synthesizer is not None:
        agent_of(await table.session(arguments.session_id), synthesizer)
    async with heartbeats(call, f"session {arguments.session_id}: the synthesis is being written"):
        synthesis = await table.synthesize(arguments.session_id, by=synthesizer)
    return SynthesisOutput(
        session_id=arguments.session_id, synthesizer_id=synthesis.synthesizer_id, synthesis=synthesis
    )
