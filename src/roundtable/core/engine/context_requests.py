"""Context requests of agents: reported after a round, and answered by the caller before the debate continues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.errors import SessionConflict
from roundtable.core.types.answers import ContextResult
from roundtable.core.types.debate import ExitResult
from roundtable.core.types.events import ContextRequested

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from roundtable.core.record.fold import Fold
    from roundtable.core.types.answers import ContextRequest
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.debate import RoundRecord

__all__ = ["context_exit", "match_answers", "request_events"]


def request_events(fold: Fold, record: RoundRecord, now: datetime) -> tuple[ContextRequested, ...]:
    """Return the event with the context requests of a round, without duplicates; empty if there are no requests.

    If several agents make equal requests, the first one counts; it is required if any of the equal requests is.
    """
    by_id: dict[str, ContextRequest] = {}
    for turn in record.turns:
        for request in turn.result.context_requests if turn.outcome == "answered" else ():
            if request.id not in by_id:
                by_id[request.id] = request
            elif request.priority == "required":
                by_id[request.id] = by_id[request.id].model_copy(update={"priority": "required"})
    if not by_id:
        return ()
    requests = tuple(by_id.values())
    return (ContextRequested(session_id=fold.record.id, timestamp=now, round=record.number, requests=requests),)


def context_exit(fold: Fold, events: Iterable[ContextRequested]) -> ExitResult | None:
    """Return the exit of a debate that waits for required context after a round; `None` if no answer is missing."""
    new_requests = [request for event in events for request in event.requests]
    required = _required_requests([*fold.context_requests, *new_requests])
    if not required:
        return None
    details = f"waits for information: {'; '.join(request.query for request in required)}"
    return ExitResult(
        should_exit=True,
        reason="needs_context",
        details=details[:1000],
        figures={"requests": [request.id for request in required]},
    )


def match_answers(fold: Fold, results: Sequence[ContextResult], *, force: bool = False) -> tuple[ContextResult, ...]:
    """Return the caller's answers to context requests, each with its question.

    Args:
        fold: The session.
        results: The answers.
        force: Whether to continue without missing answers; the agents then read that the information is unavailable.

    Raises:
        SessionConflict: A required answer is missing; `details["missing"]` lists the requests. Or an answer without a
            `query` of its own names a request that the session never had.
    """
    queries = _queries(fold)
    unknown = [result.request_id for result in results if result.query is None and result.request_id not in queries]
    if unknown:
        waiting = ", ".join(request.id for request in fold.context_requests) or "none"
        raise SessionConflict(
            f"session {fold.record.id!r} has no context request {unknown[0]!r}; requests without an answer: {waiting}",
            hint="Correct the id. To add information that no agent requested, set `query` of the ContextResult too.",
        )
    answered_ids = {result.request_id for result in results}
    missing = [request for request in _required_requests(fold.context_requests) if request.id not in answered_ids]
    if missing and not force:
        listed = "; ".join(f"{request.id}: {request.query}" for request in missing)
        facts: list[JsonValue] = [request.model_dump(mode="json") for request in missing]
        raise SessionConflict(
            f"session {fold.record.id!r} waits for information that its agents require: {listed}",
            hint="Answer with context_results=[ContextResult(...)], or with --context REQUEST=TEXT on the command "
            "line. To continue without answers, use force=True or --force.",
            details={"missing": facts},
        )
    refused = [
        ContextResult(request_id=request.id, success=False, error="the caller went on without it")
        for request in missing
    ]
    return tuple(
        result if result.query else result.model_copy(update={"query": queries.get(result.request_id)})
        for result in (*results, *refused)
    )


def _queries(fold: Fold) -> dict[str, str]:
    """Return the question of each context request of a session by its id, also of those with an answer."""
    turns = (turn for debate_round in fold.rounds for turn in debate_round.in_order() if turn.outcome == "answered")
    return {request.id: request.query for turn in turns for request in turn.result.context_requests}


def _required_requests(requests: Iterable[ContextRequest]) -> list[ContextRequest]:
    """Return the required requests, without duplicates."""
    by_id = {request.id: request for request in requests if request.priority == "required"}
    return list(by_id.values())
