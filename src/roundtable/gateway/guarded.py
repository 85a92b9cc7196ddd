"""A model whose calls pass the gateway."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeVar

import anyio

from roundtable._foreign import error_text
from roundtable.errors import AgentError, CircuitOpen, RoundtableError
from roundtable.gateway.lanes import Rates
from roundtable.gateway.metering import MeteredModel, ReservedModel
from roundtable.gateway.retry import RetryRule
from roundtable.gateway.streams import ChatStream
from roundtable.gateway.tries import Deadline, Tries, is_missed
from roundtable.gateway.usage import sane_usage
from roundtable.gateway.wrapping import WrappedModel, close_stream, tell_missed
from roundtable.types import ChatDelta, ChatResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from types import TracebackType

    from roundtable.gateway.gateway import Gateway
    from roundtable.gateway.lanes import Lane
    from roundtable.gateway.tries import RetryNotice
    from roundtable.protocols import ChatModel
    from roundtable.types import ChatRequest, RetryPolicy

__all__ = ["Guard", "GuardedModel", "as_own_error"]

_log: logging.Logger = logging.getLogger("roundtable.gateway")
MESSAGE_CHARS: Final = 500
"""Most characters of a foreign error's text that are passed on."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What holds for the calls of one guarded model."""

    timeout_s: float | None = None
    """Total deadline of a call in seconds, tries and waits included."""
    rule: RetryRule = field(default_factory=RetryRule)
    """What is tried again."""
    rates: Rates = field(default_factory=Rates)
    """What its provider allows in a minute."""
    before: Callable[[], Awaitable[None]] | None = None
    """Is awaited before each try; what it raises keeps the try from starting."""
    told: Callable[[RetryNotice], Awaitable[None]] | None = None
    """Hears of retries."""


class GuardedModel(WrappedModel):
    """A `ChatModel` whose calls pass a gateway; made by `Gateway.guard`.

    Args:
        gateway: Whose limits hold.
        inner: The model that answers.
        guard: What holds for its calls.
    """

    def __init__(self, gateway: Gateway, inner: ChatModel, guard: Guard) -> None:
        super().__init__(inner)
        self.gateway = gateway
        self.guard = guard

    def asking(
        self,
        before: Callable[[], Awaitable[None]],
        told: Callable[[RetryNotice], Awaitable[None]] | None = None,
    ) -> GuardedModel:
        """Give this model with a question that is asked before each try, after the wait for admission.

        A call may wait long to be let in; whether it is still wanted is known only then.

        Args:
            before: The question; what it raises keeps the try from starting.
            told: Hears of each retry before it is waited for. With it, a stream that broke off is tried again even
                if pieces of it were given out: whoever shows them has been told that they are void.
        """
        return GuardedModel(self.gateway, self.inner, replace(self.guard, before=before, told=told))

    def with_retry(self, policy: RetryPolicy) -> GuardedModel:
        """Give this model with a policy for retries that wins over the gateway's rule."""
        return GuardedModel(self.gateway, self.inner, replace(self.guard, rule=RetryRule.of(policy)))

    def over(self, wrap: Callable[[ChatModel], ChatModel]) -> GuardedModel:
        """Give this model with something round the one that answers."""
        inner = wrap(self.inner)
        return self if inner is self.inner else GuardedModel(self.gateway, inner, self.guard)

    def tried_once(self, timeout_s: float) -> GuardedModel:
        """Give this model without retries and with this many seconds for a call, unless it has fewer."""
        own = self.guard.timeout_s
        rule = replace(self.guard.rule, on=frozenset())
        guard = replace(self.guard, timeout_s=timeout_s if own is None else min(own, timeout_s), rule=rule)
        return GuardedModel(self.gateway, self.inner, guard)

    @property
    def lane(self) -> Lane:
        """State of the provider, address and model: breaker, rates, budget for retries."""
        return self.gateway.lane(self.inner, self.inner.model, self.guard.rates)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: All tries failed, or there was no answer in time.
        """
        lane = self.gateway.lane(self.inner, request.model, self.guard.rates)
        async with self.gateway.admitted(lane):
            call = _Call(self, lane, request)
            while True:
                await call.let_in()
                try:
                    with call:
                        response = await call.within(partial(call.answering.complete, request))
                        return call.done(self._whole(response))
                except RoundtableError as error:
                    failure = error
                await call.again(failure)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces, then whole; as a block it gives the pieces alone and keeps the response.

        Leaving the block or closing the iterator ends the call. What iterates gets a `RoundtableError` when all tries
        failed, when there was no answer in time, or when the stream broke off after pieces of it were given out; those
        are in `details["partial_answer"]`.
        """
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        lane = self.gateway.lane(self.inner, request.model, self.guard.rates)
        async with self.gateway.admitted(lane):
            call = _Call(self, lane, request)
            while True:
                await call.let_in()
                pieces = call.answering.stream(request)
                step = partial(anext, pieces, None)
                try:
                    with call:
                        while isinstance(piece := await call.within(step), ChatDelta):
                            call.given(piece)
                            yield piece
                        response = call.done(self._whole(piece))
                    break
                except RoundtableError as error:
                    failure = error
                finally:
                    await close_stream(pieces)
                await call.again(failure)
            yield response

    def _whole(self, response: object) -> ChatResponse:
        if not isinstance(response, ChatResponse):
            raise AgentError(
                f"the model {self.model!r} gave {type(response).__name__} where a ChatResponse was due",
                provider=self.provider,
                hint="This is a fault in the provider's code; report it to its authors.",
            )
        usage = sane_usage(response.usage, self.provider)
        return response if usage is response.usage else response.model_copy(update={"usage": usage})


class _Call:
    """One call with all its tries; as a block, one try of it."""

    def __init__(self, model: GuardedModel, lane: Lane, request: ChatRequest) -> None:
        self._model = model
        self._lane = lane
        self._request = request
        self._deadline: Deadline | None = None
        self._tries: Tries | None = None
        self._set_aside = 0.0
        self._probe = False
        self._is_done = False
        self._begun = False
        self._shown: list[str] = []
        self.answering: ChatModel = model.inner
        """What answers the try: the model, or the model with what is reserved for it."""

    async def let_in(self) -> None:
        """Wait until the rates and the budget allow a try, and ask whether it is still wanted.

        Raises:
            RoundtableError: One of them does not; states what the tries before consumed.
        """
        try:
            await self._admitted()
        except RoundtableError as error:
            if self._tries is not None:
                self._tries.charge(error)
            raise

    async def _admitted(self) -> None:
        model, lane = self._model, self._lane
        guard = model.guard
        if lane.has_rate:
            left_s = (self._deadline or Deadline(None, model.gateway.clock)).left_s
            self._set_aside = await lane.admit(self._request, min(left_s, guard.rule.longest_wait_s))
        if isinstance(model.inner, MeteredModel):
            self.answering = await self.within(partial(model.inner.reserved, self._request))
        if self._deadline is None:
            # Runs from when the call is let in: a queue of our own making is no fault of the provider.
            self._deadline = Deadline(guard.timeout_s, model.gateway.clock)
        if guard.before is not None:
            try:
                await guard.before()
            except BaseException:
                self._release()
                raise

    def __enter__(self) -> Self:
        try:
            self._probe = self._lane.breaker.enter()
        except CircuitOpen as error:
            self._release()
            error.provider = self._model.provider
            raise
        self._is_done = self._begun = False
        self._shown.clear()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_done:
            return
        own = as_own_error(error, self._model.provider) if isinstance(error, Exception) else None
        self._lane.failed(own or error, probe=self._probe, set_aside=self._set_aside)
        if own is not None and is_missed(own) and not own.is_recorded:
            tell_missed(self.answering, self._request, own, self._shown)
        if own is not None and own is not error:
            _log.debug("model call failed", extra={"provider": own.provider, "error": type(error).__name__})
            raise own from own.__cause__

    async def within(self, step: Callable[[], Awaitable[T]]) -> T:
        """Do a step of the call, within its deadline."""
        deadline = self._deadline
        if deadline is None or deadline.timeout_s is None:
            return await step()
        # A cancel scope may not stay open across a yield, so each step of a stream gets what is left of the time.
        with anyio.CancelScope(deadline=anyio.current_time() + deadline.own_s):
            return await step()
        raise deadline.missed(self._model.provider)

    def _release(self) -> None:
        """Give back what is reserved for a try that does not start."""
        if isinstance(self.answering, ReservedModel):
            self.answering.release()

    def given(self, piece: ChatDelta) -> None:
        """Take note of a piece that is given out."""
        if piece.text:
            self._begun = True
            self._shown.append(piece.text)

    def done(self, response: ChatResponse) -> ChatResponse:
        """Say that the try succeeded; gives the answer, charged with what the tries before it consumed."""
        self._is_done = True
        cost = 0 if self._tries is None else self._tries.cost
        self._lane.succeeded(response.usage, probe=self._probe, set_aside=self._set_aside, cost=cost)
        return response if self._tries is None else self._tries.settled(response)

    async def again(self, error: RoundtableError) -> None:
        """Wait for the next try.

        Raises:
            RoundtableError: There is none.
        """
        guard, gateway = self._model.guard, self._model.gateway
        if self._tries is None:
            self._tries = Tries(
                self._lane,
                guard.rule,
                self._deadline or Deadline(None, gateway.clock),
                clock=gateway.clock,
                random=gateway.random,
                tell=guard.told,
            )
        await self._tries.again(error, shown="".join(self._shown), begun=self._begun)


def as_own_error(exc: Exception, provider: str) -> RoundtableError:
    """Give the library's error for any exception; its own ones are taken out of a group unchanged."""
    if isinstance(exc, RoundtableError):
        return exc
    if isinstance(exc, ExceptionGroup):
        # Several tasks of one call failed together; the first failure is the one that ended it.
        return as_own_error(exc.exceptions[0], provider)
    text = " ".join(error_text(exc).split())[:MESSAGE_CHARS]
    return AgentError(
        f"the model call failed: {type(exc).__name__}" + (f": {text}" if text else ""), provider=provider, cause=exc
    )
