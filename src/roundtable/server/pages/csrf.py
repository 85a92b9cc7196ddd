"""Form parsing, and protection against cross-site request forgery (CSRF)."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from roundtable.auth import Forbidden
from roundtable.auth.guard import IDENTITY
from roundtable.core.errors import RoundtableError
from roundtable.server.pages.logins import PageUser
from roundtable.server.rendering import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["CSRF_HEADER", "MOST_FORM_BYTES", "ForgeryGuard", "fields_of", "form_of", "read_fields"]


CSRF_HEADER: Final = "x-csrf-token"
"""Header in which scripts send the CSRF token of their login; forms send it in the field `csrf`."""
MOST_FORM_BYTES: Final = 768 * 1024
"""Maximum size of a form in bytes."""

_MOST_FIELDS: Final = 500
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class ForgeryGuard:
    """ASGI middleware that requires a CSRF token for changes made with a login cookie.

    Browsers send cookies even with requests that other sites trigger. Callers with a token in a header need no CSRF
    token, because browsers do not send that header by themselves.

    Args:
        app: The server.
        body: Returns the JSON body for an error.
    """

    def __init__(self, app: ASGIApp, body: Callable[[RoundtableError], object]) -> None:
        self._app = app
        self._body = body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        user = scope.get(IDENTITY)
        if not isinstance(user, PageUser) or scope["method"] in _SAFE_METHODS:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        token = headers.get(CSRF_HEADER, "")
        if not token and _is_form(headers):
            body, messages = await _read_body(receive)
            token = read_fields(body).get("csrf", [""])[0]
            receive = _replayed(messages, receive)
        if hmac.compare_digest(token.encode("utf-8", "replace"), user.csrf.encode()):
            await self._app(scope, receive, send)
            return
        error = Forbidden("the request did not come from a page of this server", hint="Reload the page and try again.")
        response = refusal(scope, 403, error) or JSONResponse(self._body(error), 403, {"cache-control": "no-store"})
        await response(scope, receive, send)


def read_fields(body: bytes) -> dict[str, list[str]]:
    """Parse the fields of a form, each with all its values; empty if there are more fields than any page's form has."""
    text = body.decode("utf-8", "replace")
    return parse_qs(text) if text.count("&") < _MOST_FIELDS else {}


def _is_form(headers: Headers) -> bool:
    return headers.get("content-type", "").split(";")[0].strip().casefold() == "application/x-www-form-urlencoded"


async def _read_body(receive: Receive) -> tuple[bytes, Sequence[Message]]:
    """Read the start of a body, up to the maximum size of a form."""
    body = b""
    messages: list[Message] = []
    while len(body) <= MOST_FORM_BYTES:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    return body, messages


def _replayed(messages: Sequence[Message], receive: Receive) -> Receive:
    """Return a `receive` that first yields messages that were already read, then the messages that follow."""
    pending = list(messages)

    async def receive_again() -> Message:
        return pending.pop(0) if pending else await receive()

    return receive_again


async def fields_of(request: Request) -> dict[str, list[str]]:
    """Parse the form in a request: each field with all its values.

    Raises:
        RoundtableError: The form is too large.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM_BYTES:
            raise RoundtableError("the form is too large", code="VALIDATION_ERROR")
    return read_fields(body)


async def form_of(request: Request) -> dict[str, str]:
    """Parse the form in a request: each field with its first value.

    Raises:
        RoundtableError: The form is too large.
    """
    return {name: values[0] for name, values in (await fields_of(request)).items()}
