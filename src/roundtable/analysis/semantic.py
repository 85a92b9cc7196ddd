"""Agreement by comparing positions in pairs, with reasons for each score."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final

from roundtable.analysis.basic import PlainAnalyzer, majority_position, to_clusters
from roundtable.analysis.declared import DeclaredAnalyzer, RoundCamps
from roundtable.analysis.pairs import LexicalScorer, PairScore
from roundtable.core.types.consensus import ConsensusResult, PairReading
from roundtable.metrics import modal_share
from roundtable.scoring import open_key
from roundtable.scoring.camps import abstains

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.analysis.pairs import PairScorer
    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.scoring.camps import SameOrDifferent

__all__ = ["SemanticAnalyzer", "StanceAnalyzer", "lead"]

_SAME: Final = 0.6
"""If the caller's own scorer returns this score or more, two answers are the same."""
_DIFFERENT: Final = 0.4
"""If the caller's own scorer returns this score or less, two answers are different."""
_SHOWN_PAIRS: Final = 20
_MOST_DISTINCT: Final = 200
_EQUAL = PairScore(score=1.0, reasons=("the same answer",))


def lead(share: float | Fraction) -> float:
    """Convert the share of the largest camp to an agreement level: its lead over all other answers together.

    A share of one half or less is not a majority, so the level is 0; unanimity is 1.

    Example:
        >>> lead(0.75), lead(0.5), lead(1 / 3)
        (0.5, 0.0, 0.0)
    """
    return float(max(0, 2 * share - 1))


class StanceAnalyzer(PlainAnalyzer):
    """Analyzer that uses the chosen options or, without any, the stances `YES`, `NO` and `NEUTRAL`.

    The level is the share of the largest camp minus the share of all other answers, or 0 if no camp has more than half.
    An answer without an option or stance is not in any camp, so it lowers the level. An answer that could not be read
    may be in any camp, so the level is an interval. An abstention does not count. Results have `method="stance"`.

    Args:
        options_only: Whether the question has options, so that stances are not the answers.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(agent_id=name, agent_name=name, position="...", stance=stance)
        ...     for name, stance in [("a", "YES"), ("b", "YES"), ("c", "YES"), ("d", "NO")]
        ... ]
        >>> StanceAnalyzer().analyze(said).agreement_level
        0.5
    """

    def __init__(self, *, options_only: bool = False) -> None:
        self._options_only = options_only

    def analyze(self, responses: Sequence[AgentResponse]) -> ConsensusResult:
        """Measure the agreement of one round's positions; it is 0.0 without positions.

        Raises:
            ValueError: No answer states an option or a stance, or, with `options_only`, no answer states an option.
        """
        has_options = any(response.choice for response in responses)
        if responses and not has_options and self._options_only:
            raise ValueError("no answer states an option")
        given, responses = responses, [response for response in responses if not abstains(response)]
        marks = [response.choice if has_options else response.stance for response in responses]
        if given and not any(marks):
            raise ValueError("no answer states an option or a stance")
        camps: dict[str, list[AgentResponse]] = {}
        for mark, response in zip(marks, responses, strict=True):
            if mark:
                camps.setdefault(mark, []).append(response)
        clusters = to_clusters(list(camps.values()))
        if not has_options:
            theme = {id(members[0]): mark for mark, members in camps.items()}
            ordered = sorted(camps.values(), key=len, reverse=True)
            clusters = tuple(
                cluster.model_copy(update={"theme": theme[id(members[0])]})
                for cluster, members in zip(clusters, ordered, strict=True)
            )
        unmarked = marks.count(None)
        share = modal_share((mark or f"\0{index}" for index, mark in enumerate(marks)), normalise="exact").value or 0
        unread = [
            response.agent_id
            for mark, response in zip(marks, responses, strict=True)
            if mark is None and response.is_unread
        ]
        sizes = sorted(map(len, camps.values()), reverse=True)
        second = sizes[1] if len(sizes) > 1 else 0
        return ConsensusResult(
            agreement_level=lead(share),
            agreement_at_most=lead(Fraction(sizes[0] + len(unread), len(responses))) if unread else lead(share),
            not_compared=tuple(dict.fromkeys(unread)),
            is_lead_open=bool(unread) and sizes[0] <= second + len(unread),
            common_ground=majority_position(clusters, len(responses)),
            disagreement_points=tuple(cluster.theme for cluster in clusters) if len(clusters) > 1 else (),
            summary=_in_words(
                len(responses),
                {cluster.theme: len(cluster.agent_ids) for cluster in clusters},
                unmarked - len(unread),
                len(unread),
            ),
            method="stance",
            clusters=clusters,
            answers=len(responses),
            abstained=_silent(given, responses),
        )


def _silent(given: Sequence[AgentResponse], counted: Sequence[AgentResponse]) -> tuple[str, ...]:
    """Return the agents whose answers all abstain.

    Args:
        given: All answers.
        counted: The answers that do not abstain.
    """
    speaking = {response.agent_id for response in counted}
    return tuple(dict.fromkeys(response.agent_id for response in given if response.agent_id not in speaking))


def _in_words(count: int, camps: dict[str, int], silent: int, unread: int) -> str:
    if not count:
        return "Nobody gave a position."
    parts = [f"{size} for {theme}" for theme, size in camps.items()] + ([f"{silent} without a mark"] if silent else [])
    parts += [f"{unread} that could not be read"] if unread else []
    return f"Of {count}: {', '.join(parts)}."


class SemanticAnalyzer(DeclaredAnalyzer):
    """Analyzer that compares answers in pairs, in addition to the evidence in the answers themselves.

    Without a scorer, the words of answers are compared. The results are only hints: `pairs` lists them with their
    reasons, but they don't group answers and don't change the level.

    If you pass a scorer, such as a model of textual entailment, its scores do group answers: two answers with a score
    of at least 0.6 are the same, and two with a score of at most 0.4 are different. Options, stances and numbers
    overrule the scorer. Results have `method="semantic"`.

    Args:
        scorer: Compares answers in pairs; without it, their words are compared.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(agent_id=name, agent_name=name, position=text)
        ...     for name, text in [("a", "AI is dangerous"), ("b", "AI is not dangerous")]
        ... ]
        >>> found = SemanticAnalyzer().analyze(said)
        >>> found.level_in_words, found.pairs[0].reasons
        ('not measured', ('one of them negates',))
    """

    def __init__(self, scorer: PairScorer | None = None) -> None:
        self.scorer: PairScorer = scorer or LexicalScorer()
        self._is_believed = scorer is not None and not isinstance(scorer, LexicalScorer)

    def analyze(
        self,
        responses: Sequence[AgentResponse],
        earlier: Mapping[TurnKey, AgentResponse] | None = None,
        *,
        topic: str = "",
    ) -> ConsensusResult:
        """Measure the agreement of one round's answers.

        Args:
            responses: The answers.
            earlier: Earlier answers by turn, to which comparisons of the answers may refer.
            topic: The question, for the scorer.

        Raises:
            ValueError: The scorer did not return a score in [0, 1] for each pair, or there are more than 200 different
                answers.
        """
        positions = _Positions(responses)
        scores = positions.scores(self.scorer, topic)
        read = positions.verdicts(scores) if self._is_believed else {}
        consensus = RoundCamps(responses, earlier, read).to_consensus()
        return consensus.model_copy(update={"method": "semantic", "pairs": positions.readings(scores)})


class _Positions:
    """The different answers of a round; their order does not matter."""

    def __init__(self, responses: Sequence[AgentResponse]) -> None:
        self.responses = responses
        self.keys = [_key(response) for response in responses]
        self.distinct = sorted(set(self.keys))
        if len(self.distinct) > _MOST_DISTINCT:
            msg = f"{len(self.distinct)} different answers are too many to compare in pairs; at most {_MOST_DISTINCT}"
            raise ValueError(msg)
        self.wording: dict[_Key, str] = {}
        for key, response in zip(self.keys, responses, strict=True):
            text = response.bottom_line or response.position
            self.wording[key] = min(text, self.wording.get(key, text))

    def scores(self, scorer: PairScorer, topic: str) -> dict[tuple[_Key, _Key], PairScore]:
        """Score all pairs of different answers; the scorer does not get pairs that options or stances decide."""
        scores: dict[tuple[_Key, _Key], PairScore] = {}
        undecided: list[tuple[_Key, _Key]] = []
        for pair in combinations(self.distinct, 2):
            score = _score_by_mark(*pair)
            if score is None:
                undecided.append(pair)
            else:
                scores[pair] = score
        texts = [(self.wording[first], self.wording[second]) for first, second in undecided]
        by_wording = tuple(scorer.score(topic, texts)) if texts else ()
        if len(by_wording) != len(undecided) or not all(0 <= score.score <= 1 for score in by_wording):
            raise ValueError("the scorer did not return a score in [0, 1] for each pair")
        scores |= dict(zip(undecided, by_wording, strict=True))
        mirrored = {(second, first): score for (first, second), score in scores.items()}
        return scores | mirrored | {(key, key): _EQUAL for key in self.distinct}

    def verdicts(self, scores: Mapping[tuple[_Key, _Key], PairScore]) -> dict[tuple[int, int], SameOrDifferent]:
        """Return the verdicts of the scores on pairs of answers, by the indices of the answers."""
        verdicts: dict[tuple[int, int], SameOrDifferent] = {}
        for first, second in combinations(range(len(self.keys)), 2):
            score = scores[self.keys[first], self.keys[second]].score
            if score >= _SAME:
                verdicts[first, second] = "same"
            elif score <= _DIFFERENT:
                verdicts[first, second] = "different"
        return verdicts

    def readings(self, scores: Mapping[tuple[_Key, _Key], PairScore]) -> tuple[PairReading, ...]:
        """Return the first pairs of answers, with their scores and reasons."""
        pairs = combinations(range(len(self.keys)), 2)
        return tuple(
            PairReading(
                agent_ids=(self.responses[first].agent_id, self.responses[second].agent_id),
                score=scores[self.keys[first], self.keys[second]].score,
                reasons=scores[self.keys[first], self.keys[second]].reasons,
            )
            for _, (first, second) in zip(range(_SHOWN_PAIRS), pairs, strict=False)
        )


_Key = tuple[str, str, str]
"""Chosen option, stance and text of an answer, normalised for comparison."""


def _key(response: AgentResponse) -> _Key:
    if response.choice:
        return response.choice, "", ""
    return "", response.stance or "", open_key(response.bottom_line or response.position)


def _score_by_mark(first: _Key, second: _Key) -> PairScore | None:
    """Score a pair by options and stances; `None` if they do not decide it."""
    if first[0] and second[0]:
        return PairScore(score=0.0, reasons=("different options",))
    if {first[1], second[1]} == {"YES", "NO"}:
        return PairScore(score=0.0, reasons=("stances YES and NO",))
    return None
