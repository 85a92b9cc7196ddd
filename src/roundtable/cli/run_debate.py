"""Run a debate from the command line: show its events, handle interruption, and print the summary."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Literal, Self

import anyio

from roundtable.cli.event_printer import EventPrinter, Line
from roundtable.cli.exit_codes import ExitCode, exit_code
from roundtable.cli.signals import interruptible
from roundtable.cli.storage_location import SHORT_ID
from roundtable.cli.summary import heading_lines, show_result, summary_lines
from roundtable.core.errors import QuorumLost, RoundtableError, SessionNotFound
from roundtable.results.debate_result import DebateResult

__all__ = ["ContinuedDebate", "run_debate"]


if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType
    from typing import Protocol

    from roundtable.api import Roundtable
    from roundtable.cli.render import Screen
    from roundtable.cli.storage_location import StorageLocation
    from roundtable.core.types.debate import RoundRecord, SessionStatus
    from roundtable.core.types.events import Event

    class Running(Protocol):
        """A running debate, such as a `DebateStream`."""

        @property
        def session_id(self) -> str:
            """Id of the session."""

        async def __aenter__(self) -> Self:
            """Start the debate."""

        async def __aexit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            """Cancel the debate if it still runs."""

        def __aiter__(self) -> AsyncIterator[Event]:
            """Iterate over the events."""


logger: logging.Logger = logging.getLogger("roundtable.cli")


class ContinuedDebate:
    """A resumed or extended session, with the interface of a `DebateStream`.

    Args:
        table: The table that runs the session.
        session_id: Id of the session.
        go: Continues the session until it ends or stops again.
    """

    def __init__(self, table: Roundtable, session_id: str, go: Callable[[], Awaitable[DebateResult]]) -> None:
        self.session_id = session_id
        self.left: RoundRecord | None = None
        """The unfinished round as stored before this run; `None` between two rounds."""
        self._continue_session = go
        self._subscription = table.subscribe(session_id, catch_up=False)
        self._group = anyio.create_task_group()
        self._error: Exception | None = None
        self._load = table.state

    async def __aenter__(self) -> Self:
        """Start the session."""
        # Skip the events of earlier runs.
        stored = await self._load(self.session_id)
        self._subscription.last_seq = stored.last_seq
        self.left = next((record for record in stored.to_record().rounds[-1:] if not record.complete), None)
        await self._group.__aenter__()
        self._group.start_soon(self._run)
        return self

    async def _run(self) -> None:
        try:
            await self._continue_session()
        except Exception as error:  # noqa: BLE001  (raised again by the iterator)
            self._error = error
        finally:
            self._subscription.end()

    def __aiter__(self) -> AsyncIterator[Event]:
        """Iterate over the events."""
        return self

    async def __anext__(self) -> Event:
        """Return the next event."""
        event = await self._subscription.take()
        if event is not None:
            return event
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel the session if it still runs."""
        self._subscription.close()
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


class _DebateView:
    """Shows one running debate on a screen."""

    def __init__(self, table: Roundtable, location: StorageLocation, screen: Screen) -> None:
        self.session_id: str | None = None
        self._table = table
        self._place = location
        self._screen = screen

    async def follow(self, running: Running, note: str | None) -> DebateResult:
        """Show a debate until it ends, and return its result."""
        async with running:
            self.session_id = running.session_id
            session = await self._table.session(self.session_id)
            story = EventPrinter(
                {agent.id: agent.name for agent in session.agents}, session.total_rounds, time.monotonic
            )
            if note is not None:
                self._screen.write_note(note)
            if not self._screen.quiet:
                self._screen.show(heading_lines(session))
            unfinished = running.left if isinstance(running, ContinuedDebate) else None
            earlier_lines = [] if unfinished is None else story.take_up(unfinished)
            if any(self._table.catalog.provider_info(agent.provider).is_person for agent in session.agents):
                await self._show_at_end(running, story, earlier_lines)
            else:
                self._show(earlier_lines)
                with self._screen.show_live(story):
                    async for event in running:
                        self._show(story.handle_event(event))
        return await self._table.session(self.session_id)

    def _show(self, lines: list[Line]) -> None:
        if not self._screen.quiet:
            self._screen.show(lines)

    async def _show_at_end(self, running: Running, story: EventPrinter, lines: list[Line]) -> None:
        """Print the debate only at its end, so that until then a human agent sees only what its turns show.

        Output during the debate would also overwrite what the person types.
        """
        if not self._screen.quiet:
            self._screen.write_note(
                "The debate is printed at its end: until then, a human agent sees only its own turns."
            )
        try:
            async for event in running:
                lines += story.handle_event(event)
        finally:
            self._show([Line(""), *lines])

    async def show_error(self, error: RoundtableError) -> ExitCode:
        """Show an error, and the partial result if there is one."""
        if self.session_id is None:
            raise error
        partial = error.partial if isinstance(error, QuorumLost) else None
        if isinstance(partial, DebateResult):
            self._screen.show(summary_lines(partial, self._place, broken=False))
        self._screen.error(error, sessionId=self.session_id)
        if partial is None:
            await self.show_advice()
        return exit_code(error)

    async def show_advice(self) -> None:
        """Show on standard error where the session is stored, and the command that continues or shows it."""
        if self.session_id is not None and self._place.is_persistent and not self._screen.as_json:
            self._screen.write_note(await self._advice(self.session_id))

    async def _advice(self, session_id: str) -> str:
        short, stored = session_id[:SHORT_ID], f"Earlier answers are stored in {self._place.shown}."
        status = await self._status(session_id)
        if status == "removed":
            return f"Session {session_id} was removed from {self._place.shown} while it ran; it cannot be resumed."
        if status == "completed":
            return f"{stored} See it again: {self._place.command('show', short)}"
        return f"{stored} Resume: {self._place.running('resume', short)}"

    async def _status(self, session_id: str) -> SessionStatus | Literal["removed"] | None:
        try:
            return (await self._table.session(session_id)).session_status
        except SessionNotFound:
            return "removed"
        except RoundtableError as error:
            logger.debug("cannot read the status of the session: %s", error.message, extra={"session": session_id})
            return None


async def run_debate(
    table: Roundtable,
    location: StorageLocation,
    screen: Screen,
    begin: Callable[[], Awaitable[Running]],
    *,
    note: str | None = None,
    keep_result: Callable[[DebateResult], None] | None = None,
) -> ExitCode:
    """Run a debate, show it on a screen, and return the exit code.

    Args:
        table: The table that runs the debate.
        location: Where the session is stored.
        screen: Where the debate is shown.
        begin: Prepares the debate and returns it without starting it.
        note: A remark for standard error after the start.
        keep_result: Called with the result, for example to write it to a file.

    Raises:
        RoundtableError: The debate could not start.
    """
    view = _DebateView(table, location, screen)

    async def work() -> DebateResult:
        return await view.follow(await begin(), note)

    try:
        outcome = await interruptible(work, screen)
        result = outcome.value
        if result is None and view.session_id is not None:
            result = await table.session(view.session_id)
        if result is None:
            screen.error(_interrupted_before_start(outcome.code))
            return outcome.code
        try:
            show_result(result, screen, summary_lines(result, location), keep_result)
        except OSError:
            if outcome.code is not ExitCode.HUNG_UP:  # on hang-up the terminal is gone
                raise
    except RoundtableError as error:
        return await view.show_error(error)
    except OSError:  # nobody reads standard output any more, or its disk is full
        await view.show_advice()
        raise
    else:
        return outcome.code


def _interrupted_before_start(code: ExitCode) -> RoundtableError:
    return RoundtableError("interrupted before the debate began; no model was called", code=code.name)
