"""The vendors that the library knows by name. Each has one row: wire format, keys, addresses, models, prices, search.

Settings, agents, prices, traces, `roundtable doctor` and the reference pages read these rows. A vendor whose servers
use a known wire format needs only a row here.

Example:
    >>> VENDORS["google"].key_env
    ('GOOGLE_API_KEY', 'GEMINI_API_KEY')
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from roundtable.core.types.agents import InputKind, ModelProfile
from roundtable.core.types.base import SearchProfile
from roundtable.core.types.providers import ProviderInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.core.types.chat import Usage

__all__ = ["VENDORS", "WITHOUT_HTTP", "ModelApi", "Vendor", "Wire", "known_provider"]

Wire: TypeAlias = Literal["anthropic", "openai-responses", "openai-chat", "google", "perplexity"]
"""Wire format: Anthropic's Messages, OpenAI's Responses, Chat Completions, Google's generateContent, or Sonar."""

_CLAUDE_SEARCH: Final = SearchProfile(takes=("max_uses", "allowed_domains", "blocked_domains"), one_list=True)
_OPENAI_SEARCH: Final = SearchProfile(takes=("max_uses", "context_size", "allowed_domains"), most_domains=100)
_CHAT_SEARCH: Final = SearchProfile(takes=("context_size",))
_GEMINI_SEARCH: Final = SearchProfile(takes=("recency",))
# https://docs.perplexity.ai/guides/search-domain-filters allows 20 domains.
_SONAR_SEARCH: Final = SearchProfile(
    built_in=True,
    takes=("context_size", "recency", "allowed_domains", "blocked_domains", "images", "related_questions"),
    most_domains=20,
)

_GEMINI_SEARCH_USD: Final = Decimal("0.014")
_GROUNDED_ANSWER_USD: Final = Decimal("0.035")
_OLD_GEMINI: Final = re.compile(r"gemini-[12](?:\D|$)")

_SEES_ALL: Final[tuple[InputKind, ...]] = ("image", "pdf")
_BLIND_REASONERS: Final = {
    start: ModelProfile(context_tokens=context_tokens, structured_output=True, streams=True)
    for start, context_tokens in {"o1-mini": 128_000, "o1-preview": 128_000, "o3-mini": 200_000}.items()
}
"""Reasoning models of OpenAI that don't accept images."""

_GEMINI: Final = ModelProfile(
    context_tokens=1_000_000,
    inputs=_SEES_ALL,
    structured_output=True,
    streams=True,
    search_alone=True,
    search_model="gemini-2.5-flash-lite",
    search=_GEMINI_SEARCH,
)
_SONAR: Final = ModelProfile(
    context_tokens=128_000,
    structured_output=True,
    streams=True,
    inputs=_SEES_ALL,
    calls_tools=False,
    search=_SONAR_SEARCH,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelApi(ProviderInfo):
    """What is needed to call one API over HTTP, besides its wire format."""

    auth: str = "bearer"
    """Header that carries the key, such as `x-api-key`; `bearer` is `Authorization`."""
    profile: ModelProfile = field(default_factory=ModelProfile)
    """Profile of the models: what the library must know to prompt them."""
    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    """Profiles of some models, by prefix of the model id; the longest match wins."""
    batch_api: Literal["anthropic", "google", "openai"] | None = None
    """Kind of its batch API; `None` if it has no batch API, or none that the library supports."""
    requests_per_minute: float | None = None
    """Maximum calls per minute for one key and model at the vendor's own address, used until response headers state the
    limit; `None` for no limit."""

    def rate_at(self, base_url: str) -> float | None:
        """Return the default rate for calls to an address, in calls per minute: only the vendor itself has one.

        Example:
            >>> api = ModelApi(name="acme", base_url="https://api.acme.test/v1", requests_per_minute=50)
            >>> api.rate_at("https://eu.api.acme.test/v1"), api.rate_at("http://127.0.0.1:8080/v1")
            (50, None)
        """
        own, host = (urlsplit(url or "").hostname or "" for url in (self.base_url, base_url))
        return self.requests_per_minute if own and f".{host}".endswith(f".{own}") else None

    def profile_of(self, model: str) -> ModelProfile:
        """Return the profile of a model."""
        prefixes = [prefix for prefix in self.profiles if model.startswith(prefix)]
        return self.profiles[max(prefixes, key=len)] if prefixes else self.profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor(ModelApi):
    """What the library knows about one vendor, or about one of its APIs."""

    wire: Wire
    """Wire format of its API."""
    telemetry_name: str | None = None
    """Value of `gen_ai.provider.name` in OpenTelemetry's conventions, which list well-known vendors; `name` if
    `None`."""


def _gemini_search_cost(model: str, usage: Usage) -> Decimal:
    """Return the list price of searches with Gemini: https://ai.google.dev/gemini-api/docs/pricing.

    Example:
        >>> from roundtable.types import Usage
        >>> usage = Usage(searches=3, calls=1)
        >>> [_gemini_search_cost(model, usage) for model in ("gemini-2.5-pro", "gemini-3-pro-preview")]
        [Decimal('0.035'), Decimal('0.042')]
    """
    if _OLD_GEMINI.search(model) or "gemini-" not in model:
        # Up to Gemini 2.5, each answer based on searches is billed once, whatever the number of searches.
        return _GROUNDED_ANSWER_USD * min(usage.searches, max(1, usage.calls))
    return _GEMINI_SEARCH_USD * usage.searches


_ROWS: Final = (
    Vendor(
        name="anthropic",
        display_name="Claude",
        wire="anthropic",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        key_env=("ANTHROPIC_API_KEY",),
        auth="x-api-key",
        default_model="claude-sonnet-4-5",
        light_model="claude-haiku-4-5",
        profile=ModelProfile(
            context_tokens=200_000, structured_output=True, streams=True, inputs=_SEES_ALL, search=_CLAUDE_SEARCH
        ),
        profiles={
            start: ModelProfile(context_tokens=200_000, streams=True, inputs=inputs, search=search)
            for start, (inputs, search) in {
                "claude-2": ((), None),
                "claude-3": (_SEES_ALL, None),
                "claude-3-5": (_SEES_ALL, _CLAUDE_SEARCH),
                "claude-3-7": (_SEES_ALL, _CLAUDE_SEARCH),
                "claude-opus-4-0": (_SEES_ALL, _CLAUDE_SEARCH),
                "claude-opus-4-2": (_SEES_ALL, _CLAUDE_SEARCH),
                "claude-sonnet-4-0": (_SEES_ALL, _CLAUDE_SEARCH),
                "claude-sonnet-4-2": (_SEES_ALL, _CLAUDE_SEARCH),
            }.items()
        },
        batch_api="anthropic",
        requests_per_minute=50,
        search_usd=Decimal("0.010"),  # https://claude.com/pricing
        summary="Claude through Anthropic's Messages.",
    ),
    Vendor(
        name="openai",
        display_name="ChatGPT",
        wire="openai-responses",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env=("OPENAI_API_KEY",),
        default_model="gpt-5.2",
        light_model="gpt-5-mini",
        profile=ModelProfile(
            context_tokens=400_000, structured_output=True, streams=True, inputs=_SEES_ALL, search=_OPENAI_SEARCH
        ),
        profiles={
            "gpt-4": ModelProfile(structured_output=True, streams=True),
            "gpt-4-turbo": ModelProfile(structured_output=True, streams=True, inputs=("image",)),
            "gpt-4o": ModelProfile(structured_output=True, streams=True, inputs=_SEES_ALL, search=_OPENAI_SEARCH),
            "gpt-4.1": ModelProfile(structured_output=True, streams=True, inputs=_SEES_ALL, search=_OPENAI_SEARCH),
            "gpt-4.1-nano": ModelProfile(structured_output=True, streams=True, inputs=_SEES_ALL),
            "gpt-3": ModelProfile(context_tokens=16_000),
            "o1": ModelProfile(context_tokens=200_000, structured_output=True, streams=True, inputs=_SEES_ALL),
            **_BLIND_REASONERS,
        },
        batch_api="openai",
        requests_per_minute=60,
        search_usd=Decimal("0.010"),  # https://platform.openai.com/docs/pricing
        summary="OpenAI through Responses.",
    ),
    Vendor(
        name="openai-chat",
        display_name="ChatGPT",
        wire="openai-chat",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env=("OPENAI_API_KEY",),
        default_model="gpt-5.2",
        light_model="gpt-5-mini",
        profile=ModelProfile(context_tokens=400_000, structured_output=True, streams=True, inputs=_SEES_ALL),
        profiles={
            "gpt-3": ModelProfile(context_tokens=16_000),
            "gpt-4": ModelProfile(structured_output=True, streams=True),
            "gpt-4-turbo": ModelProfile(structured_output=True, streams=True, inputs=("image",)),
            **{
                start: ModelProfile(structured_output=True, streams=True, inputs=_SEES_ALL)
                for start in ("gpt-4o", "gpt-4.1")
            },
            **_BLIND_REASONERS,
            **{
                start: ModelProfile(structured_output=True, streams=True, search=_CHAT_SEARCH)
                for start in ("gpt-4o-search", "gpt-4o-mini-search", "gpt-5-search")
            },
        },
        batch_api="openai",
        requests_per_minute=60,
        price_table="openai",
        telemetry_name="openai",
        summary="OpenAI through Chat Completions.",
    ),
    Vendor(
        name="google",
        display_name="Gemini",
        wire="google",
        base_url="https://generativelanguage.googleapis.com",
        base_url_env="GOOGLE_BASE_URL",
        key_env=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        auth="x-goog-api-key",
        default_model="gemini-3-flash-preview",
        light_model="gemini-2.5-flash-lite",
        # Without a generation in the model id, search and functions go in two calls, which every generation supports.
        profile=_GEMINI,
        profiles={
            "gemini-1": _GEMINI.model_copy(update={"search": None}),
            "gemini-2.0-flash-lite": _GEMINI.model_copy(update={"search": None}),
            "gemma": _GEMINI.model_copy(update={"search": None, "inputs": ("image",)}),
            **{
                f"gemini-{generation}": _GEMINI.model_copy(update={"search_alone": False, "search_model": None})
                for generation in range(3, 10)
            },
        },
        batch_api="google",
        requests_per_minute=60,
        search_usd=_gemini_search_cost,
        telemetry_name="gcp.gemini",
        summary="Gemini through generateContent.",
    ),
    Vendor(
        name="perplexity",
        display_name="Perplexity",
        wire="perplexity",
        base_url="https://api.perplexity.ai",
        base_url_env="PERPLEXITY_BASE_URL",
        key_env=("PERPLEXITY_API_KEY",),
        default_model="sonar-pro",
        light_model="sonar",
        profile=_SONAR,
        profiles={
            "sonar-pro": _SONAR.model_copy(update={"context_tokens": 200_000}),
            "sonar-deep-research": _SONAR.model_copy(update={"inputs": ()}),
            "r1-": _SONAR.model_copy(update={"search": None, "inputs": ()}),
        },
        requests_per_minute=20,
        search_usd=Decimal(0),  # included in the price of a call
        search_pages_billed=False,
        summary="Sonar, which always searches the web.",
    ),
    Vendor(
        name="compatible",
        display_name="Compatible",
        wire="openai-chat",
        base_url=None,
        base_url_env="ROUNDTABLE_BASE_URL",
        host_env="OLLAMA_HOST",
        key_env=("ROUNDTABLE_API_KEY",),
        key_required=False,
        model_env="ROUNDTABLE_MODEL",
        profile=ModelProfile(streams=True),
        billing="by_address",
        summary="Any server that speaks Chat Completions: Ollama, vLLM, LM Studio, llama.cpp and others.",
    ),
)

VENDORS: Final[Mapping[str, Vendor]] = {row.name: row for row in _ROWS}
"""The vendors by the name of their provider, in the order in which a debate that names no agents uses the vendors with
a key."""

_COMMAND: Final = "The program {!r} on this machine, which uses its own login."
WITHOUT_HTTP: Final[Mapping[str, ProviderInfo]] = {
    info.name: info
    for info in (
        ProviderInfo(
            name="local",
            display_name="Local",
            billing="free",
            no_auxiliary_roles="the embedded model is too small to judge answers",
            stand_in="the embedded model",
            needs_module="xllamacpp",
            install_hint="install it with: pip install 'roundtable-sdk[local]'",
            caution="The embedded model is tiny: it shows how a debate works, not good arguments.",
            downloads=True,
            summary="A small model inside this process, without a key or a network.",
        ),
        *(
            ProviderInfo(name=f"{program}-cli", billing="unlisted", summary=_COMMAND.format(program))
            for program in ("claude", "codex", "gemini")
        ),
        ProviderInfo(
            name="command",
            billing="unlisted",
            summary="Any program that reads a question and writes an answer: 'command:mytool'.",
        ),
        ProviderInfo(
            name="client",
            billing="free",
            counts_tokens=False,
            no_auxiliary_roles="client has no light model",
            summary="The model of the MCP client that starts the debate; 'client:NAME' distinguishes several.",
        ),
        ProviderInfo(
            name="human",
            billing="free",
            counts_tokens=False,
            is_person=True,
            no_auxiliary_roles="human has no light model",
            summary="A person, asked at this terminal by a command; 'human:NAME' distinguishes several.",
        ),
        ProviderInfo(
            name="replay",
            billing="unlisted",
            replays=True,
            no_auxiliary_roles="replay has no light model",
            summary="The recorded answers of a cassette, without a network.",
        ),
        ProviderInfo(
            name="scripted",
            billing="unlisted",
            no_auxiliary_roles="scripted has no light model",
            summary="Answers from a JSON file, for tests and demonstrations.",
        ),
    )
}
"""The providers without HTTP, by name."""


def known_provider(name: str) -> ProviderInfo:
    """Return what the library itself knows about a provider; of other providers, it knows only the name.

    Example:
        >>> known_provider("openai").label, known_provider("human").billing, known_provider("acme").label
        ('ChatGPT', 'free', 'acme')
    """
    return VENDORS.get(name) or WITHOUT_HTTP.get(name) or ProviderInfo(name=name)
