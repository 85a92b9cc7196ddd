"""Fetch pages of the public web for a model."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urljoin

import anyio

from roundtable.core.base.addresses import LONGEST_ADDRESS
from roundtable.core.base.text import bounded_marks
from roundtable.core.errors import APINetworkError, APIRateLimitError, APITimeoutError
from roundtable.http.client import HttpClient, HttpLimits, HttpRequest
from roundtable.http.guard_public import (
    WEB_PORTS,
    AddressRefused,
    WebAddress,
    encoded_host,
    is_public,
    masked_url,
    web_address,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

__all__ = ["Page", "PublicWeb", "Resolver", "system_resolver"]

Resolver: TypeAlias = "Callable[[str, int], Awaitable[Sequence[str]]]"
"""Returns the IP addresses of a host and port."""

PAGE_BYTES: Final = 2 * 2**20
"""Most decoded bytes of a page."""
REDIRECTS: Final = 5
"""Most redirects that are followed."""
TRIED: Final = 3
"""Most IP addresses of one host that are tried."""
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Page:
    """A web page."""

    url: str
    """Final address of the page, after redirects."""
    headers: Mapping[str, str] = field(repr=False)
    """Headers, names in lower case."""
    body: bytes = field(repr=False)
    """Decoded body, up to the size limit."""
    is_cut: bool = False
    """Whether the body was longer than the size limit."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Look up a host with the name service of the system.

    Raises:
        OSError: The host is unknown.
    """
    addresses = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in addresses))


class PublicWeb:
    """Fetches pages from servers of the public internet only.

    Each host is looked up once. If any of its IP addresses is not public, the page is refused. Otherwise, the
    connection goes to one of these addresses, so that a later change in the name service (DNS rebinding) has no effect.
    Every redirect is checked in the same way. Requests contain only the address: no key, cookie or referrer. Proxies
    set by environment variables are not used.

    Args:
        domains: The only domains that may be called, with their subdomains; any domain if empty.
        allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public or in `domains`.
        ports: Ports that may be called.
        page_bytes: Most decoded bytes of a page; a longer page is cut.
        resolver: Looks up the IP addresses of a host; the system's name service by default.

    Raises:
        ConfigurationError: An entry of `domains` or `allow` does not name a host.
    """

    def __init__(
        self,
        *,
        domains: Collection[str] = (),
        allow: Collection[str] = (),
        ports: Collection[int] = WEB_PORTS,
        page_bytes: int = PAGE_BYTES,
        resolver: Resolver | None = None,
    ) -> None:
        self._domains = tuple(f".{encoded_host(name.strip('.'))}" for name in domains)
        self._allow = frozenset(_encoded_authority(authority) for authority in allow)
        self._ports = frozenset(ports)
        self._page_bytes = page_bytes
        self._resolver = resolver or system_resolver
        # Larger than `page_bytes`, so that a long page is cut here instead of being refused by the client.
        self._client = HttpClient("web", limits=HttpLimits(body_bytes=page_bytes + 2**20), shows_redirects=True)

    async def get(self, url: str, *, timeout_s: float, accept: str = "*/*") -> Page:
        """Fetch a page.

        Args:
            url: Address of the page.
            timeout_s: Most seconds in total, with all redirects and name lookups.
            accept: Value of the `accept` header.

        Raises:
            AddressRefused: The address, or the target of a redirect, is not part of the public web.
            APITimeoutError: The page took longer than `timeout_s`.
            APIRateLimitError: The server responds with status 429.
            APINetworkError: The host or the page does not exist, or the connection failed.
            AgentError: The page is compressed more strongly than the limits allow.
        """
        with anyio.move_on_after(timeout_s):
            for _ in range(REDIRECTS + 1):
                result = await self._fetch_once(url, timeout_s, accept)
                if isinstance(result, Page):
                    return result
                url = result
            msg = f"{masked_url(url)}: more than {REDIRECTS} redirects"
            raise APINetworkError(msg, retryable=False)
        raise APITimeoutError(f"{masked_url(url)}: no complete page within {timeout_s:g} s")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _fetch_once(self, url: str, timeout_s: float, accept: str) -> Page | str:
        """Return the page at an address or, if it is a redirect, the address of its target."""
        address = web_address(url, ports=self._ports, allow=self._allow)
        if self._domains and not address.is_allowed and not f".{address.host.rstrip('.')}".endswith(self._domains):
            raise AddressRefused(
                f"{masked_url(address.url)}: only {', '.join(name[1:] for name in self._domains)} may be opened"
            )
        *first_ips, last_ip = await self._look_up(address)
        for ip in first_ips:
            try:
                return await self._request(address, ip, timeout_s, accept)
            except APINetworkError as error:
                if not error.retryable:
                    raise
        return await self._request(address, last_ip, timeout_s, accept)

    async def _request(self, address: WebAddress, ip: str, timeout_s: float, accept: str) -> Page | str:
        request = HttpRequest("GET", address.url, {"accept": accept}, connect_to=ip)
        async with self._client.stream(request, timeout_s=timeout_s) as response:
            if response.status in _REDIRECT_STATUSES and "location" in response.headers:
                return _redirect_target(address.url, response.headers["location"])
            if not 200 <= response.status < 300:
                raise _status_error(masked_url(address.url), response.status)
            body = bytearray()
            async for piece in response:
                body += piece
                if len(body) > self._page_bytes:
                    return Page(address.url, response.headers, bytes(body[: self._page_bytes]), is_cut=True)
            return Page(address.url, response.headers, bytes(body))

    async def _look_up(self, address: WebAddress) -> Sequence[str]:
        if address.is_ip:
            return (address.host,)
        safe_url = masked_url(address.url)
        try:
            ips = await self._resolver(address.host, address.port)
        except (OSError, UnicodeError) as exc:
            raise APINetworkError(f"{safe_url}: the host is unknown", retryable=False, cause=exc) from exc
        if not ips:
            raise APINetworkError(f"{safe_url}: the host has no address", retryable=False)
        if not address.is_allowed and not all(map(is_public, ips)):
            raise AddressRefused(f"{safe_url}: the host has an IP address that is not public")
        return tuple(ips)[:TRIED]


def _encoded_authority(authority: str) -> str:
    name, _, port = authority.rpartition(":")
    host = encoded_host(name)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _redirect_target(base: str, location: str) -> str:
    if len(location) > LONGEST_ADDRESS:
        raise AddressRefused(f"{masked_url(base)}: redirects to an address of more than {LONGEST_ADDRESS} characters")
    try:
        # Servers send UTF-8 in this header, but headers are decoded as Latin-1.
        return urljoin(base, bounded_marks(location.encode("latin-1").decode("utf-8", "replace")))
    except ValueError as exc:
        raise AddressRefused(f"{masked_url(base)}: redirects to an invalid address") from exc


def _status_error(safe_url: str, status: int) -> APINetworkError | APIRateLimitError:
    message = f"{safe_url}: answered with status {status}"
    if status == 429:
        return APIRateLimitError(message, hint="Fetch another page.")
    return APINetworkError(message, retryable=status >= 500, hint="Fetch another page.")
