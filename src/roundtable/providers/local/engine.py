"""The engine of the embedded model: xllamacpp behind a small interface."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Protocol, cast

from roundtable.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roundtable.core.types.base import JsonObject

__all__ = ["Engine", "LlamaEngine", "missing_extra_error"]


class Engine(Protocol):
    """Interface of one loaded model."""

    def chat(self, body: JsonObject, take: Callable[[JsonObject], bool]) -> None:
        """Generate an answer; blocks. `take` gets each piece, and stops the generation by returning true."""

    def close(self) -> None:
        """Free the memory; idempotent. It is not called while `chat` runs."""


class _Model(Protocol):
    path: str


class _Cpu(Protocol):
    n_threads: int


class _Params(Protocol):
    model: _Model
    cpuparams: _Cpu
    cpuparams_batch: _Cpu
    n_ctx: int
    n_parallel: int
    verbosity: int
    cache_ram_mib: int
    api_keys: list[str]
    n_threads_http: int
    ui: bool
    endpoint_slots: bool


class _Server(Protocol):
    def handle_chat_completions(self, body: JsonObject, take: Callable[[JsonObject], bool]) -> None: ...


class _Runtime(Protocol):
    """The part of xllamacpp that this module uses; the package has no type information."""

    # The methods have the names of the extension module.
    def CommonParams(self) -> _Params: ...  # noqa: N802

    # As above.
    def Server(self, params: _Params) -> _Server: ...  # noqa: N802


class LlamaEngine:
    """A GGUF file loaded by llama.cpp, in this process.

    Args:
        path: The file.
        context_tokens: Size of the context window.
        threads: Number of compute threads. More threads than idle cores make the model many times slower.

    Raises:
        ConfigurationError: xllamacpp is not installed, or the file cannot be loaded.
    """

    def __init__(self, path: Path, *, context_tokens: int, threads: int = 1) -> None:
        try:
            # The extension module has no type information.
            import xllamacpp  # type: ignore[import-untyped]
        except ImportError as exc:
            raise missing_extra_error(exc) from exc
        runtime = cast("_Runtime", xllamacpp)
        params = runtime.CommonParams()
        params.model.path = str(path)
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.n_ctx = context_tokens
        params.n_parallel = 1
        # No output: the standard streams belong to the application.
        params.verbosity = -1
        # With a prompt cache, an answer would depend on earlier requests.
        params.cache_ram_mib = 0
        # The engine always listens on a loopback port; a random key keeps other clients out.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.n_threads_http = 1
        params.ui = False
        params.endpoint_slots = False
        try:
            self._server: _Server | None = runtime.Server(params)
        except RuntimeError as exc:
            raise ConfigurationError(
                f"{path} cannot be loaded as a model",
                provider="local",
                cause=exc,
                hint="Use a GGUF file of a chat model that llama.cpp supports and that fits into memory.",
            ) from exc

    def chat(self, body: JsonObject, take: Callable[[JsonObject], bool]) -> None:
        """Generate an answer; blocks. `take` gets each piece, and stops the generation by returning true.

        Raises:
            ValueError: The engine rejects the request, for example its schema.
        """
        if self._server is not None:
            self._server.handle_chat_completions(
                {**body, "stream": True, "stream_options": {"include_usage": True}}, take
            )

    def close(self) -> None:
        """Free the memory once no generation is running; idempotent."""
        self._server = None


def missing_extra_error(cause: BaseException | None = None) -> ConfigurationError:
    """Return the error for a missing xllamacpp, with the command that installs it."""
    return ConfigurationError(
        "the provider 'local' needs xllamacpp, which is not installed",
        provider="local",
        cause=cause,
        hint="pip install 'roundtable-sdk[local]'",
    )
