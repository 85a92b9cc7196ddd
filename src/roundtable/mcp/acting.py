"""Tools that run debates: start, go on, control, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from roundtable.api.offered import chosen_agents
from roundtable.errors import RoundtableError
from roundtable.mcp.failures import refused_value
from roundtable.mcp.following import follow, heartbeats
from roundtable.mcp.outputs import ControlOutput, SynthesisOutput
from roundtable.mcp.views import agent_of, debate_output
from roundtable.types import ContextResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.handle import DebateHandle
    from roundtable.mcp.call import Call
    from roundtable.mcp.inputs import ContinueInput, ControlInput, StartInput, SynthesisInput
    from roundtable.mcp.outputs import DebateOutput
    from roundtable.result import DebateResult
    from roundtable.types import ContextRequest, JsonValue

__all__ = ["continue_debate", "control", "start_debate", "synthesize"]

_LEAVE_S: Final = 5.0


async def start_debate(call: Call, given: StartInput) -> DebateOutput:
    """Begin a debate, and wait for its end as long as asked."""
    if given.agents is not None and given.agent_count is not None:
        problem = "goes with agents left out, not both"
        raise refused_value("start_roundtable", "agentCount", problem, ["agents", "agentCount"])
    table = call.desk.table
    made: list[DebateHandle] = []
    # A call that is cancelled just now must not leave a session behind that nobody runs.
    with anyio.CancelScope(shield=True):
        begun = await table.start(
            given.topic,
            step=given.step,
            mode=given.mode,
            rounds=given.rounds,
            options=given.options,
            exit_on_consensus=given.exit_on_consensus,
            perspectives=given.perspectives,
            focus_question=given.focus_question,
            agents=chosen_agents(table, given.agents, given.agent_count),
        )
        made.append(begun)
    return await _outcome(call, made[0], wait_s=given.wait, stops=given.on_cancel == "stop")


async def continue_debate(call: Call, given: ContinueInput) -> DebateOutput:
    """Go on with a debate, and wait for its end as long as asked."""
    table, session_id = call.desk.table, given.session_id
    running = call.desk.running(session_id)
    before = await table.session(session_id)
    asks_more = given.rounds or given.focus_question or given.context_results or given.step
    if running is not None:
        if asks_more:
            msg = f"session {session_id!r} is running; what is to change can be said once it rests"
            hint = "Wait for it with get_consensus, or pause it with control_session."
            raise RoundtableError(msg, code="SESSION_ERROR", retryable=True, hint=hint)
        return await _outcome(call, running, wait_s=given.wait, stops=given.on_cancel == "stop")
    results = _fitting(before, given.context_results)
    if not given.force:
        results = (*results, *await _asked_for(call, before, results))
        _check_answered(before, results)
    rounds = given.rounds or (1 if before.session_status == "completed" else 0)
    handle = await table.carry_on(
        session_id,
        rounds=rounds,
        step=given.step,
        focus_question=given.focus_question,
        context_results=results,
        force=given.force,
    )
    return await _outcome(call, handle, wait_s=given.wait, stops=given.on_cancel == "stop")


def _fitting(before: DebateResult, results: Sequence[ContextResult]) -> tuple[ContextResult, ...]:
    """Give the answers of the caller, each to something that agents wait for.

    A call that is made once more, because its answer got lost, is refused here rather than holding a round nobody asked
    for.

    Raises:
        InvalidArguments: An answer belongs to no request, or says nothing.
    """
    waiting: list[JsonValue] = [one.id for one in before.context_requests]
    for place, result in enumerate(results):
        field = f"contextResults.{place}"
        if result.request_id not in waiting:
            problem = f"no agent waits for {result.request_id!r}"
            raise refused_value("continue_roundtable", f"{field}.requestId", problem, waiting)
        if result.success and not (result.result or "").strip():
            problem = "success needs a result"
            raise refused_value("continue_roundtable", f"{field}.result", problem, "text, or success false")
    return tuple(results)


async def _asked_for(call: Call, before: DebateResult, results: Sequence[ContextResult]) -> tuple[ContextResult, ...]:
    """Have the user answer what agents require and the caller does not answer, where the client can ask them."""
    open_requests = _unanswered(before, results)
    if not open_requests:
        return ()
    names = {agent.id: agent.name for agent in before.agents}
    answers = await call.ask([(one, names.get(one.agent_id, one.agent_id)) for one in open_requests])
    return tuple(
        ContextResult(request_id=name, success=True, result=said)
        if said is not None
        else ContextResult(request_id=name, success=False, error="the user gave no answer")
        for name, said in answers.items()
    )


def _unanswered(before: DebateResult, results: Sequence[ContextResult]) -> list[ContextRequest]:
    """Give what agents require and nobody answers."""
    if before.status != "needs_context":
        return []
    known = {result.request_id for result in results}
    return [one for one in before.context_requests if one.priority == "required" and one.id not in known]


def _check_answered(before: DebateResult, results: Sequence[ContextResult] = ()) -> None:
    """Say what a caller of tools can do about what agents still wait for; the engine speaks to programs.

    Raises:
        RoundtableError: They wait for something; `details["missing"]` says for what.
    """
    missing = _unanswered(before, results)
    if missing:
        asked = "; ".join(f"{one.id}: {one.query}" for one in missing)
        raise RoundtableError(
            f"session {before.session_id!r} waits for information that its agents require: {asked}",
            code="SESSION_ERROR",
            hint="Call continue_roundtable with an entry for each of contextRequests in contextResults: an answer "
            "to some of them is not kept. With force it goes on without.",
            details={"missing": [one.model_dump(mode="json") for one in missing]},
        )


async def _outcome(call: Call, handle: DebateHandle, *, wait_s: float, stops: bool) -> DebateOutput:
    """Wait for a run, and say how it stands then."""
    table, session_id = call.desk.table, handle.session_id
    call.desk.keep(handle)
    try:
        await follow(call, handle, wait_s=wait_s)
    except anyio.get_cancelled_exc_class():
        if stops:
            with anyio.move_on_after(_LEAVE_S, shield=True):
                await handle.stop()
        raise
    if not handle.done:
        return debate_output(await table.session(session_id), running=True)
    return debate_output(await handle.result(), running=False)


async def control(call: Call, given: ControlInput) -> ControlOutput:
    """Pause, resume or stop a debate."""
    table, session_id = call.desk.table, given.session_id
    found = await table.session(session_id)
    before = found.session_status
    if given.action == "pause":
        await table.pause(session_id)
    elif given.action == "stop":
        await table.stop(session_id)
    else:
        await _resume(call, found)
    after = (await table.session(session_id)).session_status
    return ControlOutput(
        session_id=session_id,
        action=given.action,
        previous_status=before,
        new_status=after,
        message=_told(given.action, before, after),
    )


async def _resume(call: Call, found: DebateResult) -> None:
    session_id, before = found.session_id, found.session_status
    if before not in {"paused", "error"}:
        msg = f"session {session_id!r} is {before}; only a paused or broken one can be resumed"
        raise RoundtableError(msg, code="SESSION_ERROR", hint="continue_roundtable goes on with any other.")
    _check_answered(found)
    handle = await call.desk.table.carry_on(session_id)
    call.desk.keep(handle)
    # What keeps it from going on is told here, not only to whoever looks later.
    with anyio.move_on_after(_LEAVE_S):
        await handle.begun()


def _told(action: str, before: str, after: str) -> str:
    if action == "resume":
        return f"The session was {before} and goes on by itself; it is {after}."
    if after == before:
        return f"The session is asked to {action}; it is {after} until its running calls have ended."
    return f"The session was {before} and is {after}."


async def synthesize(call: Call, given: SynthesisInput) -> SynthesisOutput:
    """Have a debate put together by one model, or show what one wrote before."""
    table, by = call.desk.table, given.synthesizer
    if by is not None:
        agent_of(await table.session(given.session_id), by)
    async with heartbeats(call, f"session {given.session_id}: the synthesis is being written"):
        written = await table.synthesize(given.session_id, by=by)
    return SynthesisOutput(session_id=given.session_id, synthesizer_id=written.synthesizer_id, synthesis=written)
