"""A model whose calls are made in batches."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from roundtable.core.base.attempts import CURRENT_ATTEMPT, TurnAttempt
from roundtable.core.base.clock import SystemClock
from roundtable.core.base.eventloop import PerLoop
from roundtable.core.base.secrets import Scrubber
from roundtable.core.errors import AgentError, APITimeoutError, ConfigurationError, RoundtableError
from roundtable.core.types.model_facts import ModelFacts
from roundtable.gateway.prices import HALF_PRICE
from roundtable.http.message import HttpLimits
from roundtable.providers.batches.wires import BatchAnswer, BatchCall, BatchFailed, BatchState, BatchWire
from roundtable.providers.cassette.cassette import canonical, request_hash
from roundtable.providers.http_model import NonStreamingModel

if TYPE_CHECKING:
    from collections.abc import Generator

    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.agents import BatchOptions, ModelProfile
    from roundtable.core.types.chat import ChatRequest, ChatResponse
    from roundtable.http.client import HttpRequest, HttpResponse
    from roundtable.providers.batches.journal import BatchJournal, KnownBatch
    from roundtable.providers.http_model import HttpChatModel

__all__ = ["BatchModel"]

T = TypeVar("T")

_log: logging.Logger = logging.getLogger(__name__)

_SUBMITTING_S: Final = 120.0
"""The longest time that submitting a batch may take."""
_LOST_AFTER_S: Final = 1.5 * _SUBMITTING_S
"""If the journal has had no vendor id of a batch for this long, the process that was submitting it has crashed. The
time allows for small differences between clocks."""
_FIRST_WAIT_S: Final = 5.0
_REMEMBERED: Final = 10_000
_FETCHES: Final = 3
"""How often answers are fetched if some are missing."""
_CALLS_AT_ONCE: Final = 1_000_000
"""The most calls in progress at once; waiting calls use no resources."""
_LIMITS: Final = HttpLimits(body_bytes=512 * 2**20)


class _BatchGone(RoundtableError):
    """The vendor no longer has a batch, so the journal forgets it."""

    def __init__(self, error: RoundtableError) -> None:
        super().__init__(error.message)
        self.args = (error,)  # the exception is copied for each waiting call
        self.error = error


@dataclass(eq=False)
class _Window:
    """Calls that are collected for one batch."""

    calls: dict[str, BatchCall] = field(default_factory=dict)
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    is_closed: bool = False
    error: RoundtableError | None = None


@dataclass(eq=False)
class _Flight:
    """A batch that has been submitted; all tasks that wait for its answers share this object."""

    turn: anyio.Lock = field(default_factory=anyio.Lock)
    answers: dict[str, BatchAnswer] | None = None
    error: RoundtableError | None = None
    waiting: int = 0


@dataclass(eq=False)
class _Turn:
    """The calls that a turn has made."""

    attempt: TurnAttempt | None
    answered: set[tuple[str, int]] = field(default_factory=set)
    in_progress: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class _Loop:
    """The state that all callers of one event loop share."""

    windows: dict[tuple[str, str], _Window] = field(default_factory=dict)
    flights: dict[str, _Flight] = field(default_factory=dict)
    read: list[str] = field(default_factory=list)
    noting: anyio.Lock = field(default_factory=anyio.Lock)


class BatchModel(NonStreamingModel):
    """A `ChatModel` that submits calls as batches, at half the price; an answer may take up to a day.

    Calls that are made within `collect_s` form one batch. Before the batch is submitted, the journal records its calls.
    If an equal call is made after a crash or a pause, it gets the answer from the earlier batch, and is not paid for
    twice.

    Two calls are equal if their session, round, stage and slot are equal, and their prompts differ at most in the
    random ids of quotations. Calls outside of debates are never equal.

    Cancelling a call does not cancel its batch. A call that has expired costs nothing, and may be tried again.

    Args:
        model: The model whose calls are batched; it is closed together with this one.
        wire: The vendor's batch API.
        journal: Journal that records the batches.
        options: How long to collect calls, and how long to wait for answers.
        clock: Clock that measures the waits.
    """

    def __init__(
        self,
        model: HttpChatModel,
        wire: BatchWire,
        journal: BatchJournal,
        options: BatchOptions,
        *,
        clock: SleepingClock | None = None,
    ) -> None:
        self._model = model
        self._wire = wire
        self._journal = journal
        self._options = options
        self._clock = clock or SystemClock()
        self._loops = PerLoop(_Loop)
        self._turns: dict[frozenset[tuple[str, str]], _Turn] = {}
        self.facts: ModelFacts = replace(
            model.facts,
            requests_per_minute=None,  # batches have their own limits at the vendor
            calls_at_once=_CALLS_AT_ONCE,
            price_share=HALF_PRICE,
            patience_s=options.wait_s,
            keeps_deadline=False,
        )
        """What the batched model declares, with the price, the limits and the time of batches."""

    def __repr__(self) -> str:
        return f"BatchModel({self._model!r})"

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self._model.provider

    @property
    def model(self) -> str:
        """Id of the model for requests that name no model."""
        return self._model.model

    @property
    def endpoint(self) -> str:
        """Root of the API."""
        return self._model.endpoint

    @property
    def profile(self) -> ModelProfile:
        """What the library must know to prompt this model."""
        return self._model.profile

    async def prepare(self) -> None:
        """Check that batches can be recorded.

        Raises:
            ConfigurationError: The journal cannot be written.
        """
        await self._journal.check()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the answer when the batch of the call has ended.

        Raises:
            APITimeoutError: The batch has not ended after `wait_s`, and the call is not tried again. Or the batch ended
                before the vendor made this call.
            RoundtableError: The call or its batch failed.
        """
        http_request = await self._model.build(request)
        with self._call_key(request, http_request.url) as key:
            session_id, round_number = request.metadata.get("session", ""), request.metadata.get("round", "")
            call = BatchCall(
                key,
                http_request,
                request.model or self.model,
                session_id,
                int(round_number) if round_number.isdecimal() else 0,
            )
            try:
                with anyio.fail_after(self._options.wait_s):
                    answer = await self._answer(call)
            except TimeoutError:
                raise APITimeoutError(
                    f"the batch has not ended within {self._options.wait_s:g} s",
                    provider=self.provider,
                    retryable=False,
                    hint="Continue later: no call of the batch is paid for twice. Or raise wait_s of BatchOptions.",
                ) from None
            return await self._read(call, answer, request)

    async def aclose(self) -> None:
        """Close the batched model."""
        await self._model.aclose()

    def _same_calls(self, request: ChatRequest, url: str) -> str:
        """Return a hash that equal calls of a debate share."""
        return request_hash(
            {
                "request": canonical(request, Scrubber()),
                "url": url,
                "model": request.model or self.model,
                "metadata": dict(request.metadata),
            }
        )

    @contextmanager
    def _call_key(self, request: ChatRequest, url: str) -> Generator[str]:
        """Number calls that are equal, such as samples. If a call fails or is cancelled, its number is free again."""
        if not request.metadata.get("session"):
            yield secrets.token_hex(16)
            return
        same, turn = self._same_calls(request, url), self._turn(request)
        number = next(free for free in count() if (same, free) not in turn.answered | turn.in_progress)
        turn.in_progress.add((same, number))
        try:
            rejections = turn.attempt.rejections if turn.attempt else 0
            yield f"{same}-{rejections}-{number}" if rejections else f"{same}-{number}"
            turn.answered.add((same, number))
        finally:
            turn.in_progress.discard((same, number))

    def _turn(self, request: ChatRequest) -> _Turn:
        """Return the turn of a call. If the turn begins again, the numbers of its answered calls are free.

        After an interruption, the same keys find the answers again, also in another process. A turn that failed because
        of an answer has to get new answers, so the keys contain how often that happened.
        """
        attempt = CURRENT_ATTEMPT.get() if "slot" in request.metadata else None
        turn = self._turns.setdefault(frozenset(request.metadata.items()), _Turn(attempt))
        if len(self._turns) > _REMEMBERED:
            del self._turns[next(iter(self._turns))]
        if attempt is not None and attempt is not turn.attempt:
            turn.answered.clear()
            turn.attempt = attempt
        return turn

    async def _answer(self, call: BatchCall) -> BatchAnswer:
        """Submit a call, unless it is already in a batch, and wait for its answer."""
        may_be_lost = True
        while True:
            batch = await self._journal.find(call.key)
            if batch is None:
                await self._join_batch(call)
                may_be_lost = False
                continue
            try:
                answers = await self._wait_for_end(batch, call)
            except _BatchGone as gone:
                if not may_be_lost or batch.account != self.facts.account:
                    raise gone.error from None
                may_be_lost = False
                _log.warning(
                    "%s: the vendor no longer has an earlier batch, so its calls are submitted again", self.provider
                )
                continue
            if answers is not None:
                if call.key in answers:
                    return answers[call.key]
                await self._journal.forget(call.key)
                raise AgentError(
                    "the batch ended without an answer to this call", provider=self.provider, retryable=True
                )

    async def _join_batch(self, call: BatchCall) -> None:
        """Join the calls that are being collected, and wait until they are submitted.

        The first call waits for others and submits all of them. If the first call is cancelled, the next call does so.
        """
        windows, address = self._loops.get().windows, (call.request.url, call.model)
        window = windows.get(address)
        if window is None or window.is_closed or len(window.calls) >= self._options.most_calls:
            window = windows[address] = _Window()
        window.calls[call.key] = call
        try:
            async with window.turn:
                if not window.is_closed:
                    await self._close(window)
        except BaseException:
            if not window.is_closed:
                del window.calls[call.key]
            raise
        if window.error is not None:
            raise copy(window.error)

    async def _close(self, window: _Window) -> None:
        """Wait for more calls, and submit all of them; an error is stored for all waiting calls."""
        if len(window.calls) < self._options.most_calls:
            await self._clock.sleep(self._options.collect_s)
        window.is_closed = True
        try:
            # Do not stop between submitting and recording: a batch whose id is lost has to be searched for.
            with anyio.fail_after(_SUBMITTING_S, shield=True):
                await self._submit(list(window.calls.values()))
        except TimeoutError:
            msg = f"the batch could not be submitted within {_SUBMITTING_S:g} s"
            window.error = APITimeoutError(msg, provider=self.provider)
        except RoundtableError as error:
            window.error = error

    async def _submit(self, calls: list[BatchCall]) -> None:
        batch_key = f"roundtable-{secrets.token_hex(12)}"
        now = self._clock.now().timestamp()
        begun = set(
            await self._journal.begin(batch_key, calls, now, provider=self.provider, account=self.facts.account)
        )
        new_calls = [call for call in calls if call.key in begun]
        if not new_calls:
            await self._journal.forget_batch(batch_key)
            return
        try:
            batch_id = await self._wire.submit(self._model.exchange, batch_key, new_calls)
        except RoundtableError as error:
            if not _may_have_arrived(error):
                await self._journal.forget_batch(batch_key)
            else:
                _log.warning(
                    "%s: submitting a batch of %d calls failed, but it may have arrived; a search follows in %d s (%s)",
                    self.provider,
                    len(new_calls),
                    _LOST_AFTER_S,
                    error,
                )
            raise
        await self._journal.record_submission(batch_key, batch_id)

    async def _search_batch(self, batch: KnownBatch, call: BatchCall) -> KnownBatch | None:
        """Search for a batch whose id is missing: another process is just submitting it, or crashed before the end."""
        known = await self._journal.find(call.key)
        if known is None or known.batch_id is not None:
            return known
        age_s = self._clock.now().timestamp() - batch.begun_at
        if age_s < _LOST_AFTER_S:
            await self._clock.sleep(min(_FIRST_WAIT_S, self._options.poll_s))
            return None
        find = partial(
            self._wire.find, self._model.exchange, call.request.url, batch.batch_key, call.key, batch.begun_at
        )
        batch_id = await self._retry_failures(find)
        if batch_id is None:
            await self._journal.forget_batch(batch.batch_key)
            return None
        await self._journal.record_submission(batch.batch_key, batch_id)
        return batch._replace(batch_id=batch_id)

    async def _wait_for_end(self, batch: KnownBatch, call: BatchCall) -> dict[str, BatchAnswer] | None:
        """Wait until a batch has ended. Return its answers, or `None` if the call turns out to be in no batch.

        One of the waiting calls asks the vendor on behalf of all.
        """
        flights = self._loops.get().flights
        flight = flights.setdefault(batch.batch_key, _Flight())
        flight.waiting += 1
        try:
            async with flight.turn:
                if flight.answers is None and flight.error is None:
                    try:
                        submitted = batch if batch.batch_id is not None else await self._search_batch(batch, call)
                        if submitted is None:
                            return None
                        flight.answers = await self._poll(submitted, call.request.url)
                    except RoundtableError as error:
                        flight.error = error
                if flight.error is not None:
                    raise copy(flight.error)
                return flight.answers
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                flights.pop(batch.batch_key, None)

    async def _poll(self, batch: KnownBatch, url: str) -> dict[str, BatchAnswer]:
        try:
            return await self._answers(batch, url)
        except RoundtableError as error:
            # If the vendor no longer has the batch, or gave up on it, the next try submits its calls again.
            is_gone = (error.details or {}).get("status") in {404, 410}
            if isinstance(error, BatchFailed) or is_gone:
                with anyio.CancelScope(shield=True):
                    await self._journal.forget_batch(batch.batch_key)
            if is_gone:
                raise _BatchGone(error) from error
            raise

    async def _answers(self, batch: KnownBatch, url: str) -> dict[str, BatchAnswer]:
        batch_id = batch.batch_id or ""
        wait_s = min(_FIRST_WAIT_S, self._options.poll_s)
        state = BatchState(has_ended=False)
        while not state.has_ended:
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, self._options.poll_s)
            state = await self._retry_failures(partial(self._wire.look, self._send, url, batch_id))
        wanted = await self._journal.size(batch.batch_key)
        fetch = partial(self._wire.answers, self._send, url, batch_id, state)
        answers = await self._retry_failures(fetch)
        for _ in range(_FETCHES - 1):
            if len(answers) >= wanted:
                break
            # Some answers are missing: the file may have been cut off in transfer, so it is fetched again.
            await self._clock.sleep(wait_s)
            answers = await self._retry_failures(fetch)
        return answers

    async def _send(self, http_request: HttpRequest) -> HttpResponse:
        """Send a request whose response may hold the answers of all calls."""
        return await self._model.exchange(http_request, _LIMITS)

    async def _retry_failures(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again as long as the server has temporary failures; the deadline of the call ends the attempts."""
        wait_s = min(_FIRST_WAIT_S, self._options.poll_s)
        while True:
            try:
                return await ask()
            except RoundtableError as error:
                if not error.retryable:
                    raise
                wait_s = max(wait_s, getattr(error, "retry_after_s", None) or 0)
            await self._clock.sleep(wait_s)
            wait_s = min(2 * wait_s, max(self._options.poll_s, _FIRST_WAIT_S))

    async def _read(self, call: BatchCall, answer: BatchAnswer, request: ChatRequest) -> ChatResponse:
        try:
            if answer.outcome == "expired":
                raise APITimeoutError(
                    "the batch ended before this call was made",
                    provider=self.provider,
                    hint="Try again: this call cost nothing.",
                )
            response = self._model.read(answer.status, answer.headers, answer.body, request)
        except RoundtableError:
            with anyio.CancelScope(shield=True):
                await self._journal.forget(call.key)
            raise
        await self._note_read(call)
        return response

    async def _note_read(self, call: BatchCall) -> None:
        """Record that a call has its answer; calls that get an answer at the same time are recorded together."""
        loop = self._loops.get()
        loop.read.append(call.key)
        async with loop.noting:
            keys, loop.read = loop.read, []
            try:
                if keys:
                    await self._journal.note_read(keys)
            except ConfigurationError as error:
                _log.warning("%s", error.message)  # the answers are here, and paid for


def _may_have_arrived(error: RoundtableError) -> bool:
    """Check whether a batch may have been accepted although submitting it failed."""
    details = error.details or {}
    status = details.get("status")
    if details.get("connected") is False or details.get("submitted") is False:
        return False
    if isinstance(status, int):
        # A proxy that gives up may have passed the request on before.
        return not 400 <= status < 500 or status in {408, 409, 425}
    return error.retryable
