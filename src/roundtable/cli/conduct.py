"""Running a debate from the command: tell it as it goes, end it cleanly, sum it up."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Self

import anyio

from roundtable.cli.codes import ExitCode, exit_code
from roundtable.cli.ending import beginning, deliver, ending
from roundtable.cli.lines import Line
from roundtable.cli.place import SHORT_ID
from roundtable.cli.signals import interruptible
from roundtable.cli.story import Story
from roundtable.errors import QuorumLost, RoundtableError
from roundtable.result import DebateResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType
    from typing import Protocol

    from roundtable.api import Roundtable
    from roundtable.cli.place import Place
    from roundtable.cli.screen import Screen
    from roundtable.types import Event, RoundRecord

    class Running(Protocol):
        """A debate under way; `DebateStream` is one."""

        @property
        def session_id(self) -> str:
            """Id of the session."""

        async def __aenter__(self) -> Self:
            """Begin."""

        async def __aexit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            """End."""

        def __aiter__(self) -> AsyncIterator[Event]:
            """Give the events."""


__all__ = ["Continued", "conduct"]

logger: logging.Logger = logging.getLogger("roundtable.cli")


class Continued:
    """A stored session that goes on, in the shape of a `DebateStream`.

    Args:
        table: Whose session it is.
        session_id: Which.
        go: Goes on with it to its next end.
    """

    def __init__(self, table: Roundtable, session_id: str, go: Callable[[], Awaitable[DebateResult]]) -> None:
        wiring = table.wiring
        self.session_id = session_id
        self.left: RoundRecord | None = None
        """The round it was left in, as it was stored before it goes on; `None` between two rounds."""
        self._go = go
        self._subscription = wiring.hub.subscribe(session_id, wiring.storage, tenant=wiring.options.tenant)
        self._group = anyio.create_task_group()
        self._error: Exception | None = None
        self._load = wiring.sessions.load

    async def __aenter__(self) -> Self:
        """Begin."""
        # What was told before is no event of this run.
        stored = await self._load(self.session_id)
        self._subscription.last_seq = stored.last_seq
        self.left = next((held for held in stored.to_record().rounds[-1:] if not held.complete), None)
        await self._group.__aenter__()
        self._group.start_soon(self._drive)
        return self

    async def _drive(self) -> None:
        try:
            await self._go()
        except Exception as error:  # noqa: BLE001  (raised to whoever reads the events)
            self._error = error
        finally:
            self._subscription.end()

    def __aiter__(self) -> AsyncIterator[Event]:
        """Give the events."""
        return self

    async def __anext__(self) -> Event:
        """Give the next event."""
        event = await self._subscription.take()
        if event is not None:
            return event
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._subscription.close()
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


class _Watched:
    """Follows one running debate on a screen."""

    def __init__(self, table: Roundtable, place: Place, screen: Screen) -> None:
        self.session_id: str | None = None
        self._table = table
        self._place = place
        self._screen = screen

    async def follow(self, running: Running, note: str | None) -> DebateResult:
        """Tell a debate to its end."""
        async with running:
            self.session_id = running.session_id
            so_far = await self._table.session(self.session_id)
            story = Story({agent.id: agent.name for agent in so_far.agents}, so_far.total_rounds, time.monotonic)
            if note is not None:
                self._screen.remark(note)
            if not self._screen.quiet:
                self._screen.show(beginning(so_far))
            left = running.left if isinstance(running, Continued) else None
            taken_up = [] if left is None else story.take_up(left)
            if any(agent.provider == "human" for agent in so_far.agents):
                await self._tell_afterwards(running, story, taken_up)
            else:
                self._tell(taken_up)
                with self._screen.following(story):
                    async for event in running:
                        self._tell(story.tell(event))
        return await self._table.session(self.session_id)

    def _tell(self, told: list[Line]) -> None:
        if not self._screen.quiet:
            self._screen.show(told)

    async def _tell_afterwards(self, running: Running, story: Story, held_back: list[Line]) -> None:
        """Tell nothing before the end: who sits at this terminal sees what its turns show, and no more.

        Besides, lines and the live view would run over what is being typed.
        """
        if not self._screen.quiet:
            self._screen.remark("What is said is told at the end: a person sees what its turns show, and no more.")
        try:
            async for event in running:
                held_back += story.tell(event)
        finally:
            self._tell([Line(""), *held_back])

    async def failed(self, error: RoundtableError) -> ExitCode:
        """Show an error, and what there is in spite of it."""
        if self.session_id is None:
            raise error
        partial = error.partial if isinstance(error, QuorumLost) else None
        if isinstance(partial, DebateResult):
            self._screen.show(ending(partial, self._place, broken=False))
        self._screen.error(error, sessionId=self.session_id)
        if partial is None and self._place.lasts and not self._screen.as_json:
            self._screen.remark(await self._advice(self.session_id))
        return exit_code(error)

    async def _advice(self, session_id: str) -> str:
        short, stored = session_id[:SHORT_ID], f"What was answered before is stored in {self._place.shown}."
        if await self._is_completed(session_id):
            return f"{stored} See it again: {self._place.command('show', short)}"
        return f"{stored} Go on: {self._place.running('resume', short)}"

    async def _is_completed(self, session_id: str) -> bool:
        try:
            return (await self._table.session(session_id)).session_status == "completed"
        except RoundtableError as error:
            logger.debug("the session could not be looked at: %s", error.message, extra={"session": session_id})
            return False


async def conduct(
    table: Roundtable,
    place: Place,
    screen: Screen,
    begin: Callable[[], Awaitable[Running]],
    *,
    note: str | None = None,
    keep_result: Callable[[DebateResult], None] | None = None,
) -> ExitCode:
    """Run a debate on a screen and give the exit code.

    Args:
        table: Who debates.
        place: Where it is kept.
        screen: Where it is shown.
        begin: Gets everything ready and gives the debate, which has not begun.
        note: What to say on standard error once it has begun.
        keep_result: What else to do with the result.

    Raises:
        RoundtableError: The debate could not be begun.
    """
    watched = _Watched(table, place, screen)

    async def work() -> DebateResult:
        return await watched.follow(await begin(), note)

    try:
        outcome = await interruptible(work, screen)
        result = outcome.value
        if result is None and watched.session_id is not None:
            result = await table.session(watched.session_id)
        if result is None:
            screen.error(_nothing_begun(outcome.code))
            return outcome.code
        deliver(result, screen, ending(result, place), keep_result)
    except RoundtableError as error:
        return await watched.failed(error)
    else:
        return outcome.code


def _nothing_begun(code: ExitCode) -> RoundtableError:
    return RoundtableError("interrupted before the debate began; nobody was asked anything", code=code.name)
