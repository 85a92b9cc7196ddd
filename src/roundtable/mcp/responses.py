"""Responses to MCP requests: results of tools, contents of resources, or errors.

This module is loaded at the first call, so a client that only lists tools does not wait for it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from roundtable.core.errors import RoundtableError
from roundtable.mcp.approval import APPROVAL, ClientApproval
from roundtable.mcp.elicitation import Elicitor, InputRequired, caller_of, is_remote
from roundtable.mcp.errors import error_of
from roundtable.mcp.progress import HEARTBEAT_S, OpenWaits
from roundtable.mcp.prompts import prompt_text
from roundtable.mcp.resources import modes_of, read, resource_list
from roundtable.mcp.sampling import ClientSampler
from roundtable.mcp.tool import ToolCallContext
from roundtable.mcp.tools import TOOLS
from roundtable.providers.mcp_client import SAMPLER

__all__ = ["call_tool", "get_prompt", "list_resources", "read_resource"]


if TYPE_CHECKING:
    from collections.abc import Generator

    from mcp.server.context import ServerRequestContext

    from roundtable.api.tenants import TenantSessions
    from roundtable.auth import Scope
    from roundtable.core.types.base import JsonObject

    Context: TypeAlias = ServerRequestContext[TenantSessions]


async def call_tool(
    ctx: Context, params: types.CallToolRequestParams, *, heartbeat_s: float, waits: OpenWaits
) -> types.CallToolResult | types.InputRequiredResult:
    """Run a tool; return its result, its questions to the user, or its error."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:80]}", {"tools": [*TOOLS]})
    elicitation = Elicitor(ctx, params)
    # Debates that this call starts inherit both: the sampler, for agents of the provider `client`, and the approval of
    # tool calls.
    SAMPLER.set(ClientSampler(ctx))
    APPROVAL.set(ClientApproval(ctx))
    try:
        call = await _call(ctx, tool.scope, elicitation, heartbeat_s=heartbeat_s, waits=waits)
        output = await tool.run(call, params.arguments or {})
    except InputRequired:
        return elicitation.result()
    except Exception as error:  # noqa: BLE001  (every error is reported to the caller, and the server keeps running)
        return _result(error_of(error, for_remote_caller=is_remote(ctx)), is_error=True)
    return _result(output)


async def list_resources(ctx: Context) -> types.ListResourcesResult:
    """List the resources."""
    with _protocol_errors(ctx):
        call = await _call(ctx, "read", Elicitor(ctx))
        return resource_list(modes_of(call.tenant_session.table))


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Return the content of a resource."""
    with _protocol_errors(ctx):
        page = await read(await _call(ctx, "read", Elicitor(ctx)), params.uri)
    content = types.TextResourceContents(uri=params.uri, mime_type=page.mime_type, text=page.text)
    return types.ReadResourceResult(contents=[content])


def get_prompt(params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Return the text of a prompt."""
    with _protocol_errors():
        prompt, text = prompt_text(params.name, params.arguments or {})
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.description, messages=[message])


async def _call(
    ctx: Context,
    scope: Scope,
    elicitation: Elicitor,
    *,
    heartbeat_s: float = HEARTBEAT_S,
    waits: OpenWaits | None = None,
) -> ToolCallContext:
    """Return the call for a tool or a resource, after checking the scope of the caller.

    Raises:
        Forbidden: The caller does not have the scope.
    """
    caller = caller_of(ctx)
    caller.require(scope)
    tenant_session = await ctx.lifespan_context.session_of(caller.tenant)
    return ToolCallContext(
        tenant_session=tenant_session,
        progress=ctx.session.report_progress,
        heartbeat_s=heartbeat_s,
        waits=waits or OpenWaits(),
        ask=elicitation.ask,
    )


@contextmanager
def _protocol_errors(ctx: Context | None = None) -> Generator[None]:
    """Convert any error in the block to a protocol error, for requests other than tool calls."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (every error is reported to the caller, and the server keeps running)
        as_json = error_of(error, for_remote_caller=ctx is not None and is_remote(ctx))
        code = types.INVALID_PARAMS if isinstance(error, RoundtableError) else types.INTERNAL_ERROR
        raise MCPError(code, str(as_json["message"]), as_json) from None


def _result(output: JsonObject, *, is_error: bool = False) -> types.CallToolResult:
    content = types.TextContent(type="text", text=to_json(output, indent=2).decode())
    # Errors have no structured content: clients would validate it against the output schema.
    return types.CallToolResult(content=[content], structured_content=None if is_error else output, is_error=is_error)
