"""Write the reference of the MCP tools from their schemas, and the schemas themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reference_kinds import cell, kind_of

from roundtable.mcp import TOOLS

if TYPE_CHECKING:
    from roundtable.mcp import RoundtableTool

__all__ = ["listing", "page", "schemas"]

HEAD = """# MCP tools

All tools of the MCP server. [Use from an assistant](../how-to/serve-mcp.md) shows how to connect a client. This page is
generated from the schemas of the tools; [mcp-tools.json](mcp-tools.json) has the complete schemas.

Names in JSON are camelCase, and results leave out empty fields. Every result about a debate has its state: `sessionId`,
`status` (`completed`, `needs_context`, `in_progress`), `sessionStatus`, `running`, `currentRound`, `totalRounds`.

An error is a result marked `isError` with `name`, `message`, `code`, `retryable` and, where known, `hint`, `provider`,
`details` and `sessionId`. The codes are those of [Errors](errors.md), and also `INVALID_ARGUMENTS`, `NOT_FOUND`,
`UNAUTHORIZED` and `FORBIDDEN`.
"""


def page() -> str:
    """Return the page of the reference."""
    return "\n".join([HEAD, *(_chapter(tool) for tool in TOOLS.values())]).rstrip() + "\n"


def schemas() -> str:
    """Return what clients see of all tools, with the scope that each needs, as readable JSON."""
    told = [tool.listing | {"scope": tool.scope} for tool in TOOLS.values()]
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def listing() -> str:
    """Return the result of `tools/list` as the package stores it: one line for each tool."""
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
    return "\n".join([*lines, f"Returns {fields}.", ""])


def _default(value: object) -> str:
    return "" if value is None else f"`{json.dumps(value)}`"
