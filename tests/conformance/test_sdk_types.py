"""What the dialects ask for fits the request types of the providers' own SDKs, which nothing else here uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from roundtable.providers import BUILTIN_SPECS
from roundtable.types import AgentTool, ChatRequest, FilePart, ImagePart, Message, NativeSearch, ToolCall

pytestmark = pytest.mark.slow  # the SDKs take seconds to load

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
ARGUMENTS = st.dictionaries(TEXT, TEXT | st.integers(-9, 9), max_size=2)
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["title"],
}
LOOK = AgentTool(name="look", description="Looks.", parameters=SCHEMA)
IMAGES = [(), (ImagePart(url="https://a.example/i.png"),), (ImagePart.from_bytes(b"x", "image/png"),)]
FILES = [(), (FilePart(name="a.pdf", media_type="application/pdf", data="cGRm"),)]
SEARCHES = [
    None,
    NativeSearch(),
    NativeSearch(allowed_domains=("a.example",)),
    NativeSearch(blocked_domains=("b.example",)),
    NativeSearch(recency="week", context_size="low", images=True, related_questions=True),
]


@st.composite
def requests(draw: Any) -> ChatRequest:
    messages = [Message(role="system", content="rules", cache=draw(st.booleans()))]
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        images = draw(st.sampled_from(IMAGES))
        shown = {"images": images, "files": draw(st.sampled_from(FILES))}
        messages.append(Message(role="user", content=draw(TEXT), cache=draw(st.booleans()), **shown))
        made = draw(st.lists(ARGUMENTS, max_size=2))
        calls = tuple(ToolCall(id=f"c{number + n}", name="look", arguments=one) for n, one in enumerate(made))
        number += len(calls)
        messages.append(Message(role="assistant", content=draw(TEXT), tool_calls=calls))
        messages += [Message(role="tool", content=draw(TEXT), tool_call_id=call.id) for call in calls]
    messages.append(Message(role="user", content="end"))
    return ChatRequest(
        model=draw(st.sampled_from(["gemini-3-pro", "gpt-5.2", "claude-sonnet-4-5"])),
        messages=tuple(messages),
        tools=draw(st.sampled_from([(), (LOOK,)])),
        tool_choice=draw(st.sampled_from(["auto", "none", "required", "look"])),
        response_schema=draw(st.sampled_from([None, SCHEMA])),
        search=draw(st.sampled_from(SEARCHES)),
        temperature=draw(st.sampled_from([None, 0.5])),
        stop=draw(st.sampled_from([(), ("END",)])),
        seed=draw(st.sampled_from([None, 3])),
    )


def body(name: str, request: ChatRequest, *, stream: bool) -> dict[str, Any]:
    made = BUILTIN_SPECS[name].dialect.build_request(request, base_url="https://a.example", stream=stream)
    return json.loads(made.body)


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the adapter of a type; it has to outlive its values, which are checked when they are read."""
    return TypeAdapter(kind)


def exhaust(value: Any) -> None:
    """Look at everything: lists in the SDKs' types are checked when they are read."""
    if isinstance(value, Mapping):
        value = value.values()
    if hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        for item in value:
            exhaust(item)


@settings(deadline=None)
@given(request=requests(), stream=st.booleans())
def test_requests_to_anthropic_fit_the_types_of_its_sdk(request: ChatRequest, stream: bool) -> None:
    types = pytest.importorskip("anthropic.types.message_create_params")
    made = body("anthropic", request, stream=stream)
    # Gone from the types, since the newest models refuse it; the older ones take it.
    made.pop("temperature", None)
    exhaust(adapter(types.MessageCreateParams).validate_python(made, extra="forbid"))


@settings(deadline=None)
@given(request=requests(), stream=st.booleans())
def test_requests_to_openai_fit_the_types_of_its_sdk(request: ChatRequest, stream: bool) -> None:
    types = pytest.importorskip("openai.types.responses.response_create_params")
    made = body("openai", request, stream=stream)
    exhaust(adapter(types.ResponseCreateParams).validate_python(made, extra="forbid"))


@settings(deadline=None)
@given(request=requests(), stream=st.booleans())
def test_requests_to_openai_chat_fit_the_types_of_its_sdk(request: ChatRequest, stream: bool) -> None:
    types = pytest.importorskip("openai.types.chat.completion_create_params")
    made = body("openai-chat", request, stream=stream)
    exhaust(adapter(types.CompletionCreateParams).validate_python(made, extra="forbid"))


@settings(deadline=None)
@given(request=requests(), stream=st.booleans())
def test_requests_to_perplexity_fit_the_types_of_its_sdk(request: ChatRequest, stream: bool) -> None:
    types = pytest.importorskip("perplexity.types.chat.completion_create_params")
    made = body("perplexity", request, stream=stream)
    exhaust(adapter(types.CompletionCreateParams).validate_python(made, extra="forbid"))


@settings(deadline=None)
@given(request=requests(), stream=st.booleans())
def test_requests_to_google_fit_the_types_of_its_sdk(request: ChatRequest, stream: bool) -> None:
    types = pytest.importorskip("google.genai.types")
    made = body("google", request.model_copy(update={"model": "gemini-3-pro"}), stream=stream)
    kinds = {
        "systemInstruction": types.Content,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    for content in made.pop("contents"):
        types.Content.model_validate(content)
    for tool in made.pop("tools", []):
        types.Tool.model_validate(tool)
    for name, value in made.items():
        kinds[name].model_validate(value)
