"""CPU of a model call over loopback HTTP, beside plain httpx in the same run.

    python benchmarks/bench_http.py [--calls 400] [--reps 3] [--no-fast]
    python benchmarks/bench_http.py --decode 40000

The second form reads one streamed answer of so many pieces on each wire, without a connection.

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
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import anyio
import httpx

from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.gateway import Gateway
from roundtable.http import HttpClient, HttpRequest
from roundtable.providers import BUILTIN_SPECS, OpenAIChat, chat_model
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
PARTS = chat_chunks("word " * EVENTS, pieces=EVENTS)
STREAM = b"".join(PARTS)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in PARTS)
    + b"0\r\n\r\n"
)
STREAMED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b" % (len(STREAM), STREAM)


ANSWER = json.dumps({"position": "Tea keeps longer.", "reasoning": TEXT, "confidence": 0.8, "bottom_line": "Tea"})
CHOICE = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
DEBATER = json.dumps({**json.loads(REPLY), "choices": [CHOICE]}).encode()
DEBATE = HEAD % (len(DEBATER), DEBATER)
PIECES = b"".join(chat_chunks(ANSWER, pieces=300))
DEBATE_STREAMED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b" % (
    len(PIECES),
    PIECES,
)
DEBATES = 20


async def serve() -> None:
    """Answer every request at once, until standard input is closed."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            streamed = b'"stream":true' in body
            if b'"model":"chunked"' in body:
                writer.write(CHUNKED)
            elif b'"model":"debater"' in body:
                writer.write(DEBATE_STREAMED if streamed else DEBATE)
            else:
                whole = CLAUDE if b" /v1/messages " in head else PLAIN
                writer.write(STREAMED if streamed else whole)
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
    """Return milliseconds of CPU per call."""

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
    """Return the same calls, plain and streamed, through the providers' own clients."""
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
    await debates(origin, reps)


async def debates(origin: str, reps: int) -> None:
    """Print the CPU of a debate of three agents and three rounds, beside nine calls of plain httpx."""
    body = {"model": "debater", "messages": [{"role": "user", "content": "Go on. " * 150}], "max_tokens": 4096}
    async with (
        httpx.AsyncClient(timeout=None) as bare,  # noqa: S113
        Roundtable(
            [AgentConfig(id=name, name=name, provider="compatible", model="debater") for name in ("ada", "bo", "cy")],
            providers={"compatible": ProviderConfig(base_url=f"{origin}/v1", api_key="none")},
            storage="memory://",
        ) as table,
    ):

        async def nine_calls() -> object:
            async def three() -> None:
                for _ in range(3):
                    (await bare.post(f"{origin}/v1/chat/completions", json=body)).json()

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(three)
            return None

        async def listened() -> object:
            async with table.stream("Tea or coffee?", rounds=3) as events:
                return [event async for event in events]

        rows: list[tuple[str, Call]] = [
            ("nine calls of httpx", nine_calls),
            ("debate", lambda: table.debate("Tea or coffee?", rounds=3)),
            ("debate with a listener", listened),
        ]
        for at_once in (1, 64):
            calls = max(DEBATES, at_once)
            found = {name: [await cost(call, calls=calls, at_once=at_once) for _ in range(reps)] for name, call in rows}
            table_of(f"debates of 3 agents and 3 rounds, {at_once} at once, CPU ms a debate", found)


async def compare(
    origin: str, calls: int, reps: int, other_calls: list[tuple[str, Call]], other_streams: list[tuple[str, Call]]
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
        *other_calls,
    ]
    for at_once in (1, 32, 256):
        found = {name: [await cost(call, calls=calls, at_once=at_once) for _ in range(reps)] for name, call in rows}
        table_of(f"{at_once} in flight, CPU ms a call", found)

    async def plain_stream(name: str) -> object:
        text = ""
        async with bare.stream("POST", url, json={**body, "model": name, "stream": True}) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    for choice in json.loads(line[6:])["choices"]:
                        text += choice["delta"].get("content", "")
        return text

    async def our_stream(name: str) -> object:
        return [piece async for piece in guarded.stream(ask.model_copy(update={"model": name}))]

    for title, name, others in (
        ("streaming in one burst, CPU us a piece", "bench", other_streams),
        ("streaming in one burst, an HTTP chunk for each piece, CPU us a piece", "chunked", []),
    ):
        streams: list[tuple[str, Call]] = [
            ("httpx.AsyncClient", partial(plain_stream, name)),
            ("through the gateway", partial(our_stream, name)),
            *others,
        ]
        found = {
            row: [await cost(call, calls=10, at_once=1) / EVENTS * 1000 for _ in range(reps)] for row, call in streams
        }
        table_of(title, found)
    await bare.aclose()
    await ours.aclose()
    await model.aclose()


def piece_of(wire: str, text: str) -> list[dict[str, Any]]:
    """Return the events that begin a stream of a wire, contain a piece of text, and end it."""
    if wire == "anthropic":
        return [
            {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        ]
    if wire == "openai":
        return [
            {"type": "response.created"},
            {"type": "response.output_text.delta", "output_index": 0, "delta": text},
            {"type": "response.completed", "response": {"status": "completed", "output": []}},
        ]
    if wire == "google":
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}}
        counts = {"promptTokenCount": 3, "totalTokenCount": 3}
        last = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": counts}
        return [{"candidates": [candidate], "usageMetadata": counts, "modelVersion": "m"}, last]
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return [{"id": "c", "choices": [choice]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]


def decode(pieces: int, reps: int) -> None:
    """Print the CPU of reading a streamed answer of this many pieces, and of a tenth of them."""
    text = "All work and no play makes a dull benchmark, said the agent. "
    for wire in ("anthropic", "openai", "google", "compatible", "perplexity"):
        dialect = OpenAIChat("compatible") if wire == "compatible" else BUILTIN_SPECS[wire].dialect
        events = [f"data: {json.dumps(event)}\n\n".encode() for event in piece_of(wire, text)]
        at = next(place for place, event in enumerate(events) if b"All work" in event)
        done = b"data: [DONE]\n\n" if wire == "perplexity" else b""
        for count in (pieces // 10, pieces):
            found = []
            for _ in range(reps):
                decoder = dialect.stream_decoder({})
                start = time.process_time()
                for event in (*events[:at], *[events[at]] * count, *events[at + 1 :], done):
                    decoder.feed(event)
                if wire != "openai":  # its last event says the text again, and here it is left out
                    assert decoder.finish().text == text * count
                found.append(time.process_time() - start)
            seconds = statistics.median(found)
            print(f"  {wire:12} {count:7} pieces {seconds:8.2f} s   {seconds / count * 1e6:7.1f} us a piece")


def table_of(title: str, found: dict[str, list[float]]) -> None:
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
    parser.add_argument("--decode", type=int, metavar="PIECES", help="read streams of so many pieces instead")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    if options.decode:
        decode(options.decode, options.reps)
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
