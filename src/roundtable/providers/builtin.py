"""The providers that come with the library, and models by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.gateway import Gateway
from roundtable.providers.anthropic import AnthropicMessages
from roundtable.providers.cassette import ReplayProvider
from roundtable.providers.command import command_providers
from roundtable.providers.google import GoogleGenerate
from roundtable.providers.http_provider import HttpProvider
from roundtable.providers.human import HumanProvider
from roundtable.providers.local import LocalProvider
from roundtable.providers.openai_chat import SERVERS, ChatServer, OpenAIChat, server_at
from roundtable.providers.openai_responses import OpenAIResponses
from roundtable.providers.perplexity import PerplexitySonar
from roundtable.providers.scripted import ScriptedProvider
from roundtable.providers.spec import ProviderEntry, ProviderSpec
from roundtable.settings import Settings
from roundtable.types import ModelProfile, ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.gateway import StreamingModel
    from roundtable.types import RetryPolicy

__all__ = ["BUILTIN_SPECS", "builtin_providers", "chat_model", "split_model_name"]

_Factory: TypeAlias = "Callable[[str | None, ProviderConfig, Settings], StreamingModel]"

ANTHROPIC: Final = ProviderSpec(
    name="anthropic",
    dialect=AnthropicMessages("anthropic"),
    base_url="https://api.anthropic.com",
    base_url_env="ANTHROPIC_BASE_URL",
    key_env=("ANTHROPIC_API_KEY",),
    auth="x-api-key",
    default_model="claude-sonnet-4-5",
    light_model="claude-haiku-4-5",
    profile=ModelProfile(context_tokens=200_000, structured_output=True, streams=True),
    profiles={
        start: ModelProfile(context_tokens=200_000, streams=True)
        for start in (
            "claude-2",
            "claude-3",
            "claude-opus-4-0",
            "claude-opus-4-2",
            "claude-sonnet-4-0",
            "claude-sonnet-4-2",
        )
    },
    summary="Claude through Anthropic's Messages.",
)

OPENAI: Final = ProviderSpec(
    name="openai",
    dialect=OpenAIResponses("openai"),
    base_url="https://api.openai.com/v1",
    base_url_env="OPENAI_BASE_URL",
    key_env=("OPENAI_API_KEY",),
    default_model="gpt-5.2",
    light_model="gpt-5-mini",
    profile=ModelProfile(context_tokens=400_000, structured_output=True, streams=True),
    profiles={
        "gpt-4": ModelProfile(structured_output=True, streams=True),
        "gpt-3": ModelProfile(context_tokens=16_000),
    },
    summary="OpenAI through Responses.",
)

GOOGLE: Final = ProviderSpec(
    name="google",
    dialect=GoogleGenerate("google"),
    base_url="https://generativelanguage.googleapis.com",
    base_url_env="GOOGLE_BASE_URL",
    key_env=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    auth="x-goog-api-key",
    default_model="gemini-3-flash-preview",
    light_model="gemini-2.5-flash-lite",
    profile=ModelProfile(context_tokens=1_000_000, structured_output=True, streams=True),
    profiles={
        start: ModelProfile(
            context_tokens=1_000_000,
            structured_output=True,
            streams=True,
            search_alone=True,
            search_model="gemini-2.5-flash-lite",
        )
        for start in ("gemini-1", "gemini-2")
    },
    summary="Gemini through generateContent.",
)

PERPLEXITY: Final = ProviderSpec(
    name="perplexity",
    dialect=PerplexitySonar("perplexity"),
    base_url="https://api.perplexity.ai",
    base_url_env="PERPLEXITY_BASE_URL",
    key_env=("PERPLEXITY_API_KEY",),
    default_model="sonar-pro",
    light_model="sonar",
    profile=ModelProfile(context_tokens=128_000, structured_output=True, streams=True, calls_tools=False),
    profiles={
        "sonar-pro": ModelProfile(context_tokens=200_000, structured_output=True, streams=True, calls_tools=False)
    },
    summary="Sonar, which always searches the web.",
)

OPENAI_CHAT: Final = ProviderSpec(
    name="openai-chat",
    dialect=OpenAIChat("openai-chat", openai=True),
    base_url="https://api.openai.com/v1",
    base_url_env="OPENAI_BASE_URL",
    key_env=("OPENAI_API_KEY",),
    default_model="gpt-5.2",
    light_model="gpt-5-mini",
    profile=ModelProfile(context_tokens=400_000, structured_output=True, streams=True),
    profiles={"gpt-4": ModelProfile(structured_output=True, streams=True)},
    summary="OpenAI through Chat Completions.",
)

_PLAIN: Final = ProviderSpec(
    name="compatible",
    dialect=OpenAIChat("compatible"),
    base_url=None,
    base_url_env="ROUNDTABLE_BASE_URL",
    host_env="OLLAMA_HOST",
    key_env=("ROUNDTABLE_API_KEY",),
    key_required=False,
    default_model=None,
    model_env="ROUNDTABLE_MODEL",
    profile=ModelProfile(streams=True),
    summary="Any server that speaks Chat Completions: Ollama, vLLM, LM Studio, llama.cpp and others.",
)


def _variant(server: ChatServer) -> ProviderSpec:
    """Give the compatible provider with the particulars of one server."""
    # A stream of which nothing more is known than that it is compatible need not have a terminator.
    dialect = OpenAIChat("compatible", server=replace(server, done_required=False))
    return replace(
        _PLAIN,
        dialect=dialect,
        base_url=server.base_url,
        # The key of a vendor goes to that vendor, not to whatever address the environment names.
        base_url_env=None if server.base_url else _PLAIN.base_url_env,
        host_env=None if server.base_url else _PLAIN.host_env,
        key_env=(*_PLAIN.key_env, *server.key_env),
        auth=server.auth,
    )


def _server_name(base_url: str) -> str | None:
    name = server_at(base_url).name
    return name if name in SERVERS else None


COMPATIBLE: Final = replace(
    _PLAIN, variants={name: _variant(server) for name, server in SERVERS.items()}, variant_at=_server_name
)

BUILTIN_SPECS: Final[Mapping[str, ProviderSpec]] = {
    spec.name: spec for spec in (ANTHROPIC, OPENAI, OPENAI_CHAT, GOOGLE, PERPLEXITY, COMPATIBLE)
}
"""Providers that are a dialect and some data."""


def builtin_providers() -> tuple[ProviderEntry, ...]:
    """Give the built-in providers for registration; what their models share belongs to the factories given.

    Example:
        >>> [entry.name for entry in builtin_providers()][-4:]
        ['command', 'human', 'replay', 'scripted']
    """
    return (
        *(ProviderEntry(spec.name, HttpProvider(spec), spec.summary) for spec in BUILTIN_SPECS.values()),
        *(ProviderEntry(name, factory, summary) for name, factory, summary in _without_http()),
    )


def _without_http() -> tuple[tuple[str, _Factory, str], ...]:
    return (
        ("local", LocalProvider(), "A small model inside this process, without a key or a network."),
        *command_providers(),
        ("human", HumanProvider(), "A person at this terminal; 'human:NAME' tells several apart."),
        ("replay", ReplayProvider(), "What a cassette holds, without a network."),
        ("scripted", ScriptedProvider(), "Answers from a JSON file, for tests and demonstrations."),
    )


def split_model_name(name: str) -> tuple[str, str | None]:
    """Split `provider:model` at the first colon; without one it is a provider's default model.

    Raises:
        ConfigurationError: The provider or the model is empty.

    Example:
        >>> split_model_name("compatible:llama3:8b"), split_model_name("local")
        (('compatible', 'llama3:8b'), ('local', None))
    """
    provider, colon, model = (part.strip() for part in name.partition(":"))
    if not provider or (colon and not model):
        raise ConfigurationError(
            f"{name!r} names no model", hint="Write 'provider:model', or 'provider' for its default model."
        )
    return provider, model or None


def chat_model(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    client: object | None = None,
    timeout_s: float | None = None,
    retry: RetryPolicy | None = None,
    profile: str | None = None,
    config: ProviderConfig | None = None,
    settings: Settings | None = None,
    specs: Mapping[str, ProviderSpec] = BUILTIN_SPECS,
) -> StreamingModel:
    """Make a model of a built-in provider.

    Args:
        name: `provider:model`, or `provider` for its default model.
        api_key: The secret key; left out, the provider's environment variable.
        base_url: Root of the API.
        client: An `httpx.AsyncClient` of yours, used as it is and never closed.
        timeout_s: Total deadline of a call in seconds.
        profile: Name of the server, such as `"groq"`, where the provider knows several.
        retry: How often a call is tried. Left out, the model is bare: each call is one request, and whoever seats the
            model at a table gets the tries of its gateway.
        config: The six above in one value, and rates and models; what is given beside it wins.
        settings: What the environment says; read now when left out.
        specs: The HTTP providers known; add your own with `{**BUILTIN_SPECS, "acme": spec}`.

    Raises:
        ConfigurationError: The provider is unknown, or a key, address, model or extra is missing. The message
            says which variable or argument to set.

    Example:
        >>> chat_model("compatible:llama3:8b", base_url="http://127.0.0.1:11434/v1").model
        'llama3:8b'
    """
    provider, model = split_model_name(name)
    given = ProviderConfig() if config is None else config
    given = replace(
        given,
        api_key=given.api_key if api_key is None else api_key,
        base_url=given.base_url if base_url is None else base_url,
        client=given.client if client is None else client,
        timeout_s=given.timeout_s if timeout_s is None else timeout_s,
        retry=given.retry if retry is None else retry,
        profile=profile or given.profile,
    )
    known = Registry[_Factory]("provider")
    for spec in specs.values():
        known.add(spec.name, HttpProvider(spec), summary=spec.summary)
    for other, factory, summary in _without_http():
        known.add(other, factory, summary=summary)
    made = known.get(provider)(model or given.model, given, Settings.from_env() if settings is None else settings)
    if given.retry is None:
        return made
    return Gateway().guard(
        made,
        timeout_s=given.timeout_s,
        retry=given.retry,
        requests_per_minute=given.requests_per_minute,
        tokens_per_minute=given.tokens_per_minute,
    )
