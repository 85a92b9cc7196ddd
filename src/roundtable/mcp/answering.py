"""What becomes of a call on the wire: the answer of a tool, a page, or the error as it is.

Loaded with the first call; a client that only looks at what there is never pays for it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from mcp import types
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from roundtable.errors import RoundtableError
from roundtable.mcp.asking import Asking, InputRequired, caller_of, is_elsewhere
from roundtable.mcp.call import Call
from roundtable.mcp.failures import error_of
from roundtable.mcp.following import HEARTBEAT_S
from roundtable.mcp.offers import listed_resources
from roundtable.mcp.prompts import prompt_text
from roundtable.mcp.resources import modes_of, read
from roundtable.mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Generator

    from mcp.server.context import ServerRequestContext

    from roundtable.api.desks import Desks
    from roundtable.auth import Scope
    from roundtable.types import JsonObject

    Context: TypeAlias = ServerRequestContext[Desks]

__all__ = ["call_tool", "get_prompt", "list_resources", "read_resource"]


async def call_tool(
    ctx: Context, params: types.CallToolRequestParams, *, heartbeat_s: float
) -> types.CallToolResult | types.InputRequiredResult:
    """Have a tool do what is asked, and give its answer, its questions, or its error."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:80]}", {"tools": [*TOOLS]})
    asking = Asking(ctx, params)
    try:
        call = await _call(ctx, tool.scope, asking, heartbeat_s=heartbeat_s)
        answer = await tool.run(call, params.arguments or {})
    except InputRequired:
        return asking.result()
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller hears of it, and the server goes on)
        return _result(error_of(error, elsewhere=is_elsewhere(ctx)), is_error=True)
    return _result(answer)


async def list_resources(ctx: Context) -> types.ListResourcesResult:
    """List the resources that have a name of their own."""
    with _told(ctx):
        call = await _call(ctx, "read", Asking(ctx))
        return listed_resources(modes_of(call.desk.table))


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Give what a resource holds."""
    with _told(ctx):
        page = await read(await _call(ctx, "read", Asking(ctx)), params.uri)
    content = types.TextResourceContents(uri=params.uri, mime_type=page.mime_type, text=page.text)
    return types.ReadResourceResult(contents=[content])


def get_prompt(params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Give the words of a prompt."""
    with _told():
        prompt, text = prompt_text(params.name, params.arguments or {})
    words = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.description, messages=[words])


async def _call(ctx: Context, scope: Scope, asking: Asking, *, heartbeat_s: float = HEARTBEAT_S) -> Call:
    """Give what a tool or a resource works with, to callers who may use it.

    Raises:
        Forbidden: They may not.
    """
    caller = caller_of(ctx)
    caller.require(scope)
    desk = await ctx.lifespan_context.of(caller.tenant)
    return Call(desk=desk, progress=ctx.session.report_progress, heartbeat_s=heartbeat_s, ask=asking.ask)


@contextmanager
def _told(ctx: Context | None = None) -> Generator[None]:
    """Give an error of ours to a caller that expects no answer of a tool: as an error of the protocol."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller hears of it, and the server goes on)
        found = error_of(error, elsewhere=ctx is not None and is_elsewhere(ctx))
        code = types.INVALID_PARAMS if isinstance(error, RoundtableError) else types.INTERNAL_ERROR
        raise MCPError(code, str(found["message"]), found) from None


def _result(answer: JsonObject, *, is_error: bool = False) -> types.CallToolResult:
    text = to_json(answer, indent=2).decode()
    said = types.TextContent(type="text", text=text)
    # Clients hold structured content to the output schema, that of an error too.
    return types.CallToolResult(content=[said], structured_content=None if is_error else answer, is_error=is_error)
