"""Requests to one server."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from roundtable.client.failures import error_from
from roundtable.errors import SessionNotFound
from roundtable.http import HttpClient, HttpLimits, HttpRequest, HttpResponse, checked_url

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from roundtable.http import HttpStream
    from roundtable.types import JsonValue

__all__ = ["Call", "Connection", "path_of"]

_FOREVER_S: Final = 7 * 24 * 3600.0
_ANSWER: Final = HttpLimits(body_bytes=512 * 2**20)
_STREAM: Final = HttpLimits(body_bytes=2**40, ratio=2**40)


def path_of(*parts: str) -> str:
    """Give the path of something, with each part as one.

    Raises:
        SessionNotFound: A part is empty, `.` or `..`: such a path would lead to something else.

    Example:
        >>> path_of("sessions", "a/b")
        '/api/sessions/a%2Fb'
    """
    for part in parts:
        if part in {"", ".", ".."}:
            raise SessionNotFound(f"there is no session {part!r}")
    return "/".join(("/api", *(quote(part, safe="") for part in parts)))


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    """Method in capitals."""
    path: str
    """Path with a leading slash."""
    query: Mapping[str, str | int | float | bool | None] | None = None
    """Parameters; those that are `None` are left out."""
    body: JsonValue = None
    """What is sent as JSON, if anything."""
    accept: str = "application/json"
    """What the answer may be."""
    idempotency_key: str | None = None
    """Has the server do it once, however often it is sent."""


class Connection:
    """Sends requests to one server; connections are kept by event loop.

    Args:
        base_url: Where the server is.
        token: What is shown to it, if anything.
        client: An `httpx.AsyncClient` of the caller's.
        timeout_s: Seconds for a whole answer that is no stream.

    Raises:
        ConfigurationError: The address is none, or plain http to another machine where a token goes.
    """

    def __init__(self, base_url: str, token: str | None, *, client: object | None, timeout_s: float) -> None:
        self.base_url: str = checked_url(base_url, has_key=token is not None)
        self.timeout_s = timeout_s
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._answers = HttpClient(client=client, limits=_ANSWER)
        self._streams = HttpClient(client=client, limits=_STREAM)

    def __repr__(self) -> str:
        return f"Connection({self.base_url!r})"

    async def ask(self, call: Call, *, timeout_s: float | None = None) -> HttpResponse:
        """Send a request and give the answer.

        Raises:
            RoundtableError: The server refused it or failed.
            APINetworkError: The server cannot be reached.
            APITimeoutError: It took too long.
        """
        response = await self._answers.send(self._request(call), timeout_s=timeout_s or self.timeout_s)
        if response.status >= 400:
            raise error_from(response)
        return response

    @asynccontextmanager
    async def listen(self, call: Call) -> AsyncGenerator[HttpStream]:
        """Send a request and give the answer as it comes; raises what `ask` raises."""
        async with self._streams.stream(self._request(call), timeout_s=_FOREVER_S) as stream:
            if stream.status >= 400:
                raise error_from(HttpResponse(stream.status, stream.headers, await stream.read()))
            yield stream

    async def aclose(self) -> None:
        """Close the connections of this event loop; idempotent."""
        await self._answers.aclose()
        await self._streams.aclose()

    def _request(self, call: Call) -> HttpRequest:
        given = {name: value for name, value in (call.query or {}).items() if value is not None}
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        url = f"{self.base_url}{call.path}" + (f"?{urlencode(query)}" if query else "")
        headers = {**self._headers, "accept": call.accept}
        if call.idempotency_key is not None:
            headers["idempotency-key"] = call.idempotency_key
        if call.body is None:
            return HttpRequest(call.method, url, headers)
        body = json.dumps(call.body, ensure_ascii=False, allow_nan=False).encode()
        return HttpRequest(call.method, url, {**headers, "content-type": "application/json"}, body)
