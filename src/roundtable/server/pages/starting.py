"""The form that starts a debate."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from roundtable.errors import RoundtableError
from roundtable.server.pages.answers import page, see
from roundtable.server.pages.forms import form_of
from roundtable.server.pages.running import run
from roundtable.server.state import Writer

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
        rounds = _number(filled.get("rounds", ""))
        mode = filled.get("mode", "") or "collaborative"
        begin = partial(caller.desk.table.start, filled.get("topic", "").strip(), mode=mode, rounds=rounds)
        handle = await run(caller, begin, rounds=rounds)
    except RoundtableError as error:
        if error.code == "STORAGE_ERROR":
            raise
        return _form(caller, filled, f"{error.message}. {error.hint or ''}", 429 if error.retryable else 400)
    return see(f"/sessions/{handle.session_id}")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:6]) < 1000):
        raise RoundtableError("Rounds is a number from 1", code="VALIDATION_ERROR")
    return int(text)


def _form(caller: Caller, filled: Mapping[str, str], problem: str, status: int) -> Response:
    table = caller.desk.table
    return page(
        "start",
        user=caller.identity,
        status=status,
        modes=tuple(table.wiring.catalog.modes),
        most=table.wiring.settings.max_rounds,
        filled={"topic": "", "mode": "collaborative", "rounds": "2", **filled},
        problem=problem,
    )
