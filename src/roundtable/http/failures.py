"""Convert failures of HTTP libraries to errors of this library. The messages contain no header, key or body."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from roundtable.core.base.network import NetworkForbidden
from roundtable.core.errors import (
    AgentError,
    APINetworkError,
    APITimeoutError,
    ConfigurationError,
    RoundtableError,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import httpx

__all__ = [
    "broken_connection",
    "connection_error",
    "forbidden_error",
    "library_errors",
    "no_connection",
    "not_an_address",
    "refused_by_proxy",
    "to_library_error",
    "unusable_client",
    "unusable_request",
]

_NO_TLS = frozenset(
    {"HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "WRONG_VERSION_NUMBER"}
)
"""Reasons of OpenSSL for an answer that is not TLS, such as one in plain HTTP."""


_UNKNOWN_HOST = {getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name)}
"""Codes of a name server's answer that there is no such host; other codes mean that it did not answer."""


def not_an_address(provider: str, address: str) -> ConfigurationError:
    """Return the error of an address that has no host, or a scheme other than http and https."""
    return ConfigurationError(f"{_prefix(address)}not an address that can be called", provider=provider)


def unusable_request(provider: str, address: str) -> ConfigurationError:
    """Return the error of a request that cannot be sent."""
    return ConfigurationError(
        f"{_prefix(address)}the request could not be formed",
        provider=provider,
        hint="Check the API key and extra headers for invalid characters.",
    )


def unusable_client(exc: Exception, provider: str, address: str) -> AgentError:
    """Return the error of a client that is closed, or belongs to another event loop."""
    return AgentError(
        f"{_prefix(address)}the HTTP client could not be used: {type(exc).__name__}",
        provider=provider,
        cause=exc,
        hint="Keep your own client open as long as models use it, and use it in one event loop only.",
    )


def no_connection(exc: Exception, provider: str, address: str) -> APINetworkError:
    """Return the error of a server that cannot be reached, or whose certificate is refused."""
    fault, hint = _certificate_fault(exc), "Check the address, the server and the network."
    if fault is not None:
        hint = "Check the base URL; add a private certificate authority to the system's store."
    elif _speaks_no_tls(exc):
        hint = "The server does not speak TLS at this port; write the address with http:// if it is meant."
    elif address.startswith("https:") and (_find(exc, ssl.SSLEOFError) or _find(exc, ConnectionResetError)):
        hint += " The port may not speak TLS; if so, write the address with http://."
    reason = "certificate" if fault else _reason(exc)
    return APINetworkError(
        _prefix(address) + (f"the server's certificate was refused: {fault}" if fault else "could not connect"),
        provider=provider,
        retryable=fault is None and not _speaks_no_tls(exc),
        cause=exc,
        details={"connected": False} | ({"reason": reason} if reason else {}),
        hint=hint,
    )


def refused_by_proxy(provider: str, address: str, status: int | None = None) -> APINetworkError:
    """Return the error of a proxy that does not open a connection to the server."""
    refusal = f"{_prefix(address)}the proxy refused the connection" + (f" with status {status}" if status else "")
    hint = "Check the address of the proxy, its user name and password, and whether it allows this host."
    return APINetworkError(refusal, provider=provider, hint=hint, retryable=False, details={"connected": False})


def broken_connection(provider: str, address: str) -> APINetworkError:
    """Return the error of a response that is cut short or violates the rules of HTTP."""
    message = f"{_prefix(address)}the connection broke off, or the server does not speak HTTP"
    return APINetworkError(message, provider=provider, hint=_https_hint(address))


def connection_error(exc: Exception, provider: str, address: str) -> APINetworkError:
    """Return the error of a connection that failed according to the operating system."""
    message = f"{_prefix(address)}the connection failed"
    return APINetworkError(message, provider=provider, cause=exc, hint=_https_hint(address))


def _https_hint(address: str) -> str | None:
    """Return a hint for an address that may have the wrong scheme; `None` for the default hint."""
    is_plain = address.startswith("http:")
    return "Try again. If the server has never answered at this address, write it with https://." if is_plain else None


def _prefix(address: str) -> str:
    return f"{address}: " if address else ""


@contextmanager
def library_errors(provider: str, address: str) -> Generator[None]:
    """Convert exceptions of httpx inside the block to errors of this library."""
    import httpx

    try:
        yield
    except RoundtableError:
        raise
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        httpx.CookieConflict,
        httpx.StreamError,
        OSError,
        RuntimeError,
    ) as exc:
        error = to_library_error(exc, provider, address)
        raise error from error.__cause__


def forbidden_error(exc: Exception, provider: str, address: str) -> ConfigurationError | None:
    """Return the error of a call that was refused because the network is forbidden; `None` for other failures."""
    if _find(exc, NetworkForbidden) is None:
        return None
    return ConfigurationError(
        f"{_prefix(address)}the network is forbidden in this process",
        code="NETWORK_FORBIDDEN",
        provider=provider,
        cause=exc,
        hint="Leave the `without_network` block, or unset ROUNDTABLE_NETWORK.",
    )


def to_library_error(exc: Exception, provider: str, address: str) -> RoundtableError:
    """Return this library's error for an exception of httpx.

    Args:
        exc: The exception.
        provider: Provider that was called.
        address: Address that was called, as `masked_url` returns it.
    """
    import httpx

    if (error := forbidden_error(exc, provider, address)) is not None:
        return error
    match exc:
        case httpx.TimeoutException():
            return APITimeoutError(f"{_prefix(address)}{_phase(exc)} took too long", provider=provider, cause=exc)
        case httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return not_an_address(provider, address)
        case httpx.LocalProtocolError():
            # The message quotes the invalid header, which may be the key.
            return unusable_request(provider, address)
        case httpx.ConnectError():
            return no_connection(exc, provider, address)
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            # These messages quote the response, which may repeat the request.
            return broken_connection(provider, address)
        case httpx.TooManyRedirects() | httpx.HTTPStatusError():
            # Only the caller's own client can raise these exceptions; their messages contain the whole address.
            message = f"{_prefix(address)}your own client refused the answer"
            return APINetworkError(message, provider=provider, retryable=False)
        case httpx.ProxyError():
            return refused_by_proxy(provider, address)
        case httpx.HTTPError() | OSError():
            return connection_error(exc, provider, address)
        case _:
            return unusable_client(exc, provider, address)


def _phase(exc: httpx.TimeoutException) -> str:
    import httpx

    match exc:
        case httpx.ConnectTimeout():
            return "connecting"
        case httpx.PoolTimeout():
            return "waiting for a free connection"
        case httpx.WriteTimeout():
            return "sending"
        case _:
            return "the answer"


def _speaks_no_tls(exc: BaseException) -> bool:
    """Check whether a connection failed because the server answered the start of TLS with something else."""
    # aiohttp wraps the error in one of its own that is an `SSLError` without a reason.
    return any(str(getattr(link, "reason", "")) in _NO_TLS for link in _chain(exc))


def _certificate_fault(exc: BaseException | None) -> str | None:
    fault = _find(exc, ssl.SSLCertVerificationError)
    return None if fault is None else str(getattr(fault, "verify_message", "") or "it could not be verified")


def _reason(exc: BaseException) -> str | None:
    """Return why no connection was made: the host is unknown, was not found now, or refuses; `None` for other faults.

    Only if all addresses of a host refuse a connection, the host refuses it.
    """
    lookup = _find(exc, socket.gaierror)
    if isinstance(lookup, socket.gaierror):
        return "unknown_host" if lookup.errno in _UNKNOWN_HOST else "lookup_failed"
    group = _find(exc, ExceptionGroup)
    if isinstance(group, ExceptionGroup):
        return "refused" if group.split(ConnectionRefusedError)[1] is None else None
    return "refused" if _find(exc, ConnectionRefusedError) is not None else None


def _find(exc: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """Return the first exception of a kind in a chain of an exception and its causes."""
    return next((link for link in _chain(exc) if isinstance(link, kind)), None)


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if exc is None:
            return
        yield exc
        exc = exc.__cause__ or exc.__context__
