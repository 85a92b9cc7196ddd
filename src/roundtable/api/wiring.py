"""Everything a table is made of, put together on first use.

Loaded late: `import roundtable; roundtable.Roundtable` must not load the engine.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.api.checks import check_budget, check_seconds, check_text, check_whole
from roundtable.api.estimate import meters_of
from roundtable.api.seats import AgentLike, Seated, default_seats, offers, seat_agents
from roundtable.engine import DebateEngine, EventHub, SessionManager
from roundtable.errors import ConfigurationError
from roundtable.gateway import FallbackModel, Gateway, GuardedModel, Ledger, MeteredModel, PriceTable
from roundtable.gateway.wrapping import make_ready
from roundtable.logs import ROOT
from roundtable.modes import ModeRegistry
from roundtable.plugins import load_catalog
from roundtable.providers import Cassette, LocalProvider
from roundtable.providers.cassette import TapedModel
from roundtable.settings import Settings
from roundtable.types import ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from roundtable.api.seats import Offer
    from roundtable.gateway.prices import PriceLike
    from roundtable.plugins import Catalog
    from roundtable.protocols import Agent, ChatModel, Storage
    from roundtable.types import AgentConfig, Budget

__all__ = ["Options", "Wiring"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller set on a table."""

    agents: Sequence[AgentLike] | None = None
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    storage: str | Storage | None = None
    quorum: int | None = None
    concurrency: int = 8
    timeout_s: float | None = None
    seed: int = 0
    prices: Mapping[str, PriceLike] | None = None
    budget: Budget | None = None
    cassette: str | PathLike[str] | Cassette | None = None
    tenant: str = "default"
    settings: Settings | None = None


class Wiring:
    """The objects behind one table."""

    def __init__(self, options: Options) -> None:
        check_whole("concurrency", options.concurrency)
        check_seconds("timeout_s", options.timeout_s)
        check_text("tenant", options.tenant)
        check_budget(options.budget)
        self.options = options
        self.settings: Settings = options.settings or Settings.from_env()
        self.catalog: Catalog = load_catalog()
        self.gateway: Gateway = Gateway(concurrency=options.concurrency, timeout_s=options.timeout_s)
        self.prices: PriceTable = PriceTable(options.prices)
        self.ledger: Ledger = Ledger(options.budget)
        self.cassette: Cassette | None = self._open_cassette(options.cassette)
        self._models: dict[tuple[str, str | None], ChatModel] = {}
        self._own_storage = not _is_storage(options.storage)
        self.storage: Storage = self._open_storage(options.storage)
        self.sessions: SessionManager = SessionManager(self.storage, tenant=options.tenant)
        self.hub: EventHub = EventHub()
        self.agents: AgentRegistry = self._registry()
        modes = ModeRegistry(builtin=False)
        for entry in self.catalog.modes:
            modes.register_mode(entry.name, entry.thing, summary=entry.summary)
        self.engine: DebateEngine = DebateEngine(self.sessions, self.agents, modes, hub=self.hub, ledger=self.ledger)

    def _open_cassette(self, given: str | PathLike[str] | Cassette | None) -> Cassette | None:
        if given is None:
            return None
        cassette = given if isinstance(given, Cassette) else Cassette(given)
        keys = (config.api_key for config in self.options.providers.values())
        cassette.hide({*(key for key in keys if key), *self.settings.secrets})
        return cassette

    def _open_storage(self, given: str | Storage | None) -> Storage:
        if given is not None and not isinstance(given, str):
            return given
        if given is None:
            return self._open_url(f"sqlite:///{_default_database(self.settings)}")
        return self._open_url(given)

    def _open_url(self, url: str) -> Storage:
        scheme, colon, _ = url.partition(":")
        if not colon:
            msg = f"{url!r} is no storage address"
            raise ConfigurationError(msg, hint="Use 'memory://' or 'sqlite:///path/to/file.db'.")
        return self.catalog.storages.get(scheme)(url)

    def _registry(self) -> AgentRegistry:
        registry = AgentRegistry()
        for entry in self.catalog.providers:
            registry.register_provider(entry.name, self._agent_factory(), None)
        return registry

    def _agent_factory(self) -> Callable[[AgentConfig], BaseAgent]:
        return lambda config: BaseAgent(config, self.model(config.provider, config.model))

    def model(self, provider: str, model: str | None = None) -> ChatModel:
        """Give the guarded model of a provider; one object per provider and model.

        Raises:
            ConfigurationError: The provider is unknown, or lacks a key, an address or an extra.
        """
        key = (provider, model)
        if key not in self._models:
            config = self.options.providers.get(provider) or ProviderConfig()
            if self.options.timeout_s is not None:
                config = replace(config, timeout_s=self.options.timeout_s)
            made = self._made(provider, model, config)
            self._models[key] = self.gateway.guard(self._metered(made), timeout_s=config.timeout_s)
        return self._models[key]

    def _made(self, provider: str, model: str | None, config: ProviderConfig) -> ChatModel:
        factory = self.catalog.providers.get(provider)
        if self.cassette is None or provider == "replay":
            return factory(model, config, self.settings)
        return self.cassette.model(provider, model, lambda: factory(model, config, self.settings))

    def guarded(self, model: ChatModel) -> ChatModel:
        """Put a model that a caller brought behind meter and gateway; each of a fallback's for itself."""
        if isinstance(model, FallbackModel):
            return model.over(self.guarded)
        if not isinstance(model, GuardedModel):
            return self.gateway.guard(self._metered(model))
        metered = self._metered(model.inner)
        if metered is model.inner:
            return self.gateway.guard(model)
        # One of another table: its limits stay, its meter is this table's.
        double = copy.copy(model)
        double.inner = metered
        return self.gateway.guard(double)

    def _metered(self, model: ChatModel) -> ChatModel:
        if isinstance(model, MeteredModel):
            return model if model.ledger is self.ledger else MeteredModel(model.inner, self.prices, self.ledger)
        taped = model if self.cassette is None or isinstance(model, TapedModel) else self.cassette.over(model)
        return MeteredModel(taped, self.prices, self.ledger)

    @staticmethod
    async def make_ready(agents: Iterable[Agent]) -> None:
        """Let models that have to fetch or load something do so, before the deadline of any call runs.

        Raises:
            RoundtableError: A model cannot be had.
        """
        for agent in agents:
            await make_ready(getattr(agent, "chat_model", None))

    def check_prices(self, agents: Iterable[Agent], budget: Budget | None) -> None:
        """Refuse to keep a budget of dollars for models whose price nobody knows.

        Raises:
            ConfigurationError: A model that may be called has no price.
        """
        own = None if budget is None else budget.max_cost_usd
        if own is None and self.ledger.table.budget.max_cost_usd is None:
            return
        models = [model for agent in agents for model in meters_of(getattr(agent, "chat_model", None))]
        unknown = sorted({f"{model.provider}:{model.model}" for model in models if not model.is_priced})
        if unknown:
            msg = f"max_cost_usd cannot be kept: no price is known for {', '.join(unknown)}"
            raise ConfigurationError(
                msg,
                hint=f'State one, such as prices={{"{unknown[0]}": {{"input": 1.25, "output": 10}}}} in US dollars per '
                "million tokens; or install the extra 'prices'; or limit max_tokens or max_calls instead.",
            )

    def offers(self) -> tuple[Offer, ...]:
        """List what the environment offers."""
        fix = None if LocalProvider.is_installed() else "install it with: pip install 'roundtable-sdk[local]'"
        return offers(self.settings, self.catalog.providers, embedded=fix)

    def seats(self, given: Sequence[AgentLike] | None) -> tuple[Seated, ...]:
        """Give the agents of one debate; the table's, or what the environment offers, when none are given.

        Raises:
            ConfigurationError: There is no model to debate with, or an agent cannot be made.
        """
        chosen = given if given is not None else self.options.agents
        seated = default_seats(self.settings, self.offers()) if chosen is None else seat_agents(chosen, self.guarded)
        return tuple(seat if seat.agent else Seated(seat.config, self.agents.build(seat.config)) for seat in seated)

    async def aclose(self) -> None:
        """Release models and, where the table opened it, the storage."""
        closers: list[Callable[[], Awaitable[None]]] = [model.aclose for model in self._models.values()]
        factories = [getattr(entry.thing, "aclose", None) for entry in self.catalog.providers]
        closers += [close for close in factories if close is not None]
        if self._own_storage:
            closers.append(self.storage.aclose)
        self._models = {}
        failure: Exception | None = None
        for close in closers:
            try:
                await close()
            except Exception as error:  # noqa: BLE001  (one that cannot be closed must not keep the others open)
                failure = failure or error
        if failure is not None:
            raise failure


def _is_storage(given: object) -> bool:
    return given is not None and not isinstance(given, str)


def _default_database(settings: Settings) -> Path:
    from roundtable.storage.locations import writable_database

    return writable_database(settings.database_path, settings.data_home)
