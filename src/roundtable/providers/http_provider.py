"""The factory for the models of an HTTP provider."""

from __future__ import annotations

import math
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from roundtable.core.base.text import unquoted
from roundtable.core.errors import ConfigurationError
from roundtable.http import HttpClient, check_plain_http, checked_url
from roundtable.http.guard_public import checked_proxy, is_loopback
from roundtable.providers.http_model import FIRST_LISTED, HttpChatModel
from roundtable.providers.shared import RefCounted
from roundtable.providers.spec import batch_refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.core.types.agents import BatchOptions, InputKind, ProviderConfig
    from roundtable.core.types.providers import ProviderInfo
    from roundtable.providers.batches.model import BatchModel
    from roundtable.providers.spec import ProviderSpec
    from roundtable.settings import Settings

__all__ = ["HttpProvider", "ollama_url"]


class HttpProvider:
    """Factory for the models of one provider. The models share an HTTP client, which is closed with the last model.

    Args:
        spec: The provider.

    Example:
        >>> from roundtable.providers import BUILTIN_SPECS
        >>> from roundtable.settings import Settings
        >>> from roundtable.types import ProviderConfig
        >>> make = HttpProvider(BUILTIN_SPECS["compatible"])
        >>> make("llama3", ProviderConfig(base_url="http://127.0.0.1:8080/v1"), Settings())
        HttpChatModel(provider='compatible', model='llama3', base_url='http://127.0.0.1:8080/v1')
    """

    def __init__(self, spec: ProviderSpec) -> None:
        self.spec = spec
        self._clients = RefCounted[HttpClient]()

    def __repr__(self) -> str:
        return f"HttpProvider({self.spec.name!r})"

    @property
    def info(self) -> ProviderInfo:
        """What the provider declares about itself."""
        return self.spec

    def default_rate(self, config: ProviderConfig, settings: Settings) -> float | None:
        """Return the default rate limit of calls with a configuration, in calls per minute; `None` if it has none."""
        try:
            return self.spec.rate_at(_base_url(self.spec, config, settings)[0])
        except ConfigurationError:
            # Recorded calls are replayed without an address.
            return None

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> HttpChatModel | BatchModel:
        """Create a model. If the configuration has `batch_options`, the model makes its calls in batches.

        Raises:
            ConfigurationError: Address, key or model is missing or unusable; the message says how to set it.
        """
        spec = self._variant(config.profile)
        base_url, what, is_host = _base_url(spec, config, settings)
        if config.profile is None and spec.variant_at is not None and (server := spec.variant_at(base_url)):
            spec = spec.variants[server]
        if config.inputs is not None:
            spec = _with_inputs(spec, config.inputs)
        key = _key(spec, config, settings, base_url)
        if not (config.allow_plain_http or settings.allow_plain_http):
            check_plain_http(base_url, what=what, has_key=key is not None)
        name = _model(spec, model, settings, FIRST_LISTED if is_host else None)
        if not (config.timeout_s > 0 and math.isfinite(config.timeout_s)):
            raise ConfigurationError(f"timeout_s must be a positive number of seconds, not {config.timeout_s!r}")
        batch = config.batch_options
        in_batches = None if batch is None else _batches(spec, batch, settings)
        # Take the client last: if a later step raised, nothing would give it back.
        proxy = _proxy(config, settings, base_url)
        is_ignored = proxy is None and config.client is None and settings.proxy_for(base_url) is not None
        owner = (id(config.client), proxy, is_ignored)
        http = self._clients.take(
            owner, lambda: HttpClient(self.spec.name, client=config.client, proxy=proxy, ignores_proxy=is_ignored)
        )

        async def close() -> None:
            last = self._clients.give_back(owner)
            if last is not None:
                await last.aclose()

        made = HttpChatModel(
            spec,
            http,
            model=name,
            base_url=base_url,
            key=key,
            timeout_s=config.timeout_s,
            on_close=close,
            extra_body=config.extra_body,
            cache_prompts=config.cache_prompts,
        )
        return made if in_batches is None else in_batches(made)

    def named(self, name: str) -> HttpProvider:
        """Return the factory of a named endpoint with the same API; see `ProviderSpec.named`."""
        return HttpProvider(self.spec.named(name))

    def _variant(self, profile: str | None) -> ProviderSpec:
        if profile is None:
            return self.spec
        if profile not in self.spec.variants:
            names = ", ".join(sorted(self.spec.variants)) or "none"
            raise ConfigurationError(
                f"the provider {self.spec.name!r} has no profile {profile!r}; known profiles: {names}",
                provider=self.spec.name,
            )
        return self.spec.variants[profile]


def _batches(spec: ProviderSpec, options: BatchOptions, settings: Settings) -> Callable[[HttpChatModel], BatchModel]:
    """Return a function that takes a model, and returns one that makes the same calls in batches.

    Raises:
        ConfigurationError: The provider has no batch API, or the journal cannot be used.
    """
    from roundtable.providers.batches.journal import BatchJournal, default_journal
    from roundtable.providers.batches.model import BatchModel
    from roundtable.providers.batches.wires import batch_wire

    if spec.batch_api is None:
        raise batch_refusal(spec.name)
    journal = BatchJournal(default_journal(settings.data_home) if options.journal is None else Path(options.journal))
    wire = batch_wire(spec.batch_api)
    return lambda model: BatchModel(model, wire, journal, options)


def _with_inputs(spec: ProviderSpec, inputs: tuple[InputKind, ...]) -> ProviderSpec:
    """Return a copy of a provider in which every model accepts these kinds of files."""
    changes = {"inputs": inputs}
    profiles = {start: profile.model_copy(update=changes) for start, profile in spec.profiles.items()}
    return replace(spec, profile=spec.profile.model_copy(update=changes), profiles=profiles)


def _base_url(spec: ProviderSpec, config: ProviderConfig, settings: Settings) -> tuple[str, str, bool]:
    """Return the root of the API, the name of its setting, and whether this setting names a host only."""
    variable = spec.base_url_env
    if config.base_url is not None:
        return checked_url(config.base_url, has_key=False), "the base URL", False
    if variable is not None and (url := settings.get(variable)):
        return checked_url(url, what=variable, has_key=False), variable, False
    if spec.host_env is not None and (host := settings.get(spec.host_env)):
        return checked_url(ollama_url(host), what=spec.host_env, has_key=False), spec.host_env, True
    if spec.base_url is None:
        names = " or ".join(name for name in (variable, spec.host_env) if name)
        way = f"Set {names}, pass" if names else "Pass"
        raise ConfigurationError(
            f"the provider {spec.name!r} needs the address of a server",
            provider=spec.name,
            hint=f"{way} base_url in ProviderConfig, or write --base-url {spec.name}=URL for the command.",
        )
    return checked_url(spec.base_url), "the base URL", False


def _proxy(config: ProviderConfig, settings: Settings, base_url: str) -> str | None:
    """Return the address of the proxy for the calls of a provider; `None` for none.

    Raises:
        ConfigurationError: The address is not that of an HTTP proxy, or a client is set as well.
    """
    proxy, what = config.proxy, "proxy"
    if proxy is None and settings.proxy is not None and settings.proxy.lower() != "env":
        proxy, what = settings.proxy, "ROUNDTABLE_PROXY"
    if proxy is None and (config.trust_env or (settings.proxy or "").lower() == "env"):
        proxy, what = settings.proxy_for(base_url), "the proxy of the environment"
    if proxy is None or (config.client is not None and config.proxy is None):
        return None
    if config.client is not None:
        raise ConfigurationError("proxy has no effect on your own client", hint="Set the proxy of the client itself.")
    return checked_proxy(proxy, what=what)


def _key(spec: ProviderSpec, config: ProviderConfig, settings: Settings, base_url: str) -> str | None:
    source, key = "api_key", config.api_key
    if key is None:
        source = next((name for name in spec.key_env if settings.get(name)), "")
        key = settings.get(source) if source else None
    key = unquoted(key or "")
    if not key:
        # A server on this machine, which replaces the vendor, may need no key.
        if not spec.key_required or is_loopback(urlsplit(base_url).hostname or ""):
            return None
        raise ConfigurationError(
            f"the provider {spec.name!r} needs an API key",
            provider=spec.name,
            hint=f"Set {' or '.join(spec.key_env)}, or pass api_key in ProviderConfig.",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        # Even a malformed key stays out of the message.
        raise ConfigurationError(
            f"{source}, the key of {spec.name!r}, contains characters that are not valid in a key",
            provider=spec.name,
            hint="Copy it again: a key consists of printable ASCII characters without spaces.",
        )
    return key


def _model(spec: ProviderSpec, model: str | None, settings: Settings, fallback: str | None) -> str:
    from_env = settings.get(spec.model_env) if spec.model_env is not None else None
    name = model or from_env or spec.default_model or fallback
    if name is None:
        way = f"Name one: '{spec.name}:MODEL'"
        raise ConfigurationError(
            f"the provider {spec.name!r} needs a model",
            provider=spec.name,
            hint=f"{way}, or set {spec.model_env}." if spec.model_env else f"{way}.",
        )
    return name


def ollama_url(host: str) -> str:
    """Parse a host as Ollama writes it, and return the root of its OpenAI-compatible API.

    Example:
        >>> ollama_url("0.0.0.0"), ollama_url(":8000"), ollama_url("http://localhost:11434/")
        ('http://127.0.0.1:11434/v1', 'http://127.0.0.1:8000/v1', 'http://localhost:11434/v1')
        >>> ollama_url("::1"), ollama_url("http://localhost:11434/v1")
        ('http://[::1]:11434/v1', 'http://localhost:11434/v1')
    """
    text = host.strip()
    if _is_bare_ipv6(text):
        text = f"[{text}]"
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        default_port = 11434 if "://" not in text else 443 if parts.scheme == "https" else 80
        name, port = parts.hostname or "", parts.port or default_port
    except ValueError:  # a port that is not a number, or half an IPv6 address
        return url
    if "@" in parts.netloc or parts.query or parts.fragment:
        return url  # the check of the address refuses these, and names them
    # A server that listens on every address is reached on this one; nothing is bound here.
    name = "127.0.0.1" if name in {"", "0.0.0.0", "::"} else f"[{name}]" if ":" in name else name  # noqa: S104
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{name}:{port}{path}/v1"


def _is_bare_ipv6(text: str) -> bool:
    try:
        return ip_address(text).version == 6
    except ValueError:
        return False
