"""The MCP server: twelve tools that offer debates to assistants and IDEs (extra `mcp`).

`roundtable mcp` runs the server on standard input and output, `roundtable mcp --http` runs it over HTTP. In a program:

```python
import anyio

from roundtable.mcp import create_mcp_server


async def main() -> None:
    await create_mcp_server().start()


anyio.run(main)
```

Names load on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.mcp.approval import ask_client
    from roundtable.mcp.errors import InvalidArguments, NotFoundInSession
    from roundtable.mcp.server import McpServer, create_mcp_server
    from roundtable.mcp.tool import RoundtableTool
    from roundtable.mcp.tools import (
        TOOLS,
        continue_roundtable,
        control_session,
        export_session,
        get_agents,
        get_citations,
        get_consensus,
        get_response_detail,
        get_round_details,
        get_thoughts,
        list_sessions,
        start_roundtable,
        synthesize_debate,
    )

__all__ = [
    "TOOLS",
    "InvalidArguments",
    "McpServer",
    "NotFoundInSession",
    "RoundtableTool",
    "ask_client",
    "continue_roundtable",
    "control_session",
    "create_mcp_server",
    "export_session",
    "get_agents",
    "get_citations",
    "get_consensus",
    "get_response_detail",
    "get_round_details",
    "get_thoughts",
    "list_sessions",
    "start_roundtable",
    "synthesize_debate",
]

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "InvalidArguments": "errors",
        "McpServer": "server",
        "NotFoundInSession": "errors",
        "RoundtableTool": "tool",
        "ask_client": "approval",
        "create_mcp_server": "server",
        "TOOLS": "tools",
        "continue_roundtable": "tools",
        "control_session": "tools",
        "export_session": "tools",
        "get_agents": "tools",
        "get_citations": "tools",
        "get_consensus": "tools",
        "get_response_detail": "tools",
        "get_round_details": "tools",
        "get_thoughts": "tools",
        "list_sessions": "tools",
        "start_roundtable": "tools",
        "synthesize_debate": "tools",
    },
)
