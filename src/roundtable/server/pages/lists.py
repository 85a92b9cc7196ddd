"""Sessions in a list, and what was said in them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Response
from pydantic import ValidationError

from roundtable.errors import ConfigurationError
from roundtable.server.rendering import page
from roundtable.server.state import Reader
from roundtable.types import SearchHit, SessionFilter, SessionStatus

if TYPE_CHECKING:
    from roundtable.server.state import Caller
    from roundtable.types import SessionSummary

__all__ = ["router"]

_ON_A_PAGE: Final = 25
_MOST_HITS: Final = 50
_STATUSES: Final[tuple[str, ...]] = get_args(SessionStatus)

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/sessions")
async def sessions(caller: Reader, q: str = "", status: str = "", mode: str = "", after: str = "") -> Response:
    """List sessions, newest first, or find words in them."""
    modes = tuple(entry.name for entry in caller.desk.table.wiring.catalog.modes)
    shown = partial(
        page,
        "sessions",
        user=caller.identity,
        shown={"q": q, "status": status, "mode": mode},
        statuses=_STATUSES,
        modes=modes,
    )
    if q.strip():
        hits, problem = await _found(caller, q.strip())
        asked = () if problem else await caller.desk.table.sessions(SessionFilter(topic=q.strip(), limit=_ON_A_PAGE))
        return shown(hits=hits, problem=problem, entries=asked, further=None)
    entries, further = await _listed(caller, status, mode, after)
    return shown(hits=None, problem="", entries=entries, further=further, is_first=not after)


async def _listed(caller: Caller, status: str, mode: str, after: str) -> tuple[tuple[SessionSummary, ...], str | None]:
    """Give a page of the list, and where the next one is."""
    given = {"status": status or None, "mode": mode or None, "after": after or None}
    try:
        wanted = SessionFilter.model_validate({**given, "limit": _ON_A_PAGE + 1})
    except ValidationError as error:
        raise ConfigurationError("there is no such list", hint="Begin at the first page: /sessions") from error
    found = await caller.desk.table.sessions(wanted)
    if len(found) <= _ON_A_PAGE:
        return found, None
    here = found[:_ON_A_PAGE]
    place = {name: value for name, value in {**given, "after": here[-1].cursor}.items() if value}
    return here, f"/sessions?{urlencode(place)}"


async def _found(caller: Caller, text: str) -> tuple[tuple[SearchHit, ...], str]:
    """Give where words were found, and what is wrong with the query."""
    try:
        return await caller.desk.table.search(text, limit=_MOST_HITS), ""
    except ConfigurationError as error:
        return (), error.message
