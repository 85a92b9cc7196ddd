"""Every tool of a server, called by fastmcp's client: `mcp_fastmcp_client.py COMMAND...`; runs without this library."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    beats = 0

    async def hear(*_: object) -> None:
        nonlocal beats
        beats += 1

    async with Client(StdioTransport(sys.argv[1], sys.argv[2:], env={**os.environ})) as client:

        async def call(name: str, **arguments: Any) -> Any:
            return await client.call_tool(name, arguments, progress_handler=hear, raise_on_error=False)

        begun = (await call("start_roundtable", topic="Tea or coffee?", rounds=2, step=True)).structured_content
        named = {"sessionId": begun["sessionId"]}
        spoken = {**named, "agentId": begun["agentResponses"][0]["agentId"]}
        seen = {}
        for name, arguments in (
            ("continue_roundtable", named),
            ("get_consensus", named),
            ("get_agents", {}),
            ("list_sessions", {}),
            ("get_thoughts", spoken),
            ("export_session", named),
            ("get_round_details", {**named, "roundNumber": 2}),
            ("get_response_detail", spoken),
            ("get_citations", named),
            ("synthesize_debate", named),
            ("control_session", {**named, "action": "pause"}),
        ):
            result = await call(name, **arguments)
            seen[name] = json.loads(result.content[0].text)["code"] if result.is_error else "answered"
        found = {
            "tools": len(await client.list_tools()),
            "beats": beats,
            "seen": seen,
            "resources": len(await client.list_resources()),
            "prompts": len(await client.list_prompts()),
        }
    print(json.dumps(found))  # noqa: T201  (what the test reads)


asyncio.run(main())
