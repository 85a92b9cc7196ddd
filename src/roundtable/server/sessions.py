"""The caller's sessions: found, shown, followed, written out, removed."""

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

from roundtable.api.files import exported_parts, find_exporter
from roundtable.errors import RoundtableError, SessionConflict
from roundtable.result import DebateResult
from roundtable.server.answers import ConsensusAnswer, SessionEntry, SessionPage
from roundtable.server.describing import gives, streams
from roundtable.server.failures import misfit
from roundtable.server.launching import json_answer
from roundtable.server.state import Caller, Reader, Writer
from roundtable.server.streams import event_stream, resume_point
from roundtable.types import DebateMode, RoundRecord, SessionFilter, SessionStatus, Timestamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.wiring import Wiring
    from roundtable.types import SearchHit, SessionSummary

__all__ = ["SessionId", "router"]

router: APIRouter = APIRouter(prefix="/api/sessions", tags=["sessions"], default_response_class=Response)

SessionId: TypeAlias = Annotated[
    str, Path(alias="sessionId", min_length=1, max_length=200, description="Id of a session of yours.")
]
"""The session that a path names."""

_MOST_HITS: Final = 1_000
_LEAVE_S: Final = 5.0
_SUFFIXES: Final = {
    "markdown": ("md", "text/markdown"),
    "html": ("html", "text/html"),
    "json": ("json", "application/json"),
    "csv": ("csv", "text/csv"),
}
_DOCUMENT: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The document, to be saved.",
        "content": {media_type: {"schema": {"type": "string"}} for _, media_type in _SUFFIXES.values()}
        | {
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
            "application/octet-stream": {},
        },
        "headers": {"Content-Disposition": {"description": "Its name.", "schema": {"type": "string"}}},
    }
}
_ALIASES: Final = {"md": "markdown"}
_MEDIA_TYPE: Final = re.compile(r"[0-9a-z][0-9a-z.+-]{0,99}/[0-9a-z][0-9a-z.+-]{0,99}")
_INERT: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; sandbox"
)


def _written(value: object) -> object:
    if isinstance(value, str) and "-" not in value.lstrip("-"):
        raise ValueError("a time is written as ISO 8601, such as 2026-11-22T10:00:00Z")
    return value


_Moment: TypeAlias = Annotated[Timestamp, BeforeValidator(_written)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which sessions to list."""

    words: str | None
    wanted: SessionFilter


async def _asked(
    *,
    q: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=1000,
            description="Words that were said: all must occur, in any case; words in double quotes stand together, and "
            "a star ends a word that may go on. The newest 1,000 places are looked at.",
        ),
    ] = None,
    topic: Annotated[str | None, Query(min_length=1, max_length=1000, description="Part of the question.")] = None,
    mode: Annotated[DebateMode | None, Query(min_length=1, max_length=200, description="Only this mode.")] = None,
    status: Annotated[SessionStatus | None, Query(description="Only this state.")] = None,
    created_from: Annotated[
        _Moment | None, Query(alias="createdFrom", description="Created then or later, ISO 8601.")
    ] = None,
    created_to: Annotated[
        _Moment | None, Query(alias="createdTo", description="Created then or earlier, ISO 8601.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Most sessions on a page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=400, description="`nextCursor` of the page before.")] = None,
) -> _Asked:
    """Read what is asked for."""
    try:
        place = None if cursor is None else base64.urlsafe_b64decode(cursor.encode()).decode()
        wanted = SessionFilter(
            topic=topic,
            mode=mode,
            status=status,
            created_from=created_from,
            created_to=created_to,
            after=place,
            limit=limit + 1,
        )
    except ValueError:
        raise misfit("cursor", "this is the `nextCursor` of no page") from None
    return _Asked(q, wanted)


@router.get("", operation_id="listSessions", responses=gives("A page of sessions.", SessionPage))
async def list_sessions(caller: Reader, asked: Annotated[_Asked, Depends(_asked)]) -> Response:
    """List your sessions, newest first, a page at a time."""
    limit = asked.wanted.limit - 1
    if asked.words is None:
        return json_answer(_page(await caller.desk.table.sessions(asked.wanted), limit))
    hits = await caller.desk.table.search(asked.words, limit=_MOST_HITS)
    found = await _holding(caller, hits, asked.wanted)
    shown = {one.id for one in found[:limit]}
    return json_answer(_page(found, limit, tuple(hit for hit in hits if hit.session_id in shown)))


def _page(found: Sequence[SessionSummary], limit: int, hits: tuple[SearchHit, ...] = ()) -> SessionPage:
    page = found[:limit]
    more = base64.urlsafe_b64encode(page[-1].cursor.encode()).decode() if len(found) > limit else None
    return SessionPage(sessions=tuple(map(_entry, page)), hits=hits, next_cursor=more)


def _entry(one: SessionSummary) -> SessionEntry:
    return SessionEntry(
        session_id=one.id,
        topic=one.topic,
        mode=one.mode,
        session_status=one.status,
        current_round=one.current_round,
        total_rounds=one.total_rounds,
        agents=one.agent_ids,
        response_count=one.response_count,
        created_at=one.created_at,
        updated_at=one.updated_at,
        metadata=dict(one.metadata),
    )


async def _holding(caller: Caller, hits: Sequence[SearchHit], asked: SessionFilter) -> list[SessionSummary]:
    """Give the sessions of hits, newest first, as far as the filter lets them and a page needs them."""
    found: list[SessionSummary] = []
    places = dict.fromkeys((hit.created_at, hit.session_id) for hit in hits)
    for created_at, session_id in sorted(places, reverse=True):
        if asked.place is not None and (created_at, session_id) >= asked.place:
            continue
        if not (asked.created_from or created_at) <= created_at <= (asked.created_to or created_at):
            continue
        there = asked.model_copy(
            update={"created_from": created_at, "created_to": created_at, "after": None, "limit": 1_000}
        )
        found += [one for one in await caller.desk.table.sessions(there) if one.id == session_id]
        if len(found) == asked.limit:
            break
    return found


@router.get("/{sessionId}", operation_id="getSession", responses=gives("The result as it stands.", DebateResult))
async def show_session(caller: Reader, session_id: SessionId) -> Response:
    """Give a session as it stands now, as the result of its debate or conversation."""
    return json_answer(await caller.desk.table.session(session_id))


@router.delete("/{sessionId}", operation_id="deleteSession", status_code=204)
async def delete_session(caller: Writer, session_id: SessionId) -> Response:
    """Remove a session and all that was said in it; one that runs is stopped first."""
    running = caller.desk.running(session_id)
    if running is not None:
        with suppress(SessionConflict):  # it may have ended by itself meanwhile
            await running.stop()
        with anyio.move_on_after(_LEAVE_S):
            await running.wait()
    await caller.desk.table.delete(session_id)
    return Response(status_code=204)


@router.get("/{sessionId}/events", operation_id="followSession", responses=streams("The events."))
async def follow_session(
    caller: Reader,
    request: Request,
    session_id: SessionId,
    after: Annotated[int, Query(ge=0, le=10**15, description="Number of the last event you have.")] = 0,
) -> Response:
    """Give the events of a session as server-sent events, until its latest run ends.

    Durable events come once and in order, whichever process runs the session; live events only of a run at the process
    that answers. Ids are on: a client that connects again with `Last-Event-ID` misses nothing and gets nothing twice.
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
            description="`markdown` (or `md`), `html`, `csv`, `json` (the session itself, for import), or one that a "
            "plugin of the server writes.",
        ),
    ] = "markdown",
) -> Response:
    """Give a session as a document to be kept."""
    kind = _ALIASES.get(format, format)
    wiring = caller.desk.table.wiring
    # A long session, or a plugin, takes its time to be written; others are served meanwhile.
    parts = await anyio.to_thread.run_sync(tuple, await exported_parts(wiring, session_id, kind))
    content = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    suffix, media_type = _SUFFIXES.get(kind) or _foreign(
        wiring, kind, binary=any(isinstance(part, bytes) for part in parts)
    )
    name = re.sub(r"[^0-9A-Za-z_-]", "", session_id)[:8]
    headers = {
        "content-disposition": f'attachment; filename="roundtable-{name}.{suffix}"',
        "content-security-policy": _INERT,
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    return Response(content, headers=headers, media_type=media_type)


def _foreign(wiring: Wiring, kind: str, *, binary: bool) -> tuple[str, str]:
    """Give the end of the name and the media type of what a plugin writes; of texts it need not say them."""
    exporter = find_exporter(wiring.catalog, kind)
    declared = getattr(exporter.thing, "media_type", None) if exporter is not None else None
    known = isinstance(declared, str) and _MEDIA_TYPE.fullmatch(declared) is not None
    if not (known or binary):
        return "txt", "text/plain"
    suffix = re.sub(r"[^0-9a-z]", "", kind.rpartition("/")[2].lower())
    return suffix[:16] or "bin", str(declared) if known else "application/octet-stream"


@router.get("/{sessionId}/rounds/{round}", operation_id="getRound", responses=gives("The round.", RoundRecord))
async def show_round(
    caller: Reader, session_id: SessionId, round: Annotated[int, Path(ge=1, le=10**6, description="From 1.")]
) -> Response:
    """Give a round in full."""
    result = await caller.desk.table.session(session_id)
    return json_answer(_round(result, round))


def _round(result: DebateResult, number: int) -> RoundRecord:
    for held in result.rounds:
        if held.number == number:
            return held
    begun = len(result.rounds)
    hint = f"Rounds 1 to {begun} are there." if begun else "No round was begun yet."
    raise RoundtableError(f"session {result.session_id!r} has no round {number}", code="NOT_FOUND", hint=hint)


@router.get("/{sessionId}/consensus", operation_id="getConsensus", responses=gives("The measure.", ConsensusAnswer))
async def show_consensus(
    caller: Reader,
    session_id: SessionId,
    round: Annotated[
        int | None, Query(ge=1, le=10**6, description="Which round; the last measured one if left out.")
    ] = None,
) -> Response:
    """Give the agreement of a round, as it was measured when the round ended."""
    result = await caller.desk.table.session(session_id)
    rounds = result.rounds if round is None else (_round(result, round),)
    measured = [held for held in rounds if held.consensus is not None]
    if not measured or (held := measured[-1]).consensus is None:
        msg = f"session {result.session_id!r} has no measured consensus" + (f" in round {round}" if round else "")
        raise RoundtableError(msg, code="NOT_FOUND", hint="A round is measured when it is complete.")
    return json_answer(
        ConsensusAnswer(
            session_id=result.session_id,
            session_status=result.session_status,
            round=held.number,
            responses=len(held.responses),
            consensus=held.consensus,
            decision=held.decision,
            independent_agreement=result.independent_agreement,
            independent_agreement_reason=result.independent_agreement_reason,
            exit=result.exit,
        )
    )
