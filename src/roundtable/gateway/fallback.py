"""Ask the next model when one fails."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from roundtable.core.chat_models import announcing, close_stream, facts_of, make_ready
from roundtable.core.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ConfigurationError,
    RoundtableError,
)
from roundtable.core.types.chat import ChatDelta, ChatResponse, Usage
from roundtable.core.types.model_facts import ModelFacts, RetryNotice
from roundtable.gateway.streams import ChatStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

    from roundtable.core.protocols import ChatModel
    from roundtable.core.types.agents import ModelProfile
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.chat import ChatRequest

__all__ = ["FallbackModel"]

_log: logging.Logger = logging.getLogger(__name__)

FALLBACK_ERRORS: Final = (APIRateLimitError, APIAuthError, APINetworkError, APITimeoutError, AgentError)
"""Errors after which a model of another provider may still answer."""


class FallbackModel:
    """A `ChatModel` that asks the next model when a model fails.

    Each call tries the models in the given order. It tries the next one after a rate limit, a refused key, a failure of
    the network or the server, a time-out, a prompt that is too long for the model's window, and a request that the
    provider does not accept. All other errors (a used-up budget, an unsuitable configuration, a cancellation) are
    raised at once. A text in which a model refuses to answer counts as an answer.

    If a stream has already passed on pieces, it moves to another model only if a callback learns that these pieces are
    void (see `asking`), because pieces of two answers do not form one answer.

    The response names the model that answered in `provider` and `model`. Its `warnings` explain why each earlier model
    failed. Both are stored with the turn. The usage of failed tries, if it is known, is added to the usage of the
    answer.

    Prompts are created once, for the first model, and cut to the smallest window of all models. At a table, each model
    is guarded separately, with the limits, retries, prices and deadline of its own provider.

    Args:
        models: The models, first choice first; nested fallbacks are flattened.

    Raises:
        ConfigurationError: There are no models, or an argument is not a model.

    Example:
        >>> import anyio
        >>> from roundtable.errors import APITimeoutError
        >>> from roundtable.providers import ScriptedModel
        >>> from roundtable.types import ChatRequest
        >>> model = FallbackModel(ScriptedModel([APITimeoutError()]), ScriptedModel(["Yes."], model="spare"))
        >>> answer = anyio.run(model.complete, ChatRequest(model="", messages=()))
        >>> answer.text, answer.model, answer.warnings
        ('Yes.', 'spare', ('scripted:scripted did not answer: API request timed out',))
    """

    def __init__(self, *models: ChatModel) -> None:
        flat: list[ChatModel] = []
        for model in models:
            flat.extend(model.models if isinstance(model, FallbackModel) else (model,))
        if not flat:
            raise ConfigurationError("FallbackModel needs at least one model")
        invalid = [model for model in flat if not callable(getattr(model, "complete", None))]
        if invalid:
            raise ConfigurationError(
                f"FallbackModel takes models, not {invalid[0]!r}",
                hint="Create models by name with table.chat_model('provider:model'), or with chat_model.",
            )
        self.models: tuple[ChatModel, ...] = tuple(flat)
        """The models, first choice first."""
        self._before: Callable[[], Awaitable[None]] | None = None
        self._on_retry: Callable[[RetryNotice], Awaitable[None]] | None = None

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(map(repr, self.models))})"

    @property
    def provider(self) -> str:
        """Provider of the first choice."""
        return self.models[0].provider

    @property
    def model(self) -> str:
        """Model id of the first choice."""
        return self.models[0].model

    @property
    def endpoint(self) -> str:
        """Root of the API of the first choice; empty if there is none."""
        return facts_of(self.models[0]).endpoint

    @property
    def facts(self) -> ModelFacts:
        """The endpoint of the first choice; everything else differs from model to model."""
        return ModelFacts(endpoint=self.endpoint)

    @property
    def inner_models(self) -> tuple[ChatModel, ...]:
        """The models, first choice first."""
        return self.models

    @property
    def profile(self) -> ModelProfile:
        """Profile of the first choice, with the smallest window of all models and only the inputs that all accept."""
        first = self.models[0].profile
        smallest = min(model.profile.context_tokens for model in self.models)
        inputs = tuple(kind for kind in first.inputs if all(kind in model.profile.inputs for model in self.models))
        if (smallest, inputs) == (first.context_tokens, first.inputs):
            return first
        return first.model_copy(update={"context_tokens": smallest, "inputs": inputs})

    def with_inner_models(self, models: Sequence[ChatModel], /) -> FallbackModel:
        """Return the same chain of other models."""
        chain = FallbackModel(*models)
        chain._before, chain._on_retry = self._before, self._on_retry
        return chain

    def asking(
        self,
        before: Callable[[], Awaitable[None]],
        on_retry: Callable[[RetryNotice], Awaitable[None]] | None = None,
    ) -> FallbackModel:
        """Return this model with callbacks that run before each try of each model; see `AnnouncesCalls`.

        Args:
            before: Awaited before each try; if it raises an error, the try does not start.
            on_retry: Called with each retry, and also when a stream that has passed on pieces moves to the next model.
        """
        chain = FallbackModel(*self.models)
        chain._before, chain._on_retry = before, on_retry
        return chain

    async def prepare(self) -> None:
        """Prepare every model: each downloads or loads what it needs.

        An unavailable model is only logged, since calls skip it later. If all models are unavailable, an error is
        raised.

        Raises:
            RoundtableError: No model is available.
        """
        failed: list[RoundtableError] = []
        for model in self.models:
            try:
                await make_ready(model)
            except RoundtableError as error:
                _log.warning("a fallback model is not available: %s", error.message, extra=_log_fields(model))
                failed.append(error)
        if len(failed) == len(self.models):
            raise failed[0]

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: Every model failed; the error has the kind of the last one, and all causes. Or one model
                failed in a way that another model cannot fix.
        """
        failures = _Failures(self.models[-1])
        for model in self.models:
            fitted = self._fit(request, model)
            try:
                ready = await self._ready(model)
                return failures.mark(await ready.complete(fitted), model, _unsupported_parts(request, fitted))
            except RoundtableError as error:
                failures.add(error, model)
        raise failures.to_error()

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces, then with the complete response; see `ChatStream`.

        Iterating raises the errors of `complete`, and also an error if a model failed after it passed on a piece.
        """
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        failures = _Failures(self.models[-1])
        for number, model in enumerate(self.models, 1):
            fitted = self._fit(request, model)
            pieces: AsyncIterator[ChatDelta | ChatResponse] | None = None
            shown = False
            try:
                ready = await self._ready(model)
                pieces = ready.stream(fitted)
                async for piece in pieces:
                    if isinstance(piece, ChatResponse):
                        yield failures.mark(piece, model, _unsupported_parts(request, fitted))
                        return
                    shown = shown or bool(piece.text)
                    yield piece
                failure: RoundtableError = APINetworkError("the stream ended without its response")
            except RoundtableError as error:
                failure = error
            finally:
                if pieces is not None:
                    await close_stream(pieces)
            failures.add(failure, model, shown=shown and self._on_retry is None)
            if shown and self._on_retry is not None and number < len(self.models):
                await self._on_retry(RetryNotice(number + 1, 0.0, failure, shown=True))
        raise failures.to_error()

    async def aclose(self) -> None:
        """Close every model; if some fail, all are closed before the first error is raised."""
        failure: Exception | None = None
        for model in self.models:
            try:
                await model.aclose()
            except Exception as error:  # noqa: BLE001  (the other models must be closed too)
                failure = failure or error
        if failure is not None:
            raise failure

    async def _ready(self, model: ChatModel) -> ChatModel:
        """Return a model that awaits `before` ahead of its call; if the model cannot do that, await `before` now."""
        if self._before is None:
            return model
        told = announcing(model, self._before, self._on_retry)
        if told is not None:
            return told
        await self._before()
        return model

    def _fit(self, request: ChatRequest, model: ChatModel) -> ChatRequest:
        """Adapt a request that was made for the first model to another one."""
        if model is self.models[0]:
            return request
        changes: dict[str, object] = {"model": model.model}
        if request.output_schema is not None and not model.profile.structured_output:
            changes["output_schema"] = None
        tools = request.tools if model.profile.calls_tools else ()
        if len(tools) < len(request.tools):
            changes["tools"] = tools
        if request.search:
            profile = model.profile
            alone = profile.search_alone and bool(tools)
            fitted = None if profile.search is None or alone else profile.search.fitted(request.search)
            changes["search"] = fitted or profile.no_search
        return request.model_copy(update=changes)


class _Failures:
    """The failed models of one call."""

    def __init__(self, last: ChatModel) -> None:
        self._last = last
        self._failed: list[tuple[ChatModel, RoundtableError]] = []

    def add(self, error: RoundtableError, model: ChatModel, *, shown: bool = False) -> None:
        """Record an error; raise it if another model cannot help, or must not continue the answer.

        Raises:
            RoundtableError: The error, with the usage of all tries.
        """
        if shown or error.code == "AGENT_HALTED" or not isinstance(error, FALLBACK_ERRORS):
            error.usage = self._total_usage(error.usage)
            raise error
        if model is not self._last:
            _log.warning("asking the next model: %s", error.message, extra=_log_fields(model))
        self._failed.append((model, error))

    def _total_usage(self, last: Usage | None) -> Usage | None:
        usages = [error.usage for _, error in self._failed if error.usage is not None]
        usages += [] if last is None else [last]
        return sum(usages, Usage()) if usages else None

    def mark(self, response: ChatResponse, model: ChatModel, notes: tuple[str, ...] = ()) -> ChatResponse:
        """Return a response with the name of the model that answered, the failed models, and notes for the reader."""
        changes: dict[str, object] = {
            "provider": response.provider or model.provider,
            "model": response.model or model.model,
        }
        if self._failed:
            warnings = (
                f"{failed.provider}:{failed.model} did not answer: {error.message}" for failed, error in self._failed
            )
            changes["warnings"] = (*warnings, *notes, *response.warnings)
            changes["usage"] = self._total_usage(response.usage)
        return response.model_copy(update=changes)

    def to_error(self) -> RoundtableError:
        """Return the error of a call that no model answered."""
        errors = [error for _, error in self._failed]
        last = errors[-1]
        if len(errors) == 1:
            return last
        causes: list[JsonValue] = [{**error.to_dict(), "model": model.model} for model, error in self._failed]
        waits = [error.retry_after_s for error in errors if error.retry_after_s is not None]
        failure = type(last)(
            f"none of {len(errors)} models answered; "
            + "; ".join(f"{model.provider}:{model.model}: {error.message}" for model, error in self._failed),
            code=last.code,
            provider=last.provider,
            retryable=any(error.retryable for error in errors),
            cause=last,
            hint=last.hint,
            request_id=last.request_id,
            retry_after_s=min(waits, default=None),
            details={"tried": causes},
        )
        failure.usage = self._total_usage(None)
        return failure


def _unsupported_parts(request: ChatRequest, fitted: ChatRequest) -> tuple[str, ...]:
    """Return warnings about the parts of a request that this model does not support."""
    warnings = []
    if request.search and not fitted.search:
        warnings.append("the answer was given without a search of the web")
    if request.tools and not fitted.tools:
        warnings.append("the answer was given without tools")
    return tuple(warnings)


def _log_fields(model: ChatModel) -> dict[str, str]:
    return {"provider": model.provider, "model": model.model}
