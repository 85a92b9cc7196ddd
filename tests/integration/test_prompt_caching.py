"""Prompts with tools are cached where caching has to be requested, and what that saves is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

import roundtable as rt
from roundtable.errors import ConfigurationError
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply

MODEL = "anthropic:claude-sonnet-4-5"
PRICES = {MODEL: {"input": 3, "output": 15, "cache_read": "0.3", "cache_write": "3.75", "long_cache_write": 6}}
ANSWER = {"type": "text", "text": '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'}


def remember(word: str) -> str:
    """Return a word."""
    return word


def answer(seen: Seen) -> WireReply:
    """Ask for a tool first; answer once its result has come. The second call reads what the first one wrote."""
    is_second = any(
        isinstance(message["content"], list) and "tool_result" in str(message) for message in messages(seen)
    )
    usage: dict[str, Any] = {"input_tokens": 100, "output_tokens": 10}
    if marked(seen.json):
        usage["cache_read_input_tokens" if is_second else "cache_creation_input_tokens"] = 2000
    call = {"type": "tool_use", "id": "t1", "name": "remember", "input": {"word": "tea"}}
    body = {
        "type": "message",
        "model": "claude-sonnet-4-5",
        "content": [ANSWER if is_second else call],
        "stop_reason": "end_turn" if is_second else "tool_use",
        "usage": usage,
    }
    return http_reply(json.dumps(body).encode())


def messages(seen: Seen) -> list[Any]:
    sent: Any = seen.json["messages"]
    return list(sent)


def marked(value: Any) -> list[Any]:
    """Return the blocks of a request that end a cached part."""
    if isinstance(value, list):
        return [block for item in value for block in marked(item)]
    if not isinstance(value, dict):
        return []
    return [value] if "cache_control" in value else marked(list(value.values()))


async def debate(server: LoopbackServer, *, tools: bool = True, **options: Any) -> rt.DebateResult:
    config = rt.ProviderConfig(base_url=server.origin, api_key="k", search=False, **options)
    async with rt.Roundtable(
        [MODEL],
        providers={"anthropic": config},
        storage="memory://",
        analyzer="declared",
        prices=PRICES,
        tools=[remember] if tools else (),
    ) as table:
        return await table.debate("Tea or coffee?", rounds=1)


async def test_each_prompt_of_a_turn_with_tools_ends_with_a_mark_of_the_cache() -> None:
    with LoopbackServer(answer) as server:
        result = await debate(server, cache_prompts=True)
    first, second = ([block["type"] for block in marked(seen.json)] for seen in server.seen)
    assert (first, second) == (["text"], ["tool_result"])
    assert marked(server.seen[0].json)[0]["cache_control"] == {"type": "ephemeral"}
    usage = result.usage
    assert (usage.cache_write_tokens, usage.cache_read_tokens) == (2000, 2000)
    # Both prompts of 2,100 tokens at 3 USD a million, less what was paid for them.
    assert usage.saved_usd == pytest.approx((2 * 2000 * 3 - 2000 * 3.75 - 2000 * 0.3) / 1e6)
    assert usage.cost_usd == pytest.approx((200 * 3 + 20 * 15 + 2000 * 3.75 + 2000 * 0.3) / 1e6)


async def test_nothing_is_cached_unless_requested() -> None:
    with LoopbackServer(answer) as server:
        result = await debate(server)
    assert [marked(seen.json) for seen in server.seen] == [[], []]
    assert result.usage.saved_usd is None


async def test_a_prompt_that_no_later_call_starts_with_is_not_cached() -> None:
    with LoopbackServer(lambda _: http_reply(json.dumps({"type": "message", "content": [ANSWER]}).encode())) as server:
        await debate(server, tools=False, cache_prompts=True)
    assert [marked(seen.json) for seen in server.seen] == [[]]


async def test_a_cache_that_is_written_and_never_read_costs_more() -> None:
    def only_written(seen: Seen) -> WireReply:
        usage = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 2000}
        return http_reply(json.dumps({"type": "message", "content": [ANSWER], "usage": usage}).encode())

    with LoopbackServer(only_written) as server:
        result = await debate(server, cache_prompts=True)
    assert result.usage.saved_usd == pytest.approx(-2000 * 0.75 / 1e6)


async def test_a_prompt_cached_for_an_hour_is_counted_apart() -> None:
    def written_for_an_hour(seen: Seen) -> WireReply:
        assert seen.json["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        lifetimes = {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 1500}
        usage = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 2000}
        body = {"type": "message", "content": [ANSWER], "usage": {**usage, "cache_creation": lifetimes}}
        return http_reply(json.dumps(body).encode())

    with LoopbackServer(written_for_an_hour) as server:
        result = await debate(server, extra_body={"cache_control": {"type": "ephemeral", "ttl": "1h"}})
    assert (result.usage.cache_write_tokens, result.usage.long_cache_write_tokens) == (2000, 1500)
    assert result.usage.saved_usd == pytest.approx(-(500 * 0.75 + 1500 * 3) / 1e6)


def test_the_option_to_cache_prompts_must_be_true_or_false() -> None:
    wrong: Any = "auto"
    with pytest.raises(ConfigurationError, match="cache_prompts of providers\\['anthropic'\\] must be True or False"):
        rt.Roundtable([MODEL], providers={"anthropic": rt.ProviderConfig(cache_prompts=wrong)}).estimate("Tea?")
