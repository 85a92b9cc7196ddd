"""What was agreed: measured agreement, clusters, a rule's decision, a synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pydantic import Field

from roundtable.types.base import JsonValue, Share, Timestamp, Value, utc_now
from roundtable.types.chat import Usage

__all__ = [
    "AIConsensusResult",
    "AnyConsensus",
    "Cluster",
    "ConsensusResult",
    "Decision",
    "GroupthinkWarning",
    "Measured",
    "Nuances",
    "PairReading",
    "SynthesisResult",
]


class Cluster(Value):
    """Agents whose positions count as one."""

    theme: str
    """The position they share, in one agent's words."""
    agent_ids: tuple[str, ...]
    """Who holds it."""
    summary: str = ""
    """What it says."""


class PairReading(Value):
    """How two positions compare, and why."""

    agent_ids: tuple[str, str]
    """Whose positions."""
    score: Share
    """0 is contradiction or nothing in common, 1 is the same."""
    reasons: tuple[str, ...] = ()
    """The cues, in words."""


class GroupthinkWarning(Value):
    """Signs that agents agreed too easily."""

    detected: bool
    """Whether any sign was found."""
    indicators: tuple[str, ...] = ()
    """Which."""
    recommendation: str = ""
    """What to do about it."""


class ConsensusResult(Value):
    """How far the positions of one round agree, and by which method that was measured."""

    agreement_level: Share
    """0 is full disagreement, 1 is full agreement."""
    common_ground: tuple[str, ...] = ()
    """What the agents share: points of all as a model reads them, else the position that more than half hold."""
    disagreement_points: tuple[str, ...] = ()
    """Where they part."""
    summary: str = ""
    """In a sentence or two."""
    method: str = "basic"
    """How it was measured: `"ai"`, `"semantic"`, `"stance"` or `"basic"`."""
    clusters: tuple[Cluster, ...] = ()
    """Groups of equal positions, largest first."""
    assigned: bool = False
    """Whether stances were assigned by the mode, so that the level says nothing about belief."""
    groupthink_warning: GroupthinkWarning | None = None
    """Signs of groupthink, where they were looked for."""
    pairs: tuple[PairReading, ...] = ()
    """How positions compare two by two, where the method compares them; the first of many."""
    key_points: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Points of each agent's reasoning by agent id, where the method gives them."""
    causes: tuple[str, ...] = ()
    """Why methods that come before this one were not used, in their order."""


class Nuances(Value):
    """What a plain level misses."""

    partial_agreements: tuple[str, ...] = ()
    """Points some share."""
    conditional_positions: tuple[str, ...] = ()
    """Positions that depend on a condition."""
    uncertainties: tuple[str, ...] = ()
    """What the agents do not know."""


class AIConsensusResult(ConsensusResult):
    """A consensus read by a model."""

    nuances: Nuances | None = None
    """What the level misses."""
    reasoning: str | None = None
    """Why the model judged so."""
    analyzer_id: str | None = None
    """Agent or model that judged; `"self"` where one answer left nothing to judge."""
    analyzer_provider: str | None = None
    """Provider of the model that judged; one that also debates may favour its own."""
    samples: int = 1
    """Readings that the level is the median of."""
    spread: Share | None = None
    """Highest less lowest level among several readings; `None` with one."""


AnyConsensus: TypeAlias = ConsensusResult | AIConsensusResult
"""Either form of consensus."""


class Measured(Value):
    """A consensus, and what measuring it consumed."""

    consensus: AnyConsensus
    """The consensus."""
    usage: Usage | None = None
    """What calls to models consumed; `None` where there were none."""


class Decision(Value):
    """Outcome of a decision rule over ballots. A deadlock is a result, not an error."""

    rule: str
    """Name of the rule."""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Parameters of the rule, defaults included; exact numbers as text."""
    winners: tuple[str, ...] = ()
    """Winning options; more than one on a tie, none when nothing was decided or the rule asks for more."""
    is_tie: bool = False
    """Whether several options lead level and no tie rule picked one of them."""
    passed: bool = False
    """Whether the rule produced exactly one winner with quorum met."""
    is_unanimous: bool = False
    """Whether every ballot, none of them abstaining or invalid, puts the same single option first."""
    quorum_met: bool = True
    """Whether enough ballots were cast."""
    tied: tuple[str, ...] = ()
    """Options that tied, also where a tie rule then picked one of them."""
    scores: Mapping[str, float] = Field(default_factory=dict)
    """What each option got, in the rule's own unit."""
    margins: Mapping[str, float] = Field(default_factory=dict)
    """Lead of each option over the best other one, in the same unit."""
    pairwise: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    """For rules on rankings: how many ballots put the row above the column."""
    rounds: tuple[Mapping[str, float], ...] = ()
    """For rules with eliminations: the tally of each count."""
    cast: int = 0
    """Number of ballots that counted."""
    abstained: tuple[int, ...] = ()
    """Places of ballots that abstained."""
    invalid: Mapping[int, str] = Field(default_factory=dict)
    """Places of ballots that could not count, and why."""
    mapping: Mapping[str, str] = Field(default_factory=dict)
    """Spellings as cast, and the option each was counted for."""
    why: str = ""
    """The outcome in words."""

    @property
    def winner(self) -> str | None:
        """The single winner, or `None`."""
        return self.winners[0] if self.passed and len(self.winners) == 1 else None

    def __str__(self) -> str:
        """Give the rule and the outcome in words."""
        return f"{self.rule}: {self.why}"


class SynthesisResult(Value):
    """A debate put together by one model."""

    common_ground: tuple[str, ...] = ()
    """What was shared."""
    key_differences: tuple[str, ...] = ()
    """What was not."""
    evolution_summary: str = ""
    """How positions moved."""
    conclusion: str = ""
    """What follows."""
    recommendation: str = ""
    """What to do."""
    confidence: Share = 0.5
    """Reported confidence in [0, 1]."""
    synthesizer_id: str
    """Agent that wrote it."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When."""
