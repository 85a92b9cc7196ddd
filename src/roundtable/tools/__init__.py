"""Tools that agents can call, the toolkit that checks and limits the calls, and the services that tools use.

Modules are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.tools.approval import Approver, ToolRequest
    from roundtable.tools.definition import (
        TOOL_ATTEMPTS,
        TOOL_BASE_DELAY_S,
        TOOL_TIMEOUT_S,
        AskingToolkit,
        CallsModels,
        ModelCall,
        ToolContext,
        ToolDefinition,
        ToolTurn,
        TurnTool,
        is_transient_error,
    )
    from roundtable.tools.fetch import FetchUrl, fetch_url
    from roundtable.tools.functions import FunctionTool, tool
    from roundtable.tools.mcp_tools import McpToolkit, from_mcp
    from roundtable.tools.search import ModelSearch
    from roundtable.tools.sources import (
        Evidence,
        PerplexitySearchInput,
        PerplexitySearchProvider,
        PerplexitySearchResult,
        SearchOptions,
        SearchResult,
        SessionData,
        SessionDataProvider,
        WebSearchProvider,
    )
    from roundtable.tools.standard import (
        FactCheck,
        GetContext,
        PerplexitySearch,
        RequestContext,
        SearchWeb,
        StandardTool,
        SubmitResponse,
        ToolSpec,
        fact_check,
        get_context,
        perplexity_search,
        request_context,
        search_web,
        submit_response,
    )
    from roundtable.tools.toolkit import DefaultAgentToolkit, ToolOutcome, bound, create_default_toolkit

__all__ = [
    "TOOL_ATTEMPTS",
    "TOOL_BASE_DELAY_S",
    "TOOL_TIMEOUT_S",
    "Approver",
    "AskingToolkit",
    "CallsModels",
    "DefaultAgentToolkit",
    "Evidence",
    "FactCheck",
    "FetchUrl",
    "FunctionTool",
    "GetContext",
    "McpToolkit",
    "ModelCall",
    "ModelSearch",
    "PerplexitySearch",
    "PerplexitySearchInput",
    "PerplexitySearchProvider",
    "PerplexitySearchResult",
    "RequestContext",
    "SearchOptions",
    "SearchResult",
    "SearchWeb",
    "SessionData",
    "SessionDataProvider",
    "StandardTool",
    "SubmitResponse",
    "ToolContext",
    "ToolDefinition",
    "ToolOutcome",
    "ToolRequest",
    "ToolSpec",
    "ToolTurn",
    "TurnTool",
    "WebSearchProvider",
    "bound",
    "create_default_toolkit",
    "fact_check",
    "fetch_url",
    "from_mcp",
    "get_context",
    "is_transient_error",
    "perplexity_search",
    "request_context",
    "search_web",
    "submit_response",
    "tool",
]

_HOME = {
    **dict.fromkeys(("RequestContext", "request_context"), "standard"),
    **dict.fromkeys(
        ("TOOL_ATTEMPTS", "TOOL_BASE_DELAY_S", "TOOL_TIMEOUT_S", "ToolDefinition", "is_transient_error"), "definition"
    ),
    **dict.fromkeys(
        ("FactCheck", "PerplexitySearch", "SearchWeb", "fact_check", "perplexity_search", "search_web"), "standard"
    ),
    **dict.fromkeys(("FetchUrl", "fetch_url"), "fetch"),
    **dict.fromkeys(("FunctionTool", "tool"), "functions"),
    **dict.fromkeys(("McpToolkit", "from_mcp"), "mcp_tools"),
    "ModelSearch": "search",
    **dict.fromkeys(
        (
            "Evidence",
            "PerplexitySearchInput",
            "PerplexitySearchProvider",
            "PerplexitySearchResult",
            "SearchOptions",
            "SearchResult",
            "SessionData",
            "SessionDataProvider",
            "WebSearchProvider",
        ),
        "sources",
    ),
    **dict.fromkeys(
        ("GetContext", "StandardTool", "SubmitResponse", "ToolSpec", "get_context", "submit_response"), "standard"
    ),
    **dict.fromkeys(("Approver", "ToolRequest"), "approval"),
    **dict.fromkeys(("DefaultAgentToolkit", "ToolOutcome", "bound", "create_default_toolkit"), "toolkit"),
    **dict.fromkeys(("AskingToolkit", "CallsModels", "ModelCall", "ToolContext", "ToolTurn", "TurnTool"), "definition"),
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
