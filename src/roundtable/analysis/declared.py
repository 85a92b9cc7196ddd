"""Agreement by the evidence in the answers: bottom lines, stances, options, and comparisons by their authors.

Nothing is guessed from common words. Two answers that nobody compared may or may not say the same, so the agreement is
an interval. `roundtable.scoring.camps` has the rules.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from roundtable.analysis.health import detect_groupthink
from roundtable.core.base.words import counted
from roundtable.core.types.consensus import Cluster, ConsensusResult, Measured
from roundtable.scoring.camps import Camps, answer_names, find_round_camps, said_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roundtable.core.types.answers import AgentResponse, TurnKey
    from roundtable.scoring.camps import SameOrDifferent

__all__ = ["DeclaredAnalyzer", "RoundCamps", "measured_camps"]


class RoundCamps:
    """The camps of a round, with its answers.

    Args:
        responses: The answers; an agent may have several.
        earlier: Earlier answers by turn, to which comparisons of the answers may refer.
        read: Verdicts of a reader on pairs of answers, by their indices.
    """

    def __init__(
        self,
        responses: Sequence[AgentResponse],
        earlier: Mapping[TurnKey, AgentResponse] | None = None,
        read: Mapping[tuple[int, int], SameOrDifferent] | None = None,
    ) -> None:
        self.responses = responses
        self._by_name = dict(zip(answer_names(responses), responses, strict=True))
        self.camps: Camps = find_round_camps(responses, earlier, read)

    @property
    def positions(self) -> list[int]:
        """Indices of the answers that do not abstain."""
        return [index for index, name in enumerate(self._by_name) if name not in self.camps.abstained]

    @property
    def answered(self) -> int:
        """Number of answers that do not abstain."""
        return len(self.responses) - len(self.camps.abstained)

    @property
    def is_settled(self) -> bool:
        """Whether every pair of answers has a verdict, so that a reader cannot find anything new."""
        return all(pair.verdict is not None for pair in self.camps.pairs)

    @property
    def is_marked(self) -> bool:
        """Whether equal texts, options, stances and numbers alone show for each pair whether it says the same."""
        return all(pair.evidence == "marked" for pair in self.camps.pairs)

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The camps, the largest first; if two camps have the same name, each name includes the stance of the camp."""
        names = Counter(camp.name for camp in self.camps.camps)
        index_of = {name: index for index, name in enumerate(self._by_name)}
        clusters: list[Cluster] = []
        for camp in self.camps.camps:
            members = [self._by_name[name] for name in camp.agents]
            stances = sorted({member.stance or "" for member in members} - {""})
            theme = camp.name if names[camp.name] == 1 or not stances else f"{camp.name} ({stances[0]})"
            summary = min((member.position for member in members), key=lambda text: (len(text), text))
            ids = tuple(dict.fromkeys(member.agent_id for member in members))
            answers = tuple(index_of[name] for name in camp.agents)
            clusters.append(Cluster(theme=theme, agent_ids=ids, summary=summary, answers=answers))
        return tuple(clusters)

    @property
    def abstained(self) -> tuple[str, ...]:
        """Agents whose answers all abstain."""
        speaking = {self.responses[index].agent_id for index in self.positions}
        return tuple(agent for agent in self.agents(self.camps.abstained) if agent not in speaking)

    def agents(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the agents of the answers with these names."""
        return tuple(dict.fromkeys(self._by_name[name].agent_id for name in names))

    def to_consensus(self) -> ConsensusResult:
        """Return the agreement of the round, as its evidence shows."""
        camps, clusters = self.camps, self.clusters
        told_apart = {name for pair in camps.pairs if pair.verdict == "different" for name in (pair.first, pair.second)}
        differing = tuple(
            cluster.theme
            for cluster in clusters
            if any(_wording(self.responses[index]) in told_apart for index in cluster.answers)
        )
        shared = tuple(cluster.theme for cluster in clusters[:1] if 2 * len(camps.camps[0].agents) > self.answered)
        return ConsensusResult(
            agreement_level=float(camps.at_least),
            agreement_at_most=float(camps.at_most),
            common_ground=shared,
            disagreement_points=differing,
            summary=self._in_words(),
            method="declared",
            clusters=clusters,
            answers=self.answered,
            not_compared=self.agents(camps.not_compared),
            is_lead_open=camps.is_lead_open,
            abstained=self.abstained,
            warnings=camps.warnings,
        )

    def _in_words(self) -> str:
        camps, count = self.camps, self.answered
        abstained = f" {counted(len(camps.abstained), 'agent')} abstained." if camps.abstained else ""
        return f"{_camps_in_words(camps, count)}{abstained}"


def _wording(response: AgentResponse) -> str:
    said = said_by(response)
    return said.choice or said.text.strip()


def _camps_in_words(camps: Camps, count: int) -> str:
    if count < 2:
        return "One agent gave an answer." if count else "Nobody gave an answer."
    if len(camps.camps) == 1:
        return f"All {count} answers say the same."
    size, unknown = len(camps.camps[0].agents), len(camps.not_compared)
    largest = (
        f"{size} of {count} answers say the same" if size > 1 else f"None of {count} answers is known to be shared"
    )
    verdicts = {pair.verdict for pair in camps.pairs}
    is_contested = any(pair.evidence == "contested" for pair in camps.pairs)
    why = "the comparisons of them contradict each other" if is_contested else "nobody compared them"
    if None not in verdicts:
        return (
            f"{largest}; there are {len(camps.camps)} different ones." if size > 1 else f"All {count} answers differ."
        )
    if size > 1 and unknown:
        return f"{largest}; {counted(unknown, 'other')} may say the same in other words: {why}."
    if verdicts == {None}:
        return f"{largest}: {why}."
    return f"{largest}; some may say the same in other words: {why}."


class DeclaredAnalyzer:
    """Analyzer without a model; it uses the answers' own evidence: equal texts, options, stances, numbers, comparisons.

    The agreement is an interval, since answers that nobody compared may say the same. Results have `method="declared"`.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> said = [
        ...     AgentResponse(agent_id=name, agent_name=name, position=f"{text}, of course.", bottom_line=text)
        ...     for name, text in [("a", "Lisbon"), ("b", "lisbon"), ("c", "Porto")]
        ... ]
        >>> DeclaredAnalyzer().analyze(said).level_in_words
        '0.33 to 1.00: 1 answer not compared'
    """

    compares_earlier: ClassVar[bool] = True
    """Whether `measure` accepts the earlier answers."""

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
            topic: The question, for subclasses that interpret the answers.
        """
        return RoundCamps(responses, earlier).to_consensus()

    async def measure(
        self,
        responses: Sequence[AgentResponse],
        topic: str,
        *,
        session_id: str | None = None,
        groupthink: bool = True,
        earlier: Mapping[TurnKey, AgentResponse] | None = None,
    ) -> Measured:
        """Measure a round, as the meter of a debate; see `roundtable.protocols.ConsensusMeter`."""
        return measured_camps(self.analyze(responses, earlier, topic=topic), responses, groupthink=groupthink)


def measured_camps(consensus: ConsensusResult, responses: Sequence[AgentResponse], *, groupthink: bool) -> Measured:
    """Return an agreement as a measurement, with the signs of groupthink if `groupthink` is set."""
    if groupthink:
        same = len(consensus.clusters) == 1 and not consensus.abstained
        warning = detect_groupthink(responses, all_say_the_same=same)
        consensus = consensus.model_copy(update={"groupthink_warning": warning})
    return Measured(consensus=consensus)
