"""Which addresses a key may be sent to, and how an address is shown."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from roundtable.errors import ConfigurationError

__all__ = ["checked_url", "is_loopback", "origin_of", "shown_url"]


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, without asking a name server.

    Example:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.8", "::1", "localhost.example.org")]
        [True, True, True, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_url(url: str, *, what: str = "the base URL", has_key: bool = True) -> str:
    """Check an address before a key goes there, and give it without a trailing slash.

    Args:
        url: The address.
        what: How to name it in a message.
        has_key: Whether a key goes there.

    Raises:
        ConfigurationError: It is no http address, holds a user name, a query or a fragment, or is plain
            http to another machine, where a key goes.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigurationError(f"{what} {shown_url(url)!r} is no address", hint=_HINT) from exc
    if parts.scheme not in {"http", "https"} or not host or any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise ConfigurationError(f"{what} {shown_url(url)!r} is no http or https address", hint=_HINT)
    if "@" in parts.netloc:
        raise ConfigurationError(f"{what} must not hold a user name or password", hint="Give the key as `api_key`.")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{what} {shown_url(url)!r} must not have a query or fragment", hint=_HINT)
    if has_key and parts.scheme == "http" and not is_loopback(host):
        raise ConfigurationError(
            f"{what} {shown_url(url)!r} is plain http; keys are sent over https, or to this machine",
            hint="Use https, or reach the server through a tunnel to 127.0.0.1.",
        )
    return url.rstrip("/")


_HINT = "Give it whole, such as https://api.example.org/v1 or http://127.0.0.1:8080/v1."


def origin_of(url: str) -> tuple[str, str, int]:
    """Give scheme, host and port of an address that was checked.

    Example:
        >>> origin_of("https://api.example.org/v1")
        ('https', 'api.example.org', 443)
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def shown_url(url: str) -> str:
    """Give an address as it may be shown: no user name, query or fragment, at most 200 characters.

    Also for addresses of storages. Of one that cannot be taken apart for sure, such as one with a password
    that holds a slash, only the scheme is shown.

    Example:
        >>> shown_url("https://me:secret@api.example.org/v1/x?key=secret")
        'https://api.example.org/v1/x'
        >>> shown_url("redis://me:se/cret@db.example.org")
        'redis://***'
    """
    scheme, found, rest = url.partition("://")
    if not found:
        scheme, rest = "", url
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if ":" in authority and "@" in rest[len(authority) :]:
        return f"{scheme}{found}***"
    path = re.split("[?#]", rest[len(authority) :], maxsplit=1)[0]
    return f"{scheme}{found}{authority.rpartition('@')[2]}{path}"[:200]
