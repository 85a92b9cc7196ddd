"""A running debate: its handle, its event stream, and `Watch`, which only follows it."""

from __future__ import annotations

import logging
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import anyio

from roundtable.api.checks import check_name
from roundtable.core.base.eventloop import ends_program
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, SessionBusy, SessionConflict, SessionError
from roundtable.logs import ROOT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from anyio.abc import TaskGroup

    from roundtable.core.record.fold import Fold
    from roundtable.core.types.events import Event, RunningCalls
    from roundtable.engine import DebateRun, Subscription
    from roundtable.results.debate_result import DebateResult

__all__ = ["BackgroundRun", "DebateHandle", "DebateStream", "Prepared", "RunningTable", "Watch", "ends_run"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.api")

_BEGIN_S = 1.0
_LEAVE_S = 30.0

_POLL_S = 0.25
_TERMINAL = frozenset({"conversation_complete", "debate_complete", "error"})

_NOT_ENTERED = "the stream was not entered"
_ENTER_HINT = "Enter it first: `async with table.stream(...) as events:`, or `with` for `roundtable.sync`."


class RunningTable(Protocol):
    """The table that a running debate belongs to."""

    def subscribe(self, session_id: str, *, after: int = 0) -> Subscription:
        """Follow a session across its runs."""

    async def pause(self, session_id: str, *, running: RunningCalls = "settle") -> object:
        """Ask a session to pause."""

    async def stop(self, session_id: str, *, running: RunningCalls = "cancel") -> object:
        """Ask a session to stop for good."""


class DebateHandle:
    """A running debate, returned by `Roundtable.start`, `start_resume` or `start_fork`."""

    def __init__(self, table: RunningTable, live: BackgroundRun) -> None:
        self._table = table
        self._live = live

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._live.prepared.session_id

    @property
    def done(self) -> bool:
        """Whether the debate is over."""
        return self._live.done.is_set()

    def events(self, *, after: int = 0) -> Watch:
        """Follow the debate from the event after number `after`, until it ends here for any reason.

        A pause counts as an end, and so does the end of the single round of `step=True`. `Roundtable.watch`, in
        contrast, continues with the next run. If the debate is already over, its stored events are yielded.
        """
        return Watch(self._table, self.session_id, after=after, live=self._live)

    async def begun(self) -> None:
        """Wait until the debate has begun to run here, or is over.

        Raises:
            RoundtableError: The debate cannot run, for example because another owner runs it.
        """
        live = self._live
        await live.begun.wait()
        if not live.running and live.error is not None:
            raise live.error

    async def wait(self) -> None:
        """Wait until the debate is over, whether it succeeds or fails; `result` returns the outcome."""
        await self._live.done.wait()

    async def result(self) -> DebateResult:
        """Wait for the end and return the result, or raise the error that `Roundtable.debate` would raise.

        Raises:
            RoundtableError: The error that `Roundtable.debate` would have raised.
            SessionError: The table was closed before any model was called.
        """
        live = self._live
        await self.wait()
        if live.error is not None:
            raise live.error
        if live.result is None:
            msg = f"the table was closed before session {self.session_id!r} began"
            raise SessionError(msg, hint="Resume the session.")
        return live.result

    async def pause(self, *, running: RunningCalls = "settle") -> None:
        """Ask the debate to pause; `Roundtable.resume` continues it."""
        await self._table.pause(self.session_id, running=running)

    async def stop(self, *, running: RunningCalls = "cancel") -> None:
        """Ask the debate to stop for good."""
        await self._table.stop(self.session_id, running=running)


@dataclass(slots=True, eq=False)
class Prepared:
    """A stored session that is ready to run."""

    session_id: str
    run: Callable[[Callable[[DebateRun], None]], Awaitable[Fold]]
    to_result: Callable[[Fold], DebateResult]
    subscribe: Callable[[], Subscription]


class BackgroundRun:
    """A debate in its own task. The task refers to this object, never to the handle or stream that follows the debate.

    Args:
        prepared: The session to run.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.result: DebateResult | None = None
        self.error: Exception | KeyboardInterrupt | SystemExit | None = None
        self.done: anyio.Event = anyio.Event()
        self.begun: anyio.Event = anyio.Event()
        self._followers: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._closed = False
        self._run: DebateRun | None = None
        self._scope = anyio.CancelScope()

    @property
    def running(self) -> bool:
        """Whether the run has started, so that a model may have been called."""
        return self._run is not None

    async def drive(self) -> None:
        """Run the debate; only a cancellation, and errors that must end the program, are raised here."""
        try:
            with self._scope:
                fold = await self.prepared.run(self._on_start)
                self.result = self.prepared.to_result(fold)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if ends_program(error):
                raise
            self.error = error  # raised where events or the result are read
            if self._run is None:
                session = self.prepared.session_id
                # If another owner runs the session, or has completed it meanwhile, nothing has failed.
                level = logging.INFO if isinstance(error, SessionBusy | SessionConflict) else logging.WARNING
                message = "nothing is run here" if level == logging.INFO else "the debate failed before it began"
                logger.log(level, "%s: %s", message, error_text(error), extra={"session": session})
        finally:
            # Set first, so that no waiter blocks forever if a later line fails. Waiters continue after this block.
            self.begun.set()
            self.done.set()
            self._store_partial()
            for subscription in tuple(self._followers):
                _end_subscription(subscription)

    def follow(self, subscription: Subscription) -> None:
        """End a subscription once this debate is over: it still yields the events in the log, but no later run."""
        if self.done.is_set():
            _end_subscription(subscription)
        else:
            self._followers.add(subscription)

    def _store_partial(self) -> None:
        if self.result is not None or self._run is None:
            return
        try:
            self.result = self.prepared.to_result(self._run.fold)
        except Exception as error:  # noqa: BLE001  (raised where events or the result are read)
            self.error = self.error or error

    def close(self) -> None:
        """Prevent further model calls; this only sets flags, so any thread may call it at any time."""
        self._closed = True
        if self._run is not None:
            self._run.closed = True

    async def leave(self) -> None:
        """End the debate if it still runs, and wait for its end. The time of its final save is limited.

        If foreign code ignores the cancellation, the wait ends after `_LEAVE_S` seconds; closing the table waits
        longer.
        """
        self.close()
        with anyio.move_on_after(_LEAVE_S, shield=True) as waiting:
            # A run that is cancelled before it begins stores nothing, so its session would look as if it had never run.
            with anyio.move_on_after(_BEGIN_S):
                await self.begun.wait()
            self._scope.cancel()
            await self.done.wait()
        if waiting.cancelled_caught:
            session = self.prepared.session_id
            logger.warning("the debate did not end within %g s", _LEAVE_S, extra={"session": session})

    def _on_start(self, run: DebateRun) -> None:
        self._run = run
        run.closed = self._closed
        self.begun.set()


def _end_subscription(subscription: Subscription) -> None:
    subscription.end()
    subscription.close()


class DebateStream:
    """Runs a debate and yields its events as they happen.

    Use it with `async with`, inside the `async with` of its table. The debate runs while the block is
    open. Leaving the block in any way ends the debate: answers are stored, running calls are cancelled, and no further
    call starts. After that, the session is `paused` and can be resumed. A stream that is dropped without leaving its
    block starts no further call either.

    Iteration ends after the last event; it raises the errors that `Roundtable.debate` would raise.

    Example:
        ```python
        async with roundtable.Roundtable() as table:
            async with table.stream("Tea or coffee?") as events:
                async for event in events:
                    print(event.type)
            print(events.result.answer)
        ```
    """

    def __init__(self, prepare: Callable[[], Awaitable[Prepared]], tasks: Callable[[], TaskGroup]) -> None:
        self._prepare = prepare
        self._tasks = tasks
        self._entered = False
        self._live: BackgroundRun | None = None
        self._subscription: Subscription | None = None

    @property
    def session_id(self) -> str:
        """Id of the session.

        Raises:
            ConfigurationError: The stream was not entered yet.
        """
        if self._live is None:
            raise ConfigurationError(_NOT_ENTERED, hint=_ENTER_HINT)
        return self._live.prepared.session_id

    @property
    def result(self) -> DebateResult:
        """The result, once the debate is over or the block was left.

        Raises:
            ConfigurationError: The debate is still running, or was left before anything was stored.
        """
        if self._live is None or self._live.result is None:
            msg = "the debate has no result yet"
            raise ConfigurationError(msg, hint="First read all events, or leave the block.")
        return self._live.result

    async def __aenter__(self) -> Self:
        """Create the session and start the debate.

        Raises:
            ConfigurationError: The table was not entered, or an argument is not valid.
        """
        if self._entered:
            msg = "a stream can be entered only once"
            raise ConfigurationError(msg, hint="Create another stream with Roundtable.stream().")
        self._entered = True
        self._tasks()
        prepared = await self._prepare()
        group = self._tasks()  # checked again: the table may have been left meanwhile
        self._subscription = prepared.subscribe()
        live = self._live = BackgroundRun(prepared)
        live.follow(self._subscription)
        # The task belongs to the table, not to this block. So it does no harm if the block is never left, or if another
        # task leaves it than the one that entered it, as happens with asynchronous generators.
        group.start_soon(live.drive)
        weakref.finalize(self, live.close).atexit = False
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        live, subscription = self._live, self._subscription
        if live is None or subscription is None:
            raise ConfigurationError(_NOT_ENTERED, hint=_ENTER_HINT)
        event = await subscription.take()
        if event is not None:
            return event
        if live.error is not None:
            raise live.error
        raise StopAsyncIteration

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the debate if it still runs, and wait for its end."""
        if self._live is not None:
            await self._live.leave()


class Watch:
    """Iterator over the events of a session that runs here or in another process; it never runs the session itself.

    It yields every durable event once and in order, and also live events of sessions that run in this process. It ends
    after the event that ended the latest run; while another run may follow, it continues until it is closed. With
    `live`, it ends with the given run.
    """

    def __init__(self, table: RunningTable, session_id: str, *, after: int, live: BackgroundRun | None = None) -> None:
        check_name("session_id", session_id)
        self._subscription = table.subscribe(session_id, after=after)
        if live is not None:
            live.follow(self._subscription)
        self._is_of_run = live is not None
        self._started = False
        self._at_end = False
        self._closed = False
        weakref.finalize(self, self._subscription.close).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not self._started:
            await self._catch_up()
        while not self._closed:
            ended = self._subscription.ended  # read first, so that events stored by then are yielded before the end
            event = await self._subscription.take(0 if self._at_end else _POLL_S)
            if event is not None:
                # A watch of one run ignores the ends of earlier runs; the end of its run closes the subscription.
                self._at_end = not self._is_of_run and ends_run(event, so_far=self._at_end)
                if self._at_end:
                    self._subscription.fall_behind()
                return event
            if self._at_end or ended:
                self.close()
            self._subscription.fall_behind()
        raise StopAsyncIteration

    async def _catch_up(self) -> None:
        """Check that the session exists, and whether a run had ended at the start of this watch."""
        subscription = self._subscription
        if not subscription.last_seq:
            await subscription.read_log()
        elif not self._is_of_run:
            for event in await subscription.stored():
                if event.seq <= subscription.last_seq:
                    self._at_end = ends_run(event, so_far=self._at_end)
        self._started = True

    def close(self) -> None:
        """Stop following; idempotent."""
        self._closed = True
        self._subscription.close()

    async def __aenter__(self) -> Self:
        """Check that the session exists, and start following it.

        Raises:
            SessionNotFound: No session has this id.
            StorageError: The session could not be read.
        """
        if not self._started:
            try:
                await self._catch_up()
            except BaseException:
                self.close()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ends_run(event: Event, *, so_far: bool) -> bool:
    """Check whether no run is under way after this event."""
    if event.type == "synthesis_complete" or (event.type == "control" and event.action in {"pause", "stop"}):
        return so_far  # a synthesis may follow the end of a debate, and a request alone changes nothing
    return event.type in _TERMINAL
