"""A ban on network access for the whole process, enforced by an audit hook of the interpreter."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from ipaddress import ip_address
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["NetworkForbidden", "check_host", "forbid_network", "without_network"]

_LOOKUPS: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_SENDS: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_STARTS: Final = frozenset(
    {
        "subprocess.Popen",
        "os.posix_spawn",
        "os.spawn",
        "os.exec",
        "os.system",
        "os.startfile",
        "_winapi.CreateProcess",
    }
)


class NetworkForbidden(OSError):
    """Code in this process tried to use the network while the network was forbidden."""


class _Ban:
    """Counts the active bans. The hook cannot be removed, so it checks this count."""

    def __init__(self) -> None:
        self.holders = 0
        self._has_hook = False
        self._lock = Lock()

    def change(self, step: int) -> None:
        with self._lock:
            if not self._has_hook:
                sys.addaudithook(_check)
                self._has_hook = True
            self.holders += step


_ban: Final = _Ban()


def forbid_network() -> None:
    """Forbid network access to this process until the process ends; see `without_network`."""
    _ban.change(1)


@contextmanager
def without_network() -> Generator[None]:
    """Forbid network access to the whole process while the block runs.

    Connections to other machines, look-ups of host names and starts of other programs raise `NetworkForbidden`, an
    `OSError`, in every thread and in every library that uses Python's sockets. Connections on this machine are allowed.
    Forked processes inherit the ban. Processes that `multiprocessing` spawns do not inherit it, and the interpreter
    does not report their start.

    Example:
        >>> import socket
        >>> with without_network():
        ...     try:
        ...         socket.create_connection(("example.org", 443))
        ...     except OSError as error:
        ...         print(error)
        the network is forbidden in this process: no look-up of 'example.org'
    """
    _ban.change(1)
    try:
        yield
    finally:
        _ban.change(-1)


def check_host(host: str | None) -> None:
    """Check that a host may be reached; for drivers that do not use Python's sockets.

    Raises:
        NetworkForbidden: The network is forbidden, and the host is another machine.
    """
    if _ban.holders and not _is_here(host):
        raise _forbidden(f"no connection to {host!r}")


def _check(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse forbidden actions; the interpreter calls this function before each audited action."""
    if not _ban.holders:
        return
    if event in _LOOKUPS:
        if not _is_here(arguments[0]):
            raise _forbidden(f"no look-up of {arguments[0]!r}")
    elif event == "socket.getnameinfo":
        address = arguments[0]
        if not isinstance(address, tuple) or not address or not _is_here(address[0]):
            raise _forbidden(f"no look-up of {address!r}")
    elif event in _SENDS:
        address = arguments[1]
        # Other families of addresses, such as those of Unix sockets, stay on this machine.
        if isinstance(address, tuple) and address and not _is_here(address[0]):
            raise _forbidden(f"no connection to {address[0]!r}")
    elif event in _STARTS:
        raise _forbidden("no start of a program, because it could use the network")


def _is_here(host: object) -> bool:
    """Check whether a host is this machine."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if name is None or name in {"", "localhost"}:
        return True
    try:
        return isinstance(name, str) and ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _forbidden(reason: str) -> NetworkForbidden:
    return NetworkForbidden(f"the network is forbidden in this process: {reason}")
