"""Whole debates through each provider, against a server on the loopback address that answers in its shape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import anyio
import pytest

import roundtable as rt
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply, sse_reply

POSITION = {"position": "Thé, bien sûr", "reasoning": "It keeps [1].", "confidence": 0.8, "stance": "YES"}
TEXT = json.dumps(POSITION, ensure_ascii=False)
URL, TITLE = "https://tea.example/why", "Why tea"
USAGE = (11, 7)


def anthropic(stream: bool) -> WireReply:
    cited = {"type": "web_search_result_location", "url": URL, "title": TITLE, "cited_text": "Tea keeps."}
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"}}
    found = [{"type": "web_search_result", "url": URL, "title": TITLE, "encrypted_content": "x", "page_age": None}]
    blocks = [
        search,
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
        {"type": "text", "text": TEXT, "citations": [cited]},
    ]
    usage = {"input_tokens": 11, "output_tokens": 7}
    top: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "usage": usage}
    if not stream:
        return http_reply(json.dumps({**top, "content": blocks, "stop_reason": "end_turn"}).encode())
    events: list[Any] = [{"type": "message_start", "message": {**top, "content": []}}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        is_text = block["type"] == "text"
        start = {**block, "text": "", "citations": []} if is_text else block
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        if is_text:
            deltas = [{"type": "citations_delta", "citation": cited}, {"type": "text_delta", "text": TEXT[:9]}]
            deltas.append({"type": "text_delta", "text": TEXT[9:]})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}})
    return named([*events, {"type": "message_stop"}])


def openai(stream: bool) -> WireReply:
    note = {"type": "url_citation", "url": URL, "title": TITLE, "start_index": 0, "end_index": 3}
    items = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tea"}},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": TEXT, "annotations": [note]}]},
    ]
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    answer = {"id": "resp_1", "model": "gpt-x", "status": "completed", "output": items, "usage": usage, "error": None}
    if not stream:
        return http_reply(json.dumps(answer).encode())
    events = [
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": TEXT[:20]},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": TEXT[20:]},
        {"type": "response.completed", "response": answer},
    ]
    return named([{**event, "sequence_number": number} for number, event in enumerate(events)])


def google(stream: bool) -> WireReply:
    grounding = {"groundingChunks": [{"web": {"uri": URL, "title": TITLE}}], "webSearchQueries": ["tea"]}
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    last = {"finishReason": "STOP", "groundingMetadata": grounding}
    top = {"modelVersion": "gemini-x", "responseId": "r1"}
    if not stream:
        candidate = {"content": {"role": "model", "parts": [{"text": TEXT}]}, **last}
        return http_reply(json.dumps({**top, "candidates": [candidate], "usageMetadata": usage}).encode())
    chunks = [{"content": {"parts": [{"text": part}]}} for part in (TEXT[:5], TEXT[5:])]
    events: list[Any] = [{**top, "candidates": [chunk]} for chunk in [*chunks, last]]
    events[-1]["usageMetadata"] = usage
    return sse_reply([b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events])


def perplexity(stream: bool) -> WireReply:
    results = [{"title": TITLE, "url": URL, "date": "2026-01-02", "snippet": "Tea keeps."}]
    results.append({"title": "Not used", "url": "https://other.example", "date": None, "snippet": ""})
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    top: dict[str, Any] = {"id": "p1", "model": "sonar-x", "search_results": results, "usage": usage}
    if not stream:
        choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
        return http_reply(json.dumps({**top, "choices": [choice]}).encode())
    parts = [({"content": TEXT[:8]}, None), ({"content": TEXT[8:]}, None), ({"content": ""}, "stop")]
    events = [
        {**top, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in parts
    ]
    return sse_reply([b"data: " + json.dumps(event).encode() + b"\n\n" for event in events])


def named(events: list[Any]) -> WireReply:
    return sse_reply(
        [b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events]
    )


SHAPES = {"anthropic": anthropic, "openai": openai, "google": google, "perplexity": perplexity}
PATHS = {"anthropic": "", "openai": "/v1", "google": "", "perplexity": ""}
SEARCHES = {
    "anthropic": "web_search",
    "openai": "web_search",
    "google": "google_search",
    "perplexity": "perplexity_search",
}


def answering(provider: str) -> LoopbackServer:
    def answer(seen: Seen) -> WireReply:
        return SHAPES[provider](seen.wants_stream or "streamGenerateContent" in seen.path)

    return LoopbackServer(answer)


def check(turn: dict[str, Any], provider: str) -> None:
    response = turn.get("answer", turn)
    assert (response["position"], response["confidence"]) == (POSITION["position"], 0.8)
    assert [link["url"] for link in response["citations"]] == [URL]
    assert [call["toolName"] for call in response["toolCalls"]] == [SEARCHES[provider]]


@pytest.mark.parametrize("provider", sorted(SHAPES))
def test_a_debate_through_each_provider(provider: str) -> None:
    with answering(provider) as server:
        config = rt.ProviderConfig(base_url=server.origin + PATHS[provider], api_key="sk-canary-0123456789abcdef")
        agents = [f"{provider}:x", f"{provider}:y"]
        table = rt.Roundtable(agents, providers={provider: config}, storage="memory://")

        async def main() -> Any:
            async with table:
                return await table.debate("Tea or coffee?", rounds=1)

        result = anyio.run(main)
    assert result.roster.complete
    assert result.status == "completed"
    for response in result.rounds[0].responses:
        check(response.model_dump(mode="json"), provider)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (22, 14)
    assert "sk-canary" not in result.to_json()
    assert {seen.method for seen in server.seen} == {"POST"}


@pytest.mark.parametrize("provider", sorted(SHAPES))
def test_the_command_shows_what_was_served(provider: str, tmp_path: Any) -> None:
    with answering(provider) as server:
        command = [sys.executable, "-m", "roundtable", "debate", "Tea or coffee?", "--agents", f"{provider}:x"]
        command += ["--base-url", f"{provider}={server.origin}{PATHS[provider]}", "--rounds", "1", "--json"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DATABASE_PATH": str(tmp_path / "d.db")}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path, check=False
        )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    (turn,) = shown["rounds"][0]["turns"]
    check(turn["result"], provider)
    assert turn["result"]["usage"]["inputTokens"] == 11
    assert [entry["failed"] for entry in shown["roster"]["agents"]] == [0]
