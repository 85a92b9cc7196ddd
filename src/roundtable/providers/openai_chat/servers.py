"""How servers that speak Chat Completions differ, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from roundtable.providers.openai_models import refuses_temperature

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPENAI", "PLAIN", "SERVERS", "ChatServer", "server_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServer:
    """What is particular about one server of Chat Completions."""

    name: str
    """Name of the vendor or program."""
    base_url: str | None = None
    """Root of its API, where it has one for all."""
    hosts: tuple[str, ...] = ()
    """Ends of host names by which it is recognised."""
    key_env: tuple[str, ...] = ()
    """Variables its key is usually kept in."""
    auth: Literal["bearer", "api-key"] = "bearer"
    """Header the key travels in."""
    limit_field: str = "max_tokens"
    """Field of the token limit."""
    seed: str | None = "seed"
    """Field of the sampling seed."""
    openai_models: bool = False
    """Whether its models are those of OpenAI."""
    done_required: bool = False
    """Whether a stream is whole only with its `[DONE]`; else a finish reason is enough."""
    stream_usage: bool = True
    """Whether usage of a stream has to be asked for."""
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How structured output is asked for."""
    search: Literal["options", "plugin", "none"] = "none"
    """How its own search of the web is asked for."""
    reasoning_back: tuple[str, ...] = ()
    """Fields of an answer that calls tools which have to be sent back with it."""

    def refuses_temperature(self, model: str) -> bool:
        """Tell whether a model refuses a sampling temperature."""
        return self.openai_models and refuses_temperature(model)


PLAIN: Final = ChatServer(name="compatible")
"""A server of which nothing particular is known."""

OPENAI: Final = ChatServer(
    name="openai",
    base_url="https://api.openai.com/v1",
    hosts=("api.openai.com",),
    key_env=("OPENAI_API_KEY",),
    limit_field="max_completion_tokens",
    openai_models=True,
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
        openai_models=True,
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
    ),
    # https://docs.ollama.com/api/openai-compatibility
    ChatServer(name="ollama", base_url="http://127.0.0.1:11434/v1"),
    # https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
    ChatServer(name="vllm", base_url="http://127.0.0.1:8000/v1"),
    # https://github.com/ggml-org/llama.cpp/tree/master/tools/server
    ChatServer(name="llamacpp", base_url="http://127.0.0.1:8080/v1", reasoning_back=("reasoning_content",)),
    # https://lmstudio.ai/docs/developer/openai-compat
    ChatServer(name="lmstudio", base_url="http://127.0.0.1:1234/v1"),
)

SERVERS: Final[Mapping[str, ChatServer]] = {server.name: server for server in _ALL}
"""The servers that are known by name."""


def server_at(base_url: str) -> ChatServer:
    """Recognise a server by its address.

    Example:
        >>> server_at("https://acme.openai.azure.com/openai/v1").name, server_at("http://127.0.0.1:9/v1").name
        ('azure', 'compatible')
    """
    host = urlsplit(base_url).hostname or ""
    for server in _ALL:
        if any(host == end.removeprefix(".") or host.endswith(f".{end.removeprefix('.')}") for end in server.hosts):
            return server
    return PLAIN
