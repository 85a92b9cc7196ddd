"""Reports on the metrics of a server in a period, as `GET /api/admin/metrics` returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.types.base import Share, Timestamp, Value
from roundtable.server.metrics import Tally

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
    """Conversations and debates. A resumed session ends again, so more runs may end than conversations start."""

    begun: int
    """How many conversations and debates started."""
    completed: int
    """Runs that were completed, or stopped for good."""
    paused: int
    """Runs that were paused or ended early, and can be resumed."""
    broken: int
    """Runs that ended with an error."""
    completion_rate: Share | None
    """Share of completed runs among those that ended; `None` if none ended."""
    mean_s: float | None
    """Average seconds of a run."""
    p95_s: float | None
    """Seconds within which 95 % of the runs ended, estimated from a histogram."""


class AgentFigures(Value):
    """Turns of one agent."""

    agent: str
    """Name of the agent; `(others)` combines all agents after the first 50."""
    turns: int
    """Turns of the agent."""
    failed: int
    """Turns that failed."""
    mean_s: float
    """Average seconds of a turn."""
    p95_s: float
    """Seconds within which 95 % of the turns ended."""


class ToolFigures(Value):
    """Calls of one tool."""

    tool: str
    """Name of the tool; `(others)` combines all tools after the first 50."""
    calls: int
    """Number of calls."""
    failed: int
    """Calls that failed."""
    success_rate: Share
    """Share of calls that did not fail."""
    mean_s: float
    """Average seconds of a call."""


class Counted(Value):
    """How often something happened."""

    name: str
    """What happened."""
    count: int
    """How often it happened."""


class RequestFigures(Value):
    """Requests of one kind."""

    method: str
    """HTTP method."""
    route: str
    """Path with its parameters in braces; `-` if no endpoint was found."""
    status: int
    """HTTP status of the response."""
    count: int
    """Number of requests."""
    mean_s: float
    """Average seconds until the response started."""
    p95_s: float
    """Seconds within which 95 % of the responses started."""


class UsageFigures(Value):
    """Tokens and cost of model calls."""

    calls: int
    """Model calls."""
    input_tokens: int
    """Tokens sent."""
    output_tokens: int
    """Tokens generated."""
    cost_usd: float
    """Known cost in US dollars."""
    unpriced: int
    """Answers whose price is partly or completely unknown; `cost_usd` is then a lower bound."""
    tokens_per_conversation: float | None
    """Average tokens per conversation that started; `None` if none started."""
    cost_usd_per_conversation: float | None
    """Average US dollars per conversation that started; `None` if none started."""


class Step(Value):
    """One hour or day of a series."""

    since: Timestamp
    """When the hour or day begins."""
    begun: int
    """Conversations and debates that started."""
    completed: int
    """Runs that were completed."""
    paused: int
    """Runs that can be resumed."""
    broken: int
    """Runs that ended with an error."""
    failed_turns: int
    """Turns that failed."""
    tokens: int
    """Tokens sent and generated."""
    cost_usd: float
    """Known cost in US dollars."""
    unpriced: int
    """Answers whose price is partly or completely unknown; `cost_usd` is then a lower bound."""
    refusals: int
    """Requests that exceeded a limit."""


class MetricsReport(Value):
    """What happened on a server in a period."""

    period: str
    """The period: `24h`, `7d` or `30d`."""
    since: Timestamp
    """When the first hour of the period begins."""
    until: Timestamp
    """When the report was created."""
    conversations: ConversationFigures
    """Conversations and debates."""
    usage: UsageFigures
    """Tokens and cost of the conversations and debates."""
    agents: tuple[AgentFigures, ...]
    """Turns by agent, the busiest first."""
    tools: tuple[ToolFigures, ...]
    """Calls by tool, the busiest first."""
    errors: tuple[Counted, ...]
    """Errors of turns and runs by code, the most frequent first."""
    refusals: tuple[Counted, ...]
    """Requests that exceeded a limit, by limit."""
    requests: tuple[RequestFigures, ...]
    """Requests by method, route and status, the most frequent first."""
    series: tuple[Step, ...]
    """The course of the period: in steps of one hour for `24h`, otherwise in steps of 24 hours."""


def report_of(period: str, since: datetime, until: datetime, steps: Sequence[tuple[datetime, Tally]]) -> MetricsReport:
    """Create the report of a period from its steps."""
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
    return tuple(sorted(figures, key=lambda agent: (-agent.turns, agent.agent)))


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
    return tuple(sorted(figures, key=lambda tool: (-tool.calls, tool.tool)))


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
    return tuple(sorted(figures, key=lambda row: (-row.count, row.route, row.method, row.status)))


def _counted(counts: Iterable[tuple[str, int]]) -> tuple[Counted, ...]:
    return tuple(
        Counted(name=name, count=count) for name, count in sorted(counts, key=lambda item: (-item[1], item[0]))
    )


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
        unpriced=tally.unpriced,
        refusals=sum(tally.refusals.values()),
    )
