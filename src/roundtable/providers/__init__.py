"""The models of the providers: over HTTP, inside this process, and scripted for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.providers.anthropic import AnthropicMessages
    from roundtable.providers.builtin import BUILTIN_SPECS, builtin_providers, chat_model
    from roundtable.providers.callables import CallableAnswer, CallableModel, CallableReply
    from roundtable.providers.cassette import Cassette
    from roundtable.providers.chat_servers import SERVERS, ChatServer
    from roundtable.providers.google import GoogleGenerate
    from roundtable.providers.http_model import HttpChatModel
    from roundtable.providers.http_provider import HttpProvider
    from roundtable.providers.human import HumanModel, HumanProvider, HumanReply, HumanTurn
    from roundtable.providers.local import LocalProvider
    from roundtable.providers.openai_chat import OpenAIChat
    from roundtable.providers.openai_responses import OpenAIResponses
    from roundtable.providers.perplexity import PerplexitySonar
    from roundtable.providers.scripted import Delay, ScriptedModel
    from roundtable.providers.spec import (
        Decoder,
        Dialect,
        ProviderEntry,
        ProviderFactory,
        ProviderSpec,
        split_model_name,
    )

__all__ = [
    "BUILTIN_SPECS",
    "SERVERS",
    "AnthropicMessages",
    "CallableAnswer",
    "CallableModel",
    "CallableReply",
    "Cassette",
    "ChatServer",
    "Decoder",
    "Delay",
    "Dialect",
    "GoogleGenerate",
    "HttpChatModel",
    "HttpProvider",
    "HumanModel",
    "HumanProvider",
    "HumanReply",
    "HumanTurn",
    "LocalProvider",
    "OpenAIChat",
    "OpenAIResponses",
    "PerplexitySonar",
    "ProviderEntry",
    "ProviderFactory",
    "ProviderSpec",
    "ScriptedModel",
    "builtin_providers",
    "chat_model",
    "split_model_name",
]

_NAMES = {
    "anthropic": "AnthropicMessages",
    "builtin": "BUILTIN_SPECS builtin_providers chat_model",
    "callables": "CallableAnswer CallableModel CallableReply",
    "cassette": "Cassette",
    "chat_servers": "SERVERS ChatServer",
    "google": "GoogleGenerate",
    "http_model": "HttpChatModel",
    "http_provider": "HttpProvider",
    "human": "HumanModel HumanProvider HumanReply HumanTurn",
    "local": "LocalProvider",
    "openai_chat": "OpenAIChat",
    "openai_responses": "OpenAIResponses",
    "perplexity": "PerplexitySonar",
    "scripted": "Delay ScriptedModel",
    "spec": "Decoder Dialect ProviderEntry ProviderFactory ProviderSpec split_model_name",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, {name: home for home, names in _NAMES.items() for name in names.split()})
