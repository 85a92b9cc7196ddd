"""Ctrl-C, SIGTERM and SIGHUP: the first signal ends the work and saves what is done; a second signal exits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from roundtable.cli.exit_codes import ExitCode
from roundtable.core.base.eventloop import ends_at_once, receive_signals

if TYPE_CHECKING:
    import signal
    from collections.abc import Awaitable, Callable

    from roundtable.cli.render import Screen

__all__ = ["Outcome", "interruptible"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """The outcome of interruptible work."""

    value: T | None
    """Result of the work; `None` if it was interrupted."""
    code: ExitCode = ExitCode.OK
    """Exit code of the interruption."""


class _Interruption:
    """Handles signals by cancelling a scope."""

    def __init__(self, screen: Screen, what_happens: str) -> None:
        self.scope = anyio.CancelScope()
        self.code = ExitCode.OK
        self._screen = screen
        self._what_happens = what_happens
        self._asked = False

    def take(self, number: signal.Signals) -> None:
        if ends_at_once(number):
            if self._asked:
                self._screen.restore()
                # After a second signal, do not wait for running calls to be cancelled.
                os._exit(128 + number)
            self._asked = True
        if self.code is ExitCode.OK:
            self.code = ExitCode(128 + number)
            self._screen.write_note(f"Interrupted: {self._what_happens}. Interrupt again to exit at once.")
            self.scope.cancel()


async def interruptible(
    work: Callable[[], Awaitable[T]], screen: Screen, what_happens: str = "saving what is done"
) -> Outcome[T]:
    """Run work that a signal can end early; the work cleans up before this returns.

    Args:
        work: The work.
        screen: Shows a note when a signal arrives.
        what_happens: What the program does after a signal, for this note.

    Raises:
        Exception: The exception that the work raised, never an exception group.
    """
    values: list[T] = []
    interruption = _Interruption(screen, what_happens)
    try:
        async with receive_signals(interruption.take):
            with interruption.scope:
                values.append(await work())
    except OSError:
        # If the terminal is gone, writing to it fails too; report the hang-up instead.
        if interruption.code is not ExitCode.HUNG_UP:
            raise
    return Outcome(values[0] if values else None, interruption.code)
