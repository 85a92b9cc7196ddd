"""A number for each request, which the log and the answer share."""

from __future__ import annotations

import logging
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from roundtable.logs import ROOT

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["REQUEST_ID", "RequestNumbers", "logger"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.server")

REQUEST_ID: Final[ContextVar[str]] = ContextVar("roundtable_request_id", default="")
"""Number of the request that is being answered."""


class RequestNumbers:
    """Numbers requests: `X-Request-Id` of the answer, and `REQUEST_ID` while it is made.

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
        number = uuid.uuid4().hex
        REQUEST_ID.set(number)

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", number.encode())]}
            await send(message)

        await self._app(scope, receive, numbered)
