"""What a GGUF file says about itself before it is loaded."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["trained_context"]

# The types of values and their formats, see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
_PLAIN: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_MOST_KEYS = 10_000
_MOST_BYTES = 2**20


class _Unreadable(Exception):
    """The file is not in the format, or in a corner of it that is not read."""


def trained_context(path: Path) -> int | None:
    """Give the context window that a model was trained for, in tokens; `None` where its file does not say.

    Only the head of the file is read, up to the place where it is said.
    """
    try:
        with path.open("rb") as file:
            return _context(file)
    except (OSError, struct.error, _Unreadable):
        return None


def _context(file: BinaryIO) -> int | None:
    if file.read(4) != b"GGUF":
        return None
    _number(file, "I")
    _number(file, "Q")
    for _ in range(min(_number(file, "Q"), _MOST_KEYS)):
        key, kind = _text(file), _number(file, "I")
        if key.endswith(b".context_length") and kind in _PLAIN:
            return _number(file, _PLAIN[kind]) or None
        _skip(file, kind)
    return None


def _number(file: BinaryIO, form: str) -> int:
    return int(struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0])


def _text(file: BinaryIO) -> bytes:
    size = _number(file, "Q")
    if size > _MOST_BYTES:
        raise _Unreadable
    return file.read(size)


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _text(file)
    elif kind == _ARRAY:
        inner, count = _number(file, "I"), _number(file, "Q")
        if inner in _PLAIN:
            file.seek(struct.calcsize(f"<{_PLAIN[inner]}") * count, 1)
            return
        if inner != _STRING or count > _MOST_BYTES:
            raise _Unreadable
        for _ in range(count):
            _text(file)
    elif kind in _PLAIN:
        file.seek(struct.calcsize(f"<{_PLAIN[kind]}"), 1)
    else:
        raise _Unreadable
