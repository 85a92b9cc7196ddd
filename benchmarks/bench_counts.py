"""Function calls and machine instructions of a turn, a model call, a piece of a stream, and a debate over HTTP.

    python benchmarks/bench_counts.py [--calls-only] [--only WORD] [--against FILE] [--write FILE]
    python benchmarks/bench_counts.py --given FILE --against FILE

Counts do not depend on how fast or how busy the machine is. Each is the difference of two sizes of the same work,
so that neither start-up nor the first debate of a process enters. Instructions are counted by cachegrind, a tool of
valgrind; where it is not installed, only function calls are. The clock of the event loop stands still while there is
work, so that nothing is counted that happens at intervals. With `--against` it exits 1 where one count of ours is more
than 5 % higher than in the file; the second form compares two files.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from selectors import DefaultSelector, SelectorKey
from typing import Final, NamedTuple

import anyio

MOST: Final = 1.05
"""How many times the kept count a count may be."""

REFERENCE: Final = "plain httpx"
ANSWER: Final = json.dumps(
    {
        "position": "Tea keeps longer.",
        "reasoning": "All work and no play makes a dull benchmark. " * 8,
        "confidence": 0.8,
        "bottom_line": "Tea",
    }
)
PIECES: Final = 40
"""Pieces of a streamed answer in a debate."""

WHOLE: Final = json.dumps(
    {
        "id": "chatcmpl-1",
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 300},
    }
).encode()

QUIET_S: Final = 0.02
"""The server answers all requests together once none came for so long: by then, the client waits for the answers."""

QUIET_IN_VALGRIND_S: Final = 0.1
TOGETHER_S: Final = 0.01
"""How long a client that waited leaves answers to arrive, so that it always finds all of them."""


# ---------------------------------------------------------------- the work


class Clock(DefaultSelector):
    """A selector whose clock is moved by waiting in vain, and by nothing else."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Wait for connections; what arrives at about the same time is returned at once, in a fixed order."""
        ready = super().select(timeout)
        if timeout == 0:
            return ready
        if not ready:
            self.now += timeout or 0
            return ready
        time.sleep(TOGETHER_S)
        return sorted(super().select(0), key=lambda one: one[0].fd)


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time, and that of the process, stands still while there is work."""

    def __init__(self) -> None:
        self._clock = Clock()
        super().__init__(self._clock)
        time.monotonic = self.time

    def time(self) -> float:
        """Return the time of the clock."""
        return self._clock.now


async def turns(size: int, _origin: str) -> None:
    """Hold debates of three scripted agents and three rounds, nine turns each, in memory."""
    from roundtable import Roundtable
    from roundtable.testing import scripted_agents

    agents = {
        "ada": "Tea keeps longer and costs less.",
        "bo": "Coffee wakes people up.",
        "cy": "Tea keeps longer and costs less.",
    }
    table = Roundtable(scripted_agents(agents), storage="memory://")
    for number in range(size // 9):
        await table.debate(f"Topic {number}: tea or coffee?", rounds=3)


async def httpx_calls(size: int, origin: str) -> None:
    """Make model calls with httpx alone."""
    import httpx

    body = {"model": "bench", "messages": [{"role": "user", "content": "Go on. " * 20}], "max_tokens": 4096}
    async with httpx.AsyncClient(timeout=None) as client:  # noqa: S113  (its time-outs are not what is counted)
        for _ in range(size):
            answer = await client.post(f"{origin}/v1/chat/completions", json=body)
            assert answer.json()["choices"][0]["message"]["content"] == ANSWER


async def httpx_pieces(size: int, origin: str) -> None:
    """Read one streamed answer of so many pieces with httpx alone."""
    import httpx

    body = {"model": f"bench-{size}", "messages": [{"role": "user", "content": "Go on. " * 20}], "stream": True}
    text = ""
    async with (
        httpx.AsyncClient(timeout=None) as client,  # noqa: S113  (as above)
        client.stream("POST", f"{origin}/v1/chat/completions", json=body) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    text += choice["delta"].get("content", "")
    assert text == "word " * size


async def httpx_debates(size: int, origin: str) -> None:
    """Make the nine calls of a debate with httpx alone, three at once."""
    import httpx

    body = {"model": "bench", "messages": [{"role": "user", "content": "Go on. " * 150}], "max_tokens": 4096}
    async with httpx.AsyncClient(timeout=None) as client:  # noqa: S113  (as above)

        async def three() -> None:
            for _ in range(3):
                (await client.post(f"{origin}/v1/chat/completions", json=body)).json()

        for _ in range(size):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(three)


async def gateway_calls(size: int, origin: str) -> None:
    """Make model calls through the gateway."""
    from roundtable.gateway import Gateway
    from roundtable.providers import chat_model
    from roundtable.types import ChatRequest, Message

    model = chat_model("compatible:bench", base_url=f"{origin}/v1")
    guarded = Gateway(timeout_s=60).guard(model)
    ask = ChatRequest(model="bench", messages=(Message(role="user", content="Go on. " * 20),))
    for _ in range(size):
        assert (await guarded.complete(ask)).text == ANSWER
    await model.aclose()


async def gateway_pieces(size: int, origin: str) -> None:
    """Read one streamed answer of so many pieces through the gateway."""
    from roundtable.gateway import Gateway
    from roundtable.providers import chat_model
    from roundtable.types import ChatRequest, Message

    model = chat_model(f"compatible:bench-{size}", base_url=f"{origin}/v1")
    guarded = Gateway(timeout_s=60).guard(model)
    ask = ChatRequest(model=f"bench-{size}", messages=(Message(role="user", content="Go on. " * 20),))
    pieces = [piece async for piece in guarded.stream(ask)]
    assert pieces[-1].text == "word " * size
    await model.aclose()


async def http_debates(size: int, origin: str) -> None:
    """Hold debates of three agents and three rounds over HTTP."""
    from roundtable import AgentConfig, ProviderConfig, Roundtable

    names = ("ada", "bo", "cy")
    async with Roundtable(
        [AgentConfig(id=name, name=name, provider="compatible", model="bench") for name in names],
        providers={"compatible": ProviderConfig(base_url=f"{origin}/v1", api_key="none")},
        storage="memory://",
    ) as table:
        for number in range(size):
            result = await table.debate(f"Topic {number}: tea or coffee?", rounds=3)
            assert result.status == "completed", result.status


class Work(NamedTuple):
    """Something whose cost grows with a size."""

    name: str
    run: Callable[[int, str], Awaitable[None]]
    small: int
    large: int
    is_fast: bool = False
    """Whether calls are made by the extra `fast`."""


WORKS: Final = (
    Work("turn of 3 x 3 in memory", turns, 9, 36),
    Work(f"call, {REFERENCE}", httpx_calls, 2, 8),
    Work("call, default", gateway_calls, 2, 8),
    Work("call, fast", gateway_calls, 2, 8, is_fast=True),
    Work(f"piece of a stream, {REFERENCE}", httpx_pieces, 30, 130),
    Work("piece of a stream, default", gateway_pieces, 30, 130),
    Work("piece of a stream, fast", gateway_pieces, 30, 130, is_fast=True),
    Work(f"debate 3 x 3 over HTTP, {REFERENCE}", httpx_debates, 1, 2),
    Work("debate 3 x 3 over HTTP, default", http_debates, 1, 2),
    Work("debate 3 x 3 over HTTP, fast", http_debates, 1, 2, is_fast=True),
)


# ---------------------------------------------------------------- the server


def reply(asked: dict[str, object]) -> bytes:
    """Return the response to a request: whole, or a stream in one burst."""
    from roundtable.testing.servers import chat_chunks

    body, kind = WHOLE, b"application/json"
    if asked.get("stream"):
        size = int(str(asked["model"]).partition("-")[2] or 0)
        body = b"".join(chat_chunks("word " * size if size else ANSWER, pieces=size or PIECES))
        kind = b"text/event-stream"
    return b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (kind, len(body), body)


async def serve(quiet_s: float) -> None:
    """Answer, until standard input is closed, all requests together once none came for a while."""
    loop = asyncio.get_running_loop()
    waiting: list[tuple[asyncio.StreamWriter, bytes]] = []
    timer: asyncio.TimerHandle | None = None

    def answer() -> None:
        for writer, response in waiting:
            writer.write(response)
        waiting.clear()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal timer
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                waiting.append((writer, reply(json.loads(await reader.readexactly(length)))))
                if timer is not None:
                    timer.cancel()
                timer = loop.call_later(quiet_s, answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def serving(quiet_s: float) -> Iterator[str]:
    """Start the server as a process, and return its address."""
    command = [sys.executable, __file__, "--serve", str(quiet_s)]
    # This very file.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.stdin.close()


# ---------------------------------------------------------------- counting


def run(work: Work, size: int, origin: str) -> None:
    """Do the work in an event loop of its own."""
    from roundtable.http import HttpClient

    HttpClient.fast = work.is_fast
    anyio.run(work.run, size, origin, backend_options={"loop_factory": Loop})


def forked(work: Work, size: int, origin: str, *, is_profiled: bool) -> tuple[int, int]:
    """Do the work in a copy of this process; return its id and, if it is profiled, the function calls it made."""
    reader, writer = os.pipe()
    if pid := os.fork():
        os.close(writer)
        with os.fdopen(reader) as pipe:
            said = pipe.read()
        _, status = os.waitpid(pid, 0)
        if status or not said:
            sys.exit(f"{work.name} failed")
        return pid, int(said)
    code = 1
    try:
        profile = cProfile.Profile()
        if is_profiled:
            profile.enable()
        run(work, size, origin)
        profile.disable()
        os.write(writer, str(sum(entry.callcount for entry in profile.getstats())).encode())
        code = 0
    except BaseException:  # noqa: BLE001  (a copy of a process must not go on with the work of the other)
        traceback.print_exc()
    finally:
        os._exit(code)


def count(works: list[Work], origin: str, *, is_profiled: bool) -> None:
    """Print the process and the function calls of each work in both sizes, as JSON."""
    for work in works:
        run(work, work.small, origin)
    gc.collect()
    gc.freeze()
    gc.disable()
    sizes = [(work, (work.small, work.large)) for work in works]
    print(json.dumps([[forked(work, size, origin, is_profiled=is_profiled) for size in pair] for work, pair in sizes]))


def counted(works: list[Work], tool: list[str]) -> list[list[list[int]]]:
    """Run `count` in a fresh interpreter, in a tool if one is named."""
    names = [word for work in works for word in ("--work", work.name)]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling everything in valgrind takes a quarter of a minute
    with serving(QUIET_IN_VALGRIND_S if tool else QUIET_S) as origin:
        command = [*tool, sys.executable, __file__, "--origin", origin, *names, *([] if tool else ["--profiled"])]
        # This very file.
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)  # noqa: S603
    found: list[list[list[int]]] = json.loads(done.stdout)
    return found


class Counts(NamedTuple):
    """What one unit of a work costs."""

    calls: int
    instructions: int | None = None
    """`None` where valgrind is not installed."""


def measured(works: list[Work], *, calls_only: bool) -> dict[str, Counts]:
    """Count everything."""
    with tempfile.TemporaryDirectory() as folder:
        made = counted(works, [])
        found = {}
        for work, ((_, fewer), (_, more)) in zip(works, made, strict=True):
            found[work.name] = Counts(round((more - fewer) / (work.large - work.small)))
        if calls_only or shutil.which("valgrind") is None:
            return found
        # What valgrind says about caches, which it does not simulate here, goes to the log.
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
        tool += [f"--log-file={folder}/log", f"--cachegrind-out-file={folder}/%p"]
        for work, pair in zip(works, counted(works, tool), strict=True):
            # A copied process starts with the count of the original, which is the same for both.
            fewer, more = (int(Path(folder, str(pid)).read_text("utf-8").rpartition("summary:")[2]) for pid, _ in pair)
            found[work.name] = found[work.name]._replace(instructions=round((more - fewer) / (work.large - work.small)))
        return found


# ---------------------------------------------------------------- tables


def interpreter() -> str:
    """Return what counts depend on beside the code."""
    return f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}"


def table(found: dict[str, Counts], made_by: str) -> str:
    """Return the counts as text."""
    lines = [f"counted with {made_by}", "", f"{'':40}{'function calls':>15}{'instructions':>15}"]
    for name, counts in found.items():
        instructions = "-" if counts.instructions is None else f"{counts.instructions:,}"
        lines.append(f"{name:40}{counts.calls:15,}{instructions:>15}")
    return "\n".join(lines) + "\n"


def parsed(text: str) -> tuple[dict[str, Counts], str]:
    """Return the counts of a text, and the interpreter they were made with."""
    found = {}
    for name, calls, instructions in re.findall(r"^(\S.*?) {2,}([\d,]+) {2,}([\d,]+|-)$", text, re.MULTILINE):
        number = None if instructions == "-" else int(instructions.replace(",", ""))
        found[name] = Counts(int(calls.replace(",", "")), number)
    return found, text.partition("\n")[0].removeprefix("counted with ")


def worse(found: dict[str, Counts], kept: dict[str, Counts], *, calls_only: bool) -> list[str]:
    """Print how counts changed, and return what grew by more than it may."""
    problems = []
    for name, counts in found.items():
        if name not in kept:
            problems.append(f"{name}: not among the kept counts")
            continue
        for what, now, then in zip(("function calls", "instructions"), counts, kept[name], strict=True):
            if now is None or then is None or (calls_only and what == "instructions"):
                continue
            print(f"{name:40}{what:>15}{then:>15,}{now:>15,}{now / then - 1:>+9.1%}")
            if now > then * MOST and REFERENCE not in name:
                problems.append(f"{name}: {now:,} {what} instead of {then:,}")
    return problems


def compare(found: dict[str, Counts], made_by: str, file: Path) -> bool:
    """Print a comparison with kept counts and return whether it passes."""
    kept, kept_by = parsed(file.read_text("utf-8"))
    print(f"compared with {file}, of {kept_by}")
    if made_by.rpartition(".")[0] != kept_by.rpartition(".")[0]:
        print("nothing is compared: another version of Python makes other calls")
        return True
    if made_by != kept_by:
        print("only function calls are compared: another build of Python takes other instructions for them")
    problems = worse(found, kept, calls_only=made_by != kept_by)
    for problem in problems:
        print(f"more than {MOST - 1:.0%} worse: {problem}")
    if problems:
        print(f"If that is meant, keep the new counts: python benchmarks/bench_counts.py --write {file}")
    return not problems


def main() -> None:
    """Count, print, compare and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls-only", action="store_true", help="count function calls alone")
    parser.add_argument("--only", default="", metavar="WORD", help="only rows with this word in their name")
    parser.add_argument("--given", type=Path, metavar="FILE", help="take the counts from a file instead")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare; exit 1 where a count is 5 %% higher")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the counts in a file")
    for hidden in ("--origin", "--work"):
        parser.add_argument(hidden, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--profiled", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve is not None:
        asyncio.run(serve(asked.serve))
        return
    if asked.origin:
        count([work for work in WORKS if work.name in asked.work], asked.origin[0], is_profiled=asked.profiled)
        return
    if asked.given:
        found, made_by = parsed(asked.given.read_text("utf-8"))
    else:
        works = [work for work in WORKS if asked.only in work.name]
        found, made_by = measured(works, calls_only=asked.calls_only), interpreter()
    text = table(found, made_by)
    print(text)
    if not asked.given and not asked.calls_only and shutil.which("valgrind") is None:
        print("valgrind is not installed: instructions were not counted")
    passes = asked.against is None or compare(found, made_by, asked.against)
    if asked.write:
        asked.write.write_text(text, "utf-8")
    if not passes:
        sys.exit(1)


if __name__ == "__main__":
    main()
