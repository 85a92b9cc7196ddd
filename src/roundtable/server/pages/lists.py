"""The page that lists and searches sessions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Response
from pydantic import ValidationError

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.debate import SessionStatus
from roundtable.core.types.storage import SearchHit, SessionFilter
from roundtable.server.approvals import approvals_of
from roundtable.server.rendering import page
from roundtable.server.request_context import from_root
from roundtable.server.state import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.storage import SessionSummary
    from roundtable.server.state import Caller

__all__ = ["router"]

_PAGE_SIZE: Final = 25
_MAX_HITS: Final = 50
_STATUSES: Final[tuple[str, ...]] = get_args(SessionStatus)

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/sessions")
async def sessions(caller: Reader, q: str = "", status: str = "", mode: str = "", after: str = "") -> Response:
    """List sessions, newest first, or search for words in them."""
    modes = tuple(entry.name for entry in caller.tenant_session.table.catalog.modes)
    render = partial(
        page,
        "sessions",
        user=caller.identity,
        shown={"q": q, "status": status, "mode": mode},
        statuses=_STATUSES,
        modes=modes,
    )
    if q.strip():
        hits, problem = await _search(caller, q.strip())
        by_topic = SessionFilter(topic=q.strip(), limit=_PAGE_SIZE)
        matches = () if problem else await caller.tenant_session.table.sessions(by_topic)
        return render(hits=hits, problem=problem, entries=matches, further=None, **await _details(caller, matches))
    entries, next_url = await _list_page(caller, status, mode, after)
    details = await _details(caller, entries)
    return render(hits=None, problem="", entries=entries, further=next_url, is_first=not after, **details)


async def _details(caller: Caller, entries: Sequence[SessionSummary]) -> dict[str, Any]:
    """Return what rows show besides the summaries: outcomes, and which sessions have a tool call to approve."""
    outcomes = await caller.state.outcomes.of(caller.tenant_session.table, caller.identity.tenant, entries)
    waiting: frozenset[str] = frozenset()
    if caller.identity.may("write"):
        active = [entry.id for entry in entries if entry.status == "active"]
        waiting = await approvals_of(caller.state).waiting_sessions(caller.identity.tenant, active)
    return {"outcomes": outcomes, "waiting": waiting}


async def _list_page(
    caller: Caller, status: str, mode: str, after: str
) -> tuple[tuple[SessionSummary, ...], str | None]:
    """Return a page of the list, and the URL of the next page."""
    query = {"status": status or None, "mode": mode or None, "after": after or None}
    try:
        session_filter = SessionFilter.model_validate({**query, "limit": _PAGE_SIZE + 1})
    except ValidationError as error:
        raise ConfigurationError(
            "unknown filter or page of the list", hint="Begin at the first page: /sessions"
        ) from error
    summaries = await caller.tenant_session.table.sessions(session_filter)
    if len(summaries) <= _PAGE_SIZE:
        return summaries, None
    on_page = summaries[:_PAGE_SIZE]
    next_query = {name: value for name, value in {**query, "after": on_page[-1].cursor}.items() if value}
    return on_page, from_root(f"/sessions?{urlencode(next_query)}")


async def _search(caller: Caller, text: str) -> tuple[tuple[SearchHit, ...], str]:
    """Return the search hits, and an error message if the query is not valid."""
    try:
        return await caller.tenant_session.table.search(text, limit=_MAX_HITS), ""
    except ConfigurationError as error:
        return (), error.message
