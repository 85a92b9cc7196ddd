"""The file of a cassette: JSON Lines, appended as whole lines under a lock, and read up to the last complete line."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable.core.base.files import lock_file, write_parts
from roundtable.core.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from roundtable.core.types.base import JsonObject

__all__ = ["FORMAT", "CassetteFile", "RecordedCall"]

FORMAT: Final = 1
"""Version of the format; files with a later version are rejected."""
HEADER: Final[Mapping[str, object]] = {"kind": "cassette", "version": FORMAT}


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded call."""

    line: int
    """Line of the file, from 1; 0 for a call that this process recorded itself."""
    key: str
    """Hash of the canonical form of the request."""
    provider: str
    """Provider of the call."""
    model: str
    """Model of the call."""
    label: JsonObject
    """Agent, round and slot of the call, as far as they are known."""
    request: JsonObject
    """Canonical form of the request."""
    outcome: JsonObject
    """The outcome: `response` or `error`; for a stream, also `deltas`."""

    def to_line(self) -> JsonObject:
        """Return the call as a line of the file."""
        return {
            "kind": "call",
            "key": self.key,
            "provider": self.provider,
            "model": self.model,
            "for": self.label,
            "request": self.request,
            **self.outcome,
        }


class CassetteFile:
    """Reader and writer for the lines of one file; several processes may use it at once.

    Args:
        path: The file; its folder is created when the first line is written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path).expanduser()
        self._offset = 0
        self._line_number = 0
        self._inode = 0
        self._lacks_newline = False

    def read(self) -> list[tuple[int, JsonObject]]:
        """Return the complete lines that were not read yet, with their numbers.

        Raises:
            ConfigurationError: The file cannot be read, or is not a cassette of a known version.
        """
        try:
            with self.path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode:
                    self._offset, self._line_number, self._inode, self._lacks_newline = 0, 0, inode, False
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigurationError(f"the cassette {str(self.path)!r} cannot be read: {error}") from error
        if self._lacks_newline and data.startswith(b"\n"):
            # This newline ends a line that was already read without it.
            self._offset, data, self._lacks_newline = self._offset + 1, data[1:], False
        whole = data[: _whole_length(data)]
        self._offset += len(whole)
        self._lacks_newline = bool(whole) and not whole.endswith(b"\n")
        lines: list[tuple[int, JsonObject]] = []
        for text in whole.splitlines():
            self._line_number += 1
            if text.strip():
                lines.append((self._line_number, self._parse(text)))
        return lines

    def _parse(self, text: bytes) -> JsonObject:
        where = f"line {self._line_number} of the cassette {str(self.path)!r}"
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{where} is not JSON: {error}") from error
        if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
            raise ConfigurationError(f"{where} is not an object with a 'kind'")
        if self._line_number == 1 and line["kind"] != "cassette":
            raise ConfigurationError(
                f"the file {str(self.path)!r} is not a cassette: its first line is not a cassette header"
            )
        version = line.get("version")
        if line["kind"] == "cassette" and (not isinstance(version, int) or not 1 <= version <= FORMAT):
            raise ConfigurationError(
                f"the cassette {str(self.path)!r} has format {version!r}; this version reads up to {FORMAT}",
                hint="Record it again, or use a later version of the library.",
            )
        return line

    def append(self, lines: Iterable[JsonObject]) -> None:
        """Append lines, after cutting off an incomplete line that a killed process may have left.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        text = b"".join(_encoded(line) for line in lines)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _lock(self.path) as file:
                size = os.fstat(file).st_size
                whole, is_open = _whole_bytes(file, size)
                if whole < size:
                    os.ftruncate(file, whole)
                start = _encoded(HEADER) if not whole else b"\n" if is_open else b""
                _write(file, start + text)
        except OSError as error:
            raise ConfigurationError(f"the cassette {str(self.path)!r} cannot be written: {error}") from error

    def begin_anew(self) -> None:
        """Replace the file with a new, empty cassette, atomically.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_parts(self.path, [_encoded(HEADER)])
        except (OSError, StorageError) as error:
            reason = error.__cause__ or error
            raise ConfigurationError(f"the cassette {str(self.path)!r} cannot be written: {reason}") from error
        self._offset = self._line_number = self._inode = 0
        self._lacks_newline = False


def _encoded(line: Mapping[str, object]) -> bytes:
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _whole_length(data: bytes) -> int:
    """Return the length of the complete lines. The last line needs no newline, because some editors remove it.

    A line that is still being written does not count as complete: the beginning of an object is not valid JSON.
    """
    end = data.rfind(b"\n") + 1
    try:
        json.loads(data[end:])
    except (ValueError, RecursionError):
        return end
    return len(data)


def _whole_bytes(file: int, size: int) -> tuple[int, bool]:
    """Return the length of a file up to its last complete line, and whether this line lacks its newline."""
    os.lseek(file, 0, os.SEEK_SET)
    if size == 0:
        return 0, False
    os.lseek(file, size - 1, os.SEEK_SET)
    if os.read(file, 1) == b"\n":
        return size, False
    os.lseek(file, 0, os.SEEK_SET)
    data = b""
    while piece := os.read(file, 1 << 20):
        data += piece
    whole = _whole_length(data)
    return whole, whole == len(data)


def _write(file: int, text: bytes) -> None:
    os.lseek(file, 0, os.SEEK_END)
    while text:
        text = text[os.write(file, text) :]


@contextmanager
def _lock(path: Path) -> Generator[int]:
    """Open and lock the file at a path for writing, even if another process replaces it meanwhile."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            lock_file(file)
            if os.fstat(file).st_ino == path.stat().st_ino:
                yield file
                return
        finally:
            os.close(file)
