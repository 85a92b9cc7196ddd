"""What a report shows; filled by whoever knows results, rendered by functions that know nothing else."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReportView", "RoundView", "SpeakerView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerView:
    """One turn of one agent."""

    name: str
    """Display name."""
    role: str = "participant"
    """Role played."""
    position: str = ""
    """Its position."""
    choice: str | None = None
    """Option chosen."""
    reasoning: str = ""
    """Why."""
    confidence: float | None = None
    """Reported confidence in [0, 1]."""
    sources: tuple[tuple[str, str], ...] = ()
    """Title and URL of each source."""
    notes: tuple[str, ...] = ()
    """What the reader should know about this answer."""
    error: str | None = None
    """Why there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One round."""

    number: int
    """Round, from 1."""
    complete: bool
    """Whether it ran to its end."""
    agreement: float | None
    """Agreement in [0, 1]."""
    summary: str
    """Agreement in words."""
    speakers: tuple[SpeakerView, ...]
    """Turns in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """A whole debate."""

    title: str
    """The question."""
    facts: tuple[tuple[str, str], ...]
    """Label and value of each headline fact."""
    answer: str | None
    """The answer."""
    answer_reason: str | None
    """Why there is none."""
    missing: tuple[str, ...]
    """Who failed, and why; shown before anything else."""
    rounds: tuple[RoundView, ...]
    """The rounds."""
