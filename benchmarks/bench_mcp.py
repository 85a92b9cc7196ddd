"""Time from starting the command to its list of tools, beside a bare server of the SDK with one tool, in turns.

`python benchmarks/bench_mcp.py [--starts N] [--check]`; with `--check` it exits 1 above 1.4 times the bare server.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

MOST = 1.4
BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")


@server.tool()
def echo(text: str) -> str:
    return text


server.run("stdio")
"""


async def start(words: list[str]) -> float:
    """Give the seconds from the start of a server to its list of tools."""
    began = time.perf_counter()
    async with Client(stdio_client(StdioServerParameters(command=words[0], args=words[1:]))) as client:
        assert (await client.list_tools()).tools
        return time.perf_counter() - began


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours = [str(Path(sys.executable).with_name("roundtable")), "mcp", "--db", f"{folder}/kept.db"]
        bare = [sys.executable, "-c", BARE]
        taken: dict[str, list[float]] = {"bare": [], "roundtable": []}
        for _ in range(given.starts):
            taken["bare"].append(await start(bare))
            taken["roundtable"].append(await start(ours))
    for name, seconds in taken.items():
        print(f"{name:12s} median {statistics.median(seconds):.2f} s, least {min(seconds):.2f} s")
    ratio = statistics.median(taken["roundtable"]) / statistics.median(taken["bare"])
    print(f"roundtable / bare: {ratio:.2f} (at most {MOST})")
    if given.check and ratio > MOST:
        sys.exit(1)


anyio.run(main)
