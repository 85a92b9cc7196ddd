"""Print a debate as it runs: each event as lines, and who is busy for the live view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, assert_never

from roundtable.report import in_words, plain, short_answer, unmarked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.core.types.consensus import AnyConsensus
    from roundtable.core.types.debate import AnyTurn, RoundRecord
    from roundtable.core.types.events import (
        AgentResponseChunk,
        AgentStart,
        ApprovalDecided,
        ApprovalRequested,
        ConsensusMeasured,
        ContextRequested,
        Control,
        Event,
        Retry,
        RoundStart,
        Waiting,
    )

__all__ = [
    "Doing",
    "EventPrinter",
    "Line",
    "agreement_line",
    "line",
    "percent",
    "round_head",
    "round_lines",
    "turn_lines",
]

WORDS: Final = {"pause": "pause the debate", "stop": "stop the debate"}
"""Control requests that are shown; a request to resume is not shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output. Its text has no control characters, and is never interpreted as markup."""

    text: str
    """The text."""
    style: str = ""
    """Rich style, used on terminals with colours."""
    indent: int = 0
    """Spaces before the line."""
    paragraph: bool = False
    """Whether to wrap the text even when the output is not a terminal."""
    hang: int = 0
    """Extra spaces before wrapped lines."""
    wraps: bool = True
    """Whether to wrap the text. Without wrapping, a path or a command can be copied from a narrow terminal."""


def line(
    text: str, style: str = "", *, indent: int = 0, paragraph: bool = False, hang: int = 0, wraps: bool = True
) -> Line:
    r"""Create a line from any text. With `wraps=False`, spaces are kept, because they can be part of a path.

    Example:
        >>> line("\x1b[31mred\x1b[0m  [bold]tea[/bold]\n").text
        '[31mred[0m [bold]tea[/bold]'
    """
    shown = plain(text) if wraps else plain(text, lines=True).replace("\n", " ")
    return Line(shown, style, indent, paragraph, hang, wraps)


def percent(share: float | None) -> str:
    """Format a share as a percentage in brackets, with a leading space; return an empty text for `None`."""
    return "" if share is None else f" ({share:.0%})"


def turn_lines(turn: AnyTurn) -> list[Line]:
    """Format the outcome of one turn."""
    name = turn.agent_name or turn.agent_id
    speaker = name if turn.role == "participant" else f"{name} ({turn.role})"
    if turn.outcome == "failed":
        lines = [line(f"{speaker} FAILED: {turn.error.message}", "bold red", indent=2, hang=2)]
        return [*lines, line(f"hint: {turn.error.hint}", "red", indent=4)] if turn.error.hint else lines
    answer = turn.as_stated.answer
    says, why = map(unmarked, in_words(answer))
    head = f"{speaker}: {says}"
    if answer.kind == "position":
        short = short_answer(answer.choice, answer.bottom_line, answer.position)
        chosen = f" [{short}]" if short else ""
        head = f"{speaker}{percent(answer.confidence)}:{chosen} {says}"
    body = [line(head, "bold", indent=2, hang=2)]
    body += [line(part, indent=4, paragraph=True) for part in plain(why, lines=True).splitlines() if part.strip()]
    sources = answer.citations if answer.kind == "position" else ()
    body += [line(f"source: {cited.title} {cited.url}", "dim", indent=4) for cited in sources]
    return body + [line(f"note: {warning}", "yellow", indent=4) for warning in turn.result.warnings]


def round_lines(record: RoundRecord, total: int) -> list[Line]:
    """Format a whole stored round."""
    lines = [round_head(record.number, total, record.focus_question)]
    for turn in record.turns:
        lines += turn_lines(turn)
    if record.consensus is not None:
        level = record.consensus
        lines.append(agreement_line(level))
    elif not record.complete:
        lines.append(line("not completed", "yellow", indent=2))
    return [*lines, Line("")]


def round_head(number: int, total: int, focus_question: str | None) -> Line:
    """Format the heading of a round."""
    focus = f": {focus_question}" if focus_question else ""
    return line(f"Round {number} of {total}{focus}", "bold cyan")


def agreement_line(level: AnyConsensus) -> Line:
    """Format the agreement of a round."""
    return line(f"Agreement {level.level_in_words} ({level.method}): {level.summary}", "cyan", indent=2, hang=2)


@dataclass(frozen=True, slots=True)
class Doing:
    """What one agent is doing in the current round."""

    name: str
    """Its display name."""
    state: str = "waiting"
    """Its state, in one or two words."""
    since_s: float | None = None
    """When its turn began, in seconds of `EventPrinter`'s clock; `None` before and after its turn."""
    position: str = ""
    """Its position, once it has answered."""


class EventPrinter:
    """Formats the events of a running debate as lines, and tracks what each agent is doing.

    Args:
        names: Display name of each agent, by id, in speaking order.
        rounds: Rounds planned.
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, names: Mapping[str, str], rounds: int, clock: Callable[[], float]) -> None:
        self._names = dict(names)
        self._rounds = rounds
        self._clock = clock
        self._round = 0
        self.doing: tuple[Doing, ...] = self._all_waiting()
        """What each agent is doing; replaced as a whole, so that another thread can read it at any time."""
        self.levels: tuple[str, ...] = ()
        """Agreement of the rounds measured so far, in words."""

    @property
    def title(self) -> str:
        """The current round, as a title."""
        return f"Round {self._round} of {self._rounds}" if self._round else "Starting"

    def take_up(self, record: RoundRecord) -> list[Line]:
        """Continue from an interrupted round that is being resumed, and return its stored part as lines.

        The start of this round and its stored turns are events of an earlier run, so they don't arrive as events now.
        """
        lines = [round_head(record.number, self._rounds, record.focus_question)]
        self._round = record.number
        for turn in record.turns:
            lines += turn_lines(turn)
            self._finish_turn(turn)
        return [*lines, line("stored before; resumed here", "dim", indent=2)] if record.turns else lines

    def handle_event(self, event: Event) -> list[Line]:
        """Process one event and return the lines to show for it."""
        match event.type:
            case "round_start":
                return self._round_start(event)
            case "agent_start":
                return self._agent_start(event)
            case "agent_response_chunk":
                return self._chunk(event)
            case "retry" | "waiting":
                return self._retry(event) if event.type == "retry" else self._wait(event)
            case "approval_requested" | "approval_decided":
                return self._approval(event)
            case "agent_complete" | "agent_error":
                self._finish_turn(event.turn)
                return turn_lines(event.turn)
            case "consensus":
                return self._consensus(event)
            case "round_complete":
                return [Line("")]
            case "context_requested":
                return self._requests(event)
            case "control":
                return self._control(event)
            case (
                "conversation_start"
                | "initiator_start"
                | "initiator_tool_call"
                | "initiator_complete"
                | "summarizer_start"
                | "summarizer_chunk"
                | "conversation_complete"
                | "debate_start"
                | "agent_tool_call"
                | "agent_tool_result"
                | "exit"
                | "synthesis_complete"
                | "debate_complete"
                | "error"
            ):
                # The start and the end of the debate are printed elsewhere, from the result.
                return []
            case _:
                assert_never(event.type)

    def _approval(self, event: ApprovalRequested | ApprovalDecided) -> list[Line]:
        """Track that a tool call waits for approval; the wait can be long, so a line says so as well."""
        waits = event.type == "approval_requested"
        state = "awaiting approval" if waits else "thinking"
        self._update_agent(event.agent, lambda doing: replace(doing, state=state))
        shown_name = self._names.get(event.agent, event.agent)
        return [line(f"{shown_name} waits for approval to use {event.tool_name}", "dim", indent=2)] if waits else []

    def _all_waiting(self) -> tuple[Doing, ...]:
        return tuple(Doing(line(name).text) for name in self._names.values())

    def _update_agent(self, agent: str, change: Callable[[Doing], Doing]) -> None:
        activities = dict(zip(self._names, self.doing, strict=True))
        if agent in activities:
            activities[agent] = change(activities[agent])
            self.doing = tuple(activities.values())

    def _finish_turn(self, turn: AnyTurn) -> None:
        position = getattr(turn.answer, "position", "") if turn.outcome == "answered" else ""
        shown_position = line(position).text
        self._update_agent(
            turn.agent_id, lambda doing: replace(doing, state=turn.outcome, since_s=None, position=shown_position)
        )

    def _round_start(self, event: RoundStart) -> list[Line]:
        self._round = event.round
        self._rounds = max(self._rounds, event.round)
        self.doing = self._all_waiting()
        return [round_head(event.round, self._rounds, event.focus_question)]

    def _agent_start(self, event: AgentStart) -> list[Line]:
        # A session that is resumed in the middle of a round has no round_start in this run.
        self._round = event.round
        now = self._clock()
        self._update_agent(event.agent, lambda doing: replace(doing, state="thinking", since_s=now))
        return []

    def _chunk(self, event: AgentResponseChunk) -> list[Line]:
        self._update_agent(event.agent, lambda doing: replace(doing, state="writing"))
        return []

    def _retry(self, event: Retry) -> list[Line]:
        who = self._names.get(event.agent or "", event.agent or "a model")
        if event.agent is not None:
            self._update_agent(event.agent, lambda doing: replace(doing, state=f"try {event.attempt}"))
        text = f"{who}: try {event.attempt} in {event.delay_s:.1f} s, after: {event.error.message}"
        return [line(text, "yellow", indent=2)]

    def _wait(self, event: Waiting) -> list[Line]:
        if event.agent is not None:
            self._update_agent(event.agent, lambda doing: replace(doing, state="waiting"))
        if event.reason in {"approval", "retry"}:  # these have events, and lines, of their own
            return []
        who = "The debate" if event.agent is None else self._names.get(event.agent, event.agent)
        return [line(f"{who} {event.text}", "yellow", indent=2)]

    def _consensus(self, event: ConsensusMeasured) -> list[Line]:
        level = event.consensus
        self.levels = (*self.levels, level.level_in_words)
        return [agreement_line(level)]

    def _requests(self, event: ContextRequested) -> list[Line]:
        requests = [
            line(
                f"{self._names.get(request.agent_id, request.agent_id)} asks ({request.priority}): {request.query}",
                "magenta",
                indent=2,
            )
            for request in event.requests
        ]
        return [line("The agents ask you for information:", "magenta", indent=2), *requests]

    def _control(self, event: Control) -> list[Line]:
        self._rounds = event.total_rounds or self._rounds
        if event.action not in WORDS:
            return []
        return [line(f"{event.by or 'Someone'} asked to {WORDS[event.action]}", "yellow", indent=2)]
