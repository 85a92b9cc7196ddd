"""Split a streamed JSON array into its items."""

from __future__ import annotations

import re
from typing import Final

from roundtable.core.errors import AgentError
from roundtable.http.sse import MAX_EVENT_BYTES

__all__ = ["JsonArrayFramer"]

_SYNTAX: Final = re.compile(rb'["\\{}\[\]]')


class JsonArrayFramer:
    r"""Split the text of a JSON array into the texts of its items (objects or arrays), each as soon as it is complete.

    Chunks may be cut anywhere. Items are not parsed; only their brackets are counted. Memory is limited to one item and
    one chunk.

    Args:
        max_item_bytes: Most bytes of one item.

    Example:
        >>> framer = JsonArrayFramer()
        >>> framer.feed(b'[{"a": "]'), framer.feed(b'"},\n{"b"'), framer.feed(b": 1}]"), framer.is_closed
        ([], [b'{"a": "]"}'], [b'{"b": 1}'], True)
    """

    def __init__(self, *, max_item_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_item_bytes
        self._item = bytearray()
        self._depth = 0
        self._in_text = False
        self._escaped = False
        self.is_closed: bool = False
        """Whether the array has ended."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add the next bytes, and return the items that they complete.

        Raises:
            AgentError: An item is too large, or the text is not an array.
        """
        items: list[bytes] = []
        start = 0
        if self._escaped and chunk:
            self._escaped = False
            start = 1
        item_start = 0
        position = start
        while (mark := _SYNTAX.search(chunk, position)) is not None and not self.is_closed:
            position = mark.end()
            if self._in_text:
                if mark[0] == b"\\":
                    self._escaped = position == len(chunk)
                    position += 1
                elif mark[0] == b'"':
                    self._in_text = False
            elif mark[0] == b'"':
                self._in_text = True
            elif (is_start := self._count_bracket(mark[0], chunk, item_start, mark.start())) is not None:
                item_start = mark.start() if is_start else position
                if not is_start:
                    items.append(bytes(self._item))
                    self._item.clear()
        if self._depth > 1:
            self._item += chunk[item_start:]
            self._check()
        return items

    def _count_bracket(self, mark: bytes, chunk: bytes, item_start: int, position: int) -> bool | None:
        """Count a bracket; return True if an item starts, False if an item is complete, None otherwise."""
        if mark in b"{[":
            self._depth += 1
            return True if self._depth == 2 else None
        if mark in b"}]":
            self._depth -= 1
            if self._depth == 1:
                self._item += chunk[item_start : position + 1]
                self._check()
                return False
            self.is_closed = self._depth <= 0
        return None

    def _check(self) -> None:
        if len(self._item) > self._max:
            raise AgentError(
                f"an item of the stream is larger than {self._max} bytes",
                hint="The server does not answer like a model; check the base URL.",
            )
