"""What a report shows; filled by whoever knows results, rendered by functions that know nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["CostView", "OptionView", "Parts", "ReportView", "RoundView", "SourceView", "SpeakerView"]

Parts: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Headings, each with its paragraphs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerView:
    """One turn of one agent."""

    name: str
    """Display name."""
    seat: int = 0
    """Place at the table, from 0; agents of one place look alike."""
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
    tools: tuple[str, ...] = ()
    """Names of the tools used."""
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
    focus: str = ""
    """The narrower question of the round."""
    speakers: tuple[SpeakerView, ...]
    """Turns in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionView:
    """What one option got in the decision."""

    name: str
    """The option."""
    score: str
    """Its score, as it is written."""
    share: float
    """Its score as a share of the largest, in [0, 1]."""
    won: bool
    """Whether it is the answer, or tied for it."""
    backers: tuple[str, ...] = ()
    """Names of those who chose it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """One page that was cited, however often."""

    title: str
    """Its title."""
    url: str
    """Its address, as it was given."""
    snippet: str = ""
    """A passage of it."""
    cited_by: tuple[str, ...] = ()
    """Names of those who cited it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostView:
    """What one agent consumed."""

    name: str
    """Display name."""
    model: str
    """Provider and model."""
    turns: str
    """Turns answered and failed, in words."""
    tokens: str
    """Tokens in and out, in words."""
    cost: str
    """Cost, in words."""


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
    state: str = ""
    """How far the debate came, in a word or two; empty when it was held to its end."""
    about: str = ""
    """Mode, rounds and date, in a line."""
    is_decided: bool = True
    """Whether the decision has a winner."""
    answer_note: str = ""
    """How the answer was found, or what stands beside it."""
    seats: tuple[str, ...] = ()
    """Names of those at the table, by seat."""
    rule: str = ""
    """Decision rule and its outcome, in words."""
    options: tuple[OptionView, ...] = ()
    """What each option got, best first."""
    synthesis: Parts = ()
    """Heading and paragraphs of each part of the synthesis."""
    goal: Parts = ()
    """What a team works towards, how, and how it knows that it is done; a debate has none."""
    figures: tuple[tuple[str, str, str], ...] = ()
    """Label, value and remark of each figure that sums the debate up."""
    independent: float | None = None
    """Agreement in [0, 1] of answers given before anyone had heard anyone."""
    minority: tuple[SpeakerView, ...] = ()
    """Last positions of those whom the answer does not speak for."""
    sources: tuple[SourceView, ...] = ()
    """Every page that was cited."""
    costs: tuple[CostView, ...] = ()
    """What each agent consumed."""
    cost: str = ""
    """What the whole debate consumed, in words."""
