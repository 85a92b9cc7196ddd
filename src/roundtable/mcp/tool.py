"""An MCP tool, independent of the protocol: its input, its output, and its calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from roundtable.core.types.base import Value
from roundtable.mcp.errors import invalid_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.tenants import TenantSession
    from roundtable.auth import Scope
    from roundtable.core.types.answers import ContextRequest
    from roundtable.core.types.base import JsonObject
    from roundtable.mcp.progress import OpenWaits, Progress

__all__ = ["RoundtableTool", "ToolCallContext"]


@dataclass(frozen=True, slots=True)
class ToolCallContext:
    """One call of a tool."""

    tenant_session: TenantSession
    """Table and running debates of the calling user."""
    progress: Progress
    """Sends progress notifications to the caller."""
    heartbeat_s: float
    """Maximum seconds between notifications to a waiting caller."""
    waits: OpenWaits
    """The calls of the server that wait for a debate."""
    ask: Callable[[Sequence[tuple[ContextRequest, str]]], Awaitable[dict[str, str | None]]]
    """Function that asks the user for requested information; each request comes with the name of its agent. It returns
    the answers by request id: `None` if the user declined, no entry if the client cannot ask its user."""


InputT = TypeVar("InputT", bound=Value)


@dataclass(frozen=True)
class RoundtableTool(Generic[InputT]):
    """A tool of the MCP server."""

    name: str
    """Name on the wire."""
    title: str
    """Name for people."""
    description: str
    """Description that an assistant reads before it calls the tool."""
    input: type[InputT]
    """Type of the arguments."""
    output: type[Value]
    """Type of the result."""
    work: Callable[[ToolCallContext, InputT], Awaitable[Value]]
    """Function that does the work."""
    scope: Scope = "read"
    """Permission that a caller needs."""
    destructive: bool = False
    """Whether the tool can end a running debate."""
    calls_models: bool = False
    """Whether the tool calls models, which may cost money."""

    @cached_property
    def input_schema(self) -> JsonObject:
        """JSON Schema of the arguments, in camelCase."""
        return self.input.model_json_schema(mode="validation")

    @cached_property
    def output_schema(self) -> JsonObject:
        """JSON Schema of the result, in camelCase."""
        return TypeAdapter(self.output).json_schema(mode="validation")

    @property
    def listing(self) -> JsonObject:
        """Entry of this tool in `tools/list`, in wire format."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": {
                "readOnlyHint": self.scope == "read",
                "destructiveHint": self.destructive,
                "idempotentHint": self.scope == "read",
                "openWorldHint": self.calls_models,
            },
        }

    async def run(self, call: ToolCallContext, arguments: Mapping[str, object]) -> JsonObject:
        """Parse the arguments, do the work, and return the result as JSON.

        Raises:
            InvalidArguments: The arguments are invalid.
            RoundtableError: The work could not be done.
        """
        try:
            parsed = self.input.model_validate(dict(arguments))
        except ValidationError as error:
            raise invalid_arguments(self.name, error, self.input_schema) from None
        output = await self.work(call, parsed)
        return output.model_dump(mode="json", by_alias=True, exclude_none=True)
