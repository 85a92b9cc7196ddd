"""Endpoints for the caller's sessions: list, show, watch, export, delete."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from pydantic import BeforeValidator

from roundtable.analysis.arguments import ArgumentGraph
from roundtable.api.files import find_exporter
from roundtable.core.errors import ConfigurationError, RoundtableError, SessionConflict
from roundtable.core.types.base import Timestamp
from roundtable.core.types.debate import DebateMode, RoundRecord, SessionStatus
from roundtable.core.types.storage import SessionFilter
from roundtable.plugins.exporters import BUILTIN_EXPORTERS, file_endings
from roundtable.results.audit import DecisionAudit
from roundtable.results.debate_result import DebateResult
from roundtable.server.errors import invalid_field
from roundtable.server.openapi_parts import json_response, streams
from roundtable.server.response_bodies import ConsensusAnswer, SessionEntry, SessionPage
from roundtable.server.runs import json_answer
from roundtable.server.state import Caller, Reader, Writer
from roundtable.server.streams import event_stream, resume_point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.base.registry import Entry
    from roundtable.core.types.storage import SearchHit, SessionSummary
    from roundtable.plugins import Exporter

__all__ = ["SessionId", "router"]


router: APIRouter = APIRouter(prefix="/api/sessions", tags=["sessions"], default_response_class=Response)

SessionId: TypeAlias = Annotated[
    str, Path(alias="sessionId", min_length=1, max_length=200, description="Id of one of your sessions.")
]
"""Path parameter with the id of a session."""

_MAX_HITS: Final = 1_000
_STOP_S: Final = 5.0
_POLL_S: Final = 0.1
_BUILTIN_TYPES: Final = [exporter.media_type or "text/plain" for _, exporter, _ in BUILTIN_EXPORTERS]
_DOCUMENT: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The document, as a download.",
        "content": {media_type: {"schema": {"type": "string"}} for media_type in _BUILTIN_TYPES}
        | {
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
            "application/octet-stream": {},
        },
        "headers": {"Content-Disposition": {"description": "File name.", "schema": {"type": "string"}}},
    }
}
_ALIASES: Final = {"md": "markdown"}
_MEDIA_TYPE: Final = re.compile(r"[0-9a-z][0-9a-z.+-]{0,99}/[0-9a-z][0-9a-z.+-]{0,99}")
_DOCUMENT_CSP: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; sandbox"
)


def _check_iso_time(value: object) -> object:
    if isinstance(value, str) and "-" not in value.lstrip("-"):
        raise ValueError("a time must be ISO 8601, such as 2026-11-22T10:00:00Z")
    return value


_Moment: TypeAlias = Annotated[Timestamp, BeforeValidator(_check_iso_time)]


@dataclass(frozen=True, slots=True)
class _ListQuery:
    """Query of the list of sessions."""

    words: str | None
    filter: SessionFilter


async def _list_query(
    *,
    q: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=1000,
            description="Search words, which must all occur; upper and lower case are the same. Words in double "
            "quotes form a phrase, and a star at the end of a word matches any ending. Only the newest 1,000 matches "
            "are used.",
        ),
    ] = None,
    topic: Annotated[str | None, Query(min_length=1, max_length=1000, description="Part of the question.")] = None,
    mode: Annotated[
        DebateMode | None, Query(min_length=1, max_length=200, description="Only sessions in this mode.")
    ] = None,
    status: Annotated[SessionStatus | None, Query(description="Only sessions in this state.")] = None,
    created_from: Annotated[
        _Moment | None, Query(alias="createdFrom", description="Only sessions created at this time or later, ISO 8601.")
    ] = None,
    created_to: Annotated[
        _Moment | None, Query(alias="createdTo", description="Only sessions created at this time or earlier, ISO 8601.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Maximum number of sessions on a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=400, description="`nextCursor` of the previous page.")] = None,
) -> _ListQuery:
    """Parse the query of the list."""
    try:
        after = None if cursor is None else base64.urlsafe_b64decode(cursor.encode()).decode()
        session_filter = SessionFilter(
            topic=topic,
            mode=mode,
            status=status,
            created_from=created_from,
            created_to=created_to,
            after=after,
            limit=limit + 1,
        )
    except (ValueError, ConfigurationError):
        raise invalid_field("cursor", "this is not the `nextCursor` of a page") from None
    return _ListQuery(q, session_filter)


@router.get("", operation_id="listSessions", responses=json_response("A page of sessions.", SessionPage))
async def list_sessions(caller: Reader, query: Annotated[_ListQuery, Depends(_list_query)]) -> Response:
    """List your sessions, newest first, a page at a time."""
    limit = query.filter.limit - 1
    if query.words is None:
        return json_answer(_page(await caller.tenant_session.table.sessions(query.filter), limit))
    hits = await caller.tenant_session.table.search(query.words, limit=_MAX_HITS)
    summaries = await _sessions_of_hits(caller, hits, query.filter)
    ids_on_page = {summary.id for summary in summaries[:limit]}
    return json_answer(_page(summaries, limit, tuple(hit for hit in hits if hit.session_id in ids_on_page)))


def _page(summaries: Sequence[SessionSummary], limit: int, hits: tuple[SearchHit, ...] = ()) -> SessionPage:
    page = summaries[:limit]
    more = base64.urlsafe_b64encode(page[-1].cursor.encode()).decode() if len(summaries) > limit else None
    return SessionPage(sessions=tuple(map(_entry, page)), hits=hits, next_cursor=more)


def _entry(summary: SessionSummary) -> SessionEntry:
    return SessionEntry(
        session_id=summary.id,
        topic=summary.topic,
        mode=summary.mode,
        session_status=summary.status,
        current_round=summary.current_round,
        total_rounds=summary.total_rounds,
        agents=summary.agent_ids,
        response_count=summary.response_count,
        created_at=summary.created_at,
        updated_at=summary.updated_at,
        metadata=dict(summary.metadata),
        exit_reason=summary.exit_reason,
        error=summary.error,
    )


async def _sessions_of_hits(caller: Caller, hits: Sequence[SearchHit], wanted: SessionFilter) -> list[SessionSummary]:
    """Return the sessions of the hits that match the filter, newest first, up to the filter's limit."""
    summaries: list[SessionSummary] = []
    keys = dict.fromkeys((hit.created_at, hit.session_id) for hit in hits)
    for created_at, session_id in sorted(keys, reverse=True):
        if wanted.place is not None and (created_at, session_id) >= wanted.place:
            continue
        if not (wanted.created_from or created_at) <= created_at <= (wanted.created_to or created_at):
            continue
        exact = wanted.model_copy(
            update={"created_from": created_at, "created_to": created_at, "after": None, "limit": 1_000}
        )
        summaries += [
            summary for summary in await caller.tenant_session.table.sessions(exact) if summary.id == session_id
        ]
        if len(summaries) == wanted.limit:
            break
    return summaries


@router.get("/{sessionId}", operation_id="getSession", responses=json_response("The result so far.", DebateResult))
async def show_session(caller: Reader, session_id: SessionId) -> Response:
    """Return the result of a session, or its results so far if it has not ended."""
    return json_answer(await caller.tenant_session.table.session(session_id))


@router.delete(
    "/{sessionId}", operation_id="deleteSession", status_code=204, response_description="The session is deleted."
)
async def delete_session(caller: Writer, session_id: SessionId) -> Response:
    """Delete a session with all its contents. A running session is stopped first, no matter which process runs it."""
    table, running = caller.tenant_session.table, caller.tenant_session.running(session_id)
    if running is not None or await table.is_running(session_id):
        with suppress(SessionConflict):  # the session may have just ended
            await table.stop(session_id)
        with anyio.move_on_after(_STOP_S):
            if running is not None:
                await running.wait()
            while await table.is_running(session_id):  # noqa: ASYNC110  (another process sends no event)
                await anyio.sleep(_POLL_S)
    await table.delete(session_id, force=running is not None)
    caller.tenant_session.forget(session_id)
    return Response(status_code=204)


@router.get("/{sessionId}/events", operation_id="followSession", responses=streams("The events."))
async def follow_session(
    caller: Reader,
    request: Request,
    session_id: SessionId,
    after: Annotated[int, Query(ge=0, le=10**15, description="Number of the last event that you have.")] = 0,
) -> Response:
    """Stream the events of a session as server-sent events, until its latest run ends.

    Each durable event is sent once and in order, no matter which process runs the session. Live events are sent only if
    the session runs in the process that sends the stream. Durable events have ids, so a client that reconnects with
    `Last-Event-ID` gets each durable event once.
    """
    _, last, _ = resume_point(request, session_id)
    return await event_stream(caller, session_id, after=last or after, ids=True)


@router.get("/{sessionId}/export", operation_id="exportSession", responses=_DOCUMENT)
async def export_session(
    caller: Reader,
    session_id: SessionId,
    format: Annotated[
        str,
        Query(
            min_length=1,
            max_length=100,
            description="`markdown` (or `md`), `html`, `csv`, `json` (the session itself, for import), or a format "
            "that a plugin of the server adds.",
        ),
    ] = "markdown",
) -> Response:
    """Return a session as a document."""
    kind = _ALIASES.get(format, format)
    table = caller.tenant_session.table
    # Exporting a long session, or with a plugin, takes time, so it runs in a thread.
    parts = await anyio.to_thread.run_sync(tuple, await table.export_parts(session_id, kind))
    content = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    exporter = find_exporter(table.catalog, kind)
    suffix, media_type = _file_type(exporter, binary=any(isinstance(part, bytes) for part in parts))
    name = re.sub(r"[^0-9A-Za-z_-]", "", session_id)[:8]
    headers = {
        "content-disposition": f'attachment; filename="roundtable-{name}.{suffix}"',
        "content-security-policy": _DOCUMENT_CSP,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return Response(content, headers=headers, media_type=media_type)


def _file_type(exporter: Entry[Exporter], *, binary: bool) -> tuple[str, str]:
    """Return the file extension and media type of a format; text formats need not declare a media type."""
    declared = getattr(exporter.thing, "media_type", None)
    is_valid = isinstance(declared, str) and _MEDIA_TYPE.fullmatch(declared) is not None
    if not (is_valid or binary):
        return "txt", "text/plain"
    suffix = re.sub(r"[^0-9a-z]", "", file_endings(exporter.name, exporter.thing)[0].lower())
    return suffix[:16] or "bin", str(declared) if is_valid else "application/octet-stream"


@router.get("/{sessionId}/audit", operation_id="auditSession", responses=json_response("The audit.", DecisionAudit))
async def audit_session(caller: Reader, session_id: SessionId) -> Response:
    """Return an audit of the decision: what it would be without an agent, by another rule, and before the debate.

    No model is called.
    """
    table = caller.tenant_session.table
    result = await table.session(session_id)
    # On a thread, because counting the ballots of many agents again takes time; on few threads, because all share the
    # processor with the debates.
    renders = caller.state.renders
    audit = await anyio.to_thread.run_sync(lambda: result.audit(rules=table.catalog.rules), limiter=renders)
    return json_answer(audit)


@router.get(
    "/{sessionId}/arguments",
    operation_id="getArguments",
    responses=json_response("The graph of claims.", ArgumentGraph),
)
async def show_arguments(caller: Reader, session_id: SessionId) -> Response:
    """Return the claims of a debate, what they support and attack, and whether they were answered.

    No model is called.
    """
    result = await caller.tenant_session.table.session(session_id)
    return json_answer(await anyio.to_thread.run_sync(result.argument_graph, limiter=caller.state.renders))


@router.get("/{sessionId}/rounds/{round}", operation_id="getRound", responses=json_response("The round.", RoundRecord))
async def show_round(
    caller: Reader,
    session_id: SessionId,
    round: Annotated[int, Path(ge=1, le=10**6, description="Number of the round, from 1.")],
) -> Response:
    """Return a round in full."""
    result = await caller.tenant_session.table.session(session_id)
    return json_answer(_round(result, round))


def _round(result: DebateResult, number: int) -> RoundRecord:
    for record in result.rounds:
        if record.number == number:
            return record
    count = len(result.rounds)
    hint = f"Choose a round from 1 to {count}." if count else "No round has started yet."
    raise RoundtableError(f"session {result.session_id!r} has no round {number}", code="NOT_FOUND", hint=hint)


@router.get(
    "/{sessionId}/consensus",
    operation_id="getConsensus",
    responses=json_response("The measured agreement.", ConsensusAnswer),
)
async def show_consensus(
    caller: Reader,
    session_id: SessionId,
    round: Annotated[
        int | None, Query(ge=1, le=10**6, description="Number of the round; the last measured round if left out.")
    ] = None,
) -> Response:
    """Return the agreement of a round, as measured when the round ended."""
    result = await caller.tenant_session.table.session(session_id)
    rounds = result.rounds if round is None else (_round(result, round),)
    measured = [record for record in rounds if record.consensus is not None]
    if not measured or (record := measured[-1]).consensus is None:
        msg = f"session {result.session_id!r} has no measured consensus" + (f" in round {round}" if round else "")
        raise RoundtableError(msg, code="NOT_FOUND", hint="A round is measured when it is complete.")
    return json_answer(
        ConsensusAnswer(
            session_id=result.session_id,
            session_status=result.session_status,
            round=record.number,
            responses=len(record.responses),
            consensus=record.consensus,
            decision=record.decision,
            independent_agreement=result.independent_agreement,
            independent_agreement_at_most=result.independent_agreement_at_most,
            independent_agreement_reason=result.independent_agreement_reason,
            exit=result.exit,
        )
    )
