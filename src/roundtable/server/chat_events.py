"""The sixteen events of seed 004, as its clients expect them: which fields, in which order, in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roundtable.errors import StorageError
from roundtable.types import AgentToolCall, InitiatorToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.types import DebateExit, Event, JsonObject, JsonValue, ToolCallRecord

__all__ = ["FIELDS", "seed_words", "stream_schema"]

_Schema = dict[str, Any]
_TEXT: Final[_Schema] = {"type": "string"}
_TIME: Final[_Schema] = {"type": "string", "format": "date-time"}
_WHOLE: Final[_Schema] = {"type": "integer", "minimum": 0}
_TEXTS: Final[_Schema] = {"type": "array", "items": _TEXT}
_CALL: Final[_Schema] = {
    "type": "object",
    "required": ["name", "args", "id"],
    "properties": {"name": _TEXT, "args": {"type": "object"}, "id": _TEXT},
}
_USED: Final[_Schema] = {
    "type": "array",
    "items": {"type": "object", "required": ["name", "args"], "properties": {"name": _TEXT, "args": {}}},
}
_RESULT: Final[_Schema] = {
    "type": "object",
    "required": ["agent", "response", "toolCalls", "steps"],
    "properties": {"agent": _TEXT, "response": _TEXT, "toolCalls": _USED, "steps": _WHOLE},
}

FIELDS: Final[Mapping[str, Mapping[str, _Schema]]] = {
    "conversation_start": {"sessionId": _TEXT, "agents": _TEXTS, "rounds": _WHOLE, "timestamp": _TIME},
    "initiator_start": {"agent": _TEXT, "timestamp": _TIME},
    "initiator_tool_call": {"toolCall": _CALL, "timestamp": _TIME},
    "initiator_complete": {"goal": _TEXT, "strategy": _TEXT, "successCriteria": _TEXTS, "timestamp": _TIME},
    "round_start": {"round": _WHOLE, "agents": _TEXTS, "goal": _TEXT, "timestamp": _TIME},
    "agent_start": {"agent": _TEXT, "round": _WHOLE, "maxSteps": _WHOLE, "timestamp": _TIME},
    "agent_tool_call": {"agent": _TEXT, "round": _WHOLE, "step": _WHOLE, "toolCall": _CALL, "timestamp": _TIME},
    "agent_tool_result": {
        "agent": _TEXT,
        "round": _WHOLE,
        "step": _WHOLE,
        "toolCallId": _TEXT,
        "result": {},
        "timestamp": _TIME,
    },
    "agent_response_chunk": {"agent": _TEXT, "round": _WHOLE, "chunk": _TEXT, "timestamp": _TIME},
    "agent_complete": {
        "agent": _TEXT,
        "round": _WHOLE,
        "response": _TEXT,
        "toolCalls": _USED,
        "steps": _WHOLE,
        "finishReason": _TEXT,
        "timestamp": _TIME,
    },
    "round_complete": {"round": _WHOLE, "results": {"type": "array", "items": _RESULT}, "timestamp": _TIME},
    "summarizer_start": {"timestamp": _TIME},
    "summarizer_chunk": {"chunk": _TEXT, "timestamp": _TIME},
    "conversation_complete": {
        "summary": _TEXT,
        "totalRounds": _WHOLE,
        "totalAgents": _WHOLE,
        "executionTime": {"type": "number", "minimum": 0, "description": "Seconds."},
        "timestamp": _TIME,
    },
    "error": {
        "error": _TEXT,
        "code": _TEXT,
        "agent": _TEXT,
        "round": _WHOLE,
        "recoverable": {"type": "boolean"},
        "timestamp": _TIME,
    },
    "agent_error": {
        "agent": _TEXT,
        "round": _WHOLE,
        "error": _TEXT,
        "action": {"enum": ["skip", "retry", "abort"]},
        "timestamp": _TIME,
    },
}
"""The events, with the fields of each in the order in which they are told, and what these are as JSON Schema."""

_OPTIONAL: Final = {"error": {"agent", "round"}}

_CODES: Final = {"QUORUM_LOST": "AGENT_EXECUTION_FAILED", "AGENT_ERROR": "AGENT_EXECUTION_FAILED"}
_ENDS: Final = {
    "paused": "CONVERSATION_PAUSED",
    "cancelled": "CONVERSATION_PAUSED",
    "stopped": "CONVERSATION_STOPPED",
    "budget": "BUDGET_EXCEEDED",
}
"""Codes for ends that the seed knows no event for, by the reason of the exit."""


def seed_words(event: Event) -> JsonObject | None:
    """Tell an event as seed 004 has it; what it has no event for is not told.

    Where a conversation ends before its summary and no error says so, since somebody stopped it or the budget is spent,
    the seed's `error` event does.

    Example:
        >>> from roundtable.types import SummarizerStart, utc_now
        >>> told = seed_words(SummarizerStart(session_id="s", timestamp=utc_now()))
        >>> told["type"], list(told["data"])
        ('summarizer_start', ['timestamp'])
    """
    if event.type == "exit":
        return _ended(event)
    fields = FIELDS.get(event.type)
    if fields is None:
        return None
    given = event.model_dump(mode="json", exclude={"turn", "info"})
    data: JsonObject = {name: given[name] for name in fields if given[name] is not None or name == "result"}
    if event.type == "agent_complete":
        data["toolCalls"] = _used(event.tool_calls or ())
        data["finishReason"] = "completed" if event.finish_reason == "stop" else event.finish_reason
    elif isinstance(event, (AgentToolCall, InitiatorToolCall)):
        call = event.tool_call
        data["toolCall"] = {"name": call.name, "args": dict(call.arguments), "id": call.id}
    elif event.type == "agent_tool_result":
        data["result"] = _bare(event.result)
    elif event.type == "round_complete":
        data["results"] = [
            {"agent": one.agent, "response": one.response, "toolCalls": _used(one.tool_calls), "steps": one.steps}
            for one in event.results or ()
        ]
    elif event.type == "error":
        data["code"] = _CODES.get(event.code, event.code)
        if event.code == "STORAGE_ERROR":
            data["error"] = StorageError.default_message  # its own may name files
    return {"type": event.type, "data": data}


def _used(calls: Iterable[ToolCallRecord]) -> list[JsonValue]:
    return [{"name": call.tool_name, "args": call.input} for call in calls]


def _bare(result: JsonValue) -> JsonValue:
    """Give what a tool gave, without the word on how that went; of a tool that failed, `{"error": why}`."""
    if not isinstance(result, dict) or "success" not in result:
        return result
    return result.get("data") if result["success"] else {"error": result.get("error")}


def _ended(event: DebateExit) -> JsonObject | None:
    code = _ENDS.get(event.exit.reason or "")
    if code is None:
        return None  # an error follows
    data: JsonObject = {
        "error": f"The conversation ended before its summary: {event.exit.details}",
        "code": code,
        "recoverable": code != "CONVERSATION_STOPPED",
        "timestamp": event.model_dump(mode="json", include={"timestamp"})["timestamp"],
    }
    return {"type": "error", "data": data}


def stream_schema() -> dict[str, Any]:
    """Give the JSON Schema of one event of the stream."""
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
