"""Server-sent events from bytes that are cut anywhere."""

from __future__ import annotations

from typing import Final, NamedTuple

from roundtable.errors import AgentError

__all__ = ["MAX_EVENT_BYTES", "SseEvent", "SseFramer"]

MAX_EVENT_BYTES: Final = 4 * 2**20
"""Most bytes of one event."""

_BOM: Final = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event."""

    event: str
    """Its name; `"message"` where it has none."""
    data: bytes
    """Its data lines, joined by line feeds; not decoded, so that a fault in them is found by who reads them."""


class SseFramer:
    r"""Cuts a byte stream into events, however it is chunked.

    Lines end with LF, CR or CRLF. A byte order mark, comments, `id`, `retry` and unknown fields are
    passed over. Memory stays within one event and one chunk.

    Args:
        max_event_bytes: Most bytes of one event.

    Example:
        >>> framer = SseFramer()
        >>> framer.feed(b"data: on"), framer.feed(b"e\r"), framer.feed(b"\n\r\n")
        ([], [], [SseEvent(event='message', data=b'one')])
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._name = b""
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes; give the events they complete.

        Raises:
            AgentError: An event is too large.
        """
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines and self._line:
            self._line += lines[0]
            lines[0] = bytes(self._line)
            self._line.clear()
        events: list[SseEvent] = []
        for line in lines:
            self._take(line, events)
        self._line += rest
        self._check(len(self._line))
        return events

    def finish(self) -> SseEvent | None:
        """Give the last event if the stream ended before the empty line behind it.

        The standard drops such an event, and it may be cut short; it is for the caller to see whether it is whole.
        """
        events: list[SseEvent] = []
        if self._line:
            self._take(bytes(self._line), events)
            self._line.clear()
        self._take(b"", events)
        return events[0] if events else None

    def _take(self, line: bytes, events: list[SseEvent]) -> None:
        if self._first:
            line = line.removeprefix(_BOM)
            self._first = False
        if not line:
            if self._data:
                name = self._name.decode("utf-8", "replace") if self._name else "message"
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                events.append(SseEvent(name, data))
                self._data = []
            self._size = 0
            self._name = b""
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._check(len(value))
            self._size += len(value) + 1
            self._data.append(value)
        elif field == b"event":
            self._name = value

    def _check(self, more: int) -> None:
        if self._size + more > self._max:
            raise AgentError(
                f"an event of the stream is larger than {self._max} bytes",
                hint="The server does not answer as a model does; check the base URL.",
            )
