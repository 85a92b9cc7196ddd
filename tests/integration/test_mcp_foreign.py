"""Clients that others wrote: the TypeScript SDK, the command line of MCP Inspector, and fastmcp.

`.ci/run` installs them, in pinned versions, into the folder that `ROUNDTABLE_MCP_CLIENTS` names.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from integration.mcp_kit import command
from integration.test_mcp_processes import service

FOLDER = Path(os.environ.get("ROUNDTABLE_MCP_CLIENTS") or "/nowhere")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="ROUNDTABLE_MCP_CLIENTS names no folder of installed clients"),
]
SEEN = {
    "continue_roundtable": "answered",
    "get_consensus": "answered",
    "get_agents": "answered",
    "list_sessions": "answered",
    "get_thoughts": "answered",
    "export_session": "answered",
    "get_round_details": "answered",
    "get_response_detail": "answered",
    "get_citations": "answered",
    "control_session": "SESSION_ERROR",
}
HERE = Path(__file__).parent


def said(*words: str) -> Any:
    """Run a client and read what it prints."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check(found: dict[str, Any]) -> None:
    written = found["seen"].pop("synthesize_debate")
    assert written in {"answered", "PARSE_ERROR"}
    assert (found["tools"], found["seen"], found["prompts"]) == (12, SEEN, 3)
    assert found["resources"] > 10
    assert found["beats"] >= 6


def test_the_typescript_sdk_calls_every_tool(tmp_path: Path) -> None:
    client = ("node", str(HERE / "mcp_client.mjs"), str(FOLDER))
    check(said(*client, "stdio", *command(tmp_path)))


def test_the_typescript_sdk_calls_every_tool_over_http(tmp_path: Path) -> None:
    with service(command(tmp_path)) as url:
        check(said("node", str(HERE / "mcp_client.mjs"), str(FOLDER), "http", url))


def test_the_command_line_of_inspector_lists_and_calls(tmp_path: Path) -> None:
    inspector = (str(FOLDER / "node_modules/.bin/mcp-inspector"), "--cli", *command(tmp_path))
    listed = said(*inspector, "--method", "tools/list")
    assert len(listed["tools"]) == 12
    begun = said(*inspector, "--method", "tools/call", "--tool-name", "start_roundtable",
                 "--tool-arg", "topic=Tea or coffee?", "--tool-arg", "rounds=1")  # fmt: skip
    named = ("--tool-arg", f"sessionId={begun['structuredContent']['sessionId']}")
    details = ("--tool-name", "get_round_details", *named, "--tool-arg", "roundNumber=1")
    held = said(*inspector, "--method", "tools/call", *details)
    assert held["structuredContent"]["complete"]
    refused = said(*inspector, "--method", "tools/call", "--tool-name", "get_consensus", "--tool-arg", "sessionId=none")
    assert (refused["isError"], json.loads(refused["content"][0]["text"])["code"]) == (True, "SESSION_ERROR")


def test_fastmcp_calls_every_tool(tmp_path: Path) -> None:
    python = FOLDER / "fastmcp/bin/python"
    check(said(str(python), str(HERE / "mcp_fastmcp_client.py"), *command(tmp_path)))
