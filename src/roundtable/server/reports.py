"""What the figures of a server say about a period, as `GET /api/admin/metrics` answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.server.tallies import Tally
from roundtable.types import Share, Timestamp
from roundtable.types.base import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

__all__ = [
    "AgentFigures",
    "ConversationFigures",
    "Counted",
    "MetricsReport",
    "RequestFigures",
    "Step",
    "ToolFigures",
    "UsageFigures",
    "report_of",
]


class ConversationFigures(Value):
    """Conversations and debates. One that is resumed ends once more, so more may end than begin."""

    begun: int
    """How many began."""
    completed: int
    """Runs that came to their end, or were stopped for good."""
    paused: int
    """Runs that were left, paused or cut short, and can go on."""
    broken: int
    """Runs that ended with an error."""
    completion_rate: Share | None
    """Share of completed runs among those that ended; `None` when none did."""
    mean_s: float | None
    """Seconds that a run took on average."""
    p95_s: float | None
    """Seconds within which 19 of 20 runs ended, read off classes of durations."""


class AgentFigures(Value):
    """Turns of one agent."""

    agent: str
    """Its name; `(others)` stands for those beyond the first 50."""
    turns: int
    """Turns it took."""
    failed: int
    """Turns of these that failed."""
    mean_s: float
    """Seconds of a turn on average."""
    p95_s: float
    """Seconds within which 19 of 20 turns ended."""


class ToolFigures(Value):
    """Calls of one tool."""

    tool: str
    """Its name; `(others)` stands for those beyond the first 50."""
    calls: int
    """Calls made."""
    failed: int
    """Calls of these that failed."""
    success_rate: Share
    """Share of calls that did not fail."""
    mean_s: float
    """Seconds of a call on average."""


class Counted(Value):
    """How often something happened."""

    name: str
    """What."""
    count: int
    """How often."""


class RequestFigures(Value):
    """Requests of one kind."""

    method: str
    """Method."""
    route: str
    """Path with its parameters in braces; `-` where no endpoint was found."""
    status: int
    """Status of the answer."""
    count: int
    """How many."""
    mean_s: float
    """Seconds until the answer began, on average."""
    p95_s: float
    """Seconds within which 19 of 20 answers began."""


class UsageFigures(Value):
    """What model calls consumed."""

    calls: int
    """Model calls."""
    input_tokens: int
    """Tokens sent."""
    output_tokens: int
    """Tokens generated."""
    cost_usd: float
    """What is known of the price, in US dollars."""
    unpriced: int
    """Answers whose price is unknown in part or as a whole; `cost_usd` is then a lower bound."""
    tokens_per_conversation: float | None
    """Tokens for each conversation that began; `None` when none did."""
    cost_usd_per_conversation: float | None
    """US dollars for each conversation that began; `None` when none did."""


class Step(Value):
    """One hour or day of a series."""

    since: Timestamp
    """When it begins."""
    begun: int
    """Conversations and debates that began."""
    completed: int
    """Runs that were completed."""
    paused: int
    """Runs that can go on."""
    broken: int
    """Runs that ended with an error."""
    failed_turns: int
    """Turns that failed."""
    tokens: int
    """Tokens sent and generated."""
    cost_usd: float
    """What is known of the price, in US dollars."""
    refusals: int
    """Requests that met a limit."""


class MetricsReport(Value):
    """What happened at a server in a period."""

    period: str
    """The period: `24h`, `7d` or `30d`."""
    since: Timestamp
    """When its first hour begins."""
    until: Timestamp
    """When it was looked at."""
    conversations: ConversationFigures
    """Conversations and debates."""
    usage: UsageFigures
    """What they consumed."""
    agents: tuple[AgentFigures, ...]
    """Turns by agent, the busiest first."""
    tools: tuple[ToolFigures, ...]
    """Calls by tool, the busiest first."""
    errors: tuple[Counted, ...]
    """Errors of turns and runs by code, the most frequent first."""
    refusals: tuple[Counted, ...]
    """Requests that met a limit, by limit."""
    requests: tuple[RequestFigures, ...]
    """Requests by method, route and status, the most frequent first."""
    series: tuple[Step, ...]
    """The same by hour for `24h`, by 24 hours else."""


def report_of(period: str, since: datetime, until: datetime, steps: Sequence[tuple[datetime, Tally]]) -> MetricsReport:
    """Sum up the steps of a period."""
    whole = Tally()
    for _, tally in steps:
        whole.add(tally)
    return MetricsReport(
        period=period,
        since=since,
        until=until,
        conversations=ConversationFigures(
            begun=whole.begun,
            completed=whole.completed,
            paused=whole.paused,
            broken=whole.broken,
            completion_rate=whole.completion_share,
            mean_s=whole.times.mean_s,
            p95_s=whole.times.quantile_s(0.95),
        ),
        usage=_usage(whole),
        agents=_agents(whole),
        tools=_tools(whole),
        errors=_counted(whole.errors.items()),
        refusals=_counted(whole.refusals.items()),
        requests=_requests(whole),
        series=tuple(_step(begins, tally) for begins, tally in steps),
    )


def _usage(whole: Tally) -> UsageFigures:
    tokens = whole.input_tokens + whole.output_tokens
    return UsageFigures(
        calls=whole.calls,
        input_tokens=whole.input_tokens,
        output_tokens=whole.output_tokens,
        cost_usd=whole.cost_usd,
        unpriced=whole.unpriced,
        tokens_per_conversation=tokens / whole.begun if whole.begun else None,
        cost_usd_per_conversation=whole.cost_usd / whole.begun if whole.begun else None,
    )


def _agents(whole: Tally) -> tuple[AgentFigures, ...]:
    figures = (
        AgentFigures(
            agent=name,
            turns=tally.times.count,
            failed=tally.failed,
            mean_s=tally.times.mean_s or 0.0,
            p95_s=tally.times.quantile_s(0.95) or 0.0,
        )
        for name, tally in whole.agents.items()
    )
    return tuple(sorted(figures, key=lambda one: (-one.turns, one.agent)))


def _tools(whole: Tally) -> tuple[ToolFigures, ...]:
    figures = (
        ToolFigures(
            tool=name,
            calls=tally.times.count,
            failed=tally.failed,
            success_rate=1 - tally.failed / tally.times.count,
            mean_s=tally.times.mean_s or 0.0,
        )
        for name, tally in whole.tools.items()
        if tally.times.count
    )
    return tuple(sorted(figures, key=lambda one: (-one.calls, one.tool)))


def _requests(whole: Tally) -> tuple[RequestFigures, ...]:
    figures: list[RequestFigures] = []
    for name, times in whole.requests.items():
        method, route, status = name.split(" ")
        figures.append(
            RequestFigures(
                method=method,
                route=route,
                status=int(status),
                count=times.count,
                mean_s=times.mean_s or 0.0,
                p95_s=times.quantile_s(0.95) or 0.0,
            )
        )
    return tuple(sorted(figures, key=lambda one: (-one.count, one.route, one.method, one.status)))


def _counted(counts: Iterable[tuple[str, int]]) -> tuple[Counted, ...]:
    return tuple(Counted(name=name, count=count) for name, count in sorted(counts, key=lambda one: (-one[1], one[0])))


def _step(begins: datetime, tally: Tally) -> Step:
    return Step(
        since=begins,
        begun=tally.begun,
        completed=tally.completed,
        paused=tally.paused,
        broken=tally.broken,
        failed_turns=tally.failures,
        tokens=tally.input_tokens + tally.output_tokens,
        cost_usd=tally.cost_usd,
        refusals=sum(tally.refusals.values()),
    )
