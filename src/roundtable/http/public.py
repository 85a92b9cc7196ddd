"""Which addresses may be called on behalf of a model: those of the public web, and no others.

A model writes the address, and what it has read may have told it to. So an address is spelt one way only, and
what it stands for must be a unicast address that the whole internet can reach.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from roundtable.errors import APINetworkError
from roundtable.http.addresses import shown_url

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["WEB_PORTS", "AddressRefused", "WebAddress", "is_public", "web_address"]

WEB_PORTS: Final = (80, 443)
"""Ports where web servers are; on others listen databases, caches and consoles."""
LONGEST: Final = 2_048
"""Most characters of an address."""

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
# Written out rather than `is_global`, whose answer differs between releases of Python.
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: an IPv4 address in disguise
            "3fff::/20",  # documentation
        ),
    )
)
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""What stands before an IPv4 address in an interface's id."""

_LOCAL_NAMES: Final = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "home.arpa", "corp")
_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})+")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNUSUAL: Final = re.compile(r"[\x00-\x20\x7f\\]")


class AddressRefused(APINetworkError):
    """An address that is not called: not of the public web, or spelt in a way that hides what it is."""

    default_message: ClassVar[str] = "The address is not one of the public web"
    default_retryable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address whose spelling was checked."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Name in ASCII, or an IP address, without brackets."""
    port: int
    """Port."""
    path: str
    """Path and query."""
    is_allowed: bool = False
    """Whether its host and port were allowed by name, so that they need not be public."""

    @property
    def is_ip(self) -> bool:
        """Whether the host is an IP address."""
        return ":" in self.host or self.host.rpartition(".")[2].isdigit()

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == {"http": 80, "https": 443}[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.authority}{self.path}"


def is_public(address: str) -> bool:
    """Tell whether an IP address is a unicast one of the public internet.

    Addresses that carry an IPv4 address inside (mapped, NAT64, 6to4, Teredo, ISATAP) are not, whatever they carry.

    Example:
        >>> [is_public(one) for one in ("93.184.216.34", "2606:4700::1111", "10.0.0.1", "::ffff:93.184.216.34")]
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
    """Take an address apart and check its spelling; a name server is not asked.

    Args:
        url: The address; a fragment is dropped.
        ports: Ports that may be called.
        allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public.

    Raises:
        AddressRefused: It is no http address, names a user, a port that is not allowed or a local name, spells an IP
            address in another than the usual way, or the IP address is not public.

    Example:
        >>> web_address("https://Example.org/a?b=c#d").url
        'https://example.org/a?b=c'
    """
    address = _apart(url, allow)
    if address.is_allowed:
        return address
    if address.port not in ports:
        raise _refused(url, f"port {address.port} is not one of {', '.join(map(str, sorted(ports)))}")
    if not address.is_ip:
        labels = f".{address.host.rstrip('.')}"
        if any(labels.endswith(f".{name}") for name in _LOCAL_NAMES):
            raise _refused(url, "the name belongs to a local network")
        if not _NAME.fullmatch(address.host.removesuffix(".")):
            raise _refused(url, "the host is no name of the public web")
        if _NUMBER.fullmatch(address.host.rstrip(".").rpartition(".")[2]):
            raise _refused(url, "a number is not a name")
    elif not is_public(address.host):
        raise _refused(url, "the IP address is not public, or not spelt in the usual way")
    return address


def _apart(url: str, allow: Collection[str]) -> WebAddress:
    import httpx

    if len(url) > LONGEST:
        raise _refused(url, f"it is longer than {LONGEST} characters")
    if _UNUSUAL.search(url):
        raise _refused(url, "it holds a space, a control character or a backslash")
    try:
        parts = httpx.URL(url)
        host, port = parts.raw_host.decode("ascii").lower(), parts.port
    except (httpx.InvalidURL, ValueError) as exc:
        # The library's text may quote the whole address, query and all.
        raise _refused(url, "it cannot be taken apart") from exc
    if parts.scheme not in {"http", "https"} or not host:
        raise _refused(url, "it is no http or https address")
    if parts.userinfo or "@" in re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise _refused(url, "it holds a user name")
    port = (443 if parts.scheme == "https" else 80) if port is None else port
    allowed = f"{f'[{host}]' if ':' in host else host}:{port}" in allow
    return WebAddress(parts.scheme, host, port, parts.raw_path.decode("ascii"), allowed)


def _refused(url: str, why: str) -> AddressRefused:
    return AddressRefused(f"{shown_url(url)}: {why}", hint="Name a page of the public web, over http or https.")
