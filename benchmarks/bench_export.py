"""Writing a debate of 10,000 turns to a file, and reading it back: seconds, and memory on top of what the process had.

    python benchmarks/bench_export.py [--turns 10000] [--folder FOLDER]

Each figure comes from a process of its own, which has exported a small debate before, so that what is loaded once does
not count. The target is 3 s and 100 MiB for each format. Printed, never asserted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Self

import anyio

import roundtable as rt
from roundtable.record import store_whole
from roundtable.storage import SQLiteStorage
from roundtable.types import (
    AgentComplete,
    AgentConfig,
    AgentResponse,
    Citation,
    DebateConfig,
    DurableEvent,
    RoundComplete,
    RoundStart,
    SessionRecord,
    Turn,
    TurnResult,
    utc_now,
)

AGENTS = 10
REASONING = "Because the team is small, and what it ships changes every week. " * 12
FORMATS = ("markdown", "html", "csv", "json")
MIB = 2**20


def log(session: str, turns: int) -> tuple[DurableEvent, ...]:
    """Return the events of a debate of ten agents; each answer has about a kilobyte."""
    now, ids = utc_now(), tuple(f"a{number}" for number in range(AGENTS))
    events: list[DurableEvent] = []
    for number in range(1, turns // AGENTS + 1):
        events.append(RoundStart(session_id=session, timestamp=now, round=number, agents=ids))
        for slot, agent in enumerate(ids):
            answer = AgentResponse(
                agent_id=agent,
                agent_name=f"Agent {slot}",
                position="Start modular, split later.",
                reasoning=REASONING,
                confidence=0.8,
                citations=(Citation(title="A study", url=f"https://example.org/{number}"),) if slot == 0 else (),
            )
            turn = Turn(
                round=number,
                stage="positions",
                slot=slot,
                agent_id=agent,
                agent_name=f"Agent {slot}",
                timestamp=now,
                result=TurnResult(answer=answer),
            )
            events.append(AgentComplete(session_id=session, timestamp=now, agent=agent, round=number, turn=turn))
        events.append(RoundComplete(session_id=session, timestamp=now, round=number, answered=AGENTS, failed=0))
    return tuple(event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, 1))


async def fill(path: Path, turns: int) -> None:
    """Store a small debate and a large one."""
    storage = SQLiteStorage(path)
    ids = tuple(f"a{number}" for number in range(AGENTS))
    for session, count in (("small", AGENTS), ("large", turns)):
        record = SessionRecord(
            id=session,
            config=DebateConfig(topic="Should a five-person startup adopt microservices?", agents=ids),
            agents=tuple(AgentConfig(id=one, name=one, provider="scripted") for one in ids),
        )
        await store_whole(storage, record, log(session, count))
    await storage.aclose()


def rss() -> int:
    """Return the memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


class Peak:
    """Looks at the memory of the process every millisecond."""

    def __enter__(self) -> Self:
        self.before = self.most = rss()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.001):
            self.most = max(self.most, rss())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.most = max(self.most, rss())


async def work(folder: Path, what: str) -> None:
    """Do one thing with the small debate, then with the large one, and print a row."""
    async with rt.Roundtable(storage=f"sqlite:///{folder}/d.db") as table:

        async def once(session: str) -> Path:
            path = folder / f"{session}.{what}"
            if what == "import":
                document = folder / f"{session}.json"
                await table.import_(document, new_id=True)
                return document
            return await table.export_file(session, path, format=what)  # type: ignore[arg-type]

        await once("small")
        started, cpu = time.perf_counter(), time.process_time()
        with Peak() as peak:
            path = await once("large")
        took, busy = time.perf_counter() - started, time.process_time() - cpu
    size = path.stat().st_size / MIB
    print(f"{what:10} {took:7.2f} {busy:7.2f} {(peak.most - peak.before) / MIB:10.1f} {size:9.1f}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        anyio.run(work, given.folder, given.only)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        anyio.run(fill, Path(made) / "d.db", given.turns)
        print(f"{given.turns} turns of {len(REASONING)} letters")
        print(f"{'what':10} {'wall s':>7} {'CPU s':>7} {'peak +MiB':>10} {'file MiB':>9}", flush=True)
        for what in (*FORMATS, "import"):
            # This very program, for one row.
            subprocess.run([sys.executable, __file__, "--folder", made, "--only", what], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
