"""What a program that serves or shows debates needs of a table: what it offers, and its sessions as they run."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, Unpack

from roundtable.api.checks import check_rounds
from roundtable.core.base.arguments import explains_arguments
from roundtable.core.errors import ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from roundtable.api.assembly import TableParts
    from roundtable.api.debates import Debates
    from roundtable.api.files import ExportFormat
    from roundtable.api.offered import AgentOffer, ModeOffer
    from roundtable.api.options import ConverseOptions, DebateOptions
    from roundtable.api.seats import AgentLike, Offer
    from roundtable.core.capabilities import KeyValue
    from roundtable.core.engine.events import LogReader
    from roundtable.core.protocols import Agent, DebateModeStrategy, Storage
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.agents import AgentConfig, AgentProfile, ProviderConfig
    from roundtable.core.types.base import NativeSearch
    from roundtable.core.types.budget import Budget, Estimate
    from roundtable.core.types.debate import DebateConfig, SessionRecord
    from roundtable.core.types.events import DurableEvent, RunningCalls
    from roundtable.core.types.request import DebateRequest
    from roundtable.core.types.teams import ChatMessage
    from roundtable.engine import Subscription
    from roundtable.gateway import Gateway
    from roundtable.plugins import Catalog, PluginReport
    from roundtable.settings import Settings
    from roundtable.tools import Approver

__all__ = ["FrontTable"]

logger: logging.Logger = logging.getLogger("roundtable.api")


@explains_arguments
class FrontTable(ABC):
    """What programs that serve or show debates need, such as a server or a chat bot; base class of `Roundtable`.

    Example:
        >>> import anyio
        >>> from roundtable.api import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> table = Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://")
        >>> [agent.name for agent in table.agents()]
        ['Ada', 'Bo']
        >>> async def main():
        ...     result = await table.debate("Tea or coffee?", rounds=1)
        ...     events = await table.events(result.session_id)
        ...     return events[0].type, await table.is_running(result.session_id)
        >>> anyio.run(main)
        ('debate_start', False)
    """

    @property
    @abstractmethod
    def _wiring(self) -> TableParts:
        """The objects behind the table."""

    @property
    @abstractmethod
    def _debates(self) -> Debates:
        """The object that creates, runs and continues debates."""

    @property
    def tenant(self) -> str:
        """Tenant that owns the table's sessions."""
        return self._wiring.options.tenant

    @property
    def settings(self) -> Settings:
        """The settings of the table."""
        return self._wiring.settings

    @property
    def storage(self) -> Storage:
        """Where the sessions of all tenants are stored: to read one of them, name `tenant=table.tenant`."""
        return self._wiring.storage

    @property
    def catalog(self) -> Catalog:
        """What this table knows by name: modes, providers, rules, exporters and so on. Only read it."""
        return self._wiring.catalog

    @property
    def gateway(self) -> Gateway:
        """What all model calls of this table go through; it knows the state of each endpoint that was called."""
        return self._wiring.models.gateway

    @property
    def price_source(self) -> str:
        """The sources of the prices and their versions, such as `"stated, genai-prices 0.2.3"`."""
        return self._wiring.models.prices.source

    @property
    def given_agents(self) -> tuple[AgentLike, ...] | None:
        """The agents that the table was created with; `None` if they are chosen from the environment."""
        agents = self._wiring.options.agents
        return None if agents is None else tuple(agents)

    @property
    def provider_configs(self) -> Mapping[str, ProviderConfig]:
        """The configurations of providers, by name; those of named endpoints have a `kind`."""
        return self._wiring.options.providers

    @property
    def approver(self) -> Approver | None:
        """The function that decides about tool calls; `None` if no approval is needed."""
        return self._wiring.options.approve_tools

    @property
    def native_search(self) -> NativeSearch | bool:
        """How agents use their providers' own web search; `False` if they don't."""
        return self._wiring.search.native

    def agents(self) -> tuple[AgentConfig, ...]:
        """Return the agents that debate if a debate names none.

        Raises:
            ConfigurationError: No model is available, or an agent cannot be created.
        """
        return tuple(seat.config for seat in self._wiring.seats(None))

    def agent_offers(self) -> tuple[AgentOffer, ...]:
        """Return the agents of `agents()`, each with its model and, if it is not usable now, the reason.

        Raises:
            ConfigurationError: No model is available, or an agent cannot be created.
        """
        from roundtable.api.offered import offered_agents

        return offered_agents(self._wiring)

    def modes(self) -> tuple[ModeOffer, ...]:
        """Return the debate modes, with the rounds, agents and options that each of them takes."""
        from roundtable.api.offered import offered_modes

        return offered_modes(self.catalog, self.settings.max_rounds)

    def providers(self) -> tuple[Offer, ...]:
        """Return the providers from which default agents are chosen, and what the others need to be usable."""
        return self._wiring.offers()

    def provider_names(self) -> frozenset[str]:
        """Return the names of all providers that debates of this table can use, those of given models included."""
        of_models = self._wiring.options.provider_names(None) - {""}
        return frozenset({*self.catalog.providers.names(), *of_models, "callable"})

    def default_rates(self) -> dict[str, float | None]:
        """Return the default limit of calls per minute of each agent's provider; `None` for no limit.

        It counts until the provider's answers state a limit.

        Raises:
            ConfigurationError: No model is available, or an agent cannot be created.
        """
        from roundtable.gateway.default_rates import default_rate_of

        seats = self._wiring.seats(None)
        return {seat.config.provider: default_rate_of(getattr(seat.agent, "chat_model", None)) for seat in seats}

    def plugin_reports(self) -> tuple[PluginReport, ...]:
        """Return a report on each installed plugin: what it adds, or why it failed to load."""
        return self._wiring.plugins.reports()

    def key_value(self, purpose: str) -> KeyValue:
        """Return the key-value store of the storage.

        Args:
            purpose: What is kept there, for the error message, such as `"limits"`.

        Raises:
            ConfigurationError: The storage has no key-value store.
        """
        from roundtable.storage.key_values import key_values_of

        return key_values_of(self.storage, purpose)

    def check_request(self, request: DebateRequest) -> None:
        """Check the rounds, mode, exit condition, rule and providers of a request for a debate.

        Keys and models are not checked, so that a debate can be requested where they are missing.

        Raises:
            ConfigurationError: A debate with these options would be refused.
        """
        from roundtable.providers import split_model_name

        wiring = self._wiring
        check_rounds(request.rounds, wiring.settings.max_rounds)
        wiring.engine.modes.get_mode(request.mode)
        if request.exit_when is not None:
            wiring.exit_spec(request.exit_when)
        if request.decide is not None:
            wiring.rule_name(request.decide, vote=bool(request.vote) or request.options is None)
        for agent in request.agents or ():
            wiring.agents.get_default_model(split_model_name(agent)[0])

    async def check_prices(self, teams: Iterable[Sequence[AgentLike] | None], budget: Budget | None) -> None:
        """Check that the price of each model is known, if the budget or that of the table is in US dollars.

        A team with an agent that cannot be created here, for example without a key, is not checked.

        Args:
            teams: The agents of each debate; `None` for the agents of the table.
            budget: Budget of the debates.

        Raises:
            ConfigurationError: A model has no price; the message names all such models.
        """
        models = self._wiring.models
        if not models.limits_cost(budget):
            return
        agents: list[Agent] = []
        for team in teams:
            try:
                agents += [seat.agent for seat in self._wiring.seats(team) if seat.agent is not None]
            except RoundtableError as error:
                logger.debug("the prices of %s are not checked: %s", team, error.message)
        if agents:
            from anyio import to_thread

            # Reading the list of prices takes about a second the first time.
            await to_thread.run_sync(models.check_prices, agents, budget)

    def mode_of(self, record: SessionRecord) -> DebateModeStrategy | None:
        """Return the mode of a stored session, for `DebateResult.from_record`; `None` if it is not known here.

        Args:
            record: The session, such as `record` of what `state` returns.
        """
        return self._debates.mode_of(record)

    async def state(self, session_id: str) -> Fold:
        """Return the state of a session as its stored events tell it.

        Raises:
            SessionNotFound: No session of this tenant has this id.
            StorageError: The session could not be read.
        """
        return await self._wiring.sessions.load(session_id)

    async def events(self, session_id: str, *, after: int = 0) -> tuple[DurableEvent, ...]:
        """Return the stored events of a session in order.

        Args:
            session_id: Id of the session.
            after: Number of an event; only events with higher numbers are read.

        Raises:
            SessionNotFound: No session of this tenant has this id.
            StorageError: The session could not be read.
        """
        _, events = await self.storage.read(session_id, after, tenant=self.tenant)
        return events

    def subscribe(
        self,
        session_id: str,
        *,
        after: int = 0,
        catch_up: bool = True,
        pieces: bool = True,
        read: LogReader | None = None,
    ) -> Subscription:
        """Follow a session across its runs; `watch` is simpler if you only want the events until a run ends.

        Enter it with `with`, and await `take(seconds)` for the next event; `None` means that none came in this time.
        Every stored event comes once and in order, live events only from runs in this process. A storage that sends no
        notices is read again after `fall_behind()`. The first `take` raises `SessionNotFound` for an unknown id.

        Args:
            session_id: Id of the session.
            after: Number of a stored event; the subscription begins with the next one.
            catch_up: Whether events that are stored already are read first. Live events are dropped until then, so set
                it to `False` if you subscribe before the session runs.
            pieces: Whether you want pieces of answers as well. If nobody wants them, models do not stream.
            read: Reads the stored events, for example once for many followers; the storage when left out.
        """
        subscription = self._wiring.hub.subscribe(
            session_id, self.storage, after=after, tenant=self.tenant, pieces=pieces, read=read
        )
        if catch_up:
            subscription.fall_behind()
        return subscription

    async def is_running(self, session_id: str) -> bool | None:
        """Return whether a session is running, in any process; `None` if the storage does not know.

        Raises:
            SessionNotFound: No session of this tenant has this id; not raised if the storage does not know.
            StorageError: The session could not be read.
        """
        return await self._wiring.sessions.is_run(session_id)

    async def control(
        self,
        session_id: str,
        action: Literal["pause", "resume", "stop"],
        *,
        by: str | None = None,
        running: RunningCalls | None = None,
    ) -> None:
        """Store a request for the process that runs a session, and who made it.

        Nothing else happens if the session is not running; `pause` and `stop` then carry the request out themselves.

        Args:
            session_id: Id of the session.
            action: What is requested.
            by: Who requests it.
            running: What happens to calls in progress: they finish (`"settle"`), or are cancelled (`"cancel"`).

        Raises:
            ConfigurationError: The action is unknown.
            SessionError: The session is unknown, or its state does not allow the request.
            StorageError: The request could not be stored.
        """
        if action not in {"pause", "resume", "stop"}:
            raise ConfigurationError(f"action must be 'pause', 'resume' or 'stop', not {action!r}")
        await self._wiring.sessions.control(session_id, action, by=by, running=running)

    async def export_parts(self, session_id: str, format: ExportFormat | str) -> Iterator[str | bytes]:
        """Return a stored session in a format, part by part; parts of binary formats are bytes.

        The parts are made on demand, which takes time for a long session: iterate on a thread. No model is called.

        Args:
            session_id: Which session.
            format: As for `export`.

        Raises:
            SessionNotFound: No session has this id.
            ConfigurationError: The format is unknown.
            PluginError: The exporter of a plugin failed; raised while you iterate.
            StorageError: The session could not be read.
        """
        from roundtable.api.files import parts_of

        return await parts_of(self._wiring, self._debates, session_id, format)

    async def estimate_aside(
        self, topic: str, *, most_calls: int | None = None, **options: Unpack[DebateOptions]
    ) -> Estimate:
        """Return what `estimate` returns, but made on a thread, so that the event loop goes on meanwhile.

        Args:
            topic: The question.
            most_calls: Largest number of calls that the debate may need.
            options: As for `debate`.

        Raises:
            ConfigurationError: As for `estimate`; or the estimate takes more than ten seconds, which may succeed later
                (`retryable`), because the time depends on the load of the machine.
        """
        return await self._debates.estimate_aside(topic, most_calls=most_calls, **options)

    def team_config(
        self,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateConfig:
        """Return the configuration of a team's conversation, without any call; see `converse`.

        Raises:
            ConfigurationError: An argument is not valid.
        """
        from roundtable.api.teams import resolve_team

        return resolve_team(self._wiring, agents, messages, **options).config

    def check_profiles(self) -> None:
        """Check that the profiles given to the table name only tools that exist.

        The names of tools that connect first, such as those of an MCP server, are checked when a conversation begins.

        Raises:
            ConfigurationError: A profile names an unknown tool; the message says which.
        """
        from roundtable.api.teams import check_profiles

        check_profiles(self._wiring)
