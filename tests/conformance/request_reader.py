"""Recorded requests in the library's types, and a form in which two requests that mean the same are equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from roundtable.types import AgentTool, ChatRequest, ImagePart, Message, NativeContent, ToolCall


class Inexpressible(Exception):
    """The request holds something that the library's types have no word for."""


def expressed(api: str, body: dict[str, Any]) -> ChatRequest:
    """Return a recorded request in the library's types; what only the provider has goes into `extra_body`.

    Raises:
        Inexpressible: A message holds something other than text, images, calls, results and native content.
    """
    messages = tuple(READERS[api](body))
    tools = tuple(_tools(api, body))
    known = {"model", "messages", "contents", "input", "instructions", "system", "systemInstruction", "tools", "stream"}
    extra = {name: value for name, value in body.items() if name not in known}
    if not messages or "previous_response_id" in body:
        raise Inexpressible
    return ChatRequest(model=body.get("model") or "m", messages=messages, tools=tools, extra_body=extra)


def _tools(api: str, body: dict[str, Any]) -> Iterator[AgentTool]:
    for tool in body.get("tools") or []:
        if api == "google.generate_content":
            if tool.keys() != {"functionDeclarations"}:
                raise Inexpressible
            for one in tool["functionDeclarations"]:
                if one.keys() - {"name", "description", "parametersJsonSchema"}:
                    raise Inexpressible
                yield _tool(one["name"], one.get("description"), one.get("parametersJsonSchema"))
        elif api == "anthropic.messages":
            if tool.keys() - {"name", "description", "input_schema"}:
                raise Inexpressible
            yield _tool(tool["name"], tool.get("description"), tool["input_schema"])
        else:
            made = tool if api == "openai.responses" else tool.get("function", {})
            around = tool.keys() - {"type", "function"} if api != "openai.responses" else set()
            if (
                tool.get("type") != "function"
                or around
                or "name" not in made
                or made.keys() - {"type", "name", "description", "parameters", "strict"}
                or made.get("strict")
            ):
                raise Inexpressible
            yield _tool(made["name"], made.get("description"), made.get("parameters"))


def _tool(name: str, description: str | None, schema: dict[str, Any] | None) -> AgentTool:
    if not schema:
        raise Inexpressible
    return AgentTool(name=name, description=description or "", parameters=schema)


def _text(content: Any) -> str:
    """Return the text of a content that consists of text alone."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or any(part.keys() != {"type", "text"} for part in content) or len(content) > 1:
        raise Inexpressible
    return "".join(part["text"] for part in content)


def anthropic(body: dict[str, Any]) -> Iterator[Message]:
    """Messages of Anthropic."""
    if body.get("system"):
        yield Message(role="system", content=_text(body["system"]))
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "assistant":
            native = NativeContent(provider="anthropic", items=tuple(blocks))
            calls = [block for block in blocks if block["type"] == "tool_use"]
            yield Message(
                role="assistant",
                content="".join(block.get("text", "") for block in blocks),
                tool_calls=tuple(ToolCall(id=one["id"], name=one["name"], arguments=one["input"]) for one in calls),
                native=native if any(block["type"] not in {"text", "tool_use"} for block in blocks) else None,
            )
            continue
        for block in blocks:
            if block["type"] == "tool_result" and not block.keys() - {"type", "tool_use_id", "content"}:
                yield Message(role="tool", content=_text(block["content"]), tool_call_id=block["tool_use_id"])
            elif block.keys() == {"type", "text"}:
                yield Message(role="user", content=block["text"])
            elif block["type"] == "image" and block.keys() == {"type", "source"}:
                source = block["source"]
                if source["type"] not in {"url", "base64"}:
                    raise Inexpressible
                url = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
                yield Message(role="user", images=(ImagePart(url=url),))
            else:
                raise Inexpressible


def chat(body: dict[str, Any]) -> Iterator[Message]:
    """Messages of Chat Completions."""
    for message in body["messages"]:
        if message.keys() - {"role", "content", "tool_calls", "tool_call_id"} or message["role"] == "developer":
            raise Inexpressible
        if any(call.keys() != {"id", "type", "function"} for call in message.get("tool_calls") or []):
            raise Inexpressible
        calls = [
            ToolCall(
                id=call["id"],
                name=call["function"]["name"],
                arguments=json.loads(call["function"]["arguments"] or "{}"),
            )
            for call in message.get("tool_calls") or []
        ]
        content, images = message.get("content") or "", []
        if isinstance(content, list):
            images = [part["image_url"] for part in content if part["type"] == "image_url"]
            if any(not isinstance(image, dict) or image.keys() != {"url"} for image in images):
                raise Inexpressible
            # Our types show the images first.
            if images and content[0]["type"] != "image_url":
                raise Inexpressible
            content = _text([part for part in content if part["type"] != "image_url"])
        yield Message(
            role=message["role"],
            content=content,
            images=tuple(ImagePart(url=image["url"]) for image in images),
            tool_calls=tuple(calls),
            tool_call_id=message.get("tool_call_id"),
        )


def responses(body: dict[str, Any]) -> Iterator[Message]:
    """Input items of Responses."""
    if body.get("instructions"):
        yield Message(role="system", content=body["instructions"])
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    outputs = {"function_call", "reasoning", "web_search_call"}

    def is_answer(item: dict[str, Any]) -> bool:
        return item.get("type") in outputs or (item.get("role") == "assistant" and "id" in item)

    for native, group in groupby(items, key=is_answer):
        found = list(group)
        if native:
            thoughts = [item for item in found if item.get("type") == "reasoning"]
            if any(not item.get("encrypted_content") for item in thoughts):
                raise Inexpressible
            yield Message(role="assistant", native=NativeContent(provider="openai", items=tuple(found)))
            continue
        for item in found:
            if item.get("type") == "function_call_output" and item.keys() == {"type", "call_id", "output"}:
                if not isinstance(item["output"], str):
                    raise Inexpressible
                yield Message(role="tool", content=item["output"], tool_call_id=item["call_id"])
            elif item.get("role") in {"user", "assistant"} and not item.keys() - {"role", "content", "type"}:
                yield _said(item)
            else:
                raise Inexpressible


def _said(item: dict[str, Any]) -> Message:
    content = item["content"]
    if isinstance(content, str):
        return Message(role=item["role"], content=content)
    images = [part for part in content if part["type"] == "input_image"]
    if images and content[0]["type"] != "input_image":
        raise Inexpressible
    texts = [part for part in content if part["type"] in {"input_text", "output_text"}]
    usual = {"type", "text", "image_url"}
    if len(images) + len(texts) != len(content) or len(texts) > 1 or any(part.keys() - usual for part in content):
        raise Inexpressible
    urls = tuple(ImagePart(url=image["image_url"]) for image in images if image.get("image_url"))
    return Message(role=item["role"], content="".join(part["text"] for part in texts), images=urls)


def google(body: dict[str, Any]) -> Iterator[Message]:
    """Contents of Google."""
    if body.get("systemInstruction"):
        yield Message(role="system", content=_parts_text(body["systemInstruction"]["parts"]))
    for content in body["contents"]:
        if content.get("role") == "model":
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            made = [
                ToolCall(id=one.get("id") or f"call_{place}", name=one["name"], arguments=one.get("args") or {})
                for place, one in enumerate(calls)
            ]
            native = NativeContent(provider="google", items=tuple(content["parts"]))
            yield Message(role="assistant", tool_calls=tuple(made), native=native)
            continue
        for place, part in enumerate(content["parts"]):
            if part.keys() == {"text"}:
                yield Message(role="user", content=part["text"])
            elif part.keys() == {"inlineData"}:
                data = part["inlineData"]
                yield Message(role="user", images=(ImagePart(url=f"data:{data['mimeType']};base64,{data['data']}"),))
            elif part.keys() == {"functionResponse"} and part["functionResponse"]["response"].keys() == {"result"}:
                answer = part["functionResponse"]
                if not isinstance(answer["response"]["result"], str):
                    raise Inexpressible
                yield Message(
                    role="tool", content=answer["response"]["result"], tool_call_id=answer.get("id") or f"call_{place}"
                )
            else:
                raise Inexpressible


def _parts_text(parts: Any) -> str:
    return _text([{"type": "text", **part} for part in (parts if isinstance(parts, list) else [parts])])


READERS = {
    "anthropic.messages": anthropic,
    "openai.responses": responses,
    "openai.chat": chat,
    "google.generate_content": google,
    "perplexity.chat": chat,
}


EMPTY = {"type": "text"}
"""An empty text, without it."""


def normal(value: Any, name: str = "") -> Any:
    """Return a form in which equal meanings are equal values."""
    if isinstance(value, dict):
        if value.keys() == {"role", "content"} and isinstance(value["content"], str):
            value = {**value, "content": [{"type": "text", "text": value["content"]}]}
        made = {key: normal(one, key) for key, one in value.items()}
        made = {key: one for key, one in made.items() if one is not None and one not in ("", [], {}, [EMPTY])}
        if made.get("type") in {"input_text", "output_text"}:
            made["type"] = "text"
        if made.get("type") == "message":
            del made["type"]
        if made.get("detail") == "auto":
            del made["detail"]
        if name == "systemInstruction":
            made.pop("role", None)
        return made
    if isinstance(value, list):
        if name in {"system", "instructions"}:
            return "\n\n".join(one["text"] for one in value)
        return (
            _merged([normal(one) for one in value])
            if name in {"messages", "contents"}
            else [normal(one) for one in value]
        )
    if name == "arguments" and isinstance(value, str):
        return json.dumps(json.loads(value or "{}"))
    if name == "content" and isinstance(value, str):
        if not value:
            return None
        return [{"type": "text", "text": value}]
    return value


def _merged(messages: list[Any]) -> list[Any]:
    """Put together what one side says in a row, as the API reads it."""
    made: list[Any] = []
    for message in messages:
        role = message.get("role")
        field = "parts" if "parts" in message else "content"
        joins = made and made[-1].get("role") == role and field in made[-1] and not message.keys() - {"role", field}
        if joins and role in {"user", "assistant", "model"} and not made[-1].keys() - {"role", field}:
            made[-1][field] = [*made[-1][field], *message[field]]
        else:
            made.append(message)
    return made
