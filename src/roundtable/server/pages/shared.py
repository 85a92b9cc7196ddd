"""Read-only links to sessions: the buttons that create and revoke them, and the page that they show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

from anyio import to_thread
from fastapi import APIRouter, Path, Request, Response
from starlette.responses import HTMLResponse

from roundtable.core.base.words import counted
from roundtable.core.errors import RoundtableError, SessionNotFound
from roundtable.report import to_page
from roundtable.report.style import POLICY
from roundtable.results.findings import missing_agents
from roundtable.results.view import view_of
from roundtable.server.addresses import client_of
from roundtable.server.pages.session import session_page
from roundtable.server.pages.share_store import shares_of
from roundtable.server.rendering import SECURITY_HEADERS, see_session
from roundtable.server.request_context import from_root
from roundtable.server.state import Writer, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.core.types.debate import RosterEntry
    from roundtable.report import Parts, ReportView, RoundView, SpeakerView
    from roundtable.results.debate_result import DebateResult

__all__ = ["SHARED_PATH", "SHARED_VIEWS_PER_MINUTE", "public_view", "router"]

SHARED_PATH: Final = "/shared/"
"""Path prefix of the links."""

SHARED_VIEWS_PER_MINUTE: Final = 60
"""Number of shared pages that one address may open in a minute."""

_HEADERS: Final = {
    **SECURITY_HEADERS,
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-robots-tag": "noindex, nofollow",
}

router: APIRouter = APIRouter(include_in_schema=False)

_PRIVATE_FACTS: Final = frozenset({"Usage", "Why measured this way"})
_PRIVATE_EXITS: Final = frozenset({"error", "quorum_lost", "budget"})
"""Exit reasons whose details contain texts of errors, or amounts of money."""
_NO_ANSWER: Final = "It gave no answer."
_NO_SYNTHESIS: Final = {"No synthesis": "It could not be written.", "Synthesis in part": "A part is missing."}
"""Headings under which a report shows why a synthesis failed, each with the text that a public page shows instead."""


@router.post("/sessions/{session_id}/share")
async def share(session_id: str, request: Request, caller: Writer) -> Response:
    """Create a link and show it once, on the page of its session."""
    await caller.tenant_session.table.session(session_id)
    token = await shares_of(caller.state).create(caller.identity.tenant, session_id)
    base = request.base_url.replace(scheme="https") if caller.state.options.get("https") else request.base_url
    address = f"{str(base).rstrip('/')}{from_root(SHARED_PATH)}{token}"
    return await session_page(caller, session_id, new_link=address)


@router.get("/sessions/{session_id}/share")
async def redirect_to_session(session_id: str, caller: Writer) -> Response:
    """Redirect to the session, for a browser that reloads the page that showed a new link."""
    await caller.tenant_session.table.session(session_id)
    return see_session(session_id)


@router.post("/sessions/{session_id}/unshare")
async def unshare(session_id: str, caller: Writer) -> Response:
    """Revoke all links to a session."""
    await caller.tenant_session.table.session(session_id)
    await shares_of(caller.state).revoke(caller.identity.tenant, session_id)
    return see_session(session_id)


@router.get(SHARED_PATH + "{token}")
async def show_shared(token: Annotated[str, Path(max_length=200)], request: Request) -> Response:
    """Show a session to everybody who has its link, as one page without scripts, like the page of `to_html`."""
    state = state_of(request)
    wait_s = state.shared_views.take(client_of(request, proxied=state.options.get("https", False)))
    if wait_s:
        msg = "too many requests from your address"
        raise RoundtableError(msg, code="RATE_LIMIT_EXCEEDED", hint="Try again in a minute.", retry_after_s=wait_s)
    shared_link = await shares_of(state).find(token)
    if shared_link is None:
        raise _no_link()
    tenant_session = await state.tenant_sessions.session_of(shared_link.tenant)
    try:
        result = await tenant_session.table.session(shared_link.session_id)
    except SessionNotFound as error:  # it was deleted
        raise _no_link() from error
    text = await to_thread.run_sync(lambda: to_page(public_view(result)), limiter=state.renders)
    return HTMLResponse(text, headers=_HEADERS)


def _no_link() -> RoundtableError:
    return RoundtableError(
        "this link is not valid", code="NOT_FOUND", hint="It has expired or was revoked. Ask for a new link."
    )


def public_view(result: DebateResult) -> ReportView:
    """Return the report view of a result without cost, tokens and texts of errors; a pure function.

    Texts of errors are left out because errors of providers may name accounts, addresses of servers and limits of a
    contract.
    """
    view, missing = view_of(result), missing_agents(result)
    failed = {entry.agent_id: entry for entry in result.roster.agents if entry.failed}
    return replace(
        view,
        facts=tuple(_facts(result, view)),
        missing=tuple(_failures(entry) for agent, entry in failed.items() if agent in missing),
        failed=tuple(_failures(entry) for agent, entry in failed.items() if agent not in missing),
        rounds=tuple(map(_round, view.rounds)),
        figures=tuple(figure for figure in view.figures if figure[0] != "Cost"),
        synthesis=_synthesis(view.synthesis),
        costs=(),
        cost="",
    )


def _facts(result: DebateResult, view: ReportView) -> Iterator[tuple[str, str]]:
    for label, value in view.facts:
        if label == "Ended" and result.exit is not None and result.exit.reason in _PRIVATE_EXITS:
            yield label, result.exit.reason
        elif label not in _PRIVATE_FACTS:
            yield label, value


def _failures(entry: RosterEntry) -> str:
    return f"{entry.agent_name}: {entry.failed} of {counted(entry.failed + entry.answered, 'turn')} failed"


def _round(round_view: RoundView) -> RoundView:
    return replace(round_view, speakers=tuple(map(_speaker, round_view.speakers)))


def _speaker(speaker: SpeakerView) -> SpeakerView:
    """Return a turn without the text of its error and without its notes, which name errors of earlier tried models."""
    return replace(speaker, notes=(), error=None if speaker.error is None else _NO_ANSWER)


def _synthesis(parts: Parts) -> Parts:
    return tuple((label, (_NO_SYNTHESIS[label],) if label in _NO_SYNTHESIS else texts) for label, texts in parts)
