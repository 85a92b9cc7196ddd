"""Waits of more than a second: report each to the display of the debate that waits."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from roundtable.core.types.events import WaitReason

__all__ = ["ON_WAIT", "SHOWN_S", "Wait", "report_wait", "reported", "reporting_to"]

T = TypeVar("T")

SHOWN_S: Final = 1.0
"""Seconds above which a wait is reported."""


class Wait(NamedTuple):
    """A wait of more than a second."""

    reason: WaitReason
    """What kind of wait it is."""
    detail: str
    """What is waited for, without words of servers and models, such as `"the rate of 60 calls a minute"`."""
    remaining_s: float | None = None
    """Seconds until its end; `None` if that is not known."""


ON_WAIT: Final[ContextVar[Callable[[Wait], None] | None]] = ContextVar("roundtable_on_wait", default=None)
"""Function that gets the waits of the running code, such as those of one turn; `None` if nobody wants to know."""


def report_wait(wait: Wait) -> None:
    """Report a wait that begins, or goes on, to the code that follows this turn or this debate."""
    report = ON_WAIT.get()
    if report is not None:
        report(wait)


@contextmanager
def reporting_to(report: Callable[[Wait], None] | None) -> Generator[None]:
    """Send the waits of the block, and of the tasks that it starts, to a function."""
    token = ON_WAIT.set(report)
    try:
        yield
    finally:
        ON_WAIT.reset(token)


async def reported(step: Callable[[], Awaitable[T]], wait: Wait) -> T:
    """Await a step whose length is unknown; report it as a wait when it has taken a second.

    Args:
        step: What is awaited.
        wait: The wait to report.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    async def report_later() -> None:
        await anyio.sleep(SHOWN_S)
        report_wait(wait)

    async with anyio.create_task_group() as group:
        group.start_soon(report_later)
        try:
            results.append(await step())
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001  (raised below, not in a group)
            errors.append(error)
        group.cancel_scope.cancel()
    if errors:
        raise errors[0]
    return results[0]
