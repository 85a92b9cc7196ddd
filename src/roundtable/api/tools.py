"""The tools of a table: from what the caller wrote to one toolkit for all its agents."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeGuard

from roundtable.api.checks import check_list
from roundtable.errors import ConfigurationError
from roundtable.plugins.using import make
from roundtable.protocols import Agent, AgentToolkit, Prepares, Tool
from roundtable.tools import DefaultAgentToolkit, FactCheck, SearchWeb, tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from roundtable.plugins import Catalog
    from roundtable.protocols import ChatModel
    from roundtable.settings import Settings

__all__ = ["TableTools", "ToolLike"]

ToolLike: TypeAlias = "str | Callable[..., object] | Tool | AgentToolkit"
"""How a tool may be given: its registered name, a typed function, a tool, or a toolkit with several.

`"search_web:NAME"` searches through the search provider of this name, and `"fact_check:NAME"` looks there too.
"""

_SEARCHING: Final = {"search_web": SearchWeb, "fact_check": FactCheck}


class _Equipped(Agent, Protocol):
    toolkit: AgentToolkit | None

    def set_toolkit(self, toolkit: AgentToolkit | None) -> None:
        """Offer tools."""


class TableTools:
    """What the agents of one table can do besides speaking.

    Args:
        given: Tools, as the caller wrote them.
        catalog: Tools and search providers by name.
        settings: Where search providers find their keys.
        guard: Puts models that tools ask behind the limits of the table.

    Raises:
        ConfigurationError: There is no such tool, something is none, or two have one name.
    """

    def __init__(
        self,
        given: Sequence[ToolLike],
        catalog: Catalog,
        settings: Settings,
        guard: Callable[[ChatModel], ChatModel],
    ) -> None:
        check_list("tools", given)
        self._catalog = catalog
        self._settings = settings
        self._things: list[object] = [self._named(one) if isinstance(one, str) else one for one in given]
        self.toolkit: DefaultAgentToolkit | None = None
        """The toolkit; `None` where the table has no tools."""
        self._guard = guard
        if self._things:
            self.toolkit = DefaultAgentToolkit(standard=False).over(guard)
        for one in self._things:
            _add(self.toolkit or DefaultAgentToolkit(standard=False), one)

    def _named(self, name: str) -> object:
        kind, colon, service = name.partition(":")
        if colon and kind in _SEARCHING:
            known, _, rest = service.partition(":")
            entry = self._catalog.search_providers.entry(known.strip())
            return _SEARCHING[kind](make("search provider", entry, rest.strip(), self._settings))
        return make("tool", self._catalog.tools.entry(name))

    async def prepare(self) -> None:
        """Let tools that have something to fetch or to connect do so, before the first debate; idempotent."""
        for one in self._things:
            if isinstance(one, Prepares):
                await one.prepare()
        named = [tool.name for one in self._things if _is_toolkit(one) for tool in one.get_tools()]
        named += [one.definition.name for one in self._things if _is_tool(one)]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            msg = f"there are two tools named {twice[0]!r}"
            raise ConfigurationError(msg, hint="Name one of them otherwise, such as from_mcp(..., prefix='files_').")

    def closers(self) -> list[Callable[[], Awaitable[None]]]:
        """Give what releases tools that hold something."""
        closers = (getattr(one, "aclose", None) for one in self._things)
        return [close for close in closers if close is not None]

    def equip(self, agent: Agent) -> Agent:
        """Give the agent with the table's tools, on a copy; one that has tools of its own keeps those."""
        if not _takes_tools(agent):
            return agent
        own = agent.toolkit
        toolkit = own.over(self._guard) if isinstance(own, DefaultAgentToolkit) else own or self.toolkit
        if toolkit is own:
            return agent
        double = copy.copy(agent)
        double.set_toolkit(toolkit)
        return double


def _add(toolkit: DefaultAgentToolkit, given: object) -> None:
    if _is_toolkit(given):
        toolkit.include(given)
    elif _is_tool(given):
        toolkit.register_tool(given)
    elif callable(given) and not isinstance(given, type):
        toolkit.register_tool(tool(given))
    else:
        msg = f"every one of tools must be a name, a typed function, a tool or a toolkit, not {given!r:.80}"
        raise ConfigurationError(msg, hint="Write tools=[my_function], or tools=['fact_check'].")


def _is_toolkit(given: object) -> TypeGuard[AgentToolkit]:
    return callable(getattr(given, "get_tools", None)) and callable(getattr(given, "execute_tool", None))


def _is_tool(given: object) -> TypeGuard[Tool]:
    return hasattr(given, "definition") and callable(getattr(given, "run", None)) and not isinstance(given, type)


def _takes_tools(agent: Agent) -> TypeGuard[_Equipped]:
    return callable(getattr(agent, "set_toolkit", None)) and hasattr(agent, "toolkit")
