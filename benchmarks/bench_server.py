"""The HTTP server under load: a thousand clients, some of which do not read, and five times too many users.

    python benchmarks/bench_server.py [--clients 1000] [--stalled 10] [--rate 10] [--seconds 15]

The server is a process of its own, as `roundtable serve` runs it; the clients are this one. First all clients follow a
debate whose agent speaks at a steady rate: how much is delivered, how late, and what a client costs in memory. Then
some stop reading: when they are dropped, and what the others notice. Last, users ask for five times as many debates at
once as they may have: how soon the refusals come, and how many debates are still held; what a debate takes, and when
who was refused asks again, is left to chance, so that nothing happens in step. Delivery counts from the time
an event carries to its arrival at one client of ten, which alone look at it; one clock tells both times. Other work on
the machine makes every figure worse. Printed; nothing is judged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import anyio

from roundtable import AgentConfig, Roundtable
from roundtable.agents import BaseAgent
from roundtable.auth import SCOPES, Identity
from roundtable.gateway.streams import ChatStream
from roundtable.providers.scripted import ScriptedModel
from roundtable.server import Limits, create_app
from roundtable.server.serving import serve
from roundtable.types import ChatDelta, ChatRequest, ChatResponse, ModelProfile

USERS = 10
EACH = 2
ANSWER_S = 2.0
PATIENCE_S = 1.0
TEA = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}
PIECE = "tea and coffee, " * 4
LARGE_PIECE = PIECE * 1024
STAMP = re.compile(rb'"agent_response_chunk","data":{"sessionId":"[^"]+","timestamp":"([^"]+)"')


# ---------------------------------------------------------------- the server


class Speaker(ScriptedModel):
    """Speaks at a steady rate for some time; how, the topic says."""

    async def pieces(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse]:
        """Yield a piece now and then."""
        found = re.search(r"speak (\d+) (\d+) (small|large)", str(request.messages))
        assert found is not None
        rate, seconds, piece = int(found[1]), int(found[2]), PIECE if found[3] == "small" else LARGE_PIECE
        began = time.monotonic()
        for number in range(rate * seconds):
            await anyio.sleep(max(0.0, began + number / rate - time.monotonic()))
            yield ChatDelta(text=piece)
        yield ChatResponse(text=json.dumps(TEA))

    def stream(self, request: ChatRequest) -> ChatStream:
        """Speak."""
        return ChatStream(self.pieces(request))


class Thinker(ScriptedModel):
    """Answers after some time, now sooner and now later, so that debates do not end in step."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer."""
        await anyio.sleep(random.uniform(0.5, 1.5) * ANSWER_S)
        return ChatResponse(text=json.dumps(TEA))


class AnyName:
    """Takes a credential for the name of a user."""

    async def authenticate(self, credential: str | None) -> Identity:
        """Return the caller's identity."""
        return Identity(user=credential or "default", scopes=SCOPES)

    async def still_valid(self, _: Identity) -> bool:
        """Accept every identity."""
        return True


async def child(clients: int) -> None:
    """Serve until a signal; the first line that is written is the address."""
    agents = [
        BaseAgent(
            AgentConfig(id="ada", name="Ada", provider="scripted"),
            Speaker([], profile=ModelProfile(streams=True)),
        ),
        BaseAgent(AgentConfig(id="bo", name="Bo", provider="scripted"), Thinker([])),
    ]
    limits = Limits(
        conversations_per_hour=None,
        rounds_per_day=None,
        concurrent=EACH,
        streams_per_user=None,
        streams_total=2 * clients,
    )
    app = create_app(Roundtable(agents, storage="memory://", concurrency=USERS * EACH), auth=AnyName(), limits=limits)
    await serve(app, port=0, listening=lambda url: print(url, flush=True))


@asynccontextmanager
async def server(clients: int) -> AsyncGenerator[Server]:
    """Run the server as a process."""
    words = [sys.executable, __file__, "--child", "--clients", str(clients)]
    process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    host, _, port = url.removeprefix("http://").rpartition(":")
    try:
        yield Server(process.pid, host, int(port))
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


class Server(NamedTuple):
    """A server that runs."""

    pid: int
    host: str
    port: int

    def kib(self) -> int:
        """Memory that it uses."""
        status = Path(f"/proc/{self.pid}/status").read_text("ascii")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])

    def cpu_s(self) -> float:
        """Processor time that it used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def begin(self, topic: str, user: str) -> str:
        """Begin a debate; give its session."""
        async with self.connected(user) as line:
            status, body = await line.ask("POST", "/api/debates", {"topic": topic, "rounds": 1, "agents": ["ada"]})
            assert status == 202, body
            return str(json.loads(body)["sessionId"])

    async def open_streams(self) -> int:
        """Ask how many streams are open."""
        async with self.connected() as line:
            _, body = await line.ask("GET", "/metrics")
            return int(float(re.findall(rb"\nroundtable_streams_open (\S+)", body)[0]))

    @asynccontextmanager
    async def connected(self, user: str = "default") -> AsyncGenerator[Line]:
        """Open a connection."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            yield Line(reader, writer, user)
        finally:
            writer.close()

    def following(self, session: str, user: str) -> bytes:
        """Return the request that follows a session."""
        head = (
            f"GET /api/sessions/{session}/events HTTP/1.1\r\nhost: {self.host}\r\nauthorization: Bearer {user}\r\n\r\n"
        )
        return head.encode()


@dataclass
class Line:
    """A connection that is asked one thing after another."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    user: str

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Ask, and give the status and the body of the answer."""
        content = b"" if body is None else json.dumps(body).encode()
        more = f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {self.user}\r\n{more}\r\n"
        self.writer.write(head.encode() + content)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer)
        assert length is not None, answer
        return int(answer.split(b" ", 2)[1]), await self.reader.readexactly(int(length[1]))


# ---------------------------------------------------------------- clients that listen


@dataclass
class Heard:
    """What clients heard."""

    events: int = 0
    late_ms: list[float] = field(default_factory=list)


class Ear(asyncio.Protocol):
    """A client that follows a session."""

    def __init__(self, heard: Heard, head: bytes, *, looks: bool) -> None:
        self.heard = heard
        self.head = head
        self.looks = looks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(self.head)

    def data_received(self, data: bytes) -> None:
        """Count."""
        self.heard.events += data.count(b"data: {")
        if self.looks:
            now = time.time()
            for stamp in STAMP.findall(data):
                self.heard.late_ms.append(1000 * (now - datetime.fromisoformat(stamp.decode()).timestamp()))


async def listen(at: Server, following: bytes, clients: int, heard: Heard) -> list[asyncio.BaseTransport]:
    """Connect clients that follow a session, a few at a time."""
    loop = asyncio.get_running_loop()
    lines: list[asyncio.BaseTransport] = []
    for number in range(clients):
        looks = number % 10 == 0
        made = await loop.create_connection(lambda looks=looks: Ear(heard, following, looks=looks), at.host, at.port)
        lines.append(made[0])
        if number % 50 == 49:
            await asyncio.sleep(0.02)
    return lines


def deaf(at: Server, following: bytes) -> socket.socket:
    """Follow a session and never read."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect((at.host, at.port))
    line.sendall(following)
    return line


async def until(so: Callable[[], Awaitable[bool]], most_s: float) -> float:
    """Wait until something is so; give the seconds it took."""
    began = time.monotonic()
    while not await so() and time.monotonic() - began < most_s:  # noqa: ASYNC110  (another process)
        await asyncio.sleep(0.2)
    return time.monotonic() - began


def told(heard: Heard, seconds: float, cpu_s: float) -> str:
    late = sorted(heard.late_ms) or [0.0]
    p50, p99 = statistics.median(late), late[min(len(late) - 1, int(0.99 * len(late)))]
    return (
        f"{heard.events / seconds:,.0f} events/s ({heard.events / cpu_s:,.0f} for a second of processor), "
        f"late by {p50:.0f} ms (median), {p99:.0f} ms (p99), "
        f"{late[-1]:.0f} ms (most)"
    )


async def fan_out(at: Server, clients: int, stalled: int, rate: int, seconds: int) -> None:
    """Measure clients that hear one debate."""
    before = at.kib()
    session = await at.begin(f"speak {rate} {seconds + 40} small", "ann")
    heard = Heard()
    lines = await listen(at, at.following(session, "ann"), clients, heard)
    await until(lambda: _is(at, clients), 30)
    print(f"{clients} clients follow one debate: {(at.kib() - before) / clients:.0f} KiB each")
    heard.events, heard.late_ms = 0, []
    cpu_s, began = at.cpu_s(), time.monotonic()
    await asyncio.sleep(seconds)
    print(f"  all read:        {told(heard, time.monotonic() - began, at.cpu_s() - cpu_s)}")
    for line in lines:
        line.close()
    await until(lambda: _is(at, 0), 15)
    if stalled:
        await stall(at, clients, stalled, rate, seconds)


async def _is(at: Server, streams: int) -> bool:
    return await at.open_streams() == streams


async def stall(at: Server, clients: int, stalled: int, rate: int, seconds: int) -> None:
    """Measure clients of which some stop reading: they follow a debate that fills their buffers at once."""
    calm = await at.begin(f"speak {rate} {seconds + 100} small", "bo")
    heard = Heard()
    lines = await listen(at, at.following(calm, "bo"), clients - stalled, heard)
    await until(lambda: _is(at, clients - stalled), 60)
    loud = await at.begin("speak 20 20 large", "cy")
    deaf_ones = [deaf(at, at.following(loud, "cy")) for _ in range(stalled)]
    came = time.monotonic()
    await until(lambda: _is(at, clients), 8)
    heard.events, heard.late_ms = 0, []
    cpu_s, began = at.cpu_s(), time.monotonic()
    await until(lambda: _is(at, clients - stalled), 25)
    print(f"  {stalled} do not read:  dropped {time.monotonic() - came:.1f} s after they came; meanwhile the others:")
    print(f"                   {told(heard, time.monotonic() - began, at.cpu_s() - cpu_s)}")
    for line in lines:
        line.close()
    for one in deaf_ones:
        one.close()
    await until(lambda: _is(at, 0), 15)


# ---------------------------------------------------------------- too many


@dataclass
class Asked:
    """What users who asked were answered."""

    held: int = 0
    refused_ms: list[float] = field(default_factory=list)
    odd: list[int] = field(default_factory=list)


async def ask_on(at: Server, user: str, asked: Asked) -> None:
    """Ask for one debate after another."""
    async with at.connected(user) as line:
        while True:
            began = time.monotonic()
            body = {"topic": "Tea?", "rounds": 1, "agents": ["bo"]}
            status, _ = await line.ask("POST", "/api/debates?wait=30", body)
            if status == 200:
                asked.held += 1
            elif status == 429:
                asked.refused_ms.append(1000 * (time.monotonic() - began))
                await asyncio.sleep(random.uniform(0.5, 1.5) * PATIENCE_S)
            else:
                asked.odd.append(status)


async def crowd(at: Server, times: int, seconds: float) -> tuple[float, Asked]:
    """Send requests of many users for some time; return the debates per second."""
    asked = Asked()
    tasks = [asyncio.create_task(ask_on(at, f"user{n % USERS}", asked)) for n in range(times * USERS * EACH)]
    await asyncio.sleep(2 * ANSWER_S)
    asked.held, asked.refused_ms = 0, []
    await asyncio.sleep(seconds)
    held = asked.held / seconds
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return held, asked


async def overload(at: Server, seconds: float) -> None:
    """Measure users who ask for more than they may have."""
    peak, _ = await crowd(at, 1, seconds)
    held, asked = await crowd(at, 5, seconds)
    refused = sorted(asked.refused_ms) or [0.0]
    print(f"{USERS} users, {EACH} debates of about {ANSWER_S:g} s at a time: {peak:.1f} debates/s")
    print(f"  they ask for five times as many: {held:.1f} debates/s ({100 * held / max(peak, 0.1):.0f} % of that)")
    print(
        f"  refusals: {len(refused) / seconds:.0f}/s, answered in {statistics.median(refused):.0f} ms (median), "
        f"{refused[int(0.99 * (len(refused) - 1))]:.0f} ms (p99); other answers: {asked.odd or 'none'}"
    )
    after, _ = await crowd(at, 1, seconds)
    print(f"  afterwards: {after:.1f} debates/s")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--stalled", type=int, default=10, help="clients that stop reading; 0 leaves this out")
    parser.add_argument("--rate", type=int, default=10, help="events a second that each client is told")
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        await child(given.clients)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print(f"load average at the start: {os.getloadavg()[0]:.1f}")
    async with server(given.clients) as at:
        await fan_out(at, given.clients, given.stalled, given.rate, given.seconds)
    async with server(given.clients) as at:
        await overload(at, 16)


if __name__ == "__main__":
    anyio.run(main)
