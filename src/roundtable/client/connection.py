"""Requests to one server, with its error responses as exceptions."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import quote, urlencode

from roundtable.core.errors import ConfigurationError, RoundtableError, SessionConflict, SessionError, SessionNotFound
from roundtable.http import HttpClient, HttpLimits, HttpRequest, HttpResponse, checked_url

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.http import HttpStream

__all__ = ["ApiRequest", "Connection", "ServerError", "error_from", "error_in_stream", "object_of", "path_of"]

_RETRY_STATUSES: Final = frozenset({408, 429, 502, 503, 504})
_TEMPORARY_CODES: Final = frozenset({"SERVER_SHUTDOWN", "SERVER_BUSY", "STORAGE_ERROR"})
"""Codes of final events after which reconnecting helps; after an expired token, for example, it does not."""
_MAX_CHARS: Final = 500
_RESUME: Final = "The process that ran the session has ended. Continue the session with `resume`."
_CHANGE_REQUEST: Final = "Change the request as the message says."
_NOT_A_SERVER: Final = "Check that the URL is the address of a Roundtable server."

_FOREVER_S: Final = 7 * 24 * 3600.0
_ANSWER: Final = HttpLimits(body_bytes=512 * 2**20)
_STREAM: Final = HttpLimits(body_bytes=2**40, ratio=2**40)


class ServerError(RoundtableError):
    """The server refused a request or failed. `code` is the server's error code; `status` is the HTTP status.

    Attributes:
        status: HTTP status; 200 if the error came in an event stream.

    Example:
        >>> ServerError("slow down", code="RATE_LIMIT_EXCEEDED", retryable=True).status
        500
    """

    default_message = "The server failed"
    default_code = "SERVER_ERROR"
    default_hint: ClassVar[str | None] = "Ask the operator of the server; its log has the `request_id`."
    status: int = 500


def error_from(response: HttpResponse) -> RoundtableError:
    """Return the exception for an error response."""
    status = response.status
    fields = _error_fields(response.body)
    code, message, hint = (fields.get(name) for name in ("code", "error", "hint"))
    details = fields.get("details")
    if code == "SESSION_ERROR" and status in {404, 409}:
        kind = SessionNotFound if status == 404 else SessionConflict
        return kind(str(message), hint=str(hint) if hint else None)
    error = ServerError(
        str(message) if message else f"the server answered with status {status}",
        code=str(code) if code else None,
        retryable=status in _RETRY_STATUSES,
        hint=str(hint) if hint else _CHANGE_REQUEST if status in {400, 413} else None,
        request_id=str(fields.get("requestId") or response.headers.get("x-request-id") or "") or None,
        retry_after_s=_seconds(response.headers.get("retry-after")),
        details=details if isinstance(details, dict) else None,
    )
    error.status = status
    return error


def error_in_stream(data: Mapping[str, object]) -> ServerError:
    """Return the exception for an error event that belongs to no session, such as the expiry of a token."""
    code = str(data.get("code") or "SERVER_ERROR")
    hint = _RESUME if code == "SESSION_INTERRUPTED" else None
    error = ServerError(str(data.get("error")), code=code, retryable=code in _TEMPORARY_CODES, hint=hint)
    error.status = 200
    return error


def _error_fields(body: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(body)
    except ValueError:
        return {"error": body[:_MAX_CHARS].decode("utf-8", "replace").strip()}
    return value if isinstance(value, dict) else {}


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() else None


def path_of(*parts: str) -> str:
    """Return the path of an endpoint, with each part quoted.

    Raises:
        SessionNotFound: A part is empty, `.` or `..` (so it would lead to another endpoint), or cannot be encoded in
            UTF-8.

    Example:
        >>> path_of("sessions", "a/b")
        '/api/sessions/a%2Fb'
    """
    for part in parts:
        if part in {"", ".", ".."}:
            raise SessionNotFound(f"unknown session {part!r}")
    try:
        return "/".join(("/api", *(quote(part, safe="") for part in parts)))
    except UnicodeEncodeError as error:
        raise SessionNotFound(f"unknown session {error.object!r}") from None


def object_of(response: HttpResponse) -> JsonObject:
    """Parse a response.

    Raises:
        SessionError: The response is not a JSON object; for example, it is a page of another program at this address.
    """
    try:
        value = json.loads(response.body)
    except ValueError:
        raise SessionError("the server answered with something other than JSON", hint=_NOT_A_SERVER) from None
    if not isinstance(value, dict):
        raise SessionError(f"the server answered with {type(value).__name__!r} instead of a JSON object")
    return value


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request."""

    method: str
    """HTTP method in upper case."""
    path: str
    """Path with a leading slash."""
    query: Mapping[str, str | int | float | bool | None] | None = None
    """Parameters of the query; parameters that are `None` are left out."""
    body: JsonValue = None
    """JSON body, if any."""
    accept: str = "application/json"
    """Accepted media type of the response."""
    idempotency_key: str | None = None
    """Key that makes the server act only once, even if the request is sent several times."""


class Connection:
    """Sends requests to one server; each event loop has its own connections.

    Args:
        base_url: URL of the server.
        token: Token to send, if any.
        client: The caller's own `httpx.AsyncClient`, if any.
        timeout_s: Seconds to wait for a complete response that is not a stream.

    Raises:
        ConfigurationError: The URL is not valid, or would send a token over plain http to another machine.
    """

    def __init__(self, base_url: str, token: str | None, *, client: object | None, timeout_s: float) -> None:
        self.base_url: str = checked_url(base_url, has_key=token is not None)
        self.timeout_s = timeout_s
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._answers = HttpClient(client=client, limits=_ANSWER)
        self._streams = HttpClient(client=client, limits=_STREAM)

    def __repr__(self) -> str:
        return f"Connection({self.base_url!r})"

    async def ask(self, call: ApiRequest, *, timeout_s: float | None = None) -> HttpResponse:
        """Send a request and return the response.

        Raises:
            RoundtableError: The server refused the request or failed.
            ConfigurationError: A value of the request cannot be sent.
            APINetworkError: The server cannot be reached.
            APITimeoutError: The server took too long.
        """
        response = await self._answers.send(self._request(call), timeout_s=timeout_s or self.timeout_s)
        if response.status >= 400:
            raise error_from(response)
        return response

    @asynccontextmanager
    async def listen(self, call: ApiRequest) -> AsyncGenerator[HttpStream]:
        """Send a request and return the response as a stream; raise the same errors as `ask`."""
        async with self._streams.stream(self._request(call), timeout_s=_FOREVER_S) as stream:
            if stream.status >= 400:
                raise error_from(HttpResponse(stream.status, stream.headers, await stream.read()))
            yield stream

    async def aclose(self) -> None:
        """Close the connections of this event loop; idempotent."""
        await self._answers.aclose()
        await self._streams.aclose()

    def _request(self, call: ApiRequest) -> HttpRequest:
        parameters = {name: value for name, value in (call.query or {}).items() if value is not None}
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in parameters.items()}
        url = f"{self.base_url}{call.path}" + (f"?{_query_text(query)}" if query else "")
        headers = {**self._headers, "accept": call.accept}
        if call.idempotency_key is not None:
            headers["idempotency-key"] = call.idempotency_key
        if call.body is None:
            return HttpRequest(call.method, url, headers)
        return HttpRequest(call.method, url, {**headers, "content-type": "application/json"}, _encoded(call.body))


def _query_text(query: Mapping[str, str | float]) -> str:
    try:
        return urlencode(query)
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"{error.object!r} cannot be sent: it is not valid Unicode") from None


def _encoded(body: JsonValue) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        if isinstance(body, dict) and len(body) > 1:
            for name, value in body.items():
                _encoded({name: value})  # raises the error that names the field
        where = f"{next(iter(body))}: " if isinstance(body, dict) else ""
        why = "not valid Unicode" if isinstance(error, UnicodeEncodeError) else str(error)
        raise ConfigurationError(f"{where}the value cannot be sent as JSON: {why}") from None
