"""Answers in the words of each wire, whole and streamed, so that one fault can be played on all of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from roundtable.testing.servers import WireReply, http_reply, sse_reply


@dataclass(frozen=True)
class Said:
    """What an answer says."""

    text: str | None = "ok"
    finish: str = "stop"
    model: str | None = "m"
    usage: Any = (11, 7)
    calls: tuple[tuple[str, str], ...] = ()
    """Id and arguments, as written, of each tool call."""
    tool: str = "look"
    """Name of the tool that is called."""


@dataclass(frozen=True)
class Wire:
    """How one provider writes."""

    name: str
    whole: Any
    """Gives the document of an answer."""
    events: Any
    """Gives the events of an answer; those before the last `tail` ones hold its text."""
    tail: int
    """Events behind the text without which an answer is not whole."""
    errors: dict[str, Any] = field(default_factory=dict)
    """Events that say that the call failed: `overload` and `rate limit`."""
    done: tuple[bytes, ...] = ()

    def body(self, said: Said) -> bytes:
        return json.dumps(self.whole(said)).encode()

    def frames(self, said: Said) -> list[bytes]:
        return [*map(frame, self.events(said)), *self.done]

    def open_frames(self, said: Said) -> list[bytes]:
        """The events up to the end of the text, nothing behind it."""
        events = self.events(said)
        return list(map(frame, events[: len(events) - self.tail]))

    def reply(self, said: Said, *, streamed: bool) -> WireReply:
        return sse_reply(self.frames(said)) if streamed else http_reply(self.body(said))

    def failed(self, what: str) -> bytes:
        return frame(self.errors[what])


def frame(event: Any) -> bytes:
    name = f"event: {event['type']}\n" if isinstance(event, dict) and isinstance(event.get("type"), str) else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _value(written: str) -> Any:
    """Return arguments for a wire that sends them as a value; what is not JSON stays a text."""
    try:
        return json.loads(written)
    except ValueError:
        return written


def pieces(text: str | None) -> list[str]:
    text = text or ""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _usage(said: Said, into: str, out: str) -> Any:
    return {into: said.usage[0], out: said.usage[1]} if isinstance(said.usage, tuple) else said.usage


STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}


def _anthropic(said: Said) -> Any:
    content: list[Any] = [] if said.text is None else [{"type": "text", "text": said.text}]
    for call_id, written in said.calls:
        content.append({"type": "tool_use", "id": call_id, "name": said.tool, "input": _value(written)})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": content,
        "stop_reason": STOPS[said.finish] if not said.calls else "tool_use",
        "usage": _usage(said, "input_tokens", "output_tokens"),
    }


def _anthropic_events(said: Said) -> list[Any]:
    start = _anthropic(replace(said, calls=())) | {"content": [], "stop_reason": None}
    events: list[Any] = [{"type": "message_start", "message": start}]
    blocks: list[tuple[Any, list[Any]]] = []
    if said.text is not None:
        blocks.append(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": one} for one in pieces(said.text)])
        )
    for call_id, written in said.calls:
        parts = [{"type": "input_json_delta", "partial_json": one} for one in pieces(written)]
        blocks.append(({"type": "tool_use", "id": call_id, "name": said.tool, "input": {}}, parts))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = STOPS[said.finish] if not said.calls else "tool_use"
    usage = _usage(said, "input_tokens", "output_tokens")
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]


def _responses(said: Said) -> Any:
    part = {"type": "output_text", "text": said.text, "annotations": []}
    if said.finish == "refusal":
        part = {"type": "refusal", "refusal": said.text}
    output: list[Any] = [] if said.text is None else [{"type": "message", "role": "assistant", "content": [part]}]
    for call_id, written in said.calls:
        output.append({"type": "function_call", "call_id": call_id, "name": said.tool, "arguments": written})
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(said.finish)
    return {
        "id": "resp_1",
        "object": "response",
        "model": said.model,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": _usage(said, "input_tokens", "output_tokens"),
    }


def _responses_events(said: Said) -> list[Any]:
    whole = _responses(said)
    kind = "response.refusal.delta" if said.finish == "refusal" else "response.output_text.delta"
    events: list[Any] = [{"type": "response.created", "response": whole | {"output": [], "status": "in_progress"}}]
    events += [{"type": kind, "output_index": 0, "content_index": 0, "delta": one} for one in pieces(said.text) if one]
    for index, (call_id, written) in enumerate(said.calls, start=0 if said.text is None else 1):
        item = {"type": "function_call", "call_id": call_id, "name": said.tool, "arguments": ""}
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events += [
            {"type": "response.function_call_arguments.delta", "output_index": index, "delta": one}
            for one in pieces(written)
        ]
    last = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
    events.append({"type": last, "response": whole})
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


GOOGLE_STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "PROHIBITED_CONTENT", "content_filter": "SAFETY"}


def _google(said: Said) -> Any:
    parts: list[Any] = [] if said.text is None else [{"text": said.text}]
    parts += [{"functionCall": {"id": i, "name": said.tool, "args": _value(written)}} for i, written in said.calls]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": GOOGLE_STOPS[said.finish]}],
        "usageMetadata": _usage(said, "promptTokenCount", "candidatesTokenCount"),
        "modelVersion": said.model,
    }


def _google_events(said: Said) -> list[Any]:
    whole = _google(said)
    events: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": one}]}}]}
        for one in (pieces(said.text) if said.text is not None else [])
    ]
    rest = [part for part in whole["candidates"][0]["content"]["parts"] if "text" not in part]
    last = whole["candidates"][0] | {"content": {"role": "model", "parts": rest}}
    return [*events, whole | {"candidates": [last]}]


def _chat(said: Said) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.finish == "refusal":
        message = {"role": "assistant", "content": None, "refusal": said.text}
    if said.calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": said.tool, "arguments": written}}
            for i, written in said.calls
        ]
    finish = "tool_calls" if said.calls else "stop" if said.finish == "refusal" else said.finish
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": said.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _usage(said, "prompt_tokens", "completion_tokens"),
    }


def _chat_events(said: Said) -> list[Any]:
    whole = _chat(said)
    top = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": said.model}
    where = "refusal" if said.finish == "refusal" else "content"
    deltas: list[Any] = [{where: one} for one in pieces(said.text) if one]
    for index, (call_id, written) in enumerate(said.calls):
        first = {"index": index, "id": call_id, "type": "function", "function": {"name": said.tool, "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": one}}]} for one in pieces(written)]
    events = [top | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = top | {"choices": [{"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}]}
    return [*events, last | {"usage": whole["usage"]}]


CHAT_ERRORS = {
    "overload": {"error": {"message": "down", "code": 503}},
    "rate limit": {"error": {"message": "slow down", "code": 429}},
}

WIRES = {
    wire.name: wire
    for wire in (
        Wire(
            "anthropic",
            _anthropic,
            _anthropic_events,
            tail=3,
            errors={
                "overload": {"type": "error", "error": {"type": "overloaded_error", "message": "down"}},
                "rate limit": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
            },
        ),
        Wire(
            "openai",
            _responses,
            _responses_events,
            tail=1,
            errors={
                "overload": {"type": "error", "code": "server_error", "message": "down"},
                "rate limit": {
                    "type": "response.failed",
                    "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
                },
            },
        ),
        Wire(
            "google",
            _google,
            _google_events,
            tail=1,
            errors={
                "overload": {"error": {"code": 503, "status": "UNAVAILABLE", "message": "down"}},
                "rate limit": {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down"}},
            },
        ),
        Wire("openai-chat", _chat, _chat_events, tail=1, errors=CHAT_ERRORS, done=(b"data: [DONE]\n\n",)),
        Wire("perplexity", _chat, _chat_events, tail=1, errors=CHAT_ERRORS, done=(b"data: [DONE]\n\n",)),
    )
}
"""The wires by provider."""
