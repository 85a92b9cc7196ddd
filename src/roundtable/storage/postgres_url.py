"""The URL of a PostgreSQL database in a form that can be shown in a command."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from roundtable.http import masked_url

__all__ = ["DEFAULT_SCHEMA", "command_url", "named_schema", "shown_url"]

DEFAULT_SCHEMA: Final = "roundtable"
"""PostgreSQL schema of the tables if a URL names none."""

_HARMLESS: Final = frozenset(
    {
        "schema", "host", "hostaddr", "port", "dbname", "user", "service", "servicefile", "passfile", "connect_timeout",
        "application_name", "sslmode", "sslnegotiation", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir",
        "sslsni", "ssl_min_protocol_version", "ssl_max_protocol_version", "channel_binding", "require_auth",
        "gssencmode", "krbsrvname", "target_session_attrs", "load_balance_hosts", "keepalives", "keepalives_idle",
        "keepalives_interval", "keepalives_count", "tcp_user_timeout",
    }
)  # fmt: skip
"""Parameters that are shown. `password` is hidden, and so is `options`, since its value can contain anything."""


def named_schema(url: str) -> str:
    """Return the PostgreSQL schema that the URL of a storage names, or the default.

    Example:
        >>> named_schema("postgresql://db.example.org/app?schema=debates"), named_schema("postgresql:///app")
        ('debates', 'roundtable')
    """
    parameters = url.partition("?")[2].split("&")
    schemas = [unquote(text.removeprefix("schema=")) for text in parameters if text.startswith("schema=")]
    return schemas[-1] if schemas else DEFAULT_SCHEMA


def shown_url(url: str) -> str:
    """Return the URL of a database for messages: without user, secrets and parameters, except for another schema.

    Example:
        >>> shown_url("postgresql://me:secret@db.example.org/app?schema=debates&sslmode=require")
        'postgresql://db.example.org/app?schema=debates'
        >>> shown_url("postgresql:///app?schema=a%0Ab")
        'postgresql:///app?schema=a%0Ab'
    """
    masked, schema = masked_url(url), named_schema(url)
    return masked if schema == DEFAULT_SCHEMA or masked.endswith("://***") else f"{masked}?schema={quote(schema)}"


def command_url(url: str) -> str:
    """Return the URL of a database for a command that a user may paste: with user and schema, without secrets.

    Parameters that may contain a secret are left out. Users must pass them in another way, such as with `PGPASSWORD`.
    If it isn't certain where the password ends, only the scheme is returned.

    Example:
        >>> command_url("postgresql://me:secret@db.example.org/app?schema=debates&password=secret")
        'postgresql://me@db.example.org/app?schema=debates'
    """
    if masked_url(url).endswith("://***"):
        return masked_url(url)
    base, _, query = url.partition("#")[0].partition("?")
    scheme, separator, after_scheme = base.partition("://")
    authority, slash, path = after_scheme.partition("/")
    userinfo, at, hosts = authority.rpartition("@")
    user = userinfo.partition(":")[0]
    shown = [parameter for parameter in query.split("&") if unquote(parameter.partition("=")[0]) in _HARMLESS]
    shown_url = f"{scheme}{separator}{user}{at if user else ''}{hosts}{slash}{path}"
    return f"{shown_url}?{'&'.join(shown)}" if shown else shown_url
