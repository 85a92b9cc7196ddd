"""The file of a cassette: JSON lines, appended whole under a lock, read as far as they are whole."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable._locks import lock_file
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from roundtable.types import JsonObject

__all__ = ["FORMAT", "Call", "Tape"]

FORMAT: Final = 1
"""Version of the format that is written; files of a later one are refused."""
HEADER: Final[Mapping[str, object]] = {"kind": "cassette", "version": FORMAT}


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded call."""

    line: int
    """Line of the file, from 1; 0 for one that this process recorded itself."""
    key: str
    """Name of the request's canonical form."""
    provider: str
    """Provider that was asked."""
    model: str
    """Model that was asked."""
    label: JsonObject
    """For whom: agent, round and slot, as far as they were known."""
    request: JsonObject
    """Canonical form of the request."""
    outcome: JsonObject
    """What came: `response` or `error`, and `deltas` of a stream."""

    def to_line(self) -> JsonObject:
        """Give the call as it is written."""
        return {
            "kind": "call",
            "key": self.key,
            "provider": self.provider,
            "model": self.model,
            "for": self.label,
            "request": self.request,
            **self.outcome,
        }


class Tape:
    """Reads and appends the lines of one file; several processes may do so at once.

    Args:
        path: The file; its folder is made when the first line is written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path).expanduser()
        self._at = 0
        self._line = 0
        self._inode = 0
        self._is_open = False

    def read(self) -> list[tuple[int, JsonObject]]:
        """Give the lines that were not read yet, with their numbers; one that is not whole yet is left.

        Raises:
            ConfigurationError: The file cannot be read, or is no cassette of a version that is known.
        """
        try:
            with self.path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode:
                    self._at, self._line, self._inode, self._is_open = 0, 0, inode, False
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigurationError(f"the cassette {str(self.path)!r} cannot be read: {error}") from error
        if self._is_open and data.startswith(b"\n"):
            # The end of a line that was read without it.
            self._at, data, self._is_open = self._at + 1, data[1:], False
        whole = data[: _whole_length(data)]
        self._at += len(whole)
        self._is_open = bool(whole) and not whole.endswith(b"\n")
        found: list[tuple[int, JsonObject]] = []
        for text in whole.splitlines():
            self._line += 1
            if text.strip():
                found.append((self._line, self._parsed(text)))
        return found

    def _parsed(self, text: bytes) -> JsonObject:
        where = f"line {self._line} of the cassette {str(self.path)!r}"
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{where} is no JSON: {error}") from error
        if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
            raise ConfigurationError(f"{where} is no line of a cassette")
        if self._line == 1 and line["kind"] != "cassette":
            raise ConfigurationError(f"the file {str(self.path)!r} is no cassette: its first line does not say so")
        version = line.get("version")
        if line["kind"] == "cassette" and (not isinstance(version, int) or not 1 <= version <= FORMAT):
            raise ConfigurationError(
                f"the cassette {str(self.path)!r} has format {version!r}; this version reads up to {FORMAT}",
                hint="Record it anew, or use a later version of the library.",
            )
        return line

    def append(self, lines: Iterable[JsonObject]) -> None:
        """Append lines, whole or not at all; what a process that died left half-written is dropped first.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        text = b"".join(_encoded(line) for line in lines)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self.path) as file:
                size = os.fstat(file).st_size
                whole, is_open = _whole_bytes(file, size)
                if whole < size:
                    os.ftruncate(file, whole)
                start = _encoded(HEADER) if not whole else b"\n" if is_open else b""
                _write(file, start + text)
        except OSError as error:
            raise ConfigurationError(f"the cassette {str(self.path)!r} cannot be written: {error}") from error

    def begin_anew(self) -> None:
        """Put a new, empty cassette in the place of the file, in one step.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_encoded(HEADER))
            temporary.replace(self.path)
        except OSError as error:
            raise ConfigurationError(f"the cassette {str(self.path)!r} cannot be written: {error}") from error
        self._at = self._line = self._inode = 0
        self._is_open = False


def _encoded(line: Mapping[str, object]) -> bytes:
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _whole_length(data: bytes) -> int:
    """Give the length of the whole lines; the last one counts without its end too, as editors leave it, if it is whole.

    Nothing is lost on one that is still being written: the beginning of an object is no JSON.
    """
    end = data.rfind(b"\n") + 1
    try:
        json.loads(data[end:])
    except (ValueError, RecursionError):
        return end
    return len(data)


def _whole_bytes(file: int, size: int) -> tuple[int, bool]:
    """Give the length of a file up to the end of its last whole line, and whether that lacks the end of a line."""
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
def _locked(path: Path) -> Generator[int]:
    """Hold the file that stands under this name for writing; another process may put a new one in its place."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            lock_file(file)
            if os.fstat(file).st_ino == path.stat().st_ino:
                yield file
                return
        finally:
            os.close(file)
