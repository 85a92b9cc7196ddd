"""Fields of a provider's own request reach every call of a debate."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from roundtable import ProviderConfig, Roundtable
from roundtable.errors import ConfigurationError
from roundtable.providers import chat_model
from roundtable.types import ChatRequest, Message

TEXT = '{"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}'
ANSWERS: dict[str, Any] = {
    "anthropic": {"type": "message", "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn"},
    "openai": {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": TEXT}]}],
    },
    "openai-chat": {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]},
    "google": {"candidates": [{"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}]},
    "perplexity": {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]},
}


def listening(provider: str) -> tuple[list[dict[str, Any]], httpx.AsyncClient]:
    """Return the bodies that a server gets, and a client that is connected to it."""
    bodies: list[dict[str, Any]] = []

    def reply(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json=ANSWERS[provider])

    return bodies, httpx.AsyncClient(transport=httpx.MockTransport(reply))


@pytest.mark.parametrize("provider", ANSWERS)
async def test_every_call_of_a_debate_has_the_extra_fields(provider: str) -> None:
    bodies, client = listening(provider)
    config = ProviderConfig(api_key="k", client=client, extra_body={"own": {"effort": "low"}, "tier": "flex"})
    async with (
        client,
        Roundtable(
            [f"{provider}:a", f"{provider}:b"], providers={provider: config}, storage="memory://", analyzer="declared"
        ) as table,
    ):
        result = await table.debate("Tea or coffee?", rounds=2)
    assert result.answer == "Tea"
    assert len(bodies) == 4
    assert all((body["own"], body["tier"]) == ({"effort": "low"}, "flex") for body in bodies)


async def test_the_fields_of_a_request_win_over_those_of_its_provider() -> None:
    bodies, client = listening("openai-chat")
    config = ProviderConfig(
        api_key="k", client=client, extra_body={"own": {"a": 1, "b": 1}, "max_completion_tokens": 7}
    )
    model = chat_model("openai-chat:gpt-4.1", config=config)
    question = (Message(role="user", content="Tea?"),)
    async with client:
        await model.complete(ChatRequest(messages=question, extra_body={"own": {"b": 2}}))
        await model.complete(ChatRequest(messages=question))
    assert [body["own"] for body in bodies] == [{"a": 1, "b": 2}, {"a": 1, "b": 1}]
    assert [body["max_completion_tokens"] for body in bodies] == [7, 7]
    await model.aclose()


def test_extra_fields_must_be_a_mapping() -> None:
    wrong: Any = ["tier"]
    with pytest.raises(ConfigurationError, match="extra_body of providers\\['openai'\\] must be a mapping"):
        Roundtable(["openai:a"], providers={"openai": ProviderConfig(extra_body=wrong)}).estimate("Tea?")
