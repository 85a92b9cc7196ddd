"""Agents beside a debate, and the calls that no turn makes, for the worst case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.agents import BaseAgent
from roundtable.analysis import AIConsensusAnalyzer, AnalyzerChain
from roundtable.api.estimate import Extra
from roundtable.engine.closing import answers_alone
from roundtable.types import AgentConfig, DebateContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.agents import Synthesizer
    from roundtable.protocols import ChatModel, ConsensusMeter
    from roundtable.types import ChatRequest, DebateConfig, DebateRecord

__all__ = ["agents_of", "analysis_extras", "synthesis_extra"]


def agents_of(seat: str, models: Sequence[ChatModel]) -> tuple[BaseAgent, ...]:
    """Seat agents that speak through these models."""
    several = len(models) > 1
    return tuple(
        BaseAgent(
            AgentConfig(
                id=f"{seat}-{number}" if several else seat,
                name=f"{seat.title()} {number}" if several else seat.title(),
                provider=model.provider,
                model=model.model,
                temperature=0.0,
            ),
            model,
        )
        for number, model in enumerate(models, start=1)
    )


def analysis_extras(meter: ConsensusMeter, config: DebateConfig) -> list[Extra]:
    """Give the calls that measuring each round takes, where a model reads it."""
    meters = [one.meter for one in meter.meters] if isinstance(meter, AnalyzerChain) else [meter]
    reader = next((one for one in meters if isinstance(one, AIConsensusAnalyzer)), None)
    if reader is None:
        return []

    def requests(record: DebateRecord) -> Sequence[ChatRequest]:
        read = [answers for held in record.rounds for answers in (answers_alone(held), held.responses)]
        one = [reader.request(answers, config.topic, record.session.id) for answers in read if len(answers) > 1]
        return one * reader.samples

    return [Extra(agent, requests) for agent in agents_of("analyzer", reader.models)]


def synthesis_extra(writer: Synthesizer, config: DebateConfig) -> Extra:
    """Give the call that putting the debate together takes; one that cannot be read is made once more."""

    def requests(record: DebateRecord) -> Sequence[ChatRequest]:
        turns = tuple(turn for held in record.rounds for turn in held.turns)
        view = DebateContext(
            session_id=record.session.id,
            topic=config.topic,
            mode=config.mode,
            current_round=max(1, len(record.rounds)),
            transcript=turns,
        )
        return [writer.request(view)]

    return Extra(agents_of("synthesizer", [writer.model])[0], requests, tries=2)
