"""Conversations of teams over HTTP, as seed 004 has them: `POST /api/chat/multi`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from fastapi import APIRouter, Depends, Request
from pydantic import Field
from starlette.responses import Response

from roundtable.api.teams import asked_of_team
from roundtable.errors import RoundtableError, SessionNotFound
from roundtable.server.bounds import check_further, check_team, seconds_of
from roundtable.server.chat_events import seed_words, stream_schema
from roundtable.server.describing import takes
from roundtable.server.limits import RateLimited
from roundtable.server.reading import JsonBody
from roundtable.server.starting import begun, further_rounds, gone_on_alone
from roundtable.server.state import Caller, Writer
from roundtable.server.streams import event_stream, resume_point
from roundtable.types import ChatMessage
from roundtable.types.base import Value

if TYPE_CHECKING:
    from roundtable.api.handle import DebateHandle
    from roundtable.record import Fold

__all__ = ["MOST_AGENTS", "MOST_ROUNDS", "MultiAgentRequest", "router"]

MOST_AGENTS: Final = 5
"""Most agents of a conversation."""
MOST_ROUNDS: Final = 10
"""Most rounds of a conversation."""

router: APIRouter = APIRouter(tags=["conversations"])


class MultiAgentRequest(Value):
    """What is asked of a team.

    Example:
        >>> asked = {
        ...     "agents": ["data-steward"],
        ...     "rounds": 1,
        ...     "messages": [{"role": "user", "content": "Whom to call?"}],
        ... }
        >>> MultiAgentRequest.model_validate(asked).messages[0].role
        'user'
    """

    agents: Annotated[tuple[str, ...], Field(min_length=1, max_length=MOST_AGENTS)]
    """Names of 1 to 5 agents, in speaking order; `GET /api/profiles` lists those that there are."""
    # More rounds than there may be have a code of their own, so that it is not the type that refuses them.
    rounds: Annotated[int, Field(ge=1, strict=True, json_schema_extra={"maximum": MOST_ROUNDS})]
    """Rounds of work, 1 to 10."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]
    """The conversation so far; the last message of the user, which there must be, is the request."""


_STREAM: Final[dict[str, Any]] = {
    "description": "The conversation as server-sent events, each `data: {...}` and an empty line.",
    "content": {"text/event-stream": {"itemSchema": stream_schema()}},
}


@router.post(
    "/api/chat/multi",
    response_class=Response,
    responses={200: _STREAM},
    operation_id="converse",
    openapi_extra=takes(
        MultiAgentRequest,
        examples={
            "a request": {
                "agents": ["data-steward", "prospect-finder"],
                "rounds": 3,
                "messages": [{"role": "user", "content": "Find prospects in healthcare that nobody called of late."}],
            }
        },
    ),
)
async def multi(
    caller: Writer, asked: Annotated[MultiAgentRequest, Depends(JsonBody(MultiAgentRequest))], request: Request
) -> Response:
    """Have a team of agents work on a request, and watch it live.

    The conversation goes on when the client leaves. A client that sends the id of the last event it has as
    `Last-Event-ID` begins none, but goes on with that one: what it missed is told, and where the server had been ended
    meanwhile, the conversation is resumed. Events have ids where `?ids=1` asks for them.
    """
    session_id, after, ids = resume_point(request)
    if session_id is not None:
        with caller.state.streams.room(caller.desk):
            await _wake(caller, session_id)
            return await event_stream(caller, session_id, after=after, has_room=True, speak=seed_words, ids=True)
    if request.headers.get("last-event-id"):
        raise RoundtableError(
            "Last-Event-ID is no id of this server",
            code="UNKNOWN_EVENT_ID",
            details={"field": "Last-Event-ID"},
            hint="Leave the header out to begin a new conversation.",
        )
    table, most_s = caller.desk.table, seconds_of(caller, None, team=True)
    agents, messages = asked.agents, asked.messages
    check_team(caller, asked_of_team(table.wiring, agents, messages, rounds=asked.rounds).config)

    async def start() -> DebateHandle:
        try:
            with anyio.fail_after(most_s):
                return await table.start_conversation(
                    agents=agents, messages=messages, rounds=asked.rounds, timeout_s=most_s
                )
        except TimeoutError:
            msg = "the conversation could not begin in time"
            raise RoundtableError(msg, code="CONVERSATION_TIMEOUT", retryable=True) from None

    with caller.state.streams.room(caller.desk):
        handle, headers = await begun(caller, start, rounds=asked.rounds)
        # Nothing is waited for before this: the stream hears the conversation from its first event on.
        name = handle.session_id
        return await event_stream(caller, name, begun=True, has_room=True, speak=seed_words, ids=ids, headers=headers)


async def _wake(caller: Caller, session_id: str) -> None:
    """Go on with a conversation that nobody ended and nobody runs, such as after the server died.

    Raises:
        SessionNotFound: There is no such conversation, or it is somebody else's.
        RateLimited: Nobody runs it, and the caller has as many running as they may have.
    """
    table = caller.desk.table
    # Of several who come back at once the first goes on with it, and the others hear it.
    async with caller.desk.alone(session_id):
        fold, further = await further_rounds(caller, session_id)
        if fold.record.config.team is None:
            raise SessionNotFound(f"there is no conversation {session_id!r}")
        if caller.desk.running(session_id) is not None or not _was_interrupted(fold):
            return
        check_further(caller, fold, further)
        deadline_s = seconds_of(caller, None, team=True)
        try:
            await gone_on_alone(caller, partial(table.carry_on, session_id, deadline_s=deadline_s), further)
        except RateLimited:
            # It may be what the caller has running itself, at another process: then it is only heard here.
            if not await table.wiring.sessions.is_run(session_id):
                raise


def _was_interrupted(fold: Fold) -> bool:
    """Tell whether a conversation stopped, or may have stopped, because its server did."""
    status = fold.progress.status
    if status == "paused":
        return fold.exit is not None and fold.exit.reason == "cancelled"
    return status in {"created", "active"}
