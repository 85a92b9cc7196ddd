"""Many debates against servers that are only as good as servers are: how many end whole, and how fast.

    python benchmarks/bench_batches.py [--debates 200] [--away 3]

A server of its own answers after 50 ms. Three batches of debates of two agents and one round: without faults; with 6 %
of errors (status 500) and 2 % of cut answers; with a server that goes away for `--away` seconds. Beside them, as many
calls with plain httpx. Printed, never asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx

from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.types import RetryPolicy

DELAY_S = 0.05
AT_ONCE = 200
ANSWER = json.dumps({"position": "Tea", "bottom_line": "Tea", "reasoning": "It keeps.", "confidence": 0.8})
BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 30},
    }
).encode()


def reply(status: int, body: bytes, *, whole: bool = True) -> bytes:
    """Return a response; if it is not whole, its end is missing."""
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + (body if whole else body[: len(body) // 2])


async def serve(port: int, errors: float, cuts: float, leaves_after: int, away_s: float) -> None:
    """Answer calls in this process until it is killed; print the port."""
    chances = random.Random(44)
    calls = 0
    away = asyncio.Event()
    writers: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        writers.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
                )
                await reader.readexactly(size)
                calls += 1
                if calls == leaves_after:
                    away.set()
                chance = chances.random()
                await asyncio.sleep(DELAY_S)
                is_cut = errors <= chance < errors + cuts
                writer.write(reply(500, b"{}") if chance < errors else reply(200, BODY, whole=not is_cut))
                await writer.drain()
                if is_cut:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writers.discard(writer)
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await away.wait()
    server.close()
    for writer in tuple(writers):
        writer.close()
    await asyncio.sleep(away_s)
    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    await asyncio.sleep(3600)


@asynccontextmanager
async def server(
    *, errors: float = 0, cuts: float = 0, leaves_after: float = 0, away_s: float = 0
) -> AsyncIterator[str]:
    """Run a server as a process, and return its address."""
    numbers = [str(number) for number in (errors, cuts, int(leaves_after), away_s)]
    command = [sys.executable, __file__, "--serve", *numbers]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603  (this file)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()


async def batch(name: str, debates: int, **faults: float) -> None:
    """Run a batch and print its figures."""
    retry = RetryPolicy(max_attempts=4, base_delay_ms=1000)
    agents = [AgentConfig(id=one, name=one, provider="compatible", model="bench", retry=retry) for one in ("ada", "bo")]
    async with server(**faults) as url:
        config = ProviderConfig(base_url=url)
        async with Roundtable(
            agents, providers={"compatible": config}, storage="memory://", analyzer="basic", concurrency=AT_ONCE
        ) as table:
            await table.debate("Tea?", rounds=1)
            begun, cpu = time.perf_counter(), time.process_time()
            results = await table.debate_many(
                [f"Tea or water, {number}?" for number in range(debates)], rounds=1, concurrency=AT_ONCE
            )
            seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    degraded = sum(not result.roster.complete for result in results)
    waits = [wait for result in results for wait in result.waits]
    print(
        f"{name:34} {debates:5} {len(results.failures):7} {degraded:9} {seconds:7.1f} {debates / seconds:10.1f}"
        f" {1000 * cpu / debates:8.1f} {len(waits):6} {max((wait.seconds for wait in waits), default=0):9.1f}"
    )


async def plain(calls: int) -> None:
    """Make as many calls with plain httpx, and print their rate."""
    limit = anyio.CapacityLimiter(AT_ONCE)
    async with server() as url, httpx.AsyncClient(limits=httpx.Limits(max_connections=AT_ONCE), timeout=60) as client:

        async def call() -> None:
            async with limit:
                (await client.post(f"{url}/chat/completions", json={"messages": []})).raise_for_status()

        begun, cpu = time.perf_counter(), time.process_time()
        async with anyio.create_task_group() as group:
            for _ in range(calls):
                group.start_soon(call)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    rate, each_ms = calls / seconds, 1000 * cpu / calls
    print(f"plain httpx: {calls} calls in {seconds:.1f} s, {rate:.0f} a second, {each_ms:.1f} ms CPU each")


async def main(debates: int, away_s: float) -> None:
    """Run all batches."""
    print(f"{'batch':34} total  failed  degraded  seconds  a second   ms CPU  waits  longest s")
    await batch("no faults", debates)
    await batch("6 % errors, 2 % cut answers", debates, errors=0.06, cuts=0.02)
    await batch(f"server away for {away_s:g} s", debates, leaves_after=debates // 2, away_s=away_s)
    await plain(2 * debates)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debates", type=int, default=200)
    parser.add_argument("--away", type=float, default=3.0)
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        numbers = given.serve
        asyncio.run(serve(0, float(numbers[0]), float(numbers[1]), int(numbers[2]), float(numbers[3])))
    else:
        asyncio.run(main(given.debates, given.away))
