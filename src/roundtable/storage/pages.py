"""The rows of a SQLite file read from its pages, whatever has become of the rest of it.

SQLite reads a table from its root down, and gives up where the way is broken. Rows lie in leaf pages, each of which can
be read by itself: this looks at every page of the file, and at the write-ahead log beside it. The format is described
at https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["stored_rows"]

Cell = int | float | str | bytes | None

_MAGIC: Final = b"SQLite format 3\0"
_USUAL_SIZE: Final = 4096
_LEAF: Final = 0x0D
_LARGEST_ROW: Final = 2**30
_INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_WAL_HEAD, _FRAME_HEAD = 32, 24


class _File:
    """The pages of a database, as they stand with the log beside it."""

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        head = self._bytes[:100]
        size = int.from_bytes(head[16:18], "big")
        size = 65536 if size == 1 else size
        sound = head[:16] == _MAGIC and size >= 512 and size & (size - 1) == 0
        self.size: int = size if sound else _USUAL_SIZE
        self.usable: int = self.size - (head[20] if sound and head[20] <= 64 else 0)
        self._newer = _logged(path.with_name(f"{path.name}-wal"), self.size)
        self.count: int = max(-(-len(self._bytes) // self.size), *self._newer, 0)

    def page(self, number: int) -> bytes:
        """Give a page, from 1; empty when there is none."""
        if number in self._newer:
            return self._newer[number]
        start = (number - 1) * self.size
        return self._bytes[start : start + self.size] if number > 0 else b""

    def free(self) -> set[int]:
        """Give the pages that hold nothing any more; what was deleted must not come back."""
        found: set[int] = set()
        trunk = int.from_bytes(self.page(1)[32:36], "big")
        while 0 < trunk <= self.count and trunk not in found:
            found.add(trunk)
            page = self.page(trunk)
            leaves = min(int.from_bytes(page[4:8], "big"), self.usable // 4 - 2)
            found.update(struct.unpack_from(f">{leaves}I", page.ljust(self.size, b"\0"), 8))
            trunk = int.from_bytes(page[:4], "big")
        return found


def _logged(path: Path, size: int) -> dict[int, bytes]:
    """Give the pages of a write-ahead log whose transactions were committed."""
    try:
        log = path.read_bytes()
    except OSError:
        return {}
    head = log[:_WAL_HEAD]
    if len(head) < _WAL_HEAD or int.from_bytes(head[8:12], "big") not in {size, 1 if size == 65536 else size}:
        return {}
    order = ">" if head[3] & 1 else "<"
    sums = _checked(head[:24], order, (0, 0))
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for start in range(_WAL_HEAD, len(log) - _FRAME_HEAD - size + 1, _FRAME_HEAD + size):
        frame = log[start : start + _FRAME_HEAD]
        page = log[start + _FRAME_HEAD : start + _FRAME_HEAD + size]
        number, pages, *_, first, second = struct.unpack(">6I", frame)
        sums = _checked(page, order, _checked(frame[:8], order, sums))
        if frame[8:16] != head[16:24] or sums != (first, second):
            break  # left over from an earlier use of the log, or damaged: nothing behind it counts
        pending[number] = page
        if pages:
            committed |= pending
            pending = {}
    return committed


def _checked(part: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for left, right in struct.iter_unpack(f"{order}2I", part):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second


def stored_rows(path: Path) -> Iterator[tuple[Cell, ...]]:
    """Give the rows of all tables that can be read, in the order of the pages; which table they are of is not known.

    Raises:
        OSError: The file cannot be read at all.
    """
    file = _File(path)
    free = file.free()
    for number in range(1, file.count + 1):
        if number not in free:
            yield from _leaf_rows(file, number)


def _leaf_rows(file: _File, number: int) -> Iterator[tuple[Cell, ...]]:
    page = file.page(number)
    start = 100 if number == 1 else 0
    if len(page) < start + 8 or page[start] != _LEAF:
        return
    cells = int.from_bytes(page[start + 3 : start + 5], "big")
    for place in range(start + 8, min(start + 8 + 2 * cells, len(page) - 1), 2):
        try:
            yield _row(_payload(file, page, int.from_bytes(page[place : place + 2], "big")))
        except (ValueError, IndexError):
            continue  # this one is damaged; the next may be whole


def _payload(file: _File, page: bytes, start: int) -> bytes:
    """Give the bytes of one row, from the pages it overflows into as well."""
    length, start = _varint(page, start)
    _, start = _varint(page, start)
    most = file.usable - 35
    if not 0 < length <= _LARGEST_ROW:
        raise ValueError(length)
    if length <= most:
        return _taken(page, start, length)
    least = (file.usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (file.usable - 4)
    local = local if local <= most else least
    parts, missing = [_taken(page, start, local)], length - local
    following = int.from_bytes(_taken(page, start + local, 4), "big")
    while missing > 0:
        page = file.page(following)
        part = _taken(page, 4, min(missing, file.usable - 4))
        following = int.from_bytes(page[:4], "big")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _taken(page: bytes, start: int, length: int) -> bytes:
    part = page[start : start + length]
    if len(part) != length:
        raise ValueError(length)
    return part


def _row(payload: bytes) -> tuple[Cell, ...]:
    end, place = _varint(payload, 0)
    kinds: list[int] = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    values: list[Cell] = []
    place = end
    for kind in kinds:
        length = (kind - 12) // 2 if kind >= 12 else 8 if kind == 7 else _INTEGERS.get(kind, 0)
        values.append(_value(kind, _taken(payload, place, length)))
        place += length
    return tuple(values)


def _value(kind: int, part: bytes) -> Cell:
    if kind >= 12:
        return part.decode() if kind % 2 else part
    if kind in _INTEGERS:
        return int.from_bytes(part, "big", signed=True)
    if kind == 7:
        number: float = struct.unpack(">d", part)[0]
        return number
    return {0: None, 8: 0, 9: 1}[kind] if kind in {0, 8, 9} else None


def _varint(page: bytes, place: int) -> tuple[int, int]:
    value = 0
    for step in range(8):
        byte = page[place + step]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + step + 1
    return value << 8 | page[place + 8], place + 9
