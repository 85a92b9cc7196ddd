"""The server: what the SDK calls, on standard input and output or over HTTP.

What it works with is loaded when it is asked for: a client waits for the start of a server before it does anything.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from roundtable._version import __version__
from roundtable.api.desks import Desks
from roundtable.errors import ConfigurationError
from roundtable.mcp.following import HEARTBEAT_S
from roundtable.mcp.texts import INSTRUCTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from mcp import types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from roundtable.agents import AgentRegistry
    from roundtable.api import Roundtable
    from roundtable.auth import Authenticator
    from roundtable.auth.guard import ASGIApp, GuardOptions
    from roundtable.engine import DebateEngine
    from roundtable.mcp.tool import RoundtableTool

    _Context: TypeAlias = ServerRequestContext[Desks]

__all__ = ["NAME", "McpServer", "create_mcp_server"]

NAME: Final = "ai-roundtable"
"""Name of the server."""


def create_mcp_server(
    debate_engine: DebateEngine | None = None,
    agent_registry: AgentRegistry | None = None,
    *,
    tables: Callable[[str], Roundtable] | None = None,
    name: str = NAME,
    version: str = __version__,
) -> McpServer:
    """Make an MCP server with the twelve tools; `await server.start()` serves it on standard input and output.

    Args:
        debate_engine: Where debates are stored, with its modes and tools; the environment decides when left out.
        agent_registry: Who debates: all its agents; those of the engine when left out, and what the environment offers
            where that has none.
        tables: Makes the table of a user, by tenant, instead of both; called once for each user.
        name: Name the server gives itself.
        version: Its version.

    Raises:
        ConfigurationError: The extra `mcp` is not installed, or `tables` is given beside an engine or a registry.

    Example:
        >>> from roundtable import Roundtable
        >>> from roundtable.testing import scripted_agents
        >>> agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
        >>> server = create_mcp_server(tables=lambda tenant: Roundtable(agents, storage="memory://", tenant=tenant))
        >>> server.name, server.tools[0].name
        ('ai-roundtable', 'start_roundtable')
    """
    if find_spec("mcp") is None:
        raise ConfigurationError(
            "the MCP server needs the extra 'mcp'", hint="Install it: pip install 'roundtable-sdk[mcp]'"
        )
    if tables is not None and (debate_engine is not None or agent_registry is not None):
        raise ConfigurationError("give tables, or an engine and a registry", hint="A table has both of its own.")
    return McpServer(tables or _tables_of(debate_engine, agent_registry), name=name, version=version)


class McpServer:
    """The MCP server; `create_mcp_server` makes one.

    Args:
        tables: Makes the table of a user, by tenant.
        name: Name the server gives itself.
        version: Its version.
        heartbeat_s: Seconds after which a caller who waits hears something.
    """

    def __init__(
        self,
        tables: Callable[[str], Roundtable],
        *,
        name: str = NAME,
        version: str = __version__,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self.name = name
        self.version = version
        self.heartbeat_s = heartbeat_s
        self._tables = tables
        self._lowlevel: Server[Desks] | None = None

    @property
    def tools(self) -> tuple[RoundtableTool[Any], ...]:
        """What it offers."""
        from roundtable.mcp.tools import TOOLS

        return tuple(TOOLS.values())

    @property
    def lowlevel(self) -> Server[Desks]:
        """The server of the SDK, for transports of your own, and for its client in tests: `mcp.Client(...)`."""
        if self._lowlevel is None:
            from mcp.server.lowlevel import Server

            self._lowlevel = Server(
                self.name,
                version=self.version,
                title="AI Roundtable",
                instructions=INSTRUCTIONS,
                lifespan=self._desks,
                on_list_tools=self._list_tools,
                on_call_tool=self._call_tool,
                on_list_resources=self._list_resources,
                on_list_resource_templates=self._list_templates,
                on_read_resource=self._read_resource,
                on_list_prompts=self._list_prompts,
                on_get_prompt=self._get_prompt,
            )
        return self._lowlevel

    async def start(self) -> None:
        """Serve on standard input and output until the input ends; nothing else gets onto the output meanwhile."""
        from roundtable.mcp.stdio import serve_stdio

        await serve_stdio(self.lowlevel)

    def http_app(self, authenticator: Authenticator, **options: Unpack[GuardOptions]) -> ASGIApp:
        """Give the server as an ASGI application, to be run by any ASGI server or mounted.

        Args:
            authenticator: Recognises callers by the token they show; each sees their own debates alone.
            options: Which addresses it answers to and how much it takes; see `GuardOptions`.
        """
        from roundtable.mcp.http import http_app

        return http_app(self.lowlevel, authenticator, **options)

    async def serve_http(
        self,
        authenticator: Authenticator,
        *,
        host: str = "127.0.0.1",
        port: int = 8765,
        listening: Callable[[str], None] = lambda _: None,
        **options: Unpack[GuardOptions],
    ) -> None:
        """Serve over HTTP until the process is asked to end; see `http_app`.

        Args:
            authenticator: As for `http_app`.
            host: Address to listen on.
            port: Port; 0 takes a free one.
            listening: Is told the URL once the port is taken.
            options: As for `http_app`.

        Raises:
            ConfigurationError: The port is taken, or there is no such address here.
        """
        from roundtable.mcp.http import serve_http

        await serve_http(self.lowlevel, authenticator, host=host, port=port, listening=listening, **options)

    @asynccontextmanager
    async def _desks(self, _: Server[Desks]) -> AsyncGenerator[Desks]:
        async with Desks(self._tables) as desks:
            yield desks

    async def _list_tools(self, ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        from roundtable.mcp.listing import listed_tools

        return listed_tools()

    async def _call_tool(
        self, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        from roundtable.mcp.answering import call_tool

        return await call_tool(ctx, params, heartbeat_s=self.heartbeat_s)

    async def _list_resources(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        from roundtable.mcp.answering import list_resources

        return await list_resources(ctx)

    async def _list_templates(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        from roundtable.mcp.offers import listed_templates

        return listed_templates()

    async def _read_resource(self, ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        from roundtable.mcp.answering import read_resource

        return await read_resource(ctx, params)

    async def _list_prompts(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        from roundtable.mcp.offers import listed_prompts

        return listed_prompts()

    async def _get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        from roundtable.mcp.answering import get_prompt

        return get_prompt(params)


def _tables_of(engine: DebateEngine | None, registry: AgentRegistry | None) -> Callable[[str], Roundtable]:
    """Give what makes tables over the parts of a caller."""
    from roundtable.api import Roundtable

    def make(tenant: str) -> Roundtable:
        lent = None if engine is None else engine.agents.get_active_agents()
        table = Roundtable(
            (lent or None) if registry is None else registry.get_active_agents(),
            storage=None if engine is None else engine.sessions.storage,
            tools=["request_context"],
            tenant=tenant,
        )
        if engine is not None:
            modes = table.wiring.engine.modes
            for name in engine.modes.get_available_modes():
                if not modes.has_mode(name):
                    modes.register_mode(name, engine.modes.get_mode(name))
        return table

    return make
