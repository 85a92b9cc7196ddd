"""Other processes that run a debate and kill themselves, or are killed, at a chosen moment; started by the tests.

One process loads the library and forks a fresh one for each line it reads, so that many kills cost little.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from roundtable import AgentConfig, Roundtable
from roundtable.agents import BaseAgent
from roundtable.results.debate_result import DebateResult
from roundtable.storage import MemoryStorage, SQLiteStorage
from roundtable.storage.locations import open_postgres, open_sqlite
from roundtable.types import (
    ChatRequest,
    ChatResponse,
    ContextResult,
    Event,
    ModelProfile,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from roundtable.storage.postgres import PostgresStorage

NAMES = ("ada", "bo", "cy")
ROUNDS = 3
KINDS = {"parallel": "collaborative", "sequential": "adversarial", "tools": "collaborative", "context": "socratic"}
"""Kinds of debates, and the mode of each: with tools every turn takes two calls, with context Ada asks the caller."""


class Countdown:
    """Kills this process, without any warning, at the given tick."""

    def __init__(self, ticks: int) -> None:
        self.left = ticks

    def tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class CountingFile:
    """A model that notes each call in a file before it answers."""

    provider = "scripted"
    model = "file"
    profile = ModelProfile()

    def __init__(self, path: Path, countdown: Countdown, wait_s: float = 0.0, kind: str = "parallel") -> None:
        self._path, self._countdown, self._wait_s, self._kind = path, countdown, wait_s, kind

    async def complete(self, request: ChatRequest) -> ChatResponse:
        who, number = request.metadata["agent"], request.metadata["round"]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{number} {who}\n")
        self._countdown.tick()
        await anyio.sleep(self._wait_s)
        self._countdown.tick()
        wish = self._wish(request)
        if wish is not None:
            return ChatResponse(text="", finish_reason="tool_calls", tool_calls=(wish,), usage=Usage(calls=1))
        text = f'{{"position": "Tea {number}", "reasoning": "r", "confidence": 0.8}}'
        return ChatResponse(text=text, usage=Usage(calls=1, output_tokens=1))

    def _wish(self, request: ChatRequest) -> ToolCall | None:
        """Ask for something before the answer, once a turn."""
        if any(message.tool_calls for message in request.messages):
            return None
        if self._kind == "tools":
            return ToolCall(id="t", name="look_up", arguments={"word": "tea"})
        if (self._kind, request.metadata["agent"], request.metadata["round"]) == ("context", "ada", "1"):
            return ToolCall(id="c", name="request_context", arguments={"query": "How much?", "reason": "It decides."})
        return None

    async def aclose(self) -> None:
        """There is nothing to release."""


def open_location(location: str) -> SQLiteStorage | PostgresStorage:
    """Open the storage at an address."""
    return open_sqlite(location) if location.startswith("sqlite:") else open_postgres(location)


def open_counted(location: str, countdown: Countdown) -> SQLiteStorage | PostgresStorage:
    """Open a storage that ticks before and after each append, and on its own thread before and after each commit."""
    storage = open_location(location)
    if isinstance(storage, SQLiteStorage):
        commit = storage._writer._work

        def ticking_commit(*given: object) -> None:
            countdown.tick()
            commit(*given)  # type: ignore[arg-type]
            countdown.tick()  # stored, and nobody was told

        storage._writer._work = ticking_commit
    else:
        write = storage._write

        async def ticking_write(*given: Any) -> Any:
            countdown.tick()
            rows = await write(*given)
            countdown.tick()  # stored, and nobody was told
            return rows

        storage._write = ticking_write  # type: ignore[assignment, method-assign]
    append = storage.append

    async def ticking_append(*given: Any, **more: Any) -> int:
        countdown.tick()
        last = await append(*given, **more)
        countdown.tick()
        return last

    storage.append = ticking_append  # type: ignore[method-assign]
    return storage


def table_for(
    database: str | None, calls: Path, ticks: int = 0, wait_s: float = 0.0, kind: str = "parallel"
) -> Roundtable:
    """Make the table that all these processes share; without a database, one in memory."""
    countdown = Countdown(ticks)
    storage = open_counted(database, countdown) if database else MemoryStorage()
    model = CountingFile(calls, countdown, wait_s, kind)
    agents = [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted", model="file"), model) for name in NAMES
    ]
    heard = calls.with_name("heard.txt")

    def hear(event: Event) -> None:
        if event.type == "agent_complete":
            with heard.open("a", encoding="utf-8") as file:
                file.write(f"{event.round} {event.agent}\n")

    def look_up(word: str) -> str:
        """Look a word up."""
        countdown.tick()
        return f"{word} is a drink"

    tools = {"tools": [look_up], "context": ["request_context"]}.get(kind)
    return Roundtable(agents, storage=storage, tools=tools, observers=[hear])


async def go_on(table: Roundtable, session_id: str) -> DebateResult:
    """Go on with a session to its end, and answer whatever the agents ask."""
    while True:
        asked = (await table.session(session_id)).context_requests
        results = [ContextResult(request_id=one.id, success=True, result="Two boxes.") for one in asked]
        result = await table.resume(session_id, context_results=results)
        if result.status != "needs_context":
            return result


async def begin(table: Roundtable, kind: str, named: Callable[[str], object] = lambda session_id: None) -> DebateResult:
    """Hold a debate of some kind from its start."""
    async with table:
        handle = await table.start("Tea?", rounds=ROUNDS, mode=KINDS[kind])
        named(handle.session_id)
        result = await handle.result()
        return await go_on(table, handle.session_id) if result.status == "needs_context" else result


async def main(database: str, calls: str, session_id: str, ticks: str, wait_s: str, kind: str) -> None:
    """Begin a debate, or go on with one."""
    table = table_for(database, Path(calls), int(ticks), float(wait_s), kind)
    if session_id == "-":
        await begin(table, kind, Path(calls).with_name("session").write_text)
        return
    async with table:
        await go_on(table, session_id)


def tell(number: int) -> None:
    """Send a number to the parent at once."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def serve() -> None:
    """For each line, fork a process that does what it says; tell its number, then how it ended."""
    for line in sys.stdin:
        process = os.fork()
        if not process:
            anyio.run(main, *line.rstrip("\n").split("\t"))
            os._exit(0)
        tell(process)
        _, status = os.waitpid(process, 0)
        tell(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    serve()
