"""Bodies of requests: taken in whole before anything works on them, in bounded size and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from roundtable.errors import RoundtableError
from roundtable.server.failures import answer

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["MOST_BYTES", "READ_S", "Intake"]

MOST_BYTES: Final = 1024 * 1024
"""Most bytes of a request's body."""
READ_S: Final = 30.0
"""Seconds in which a request's body has to come, unless the server is told otherwise."""


class _Gone(Exception):
    """Raised when the client left before its request was whole."""


class Intake:
    """Takes in the body of a request before it is passed on. What is too much, or too slow, goes no further.

    Args:
        app: The server.
        read_s: Seconds in which a body has to come.
    """

    def __init__(self, app: ASGIApp, read_s: float = READ_S) -> None:
        self._app = app
        self._read_s = read_s

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sizes = {name: value for name, value in scope["headers"] if name in {b"content-length", b"transfer-encoding"}}
        if not sizes:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._whole(sizes, receive)
        except RoundtableError as error:
            await answer(error)(scope, receive, send)
        except _Gone:
            return
        else:
            await self._app(scope, _given(body, receive), send)

    async def _whole(self, sizes: dict[bytes, bytes], receive: Receive) -> bytes:
        """Take the body in.

        Raises:
            RoundtableError: It is too large, takes too long, or states its length in two ways.
        """
        if len(sizes) > 1:
            msg = "Content-Length and Transfer-Encoding exclude each other"
            raise RoundtableError(msg, code="VALIDATION_ERROR")
        length = sizes.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            raise _too_large()
        body = bytearray()
        with anyio.move_on_after(self._read_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _Gone
                body += message.get("body", b"")
                if len(body) > MOST_BYTES:
                    raise _too_large()
                if not message.get("more_body", False):
                    return bytes(body)
        msg = f"the body of the request did not come within {self._read_s:g} s"
        raise RoundtableError(msg, code="REQUEST_TIMEOUT", retryable=True)


def _too_large() -> RoundtableError:
    return RoundtableError(f"a request has at most {MOST_BYTES:,} bytes", code="PAYLOAD_TOO_LARGE")


def _given(body: bytes, receive: Receive) -> Receive:
    """Give a body that was taken in, then whatever comes."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
