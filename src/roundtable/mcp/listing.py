"""The list of tools for clients, read from a file that `tools/generate.py` wrote, so that start builds no schemas."""

from __future__ import annotations

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp import types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable.api import Roundtable

__all__ = ["LISTED", "available_modes", "may_have_plugin_modes", "mode_schema", "tool_list"]

LISTED: Final = Path(__file__).with_name("tools.json")
"""The result of `tools/list`, in wire format."""


def tool_list(modes: Iterable[str] | None = None) -> types.ListToolsResult:
    """Return the list of tools.

    Args:
        modes: Names of the available modes; the built-in modes if omitted.
    """
    listed = types.ListToolsResult.model_validate_json(LISTED.read_bytes())
    if modes is not None:
        for tool in listed.tools:
            if tool.name == "start_roundtable":
                field: dict[str, Any] = tool.input_schema["properties"]["mode"]
                field |= mode_schema(modes)
    return listed


def mode_schema(modes: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a mode: one of these names, optionally with a plugin before it and options after it."""
    names = [*modes]
    known = "|".join(re.escape(name).replace("\\-", "-") for name in names)
    long = {"type": "string", "pattern": f"^([^:]+/)?({known})(:.+)?$", "description": "NAME:OPTION=VALUE"}
    return {"anyOf": [{"type": "string", "enum": names}, long]}


def may_have_plugin_modes() -> bool:
    """Check, without loading anything, whether a table may have modes that are not built in."""
    return "roundtable.api.table" in sys.modules or bool(entry_points(group="roundtable"))


def available_modes(table: Roundtable) -> tuple[str, ...] | None:
    """Return the names of all modes of a table; `None` if only the built-in modes are possible."""
    # Loading all modes takes a second, which is too long for a client that only lists the tools.
    if not table.may_be_extended and not entry_points(group="roundtable"):
        return None
    return table.catalog.modes.names()
