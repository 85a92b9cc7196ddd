"""The toolkit: tools by name, bound to one turn at a time, with results shared within a round."""

from __future__ import annotations

import copy
import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio import Event

from roundtable.errors import ConfigurationError
from roundtable.tools.arguments import misfits
from roundtable.tools.calling import call_tool
from roundtable.tools.definition import check_tool_name
from roundtable.tools.evidence import FactCheck, PerplexitySearch, SearchWeb
from roundtable.tools.results import failed
from roundtable.tools.standard import GetContext, SubmitResponse
from roundtable.tools.turn import AsksModels, ToolTurn, TurnTool
from roundtable.types.base import utc_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from datetime import datetime

    from roundtable.protocols import AgentToolkit, ChatModel, Tool
    from roundtable.tools.sources import PerplexitySearchProvider, SessionDataProvider, WebSearchProvider
    from roundtable.tools.turn import ModelAsk
    from roundtable.types import AgentTool, DebateContext, JsonObject, ToolResult

__all__ = ["DefaultAgentToolkit", "ToolOutcome", "bound", "create_default_toolkit"]

_KEPT_SESSIONS: Final = 256


class ToolOutcome(NamedTuple):
    """A tool call with its figures."""

    result: ToolResult
    """What the tool gave."""
    cached: bool
    """Whether another call of the round had given it."""
    started_at: datetime
    """When the call began."""
    duration_s: float
    """Seconds it took."""


class DefaultAgentToolkit:
    """Tools by name. One toolkit serves any number of debates at once: what belongs to a turn stays with its turn.

    The toolkit has the tools of the TypeScript API that need nothing, and those whose providers are given.

    Args:
        web_search_provider: Where `search_web` and `fact_check` search; without one there is no `search_web`.
        session_data_provider: Who knows what was said; without one `fact_check` looks at what the turn shows.
        perplexity_search_provider: Who answers `perplexity_search`; without one there is no such tool.
        standard: Whether to have those tools; off for a toolkit that begins empty.

    Example:
        >>> import anyio
        >>> toolkit = DefaultAgentToolkit()
        >>> [tool.name for tool in toolkit.get_tools()]
        ['get_context', 'submit_response', 'fact_check']
        >>> anyio.run(toolkit.execute_tool, "no_such_tool", {}).error
        'Tool not found: no_such_tool'
    """

    def __init__(
        self,
        web_search_provider: WebSearchProvider | None = None,
        session_data_provider: SessionDataProvider | None = None,
        perplexity_search_provider: PerplexitySearchProvider | None = None,
        *,
        standard: bool = True,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._toolkits: list[AgentToolkit] = []
        self._shared = _Shared()
        self._turn: ToolTurn | None = None
        self._guard: Callable[[ChatModel], ChatModel] | None = None
        if not standard:
            return
        self.register_tool(GetContext())
        self.register_tool(SubmitResponse())
        if web_search_provider is not None:
            self.register_tool(SearchWeb(web_search_provider))
        self.register_tool(FactCheck(web_search_provider, session_data_provider))
        if perplexity_search_provider is not None:
            self.register_tool(PerplexitySearch(perplexity_search_provider))

    def set_context(self, context: DebateContext) -> None:
        """Say what tools that look at the debate see, where the toolkit is used by itself.

        In a debate each turn has a toolkit of its own, from `for_turn`.
        """
        self._turn = ToolTurn(context)

    def register_tool(self, definition: Tool) -> None:
        """Add a tool, such as a `ToolDefinition`.

        Raises:
            ConfigurationError: Its name is taken, or is none that every provider takes.
        """
        name = definition.definition.name
        check_tool_name(name)
        if name in self._tools:
            msg = f"there are two tools named {name!r}"
            raise ConfigurationError(msg, hint="Give one of them another name.")
        self._tools[name] = definition

    def include(self, toolkit: AgentToolkit) -> None:
        """Offer the tools of another toolkit too, whatever they are at the time; tools of one's own come first."""
        self._toolkits.append(toolkit)

    def over(self, guard: Callable[[ChatModel], ChatModel]) -> DefaultAgentToolkit:
        """Give this toolkit with something round the models that its tools ask by way of their turn."""
        own = copy.copy(self)
        own._guard = guard  # noqa: SLF001  (its own class)
        return own

    def asks(self, allow: Collection[str] | None = None) -> tuple[tuple[ModelAsk, ...], ...]:
        """Give, for each tool that asks models, the calls that one call of it makes at most.

        Args:
            allow: Names of tools that count; all when left out.
        """
        wanted = [tool for name, tool in self._tools.items() if allow is None or name in allow]
        own = [tool.asks() for tool in wanted if isinstance(tool, AsksModels)]
        guard = self._guard
        guarded = (tuple(ask if guard is None else ask._replace(model=guard(ask.model)) for ask in one) for one in own)
        others = (one.over(guard) if guard else one for one in self._toolkits if isinstance(one, DefaultAgentToolkit))
        return (*(one for one in guarded if one), *(one for other in others for one in other.asks(allow)))

    def for_turn(self, context: DebateContext) -> DefaultAgentToolkit:
        """Give the toolkit of one turn: the same tools, in a state of its own."""
        own = copy.copy(self)
        own._turn = ToolTurn(context, guard=self._guard)  # noqa: SLF001  (its own class)
        return own

    @property
    def turn(self) -> ToolTurn | None:
        """The turn it is bound to, with what its tools left behind there."""
        return self._turn

    def get_tools(self) -> tuple[AgentTool, ...]:
        """List the tools; of a turn's toolkit, those the turn has a use for."""
        return tuple(tool.definition for tool in self._offered().values())

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        """Run one; an unknown name, arguments that do not fit, a fault and a timeout are results, never raised."""
        return (await self.call(name, tool_input)).result

    async def call(self, name: str, tool_input: JsonObject) -> ToolOutcome:
        """Run one, and give the figures of the call as well."""
        began, started_at, cached = time.monotonic(), utc_now(), False
        tool = self._offered().get(name)
        if tool is None:
            result = failed(f"Tool not found: {_shown(name)}")
        elif fault := misfits(tool_input, tool.definition.parameters):
            result = failed(f"the arguments do not fit: {fault}")
        elif self._turn is not None and getattr(tool, "cached", False):
            place = self._turn.context.session_id, self._turn.context.current_round
            key = name, json.dumps(tool_input, sort_keys=True)
            result, cached = await self._shared.once(place, key, lambda: call_tool(tool, tool_input))
        else:
            result = await call_tool(tool, tool_input)
        return ToolOutcome(result, cached, started_at, time.monotonic() - began)

    def _offered(self) -> dict[str, Tool]:
        tools = self._known()
        if self._turn is None:
            return tools
        own = {name: tool.for_turn(self._turn) if isinstance(tool, TurnTool) else tool for name, tool in tools.items()}
        return {name: tool for name, tool in own.items() if tool is not None}

    def _known(self) -> dict[str, Tool]:
        """Give all tools, bound to no turn; those of a toolkit like this one are its own, with all they can do."""
        tools: dict[str, Tool] = {}
        for toolkit in self._toolkits:
            if isinstance(toolkit, DefaultAgentToolkit):
                tools.update(toolkit._known())  # noqa: SLF001  (its own class)
            else:
                tools.update((offered.name, _Foreign(offered, toolkit)) for offered in toolkit.get_tools())
        return {**self._tools, **{name: tool for name, tool in tools.items() if name not in self._tools}}


def create_default_toolkit(
    web_search_provider: WebSearchProvider | None = None,
    session_data_provider: SessionDataProvider | None = None,
    perplexity_search_provider: PerplexitySearchProvider | None = None,
) -> DefaultAgentToolkit:
    """Make a toolkit with the tools of the TypeScript API; see `DefaultAgentToolkit`."""
    return DefaultAgentToolkit(web_search_provider, session_data_provider, perplexity_search_provider)


def bound(toolkit: AgentToolkit, context: DebateContext) -> DefaultAgentToolkit:
    """Give the toolkit of one turn; tools of a foreign kind of toolkit get the same limits as ours."""
    if isinstance(toolkit, DefaultAgentToolkit):
        return toolkit.for_turn(context)
    adopted = DefaultAgentToolkit(standard=False)
    adopted.include(toolkit)
    return adopted.for_turn(context)


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A tool of a toolkit that somebody else wrote."""

    definition: AgentTool
    toolkit: AgentToolkit

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Run it."""
        return await self.toolkit.execute_tool(self.definition.name, tool_input)


class _Flight:
    """One execution that others may wait for."""

    def __init__(self) -> None:
        self.landed = Event()
        self.result: ToolResult | None = None


class _Shared:
    """Results of the latest round of each debate, so that the same call by two agents is carried out once."""

    def __init__(self) -> None:
        self._rounds: OrderedDict[str, tuple[int, dict[tuple[str, str], _Flight]]] = OrderedDict()

    async def once(
        self, place: tuple[str, int], key: tuple[str, str], run: Callable[[], Awaitable[ToolResult]]
    ) -> tuple[ToolResult, bool]:
        """Give the result of a call, and whether another one had made it. A failure is not kept."""
        flights = self._flights(*place)
        while (flight := flights.get(key)) is not None:
            await flight.landed.wait()
            if flight.result is not None:
                return flight.result, True
        flight = flights[key] = _Flight()
        try:
            flight.result = await run()
        finally:
            # Whoever waits for one that was cancelled makes the call itself.
            if flight.result is None or not flight.result.success:
                del flights[key]
            flight.landed.set()
        return flight.result, False

    def _flights(self, session_id: str, number: int) -> dict[tuple[str, str], _Flight]:
        held = self._rounds.pop(session_id, None)
        flights = held[1] if held is not None and held[0] == number else {}
        self._rounds[session_id] = number, flights
        while len(self._rounds) > _KEPT_SESSIONS:
            self._rounds.popitem(last=False)
        return flights


def _shown(name: str) -> str:
    """Give a name that a model made up, fit for a message."""
    return "".join(char if char.isprintable() else "?" for char in name[:80])
