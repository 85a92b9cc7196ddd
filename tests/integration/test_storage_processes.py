from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from roundtable.errors import SessionBusy, SessionError
from roundtable.storage import SQLiteStorage, current_owner
from roundtable.testing.storage_samples import answered, control, record
from roundtable.types import DurableEvent

CHILD = Path(__file__).with_name("storage_child.py")
SESSIONS = ("a", "b", "c", "d")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped by signals")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "debates.db"


@contextmanager
def child(*words: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(CHILD), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        except BaseException:
            process.kill()  # it may run for ever, and is waited for
            raise


def said(process: subprocess.Popen[str]) -> list[list[str]]:
    assert process.stdout is not None
    return [line.split() for line in process.stdout if line.endswith("\n")]


def heard(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def stored(path: Path, session: str) -> tuple[DurableEvent, ...]:
    async def read() -> tuple[DurableEvent, ...]:
        storage = SQLiteStorage(path)
        try:
            return (await storage.read(session))[1]
        except SessionError:
            return ()
        finally:
            await storage.aclose()

    return anyio.run(read)


def create(path: Path, session: str) -> SQLiteStorage:
    storage = SQLiteStorage(path)
    anyio.run(storage.create, record(session))
    return storage


def write_until_killed(path: Path, wait_for: int, then_s: float) -> tuple[dict[str, int], dict[str, int]]:
    """Kill a process while it writes; return the largest number it acknowledged and tried in each session."""
    acknowledged: dict[str, int] = defaultdict(int)
    tried: dict[str, int] = defaultdict(int)
    with child("write", path, ",".join(SESSIONS)) as process:
        lines = []
        while sum(line[0] == "ack" for line in lines) < wait_for:
            lines.append(heard(process))
        time.sleep(then_s)
        process.send_signal(signal.SIGKILL)
        lines += said(process)
    for line in lines:
        if line[0] in {"ack", "try"}:
            seen = acknowledged if line[0] == "ack" else tried
            seen[line[1]] = max(seen[line[1]], int(line[2]))
    return acknowledged, tried


def check_after_kill(path: Path, acknowledged: dict[str, int], tried: dict[str, int]) -> None:
    for session in SESSIONS:
        events = stored(path, session)
        assert acknowledged[session] <= len(events) <= max(tried[session], acknowledged[session])
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        slots = [event.turn.slot for event in events if event.type == "agent_complete"]
        assert slots == list(range(len(events)))  # none twice, none left out
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def kill_again_and_again(path: Path, kills: int, seed: int) -> int:
    """Kill a writer at random moments; give how many turns were acknowledged. Each heir takes over at once."""
    draw = random.Random(seed)
    known: dict[str, int] = defaultdict(int)
    for _ in range(kills):
        acknowledged, tried = write_until_killed(path, draw.choice([0, 1, 5, 40]), draw.uniform(0, 0.02))
        for session in SESSIONS:
            acknowledged[session] = known[session] = max(known[session], acknowledged[session])
            tried[session] = max(tried[session], len(stored(path, session)) if not tried[session] else 0)
        check_after_kill(path, acknowledged, tried)
    return sum(known.values())


@pytest.mark.slow
def test_events_acknowledged_by_a_killed_process_are_stored_once(path: Path) -> None:
    assert kill_again_and_again(path, kills=10, seed=1) > 40


@pytest.mark.deep
def test_events_acknowledged_by_many_killed_processes_are_stored_once(path: Path) -> None:
    assert kill_again_and_again(path, kills=300, seed=2) > 2000


@pytest.mark.slow
def test_two_processes_append_to_one_log_without_gap_or_loss(path: Path) -> None:
    create(path, "s").close()
    with child("race", path, "s") as one, child("race", path, "s") as two:
        lines = said(one) + said(two)
    numbers = sorted(int(line[2]) for line in lines if line[0] == "ack")
    assert numbers == list(range(1, 81))
    assert [event.seq for event in stored(path, "s")] == numbers


@pytest.mark.slow
def test_two_processes_may_create_the_file_at_the_same_time(path: Path) -> None:
    with child("count", path, "n") as one, child("count", path, "n") as two, child("count", path, "n") as three:
        assert [process.wait() for process in (one, two, three)] == [0, 0, 0]
    storage = SQLiteStorage(path)
    assert anyio.run(storage.kv.get, "n") == 150
    storage.close()


@pytest.mark.slow
def test_a_short_lock_of_another_process_is_waited_out(path: Path) -> None:
    storage = create(path, "s")
    with child("lock", path, 0.3) as process:
        assert heard(process) == ["locked"]
        assert anyio.run(storage.append, "s", 0, None, [control("s")]) == 1
    storage.close()


@pytest.mark.slow
def test_the_lease_of_a_live_process_holds_and_that_of_a_dead_one_does_not(path: Path) -> None:
    storage = create(path, "s")
    with child("write", path, "s") as process:
        assert heard(process) == ["found", "s"]
        _, _, token = heard(process)
        with pytest.raises(SessionBusy) as error:
            anyio.run(storage.lease, "s", current_owner(), 15)
        assert error.value.details is not None
        assert error.value.details["pid"] == process.pid
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert anyio.run(storage.lease, "s", current_owner(), 15).token > int(token)
    storage.close()


@pytest.mark.slow
def test_a_process_that_slept_through_its_lease_is_refused(path: Path) -> None:
    storage = create(path, "s")
    with child("hold", path, "s") as process:
        _, _, token = heard(process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.35)
        lease = anyio.run(storage.lease, "s", current_owner(), 15)
        assert lease.token > int(token)
        assert anyio.run(storage.append, "s", 0, lease.token, [answered("s", 1)]) == 1
        process.send_signal(signal.SIGCONT)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert heard(process) == ["refused", "LeaseLost"]
    assert len(stored(path, "s")) == 1
    storage.close()
