"""The MCP server: handlers that the SDK calls for messages on standard input and output or over HTTP.

Handlers import their modules on first use, because clients wait for the server to start.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

from roundtable._version import __version__
from roundtable.api.tenants import TenantSessions
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError
from roundtable.mcp.progress import HEARTBEAT_S, OpenWaits
from roundtable.mcp.texts import INSTRUCTIONS

if TYPE_CHECKING:
    import signal
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

    _Context: TypeAlias = ServerRequestContext[TenantSessions]

__all__ = ["NAME", "McpServer", "create_mcp_server"]

logger: logging.Logger = logging.getLogger("roundtable.mcp")

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
    """Create an MCP server with the twelve tools; `await server.start()` serves it on standard input and output.

    Args:
        debate_engine: Engine that runs debates, with its storage, modes, rules, exit conditions, meter, budget, limits
            and listeners; built from the environment if omitted.
        agent_registry: Registry of the agents that debate. If omitted, the agents of the engine debate; if the engine
            has none, the agents that the environment offers.
        tables: Creates the table of a tenant, instead of an engine and a registry; called once for each user.
        name: Name of the server.
        version: Version of the server.

    Raises:
        ConfigurationError: The extra `mcp` is not installed, or `tables` is combined with an engine or a registry.

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
        raise ConfigurationError(
            "tables cannot be combined with an engine or a registry", hint="Each table has its own engine and registry."
        )
    return McpServer(tables or _tables_of(debate_engine, agent_registry), name=name, version=version)


class McpServer:
    """The MCP server; create it with `create_mcp_server`.

    Args:
        tables: Creates the table of a tenant.
        name: Name of the server.
        version: Version of the server.
        heartbeat_s: Maximum seconds between notifications to a waiting caller.
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
        self._waits = OpenWaits()
        self._lowlevel: Server[TenantSessions] | None = None

    @property
    def tools(self) -> tuple[RoundtableTool[Any], ...]:
        """The tools of the server."""
        from roundtable.mcp.tools import TOOLS

        return tuple(TOOLS.values())

    @property
    def lowlevel(self) -> Server[TenantSessions]:
        """The server object of the SDK, for custom transports, and in tests for the SDK's client `mcp.Client(...)`."""
        if self._lowlevel is None:
            from mcp.server.lowlevel import Server

            self._lowlevel = Server(
                self.name,
                version=self.version,
                title="AI Roundtable",
                instructions=INSTRUCTIONS,
                lifespan=self._tenant_sessions,
                on_list_tools=self._list_tools,
                on_call_tool=self._call_tool,
                on_list_resources=self._list_resources,
                on_list_resource_templates=self._list_templates,
                on_read_resource=self._read_resource,
                on_list_prompts=self._list_prompts,
                on_get_prompt=self._get_prompt,
            )
        return self._lowlevel

    async def start(self) -> signal.Signals | None:
        """Serve on standard input and output until the input ends; until then, no other code can write to the output.

        If this runs in the main thread, SIGINT, SIGTERM and SIGHUP also end the server. At its end, running debates are
        paused.

        Returns:
            The signal that ended the server; `None` if the input ended. After a signal, leave the program with
            `os._exit`, because a thread may still wait for input.
        """
        from roundtable.mcp.stdio import serve_stdio

        return await serve_stdio(self.lowlevel)

    def http_app(self, authenticator: Authenticator, **options: Unpack[GuardOptions]) -> ASGIApp:
        """Return the server as an ASGI application, to run in any ASGI server or to mount in another application.

        Args:
            authenticator: Recognises callers by their tokens; callers see only their own debates.
            options: Accepted addresses and limits; see `GuardOptions`.
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
        """Serve over HTTP until SIGINT, SIGTERM or SIGHUP ends the process; see `http_app`.

        At the end, calls that wait for a debate are answered with its current state, and running debates are paused.
        Debates can be resumed after the next start.

        Args:
            authenticator: As for `http_app`.
            host: Address to listen on.
            port: Port; 0 selects a free port.
            listening: Called with the URL once the server listens.
            options: As for `http_app`.

        Raises:
            ConfigurationError: The port is in use, or this machine does not have the address.
        """
        from roundtable.mcp.http import serve_http

        await serve_http(
            self.lowlevel, authenticator, host=host, port=port, listening=listening, waits=self._waits, **options
        )

    @asynccontextmanager
    async def _tenant_sessions(self, _: Server[TenantSessions]) -> AsyncGenerator[TenantSessions]:
        async with TenantSessions(self._tables) as sessions:
            yield sessions

    async def _list_tools(self, ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        from roundtable.mcp.listing import available_modes, may_have_plugin_modes, tool_list

        if not may_have_plugin_modes():
            return tool_list()
        from roundtable.mcp.elicitation import caller_of

        try:
            session = await ctx.lifespan_context.session_of(caller_of(ctx).tenant)
            return tool_list(available_modes(session.table))
        except Exception as error:  # noqa: BLE001  (the first tool call reports why a table cannot be created)
            logger.debug("the modes of plugins cannot be listed: %s", error_text(error))
            return tool_list()

    async def _call_tool(
        self, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        from roundtable.mcp.responses import call_tool

        return await call_tool(ctx, params, heartbeat_s=self.heartbeat_s, waits=self._waits)

    async def _list_resources(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        from roundtable.mcp.responses import list_resources

        return await list_resources(ctx)

    async def _list_templates(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        from roundtable.mcp.resources import template_list

        return template_list()

    async def _read_resource(self, ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        from roundtable.mcp.responses import read_resource

        return await read_resource(ctx, params)

    async def _list_prompts(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        from roundtable.mcp.resources import prompt_list

        return prompt_list()

    async def _get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        from roundtable.mcp.responses import get_prompt

        return get_prompt(params)


def _tables_of(engine: DebateEngine | None, registry: AgentRegistry | None) -> Callable[[str], Roundtable]:
    """Return a function that creates tables with an engine and a registry."""
    from roundtable.api import Roundtable

    return lambda tenant: Roundtable.from_engine(engine, registry, tools=["request_context"], tenant=tenant)
