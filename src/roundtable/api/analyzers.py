"""Which analyzer measures a debate, and which model it asks."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from roundtable.agents import Synthesizer, first_writer
from roundtable.analysis import (
    AIConsensusAnalyzer,
    AnalyzerChain,
    ConsensusAnalyzer,
    NamedMeter,
    SemanticAnalyzer,
    StanceAnalyzer,
)
from roundtable.api.estimate import meters_of
from roundtable.api.extras import agents_of
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.modes import ExpertPanelMode
from roundtable.plugins.using import make
from roundtable.providers import split_model_name
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable._registry import Registry
    from roundtable.agents import AgentRegistry, BaseAgent
    from roundtable.api.models import Models
    from roundtable.api.options import SeatLike
    from roundtable.plugins import AnalyzerFactory
    from roundtable.protocols import Agent, ChatModel, ConsensusMeter, DebateModeStrategy
    from roundtable.types import AgentConfig, DebateConfig

__all__ = ["ANALYZERS", "Helpers"]

ANALYZERS: Final = ("auto", "ai", "semantic", "stance", "basic")
"""Analyzers by name; `auto` is ai, then semantic, then basic."""

_SEATS: Final = ("analyzer", "facilitator", "judge", "synthesizer")
_PANEL: Final = 3
_TOO_SMALL: Final = "local"


class Helpers:
    """The models beside the debate: who analyses it, judges it, prepares it, and puts it together.

    Args:
        seats: Models by seat, as the caller gave them.
        analyzers: Analyzers of plugins.
        models: Makes and guards models.
        agents: Knows the light model of each provider.

    Raises:
        ConfigurationError: There is no such seat.
    """

    def __init__(
        self,
        seats: Mapping[str, SeatLike | Sequence[SeatLike]],
        analyzers: Registry[AnalyzerFactory],
        models: Models,
        agents: AgentRegistry,
    ) -> None:
        unknown = sorted(set(seats) - set(_SEATS))
        if unknown:
            msg = f"seats: there is no seat {unknown[0]!r}"
            raise ConfigurationError(msg, hint=f"Seats are: {', '.join(_SEATS)}.")
        self._seats = seats
        self._analyzers = analyzers
        self._models = models
        self._agents = agents

    def meter(self, analyzer: str | ConsensusMeter, configs: Iterable[AgentConfig], *, capped: bool) -> ConsensusMeter:
        """Give the meter of a debate; nothing is called.

        Args:
            analyzer: What the caller asks for.
            configs: Who debates; the light model of the first provider that has one analyses.
            capped: Whether a budget of dollars holds, so that a model without a price cannot be asked.

        Raises:
            ConfigurationError: There is no analyzer of this name, or the model named for the seat cannot be made.
        """
        if not isinstance(analyzer, str):
            if not callable(getattr(analyzer, "measure", None)):
                msg = f"analyzer must be one of {', '.join(ANALYZERS)}, or have `measure`, not {analyzer!r}"
                raise ConfigurationError(msg)
            return AnalyzerChain([NamedMeter("analyzer", analyzer)])
        if analyzer not in ANALYZERS:
            return AnalyzerChain([NamedMeter(analyzer, self._foreign(analyzer, configs, capped=capped))])
        chain: list[NamedMeter] = []
        if analyzer in {"auto", "ai"}:
            chain.append(NamedMeter("ai", self._reader(configs, capped=capped)))
        if analyzer in {"auto", "ai", "semantic"}:
            chain.append(NamedMeter("semantic", SemanticAnalyzer()))
        if analyzer == "stance":
            chain.append(NamedMeter("stance", StanceAnalyzer()))
        return AnalyzerChain(chain) if chain else ConsensusAnalyzer()

    def _foreign(self, name: str, configs: Iterable[AgentConfig], *, capped: bool) -> ConsensusMeter:
        entry = self._analyzers.find(name)
        if entry is None:
            known = (*ANALYZERS, *self._analyzers.names())
            close = get_close_matches(name, known, 1)
            meant = f". Did you mean {close[0]!r}?" if close else ""
            hint = f"Analyzers are: {', '.join(known)}."
            raise ConfigurationError(f"there is no analyzer {name!r}{meant}", hint=hint)
        models = self._reader(configs, capped=capped).models
        return make("analyzer", entry, models[0] if models else None)

    def _reader(self, configs: Iterable[AgentConfig], *, capped: bool) -> AIConsensusAnalyzer:
        given = self.seated("analyzer")
        models, why = (given, "") if given else self._light(configs)
        unpriced = _unpriced(models) if capped else ""
        return AIConsensusAnalyzer(why_none=unpriced) if unpriced else AIConsensusAnalyzer(models, why_none=why)

    def writer(
        self, configs: Iterable[AgentConfig], agents: Mapping[str, Agent], *, capped: bool, by: str | None = None
    ) -> Synthesizer:
        """Give what puts a debate together: the model of the seat, else a light one, else that of the first agent.

        Args:
            configs: Who debates.
            agents: The same by id.
            capped: As for `meter`.
            by: Id of the agent that is to do it instead.

        Raises:
            ConfigurationError: Nobody can, the seat has several models, or its model cannot be made or has no price.
        """
        if by is not None:
            return self._agent_as_writer(by, agents)
        given = self.seated("synthesizer")
        if len(given) > 1:
            raise ConfigurationError("seats: one model puts a debate together, not several")
        unpriced = _unpriced(given) if capped else ""
        if unpriced:
            raise ConfigurationError(f"seats['synthesizer']: {unpriced}", hint="Give its price with prices={...}.")
        models, why = (given, "") if given else self._light(configs)
        if models and not (capped and _unpriced(models)):
            return Synthesizer(models[0])
        found = first_writer(agents.values())
        if found is None:
            msg = f"no model can put the debate together: {why or 'no agent speaks through one'}"
            raise ConfigurationError(msg, hint="Name one with seats={'synthesizer': 'provider:model'}.")
        return found

    @staticmethod
    def _agent_as_writer(agent_id: str, agents: Mapping[str, Agent]) -> Synthesizer:
        found = first_writer([agents[agent_id]] if agent_id in agents else [])
        if found is None:
            msg = f"agent {agent_id!r} cannot put the debate together: it is not in it, or speaks through no model"
            raise ConfigurationError(msg, hint=f"Agents of the session are: {', '.join(agents)}.")
        return found

    def beside(
        self, config: DebateConfig, mode: DebateModeStrategy, seats: Sequence[AgentConfig]
    ) -> dict[str, tuple[BaseAgent, ...]]:
        """Give the agents that a debate has beside its table, by seat.

        Args:
            config: What is debated; its `decide` says whether judges are needed.
            mode: The mode.
            seats: Who debates.

        Raises:
            ConfigurationError: Nobody can judge, a model cannot be made, or a debater has the id of a seat.
        """
        found: dict[str, tuple[BaseAgent, ...]] = {}
        if isinstance(mode, ExpertPanelMode) and mode.facilitated and not config.perspectives:
            writers = self.seated("facilitator") or self._light(seats)[0]
            found["facilitator"] = agents_of("facilitator", writers[:1])
        if config.decide in JUDGED:
            found["judge"] = agents_of("judge", self._judges(config.decide, seats))
        taken = {one.id for one in seats}
        clash = [agent.id for agents in found.values() for agent in agents if agent.id in taken]
        if clash:
            msg = f"a debater has the id of a seat beside the debate: {', '.join(clash)}"
            raise ConfigurationError(msg, hint="Give the debater another id.")
        return {seat: agents for seat, agents in found.items() if agents}

    def _judges(self, decide: str, seats: Sequence[AgentConfig]) -> list[ChatModel]:
        given = self.seated("judge")
        models, why = (given, "") if given else self._lights(seats)
        if not models:
            msg = f"no model can judge the debate: {why}"
            raise ConfigurationError(msg, hint="Name one with seats={'judge': 'provider:model'}.")
        if given:
            return models
        return models[:1] if decide == "judge" else [models[n % len(models)] for n in range(max(_PANEL, len(models)))]

    def seated(self, seat: str) -> list[ChatModel]:
        """Give the models that the caller put on a seat.

        Raises:
            ConfigurationError: One cannot be made.
        """
        given = self._seats.get(seat, ())
        several = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        return [self._model(one) for one in several]

    def _model(self, given: SeatLike) -> ChatModel:
        if isinstance(given, str):
            return self._models.get(*split_model_name(given))
        return self._models.guarded(given)

    def _light(self, configs: Iterable[AgentConfig]) -> tuple[list[ChatModel], str]:
        """Give the light model of the first provider at the table that has one, or say why there is none."""
        return self._lights(configs, most=1)

    def _lights(self, configs: Iterable[AgentConfig], most: int | None = None) -> tuple[list[ChatModel], str]:
        """Give the light model of each provider at the table that has one, or say why there is none."""
        found: list[ChatModel] = []
        causes: list[str] = []
        for provider in dict.fromkeys(config.provider for config in configs):
            known = self._agents.has_provider(provider)
            name = self._agents.get_light_model(provider) if known else None
            if provider == _TOO_SMALL:
                causes.append("the embedded model is too small to judge answers")
            elif name is None:
                causes.append(f"{provider} has no light model")
            else:
                try:
                    found.append(self._models.get(provider, name))
                except RoundtableError as error:
                    causes.append(f"{provider}: {error.message}")
            if len(found) == most:
                break
        return found, "; ".join(causes) or "nobody sits at the table"


def _unpriced(models: Iterable[ChatModel]) -> str:
    """Say which of these models has no price, as a budget in dollars needs; empty where all have one."""
    names = [f"{one.provider}:{one.model}" for one in models for meter in meters_of(one) if not meter.is_priced]
    return f"a budget in dollars holds, and no price is known for {names[0]}" if names else ""
