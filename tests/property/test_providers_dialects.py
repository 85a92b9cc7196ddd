"""Laws of all dialects: streams say what plain answers say, hostile bytes do no harm, histories keep their shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.errors import RoundtableError
from roundtable.http.json_array import JsonArrayFramer
from roundtable.providers import BUILTIN_SPECS
from roundtable.providers.schemas import ANTHROPIC, GOOGLE, strict_schema, to_dialect
from roundtable.types import ChatRequest, Message, ToolCall

DIALECTS = {name: spec.dialect for name, spec in BUILTIN_SPECS.items()}
NAMES = ["anthropic", "openai", "openai-chat", "google", "perplexity"]
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
ARGUMENTS = st.dictionaries(TEXT, TEXT | st.integers(-9, 9) | st.lists(TEXT, max_size=2), max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["look", "add"]), ARGUMENTS), max_size=3)


def sse(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def anthropic(text: str, calls: list[tuple[str, Any]]) -> tuple[Any, bytes]:
    blocks = [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": f"t{n}", "name": name, "input": args} for n, (name, args) in enumerate(calls)]
    usage = {"input_tokens": 3, "output_tokens": 5}
    top = {"id": "m", "type": "message", "role": "assistant", "model": "c"}
    reason = "tool_use" if calls else "end_turn"
    events: list[Any] = [{"type": "message_start", "message": {**top, "content": [], "usage": usage}}]
    for index, block in enumerate(blocks):
        start = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        kind, field = ("text_delta", "text") if block["type"] == "text" else ("input_json_delta", "partial_json")
        whole = block["text"] if block["type"] == "text" else json.dumps(block["input"], ensure_ascii=False)
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: half}}
            for half in halves(whole)
        ]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    return {**top, "content": blocks, "stop_reason": reason, "usage": usage}, sse(*events)


def openai(text: str, calls: list[tuple[str, Any]]) -> tuple[Any, bytes]:
    items: list[Any] = [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": text}]}]
    items += [
        {
            "type": "function_call",
            "call_id": f"t{n}",
            "name": name,
            "arguments": json.dumps(args, ensure_ascii=False),
        }
        for n, (name, args) in enumerate(calls)
    ]
    answer = {"id": "r", "model": "g", "status": "completed", "output": items}
    answer["usage"] = {"input_tokens": 3, "output_tokens": 5}
    events: list[Any] = [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": half}
        for half in halves(text)
    ]
    for index, item in enumerate(items[1:], 1):
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}})
        events += [
            {"type": "response.function_call_arguments.delta", "output_index": index, "delta": half}
            for half in halves(item["arguments"])
        ]
    events.append({"type": "response.completed", "response": answer})
    return answer, sse(*({**event, "sequence_number": n} for n, event in enumerate(events)))


def chat(text: str, calls: list[tuple[str, Any]]) -> tuple[Any, bytes]:
    made = [
        {"index": n, "id": f"t{n}", "function": {"name": name, "arguments": json.dumps(args, ensure_ascii=False)}}
        for n, (name, args) in enumerate(calls)
    ]
    usage = {"prompt_tokens": 3, "completion_tokens": 5}
    reason = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": {"content": text, "tool_calls": made}, "finish_reason": reason}
    pieces = [{"content": half} for half in halves(text)]
    pieces += [{"tool_calls": [call]} for call in made]
    events: list[Any] = [{"choices": [{"index": 0, "delta": piece}], "model": "g", "id": "r"} for piece in pieces]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    events.append({"choices": [], "usage": usage})
    return {"id": "r", "model": "g", "choices": [choice], "usage": usage}, sse(*events) + b"data: [DONE]\n\n"


def google(text: str, calls: list[tuple[str, Any]]) -> tuple[Any, bytes]:
    parts: list[Any] = [{"text": text}]
    parts += [{"functionCall": {"id": f"t{n}", "name": name, "args": args}} for n, (name, args) in enumerate(calls)]
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 5}
    top = {"modelVersion": "g", "responseId": "r"}
    plain = {**top, "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage}
    chunks: list[Any] = [{"text": half} for half in halves(text) if half]
    chunks += parts[1:]
    events: list[Any] = [{**top, "candidates": [{"content": {"parts": [part]}}]} for part in chunks]
    events.append({**top, "candidates": [{"finishReason": "STOP"}], "usageMetadata": usage})
    return plain, sse(*events).replace(b"\n", b"\r\n")


WIRES = {"anthropic": anthropic, "openai": openai, "openai-chat": chat, "google": google, "perplexity": chat}


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXT.filter(str.strip), calls=CALLS, cuts=st.lists(st.integers(0, 4000), max_size=20))
def test_a_stream_gives_the_same_answer_as_a_plain_call(name: str, text: str, calls: Any, cuts: list[int]) -> None:
    plain, streamed = WIRES[name](text, calls)
    wanted = DIALECTS[name].parse_response(200, {}, json.dumps(plain).encode())
    decoder = DIALECTS[name].stream_decoder({})
    places = sorted({min(cut, len(streamed)) for cut in cuts})
    chunks = [streamed[start:end] for start, end in zip([0, *places], [*places, len(streamed)], strict=True)]
    deltas = [delta for chunk in chunks for delta in decoder.feed(chunk)]
    assert decoder.finish() == wanted
    assert "".join(delta.text for delta in deltas) == wanted.text == text
    assert [(call.name, dict(call.arguments)) for call in wanted.tool_calls] == calls
    assert wanted.finish_reason == ("tool_calls" if calls else "stop")
    assert (wanted.usage.input_tokens, wanted.usage.output_tokens) == (3, 5)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(sorted({
        "type", "error", "choices", "message", "delta", "content", "text", "output", "candidates", "parts", "index",
        "functionCall", "args", "name", "id", "usage", "finish_reason", "stop_reason", "content_block", "response",
        "status", "item", "tool_calls", "function", "arguments", "usageMetadata", "finishReason", "partialArgs",
        "jsonPath", "citations", "search_results", "url", "images", "code", "details", "groundingMetadata",
    })), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip
KINDS = st.sampled_from([
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "response.completed", "response.output_item.added", "response.output_item.done",
    "response.output_text.delta", "response.function_call_arguments.delta", "response.failed", "error", "message",
])  # fmt: skip
DOCUMENTS = JSON | st.builds(lambda kind, rest: {**rest, "type": kind}, KINDS, st.dictionaries(TEXT, JSON, max_size=3))
BODIES = st.binary(max_size=200) | DOCUMENTS.map(lambda value: json.dumps(value).encode())


@pytest.mark.parametrize("name", NAMES)
@given(body=BODIES, status=st.sampled_from([200, 400, 401, 429, 500, 529]))
def test_any_body_gives_an_answer_or_an_error_of_the_library(name: str, body: bytes, status: int) -> None:
    dialect = DIALECTS[name]
    assert isinstance(dialect.parse_error(status, {}, body), RoundtableError)
    try:
        dialect.parse_response(200, {}, body)
    except RoundtableError:
        return


@pytest.mark.parametrize("name", NAMES)
@given(events=st.lists(DOCUMENTS, max_size=6), cut=st.integers(0, 400), raw=st.binary(max_size=60))
def test_any_stream_gives_an_answer_or_an_error_of_the_library(
    name: str, events: list[Any], cut: int, raw: bytes
) -> None:
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + raw
    decoder = DIALECTS[name].stream_decoder({})
    try:
        decoder.feed(body[:cut])
        decoder.feed(body[cut:])
        decoder.finish()
    except RoundtableError:
        return


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("depth", [300, 200_000])
def test_deep_nesting_does_no_harm(name: str, depth: int) -> None:
    plain, _ = WIRES[name]("x", [("look", {})])
    deep = b"[" * depth + b"]" * depth
    body = json.dumps(plain).encode().replace(b'{"type": "text"', b'{"deep": ' + deep + b', "type": "text"')
    body = body.replace(b'"input": {}', b'"input": {"a": ' + deep + b"}").replace(
        b'"args": {}', b'"args": {"a": ' + deep + b"}"
    )
    try:
        DIALECTS[name].parse_response(200, {}, body)
    except RoundtableError:
        return


TURNS = st.lists(st.tuples(TEXT.filter(str.strip), st.lists(ARGUMENTS, max_size=3)), min_size=1, max_size=4)


def history(turns: list[tuple[str, list[Any]]]) -> tuple[Message, ...]:
    messages = [Message(role="system", content="rules"), Message(role="user", content="question")]
    number = 0
    for text, arguments in turns:
        calls = tuple(ToolCall(id=f"c{number + n}", name="look", arguments=one) for n, one in enumerate(arguments))
        messages.append(Message(role="assistant", content=text.strip(), tool_calls=calls))
        messages += [Message(role="tool", content=f"r{call.id}", tool_call_id=call.id) for call in calls]
        messages.append(Message(role="user", content=f"go on {number}"))
        number += len(calls)
    return tuple(messages)


def events_of(messages: tuple[Message, ...]) -> list[tuple[str, ...]]:
    """Return a history as a flat list of what was said, called and returned."""
    flat: list[tuple[str, ...]] = []
    for message in messages:
        if message.role == "tool":
            flat.append(("result", message.tool_call_id or "", message.content))
        elif message.content:
            flat.append((message.role, message.content))
        flat += [("call", call.id, call.name, json.dumps(dict(call.arguments))) for call in message.tool_calls]
    return flat


def back_from_anthropic(body: Any) -> list[tuple[str, ...]]:
    flat: list[tuple[str, ...]] = [("system", body["system"])]
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                flat.append((message["role"], block["text"]))
            elif block["type"] == "tool_use":
                flat.append(("call", block["id"], block["name"], json.dumps(block["input"])))
            else:
                flat.append(("result", block["tool_use_id"], block["content"]))
    return flat


def back_from_openai(body: Any) -> list[tuple[str, ...]]:
    flat: list[tuple[str, ...]] = [("system", body["instructions"])]
    for item in body["input"]:
        if item.get("type") == "function_call":
            flat.append(("call", item["call_id"], item["name"], json.dumps(json.loads(item["arguments"]))))
        elif item.get("type") == "function_call_output":
            flat.append(("result", item["call_id"], item["output"]))
        else:
            flat.append((item["role"], item["content"]))
    return flat


def back_from_chat(body: Any) -> list[tuple[str, ...]]:
    flat: list[tuple[str, ...]] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            flat.append(("result", message["tool_call_id"], message["content"]))
        elif message["content"]:
            flat.append((message["role"], message["content"]))
        for call in message.get("tool_calls", []):
            made = call["function"]
            flat.append(("call", call["id"], made["name"], json.dumps(json.loads(made["arguments"]))))
    return flat


def back_from_google(body: Any) -> list[tuple[str, ...]]:
    flat: list[tuple[str, ...]] = [("system", body["systemInstruction"]["parts"][0]["text"])]
    for content in body["contents"]:
        for part in content["parts"]:
            if call := part.get("functionCall"):
                flat.append(("call", call["id"], call["name"], json.dumps(call["args"])))
            elif result := part.get("functionResponse"):
                flat.append(("result", result["id"], result["response"]["result"]))
            else:
                flat.append(("assistant" if content["role"] == "model" else "user", part["text"]))
    return flat


BACK = {
    "anthropic": back_from_anthropic,
    "openai": back_from_openai,
    "openai-chat": back_from_chat,
    "google": back_from_google,
    "perplexity": back_from_chat,
}


@pytest.mark.parametrize("name", NAMES)
@given(turns=TURNS)
def test_a_history_keeps_roles_order_and_ids(name: str, turns: Any) -> None:
    messages = history(turns)
    built = DIALECTS[name].build_request(
        ChatRequest(model="m", messages=messages), base_url="https://h.example", stream=False
    )
    assert BACK[name](json.loads(built.body)) == events_of(messages)


@given(items=st.lists(st.dictionaries(TEXT, JSON, max_size=3) | st.lists(JSON, max_size=2), max_size=4),
       cuts=st.lists(st.integers(0, 300), max_size=9), indent=st.sampled_from([None, 2]))  # fmt: skip
def test_items_of_an_array_are_cut_out_wherever_the_bytes_are_cut(items: Any, cuts: list[int], indent: Any) -> None:
    body = json.dumps(items, indent=indent, ensure_ascii=False).encode("utf-8", "replace")
    places = sorted({min(cut, len(body)) for cut in cuts})
    framer = JsonArrayFramer()
    found = []
    for start, end in zip([0, *places], [*places, len(body)], strict=True):
        found += framer.feed(body[start:end])
    assert [json.dumps(json.loads(item)) for item in found] == [json.dumps(item) for item in json.loads(body)]
    assert framer.is_closed


NAMED = st.sampled_from(["title", "type", "properties", "description", "required", "a"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer"])},
        optional={"title": TEXT, "default": st.none(), "maxLength": st.integers(1, 9), "minimum": st.integers(0, 3)},
    ),
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMED, inner, min_size=1, max_size=3)},
            optional={"title": TEXT, "required": st.just([])},
        )
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"maxItems": st.integers(1, 3)})
    ),
    max_leaves=5,
)


def shape(schema: Any) -> Any:
    """Return the names of properties and the required ones, at every level of a schema."""
    if schema.get("type") == "object":
        inner = {name: shape(one) for name, one in schema["properties"].items()}
        return {"properties": inner, "required": schema.get("required")}
    return shape(schema["items"]) if schema.get("type") == "array" else schema["type"]


@given(schema=SCHEMAS)
def test_no_property_is_lost_or_becomes_required(schema: Any) -> None:
    before = json.dumps(schema)
    for dialect in (ANTHROPIC, GOOGLE):
        made = to_dialect(schema, dialect)
        assert made is not None
        assert shape(made) == shape(schema)
    made, strict = strict_schema(schema)
    assert shape(made) == shape(schema)
    assert not strict or schema["type"] == "object"
    assert json.dumps(schema) == before
