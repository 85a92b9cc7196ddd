"""The id of each request, for the log and the response."""

from __future__ import annotations

import logging
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from roundtable.logs import ROOT

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["REQUEST_ID", "ROOT_PATH", "RequestNumbers", "from_root", "logger"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.server")

REQUEST_ID: Final[ContextVar[str]] = ContextVar("roundtable_request_id", default="")
"""Id of the request that is being handled."""

ROOT_PATH: Final[ContextVar[str]] = ContextVar("roundtable_root_path", default="")
"""Path under which the application is mounted in another application; empty if it is not mounted."""


def from_root(path: str) -> str:
    """Return a path of this server as clients see it, including the path under which the server is mounted.

    Example:
        >>> from_root("/login")
        '/login'
    """
    return ROOT_PATH.get() + path


class RequestNumbers:
    """ASGI middleware that sets `REQUEST_ID` for each request and sends it as `X-Request-Id`.

    Args:
        app: The server.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid.uuid4().hex
        REQUEST_ID.set(request_id)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", request_id.encode())]}
            await send(message)

        await self._app(scope, receive, send_with_id)
