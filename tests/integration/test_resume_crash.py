"""A process killed at any moment loses nothing that was stored, and nothing stored is paid for again."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from integration.engine_child import KINDS, NAMES, ROUNDS, begin, go_on, open_location, table_for
from integration.engine_kit import lawful

from roundtable.results.debate_result import DebateResult
from roundtable.types import DurableEvent, SessionRecord

CHILD = Path(__file__).with_name("engine_child.py")
ENVIRONMENT = {"PYTHONPATH": str(CHILD.parents[1]), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped by signals")


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    """Yield a process that forks a child for each line it reads."""
    with subprocess.Popen(
        [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def location(request: pytest.FixtureRequest) -> str:
    """Return the address of a storage; `{folder}` stands for the folder of a chain."""
    return (
        str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else "sqlite:///{folder}/debates.db"
    )


class Chain:
    """One session in one storage, run by one process after another until it is whole."""

    def __init__(self, folder: Path, location: str, nursery: subprocess.Popen[str], kind: str) -> None:
        self.kind = kind
        self.location, self.calls = location.format(folder=folder), folder / "calls.txt"
        self.calls.touch()
        self.session_id = "-"
        self.kills = 0
        self._nursery = nursery

    def begin(self, ticks: int, wait_s: float = 0.0) -> int:
        """Start a process that continues the session; return its number."""
        assert self._nursery.stdin is not None
        words = map(str, (self.location, self.calls, self.session_id, ticks, wait_s, self.kind))
        self._nursery.stdin.write("\t".join(words) + "\n")
        self._nursery.stdin.flush()
        return int(self._line())

    def ended(self) -> None:
        """Wait for the process to end."""
        code = int(self._line())
        assert code in {0, -signal.SIGKILL}
        self.kills += code != 0
        named = self.calls.with_name("session")
        if named.exists():
            self.session_id = named.read_text("utf-8") or "-"

    def _line(self) -> str:
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline()

    def step(self, ticks: int) -> None:
        """Run a process until it kills itself at this tick."""
        before = self.stored()
        asked = len(self.asked())
        self.begin(ticks)
        self.ended()
        self.nothing_again(before, asked)

    def nothing_again(self, before: Counter[str], asked: int) -> None:
        for call in self.asked()[asked:]:
            assert call not in before, f"{call} was stored and asked again"
        stored = set(self.stored())
        assert stored <= set(self.asked())
        assert self.heard() <= stored

    def asked(self) -> list[str]:
        return self.calls.read_text("utf-8").split("\n")[:-1]

    def heard(self) -> set[str]:
        """Return the lines that were received; the kill may have cut off the last one."""
        told = self.calls.with_name("heard.txt")
        return set(told.read_text("utf-8").split("\n")[:-1]) if told.exists() else set()

    def log(self) -> tuple[SessionRecord, tuple[DurableEvent, ...]] | None:
        if self.session_id == "-":
            return None

        async def read() -> tuple[SessionRecord, tuple[DurableEvent, ...]]:
            storage = open_location(self.location)
            try:
                return await storage.read(self.session_id)
            finally:
                await storage.aclose()

        return anyio.run(read)

    def over(self) -> bool:
        found = self.log()
        last = found[1][-1] if found is not None and found[1] else None
        return last is not None and last.type == "debate_complete" and last.status == "completed"

    def stored(self) -> Counter[str]:
        found = self.log()
        if found is None:
            return Counter()
        lawful(*found)
        return Counter(f"{event.round} {event.agent}" for event in found[1] if event.type == "agent_complete")

    def finish(self) -> DebateResult:
        """Go on to the end in this process, taking the lease of the dead one at once."""
        before, asked = self.stored(), len(self.asked())

        async def resume() -> DebateResult:
            table = table_for(self.location, self.calls, kind=self.kind)
            try:
                return await go_on(table, self.session_id)
            finally:
                await table._wiring.storage.aclose()

        began = time.monotonic()
        result = anyio.run(resume)
        assert time.monotonic() - began < 5  # far less than the fifteen seconds of a lease
        self.nothing_again(before, asked)
        return result

    def whole(self, result: DebateResult) -> None:
        """The result is that of a straight run, and what it cost beyond that are the calls that kills cut off."""
        straight = told_straight(self.kind, self.calls)
        assert outline(result) == outline(straight)
        stored = self.stored()
        assert set(stored.values()) == {1}
        assert len(stored) == len(NAMES) * ROUNDS
        calls = straight.usage.calls
        # A turn whose answer was not stored before the kill is taken again; nothing else is.
        assert len(self.asked()) <= calls + self.kills * len(NAMES) * 2
        assert self.searchable_positions() == len(stored)

    def searchable_positions(self) -> int:
        """Count the positions that a search can find, and check the file of an SQLite database."""
        if self.location.startswith("sqlite:"):
            with closing(sqlite3.connect(self.location.removeprefix("sqlite:///"))) as raw:
                assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                return int(raw.execute("SELECT count(*) FROM positions").fetchone()[0])
        import psycopg

        from roundtable.storage.postgres_connection import parse_address

        address = parse_address(self.location)
        tables = f"{address.schema}.positions JOIN {address.schema}.sessions USING (key)"
        with psycopg.connect(address.conninfo) as raw:
            counted = raw.execute(f"SELECT count(*) FROM {tables} WHERE id = %s".encode(), (self.session_id,))
            return sum(row[0] for row in counted)


def outline(result: DebateResult) -> list[object]:
    """Return what does not depend on ids and times."""
    said = [[(turn.agent_id, turn.outcome) for turn in held.turns] for held in result.rounds]
    positions = [[answer.position for answer in held.responses] for held in result.rounds]
    measured = [held.consensus and held.consensus.agreement_level for held in result.rounds]
    return [result.status, result.answer, result.exit and result.exit.reason, said, positions, measured]


def told_straight(kind: str, calls: Path) -> DebateResult:
    """Hold the same debate without any interruption."""
    apart = calls.with_name("straight")
    apart.mkdir(exist_ok=True)
    return anyio.run(begin, table_for(None, apart / "calls.txt", kind=kind), kind)


def killed_until(folder: Path, location: str, nursery: subprocess.Popen[str], wanted: int) -> None:
    """Kill processes at drawn steps, in debates of all kinds, until there were so many kills."""
    chance, kills, number = random.Random(7), 0, 0
    while kills < wanted:
        place = folder / str(number)
        place.mkdir()
        chain = Chain(place, location, nursery, list(KINDS)[number % len(KINDS)])
        number += 1
        while kills + chain.kills < wanted and not chain.over():
            chain.step(chance.randint(3, 40))
        if chain.session_id != "-" and not chain.over():
            chain.whole(chain.finish())
        kills += chain.kills


@pytest.mark.slow
def test_sessions_killed_four_times_are_finished_without_repeating_stored_answers(
    tmp_path: Path, location: str, nursery: subprocess.Popen[str]
) -> None:
    killed_until(tmp_path, location, nursery, 4)


@pytest.mark.slow
def test_sessions_killed_twenty_times_are_finished_without_repeating_stored_answers(
    tmp_path: Path, location: str, nursery: subprocess.Popen[str]
) -> None:
    killed_until(tmp_path, location, nursery, 20)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_every_step_loses_nothing(
    tmp_path: Path, location: str, nursery: subprocess.Popen[str], kind: str
) -> None:
    for ticks in itertools.count(1):
        place = tmp_path / str(ticks)
        place.mkdir()
        chain = Chain(place, location, nursery, kind)
        chain.step(ticks)
        if not chain.kills:
            assert ticks > 50
            return
        if chain.session_id != "-" and not chain.over():
            chain.whole(chain.finish())


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_a_kill_at_any_time_loses_nothing(
    tmp_path: Path, location: str, nursery: subprocess.Popen[str], seed: int
) -> None:
    chain, chance = Chain(tmp_path, location, nursery, list(KINDS)[seed % len(KINDS)]), random.Random(seed)
    for _ in range(3):
        before, asked = chain.stored(), len(chain.asked())
        process = chain.begin(0, wait_s=0.01)
        time.sleep(chance.uniform(0.0, 0.15))
        os.kill(process, signal.SIGKILL)
        chain.ended()
        chain.nothing_again(before, asked)
        if chain.over():
            return
    if chain.session_id != "-":
        chain.whole(chain.finish())
