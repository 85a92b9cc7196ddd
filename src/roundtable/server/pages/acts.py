"""What somebody who may does with a session from its page: pauses it, goes on with it, answers its agents, stops it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from fastapi import APIRouter, Request, Response

from roundtable.server.bounds import check_further, seconds_of
from roundtable.server.launching import until_begun
from roundtable.server.pages.forms import form_of
from roundtable.server.rendering import see
from roundtable.server.starting import further_rounds, gone_on
from roundtable.server.state import Writer
from roundtable.types import ContextResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.server.state import Caller

__all__ = ["router"]

_ANSWER: Final = "answer:"

router: APIRouter = APIRouter(include_in_schema=False)


@router.post("/sessions/{session_id}/answer")
async def answer(session_id: str, request: Request, caller: Writer) -> Response:
    """Go on with a session whose agents asked for something, with what was filled in."""
    filled = await form_of(request)
    await _resumed(caller, session_id, results=_results(filled), force="force" in filled)
    return see(f"/sessions/{session_id}")


@router.post("/sessions/{session_id}/{action}")
async def act(session_id: str, action: Literal["pause", "resume", "step", "stop"], caller: Writer) -> Response:
    """Pause a session, go on with it to its end or by a round, or stop it for good."""
    table = caller.desk.table
    match action:
        case "pause":
            await table.pause(session_id)
        case "stop":
            await table.stop(session_id)
        case "resume" | "step":
            await _resumed(caller, session_id, step=action == "step")
    return see(f"/sessions/{session_id}")


def _results(filled: Mapping[str, str]) -> tuple[ContextResult, ...]:
    """Read what was answered; a field that was left empty answers nothing."""
    return tuple(
        ContextResult(request_id=name.removeprefix(_ANSWER), success=True, result=text.strip())
        for name, text in filled.items()
        if name.startswith(_ANSWER) and text.strip()
    )


async def _resumed(
    caller: Caller,
    session_id: str,
    *,
    step: bool = False,
    results: Sequence[ContextResult] = (),
    force: bool = False,
) -> None:
    fold, further = await further_rounds(caller, session_id, step=step)
    check_further(caller, fold, further)
    begin = partial(
        caller.desk.table.carry_on,
        session_id,
        step=step,
        context_results=results,
        force=force,
        deadline_s=seconds_of(caller, None, team=fold.record.config.team is not None),
    )
    await gone_on(caller, until_begun(begin), further)
