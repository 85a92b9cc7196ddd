"""Requests, responses, and the interface between the client and a transport, without an HTTP library."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from roundtable.core.errors import APITimeoutError

__all__ = [
    "DEFAULT_LIMITS",
    "KEEPALIVE_S",
    "CallDeadline",
    "HttpLimits",
    "HttpRequest",
    "HttpResponse",
    "Reply",
    "Transport",
    "call_deadline",
    "ending_at",
    "header_texts",
]

KEEPALIVE_S: Final = 30.0
"""Seconds for which an unused connection stays open; less than the load balancers of the providers allow."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. Its `repr` leaves out headers and body, because they contain keys and texts of users.

    Example:
        >>> HttpRequest("POST", "https://api.example.org/v1/chat", {"authorization": "Bearer k"})
        HttpRequest(method='POST', url='https://api.example.org/v1/chat', stream=False)
    """

    method: str
    """Method in capitals."""
    url: str
    """Absolute address."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers, names in lower case."""
    body: bytes = field(default=b"", repr=False)
    """The body to send."""
    stream: bool = False
    """Whether the response is streamed."""
    connect_to: str = field(default="", repr=False)
    """IP address to connect to, over a separate connection, without a lookup of the host."""

    def with_headers(self, headers: Mapping[str, str]) -> HttpRequest:
        """Return the same request with more headers; new headers replace headers of the same name."""
        return replace(self, headers={**self.headers, **headers})


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A complete response.

    Example:
        >>> HttpResponse(200, {"content-type": "application/json"}, b"{}").status
        200
    """

    status: int
    """Status code."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers, names in lower case; of a repeated header, the last value is kept."""
    body: bytes = field(default=b"", repr=False)
    """Decoded body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Size limits of a response. A larger response fails, so that it cannot fill the memory."""

    body_bytes: int = 32 * 2**20
    """Most decoded bytes of a response, streamed or not."""
    error_bytes: int = 2**20
    """Most decoded bytes of an error response; the rest is not read."""
    ratio: int = 200
    """Most decoded bytes per received byte; checked only above `ratio_from_bytes`."""
    ratio_from_bytes: int = 2**20
    """Decoded size above which `ratio` is checked."""


DEFAULT_LIMITS: Final = HttpLimits()
"""The default limits."""


class Reply(Protocol):
    """A response of a transport, whose body has not been read yet."""

    @property
    def status(self) -> int:
        """Status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers, names in lower case; of a repeated header, the last value is kept."""

    async def read(self, deadline: float) -> bytes | None:
        """Return the next bytes of the body, as the server sent them; `None` at the end of the body.

        Args:
            deadline: End of the wait, on the clock of the event loop. Bytes that have already arrived are returned even
                after the deadline.

        Raises:
            TimeoutError: No byte arrived before the deadline.
            RoundtableError: The connection failed.
        """

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end; idempotent."""


def header_texts(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers as texts, names in lower case; of a repeated header, the last value is kept."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


class Transport(Protocol):
    """Connections of one event loop."""

    async def open(self, request: HttpRequest) -> Reply:
        """Send a request and wait for the head of the response.

        Raises:
            RoundtableError: The connection failed.
        """

    async def aclose(self) -> None:
        """Close the connections."""


class CallDeadline(Protocol):
    """Deadline that a caller passes to the client, so that one cancel scope enforces both deadlines."""

    @property
    def ends_at(self) -> float:
        """End of the call, on the clock of the event loop."""

    def timeout_error(self, provider: str) -> APITimeoutError:
        """Return the error of a call that missed the deadline."""


call_deadline: Final[ContextVar[CallDeadline | None]] = ContextVar("roundtable_call_deadline", default=None)
"""Deadline of requests that start now; the client ends them at this deadline or at their own, whichever is first."""


@contextmanager
def ending_at(deadline: CallDeadline | None) -> Generator[None]:
    """Pass a deadline to the requests that start in this block."""
    token = call_deadline.set(deadline)
    try:
        yield
    finally:
        call_deadline.reset(token)
