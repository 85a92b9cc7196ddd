"""Figures of a server: counted as debates are told and requests answered, kept by the hour beside the sessions."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio
from pydantic import ValidationError

from roundtable.errors import StorageError
from roundtable.server.reports import MetricsReport, report_of
from roundtable.server.requests import logger
from roundtable.server.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from pydantic import JsonValue

    from roundtable.protocols import KeyValue, SleepingClock
    from roundtable.types import Event

__all__ = ["PERIODS", "Figures", "Period"]

Period: TypeAlias = Literal["24h", "7d", "30d"]
"""Time that a report is about, up to now."""

PERIODS: Final[dict[Period, tuple[int, int]]] = {"24h": (24, 1), "7d": (7 * 24, 24), "30d": (30 * 24, 24)}
"""Hours of a period, and hours of one step of its series."""

_TENANT: Final = ":figures"  # no user is called so
_KEY: Final = "hour/"
_KEPT_S: Final = 32 * 86_400
_FLUSH_S: Final = 5.0
_MOST_RUNS: Final = 10_000


class Figures:
    """Counts what happens at a server; an observer of every table it lends.

    What is counted since the start is in `total`; by the hour it is added to what the storage holds, every five seconds
    and at the end, so that it survives a restart and several processes add up. A process that is killed loses
    what it counted in these seconds.

    Args:
        values: Where figures are kept.
        clock: Says which hour it is.
    """

    def __init__(self, values: KeyValue, *, clock: SleepingClock) -> None:
        self.total: Tally = Tally()
        """All since the start of this process."""
        self.started_at: datetime = clock.now()
        """When that was."""
        self._values = values
        self._clock = clock
        self._pending: dict[str, Tally] = {}
        self._runs: dict[str, datetime] = {}

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Figures]:
        """Store figures now and then, and at the end."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._flush_for_ever)
            yield self
            group.cancel_scope.cancel()
        with anyio.move_on_after(2, shield=True):
            await self.flush()

    def notify(self, event: Event) -> None:
        """Count an event of a debate or conversation."""
        if not event.durable or event.type == "control":
            return
        self._runs.setdefault(event.session_id, event.timestamp)
        if len(self._runs) > _MOST_RUNS:  # some never told their end, such as when the storage failed
            del self._runs[next(iter(self._runs))]
        for tally in self._tallies():
            _count(tally, event)
        if (outcome := _outcome(event)) is not None:
            took = event.timestamp - self._runs.pop(event.session_id, event.timestamp)
            for tally in self._tallies():
                setattr(tally, outcome, getattr(tally, outcome) + 1)
                tally.times.note(max(0.0, took.total_seconds()))

    def refused(self, limit: str) -> None:
        """Count a request that met a limit."""
        for tally in self._tallies():
            tally.note_refusal(limit)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request, and how long it waited for the beginning of its answer."""
        for tally in self._tallies():
            tally.note_request(method, route, status, seconds)

    async def flush(self) -> None:
        """Add what was counted to what is stored; where the storage fails, with the next try."""
        pending, self._pending = self._pending, {}
        for hour, tally in pending.items():
            try:
                await self._values.update(_KEY + hour, _adding(tally), ttl_s=_KEPT_S, tenant=_TENANT)
            except Exception as error:  # noqa: BLE001  (whatever a storage raises, the server goes on)
                logger.warning("figures could not be stored: %s", error)
                later = self._pending.setdefault(hour, Tally())
                later.add(tally)

    async def report(self, period: Period = "24h") -> MetricsReport:
        """Say what happened in a period, at all processes of this storage; others may be five seconds behind.

        Raises:
            StorageError: The storage does not answer.
        """
        await self.flush()
        until = self._clock.now()
        hours, step = PERIODS[period]
        since = _hour(until) - timedelta(hours=hours - 1)
        kept: list[tuple[datetime, Tally]] = []
        for key, value in await self._values.scan(_KEY, tenant=_TENANT):
            hour = datetime.fromisoformat(key.removeprefix(_KEY))
            if hour >= since:
                kept.append((hour, _read(value)))
        return report_of(period, since, until, _steps(kept, since, hours, step))

    def _tallies(self) -> tuple[Tally, Tally]:
        hour = _hour(self._clock.now()).isoformat()
        return self.total, self._pending.setdefault(hour, Tally())

    async def _flush_for_ever(self) -> None:
        while True:
            await self._clock.sleep(_FLUSH_S)
            await self.flush()


def _count(tally: Tally, event: Event) -> None:
    match event.type:
        case "debate_start" | "conversation_start":
            tally.begun += 1
        case "agent_complete" | "agent_error" | "initiator_complete":
            tally.note_turn(event.turn)
        case "conversation_complete":
            if event.turn is not None:
                tally.note_turn(event.turn)
        case "consensus" | "synthesis_complete":
            tally.note_usage(event.usage)
        case "error":
            tally.note_error(event.code)
        case _:
            pass


def _outcome(event: Event) -> Literal["completed", "paused", "broken"] | None:
    match event.type:
        case "conversation_complete":
            return "completed"
        case "debate_complete":
            return "completed" if event.status == "completed" else "paused"
        case "error":
            return "broken"
        case _:
            return None


def _hour(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _adding(tally: Tally) -> Callable[[JsonValue], JsonValue]:
    def added(value: JsonValue) -> JsonValue:
        kept = _read(value)
        kept.add(tally)
        return kept.stored()

    return added


def _read(value: JsonValue) -> Tally:
    try:
        return Tally.read(value)
    except ValidationError as error:
        raise StorageError("stored figures cannot be read", cause=error) from error


def _steps(
    kept: Sequence[tuple[datetime, Tally]], since: datetime, hours: int, step: int
) -> list[tuple[datetime, Tally]]:
    """Sum hours by the steps of a series; steps in which nothing happened are there too."""
    steps = [(since + timedelta(hours=at), Tally()) for at in range(0, hours, step)]
    for hour, tally in kept:
        at = int((hour - since) / timedelta(hours=step))
        steps[min(at, len(steps) - 1)][1].add(tally)
    return steps
