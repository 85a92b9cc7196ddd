"""What the server lists besides its tools, in the types of the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp import types

from roundtable.mcp.prompts import PROMPTS
from roundtable.mcp.resources import RESOURCES, TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.mcp.resources import Kind

__all__ = ["listed_prompts", "listed_resources", "listed_templates"]


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
