"""Our other providers keep the laws that a plugin's provider is held to; Chat Completions stands in test_kit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from integration.command_kit import SPEAKS, Stubs

from roundtable.protocols import ChatModel
from roundtable.providers import chat_model
from roundtable.providers.command import CLAUDE, CommandModel
from roundtable.providers.human import HumanModel
from roundtable.testing.provider_suite import KEY, Capability, ProviderSuite
from roundtable.testing.servers import Seen, WireReply, http_reply, sse_reply
from roundtable.types import JsonValue

pytestmark = pytest.mark.slow


def plain(document: Mapping[str, JsonValue]) -> WireReply:
    return http_reply(json.dumps(document).encode())


def streamed(events: Sequence[Mapping[str, JsonValue]]) -> WireReply:
    lines = (
        b"event: %b\ndata: %b\n\n" % (str(event.get("type", "message")).encode(), json.dumps(event).encode())
        for event in events
    )
    return sse_reply(lines)


USED: dict[str, JsonValue] = {"usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}}


def plain_stream(events: Sequence[Mapping[str, JsonValue]]) -> WireReply:
    return sse_reply(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


class _Wire(ProviderSuite):
    name: ClassVar[str] = ""
    capabilities = frozenset({Capability.HTTP, Capability.STREAMING, Capability.TOOLS})
    wait_headers = ({"retry-after": "7"}, {"retry-after-ms": "7000"})

    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        return lambda url: chat_model(self.name, base_url=url, api_key=KEY)


class TestPerplexity(_Wire):
    name = "perplexity:sonar"
    unsupported = frozenset({"seed"})
    capabilities = frozenset({Capability.HTTP, Capability.STREAMING})
    stream_answer = plain_stream(
        [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "T"}}], **USED},
            {"choices": [{"index": 0, "delta": {"content": "ea"}, "finish_reason": "stop"}], **USED},
        ]
    )


SONNET = "claude-sonnet-4-5"
MESSAGE: dict[str, JsonValue] = {"id": "msg_1", "type": "message", "role": "assistant", "model": SONNET}


class TestAnthropic(_Wire):
    name = f"anthropic:{SONNET}"
    unsupported = frozenset({"seed"})
    answer = plain(
        {
            **MESSAGE,
            "content": [{"type": "text", "text": "Tea"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }
    )
    call_answer = plain(
        {
            **MESSAGE,
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"word": "tea"}}],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }
    )
    stream_call_answer = streamed(
        [
            {
                "type": "message_start",
                "message": {**MESSAGE, "content": [], "usage": {"input_tokens": 11, "output_tokens": 1}},
            },
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {}},
            },
            *(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in ('{"word": ', '"tea"}')
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
    )
    stream_answer = streamed(
        [
            {
                "type": "message_start",
                "message": {**MESSAGE, "content": [], "usage": {"input_tokens": 11, "output_tokens": 1}},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "T"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ea"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
    )


SAID: JsonValue = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Tea", "annotations": []}],
}
ASKED: dict[str, JsonValue] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look_up",
    "arguments": '{"word": "tea"}',
    "status": "completed",
}


def response(output: JsonValue) -> dict[str, JsonValue]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-5.2",
        "output": [output],
        "usage": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
    }


class TestOpenAI(_Wire):
    name = "openai:gpt-5.2"
    unsupported = frozenset({"temperature", "seed", "stop"})
    answer = plain(response(SAID))
    call_answer = plain(response(ASKED))
    stream_call_answer = streamed(
        [
            {"type": "response.created", "sequence_number": 0, "response": {**response(ASKED), "output": []}},
            {
                "type": "response.output_item.added",
                "sequence_number": 1,
                "output_index": 0,
                "item": {**ASKED, "arguments": ""},
            },
            {
                "type": "response.function_call_arguments.delta",
                "sequence_number": 2,
                "item_id": "fc_1",
                "output_index": 0,
                "delta": '{"word": "tea"}',
            },
            {"type": "response.output_item.done", "sequence_number": 3, "output_index": 0, "item": ASKED},
            {"type": "response.completed", "sequence_number": 4, "response": response(ASKED)},
        ]
    )
    stream_answer = streamed(
        [
            {"type": "response.created", "sequence_number": 0, "response": {**response(SAID), "output": []}},
            *(
                {
                    "type": "response.output_text.delta",
                    "sequence_number": place,
                    "item_id": "msg_1",
                    "output_index": 0,
                    "content_index": 0,
                    "delta": text,
                }
                for place, text in enumerate(("T", "ea"), 1)
            ),
            {"type": "response.completed", "sequence_number": 3, "response": response(SAID)},
        ]
    )


def candidate(part: JsonValue, **more: JsonValue) -> dict[str, JsonValue]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, **more}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": "gemini-3-flash-preview",
    }


class TestGoogle(_Wire):
    name = "google:gemini-3-flash-preview"
    answer = plain(candidate({"text": "Tea"}, finishReason="STOP"))
    call_answer = plain(candidate({"functionCall": {"name": "look_up", "args": {"word": "tea"}}}, finishReason="STOP"))
    stream_call_answer = streamed(
        [candidate({"functionCall": {"name": "look_up", "args": {"word": "tea"}}}, finishReason="STOP")]
    )
    stream_answer = streamed(
        [candidate({"text": "T"}), candidate({"text": "ea"}), candidate({"text": ""}, finishReason="STOP")]
    )

    def wants_stream(self, seen: Seen) -> bool:
        return ":streamGenerateContent" in seen.path


class TestCommandLineAgent(ProviderSuite):
    """A provider that is not HTTP at all."""

    @pytest.fixture
    def make_model(self, tmp_path: Path) -> Callable[[str], ChatModel]:
        stubs = Stubs(tmp_path / "bin")
        stubs.make("claude", SPEAKS)
        return lambda _: CommandModel(CLAUDE, "sonnet", environment=stubs.environment())


class TestHuman(ProviderSuite):
    @pytest.fixture
    def make_model(self) -> Callable[[str], ChatModel]:
        return lambda _: HumanModel(lambda turn: "Tea")
