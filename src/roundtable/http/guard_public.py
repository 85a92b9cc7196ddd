"""The SSRF guard: allow only addresses of the public web.

A model writes the address, and a text that the model has read may have told it which address to write. So only one
spelling of an address is accepted, and the address must resolve to public unicast IP addresses.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from roundtable.core.base.addresses import LONGEST_ADDRESS, split_address
from roundtable.core.base.text import unquoted
from roundtable.core.errors import APINetworkError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "WEB_PORTS",
    "AddressRefused",
    "WebAddress",
    "check_plain_http",
    "checked_proxy",
    "checked_url",
    "encoded_host",
    "is_loopback",
    "is_on_local_network",
    "is_public",
    "masked_url",
    "web_address",
]

_HINT = "Pass a full address such as https://api.example.org/v1 or http://127.0.0.1:8080/v1."

WEB_PORTS: Final = (80, 443)
"""Ports of web servers; other ports may belong to databases, caches and admin consoles."""

_NOT_PUBLIC_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by a carrier's customers
            "127.0.0.0/8",  # this machine
            "168.63.129.16/32",  # the host of an Azure machine
            "169.254.0.0/16",  # this link, with the consoles of clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/3",  # multicast, reserved, broadcast
        ),
    )
)
# Listed here, because the result of `is_global` differs between releases of Python.
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: contains an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""The 32 bits before the IPv4 address in an interface id of ISATAP."""

_LOCAL_NAMES: Final = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "home.arpa", "corp")
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})+")
_LABELS: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_FORBIDDEN_CHARACTERS: Final = re.compile(r"[\x00-\x20\x7f\\]")


def is_loopback(host: str) -> bool:
    """Check whether a host is this machine, without a name lookup.

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


def is_on_local_network(host: str) -> bool:
    """Check whether a host is on a local network, without a name lookup: a private address, or a name without dots.

    Example:
        >>> [is_on_local_network(host) for host in ("ollama", "192.168.1.20", "gpu.lan", "api.example.org", "8.8.8.8")]
        [True, True, True, False, False]
    """
    host = host.lower().rstrip(".")
    try:
        return not is_public(str(ipaddress.ip_address(host)))
    except ValueError:
        is_label = "." not in host and not _NUMBER.fullmatch(host)
        return is_label or any(host.endswith(f".{name}") for name in _LOCAL_NAMES)


def encoded_host(name: str) -> str:
    """Return the name of a host as it is in a `WebAddress`: in ASCII, in lower case, and without brackets.

    Raises:
        ConfigurationError: The text is not a name or an IP address; for example, it contains a path or `*`.

    Example:
        >>> encoded_host("Bücher.example")
        'xn--bcher-kva.example'
    """
    import httpx

    try:
        host = (
            httpx.URL(scheme="https", host=name).raw_host.decode("ascii").lower()
            if len(name) <= LONGEST_ADDRESS
            else ""
        )
    except (httpx.InvalidURL, ValueError):
        host = ""
    if ":" not in host and not _LABELS.fullmatch(host):
        hint = "Write only the host, for example example.org, without a scheme, a path or *."
        raise ConfigurationError(f"{name[:200]!r} is not the name of a host", hint=hint)
    return host


def checked_url(url: str, *, what: str = "the base URL", has_key: bool = True) -> str:
    """Check an address before a key is sent to it, and return the address without a trailing slash.

    White space and quotes around the address, as env files and shells leave them, are removed.

    Args:
        url: The address.
        what: Name of the setting, for messages.
        has_key: Whether a key is sent to the address.

    Raises:
        ConfigurationError: The address is not an http address, contains a user name, a query or a fragment, or would
            send a key over plain http to another machine.
    """
    url = unquoted(url)
    if len(url) > LONGEST_ADDRESS:
        raise ConfigurationError(f"{what} {masked_url(url)!r} has more than {LONGEST_ADDRESS} characters", hint=_HINT)
    try:
        parts = split_address(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigurationError(f"{what} {masked_url(url)!r} is not an address", hint=_HINT) from exc
    if parts.scheme not in {"http", "https"} or not host or any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise ConfigurationError(f"{what} {masked_url(url)!r} is not an http or https address", hint=_HINT)
    if "@" in parts.netloc:
        raise ConfigurationError(f"{what} must not contain a user name or password", hint="Pass the key as `api_key`.")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{what} {masked_url(url)!r} must not have a query or fragment", hint=_HINT)
    if has_key and parts.scheme == "http" and not is_loopback(host):
        raise _plain_http_refusal(url, what, "Use https, or a tunnel to 127.0.0.1.")
    return url.rstrip("/")


def check_plain_http(url: str, *, what: str, has_key: bool) -> None:
    """Check that a server may be called over plain http: on this machine, or on a local network without a key.

    Raises:
        ConfigurationError: The address is plain http, and a key would be sent or the server is not on a local network.

    Example:
        >>> check_plain_http("http://ollama:11434/v1", what="the base URL", has_key=False)
    """
    parts = split_address(url)
    host = parts.hostname or ""
    if parts.scheme != "http" or is_loopback(host) or (not has_key and is_on_local_network(host)):
        return
    hint = (
        "Use https, or a tunnel to 127.0.0.1. If you trust the network, set allow_plain_http=True in ProviderConfig or "
        "ROUNDTABLE_ALLOW_PLAIN_HTTP=true."
    )
    raise _plain_http_refusal(url, what, hint)


def _plain_http_refusal(url: str, what: str, hint: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what} {masked_url(url)!r} is plain http; keys are sent only over https, or to this machine", hint=hint
    )


def checked_proxy(url: str, *, what: str = "proxy") -> str:
    """Check the address of a proxy, and return it with its scheme; it may contain a user name and password.

    Args:
        url: The address, such as `http://proxy.example.org:3128`; without a scheme, http is meant.
        what: Name of the setting, for messages.

    Raises:
        ConfigurationError: The address is not that of an HTTP proxy.

    Example:
        >>> checked_proxy("proxy.example.org:3128")
        'http://proxy.example.org:3128'
    """
    url = unquoted(url)
    url = url if "://" in url else f"http://{url}"
    try:
        parts = split_address(url)
        is_valid = (
            len(url) <= LONGEST_ADDRESS
            and parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        is_valid = False
    if not is_valid or any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise ConfigurationError(
            f"{what} {masked_url(url)!r} is not the address of an HTTP proxy",
            hint="Write it as http://proxy.example.org:3128. Other proxies, such as SOCKS, need a client of your own.",
        )
    return url.rstrip("/")


def masked_url(url: str) -> str:
    """Return an address without secrets, for messages: no user name, query or fragment, at most 200 characters.

    This also works for addresses of storages. If it is not certain where the parts of an address begin, for example
    because a password contains a slash, only the scheme is shown.

    Example:
        >>> masked_url("https://me:secret@api.example.org/v1/x?key=secret")
        'https://api.example.org/v1/x'
        >>> masked_url("redis://me:se/cret@db.example.org")
        'redis://***'
    """
    scheme, separator, after_scheme = url.partition("://")
    if not separator:
        scheme, after_scheme = "", url
    authority = re.split("[/?#]", after_scheme, maxsplit=1)[0]
    if ":" in authority and "@" in after_scheme[len(authority) :]:
        return f"{scheme}{separator}***"
    path = re.split("[?#]", after_scheme[len(authority) :], maxsplit=1)[0]
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{path}"[:200]


class AddressRefused(APINetworkError):
    """The address is not part of the public web, or its spelling hides its target."""

    default_message: ClassVar[str] = "The address is not part of the public web"
    default_retryable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A parsed address whose spelling was checked."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Name in ASCII, or an IP address without brackets."""
    port: int
    """Port."""
    path: str
    """Path and query."""
    is_allowed: bool = False
    """Whether `allow` lists the host and port, which then need not be public."""

    @property
    def is_ip(self) -> bool:
        """Whether the host is an IP address."""
        return ":" in self.host or self.host.rpartition(".")[2].isdigit()

    @property
    def authority(self) -> str:
        """Host and port, as in a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.authority}{self.path}"


def is_public(address: str) -> bool:
    """Check whether an IP address is a unicast address of the public internet.

    Addresses that contain an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP) are never public.

    Example:
        >>> [is_public(ip) for ip in ("93.184.216.34", "2606:4700::1111", "10.0.0.1", "::ffff:93.184.216.34")]
        [True, True, False, False]
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in _NOT_PUBLIC_4)
    if ip.scope_id is not None or ip not in _PUBLIC_6 or any(ip in network for network in _NOT_PUBLIC_6):
        return False
    return int(ip) >> 32 & 0xFFFF_FFFF not in _ISATAP


def web_address(url: str, *, ports: Collection[int] = WEB_PORTS, allow: Collection[str] = ()) -> WebAddress:
    """Parse an address and check its spelling, without a name lookup.

    Args:
        url: The address; its fragment is dropped.
        ports: Ports that may be called.
        allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public.

    Raises:
        AddressRefused: The address is not an http address, or contains a user name, a port that is not allowed or a
            local name, or its IP address is not public or not in the usual spelling.

    Example:
        >>> web_address("https://Example.org/a?b=c#d").url
        'https://example.org/a?b=c'
    """
    address = _parse(url, allow)
    if address.is_allowed:
        return address
    if address.port not in ports:
        raise _refusal(url, f"port {address.port} is not one of {', '.join(map(str, sorted(ports)))}")
    if not address.is_ip:
        labels = f".{address.host.rstrip('.')}"
        if any(labels.endswith(f".{name}") for name in _LOCAL_NAMES):
            raise _refusal(url, "the name belongs to a local network")
        if not _NAME.fullmatch(address.host.removesuffix(".")):
            raise _refusal(url, "the host is not a name of the public web")
        if _NUMBER.fullmatch(address.host.rstrip(".").rpartition(".")[2]):
            raise _refusal(url, "the host must not end in a number")
    elif not is_public(address.host):
        raise _refusal(url, "the IP address is not public, or not in the usual spelling")
    return address


def _parse(url: str, allow: Collection[str]) -> WebAddress:
    import httpx

    if len(url) > LONGEST_ADDRESS:
        raise _refusal(url, f"it is longer than {LONGEST_ADDRESS} characters")
    if _FORBIDDEN_CHARACTERS.search(url):
        raise _refusal(url, "it contains a space, a control character or a backslash")
    try:
        parts = httpx.URL(url)
        host, port = parts.raw_host.decode("ascii").lower(), parts.port
    except (httpx.InvalidURL, ValueError) as exc:
        # The message of httpx may quote the whole address with its query.
        raise _refusal(url, "it cannot be parsed") from exc
    if parts.scheme not in {"http", "https"} or not host:
        raise _refusal(url, "it is not an http or https address")
    if parts.userinfo or "@" in re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise _refusal(url, "it contains a user name")
    port = (443 if parts.scheme == "https" else 80) if port is None else port
    allowed = f"{f'[{host}]' if ':' in host else host}:{port}" in allow
    return WebAddress(parts.scheme, host, port, parts.raw_path.decode("ascii"), allowed)


def _refusal(url: str, reason: str) -> AddressRefused:
    return AddressRefused(f"{masked_url(url)}: {reason}", hint="Use the http or https address of a public web page.")
