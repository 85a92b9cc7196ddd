"""What a run adds to the plans of its mode: a thread for third-party modes, limits and pace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from roundtable.core.base.eventloop import PerLoop, on_thread
from roundtable.core.errors import ConfigurationError, SessionError
from roundtable.core.mode.rounds import plan_with
from roundtable.core.mode.wrapped import WrappedMode
from roundtable.core.types.plan import Stage

if TYPE_CHECKING:
    from roundtable.core.engine.patience import Patience
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.debate import DebateContext
    from roundtable.core.types.plan import Plan

__all__ = ["BoundedMode", "RunLimits", "StepLimiter", "plan_isolated", "same_stage"]

STEPS: Final = 8
"""Steps of debates in one pass of the event loop; one step takes about a millisecond."""

PLAN_S: Final = 10.0
"""Seconds that a third-party mode has for a plan."""

PAUSE_S: Final = 60.0
"""Seconds that calls in progress have after a request to pause."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run."""

    rounds: int | None = None
    """Most rounds that this run may take; all planned rounds when left out."""
    deadline_s: float | None = None
    """Seconds until running calls are cancelled and the run ends."""
    turn_timeout_s: float | None = None
    """Seconds that each turn has for all its calls."""
    lease_ttl_s: float = 15.0
    """Seconds until the lease expires. The run renews it after each third of that time."""
    pause_s: float = PAUSE_S
    """Seconds that calls in progress have after a request to pause; then they are cancelled."""
    wait_s: float = 0.0
    """Seconds to wait for the lease of another owner to expire, before the run fails."""
    resume: bool = False
    """Whether the caller resumes the session; a pending request to pause or stop is then dropped."""
    budget: Budget | None = None
    """Budget of the whole session; the stored budget when left out."""
    patience: Patience | None = None
    """Decides whether to wait for providers of failed turns; when left out, the run goes on without these turns."""


class StepLimiter:
    """Limits the steps of debates in each pass of the event loop; the step that waits longest is next.

    Without this limit, a thousand debates whose agents answer at once would block all other tasks of the loop for
    seconds. A few debates do not wait at all.

    Args:
        steps: Steps per pass.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self._semaphores: PerLoop[anyio.Semaphore] = PerLoop(partial(anyio.Semaphore, steps, fast_acquire=True))

    async def step(self) -> None:
        """Wait for a free step in a pass of the loop; the next pass frees it again."""
        async with self._semaphores.get():
            await checkpoint()


async def plan_isolated(mode: DebateModeStrategy, view: DebateContext) -> Plan:
    """Return the next step that a mode plans; a third-party mode plans on its own thread.

    A third-party mode that blocks therefore delays neither leases nor other debates. It cannot be stopped: its thread
    runs until the mode returns, but does not keep the program from ending. The mode gets a deep copy of the view, so
    nothing that it does to the view changes the debate.

    Raises:
        ConfigurationError: The mode raised an error, or returned no plan within `PLAN_S`.
    """
    if _is_built_in(mode):
        return plan_with(mode, view)
    with anyio.move_on_after(PLAN_S):
        return await on_thread(lambda: plan_with(mode, view.model_copy(deep=True)), name="roundtable mode")
    raise _late_error(mode.name)


class BoundedMode(WrappedMode):
    """A mode whose plans must be ready in time, for callers that don't await the plan, such as estimates."""

    def next_stage(self, view: DebateContext) -> Plan:
        """Return the plan of the wrapped mode; a third-party mode plans on its own thread.

        Raises:
            ConfigurationError: The mode raised an error, or returned no plan within `PLAN_S`.
        """
        if _is_built_in(self.inner):
            return plan_with(self.inner, view)
        plans: list[Plan] = []
        errors: list[Exception] = []

        def plan() -> None:
            try:
                plans.append(plan_with(self.inner, view.model_copy(deep=True)))
            except Exception as error:  # noqa: BLE001  (raised to the caller)
                errors.append(error)

        thread = Thread(target=plan, name="roundtable mode", daemon=True)
        thread.start()
        thread.join(PLAN_S)
        if errors:
            raise errors[0]
        if not plans:
            raise _late_error(self.name)
        return plans[0]


def _late_error(mode: str) -> ConfigurationError:
    msg = f"mode {mode!r} returned no plan within {PLAN_S:g} s"
    return ConfigurationError(
        msg, hint="next_stage must compute its plan without sleeping or I/O. Fix it, then resume."
    )


def _is_built_in(mode: DebateModeStrategy) -> bool:
    """Check whether a mode, and each mode that it wraps, is part of the library."""
    while isinstance(mode, WrappedMode) and type(mode).__module__.startswith("roundtable."):
        mode = mode.inner
    return type(mode).__module__.startswith("roundtable.")


def same_stage(mode: DebateModeStrategy, plan: object, name: str) -> Stage:
    """Return the new plan of a stage that was interrupted.

    Raises:
        SessionError: The mode now plans a different stage, or no stage.
    """
    if not isinstance(plan, Stage) or plan.name != name:
        msg = f"mode {mode.name!r} no longer plans the stage {name!r}, which was interrupted"
        raise SessionError(msg, hint="Resume with the version of the mode that started this debate.")
    return plan
