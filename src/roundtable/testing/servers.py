"""Test servers on the loopback address: Chat Completions with faults on demand, or any ASGI application."""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import BinaryIO

    import uvicorn

    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = [
    "LoopbackServer",
    "Seen",
    "WireReply",
    "call_reply",
    "chat_chunks",
    "chat_reply",
    "http_reply",
    "serving",
    "sse_reply",
]

_START_S: Final = 30.0
_STOP_S: Final = 15.0

_COMPLETION_FIELDS: Final[JsonObject] = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0}
_USAGE: Final[JsonObject] = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@contextmanager
def serving(app: Callable[..., Any]) -> Generator[str]:
    """Serve an ASGI application, such as one from `roundtable.server.create_app`, until the block ends.

    The application runs on a separate thread with its own event loop, at 127.0.0.1. Needs the extra `server`.

    Args:
        app: The application.

    Yields:
        The address of the application, such as `http://127.0.0.1:41234`.

    Raises:
        ConfigurationError: The application did not start.

    Example:
        >>> from roundtable import Roundtable
        >>> from roundtable.auth import LocalUser
        >>> from roundtable.client import SyncRoundtableClient
        >>> from roundtable.server import create_app
        >>> from roundtable.testing import scripted_agents
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        >>> with serving(create_app(table, auth=LocalUser())) as url, SyncRoundtableClient(url) as client:
        ...     client.debate("Tea or coffee?", rounds=1).answer
        'Tea'
    """
    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        # Connections inherit this option. Without it, the second part of each response waits until the client has
        # acknowledged the first part.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1))

        def run() -> None:
            with suppress(SystemExit):  # uvicorn raises it if the application does not start
                server.run([listener])

        thread = threading.Thread(target=run, name="roundtable-serving", daemon=True)
        thread.start()
        try:
            _wait_for_start(server, thread)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(_STOP_S)


def _wait_for_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _START_S
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise ConfigurationError("the application did not start", hint="See its error in the log.")
        time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Seen:
    """A received request."""

    method: str
    """Method in capitals."""
    path: str
    """Path with query."""
    headers: Mapping[str, str] = field(repr=False)
    """Headers, names in lower case."""
    body: bytes = field(repr=False)
    """Body of the request."""

    @property
    def json(self) -> JsonObject:
        """The body as a JSON object."""
        value: JsonValue = json.loads(self.body)
        assert isinstance(value, dict)
        return value

    @property
    def wants_stream(self) -> bool:
        """Whether the request asks for a stream."""
        return bool(self.body) and self.json.get("stream") is True


@dataclass(frozen=True, slots=True)
class WireReply:
    """Raw bytes to send, with pauses in between."""

    parts: Sequence[bytes | float]
    """Bytes, and pauses in seconds; a pause ends early when the client hangs up."""
    end: Literal["keep", "close", "reset"] = "keep"
    """What happens to the connection after the reply."""


Reply: TypeAlias = "WireReply | str | Mapping[str, JsonValue]"
"""Reply of a server: raw bytes, or a text or JSON document as the content of a completion."""


class LoopbackServer:
    """Serve Chat Completions on 127.0.0.1, on separate threads, so that any event loop can call it.

    Queued replies are used first, then the replies that `answer` returns. Requests for `/v1/models` get the reply
    `models`. Requests to a path with `/trap` are counted in `traps`.

    Args:
        answer: Function that returns the reply to a request; by default, every reply is `"ok"`.
        models: The reply to a request for the list of models; by default, a list of one model.
        tls: TLS context; if set, the server uses https.

    Example:
        >>> from roundtable.providers import chat_model
        >>> from roundtable.types import ChatRequest, Message
        >>> import anyio
        >>> ask = ChatRequest(model="", messages=(Message(role="user", content="Hello"),))
        >>> with LoopbackServer(lambda seen: "Hello yourself") as server:
        ...     model = chat_model("compatible:any", base_url=server.url)
        ...     anyio.run(model.complete, ask).text
        'Hello yourself'
    """

    def __init__(
        self,
        answer: Callable[[Seen], Reply] | None = None,
        *,
        models: WireReply | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._answer = answer or _ok
        self._models = models or http_reply(b'{"object":"list","data":[{"id":"first-model","object":"model"}]}')
        self._tls = tls
        self._queue: deque[Reply] = deque()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self.seen: list[Seen] = []
        """Requests in order of arrival, without requests for the list of models."""
        self.traps: int = 0
        """Number of requests to a path with `/trap`."""
        self.hang_ups: list[float] = []
        """Times of `time.monotonic` at which a client hung up during a reply."""
        self.connections: int = 0
        """Number of accepted connections."""

    @property
    def url(self) -> str:
        """Base URL of the API."""
        return f"{self.origin}/v1"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host, port = self._listener.getsockname()
        return f"{'http' if self._tls is None else 'https'}://{host}:{port}"

    @property
    def open_connections(self) -> int:
        """Number of open connections."""
        with self._lock:
            return len(self._open)

    def queue(self, *replies: Reply) -> None:
        """Queue replies to the next requests, one for each."""
        self._queue.extend(replies)

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        for thread in list(self._threads):
            thread.join(5)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
                self.connections += 1
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                connection = self._wrap_tls(connection, self._tls)
            with connection.makefile("rb") as reader:
                while (request := _read_request(reader)) is not None and self._reply(
                    connection, self._choose_reply(request)
                ):
                    pass
        except OSError:
            self.hang_ups.append(time.monotonic())
        finally:
            with self._lock:
                self._open.discard(connection)
                connection.close()

    def _wrap_tls(self, plain: socket.socket, tls: ssl.SSLContext) -> socket.socket:
        plain.settimeout(5)
        connection = tls.wrap_socket(plain, server_side=True)
        with self._lock:
            self._open.discard(plain)
            self._open.add(connection)
        return connection

    def _choose_reply(self, request: Seen) -> WireReply:
        if "/trap" in request.path:
            self.traps += 1
        if request.path.endswith("/models"):
            return self._models
        with self._lock:
            self.seen.append(request)
            queued = self._queue.popleft() if self._queue else None
        reply = self._answer(request) if queued is None else queued
        return reply if isinstance(reply, WireReply) else chat_reply(reply, stream=request.wants_stream)

    def _reply(self, connection: socket.socket, reply: WireReply) -> bool:
        for part in reply.parts:
            if isinstance(part, bytes):
                connection.sendall(part)
            elif _hangs_up_within(connection, part):
                self.hang_ups.append(time.monotonic())
                return False
        if reply.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return reply.end == "keep"


def _ok(_seen: Seen) -> Reply:
    return "ok"


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The client has closed it already.
        return


def _hangs_up_within(connection: socket.socket, seconds: float) -> bool:
    readable, _, _ = select.select([connection], [], [], seconds)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)


def _read_request(reader: BinaryIO) -> Seen | None:
    words = reader.readline(65536).decode("latin-1").split()
    if len(words) != 3:
        return None
    headers: dict[str, str] = {}
    while line := reader.readline(65536).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Seen(words[0], words[1], headers, reader.read(int(headers.get("content-length", "0"))))


def http_reply(
    body: bytes,
    *,
    status: int = 200,
    headers: Mapping[str, str] = MappingProxyType({"content-type": "application/json"}),
) -> WireReply:
    """Create a reply of known length."""
    return WireReply([_head(status, {**headers, "content-length": str(len(body))}), body])


def sse_reply(
    events: Iterable[bytes],
    *,
    pause_s: float | None = None,
    headers: Mapping[str, str] = MappingProxyType({"content-type": "text/event-stream"}),
    whole: bool = True,
) -> WireReply:
    """Create a reply of several chunks.

    Args:
        events: Content of the chunks.
        pause_s: Seconds between chunks.
        headers: Headers of the reply.
        whole: Whether to end the body properly; otherwise, the connection is closed before the end.
    """
    parts: list[bytes | float] = [_head(200, {**headers, "transfer-encoding": "chunked"})]
    for event in events:
        if pause_s is not None:
            parts.append(pause_s)
        if event:
            parts.append(b"%x\r\n%b\r\n" % (len(event), event))
    return WireReply([*parts, b"0\r\n\r\n"] if whole else parts, "keep" if whole else "close")


def chat_reply(content: str | Mapping[str, JsonValue], *, stream: bool = False, finish: str = "stop") -> WireReply:
    """Create a valid completion, plain or streamed, with this finish reason."""
    text = content if isinstance(content, str) else json.dumps(dict(content), ensure_ascii=False)
    if stream:
        return sse_reply(chat_chunks(text, finish=finish))
    return _completion({"role": "assistant", "content": text}, finish)


def call_reply(name: str, arguments: Mapping[str, JsonValue], *, stream: bool = False) -> WireReply:
    """Create a valid completion that calls one tool, plain or streamed in two pieces."""
    if stream:
        return sse_reply(_call_chunks(name, json.dumps(dict(arguments), ensure_ascii=False)))
    function: JsonObject = {"name": name, "arguments": json.dumps(dict(arguments), ensure_ascii=False)}
    call: JsonObject = {"id": "call-1", "type": "function", "function": function}
    return _completion({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")


def _call_chunks(name: str, arguments: str) -> list[bytes]:
    middle = len(arguments) // 2
    first: JsonObject = {"name": name, "arguments": arguments[:middle]}
    events = [
        _chunk(
            {"role": "assistant", "tool_calls": [{"index": 0, "id": "call-1", "type": "function", "function": first}]}
        ),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[middle:]}}]}),
        _chunk({}, "tool_calls"),
        {**_COMPLETION_FIELDS, "choices": [], "usage": _USAGE},
    ]
    lines = [b"data: %b\n\n" % json.dumps(event, ensure_ascii=False).encode() for event in events]
    return [*lines, b"data: [DONE]\n\n"]


def _completion(message: JsonObject, finish: str) -> WireReply:
    body: JsonObject = {
        **_COMPLETION_FIELDS,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": _USAGE,
    }
    return http_reply(json.dumps(body).encode())


def chat_chunks(
    text: str, *, pieces: int = 4, done: bool = True, finish: str | None = "stop", running: bool = False
) -> list[bytes]:
    """Create the events of a streamed completion.

    Args:
        text: The text.
        pieces: Number of pieces of the text.
        done: Whether to add the terminator `[DONE]`.
        finish: The finish reason; with None, its event is left out.
        running: Whether every event reports what the completion has used so far; otherwise, only the last one does.
    """
    size = max(1, -(-len(text) // pieces))
    events: list[JsonObject] = [_chunk({"role": "assistant", "content": ""})]
    events += [_chunk({"content": text[start : start + size]}) for start in range(0, len(text), size)]
    if finish is not None:
        events.append(_chunk({}, finish))
        events.append({**_COMPLETION_FIELDS, "choices": [], "usage": _USAGE})
    if running:
        events = [{"usage": _usage_after(number), **event} for number, event in enumerate(events)]
    lines = [b"data: %b\n\n" % json.dumps(event, ensure_ascii=False).encode() for event in events]
    return [*lines, b"data: [DONE]\n\n"] if done else lines


def _usage_after(events: int) -> JsonObject:
    made = min(events, 7)
    return {"prompt_tokens": 11, "completion_tokens": made, "total_tokens": 11 + made}


def _chunk(delta: JsonObject, finish: str | None = None) -> JsonObject:
    return {**_COMPLETION_FIELDS, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
