"""Listening sockets, and a guard for servers without authentication, which accept requests from this machine only."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from roundtable.auth.guard import send_json
from roundtable.auth.identity import Forbidden
from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.core.errors import RoundtableError

__all__ = ["BACKLOG", "LocalOnly", "address_of", "is_local_request", "listen"]

BACKLOG: Final = 2_048
"""Maximum number of connections that wait to be accepted."""

_SEND_BYTES: Final = 64 * 1024
"""Size of the operating system's send buffer for each client; Linux doubles it. The default is several megabytes."""
_FORWARDED: Final = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})


def listen(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """Open a listening socket.

    Args:
        host: Address to listen on; IPv6 with or without brackets.
        port: Port; 0 picks a free port.
        reuse_port: Whether several processes may listen on the same port.

    Raises:
        ConfigurationError: The port is taken, or this machine does not have the address.
    """
    address = host.strip("[]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, port), family=family, backlog=BACKLOG, reuse_port=reuse_port)
    except (OSError, ValueError) as error:  # ValueError: the system cannot share a port
        msg = f"cannot listen on {host}, port {port}: {error}"
        raise ConfigurationError(msg, cause=error, hint="Choose another port or address.") from error
    # Accepted connections inherit these options. asyncio turns Nagle's algorithm off by itself only if the socket names
    # its protocol; otherwise the second half of each answer waits 40 ms for the client to acknowledge the first.
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
    return server


def address_of(listening_socket: socket.socket) -> str:
    """Return the URL of a listening socket, without a path."""
    host, port, *_ = listening_socket.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_local_request(scope: Message) -> bool:
    """Check whether a request comes directly from a program on this machine, not through a proxy.

    Example:
        >>> [is_local_request({"client": (host, 50000), "headers": []}) for host in ("127.0.0.1", "::1", "192.168.1.4")]
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


class LocalOnly:
    """ASGI middleware that refuses requests from other machines, for a server that treats every caller as one user.

    Args:
        app: The server.
        body: Function that returns the JSON body for an error.
    """

    def __init__(self, app: ASGIApp, body: Callable[[RoundtableError], object]) -> None:
        self._app = app
        self._body = body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or is_local_request(scope):
            await self._app(scope, receive, send)
            return
        error = Forbidden(
            "this server requires no token, so it answers only programs on its own machine",
            hint="Run the server with tokens to accept other machines or a proxy.",
        )
        await send_json(send, 403, self._body(error))
