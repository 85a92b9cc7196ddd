"""The servers that speak Chat Completions, as data: how each one differs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from roundtable.providers.model_names import (
    call_id_rule,
    claude_rejects_temperature,
    is_openai_reasoning_model,
    openai_rejects_temperature,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPENAI", "PLAIN", "SERVERS", "ChatServer", "server_at"]

_OPENAI_CALL_ID: Final = (re.compile(r".{1,40}", re.DOTALL), 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServer:
    """Settings of one server that speaks Chat Completions."""

    name: str
    """Name of the vendor or program."""
    base_url: str | None = None
    """Root of its API, if it is the same for all users."""
    hosts: tuple[str, ...] = ()
    """Suffixes of its host names."""
    key_env: tuple[str, ...] = ()
    """Environment variables that usually hold its key."""
    auth: Literal["bearer", "api-key"] = "bearer"
    """Header that carries the key."""
    limit_field: str = "max_tokens"
    """Field of the token limit."""
    seed: str | None = "seed"
    """Field of the sampling seed."""
    done_required: bool = False
    """Whether a stream is complete only with `[DONE]`; otherwise a finish reason is enough."""
    stream_usage: bool = True
    """Whether the usage of a stream must be requested."""
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How structured output is requested."""
    search: Literal["options", "plugin", "none"] = "none"
    """How its web search is requested."""
    files: Literal["file", "file_url"] = "file"
    """How documents are sent: `file` in OpenAI's format, `file_url` with the base64 data in place of an address."""
    reasoning_back: tuple[str, ...] = ()
    """Fields that must be part of an answer with tool calls when it is sent back; `extra_content` is one of a call."""
    call_ids: tuple[re.Pattern[str], int] | None = None
    """Form of the ids of tool calls, and length of new ids; `None` if the model decides it."""
    needs_reasoning: bool = False
    """Whether it rejects a conversation with tool calls in which an answer has no `reasoning_content`."""
    temperatures: tuple[float, float] = (0.0, 2.0)
    """Lowest and highest sampling temperature that it accepts; others are replaced by the nearest one."""
    fixed_temperature: tuple[str, ...] = ()
    """Prefixes of the models that reject a sampling temperature, besides those of OpenAI and Anthropic."""

    def rejects_temperature(self, model: str) -> bool:
        """Check whether a model rejects a sampling temperature. Many servers pass on requests to Claude."""
        if model.startswith(self.fixed_temperature) or claude_rejects_temperature(model):
            return True
        # Unknown proxies in front of OpenAI, such as LiteLLM, reject it for all models that reason.
        is_unknown = self.name == PLAIN.name
        return is_openai_reasoning_model(model) if is_unknown else openai_rejects_temperature(model)

    def limit_field_of(self, model: str) -> str:
        """Return the field of the token limit; OpenAI's models that reason have their own, also behind a proxy."""
        is_unknown = self.name == PLAIN.name
        return "max_completion_tokens" if is_unknown and is_openai_reasoning_model(model) else self.limit_field


PLAIN: Final = ChatServer(name="compatible")
"""An unknown server."""

OPENAI: Final = ChatServer(
    name="openai",
    base_url="https://api.openai.com/v1",
    hosts=("api.openai.com",),
    key_env=("OPENAI_API_KEY",),
    limit_field="max_completion_tokens",
    call_ids=_OPENAI_CALL_ID,
    done_required=True,
    search="options",
)
"""OpenAI, see https://platform.openai.com/docs/api-reference/chat."""

_ALL: Final = (
    OPENAI,
    # https://learn.microsoft.com/azure/ai-foundry/openai/latest
    ChatServer(
        name="azure",
        hosts=(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
        key_env=("AZURE_OPENAI_API_KEY",),
        auth="api-key",
        limit_field="max_completion_tokens",
        call_ids=_OPENAI_CALL_ID,
    ),
    # https://openrouter.ai/docs/api-reference/overview
    ChatServer(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        hosts=("openrouter.ai",),
        key_env=("OPENROUTER_API_KEY",),
        search="plugin",
        reasoning_back=("reasoning_details",),
    ),
    # https://console.groq.com/docs/api-reference
    ChatServer(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        hosts=("api.groq.com",),
        key_env=("GROQ_API_KEY",),
        limit_field="max_completion_tokens",
    ),
    # https://docs.x.ai/docs/api-reference
    ChatServer(name="xai", base_url="https://api.x.ai/v1", hosts=("api.x.ai",), key_env=("XAI_API_KEY",)),
    # https://docs.mistral.ai/api
    ChatServer(
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        hosts=("api.mistral.ai",),
        key_env=("MISTRAL_API_KEY",),
        seed="random_seed",
        call_ids=call_id_rule("mistral"),
        stream_usage=False,
    ),
    # https://api-docs.deepseek.com/guides/thinking_mode
    ChatServer(
        name="deepseek",
        base_url="https://api.deepseek.com",
        hosts=("api.deepseek.com",),
        key_env=("DEEPSEEK_API_KEY",),
        seed=None,
        schema="json_object",
        reasoning_back=("reasoning_content",),
        needs_reasoning=True,
    ),
    # https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model and .../docs/guide/migrating-from-openai-to-kimi
    ChatServer(
        name="moonshot",
        base_url="https://api.moonshot.ai/v1",
        hosts=("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
        key_env=("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        limit_field="max_completion_tokens",
        seed=None,
        reasoning_back=("reasoning_content",),
        needs_reasoning=True,
        temperatures=(0.0, 1.0),
        fixed_temperature=("kimi-",),
    ),
    # https://docs.z.ai/guides/capabilities/thinking-mode and https://docs.z.ai/api-reference/llm/chat-completion
    ChatServer(
        name="zai",
        base_url="https://api.z.ai/api/paas/v4",
        hosts=("api.z.ai", "open.bigmodel.cn"),
        key_env=("ZAI_API_KEY", "ZHIPUAI_API_KEY"),
        seed=None,
        schema="json_object",
        reasoning_back=("reasoning_content",),
        temperatures=(0.0, 1.0),
    ),
    # https://platform.minimax.io/docs/api-reference/text-openai-api; without `reasoning_split`, thoughts are text.
    ChatServer(
        name="minimax",
        base_url="https://api.minimax.io/v1",
        hosts=("api.minimax.io", "api.minimaxi.com"),
        key_env=("MINIMAX_API_KEY",),
        seed=None,
        reasoning_back=("reasoning_details",),
        temperatures=(0.01, 1.0),
    ),
    # https://ai.google.dev/gemini-api/docs/openai and https://ai.google.dev/gemini-api/docs/thought-signatures
    ChatServer(
        name="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        hosts=("generativelanguage.googleapis.com",),
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        reasoning_back=("extra_content",),
    ),
    # https://docs.ollama.com/api/openai-compatibility
    ChatServer(name="ollama", base_url="http://127.0.0.1:11434/v1"),
    # https://docs.vllm.ai/en/latest/features/interleaved_thinking/; older versions say `reasoning_content`.
    ChatServer(name="vllm", base_url="http://127.0.0.1:8000/v1", reasoning_back=("reasoning", "reasoning_content")),
    # https://github.com/ggml-org/llama.cpp/tree/master/tools/server
    ChatServer(name="llamacpp", base_url="http://127.0.0.1:8080/v1", reasoning_back=("reasoning_content",)),
    # https://lmstudio.ai/docs/developer/openai-compat
    ChatServer(name="lmstudio", base_url="http://127.0.0.1:1234/v1"),
)

SERVERS: Final[Mapping[str, ChatServer]] = {server.name: server for server in _ALL}
"""All known servers by name."""


def server_at(base_url: str) -> ChatServer:
    """Return the server at an address; `PLAIN` if it is unknown.

    Example:
        >>> server_at("https://acme.openai.azure.com/openai/v1").name, server_at("http://127.0.0.1:9/v1").name
        ('azure', 'compatible')
    """
    host = urlsplit(base_url).hostname or ""
    for server in _ALL:
        if any(host == end.removeprefix(".") or host.endswith(f".{end.removeprefix('.')}") for end in server.hosts):
            return server
    return PLAIN
