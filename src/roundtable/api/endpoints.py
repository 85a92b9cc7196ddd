"""Named endpoints: further servers or accounts of a provider, each a provider with a name of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.errors import ConfigurationError
from roundtable.http.guard_public import masked_url
from roundtable.providers.spec import endpoint_key
from roundtable.types import ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable._core.registry import Entry, Registry
    from roundtable.providers import ProviderFactory
    from roundtable.settings import Settings

__all__ = ["endpoints_of", "read_endpoints", "register_endpoints"]

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}", re.ASCII)
_FORM: Final = "NAME=KIND,URL"
_FORM_HINT: Final = (
    f"`--provider` and ROUNDTABLE_PROVIDERS take {_FORM}, such as box-a=compatible,http://127.0.0.1:8001/v1."
)
_OWN_SERVER: Final = (
    "To give a server a name of your own, set its kind: ProviderConfig(kind='compatible', base_url=...)."
)


def read_endpoints(entries: Iterable[str], source: str) -> dict[str, ProviderConfig]:
    """Parse named endpoints, written as `NAME=KIND,URL`, or as `NAME=KIND` for a further account at the vendor.

    Args:
        entries: The endpoints.
        source: Where they were written, for messages.

    Raises:
        ConfigurationError: An entry has another form, or two entries have one name.

    Example:
        >>> read_endpoints(["box-a=compatible,http://127.0.0.1:8001/v1"], "--provider")["box-a"].kind
        'compatible'
    """
    endpoints: dict[str, ProviderConfig] = {}
    for entry in entries:
        name, equals, rest = (part.strip() for part in entry.partition("="))
        kind, comma, url = (part.strip() for part in rest.partition(","))
        if not name or not equals or not kind or (comma and not url):
            msg = f"{source} takes {_FORM}, not {entry!r:.200}"
            raise ConfigurationError(msg, hint=f"For example: {source} box-a=compatible,http://127.0.0.1:8001/v1")
        if name in endpoints:
            raise ConfigurationError(f"{source}: {name!r} is given twice", hint="Give every endpoint its own name.")
        endpoints[name] = ProviderConfig(kind=kind, base_url=url or None)
    return endpoints


def endpoints_of(settings: Settings) -> dict[str, ProviderConfig]:
    """Return the endpoints of the environment.

    Raises:
        ConfigurationError: `ROUNDTABLE_PROVIDERS` has another form.
    """
    return read_endpoints((settings.named_providers or "").split(), "ROUNDTABLE_PROVIDERS")


def _known(name: str, hint: str | None, providers: Registry[ProviderFactory]) -> Entry[ProviderFactory]:
    """Return the entry of a provider; the error for an unknown one ends with the hint."""
    try:
        return providers.entry(name)
    except ConfigurationError as error:
        raise ConfigurationError(error.message, hint=f"{error.hint} {hint or ''}".rstrip(), cause=error) from error


def register_endpoints(configs: Mapping[str, ProviderConfig], providers: Registry[ProviderFactory]) -> None:
    """Add a provider for each configuration that has a `kind`.

    Raises:
        ConfigurationError: A name is not valid or taken, its kind is unknown or has no named endpoints, or the keys of
            two endpoints would have the same variable.
    """
    variables: dict[str, str] = {}
    for name, config in configs.items():
        if config.kind is None:
            _known(name, config.base_url and _OWN_SERVER, providers)
            continue
        if not _NAME.fullmatch(name):
            rule = "begins with a letter and has at most 64 letters, digits, '.', '_' and '-'"
            raise ConfigurationError(f"providers[{name!r:.80}] cannot be the name of an endpoint: a name {rule}")
        if providers.find(name) is not None:
            msg = f"providers[{name!r}] has kind={config.kind!r}, but {name!r} is a provider already"
            raise ConfigurationError(msg, hint="Choose another name for the endpoint, or leave out kind.")
        make_named = getattr(_known(config.kind, _FORM_HINT, providers).thing, "named", None)
        if make_named is None:
            msg = f"providers[{name!r}]: the provider {config.kind!r} cannot have named endpoints"
            raise ConfigurationError(msg, hint="Use a provider that is called over HTTP, such as 'compatible'.")
        if (other := variables.setdefault(endpoint_key(name), name)) != name:
            msg = f"the keys of the endpoints {other!r} and {name!r} would both be read from {endpoint_key(name)}"
            raise ConfigurationError(msg, hint="Rename one of the two.")
        providers.add(
            name,
            make_named(name),
            summary=f"{config.kind} at {'its own address' if config.base_url is None else masked_url(config.base_url)}",
        )
