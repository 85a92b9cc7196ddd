"""Servers that ask nobody who they are answer this machine alone, whatever address they listen on."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from roundtable.auth.errors import Forbidden
from roundtable.auth.guard import send_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.errors import RoundtableError

__all__ = ["Nearby", "is_from_here"]

_FORWARDED: Final = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})


def is_from_here(scope: Message) -> bool:
    """Tell whether a program of this machine makes a request by itself, and not a proxy for somebody else.

    Example:
        >>> [is_from_here({"client": (host, 50000), "headers": []}) for host in ("127.0.0.1", "::1", "192.168.1.4")]
        [True, True, False]
    """
    if any(name in _FORWARDED for name, _ in scope["headers"]):
        return False
    client = scope.get("client")
    if client is None:
        return False
    try:
        address = ip_address(client[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


class Nearby:
    """Refuses whoever is elsewhere. It stands before a server that takes every caller for one user.

    Args:
        app: The server.
        body: The JSON that tells an error.
    """

    def __init__(self, app: ASGIApp, body: Callable[[RoundtableError], object]) -> None:
        self._app = app
        self._body = body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or is_from_here(scope):
            await self._app(scope, receive, send)
            return
        error = Forbidden(
            "this server asks for no token, so it answers only programs of its own machine",
            hint="Have it ask for tokens to let others in, also through a proxy.",
        )
        await send_json(send, 403, self._body(error))
