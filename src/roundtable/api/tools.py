"""The tools of a table: one toolkit for all its agents, made from the tools that the caller passed."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeGuard

from roundtable.api.checks import check_list
from roundtable.core.capabilities import Prepares
from roundtable.core.errors import ConfigurationError
from roundtable.core.protocols import Agent, AgentToolkit, Tool
from roundtable.plugins.errors import make
from roundtable.tools import AskingToolkit, DefaultAgentToolkit, FactCheck, FunctionTool, SearchWeb, tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from roundtable.core.protocols import ChatModel
    from roundtable.plugins import Catalog
    from roundtable.settings import Settings
    from roundtable.tools.approval import Approver

__all__ = ["TableTools", "ToolLike", "with_service"]

ToolLike: TypeAlias = "str | Callable[..., object] | Tool | AgentToolkit"
"""The forms in which callers pass a tool: a registered name, a typed function, a tool, or a toolkit of several tools.

`"search_web:NAME"` and `"fact_check:NAME"` search through the search provider of this name.
"""

_SEARCH_TOOLS: Final = {"search_web": SearchWeb, "fact_check": FactCheck}
_BUILT_IN: Final = frozenset({"get_context", "request_context"})
"""Built-in tools that access only the debate and its caller, so that every table can add them to a session."""


class _AgentWithTools(Agent, Protocol):
    toolkit: AgentToolkit | None

    def set_toolkit(self, toolkit: AgentToolkit | None) -> None:
        """Replace the tools."""


class TableTools:
    """The tools of one table's agents.

    Args:
        tools: Tools, as the caller passed them; see `ToolLike`.
        catalog: Tools and search providers by name.
        settings: Where search providers find their keys.
        guard: Wraps models that tools call, so that the limits of the table apply.
        dependencies: The caller's own object for tools with a `ToolContext`.
        approve: Decides about each tool call.

    Raises:
        ConfigurationError: A tool is unknown, an entry is not a tool, or two tools have the same name.
    """

    def __init__(
        self,
        tools: Sequence[object],
        catalog: Catalog,
        settings: Settings,
        guard: Callable[[ChatModel], ChatModel],
        *,
        dependencies: object = None,
        approve: Approver | None = None,
    ) -> None:
        check_list("tools", tools)
        if approve is not None and not callable(approve):
            raise ConfigurationError(f"approve_tools must be a function, not {approve!r:.80}")
        self._catalog = catalog
        self._settings = settings
        self._tools: list[object] = [self._find(item) if isinstance(item, str) else item for item in tools]
        self.toolkit: DefaultAgentToolkit | None = None
        """The toolkit; `None` if the table has no tools."""
        self._guard = guard
        self._dependencies = dependencies
        self._approve = approve
        self._make = partial(
            TableTools, catalog=catalog, settings=settings, guard=guard, dependencies=dependencies, approve=approve
        )
        if self._tools:
            toolkit = DefaultAgentToolkit(standard=False).over(guard).with_dependencies(dependencies)
            self.toolkit = toolkit.with_approval(approve)
        for item in self._tools:
            _add(self.toolkit or DefaultAgentToolkit(standard=False), item, dependencies)

    def _find(self, name: str) -> object:
        kind, colon, service = name.partition(":")
        if colon and kind in _SEARCH_TOOLS:
            provider, _, argument = service.partition(":")
            entry = self._catalog.search_providers.entry(provider.strip())
            return _SEARCH_TOOLS[kind](make("search provider", entry, argument.strip(), self._settings))
        return make("tool", self._catalog.tools.entry(name))

    @property
    def needs_connection(self) -> bool:
        """Whether some tools are known only after `prepare` has connected to their servers."""
        return any(isinstance(item, Prepares) for item in self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools, without those of servers that are not connected yet."""
        return () if self.toolkit is None else tuple(tool.name for tool in self.toolkit.get_tools())

    async def prepare(self) -> None:
        """Prepare tools that must fetch something or connect, before the first debate; idempotent."""
        for item in self._tools:
            if isinstance(item, Prepares):
                await item.prepare()
        names = [tool.name for item in self._tools if _is_toolkit(item) for tool in item.get_tools()]
        names += [item.definition.name for item in self._tools if _is_tool(item)]
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            msg = f"there are two tools named {duplicates[0]!r}"
            raise ConfigurationError(msg, hint="Rename one of them, for example with from_mcp(..., prefix='files_').")

    def closers(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the `aclose` methods of the tools that have one."""
        closers = (getattr(item, "aclose", None) for item in self._tools)
        return [close for close in closers if close is not None]

    def equip(self, agent: Agent) -> Agent:
        """Return a copy of the agent with the table's tools; an agent with its own tools keeps its own."""
        if not _accepts_tools(agent):
            return agent
        own_toolkit = agent.toolkit
        if isinstance(own_toolkit, DefaultAgentToolkit) and own_toolkit is not self.toolkit:
            own_toolkit.check_dependencies(self._dependencies)
        is_included = self._approve is not None or isinstance(own_toolkit, AskingToolkit)
        if is_included and own_toolkit is not None and not isinstance(own_toolkit, DefaultAgentToolkit):
            # The built-in toolkit has its calls approved, and prices the models that it states.
            toolkit_of_others, own_toolkit = own_toolkit, DefaultAgentToolkit(standard=False)
            own_toolkit.include(toolkit_of_others)
        toolkit = (
            own_toolkit.over(self._guard).with_dependencies(self._dependencies).with_approval(self._approve)
            if isinstance(own_toolkit, DefaultAgentToolkit)
            else own_toolkit or self.toolkit
        )
        if toolkit is own_toolkit:
            return agent
        equipped = copy.copy(agent)
        equipped.set_toolkit(toolkit)
        return equipped

    def with_missing(self, names: Iterable[str]) -> TableTools:
        """Return these tools plus missing built-in tools among `names` that access only the debate and its caller.

        Args:
            names: Names of the tools that a stored session began with.
        """
        missing = [name for name in names if name in _BUILT_IN and name not in self.names]
        return self._make([*self._tools, *missing]) if missing else self

    def instead_of(self, table: TableTools, agent: Agent) -> Agent:
        """Return the agent with these tools if it has the tools of `table`; an agent with its own tools keeps them."""
        if self is table or not _accepts_tools(agent) or agent.toolkit is not table.toolkit:
            return agent
        equipped = copy.copy(agent)
        equipped.set_toolkit(self.toolkit)
        return equipped


def with_service(tools: Sequence[ToolLike], service: str | None) -> Sequence[ToolLike]:
    """Return the tools plus tools that search with a service; the tool `fact_check` also uses this service.

    Example:
        >>> with_service(["fact_check", "get_context"], "brave")
        ['get_context', 'search_web:brave', 'fact_check:brave']
    """
    if service is None:
        return tools
    check_list("tools", tools)
    others = (item for item in tools if item != "fact_check")
    return [*others, f"search_web:{service}", f"fact_check:{service}"]


def _add(toolkit: DefaultAgentToolkit, item: object, dependencies: object) -> None:
    if _is_toolkit(item):
        if isinstance(item, DefaultAgentToolkit):
            item.check_dependencies(dependencies)
        toolkit.include(item)
    elif _is_tool(item):
        if isinstance(item, FunctionTool):
            item.check_dependencies(dependencies)
        toolkit.register_tool(item)
    elif callable(item) and not isinstance(item, type):
        _add(toolkit, tool(item), dependencies)
    else:
        msg = f"each entry of tools must be a name, a typed function, a tool or a toolkit, not {item!r:.80}"
        raise ConfigurationError(msg, hint="Write tools=[my_function], or tools=['fact_check'].")


def _is_toolkit(item: object) -> TypeGuard[AgentToolkit]:
    return callable(getattr(item, "get_tools", None)) and callable(getattr(item, "execute_tool", None))


def _is_tool(item: object) -> TypeGuard[Tool]:
    return hasattr(item, "definition") and callable(getattr(item, "run", None)) and not isinstance(item, type)


def _accepts_tools(agent: Agent) -> TypeGuard[_AgentWithTools]:
    return callable(getattr(agent, "set_toolkit", None)) and hasattr(agent, "toolkit")
