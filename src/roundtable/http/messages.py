"""HTTP messages as plain values, for dialects that never touch a network."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_LIMITS", "HttpLimits", "HttpRequest", "HttpResponse"]


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request. Headers and body stay out of the `repr`: they hold keys and what users wrote.

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
    """What is sent."""
    stream: bool = False
    """Whether the answer comes in pieces."""
    connect_to: str = field(default="", repr=False)
    """IP address to connect to in place of asking for that of the host, over a connection of its own."""

    def with_headers(self, headers: Mapping[str, str]) -> HttpRequest:
        """Give the same request with more headers; later ones win."""
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
    """Headers, names in lower case; a repeated one keeps its last value."""
    body: bytes = field(default=b"", repr=False)
    """Decoded body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """How much of an answer is read; beyond it the call fails instead of filling the memory."""

    body_bytes: int = 32 * 2**20
    """Most decoded bytes of an answer, streamed or not."""
    error_bytes: int = 2**20
    """Most decoded bytes of an error answer; the rest is left unread."""
    ratio: int = 200
    """Most decoded bytes per byte received, looked at above `ratio_from_bytes`."""
    ratio_from_bytes: int = 2**20
    """Answers up to this size may compress as well as they like."""


DEFAULT_LIMITS: Final = HttpLimits()
"""The limits used where none are given."""
