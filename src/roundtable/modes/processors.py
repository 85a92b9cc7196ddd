"""Changing what an agent gets to see: without names, with statistics. All give new contexts and hold no state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from roundtable.modes.statistics import calculate_stats, statistics_note
from roundtable.types import AgentResponse

if TYPE_CHECKING:
    from roundtable.modes.statistics import DebateStatistics
    from roundtable.types import AnyTurn, DebateContext, TurnKey

__all__ = ["AnonymizationProcessor", "ContextProcessor", "ProcessorChain", "StatisticsProcessor"]

# Providers named by an ordinary word, which gives nobody away and may well belong to the question.
_ORDINARY: Final = frozenset({"command", "compatible", "human", "local", "replay", "scripted"})
_SOMEBODY: Final = "a participant"


class ContextProcessor(Protocol):
    """Changes a context; pure."""

    def process(self, context: DebateContext) -> DebateContext:
        """Give the changed context."""


class AnonymizationProcessor:
    """Takes identity out of a context: names, ids, providers, models, durations, and names written into answers.

    In a turn speakers go by the names that the turn shows, elsewhere by `Participant 1`, `Participant 2` and so
    on in the order of the seats, so that an agent keeps its number. Who is at the table is left out. A word of the
    question is never masked, since it gives nobody away.

    Args:
        own: Whether the agent's own earlier answers lose their mark too, so that it cannot prefer them.
    """

    def __init__(self, *, own: bool = False) -> None:
        self.own = own

    def process(self, context: DebateContext) -> DebateContext:
        """Give the context without identities; as it is where nothing was said before."""
        if not context.transcript and not context.previous_responses:
            return context.model_copy(update={"agents": ()})
        turn = context.turn
        self_id = turn.agent if turn and not self.own else None
        by_key: dict[TurnKey, str] = {seen.turn: seen.shown_as for seen in turn.sees} if turn else {}
        aliases = _aliases(context, by_key)
        mask = _Mask(context, aliases)

        def renamed(answer: AgentResponse) -> AgentResponse:
            alias = aliases.get(answer.agent_id, answer.agent_name)
            kept = answer.agent_id == self_id
            return answer.model_copy(
                update={
                    "agent_id": answer.agent_id if kept else alias,
                    "agent_name": alias,
                    "position": mask(answer.position),
                    "reasoning": mask(answer.reasoning),
                    "tool_calls": answer.tool_calls if kept else (),
                }
            )

        changed: dict[str, object] = {
            "agents": (),
            "previous_responses": tuple(renamed(answer) for answer in context.previous_responses),
            "transcript": tuple(_nameless(one, aliases, renamed, kept=self_id) for one in context.transcript),
        }
        if turn is not None:
            notes = tuple(
                note.model_copy(update={"text": mask(note.text), "brief": mask(note.brief)}) for note in turn.notes
            )
            changed["turn"] = turn.model_copy(update={"notes": notes})
        return context.model_copy(update=changed)


def _aliases(context: DebateContext, by_key: Mapping[TurnKey, str]) -> dict[str, str]:
    """Give each agent the name it is shown under, else a number by its seat or by when it first spoke."""
    aliases = {turn.agent_id: by_key[turn.key] for turn in context.transcript if turn.key in by_key}
    spoke = [answer.agent_id for answer in context.previous_responses]
    order = dict.fromkeys([*(seat.id for seat in context.agents), *spoke])
    for number, agent_id in enumerate(order, start=1):
        if agent_id not in aliases and (agent_id in spoke or context.turn is None):
            aliases[agent_id] = f"Participant {number}"
    return aliases


def _nameless(turn: AnyTurn, aliases: Mapping[str, str], renamed: _Rename, *, kept: str | None) -> AnyTurn:
    alias = aliases.get(turn.agent_id, _SOMEBODY)
    place: dict[str, object] = {
        "agent_id": turn.agent_id if turn.agent_id == kept else alias,
        "agent_name": alias,
        "duration_s": 0.0,
    }
    if turn.outcome == "failed":
        error = turn.error.model_copy(update={"message": "the turn failed", "provider": None, "cause": None})
        return turn.model_copy(update={**place, "error": error})
    answer = renamed(turn.answer) if isinstance(turn.answer, AgentResponse) else turn.answer
    result = turn.result.model_copy(
        update={"answer": answer, "provider": None, "model": None, "request_ids": (), "warnings": ()}
    )
    return turn.model_copy(update={**place, "result": result})


class _Rename(Protocol):
    def __call__(self, answer: AgentResponse, /) -> AgentResponse: ...


class _Mask:
    """Replaces what names an agent of the table by its alias."""

    def __init__(self, context: DebateContext, aliases: Mapping[str, str]) -> None:
        asked = f"{context.topic} {context.focus_question or ''} {' '.join(context.options or ())}".casefold()
        terms = {
            term.casefold(): aliases.get(agent_id, _SOMEBODY)
            for term, agent_id in _terms(context)
            if len(term) > 1 and term.casefold() not in _ORDINARY and not _words([term.casefold()]).search(asked)
        }
        self._terms = terms
        longest_first = sorted(terms, key=lambda term: (-len(term), term))
        self._pattern = _words(longest_first) if longest_first else None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._terms.get(found[0].casefold(), _SOMEBODY), text)


def _words(terms: Sequence[str]) -> re.Pattern[str]:
    """Find any of these as whole words: `Ada` is no part of Canada."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(term) for term in terms)})(?!\w)", re.IGNORECASE)


def _terms(context: DebateContext) -> Iterator[tuple[str, str]]:
    for seat in context.agents:
        yield seat.name, seat.id
        yield seat.id, seat.id
        yield seat.persona or "", seat.id
    for turn in context.transcript:
        yield turn.agent_name, turn.agent_id
        yield turn.agent_id, turn.agent_id
        if turn.outcome == "answered":
            yield turn.result.provider or "", turn.agent_id
            yield turn.result.model or "", turn.agent_id
    for answer in context.previous_responses:
        yield answer.agent_id, answer.agent_id


class StatisticsProcessor:
    """Adds the statistics of the last round an agent may see to its turn, as quoted material."""

    def process(self, context: DebateContext) -> DebateContext:
        """Give the context with statistics; as it is without a turn or without earlier answers."""
        rounds = sorted({turn.round for turn in context.transcript})
        if context.turn is None or not rounds:
            return context
        said = [_positions_of(context, number) for number in rounds[-2:]]
        note = statistics_note(said[-1], said[-2] if len(said) > 1 else ())
        turn = context.turn.model_copy(update={"notes": (*context.turn.notes, note)})
        return context.model_copy(update={"turn": turn})

    @staticmethod
    def calculate_stats(responses: Sequence[AgentResponse]) -> DebateStatistics:
        """Count and measure the answers of one round."""
        return calculate_stats(responses)


def _positions_of(context: DebateContext, number: int) -> tuple[AgentResponse, ...]:
    held = [turn for turn in context.transcript if turn.round == number and turn.outcome == "answered"]
    return tuple(turn.answer for turn in held if isinstance(turn.answer, AgentResponse))


class ProcessorChain:
    """Runs several processors, one after another.

    Args:
        processors: The processors, in order.
    """

    def __init__(self, processors: Sequence[ContextProcessor] = ()) -> None:
        self.processors: tuple[ContextProcessor, ...] = tuple(processors)

    def process(self, context: DebateContext) -> DebateContext:
        """Run them all."""
        for processor in self.processors:
            context = processor.process(context)
        return context
