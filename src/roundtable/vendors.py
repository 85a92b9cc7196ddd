"""The vendors that the library knows by name. Each has one row: wire format, keys, addresses, models, prices, search.

Settings, agents, prices, traces, `roundtable doctor` and the reference pages read these rows. A vendor whose servers
use a known wire format needs only a row here.

Example:
    >>> VENDORS["google"].key_env
    ('GOOGLE_API_KEY', 'GEMINI_API_KEY')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from roundtable.types import ModelProfile, SearchProfile
from roundtable.types.agents import InputKind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["VENDORS", "ModelApi", "Vendor", "Wire", "display_name", "vendors_by_key"]

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
class ModelApi:
    """What is needed to call one API: its addresses, keys, models and limits."""

    name: str
    """Name that selects the provider, as in `name:model`."""
    base_url: str | None
    """Root of the API, in the vendor's own convention; `None` if the user must name it."""
    base_url_env: str | None = None
    """Environment variable that replaces `base_url`."""
    host_env: str | None = None
    """Environment variable with the host of a local server, in Ollama's format; used when no address is set. If no
    model is named, the first model that this server lists is used."""
    key_env: tuple[str, ...] = ()
    """Environment variables of the key; the first one that is set wins."""
    key_required: bool = True
    """Whether calls need a key."""
    auth: Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"] = "bearer"
    """Header that carries the key; `bearer` is `Authorization`."""
    default_model: str | None = None
    """Model used when no model is named; `None` if the user must name one."""
    model_env: str | None = None
    """Environment variable of the default model."""
    light_model: str | None = None
    """Small model for summaries and analysis; if there is none, the default model is used."""
    profile: ModelProfile = field(default_factory=ModelProfile)
    """Profile of the models: what the library must know to prompt them."""
    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)
    """Profiles of some models, by prefix of the model id; the longest match wins."""
    batch_api: Literal["anthropic", "google", "openai"] | None = None
    """Kind of its batch API; `None` if it has no batch API, or none that the library supports."""
    requests_per_minute: float | None = None
    """Maximum calls per minute for one key and model at the vendor's own address, used until response headers state the
    limit; `None` for no limit."""
    summary: str = ""
    """Description in one line."""

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
    display_name: str
    """Name shown to people."""
    cites_sources: bool = False
    """Whether its models search for every answer. If so, their agents search by default and are asked to cite
    sources."""
    price_table: str | None = None
    """Vendor whose list prices apply, by its name in the packaged table; `name` if `None`."""
    search_usd: Decimal | None = None
    """List price of one search by the vendor, in US dollars; `None` if it is unknown."""
    search_pages_billed: bool = True
    """Whether the pages that a search finds are billed as input tokens."""
    telemetry_name: str | None = None
    """Value of `gen_ai.provider.name` in OpenTelemetry's conventions; `name` if `None`."""


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
        search_usd=Decimal("0.014"),  # https://ai.google.dev/gemini-api/docs/pricing; from Gemini 3 on
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
        cites_sources=True,
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
        summary="Any server that speaks Chat Completions: Ollama, vLLM, LM Studio, llama.cpp and others.",
    ),
)

VENDORS: Final[Mapping[str, Vendor]] = {row.name: row for row in _ROWS}
"""The vendors by the name of their provider, in the order in which a debate that names no agents uses the vendors with
a key."""


def vendors_by_key() -> dict[tuple[str, ...], tuple[Vendor, ...]]:
    """Group the vendors that use a key by the variables of the key, in the order of the vendors.

    Example:
        >>> [vendor.name for vendor in vendors_by_key()["OPENAI_API_KEY",]]
        ['openai', 'openai-chat']
    """
    groups: dict[tuple[str, ...], tuple[Vendor, ...]] = {}
    for vendor in VENDORS.values():
        if vendor.key_env:
            groups[vendor.key_env] = (*groups.get(vendor.key_env, ()), vendor)
    return groups


def display_name(provider: str) -> str:
    """Return the name of a provider for people.

    Example:
        >>> display_name("openai"), display_name("acme")
        ('ChatGPT', 'acme')
    """
    if provider == "local":
        return "Local"
    vendor = VENDORS.get(provider)
    return provider if vendor is None else vendor.display_name
