"""A reader of recorded answers that shares no code with the library: what an answer says, read the plain way.

It reads whole bodies, so that it has nothing to do with chunks, and knows only the documented shapes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

TOOLS = ("text", "calls", "citations", "usage", "finish", "error")


@dataclass
class Reading:
    """What an answer says."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    citations: list[str] = field(default_factory=list)
    tokens: tuple[int, int] = (0, 0)
    finish: str | None = None
    reasoned: bool = False
    error: str | None = None


def payloads(record: dict[str, Any]) -> list[Any]:
    """Return the JSON documents of a body, with the bare error that may end a stream."""
    body = record["response"]["body"]
    if not record["response"]["format"].startswith("sse"):
        value = json.loads(body)
        return value if isinstance(value, list) else [value]
    found, rest = [], []
    for block in re.split(r"(?:\r\n|\n|\r){2,}", body):
        lines = re.split(r"\r\n|\n|\r", block)
        data = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        if data and "".join(data).strip() != "[DONE]":
            found.append(json.loads("\n".join(data)))
        rest += [line for line in lines if line and not re.match(r"data:|event:|id:|retry:|:", line)]
    if rest:
        value = json.loads("\n".join(rest))
        found.append(value[0] if isinstance(value, list) else value)
    return found


def error_class(status: int, body: Any) -> str:
    """Name the class an error stands for, by its status and the documented codes."""
    words = json.dumps(body).lower()
    inner = body.get("error") if isinstance(body, dict) and isinstance(body.get("error"), dict) else {}
    if status < 400:
        code = inner.get("code") or inner.get("status_code") or 0
        if not isinstance(code, int) or not 400 <= code < 600:
            code = inner.get("status_code", 0)
        status = code if isinstance(code, int) and 400 <= code < 600 else 402 if "insufficient_quota" in words else 503
    if "violates usage guidelines" in words:
        return "AgentError"
    if status in {401, 402, 403} or "api_key_invalid" in words or "insufficient_quota" in words:
        return "APIAuthError"
    if "invalid_api_key" in words and status < 500:
        return "APIAuthError"
    if status == 429:
        return "APIRateLimitError"
    if status in {408, 504}:
        return "APITimeoutError"
    return "APINetworkError" if status >= 500 or status == 409 else "AgentError"


def read(record: dict[str, Any]) -> Reading:
    """Read one recorded exchange."""
    status, documents = record["response"]["status"], payloads(record)
    if status >= 400:
        return Reading(error=error_class(status, documents[0]))
    for document in documents:
        failed = document.get("response", document) if isinstance(document.get("response"), dict) else document
        places = [failed, *(one for one in failed.get("choices") or [] if isinstance(one, dict))]
        if any(place.get("error") for place in places):
            return Reading(error=error_class(status, next(place for place in places if place.get("error"))))
    reading = Reading()
    READERS[record["api"]](documents, reading)
    reading.citations = [url for url in dict.fromkeys(reading.citations) if url]
    if reading.calls and reading.finish == "stop":
        reading.finish = "tool_calls"
    # An answer of nothing at all, for no stated reason, is a fault of the server.
    nothing = not (reading.text.strip() or reading.calls or reading.reasoned)
    if nothing and record["api"].endswith(".chat") and reading.finish in {"stop", "other"}:
        return Reading(error="AgentError")
    return reading


def anthropic(documents: list[Any], reading: Reading) -> None:
    """Messages, plain or streamed."""
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    reason = None
    for document in documents:
        kind = document.get("type")
        if kind == "message":
            blocks = dict(enumerate(document["content"]))
            usage, reason = document["usage"], document["stop_reason"]
        elif kind == "message_start":
            usage = {**usage, **document["message"]["usage"]}
        elif kind == "content_block_start":
            blocks[document["index"]] = {**document["content_block"], "json": "", "citations": []}
        elif kind == "content_block_delta":
            delta, block = document["delta"], blocks[document["index"]]
            block["text"] = block.get("text", "") + delta.get("text", "")
            block["json"] += delta.get("partial_json", "")
            if "citation" in delta:
                block["citations"].append(delta["citation"])
        elif kind == "message_delta":
            usage = {**usage, **{name: value for name, value in document["usage"].items() if value is not None}}
            reason = document["delta"]["stop_reason"]
    for block in blocks.values():
        if block["type"] == "text":
            reading.text += block["text"]
            reading.citations += [one.get("url") or one.get("source") for one in block.get("citations") or []]
        if block["type"] == "tool_use":
            reading.calls.append((block["name"], json.loads(block["json"]) if block.get("json") else block["input"]))
    reading.citations = [url for url in reading.citations if url]
    parts = usage.get("iterations") or []
    paid = [usage, *(part for part in parts if part["type"] == "compaction")]
    if any(part["type"] in {"advisor_message", "fallback_message"} for part in parts):
        paid = parts
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    sent = sum(part.get(name) or 0 for part in paid for name in names)
    reading.tokens = (sent, sum(part["output_tokens"] for part in paid))
    reading.finish = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "tool_use": "tool_calls",
        "pause_turn": "pause",
        "refusal": "refusal",
    }.get(reason or "", "other")


def responses(documents: list[Any], reading: Reading) -> None:
    """Responses; a stream says everything again at its end."""
    answer = documents[-1].get("response", documents[-1])
    items = answer["output"] or [one["item"] for one in documents if one.get("type") == "response.output_item.done"]
    texts: list[str] = []
    for place, item in enumerate(items):
        if item["type"] == "message":
            texts.append("".join(part.get("text") or part.get("refusal") or "" for part in item["content"]))
            for part in item["content"]:
                reading.citations += [note["url"] for note in part.get("annotations") or [] if note.get("url")]
                if part["type"] == "refusal":
                    reading.finish = "refusal"
        elif item["type"] == "function_call":
            reading.calls.append((item["name"], json.loads(item["arguments"] or "{}")))
        elif item["type"] == "custom_tool_call" and "message" not in [one["type"] for one in items[place:]]:
            reading.calls.append((item["name"], {"input": item["input"]}))
    reading.text = "\n\n".join(text for text in texts if text)
    usage = answer.get("usage") or {}
    reading.tokens = (usage.get("input_tokens", 0), usage.get("output_tokens", 0))
    if answer["status"] == "incomplete":
        reason = answer["incomplete_details"]["reason"]
        reading.finish = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(reason, "other")
    elif reading.finish is None:
        reading.finish = "stop" if answer["status"] in {"completed", "complete"} else "other"


def google(documents: list[Any], reading: Reading) -> None:
    """An answer of generateContent, or its chunks."""
    usage: dict[str, Any] = {}
    partial: dict[str, Any] | None = None
    reason: Any = None
    for document in documents:
        usage |= {name: value for name, value in document.get("usageMetadata", {}).items() if value is not None}
        if document.get("promptFeedback", {}).get("blockReason") and not document.get("candidates"):
            reason = "SAFETY"
        for candidate in document.get("candidates", [])[:1]:
            reason = candidate.get("finishReason") or reason
            for part in candidate.get("content", {}).get("parts", []):
                call = part.get("functionCall")
                if call is None and not part.get("thought"):
                    reading.text += part.get("text", "")
                if call and call.get("name"):
                    partial = dict(call.get("args") or {})
                    reading.calls.append((call["name"], partial))
                for piece in (call or {}).get("partialArgs", []):
                    _place(partial, piece)
            grounding = candidate.get("groundingMetadata", {})
            found = grounding.get("groundingChunks", [])
            supports = grounding.get("groundingSupports") or []
            used = {place for one in supports for place in one.get("groundingChunkIndices", [])}
            found = [chunk for place, chunk in enumerate(found) if place in used] or found
            reading.citations += [one["uri"] for chunk in found for one in chunk.values() if one.get("uri")]
            cited = candidate.get("citationMetadata", {})
            cited = cited.get("citations") or cited.get("citationSources") or []
            reading.citations += [one["uri"] for one in cited if one.get("uri")]
    sent = usage.get("promptTokenCount", 0) + usage.get("toolUsePromptTokenCount", 0)
    reading.tokens = (sent, usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0))
    reason = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}.get(reason, reason)
    filtered = dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter")
    reading.finish = {"STOP": "stop", "MAX_TOKENS": "length", **filtered}.get(reason, "other")


def _place(target: Any, piece: dict[str, Any]) -> None:
    steps = [int(index) if index else name for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", piece["jsonPath"])]
    value = piece.get("stringValue", piece.get("numberValue", piece.get("boolValue")))
    for step, following in pairwise(steps):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int) and step == len(target):
            target.append(empty)
        target = target[step] if isinstance(step, int) else target.setdefault(step, empty)
    old = target.get(steps[-1])
    target[steps[-1]] = old + value if isinstance(old, str) else value


def perplexity(documents: list[Any], reading: Reading) -> None:
    """Sonar: of the sources, those count that the text refers to."""
    chat(documents, reading, refers=True)


def chat(documents: list[Any], reading: Reading, *, refers: bool = False) -> None:
    """Chat Completions, plain or streamed, of any vendor; the first choice counts."""
    calls: dict[int, list[str]] = {}
    usage: dict[str, Any] = {}
    refused = False
    numbered: list[str] = []
    for document in documents:
        usage = document.get("usage") or usage
        numbered = [one["url"] for one in document.get("search_results") or []] or numbered
        numbered = numbered or list(document.get("citations") or [])
        for choice in document.get("choices") or []:
            if choice.get("index") not in {0, None}:
                continue
            is_chunk = str(document.get("object", "")).endswith(".chunk") or "message" not in choice
            message = (choice.get("delta") if is_chunk else choice["message"]) or {}
            if document.get("object") == "chat.completion.done":
                message = choice.get("delta") or {}
            content = message.get("content")
            if isinstance(content, list):
                content = "".join(part.get("text", "") for part in content if part["type"] == "text")
            if isinstance(content, dict):
                content = json.dumps(content, ensure_ascii=False)
            spoken = (message.get("audio") or {}).get("transcript")
            reading.text += content or message.get("refusal") or spoken or ""
            refused = refused or bool(message.get("refusal"))
            reading.reasoned |= any(message.get(name) for name in THOUGHTS)
            listed = [*(message.get("tool_calls") or [])]
            if any((message.get("function_call") or {}).values()):  # Snowflake adds an empty one to each answer
                listed.append({"function": message["function_call"]})
            for place, call in enumerate(listed):
                entry = calls.setdefault(call["index"] if isinstance(call.get("index"), int) else place, ["", ""])
                made = call.get("function") or {}
                entry[0] = entry[0] or made.get("name") or ""
                arguments = made.get("arguments") or ""
                entry[1] += arguments if isinstance(arguments, str) else json.dumps(arguments)
            notes = message.get("annotations") or []
            reading.citations += [note["url_citation"]["url"] for note in notes if note.get("url_citation")]
            reading.finish = choice.get("finish_reason") or reading.finish
    marks = {
        int(number) for group in re.findall(r"\[(\d+(?:\s*,\s*\d+)*)\]", reading.text) for number in group.split(",")
    }
    kept = [url for place, url in enumerate(numbered, 1) if refers and place in marks]
    reading.citations += kept or numbered
    for name, arguments in (calls[index] for index in sorted(calls)):
        try:
            reading.calls.append((name, json.loads(arguments or "{}")))
        except ValueError:
            reading.calls.append((name, None))
    sent = usage.get("prompt_tokens") or 0
    total = usage.get("total_tokens") or 0
    apart = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0  # xAI does not add them
    received = usage.get("completion_tokens") or 0
    reading.tokens = (sent, received + apart if total == sent + received + apart else received)
    known = {"stop": "stop", "eos": "stop", "length": "length", "content_filter": "content_filter"}
    for name in ("tool_calls", "tool_call", "function_call", "tool_use"):
        known[name] = "tool_calls"
    reading.finish = "refusal" if refused else known.get((reading.finish or "").lower(), "other")


THOUGHTS = ("reasoning", "reasoning_content", "reasoning_details")

READERS = {
    "anthropic.messages": anthropic,
    "openai.responses": responses,
    "google.generate_content": google,
    "openai.chat": chat,
    "perplexity.chat": perplexity,
}
