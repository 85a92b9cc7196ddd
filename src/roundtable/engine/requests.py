"""What agents asked the caller for: told with the round, waited for, and answered before the debate goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import SessionConflict
from roundtable.types import ContextRequested, ContextResult, ExitResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from roundtable.record import Fold
    from roundtable.types import ContextRequest, JsonValue, RoundRecord

__all__ = ["answered", "requested_events", "waits_for"]


def requested_events(fold: Fold, record: RoundRecord, now: datetime) -> tuple[ContextRequested, ...]:
    """Give the event that tells what was asked for in a round, each thing once; none where nothing was.

    What several asked for is told of the first one, as required where any of them needs it.
    """
    once: dict[str, ContextRequest] = {}
    for turn in record.turns:
        for asked in turn.result.context_requests if turn.outcome == "answered" else ():
            if asked.id not in once:
                once[asked.id] = asked
            elif asked.priority == "required":
                once[asked.id] = once[asked.id].model_copy(update={"priority": "required"})
    if not once:
        return ()
    requests = tuple(once.values())
    return (ContextRequested(session_id=fold.record.id, timestamp=now, round=record.number, requests=requests),)


def waits_for(fold: Fold, told: Iterable[ContextRequested]) -> ExitResult | None:
    """Say why the debate waits after a round: something was asked for that it should not go on without."""
    told_now = [asked for event in told for asked in event.requests]
    wanted = _required([*fold.context_requests, *told_now])
    if not wanted:
        return None
    details = f"waits for information: {'; '.join(asked.query for asked in wanted)}"
    return ExitResult(
        should_exit=True,
        reason="needs_context",
        details=details[:1000],
        figures={"requests": [asked.id for asked in wanted]},
    )


def answered(fold: Fold, results: Sequence[ContextResult], *, force: bool = False) -> tuple[ContextResult, ...]:
    """Give the answers of the caller, each with its question.

    Args:
        fold: The session.
        results: What the caller answers.
        force: Go on without what is missing; the agents are told that it is not to be had.

    Raises:
        SessionConflict: Something that is required is not answered; `details["missing"]` lists it.
    """
    queries = {asked.id: asked.query for asked in fold.context_requests}
    known = {result.request_id for result in results}
    missing = [asked for asked in _required(fold.context_requests) if asked.id not in known]
    if missing and not force:
        listed = "; ".join(f"{asked.id}: {asked.query}" for asked in missing)
        facts: list[JsonValue] = [asked.model_dump(mode="json") for asked in missing]
        raise SessionConflict(
            f"session {fold.record.id!r} waits for information that its agents require: {listed}",
            hint="Answer with context_results=[ContextResult(...)], on the command line --context REQUEST=TEXT; or go "
            "on without, with force=True or --force.",
            details={"missing": facts},
        )
    refused = [
        ContextResult(request_id=asked.id, success=False, error="the caller went on without it") for asked in missing
    ]
    return tuple(
        result if result.query else result.model_copy(update={"query": queries.get(result.request_id)})
        for result in (*results, *refused)
    )


def _required(requests: Iterable[ContextRequest]) -> list[ContextRequest]:
    """Give what the debate should wait for, each thing once."""
    once = {asked.id: asked for asked in requests if asked.priority == "required"}
    return list(once.values())
