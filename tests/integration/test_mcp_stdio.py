"""The MCP server on standard input and output: the protocol and nothing else, whatever comes in."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from roundtable.mcp import create_mcp_server
from roundtable.mcp.stdio import MOST_LINE_BYTES, MOST_UNREAD, Wire

TESTS = Path(__file__).parents[1]
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


class Process:
    """A server as a child process that is spoken to line by line."""

    def __init__(self, running: subprocess.Popen[bytes]) -> None:
        self.running = running

    def say(self, line: bytes) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(line + b"\n")
        self.running.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.running.stdout is not None
        return json.loads(self.running.stdout.readline())

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.say(json.dumps(message).encode())
        while (heard := self.hear()).get("id") != message["id"]:
            assert heard["method"].startswith("notifications/")
        return heard

    def call(self, tool: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        heard = self.ask({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        return json.loads(heard["result"]["content"][0]["text"])


@contextmanager
def process(*words: str, **environment: str) -> Iterator[Process]:
    """Start a server and shake hands with it."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *words], stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as running:
        try:
            child = Process(running)
            assert child.ask(HELLO)["result"]["serverInfo"]["name"] == "ai-roundtable"
            child.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
            yield child
        finally:
            running.kill()


def scripts(folder: Path) -> list[str]:
    """Write an agent's answers to a file, and give the words that start a server with it."""
    said = json.dumps({"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8})
    (folder / "ada.json").write_text(json.dumps([said]), "utf-8")
    return ["-m", "roundtable", "mcp", "--agents", f"scripted:{folder / 'ada.json'}", "--db", str(folder / "kept.db")]


@pytest.mark.slow
def test_only_protocol_messages_are_on_the_output() -> None:
    with process(str(TESTS / "integration" / "mcp_noisy_child.py")) as child:
        done = child.call("start_roundtable", topic="Tea?", rounds=1)
        assert (done["status"], done.get("failures", [])) == ("completed", [])
        child.running.kill()
        _, said = child.running.communicate()
    for noise in (b"of a factory", b"of print", b"of a library in C", b"of a child"):
        assert b"noise " + noise in said


@pytest.mark.slow
def test_odd_input_is_answered_and_the_server_continues(tmp_path: Path) -> None:
    with process(*scripts(tmp_path)) as child:
        for line, code, request in (
            (b"garbage", -32700, None),
            (b'{"jsonrpc": "2.0", "id": 5', -32700, None),
            (b"\xff\xfe\x00", -32700, None),
            (b"[" * 10_000, -32700, None),
            (b"[]", -32600, None),
            (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600, None),
            (b'"text"', -32600, None),
            (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, 1),
            (b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": {"text": "\\ud800"}}', -32602, 6),
            (b'{"id": 1}', -32600, None),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * MOST_LINE_BYTES + b'"}', -32600, None),
        ):
            child.say(line)
            heard = child.hear()
            assert (heard["error"]["code"], heard["id"]) == (code, request), line[:40]
        child.say(b"")
        assert child.ask({"jsonrpc": "2.0", "id": 7, "method": "no/such"})["error"]["code"] == -32601
        odd = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": 5}}
        assert child.ask(odd)["error"]["code"] == -32602
        error = child.call("start_roundtable", 9, topic="x" * (3 * 1024 * 1024))
        assert error["details"]["problems"][0]["field"] == "topic"
        assert child.call("start_roundtable", 10, topic="Tea?", rounds=1)["status"] == "completed"
        assert child.running.stdin is not None
        child.running.stdin.close()
        assert child.running.wait(20) == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_lines_are_whole_and_bounded() -> None:
    source = io.BytesIO(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' + b"x" * (2 * MOST_LINE_BYTES + 5))
    target = io.BytesIO()
    heard = [line async for line in Wire(source, target)]
    assert [json.loads(line)["method"] for line in heard] == ["ping"]
    assert json.loads(target.getvalue())["error"]["code"] == -32600


HALF = '"params": {"name": "start_roundtable", "arguments": {"topic": "Tea \\ud800?"}}'


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", {HALF}}}', -32602, 7),
        (f'{{"jsonrpc": "2.0", {HALF}, "method": "tools/call", "id": "seven"}}', -32602, "seven"),
        ('{"jsonrpc": "2.0", "id": "\\ud800", "method": "tools/call", "params": {}}', -32700, None),
        (f'{{"jsonrpc": "2.0", "id": true, "method": "tools/call", {HALF}}}', -32700, None),
        ('{"jsonrpc": "2.0", "id": 7, "result": {"text": "\\ud800"}}', -32700, None),
        ('{"jsonrpc": "2.0", "id": 7, "method": 5}', -32600, 7),
        ('{"jsonrpc": "3.0", "id": 7, "method": "ping"}', -32600, 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "pi', -32700, None),
        ('{"jsonrpc": "2.0", "id": null, "method": "tools/list"}', -32600, None),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}', -32600, None),
        ('{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        ('{"jsonrpc": "2.0", "id": {}, "method": "ping", "params": {}}', -32600, None),
    ],
)
async def test_an_invalid_request_is_answered_with_its_id(line: str, code: int, request_id: str | int | None) -> None:
    target = io.BytesIO()
    assert [one async for one in Wire(io.BytesIO(line.encode() + b"\n"), target)] == []
    told = json.loads(target.getvalue())
    assert (told["error"]["code"], told["id"]) == (code, request_id)
    assert "ud800" not in told["error"]["message"]


@pytest.mark.slow
async def test_no_more_input_is_read_from_a_client_that_does_not_read() -> None:
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 500
    inner, outer = os.pipe()
    taken = 0
    with os.fdopen(inner, "rb") as reader, os.fdopen(outer, "wb") as writer:
        wire = Wire(io.BytesIO(asked), writer)

        async def serve() -> None:
            nonlocal taken
            async with anyio.create_task_group() as answering:
                async for _ in wire:
                    taken += 1
                    answering.start_soon(wire.write, "x" * 100_000 + "\n")
                    await anyio.lowlevel.checkpoint()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(serve)
                held = -1
                while held != taken or taken < 2:  # until nothing moves any more
                    held = taken
                    await anyio.sleep(0.1)
                assert taken <= MOST_UNREAD + 2
                for _ in range(500):
                    assert len(await to_thread.run_sync(reader.readline)) == 100_001
    assert taken == 500


async def test_long_calls_of_a_client_that_reads_keep_no_others_waiting() -> None:
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * (4 * MOST_UNREAD)
    wire = Wire(io.BytesIO(asked), io.BytesIO())
    assert len([one async for one in wire]) == 4 * MOST_UNREAD  # none of them is answered yet


@contextmanager
def piped(said: bytes) -> Iterator[Path]:
    """Feed a text to the standard input of this process; yield the file that its standard output goes to meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in"), Path(folder, "out")
        source.write_bytes(said)
        target.touch()
        kept = os.dup(0), os.dup(1)
        for path, number, flags in ((source, 0, os.O_RDONLY), (target, 1, os.O_WRONLY)):
            opened = os.open(path, flags)
            os.dup2(opened, number)
            os.close(opened)
        try:
            yield target
        finally:
            for number, old in enumerate(kept):
                os.dup2(old, number)
                os.close(old)


async def test_a_server_in_a_program_serves_until_its_input_ends() -> None:
    noisy: list[str] = []

    def broken(tenant: str) -> Any:
        noisy.append(tenant)
        os.write(1, b"noise")
        raise ValueError("no table")

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_agents", "arguments": {}}}
    known = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    lines = (json.dumps(HELLO).encode(), known, b"", b"garbage", b"[]", json.dumps(call).encode())
    with piped(b"\n".join((*lines, b"x" * (MOST_LINE_BYTES + 1)))) as target:
        with anyio.fail_after(30):
            await create_mcp_server(tables=broken).start()
        heard = [json.loads(line) for line in target.read_bytes().splitlines()]
    codes = [one["error"]["code"] for one in heard if one["id"] is None]
    assert codes == [-32700, -32600, -32600]
    (hello,) = (one["result"] for one in heard if one["id"] == 0)
    assert hello["serverInfo"]["name"] == "ai-roundtable"
    assert b"noise" not in json.dumps(heard).encode()
