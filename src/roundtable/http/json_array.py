"""The items of a JSON array from bytes that are cut anywhere."""

from __future__ import annotations

import re
from typing import Final

from roundtable.errors import AgentError
from roundtable.http.sse import MAX_EVENT_BYTES

__all__ = ["JsonArrayFramer"]

_MARKS: Final = re.compile(rb'["\\{}\[\]]')


class JsonArrayFramer:
    r"""Cuts the text of a JSON array into the texts of its items, objects or arrays, as soon as each is complete.

    What is in an item is not looked at beyond its brackets; memory stays within one item and one chunk.

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
        """Take the next bytes; give the items they complete.

        Raises:
            AgentError: An item is too large, or the text is no array.
        """
        items: list[bytes] = []
        start = 0
        if self._escaped and chunk:
            self._escaped = False
            start = 1
        kept = 0
        place = start
        while (mark := _MARKS.search(chunk, place)) is not None and not self.is_closed:
            place = mark.end()
            if self._in_text:
                if mark[0] == b"\\":
                    self._escaped = place == len(chunk)
                    place += 1
                elif mark[0] == b'"':
                    self._in_text = False
            elif mark[0] == b'"':
                self._in_text = True
            elif (end := self._bracket(mark[0], chunk, kept, mark.start())) is not None:
                kept = mark.start() if end else place
                if not end:
                    items.append(bytes(self._item))
                    self._item.clear()
        if self._depth > 1:
            self._item += chunk[kept:]
            self._check()
        return items

    def _bracket(self, mark: bytes, chunk: bytes, kept: int, at: int) -> bool | None:
        """Follow a bracket; True where an item begins, False where one ends and is complete."""
        if mark in b"{[":
            self._depth += 1
            return True if self._depth == 2 else None
        if mark in b"}]":
            self._depth -= 1
            if self._depth == 1:
                self._item += chunk[kept : at + 1]
                self._check()
                return False
            self.is_closed = self._depth <= 0
        return None

    def _check(self) -> None:
        if len(self._item) > self._max:
            raise AgentError(
                f"an item of the stream is larger than {self._max} bytes",
                hint="The server does not answer as a model does; check the base URL.",
            )
