"""Counts and durations of a server, and their Prometheus format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from pydantic import TypeAdapter

from roundtable._version import __version__
from roundtable.core.types.budget import Budget
from roundtable.core.types.events import WaitReason

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from pydantic import JsonValue

    from roundtable.core.types.chat import Usage
    from roundtable.core.types.debate import AnyTurn
    from roundtable.fleet import FleetState, JobStatus

__all__ = [
    "CONTENT_TYPE",
    "EDGES_S",
    "GAUGES",
    "MOST_JOBS",
    "MOST_NAMES",
    "OTHERS",
    "Exposition",
    "Gauges",
    "NameTally",
    "Tally",
    "Times",
]

EDGES_S: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
"""Upper bounds of the histogram buckets for durations, in seconds; one more bucket counts all longer durations."""
MOST_NAMES: Final = 50
"""Maximum number of distinct names of agents, of tools, of errors and so on; further names count as `(others)`."""
MOST_JOBS: Final = 50
"""Maximum number of jobs of a fleet that are exported: the latest."""
MOST_REQUESTS: Final = 300
"""Maximum number of distinct kinds of requests."""
OTHERS: Final = "(others)"
"""Common name for all names beyond the maximum."""

_T = TypeVar("_T")

GAUGES: Final = {
    "conversations_running": "Conversations and debates that run in this process.",
    "streams_open": "Open event streams of this process, and responses that wait for the end of a run.",
}
"""Names and descriptions of a server's gauges."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of `Exposition.text`."""


@dataclass(slots=True)
class Times:
    """A histogram of durations."""

    count: int = 0
    """Number of durations."""
    total_s: float = 0.0
    """Sum in seconds."""
    most_s: float = 0.0
    """Longest duration in seconds."""
    classes: list[int] = field(default_factory=lambda: [0] * (len(EDGES_S) + 1))
    """Number of durations by bucket; see `EDGES_S`."""

    def note(self, seconds: float) -> None:
        """Add one duration."""
        self.count += 1
        self.total_s += seconds
        self.most_s = max(self.most_s, seconds)
        self.classes[bisect_left(EDGES_S, seconds)] += 1

    def add(self, other: Times) -> None:
        """Add all durations of another histogram."""
        self.count += other.count
        self.total_s += other.total_s
        self.most_s = max(self.most_s, other.most_s)
        self.classes = [mine + theirs for mine, theirs in zip(self.classes, other.classes, strict=True)]

    @property
    def mean_s(self) -> float | None:
        """Average in seconds; `None` if empty."""
        return self.total_s / self.count if self.count else None

    def quantile_s(self, share: float) -> float | None:
        """Return the upper bound of the bucket that contains a quantile, in seconds; `None` if empty.

        Example:
            >>> times = Times()
            >>> for seconds in (0.7, 0.8, 7.0):
            ...     times.note(seconds)
            >>> times.quantile_s(0.5), times.quantile_s(0.95)
            (1, 7.0)
        """
        if not self.count:
            return None
        totals = accumulate(self.classes)
        bucket = next(index for index, total in enumerate(totals) if total >= share * self.count)
        return min(EDGES_S[bucket], self.most_s) if bucket < len(EDGES_S) else self.most_s


@dataclass(slots=True)
class NameTally:
    """Turns of one agent, or calls of one tool."""

    times: Times = field(default_factory=Times)
    """Durations of the turns or calls, including failed ones."""
    failed: int = 0
    """How many turns or calls failed."""


@dataclass(slots=True)
class Tally:
    """Counts of what happened on a server in a period. They contain no texts and no names of users.

    Example:
        >>> tally = Tally(begun=2, completed=1)
        >>> tally.add(Tally(begun=1, completed=1, broken=1))
        >>> tally.begun, tally.ended, round(tally.completion_share, 2)
        (3, 3, 0.67)
    """

    begun: int = 0
    """Conversations and debates that started."""
    completed: int = 0
    """Runs that were completed, or stopped for good."""
    paused: int = 0
    """Runs that were paused or ended early, and can be resumed."""
    broken: int = 0
    """Runs that ended with an error."""
    times: Times = field(default_factory=Times)
    """Durations of runs."""
    calls: int = 0
    """Model calls."""
    input_tokens: int = 0
    """Tokens sent."""
    output_tokens: int = 0
    """Tokens generated."""
    cost_usd: float = 0.0
    """Known cost in US dollars."""
    unpriced: int = 0
    """Answers whose price is partly or completely unknown."""
    agents: dict[str, NameTally] = field(default_factory=dict)
    """Turns by agent."""
    tools: dict[str, NameTally] = field(default_factory=dict)
    """Calls by tool."""
    errors: dict[str, int] = field(default_factory=dict)
    """Errors of turns and of runs, by code."""
    refusals: dict[str, int] = field(default_factory=dict)
    """Requests that exceeded a limit, by limit."""
    waits: dict[str, int] = field(default_factory=dict)
    """Waits of more than a second, by reason."""
    requests: dict[str, Times] = field(default_factory=dict)
    """Seconds until the response of a request started, by "method route status"."""

    @property
    def ended(self) -> int:
        """Runs that ended in any way."""
        return self.completed + self.paused + self.broken

    @property
    def completion_share(self) -> float | None:
        """Share of completed runs among those that ended, in [0, 1]; `None` if none ended."""
        return self.completed / self.ended if self.ended else None

    @property
    def failures(self) -> int:
        """Turns that failed."""
        return sum(agent.failed for agent in self.agents.values())

    def add(self, other: Tally) -> None:
        """Add all counts of another tally."""
        for name in ("begun", "completed", "paused", "broken", "calls", "input_tokens", "output_tokens", "unpriced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.cost_usd += other.cost_usd
        self.times.add(other.times)
        for mine, theirs in ((self.agents, other.agents), (self.tools, other.tools)):
            for name, tally in theirs.items():
                entry = _entry_of(mine, name, NameTally())
                entry.times.add(tally.times)
                entry.failed += tally.failed
        for name, times in other.requests.items():
            _times_of(self.requests, name).add(times)
        _add_counts(self.errors, other.errors)
        _add_counts(self.refusals, other.refusals)
        _add_counts(self.waits, other.waits)

    def note_turn(self, turn: AnyTurn) -> None:
        """Count a turn and its tool calls."""
        agent = _entry_of(self.agents, turn.agent_name or turn.agent_id, NameTally())
        agent.times.note(turn.duration_s)
        if turn.outcome == "failed":
            agent.failed += 1
            self.note_error(turn.error.code)
            self.note_usage(turn.usage)
            return
        self.note_usage(turn.result.usage)
        for call in turn.tools_used:
            tool = _entry_of(self.tools, call.tool_name, NameTally())
            tool.times.note(call.duration_s)
            tool.failed += call.error is not None

    def note_usage(self, usage: Usage | None) -> None:
        """Count the tokens and cost of model calls."""
        if usage is None:
            return
        self.calls += usage.calls
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost_usd += usage.known_cost_usd
        self.unpriced += bool(usage.calls) and usage.cost_usd is None

    def note_error(self, code: str) -> None:
        """Count an error."""
        _add_counts(self.errors, {code: 1})

    def note_refusal(self, limit: str) -> None:
        """Count a request that exceeded a limit."""
        _add_counts(self.refusals, {limit: 1})

    def note_wait(self, reason: str) -> None:
        """Count a wait of more than a second."""
        _add_counts(self.waits, {reason: 1})

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request with the seconds until its response started."""
        _times_of(self.requests, f"{method} {route} {status}").note(seconds)

    def stored(self) -> JsonValue:
        """Return the tally as JSON to store."""
        value: JsonValue = _TALLY.dump_python(self, mode="json")
        return value

    @staticmethod
    def read(value: JsonValue) -> Tally:
        """Parse a stored tally; `None` is an empty tally.

        Raises:
            pydantic.ValidationError: The value is not a tally.
        """
        return Tally() if value is None else _TALLY.validate_python(value)


_TALLY: Final = TypeAdapter(Tally)


def _entry_of(entries: dict[str, _T], name: str, new: _T) -> _T:
    """Return the entry of a name, or of `OTHERS` if there are too many names."""
    return entries.setdefault(name if name in entries or len(entries) < MOST_NAMES else OTHERS, new)


def _times_of(entries: dict[str, Times], name: str) -> Times:
    return entries.setdefault(name if name in entries or len(entries) < MOST_REQUESTS else f"- {OTHERS} 0", Times())


def _add_counts(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        key = name if name in counts or len(counts) < MOST_NAMES else OTHERS
        counts[key] = counts.get(key, 0) + count


Gauges: TypeAlias = Mapping[str, tuple[str, Callable[[], float]]]
"""Metrics that are read at each export: by name, the description and a function that reads the value."""

_Values: TypeAlias = Iterable[tuple[tuple[str, ...], float]]


class Exposition(Collector):
    """Exports the counts of this process in the text format of Prometheus.

    Args:
        tally: Counts since the start of this process.
        gauges: Further metrics that are read at each export.
    """

    def __init__(self, tally: Tally, gauges: Gauges) -> None:
        self._tally = tally
        self._gauges = gauges
        self._fleets: Sequence[FleetState] = ()
        self._fleets_age_s = 0.0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self, fleets: Sequence[FleetState] = (), *, age_s: float = 0.0) -> bytes:
        """Return the current metrics as text.

        Args:
            fleets: Fleets on the storage of this server.
            age_s: Seconds since the fleets were read.
        """
        self._fleets, self._fleets_age_s = fleets, age_s
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Return the current metrics as objects of the Prometheus client."""
        tally = self._tally
        yield _gauge("info", "Version of the server; the value is 1.", [((__version__,), 1)], "version")
        for name, (description, read) in self._gauges.items():
            yield _gauge(name, description, [((), read())])
        yield _counter("conversations_begun", "Conversations and debates that began.", [((), tally.begun)])
        ended = [(("completed",), tally.completed), (("paused",), tally.paused), (("broken",), tally.broken)]
        yield _counter("runs_ended", "Runs of conversations and debates that ended, by outcome.", ended, "outcome")
        yield _times("run_seconds", "How long runs took.", [((), tally.times)])
        yield from self._agents()
        yield _counter("model_calls", "Model calls.", [((), tally.calls)])
        tokens = [(("input",), tally.input_tokens), (("output",), tally.output_tokens)]
        yield _counter("tokens", "Tokens sent and generated.", tokens, "direction")
        yield _counter("cost_usd", "Cost in US dollars, as far as prices are known.", [((), tally.cost_usd)])
        yield _counter(
            "unpriced_answers", "Answers whose price is partly or completely unknown.", [((), tally.unpriced)]
        )
        errors = [((code,), count) for code, count in tally.errors.items()]
        yield _counter("errors", "Errors of turns and of runs, by code.", errors, "code")
        refusals = [((limit,), count) for limit, count in tally.refusals.items()]
        yield _counter("limit_refusals", "Requests that a limit refused, by limit.", refusals, "limit")
        waits = [((reason,), tally.waits.get(reason, 0)) for reason in get_args(WaitReason)]
        yield _counter("waits", "Waits of debates of more than a second, by reason.", waits, "reason")
        requests = [(tuple(name.split(" ")), times) for name, times in tally.requests.items()]
        description = "Seconds from a request to the start of its response."
        yield _times("request_seconds", description, requests, "method", "route", "status")
        if self._fleets:
            description = "Seconds since the metrics of fleets were read; more than usual while the database is slow."
            yield _gauge("fleet_age_seconds", description, [((), self._fleets_age_s)])
            yield from _fleet_metrics(self._fleets)

    def _agents(self) -> Iterator[Metric]:
        agents, tools = self._tally.agents, self._tally.tools
        turns = [((name,), agent.times) for name, agent in agents.items()]
        yield _times("agent_turn_seconds", "How long turns took, including failed turns, by agent.", turns, "agent")
        failed = [((name,), agent.failed) for name, agent in agents.items()]
        yield _counter("agent_turns_failed", "Turns that failed, by agent.", failed, "agent")
        calls = [((name,), tool.times) for name, tool in tools.items()]
        yield _times("tool_call_seconds", "How long tool calls took, including failed calls, by tool.", calls, "tool")
        failed = [((name,), tool.failed) for name, tool in tools.items()]
        yield _counter("tool_calls_failed", "Tool calls that failed, by tool.", failed, "tool")


def _fleet_metrics(fleets: Sequence[FleetState]) -> Iterator[Metric]:
    """Return the metrics of fleets and their latest jobs; all are gauges, since failed debates can be queued again."""
    yield _gauge(
        "fleet_workers", "Running workers, by fleet.", [((fleet.name,), fleet.workers) for fleet in fleets], "fleet"
    )
    jobs = [((fleet.name, job.job), job) for fleet in fleets for job in fleet.jobs[-MOST_JOBS:]]
    states = ("queued", "running", "completed", "failed", "cancelled")
    debates = [((*names, state), getattr(job, state)) for names, job in jobs for state in states]
    yield _gauge("fleet_debates", "Debates of a job, by state.", debates, "fleet", "job", "state")
    failures = [((*names, code), count) for names, job in jobs for code, count in job.errors.items()]
    yield _gauge("fleet_failures", "Failed debates of a job, by code.", failures, "fleet", "job", "code")
    amounts: tuple[tuple[str, str, Callable[[JobStatus], float | None]], ...] = (
        ("fleet_debates_per_minute", "Recently ended debates of a job, per minute.", lambda job: job.per_minute),
        ("fleet_longest_running_seconds", "How long the slowest running debate of a job has been running.", _longest_s),
        ("fleet_calls", "Model calls of ended debates of a job.", lambda job: job.usage.calls),
        ("fleet_tokens", "Tokens of ended debates of a job.", lambda job: job.usage.total_tokens),
        (
            "fleet_cost_usd",
            "Cost of a job in US dollars, as far as prices are known.",
            lambda job: job.usage.known_cost_usd,
        ),
        ("fleet_budget_calls", "Model calls that the budget of a job allows.", lambda job: _budget_of(job).max_calls),
        ("fleet_budget_tokens", "Tokens that the budget of a job allows.", lambda job: _budget_of(job).max_tokens),
        ("fleet_budget_usd", "US dollars that the budget of a job allows.", lambda job: _budget_of(job).max_cost_usd),
    )
    for name, description, read in amounts:
        values = [(names, value) for names, job in jobs if (value := read(job)) is not None]
        yield _gauge(name, description, values, "fleet", "job")


def _budget_of(job: JobStatus) -> Budget:
    return job.budget or Budget()


def _longest_s(job: JobStatus) -> float:
    return max((debate.seconds for debate in job.longest_running), default=0.0)


def _gauge(name: str, description: str, values: _Values, *labels: str) -> Metric:
    metric = GaugeMetricFamily(f"roundtable_{name}", description, labels=labels)
    for label_values, value in values:
        metric.add_metric(label_values, value)
    return metric


def _counter(name: str, description: str, values: _Values, *labels: str) -> Metric:
    metric = CounterMetricFamily(f"roundtable_{name}", description, labels=labels)
    for label_values, value in values:
        metric.add_metric(label_values, value)
    return metric


def _times(name: str, description: str, values: Iterable[tuple[tuple[str, ...], Times]], *labels: str) -> Metric:
    metric = HistogramMetricFamily(f"roundtable_{name}", description, labels=labels)
    for label_values, times in values:
        metric.add_metric(label_values, buckets=list(_cumulative_buckets(times.classes)), sum_value=times.total_s)
    return metric


def _cumulative_buckets(buckets: Iterable[int]) -> Iterator[tuple[str, float]]:
    return zip((*(str(float(edge)) for edge in EDGES_S), "+Inf"), accumulate(buckets), strict=True)
