"""The content of a report: it is created from a result, and is all that the functions that render it need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from roundtable.core.base.words import shortened
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
    """Role of the agent."""
    position: str = ""
    """Position of the agent."""
    choice: str | None = None
    """Chosen option; for an open question, the bottom line, unless the position begins with it."""
    reasoning: str = ""
    """Reasoning of the agent."""
    confidence: float | None = None
    """Reported confidence in [0, 1]."""
    sources: tuple[tuple[str, str], ...] = ()
    """Title and URL of each source."""
    tools: tuple[str, ...] = ()
    """Names of the tools that the agent used."""
    notes: tuple[str, ...] = ()
    """Notes on this answer, for the reader of the report."""
    error: str | None = None
    """Why there is no answer."""
    votes: bool = False
    """Whether the turn is a vote on motions, not an answer."""
    abstains: bool = False
    """Whether the answer abstains, so that its confidence never counts."""
    reading: str = ""
    """How the answer was read from the agent's words; empty if there is nothing to explain."""
    is_ballot: bool = False
    """Whether the turn is a debater's vote between options, as in the mode Oxford."""
    camp: str = ""
    """Label of the camp of the answer; empty if the answer has no camp, or if a later answer in the round replaces
    it."""
    change: ChangeView | None = None
    """What changed since the agent's answer in the previous round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One round."""

    number: int
    """Round, from 1."""
    complete: bool
    """Whether the round completed."""
    agreement: float | None
    """Agreement in [0, 1]; `None` if there was nothing to compare, or if the agreement is an interval."""
    bounds: tuple[float, float] | None = None
    """Lower and upper bound of the agreement, if it is an interval."""
    level: str = ""
    """The agreement as text, if it is not shown as a number with two decimals."""
    summary: str
    """Agreement in words."""
    focus: str = ""
    """The focus question of the round."""
    speakers: tuple[SpeakerView, ...]
    """Turns, in order."""

    @property
    def shown_level(self) -> str:
        """The agreement as it is shown; empty if it was not measured."""
        return self.level or ("" if self.agreement is None else f"{self.agreement:.2f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowCell:
    """The answer of one agent in one round."""

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
    """For each agent, its name, its seat, and a cell for each round."""
    holders: tuple[str, ...]
    """For each round, how many agents give each answer, in words."""
    note: str
    """Who changed the answer, in words."""
    counts: tuple[tuple[int, ...], ...] = ()
    """For each round, how many agents give each answer, in the order of the camps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampView:
    """Who gives one of the answers in the end, and why."""

    label: str
    """Label of the camp."""
    name: str
    """The answer."""
    holders: tuple[str, ...]
    """Names of the agents that give it in the last complete round; empty if all of them changed their answer."""
    points: tuple[str, ...] = ()
    """Key points of these agents."""
    is_answer: bool = False
    """Whether it is the answer of the debate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionView:
    """The result of one option in the decision."""

    name: str
    """The option."""
    score: str
    """Score of the option, as it is shown; empty if the rule has no scores for options."""
    share: float | None
    """Share of all votes, points or voters that the score is, in [0, 1]; `None` if it is not such a share."""
    won: bool
    """Whether the option is the winner, or tied for the win."""
    backers: tuple[str, ...] = ()
    """Names of the agents that chose it or, in a vote on motions, put it first."""
    given_by: tuple[str, ...] = ()
    """Names of the agents that gave this answer, if it is a motion of a vote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """A table of a vote: how many ballots put one motion above another."""

    caption: str
    """What the table shows."""
    names: tuple[str, ...]
    """The motions, in the order of rows and columns."""
    cells: tuple[tuple[str, ...], ...]
    """For each row, its figures as they are shown, one for each column; a dash for a motion against itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """One page that was cited, once or more often."""

    title: str
    """Title of the page."""
    url: str
    """URL of the page, as it was cited."""
    snippet: str = ""
    """A quote from the page."""
    cited_by: tuple[str, ...] = ()
    """Names of the agents that cited it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceView:
    """A source of a claim."""

    url: str
    """URL of the source, as the agent gave it."""
    title: str = ""
    """Title of the source, if it is known."""
    quote: str = ""
    """The words that the agent quotes."""
    check: str = ""
    """Result of the check of the source, in words; empty if it was not checked."""
    is_found: bool = False
    """Whether the page was fetched and contains the quoted words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimView:
    """A claim."""

    label: str
    """Label of the claim."""
    text: str
    """The claim."""
    name: str
    """Name of the agent."""
    seat: int
    """Number of the agent, from 0."""
    round: int
    """Round, from 1."""
    notes: tuple[str, ...] = ()
    """Notes on the claim: that nobody answered it, or that it was dropped."""
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
    """How many claims there are, and whether they were answered or dropped, in words."""
    claims: tuple[ClaimView, ...]
    """The claims, oldest first."""
    lines: tuple[tuple[str, str], ...] = ()
    """Further findings on the claims, each with a label and a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostView:
    """What one agent consumed."""

    name: str
    """Display name."""
    model: str
    """Provider and model."""
    turns: str
    """Numbers of answered and failed turns, in words."""
    tokens: str
    """Numbers of input and output tokens, in words."""
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
    """Why there is no answer."""
    missing: tuple[str, ...]
    """Agents without an answer in the end, and why; this is shown before anything else."""
    rounds: tuple[RoundView, ...]
    """The rounds."""
    unread: str = ""
    """Whose answers could not be read, in one line; this is shown after `missing` and `failed`."""
    failed: tuple[str, ...] = ()
    """Agents with failed turns that answered in the end, and why; this is shown after `missing`."""
    state: str = ""
    """State of the debate in a word or two; empty if the debate completed."""
    about: str = ""
    """Mode, rounds and date, in one line."""
    is_decided: bool = True
    """Whether the decision has a winner."""
    advice: tuple[str, str] | None = None
    """The recommendation in a few words, and the reason for it; `None` while the debate is not over."""
    story: str = ""
    """What happened between the first answers and the last answers, in one line."""
    answer_note: str = ""
    """How the answer was decided, or a remark on it."""
    seats: tuple[str, ...] = ()
    """Names of the agents, by seat."""
    rule: str = ""
    """Decision rule and its outcome, in words."""
    options: tuple[OptionView, ...] = ()
    """Results of the options, best first."""
    counted: str = ""
    """What the scores of the options count, in words."""
    swing: str = ""
    """How votes changed between the first and the last vote, if the mode has two votes."""
    flow: FlowView | None = None
    """Who gave which answer in each round, if there are at least two complete rounds."""
    camps: tuple[CampView, ...] = ()
    """The answers, each with its agents and their key points; empty if answers have no camps."""
    arguments: ArgumentsView | None = None
    """The claims, if the debate has any."""
    pairs: PairTable | None = None
    """Head-to-head results of the options, if there was a vote on motions by rankings, or if the rule compares
    pairs."""
    synthesis: Parts = ()
    """Heading and paragraphs of each part of the synthesis."""
    goal: Parts = ()
    """Goal, strategy and success criteria of a team; empty for a debate."""
    figures: tuple[tuple[str, str, str], ...] = ()
    """Label, value and remark of each summary figure."""
    independent: float | None = None
    """Agreement in [0, 1] of independent answers, which agents gave before they read other answers."""
    minority: tuple[SpeakerView, ...] = ()
    """Last positions outside the largest camp, including those not compared with it; after a vote, votes for other
    options."""
    sources: tuple[SourceView, ...] = ()
    """All pages that were cited."""
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
    """Return the lines below an answer, with label and text: whether to rely on it, and how it came about."""
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
    """Return the short answer to show beside a position; `None` if the position begins with it.

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
    """Return a name in one line of at most `width` characters.

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
