"""What a program that shows debates needs of a table, without `await`; base class of `roundtable.sync`'s."""

# Written by `tools/twins.py` from the asynchronous classes; change those.

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from roundtable.core.base.arguments import explains_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Literal

    from roundtable.api.files import ExportFormat
    from roundtable.api.offered import AgentOffer, ModeOffer
    from roundtable.api.options import ConverseOptions
    from roundtable.api.seats import AgentLike, Offer
    from roundtable.api.table import Roundtable
    from roundtable.core.base.portal import Portal
    from roundtable.core.protocols import DebateModeStrategy
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.agents import AgentConfig, AgentProfile, ProviderConfig
    from roundtable.core.types.base import NativeSearch
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.debate import DebateConfig, SessionRecord
    from roundtable.core.types.events import DurableEvent, RunningCalls
    from roundtable.core.types.request import DebateRequest
    from roundtable.core.types.teams import ChatMessage
    from roundtable.plugins import Catalog, PluginReport
    from roundtable.settings import Settings

__all__ = ["SyncFrontTable"]


@explains_arguments
class SyncFrontTable:
    """`FrontTable` without `await`; base class of `roundtable.sync.Roundtable`."""

    _portal: Portal
    _table: Roundtable

    @property
    def tenant(self) -> str:
        """Tenant that owns the table's sessions."""
        return self._table.tenant

    @property
    def settings(self) -> Settings:
        """The settings of the table."""
        return self._table.settings

    @property
    def catalog(self) -> Catalog:
        """What this table knows by name: modes, providers, rules, exporters and so on. Only read it."""
        return self._table.catalog

    @property
    def price_source(self) -> str:
        """The sources of the prices and their versions, such as `"stated, genai-prices 0.2.3"`."""
        return self._table.price_source

    @property
    def given_agents(self) -> tuple[AgentLike, ...] | None:
        """The agents that the table was created with; `None` if they are chosen from the environment."""
        return self._table.given_agents

    @property
    def provider_configs(self) -> Mapping[str, ProviderConfig]:
        """The configurations of providers, by name; those of named endpoints have a `kind`."""
        return self._table.provider_configs

    @property
    def native_search(self) -> NativeSearch | bool:
        """How agents use their providers' own web search; `False` if they don't."""
        return self._table.native_search

    def agents(self) -> tuple[AgentConfig, ...]:
        """Return the agents that debate if a debate names none."""
        return self._table.agents()

    def agent_offers(self) -> tuple[AgentOffer, ...]:
        """Return the agents of `agents()`, each with its model and, if it is not usable now, the reason."""
        return self._table.agent_offers()

    def modes(self) -> tuple[ModeOffer, ...]:
        """Return the debate modes, with the rounds, agents and options that each of them takes."""
        return self._table.modes()

    def providers(self) -> tuple[Offer, ...]:
        """Return the providers from which default agents are chosen, and what the others need to be usable."""
        return self._table.providers()

    def provider_names(self) -> frozenset[str]:
        """Return the names of all providers that debates of this table can use, those of given models included."""
        return self._table.provider_names()

    def default_rates(self) -> dict[str, float | None]:
        """Return the default limit of calls per minute of each agent's provider; `None` for no limit."""
        return self._table.default_rates()

    def plugin_reports(self) -> tuple[PluginReport, ...]:
        """Return a report on each installed plugin: what it adds, or why it failed to load."""
        return self._table.plugin_reports()

    def check_request(self, request: DebateRequest) -> None:
        """Check the rounds, mode, exit condition, rule and providers of a request for a debate."""
        self._portal.make(lambda: self._table.check_request(request))

    def check_prices(self, teams: Iterable[Sequence[AgentLike] | None], budget: Budget | None) -> None:
        """Check that the price of each model is known, if the budget or that of the table is in US dollars."""
        self._portal.call(lambda: self._table.check_prices(teams, budget))

    def mode_of(self, record: SessionRecord) -> DebateModeStrategy | None:
        """Return the mode of a stored session, for `DebateResult.from_record`; `None` if it is not known here."""
        return self._table.mode_of(record)

    def state(self, session_id: str) -> Fold:
        """Return the state of a session as its stored events tell it."""
        return self._portal.call(lambda: self._table.state(session_id))

    def events(self, session_id: str, *, after: int = 0) -> tuple[DurableEvent, ...]:
        """Return the stored events of a session in order."""
        return self._portal.call(lambda: self._table.events(session_id, after=after))

    def is_running(self, session_id: str) -> bool | None:
        """Return whether a session is running, in any process; `None` if the storage does not know."""
        return self._portal.call(lambda: self._table.is_running(session_id))

    def control(
        self,
        session_id: str,
        action: Literal["pause", "resume", "stop"],
        *,
        by: str | None = None,
        running: RunningCalls | None = None,
    ) -> None:
        """Store a request for the process that runs a session, and who made it."""
        self._portal.call(lambda: self._table.control(session_id, action, by=by, running=running))

    def export_parts(self, session_id: str, format: ExportFormat | str) -> Iterator[str | bytes]:
        """Return a stored session in a format, part by part; parts of binary formats are bytes."""
        return self._portal.call(lambda: self._table.export_parts(session_id, format))

    def team_config(
        self,
        agents: Sequence[str | AgentProfile],
        messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
        **options: Unpack[ConverseOptions],
    ) -> DebateConfig:
        """Return the configuration of a team's conversation, without any call; see `converse`."""
        return self._table.team_config(agents, messages, **options)

    def check_profiles(self) -> None:
        """Check that the profiles given to the table name only tools that exist."""
        self._portal.make(self._table.check_profiles)
