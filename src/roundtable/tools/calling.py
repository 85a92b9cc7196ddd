"""Calling one tool: bounded in time, tried again where that may help, and never raising."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio

from roundtable.stages import is_stray
from roundtable.tools.definition import TOOL_ATTEMPTS, TOOL_BASE_DELAY_S, TOOL_TIMEOUT_S, is_transient_error
from roundtable.tools.results import failed, to_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from roundtable.protocols import Tool
    from roundtable.types import JsonObject, ToolResult

__all__ = ["call_tool"]


async def call_tool(
    tool: Tool, tool_input: JsonObject, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> ToolResult:
    """Call a tool; all that goes wrong is told in the result.

    A tool that says `retryable` gets 3 attempts in all, 0.5 s and 1 s apart, where its fault may pass by itself.

    Args:
        tool: The tool; `retryable` and `timeout_s` are read from it where it has them.
        tool_input: Arguments, checked before.
        sleep: Waits between attempts.
    """
    attempts = TOOL_ATTEMPTS if getattr(tool, "retryable", False) else 1
    for attempt in range(1, attempts + 1):
        result, passes = await _attempt(tool, tool_input)
        if not passes or attempt == attempts:
            return result
        await sleep(TOOL_BASE_DELAY_S * 2 ** (attempt - 1))
    raise AssertionError("a tool has at least one attempt")


async def _attempt(tool: Tool, tool_input: JsonObject) -> tuple[ToolResult, bool]:
    """Try once; give the result, and whether its fault may pass."""
    limit = getattr(tool, "timeout_s", TOOL_TIMEOUT_S)
    try:
        with anyio.move_on_after(limit):
            result = to_result(await tool.run(tool_input))
            return result, not result.success and is_transient_error(result.error)
    except BaseException as error:  # a tool is foreign code; the model is told
        if _ends_the_program(error):
            raise
        return failed(error), is_transient_error(error)
    return failed(f'Tool "{tool.definition.name}" timed out after {limit * 1000:.0f}ms'), True


def _ends_the_program(error: BaseException) -> bool:
    """Tell whether an error is not the tool's own: a cancellation of the turn, or Ctrl-C.

    In the event loop of the main thread a tool that raises `KeyboardInterrupt` looks like Ctrl-C, and the program has
    to end. On other threads, as those of plain functions, no Ctrl-C arrives.
    """
    if isinstance(error, Exception) or is_stray(error):
        return False
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return threading.current_thread() is threading.main_thread()
    return isinstance(error, anyio.get_cancelled_exc_class())
