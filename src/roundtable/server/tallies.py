"""Sums of what happened at a server: values that add up, hour by hour, whoever counted them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from roundtable.types import AnyTurn, Usage

__all__ = ["EDGES_S", "MOST_NAMES", "OTHERS", "NameTally", "Tally", "Times"]

EDGES_S: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
"""Upper ends of the classes that durations are counted by, in seconds; one more class has what is above."""
MOST_NAMES: Final = 50
"""Names that are told apart, of agents, tools, errors and the like; what comes later is `(others)`."""
MOST_REQUESTS: Final = 300
"""Kinds of requests that are told apart."""
OTHERS: Final = "(others)"
"""Stands for names that came too late."""

_T = TypeVar("_T")


@dataclass(slots=True)
class Times:
    """How long things took."""

    count: int = 0
    """How many."""
    total_s: float = 0.0
    """Seconds together."""
    most_s: float = 0.0
    """Seconds of the longest."""
    classes: list[int] = field(default_factory=lambda: [0] * (len(EDGES_S) + 1))
    """How many by class; see `EDGES_S`."""

    def note(self, seconds: float) -> None:
        """Count one."""
        self.count += 1
        self.total_s += seconds
        self.most_s = max(self.most_s, seconds)
        self.classes[bisect_left(EDGES_S, seconds)] += 1

    def add(self, other: Times) -> None:
        """Count all of another."""
        self.count += other.count
        self.total_s += other.total_s
        self.most_s = max(self.most_s, other.most_s)
        self.classes = [one + more for one, more in zip(self.classes, other.classes, strict=True)]

    @property
    def mean_s(self) -> float | None:
        """Seconds on average; `None` of nothing."""
        return self.total_s / self.count if self.count else None

    def quantile_s(self, share: float) -> float | None:
        """Give the end of the class in which a share of all lies, in seconds; `None` of nothing.

        Example:
            >>> times = Times()
            >>> for seconds in (0.7, 0.8, 7.0):
            ...     times.note(seconds)
            >>> times.quantile_s(0.5), times.quantile_s(0.95)
            (1, 7.0)
        """
        if not self.count:
            return None
        reached = next(at for at, sofar in enumerate(accumulate(self.classes)) if sofar >= share * self.count)
        return min(EDGES_S[reached], self.most_s) if reached < len(EDGES_S) else self.most_s


@dataclass(slots=True)
class NameTally:
    """Turns of one agent, or calls of one tool."""

    times: Times = field(default_factory=Times)
    """How long its turns took, failed ones too."""
    failed: int = 0
    """Turns that failed."""


@dataclass(slots=True)
class Tally:
    """What happened at a server within some time. It holds nothing that was said, and no user.

    Example:
        >>> tally = Tally(begun=2, completed=1)
        >>> tally.add(Tally(begun=1, completed=1, broken=1))
        >>> tally.begun, tally.ended, round(tally.completion_share, 2)
        (3, 3, 0.67)
    """

    begun: int = 0
    """Conversations and debates that began."""
    completed: int = 0
    """Runs that came to their end, or were stopped for good."""
    paused: int = 0
    """Runs that were left, paused, or cut short, and can go on."""
    broken: int = 0
    """Runs that ended with an error."""
    times: Times = field(default_factory=Times)
    """How long runs took."""
    calls: int = 0
    """Model calls."""
    input_tokens: int = 0
    """Tokens sent."""
    output_tokens: int = 0
    """Tokens generated."""
    cost_usd: float = 0.0
    """What is known of the price, in US dollars."""
    unpriced: int = 0
    """Answers whose price is unknown in part or as a whole."""
    agents: dict[str, NameTally] = field(default_factory=dict)
    """Turns by agent."""
    tools: dict[str, NameTally] = field(default_factory=dict)
    """Calls by tool."""
    errors: dict[str, int] = field(default_factory=dict)
    """Errors of turns and of runs, by code."""
    refusals: dict[str, int] = field(default_factory=dict)
    """Requests that met a limit, by limit."""
    requests: dict[str, Times] = field(default_factory=dict)
    """How long requests waited for the beginning of their answer, by method, route and status with spaces between."""

    @property
    def ended(self) -> int:
        """Runs that ended, in whatever way."""
        return self.completed + self.paused + self.broken

    @property
    def completion_share(self) -> float | None:
        """Share of completed runs among those that ended, in [0, 1]; `None` when none did."""
        return self.completed / self.ended if self.ended else None

    @property
    def failures(self) -> int:
        """Turns that failed."""
        return sum(agent.failed for agent in self.agents.values())

    def add(self, other: Tally) -> None:
        """Count all of another."""
        for name in ("begun", "completed", "paused", "broken", "calls", "input_tokens", "output_tokens", "unpriced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.cost_usd += other.cost_usd
        self.times.add(other.times)
        for name, agent in other.agents.items():
            mine = _named(self.agents, name, NameTally())
            mine.times.add(agent.times)
            mine.failed += agent.failed
        for name, tool in other.tools.items():
            its = _named(self.tools, name, NameTally())
            its.times.add(tool.times)
            its.failed += tool.failed
        for name, times in other.requests.items():
            _request(self.requests, name).add(times)
        _sum(self.errors, other.errors)
        _sum(self.refusals, other.refusals)

    def note_turn(self, turn: AnyTurn) -> None:
        """Count a turn with the tools it used."""
        agent = _named(self.agents, turn.agent_name or turn.agent_id, NameTally())
        agent.times.note(turn.duration_s)
        if turn.outcome == "failed":
            agent.failed += 1
            self.note_error(turn.error.code)
            self.note_usage(turn.usage)
            return
        self.note_usage(turn.result.usage)
        for call in turn.tools_used:
            tool = _named(self.tools, call.tool_name, NameTally())
            tool.times.note(call.duration_s)
            tool.failed += call.error is not None

    def note_usage(self, usage: Usage | None) -> None:
        """Count what model calls consumed."""
        if usage is None:
            return
        self.calls += usage.calls
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost_usd += usage.known_cost_usd
        self.unpriced += bool(usage.calls) and usage.cost_usd is None

    def note_error(self, code: str) -> None:
        """Count an error."""
        _sum(self.errors, {code: 1})

    def note_refusal(self, limit: str) -> None:
        """Count a request that met a limit."""
        _sum(self.refusals, {limit: 1})

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        _request(self.requests, f"{method} {route} {status}").note(seconds)

    def stored(self) -> JsonValue:
        """Give what is stored of it."""
        value: JsonValue = _TALLY.dump_python(self, mode="json")
        return value

    @staticmethod
    def read(value: JsonValue) -> Tally:
        """Read what was stored; nothing stored is nothing counted.

        Raises:
            pydantic.ValidationError: It is no tally.
        """
        return Tally() if value is None else _TALLY.validate_python(value)


_TALLY: Final = TypeAdapter(Tally)


def _named(kept: dict[str, _T], name: str, new: _T) -> _T:
    """Give what is kept under a name; under the common one when there are too many."""
    return kept.setdefault(name if name in kept or len(kept) < MOST_NAMES else OTHERS, new)


def _request(kept: dict[str, Times], name: str) -> Times:
    return kept.setdefault(name if name in kept or len(kept) < MOST_REQUESTS else f"- {OTHERS} 0", Times())


def _sum(kept: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        found = name if name in kept or len(kept) < MOST_NAMES else OTHERS
        kept[found] = kept.get(found, 0) + count
