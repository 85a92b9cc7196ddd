"""What the tests of the MCP server share: a server over scripted agents, clients of both eras, and answers read."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from integration.engine_kit import Gated, late, said, seated
from mcp import Client

from roundtable import Roundtable
from roundtable.mcp import McpServer
from roundtable.protocols import Storage
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents

ERAS = ("auto", "legacy")
"""Protocol of round trips, and protocol of handshakes."""


PLACELESS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("continue_roundtable", {}),
    ("get_consensus", {}),
    ("get_thoughts", {"agentId": "ada"}),
    ("export_session", {}),
    ("control_session", {"action": "pause"}),
    ("control_session", {"action": "resume"}),
    ("control_session", {"action": "stop"}),
    ("get_round_details", {"roundNumber": 1}),
    ("get_response_detail", {"agentId": "ada"}),
    ("get_citations", {}),
    ("synthesize_debate", {}),
)
"""Every tool that takes a session, with what else it needs."""


def answer(position: str, **more: Any) -> str:
    """Return an answer as a model writes it."""
    fields = {"position": position, "reasoning": f"Because of {position}.", "confidence": 0.8}
    return json.dumps(fields | more)


def talkers(delay_s: float = 0.0) -> list[Any]:
    """Return three agents: two for tea, one for coffee."""
    said = {"ada": "Tea", "bo": "Tea", "cy": "Coffee"}
    return scripted_agents({name: late(delay_s, word) if delay_s else word for name, word in said.items()})


def held_talkers() -> tuple[list[Any], Gated]:
    """Return agents like `talkers`, and the model that answers for them when it is let."""
    model = Gated({"cy": said("Coffee"), "*": said("Tea")})
    return seated(model, "ada", "bo", "cy"), model


def server_of(agents: list[Any] | None = None, storage: Storage | None = None, **options: Any) -> McpServer:
    """Return a server with one storage for all users, who do not see each other's sessions."""
    kept = storage or MemoryStorage()
    seated = talkers() if agents is None else agents
    return McpServer(lambda tenant: Roundtable(seated, storage=kept, tenant=tenant), **options)


@asynccontextmanager
async def connected(server: McpServer, era: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Connect the SDK's client to a server in this process."""
    async with Client(server.lowlevel, mode=era, **options) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and give what it answers; its text says the same."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that cannot do what is asked, and give the error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content[0].text
    assert result.structured_content is None  # clients would hold it to the output schema
    assert "Traceback" not in result.content[0].text
    return json.loads(result.content[0].text)


def command(folder: Path, *more: str) -> list[str]:
    """Return the command line of the installed command with three scripted agents, with its sessions in a folder."""
    said = {"ada": "Tea", "bo": "Tea", "cy": "Coffee"}
    seats = []
    for name, position in said.items():
        (folder / f"{name}.json").write_text(json.dumps({"*": json.loads(answer(position))}), "utf-8")
        seats.append(f"scripted:{folder / name}.json")
    program = str(Path(sys.executable).with_name("roundtable"))
    return [program, "mcp", "--agents", ",".join(seats), "--db", str(folder / "kept.db"), *more]


def slow_command(folder: Path, delay_s: float) -> list[str]:
    """Return the command line of a server in which every round takes a given time."""
    child = Path(__file__).with_name("mcp_slow_child.py")
    return [sys.executable, str(child), str(folder / "kept.db"), str(delay_s)]


async def run_every_tool(client: Client) -> None:
    """Hold a debate with a client, and look at it with every tool."""
    assert len((await client.list_tools()).tools) == 12
    begun = await call(client, "start_roundtable", topic="Tea or coffee?", rounds=2, step=True)
    named = {"sessionId": begun["sessionId"]}
    assert (await call(client, "continue_roundtable", **named))["status"] == "completed"
    assert (await call(client, "get_consensus", **named))["analyzedRound"] == 2
    seats = (await call(client, "get_agents"))["agents"]
    assert len(seats) == 3
    assert (await call(client, "list_sessions", topic="tea or"))["count"] >= 1
    spoken = {**named, "agentId": begun["agentResponses"][0]["agentId"]}
    assert (await call(client, "get_thoughts", **spoken))["rounds"] == 2
    assert (await call(client, "get_response_detail", **spoken, roundNumber=1))["responses"]
    assert (await call(client, "get_round_details", **named, roundNumber=2))["complete"]
    assert (await call(client, "get_citations", **named))["totalCitations"] == 0
    assert "audit" not in await call(client, "get_consensus", **named)
    audited = await call(client, "get_consensus", **named, audit=True)
    assert audited["audit"]["sessionId"] == named["sessionId"]
    assert "# Tea or coffee?" in (await call(client, "export_session", **named))["content"]
    assert (await refused(client, "control_session", **named, action="pause"))["code"] == "SESSION_ERROR"
    unread = await client.call_tool("synthesize_debate", named)
    assert unread.structured_content == (None if unread.is_error else json.loads(unread.content[0].text))
