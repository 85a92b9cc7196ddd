"""The form that starts a debate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from roundtable.api.offered import offered_modes
from roundtable.errors import RoundtableError
from roundtable.server.bodies import DebateBody
from roundtable.server.bounds import check_affordable, check_most_rounds
from roundtable.server.debates import debate_options
from roundtable.server.failures import misfit, status_of
from roundtable.server.launching import until_begun
from roundtable.server.pages.forms import form_of
from roundtable.server.rendering import page, see
from roundtable.server.starting import begun
from roundtable.server.state import Writer
from roundtable.types.base import first_misfit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.server.state import Caller

__all__ = ["router"]

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/start")
async def start_form(caller: Writer) -> Response:
    """Ask for a question, a mode and a number of rounds."""
    return _form(caller, {}, "", 200)


@router.post("/start")
async def start(request: Request, caller: Writer) -> Response:
    """Start a debate and show it; what does not fit is told beside what was filled in."""
    filled = await form_of(request)
    try:
        session_id = await _started(caller, filled)
    except RoundtableError as error:
        status = status_of(error)
        if status >= 500:
            raise
        return _form(caller, filled, f"{error.message}. {error.hint or ''}", status)
    return see(f"/sessions/{session_id}")


async def _started(caller: Caller, filled: Mapping[str, str]) -> str:
    fields = {name: filled[name].strip() for name in ("topic", "mode", "rounds") if filled.get(name)}
    try:
        given = DebateBody.model_validate(fields)
    except ValidationError as error:
        raise misfit(*first_misfit(error)) from error
    check_most_rounds(caller, given.rounds)
    options = debate_options(caller, given)
    check_affordable(caller, given.topic, options)
    begin = partial(caller.desk.table.start, given.topic, **options)
    handle, _ = await begun(caller, until_begun(begin), rounds=given.rounds)
    return handle.session_id


def _form(caller: Caller, filled: Mapping[str, str], problem: str, status: int) -> Response:
    table = caller.desk.table
    return page(
        "start",
        user=caller.identity,
        status=status,
        modes=offered_modes(table.wiring),
        most=table.wiring.settings.max_rounds,
        filled={"topic": "", "mode": "collaborative", "rounds": "2", **filled},
        problem=problem,
    )
