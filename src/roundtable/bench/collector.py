"""Collecting what happens in a debate, while it runs or from its record."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Final

from roundtable._clock import SystemClock
from roundtable.bench.metrics import (
    BenchmarkMetrics,
    ConsensusMetrics,
    LatencyMetrics,
    keywords,
    lexical_level,
    measure_content,
    measure_interaction,
)
from roundtable.errors import ConfigurationError
from roundtable.types import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundtable.protocols import Clock
    from roundtable.result import DebateResult
    from roundtable.types import AgentResponse, AnyConsensus, RoundRecord

__all__ = ["MetricsCollector", "metrics_of"]

_STEADY_CONFIDENCE: Final = 0.1
_STEADY_WORDS: Final = 0.7


@dataclass(slots=True)
class _Round:
    responses: list[AgentResponse] = field(default_factory=list)
    total_ms: float = 0.0
    began: float | None = None
    consensus: AnyConsensus | None = None

    @property
    def level(self) -> float:
        return lexical_level(self.responses) if self.consensus is None else self.consensus.agreement_level


class MetricsCollector:
    """Takes down what happens in one debate, and measures it.

    Args:
        session_id: Which debate.
        total_rounds: Rounds planned.
        groupthink_threshold: Agreement from which on it may be groupthink, in [0, 1].
        min_convergence_rounds: First round that may count as converged, from 2.
        clock: Where time comes from.

    Example:
        >>> from roundtable.types import AgentResponse
        >>> collector = MetricsCollector("s1", 1)
        >>> collector.record_response(1, AgentResponse(agent_id="ada", agent_name="Ada", position="Tea"))
        >>> collector.get_metrics().content.avg_confidence
        0.5
    """

    def __init__(
        self,
        session_id: str,
        total_rounds: int,
        *,
        groupthink_threshold: float = 0.9,
        min_convergence_rounds: int = 2,
        clock: Clock | None = None,
    ) -> None:
        if not 0 <= groupthink_threshold <= 1:
            raise ConfigurationError(f"groupthink_threshold must be in [0, 1], not {groupthink_threshold}")
        if min_convergence_rounds < 2:
            raise ConfigurationError(f"min_convergence_rounds must be at least 2, not {min_convergence_rounds}")
        self.session_id = session_id
        self.total_rounds = total_rounds
        self._threshold = groupthink_threshold
        self._first = min_convergence_rounds
        self._clock = clock or SystemClock()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._rounds: dict[int, _Round] = {}
        self._agents: dict[str, float] = {}
        self._began: dict[str, float] = {}
        self._usage = Usage()

    def record_round_start(self, number: int) -> None:
        """Note that a round begins."""
        self._round(number).began = self._clock.monotonic()

    def record_round_end(self, number: int, consensus: AnyConsensus | None = None) -> None:
        """Note that a round ends, and what was measured over it."""
        held = self._round(number)
        if held.began is not None:
            held.total_ms += (self._clock.monotonic() - held.began) * 1000
            held.began = None
        held.consensus = consensus

    def record_agent_start(self, agent_id: str) -> None:
        """Note that an agent begins a turn."""
        self._began[agent_id] = self._clock.monotonic()

    def record_agent_end(self, agent_id: str) -> None:
        """Note that an agent ends its turn."""
        began = self._began.pop(agent_id, None)
        if began is not None:
            self._agents[agent_id] = self._agents.get(agent_id, 0.0) + (self._clock.monotonic() - began) * 1000

    def record_response(self, number: int, response: AgentResponse) -> None:
        """Take down an answer of a round."""
        self._round(number).responses.append(response)

    def record_responses(self, number: int, responses: Iterable[AgentResponse]) -> None:
        """Take down answers of a round, in speaking order."""
        self._round(number).responses.extend(responses)

    def record_usage(self, usage: Usage) -> None:
        """Add what calls consumed."""
        self._usage += usage

    def record_round(self, held: RoundRecord) -> None:
        """Take down a round as it is stored, with its own times."""
        self.record_responses(held.number, held.responses)
        mine = self._round(held.number)
        mine.consensus = held.consensus
        spans = [(turn.timestamp.timestamp(), turn.duration_s, turn.agent_id) for turn in held.turns]
        if spans:
            mine.total_ms += (max(end for end, _, _ in spans) - min(end - took for end, took, _ in spans)) * 1000
        for _, took, agent_id in spans:
            self._agents[agent_id] = self._agents.get(agent_id, 0.0) + took * 1000

    def get_responses(self, number: int | None = None) -> tuple[AgentResponse, ...]:
        """Give the answers of a round, or of all in their order."""
        wanted = self._held if number is None else [self._rounds[number]] if number in self._rounds else []
        return tuple(said for held in wanted for said in held.responses)

    def get_metrics(self) -> BenchmarkMetrics:
        """Measure what was taken down so far."""
        rounds = [held.responses for held in self._held]
        interaction = measure_interaction(rounds)
        return BenchmarkMetrics(
            session_id=self.session_id,
            total_rounds=self.total_rounds,
            rounds_held=len(rounds),
            latency=LatencyMetrics(
                total_ms=sum(held.total_ms for held in self._held),
                per_round_ms=tuple(held.total_ms for held in self._held),
                per_agent_ms=dict(self._agents),
            ),
            interaction=interaction,
            content=measure_content(rounds),
            consensus=self._consensus(answered=interaction.cross_reference_count > 0),
            usage=self._usage,
        )

    @property
    def _held(self) -> list[_Round]:
        return [self._rounds[number] for number in sorted(self._rounds)]

    def _round(self, number: int) -> _Round:
        return self._rounds.setdefault(number, _Round())

    def _consensus(self, *, answered: bool) -> ConsensusMetrics:
        held = [one for one in self._held if one.responses]
        if not held:
            return ConsensusMetrics(agreement_level=0.0, method="none")
        last, several = held[-1], len(held[0].responses) > 1
        early = held[0].level >= self._threshold
        silent = last.level >= self._threshold and not answered
        return ConsensusMetrics(
            agreement_level=last.level,
            method="lexical" if last.consensus is None else last.consensus.method,
            convergence_round=self._converged([one.responses for one in held]),
            groupthink_warning=several and (early or silent),
        )

    def _converged(self, rounds: Sequence[Sequence[AgentResponse]]) -> int | None:
        for number in range(self._first, len(rounds) + 1):
            before, now = rounds[number - 2], rounds[number - 1]
            moved = round(abs(fmean(one.confidence for one in now) - fmean(one.confidence for one in before)), 9)
            old, new = (frozenset[str]().union(*keywords(one)) for one in (before, now))
            alike = len(old & new) / len(old | new) if old | new else 1.0
            if moved < _STEADY_CONFIDENCE and alike > _STEADY_WORDS:
                return number
        return None


def metrics_of(result: DebateResult, *, groupthink_threshold: float = 0.9) -> BenchmarkMetrics:
    """Measure a debate from its result; times are those stored with its turns.

    Args:
        result: The debate.
        groupthink_threshold: As for `MetricsCollector`.

    Example:
        >>> from roundtable import sync
        >>> from roundtable.testing import scripted_agents
        >>> with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "I disagree with Ada"})) as table:
        ...     found = metrics_of(table.debate("Tea?", mode="adversarial", rounds=1))
        >>> found.interaction.cross_reference_count, found.consensus.method
        (1.0, 'semantic')
    """
    collector = MetricsCollector(result.session_id, result.total_rounds, groupthink_threshold=groupthink_threshold)
    for held in result.rounds:
        collector.record_round(held)
    collector.record_usage(result.usage)
    return collector.get_metrics()
