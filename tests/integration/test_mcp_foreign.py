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
from integration.mcp_kit import command, slow_command
from integration.test_mcp_processes import service

from roundtable.mcp import TOOLS

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


@pytest.mark.node
def test_the_typescript_sdk_calls_every_tool(tmp_path: Path) -> None:
    client = ("node", str(HERE / "mcp_client.mjs"), str(FOLDER))
    check(said(*client, "stdio", *command(tmp_path)))


@pytest.mark.node
def test_the_typescript_sdk_calls_every_tool_over_http(tmp_path: Path) -> None:
    with service(command(tmp_path)) as url:
        check(said("node", str(HERE / "mcp_client.mjs"), str(FOLDER), "http", url))


def inspected(*target: str) -> Any:
    """Return a function that calls a server with the command line of MCP Inspector."""
    program = str(FOLDER / "node_modules/.bin/mcp-inspector")

    def call(tool: str, **arguments: object) -> Any:
        given = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
        found = said(program, "--cli", *target, "--method", "tools/call", "--tool-name", tool, *given)
        answer = json.loads(found["content"][0]["text"])
        assert found.get("isError", False) or answer == found["structuredContent"]
        return answer

    return call


@pytest.mark.node
def test_the_command_line_of_inspector_starts_the_command(tmp_path: Path) -> None:
    words = command(tmp_path)
    listed = said(str(FOLDER / "node_modules/.bin/mcp-inspector"), "--cli", *words, "--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == [*TOOLS]
    call = inspected(*words)
    begun = call("start_roundtable", topic="Tea or coffee?", rounds=1)
    # The next call starts the command once more.
    assert call("get_round_details", sessionId=begun["sessionId"], roundNumber=1)["complete"]


@pytest.mark.node
def test_the_command_line_of_inspector_calls_every_tool(tmp_path: Path) -> None:
    with service(command(tmp_path)) as url:
        call = inspected(url, "--transport", "http")
        begun = call("start_roundtable", topic="Tea or coffee?", rounds=2, step=True)
        named = {"sessionId": begun["sessionId"]}
        spoken = {**named, "agentId": begun["agentResponses"][0]["agentId"]}
        assert call("continue_roundtable", **named)["status"] == "completed"
        assert call("get_consensus", **named)["analyzedRound"] == 2
        assert call("get_agents")["count"] == 3
        assert call("list_sessions")["count"] == 1
        assert call("get_thoughts", **spoken)["rounds"] == 2
        assert "# Tea or coffee?" in call("export_session", **named)["content"]
        assert call("get_round_details", **named, roundNumber=2)["complete"]
        assert len(call("get_response_detail", **spoken)["responses"]) == 2
        assert call("get_citations", **named)["totalCitations"] == 0
        assert not call("synthesize_debate", **named)["synthesis"]["readable"]
        assert call("control_session", **named, action="pause")["code"] == "SESSION_ERROR"


@pytest.mark.deep
@pytest.mark.node
def test_a_debate_of_forty_seconds_completes_for_a_client_whose_requests_end_ten_seconds_after_the_last_progress(
    tmp_path: Path,
) -> None:
    found = said("node", str(HERE / "mcp_patient_client.mjs"), str(FOLDER), "10000", *slow_command(tmp_path, 10))
    assert found["status"] == "completed"
    assert found["seconds"] >= 40
    assert found["beats"] >= 12


def test_fastmcp_calls_every_tool(tmp_path: Path) -> None:
    python = FOLDER / "fastmcp/bin/python"
    check(said(str(python), str(HERE / "mcp_fastmcp_client.py"), *command(tmp_path)))
