"""The providers that come with the library, and models by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never, cast

from roundtable.core.base.registry import Registry
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import ProviderConfig
from roundtable.core.types.base import SearchProfile
from roundtable.gateway import Gateway
from roundtable.providers.spec import ProviderEntry, ProviderSpec, split_model_name
from roundtable.settings import Settings
from roundtable.vendors import VENDORS, WITHOUT_HTTP, ModelApi, Vendor

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.types.agents import RetryPolicy
    from roundtable.core.types.providers import ProviderInfo
    from roundtable.gateway import StreamingModel
    from roundtable.providers.chat_servers import ChatServer
    from roundtable.providers.spec import Dialect

__all__ = ["BUILTIN_SPECS", "DeferredProvider", "builtin_providers", "chat_model", "provider_modules"]

_Factory: TypeAlias = "Callable[[str | None, ProviderConfig, Settings], StreamingModel]"
_ROUTER_SEARCH: Final = SearchProfile(by_default=False, takes=("max_uses",))

_HOMES: Final = {
    "local": ("local", "LocalProvider"),
    "claude-cli": ("command", "CLAUDE"),
    "codex-cli": ("command", "CODEX"),
    "gemini-cli": ("command", "GEMINI"),
    "command": ("command", ""),
    "client": ("mcp_client", "ClientProvider"),
    "human": ("human", "HumanProvider"),
    "replay": ("cassette", "ReplayProvider"),
    "scripted": ("scripted", "ScriptedProvider"),
}
"""Module and factory of each provider without HTTP; a program has its profile in place of a factory."""


class DeferredProvider:
    """Factory for the models of a built-in provider; its code is loaded with the first model.

    Its other attributes, such as `default_rate`, are those of the loaded factory.

    Args:
        info: What the provider declares about itself.
        load: Loads and creates the factory.
    """

    def __init__(self, info: ProviderInfo, load: Callable[[], _Factory]) -> None:
        self.info = info
        self._create = load

    def __repr__(self) -> str:
        return f"DeferredProvider({self.info.name!r})"

    @cached_property
    def loaded(self) -> _Factory:
        """The factory."""
        return self._create()

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> StreamingModel:
        """Create a model.

        Raises:
            ConfigurationError: A key, address, model or extra is missing; the message says how to set it.
        """
        return self.loaded(model, config, settings)

    def __getattr__(self, name: str) -> object:
        # A factory that was never loaded has nothing to close; `loaded` itself gets here if it raises AttributeError.
        if name.startswith("_") or name == "loaded" or (name == "aclose" and "loaded" not in vars(self)):
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(self.loaded, name)


def _spec(vendor: Vendor) -> ProviderSpec:
    """Return the provider for a vendor, with the dialect of the vendor's wire format."""
    row = {item.name: getattr(vendor, item.name) for item in fields(ModelApi)}
    return ProviderSpec(**row, dialect=_dialect(vendor))


def _dialect(vendor: Vendor) -> Dialect:
    # Each wire format is imported only when it is used: a debate uses one or two of them.
    match vendor.wire:
        case "anthropic":
            from roundtable.providers.anthropic import AnthropicMessages

            return AnthropicMessages(vendor.name)
        case "openai-responses":
            from roundtable.providers.openai_responses import OpenAIResponses

            return OpenAIResponses(vendor.name)
        case "openai-chat":
            from roundtable.providers.chat_servers import server_at
            from roundtable.providers.openai_chat import OpenAIChat

            return OpenAIChat(vendor.name, server=server_at(vendor.base_url or ""))
        case "google":
            from roundtable.providers.google import GoogleGenerate

            return GoogleGenerate(vendor.name)
        case "perplexity":
            from roundtable.providers.perplexity import PerplexitySonar

            return PerplexitySonar(vendor.name)
        case _:
            assert_never(vendor.wire)


def _variant(plain: ProviderSpec, server: ChatServer) -> ProviderSpec:
    """Return the compatible provider with the settings of one server."""
    from roundtable.providers.openai_chat import OpenAIChat

    # A compatible server may end a stream without a terminator.
    dialect = OpenAIChat("compatible", server=replace(server, done_required=False))
    search = _ROUTER_SEARCH if server.search == "plugin" else None
    return replace(
        plain,
        dialect=dialect,
        base_url=server.base_url,
        # A vendor's key goes to this vendor alone, never to an address from the environment.
        base_url_env=None if server.base_url else plain.base_url_env,
        host_env=None if server.base_url else plain.host_env,
        key_env=(*plain.key_env, *server.key_env),
        auth=server.auth,
        profile=plain.profile.model_copy(update={"search": search}),
    )


def _compatible() -> ProviderSpec:
    """Return the provider for all servers that speak the format of chat completions."""
    from roundtable.providers.chat_servers import SERVERS, server_at

    def server_name(base_url: str) -> str | None:
        name = server_at(base_url).name
        return name if name in SERVERS else None

    plain = _spec(VENDORS["compatible"])
    variants = {name: _variant(plain, server) for name, server in SERVERS.items()}
    return replace(plain, variants=variants, variant_at=server_name)


class _Specs(Mapping[str, ProviderSpec]):
    """Providers by name; the dialect of a provider is loaded when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, ProviderSpec] = {}

    def __getitem__(self, name: str) -> ProviderSpec:
        if name not in self._made:
            vendor = VENDORS[name]
            self._made[name] = _compatible() if name == "compatible" else _spec(vendor)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VENDORS)

    def __len__(self) -> int:
        return len(VENDORS)


BUILTIN_SPECS: Final[Mapping[str, ProviderSpec]] = _Specs()
"""The built-in HTTP providers; each one consists of a dialect and data."""


def builtin_providers() -> tuple[ProviderEntry, ...]:
    """Return the built-in providers to register.

    Each call creates new factories. A factory owns the resources that its models share.

    Example:
        >>> [entry.name for entry in builtin_providers()][-4:]
        ['client', 'human', 'replay', 'scripted']
    """
    return (
        *(ProviderEntry(name, _over_http(BUILTIN_SPECS, name), vendor.summary) for name, vendor in VENDORS.items()),
        *(ProviderEntry(name, _without_http(info), info.summary) for name, info in WITHOUT_HTTP.items()),
    )


def provider_modules(names: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that the models of these built-in providers import, also the modules for failed calls.

    Example:
        >>> provider_modules(["scripted", "acme"])
        ('roundtable.providers.scripted',)
        >>> provider_modules(["anthropic"])
        ('roundtable.providers.anthropic', 'roundtable.providers.http_provider', 'tenacity')
    """
    homes = set[str]()
    for name in names:
        if name in _HOMES:
            homes.add(_HOMES[name][0])
        elif name in VENDORS:
            homes |= {VENDORS[name].wire.replace("-", "_"), "http_provider"}
    retries = ("tenacity",) if "http_provider" in homes else ()
    return (*(f"roundtable.providers.{home}" for home in sorted(homes)), *retries)


def _over_http(specs: Mapping[str, ProviderSpec], name: str) -> DeferredProvider:
    def load() -> _Factory:
        from roundtable.providers.http_provider import HttpProvider

        return HttpProvider(specs[name])

    # The specification of a vendor imports its wire format, so its row is used as long as nothing is called.
    return DeferredProvider(VENDORS[name] if specs is BUILTIN_SPECS else specs[name], load)


def _without_http(info: ProviderInfo) -> DeferredProvider:
    def load() -> _Factory:
        home, attribute = _HOMES[info.name]
        module = import_module(f"roundtable.providers.{home}")
        if home == "command":
            return cast("_Factory", module.CommandProvider(getattr(module, attribute) if attribute else None))
        return cast("_Factory", getattr(module, attribute)())

    return DeferredProvider(info, load)


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
    """Create a model of a built-in provider.

    Args:
        name: `provider:model`, or `provider` for its default model.
        api_key: The secret key; if left out, it is read from the provider's environment variable.
        base_url: Root of the API.
        client: Your own `httpx.AsyncClient`, used as it is and never closed.
        timeout_s: Total deadline of a call in seconds.
        profile: Name of the server, such as `"groq"`, if the provider knows several servers.
        retry: How often a call is tried. If left out, each call is one request, and in a debate the gateway of the
            table retries it.
        config: The six options above in one value, with rate limits and a model. Options passed separately win.
        settings: Settings from the environment; if left out, they are read now.
        specs: The HTTP providers; add your own with `{**BUILTIN_SPECS, "acme": spec}`.

    Raises:
        ConfigurationError: The provider is unknown, or a key, address, model or extra is missing. The message
            says which variable or argument to set.

    Example:
        >>> chat_model("compatible:llama3:8b", base_url="http://127.0.0.1:11434/v1").model
        'llama3:8b'
    """
    provider, model = split_model_name(name)
    base = ProviderConfig() if config is None else config
    merged = replace(
        base,
        api_key=base.api_key if api_key is None else api_key,
        base_url=base.base_url if base_url is None else base_url,
        client=base.client if client is None else client,
        timeout_s=base.timeout_s if timeout_s is None else timeout_s,
        retry=base.retry if retry is None else retry,
        profile=profile or base.profile,
    )
    environment = Settings.from_env() if settings is None else settings
    factory = _factories(specs).get(provider) if merged.kind is None else _endpoint(provider, merged.kind, specs)
    chat = factory(model or merged.model, merged, environment)
    if merged.retry is None:
        return chat
    return Gateway().guard(
        chat,
        timeout_s=merged.timeout_s,
        retry=merged.retry,
        requests_per_minute=merged.requests_per_minute,
        tokens_per_minute=merged.tokens_per_minute,
        breaker=merged.breaker,
    )


def _endpoint(name: str, kind: str, specs: Mapping[str, ProviderSpec]) -> DeferredProvider:
    """Return the factory of a named endpoint.

    Raises:
        ConfigurationError: The name is taken, or its kind is not an HTTP provider.
    """
    if name in specs or name in WITHOUT_HTTP:
        msg = f"{name!r} is a provider already, so it cannot be an endpoint with kind={kind!r}"
        raise ConfigurationError(msg, hint="Choose another name for the endpoint, or leave out kind.")
    if kind not in specs:
        msg = f"kind={kind!r} is not a provider that is called over HTTP; these are: {', '.join(specs)}"
        raise ConfigurationError(msg, hint="For most servers, use 'compatible'.")
    return _over_http({name: specs[kind].named(name)}, name)


def _factories(specs: Mapping[str, ProviderSpec]) -> Registry[DeferredProvider]:
    """Return the factories of all providers by name."""
    factories = Registry[DeferredProvider]("provider")
    for name in specs:
        factories.add(name, _over_http(specs, name))
    for name, info in WITHOUT_HTTP.items():
        factories.add(name, _without_http(info))
    return factories
