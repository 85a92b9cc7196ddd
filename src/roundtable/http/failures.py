"""Every failure of the HTTP library as one of ours. Messages hold no header, key or body."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from roundtable.errors import (
    AgentError,
    APINetworkError,
    APITimeoutError,
    ConfigurationError,
    RoundtableError,
)

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["as_our_error", "our_errors"]


@contextmanager
def our_errors(provider: str, address: str) -> Generator[None]:
    """Turn what httpx raises inside the block into the library's errors."""
    try:
        yield
    except RoundtableError:
        raise
    except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError, OSError, RuntimeError) as exc:
        error = as_our_error(exc, provider, address)
        raise error from error.__cause__


def as_our_error(exc: Exception, provider: str, address: str) -> RoundtableError:
    """Give the library's error for one of httpx.

    Args:
        exc: The exception.
        provider: Provider that was called.
        address: Address that was called, fit to be shown.
    """
    where = f"{address}: " if address else ""
    match exc:
        case httpx.TimeoutException():
            return APITimeoutError(f"{where}{_phase(exc)} took too long", provider=provider, cause=exc)
        case httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return ConfigurationError(f"{where}not an address that can be called", provider=provider)
        case httpx.LocalProtocolError():
            # The library's text quotes the header it dislikes, and that may be the key.
            return ConfigurationError(
                f"{where}the request could not be formed",
                provider=provider,
                hint="Check the API key and extra headers for characters that do not belong there.",
            )
        case httpx.HTTPError() | OSError():
            return _network_error(exc, provider, where)
        case _:
            return AgentError(
                f"{where}the HTTP client could not be used: {type(exc).__name__}",
                provider=provider,
                cause=exc,
                hint="A client of your own must stay open for as long as models use it.",
            )


def _network_error(exc: httpx.HTTPError | OSError, provider: str, where: str) -> APINetworkError:
    match exc:
        case httpx.ConnectError() if (fault := _certificate_fault(exc)) is not None:
            return APINetworkError(
                f"{where}the server's certificate was refused: {fault}",
                provider=provider,
                retryable=False,
                cause=exc,
                hint="Check the base URL; a private authority's certificate belongs in the system's store.",
            )
        case httpx.ConnectError():
            hint = "Check that the address is right, that its server runs, and that the network is up."
            return APINetworkError(f"{where}could not connect", provider=provider, cause=exc, hint=hint)
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            # These texts quote what the server sent, which may repeat what it was sent.
            message = f"{where}the connection broke off, or the server does not speak HTTP"
            return APINetworkError(message, provider=provider)
        case httpx.TooManyRedirects() | httpx.HTTPStatusError():
            # Only a client of the caller's can be set up to raise these; their texts hold the whole address.
            return APINetworkError(f"{where}the given client refused the answer", provider=provider, retryable=False)
        case httpx.ProxyError():
            return APINetworkError(f"{where}the proxy refused the connection", provider=provider, cause=exc)
        case _:
            return APINetworkError(f"{where}the connection failed", provider=provider, cause=exc)


def _phase(exc: httpx.TimeoutException) -> str:
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
    seen = 0
    while exc is not None and seen < 10:
        if isinstance(exc, ssl.SSLCertVerificationError):
            return str(getattr(exc, "verify_message", "") or "it could not be verified")
        exc = exc.__cause__ or exc.__context__
        seen += 1
    return None
