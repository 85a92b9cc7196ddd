"""The one place every model call passes: admission, deadline, errors and usage in one shape."""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

import anyio

from roundtable.errors import AgentError, APITimeoutError, ConfigurationError, RoundtableError
from roundtable.http.loops import PerLoop
from roundtable.types import ChatDelta, ChatResponse, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator

    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, ModelProfile

__all__ = ["Gateway", "GuardedModel", "as_own_error", "sane_usage"]

_log: logging.Logger = logging.getLogger(__name__)
MESSAGE_CHARS: Final = 500
"""Most characters of a foreign error's text that are passed on."""


class Gateway:
    """Guards models, whoever wrote them: HTTP, local or a plugin's.

    Models guarded by one gateway share its limits. A call

    - waits until fewer than `concurrency` calls of its provider, address and model are under way;
    - ends with `APITimeoutError` at its total deadline, which starts once it is let in;
    - fails with a `RoundtableError` only: a foreign exception becomes an `AgentError` that keeps it as its
      cause, a group of exceptions never gets out, cancellation and other `BaseException`s pass untouched;
    - reports usage that is never negative and counts at least one call.

    Args:
        concurrency: Most calls under way at once per provider, address and model, in each event loop.
        timeout_s: Total deadline of a call in seconds; `None` leaves it to the model.

    Example:
        >>> import anyio
        >>> from roundtable.providers.scripted import ScriptedModel
        >>> from roundtable.types import ChatRequest
        >>> model = Gateway(concurrency=2, timeout_s=5).guard(ScriptedModel(["Yes."]))
        >>> anyio.run(model.complete, ChatRequest(model="", messages=())).text
        'Yes.'
    """

    def __init__(self, *, concurrency: int = 8, timeout_s: float | None = None) -> None:
        if concurrency < 1:
            raise ConfigurationError(f"concurrency must be at least 1, not {concurrency!r}")
        self.concurrency = concurrency
        self.timeout_s: float | None = _checked(timeout_s)
        self._limiters: PerLoop[dict[tuple[str, str, str], anyio.CapacityLimiter]] = PerLoop(dict)

    def guard(self, model: ChatModel, *, timeout_s: float | None = None) -> ChatModel:
        """Wrap a model; one that this gateway guards already is given back as it is.

        Args:
            model: The model.
            timeout_s: Total deadline of its calls in seconds; the gateway's when left out.
        """
        if isinstance(model, GuardedModel) and model.gateway is self:
            return model
        return GuardedModel(self, model, self.timeout_s if timeout_s is None else _checked(timeout_s))

    @asynccontextmanager
    async def admit(self, model: ChatModel, request: ChatRequest) -> AsyncGenerator[None]:
        """Wait for a place among the calls under way, and hold it."""
        limiters = self._limiters.get()
        key = (model.provider, str(getattr(model, "endpoint", "")), request.model or model.model)
        limiter = limiters.get(key)
        if limiter is None:
            limiter = limiters[key] = anyio.CapacityLimiter(self.concurrency)
        # An own borrower: a stream may be closed by another task than the one that opened it.
        borrower = object()
        try:
            limiter.acquire_on_behalf_of_nowait(borrower)
        except anyio.WouldBlock:
            await limiter.acquire_on_behalf_of(borrower)
        try:
            yield
        finally:
            limiter.release_on_behalf_of(borrower)


class GuardedModel:
    """A `ChatModel` whose calls pass a gateway; made by `Gateway.guard`.

    Args:
        gateway: Whose limits hold.
        inner: The model that answers.
        timeout_s: Total deadline of a call in seconds.
        before: Is awaited once a call is let in and before it starts; what it raises keeps the call from starting.
    """

    def __init__(
        self,
        gateway: Gateway,
        inner: ChatModel,
        timeout_s: float | None,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.gateway = gateway
        self.inner = inner
        self.timeout_s = timeout_s
        self._before = before

    def asking(self, before: Callable[[], Awaitable[None]]) -> GuardedModel:
        """Give this model with a question that is asked before each call, after the wait for admission.

        A call may wait long to be let in; whether it is still wanted is known only then.
        """
        return GuardedModel(self.gateway, self.inner, self.timeout_s, before)

    def __repr__(self) -> str:
        return f"GuardedModel({self.inner!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.inner.provider

    @property
    def model(self) -> str:
        """Model id used when a request names none."""
        return self.inner.model

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self.inner.profile

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: The call failed, or did not end in time.
        """
        async with self.gateway.admit(self.inner, request):
            if self._before is not None:
                await self._before()
            with anyio.move_on_after(self.timeout_s), _own_errors(self.inner):
                return self._whole(await self.inner.complete(request))
            raise self._late()

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta | ChatResponse]:
        """Answer in pieces, then whole; close the iterator to end the call.

        Raises:
            RoundtableError: The call failed, did not end in time, or ended without its response.
        """
        async with self.gateway.admit(self.inner, request):
            if self._before is not None:
                await self._before()
            # A cancel scope may not stay open across a yield, so each step gets what is left of the time.
            deadline = math.inf if self.timeout_s is None else anyio.current_time() + self.timeout_s
            pieces = self.inner.stream(request)
            try:
                while True:
                    piece = await self._piece(pieces, deadline)
                    yield piece
                    if isinstance(piece, ChatResponse):
                        return
            finally:
                close = getattr(pieces, "aclose", None)
                if close is not None:
                    await close()

    async def aclose(self) -> None:
        """Release what the model holds; idempotent."""
        await self.inner.aclose()

    async def _piece(
        self, pieces: AsyncIterator[ChatDelta | ChatResponse], deadline: float
    ) -> ChatDelta | ChatResponse:
        if deadline == math.inf:
            return await self._next(pieces)
        with anyio.CancelScope(deadline=deadline):
            return await self._next(pieces)
        raise self._late()

    async def _next(self, pieces: AsyncIterator[ChatDelta | ChatResponse]) -> ChatDelta | ChatResponse:
        with _own_errors(self.inner):
            piece = await anext(pieces, None)
            return piece if isinstance(piece, ChatDelta) else self._whole(piece)

    def _whole(self, response: object) -> ChatResponse:
        if not isinstance(response, ChatResponse):
            raise AgentError(
                f"the model {self.model!r} gave {type(response).__name__} where a ChatResponse was due",
                provider=self.provider,
                hint="This is a fault in the provider's code; report it to its authors.",
            )
        usage = sane_usage(response.usage)
        return response if usage == response.usage else response.model_copy(update={"usage": usage})

    def _late(self) -> APITimeoutError:
        return APITimeoutError(f"no complete answer within {self.timeout_s:g} s", provider=self.provider)


def sane_usage(usage: Usage) -> Usage:
    """Read usage so that sums of it make sense: no negative count, at least one call, a finite price or none.

    Example:
        >>> sane_usage(Usage(input_tokens=3)).calls
        1
    """
    cost = usage.cost_usd
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )
    if usage.calls >= 1 and min(counts) >= 0 and (cost is None or (math.isfinite(cost) and cost >= 0)):
        return usage
    return Usage(
        input_tokens=max(0, usage.input_tokens),
        output_tokens=max(0, usage.output_tokens),
        cache_read_tokens=max(0, usage.cache_read_tokens),
        cache_write_tokens=max(0, usage.cache_write_tokens),
        reasoning_tokens=max(0, usage.reasoning_tokens),
        calls=max(1, usage.calls),
        cost_usd=cost if cost is not None and math.isfinite(cost) and cost >= 0 else None,
        partial_cost_usd=usage.partial_cost_usd,
    )


@contextmanager
def _own_errors(model: ChatModel) -> Generator[None]:
    try:
        yield
    except RoundtableError:
        raise
    # Whatever a plugin's code raises: this is where it becomes one of ours.
    except Exception as exc:  # noqa: BLE001
        error = as_own_error(exc, model.provider)
        _log.debug("model call failed", extra={"provider": model.provider, "error": type(exc).__name__})
        raise error from error.__cause__


def as_own_error(exc: Exception, provider: str) -> RoundtableError:
    """Give the library's error for any exception; its own ones are taken out of a group unchanged."""
    if isinstance(exc, RoundtableError):
        return exc
    if isinstance(exc, ExceptionGroup):
        # Several tasks of one call failed together; the first failure is the one that ended it.
        return as_own_error(exc.exceptions[0], provider)
    text = " ".join(str(exc).split())[:MESSAGE_CHARS]
    return AgentError(
        f"the model call failed: {type(exc).__name__}" + (f": {text}" if text else ""), provider=provider, cause=exc
    )


def _checked(timeout_s: float | None) -> float | None:
    if timeout_s is not None and not timeout_s > 0:
        raise ConfigurationError(f"timeout_s must be a positive number of seconds, not {timeout_s!r}")
    return timeout_s
