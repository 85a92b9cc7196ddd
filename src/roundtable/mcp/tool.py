"""What a tool is, before any protocol: what it takes, what it gives, and what it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import ValidationError

from roundtable.mcp.failures import refused_arguments
from roundtable.types import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.auth import Scope
    from roundtable.mcp.call import Call
    from roundtable.types import JsonObject

__all__ = ["RoundtableTool"]

InputT = TypeVar("InputT", bound=Value)


@dataclass(frozen=True)
class RoundtableTool(Generic[InputT]):
    """A tool of the MCP server."""

    name: str
    """Name on the wire."""
    title: str
    """Name for people."""
    description: str
    """What an assistant reads before it calls the tool."""
    input: type[InputT]
    """What it takes."""
    output: type[Value]
    """What it gives."""
    work: Callable[[Call, InputT], Awaitable[Value]]
    """What it does."""
    scope: Scope = "read"
    """What a caller has to be allowed."""
    destructive: bool = False
    """Whether it can end something that goes on."""
    calls_models: bool = False
    """Whether it may cost money."""

    @cached_property
    def input_schema(self) -> JsonObject:
        """What it takes, as JSON Schema in camelCase."""
        return self.input.model_json_schema(mode="validation")

    @cached_property
    def output_schema(self) -> JsonObject:
        """What it gives, as JSON Schema in camelCase."""
        return self.output.model_json_schema(mode="validation")

    @property
    def listing(self) -> JsonObject:
        """What clients are told of it, in the words of the wire."""
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

    async def run(self, call: Call, arguments: Mapping[str, object]) -> JsonObject:
        """Read the arguments, do the work, and give the answer as JSON.

        Raises:
            InvalidArguments: The arguments do not fit.
            RoundtableError: The work could not be done.
        """
        try:
            given = self.input.model_validate(dict(arguments))
        except ValidationError as error:
            raise refused_arguments(self.name, error, self.input_schema) from None
        answer = await self.work(call, given)
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)
