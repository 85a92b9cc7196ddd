"""The content of a report: created from results, and rendered by functions that need nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from roundtable._core.words import shortened
from roundtable.report.changes import ChangeView
from roundtable.report.sanitize import plain

__all__ = [
    "ArgumentsView",
    "CampView",
    "ChangeView",
    "ClaimView",
    "CostView",
    "EvidenceView",
    "FlowCell",
    "FlowView",
    "OptionView",
    "PairTable",
    "Parts",
    "ReportView",
    "RoundView",
    "SourceView",
    "SpeakerView",
    "answer_line",
    "choice_prefix",
    "heading",
    "initials",
    "percent",
    "short_answer",
    "short_name",
    "trust_lines",
]


Parts: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Headings, each with its paragraphs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerView:
    """One turn of one agent."""

    name: str
    """Display name."""
    seat: int = 0
    """Number of the agent, from 0; it selects the colour."""
    role: str = "participant"
    """Role played."""
    position: str = ""
    """Its position."""
    choice: str | None = None
    """Option chosen; on an open question the answer in few words, if the position does not begin with it."""
    reasoning: str = ""
    """Its reasons."""
    confidence: float | None = None
    """Reported confidence in [0, 1]."""
    sources: tuple[tuple[str, str], ...] = ()
    """Title and URL of each source."""
    tools: tuple[str, ...] = ()
    """Names of the tools used."""
    notes: tuple[str, ...] = ()
    """Notes for the reader on this answer."""
    error: str | None = None
    """Why there is no answer."""
    votes: bool = False
    """Whether it is a vote on motions, not an answer."""
    abstains: bool = False
    """Whether the answer abstains, so that its confidence counts nowhere."""
    is_ballot: bool = False
    """Whether it is a debater's vote between options, as in the mode Oxford."""
    camp: str = ""
    """Label of the camp of its answer; empty without one, or in a round of which only the last answer counts."""
    change: ChangeView | None = None
    """What it changed against the agent's answer in the round before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One round."""

    number: int
    """Round, from 1."""
    complete: bool
    """Whether it ran to its end."""
    agreement: float | None
    """Agreement in [0, 1]; `None` where there was nothing to compare, or it is an interval."""
    bounds: tuple[float, float] | None = None
    """Least and greatest agreement, if it is an interval."""
    level: str = ""
    """The agreement as text, if it is not shown as a number with two decimals."""
    summary: str
    """Agreement in words."""
    focus: str = ""
    """The narrower question of the round."""
    speakers: tuple[SpeakerView, ...]
    """Turns in order."""

    @property
    def shown_level(self) -> str:
        """The agreement as shown; empty if it was not measured."""
        return self.level or ("" if self.agreement is None else f"{self.agreement:.2f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowCell:
    """What one agent held in one round."""

    camp: str = ""
    """Label of the camp; empty if the agent gave no answer, or abstained."""
    confidence: float | None = None
    """Reported confidence in [0, 1]."""
    moved: str = ""
    """`moved`, `not compared`, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowView:
    """Who held which answer in each round."""

    rounds: tuple[int, ...]
    """Numbers of the rounds."""
    camps: tuple[tuple[str, str], ...]
    """Label and answer of each camp."""
    rows: tuple[tuple[str, int, tuple[FlowCell, ...]], ...]
    """For each agent its name, its seat, and a cell for each round."""
    holders: tuple[str, ...]
    """For each round how many hold each answer, in words."""
    note: str
    """Who moved, in words."""
    counts: tuple[tuple[int, ...], ...] = ()
    """For each round how many hold each answer, in the order of the camps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampView:
    """Who holds one answer in the end, and why."""

    label: str
    """Label of the camp."""
    name: str
    """The answer."""
    holders: tuple[str, ...]
    """Names of those who hold it in the last complete round; empty if everybody left it."""
    points: tuple[str, ...] = ()
    """Key points of those who hold it."""
    is_answer: bool = False
    """Whether it is the answer of the debate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionView:
    """What one option got in the decision."""

    name: str
    """The option."""
    score: str
    """Its score, as shown; empty if the rule counts nothing for an option."""
    share: float
    """Its score as a share of the largest, in [0, 1]."""
    won: bool
    """Whether it is the answer, or tied for it."""
    backers: tuple[str, ...] = ()
    """Names of those who chose it, in a vote on motions of those who put it first."""
    given_by: tuple[str, ...] = ()
    """Names of those who put it forward, if it is a motion of a vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """A vote as a table: how many ballots put one motion above another one."""

    caption: str
    """What the table shows."""
    names: tuple[str, ...]
    """The motions, in the order of rows and columns."""
    cells: tuple[tuple[str, ...], ...]
    """For each row its figures as shown, one for each column; a dash where a motion meets itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """One page that was cited, however often."""

    title: str
    """Its title."""
    url: str
    """Its URL, as cited."""
    snippet: str = ""
    """A quote from it."""
    cited_by: tuple[str, ...] = ()
    """Names of those who cited it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceView:
    """A source of a claim."""

    url: str
    """Its URL, as the agent gave it."""
    title: str = ""
    """Its title, if it is known."""
    quote: str = ""
    """The words that the agent quotes."""
    check: str = ""
    """What became of it when its page was fetched, in words; empty if nobody has looked."""
    is_found: bool = False
    """Whether the page was fetched and has the quoted words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """A claim."""

    label: str
    """Its label."""
    text: str
    """The claim."""
    name: str
    """Name of the agent."""
    seat: int
    """Number of the agent, from 0."""
    round: int
    """Round, from 1."""
    notes: tuple[str, ...] = ()
    """What became of it: that nobody answered it, or that it was dropped."""
    supports: tuple[str, ...] = ()
    """Labels of the earlier claims that it supports."""
    attacks: tuple[str, ...] = ()
    """Labels of the earlier claims that it attacks."""
    supported_by: tuple[str, ...] = ()
    """Labels of the later claims that support it."""
    attacked_by: tuple[str, ...] = ()
    """Labels of the later claims that attack it."""
    evidence: tuple[EvidenceView, ...] = ()
    """Its sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsView:
    """The claims of a debate."""

    summary: str
    """How many there are, and what became of them, in words."""
    claims: tuple[ClaimView, ...]
    """The claims, oldest first."""
    lines: tuple[tuple[str, str], ...] = ()
    """Label and text of what follows from them."""


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
    """Who gave no answer in the end, and why; shown before anything else."""
    rounds: tuple[RoundView, ...]
    """The rounds."""
    failed: tuple[str, ...] = ()
    """Who failed at times but answered in the end, and why; shown after `missing`."""
    state: str = ""
    """State of the debate in a word or two; empty if it was held to its end."""
    about: str = ""
    """Mode, rounds and date, in a line."""
    is_decided: bool = True
    """Whether the decision has a winner."""
    advice: tuple[str, str] | None = None
    """What is recommended, in a few words, and why; `None` while the debate is not over."""
    story: str = ""
    """What happened between the first answers and the last, in a line."""
    answer_note: str = ""
    """How the answer was found, or a remark on it."""
    seats: tuple[str, ...] = ()
    """Names of the agents, by seat."""
    rule: str = ""
    """Decision rule and its outcome, in words."""
    options: tuple[OptionView, ...] = ()
    """What each option got, best first."""
    counted: str = ""
    """What the scores of the options are, in words."""
    swing: str = ""
    """How votes moved between the first vote and the last one, if the mode holds two."""
    flow: FlowView | None = None
    """Who held which answer, if there are at least two complete rounds."""
    camps: tuple[CampView, ...] = ()
    """The answers, each with those who hold it and their key points; empty if answers have no camps."""
    arguments: ArgumentsView | None = None
    """The claims, if the debate has any."""
    pairs: PairTable | None = None
    """Options against each other, if there was a vote on motions by rankings, or the rule compares pairs."""
    synthesis: Parts = ()
    """Heading and paragraphs of each part of the synthesis."""
    goal: Parts = ()
    """Goal, strategy and success criteria of a team; empty for a debate."""
    figures: tuple[tuple[str, str, str], ...] = ()
    """Label, value and remark of each summary figure."""
    independent: float | None = None
    """Agreement in [0, 1] of independent answers, given before the agents read each other."""
    minority: tuple[SpeakerView, ...] = ()
    """Last positions outside the largest camp, those not compared with it included; after a vote, votes for others."""
    sources: tuple[SourceView, ...] = ()
    """Every page that was cited."""
    costs: tuple[CostView, ...] = ()
    """What each agent consumed."""
    cost: str = ""
    """What the whole debate consumed, in words."""


def percent(share: float | None) -> str:
    """Format a share as a percentage; empty for `None`."""
    return "" if share is None else f"{share:.0%}"


def answer_line(view: ReportView) -> str:
    """Return the answer, or why there is none."""
    return view.answer if view.answer is not None else f"none: {view.answer_reason}"


def trust_lines(view: ReportView) -> tuple[tuple[str, str], ...]:
    """Return label and text of the lines below an answer: whether to rely on it, and how it came about."""
    advice = ((view.advice[0], view.advice[1]),) if view.advice is not None else ()
    return (*advice, *((("How it came about", f"{view.story}."),) if view.story else ()))


def choice_prefix(choice: str | None, position: str) -> str:
    """Return the option to show before a position; empty if the position begins with it.

    Example:
        >>> choice_prefix("Tabs", "They line up"), choice_prefix("Tabs", "tabs, always")
        ('Tabs: ', '')
    """
    if not choice or re.match(rf"\W*{re.escape(plain(choice))}(?!\w)", plain(position), re.IGNORECASE):
        return ""
    return f"{choice}: "


def short_answer(choice: str | None, bottom_line: str | None, position: str) -> str | None:
    """Return the answer in few words to show beside a position; `None` if the position begins with it.

    Example:
        >>> short_answer(None, "Lisbon", "It is warmer there."), short_answer(None, "Lisbon.", "Lisbon, by far")
        ('Lisbon', None)
    """
    if choice or not bottom_line:
        return choice
    return bottom_line if choice_prefix(bottom_line.rstrip(" .!"), position) else None


def heading(round_view: RoundView) -> str:
    """Return the heading of a round."""
    state = "" if round_view.complete else " (not completed)"
    level = f", agreement {round_view.shown_level}" if round_view.shown_level else ""
    return f"Round {round_view.number}{state}{level}"


def short_name(name: str, width: int) -> str:
    """Return a name in one line of at most so many characters.

    Example:
        >>> short_name("A rather long motion", 10), short_name("Tea", 10)
        ('A rather \u2026', 'Tea')
    """
    return shortened(plain(name), width)


def initials(name: str) -> str:
    """Return one or two initials of a name."""
    words = [word for word in plain(name).split() if word[:1].isalnum()]
    ends = (words[0], words[-1]) if len(words) > 1 else words
    return "".join(word[0].upper() for word in ends) or "\u2022"
