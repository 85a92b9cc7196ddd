"""Asking the next model when one fails."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    ConfigurationError,
    RoundtableError,
)
from roundtable.gateway.guarded import GuardedModel
from roundtable.gateway.streams import ChatStream
from roundtable.gateway.tries import RetryNotice
from roundtable.gateway.wrapping import close_stream, endpoint_of, make_ready
from roundtable.types import ChatDelta, ChatResponse, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, JsonValue, ModelProfile

__all__ = ["FallbackModel"]

_log: logging.Logger = logging.getLogger(__name__)

ELSEWHERE: Final = (APIRateLimitError, APIAuthError, APINetworkError, APITimeoutError, AgentError)
"""Errors that another provider may not have."""


class FallbackModel:
    """A `ChatModel` that asks the next model when one fails.

    Models are tried in the order given, once a call. The next one is tried after a rate limit, a refused
    key, a failing network or server, a time-out, a prompt too long for the model's window, and a request the provider
    does not accept. Anything else (a spent budget, a configuration that does not fit, a cancellation) is raised at
    once. An answer is an answer, also one in which a model refuses to say anything.

    A stream of which a piece was given moves to another model only where somebody is told that the pieces so far are
    void (see `asking`): the pieces of two answers make none.

    The response says who answered in `provider` and `model`, and for each model passed over, why, in `warnings`; both
    are kept with the turn. Usage of failed tries is added to the answer's, where it is known.

    Prompts are made once, for the first model, cut to the smallest window of all. At a table, each model is guarded for
    itself: the limits, retries, prices and deadline of its own provider hold for it.

    Args:
        models: The models, first choice first; fallbacks among them are taken apart.

    Raises:
        ConfigurationError: There is no model, or something that is none.

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
        strange = [one for one in flat if not callable(getattr(one, "complete", None))]
        if strange:
            raise ConfigurationError(
                f"FallbackModel takes models, not {strange[0]!r}",
                hint="Make models by name with table.chat_model('provider:model'), or with chat_model.",
            )
        self.models: tuple[ChatModel, ...] = tuple(flat)
        """The models, first choice first."""
        self._before: Callable[[], Awaitable[None]] | None = None
        self._told: Callable[[RetryNotice], Awaitable[None]] | None = None

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
        """Root of the API of the first choice; empty where there is none."""
        return endpoint_of(self.models[0])

    @property
    def profile(self) -> ModelProfile:
        """Profile of the first choice, with the smallest window of all."""
        first = self.models[0].profile
        smallest = min(model.profile.context_tokens for model in self.models)
        return first if smallest == first.context_tokens else first.model_copy(update={"context_tokens": smallest})

    def over(self, wrap: Callable[[ChatModel], ChatModel]) -> FallbackModel:
        """Give the same chain with something round each model."""
        double = FallbackModel(*(wrap(model) for model in self.models))
        double._before, double._told = self._before, self._told
        return double

    def asking(
        self,
        before: Callable[[], Awaitable[None]],
        told: Callable[[RetryNotice], Awaitable[None]] | None = None,
    ) -> FallbackModel:
        """Give this model with a question that is asked before each try of each model; see `GuardedModel.asking`.

        Args:
            before: The question; what it raises keeps the try from starting.
            told: Hears of each retry, and of each move of a stream to the next model after pieces of it were given.
        """
        double = FallbackModel(*self.models)
        double._before, double._told = before, told
        return double

    async def prepare(self) -> None:
        """Let every model that has to fetch or load something do so.

        A model that cannot be had is passed over now as it would be later, unless none is left.

        Raises:
            RoundtableError: No model can be had.
        """
        failed: list[RoundtableError] = []
        for model in self.models:
            try:
                await make_ready(model)
            except RoundtableError as error:
                _log.warning("a model of a fallback cannot be had: %s", error.message, extra=_name_of(model))
                failed.append(error)
        if len(failed) == len(self.models):
            raise failed[0]

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: Every model failed, with the last error's kind and all causes; or one failed in a way
                that no other model helps against.
        """
        tried = _Tried(self.models[-1])
        for model in self.models:
            asked = await self._ready(model)
            try:
                return tried.mark(await asked.complete(self._fit(request, model)), model)
            except RoundtableError as error:
                tried.note(error, model)
        raise tried.failure()

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces, then whole; as a block it gives the pieces alone and keeps the response.

        What iterates gets what `complete` raises, also when a model failed after a piece of its answer was given.
        """
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        tried = _Tried(self.models[-1])
        for place, model in enumerate(self.models, 1):
            asked = await self._ready(model)
            pieces = asked.stream(self._fit(request, model))
            shown = False
            try:
                async for piece in pieces:
                    if isinstance(piece, ChatResponse):
                        yield tried.mark(piece, model)
                        return
                    shown = shown or bool(piece.text)
                    yield piece
                failure: RoundtableError = APINetworkError("the stream ended without its response")
            except RoundtableError as error:
                failure = error
            finally:
                await close_stream(pieces)
            tried.note(failure, model, shown=shown and self._told is None)
            if shown and self._told is not None and place < len(self.models):
                await self._told(RetryNotice(place + 1, 0.0, failure, shown=True))
        raise tried.failure()

    async def aclose(self) -> None:
        """Release every model; the first failure is raised once all were tried."""
        failure: Exception | None = None
        for model in self.models:
            try:
                await model.aclose()
            except Exception as error:  # noqa: BLE001  (one that cannot be closed must not keep the others open)
                failure = failure or error
        if failure is not None:
            raise failure

    async def _ready(self, model: ChatModel) -> ChatModel:
        """Give a model that asks before its call, or ask now."""
        if self._before is None:
            return model
        if isinstance(model, GuardedModel):
            return model.asking(self._before, self._told)
        await self._before()
        return model

    def _fit(self, request: ChatRequest, model: ChatModel) -> ChatRequest:
        """Put a request, which was made for the first model, in the terms of another."""
        if model is self.models[0]:
            return request
        facts: dict[str, object] = {"model": model.model}
        if request.output_schema is not None and not model.profile.structured_output:
            facts["output_schema"] = None
        return request.model_copy(update=facts)


class _Tried:
    """What became of the models tried so far."""

    def __init__(self, last: ChatModel) -> None:
        self._last = last
        self._failed: list[tuple[ChatModel, RoundtableError]] = []

    def note(self, error: RoundtableError, model: ChatModel, *, shown: bool = False) -> None:
        """Keep an error; raise it where no other model helps against it, or none may take over.

        Raises:
            RoundtableError: The error.
        """
        if shown or not isinstance(error, ELSEWHERE):
            error.usage = self._spent(error.usage)
            raise error
        if model is not self._last:
            _log.warning("asking the next model: %s", error.message, extra=_name_of(model))
        self._failed.append((model, error))

    def _spent(self, last: Usage | None) -> Usage | None:
        known = [error.usage for _, error in self._failed if error.usage is not None]
        known += [] if last is None else [last]
        return sum(known, Usage()) if known else None

    def mark(self, response: ChatResponse, model: ChatModel) -> ChatResponse:
        """Write on a response who gave it, and who did not."""
        facts: dict[str, object] = {
            "provider": response.provider or model.provider,
            "model": response.model or model.model,
        }
        if self._failed:
            notes = (f"{one.provider}:{one.model} did not answer: {error.message}" for one, error in self._failed)
            facts["warnings"] = (*notes, *response.warnings)
            facts["usage"] = self._spent(response.usage)
        return response.model_copy(update=facts)

    def failure(self) -> RoundtableError:
        """Give the error of a call that no model answered."""
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
        failure.usage = self._spent(None)
        return failure


def _name_of(model: ChatModel) -> dict[str, str]:
    return {"provider": model.provider, "model": model.model}
