"""Agreement by what was ticked: the option chosen, or the side taken. Exact; no wording is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.analysis.basic import PlainAnalyzer, shared_by_most, to_clusters
from roundtable.scoring import casefold, modal_share
from roundtable.types import ConsensusResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from roundtable.types import AgentResponse

__all__ = ["StanceAnalyzer", "lead"]


def lead(share: float | Fraction) -> float:
    """Turn the share of the largest camp into an agreement level: how far it exceeds all others together.

    One half or less is no majority and gives 0; everybody gives 1.

    Example:
        >>> lead(0.75), lead(0.5), lead(1 / 3)
        (0.5, 0.0, 0.0)
    """
    return float(max(0, 2 * share - 1))


class StanceAnalyzer(PlainAnalyzer):
    """Measures agreement by the options chosen or, without any, by the stances `YES`, `NO` and `NEUTRAL`.

    The level is the share of the largest camp less that of all others, 0 where no camp has more than half. An answer
    without option and stance belongs to no camp and lowers the level. Results say `method="stance"`.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(agent_id=name, agent_name=name, position="...", stance=stance)
        ...     for name, stance in [("a", "YES"), ("b", "YES"), ("c", "YES"), ("d", "NO")]
        ... ]
        >>> StanceAnalyzer().analyze(said).agreement_level
        0.5
    """

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions; no positions agree on nothing (0.0).

        Raises:
            ValueError: No answer states an option or a stance.
        """
        chosen = any(response.choice for response in responses)
        ticked = [response.choice if chosen else response.stance for response in responses]
        if responses and not any(ticked):
            raise ValueError("no answer states an option or a stance")
        camps: dict[str, list[AgentResponse]] = {}
        for mark, response in zip(ticked, responses, strict=True):
            if mark:
                camps.setdefault(casefold(mark), []).append(response)
        spelt = {casefold(mark): mark for mark in reversed(ticked) if mark}
        named = [(spelt[key], members) for key, members in camps.items()]
        clusters = to_clusters([members for _, members in named])
        if not chosen:
            theme = {id(members[0]): mark for mark, members in named}
            ordered = sorted((members for _, members in named), key=len, reverse=True)
            clusters = tuple(
                cluster.model_copy(update={"theme": theme[id(members[0])]})
                for cluster, members in zip(clusters, ordered, strict=True)
            )
        silent = ticked.count(None)
        share = modal_share(mark or f"\0{place}" for place, mark in enumerate(ticked)).value or 0
        return ConsensusResult(
            agreement_level=lead(share),
            common_ground=shared_by_most(clusters, len(responses)),
            disagreement_points=tuple(cluster.theme for cluster in clusters) if len(clusters) > 1 else (),
            summary=_in_words(len(responses), {cluster.theme: len(cluster.agent_ids) for cluster in clusters}, silent),
            method="stance",
            clusters=clusters,
        )


def _in_words(count: int, camps: dict[str, int], silent: int) -> str:
    if not count:
        return "Nobody gave a position."
    parts = [f"{size} for {theme}" for theme, size in camps.items()] + ([f"{silent} without a mark"] if silent else [])
    return f"Of {count}: {', '.join(parts)}."
