"""Other processes that run a debate and kill themselves, or are killed, at a chosen moment; started by the tests.

One process loads the library and forks a fresh one for each line it reads, so that many kills cost little.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from roundtable import AgentConfig, Roundtable
from roundtable.agents import BaseAgent
from roundtable.storage import SQLiteStorage
from roundtable.types import ChatRequest, ChatResponse, DurableEvent, ModelProfile, Usage

NAMES = ("ada", "bo", "cy")
ROUNDS = 3


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

    def __init__(self, path: Path, countdown: Countdown, wait_s: float = 0.0) -> None:
        self._path, self._countdown, self._wait_s = path, countdown, wait_s

    async def complete(self, request: ChatRequest) -> ChatResponse:
        who, number = request.metadata["agent"], request.metadata["round"]
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{number} {who}\n")
        self._countdown.tick()
        await anyio.sleep(self._wait_s)
        self._countdown.tick()
        text = f'{{"position": "Tea {number}", "reasoning": "r", "confidence": 0.8}}'
        return ChatResponse(text=text, usage=Usage(calls=1, output_tokens=1))

    async def aclose(self) -> None:
        """There is nothing to release."""


class CountedStorage(SQLiteStorage):
    """Ticks before and after each append."""

    countdown = Countdown(0)

    async def append(
        self,
        session_id: str,
        expected_seq: int | None,
        token: int | None,
        events: Sequence[DurableEvent],
        *,
        tenant: str = "default",
    ) -> int:
        self.countdown.tick()
        last = await super().append(session_id, expected_seq, token, events, tenant=tenant)
        self.countdown.tick()
        return last


def table_for(database: Path, calls: Path, ticks: int = 0, wait_s: float = 0.0) -> Roundtable:
    """Make the table that all these processes share."""
    countdown = Countdown(ticks)
    storage = CountedStorage(database)
    storage.countdown = countdown
    model = CountingFile(calls, countdown, wait_s)
    agents = [
        BaseAgent(AgentConfig(id=name, name=name.title(), provider="scripted", model="file"), model) for name in NAMES
    ]
    return Roundtable(agents, storage=storage)


async def main(database: str, calls: str, session_id: str, ticks: str, wait_s: str) -> None:
    """Begin a debate, or go on with one."""
    async with table_for(Path(database), Path(calls), int(ticks), float(wait_s)) as table:
        if session_id == "-":
            handle = await table.start("Tea?", rounds=ROUNDS)
            Path(calls).with_name("session").write_text(handle.session_id, "utf-8")
            await handle.result()
        else:
            await table.resume(session_id)


def tell(number: int) -> None:
    """Tell the parent a number, at once."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def serve() -> None:
    """For each line, fork a process that does what it says; tell its number, then how it ended."""
    for line in sys.stdin:
        process = os.fork()
        if not process:
            anyio.run(main, *line.split("\t"))
            os._exit(0)
        tell(process)
        _, status = os.waitpid(process, 0)
        tell(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    serve()
