"""The port a server listens on, taken before anything else is begun."""

from __future__ import annotations

import socket
from typing import Final

from roundtable.errors import ConfigurationError

__all__ = ["BACKLOG", "address_of", "listen"]

BACKLOG: Final = 2_048
"""Connections that may wait to be accepted."""


def listen(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """Take a port.

    Args:
        host: Address to listen on; one of IPv6 with or without brackets.
        port: Port; 0 takes a free one.
        reuse_port: Whether several processes may listen on the same port.

    Raises:
        ConfigurationError: The port is taken, or there is no such address here.
    """
    address = host.strip("[]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        taken = socket.create_server((address, port), family=family, backlog=BACKLOG, reuse_port=reuse_port)
    except (OSError, ValueError) as error:  # ValueError: the system does not know how to share a port
        msg = f"cannot listen on {host}, port {port}: {error}"
        raise ConfigurationError(msg, cause=error, hint="Choose another port or address.") from error
    # Accepted connections inherit it. asyncio turns Nagle's algorithm off by itself only where the socket names its
    # protocol; else the second half of each answer waits 40 ms for the client to acknowledge the first.
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return taken


def address_of(taken: socket.socket) -> str:
    """Give the URL of what listens there, without a path."""
    host, port, *_ = taken.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
