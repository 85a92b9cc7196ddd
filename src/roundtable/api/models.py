"""The models of one table: made by name or brought by the caller, each behind cassette, meter and gateway."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roundtable.api.checks import check_budget
from roundtable.api.estimate import meters_of
from roundtable.errors import ConfigurationError
from roundtable.gateway import FallbackModel, Gateway, GuardedModel, Ledger, MeteredModel, PriceTable
from roundtable.gateway.wrapping import make_ready
from roundtable.plugins.using import make
from roundtable.providers import Cassette
from roundtable.providers.cassette import TapedModel
from roundtable.tools import DefaultAgentToolkit
from roundtable.types import ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from roundtable.api.options import Options
    from roundtable.gateway import StreamingModel
    from roundtable.plugins import Catalog
    from roundtable.protocols import Agent, ChatModel
    from roundtable.settings import Settings
    from roundtable.types import Budget, RetryPolicy

__all__ = ["Models"]


class Models:
    """Makes, guards and closes the models of one table.

    Args:
        options: What the caller asked for.
        settings: What the environment says.
        catalog: The providers.
    """

    def __init__(self, options: Options, settings: Settings, catalog: Catalog) -> None:
        check_budget(options.budget)
        self.gateway: Gateway = Gateway(concurrency=options.concurrency, timeout_s=options.timeout_s)
        self.prices: PriceTable = PriceTable(options.prices)
        self.ledger: Ledger = Ledger(options.budget)
        self._options = options
        self._settings = settings
        self._catalog = catalog
        self._made: dict[tuple[str, str | None], GuardedModel] = {}
        self.cassette: Cassette | None = self._open_cassette(options.cassette)

    def _open_cassette(self, given: str | PathLike[str] | Cassette | None) -> Cassette | None:
        if given is None:
            return None
        cassette = given if isinstance(given, Cassette) else Cassette(given)
        keys = (config.api_key for config in self._options.providers.values())
        cassette.hide({*(key for key in keys if key), *self._settings.secrets})
        return cassette

    def get(self, provider: str, model: str | None = None) -> GuardedModel:
        """Give the guarded model of a provider; one object per provider and model.

        Raises:
            ConfigurationError: The provider is unknown, or lacks a key, an address or an extra.
        """
        config = self._config(provider)
        key = (provider, model or config.model)
        if key not in self._made:
            made = self._make(*key, config)
            # What is only replayed reaches no provider, and need not wait for its rates.
            is_replay = self.cassette is not None and self.cassette.mode == "replay"
            self._made[key] = self.gateway.guard(
                self._metered(made),
                timeout_s=config.timeout_s,
                retry=config.retry,
                requests_per_minute=None if is_replay else config.requests_per_minute,
                tokens_per_minute=None if is_replay else config.tokens_per_minute,
            )
        return self._made[key]

    def _config(self, provider: str) -> ProviderConfig:
        """Give what is stated for a provider; where no deadline is, its own: people and programs take longer."""
        given, timeout_s = self._options.providers.get(provider), self._options.timeout_s
        if given is None and timeout_s is None:
            timeout_s = getattr(self._catalog.providers.entry(provider).thing, "patience_s", None)
        config = given or ProviderConfig()
        return config if timeout_s is None else replace(config, timeout_s=timeout_s)

    def _make(self, provider: str, model: str | None, config: ProviderConfig) -> ChatModel:
        entry = self._catalog.providers.entry(provider)
        if self.cassette is None or provider == "replay":
            return make("provider", entry, model, config, self._settings)
        return self.cassette.model(provider, model, lambda: make("provider", entry, model, config, self._settings))

    def guarded(self, model: ChatModel, *, retry: RetryPolicy | None = None) -> StreamingModel:
        """Put a model that a caller brought behind meter and gateway; each of a fallback's for itself."""
        if isinstance(model, FallbackModel):
            return model.over(lambda one: self.guarded(one, retry=retry))
        if isinstance(model, GuardedModel):
            # One of another table keeps its limits; its meter is this table's.
            return self.gateway.guard(model.over(self._metered), retry=retry)
        return self.gateway.guard(self._metered(model), timeout_s=self._patience_with(model), retry=retry)

    def _patience_with(self, model: ChatModel) -> float | None:
        """Give the seconds that a brought model may take: what is stated, else its own; people take longer."""
        if self._options.timeout_s is not None:
            return self._options.timeout_s
        given = self._options.providers.get(model.provider)
        own: float | None = getattr(model, "patience_s", None)
        return own if given is None else given.timeout_s

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
        models = [meter for agent in agents for model in _asked_by(agent) for meter in meters_of(model)]
        unknown = sorted({f"{model.provider}:{model.model}" for model in models if not model.is_priced})
        if unknown:
            msg = f"max_cost_usd cannot be kept: no price is known for {', '.join(unknown)}"
            raise ConfigurationError(
                msg,
                hint=f'State one, such as prices={{"{unknown[0]}": {{"input": 1.25, "output": 10}}}} in US dollars per '
                "million tokens; or install the extra 'prices'; or limit max_tokens or max_calls instead.",
            )

    def take(self) -> tuple[GuardedModel, ...]:
        """Give the models made so far, for closing; those asked for later are made anew."""
        made, self._made = tuple(self._made.values()), {}
        return made


def _asked_by(agent: Agent) -> Iterator[object]:
    """Give the model an agent speaks through, and those that its tools say they ask."""
    yield getattr(agent, "chat_model", None)
    toolkit = getattr(agent, "toolkit", None)
    for asks in toolkit.asks() if isinstance(toolkit, DefaultAgentToolkit) else ():
        yield from (ask.model for ask in asks)
