"""Metrics of a server: counted from events and requests, and stored for each hour in the key-value store."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, assert_never

import anyio
from pydantic import ValidationError

from roundtable.core.errors import StorageError
from roundtable.server.metrics import Tally
from roundtable.server.metrics_report import MetricsReport, report_of
from roundtable.server.request_context import logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from pydantic import JsonValue

    from roundtable.core.capabilities import KeyValue
    from roundtable.core.protocols import SleepingClock
    from roundtable.core.types.events import Event

__all__ = ["PERIODS", "MetricsObserver", "Period"]


Period: TypeAlias = Literal["24h", "7d", "30d"]
"""Period that a report covers; it ends now."""

PERIODS: Final[dict[Period, tuple[int, int]]] = {"24h": (24, 1), "7d": (7 * 24, 24), "30d": (30 * 24, 24)}
"""Number of hours in each period, and in each step of its series."""

_TENANT: Final = ":figures"  # no user is called so
_KEY: Final = "hour/"
_RETENTION_S: Final = 32 * 86_400
_FLUSH_S: Final = 5.0
_MAX_RUNS: Final = 10_000


@dataclass(slots=True)
class _Run:
    """A run that has not ended."""

    began_at: datetime
    """Time of its first event."""
    rests_since: datetime | None = None
    """When its latest step ended; the session then waits for its caller, maybe for days."""


class MetricsObserver:
    """Counts what happens on a server; it observes the sessions of all users.

    `total` contains the counts since the start of this process. Every five seconds and at the end, new counts are added
    to the stored counts of the current hour. So counts survive a restart, and the counts of several processes add up. A
    process that is killed loses the counts of its last seconds.

    Args:
        values: Key-value store for the counts.
        clock: Clock that decides which hour it is.
    """

    wants_pieces: ClassVar[bool] = True
    """Pieces of answers are always wanted: a client may start to follow in the middle of a turn, and they show who is
    writing."""

    def __init__(self, values: KeyValue, *, clock: SleepingClock) -> None:
        self.total: Tally = Tally()
        """Counts since the start of this process."""
        self.started_at: datetime = clock.now()
        """Start of this process."""
        self._values = values
        self._clock = clock
        self._pending: dict[str, Tally] = {}
        self._runs: dict[str, _Run] = {}

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[MetricsObserver]:
        """Store the counts every few seconds, and on exit."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._flush_periodically)
            yield self
            group.cancel_scope.cancel()
        with anyio.move_on_after(2, shield=True):
            await self.flush()

    def notify(self, event: Event) -> None:
        """Count an event of a debate or conversation."""
        if event.type == "waiting":
            for tally in self._tallies():
                tally.note_wait(event.reason)
        if not event.durable or event.type == "control":
            return
        run = self._runs.get(event.session_id)
        if _begins_run(event, run):
            run = self._runs[event.session_id] = _Run(event.timestamp)
        if len(self._runs) > _MAX_RUNS:  # some runs never report their end, for example if the storage fails
            del self._runs[next(iter(self._runs))]
        for tally in self._tallies():
            _count(tally, event)
        if run is not None and event.type == "round_complete" and event.step:
            run.rests_since = event.timestamp
        if run is not None and (outcome := _outcome(event)) is not None:
            self._runs.pop(event.session_id, None)
            duration = (run.rests_since or event.timestamp) - run.began_at
            for tally in self._tallies():
                setattr(tally, outcome, getattr(tally, outcome) + 1)
                tally.times.note(max(0.0, duration.total_seconds()))

    def count_fork(self) -> None:
        """Count a debate that began with rounds of another debate; it has no event of its own for its start."""
        for tally in self._tallies():
            tally.begun += 1

    def count_refusal(self, limit: str) -> None:
        """Count a request that exceeded a limit."""
        for tally in self._tallies():
            tally.note_refusal(limit)

    def count_answer(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request with the seconds until its response started."""
        for tally in self._tallies():
            tally.note_request(method, route, status, seconds)

    async def flush(self) -> None:
        """Add the counts to the stored counts; if the storage fails, keep them for the next try."""
        pending, self._pending = self._pending, {}
        for hour, tally in pending.items():
            try:
                await self._values.update(_KEY + hour, _adder(tally), ttl_s=_RETENTION_S, tenant=_TENANT)
            except Exception as error:  # noqa: BLE001  (whatever a storage raises, the server continues)
                logger.warning("metrics could not be stored: %s", error)
                unsaved = self._pending.setdefault(hour, Tally())
                unsaved.add(tally)

    async def report(self, period: Period = "24h") -> MetricsReport:
        """Return a report of a period, for all processes that share this storage.

        The counts of other processes may be five seconds old.

        Raises:
            StorageError: The storage does not answer.
        """
        await self.flush()
        until = self._clock.now()
        hours, step = PERIODS[period]
        since = _hour(until) - timedelta(hours=hours - 1)
        tallies: list[tuple[datetime, Tally]] = []
        for key, value in await self._values.scan(_KEY, tenant=_TENANT):
            hour = datetime.fromisoformat(key.removeprefix(_KEY))
            if hour >= since:
                tallies.append((hour, _parse_tally(value)))
        return report_of(period, since, until, _series(tallies, since, hours, step))

    def _tallies(self) -> tuple[Tally, Tally]:
        hour = _hour(self._clock.now()).isoformat()
        return self.total, self._pending.setdefault(hour, Tally())

    async def _flush_periodically(self) -> None:
        while True:
            await self._clock.sleep(_FLUSH_S)
            await self.flush()


def _begins_run(event: Event, run: _Run | None) -> bool:
    """Check whether an event is the first one of a run, or of the next step of a session that runs step by step."""
    if run is None:
        return event.type != "synthesis_complete"  # a synthesis may be written long after a run
    return event.type == "round_start" and run.rests_since is not None


def _count(tally: Tally, event: Event) -> None:
    match event.type:
        case "debate_start" | "conversation_start":
            tally.begun += 1
        case "agent_complete" | "agent_error" | "initiator_complete":
            tally.note_turn(event.turn)
        case "conversation_complete":
            if event.turn is not None:
                tally.note_turn(event.turn)
        case "consensus" | "synthesis_complete" | "exit":
            tally.note_usage(event.usage)
        case "error":
            tally.note_error(event.code)
        case (
            "initiator_start"
            | "initiator_tool_call"
            | "summarizer_start"
            | "summarizer_chunk"
            | "round_start"
            | "agent_start"
            | "agent_response_chunk"
            | "retry"
            | "waiting"
            | "agent_tool_call"
            | "agent_tool_result"
            | "approval_decided"
            | "approval_requested"
            | "context_requested"
            | "round_complete"
            | "control"
            | "debate_complete"
        ):
            pass
        case _:
            assert_never(event.type)


def _outcome(event: Event) -> Literal["completed", "paused", "broken"] | None:
    match event.type:
        case "conversation_complete":
            return "completed"
        case "debate_complete":
            return "completed" if event.status == "completed" else "paused"
        case "error":
            return "broken"
        case (
            "conversation_start"
            | "initiator_start"
            | "initiator_tool_call"
            | "initiator_complete"
            | "summarizer_start"
            | "summarizer_chunk"
            | "debate_start"
            | "round_start"
            | "agent_start"
            | "agent_response_chunk"
            | "retry"
            | "waiting"
            | "agent_tool_call"
            | "agent_tool_result"
            | "approval_decided"
            | "approval_requested"
            | "agent_complete"
            | "agent_error"
            | "consensus"
            | "context_requested"
            | "round_complete"
            | "exit"
            | "control"
            | "synthesis_complete"
        ):
            return None
        case _:
            assert_never(event.type)


def _hour(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _adder(tally: Tally) -> Callable[[JsonValue], JsonValue]:
    def added(value: JsonValue) -> JsonValue:
        stored = _parse_tally(value)
        stored.add(tally)
        return stored.stored()

    return added


def _parse_tally(value: JsonValue) -> Tally:
    try:
        return Tally.read(value)
    except ValidationError as error:
        raise StorageError("stored metrics cannot be read", cause=error) from error


def _series(
    tallies: Sequence[tuple[datetime, Tally]], since: datetime, hours: int, step: int
) -> list[tuple[datetime, Tally]]:
    """Sum hourly tallies into the steps of a series, including empty steps."""
    steps = [(since + timedelta(hours=index), Tally()) for index in range(0, hours, step)]
    for hour, tally in tallies:
        index = int((hour - since) / timedelta(hours=step))
        steps[min(index, len(steps) - 1)][1].add(tally)
    return steps
