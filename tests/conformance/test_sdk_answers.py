"""Recorded answers as the providers' own SDKs and our dialects read them: each difference is listed and explained."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import httpx
import pytest
from conformance.recordings import APIS, needs_recordings, of_api
from conformance.test_wire import read_by_us

from roundtable.types import ChatResponse

pytestmark = [needs_recordings, pytest.mark.deep]

ADDRESS = "http://127.0.0.1:9"

EXPLAINED = {
    ("anthropic.messages", "tokens"): "a response of several iterations, such as a compaction: we add up all of them",
    (
        "anthropic.messages",
        "the SDK fails: JSONDecodeError",
    ): "arguments that were cut off; we mark the call as invalid",
    ("openai.responses", "text"): "several messages in one response: we put an empty line between them",
    ("openai.responses", "tokens"): "a count below zero, which we read as none",
    ("openai.responses", "the SDK fails: RuntimeError"): "the response is incomplete: we return what there is of it",
    ("openai.responses", "the SDK fails: IndexError"): "another vendor's stream leaves out events that the SDK expects",
    ("openai.chat", "text"): "content in parts, as an object or as the transcript of audio: we read the text of it",
    ("openai.chat", "calls"): "an empty function call is none, and a name that is sent twice is one name",
    ("openai.chat", "model"): "an empty name of a model is none",
    ("openai.chat", "tokens"): "thoughts that only the total counts are part of our output tokens",
    ("openai.chat", "error here"): "the stream ends without an end: for us that is an error",
    ("openai.chat", "the SDK fails: AttributeError"): "a choice without a message, stopped by a content filter",
    ("openai.chat", "the SDK fails: AssertionError"): "the stream has no choice with a finish reason",
    ("openai.chat", "the SDK fails: LengthFinishReasonError"): "the answer is cut off: we return it with this reason",
    ("openai.chat", "the SDK fails: RuntimeError"): "thoughts as a list without indices, as other vendors send them",
    ("openai.chat", "the SDK fails: TypeError"): "an error inside a 200, which is an error here",
    ("google.generate_content", "calls"): "arguments that arrive in pieces: we put them together",
    (
        "google.generate_content",
        "the SDK fails: AttributeError",
    ): "numbers where the SDK expects names of an enumeration",
    ("google.generate_content", "the SDK fails: UnknownApiResponseError"): "a stream as a JSON array instead of events",
}
"""What differs between the SDKs and us in the recordings, and why; everything else is the same."""


class Said(NamedTuple):
    """What an answer says, for comparison."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    tokens: tuple[int, int] = (0, 0)
    model: str | None = None
    is_error: bool = False


def plain(arguments: object) -> str:
    """Return arguments of a call as sorted JSON; text that is not JSON stays."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return str(arguments)
    return json.dumps(arguments, sort_keys=True)


def by_us(record: dict[str, Any]) -> Said:
    found = read_by_us(record)
    if not isinstance(found, ChatResponse):
        return Said(is_error=True)
    calls = tuple((call.name, plain(call.invalid or dict(call.arguments))) for call in found.tool_calls)
    return Said(found.text, calls, (found.usage.input_tokens, found.usage.output_tokens), found.model)


def transport(record: dict[str, Any], library: Any = httpx) -> Any:
    """Answer every request with the recorded body; the library is `httpx` or its twin `httpx2`."""
    answer = record["response"]
    kept = {name: value for name, value in answer["headers"].items() if name.lower() == "content-type"}
    kept = kept or {"content-type": "text/event-stream" if answer["format"] == "sse" else "application/json"}
    body = answer["body"].encode()
    return library.MockTransport(lambda _: library.Response(answer["status"], headers=kept, content=body))


@cache
def sdk(name: str) -> Any:
    return __import__(name)


def chat(record: dict[str, Any]) -> Said:
    client = sdk("openai").OpenAI(
        api_key="k", base_url=ADDRESS, max_retries=0, http_client=httpx.Client(transport=transport(record))
    )
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    if record["stream"]:
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            whole = events.get_final_completion()
    else:
        whole = client.chat.completions.create(**asked)
    message = whole.choices[0].message
    called = [one.function for one in message.tool_calls or ()] or [message.function_call]
    calls = tuple((one.name, plain(one.arguments)) for one in called if one)
    tokens = (whole.usage.prompt_tokens, whole.usage.completion_tokens) if whole.usage else (0, 0)
    return Said(message.content or message.refusal or "", calls, tokens, whole.model)


def responses(record: dict[str, Any]) -> Said:
    client = sdk("openai").OpenAI(
        api_key="k", base_url=ADDRESS, max_retries=0, http_client=httpx.Client(transport=transport(record))
    )
    if record["stream"]:
        with client.responses.stream(model="m", input="x") as events:
            for _ in events:
                pass
            whole = events.get_final_response()
    else:
        whole = client.responses.create(model="m", input="x")
    calls = tuple(
        (one.name, plain(one.arguments if one.type == "function_call" else {"input": one.input}))
        for one in whole.output
        if one.type in {"function_call", "custom_tool_call"}
    )
    tokens = (whole.usage.input_tokens, whole.usage.output_tokens) if whole.usage else (0, 0)
    parts = [part for one in whole.output if one.type == "message" for part in one.content]
    refused = "".join(part.refusal for part in parts if part.type == "refusal")
    return Said(whole.output_text or refused, calls, tokens, whole.model)


def messages(record: dict[str, Any]) -> Said:
    library = sdk("httpx2")
    through = library.Client(transport=transport(record, library))
    client = sdk("anthropic").Anthropic(api_key="k", base_url=ADDRESS, max_retries=0, http_client=through)
    asked: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    if record["stream"]:
        with client.messages.stream(**asked) as events:
            whole = events.get_final_message()
    else:
        whole = client.messages.create(**asked)
    text = "".join(one.text for one in whole.content if one.type == "text")
    calls = tuple((one.name, plain(one.input)) for one in whole.content if one.type == "tool_use")
    used = whole.usage
    cached = (used.cache_read_input_tokens or 0) + (used.cache_creation_input_tokens or 0)
    return Said(text, calls, (used.input_tokens + cached, used.output_tokens), whole.model)


def gemini(record: dict[str, Any]) -> Said:
    from google import genai

    options = genai.types.HttpOptions(base_url=ADDRESS, httpx_client=httpx.Client(transport=transport(record)))
    client = genai.Client(api_key="k", http_options=options)
    if record["stream"]:
        chunks = list(client.models.generate_content_stream(model="m", contents="x"))
    else:
        chunks = [client.models.generate_content(model="m", contents="x")]
    parts = [
        part
        for chunk in chunks
        for candidate in (chunk.candidates or ())[:1]
        if candidate.content
        for part in candidate.content.parts or ()
    ]
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = tuple(
        (part.function_call.name, plain(part.function_call.args or {})) for part in parts if part.function_call
    )
    used = next((chunk.usage_metadata for chunk in reversed(chunks) if chunk.usage_metadata), None)
    given, made = (0, 0) if used is None else (used.prompt_token_count or 0, used.candidates_token_count or 0)
    made += 0 if used is None else used.thoughts_token_count or 0
    given += 0 if used is None else used.tool_use_prompt_token_count or 0
    return Said(text, calls, (given, made), chunks[0].model_version)


def perplexity(record: dict[str, Any]) -> Said:
    client = sdk("perplexity").Perplexity(
        api_key="k", base_url=ADDRESS, max_retries=0, http_client=httpx.Client(transport=transport(record))
    )
    asked: dict[str, Any] = {"model": "sonar", "messages": [{"role": "user", "content": "x"}]}
    if not record["stream"]:
        whole = client.chat.completions.create(**asked)
        text, used = whole.choices[0].message.content, whole.usage
        return Said(text, (), (used.prompt_tokens, used.completion_tokens), whole.model)
    chunks = list(client.chat.completions.create(**asked, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    used = next(chunk.usage for chunk in reversed(chunks) if chunk.usage)
    return Said(text, (), (used.prompt_tokens, used.completion_tokens), chunks[0].model)


READERS: dict[str, Callable[[dict[str, Any]], Said]] = {
    "anthropic.messages": messages,
    "openai.responses": responses,
    "openai.chat": chat,
    "google.generate_content": gemini,
    "perplexity.chat": perplexity,
}


def by_sdk(record: dict[str, Any]) -> Said | str:
    """Return what the SDK reads, or the name of its error."""
    try:
        return READERS[record["api"]](record)
    except Exception as error:  # noqa: BLE001  (any failure of the SDK is a difference)
        known = getattr(error, "status_code", None) or getattr(error, "code", None)
        return Said(is_error=True) if known else type(error).__name__


def differences(record: dict[str, Any]) -> list[str]:
    ours, theirs = by_us(record), by_sdk(record)
    if isinstance(theirs, str):
        return [f"the SDK fails: {theirs}"]
    if ours.is_error or theirs.is_error:
        return [] if ours.is_error == theirs.is_error else ["error here" if ours.is_error else "error there"]
    return [name for name in Said._fields if getattr(ours, name) != getattr(theirs, name)]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("api", APIS)
def test_a_recorded_answer_is_read_as_its_sdk_reads_it_except_where_explained(api: str) -> None:
    found = {(api, difference): record["id"] for record in of_api(api) for difference in differences(record)}
    assert found.keys() == {key for key in EXPLAINED if key[0] == api}, found
