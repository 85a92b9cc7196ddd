"""Write the reference of the MCP tools from their schemas, and the schemas themselves."""
# ruff: noqa: E501  (the page is Markdown with long lines)

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reference_kinds import cell, kind_of

from roundtable.mcp import TOOLS

if TYPE_CHECKING:
    from roundtable.mcp import RoundtableTool

__all__ = ["listing", "page", "schemas"]

HEAD = """# MCP tools

Written from the schemas of the tools, which are listed whole in [mcp-tools.json](mcp-tools.json). How to connect a client:
[Use from an assistant](../how-to/serve-mcp.md). Names are camelCase on the wire; fields that are empty are left out of answers.

An answer about a debate says where it stands: `sessionId`, `status` (`completed`, `needs_context`, `in_progress`), `sessionStatus`, `running`,
`currentRound`, `totalRounds`. An error is an answer marked `isError` with `name`, `message`, `code`, `retryable` and, where known,
`hint`, `provider`, `details` and `sessionId`; see [Errors](errors.md), besides `INVALID_ARGUMENTS`, `NOT_FOUND`, `UNAUTHORIZED` and `FORBIDDEN`.
"""


def page() -> str:
    """Give the page of the reference."""
    return "\n".join([HEAD, *(_chapter(tool) for tool in TOOLS.values())]).rstrip() + "\n"


def schemas() -> str:
    """Give what clients are told of all tools, with the scope that each needs, as JSON to read."""
    told = [tool.listing | {"scope": tool.scope} for tool in TOOLS.values()]
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def listing() -> str:
    """Give the answer to `tools/list`, as the package holds it: a line for each tool."""
    lines = [json.dumps(tool.listing, ensure_ascii=False, separators=(",", ":")) for tool in TOOLS.values()]
    return '{"tools":[\n' + ",\n".join(lines) + "\n]}\n"


def _chapter(tool: RoundtableTool[Any]) -> str:
    taken, given = tool.input_schema, tool.output_schema
    lines = [f"## {tool.name}", "", f"{tool.title}; needs the scope `{tool.scope}`.", ""]
    if taken.get("properties"):
        lines += ["| argument | values | default | meaning |", "|---|---|---|---|"]
        required = set(taken.get("required", ()))
        for name, schema in taken["properties"].items():
            default = "required" if name in required else _default(schema.get("default"))
            lines.append(f"| `{name}` | {kind_of(schema)} | {default} | {cell(schema.get('description', ''))} |")
        lines.append("")
    fields = ", ".join(f"`{name}`" for name in given["properties"])
    return "\n".join([*lines, f"Gives {fields}.", ""])


def _default(value: object) -> str:
    return "" if value is None else f"`{json.dumps(value)}`"
