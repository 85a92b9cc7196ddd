"""A debate as it is told: each event becomes lines, and who is doing what is kept for the live view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from roundtable.cli.lines import Line, agreement_line, line, round_head, turn_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.types import (
        AgentResponseChunk,
        AgentStart,
        AnyTurn,
        ConsensusMeasured,
        ContextRequested,
        Control,
        Event,
        Retry,
        RoundRecord,
        RoundStart,
    )

__all__ = ["Doing", "Story"]


@dataclass(frozen=True, slots=True)
class Doing:
    """What one agent is doing in the round being held."""

    name: str
    """Its display name."""
    state: str = "waiting"
    """In a word."""
    since_s: float | None = None
    """Since when, as the clock of the story tells it; `None` once it is done."""
    position: str = ""
    """Its answer, once it is there."""


class Story:
    """Tells one run of a debate.

    Args:
        names: Display name of each agent, by id, in speaking order.
        rounds: Rounds planned.
        clock: Gives seconds that never run backwards.
    """

    def __init__(self, names: Mapping[str, str], rounds: int, clock: Callable[[], float]) -> None:
        self._names = dict(names)
        self._rounds = rounds
        self._clock = clock
        self._round = 0
        self.doing: tuple[Doing, ...] = self._everybody_waits()
        """What everybody is doing; replaced as a whole, so that another thread may read it at any time."""
        self.levels: tuple[float, ...] = ()
        """Agreement of the rounds measured so far."""

    @property
    def title(self) -> str:
        """Where the debate is."""
        return f"Round {self._round} of {self._rounds}" if self._round else "Starting"

    def take_up(self, held: RoundRecord) -> list[Line]:
        """Take a round that was left half-way, and give what is to be shown of it before it goes on.

        Its start and its stored turns are no events of this run.
        """
        told = [round_head(held.number, self._rounds, held.focus_question)]
        self._round = held.number
        for turn in held.turns:
            told += turn_lines(turn)
            self._settle(turn)
        return [*told, line("stored before; it goes on here", "dim", indent=2)] if held.turns else told

    def tell(self, event: Event) -> list[Line]:
        """Take one event and give what is to be shown of it."""
        match event.type:
            case "round_start":
                return self._round_start(event)
            case "agent_start":
                return self._agent_start(event)
            case "agent_response_chunk":
                return self._chunk(event)
            case "retry":
                return self._retry(event)
            case "agent_complete" | "agent_error":
                self._settle(event.turn)
                return turn_lines(event.turn)
            case "consensus":
                return self._consensus(event)
            case "round_complete":
                return [Line("")]
            case "context_requested":
                return self._requests(event)
            case "control":
                return self._control(event)
            case _:
                # The start is told before, the end after the story, both from the result.
                return []

    def _everybody_waits(self) -> tuple[Doing, ...]:
        return tuple(Doing(line(name).text) for name in self._names.values())

    def _change(self, agent: str, change: Callable[[Doing], Doing]) -> None:
        places = dict(zip(self._names, self.doing, strict=True))
        if agent in places:
            places[agent] = change(places[agent])
            self.doing = tuple(places.values())

    def _settle(self, turn: AnyTurn) -> None:
        position = getattr(turn.answer, "position", "") if turn.outcome == "answered" else ""
        told = line(position).text
        self._change(turn.agent_id, lambda doing: replace(doing, state=turn.outcome, since_s=None, position=told))

    def _round_start(self, event: RoundStart) -> list[Line]:
        self._round = event.round
        self._rounds = max(self._rounds, event.round)
        self.doing = self._everybody_waits()
        return [round_head(event.round, self._rounds, event.focus_question)]

    def _agent_start(self, event: AgentStart) -> list[Line]:
        # A session that goes on in the middle of a round has no round_start in this run.
        self._round = event.round
        now = self._clock()
        self._change(event.agent, lambda doing: replace(doing, state="thinking", since_s=now))
        return []

    def _chunk(self, event: AgentResponseChunk) -> list[Line]:
        self._change(event.agent, lambda doing: replace(doing, state="writing"))
        return []

    def _retry(self, event: Retry) -> list[Line]:
        who = self._names.get(event.agent or "", event.agent or "a model")
        if event.agent is not None:
            self._change(event.agent, lambda doing: replace(doing, state=f"try {event.attempt}"))
        told = f"{who}: try {event.attempt} in {event.delay_s:.1f} s, after: {event.error.message}"
        return [line(told, "yellow", indent=2)]

    def _consensus(self, event: ConsensusMeasured) -> list[Line]:
        level = event.consensus
        self.levels = (*self.levels, level.agreement_level)
        return [agreement_line(level.agreement_level, level.method, level.summary)]

    def _requests(self, event: ContextRequested) -> list[Line]:
        asked = [
            line(
                f"{self._names.get(request.agent_id, request.agent_id)} asks ({request.priority}): {request.query}",
                "magenta",
                indent=2,
            )
            for request in event.requests
        ]
        return [line("The agents ask you for information:", "magenta", indent=2), *asked]

    def _control(self, event: Control) -> list[Line]:
        self._rounds = event.total_rounds or self._rounds
        if event.action not in WORDS:
            return []
        return [line(f"{event.by or 'Somebody'} asked to {WORDS[event.action]}", "yellow", indent=2)]


WORDS: Final = {"pause": "pause the debate", "stop": "stop the debate"}
"""Requests that are told; that a session goes on is seen anyway."""
