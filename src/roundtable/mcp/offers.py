"""What the server lists, in the types of the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp import types

from roundtable.mcp.prompts import PROMPTS
from roundtable.mcp.resources import RESOURCES, TEMPLATES
from roundtable.mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.mcp.resources import Kind
    from roundtable.mcp.tool import RoundtableTool

__all__ = ["listed_prompts", "listed_resources", "listed_templates", "listed_tools"]


def listed_tools() -> types.ListToolsResult:
    """List the tools."""
    return types.ListToolsResult(tools=[_tool(tool) for tool in TOOLS.values()])


def _tool(tool: RoundtableTool[Any]) -> types.Tool:
    marks = types.ToolAnnotations(
        read_only_hint=tool.scope == "read",
        destructive_hint=tool.destructive,
        idempotent_hint=tool.scope == "read",
        open_world_hint=tool.calls_models,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=marks,
    )


def listed_resources(modes: Iterable[Kind]) -> types.ListResourcesResult:
    """List the resources that have a name of their own."""
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=one.uri, name=one.name, title=one.title, description=one.description, mime_type=one.mime_type
            )
            for one in (*RESOURCES, *modes)
        ]
    )


def listed_templates() -> types.ListResourceTemplatesResult:
    """List the families of resources."""
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                uri_template=one.uri,
                name=one.name,
                title=one.title,
                description=one.description,
                mime_type=one.mime_type,
            )
            for one in TEMPLATES
        ]
    )


def listed_prompts() -> types.ListPromptsResult:
    """List the prompts."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(name=one.name, description=one.description, required=one.required)
                    for one in prompt.arguments
                ],
            )
            for prompt in PROMPTS
        ]
    )
