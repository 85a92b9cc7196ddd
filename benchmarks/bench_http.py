"""CPU of a model call over loopback HTTP, beside plain httpx in the same run.

    python benchmarks/bench_http.py [--calls 400] [--reps 3] [--no-fast]

CPU is the process time of the caller; the server is a process of its own. Ratios matter, not milliseconds:
other work on the machine moves both alike. The clients of openai and anthropic stand beside it where installed.
Printed, never asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import anyio
import httpx

from roundtable.gateway import Gateway
from roundtable.http import HttpClient, HttpRequest
from roundtable.providers import chat_model
from roundtable.testing.servers import chat_chunks
from roundtable.types import ChatRequest, Message

Call = Callable[[], Awaitable[object]]

EVENTS = 2000
TEXT = "All work and no play makes a dull benchmark. " * 30
REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 300},
    }
).encode()
MESSAGE = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "bench",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 20, "output_tokens": 300},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
PLAIN, CLAUDE = HEAD % (len(REPLY), REPLY), HEAD % (len(MESSAGE), MESSAGE)
STREAM = b"".join(chat_chunks("word " * EVENTS, pieces=EVENTS))
STREAMED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b" % (len(STREAM), STREAM)


async def serve() -> None:
    """Answer every request at once, until standard input is closed."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            whole = CLAUDE if b" /v1/messages " in head else PLAIN
            writer.write(STREAMED if b'"stream":true' in body else whole)
            await writer.drain()

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await connection(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(guarded, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def cost(call: Call, *, calls: int, at_once: int) -> float:
    """Give milliseconds of CPU per call."""

    async def worker(count: int) -> None:
        for _ in range(count):
            await call()

    async def run(count: int) -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(at_once):
                tasks.start_soon(worker, count // at_once)

    await run(max(at_once, calls // 10))
    start = time.process_time()
    await run(calls)
    return (time.process_time() - start) / calls * 1000


async def official(origin: str, stack: AsyncExitStack) -> tuple[list[tuple[str, Call]], list[tuple[str, Call]]]:
    """Give the same calls, plain and streamed, through the providers' own clients."""
    messages = [{"role": "user", "content": "Go on. " * 20}]
    ask: dict[str, Any] = {"model": "bench", "messages": messages, "max_tokens": 4096}
    plain: list[tuple[str, Call]] = []
    streams: list[tuple[str, Call]] = []
    if find_spec("openai") is not None:
        gpt = import_module("openai").AsyncOpenAI(base_url=f"{origin}/v1", api_key="none", max_retries=0)
        await stack.enter_async_context(gpt)

        async def streamed() -> object:
            return [piece async for piece in await gpt.chat.completions.create(**ask, stream=True)]

        plain.append(("openai SDK", lambda: gpt.chat.completions.create(**ask)))
        streams.append(("openai SDK", streamed))
    if find_spec("anthropic") is not None:
        claude = import_module("anthropic").AsyncAnthropic(base_url=origin, api_key="none", max_retries=0)
        await stack.enter_async_context(claude)
        plain.append(("anthropic SDK", lambda: claude.messages.create(**ask)))
    return plain, streams


async def measure(origin: str, calls: int, reps: int) -> None:
    """Measure, and close all clients."""
    async with AsyncExitStack() as stack:
        plain, streams = await official(origin, stack)
        await compare(origin, calls, reps, plain, streams)


async def compare(
    origin: str, calls: int, reps: int, others: list[tuple[str, Call]], other_streams: list[tuple[str, Call]]
) -> None:
    """Print a table of medians."""
    url = f"{origin}/v1/chat/completions"
    ask = ChatRequest(model="bench", messages=(Message(role="user", content="Go on. " * 20),))
    body = {"model": "bench", "messages": [{"role": "user", "content": "Go on. " * 20}], "max_tokens": 4096}
    unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    # A time-out would be set up for each phase of a call, which is not what is measured.
    bare = httpx.AsyncClient(limits=unlimited, timeout=None)  # noqa: S113
    ours = HttpClient("bench")
    model = chat_model("compatible:bench", base_url=f"{origin}/v1")
    guarded = Gateway(concurrency=256, timeout_s=60).guard(model)

    async def plain() -> object:
        return (await bare.post(url, json=body)).json()["choices"][0]["message"]["content"]

    async def client() -> object:
        sent = HttpRequest("POST", url, {"content-type": "application/json"}, json.dumps(body).encode())
        return json.loads((await ours.send(sent, timeout_s=60)).body)

    rows: list[tuple[str, Call]] = [
        ("httpx.AsyncClient", plain),
        ("HttpClient", client),
        ("chat model", lambda: model.complete(ask)),
        ("through the gateway", lambda: guarded.complete(ask)),
        *others,
    ]
    for at_once in (1, 32, 256):
        found = {name: [await cost(call, calls=calls, at_once=at_once) for _ in range(reps)] for name, call in rows}
        table(f"{at_once} in flight, CPU ms a call", found)

    async def plain_stream() -> object:
        text = ""
        async with bare.stream("POST", url, json={**body, "stream": True}) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    for choice in json.loads(line[6:])["choices"]:
                        text += choice["delta"].get("content", "")
        return text

    async def our_stream() -> object:
        return [piece async for piece in guarded.stream(ask)]

    streams: list[tuple[str, Call]] = [("httpx.AsyncClient", plain_stream), ("through the gateway", our_stream)]
    streams += other_streams
    found = {
        name: [await cost(call, calls=10, at_once=1) / EVENTS * 1000 for _ in range(reps)] for name, call in streams
    }
    table("streaming in one burst, CPU us a chunk", found)
    await bare.aclose()
    await ours.aclose()
    await model.aclose()


def table(title: str, found: dict[str, list[float]]) -> None:
    """Print medians and their ratio to the first row."""
    print(f"\n{title}")
    floor = statistics.median(next(iter(found.values())))
    for name, values in found.items():
        median = statistics.median(values)
        print(f"  {name:22} {median:8.2f}   {median / floor:5.2f} x")


def main() -> None:
    """Start the server and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--no-fast", action="store_true", help="leave the extra fast alone where it is installed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    HttpClient.fast = not options.no_fast
    command = [sys.executable, __file__, "--serve"]
    # This very file, as a server.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None
        assert server.stdin is not None
        anyio.run(measure, f"http://127.0.0.1:{server.stdout.readline().strip()}", options.calls, options.reps)
        server.stdin.close()


if __name__ == "__main__":
    main()
