"""What is posted to the server over HTTP, before the server of the SDK sees it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio
from mcp import types
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from roundtable.auth.guard import MOST_BODY_BYTES
from roundtable.mcp.envelopes import Fault, message_of

if TYPE_CHECKING:
    from roundtable.auth.guard import ASGIApp, Message, Receive, Send

__all__ = ["PostCheck"]

_VERSION: Final = b"mcp-protocol-version"


class PostCheck:
    """Stands before the server of the SDK: takes a bounded body, and refuses one that is not what its header says.

    The SDK does this for the protocol of round trips. For the one of handshakes it tells what pydantic says of a body,
    and takes a version in the header beside another one in the body.

    Args:
        app: The server.
        body_s: Seconds a request has to arrive in.
    """

    def __init__(self, app: ASGIApp, *, body_s: float = 30.0) -> None:
        self._app = app
        self._body_s = body_s

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            with anyio.fail_after(self._body_s):
                body = await _body(receive)
        except TimeoutError:
            await _refuse(send, HTTPStatus.REQUEST_TIMEOUT, Fault(types.INVALID_REQUEST, "The message did not arrive"))
            return
        if body is None:
            said = f"Message larger than {MOST_BODY_BYTES} bytes"
            await _refuse(send, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, Fault(types.INVALID_REQUEST, said))
        elif fault := _mismatch(scope, body):
            await _refuse(send, HTTPStatus.BAD_REQUEST, fault)
        else:
            await self._app(scope, _Again(body, receive).receive, send)


async def _body(receive: Receive) -> bytes | None:
    """Give a body, or `None` of one that is too large."""
    held = bytearray()
    more = True
    while more:
        message = await receive()
        held += message.get("body", b"")
        if len(held) > MOST_BODY_BYTES:
            return None
        more = message["type"] == "http.request" and message.get("more_body", False)
    return bytes(held)


def _mismatch(scope: Message, body: bytes) -> Fault | None:
    header = next((value.decode("latin-1") for name, value in scope["headers"] if name == _VERSION), None)
    if header is not None and header not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    message = message_of(body)
    if isinstance(message, Fault):
        return message
    params = getattr(message, "params", None) or {}
    meta = params.get("_meta")
    said = meta.get(types.PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    if said is None and header is not None and getattr(message, "method", None) == "initialize":
        said = params.get("protocolVersion")
    if said in {None, header}:
        return None
    return Fault(types.HEADER_MISMATCH, "mcp-protocol-version header does not match the version in the message")


async def _refuse(send: Send, status: HTTPStatus, fault: Fault) -> None:
    content = fault.to_json().encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": content})


class _Again:
    """Gives a body that was read once more, and then what comes after it."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def receive(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
