"""Agreement by counting equal positions, without a model and without interpretation of their meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.analysis.declared import RoundCamps
from roundtable.analysis.health import detect_groupthink
from roundtable.core.types.consensus import Cluster, ConsensusResult, Measured
from roundtable.metrics import basic_agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.answers import AgentResponse

__all__ = [
    "ConsensusAnalyzer",
    "PlainAnalyzer",
    "in_words",
    "majority_position",
    "to_clusters",
]


def to_clusters(groups: Sequence[Sequence[AgentResponse]]) -> tuple[Cluster, ...]:
    """Convert groups of answers to clusters, larger ones first; the first answer provides theme and summary."""
    return tuple(
        Cluster(
            theme=members[0].choice or members[0].position,
            agent_ids=tuple(member.agent_id for member in members),
            summary=members[0].position,
        )
        for members in sorted(groups, key=len, reverse=True)
    )


def majority_position(clusters: Sequence[Cluster], count: int) -> tuple[str, ...]:
    """Return the position that more than half of `count` answers hold, if there is one."""
    return tuple(cluster.theme for cluster in clusters if 2 * len(cluster.agent_ids) > count)


def in_words(count: int, clusters: tuple[Cluster, ...]) -> str:
    """Describe in words how many of `count` answers share a position."""
    if not count:
        return "Nobody gave a position."
    if len(clusters) == 1:
        return "One agent gave a position." if count == 1 else f"All {count} answers give the same position."
    largest = len(clusters[0].agent_ids)
    if largest == 1:
        return f"{count} agents hold {count} different positions."
    return f"{largest} of {count} agents share a position; there are {len(clusters)} different ones."


class PlainAnalyzer:
    """Base class of analyzers without a model: a subclass implements `analyze`, and inherits `measure`."""

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions.

        Raises:
            ValueError: This method cannot measure the positions.
        """
        raise NotImplementedError

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure a round, as the meter of a debate; see `roundtable.protocols.ConsensusMeter`."""
        consensus = self.analyze(responses)
        if groupthink and consensus.groupthink_warning is None:
            consensus = consensus.model_copy(update={"groupthink_warning": detect_groupthink(responses)})
        return Measured(consensus=consensus)


class ConsensusAnalyzer(PlainAnalyzer):
    """Analyzer that counts different positions, by the formula `1 - (distinct - 1) / n`.

    The formula ignores meaning, so two wordings of one view count as two positions. It also depends on the number of
    answers: two different answers give 0.5, but if each of them occurs twice, the result is 0.75. The upper bound of
    the agreement is 1, unless each two answers are known to be the same or different. Results have `method="basic"`.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id=i, agent_name=i, position=p) for i, p in [("a", "Tea"), ("b", "tea.")]]
        >>> ConsensusAnalyzer().analyze(said).agreement_level
        1.0
    """

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions; it is 0.0 without positions."""
        camps = RoundCamps(responses)
        clusters, consensus = camps.clusters, camps.to_consensus()
        keys = [str(key) for key, cluster in enumerate(clusters) for _ in cluster.answers]
        level = float(basic_agreement(keys))
        figures = {
            "agreement_level": level,
            "agreement_at_most": level if camps.is_settled else 1.0,
            "common_ground": majority_position(clusters, camps.answered),
            "disagreement_points": tuple(cluster.theme for cluster in clusters) if len(clusters) > 1 else (),
            "summary": in_words(camps.answered, clusters),
            "method": "basic",
        }
        return consensus.model_copy(update=figures)
