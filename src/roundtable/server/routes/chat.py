"""The team chat protocol, `POST /api/chat/multi`: conversations as server-sent events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from fastapi import APIRouter, Depends, Request
from pydantic import Field
from starlette.responses import Response

from roundtable.core.errors import RoundtableError, SessionNotFound, StorageError
from roundtable.core.types.base import Value
from roundtable.core.types.events import AgentToolCall, InitiatorToolCall
from roundtable.core.types.teams import ChatMessage
from roundtable.server.connections import ABSENT
from roundtable.server.limits import RateLimited
from roundtable.server.openapi_parts import json_body
from roundtable.server.request_bodies import JsonBody
from roundtable.server.request_limits import check_further, check_team, seconds_of
from roundtable.server.runs import further_rounds, resume_counted_locked, start_run
from roundtable.server.state import Caller, Writer
from roundtable.server.streams import event_stream, followed_session, resume_point

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.api.runs import DebateHandle
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.answers import ToolCallRecord
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.events import DebateExit, Event

__all__ = ["FIELDS", "MOST_AGENTS", "MOST_ROUNDS", "MultiAgentRequest", "router", "stream_schema", "team_chat_event"]

_Schema = dict[str, Any]
_TEXT: Final[_Schema] = {"type": "string"}
_TIME: Final[_Schema] = {"type": "string", "format": "date-time"}
_COUNT: Final[_Schema] = {"type": "integer", "minimum": 0}
_TEXTS: Final[_Schema] = {"type": "array", "items": _TEXT}
_CALL: Final[_Schema] = {
    "type": "object",
    "required": ["name", "args", "id"],
    "properties": {"name": _TEXT, "args": {"type": "object"}, "id": _TEXT},
}
_TOOL_CALLS: Final[_Schema] = {
    "type": "array",
    "items": {"type": "object", "required": ["name", "args"], "properties": {"name": _TEXT, "args": {}}},
}
_RESULT: Final[_Schema] = {
    "type": "object",
    "required": ["agent", "response", "toolCalls", "steps"],
    "properties": {"agent": _TEXT, "response": _TEXT, "toolCalls": _TOOL_CALLS, "steps": _COUNT},
}

FIELDS: Final[Mapping[str, Mapping[str, _Schema]]] = {
    "conversation_start": {"sessionId": _TEXT, "agents": _TEXTS, "rounds": _COUNT, "timestamp": _TIME},
    "initiator_start": {"agent": _TEXT, "timestamp": _TIME},
    "initiator_tool_call": {"toolCall": _CALL, "timestamp": _TIME},
    "initiator_complete": {"goal": _TEXT, "strategy": _TEXT, "successCriteria": _TEXTS, "timestamp": _TIME},
    "round_start": {"round": _COUNT, "agents": _TEXTS, "goal": _TEXT, "timestamp": _TIME},
    "agent_start": {"agent": _TEXT, "round": _COUNT, "maxSteps": _COUNT, "timestamp": _TIME},
    "agent_tool_call": {"agent": _TEXT, "round": _COUNT, "step": _COUNT, "toolCall": _CALL, "timestamp": _TIME},
    "agent_tool_result": {
        "agent": _TEXT,
        "round": _COUNT,
        "step": _COUNT,
        "toolCallId": _TEXT,
        "result": {},
        "timestamp": _TIME,
    },
    "agent_response_chunk": {"agent": _TEXT, "round": _COUNT, "chunk": _TEXT, "timestamp": _TIME},
    "agent_complete": {
        "agent": _TEXT,
        "round": _COUNT,
        "response": _TEXT,
        "toolCalls": _TOOL_CALLS,
        "steps": _COUNT,
        "finishReason": _TEXT,
        "timestamp": _TIME,
    },
    "round_complete": {"round": _COUNT, "results": {"type": "array", "items": _RESULT}, "timestamp": _TIME},
    "summarizer_start": {"timestamp": _TIME},
    "summarizer_chunk": {"chunk": _TEXT, "timestamp": _TIME},
    "conversation_complete": {
        "summary": _TEXT,
        "totalRounds": _COUNT,
        "totalAgents": _COUNT,
        "executionTime": {"type": "number", "minimum": 0, "description": "Seconds."},
        "timestamp": _TIME,
    },
    "error": {
        "error": _TEXT,
        "code": _TEXT,
        "agent": _TEXT,
        "round": _COUNT,
        "recoverable": {"type": "boolean"},
        "timestamp": _TIME,
    },
    "agent_error": {
        "agent": _TEXT,
        "round": _COUNT,
        "error": _TEXT,
        "action": {"enum": ["skip", "retry", "abort"]},
        "timestamp": _TIME,
    },
}
"""The events of the protocol: the JSON Schema of each field, in the order in which the fields are sent."""

_OPTIONAL: Final = {"error": {"agent", "round"}}

_ERROR_CODES: Final = {"QUORUM_LOST": "AGENT_EXECUTION_FAILED", "AGENT_ERROR": "AGENT_EXECUTION_FAILED"}
_END_CODES: Final = {
    "paused": "CONVERSATION_PAUSED",
    "cancelled": "CONVERSATION_PAUSED",
    "stopped": "CONVERSATION_STOPPED",
    "budget": "BUDGET_EXCEEDED",
}
"""Error codes for ends of a conversation that have no event of their own in the protocol, by exit reason."""

MOST_AGENTS: Final = 5
"""Maximum number of agents in a conversation."""
MOST_ROUNDS: Final = 10
"""Maximum number of rounds in a conversation."""


def team_chat_event(event: Event) -> JsonObject | None:
    """Convert an event to the team chat protocol; `None` for events that the protocol does not have.

    A conversation can end before its summary without an error: somebody stopped or paused it, or its budget is used up.
    Such an end is converted to an `error` event.

    Example:
        >>> from roundtable.types import SummarizerStart, utc_now
        >>> message = team_chat_event(SummarizerStart(session_id="s", timestamp=utc_now()))
        >>> message["type"], list(message["data"])
        ('summarizer_start', ['timestamp'])
    """
    if event.type == "exit":
        return _end_as_error(event)
    fields = FIELDS.get(event.type)
    if fields is None:
        return None
    values = event.model_dump(mode="json", exclude={"turn", "info"})
    data: JsonObject = {name: values[name] for name in fields if values[name] is not None or name == "result"}
    if event.type == "agent_complete":
        data["toolCalls"] = _tool_calls(event.tool_calls or ())
        data["finishReason"] = "completed" if event.finish_reason == "stop" else event.finish_reason
    elif isinstance(event, (AgentToolCall, InitiatorToolCall)):
        call = event.tool_call
        data["toolCall"] = {"name": call.name, "args": dict(call.arguments), "id": call.id}
    elif event.type == "agent_tool_result":
        data["result"] = _tool_data(event.result)
    elif event.type == "round_complete":
        data["results"] = [
            {
                "agent": result.agent,
                "response": result.response,
                "toolCalls": _tool_calls(result.tool_calls),
                "steps": result.steps,
            }
            for result in event.results or ()
        ]
    elif event.type == "error":
        data["code"] = _ERROR_CODES.get(event.code, event.code)
        if event.code == "STORAGE_ERROR":
            data["error"] = StorageError.default_message  # the original message may name files
    return {"type": event.type, "data": data}


def _tool_calls(calls: Iterable[ToolCallRecord]) -> list[JsonValue]:
    return [{"name": call.tool_name, "args": call.input} for call in calls]


def _tool_data(result: JsonValue) -> JsonValue:
    """Return the data of a tool result without its success flag; `{"error": ...}` for a failed tool."""
    if not isinstance(result, dict) or "success" not in result:
        return result
    return result.get("data") if result["success"] else {"error": result.get("error")}


def _end_as_error(event: DebateExit) -> JsonObject | None:
    code = _END_CODES.get(event.exit.reason or "")
    if code is None:
        return None  # an error event follows
    data: JsonObject = {
        "error": f"The conversation ended before its summary: {event.exit.details}",
        "code": code,
        "recoverable": code != "CONVERSATION_STOPPED",
        "timestamp": event.model_dump(mode="json", include={"timestamp"})["timestamp"],
    }
    return {"type": "error", "data": data}


def stream_schema() -> dict[str, Any]:
    """Return the JSON Schema of one event of the stream."""
    return {
        "oneOf": [
            {
                "type": "object",
                "title": kind,
                "required": ["type", "data"],
                "properties": {
                    "type": {"const": kind},
                    "data": {
                        "type": "object",
                        "required": [name for name in fields if name not in _OPTIONAL.get(kind, ())],
                        "properties": dict(fields),
                        "additionalProperties": False,
                    },
                },
            }
            for kind, fields in FIELDS.items()
        ]
    }


router: APIRouter = APIRouter(tags=["conversations"])


class MultiAgentRequest(Value):
    """A request to a team.

    Example:
        >>> body = {
        ...     "agents": ["data-steward"],
        ...     "rounds": 1,
        ...     "messages": [{"role": "user", "content": "Whom to call?"}],
        ... }
        >>> MultiAgentRequest.model_validate(body).messages[0].role
        'user'
    """

    agents: Annotated[tuple[str, ...], Field(min_length=1, max_length=MOST_AGENTS)]
    """Names of 1 to 5 agents, in speaking order; `GET /api/profiles` lists them."""
    # Too many rounds have their own error code, so the type does not check the maximum.
    rounds: Annotated[int, Field(ge=1, strict=True, json_schema_extra={"maximum": MOST_ROUNDS})]
    """Rounds of work, 1 to 10."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]
    """The conversation so far. It must contain a message of the user; the user's last message is the request."""


_STREAM_RESPONSE: Final[dict[str, Any]] = {
    "description": "The conversation as server-sent events; each event is `data: {...}` and an empty line.",
    "content": {"text/event-stream": {"itemSchema": stream_schema()}},
}


@router.post(
    "/api/chat/multi",
    response_class=Response,
    responses={200: _STREAM_RESPONSE},
    operation_id="converse",
    openapi_extra=json_body(
        MultiAgentRequest,
        examples={
            "a request": {
                "agents": ["data-steward", "prospect-finder"],
                "rounds": 3,
                "messages": [{"role": "user", "content": "Find prospects in healthcare that nobody called recently."}],
            }
        },
    ),
)
async def multi(
    caller: Writer, body: Annotated[MultiAgentRequest, Depends(JsonBody(MultiAgentRequest))], request: Request
) -> Response:
    """Run a team of agents on a request, and stream the conversation live.

    When the client disconnects, the conversation continues for a minute (`ROUNDTABLE_PAUSE_AFTER`). After that it is
    paused, unless another client follows it. A client that sends the id of its last event as `Last-Event-ID` does not
    start a new conversation: it continues to follow the conversation of this event, and gets the events that it missed.
    If the conversation was paused because nobody followed it or because the server stopped, it is resumed. The stream
    of a new conversation has ids only with `?ids=1`.
    """
    _, _, ids = resume_point(request)
    if (followed := followed_session(request)) is not None:
        session_id, after = followed
        with caller.state.streams.count_stream(caller.tenant_session):
            await _resume_if_interrupted(caller, session_id)
            return await event_stream(
                caller, session_id, after=after, has_room=True, format_event=team_chat_event, ids=True
            )
    table, most_s = caller.tenant_session.table, seconds_of(caller, None, team=True)
    agents, messages = body.agents, body.messages
    check_team(caller, table.team_config(agents, messages, rounds=body.rounds))

    async def start() -> DebateHandle:
        try:
            with anyio.fail_after(most_s):
                return await table.start_conversation(
                    agents=agents, messages=messages, rounds=body.rounds, timeout_s=most_s
                )
        except TimeoutError:
            msg = "the conversation could not start in time"
            raise RoundtableError(msg, code="CONVERSATION_TIMEOUT", retryable=True) from None

    with caller.state.streams.count_stream(caller.tenant_session):
        handle, headers = await start_run(caller, start, rounds=body.rounds)
        caller.state.streams.register_run(caller.tenant_session, handle)
        # No `await` from here on, so that the stream gets all events of the conversation, from the first one.
        new_id = handle.session_id
        return await event_stream(
            caller, new_id, begun=True, has_room=True, format_event=team_chat_event, ids=ids, headers=headers
        )


async def _resume_if_interrupted(caller: Caller, session_id: str) -> None:
    """Resume a conversation that was interrupted and is not running, for example after a crash of the server.

    Raises:
        SessionNotFound: No conversation of this user has this id.
        RateLimited: The conversation is not running, and the caller already has too many running conversations.
    """
    table = caller.tenant_session.table
    # If several clients reconnect together, the first one resumes the conversation, and the others only listen.
    async with caller.tenant_session.lock_session(session_id):
        fold, further = await further_rounds(caller, session_id)
        if fold.record.config.team is None:
            raise SessionNotFound(f"unknown conversation {session_id!r}")
        if caller.tenant_session.running(session_id) is not None or not _was_interrupted(fold):
            return
        check_further(caller, fold, further)
        deadline_s = seconds_of(caller, None, team=True)
        try:
            resume = partial(table.start_resume, session_id, deadline_s=deadline_s)
            handle, _ = await resume_counted_locked(caller, resume, further)
            caller.state.streams.register_run(caller.tenant_session, handle)
        except RateLimited:
            # The conversation may be running in another process, and so use up the limit itself. Then only listen.
            if not await table.is_running(session_id):
                raise


def _was_interrupted(fold: Fold) -> bool:
    """Check whether a conversation stopped because its server stopped or because nobody listened."""
    status = fold.progress.status
    if status == "paused":
        without_listeners = (
            fold.exit is not None and fold.exit.reason == "paused" and fold.exit.details.startswith(ABSENT)
        )
        return without_listeners or (fold.exit is not None and fold.exit.reason == "cancelled")
    return status in {"created", "active"}
