"""The tools as clients list them, from a file that `tools/generate.py` writes: nothing is built for it at start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mcp import types

__all__ = ["LISTED", "listed_tools"]

LISTED: Final = Path(__file__).with_name("tools.json")
"""What `tools/list` answers, in the words of the wire."""


def listed_tools() -> types.ListToolsResult:
    """List the tools."""
    return types.ListToolsResult.model_validate_json(LISTED.read_bytes())
