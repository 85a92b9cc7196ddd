"""Time from starting the command to its list of tools, beside a bare server of the SDK with one tool, in turns.

    python benchmarks/bench_mcp.py [--starts 10] [--check]

Also the time to the first answer of a tool, for which the engine is loaded. With `--check` it exits 1 when the list
takes more than 1.4 times as long as that of the bare server.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

MOST = 1.4
BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")


@server.tool()
def list_sessions() -> list[str]:
    return []


server.run("stdio")
"""


class Start(NamedTuple):
    """Seconds from the start of a server."""

    listed: float
    """To its list of tools."""
    answered: float
    """To the first answer of a tool."""


async def start(words: list[str]) -> Start:
    """Start a server and measure."""
    began = time.perf_counter()
    async with Client(stdio_client(StdioServerParameters(command=words[0], args=words[1:]))) as client:
        assert (await client.list_tools()).tools
        listed = time.perf_counter() - began
        assert not (await client.call_tool("list_sessions", {})).is_error
        return Start(listed, time.perf_counter() - began)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=10, help="starts of each kind")
    parser.add_argument("--check", action="store_true", help=f"exit 1 above {MOST} times the bare server")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("roundtable")), "mcp", "--db", f"{folder}/kept.db"]
        plain = [sys.executable, "-c", BARE]
        await start(plain)  # the first import writes byte code
        pairs = [(await start(plain), await start(command)) for _ in range(given.starts)]
    columns = dict(zip(("a bare server", "roundtable mcp"), zip(*pairs, strict=True), strict=True))
    for name, taken in columns.items():
        listed, answered = (statistics.median(column) for column in zip(*taken, strict=True))
        print(f"{name:15s} tools listed {listed:5.2f} s   first tool answered {answered:5.2f} s   (medians)")
    listed = {name: statistics.median(one.listed for one in taken) for name, taken in columns.items()}
    ratio = listed["roundtable mcp"] / listed["a bare server"]
    print(f"ratio of the medians, tools listed           {ratio:5.2f}   target: at most {MOST}")
    beside = statistics.median(ours.listed / bare.listed for bare, ours in pairs)
    print(f"median of the ratios of neighbours           {beside:5.2f}")
    if given.check and ratio > MOST:
        sys.exit(1)


anyio.run(main)
