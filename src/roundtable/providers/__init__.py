"""Models of providers: dialects over HTTP, the model inside this process, and the scripted double."""

from __future__ import annotations

from roundtable.providers.anthropic import AnthropicMessages
from roundtable.providers.builtin import BUILTIN_SPECS, builtin_providers, chat_model, split_model_name
from roundtable.providers.cassette import Cassette
from roundtable.providers.google import GoogleGenerate
from roundtable.providers.http_model import HttpChatModel
from roundtable.providers.http_provider import HttpProvider
from roundtable.providers.human import HumanModel, HumanProvider, HumanReply, HumanTurn
from roundtable.providers.local import LocalProvider
from roundtable.providers.openai_chat import SERVERS, ChatServer, OpenAIChat
from roundtable.providers.openai_responses import OpenAIResponses
from roundtable.providers.perplexity import PerplexitySonar
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.providers.spec import Decoder, Dialect, ProviderEntry, ProviderFactory, ProviderSpec

__all__ = [
    "BUILTIN_SPECS",
    "SERVERS",
    "AnthropicMessages",
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
