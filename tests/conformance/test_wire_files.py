"""Images and documents as each wire format carries them: golden requests, which the vendors' own types accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundtable.errors import RoundtableError
from roundtable.providers import BUILTIN_SPECS
from roundtable.providers.chat_servers import SERVERS
from roundtable.providers.openai_chat import OpenAIChat
from roundtable.types import ChatRequest, FilePart, ImagePart, Message

IMAGE = ImagePart.from_bytes(b"png", "image/png")
FILE = FilePart(name="report.pdf", media_type="application/pdf", data="cGRm", pages=3)
QUESTION = ChatRequest(model="m", messages=(Message(role="user", content="Well?", images=(IMAGE,), files=(FILE,)),))

GOLDEN: dict[str, Any] = {
    "anthropic": {
        "role": "user",
        "content": [
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
                "title": "report.pdf",
            },
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
            {"type": "text", "text": "Well?"},
        ],
    },
    "openai": {
        "role": "user",
        "content": [
            {"type": "input_file", "filename": "report.pdf", "file_data": "data:application/pdf;base64,cGRm"},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,cG5n"},
            {"type": "input_text", "text": "Well?"},
        ],
    },
    "openai-chat": {
        "role": "user",
        "content": [
            {
                "type": "file",
                "file": {"filename": "report.pdf", "file_data": "data:application/pdf;base64,cGRm"},
            },
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
            {"type": "text", "text": "Well?"},
        ],
    },
    "google": {
        "role": "user",
        "parts": [
            {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
            {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
            {"text": "Well?"},
        ],
    },
    "perplexity": {
        "role": "user",
        "content": [
            # Without `data:`, see https://docs.perplexity.ai/docs/legacy/sonar/media.md.
            {"type": "file_url", "file_url": {"url": "cGRm"}, "file_name": "report.pdf"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
            {"type": "text", "text": "Well?"},
        ],
    },
}
"""The user message of `QUESTION` in each format."""


def sent(name: str, request: ChatRequest = QUESTION) -> Any:
    body = json.loads(
        BUILTIN_SPECS[name].dialect.build_request(request, base_url="https://a.example", stream=False).body
    )
    (message,) = body.get("messages") or body.get("input") or body.get("contents")
    return message


@pytest.mark.parametrize("name", GOLDEN)
def test_files_are_sent_before_the_text(name: str) -> None:
    assert sent(name) == GOLDEN[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_alone_needs_no_text(name: str) -> None:
    message = QUESTION.messages[0].model_copy(update={"content": "", "images": ()})
    content = sent(name, QUESTION.model_copy(update={"messages": (message,)}))
    key = "parts" if name == "google" else "content"
    assert content[key] == GOLDEN[name][key][:1]


@pytest.mark.parametrize("server", sorted(SERVERS))
def test_compatible_servers_take_files_as_openai_does(server: str) -> None:
    request = OpenAIChat("compatible", server=SERVERS[server]).build_request(
        QUESTION, base_url="https://a", stream=False
    )
    assert json.loads(request.body)["messages"] == [GOLDEN["openai-chat"]]


@pytest.mark.parametrize(
    ("name", "model", "inputs"),
    [
        ("anthropic", "claude-sonnet-4-5", ("image", "pdf")),
        ("anthropic", "claude-3-haiku-20240307", ("image", "pdf")),
        ("anthropic", "claude-2.1", ()),
        ("openai", "gpt-5.2", ("image", "pdf")),
        ("openai", "gpt-4o-mini", ("image", "pdf")),
        ("openai", "gpt-4-0613", ()),
        ("openai", "gpt-4-turbo", ("image",)),
        ("openai", "o3-mini", ()),
        ("openai", "o3", ("image", "pdf")),
        ("openai-chat", "gpt-4.1-nano", ("image", "pdf")),
        ("openai-chat", "gpt-3.5-turbo", ()),
        ("openai-chat", "gpt-4o-search-preview", ()),
        ("google", "gemini-2.5-flash-lite", ("image", "pdf")),
        ("google", "gemma-3-27b-it", ("image",)),
        ("perplexity", "sonar-pro", ("image", "pdf")),
        ("perplexity", "sonar-deep-research", ()),
        ("compatible", "llama3", ()),
    ],
)
def test_profiles_say_what_a_model_sees(name: str, model: str, inputs: tuple[str, ...]) -> None:
    assert BUILTIN_SPECS[name].profile_of(model).inputs == inputs


@pytest.mark.slow  # the SDKs take seconds to load
@pytest.mark.parametrize(
    ("name", "module", "kind"),
    [
        ("anthropic", "anthropic.types.message_param", "MessageParam"),
        ("openai", "openai.types.responses.easy_input_message_param", "EasyInputMessageParam"),
        ("openai-chat", "openai.types.chat.chat_completion_user_message_param", "ChatCompletionUserMessageParam"),
        ("perplexity", "perplexity.types.shared_params.chat_message_input", "ChatMessageInput"),
        ("google", "google.genai.types", "Content"),
    ],
)
def test_the_golden_messages_fit_the_types_of_the_sdks(name: str, module: str, kind: str) -> None:
    from pydantic import TypeAdapter, ValidationError

    declared = getattr(pytest.importorskip(module), kind)
    content = "parts" if name == "google" else "content"

    def read(message: Any) -> None:
        if hasattr(declared, "model_validate"):
            declared.model_validate(message)
            return
        adapter = TypeAdapter(declared)  # has to outlive its values
        read_message = adapter.validate_python(message, extra="forbid")
        for part in read_message[content]:  # lists are checked when they are read
            assert dict(part)

    read(GOLDEN[name])
    wrong = json.loads(json.dumps(GOLDEN[name]))
    wrong[content][0]["unknown"] = 1
    with pytest.raises(ValidationError):
        read(wrong)


def test_an_unreadable_answer_about_a_file_is_an_error_of_the_provider() -> None:
    dialect = BUILTIN_SPECS["anthropic"].dialect
    body = b'{"type":"error","error":{"type":"invalid_request_error","message":"Could not process PDF"}}'
    error = dialect.parse_error(400, {}, body)
    assert isinstance(error, RoundtableError)
    assert "Could not process PDF" in error.message
    assert not error.retryable
