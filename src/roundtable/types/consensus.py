"""Consensus of a debate: measured agreement, clusters, the decision of a rule, the synthesis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field, model_validator

from roundtable.types.base import JsonValue, Share, Timestamp, Value, utc_now, with_upper_bound
from roundtable.types.chat import Usage

__all__ = [
    "AIConsensusResult",
    "AnyConsensus",
    "Cluster",
    "ConsensusResult",
    "Decision",
    "GroupthinkWarning",
    "Measured",
    "Motion",
    "Nuances",
    "PairReading",
    "SynthesisResult",
    "VoteReport",
]

_UPPER_BOUND: Final = frozenset({"agreement_at_most", "agreementAtMost"})


class Cluster(Value):
    """Agents with positions that count as the same."""

    theme: str
    """The shared position, in one agent's words."""
    agent_ids: tuple[str, ...]
    """Ids of the agents that hold it."""
    summary: str = ""
    """Summary of the position."""
    answers: tuple[int, ...] = ()
    """Indices of its answers among those that were measured, from 0; empty if the method knows agents only."""


class PairReading(Value):
    """Similarity of two positions, with reasons."""

    agent_ids: tuple[str, str]
    """Ids of the two agents."""
    score: Share
    """0 means contradiction or nothing in common, 1 means the same."""
    reasons: tuple[str, ...] = ()
    """Reasons for the score, in words."""


class GroupthinkWarning(Value):
    """Signs that agents agreed too easily."""

    detected: bool
    """Whether any sign was found."""
    indicators: tuple[str, ...] = ()
    """The signs found, in words."""
    recommendation: str = ""
    """What to do about it."""


class ConsensusResult(Value):
    """How much the positions of one round agree, and how that was measured."""

    agreement_level: Share
    """Agreement that is certain: 0 is full disagreement, 1 is full agreement. Answers that nobody compared count as
    different."""
    agreement_at_most: Share = 1.0
    """Agreement if answers that nobody compared are the same. Equal to `agreement_level` if it is left out."""
    common_ground: tuple[str, ...] = ()
    """What the agents share: points common to all as a model reads them, else the position that more than half hold."""
    disagreement_points: tuple[str, ...] = ()
    """Where they disagree."""
    summary: str = ""
    """The agreement in a sentence or two."""
    method: str = "basic"
    """How it was measured: `"ai"`, `"declared"`, `"semantic"`, `"stance"` or `"basic"`."""
    clusters: tuple[Cluster, ...] = ()
    """Groups of equal positions, largest first."""
    assigned: bool = False
    """Whether the mode assigned the stances, so that the level says nothing about what agents believe."""
    groupthink_warning: GroupthinkWarning | None = None
    """Signs of groupthink, if they were looked for."""
    pairs: tuple[PairReading, ...] = ()
    """Similarity of pairs of positions, if the method compares them; only the first pairs if there are many."""
    key_points: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Points of each agent's reasoning by agent id, if the method provides them."""
    causes: tuple[str, ...] = ()
    """Why preferred methods were not used, in order of preference."""
    answers: Annotated[int, Field(ge=0)] | None = None
    """Number of answers, abstentions excluded; `None` if it was not recorded. A single answer has nothing to agree
    with."""
    not_compared: tuple[str, ...] = ()
    """Agents outside the largest group whose answers may say the same as it: nobody told them apart."""
    is_lead_open: bool = False
    """Whether no answer leads only because some answers were not compared."""
    abstained: tuple[str, ...] = ()
    """Agents whose answers all say that they cannot or will not answer; they are in no group."""
    warnings: tuple[str, ...] = ()
    """Declarations and stances of agents that were not counted, and why."""

    @model_validator(mode="before")
    @classmethod
    def _one_level(cls, data: object) -> object:
        if isinstance(data, Mapping) and data.get("method") == "semantic" and not _UPPER_BOUND & data.keys():
            # Stored before 0.3: level and groups were made from common words, which say nothing.
            dropped = {"agreement_level", "agreementLevel", "clusters"}
            fields = {name: value for name, value in data.items() if name not in dropped}
            return {**fields, "agreement_level": 0.0, "agreement_at_most": 1.0, "is_lead_open": True}
        return with_upper_bound(data, "agreement_level", "agreement_at_most")

    @property
    def is_measured(self) -> bool:
        """Whether the agreement is one figure: every answer that matters was compared, and there are at least two."""
        return self.agreement_at_most <= self.agreement_level and (self.answers is None or self.answers > 1)

    @property
    def level_in_words(self) -> str:
        """The level for display: two decimals, an interval, or a note that there was nothing to compare.

        Example:
            >>> ConsensusResult(agreement_level=0.5, agreement_at_most=1, not_compared=("cy",)).level_in_words
            '0.50 to 1.00: 1 answer not compared'
            >>> ConsensusResult(agreement_level=0, agreement_at_most=1).level_in_words
            'not measured'
        """
        if self.answers is not None and self.answers < 2:
            return "one answer" if self.answers else "no answer"
        return f"{self._figures_in_words}{self._answered_in_words}"

    @property
    def _figures_in_words(self) -> str:
        if self.agreement_at_most <= self.agreement_level:
            return f"{self.agreement_level:.2f}"
        if self.agreement_level == 0 and self.agreement_at_most == 1:
            return "not measured"
        count = len(self.not_compared)
        note = f": {count} answer{'s' * (count > 1)} not compared" if count else ""
        return f"{self.agreement_level:.2f} to {self.agreement_at_most:.2f}{note}"

    @property
    def _answered_in_words(self) -> str:
        if not self.abstained or self.answers is None:
            return ""
        return f" ({self.answers} of {self.answers + len(self.abstained)} answered)"


class Nuances(Value):
    """Details that a single agreement level does not show."""

    partial_agreements: tuple[str, ...] = ()
    """Points that only some agents share."""
    conditional_positions: tuple[str, ...] = ()
    """Positions that depend on a condition."""
    uncertainties: tuple[str, ...] = ()
    """What the agents do not know."""


class AIConsensusResult(ConsensusResult):
    """A consensus assessed by a model."""

    nuances: Nuances | None = None
    """Details that the level misses."""
    reasoning: str | None = None
    """Reasoning behind the model's judgement."""
    analyzer_id: str | None = None
    """Agent or model that judged; `"self"` if there was only one answer and so nothing to judge."""
    analyzer_provider: str | None = None
    """Provider of the model that judged; if it also debates, it may favour its own answers."""
    samples: int = 1
    """Number of readings; the level is their median."""
    spread: Share | None = None
    """Difference between the highest and the lowest reading; `None` if there is only one."""


AnyConsensus: TypeAlias = ConsensusResult | AIConsensusResult
"""Either form of consensus."""


class Measured(Value):
    """A consensus and the cost of measuring it."""

    consensus: AnyConsensus
    """The consensus."""
    usage: Usage | None = None
    """Usage of the model calls; `None` if there were none."""


def _ballot_index(key: int | str) -> int | str:
    """Return a ballot index as a number; JSON turns it into text where it is a key."""
    return int(key) if re.fullmatch(r"-?[0-9]{1,18}", str(key)) else key


class Motion(Value):
    """An answer that was voted on."""

    name: str
    """The answer in few words, as votes name it."""
    agents: tuple[str, ...] = ()
    """Ids of the agents that gave it."""
    joined: tuple[str, ...] = ()
    """Other motions that the voters declared to be the same, and that are counted as this one."""


class VoteReport(Value):
    """How a vote on motions was counted."""

    motions: tuple[Motion, ...]
    """The motions as counted, most held first."""
    left_out: tuple[str, ...] = ()
    """Answers that nobody could vote for, since too many others were held by more agents."""
    own_share: Share | None = None
    """Share of first places that went to the voter's own motion, among voters with one; `None` if there are none."""
    warnings: tuple[str, ...] = ()
    """Parts of ballots that were not counted, and why."""


class Decision(Value):
    """Outcome of a decision rule over ballots. A deadlock is a result, not an error."""

    rule: str
    """Name of the rule."""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Parameters of the rule, defaults included; exact numbers as text."""
    winners: tuple[str, ...] = ()
    """Options that meet the rule's requirement. In a tie these are all options tied for the win, and `winner` is
    `None`. Empty if nothing was decided, or if no option meets the requirement."""
    is_tie: bool = False
    """Whether several options are tied for the lead and no tie rule picked one of them."""
    passed: bool = False
    """Whether the rule produced exactly one winner with quorum met."""
    is_unanimous: bool = False
    """Whether every ballot puts the same single option first, with no abstention and no invalid ballot."""
    quorum_met: bool = True
    """Whether enough ballots were cast."""
    tied: tuple[str, ...] = ()
    """Options that tied, even if a tie rule then picked one of them."""
    scores: Mapping[str, float] = Field(default_factory=dict)
    """Score of each option, in the rule's own unit."""
    margins: Mapping[str, float] = Field(default_factory=dict)
    """Lead of each option over the best other one, in the same unit."""
    pairwise: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    """For ranking rules: number of ballots that put the row above the column."""
    rounds: tuple[Mapping[str, float], ...] = ()
    """For rules that eliminate options: the tally of each count."""
    cast: int = 0
    """Number of ballots that counted."""
    voters: tuple[str, ...] = ()
    """Voters in the order of their ballots: the agents of a debate. Empty for ballots without names."""
    abstained: tuple[int | str, ...] = ()
    """Voters who abstained or did not answer: names if `voters` is known, else indices of ballots, from 0."""
    invalid: Mapping[int | str, str] = Field(default_factory=dict)
    """Reasons why ballots could not count: by name if `voters` is known, else by index, from 0."""
    mapping: Mapping[str, str] = Field(default_factory=dict)
    """Spellings as cast, each with the option it was counted for."""
    why: str = ""
    """The outcome in words."""
    vote: VoteReport | None = None
    """How the vote on motions was counted, if there was one."""

    @model_validator(mode="before")
    @classmethod
    def _restore_indices(cls, data: object) -> object:
        """Turn indices back into numbers if no voters are named: keys of a JSON object are text."""
        if not isinstance(data, Mapping) or not isinstance(data.get("invalid"), Mapping):
            return data
        if data.get("voters"):
            invalid: dict[int | str, object] = {str(voter): reason for voter, reason in data["invalid"].items()}
        else:
            invalid = {_ballot_index(index): reason for index, reason in data["invalid"].items()}
        return {**data, "invalid": invalid}

    @property
    def winner(self) -> str | None:
        """The single winner, or `None`."""
        return self.winners[0] if self.passed and len(self.winners) == 1 else None

    def __str__(self) -> str:
        """Return the rule and the outcome in words."""
        return f"{self.rule}: {self.why}"


class SynthesisResult(Value):
    """A summary of a whole debate, written by one model."""

    common_ground: tuple[str, ...] = ()
    """What the agents agreed on."""
    key_differences: tuple[str, ...] = ()
    """What they disagreed on."""
    evolution_summary: str = ""
    """How positions changed during the debate."""
    conclusion: str = ""
    """Conclusion of the debate."""
    recommendation: str = ""
    """Recommended action."""
    confidence: Share = 0.5
    """Reported confidence in [0, 1]."""
    readable: bool = True
    """Whether the answer could be parsed; if not, `conclusion` holds the part that could, at worst the raw text."""
    synthesizer_id: str
    """Id of the agent that wrote it."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When it was written."""
