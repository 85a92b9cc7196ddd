"""Many debates against servers that are only as good as servers are: how many end whole, and how fast.

    python benchmarks/bench_batches.py [faults] [--debates 200] [--away 3]
    python benchmarks/bench_batches.py serve [--debates 60] [--seconds 300]
    python benchmarks/bench_batches.py overnight [--debates 500] [--concurrency 16]

A server of its own answers after 50 ms.

`faults`: three batches of debates of two agents and one round: without faults; with 6 % of errors (status 500) and 2 %
of cut answers; with a server that goes away for `--away` seconds. Beside them, as many calls with plain httpx.

`serve`: the HTTP server keeps so many debates running at once, for so long, while 3 % of the calls fail. The lag of its
loop is how much later than asked a task wakes that asks for every 10 ms.

`overnight`: a named batch of two named endpoints and two rounds in a process of its own, which is killed by SIGKILL
after 40 % and started again. Both endpoints give 6 % of errors and 2 % of cut answers, and one goes away for a few
seconds. An answer is paid for once it is sent whole.

Printed, never asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import httpx
from bench_load import watched

from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.auth import SCOPES, Identity
from roundtable.bench import print_progress
from roundtable.client import RoundtableClient
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import Progress
from roundtable.server import Limits, create_app
from roundtable.server.serving import serve as serve_app
from roundtable.types import RetryPolicy

DELAY_S = 0.05
AT_ONCE = 200
USER = "bench"
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


async def serve(errors: float, cuts: float, leaves_after: int, away_s: float, log: Path | None) -> None:
    """Answer calls in this process until it is killed; print the port.

    The log gets a character when a call begins (`b`), when its answer is sent whole (`w`) or cut (`c`), and when it
    gets an error (`e`) or no answer, since the caller is gone (`g`).
    """
    chances = random.Random(44)
    calls = 0
    away = asyncio.Event()
    writers: set[asyncio.StreamWriter] = set()
    noted = None if log is None else log.open("a", buffering=1)

    def note(what: str) -> None:
        if noted is not None:
            noted.write(f"{what}\n")

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
                note("b")
                if calls == leaves_after:
                    away.set()
                chance = chances.random()
                await asyncio.sleep(DELAY_S)
                is_cut = errors <= chance < errors + cuts
                if reader.at_eof():
                    note("g")
                    break
                note("e" if chance < errors else "c" if is_cut else "w")
                writer.write(reply(500, b"{}") if chance < errors else reply(200, BODY, whole=not is_cut))
                await writer.drain()
                if is_cut:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writers.discard(writer)
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
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
    *, errors: float = 0, cuts: float = 0, leaves_after: float = 0, away_s: float = 0, log: str = ""
) -> AsyncIterator[str]:
    """Run a server as a process, and return its address."""
    numbers = [str(number) for number in (errors, cuts, int(leaves_after), away_s)]
    command = [sys.executable, __file__, "--serve", *numbers, log]
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


class AnyName:
    """Takes a credential for the name of a user."""

    async def authenticate(self, credential: str | None) -> Identity:
        """Return the caller's identity."""
        return Identity(user=credential or "default", scopes=SCOPES)

    async def still_valid(self, _: Identity) -> bool:
        """Accept every identity."""
        return True


def agents_of(*providers: str) -> list[AgentConfig]:
    """Return an agent for each provider."""
    return [AgentConfig(id=f"agent-{one}", name=f"Agent {one}", provider=one, model="bench") for one in providers]


async def serve_debates(url: str, storage: str) -> None:
    """Serve debates until a signal; print the address, and at last the lags of the loop."""
    lags: list[float] = []
    table = Roundtable(
        [AgentConfig(id=one, name=one, provider="compatible", model="bench") for one in ("ada", "bo")],
        providers={"compatible": ProviderConfig(base_url=url)},
        storage=storage,
        analyzer="basic",
        concurrency=AT_ONCE,
    )
    limits = Limits(conversations_per_hour=None, rounds_per_day=None, concurrent=None, streams_per_user=None)
    app = create_app(table, auth=AnyName(), limits=limits)
    async with watched(lags):
        await serve_app(app, port=0, listening=lambda address: print(address, flush=True))
    lags.sort()
    print(json.dumps([lags[len(lags) * 99 // 100], lags[-1]]), flush=True)


async def serving(debates: int, seconds: float) -> None:
    """Keep so many debates running on a server for some time, and print how they ended."""
    results: list[DebateResult] = []
    async with server(errors=0.03) as url:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--debates-of", url, f"sqlite:///{folder}/debates.db"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            begun = time.perf_counter()

            async def one(client: RoundtableClient, number: int) -> None:
                while time.perf_counter() - begun < seconds:
                    results.append(await client.debate(f"Tea or water, {number}.{len(results)}?", rounds=2))

            client = RoundtableClient(address, token=USER, timeout_s=600)
            async with client, anyio.create_task_group() as group:
                for number in range(debates):
                    group.start_soon(one, client, number)
            passed = time.perf_counter() - begun
            process.send_signal(signal.SIGTERM)
            p99, most = json.loads(process.communicate()[0].splitlines()[-1])
    whole = sum(result.status == "completed" and result.roster.complete for result in results)
    waits = sum(len(result.waits) for result in results)
    print(
        f"serve: {debates} debates at once for {passed:.0f} s, 3 % errors: {len(results)} ended, {whole} of them whole"
    )
    print(f"  {sum(result.usage.calls for result in results)} calls, {waits} waits of rounds for the provider")
    print(f"  lag of the server's loop: p99 {1000 * p99:.0f} ms, most {1000 * most:.0f} ms")


async def night(urls: list[str], folder: Path, debates: int, concurrency: int) -> None:
    """Run the batch, or the rest of it; print each progress as JSON, and at last its results."""

    def show(progress: Progress) -> None:
        print_progress(progress)
        print(json.dumps([progress.ended, progress.stored, progress.failed, progress.has_ended]), flush=True)

    names = ["box-a", "box-b"]
    providers = {name: ProviderConfig(kind="compatible", base_url=url) for name, url in zip(names, urls, strict=True)}
    storage = f"sqlite:///{folder}/debates.db"
    async with Roundtable(agents_of(*names), providers=providers, storage=storage, analyzer="basic") as table:
        results = await table.debate_many(
            [f"Tea or water, {number}?" for number in range(debates)],
            rounds=2,
            name="night",
            concurrency=concurrency,
            on_progress=show,
        )
    turns = sum(turn.outcome == "answered" for result in results for held in result.rounds for turn in held.turns)
    waits = sum(len(result.waits) for result in results)
    print(json.dumps([len(results), len(results.failures), len(results.incomplete), turns, waits]), flush=True)


def counted(logs: list[Path]) -> Counter[str]:
    """Return what the servers noted."""
    return Counter(line for log in logs for line in log.read_text().splitlines())


async def overnight(debates: int, concurrency: int) -> None:
    """Run a batch, kill it, run the rest, and print what was lost or paid twice."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = [folder / "a.log", folder / "b.log"]
        async with AsyncExitStack() as stack:
            faults = {"errors": 0.06, "cuts": 0.02}
            away = {"leaves_after": debates, "away_s": 5.0}
            urls = [
                await stack.enter_async_context(server(**faults, **extra, log=str(log)))
                for log, extra in zip(logs, (away, {}), strict=True)
            ]
            command = [sys.executable, __file__, "--night", *urls, name, str(debates), str(concurrency)]
            begun = time.perf_counter()
            first: list[list[int]] = []
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603
            assert process.stdout is not None
            while not first or first[-1][0] < 0.4 * debates:
                first.append(json.loads(process.stdout.readline()))
            process.kill()
            process.wait()
            await anyio.sleep(1)  # calls in flight are answered, or noted as gone
            at_kill = counted(logs)
            ended = await anyio.run_process([*command], stderr=None)
            passed = time.perf_counter() - begun
            *later, (count, failed, incomplete, turns, waits) = map(json.loads, ended.stdout.decode().splitlines())
        noted = counted(logs)
    counts = [one[0] for one in later]
    whole = noted["w"]
    print(f"overnight: {debates} debates of 2 agents and 2 rounds, killed after {first[-1][0]}, {passed:.0f} s in all")
    print(f"  {count} results, {failed} failed, {incomplete} with agents missing, {turns} answers stored")
    print(f"  {whole} answers sent whole, so {whole - turns} paid for twice; at most {2 * concurrency} calls in flight")
    print(f"  {noted['c']} cut answers, {noted['e']} errors, {at_kill['g']} callers gone at the kill, {waits} waits")
    is_right = counts == sorted(counts) and later[-1][:3] == [debates, later[-1][1], 0] and later[-1][1] >= first[-1][0]
    print(f"  progress of the second run: {later[-1][1]} stored before, {later[-1][0]} of {debates}, right: {is_right}")


def run() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["faults", "serve", "overnight"], default="faults")
    parser.add_argument("--debates", type=int)
    parser.add_argument("--away", type=float, default=3.0)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--serve", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--debates-of", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--night", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        errors, cuts, leaves_after, away_s, log = given.serve
        asyncio.run(serve(float(errors), float(cuts), int(leaves_after), float(away_s), Path(log) if log else None))
    elif given.debates_of:
        asyncio.run(serve_debates(*given.debates_of))
    elif given.night:
        *urls, folder, debates, concurrency = given.night
        asyncio.run(night(urls, Path(folder), int(debates), int(concurrency)))
    elif given.what == "serve":
        asyncio.run(serving(given.debates or 60, given.seconds))
    elif given.what == "overnight":
        asyncio.run(overnight(given.debates or 500, given.concurrency))
    else:
        asyncio.run(main(given.debates or 200, given.away))


if __name__ == "__main__":
    run()
