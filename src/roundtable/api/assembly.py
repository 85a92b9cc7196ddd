"""Creation of all objects that a `Roundtable` (a table) consists of, on first use.

This module is imported late, because `import roundtable; roundtable.Roundtable` must not load the engine.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import current_time, move_on_after

from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.analysis import check_rule
from roundtable.api.checks import (
    call_function,
    check_deadline,
    check_list,
    check_mapping,
    check_name,
    check_providers,
    check_seconds,
    check_settings,
    check_storage,
    check_text,
    check_whole,
    observer_function,
)
from roundtable.api.endpoints import endpoints_of, register_endpoints
from roundtable.api.models import AuxiliaryModels, Models
from roundtable.api.profiles import register_profiles
from roundtable.api.searching import SearchSetting, check_provider_search, read_search, seat_search
from roundtable.api.seats import AgentLike, Seated, default_seats, offers, seat_agents, with_persona
from roundtable.api.tools import TableTools, with_service
from roundtable.core.base.network import forbid_network
from roundtable.core.chat_models import refused_at, trouble_of
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import AgentConfig, ProviderConfig
from roundtable.core.types.base import NativeSearch
from roundtable.engine import DebateEngine, EventHub, SessionManager
from roundtable.exits import ExitSettings, exit_from_spec, exit_from_text, members
from roundtable.http import masked_url
from roundtable.logs import ROOT
from roundtable.modes import ModeRegistry
from roundtable.plugins import load_plugins
from roundtable.plugins.errors import make
from roundtable.plugins.observer_thread import ObserverThreads
from roundtable.scoring import Rule
from roundtable.settings import Settings, forbid_network_to_children
from roundtable.storage import open_sqlite
from roundtable.storage.locations import default_database

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from roundtable.agents import Synthesizer
    from roundtable.api.searching import SearchLike
    from roundtable.api.seats import Offer
    from roundtable.api.table_options import TableOptions
    from roundtable.core.base.registry import Entry
    from roundtable.core.protocols import Agent, ConsensusMeter, DebateModeStrategy, ExitCriterion, Storage
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.chat import ModelCall
    from roundtable.core.types.events import Event
    from roundtable.exits import Exit
    from roundtable.plugins import Catalog, LoadedPlugins
    from roundtable.providers import ProviderFactory

__all__ = ["TableParts"]


logger: logging.Logger = logging.getLogger(f"{ROOT}.api")

_CLOSE_S = 15.0


class TableParts:
    """The objects behind one table."""

    is_lent: bool = False
    """Whether these objects belong to another table; that table releases them."""
    _adopted: DebateEngine | None = None
    _status_registry: AgentRegistry | None = None

    def __init__(self, options: TableOptions) -> None:
        check_whole("concurrency", options.concurrency)
        check_seconds("timeout_s", options.timeout_s)
        check_deadline(options.turn_timeout_s, "turn_timeout_s")
        check_name("tenant", options.tenant)
        check_storage(options.storage)
        check_providers(options.providers)
        if options.quorum is not None:
            check_whole("quorum", options.quorum)
        check_list("observers", options.observers)
        check_mapping("seats", options.seats)
        check_settings(options.settings)
        self.settings: Settings = options.settings or Settings.from_env()
        options = replace(options, providers={**endpoints_of(self.settings), **options.providers})
        self.options = options
        if not self.settings.network:
            forbid_network()
            forbid_network_to_children()
        self.plugins: LoadedPlugins = load_plugins(options.plugins, self.settings)
        self.catalog: Catalog = register_profiles(options.profiles, self.plugins.catalog)
        register_endpoints(options.providers, self.catalog.providers)
        for name, config in options.providers.items():
            self.catalog.providers.entry(name)  # raises for a provider that does not exist
            check_provider_search(name, config)
        self.search: SearchSetting = read_search(options.search)
        self.models: Models = Models(options, self.settings, self.catalog)
        self._owns_storage = not _is_storage(options.storage)
        self.storage: Storage = self._open_storage(options.storage)
        self.sessions: SessionManager = SessionManager(
            self.storage, tenant=options.tenant, on_delete=self._forget_account
        )
        self.watchers: ObserverThreads = ObserverThreads(self.catalog.observers, self.settings)
        self._observers = tuple(self._observer_functions())
        self.models.gateway.call_listeners = tuple(self._call_functions())
        self.hub: EventHub = EventHub(self._observers)
        self.agents: AgentRegistry = self._make_registry()
        tools = with_service(options.tools, self.search.service)
        self.tools: TableTools = TableTools(
            tools,
            self.catalog,
            self.settings,
            self.models.guard,
            dependencies=options.tool_dependencies,
            approve=options.approve_tools,
        )
        if self.tools.toolkit is not None:
            self.agents.set_toolkit(self.tools.toolkit)
        self.auxiliary: AuxiliaryModels = AuxiliaryModels(options.seats, self.catalog, self.models, self.agents)
        modes = ModeRegistry(builtin=False)
        for entry in self.catalog.modes:
            modes.register_mode(entry.name, entry.thing, summary=entry.summary)
        modes.registry.finder = lambda name: modes.register_mode(name, self.catalog.modes.get(name))
        self._modes = modes
        self.engine: DebateEngine = self._make_engine(self.sessions, self.hub)

    def _make_engine(self, sessions: SessionManager, hub: EventHub) -> DebateEngine:
        return DebateEngine(
            sessions,
            self.agents,
            self._modes,
            meter=None if self._adopted is None else self._adopted.meter,
            hub=hub,
            rules=self.catalog.rules,
            exits=self.catalog.exits,
            exit_settings=self._exit_settings(),
            turn_timeout_s=self.options.turn_timeout_s if self._adopted is None else self._adopted.turn_timeout_s,
            ledger=self.models.ledger,
        )

    def _exit_settings(self) -> ExitSettings:
        return ExitSettings.from_settings(self.settings) if self._adopted is None else self._adopted.exit_settings

    def adopt(self, engine: DebateEngine | None, registry: AgentRegistry | None) -> None:
        """Use an engine's modes, rules, exits, meter, budget, limits, clock and listeners for this table's debates.

        Args:
            engine: The engine; the table was created with the engine's agents and storage.
            registry: Registry that knows whether the table's agents are active; the engine's registry when left out.
        """
        self._status_registry = registry if registry is not None or engine is None else engine.agents
        if engine is None:
            return
        for entry in engine.modes.registry:
            self.catalog.modes.add(entry.name, entry.thing, summary=entry.summary, source=entry.source, replace=True)
            self._modes.registry.add(entry.name, entry.thing, summary=entry.summary, source=entry.source, replace=True)
        for rule in engine.rules:
            self.catalog.rules.add(rule.name, rule.thing, summary=rule.summary, source=rule.source, replace=True)
        for kind in engine.exits:
            self.catalog.exits.add(kind.name, kind.thing, summary=kind.summary, source=kind.source, replace=True)
        self._adopted, self.models.ledger = engine, engine.ledger
        self.sessions = SessionManager(
            self.storage,
            tenant=self.options.tenant,
            clock=engine.sessions.clock,
            signals=engine.sessions.signals,
            on_delete=self._forget_account,
        )
        self._observers = (*self._observers, engine.hub.publish)
        self.hub = EventHub(self._observers)
        self.engine = self._make_engine(self.sessions, self.hub)
        self.engine.pace = engine.pace

    def problem_of(self, seat: Seated) -> str | None:
        """Return why an agent is not usable now, according to its last call or check; `None` if no problem is known."""
        registry, agent_id = self._status_registry, seat.config.id
        if registry is not None and registry.has_agent(agent_id) and not registry.is_agent_active(agent_id):
            errors = (status.error for status in registry.get_agent_health_status() if status.id == agent_id)
            return next(errors, None) or "inactive"
        model = getattr(seat.agent, "chat_model", None)
        trouble = trouble_of(model)
        if trouble is None or registry is None:
            return trouble
        # A health check calls the agent in the registry, and that agent has its own model.
        return None if registry.health.is_good_since(agent_id, refused_at(model)) else trouble

    def for_tenant(self, options: TableOptions) -> TableParts:
        """Return a copy of these objects for the sessions of another tenant; closing the copy releases nothing.

        Args:
            options: The options of this table, but with another tenant and more observers.

        Raises:
            ConfigurationError: The name of the tenant or an observer is not valid.
        """
        check_name("tenant", options.tenant)
        lent = copy(self)
        lent.options = replace(options, providers=self.options.providers)
        lent.sessions = SessionManager(
            self.storage,
            tenant=options.tenant,
            clock=self.sessions.clock,
            signals=self.sessions.signals,
            on_delete=self._forget_account,
        )
        # A separate hub: in a shared hub, a tenant that learned the id of another tenant's session could listen to it.
        observers = [observer_function(observer) for observer in options.observers if not isinstance(observer, str)]
        functions = (*self._observers, *observers)
        lent._observers = functions  # noqa: SLF001  (its own class)
        lent.hub = EventHub(functions)
        lent.engine = self._make_engine(lent.sessions, lent.hub)
        lent.is_lent = True
        return lent

    def _forget_account(self, session_id: str, tenant: str) -> None:
        self.models.ledger.forget(session_id, tenant)

    def _observer_functions(self) -> list[Callable[[Event], None]]:
        """Return the functions that receive every event: the caller's, and the observers of chosen plugins."""
        chosen = [
            self.watchers.callback_of(observer) if isinstance(observer, str) else observer_function(observer)
            for observer in self.options.observers
        ]
        return [*chosen, *self.watchers.of_plugins()]

    def _call_functions(self) -> list[Callable[[ModelCall], None]]:
        """Return the functions that receive every model call; `_observer_functions` must have started them before."""
        objects = [observer for observer in self.options.observers if not isinstance(observer, str)]
        own = [function for observer in objects if (function := call_function(observer)) is not None]
        return [*own, *self.watchers.call_functions()]

    def _open_storage(self, storage: str | Storage | None) -> Storage:
        if storage is not None and not isinstance(storage, str):
            return storage
        if storage is None:
            # The user did not type the default folder, so it is not a typing error; create it if it does not exist.
            url = f"sqlite:///{default_database(self.settings)}"
            return open_sqlite(url, make_folder=not self.settings.names_database)
        return self._open_url(storage)

    def _open_url(self, url: str) -> Storage:
        scheme, colon, _ = url.partition(":")
        if not colon:
            msg = f"{masked_url(url)!r} is not a storage address"
            raise ConfigurationError(msg, hint="Use 'memory://' or 'sqlite:///path/to/file.db'.")
        return make("storage", self.catalog.storages.entry(scheme), url)

    def _make_registry(self) -> AgentRegistry:
        registry = AgentRegistry()
        for entry in self.catalog.providers:
            self._register_provider(registry, entry)
        self.catalog.providers.suggests = registry.suggest_name
        registry.find_with(lambda name: self._register_provider(registry, self.catalog.providers.entry(name), name))
        return registry

    def _register_provider(
        self, registry: AgentRegistry, entry: Entry[ProviderFactory], name: str | None = None
    ) -> None:
        config = self.options.providers.get(name or entry.name) or ProviderConfig()
        info = self.catalog.provider_info(entry.name)
        registry.register_provider(
            name or entry.name,
            self._agent_factory(),
            config.model or info.default_model,
            config.light_model or info.light_model,
        )

    def _agent_factory(self) -> Callable[[AgentConfig], BaseAgent]:
        models = self.models

        def make_agent(config: AgentConfig) -> BaseAgent:
            model = models.guard(models.get(config.provider, config.model), retry=config.retry)
            profile = model.profile.search
            searches_always = profile is not None and profile.built_in
            search = NativeSearch() if searches_always and config.search is None else None
            return BaseAgent(config, model, search=search, cites_sources=searches_always)

        return make_agent

    def meter(
        self, configs: Sequence[AgentConfig], budget: Budget | None, options: Sequence[str] | None
    ) -> ConsensusMeter:
        """Return the meter for a debate of these agents.

        Args:
            configs: Configurations of the agents.
            budget: Budget of the debate.
            options: Options that the agents choose from; with options, `analyzer="auto"` does not call a model.

        Raises:
            ConfigurationError: The analyzer is unknown, or its model cannot be created.
        """
        if self._adopted is not None:
            return self._adopted.meter
        capped = self._is_capped(budget)
        return self.auxiliary.meter(self.options.analyzer, configs, capped=capped, options=options)

    def writer(
        self,
        configs: Sequence[AgentConfig],
        agents: Mapping[str, Agent],
        budget: Budget | None,
        *,
        by: str | None = None,
    ) -> Synthesizer:
        """Return the synthesizer for a debate of these agents.

        Raises:
            ConfigurationError: No model can write the synthesis, or the model named for it cannot be created.
        """
        return self.auxiliary.writer(configs, agents, capped=self._is_capped(budget), by=by)

    def _is_capped(self, budget: Budget | None) -> bool:
        limits = (budget, self.models.ledger.table.budget)
        return any(limit is not None and limit.max_cost_usd is not None for limit in limits)

    def rule_name(self, decide: str | Rule, *, vote: bool = False) -> str:
        """Return the name under which a debate stores its decision rule; a rule object is registered under its name.

        Args:
            decide: The rule.
            vote: Whether the debaters vote; the rule then counts their ballots.

        Raises:
            ConfigurationError: The rule is unknown, its parameters are not valid, or another rule has the same name.
        """
        rules = self.catalog.rules
        if not isinstance(decide, Rule):
            check_text("decide", decide)
        check_rule(decide, rules, vote=vote)
        if not isinstance(decide, Rule):
            return decide
        registered = rules.get(decide.name) if decide.name in rules else None
        if registered is None:
            rules.add(decide.name, decide, summary=decide.summary, source="this table")
        elif registered != decide:
            msg = f"decide: this table already has another rule named {decide.name!r}"
            raise ConfigurationError(msg, hint="Give your rule a name of its own.")
        return decide.name

    def exit_spec(self, exit_when: str | ExitCriterion | Mapping[str, JsonValue]) -> JsonObject:
        """Return an exit criterion as JSON, and register the caller's own kinds of criteria.

        Args:
            exit_when: The criterion as text, as an object, or as the JSON form that requests and studies contain.

        Raises:
            ConfigurationError: It is not an exit criterion, has no kind, or uses the kind of another criterion.
        """
        if isinstance(exit_when, str):
            return exit_from_text(exit_when, self.catalog.exits).to_spec()
        if isinstance(exit_when, Mapping):
            return exit_from_spec(exit_when, self.catalog.exits).to_spec()
        if isinstance(exit_when, type) or not callable(getattr(exit_when, "to_spec", None)):
            msg = f"exit_when must be an exit such as MaxRounds(3), or text such as 'max_rounds(3)', not {exit_when!r}"
            raise ConfigurationError(msg)
        for member in members(exit_when):
            self._register_exit(member)
        return exit_when.to_spec()

    def _register_exit(self, member: Exit) -> None:
        kind, exit_class, exits = member.kind, type(member), self.catalog.exits
        if not kind:
            msg = f"exit_when: {exit_class.__name__} has no kind, but sessions are stored with the kind"
            raise ConfigurationError(msg, hint=f'Write `kind = "..."` in the class {exit_class.__name__}.')
        if kind not in exits:
            exits.add(kind, member.from_spec, source="this table")
        elif getattr(exits.get(kind), "__self__", exit_class) is not exit_class:
            msg = f"exit_when: {exit_class.__name__} uses the kind {kind!r}, which belongs to another exit"
            raise ConfigurationError(
                msg, hint="Choose a kind that no other exit uses; stored sessions find their exit by its kind."
            )

    def offers(self) -> tuple[Offer, ...]:
        """List the providers that can be used in this environment."""
        self.plugins.load_for_keys(self.settings)
        return offers(self.settings, self.catalog)

    def seats(
        self,
        agents: Sequence[AgentLike] | None,
        mode: DebateModeStrategy | None = None,
        search: SearchLike | None = None,
    ) -> tuple[Seated, ...]:
        """Return the agents of one debate: the given ones, else the table's, else default ones from the environment.

        Args:
            agents: The agents, as the caller gave them.
            mode: The mode of the debate.
            search: How the agents search the web; the table's setting when left out.

        Raises:
            ConfigurationError: No model is available, or an agent cannot be created.
        """
        wish = self.search if search is None else self._read_debate_search(search)
        chosen = agents if agents is not None else self.options.agents
        if chosen is None:
            seated = default_seats(self.settings, self.offers(), self.catalog, mode)
        else:
            seated = self.seats_of(chosen, mode)
        return tuple(self._equip(seat, wish) for seat in seated)

    def seats_of(self, agents: Sequence[AgentLike], mode: DebateModeStrategy | None) -> tuple[Seated, ...]:
        """Return the given agents for a debate in a mode, without tools and search; see `seat_agents`."""
        return seat_agents(agents, self.models.guard, self.catalog, mode)

    def _read_debate_search(self, search: SearchLike) -> SearchSetting:
        wish = read_search(search)
        if wish.service is not None:
            msg = f"search: the search service {wish.service!r} cannot be set for one debate"
            raise ConfigurationError(
                msg,
                hint="Use 'auto' or False for a debate; set a service for the table: Roundtable(search='brave').",
            )
        return wish

    def _equip(self, seat: Seated, wish: SearchSetting) -> Seated:
        if seat.agent is not None and seat.has_own_agent:
            return replace(seat, agent=self.tools.equip(seat.agent))
        if isinstance(seat.agent, BaseAgent):
            agent = seat.agent
        else:
            agent = self.agents.build(with_persona(seat.config, self.catalog.personas))
        agent = self._with_search(agent, wish)
        return replace(seat, config=agent.config, agent=self.tools.equip(agent), has_own_agent=False)

    def _with_search(self, agent: BaseAgent, wish: SearchSetting) -> BaseAgent:
        configured = self.options.providers.get(agent.config.provider)
        config, notes = seat_search(agent.config, agent.chat_model.profile.search, wish, configured)
        return agent if config is agent.config and not notes else agent.with_search_config(config, notes)

    def with_search(self, agent: Agent, search: SearchLike) -> Agent:
        """Return an agent of an earlier debate with the search setting of a new debate.

        The agent's earlier search setting is replaced by the table's configuration of this agent, if there is one. The
        new setting is then applied.

        Raises:
            ConfigurationError: `search` has the wrong type, or names a service.
        """
        if not isinstance(agent, BaseAgent):
            return agent
        configs = (config for config in self.options.agents or () if isinstance(config, AgentConfig))
        configured = next((config.search for config in configs if config.id == agent.id), None)
        reset = agent.with_search_config(agent.config.model_copy(update={"search": configured}))
        return self._with_search(reset, self._read_debate_search(search))

    async def aclose(self) -> None:
        """Release models and, if the table opened it, the storage.

        A cancellation waits until everything is released. All closers together have `_CLOSE_S` seconds; after that,
        each remaining closer still gets one second. A closer that does not end in time is given up.
        """
        if self.is_lent:
            return
        closers: list[Callable[[], Awaitable[None]]] = [model.aclose for model in self.models.pop_all()]
        factories = [getattr(entry.thing, "aclose", None) for entry in self.catalog.providers]
        closers += [close for close in factories if close is not None]
        closers += [self.watchers.aclose, *self.tools.closers()]
        if self._owns_storage:
            closers.append(self.storage.aclose)
        failure: Exception | None = None
        deadline = current_time() + _CLOSE_S
        for close in closers:
            try:
                with move_on_after(max(1.0, deadline - current_time()), shield=True) as closing:
                    await close()
                if closing.cancelled_caught:
                    logger.warning("%s did not close in time", getattr(close, "__qualname__", close))
            except Exception as error:  # noqa: BLE001  (if one closer fails, the others must still run)
                failure = failure or error
        if failure is not None:
            raise failure


def _is_storage(storage: object) -> bool:
    return storage is not None and not isinstance(storage, str)
