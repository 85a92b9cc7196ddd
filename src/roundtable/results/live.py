"""A live display of a running debate in a notebook cell: who writes, each agent's position, each round's camps.

Outside a notebook, a line of text is written for each answer. The display changes only when an event arrives.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, assert_never

from roundtable.core.base.words import counted
from roundtable.report.html_builder import tag
from roundtable.report.notebook import MOST_BYTES
from roundtable.report.sanitize import plain
from roundtable.report.view import percent, short_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.events import AgentToolCall, ApprovalDecided, ApprovalRequested, Event, Retry, Waiting
    from roundtable.results.debate_result import DebateResult

__all__ = ["LiveView", "show_live", "show_live_async"]

_PAUSE_S: Final = 0.2
"""Minimum seconds between two updates of a cell, because a model may send hundreds of pieces per second."""
_MOST_AGENTS: Final = (24, 12, 6, 3)
"""Maximum number of agents that are shown; the smaller numbers are tried if the HTML becomes too long."""
_MOST_ROUNDS: Final = 3
_MOST_CAMPS: Final = 5
_NAME_CHARS: Final = 30
_SAID_CHARS: Final = 100
_CAMP_CHARS: Final = 50


class _Stream(Protocol):
    """A running debate, as `sync.Roundtable.stream` returns it."""

    def __iter__(self) -> Iterator[Event]: ...

    @property
    def result(self) -> DebateResult: ...


class _AsyncStream(Protocol):
    """A running debate, as `Roundtable.stream` returns it."""

    def __aiter__(self) -> AsyncIterator[Event]: ...

    @property
    def result(self) -> DebateResult: ...


def _tool_state(event: AgentToolCall | ApprovalRequested | ApprovalDecided) -> str:
    """Return what an agent does after an event about one of its tool calls."""
    if event.type == "agent_tool_call":
        return f"uses {event.tool_call.name}"
    if event.type == "approval_requested":
        return f"waits for approval of {event.tool_name}"
    return f"uses {event.tool_name}" if event.allowed else f"may not use {event.tool_name}"


@dataclass(slots=True)
class _Seat:
    name: str
    state: str = ""
    said: str = ""
    confidence: float | None = None
    written: int = 0


@dataclass(slots=True)
class LiveView:
    """The state of a running debate, for a live display.

    Example:
        >>> from roundtable import sync
        >>> from roundtable.testing import scripted_agents
        >>> view, table = LiveView(), sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        >>> with table, table.stream("Tea or coffee?", rounds=1) as events:
        ...     lines = [view.add(event) for event in events]
        >>> sorted(line for line in lines if line.startswith("  "))[0]
        '  Ada: Tea (80%)'
    """

    topic: str = ""
    """The question."""
    mode: str = ""
    """Debate mode."""
    rounds: int = 0
    """Rounds planned."""
    round: int = 0
    """Current round; 0 before the first round."""
    _seats: dict[str, _Seat] = field(default_factory=dict)
    _camps: dict[int, tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=dict)
    _wait: str = ""

    def add(self, event: Event) -> str:
        """Update the view with an event; return a line of text about it, or an empty text if it needs no line."""
        self._wait = ""
        match event.type:
            case "debate_start":
                self.topic, self.mode, self.rounds = event.topic, event.mode, event.rounds
                self._seats = {agent: _Seat(agent) for agent in event.agents}
                return f"{plain(event.topic)} ({event.mode})"
            case "round_start":
                self.round = event.round
                return f"Round {event.round}"
            case "agent_start":
                self._seat(event.agent).state = "writes"
                self._seat(event.agent).written = 0
            case "agent_response_chunk":
                seat = self._seat(event.agent)
                seat.written += len(event.chunk)
                seat.state = f"writes, {seat.written:,} characters"
            case "retry" | "waiting":
                return self._show_delay(event)
            case "agent_tool_call" | "approval_requested" | "approval_decided":
                self._seat(event.agent).state = _tool_state(event)
            case "agent_complete":
                return self._show_answer(event.agent, event.turn.agent_name, event.turn.as_stated.answer)
            case "agent_error":
                seat = self._seat(event.agent, event.turn.agent_name)
                seat.state = f"failed: {event.turn.error.message}"
                return f"  {plain(seat.name)} {plain(seat.state)}"
            case "consensus":
                return self._show_measurement(event.round, event.consensus)
            case "error":
                return f"Ended by an error: {plain(event.error)}"
            case (
                "round_complete"
                | "agent_tool_result"
                | "context_requested"
                | "exit"
                | "control"
                | "synthesis_complete"
                | "debate_complete"
                | "conversation_start"
                | "conversation_complete"
                | "initiator_start"
                | "initiator_tool_call"
                | "initiator_complete"
                | "summarizer_start"
                | "summarizer_chunk"
            ):
                pass
            case _:
                assert_never(event.type)
        return ""

    def _show_delay(self, event: Retry | Waiting) -> str:
        state = plain(event.text if event.type == "waiting" else f"tries again: {event.error.message}")
        if event.agent is None:
            self._wait = f"The debate {state}"
            return f"  {self._wait}"
        seat = self._seat(event.agent)
        seat.state = state
        return f"  {plain(seat.name)} {state}" if event.type == "waiting" else ""

    def _seat(self, agent: str, name: str = "") -> _Seat:
        seat = self._seats.setdefault(agent, _Seat(agent))
        seat.name = name or seat.name
        return seat

    def _show_answer(self, agent: str, name: str, answer: Any) -> str:  # noqa: ANN401  (any kind of answer)
        seat = self._seat(agent, name)
        seat.state = "answered"
        if answer.kind != "position":
            return ""
        seat.said, seat.confidence = answer.bottom_line or answer.choice or answer.position, answer.confidence
        share = f" ({percent(seat.confidence)})" if seat.confidence is not None else ""
        return f"  {plain(seat.name)}: {short_name(plain(seat.said), _SAID_CHARS)}{share}"

    def _show_measurement(self, number: int, consensus: AnyConsensus) -> str:
        camps = tuple(
            (cluster.theme, ", ".join(self._seat(agent).name for agent in dict.fromkeys(cluster.agent_ids)))
            for cluster in consensus.clusters
        )
        self._camps[number] = consensus.level_in_words, camps
        camp_list = "; ".join(f"{short_name(plain(theme), _CAMP_CHARS)}: {plain(names)}" for theme, names in camps)
        return f"  agreement: {consensus.level_in_words}{f' ({camp_list})' if camp_list else ''}"

    def to_html(self) -> str:
        """Render as an HTML fragment of at most 20 kB, without scripts; text of agents is escaped."""
        pages = (self._html(most) for most in _MOST_AGENTS)
        return next((page for page in pages if len(page.encode()) <= MOST_BYTES), "")

    def _html(self, most_agents: int) -> str:
        seats = list(self._seats.values())
        rows = [
            tag(
                "tr",
                tag("th", short_name(seat.name, _NAME_CHARS), dir="auto"),
                tag("td", short_name(plain(seat.state), _CAMP_CHARS)),
                tag("td", short_name(plain(seat.said), _SAID_CHARS), dir="auto"),
                tag("td", percent(seat.confidence)),
            )
            for seat in seats[:most_agents]
        ]
        left = len(seats) - len(rows)
        progress = f"round {self.round} of {self.rounds}" if self.round else "begins"
        return tag(
            "div",
            tag("h3", short_name(plain(self.topic), _SAID_CHARS), dir="auto"),
            tag("p", f"{self.mode}, {progress}"),
            tag("p", self._wait) if self._wait else None,
            tag("table", *rows),
            tag("p", f"and {counted(left, 'agent')} more") if left else None,
            *(
                tag("p", tag("strong", f"Round {number}"), f", agreement: {level}. {self._camps_in_words(camps)}")
                for number, (level, camps) in list(self._camps.items())[-_MOST_ROUNDS:]
            ),
            class_="roundtable",
        ).text

    @staticmethod
    def _camps_in_words(camps: tuple[tuple[str, str], ...]) -> str:
        shown = [
            f"{short_name(plain(theme), _CAMP_CHARS)}: {short_name(names, _CAMP_CHARS)}"
            for theme, names in camps[:_MOST_CAMPS]
        ]
        return "; ".join(shown + ([f"{len(camps) - _MOST_CAMPS} more"] if len(camps) > _MOST_CAMPS else []))


class _Screen:
    """The place that shows a live view: a notebook cell, or lines of text."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._view = LiveView()
        self._write = write
        self._display: Any = _notebook_display()
        self._handle: Any = None
        self._drawn_at = 0.0

    def take(self, event: Event) -> None:
        line = self._view.add(event)
        if self._display is None:
            if line:
                self._write(line)
            return
        now = time.monotonic()
        if self._handle is None:
            self._handle = self._display.display(self._display.HTML(self._view.to_html()), display_id=True)
        elif now - self._drawn_at >= _PAUSE_S or line:
            self._handle.update(self._display.HTML(self._view.to_html()))
        else:
            return
        self._drawn_at = now

    def end(self, result: DebateResult) -> None:
        if self._display is None:
            self._write(str(result))
        elif self._handle is None:
            self._display.display(result)
        else:
            self._handle.update(result)


def _notebook_display() -> Any:  # noqa: ANN401  (IPython has no types, and is not a dependency)
    """Return IPython's module `display` in a notebook; `None` elsewhere, also in IPython's terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if getattr(shell, "kernel", None) is None else import_module("IPython.display")


def show_live(stream: _Stream, *, write: Callable[[str], None] = print) -> DebateResult:
    """Show a debate while it runs, and return its result.

    In a notebook, the cell shows who is writing, the current position of each agent, the camps of each round, and, at
    the end, the result. Outside a notebook, the function writes a line for each answer.

    Args:
        stream: The entered stream of the debate, from `roundtable.sync.Roundtable.stream`.
        write: Function that writes a line, for programs outside notebooks.

    Raises:
        RoundtableError: The debate failed.

    Example:
        >>> from roundtable import sync
        >>> from roundtable.testing import scripted_agents
        >>> agents = scripted_agents({"ada": "Tea"})
        >>> with sync.Roundtable(agents, storage="memory://") as table, table.stream("Tea?", rounds=1) as stream:
        ...     result = show_live(stream, write=lambda line: print(line.splitlines()[0]))
        Tea? (collaborative)
        Round 1
          Ada: Tea (80%)
          agreement: one answer (Tea: Ada)
        Tea?
    """
    screen = _Screen(write)
    for event in stream:
        screen.take(event)
    screen.end(stream.result)
    return stream.result


async def show_live_async(stream: _AsyncStream, *, write: Callable[[str], None] = print) -> DebateResult:
    """Show a debate while it runs, and return its result; see `show_live`.

    Args:
        stream: The entered stream of the debate, from `roundtable.Roundtable.stream`.
        write: Function that writes a line, for programs outside notebooks.

    Raises:
        RoundtableError: The debate failed.
    """
    screen = _Screen(write)
    async for event in stream:
        screen.take(event)
    screen.end(stream.result)
    return stream.result
