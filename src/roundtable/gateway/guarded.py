"""A model whose calls pass the gateway."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeVar

import anyio

from roundtable.core.base.text import error_text
from roundtable.core.base.waits import SHOWN_S, Wait
from roundtable.core.chat_models import WrappedModel, close_stream, facts_of, is_recorded, is_replayed, notify_timeout
from roundtable.core.errors import AgentError, APITimeoutError, RoundtableError
from roundtable.core.types.agents import Breaker
from roundtable.core.types.chat import ChatDelta, ChatResponse, ModelCall, Usage
from roundtable.core.types.model_facts import RetryNotice
from roundtable.gateway.budget import MeteredModel, ReservedModel
from roundtable.gateway.prices import sane_usage, usage_of_failure
from roundtable.gateway.retry import RetryRule
from roundtable.gateway.state import NO_PROBE, Rates
from roundtable.gateway.streams import ChatStream
from roundtable.http.message import ending_at

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from types import TracebackType

    from tenacity import AsyncRetrying, RetryCallState

    from roundtable.core.protocols import ChatModel, SleepingClock
    from roundtable.core.types.agents import RetryPolicy
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.chat import ChatRequest
    from roundtable.core.types.model_facts import ModelFacts
    from roundtable.gateway.gateway import Gateway
    from roundtable.gateway.state import EndpointState

__all__ = [
    "CallReport",
    "CallRules",
    "Deadline",
    "GuardedModel",
    "RetryLoop",
    "as_own_error",
    "is_missed",
    "with_tries",
]

_log: logging.Logger = logging.getLogger("roundtable.gateway")

PARTIAL_CHARS: Final = 4000
"""Most characters that are stored of an answer that was cut off."""
_MISSED: Final = "deadline_s"
_WAIT_REFUSED_HINT: Final = (
    "Try again after `retry_after_s`, allow more time with `timeout_s`, or use another provider until then."
)

MESSAGE_CHARS: Final = 500
"""Most characters of the text of another library's error that are passed on."""


class CallReport:
    """The report of one try of a call; it is sent to the listeners of the gateway when the try is over."""

    def __init__(self, model: GuardedModel, request: ChatRequest, attempt: int) -> None:
        self._clock: SleepingClock = model.gateway.clock
        self._listeners: tuple[Callable[[ModelCall], None], ...] = model.gateway.call_listeners
        self._model = model
        self._request = request
        self._attempt = attempt
        self._started_at = self._clock.now()
        self._start = self._clock.monotonic()
        self._first_text_s: float | None = None

    @classmethod
    def begin(cls, model: GuardedModel, request: ChatRequest, attempt: int) -> Self | None:
        """Return the report of a try that begins now; `None` if the gateway has no listeners."""
        return cls(model, request, attempt) if model.gateway.call_listeners else None

    def has_text(self) -> None:
        """Note that the first piece of text has arrived."""
        self._first_text_s = self._clock.monotonic() - self._start

    def report_answer(self, response: ChatResponse) -> None:
        """Send the report of a try that returned an answer."""
        call = self._call(response.provider)
        self._send(
            replace(
                call,
                usage=response.usage,
                finish_reason=response.finish_reason,
                response_model=response.model,
                request_id=response.request_id,
            )
        )

    def report_failure(self, error: RoundtableError | None) -> None:
        """Send the report of a try that failed; without an error, the try was cancelled."""
        call = self._call(None)
        if error is None:
            self._send(replace(call, error="cancelled"))
        else:
            status = (error.details or {}).get("status")
            self._send(
                replace(
                    call,
                    error=type(error).__name__,
                    status=status if isinstance(status, int) else None,
                    usage=error.usage,
                    request_id=error.request_id,
                )
            )

    def _call(self, provider: str | None) -> ModelCall:
        request, model = self._request, self._model
        return ModelCall(
            provider=provider or model.provider,
            model=request.model or model.model,
            endpoint=model.facts.endpoint,
            started_at=self._started_at,
            duration_s=max(0.0, self._clock.monotonic() - self._start),
            first_text_s=self._first_text_s,
            attempt=self._attempt,
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            metadata=dict(request.metadata),
        )

    def _send(self, call: ModelCall) -> None:
        for listener in self._listeners:
            try:
                listener(call)
            except Exception as error:  # noqa: BLE001  (observers may be third-party code)
                _log.warning("an observer failed on a call of a model: %s: %s", type(error).__name__, error_text(error))


class Deadline:
    """The end of a call: its own time limit, or the limit of its turn or debate, whichever comes first.

    The call's own time is measured by the clock of the gateway. The limits of turn and debate are cancel scopes, which
    use the clock of the event loop.

    Args:
        timeout_s: Seconds from now; `None` if the call has no time limit of its own.
        clock: Source of the time.
    """

    def __init__(self, timeout_s: float | None, clock: SleepingClock) -> None:
        self.timeout_s = timeout_s
        self._clock = clock
        self._at = math.inf if timeout_s is None else clock.monotonic() + timeout_s

    @property
    def own_s(self) -> float:
        """Seconds left of the call's own time limit; infinite without a limit."""
        return self._at - self._clock.monotonic()

    @property
    def ends_at(self) -> float:
        """End of the call's own time limit, on the clock of the event loop."""
        return anyio.current_time() + self.own_s

    @property
    def left_s(self) -> float:
        """Seconds left until the earliest deadline."""
        return min(self.own_s, anyio.current_effective_deadline() - anyio.current_time())

    @property
    def name(self) -> str:
        """Description of the earliest deadline, for messages."""
        if self.timeout_s is not None and self.own_s <= anyio.current_effective_deadline() - anyio.current_time():
            return f"the call's deadline of {self.timeout_s:g} s"
        return "the deadline of the turn or the debate"

    def skip(self, seconds: float) -> None:
        """Advance the time of the deadline without waiting."""
        self._at -= seconds

    def timeout_error(self, provider: str) -> APITimeoutError:
        """Return the error of a call that missed the deadline; see `is_missed`."""
        return APITimeoutError(
            f"no complete answer within {self.timeout_s:g} s", provider=provider, details={_MISSED: self.timeout_s}
        )


def is_missed(error: RoundtableError) -> bool:
    """Check whether an error means that the gateway ended the call at its deadline, so that it must not be retried.

    The clock alone does not show that, since a replayed call takes no time.
    """
    return isinstance(error, APITimeoutError) and _MISSED in (error.details or {})


class RetryLoop:
    """The retries of one call; created when its first try fails.

    Args:
        endpoint_state: State of the endpoint; its budget pays for retries.
        rule: Decides what to retry.
        deadline: End of the call.
        gateway: Its clock sleeps between tries, and it reports the waits.
        tell: Called with each retry, before the wait.
    """

    def __init__(
        self,
        endpoint_state: EndpointState,
        rule: RetryRule,
        deadline: Deadline,
        *,
        gateway: Gateway,
        tell: Callable[[RetryNotice], Awaitable[None]] | None,
    ) -> None:
        self._endpoint_state = endpoint_state
        self._rule = rule
        self._deadline = deadline
        self._gateway = gateway
        self._on_retry = tell
        self.cost: int = 0
        """Price of the current try."""
        self._failures = 0
        self._usage = Usage()
        self._shown = ""
        self._has_output = False
        self.last: RoundtableError = RoundtableError()
        """Why the last try failed."""
        self._wait_refusal = ""
        self._attempts: AsyncRetrying | None = None

    async def wait_for_retry(self, error: RoundtableError, *, shown: str = "", begun: bool = False) -> None:
        """Record a failed try, and wait until the next one may start.

        Args:
            error: Why the try failed.
            shown: Text that the try passed on before it failed.
            begun: Whether the try passed on anything, text or other pieces.

        Raises:
            RoundtableError: No next try is made. The error states the number of tries, their usage and the text passed
                on.
        """
        self._failures += 1
        self._usage += usage_of_failure(error, begun=begun)
        self._shown, self._has_output, self.last = shown, begun, error
        if not self._may_retry(error):
            self._give_up()
        if self._attempts is None:
            self._attempts = aiter(self._make_attempts())
            self._attempt = await anext(self._attempts)
        with self._attempt:
            raise error
        try:
            self._attempt = await anext(self._attempts)
        except RoundtableError:
            self._give_up()

    def add_failed_usage(self, response: ChatResponse) -> ChatResponse:
        """Add the usage of the failed tries to the answer of a later try."""
        if not self._usage.calls:
            return response
        return response.model_copy(update={"usage": self._usage + response.usage})

    def charge(self, error: RoundtableError) -> None:
        """Add the usage of earlier tries to the error of a try that was not made."""
        if self._usage.calls:
            error.usage = self._usage if error.usage is None else self._usage + error.usage

    def _give_up(self) -> NoReturn:
        error = with_tries(self.last, self._failures, self._shown, self._usage, unwaited=self._wait_refusal)
        raise error from error.__cause__

    def _make_attempts(self) -> AsyncRetrying:
        # Imported only at the first failure, because tenacity imports asyncio and TLS.
        from tenacity import AsyncRetrying, retry_if_exception

        # tenacity calls these functions in the order: retry, wait, stop, before_sleep, sleep.
        return AsyncRetrying(
            retry=retry_if_exception(self._may_retry),
            wait=self._wait_s,
            stop=self._pay_or_stop,
            before_sleep=self._report_retry,
            sleep=self._sleep,
            reraise=True,
        )

    def _may_retry(self, error: BaseException) -> bool:
        if self._has_output and self._on_retry is None:
            # Without a notice that the first piece is void, a reader of the stream would see the piece twice.
            return False
        if (
            not isinstance(error, RoundtableError)
            or is_missed(error)
            or not self._rule.has_retry(error, self._failures)
        ):
            return False
        requested_s = error.retry_after_s or 0.0
        self._wait_refusal = self._why_not_waiting(requested_s, requested_s)
        return not self._wait_refusal

    def _why_not_waiting(self, requested_s: float, wait_s: float) -> str:
        """Return why the wait that a provider requests is too long; empty if it is not too long, or not requested."""
        if not requested_s:
            return ""
        if wait_s >= self._deadline.left_s:
            return f"the requested wait of {_seconds_text(requested_s)} s goes past {self._deadline.name}"
        longest_s = self._rule.longest_wait_s
        if requested_s > longest_s:
            return f"the requested wait is {_seconds_text(requested_s)} s; the longest allowed wait is {longest_s:g} s"
        return ""

    def _wait_s(self, state: RetryCallState) -> float:
        return self._rule.wait_s(self.last, self._failures, self._gateway.random.random())

    def _pay_or_stop(self, state: RetryCallState) -> bool:
        wait_s = state.upcoming_sleep
        self._wait_refusal = self._why_not_waiting(self.last.retry_after_s or 0.0, wait_s)
        # If the breaker opened meanwhile, the error of the call is more useful than the breaker's refusal.
        if wait_s >= self._deadline.left_s or not self._endpoint_state.allows_retry(wait_s):
            return True
        self.cost = self._endpoint_state.pay_for_retry(self.last)
        return self.cost == 0

    async def _sleep(self, seconds: float) -> None:
        if not self.last.is_recorded:
            await self._gateway.clock.sleep(seconds)
            return
        # The wait took place during the recording; breaker and deadline must still count its time.
        self._endpoint_state.skip(seconds)
        self._deadline.skip(seconds)

    async def _report_retry(self, state: RetryCallState) -> None:
        error = self.last
        delay_s = 0.0 if error.is_recorded else state.upcoming_sleep
        key = self._endpoint_state.key
        _log.warning(
            "%s: call failed (%s), trying again in %.1f s",
            key.provider,
            error.code,
            delay_s,
            extra={
                "provider": key.provider,
                "model": key.model,
                "attempt": self._failures,
                "delay_ms": round(delay_s * 1000),
                "code": error.code,
            },
        )
        if delay_s > SHOWN_S:
            wait = Wait("retry", f"the next try after {error.code}", delay_s)
            self._gateway.note_wait(self._endpoint_state, wait)
        if self._on_retry is not None:
            await self._on_retry(RetryNotice(self._failures + 1, delay_s, error, self._has_output))


def _seconds_text(seconds: float) -> str:
    """Return seconds as readable text; a header with a date may lead to many decimal places."""
    return f"{seconds:.1f}".removesuffix(".0") if seconds < 1e9 else f"{seconds:g}"


def with_tries(
    error: RoundtableError, attempts: int, shown: str, usage: Usage, *, unwaited: str = ""
) -> RoundtableError:
    """Return an error with the number of tries, the text passed on and the usage, or the same object.

    A model may raise one error object several times, so the error is copied, not changed.

    Args:
        error: Why the last try failed.
        attempts: Number of tries.
        shown: Text that was passed on.
        usage: Usage of the tries.
        unwaited: Why the wait that the provider requested is too long; empty if it is not.
    """
    if attempts < 2 and not shown and not unwaited and (not usage.calls or usage == error.usage):
        return error
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    details = dict(error.details or {})
    tries = f"after {attempts} attempts" if attempts > 1 else ""
    if notes := "; ".join(note for note in (unwaited, tries) if note):
        copy.message = f"{error.message} ({notes})"
    if unwaited:
        copy.hint = _WAIT_REFUSED_HINT
    if attempts > 1:
        details["attempts"] = attempts
    if shown:
        details["partial_answer"] = shown[:PARTIAL_CHARS]
    copy.details = details or None
    copy.usage = usage if usage.calls else error.usage
    copy.args = (copy.message,)
    copy.__cause__ = error.__cause__
    return copy.with_traceback(error.__traceback__)


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """Rules for the calls of one guarded model."""

    timeout_s: float | None = None
    """Total deadline of a call in seconds, with all tries and waits."""
    rule: RetryRule = field(default_factory=RetryRule)
    """Rule for retries."""
    rates: Rates = field(default_factory=Rates)
    """Calls and tokens per minute that the provider allows."""
    breaker: Breaker | None = field(default_factory=Breaker)
    """When too many failures stop further calls; `None` never stops them."""
    tests_key: bool = False
    """Whether calls are made even with a key that the provider has refused."""
    before: Callable[[], Awaitable[None]] | None = None
    """Awaited before each try; if it raises an error, the try does not start."""
    on_retry: Callable[[RetryNotice], Awaitable[None]] | None = None
    """Called with each retry."""


class GuardedModel(WrappedModel):
    """A `ChatModel` whose calls pass a gateway; `Gateway.guard` creates it.

    Args:
        gateway: The gateway, with its limits.
        inner: The wrapped model.
        guard: Rules for the calls.
        facts: What the inner model declares, if that was read already.
    """

    def __init__(self, gateway: Gateway, inner: ChatModel, guard: CallRules, facts: ModelFacts | None = None) -> None:
        super().__init__(inner)
        self.gateway = gateway
        self.guard = guard
        self.facts: ModelFacts = facts_of(inner) if facts is None else facts
        """What the inner model declares."""

    def asking(
        self,
        before: Callable[[], Awaitable[None]],
        on_retry: Callable[[RetryNotice], Awaitable[None]] | None = None,
    ) -> GuardedModel:
        """Return this model with callbacks that run before each try, after the wait for admission.

        The wait for admission may be long, so `before` can check after it whether the call is still wanted.

        Args:
            before: Awaited before each try; if it raises an error, the try does not start.
            on_retry: Called with each retry, before the wait. With this callback, a stream that was cut off is retried
                even if it has passed on pieces, because the callback learns that they are void.
        """
        return GuardedModel(self.gateway, self.inner, replace(self.guard, before=before, on_retry=on_retry), self.facts)

    def with_retry(self, policy: RetryPolicy) -> GuardedModel:
        """Return this model with a retry policy that replaces the gateway's rule."""
        return GuardedModel(self.gateway, self.inner, replace(self.guard, rule=RetryRule.of(policy)))

    def over(self, wrap: Callable[[ChatModel], ChatModel]) -> GuardedModel:
        """Return this model with its inner model wrapped."""
        inner = wrap(self.inner)
        return self if inner is self.inner else GuardedModel(self.gateway, inner, self.guard)

    def without_retries(self, timeout_s: float) -> GuardedModel:
        """Return this model without retries, and with a limit of `timeout_s` seconds for a call, to test it.

        A call tests the key too, even if the provider has refused it.
        """
        own_timeout_s = self.guard.timeout_s
        rule = replace(self.guard.rule, on=frozenset())
        guard = replace(
            self.guard,
            timeout_s=timeout_s if own_timeout_s is None else min(own_timeout_s, timeout_s),
            rule=rule,
            tests_key=True,
        )
        return GuardedModel(self.gateway, self.inner, guard)

    @property
    def endpoint_state(self) -> EndpointState:
        """State of the model's endpoint: breaker, rates, retry budget."""
        return self.gateway.endpoint_state(self)

    @property
    def most_tries(self) -> int:
        """Most tries of one call, with the first one."""
        return self.guard.rule.most_tries

    @property
    def trouble(self) -> str | None:
        """Why calls fail now; `None` if they may succeed."""
        return self.endpoint_state.trouble

    @property
    def refused_at(self) -> float:
        """Time of the last refusal of the key, on the gateway clock's `monotonic`; 0 if there was none."""
        return self.endpoint_state.refused_at

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer once.

        Raises:
            RoundtableError: All tries failed, or the answer missed the deadline.
        """
        endpoint_state = self.gateway.endpoint_state(self, request.model)
        async with self.gateway.admitted(endpoint_state):
            call = _Call(self, endpoint_state, request)
            while True:
                await call.let_in()
                try:
                    with call:
                        response = await call.start(partial(call.answering.complete, request))
                        return call.done(self._check_response(response))
                except RoundtableError as error:
                    failure = error
                await call.wait_for_retry(failure)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Answer in pieces, then with the complete response; see `ChatStream`.

        Leaving the block or closing the iterator ends the call. Iterating raises a `RoundtableError` if all tries
        failed, if the answer missed the deadline, or if the stream was cut off after it passed on pieces.
        `details["partial_answer"]` has the text of these pieces.
        """
        return ChatStream(self._stream(request))

    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        endpoint_state = self.gateway.endpoint_state(self, request.model)
        async with self.gateway.admitted(endpoint_state):
            call = _Call(self, endpoint_state, request)
            while True:
                await call.let_in()
                pieces = call.answering.stream(request)
                step = partial(anext, pieces, None)
                try:
                    with call:
                        piece = await call.start(step)
                        while isinstance(piece, ChatDelta):
                            call.record_piece(piece)
                            yield piece
                            piece = await (step() if call.is_ended_by_model else call.run_step(step))
                        response = call.done(self._check_response(piece))
                    break
                except RoundtableError as error:
                    failure = error
                finally:
                    await close_stream(pieces)
                await call.wait_for_retry(failure)
            yield response

    def _check_response(self, response: object) -> ChatResponse:
        if not isinstance(response, ChatResponse):
            raise AgentError(
                f"the model {self.model!r} returned {type(response).__name__} instead of a ChatResponse",
                provider=self.provider,
                hint="This is a bug in the provider's code; report it to its authors.",
            )
        info = self.gateway.provider(self.facts.kind or self.provider)
        usage = sane_usage(response.usage, counts_tokens=info.counts_tokens)
        return response if usage is response.usage else response.model_copy(update={"usage": usage})


class _Call:
    """One call with all its tries. Used as a context manager, it represents one try."""

    def __init__(self, model: GuardedModel, endpoint_state: EndpointState, request: ChatRequest) -> None:
        self._model = model
        self._endpoint_state = endpoint_state
        self._request = request
        self._deadline: Deadline | None = None
        self._retries: RetryLoop | None = None
        self._set_aside = 0.0
        self._is_admitted = False
        self._sent_at = math.inf
        self._probes = NO_PROBE
        self._is_done = False
        self._attempt = 0
        self._reason: JsonValue = None
        self._report: CallReport | None = None
        self._has_output = False
        self._shown: list[str] = []
        self.answering: ChatModel = model.inner
        """Model that answers this try: the inner model, or the inner model with a reservation."""

    async def let_in(self) -> None:
        """Wait until the rates and the budget allow a try, then await the guard's callback `before`.

        Raises:
            RoundtableError: The rates, the budget or `before` refuse the try. The error has the usage of earlier tries.
        """
        try:
            await self._admit()
        except RoundtableError as error:
            if self._retries is not None:
                self._retries.charge(error)
                self._endpoint_state.call_failed(self._retries.last)
            raise

    async def _admit(self) -> None:
        model, endpoint_state = self._model, self._endpoint_state
        guard = model.guard
        self._sent_at = math.inf if is_replayed(model.inner, self._request) else model.gateway.clock.monotonic()
        if endpoint_state.has_rate and self._sent_at < math.inf:
            left_s = (self._deadline or Deadline(None, model.gateway.clock)).left_s
            note = partial(model.gateway.note_wait, endpoint_state)
            self._set_aside = await endpoint_state.admit(self._request, min(left_s, guard.rule.longest_wait_s), note)
            self._is_admitted = True
            self._sent_at = model.gateway.clock.monotonic()
        try:
            if isinstance(model.inner, MeteredModel):
                self.answering = await self.run_step(partial(model.inner.reserved, self._request))
            if self._deadline is None:
                # The deadline starts with the admission, since time in the library's own queue must not count for the
                # provider.
                self._deadline = Deadline(guard.timeout_s, model.gateway.clock)
            if guard.before is not None:
                await guard.before()
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> Self:
        try:
            self._probes = self._endpoint_state.enter(
                is_retry=self._retries is not None, tests_key=self._model.guard.tests_key
            )
        except RoundtableError as error:
            if not is_recorded(self._model.inner, self._request):
                self._release()
                error.provider = self._model.provider
                raise
            # When the call was recorded, the breakers allowed it.
            self._probes = NO_PROBE
        self._is_done = self._has_output = False
        self._shown.clear()
        self._attempt += 1
        self._report = CallReport.begin(self._model, self._request, self._attempt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_admitted:
            self._is_admitted = False
            self._endpoint_state.ended()
        if self._is_done:
            return
        own_error = as_own_error(error, self._model.provider) if isinstance(error, Exception) else None
        reason = None if own_error is None else (own_error.details or {}).get("reason")
        again = reason is not None and reason == self._reason
        self._endpoint_state.failed(own_error or error, probes=self._probes, set_aside=self._set_aside, again=again)
        self._reason = reason
        if self._report is not None:
            self._report.report_failure(own_error)
        if own_error is not None and is_missed(own_error) and not own_error.is_recorded:
            notify_timeout(self.answering, self._request, own_error, self._shown)
        if own_error is not None and own_error is not error:
            _log.debug("model call failed", extra={"provider": own_error.provider, "error": type(error).__name__})
            raise own_error from own_error.__cause__

    @property
    def is_ended_by_model(self) -> bool:
        """Whether the answering model itself ends the call at the deadline that `start` passes to it."""
        return self._model.facts.keeps_deadline

    async def start(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run the first step of a try within the call's deadline."""
        if not self.is_ended_by_model:
            return await self.run_step(step)
        with ending_at(self._deadline):
            return await step()

    async def run_step(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run a step of the call within the call's deadline."""
        deadline = self._deadline
        if deadline is None or deadline.timeout_s is None:
            return await step()
        # A cancel scope must not stay open across a yield, so each step of a stream has its own scope.
        with anyio.CancelScope(deadline=anyio.current_time() + deadline.own_s):
            return await step()
        raise deadline.timeout_error(self._model.provider)

    def _release(self) -> None:
        """Release the reservations of a try that does not start."""
        if isinstance(self.answering, ReservedModel):
            self.answering.release()
        if self._is_admitted:
            self._is_admitted = False
            self._endpoint_state.give_back(requests=1, tokens=self._set_aside)
            self._set_aside = 0.0

    def record_piece(self, piece: ChatDelta) -> None:
        """Record a piece that is passed on.

        Raises:
            APITimeoutError: The deadline has passed. If pieces arrive faster than they are read, `run_step` never
                waits, so it does not notice that.
        """
        deadline = self._deadline
        if deadline is not None and deadline.own_s <= 0:
            raise deadline.timeout_error(self._model.provider)
        if piece.text:
            if self._report is not None and not self._has_output:
                self._report.has_text()
            self._has_output = True
            self._shown.append(piece.text)

    def done(self, response: ChatResponse) -> ChatResponse:
        """Record a successful try; return its response, with the usage of earlier tries added."""
        self._is_done = True
        cost = 0 if self._retries is None else self._retries.cost
        set_aside = self._set_aside if self._is_admitted else None
        self._endpoint_state.succeeded(response.usage, probes=self._probes, set_aside=set_aside, cost=cost)
        if response.rate_limit is not None and self._sent_at < math.inf:
            self._endpoint_state.adopt_limit(response.rate_limit, self._sent_at)
        if self._report is not None:
            self._report.report_answer(response)
        return response if self._retries is None else self._retries.add_failed_usage(response)

    async def wait_for_retry(self, error: RoundtableError) -> None:
        """Wait for the next try.

        Raises:
            RoundtableError: No next try is made.
        """
        guard, gateway = self._model.guard, self._model.gateway
        if self._retries is None:
            self._retries = RetryLoop(
                self._endpoint_state,
                guard.rule,
                self._deadline or Deadline(None, gateway.clock),
                gateway=gateway,
                tell=guard.on_retry,
            )
        try:
            await self._retries.wait_for_retry(error, shown="".join(self._shown), begun=self._has_output)
        except RoundtableError:
            self._endpoint_state.call_failed(error)
            raise


def as_own_error(exc: Exception, provider: str) -> RoundtableError:
    """Return any exception as a `RoundtableError`; an exception group counts as its first exception."""
    if isinstance(exc, RoundtableError):
        return exc
    if isinstance(exc, ExceptionGroup):
        # Several tasks of the call failed; the first failure ended it.
        return as_own_error(exc.exceptions[0], provider)
    text = " ".join(error_text(exc).split())[:MESSAGE_CHARS]
    return AgentError(
        f"the model call failed: {type(exc).__name__}" + (f": {text}" if text else ""), provider=provider, cause=exc
    )
