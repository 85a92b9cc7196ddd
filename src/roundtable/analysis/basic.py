"""Agreement by counting equal positions: no model, no guess at meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.analysis.groupthink import detect_groupthink
from roundtable.scoring import basic_agreement, casefold
from roundtable.types import Cluster, ConsensusResult, Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.types import AgentResponse

__all__ = ["ConsensusAnalyzer", "PlainAnalyzer", "cluster_positions", "in_words", "shared_by_most", "to_clusters"]


def cluster_positions(responses: Sequence[AgentResponse]) -> tuple[Cluster, ...]:
    """Group answers whose positions are equal once case, width, white space and outer punctuation are set aside.

    With options, answers are grouped by the option chosen. Larger groups come first, equal ones in
    the order they were first held.
    """
    groups: dict[str, list[AgentResponse]] = {}
    for response in responses:
        groups.setdefault(casefold(response.choice or response.position), []).append(response)
    return to_clusters(tuple(groups.values()))


def to_clusters(groups: Sequence[Sequence[AgentResponse]]) -> tuple[Cluster, ...]:
    """Give groups of answers as clusters, larger ones first; the first answer of each speaks for it."""
    return tuple(
        Cluster(
            theme=members[0].choice or members[0].position,
            agent_ids=tuple(member.agent_id for member in members),
            summary=members[0].position,
        )
        for members in sorted(groups, key=len, reverse=True)
    )


def shared_by_most(clusters: Sequence[Cluster], count: int) -> tuple[str, ...]:
    """Give the position that more than half of so many answers hold, if there is one."""
    return tuple(cluster.theme for cluster in clusters if 2 * len(cluster.agent_ids) > count)


def in_words(count: int, clusters: tuple[Cluster, ...]) -> str:
    """Say how many of so many answers are how many positions."""
    if not count:
        return "Nobody gave a position."
    if len(clusters) == 1:
        return "One agent gave a position." if count == 1 else f"All {count} agents hold the same position."
    largest = len(clusters[0].agent_ids)
    if largest == 1:
        return f"{count} agents hold {count} different positions."
    return f"{largest} of {count} agents share a position; there are {len(clusters)} different ones."


class PlainAnalyzer:
    """Base of analyzers that call no model: a subclass writes `analyze`; `measure` is the same for all."""

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions.

        Raises:
            ValueError: The positions cannot be measured by this method.
        """
        raise NotImplementedError

    async def measure(
        self, responses: Sequence[AgentResponse], topic: str, *, session_id: str | None = None, groupthink: bool = True
    ) -> Measured:
        """Measure as the meter of a debate; see `roundtable.protocols.ConsensusMeter`."""
        found = self.analyze(responses)
        if groupthink and found.groupthink_warning is None:
            found = found.model_copy(update={"groupthink_warning": detect_groupthink(responses)})
        return Measured(consensus=found)


class ConsensusAnalyzer(PlainAnalyzer):
    """Measures agreement as `1 - (distinct - 1) / n` over positions that are equal or not.

    The formula is the documented fallback of this library: it sees no meaning, so two wordings of one
    view count as two, and it is not replication-invariant (two of two distinct give 0.5, the same four
    voices doubled give 0.75). Results say `method="basic"`.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [AgentResponse(agent_id=i, agent_name=i, position=p) for i, p in [("a", "Tea"), ("b", "tea.")]]
        >>> ConsensusAnalyzer().analyze(said).agreement_level
        1.0
    """

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions; no positions agree on nothing (0.0)."""
        clusters = cluster_positions(responses)
        level = basic_agreement([response.choice or response.position for response in responses])
        return ConsensusResult(
            agreement_level=float(level),
            common_ground=shared_by_most(clusters, len(responses)),
            disagreement_points=tuple(cluster.theme for cluster in clusters) if len(clusters) > 1 else (),
            summary=in_words(len(responses), clusters),
            method="basic",
            clusters=clusters,
        )
