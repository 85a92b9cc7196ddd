"""Limits on the size and time of request bodies, which are read completely before the request is handled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.auth.guard import IDENTITY
from roundtable.core.errors import RoundtableError
from roundtable.server.errors import answer

if TYPE_CHECKING:
    from roundtable.auth import Identity
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["MOST_BYTES", "MOST_BYTES_WITH_FILES", "READ_S", "BodyLimit"]


MOST_BYTES: Final = 1024 * 1024
"""Maximum size of a request body in bytes."""
MOST_BYTES_WITH_FILES: Final = 17 * 1024 * 1024
"""Maximum size in bytes of a body with files, for a debate or a fork: the files can have 12 MiB, sent as base64."""
READ_S: Final = 30.0
"""Default number of seconds within which a request body must arrive."""


_FORK: Final = re.compile(r"/api/sessions/[^/]+/fork")


class _ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


class BodyLimit:
    """ASGI middleware that reads the body of each request first, and refuses bodies that are too large or too slow.

    It runs inside `AccessGuard`, so the token is checked before anything is read. For bodies with files, the scope of
    the token is also checked before that.

    Args:
        app: The server.
        read_s: Seconds within which a body must arrive.
    """

    def __init__(self, app: ASGIApp, read_s: float = READ_S) -> None:
        self._app = app
        self._read_s = read_s

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on with its complete body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sizes = {name: value for name, value in scope["headers"] if name in {b"content-length", b"transfer-encoding"}}
        if not sizes:
            await self._app(scope, receive, send)
            return
        try:
            most = MOST_BYTES
            identity: Identity | None = scope.get(IDENTITY)
            if identity is not None and _takes_files(scope):
                identity.require("write")  # before the files are read, not after
                most = MOST_BYTES_WITH_FILES
            body = await self._read_body(sizes, receive, most)
        except RoundtableError as error:
            await answer(error)(scope, receive, send)
        except _ClientDisconnected:
            return
        else:
            await self._app(scope, _replayed(body, receive), send)

    async def _read_body(self, sizes: dict[bytes, bytes], receive: Receive, most: int) -> bytes:
        """Read the complete body.

        Raises:
            RoundtableError: The body is too large, takes too long, or has two headers for its length.
        """
        if len(sizes) > 1:
            msg = "a request must not have both Content-Length and Transfer-Encoding"
            raise RoundtableError(msg, code="VALIDATION_ERROR")
        length = sizes.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > len(str(most)) or int(length) > most:
            raise _too_large(most)
        body = bytearray()
        with anyio.move_on_after(self._read_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _ClientDisconnected
                body += message.get("body", b"")
                if len(body) > most:
                    raise _too_large(most)
                if not message.get("more_body", False):
                    return bytes(body)
        msg = f"the body of the request did not arrive within {self._read_s:g} s"
        raise RoundtableError(msg, code="REQUEST_TIMEOUT", retryable=True)


def _takes_files(scope: Message) -> bool:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return scope["method"] == "POST" and (path == "/api/debates" or _FORK.fullmatch(path) is not None)


def _too_large(most: int) -> RoundtableError:
    return RoundtableError(f"a request may have at most {most:,} bytes", code="PAYLOAD_TOO_LARGE")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields a body that was already read, then the messages that follow."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
