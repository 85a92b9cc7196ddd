"""Pages of the public web, fetched on behalf of a model."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urljoin

import anyio

from roundtable.errors import APINetworkError, APIRateLimitError, APITimeoutError
from roundtable.http.addresses import shown_url
from roundtable.http.client import HttpClient
from roundtable.http.messages import HttpLimits, HttpRequest
from roundtable.http.public import WEB_PORTS, AddressRefused, WebAddress, is_public, web_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

__all__ = ["Page", "PublicWeb", "Resolver", "system_resolver"]

Resolver: TypeAlias = "Callable[[str, int], Awaitable[Sequence[str]]]"
"""Gives the IP addresses of a host and port."""

PAGE_BYTES: Final = 2 * 2**20
"""Most decoded bytes of a page."""
REDIRECTS: Final = 5
"""Most redirects followed."""
TRIED: Final = 3
"""Most IP addresses of one host that are tried."""
_MOVED: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Page:
    """What stood at an address."""

    url: str
    """Where it was found, after redirects."""
    headers: Mapping[str, str] = field(repr=False)
    """Headers, names in lower case."""
    body: bytes = field(repr=False)
    """Decoded body, as far as it was read."""
    is_cut: bool = False
    """Whether there was more than was read."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Ask the system's name service.

    Raises:
        OSError: It knows no such host.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class PublicWeb:
    """Fetches pages from servers of the public internet, and from nowhere else.

    The name of a host is looked up once; when any of its IP addresses is not public the page is refused, else the
    connection goes to one of the addresses looked up, so that a name service that changes its mind changes nothing.
    Every redirect is checked in the same way. Nothing but the address is sent: no key, cookie or referrer. Proxies of
    the environment are not used.

    Args:
        domains: The only domains to call, with all that is below them; any when empty.
        allow: Hosts with their port, such as `127.0.0.1:8080`, that need not be public or in `domains`.
        ports: Ports that may be called.
        page_bytes: Most decoded bytes read of a page; what is longer is cut.
        resolver: Looks up the IP addresses of a host; the system's name service when left out.
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
        self._domains = tuple(f".{name.lower().strip('.')}" for name in domains)
        self._allow = frozenset(one.lower() for one in allow)
        self._ports = frozenset(ports)
        self._page_bytes = page_bytes
        self._resolver = resolver or system_resolver
        # One piece more than a page: the page is cut here, before the client would refuse it.
        self._client = HttpClient("web", limits=HttpLimits(body_bytes=page_bytes + 2**20), shows_redirects=True)

    async def get(self, url: str, *, timeout_s: float, accept: str = "*/*") -> Page:
        """Fetch a page.

        Args:
            url: Its address.
            timeout_s: Most seconds, with all redirects and name look-ups.
            accept: Kinds of content that are wanted.

        Raises:
            AddressRefused: The address, or one it redirects to, is not of the public web.
            APITimeoutError: It took longer.
            APIRateLimitError: The server wants fewer requests.
            APINetworkError: There is no such host or page, or the connection failed.
            AgentError: The page is compressed beyond measure.
        """
        with anyio.move_on_after(timeout_s):
            for _ in range(REDIRECTS + 1):
                found = await self._hop(url, timeout_s, accept)
                if isinstance(found, Page):
                    return found
                url = found
            msg = f"{shown_url(url)}: more than {REDIRECTS} redirects"
            raise APINetworkError(msg, retryable=False)
        raise APITimeoutError(f"{shown_url(url)}: no complete page within {timeout_s:g} s")

    async def _hop(self, url: str, timeout_s: float, accept: str) -> Page | str:
        """Give the page at an address, or the address it redirects to."""
        address = web_address(url, ports=self._ports, allow=self._allow)
        if self._domains and not address.is_allowed and not f".{address.host.rstrip('.')}".endswith(self._domains):
            raise AddressRefused(
                f"{shown_url(address.url)}: only {', '.join(name[1:] for name in self._domains)} may be opened"
            )
        *spare, last = await self._look_up(address)
        for place in spare:
            try:
                return await self._ask(address, place, timeout_s, accept)
            except APINetworkError as error:
                if not error.retryable:
                    raise
        return await self._ask(address, last, timeout_s, accept)

    async def _ask(self, address: WebAddress, place: str, timeout_s: float, accept: str) -> Page | str:
        request = HttpRequest("GET", address.url, {"accept": accept}, connect_to=place)
        async with self._client.stream(request, timeout_s=timeout_s) as answer:
            if answer.status in _MOVED and "location" in answer.headers:
                return _joined(address.url, answer.headers["location"])
            if not 200 <= answer.status < 300:
                raise _status_error(shown_url(address.url), answer.status)
            body = bytearray()
            async for piece in answer:
                body += piece
                if len(body) > self._page_bytes:
                    return Page(address.url, answer.headers, bytes(body[: self._page_bytes]), is_cut=True)
            return Page(address.url, answer.headers, bytes(body))

    async def _look_up(self, address: WebAddress) -> Sequence[str]:
        if address.is_ip:
            return (address.host,)
        shown = shown_url(address.url)
        try:
            found = await self._resolver(address.host, address.port)
        except (OSError, UnicodeError) as exc:
            raise APINetworkError(f"{shown}: the host is unknown", retryable=False, cause=exc) from exc
        if not found:
            raise APINetworkError(f"{shown}: the host has no address", retryable=False)
        if not address.is_allowed and not all(map(is_public, found)):
            raise AddressRefused(f"{shown}: the host stands for an IP address that is not public")
        return tuple(found)[:TRIED]


def _joined(base: str, location: str) -> str:
    try:
        # Servers send letters as UTF-8, headers are read as Latin-1.
        return urljoin(base, location.encode("latin-1").decode("utf-8", "replace"))
    except ValueError as exc:
        raise AddressRefused(f"{shown_url(base)}: redirects to what is no address") from exc


def _status_error(shown: str, status: int) -> APINetworkError | APIRateLimitError:
    message = f"{shown}: answered with status {status}"
    if status == 429:
        return APIRateLimitError(message, hint="Fetch another page.")
    return APINetworkError(message, retryable=status >= 500, hint="Fetch another page.")
