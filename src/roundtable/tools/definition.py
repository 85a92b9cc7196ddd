"""What a tool is: a name, a description, a schema of its arguments, and what it does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from roundtable._foreign import error_text
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.tools.results import to_result
from roundtable.tools.threads import run_in_thread
from roundtable.types import AgentTool, JsonObject, ToolResult

__all__ = [
    "TOOL_ATTEMPTS",
    "TOOL_BASE_DELAY_S",
    "TOOL_TIMEOUT_S",
    "ToolDefinition",
    "check_tool_name",
    "is_async",
    "is_transient_error",
]

TOOL_ATTEMPTS: Final = 3
"""Attempts of a retryable tool in all."""
TOOL_BASE_DELAY_S: Final = 0.5
"""Seconds before the second attempt; they double with each further one."""
TOOL_TIMEOUT_S: Final = 30.0
"""Seconds one attempt may take."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_CALL: Final = "__call__"
_TRANSIENT: Final = ("ECONNRESET", "ETIMEDOUT", "fetch failed", "timed out")


@dataclass(frozen=True)
class ToolDefinition:
    """A tool as a value; `roundtable.tool` makes one from a function.

    Example:
        >>> import anyio
        >>> tool = ToolDefinition("shout", "Says it louder.", {"type": "object"}, lambda given: given["text"].upper())
        >>> anyio.run(tool.run, {"text": "tea"}).data
        'TEA'
    """

    name: str
    """Name the model calls: letters, digits, `_` and `-`, at most 64, beginning with a letter or `_`."""
    description: str
    """What it does and when to use it, for the model."""
    parameters: JsonObject
    """JSON Schema of the arguments object."""
    execute: Callable[[JsonObject], Any] = field(repr=False)
    """Does it, given the arguments object; plain functions run in a thread, `async` ones in the event loop. What it
    returns has to fit into JSON, or is a `ToolResult`; what it raises is told to the model."""
    retryable: bool = False
    """Whether it may be tried again after a fault that may pass; only for tools that change nothing."""
    cached: bool = True
    """Whether the same call made twice within a round, by whomever, is carried out once."""
    timeout_s: float = TOOL_TIMEOUT_S
    """Seconds one attempt may take."""

    def __post_init__(self) -> None:
        check_tool_name(self.name)
        if not self.timeout_s > 0:
            msg = f"timeout_s of tool {self.name!r} must be above 0, not {self.timeout_s}"
            raise ConfigurationError(msg)

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""
        return AgentTool(name=self.name, description=self.description, parameters=self.parameters)

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Do it once; what the function raises is raised."""
        if is_async(self.execute):
            return to_result(await self.execute(tool_input))
        given = await run_in_thread(lambda: _unless_awaitable(self.execute(tool_input)))
        # A decorator may hide that a function is one to await.
        return given if isinstance(given, ToolResult) else to_result(await given)


def _unless_awaitable(given: object) -> ToolResult | Awaitable[object]:
    return given if isinstance(given, Awaitable) else to_result(given)


def check_tool_name(name: object) -> None:
    """Refuse a name that not every provider takes.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        msg = f"{name!r} is no name of a tool"
        raise ConfigurationError(
            msg, hint="Use letters, digits, '_' and '-', at most 64, beginning with a letter or '_'."
        )


def is_transient_error(error: object) -> bool:
    """Tell whether a fault of a tool, an exception or its text, may pass by itself.

    Example:
        >>> is_transient_error("read ECONNRESET"), is_transient_error(ValueError("no such city"))
        (True, False)
    """
    if isinstance(error, RoundtableError):
        return error.retryable
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    text = error_text(error)
    return any(sign in text for sign in _TRANSIENT)


def is_async(function: object) -> bool:
    """Tell whether calling a function, or an object like one, gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(type(function), _CALL, None))
