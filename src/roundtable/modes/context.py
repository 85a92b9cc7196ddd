"""Changes to what an agent sees: hidden names and added statistics. Pure functions from context to context."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Protocol

from roundtable.core.types.answers import AgentResponse
from roundtable.core.types.plan import Note
from roundtable.metrics.numeric import interquartile_range, median
from roundtable.scoring import open_key

if TYPE_CHECKING:
    from roundtable.core.types.answers import Claim, TurnKey
    from roundtable.core.types.debate import AnyTurn, DebateContext

__all__ = [
    "AnonymizationProcessor",
    "DebateStatistics",
    "NameMask",
    "calculate_stats",
    "key_position",
    "statistics_note",
]

_KEY_CHARS: Final = 100
_MAX_POSITIONS: Final = 5


# Provider names that are ordinary words: they identify nobody, and may be part of the question.
_ORDINARY_NAMES: Final = frozenset({"command", "compatible", "human", "local", "replay", "scripted"})
_UNNAMED_AGENT: Final = "a participant"
_TRACKING: Final = re.compile(r"(?<=[?&])utm_\w*(?:=[^&#]*)?(?:&|(?=#)|\Z)", re.IGNORECASE)
_TRACKING_END: Final = re.compile(r"[?&](?=#|\Z)")


@dataclass(frozen=True, slots=True)
class DebateStatistics:
    """Statistics of the answers of one round."""

    participant_count: int
    """Number of answers."""
    average_confidence: float
    """Mean reported confidence, 0 to 100 %."""
    median_confidence: float
    """Median reported confidence, 0 to 100 %."""
    confidence_iqr: float
    """Interquartile range of the confidence in percentage points, type 7."""
    stance_distribution: Mapping[str, int]
    """Number of answers for each side, without answers that do not take a side."""
    position_distribution: Mapping[str, int]
    """Number of answers for each key position, the most common first."""
    consensus_level: float
    """Share of the most common key position, 0 to 100 %."""


def key_position(response: AgentResponse) -> str:
    """Return the short form of a position: its option or bottom line, else its first sentence, up to 100 characters.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> key_position(AgentResponse(agent_id="a", agent_name="A", position="Wait a year. Then decide."))
        'Wait a year.'
    """
    if response.choice is not None or response.bottom_line is not None:
        return response.choice or response.bottom_line or ""
    text = " ".join(response.position.split())
    ends = [end for mark in ".!?" if (end := text.find(f"{mark} ")) >= 0]
    sentence = text[: min(ends) + 1] if ends else text
    return sentence if len(sentence) <= _KEY_CHARS else f"{text[:_KEY_CHARS].rstrip()}…"


def calculate_stats(responses: Sequence[AgentResponse]) -> DebateStatistics:
    """Count and measure the answers of one round; without answers, all figures are 0.

    Answers without a stated confidence don't count for the figures of confidence.
    """
    confidences = [response.confidence for response in responses if response.confidence is not None]
    spellings: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for response in responses:
        counted[spellings.setdefault(_answer_key(response), key_position(response))] += 1
    stances = Counter(response.stance for response in responses if response.stance is not None)
    leading_count = counted.most_common(1)[0][1] if counted else 0
    count = len(responses)
    return DebateStatistics(
        participant_count=count,
        average_confidence=100 * sum(confidences) / len(confidences) if confidences else 0.0,
        median_confidence=_percent(median(confidences).value),
        confidence_iqr=_percent(interquartile_range(confidences).value),
        stance_distribution=dict(sorted(stances.items(), reverse=True)),
        position_distribution=dict(counted.most_common()),
        consensus_level=100 * leading_count / count if count else 0.0,
    )


def _answer_key(response: AgentResponse) -> str:
    """Return a key that equal answers share; options are compared exactly."""
    return response.choice or open_key(key_position(response))


def _percent(share: Fraction | float | None) -> float:
    return 0.0 if share is None else float(100 * share)


def statistics_note(last: Sequence[AgentResponse], before: Sequence[AgentResponse] = ()) -> Note:
    """Create a note with the statistics of a round, for an agent to read.

    Args:
        last: Answers of the last round.
        before: Answers of the previous round, to report what changed.
    """
    stats = calculate_stats(last)
    leading = next(iter(stats.position_distribution), "none")
    lines = [
        f"Participants: {stats.participant_count}",
        (
            f"Confidence: mean {stats.average_confidence:.1f} %, median {stats.median_confidence:.1f} %, "
            f"interquartile range {stats.confidence_iqr:.1f} points"
        ),
        f"Answers with the most common wording: {stats.consensus_level:.1f} %",
    ]
    if stats.stance_distribution:
        lines.append("Stances: " + ", ".join(f"{side} {count}" for side, count in stats.stance_distribution.items()))
    shown = list(stats.position_distribution.items())[:_MAX_POSITIONS]
    lines += ["Positions:", *(f"{count} x {text}" for text, count in shown)]
    if len(stats.position_distribution) > _MAX_POSITIONS:
        lines.append(f"and {len(stats.position_distribution) - _MAX_POSITIONS} more")
    if before:
        lines.append(_change_line(last, before, stats.average_confidence))
    brief = f"{round(stats.consensus_level)} % say: {leading}"
    return Note(label="statistics of the last round", text="\n".join(lines), brief=brief)


def _change_line(last: Sequence[AgentResponse], before: Sequence[AgentResponse], mean: float) -> str:
    earlier = {response.agent_id: _answer_key(response) for response in before}
    present = [response for response in last if response.agent_id in earlier]
    moved = sum(_answer_key(response) != earlier[response.agent_id] for response in present)
    shift = mean - calculate_stats(before).average_confidence
    return (
        f"Change since the round before: {moved} of {len(present)} participants answer in other words; "
        f"mean confidence {shift:+.1f} points"
    )


class AnonymizationProcessor:
    """Processor that removes identities from a context: names (also in answers), ids, providers, models, durations.

    In a turn, speakers have the names that the turn shows. Elsewhere they are `Participant 1`, `Participant 2` and so
    on, in the order of the seats, so that each agent keeps its number. The list of agents is removed. A name that is
    part of the question is not masked, since it does not identify an agent.

    Args:
        own: Whether the agent's own earlier answers are also anonymous, so that it cannot prefer them.
    """

    def __init__(self, *, own: bool = False) -> None:
        self.own = own

    def process(self, context: DebateContext) -> DebateContext:
        """Return the context without identities; if nothing was said before, only the list of agents is removed."""
        if not context.transcript and not context.previous_responses:
            return context.model_copy(update={"agents": ()})
        turn = context.turn
        self_id = turn.agent if turn and not self.own else None
        by_key: dict[TurnKey, str] = {visible.turn: visible.shown_as for visible in turn.sees} if turn else {}
        aliases = _aliases(context, by_key)
        mask = NameMask(context, aliases)

        def renamed(answer: AgentResponse) -> AgentResponse:
            alias = aliases.get(answer.agent_id, answer.agent_name)
            is_own = answer.agent_id == self_id
            return answer.model_copy(
                update={
                    "agent_id": answer.agent_id if is_own else alias,
                    "agent_name": alias,
                    "position": mask(answer.position),
                    "bottom_line": answer.bottom_line and mask(answer.bottom_line),
                    "compared": answer.compared if is_own else (),
                    "claims": tuple(_masked_claim(claim, mask, is_own=is_own) for claim in answer.claims),
                    "reasoning": mask(answer.reasoning),
                    "value": answer.value if is_own else None,
                    "tool_calls": answer.tool_calls if is_own else (),
                }
            )

        changed: dict[str, object] = {
            "agents": (),
            "previous_responses": tuple(renamed(answer) for answer in context.previous_responses),
            "transcript": tuple(
                _anonymous(earlier, aliases, renamed, own_id=self_id) for earlier in context.transcript
            ),
        }
        if turn is not None:
            notes = tuple(
                note.model_copy(update={"text": mask(note.text), "brief": mask(note.brief)}) for note in turn.notes
            )
            changed["turn"] = turn.model_copy(update={"notes": notes})
        return context.model_copy(update=changed)


def _aliases(context: DebateContext, by_key: Mapping[TurnKey, str]) -> dict[str, str]:
    """Return an alias for each agent: the shown name, else a number by its seat or by the order of first answers."""
    aliases = {turn.agent_id: by_key[turn.key] for turn in context.transcript if turn.key in by_key}
    speakers = [answer.agent_id for answer in context.previous_responses]
    order = dict.fromkeys([*(seat.id for seat in context.agents), *speakers])
    for number, agent_id in enumerate(order, start=1):
        if agent_id not in aliases and (agent_id in speakers or context.turn is None):
            aliases[agent_id] = f"Participant {number}"
    return aliases


def _anonymous(turn: AnyTurn, aliases: Mapping[str, str], renamed: _Rename, *, own_id: str | None) -> AnyTurn:
    alias = aliases.get(turn.agent_id, _UNNAMED_AGENT)
    identity: dict[str, object] = {
        "agent_id": turn.agent_id if turn.agent_id == own_id else alias,
        "agent_name": alias,
        "provider": None,
        "model": None,
        "duration_s": 0.0,
    }
    if turn.outcome == "failed":
        error = turn.error.model_copy(update={"message": "the turn failed", "provider": None, "cause": None})
        return turn.model_copy(update={**identity, "error": error})
    answer = renamed(turn.answer) if isinstance(turn.answer, AgentResponse) else turn.answer
    result = turn.result.model_copy(
        update={"answer": answer, "provider": None, "model": None, "request_ids": (), "warnings": ()}
    )
    return turn.model_copy(update={**identity, "result": result})


def _masked_claim(claim: Claim, mask: NameMask, *, is_own: bool) -> Claim:
    """Return a claim without names; the addresses in an agent's own claims don't change."""
    changed: dict[str, object] = {"text": mask(claim.text)}
    if not is_own:
        changed["evidence"] = tuple(
            source.model_copy(update={"url": mask(_untracked(source.url))}) for source in claim.evidence
        )
    return claim.model_copy(update=changed)


def _untracked(url: str) -> str:
    """Return an address without tracking parameters, since `utm_source=openai` would reveal a provider."""
    return _TRACKING_END.sub("", _TRACKING.sub("", url)) if _TRACKING.search(url) else url


class _Rename(Protocol):
    def __call__(self, answer: AgentResponse, /) -> AgentResponse: ...


class NameMask:
    """A function that replaces the names of agents by their aliases, except names that are part of the question.

    Args:
        context: The context whose agents and speakers are masked.
        aliases: Alias by agent id; an agent without an alias becomes "a participant".
        spared: Texts, such as answers. A name that equals one of them is never masked: the answer `Ada` may mean the
            language.
    """

    def __init__(self, context: DebateContext, aliases: Mapping[str, str], spared: Iterable[str] = ()) -> None:
        spared_names = {_bare(text) for text in spared}
        question = f"{context.topic} {context.focus_question or ''} {' '.join(context.options or ())}".casefold()
        alias_of = {
            term.casefold(): aliases.get(agent_id, _UNNAMED_AGENT)
            for term, agent_id in _terms(context)
            if len(term) > 1
            and term.casefold() not in _ORDINARY_NAMES
            and _bare(term) not in spared_names
            and not _word_pattern([term.casefold()]).search(question)
        }
        self._alias_of = alias_of
        longest_first = sorted(alias_of, key=lambda term: (-len(term), term))
        self._pattern = _word_pattern(longest_first) if longest_first else None

    def __call__(self, text: str) -> str:
        """Return a text with aliases instead of names."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._alias_of.get(match[0].casefold(), _UNNAMED_AGENT), text)


def _bare(text: str) -> str:
    return text.casefold().strip(" .,;:!?\"'")


def _word_pattern(terms: Sequence[str]) -> re.Pattern[str]:
    """Create a pattern that finds these terms as whole words, so that `Ada` is not found in `Canada`."""
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
