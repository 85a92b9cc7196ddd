"""The tools that are always available by name: those that need only the debate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.tools.standard import (
    FactCheck,
    GetContext,
    RequestContext,
    SubmitResponse,
    fact_check,
    get_context,
    request_context,
    submit_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.protocols import Tool
    from roundtable.tools.standard import ToolSpec

__all__ = ["BUILTIN_TOOLS"]

BUILTIN_TOOLS: Final[tuple[tuple[ToolSpec, Callable[[], Tool]], ...]] = (
    (get_context, GetContext),
    (submit_response, SubmitResponse),
    (fact_check, FactCheck),
    (request_context, RequestContext),
)
"""Each tool with its factory."""
