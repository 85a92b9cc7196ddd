"""Whole debates through each provider, against a server on the loopback address that answers in its shape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

import roundtable as rt
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply, sse_reply

URL, TITLE = "https://tea.example/why", "Why tea"
KEY = "sk-canary-0123456789abcdef"


def position(number: int) -> str:
    """Return the text of the answer to a request."""
    said = {"position": f"Thé, bien sûr, {number}", "reasoning": "It keeps [1].", "confidence": 0.8, "stance": "YES"}
    return json.dumps(said, ensure_ascii=False)


def anthropic(stream: bool, said: str) -> WireReply:
    cited = {"type": "web_search_result_location", "url": URL, "title": TITLE, "cited_text": "Tea keeps."}
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tea"}}
    found = [{"type": "web_search_result", "url": URL, "title": TITLE, "encrypted_content": "x", "page_age": None}]
    blocks = [
        search,
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
        {"type": "text", "text": said, "citations": [cited]},
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
            deltas = [{"type": "citations_delta", "citation": cited}, {"type": "text_delta", "text": said[:9]}]
            deltas.append({"type": "text_delta", "text": said[9:]})
            events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}})
    return named([*events, {"type": "message_stop"}])


def openai(stream: bool, said: str) -> WireReply:
    note = {"type": "url_citation", "url": URL, "title": TITLE, "start_index": 0, "end_index": 3}
    items = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tea"}},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": said, "annotations": [note]}]},
    ]
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    answer = {"id": "resp_1", "model": "gpt-x", "status": "completed", "output": items, "usage": usage, "error": None}
    if not stream:
        return http_reply(json.dumps(answer).encode())
    events = [
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": said[:20]},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": said[20:]},
        {"type": "response.completed", "response": answer},
    ]
    return named([{**event, "sequence_number": number} for number, event in enumerate(events)])


def google(stream: bool, said: str) -> WireReply:
    grounding = {"groundingChunks": [{"web": {"uri": URL, "title": TITLE}}], "webSearchQueries": ["tea"]}
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    last = {"finishReason": "STOP", "groundingMetadata": grounding}
    top = {"modelVersion": "gemini-x", "responseId": "r1"}
    if not stream:
        candidate = {"content": {"role": "model", "parts": [{"text": said}]}, **last}
        return http_reply(json.dumps({**top, "candidates": [candidate], "usageMetadata": usage}).encode())
    chunks = [{"content": {"parts": [{"text": part}]}} for part in (said[:5], said[5:])]
    events: list[Any] = [{**top, "candidates": [chunk]} for chunk in [*chunks, last]]
    events[-1]["usageMetadata"] = usage
    return sse_reply([b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events])


def perplexity(stream: bool, said: str) -> WireReply:
    results = [{"title": TITLE, "url": URL, "date": "2026-01-02", "snippet": "Tea keeps."}]
    results.append({"title": "Not used", "url": "https://other.example", "date": None, "snippet": ""})
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    top: dict[str, Any] = {"id": "p1", "model": "sonar-x", "search_results": results, "usage": usage}
    if not stream:
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return http_reply(json.dumps({**top, "choices": [choice]}).encode())
    parts = [({"content": said[:8]}, None), ({"content": said[8:]}, None), ({"content": ""}, "stop")]
    events = [
        {**top, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in parts
    ]
    return sse_reply([b"data: " + json.dumps(event).encode() + b"\n\n" for event in events])


def chat(stream: bool, said: str) -> WireReply:
    note = {"type": "url_citation", "url_citation": {"url": URL, "title": TITLE, "start_index": 0, "end_index": 3}}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    top: dict[str, Any] = {"id": "c1", "model": "gpt-x", "object": "chat.completion"}
    if not stream:
        message = {"role": "assistant", "content": said, "annotations": [note], "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return http_reply(json.dumps({**top, "choices": [choice], "usage": usage}).encode())
    parts: list[Any] = [({"role": "assistant", "content": ""}, None), ({"content": said[:8]}, None)]
    parts += [({"content": said[8:]}, None), ({"annotations": [note]}, None), ({}, "stop")]
    events = [{**top, "choices": [{"index": 0, "delta": delta, "finish_reason": why}]} for delta, why in parts]
    events.append({**top, "choices": [], "usage": usage})
    return sse_reply([*(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events), b"data: [DONE]\n\n"])


def named(events: list[Any]) -> WireReply:
    return sse_reply(
        [b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events]
    )


SHAPES = {
    "anthropic": anthropic,
    "openai": openai,
    "openai-chat": chat,
    "google": google,
    "perplexity": perplexity,
    "compatible": chat,
}
PATHS = {"openai": "/v1", "openai-chat": "/v1", "compatible": "/v1"}
KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "google": "GEMINI_API_KEY",
    "perplexity": "PERPLEXITY_API_KEY",
    "compatible": "ROUNDTABLE_API_KEY",
}
SEARCHES = {
    "anthropic": ["web_search"],
    "openai": ["web_search"],
    "google": ["google_search"],
    "perplexity": ["perplexity_search"],
}
"""The searches a provider says it made; Chat Completions gives sources alone."""


def answering(provider: str) -> LoopbackServer:
    numbers = count(1)

    def answer(seen: Seen) -> WireReply:
        return SHAPES[provider](seen.wants_stream or "streamGenerateContent" in seen.path, position(next(numbers)))

    return LoopbackServer(answer)


def check(response: dict[str, Any], provider: str) -> str:
    """Check an answer, and give the position."""
    assert (response["reasoning"], response["confidence"], response["stance"]) == ("It keeps [1].", 0.8, "YES")
    assert [(link["url"], link["title"]) for link in response["citations"]] == [(URL, TITLE)]
    assert [call["toolName"] for call in response["toolCalls"]] == SEARCHES.get(provider, [])
    return str(response["position"])


def served(calls: int) -> list[str]:
    """Return the positions of that many answers."""
    return [f"Thé, bien sûr, {number}" for number in range(1, calls + 1)]


@pytest.mark.parametrize("provider", sorted(SHAPES))
def test_a_debate_runs_through_each_provider(provider: str) -> None:
    with answering(provider) as server:
        config = rt.ProviderConfig(base_url=server.origin + PATHS.get(provider, ""), api_key=KEY)
        agents = [f"{provider}:x", f"{provider}:y"]
        table = rt.Roundtable(agents, providers={provider: config}, storage="memory://", analyzer="basic")

        async def main() -> Any:
            async with table:
                return await table.debate("Tea or coffee?", rounds=1)

        result = anyio.run(main)
    assert result.roster.complete
    assert result.status == "completed"
    responses = [response.model_dump(mode="json") for response in result.rounds[0].responses]
    assert sorted(check(response, provider) for response in responses) == served(2)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (22, 14)
    assert KEY not in result.to_json()
    assert {seen.method for seen in server.seen} == {"POST"}


@pytest.mark.slow
@pytest.mark.parametrize("provider", sorted(SHAPES))
def test_the_command_shows_the_debate_that_was_run(provider: str, tmp_path: Path) -> None:
    with answering(provider) as server:
        command = [sys.executable, "-m", "roundtable", "debate", "Tea or coffee?"]
        command += ["--agents", f"{provider}:x,{provider}:y", "--rounds", "2", "--json", "--analyzer", "basic"]
        command += ["--base-url", f"{provider}={server.origin}{PATHS.get(provider, '')}"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DATABASE_PATH": str(tmp_path / "d.db")}
        environment |= {KEYS[provider]: KEY, "LOG_LEVEL": "debug"}
        done = subprocess.run(command, capture_output=True, timeout=120, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    turns = [turn for held in shown["rounds"] for turn in held["turns"]]
    assert {turn["outcome"] for turn in turns} == {"answered"}
    assert sorted(check(turn["result"]["answer"], provider) for turn in turns) == served(4)
    for turn in turns:
        usage = turn["result"]["usage"]
        assert (usage["inputTokens"], usage["outputTokens"], usage["calls"]) == (11, 7, 1)
    assert (shown["usage"]["inputTokens"], shown["usage"]["calls"]) == (44, 4)
    assert [(entry["answered"], entry["failed"]) for entry in shown["roster"]["agents"]] == [(2, 0), (2, 0)]
    # The key went to the provider, and nowhere else.
    assert all(KEY in str(seen.headers) for seen in server.seen)
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not any(KEY.encode() in place for place in [done.stdout, done.stderr, *kept])
