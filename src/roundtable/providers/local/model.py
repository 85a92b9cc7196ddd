"""A model that runs inside this process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from roundtable._loops import PerLoop
from roundtable.errors import AgentError, RoundtableError
from roundtable.providers.openai_chat.answers import ChatDraft, error_inside
from roundtable.providers.whole import WholeAnswers
from roundtable.providers.wire import items_of, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from roundtable.providers.local.engine import Engine
    from roundtable.types import ChatRequest, ChatResponse, JsonObject, ModelProfile

__all__ = ["LoadedModel", "LocalModel"]

T = TypeVar("T")


@dataclass(slots=True)
class LoadedModel:
    """One model in memory, shared by all agents of the process that use it; loaded on first use."""

    locate: Callable[[threading.Event], Path]
    """Gives the file, fetching it if need be; blocks until the event is set."""
    load: Callable[[Path], Engine]
    """Loads the file; blocks."""
    engine: Engine | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    turns: PerLoop[anyio.CapacityLimiter] = field(default_factory=lambda: PerLoop(partial(anyio.CapacityLimiter, 1)))

    def ready(self, stopped: threading.Event) -> Engine:
        """Load the model unless it is loaded; blocks."""
        with self.lock:
            if self.engine is None:
                self.engine = self.load(self.locate(stopped))
            return self.engine

    def close(self) -> None:
        """Free the memory; idempotent."""
        with self.lock:
            engine, self.engine = self.engine, None
        if engine is not None:
            engine.close()


class LocalModel(WholeAnswers):
    """A `ChatModel` inside this process; made by `LocalProvider`.

    A call runs in a worker thread, one at a time per loaded model, so the event loop is never held up. A call
    that is cancelled is left at once; its thread stops at the next token, or when the prompt has been read.

    Args:
        loaded: The model in memory.
        name: Model id.
        profile: What prompts are made for.
        max_tokens: Most tokens of one answer, whatever a request asks for.
        on_close: What to do when the model is closed.
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
        """Fetch and load the model now rather than on the first call, whose deadline it would eat into.

        Raises:
            RoundtableError: The model cannot be had or loaded.
        """
        await self._in_thread(self._loaded.ready)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            ContextTooLong: The prompt does not fit the model's context window.
            AgentError: The answer is empty, or the request cannot be carried out.
            ConfigurationError: The model cannot be loaded.
        """
        return await self._in_thread(partial(self._answer, self._body(request)))

    async def aclose(self) -> None:
        """Free the memory, unless another agent still uses the model; idempotent."""
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            await on_close()

    async def _in_thread(self, work: Callable[[threading.Event], T]) -> T:
        stopped = threading.Event()
        turns = self._loaded.turns.get()
        try:
            return await anyio.to_thread.run_sync(work, stopped, abandon_on_cancel=True, limiter=turns)
        finally:
            stopped.set()

    def _body(self, request: ChatRequest) -> JsonObject:
        body: JsonObject = {
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "max_tokens": min(request.max_tokens, self._max_tokens),
            # Small models repeat themselves without it.
            "repeat_penalty": 1.1,
            # What was asked before must not change an answer by way of rounding.
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

    def _answer(self, body: JsonObject, stopped: threading.Event) -> ChatResponse:
        engine = self._loaded.ready(stopped)
        draft = ChatDraft(self.provider, {})
        errors: list[RoundtableError] = []

        def take(piece: JsonObject) -> bool:
            if error := error_inside(self.provider, {}, piece):
                errors.append(error)
            draft.take_header(piece)
            for choice in map(object_of, items_of(piece.get("choices"))):
                draft.take_message(object_of(choice.get("delta")))
                draft.reason = text_of(choice.get("finish_reason")) or draft.reason
            return stopped.is_set()

        try:
            engine.chat(body, take)
        except ValueError as exc:
            raise AgentError(
                f"the model cannot carry this out: {str(exc)[:300]}", provider=self.provider, cause=exc
            ) from exc
        if errors:
            raise errors[0]
        # The engine makes an id up for each answer; nobody could look one up by it.
        return draft.response().model_copy(update={"model": self.model, "request_id": None})
