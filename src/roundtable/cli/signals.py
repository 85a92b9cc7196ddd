"""Ctrl-C and SIGTERM: the first ends the work and keeps what is done, the second leaves at once."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from roundtable.cli.codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskStatus

    from roundtable.cli.screen import Screen

__all__ = ["Outcome", "interruptible"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a piece of work ended."""

    value: T | None
    """What it gave; `None` when it was interrupted."""
    code: ExitCode = ExitCode.OK
    """Which exit code an interruption asks for."""


class _Interruption:
    """Hears signals and cancels a scope."""

    def __init__(self, screen: Screen) -> None:
        self.scope = anyio.CancelScope()
        self.code = ExitCode.OK
        self._screen = screen

    async def listen(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        if sys.platform == "win32":
            # There, Ctrl-C cancels the main task by way of KeyboardInterrupt instead.
            task_status.started()
            return
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                self._take(number)

    def _take(self, number: signal.Signals) -> None:
        if self.code is not ExitCode.OK:
            self._screen.restore()
            # Whoever asks twice does not want to wait for a running call to be given up.
            os._exit(128 + number)
        self.code = ExitCode(128 + number)
        self._screen.remark("Interrupted: keeping what is done. Once more leaves at once.")
        self.scope.cancel()


async def interruptible(work: Callable[[], Awaitable[T]], screen: Screen) -> Outcome[T]:
    """Do some work that a signal ends early; the work cleans up after itself before this returns.

    Raises:
        Exception: What the work raised, never in a group.
    """
    values: list[T] = []
    errors: list[Exception] = []
    interruption = _Interruption(screen)
    async with anyio.create_task_group() as group:
        await group.start(interruption.listen)
        with interruption.scope:
            try:
                values.append(await work())
            except Exception as error:  # noqa: BLE001  (raised below, outside of the group)
                errors.append(error)
        group.cancel_scope.cancel()
    if errors:
        raise errors[0]
    return Outcome(values[0] if values else None, interruption.code)
