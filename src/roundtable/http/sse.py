"""Split a byte stream into server-sent events."""

from __future__ import annotations

from typing import Final, NamedTuple

from roundtable.core.errors import AgentError

__all__ = ["BARE", "MAX_EVENT_BYTES", "SseEvent", "SseFramer"]

MAX_EVENT_BYTES: Final = 4 * 2**20
"""Most bytes of one event."""

BARE: Final = "\n"
"""Event name for bare JSON between the events; real events cannot have this name."""

_JSON_STARTS: Final = (b"{", b"[")
_FIELDS: Final = frozenset({b"", b"data", b"error", b"event", b"id", b"retry"})
_DATA: Final = b"data: "
_BOM: Final = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event."""

    event: str
    """Name of the event; `"message"` if it has none."""
    data: bytes
    """Data lines of the event, joined by line feeds. They are not decoded, so that the reader can handle invalid
    text."""


class SseFramer:
    r"""Split a byte stream into events; chunks may be cut anywhere.

    Lines end with LF, CR or CRLF. A byte order mark, comments, `id`, `retry` and unknown fields are
    ignored. Memory is limited to one event and one chunk.

    Args:
        max_event_bytes: Most bytes of one event.
        bare: Whether to return also JSON lines between the events, as an event named `BARE`, and the field `error` as
            an event named `"error"`, since some servers write errors that way. Such JSON ends at the next field, or at
            the end of the stream.

    Example:
        >>> framer = SseFramer()
        >>> framer.feed(b"data: on"), framer.feed(b"e\r"), framer.feed(b"\n\r\n")
        ([], [], [SseEvent(event='message', data=b'one')])
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES, bare: bool = False) -> None:
        self._max = max_event_bytes
        self._accepts_bare = bare
        self._bare: list[bytes] = []
        self._bare_size = 0
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._name = b""
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Add the next bytes, and return the events that they complete.

        Raises:
            AgentError: An event is too large.
        """
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, partial = chunk.split(b"\n")
        if lines and self._line:
            self._line += lines[0]
            lines[0] = bytes(self._line)
            self._line.clear()
        events: list[SseEvent] = []
        if self._first and lines:
            lines[0] = lines[0].removeprefix(_BOM)
            self._first = False
        for line in lines:
            if not line:
                self._end_event(events)
            elif line.startswith(_DATA) and not self._bare:
                # This applies to nearly every line of a streamed answer.
                self._add_data(line[len(_DATA) :])
            else:
                self._add_line(line, events)
        self._line += partial
        self._check(len(self._line))
        return events

    def finish(self) -> SseEvent | None:
        """Return the last event, if the stream ended without the empty line that should follow it.

        The standard drops such an event, since it may be cut short. The caller must check whether it is complete.
        """
        return next((event for event in self.rest() if event.event != BARE), None)

    def rest(self) -> list[SseEvent]:
        """Return what is left at the end of the stream, in order: bare JSON, and the last event as in `finish`."""
        events: list[SseEvent] = []
        if self._line:
            line = bytes(self._line)
            self._add_line(line.removeprefix(_BOM) if self._first else line, events)
            self._line.clear()
        self._end_event(events)
        self._end_bare(events)
        return events

    def _end_event(self, events: list[SseEvent]) -> None:
        if self._data:
            name = self._name.decode("utf-8", "replace") if self._name else "message"
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            events.append(SseEvent(name, data))
            self._data = []
        self._size = 0
        self._name = b""

    def _add_line(self, line: bytes, events: list[SseEvent]) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if self._bare or (self._accepts_bare and line.lstrip()[:1] in _JSON_STARTS):
            if field not in _FIELDS:
                self._add_bare(line)
                return
            self._end_bare(events)
        if field == b"data":
            self._add_data(value)
        elif field == b"event":
            self._name = value
        elif field == b"error" and self._accepts_bare:
            # llama.cpp reported failures in a field of its own until 2025.
            self._name = field
            self._add_data(value)

    def _add_data(self, value: bytes) -> None:
        self._check(len(value))
        self._size += len(value) + 1
        self._data.append(value)

    def _add_bare(self, line: bytes) -> None:
        self._bare_size += len(line) + 1
        if self._bare_size > self._max:
            raise _too_large(self._max)
        self._bare.append(line)

    def _end_bare(self, events: list[SseEvent]) -> None:
        if self._bare:
            events.append(SseEvent(BARE, b"\n".join(self._bare)))
            self._bare = []
            self._bare_size = 0

    def _check(self, length: int) -> None:
        if self._size + length > self._max:
            raise _too_large(self._max)


def _too_large(max_bytes: int) -> AgentError:
    return AgentError(
        f"an event of the stream is larger than {max_bytes} bytes",
        hint="The server does not answer like a model; check the base URL.",
    )
