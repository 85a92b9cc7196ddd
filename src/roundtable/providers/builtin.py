"""The providers that come with the library, and models by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.providers.cassette import ReplayProvider
from roundtable.providers.http_provider import HttpProvider
from roundtable.providers.local import LocalProvider
from roundtable.providers.openai_chat import OpenAIChat
from roundtable.providers.scripted import scripted_model
from roundtable.providers.spec import ProviderEntry, ProviderFactory, ProviderSpec
from roundtable.settings import Settings
from roundtable.types import ModelProfile, ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.protocols import ChatModel

__all__ = ["BUILTIN_SPECS", "builtin_providers", "chat_model", "split_model_name"]

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

COMPATIBLE: Final = ProviderSpec(
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

BUILTIN_SPECS: Final[Mapping[str, ProviderSpec]] = {spec.name: spec for spec in (OPENAI_CHAT, COMPATIBLE)}
"""Providers that are a dialect and some data."""


def builtin_providers() -> tuple[ProviderEntry, ...]:
    """Give the built-in providers for registration; what their models share belongs to the factories given.

    Example:
        >>> [entry.name for entry in builtin_providers()]
        ['openai-chat', 'compatible', 'local', 'replay', 'scripted']
    """
    return (
        *(ProviderEntry(spec.name, HttpProvider(spec), spec.summary) for spec in BUILTIN_SPECS.values()),
        ProviderEntry("local", LocalProvider(), "A small model inside this process, without a key or a network."),
        ProviderEntry("replay", ReplayProvider(), "What a cassette holds, without a network."),
        ProviderEntry("scripted", scripted_model, "Answers from a JSON file, for tests and demonstrations."),
    )


def split_model_name(name: str) -> tuple[str, str | None]:
    """Split `provider:model` at the first colon; without one it is a provider's default model.

    Raises:
        ConfigurationError: The provider or the model is empty.

    Example:
        >>> split_model_name("compatible:llama3:8b"), split_model_name("local")
        (('compatible', 'llama3:8b'), ('local', None))
    """
    provider, colon, model = name.strip().partition(":")
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
    config: ProviderConfig | None = None,
    settings: Settings | None = None,
    specs: Mapping[str, ProviderSpec] = BUILTIN_SPECS,
) -> ChatModel:
    """Make a model of a built-in provider.

    Args:
        name: `provider:model`, or `provider` for its default model.
        api_key: The secret key; left out, the provider's environment variable.
        base_url: Root of the API.
        client: An `httpx.AsyncClient` of yours, used as it is and never closed.
        timeout_s: Total deadline of a call in seconds.
        config: The four above in one value; what is given beside it wins.
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
        api_key=api_key or given.api_key,
        base_url=base_url or given.base_url,
        client=given.client if client is None else client,
        timeout_s=given.timeout_s if timeout_s is None else timeout_s,
    )
    known = Registry[ProviderFactory]("provider")
    for spec in specs.values():
        known.add(spec.name, HttpProvider(spec), summary=spec.summary)
    for entry in builtin_providers():
        if entry.name not in BUILTIN_SPECS:
            known.add(entry.name, entry.factory, summary=entry.summary)
    return known.get(provider)(model, given, Settings.from_env() if settings is None else settings)
