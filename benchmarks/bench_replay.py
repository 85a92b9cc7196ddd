"""Clients that all come back at once: what replaying a stored session costs, and how long other requests wait.

    python benchmarks/bench_replay.py [--clients 300] [--sessions 1]

The server is a process of its own, as `roundtable serve` runs it, with sessions in SQLite. All clients connect at the
same moment and read a whole session that has ended; with `--sessions`, they are distributed among several. Meanwhile
`/health` is requested again and again. Printed; nothing is judged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from roundtable import Roundtable
from roundtable.auth import LocalUser
from roundtable.server import Limits, create_app
from roundtable.server.serving import serve
from roundtable.testing import scripted_agents

ANSWER = f"Tea. {'It keeps, and it travels well. ' * 30}"
ROUNDS = 10


def table(folder: str) -> Roundtable:
    """Return a table of three agents that stores its sessions in a folder."""
    return Roundtable(scripted_agents(dict.fromkeys(("ada", "bo", "cy"), ANSWER)), storage=f"sqlite:///{folder}/d.db")


async def child(folder: str) -> None:
    """Serve until a signal; the first line that is written is the address."""
    limits = Limits(streams_per_user=None, streams_total=None)
    app = create_app(table(folder), auth=LocalUser(), limits=limits)
    await serve(app, port=0, listening=lambda url: print(url, flush=True))


async def request(host: str, port: int, path: str) -> bytes:
    """Request a path on a connection of its own, and return the whole answer."""
    reader, writer = await asyncio.open_connection(host, port, limit=2**24)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n".encode())
    try:
        return await reader.read()
    finally:
        writer.close()


def busy_s(process: int) -> float:
    """Return the processor time of a process in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(url: str, sessions: list[str], clients: int, process: int) -> None:
    """Time clients that come back at once, and print what it costs."""
    host, _, port = url.removeprefix("http://").partition(":")
    waits: list[float] = []
    over = asyncio.Event()

    async def ask() -> None:
        while not over.is_set():
            began = time.perf_counter()
            await request(host, int(port), "/health")
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)

    await ask_once(host, int(port), sessions[0])
    asking = asyncio.create_task(ask())
    began, busy = time.perf_counter(), busy_s(process)
    paths = [f"/api/sessions/{sessions[number % len(sessions)]}/events" for number in range(clients)]
    answers = await asyncio.gather(*(request(host, int(port), path) for path in paths))
    took, used = time.perf_counter() - began, busy_s(process) - busy
    over.set()
    await asking
    events = sum(answer.count(b"\ndata: ") for answer in answers)
    waits.sort()
    print(
        f"{clients} clients, {len(sessions)} session(s): {events:,} events of {min(map(len, answers)):,} bytes or more"
    )
    print(
        f"  all had everything after {took:.2f} s; processor time {used:.2f} s, {used / events * 1e6:.0f} us an event"
    )
    median, longest = waits[len(waits) // 2] * 1e3, waits[-1] * 1e3
    print(f"  /health: {len(waits)} answers, median {median:.0f} ms, longest {longest:.0f} ms")


async def ask_once(host: str, port: int, session: str) -> None:
    """Replay one session, so that what is loaded once does not count."""
    await request(host, port, f"/api/sessions/{session}/events")


async def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=300)
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        await child(given.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        async with table(folder) as filled:
            sessions = [(await filled.debate("Tea or milk?", rounds=ROUNDS)).session_id for _ in range(given.sessions)]
        command = [sys.executable, __file__, "--child", folder]  # this very program, as the server
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: ASYNC220, S603
            assert server.stdout is not None
            try:
                await measure(server.stdout.readline().strip(), sessions, given.clients, server.pid)
            finally:
                server.terminate()


if __name__ == "__main__":
    anyio.run(main)
