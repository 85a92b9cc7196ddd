"""Addresses of clients, and a limit on how often an address may request something that needs no login."""

from __future__ import annotations

import re
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fastapi import Request

    from roundtable.core.protocols import Clock

__all__ = ["AddressLimit", "client_of", "network_of"]

_MOST_NETWORKS: Final = 10_000
_WITH_PORT: Final = re.compile(r"\[(.+)\](?::[0-9]+)?|([0-9.]+):[0-9]+", re.ASCII)
"""An address as some proxies write it: with the port, which differs in each connection of a client."""


def client_of(request: Request, *, proxied: bool) -> str:
    """Return the client address of a request; behind a proxy, the last address in `X-Forwarded-For`."""
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    if (match := _WITH_PORT.fullmatch(forwarded)) is not None:
        forwarded = match[1] or match[2]
    return forwarded if proxied and forwarded else request.client.host if request.client else ""


def network_of(client: str) -> str:
    """Return the addresses that a client controls: its IPv4 address, or the /64 network of its IPv6 address.

    Servers that listen on both versions of IP write IPv4 addresses as IPv6 addresses.

    Example:
        >>> network_of("192.0.2.7"), network_of("::ffff:192.0.2.7"), network_of("2001:db8::7")
        ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    try:
        address = ip_address(client)
    except ValueError:
        return client[:64]
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((int(address), 64), strict=False))


class AddressLimit:
    """Counts the requests of each address in one process.

    An address may send `most` requests at once, and after that one request every `60 / most` seconds.

    Args:
        most: Maximum number of requests in a minute.
        clock: Clock that measures the time.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, client: str) -> float:
        """Count a request of a client and return the seconds to wait; 0 allows it.

        A request that comes too early is not counted.

        Args:
            client: Client address of the request.
        """
        key, now, each_s = network_of(client), self._clock.monotonic(), 60.0 / self._most
        full_at = max(now, self._full_at.pop(key, now)) + each_s
        wait_s = full_at - now - 60.0
        if wait_s > 1e-6:
            self._full_at[key] = full_at - each_s
            return wait_s
        self._full_at[key] = full_at
        while len(self._full_at) > _MOST_NETWORKS:
            self._full_at.popitem(last=False)
        return 0.0
