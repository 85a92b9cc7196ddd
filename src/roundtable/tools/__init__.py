"""What agents can do besides speaking: tools, the toolkit that bounds them, and where they look.

Nothing is loaded before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable._lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.tools.context_requests import RequestContext, request_context
    from roundtable.tools.definition import (
        TOOL_ATTEMPTS,
        TOOL_BASE_DELAY_S,
        TOOL_TIMEOUT_S,
        ToolDefinition,
        is_transient_error,
    )
    from roundtable.tools.evidence import (
        FactCheck,
        PerplexitySearch,
        SearchWeb,
        fact_check,
        perplexity_search,
        search_web,
    )
    from roundtable.tools.fetch import FetchUrl, fetch_url
    from roundtable.tools.functions import FunctionTool, tool
    from roundtable.tools.mcp_tools import McpToolkit, from_mcp
    from roundtable.tools.model_search import ModelSearch
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
        GetContext,
        StandardTool,
        SubmitResponse,
        ToolSpec,
        get_context,
        submit_response,
    )
    from roundtable.tools.toolkit import DefaultAgentToolkit, ToolOutcome, bound, create_default_toolkit
    from roundtable.tools.turn import AsksModels, ModelAsk, ToolTurn, TurnTool

__all__ = [
    "TOOL_ATTEMPTS",
    "TOOL_BASE_DELAY_S",
    "TOOL_TIMEOUT_S",
    "AsksModels",
    "DefaultAgentToolkit",
    "Evidence",
    "FactCheck",
    "FetchUrl",
    "FunctionTool",
    "GetContext",
    "McpToolkit",
    "ModelAsk",
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
    "ToolDefinition",
    "ToolOutcome",
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
    **dict.fromkeys(("RequestContext", "request_context"), "context_requests"),
    **dict.fromkeys(
        ("TOOL_ATTEMPTS", "TOOL_BASE_DELAY_S", "TOOL_TIMEOUT_S", "ToolDefinition", "is_transient_error"), "definition"
    ),
    **dict.fromkeys(
        ("FactCheck", "PerplexitySearch", "SearchWeb", "fact_check", "perplexity_search", "search_web"), "evidence"
    ),
    **dict.fromkeys(("FetchUrl", "fetch_url"), "fetch"),
    **dict.fromkeys(("FunctionTool", "tool"), "functions"),
    **dict.fromkeys(("McpToolkit", "from_mcp"), "mcp_tools"),
    "ModelSearch": "model_search",
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
    **dict.fromkeys(("DefaultAgentToolkit", "ToolOutcome", "bound", "create_default_toolkit"), "toolkit"),
    **dict.fromkeys(("AsksModels", "ModelAsk", "ToolTurn", "TurnTool"), "turn"),
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOME)
