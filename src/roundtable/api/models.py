"""The models and analyzers of one table. A cassette, a meter and a gateway wrap each model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from roundtable.agents import Synthesizer, first_synthesizer
from roundtable.analysis import (
    AnalyzerChain,
    AnalyzerSetup,
    AskingMeter,
    ConsensusAnalyzer,
    DebateAnalyzerFactory,
    NamedMeter,
    Readers,
)
from roundtable.api.checks import check_budget
from roundtable.api.estimate import Extra
from roundtable.api.roles import agents_of
from roundtable.core.base.registry import Entry
from roundtable.core.base.words import counted, span_in_words
from roundtable.core.capabilities import Facilitated
from roundtable.core.chat_models import facts_of, is_wrapper, make_ready, meters_of, rewrapped
from roundtable.core.engine.closing import independent_answers
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.types.agents import ProviderConfig
from roundtable.core.types.debate import DebateContext
from roundtable.exits import asks_moderator
from roundtable.gateway import Gateway, Ledger, MeteredModel, PriceTable
from roundtable.gateway.default_rates import default_rate_of
from roundtable.plugins.errors import make
from roundtable.providers.spec import batch_refusal, split_model_name
from roundtable.scoring.rules import judges_of
from roundtable.tools import AskingToolkit, ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike

    from roundtable.agents import AgentRegistry, BaseAgent
    from roundtable.api.table_options import SeatLike, TableOptions
    from roundtable.core.protocols import Agent, ChatModel, ConsensusMeter, DebateModeStrategy
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.agents import AgentConfig, RetryPolicy
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.debate import DebateConfig, DebateRecord
    from roundtable.gateway import GuardedModel
    from roundtable.plugins import Catalog
    from roundtable.providers import Cassette
    from roundtable.scoring import Judges
    from roundtable.settings import Settings

__all__ = ["AuxiliaryModels", "Models", "analysis_extras", "synthesis_extra"]

logger: logging.Logger = logging.getLogger("roundtable.api")

_BATCH_SLACK_S: Final = 30.0
"""Seconds after `wait_s` after which a call in a batch is cancelled if it has not ended by itself."""

_SEATS: Final = ("analyzer", "facilitator", "judge", "synthesizer")
_PANEL_SIZE: Final = 3


class Models:
    """Creates, wraps and closes the models of one table.

    Args:
        options: Options of the table.
        settings: Settings of the environment.
        catalog: The providers.
    """

    def __init__(self, options: TableOptions, settings: Settings, catalog: Catalog) -> None:
        check_budget(options.budget)
        providers = catalog.provider_info
        self.gateway: Gateway = Gateway(
            concurrency=options.concurrency, timeout_s=options.timeout_s, providers=providers
        )
        self.prices: PriceTable = PriceTable(options.prices, providers=providers)
        self.ledger: Ledger = Ledger(options.budget)
        self._options = options
        self._settings = settings
        self._catalog = catalog
        self._made: dict[tuple[str, str | None], GuardedModel] = {}
        self.cassette: Cassette | None = self._open_cassette(options.cassette)

    def _open_cassette(self, source: str | PathLike[str] | Cassette | None) -> Cassette | None:
        if source is None:
            return None
        from roundtable.providers.cassette import Cassette

        cassette = source if isinstance(source, Cassette) else Cassette(source)
        keys = (config.api_key for config in self._options.providers.values())
        cassette.hide({*(key for key in keys if key), *self._settings.secrets})
        return cassette

    def get(self, provider: str, model: str | None = None) -> GuardedModel:
        """Return the guarded model of a provider; there is one object per provider and model.

        Raises:
            ConfigurationError: The provider is unknown, or lacks a key, an address or an extra.
        """
        config = self._config(provider)
        key = (provider, model or config.model)
        if key not in self._made:
            model_object = self._make(*key, config)
            self._made[key] = self.gateway.guard(
                model_object,
                inside=self._add_meter,
                timeout_s=_deadline_of(config),
                retry=config.retry,
                requests_per_minute=config.requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
                breaker=config.breaker,
            )
        return self._made[key]

    def _config(self, provider: str) -> ProviderConfig:
        """Return the configuration of a provider; if it sets no deadline, use the provider's own."""
        configured, timeout_s = self._options.providers.get(provider), self._options.timeout_s
        if configured is None and timeout_s is None:
            timeout_s = getattr(self._catalog.providers.entry(provider).thing, "patience_s", None)
        config = configured or ProviderConfig()
        return config if timeout_s is None else replace(config, timeout_s=timeout_s)

    def _make(self, provider: str, model: str | None, config: ProviderConfig) -> ChatModel:
        entry = self._catalog.providers.entry(provider)

        def create() -> ChatModel:
            named = model or self._default_model(provider)
            new_model: ChatModel = make("provider", entry, named, config, self._settings)
            if config.batch_options is not None and facts_of(new_model).price_share == 1:
                raise batch_refusal(provider)
            return new_model

        if self.cassette is None or (info := self._catalog.provider_info(provider)).replays:
            return create()
        self.cassette.hide(key for key in map(self._settings.get, info.key_env) if key)
        # The model itself may never be created, so its factory states the rate.
        rate_for: Callable[[ProviderConfig, Settings], float | None] | None
        rate_for = getattr(entry.thing, "default_rate", None)
        rate = default_rate_of(entry.thing) if rate_for is None else rate_for(config, self._settings)
        return self.cassette.model(provider, model, create, requests_per_minute=rate)

    def _default_model(self, provider: str) -> str | None:
        """Return the model that is used if none is named: that of the environment, else the declared one."""
        info = self._catalog.provider_info(provider)
        return (self._settings.get(info.model_env) if info.model_env else None) or info.default_model

    def guard(self, model: ChatModel, *, retry: RetryPolicy | None = None) -> ChatModel:
        """Wrap a caller's model in a meter and the gateway; if it wraps other models itself, wrap each of these.

        A model of another table keeps its limits, but this table counts its calls.
        """
        if is_wrapper(model):
            return rewrapped(model, [self.guard(inner, retry=retry) for inner in model.inner_models])
        configured = self._options.providers.get(model.provider)
        return self.gateway.guard(
            model,
            inside=self._add_meter,
            timeout_s=self._timeout_of(model),
            retry=retry,
            breaker="auto" if configured is None else configured.breaker,
        )

    def _timeout_of(self, model: ChatModel) -> float | None:
        """Return the deadline of a caller's model in seconds: the configured one, else its own (people need longer)."""
        if self._options.timeout_s is not None:
            return self._options.timeout_s
        configured = self._options.providers.get(model.provider)
        default = facts_of(model).patience_s
        return default if configured is None else configured.timeout_s

    def _add_meter(self, model: ChatModel) -> ChatModel:
        record = None if self.cassette is None else self.cassette.over
        return MeteredModel.of(model, self.prices, self.ledger, inside=record)

    @staticmethod
    async def make_ready(agents: Iterable[Agent]) -> None:
        """Prepare models that must fetch or load something, before the deadline of any call starts.

        Raises:
            RoundtableError: A model is not available.
        """
        for agent in agents:
            await make_ready(getattr(agent, "chat_model", None))

    async def check_waiting_batches(self, fold: Fold, agents: Iterable[Agent], *, pays_again: bool) -> None:
        """Refuse to make single calls for a session whose calls wait in a batch: they would be paid for twice.

        Only the default journal is searched for batches.

        Args:
            fold: The session.
            agents: Agents of the session.
            pays_again: Only warn, and forget that the calls wait.

        Raises:
            ConfigurationError: Calls to a provider wait in a batch, and no agent makes its calls to this provider in
                batches.
        """
        from roundtable.providers.batches.journal import BatchJournal, default_journal

        session_id, complete = fold.record.id, sum(record.complete for record in fold.rounds)
        journal = BatchJournal(default_journal(self._settings.data_home))
        waiting = await journal.waiting(session_id, complete)
        if not waiting:
            return
        meters = [meter for agent in agents for model in _models_of(agent) for meter, _ in meters_of(model)]
        batched = {name for name, config in self._options.providers.items() if config.batch_options is not None}
        # An agent may bring its own model. Calls at a cheaper service tier have a lower share too, but no batch.
        facts = [(meter.provider, facts_of(meter)) for meter in meters]
        batched |= {name for name, known in facts if known.price_share < 1 and known.calls_at_once is not None}
        names = sorted({meter.provider for meter in meters} & waiting.keys() - batched)
        if not names:
            return
        count = sum(waiting[name] for name in names)
        were = "was" if count == 1 else "were"
        msg = f"{counted(count, 'call')} of session {session_id!r} {were} sent as a batch to {', '.join(names)}"
        if pays_again:
            logger.warning("%s, and may be paid for again", msg)
            await journal.forget_waiting(session_id)
            return
        raise ConfigurationError(
            f"{msg}, and would be paid for again",
            hint=f"Use the answers of the batch: --batch {names[0]} (ProviderConfig(batch=True)). Or pay again: "
            "--adopt (on_change='adopt').",
        )

    def limits_cost(self, budget: Budget | None) -> bool:
        """Check whether a budget, or that of the table, is in US dollars."""
        debate_limit = None if budget is None else budget.max_cost_usd
        return debate_limit is not None or self.ledger.table.budget.max_cost_usd is not None

    def check_prices(self, agents: Iterable[Agent], budget: Budget | None) -> None:
        """Refuse a budget in dollars if the price of a model is unknown.

        Raises:
            ConfigurationError: A model that may be called has no price.
        """
        if not self.limits_cost(budget):
            return
        models = [meter for agent in agents for model in _models_of(agent) for meter, _ in meters_of(model)]
        unknown = sorted({f"{model.provider}:{model.model}" for model in models if not model.is_priced})
        if unknown:
            msg = f"max_cost_usd cannot be enforced: no price is known for {', '.join(unknown)}"
            raise ConfigurationError(
                msg,
                hint=f'Set a price, such as prices={{"{unknown[0]}": {{"input": 1.25, "output": 10}}}} in US dollars '
                "per million tokens; or install the extra 'prices'; or limit max_tokens or max_calls instead.",
            )

    def pop_all(self) -> tuple[GuardedModel, ...]:
        """Return the models created so far, so that they can be closed, and forget them."""
        models, self._made = tuple(self._made.values()), {}
        return models


def _deadline_of(config: ProviderConfig) -> float:
    """Return the deadline of a provider's calls in seconds; calls in batches end by themselves after `wait_s`."""
    batch = config.batch_options
    return config.timeout_s if batch is None else batch.wait_s + _BATCH_SLACK_S


def _models_of(agent: Agent) -> Iterator[object]:
    """Yield the model of an agent, and the models that its tools declare that they call."""
    yield getattr(agent, "chat_model", None)
    toolkit = getattr(agent, "toolkit", None)
    for asks in toolkit.asks() if isinstance(toolkit, AskingToolkit) else ():
        yield from (ask.model for ask in asks)


_ONLY_IF_UNSETTLED: Final = (
    "the figures include at most {calls} of the analyzer, made only for rounds in which equal answers, stances and "
    "numbers leave open whether all answers say the same"
)


def analysis_extras(meter: ConsensusMeter, config: DebateConfig) -> list[Extra]:
    """Return the model calls that measure each round; an empty list if the meter says that it calls no model.

    A chain that calls no model for settled rounds may make fewer calls, and the note of its calls says so.
    """
    if not isinstance(meter, AskingMeter):
        return []

    def calls(record: DebateRecord) -> Sequence[ModelCall]:
        measured = [
            answers
            for record_round in record.rounds
            for answers in (independent_answers(record_round), record_round.responses)
            if answers
        ]
        return [call for said in measured for call in meter.asks(said, config.topic, session_id=record.session.id)]

    return [Extra("analyzer", calls, note=_ONLY_IF_UNSETTLED if getattr(meter, "leaves_out_calls", False) else "")]


def synthesis_extra(writer: Synthesizer, config: DebateConfig) -> Extra:
    """Return the call that writes the synthesis; if its answer cannot be parsed, the call is made again."""

    def calls(record: DebateRecord) -> Sequence[ModelCall]:
        turns = tuple(turn for record_round in record.rounds for turn in record_round.turns)
        view = DebateContext(
            session_id=record.session.id,
            topic=config.topic,
            mode=config.mode,
            current_round=max(1, len(record.rounds)),
            transcript=turns,
        )
        return [ModelCall(writer.model, writer.request(view))]

    return Extra("synthesizer", calls, tries=2)


class AuxiliaryModels:
    """The models for auxiliary roles (seats): they analyse, judge, prepare and summarise a debate.

    Args:
        seats: Models by role, as the caller passed them.
        catalog: Analyzers and criteria by name.
        models: Models of the table.
        agents: Registry with the light model of each provider.

    Raises:
        ConfigurationError: A seat is unknown.
    """

    def __init__(
        self,
        seats: Mapping[str, SeatLike | Sequence[SeatLike]],
        catalog: Catalog,
        models: Models,
        agents: AgentRegistry,
    ) -> None:
        unknown = sorted(set(seats) - set(_SEATS))
        if unknown:
            msg = f"unknown seat {unknown[0]!r} in seats"
            raise ConfigurationError(msg, hint=f"Choose from {', '.join(_SEATS)}.")
        self._seats = seats
        self._catalog = catalog
        self._models = models
        self._agents = agents

    def meter(
        self,
        analyzer: str | ConsensusMeter,
        configs: Iterable[AgentConfig],
        *,
        capped: bool,
        options: Sequence[str] | None = None,
    ) -> AnalyzerChain:
        """Return the meter of a debate; no model is called.

        Args:
            analyzer: Name of an analyzer, or a meter.
            configs: Configurations of the agents; by default, the first light model of their providers analyses the
                answers.
            capped: Whether there is a budget in dollars, so that a model without a price cannot be called.
            options: Options that the agents choose from; `None` for an open question.

        Raises:
            ConfigurationError: The analyzer is unknown, or the model that `seats` names for it cannot be created.
        """
        if isinstance(analyzer, str):
            seats = tuple(configs)
            chosen = None if options is None else tuple(options)
            named = self._named_meter(analyzer, AnalyzerSetup(chosen, lambda: self._readers(seats, capped=capped)))
        elif callable(getattr(analyzer, "measure", None)):
            named = NamedMeter("analyzer", analyzer)
        else:
            known = ", ".join(self._catalog.analyzers.names())
            raise ConfigurationError(f"analyzer must be one of {known}, or have `measure`, not {analyzer!r}")
        return AnalyzerChain([named], fallback=ConsensusAnalyzer())

    def _named_meter(self, name: str, setup: AnalyzerSetup) -> NamedMeter:
        entry = self._catalog.analyzers.find(name)
        if entry is None:
            known = self._catalog.analyzers.names()
            close = get_close_matches(name, known, 1)
            suggestion = f". Did you mean {close[0]!r}?" if close else ""
            hint = f"Choose from {', '.join(known)}."
            raise ConfigurationError(f"unknown analyzer {name!r}{suggestion}", hint=hint)
        factory = entry.thing
        if isinstance(factory, DebateAnalyzerFactory):
            for_debate = Entry(entry.name, factory.for_debate, entry.summary, entry.source)
            return NamedMeter(name, make("analyzer", for_debate, setup), entry.source)
        model = next(iter(setup.readers().models), None)
        return NamedMeter(name, make("analyzer", entry, model), entry.source)

    def _readers(self, configs: Sequence[AgentConfig], *, capped: bool) -> Readers:
        """Return the models that analyse answers, without a model that cannot be paid from a budget in dollars."""
        models, reason = self._all_readers(configs)
        missing_price = _missing_price(models) if capped else ""
        return Readers((), missing_price) if missing_price else Readers(tuple(models), reason)

    def _all_readers(self, configs: Sequence[AgentConfig]) -> tuple[list[ChatModel], str]:
        """Return the models that analyse answers: those named in `seats`, else a light model, else a debater's."""
        seated = self.models_for("analyzer")
        if seated:
            return seated, ""
        models, reason = self._first_light_model(configs)
        if models:
            return models, ""
        reasons = [reason]
        for config in configs:
            provider = config.provider
            if self._catalog.provider_info(provider).no_auxiliary_roles or not self._agents.has_provider(provider):
                continue
            try:
                return [self._models.get(config.provider, config.model)], ""
            except RoundtableError as error:
                reasons.append(f"{config.provider}: {error.message}")
        return [], "; ".join(dict.fromkeys(reasons))

    def writer(
        self, configs: Iterable[AgentConfig], agents: Mapping[str, Agent], *, capped: bool, by: str | None = None
    ) -> Synthesizer:
        """Return the synthesizer, with the model in `seats`, else a light model, else the first agent's model.

        Args:
            configs: Configurations of the agents.
            agents: The agents by id.
            capped: As for `meter`.
            by: Id of the agent whose model to use instead.

        Raises:
            ConfigurationError: No model can write the synthesis; or `seats` names several models for it, or a model
                that cannot be created or has no price.
        """
        if by is not None:
            return self._agent_as_writer(by, agents)
        seated = self.models_for("synthesizer")
        if len(seated) > 1:
            raise ConfigurationError("seats['synthesizer'] must be one model, not several")
        missing_price = _missing_price(seated) if capped else ""
        if missing_price:
            raise ConfigurationError(f"seats['synthesizer']: {missing_price}", hint="Set its price with prices={...}.")
        models, reason = (seated, "") if seated else self._first_light_model(configs)
        if models and not (capped and _missing_price(models)):
            return Synthesizer(models[0])
        synthesizer = first_synthesizer(agents.values())
        if synthesizer is None:
            msg = f"no model can write the synthesis: {reason or 'no agent has a model'}"
            raise ConfigurationError(msg, hint="Name a model with seats={'synthesizer': 'provider:model'}.")
        return synthesizer

    @staticmethod
    def _agent_as_writer(agent_id: str, agents: Mapping[str, Agent]) -> Synthesizer:
        synthesizer = first_synthesizer([agents[agent_id]] if agent_id in agents else [])
        if synthesizer is None:
            msg = f"agent {agent_id!r} cannot write the synthesis: it is not in the session, or has no model"
            raise ConfigurationError(msg, hint=f"The agents of the session are {', '.join(agents)}.")
        return synthesizer

    def agents_for(
        self, config: DebateConfig, mode: DebateModeStrategy, seats: Sequence[AgentConfig]
    ) -> dict[str, tuple[BaseAgent, ...]]:
        """Return the auxiliary agents of a debate, by role.

        Args:
            config: Configuration of the debate; its decision rule says whether judges are needed.
            mode: The mode.
            seats: Configurations of the debaters.

        Raises:
            ConfigurationError: No model can judge, a model cannot be created, or a debater has the id of an auxiliary
                agent.
        """
        by_seat: dict[str, tuple[BaseAgent, ...]] = {}
        if isinstance(mode, Facilitated) and mode.needs_facilitator(config):
            writers = self.models_for("facilitator") or self._first_light_model(seats)[0]
            by_seat["facilitator"] = agents_of("facilitator", writers[:1])
        if asks_moderator(config.exit, self._catalog.exits):
            by_seat["moderator"] = agents_of("moderator", self._moderators(seats))
        if (judges := judges_of(config.decide, self._catalog.rules)) is not None:
            by_seat["judge"] = agents_of("judge", self._judges(judges, seats))
        debater_ids = {seat.id for seat in seats}
        conflicts = [agent.id for agents in by_seat.values() for agent in agents if agent.id in debater_ids]
        if conflicts:
            msg = f"a debater has the id of an auxiliary agent: {', '.join(conflicts)}"
            raise ConfigurationError(msg, hint="Give the debater another id.")
        return {seat: agents for seat, agents in by_seat.items() if agents}

    def _moderators(self, seats: Sequence[AgentConfig]) -> list[ChatModel]:
        models = self.models_for("facilitator")
        models, reason = (models, "") if models else self._first_light_model(seats)
        if not models:
            msg = f"no model can moderate the debate: {reason}"
            raise ConfigurationError(msg, hint="Name a model with seats={'facilitator': 'provider:model'}.")
        return models[:1]

    def _judges(self, judges: Judges, seats: Sequence[AgentConfig]) -> list[ChatModel]:
        seated = self.models_for("judge")
        models, reason = (seated, "") if seated else self._light_models(seats)
        if not models:
            msg = f"no model can judge the debate: {reason}"
            hint = "Name a model with seats={'judge': 'provider:model'}."
            if judges.least > 1:
                wanted = span_in_words(judges.least, judges.most, "model")
                hint = f"Name {wanted} with seats={{'judge': ['provider:model', 'provider:model']}}."
            raise ConfigurationError(msg, hint=hint)
        if seated:
            return models
        number = max(_PANEL_SIZE, judges.least, len(models))
        if judges.most is not None:
            number = min(number, judges.most)
        return [models[n % len(models)] for n in range(number)]

    def models_for(self, seat: str) -> list[ChatModel]:
        """Return the models that the caller set for an auxiliary role.

        Raises:
            ConfigurationError: A model cannot be created.
        """
        seated = self._seats.get(seat, ())
        models = seated if isinstance(seated, Sequence) and not isinstance(seated, str) else (seated,)
        return [self._model(model) for model in models]

    def _model(self, model: SeatLike) -> ChatModel:
        if isinstance(model, str):
            return self._models.get(*split_model_name(model))
        return self._models.guard(model)

    def _first_light_model(self, configs: Iterable[AgentConfig]) -> tuple[list[ChatModel], str]:
        """Return the light model of the first provider that has one, or the reason why there is none."""
        return self._light_models(configs, most=1)

    def _light_models(self, configs: Iterable[AgentConfig], most: int | None = None) -> tuple[list[ChatModel], str]:
        """Return the light model of each provider that has one, or the reason why there is none."""
        models: list[ChatModel] = []
        reasons: list[str] = []
        for provider in dict.fromkeys(config.provider for config in configs):
            is_known = self._agents.has_provider(provider)
            name = self._agents.get_light_model(provider) if is_known else None
            if refusal := self._catalog.provider_info(provider).no_auxiliary_roles:
                reasons.append(refusal)
            elif name is None:
                reasons.append(f"{provider} has no light model")
            else:
                try:
                    models.append(self._models.get(provider, name))
                except RoundtableError as error:
                    reasons.append(f"{provider}: {error.message}")
            if len(models) == most:
                break
        return models, "; ".join(reasons) or "there are no agents"


def _missing_price(models: Iterable[ChatModel]) -> str:
    """Return an error text if a model has no price, because a budget in dollars needs it; else an empty text."""
    names = [
        f"{model.provider}:{model.model}" for model in models for meter, _ in meters_of(model) if not meter.is_priced
    ]
    return f"the budget is in dollars, and no price is known for {names[0]}" if names else ""
