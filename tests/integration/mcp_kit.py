"""What the tests of the MCP server share: a server over scripted agents, clients of both eras, and answers read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from integration.engine_kit import late
from mcp import Client

from roundtable import Roundtable
from roundtable.mcp import McpServer
from roundtable.protocols import Storage
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents

ERAS = ("auto", "legacy")
"""Protocol of round trips, and protocol of handshakes."""


def answer(position: str, **more: Any) -> str:
    """Give an answer as a model writes it."""
    fields = {"position": position, "reasoning": f"Because of {position}.", "confidence": 0.8}
    return json.dumps(fields | more)


def talkers(delay_s: float = 0.0) -> list[Any]:
    """Give three agents: two for tea, one for coffee."""
    said = {"ada": "Tea", "bo": "Tea", "cy": "Coffee"}
    return scripted_agents({name: late(delay_s, word) if delay_s else word for name, word in said.items()})


def server_of(agents: list[Any] | None = None, storage: Storage | None = None, **options: Any) -> McpServer:
    """Give a server whose users share a storage and nothing in it."""
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
    assert json.loads(result.content[0].text) == result.structured_content
    assert "Traceback" not in result.content[0].text
    return result.structured_content
