"""Convert failures of HTTP libraries to errors of this library. The messages contain no header, key or body."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from roundtable._core.network import NetworkForbidden
from roundtable.errors import (
    AgentError,
    APINetworkError,
    APITimeoutError,
    ConfigurationError,
    RoundtableError,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    import httpx

__all__ = [
    "broken_connection",
    "connection_error",
    "forbidden",
    "library_errors",
    "no_connection",
    "not_an_address",
    "to_library_error",
    "unusable_client",
    "unusable_request",
]


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
    fault = _certificate_fault(exc)
    return APINetworkError(
        _prefix(address) + (f"the server's certificate was refused: {fault}" if fault else "could not connect"),
        provider=provider,
        retryable=fault is None,
        cause=exc,
        details={"connected": False},
        hint="Check the base URL; add a private certificate authority to the system's store."
        if fault
        else "Check the address, the server and the network.",
    )


def broken_connection(provider: str, address: str) -> APINetworkError:
    """Return the error of a response that is cut short or violates the rules of HTTP."""
    message = f"{_prefix(address)}the connection broke off, or the server does not speak HTTP"
    return APINetworkError(message, provider=provider)


def connection_error(exc: Exception, provider: str, address: str) -> APINetworkError:
    """Return the error of a connection that failed according to the operating system."""
    return APINetworkError(f"{_prefix(address)}the connection failed", provider=provider, cause=exc)


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


def forbidden(exc: Exception, provider: str, address: str) -> ConfigurationError | None:
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

    if (error := forbidden(exc, provider, address)) is not None:
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
            message = f"{_prefix(address)}the proxy refused the connection"
            return APINetworkError(message, provider=provider, cause=exc)
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


def _certificate_fault(exc: BaseException | None) -> str | None:
    fault = _find(exc, ssl.SSLCertVerificationError)
    return None if fault is None else str(getattr(fault, "verify_message", "") or "it could not be verified")


def _find(exc: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """Return the first exception of a kind in a chain of an exception and its causes."""
    for _ in range(10):
        if exc is None or isinstance(exc, kind):
            return exc
        exc = exc.__cause__ or exc.__context__
    return None
