"""The tools that are known by name everywhere: those that need nothing besides the debate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.tools.context_requests import RequestContext, request_context
from roundtable.tools.evidence import FactCheck, fact_check
from roundtable.tools.standard import GetContext, SubmitResponse, get_context, submit_response

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
"""Each tool, and what makes one."""
