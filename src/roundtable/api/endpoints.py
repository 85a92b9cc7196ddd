"""Named endpoints: further servers or accounts of a provider, each a provider with a name of its own."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.api.checks import check_providers
from roundtable.core.base.arguments import unknown_name_hint
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import ProviderConfig
from roundtable.http.guard_public import masked_url
from roundtable.providers.spec import endpoint_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.core.base.registry import Entry, Registry
    from roundtable.providers import ProviderFactory
    from roundtable.settings import Settings

__all__ = ["endpoints_of", "load_endpoints", "read_endpoints", "register_endpoints"]

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}", re.ASCII)
_FORM: Final = "NAME=KIND,URL"
_FILE_FIELDS: Final = (
    "kind", "base_url", "profile", "model", "light_model", "timeout_s", "requests_per_minute", "tokens_per_minute",
    "extra_body", "cache_prompts", "allow_plain_http", "proxy", "trust_env",
)  # fmt: skip
"""Fields of an endpoint in a file: those of `ProviderConfig` that are plain data, without the key."""
_FORM_HINT: Final = (
    f"`--provider` and ROUNDTABLE_PROVIDERS take {_FORM}, such as box-a=compatible,http://127.0.0.1:8001/v1."
)
_OWN_SERVER: Final = (
    "To give a server a name of your own, set its kind: ProviderConfig(kind='compatible', base_url=...)."
)


def read_endpoints(entries: Iterable[str], source: str) -> dict[str, ProviderConfig]:
    """Parse named endpoints, written as `NAME=KIND,URL`, or as `NAME=KIND` for a further account at the vendor.

    An entry that ends in `.toml` is a file with endpoints; see `load_endpoints`.

    Args:
        entries: The endpoints.
        source: Where they were written, for messages.

    Raises:
        ConfigurationError: An entry has another form, two entries have one name, or a file is not valid.

    Example:
        >>> read_endpoints(["box-a=compatible,http://127.0.0.1:8001/v1"], "--provider")["box-a"].kind
        'compatible'
    """
    endpoints: dict[str, ProviderConfig] = {}
    for entry in entries:
        is_file = entry.endswith(".toml") and "=" not in entry
        for name, config in (load_endpoints(entry) if is_file else _read_entry(entry, source)).items():
            if name in endpoints:
                raise ConfigurationError(f"{source}: {name!r} is given twice", hint="Give every endpoint its own name.")
            endpoints[name] = config
    return endpoints


def _read_entry(entry: str, source: str) -> dict[str, ProviderConfig]:
    name, equals, rest = (part.strip() for part in entry.partition("="))
    kind, comma, url = (part.strip() for part in rest.partition(","))
    if not name or not equals or not kind or (comma and not url):
        msg = f"{source} takes {_FORM}, or a file that ends in .toml, not {entry!r:.200}"
        raise ConfigurationError(msg, hint=f"For example: {source} box-a=compatible,http://127.0.0.1:8001/v1")
    return {name: ProviderConfig(kind=kind, base_url=url or None)}


def load_endpoints(path: str) -> dict[str, ProviderConfig]:
    """Load named endpoints from a TOML file with a table `[providers.NAME]` for each.

    Args:
        path: The file.

    Raises:
        ConfigurationError: The file cannot be read, or an endpoint has no kind, a key or an unknown field.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "servers.toml")
        ...     _ = file.write_text("[providers.box-a]" + chr(10) + 'kind = "compatible"' + chr(10) + "timeout_s = 30")
        ...     load_endpoints(str(file))["box-a"].timeout_s
        30
    """
    try:
        document = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"endpoints cannot be read from {path!r}: {reason}", cause=error) from error
    tables = document.get("providers")
    if not isinstance(tables, dict) or not tables or len(document) > 1:
        hint = "Write one table for each endpoint, such as [providers.box-a], and nothing else."
        raise ConfigurationError(f"{path!r} must contain tables of providers", hint=hint)
    return {name: _from_table(f"{path!r}: providers.{name}", name, table) for name, table in tables.items()}


def _from_table(place: str, name: str, table: object) -> ProviderConfig:
    if not isinstance(table, dict):
        raise ConfigurationError(f"{place} must be a table", hint=f"Write [providers.{name}].")
    if "api_key" in table:
        msg = f"{place}.api_key: a file contains no keys"
        raise ConfigurationError(msg, hint=f"Set the variable {endpoint_key(name)} instead.")
    if unknown := [field for field in table if field not in _FILE_FIELDS]:
        hint = unknown_name_hint(unknown[0], _FILE_FIELDS) or f"Fields of an endpoint: {', '.join(_FILE_FIELDS)}."
        raise ConfigurationError(f"{place} has the unknown field {unknown[0]!r}", hint=hint)
    kind = table.get("kind")
    if not isinstance(kind, str) or not kind:
        raise ConfigurationError(f"{place} lacks its kind", hint='For example: kind = "compatible"')
    config = ProviderConfig(**table)
    try:
        check_providers({name: config})
    except ConfigurationError as error:
        raise ConfigurationError(f"{place}: {error.message}", hint=error.hint, cause=error) from error
    return config


def endpoints_of(settings: Settings) -> dict[str, ProviderConfig]:
    """Return the endpoints of the environment.

    Raises:
        ConfigurationError: `ROUNDTABLE_PROVIDERS` has another form, or a file that it names is not valid.
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
