"""Changes that a browser asks for: only from pages of this server."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from roundtable.auth import Forbidden
from roundtable.auth.guard import IDENTITY
from roundtable.server.pages.logins import PageUser
from roundtable.server.rendering import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.auth.guard import ASGIApp, Message, Receive, Send
    from roundtable.errors import RoundtableError

__all__ = ["CSRF_HEADER", "MOST_FORM_BYTES", "ForgeryGuard", "read_fields"]

CSRF_HEADER: Final = "x-csrf-token"
"""Where scripts show what belongs to their login; forms have a field `csrf`."""
MOST_FORM_BYTES: Final = 768 * 1024
"""Most bytes of a form."""

_MOST_FIELDS: Final = 500
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class ForgeryGuard:
    """Stands behind the door: a change asked for with the cookie of a login has to show what only its pages know.

    A browser sends a cookie along whoever asks it to. Callers with a token in a header need nothing more: no browser
    sends that by itself.

    Args:
        app: The server.
        body: The JSON that tells an error.
    """

    def __init__(self, app: ASGIApp, body: Callable[[RoundtableError], object]) -> None:
        self._app = app
        self._body = body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        user = scope.get(IDENTITY)
        if not isinstance(user, PageUser) or scope["method"] in _SAFE:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        shown = headers.get(CSRF_HEADER, "")
        if not shown and _is_form(headers):
            body, messages = await _read(receive)
            shown = read_fields(body).get("csrf", [""])[0]
            receive = _again(messages, receive)
        if hmac.compare_digest(shown.encode("utf-8", "replace"), user.csrf.encode()):
            await self._app(scope, receive, send)
            return
        error = Forbidden(
            "this did not come from a page of this server", hint="Load the page again, and repeat what you did."
        )
        answer = refusal(scope, 403, error) or JSONResponse(self._body(error), 403, {"cache-control": "no-store"})
        await answer(scope, receive, send)


def read_fields(body: bytes) -> dict[str, list[str]]:
    """Read the fields of a form, each with all its values; none of one that has more fields than a form of ours."""
    text = body.decode("utf-8", "replace")
    return parse_qs(text) if text.count("&") < _MOST_FIELDS else {}


def _is_form(headers: Headers) -> bool:
    return headers.get("content-type", "").split(";")[0].strip().casefold() == "application/x-www-form-urlencoded"


async def _read(receive: Receive) -> tuple[bytes, Sequence[Message]]:
    """Read the beginning of a body: all of it, if it is a form of this server's pages."""
    body = b""
    messages: list[Message] = []
    while len(body) <= MOST_FORM_BYTES:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    return body, messages


def _again(messages: Sequence[Message], receive: Receive) -> Receive:
    """Give what was read once more, and then what follows."""
    left = list(messages)

    async def again() -> Message:
        return left.pop(0) if left else await receive()

    return again
