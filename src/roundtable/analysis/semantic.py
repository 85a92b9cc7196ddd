"""Agreement by comparing positions two by two, with the reasons."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final

from roundtable.analysis.basic import PlainAnalyzer, in_words, shared_by_most, to_clusters
from roundtable.analysis.pairs import LexicalScorer, PairScore
from roundtable.analysis.stance import lead
from roundtable.scoring import casefold
from roundtable.types import ConsensusResult, PairReading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.analysis.pairs import PairScorer
    from roundtable.types import AgentResponse

__all__ = ["SemanticAnalyzer"]

_TOGETHER: Final = 0.6
_SAME_STANCE: Final = 0.75
_SHOWN_PAIRS: Final = 20
_MOST_DISTINCT: Final = 200
_SAME = PairScore(score=1.0, reasons=("the same position",))


class SemanticAnalyzer(PlainAnalyzer):
    """Measures agreement from scores of pairs of positions; a chosen option or a stance counts before any wording.

    The level looks at the position closest to all others, itself included, and turns its mean score into a lead: with
    two agents it is the score of the pair, with camps it is the share of the largest less all others. Doubling every
    voice changes nothing. Positions whose score with the centre of a camp is at least 0.6 are in that camp.
    Results say `method="semantic"`, and `pairs` gives reasons.

    Args:
        scorer: Compares two texts; `LexicalScorer` when left out.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(agent_id=name, agent_name=name, position=text)
        ...     for name, text in [("a", "AI is dangerous"), ("b", "AI is not dangerous")]
        ... ]
        >>> found = SemanticAnalyzer().analyze(said)
        >>> found.agreement_level, found.pairs[0].reasons
        (0.1, ('one of them negates',))
    """

    def __init__(self, scorer: PairScorer | None = None) -> None:
        self.scorer: PairScorer = scorer or LexicalScorer()

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions; no positions agree on nothing (0.0).

        Raises:
            ValueError: The scorer gave something else than a score in [0, 1] for each pair, or there are more than 200
                different positions.
        """
        voices = _Voices(responses)
        scores = voices.scores(self.scorer)
        camps = voices.camps(scores)
        clusters = to_clusters([[responses[place] for place in camp] for camp in camps])
        level = lead(voices.centrality(scores)) if responses else 0.0
        return ConsensusResult(
            agreement_level=round(level, 9),
            common_ground=shared_by_most(clusters, len(responses)),
            disagreement_points=tuple(cluster.theme for cluster in clusters) if len(clusters) > 1 else (),
            summary=in_words(len(responses), clusters),
            method="semantic",
            clusters=clusters,
            pairs=voices.readings(scores),
        )


class _Voices:
    """The different positions of a round, each with its weight; every order of the answers gives the same."""

    def __init__(self, responses: Sequence[AgentResponse]) -> None:
        self.responses = responses
        self.keys = [_key(response) for response in responses]
        self.weight = Counter(self.keys)
        self.distinct = sorted(self.weight)
        if len(self.distinct) > _MOST_DISTINCT:
            msg = f"{len(self.distinct)} different positions are more than are compared two by two ({_MOST_DISTINCT})"
            raise ValueError(msg)
        self.wording: dict[_Key, str] = {}
        for key, response in zip(self.keys, responses, strict=True):
            self.wording[key] = min(response.position, self.wording.get(key, response.position))

    def scores(self, scorer: PairScorer) -> dict[tuple[_Key, _Key], PairScore]:
        """Compare all different positions."""
        found: dict[tuple[_Key, _Key], PairScore] = {}
        asked: list[tuple[_Key, _Key]] = []
        for one, other in combinations(self.distinct, 2):
            ticked = _by_mark(one, other)
            if ticked is None:
                asked.append((one, other))
            else:
                found[one, other] = ticked
        texts = [(self.wording[one], self.wording[other]) for one, other in asked]
        given = tuple(scorer.score(texts)) if texts else ()
        if len(given) != len(asked) or not all(0 <= one.score <= 1 for one in given):
            raise ValueError("the scorer did not give a score in [0, 1] for each pair")
        found |= {pair: _on_one_side(*pair, score) for pair, score in zip(asked, given, strict=True)}
        return {
            pair: scored
            for (one, other), score in found.items()
            for pair, scored in (((one, other), score), ((other, one), score))
        } | {(one, one): _SAME for one in self.distinct}

    def centrality(self, scores: Mapping[tuple[_Key, _Key], PairScore]) -> float:
        """Give the mean score of the position closest to all."""
        total = len(self.keys)
        return max(
            math.fsum(scores[one, other].score * self.weight[other] for other in self.distinct) / total
            for one in self.distinct
        )

    def camps(self, scores: Mapping[tuple[_Key, _Key], PairScore]) -> list[list[int]]:
        """Gather positions round the one that most others are close to, then those left over, and so on."""
        left, camps = list(self.distinct), []
        while left:

            def near(one: _Key, among: Sequence[_Key] = tuple(left)) -> list[_Key]:
                return [other for other in among if scores[one, other].score >= _TOGETHER]

            centre = max(left, key=lambda one: (sum(self.weight[other] for other in near(one)), self.weight[one]))
            members = set(near(centre))
            camps.append([place for place, key in enumerate(self.keys) if key in members])
            left = [key for key in left if key not in members]
        return sorted(camps, key=lambda camp: camp[0])

    def readings(self, scores: Mapping[tuple[_Key, _Key], PairScore]) -> tuple[PairReading, ...]:
        """Give the first pairs of answers with their scores."""
        pairs = combinations(range(len(self.keys)), 2)
        return tuple(
            PairReading(
                agent_ids=(self.responses[one].agent_id, self.responses[other].agent_id),
                score=scores[self.keys[one], self.keys[other]].score,
                reasons=scores[self.keys[one], self.keys[other]].reasons,
            )
            for _, (one, other) in zip(range(_SHOWN_PAIRS), pairs, strict=False)
        )


_Key = tuple[str, str, str]
"""Option chosen, stance and wording of a position, as they are compared."""


def _key(response: AgentResponse) -> _Key:
    if response.choice:
        return casefold(response.choice), "", ""
    return "", response.stance or "", casefold(response.position)


def _by_mark(one: _Key, other: _Key) -> PairScore | None:
    """Compare by what was ticked; `None` where that settles nothing."""
    if one[0] and other[0]:
        return PairScore(score=0.0, reasons=("different options",))
    if {one[1], other[1]} == {"YES", "NO"}:
        return PairScore(score=0.0, reasons=("stances YES and NO",))
    return None


def _on_one_side(one: _Key, other: _Key, score: PairScore) -> PairScore:
    """Let a stance that both state count for more than their wording."""
    if one[1] != other[1] or one[1] not in {"YES", "NO"} or score.score >= _SAME_STANCE:
        return score
    return PairScore(score=_SAME_STANCE, reasons=(f"both take the stance {one[1]}",))
