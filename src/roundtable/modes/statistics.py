"""What a panel is told about its last round: counts, spread of confidence, and what has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from roundtable.scoring import casefold
from roundtable.scoring.delphi import interquartile_range, median
from roundtable.types import Note

if TYPE_CHECKING:
    from roundtable.types import AgentResponse

__all__ = ["DebateStatistics", "calculate_stats", "key_position", "statistics_note"]

_KEY_CHARS: Final = 100
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class DebateStatistics:
    """The answers of one round in figures."""

    participant_count: int
    """Answers counted."""
    average_confidence: float
    """Mean reported confidence, 0 to 100 %."""
    median_confidence: float
    """Median reported confidence, 0 to 100 %."""
    confidence_iqr: float
    """Interquartile range of the confidence in percentage points, type 7."""
    stance_distribution: Mapping[str, int]
    """Answers by side, of those that took one."""
    position_distribution: Mapping[str, int]
    """Answers by key position, most common first."""
    consensus_level: float
    """Share of the most common key position, 0 to 100 %."""


def key_position(response: AgentResponse) -> str:
    """Give what a position comes down to: the option chosen, else its first sentence, at most 100 characters.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> key_position(AgentResponse(agent_id="a", agent_name="A", position="Wait a year. Then decide."))
        'Wait a year.'
    """
    if response.choice is not None:
        return response.choice
    text = " ".join(response.position.split())
    ends = [place for sign in ".!?" if (place := text.find(f"{sign} ")) >= 0]
    sentence = text[: min(ends) + 1] if ends else text
    return sentence if len(sentence) <= _KEY_CHARS else f"{text[:_KEY_CHARS].rstrip()}…"


def calculate_stats(responses: Sequence[AgentResponse]) -> DebateStatistics:
    """Count and measure the answers of one round; all figures are 0 without answers."""
    confidences = [response.confidence for response in responses]
    spellings: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for response in responses:
        key = key_position(response)
        counted[spellings.setdefault(casefold(key), key)] += 1
    stances = Counter(response.stance for response in responses if response.stance is not None)
    leading = counted.most_common(1)[0][1] if counted else 0
    count = len(responses)
    return DebateStatistics(
        participant_count=count,
        average_confidence=100 * sum(confidences) / count if count else 0.0,
        median_confidence=_percent(median(confidences).value),
        confidence_iqr=_percent(interquartile_range(confidences).value),
        stance_distribution=dict(sorted(stances.items(), reverse=True)),
        position_distribution=dict(counted.most_common()),
        consensus_level=100 * leading / count if count else 0.0,
    )


def _percent(share: Fraction | float | None) -> float:
    return 0.0 if share is None else float(100 * share)


def statistics_note(last: Sequence[AgentResponse], before: Sequence[AgentResponse] = ()) -> Note:
    """Write the statistics of a round for an agent to read.

    Args:
        last: Answers of the last round.
        before: Answers of the round before it, for what has changed.
    """
    stats = calculate_stats(last)
    leading = next(iter(stats.position_distribution), "none")
    lines = [
        f"Participants: {stats.participant_count}",
        (
            f"Confidence: mean {stats.average_confidence:.1f} %, median {stats.median_confidence:.1f} %, "
            f"interquartile range {stats.confidence_iqr:.1f} points"
        ),
        f"Agreement on the most common position: {stats.consensus_level:.1f} %",
    ]
    if stats.stance_distribution:
        lines.append("Stances: " + ", ".join(f"{side} {count}" for side, count in stats.stance_distribution.items()))
    shown = list(stats.position_distribution.items())[:_SHOWN]
    lines += ["Positions:", *(f"{count} x {text}" for text, count in shown)]
    if len(stats.position_distribution) > _SHOWN:
        lines.append(f"and {len(stats.position_distribution) - _SHOWN} more")
    if before:
        lines.append(_change(last, before, stats.average_confidence))
    brief = f"{round(stats.consensus_level)} % say: {leading}"
    return Note(label="statistics of the last round", text="\n".join(lines), brief=brief)


def _change(last: Sequence[AgentResponse], before: Sequence[AgentResponse], mean: float) -> str:
    held = {response.agent_id: casefold(key_position(response)) for response in before}
    again = [response for response in last if response.agent_id in held]
    moved = sum(casefold(key_position(response)) != held[response.agent_id] for response in again)
    shift = mean - calculate_stats(before).average_confidence
    return (
        f"Change since the round before: {moved} of {len(again)} participants changed their position; "
        f"mean confidence {shift:+.1f} points"
    )
