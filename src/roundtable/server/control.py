"""Controlling sessions: pause and stop, go on, extend, fork, put together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import anyio
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from roundtable.api.offered import seated_again
from roundtable.engine.synthesis import stored_synthesis
from roundtable.errors import ConfigurationError, SessionError
from roundtable.server.answers import Started, links_of
from roundtable.server.bodies import ExtendBody, ForkBody, PauseBody, ResumeBody, StopBody, SynthesisBody
from roundtable.server.bounds import check_affordable, check_further, check_most_rounds, seconds_of
from roundtable.server.debates import debate_options
from roundtable.server.describing import gives, takes
from roundtable.server.launching import ANSWERED, Wanted, json_answer, launch
from roundtable.server.reading import JsonBody
from roundtable.server.sessions import SessionId
from roundtable.server.starting import begun, further_rounds, gone_on
from roundtable.server.state import Caller, Writer
from roundtable.types import SynthesisResult

if TYPE_CHECKING:
    from roundtable.api.handle import DebateHandle

__all__ = ["router"]

router: APIRouter = APIRouter(prefix="/api/sessions/{sessionId}", tags=["control"], default_response_class=Response)


_ASKED: Final = gives("It is asked to; its state now.", Started, status=202)


@router.post(
    "/pause",
    operation_id="pauseSession",
    status_code=202,
    responses=_ASKED,
    openapi_extra=takes(PauseBody, required=False),
)
async def pause_session(
    caller: Writer, session_id: SessionId, given: Annotated[PauseBody, Depends(JsonBody(PauseBody, required=False))]
) -> Response:
    """Ask a session to pause, whichever process runs it: no further call starts. `resume` goes on with it."""
    await caller.desk.table.pause(session_id, running=given.running)
    return await _state(caller, session_id)


@router.post(
    "/stop",
    operation_id="stopSession",
    status_code=202,
    responses=_ASKED,
    openapi_extra=takes(StopBody, required=False),
)
async def stop_session(
    caller: Writer, session_id: SessionId, given: Annotated[StopBody, Depends(JsonBody(StopBody, required=False))]
) -> Response:
    """Ask a session to stop for good, whichever process runs it; it ends up completed with what it has."""
    await caller.desk.table.stop(session_id, running=given.running)
    return await _state(caller, session_id)


async def _state(caller: Caller, session_id: str) -> Response:
    """Tell where a session stands: what was asked for may take until its running calls have ended."""
    result = await caller.desk.table.session(session_id)
    return json_answer(
        Started(session_id=session_id, session_status=result.session_status, links=links_of(session_id)), 202
    )


@router.post(
    "/resume",
    operation_id="resumeSession",
    status_code=202,
    responses=ANSWERED,
    openapi_extra=takes(ResumeBody, required=False),
)
async def resume_session(
    caller: Writer,
    wanted: Wanted,
    session_id: SessionId,
    given: Annotated[ResumeBody, Depends(JsonBody(ResumeBody, required=False))],
) -> Response:
    """Go on with a session that was paused, broke, or whose process died; answered like `POST /api/debates`."""
    fold, further = await further_rounds(caller, session_id, step=given.step)
    check_further(caller, fold, further)
    deadline_s = seconds_of(caller, given.deadline_s, team=fold.record.config.team is not None)

    async def begin() -> DebateHandle:
        return await caller.desk.table.carry_on(
            session_id,
            step=given.step,
            context_results=given.context_results,
            force=given.force,
            budget=given.budget,
            deadline_s=deadline_s,
            on_change=given.on_change,
        )

    request = f"resume:{session_id}:{given.to_json()}".encode()
    count = partial(gone_on, caller, further=further)
    return await launch(caller, wanted, begin, request=request, count=count, goes_on_from=fold.last_seq)


@router.post(
    "/extend",
    operation_id="extendSession",
    status_code=202,
    responses=ANSWERED,
    openapi_extra=takes(ExtendBody, required=False),
)
async def extend_session(
    caller: Writer,
    wanted: Wanted,
    session_id: SessionId,
    given: Annotated[ExtendBody, Depends(JsonBody(ExtendBody, required=False))],
) -> Response:
    """Hold further rounds of a session; answered like `POST /api/debates`."""
    check_most_rounds(caller, given.rounds)
    fold, further = await further_rounds(caller, session_id, added=given.rounds)
    check_further(caller, fold, further)
    deadline_s = seconds_of(caller, given.deadline_s, team=fold.record.config.team is not None)

    async def begin() -> DebateHandle:
        return await caller.desk.table.carry_on(
            session_id,
            rounds=given.rounds,
            step=given.step,
            focus_question=given.focus_question,
            context_results=given.context_results,
            force=given.force,
            deadline_s=deadline_s,
            on_change=given.on_change,
        )

    request = f"extend:{session_id}:{given.to_json()}".encode()
    count = partial(gone_on, caller, further=further)
    return await launch(caller, wanted, begin, request=request, count=count, goes_on_from=fold.last_seq)


@router.post(
    "/fork",
    operation_id="forkSession",
    status_code=202,
    responses=ANSWERED,
    openapi_extra=takes(ForkBody, examples={"another mode": {"atRound": 1, "mode": "adversarial"}}),
)
async def fork_session(
    caller: Writer, wanted: Wanted, session_id: SessionId, given: Annotated[ForkBody, Depends(JsonBody(ForkBody))]
) -> Response:
    """Begin a new session that shares the past of another up to a round; answered like `POST /api/debates`."""
    fold = await caller.desk.table.wiring.sessions.load(session_id)
    config, changes = fold.record.config, debate_options(caller, given)
    rounds = given.rounds or config.rounds
    check_most_rounds(caller, rounds)
    if config.team is None:
        agents = seated_again(caller.desk.table, fold.record.agents)
        check_affordable(caller, config.topic, {"mode": config.mode, "rounds": rounds, "agents": agents, **changes})

    async def begin() -> DebateHandle:
        return await caller.desk.table.start_fork(
            session_id, at_round=given.at_round, step=given.step, context_results=given.context_results, **changes
        )

    request = f"fork:{session_id}:{given.to_json()}".encode()
    count = partial(begun, caller, rounds=rounds, shared=given.at_round)
    return await launch(caller, wanted, begin, request=request, count=count)


@router.post(
    "/synthesize",
    operation_id="synthesizeSession",
    responses=gives("What it comes to.", SynthesisResult),
    openapi_extra=takes(SynthesisBody, required=False),
)
async def synthesize_session(
    caller: Writer,
    session_id: SessionId,
    given: Annotated[SynthesisBody, Depends(JsonBody(SynthesisBody, required=False))],
) -> Response:
    """Have one model put a session together, or give what one wrote before; the answer waits for it.

    What is written anew counts as a round for the caller's limits.
    """
    table = caller.desk.table
    written = stored_synthesis(await table.wiring.sessions.load(session_id), given.by)
    if written is None:
        admission = await caller.state.limits.admit(caller.identity.user, rounds=1, begins=False)
        writing = _Writing()
        admission.hold(writing)
        try:
            written = await table.synthesize(session_id, by=given.by)
        except (ConfigurationError, SessionError):
            await admission.undo()  # nobody was asked
            raise
        finally:
            writing.over.set()
    return json_answer(written)


class _Writing:
    """A synthesis under way, which holds a place like any run."""

    def __init__(self) -> None:
        self.over = anyio.Event()

    async def wait(self) -> None:
        """Wait until it is over."""
        await self.over.wait()
