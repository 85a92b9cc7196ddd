"""A server over agents that take their time, as a child process of a test: `mcp_slow_child.py DATABASE SECONDS`."""

from __future__ import annotations

import sys

import anyio

from roundtable import Roundtable
from roundtable.mcp import McpServer
from roundtable.providers.scripted import Delay
from roundtable.testing import scripted_agents

DATABASE, SECONDS = sys.argv[1], float(sys.argv[2])


def table(tenant: str) -> Roundtable:
    said = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
    agents = scripted_agents({name: Delay(SECONDS, said) for name in ("ada", "bo")})
    return Roundtable(agents, storage=f"sqlite:///{DATABASE}", tenant=tenant)


anyio.run(McpServer(table, heartbeat_s=SECONDS / 2).start)
