"""Everything a table is made of, put together on first use.

Loaded late: `import roundtable; roundtable.Roundtable` must not load the engine.
"""

from __future__ import annotations

import logging
from copy import copy
from typing import TYPE_CHECKING

from anyio import current_time, move_on_after

from roundtable.agents import AgentRegistry, BaseAgent
from roundtable.analysis import check_rule
from roundtable.api.analyzers import Helpers
from roundtable.api.checks import (
    check_deadline,
    check_list,
    check_name,
    check_providers,
    check_seconds,
    check_storage,
    check_text,
    check_whole,
    observing,
)
from roundtable.api.models import Models
from roundtable.api.profiles import know_profiles
from roundtable.api.seats import AgentLike, Seated, default_seats, offers, seat_agents, with_persona
from roundtable.api.tools import TableTools
from roundtable.engine import DebateEngine, EventHub, SessionManager
from roundtable.errors import ConfigurationError
from roundtable.exits import ExitSettings, members
from roundtable.http import shown_url
from roundtable.logs import ROOT
from roundtable.modes import ModeRegistry
from roundtable.plugins import load_plugins
from roundtable.plugins.using import make
from roundtable.plugins.watching import Watchers
from roundtable.providers import LocalProvider
from roundtable.scoring import Rule
from roundtable.settings import Settings
from roundtable.storage.locations import default_database
from roundtable.types import ProviderConfig
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from roundtable._registry import Entry
    from roundtable.agents import Synthesizer
    from roundtable.api.options import Options
    from roundtable.api.seats import Offer
    from roundtable.exits import Exit
    from roundtable.plugins import Catalog, LoadedPlugins
    from roundtable.protocols import Agent, ConsensusMeter, DebateModeStrategy, ExitCriterion, Storage
    from roundtable.providers import ProviderFactory
    from roundtable.types import AgentConfig, Budget, Event, JsonObject

__all__ = ["Wiring"]

logger: logging.Logger = logging.getLogger(f"{ROOT}.api")

_CLOSE_S = 15.0


class Wiring:
    """The objects behind one table."""

    is_lent: bool = False
    """Whether these are objects of another table, which releases them."""

    def __init__(self, options: Options) -> None:
        check_whole("concurrency", options.concurrency)
        check_seconds("timeout_s", options.timeout_s)
        check_deadline(options.turn_timeout_s, "turn_timeout_s")
        check_name("tenant", options.tenant)
        check_storage(options.storage)
        check_providers(options.providers)
        if options.quorum is not None:
            check_whole("quorum", options.quorum)
        check_list("observers", options.observers)
        self.options = options
        self.settings: Settings = options.settings or Settings.from_env()
        self.plugins: LoadedPlugins = load_plugins(options.plugins, self.settings)
        self.catalog: Catalog = know_profiles(options.profiles, self.plugins.catalog)
        for name in options.providers:
            self.catalog.providers.entry(name)  # settings for nobody would be lost without a word
        self.models: Models = Models(options, self.settings, self.catalog)
        self._own_storage = not _is_storage(options.storage)
        self.storage: Storage = self._open_storage(options.storage)
        self.sessions: SessionManager = SessionManager(self.storage, tenant=options.tenant)
        self.watchers: Watchers = Watchers(self.catalog.observers, self.settings)
        self._observers = tuple(self._hearing())
        self.hub: EventHub = EventHub(self._observers)
        self.agents: AgentRegistry = self._registry()
        self.tools: TableTools = TableTools(options.tools, self.catalog, self.settings, self.models.guarded)
        if self.tools.toolkit is not None:
            self.agents.set_toolkit(self.tools.toolkit)
        self.helpers: Helpers = Helpers(options.seats, self.catalog.analyzers, self.models, self.agents)
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
            hub=hub,
            rules=self.catalog.rules,
            exits=self.catalog.exits,
            exit_settings=ExitSettings.from_settings(self.settings),
            turn_timeout_s=self.options.turn_timeout_s,
            ledger=self.models.ledger,
        )

    def lend(self, options: Options) -> Wiring:
        """Give the same objects with the sessions of another tenant; nothing of it is released when it is closed.

        Args:
            options: Those of this table, but for the tenant and further observers.

        Raises:
            ConfigurationError: That is no name of a tenant, or no observer.
        """
        check_name("tenant", options.tenant)
        theirs = copy(self)
        theirs.options = options
        theirs.sessions = SessionManager(self.storage, tenant=options.tenant)
        # A hub of their own: in this one somebody could listen to a session whose id they came to know.
        more = [observing(given) for given in options.observers if not isinstance(given, str)]
        theirs.hub = EventHub((*self._observers, *more))
        theirs.engine = self._make_engine(theirs.sessions, theirs.hub)
        theirs.is_lent = True
        return theirs

    def _hearing(self) -> list[Callable[[Event], None]]:
        """Give what hears every event: what the caller names or brings, and what chosen plugins bring."""
        asked = [
            self.watchers.named(given) if isinstance(given, str) else observing(given)
            for given in self.options.observers
        ]
        return [*asked, *self.watchers.of_plugins()]

    def _open_storage(self, given: str | Storage | None) -> Storage:
        if given is not None and not isinstance(given, str):
            return given
        if given is None:
            return self._open_url(f"sqlite:///{default_database(self.settings)}")
        return self._open_url(given)

    def _open_url(self, url: str) -> Storage:
        scheme, colon, _ = url.partition(":")
        if not colon:
            msg = f"{shown_url(url)!r} is no storage address"
            raise ConfigurationError(msg, hint="Use 'memory://' or 'sqlite:///path/to/file.db'.")
        return make("storage", self.catalog.storages.entry(scheme), url)

    def _registry(self) -> AgentRegistry:
        registry = AgentRegistry()
        for entry in self.catalog.providers:
            self._register_provider(registry, entry)
        registry.find_with(lambda name: self._register_provider(registry, self.catalog.providers.entry(name), name))
        return registry

    def _register_provider(
        self, registry: AgentRegistry, entry: Entry[ProviderFactory], name: str | None = None
    ) -> None:
        own = self.options.providers.get(name or entry.name) or ProviderConfig()
        spec = getattr(entry.thing, "spec", None)
        registry.register_provider(
            name or entry.name,
            self._agent_factory(),
            own.model or getattr(spec, "default_model", None),
            own.light_model or getattr(spec, "light_model", None),
        )

    def _agent_factory(self) -> Callable[[AgentConfig], BaseAgent]:
        models = self.models
        return lambda config: BaseAgent(
            config, models.guarded(models.get(config.provider, config.model), retry=config.retry)
        )

    def meter(self, configs: Sequence[AgentConfig], budget: Budget | None) -> ConsensusMeter:
        """Give what measures a debate of these agents.

        Raises:
            ConfigurationError: There is no such analyzer, or the model named for it cannot be made.
        """
        return self.helpers.meter(self.options.analyzer, configs, capped=self._is_capped(budget))

    def writer(
        self,
        configs: Sequence[AgentConfig],
        agents: Mapping[str, Agent],
        budget: Budget | None,
        *,
        by: str | None = None,
    ) -> Synthesizer:
        """Give what puts a debate of these agents together.

        Raises:
            ConfigurationError: Nobody can, or the model named for it cannot be made.
        """
        return self.helpers.writer(configs, agents, capped=self._is_capped(budget), by=by)

    def _is_capped(self, budget: Budget | None) -> bool:
        limits = (budget, self.options.budget)
        return any(limit is not None and limit.max_cost_usd is not None for limit in limits)

    def rule_name(self, decide: str | Rule) -> str:
        """Give the name under which a debate keeps its decision rule; a rule of the caller's is known from now on.

        Raises:
            ConfigurationError: There is no such rule, it cannot work with its parameters, or another one has this name.
        """
        rules = self.catalog.rules
        if not isinstance(decide, Rule):
            check_text("decide", decide)
        if decide in JUDGED:
            return str(decide)
        check_rule(decide, rules)
        if not isinstance(decide, Rule):
            return decide
        known = rules.get(decide.name) if decide.name in rules else None
        if known is None:
            rules.add(decide.name, decide, summary=decide.summary, source="this table")
        elif known != decide:
            msg = f"decide: this table knows another rule named {decide.name!r}"
            raise ConfigurationError(msg, hint="Give your rule a name of its own.")
        return decide.name

    def exit_spec(self, exit_when: ExitCriterion) -> JsonObject:
        """Give a stop criterion as JSON; kinds of the caller's are known from now on.

        Raises:
            ConfigurationError: It is no criterion, has no kind, or the kind of another one.
        """
        if not callable(getattr(exit_when, "to_spec", None)):
            msg = f"exit_when must be an exit such as MaxRounds(3), not {exit_when!r}"
            raise ConfigurationError(msg)
        for member in members(exit_when):
            self._know_exit(member)
        return exit_when.to_spec()

    def _know_exit(self, member: Exit) -> None:
        kind, own, exits = member.kind, type(member), self.catalog.exits
        if not kind:
            msg = f"exit_when: {own.__name__} has no kind, under which a session keeps it"
            raise ConfigurationError(msg, hint=f'Write `kind = "..."` in the class {own.__name__}.')
        if kind not in exits:
            exits.add(kind, member.from_spec, source="this table")
        elif getattr(exits.get(kind), "__self__", own) is not own:
            msg = f"exit_when: {own.__name__} has the kind of another exit, {kind!r}"
            raise ConfigurationError(msg, hint="Give your exit a kind of its own; sessions are stored with it.")

    def offers(self) -> tuple[Offer, ...]:
        """List what the environment offers."""
        fix = None if LocalProvider.is_installed() else "install it with: pip install 'roundtable-sdk[local]'"
        return offers(self.settings, self.catalog.providers, embedded=fix)

    def seats(self, given: Sequence[AgentLike] | None, mode: DebateModeStrategy | None = None) -> tuple[Seated, ...]:
        """Give the agents of one debate; the table's, or what the environment offers, when none are given.

        Raises:
            ConfigurationError: There is no model to debate with, or an agent cannot be made.
        """
        chosen = given if given is not None else self.options.agents
        if chosen is None:
            seated = default_seats(self.settings, self.offers(), mode)
        else:
            seated = seat_agents(chosen, self.models.guarded, mode)
        return tuple(self._equipped(seat) for seat in seated)

    def _equipped(self, seat: Seated) -> Seated:
        if seat.agent is not None:
            return Seated(seat.config, self.tools.equip(seat.agent))
        config = with_persona(seat.config, self.catalog.personas)
        return Seated(config, self.agents.build(config))

    async def aclose(self) -> None:
        """Release models and, where the table opened it, the storage.

        A cancellation waits until all is released. What takes longer than `_CLOSE_S` in all is left to itself, with a
        second for each that comes after it.
        """
        if self.is_lent:
            return
        closers: list[Callable[[], Awaitable[None]]] = [model.aclose for model in self.models.take()]
        factories = [getattr(entry.thing, "aclose", None) for entry in self.catalog.providers]
        closers += [close for close in factories if close is not None]
        closers += [self.watchers.aclose, *self.tools.closers()]
        if self._own_storage:
            closers.append(self.storage.aclose)
        failure: Exception | None = None
        ends = current_time() + _CLOSE_S
        for close in closers:
            try:
                with move_on_after(max(1.0, ends - current_time()), shield=True) as closing:
                    await close()
                if closing.cancelled_caught:
                    logger.warning("%s did not end in time", getattr(close, "__qualname__", close))
            except Exception as error:  # noqa: BLE001  (one that cannot be closed must not keep the others open)
                failure = failure or error
        if failure is not None:
            raise failure


def _is_storage(given: object) -> bool:
    return given is not None and not isinstance(given, str)
