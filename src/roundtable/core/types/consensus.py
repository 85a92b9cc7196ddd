"""Consensus of a debate: measured agreement, clusters, the decision of a rule, and the synthesis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field, model_validator

from roundtable.core.types.base import JsonValue, Share, Timestamp, Value, utc_now, with_upper_bound
from roundtable.core.types.chat import Usage

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
    """Agents whose positions count as the same."""

    theme: str
    """The shared position, in the words of one agent."""
    agent_ids: tuple[str, ...]
    """Ids of the agents with this position."""
    summary: str = ""
    """Summary of the position."""
    answers: tuple[int, ...] = ()
    """Indices of the cluster's answers among the measured ones, from 0; empty if the method only knows agents."""


class PairReading(Value):
    """Similarity of two positions, with reasons."""

    agent_ids: tuple[str, str]
    """Ids of the two agents."""
    score: Share
    """Score of the similarity: 0 means contradiction or nothing in common, 1 means the same."""
    reasons: tuple[str, ...] = ()
    """Reasons for the score, in words."""


class GroupthinkWarning(Value):
    """Signs that agents agreed too easily."""

    detected: bool
    """Whether any sign was found."""
    indicators: tuple[str, ...] = ()
    """The signs that were found, in words."""
    recommendation: str = ""
    """What to do about the signs."""


class ConsensusResult(Value):
    """The agreement of the positions of one round, and how it was measured."""

    agreement_level: Share
    """Agreement that is certain: 0 is full disagreement, 1 is full agreement. Answers that were not compared count as
    different."""
    agreement_at_most: Share = 1.0
    """Agreement if all answers that were not compared are the same. Equal to `agreement_level` if it is left out."""
    common_ground: tuple[str, ...] = ()
    """What the agents share: points common to all, if a model measured; else the position that more than half have."""
    disagreement_points: tuple[str, ...] = ()
    """Points on which the agents disagree."""
    summary: str = ""
    """The agreement in a sentence or two."""
    method: str = "basic"
    """Method of the measurement: `"ai"`, `"declared"`, `"semantic"`, `"stance"` or `"basic"`."""
    clusters: tuple[Cluster, ...] = ()
    """Groups of equal positions, largest first."""
    assigned: bool = False
    """Whether the mode assigned the stances, so that the level does not show what the agents believe."""
    groupthink_warning: GroupthinkWarning | None = None
    """Signs of groupthink, if the measurement includes them."""
    pairs: tuple[PairReading, ...] = ()
    """Similarity of pairs of positions, if the method compares pairs; if there are many pairs, only the first ones."""
    key_points: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Points of each agent's reasoning, by agent id, if the method provides points."""
    causes: tuple[str, ...] = ()
    """Why other methods, which have priority, were not used; in the order of their priority."""
    answers: Annotated[int, Field(ge=0)] | None = None
    """Number of answers without abstentions; `None` if it was not recorded. A single answer has no other answer to
    agree with."""
    not_compared: tuple[str, ...] = ()
    """Agents outside the largest group whose answers may say the same as this group, since they were not compared with
    it."""
    is_lead_open: bool = False
    """Whether there is no leading answer only because some answers were not compared."""
    abstained: tuple[str, ...] = ()
    """Agents that only answered that they cannot or will not answer; they are in no group."""
    warnings: tuple[str, ...] = ()
    """Declarations and stances of agents that were not counted, with the reasons."""

    @model_validator(mode="before")
    @classmethod
    def _one_level(cls, data: object) -> object:
        if isinstance(data, Mapping) and data.get("method") == "semantic" and not _UPPER_BOUND & data.keys():
            # Stored before version 0.3: level and groups were computed from common words, which have no significance.
            dropped = {"agreement_level", "agreementLevel", "clusters"}
            fields = {name: value for name, value in data.items() if name not in dropped}
            return {**fields, "agreement_level": 0.0, "agreement_at_most": 1.0, "is_lead_open": True}
        return with_upper_bound(data, "agreement_level", "agreement_at_most")

    @property
    def is_measured(self) -> bool:
        """Whether the agreement is one figure: at least two answers, and every comparison that matters was made."""
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
    """Details that a single level of agreement does not show."""

    partial_agreements: tuple[str, ...] = ()
    """Points that only some agents share."""
    conditional_positions: tuple[str, ...] = ()
    """Positions that depend on a condition."""
    uncertainties: tuple[str, ...] = ()
    """What the agents do not know."""


class AIConsensusResult(ConsensusResult):
    """A consensus that a model measured."""

    nuances: Nuances | None = None
    """Details that the level does not show."""
    reasoning: str | None = None
    """Reasoning behind the model's judgement."""
    analyzer_id: str | None = None
    """Agent or model that judged; `"self"` if there was only one answer, and therefore nothing to judge."""
    analyzer_provider: str | None = None
    """Provider of the model that judged. If models of this provider also debate, it may favour their answers."""
    samples: int = 1
    """Number of times that the model judged; the level is the median."""
    spread: Share | None = None
    """Difference between the highest and the lowest level; `None` if the model judged only once."""


AnyConsensus: TypeAlias = ConsensusResult | AIConsensusResult
"""Either form of consensus."""


class Measured(Value):
    """A consensus, and what its measurement consumed."""

    consensus: AnyConsensus
    """The consensus."""
    usage: Usage | None = None
    """Usage of the model calls; `None` if there were none."""


def _ballot_index(key: int | str) -> int | str:
    """Return a ballot index as a number, since keys of a JSON object are text."""
    return int(key) if re.fullmatch(r"-?[0-9]{1,18}", str(key)) else key


class Motion(Value):
    """An answer that agents voted on."""

    name: str
    """The answer in few words; votes use this name."""
    agents: tuple[str, ...] = ()
    """Ids of the agents that gave this answer."""
    joined: tuple[str, ...] = ()
    """Other motions that the voters declared to be the same; they are counted as this motion."""


class VoteReport(Value):
    """How a vote on motions was counted."""

    motions: tuple[Motion, ...]
    """The counted motions, ordered by the number of agents that gave them, highest first."""
    left_out: tuple[str, ...] = ()
    """Answers that were not among the motions, since too many other answers were given by more agents."""
    own_share: Share | None = None
    """Share of first places that voters gave to their own motion, among voters with a motion; `None` if there are
    none."""
    warnings: tuple[str, ...] = ()
    """Parts of ballots that were not counted, with the reasons."""


class Decision(Value):
    """Outcome of a decision rule over ballots. A deadlock is a result, not an error."""

    rule: str
    """Name of the rule."""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Parameters of the rule, including defaults; exact numbers are text."""
    winners: tuple[str, ...] = ()
    """Options that meet the rule's requirement. In a tie, these are all options that are tied for the win, and `winner`
    is `None`. Empty if nothing was decided, or if no option meets the requirement."""
    is_tie: bool = False
    """Whether several options are tied for the lead, and no tie rule chose one of them."""
    passed: bool = False
    """Whether the rule chose exactly one winner, and the quorum was met."""
    is_unanimous: bool = False
    """Whether every ballot puts the same single option first, without abstentions and invalid ballots."""
    quorum_met: bool = True
    """Whether enough ballots were cast."""
    tied: tuple[str, ...] = ()
    """Options that were tied, even if a tie rule then chose one of them."""
    scores: Mapping[str, float] = Field(default_factory=dict)
    """Score of each option, in the rule's own unit."""
    margins: Mapping[str, float] = Field(default_factory=dict)
    """Lead of each option over the best other option, in the same unit."""
    pairwise: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    """For ranking rules: number of ballots that rank the option of the row above the option of the column."""
    rounds: tuple[Mapping[str, float], ...] = ()
    """For rules that eliminate options: the scores of each count."""
    cast: int = 0
    """Number of ballots that counted."""
    voters: tuple[str, ...] = ()
    """Voters in the order of their ballots; in a debate, its agents. Empty for ballots without names."""
    abstained: tuple[int | str, ...] = ()
    """Voters that abstained or did not answer: names if `voters` is known, otherwise indices of ballots, from 0."""
    unread: tuple[str, ...] = ()
    """Voters that gave a ballot that could not be read, by name. They are not in `abstained`, and they count for no
    option. No option wins that their ballots could have overturned."""
    withheld: str | None = None
    """The option that would win by the ballots that could be counted, but is not the winner: ballots that could not be
    read could have overturned it, or agents that failed in the round had chosen other options before."""
    invalid: Mapping[int | str, str] = Field(default_factory=dict)
    """Reasons why ballots were not counted: by name if `voters` is known, otherwise by index, from 0."""
    mapping: Mapping[str, str] = Field(default_factory=dict)
    """Spellings on the ballots, each with the option for which it was counted."""
    why: str = ""
    """The outcome in words."""
    vote: VoteReport | None = None
    """How the vote on motions was counted, if one was held."""

    @model_validator(mode="before")
    @classmethod
    def _restore_indices(cls, data: object) -> object:
        """Turn indices back into numbers if there are no names of voters, since keys of a JSON object are text."""
        if not isinstance(data, Mapping) or not isinstance(data.get("invalid"), Mapping):
            return data
        if data.get("voters"):
            invalid: dict[int | str, object] = {str(voter): reason for voter, reason in data["invalid"].items()}
        else:
            invalid = {_ballot_index(index): reason for index, reason in data["invalid"].items()}
        return {**data, "invalid": invalid}

    @property
    def winner(self) -> str | None:
        """The winner; `None` if nobody won, or several options are tied."""
        return self.winners[0] if self.passed and len(self.winners) == 1 else None

    def __str__(self) -> str:
        """Return the rule and the outcome in words."""
        return f"{self.rule}: {self.why}"


class SynthesisResult(Value):
    """A summary of a whole debate, written by one model."""

    common_ground: tuple[str, ...] = ()
    """Points on which the agents agreed."""
    key_differences: tuple[str, ...] = ()
    """Points on which the agents disagreed."""
    evolution_summary: str = ""
    """How positions changed during the debate."""
    conclusion: str = ""
    """Conclusion of the debate."""
    recommendation: str = ""
    """Recommended action."""
    confidence: Share = 0.5
    """Reported confidence in [0, 1]."""
    readable: bool = True
    """Whether the answer could be parsed. If not, `conclusion` has the part that could be parsed, or else the raw
    text."""
    synthesizer_id: str
    """Id of the agent that wrote the synthesis."""
    timestamp: Timestamp = Field(default_factory=utc_now)
    """When the synthesis was written."""
