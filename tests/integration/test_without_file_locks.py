"""A system without `fcntl`, such as Windows: everything works, but for two processes that record at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from roundtable.core.base import files
from roundtable.core.base.files import lock_file

PROGRAM = """
import sys
import threading
sys.modules["fcntl"] = None

import anyio
import roundtable as rt
from roundtable.agents import BaseAgent
from roundtable.providers.cassette import Cassette
from roundtable.providers.local.weights import _lock
from roundtable.providers.scripted import ScriptedModel
from pathlib import Path


async def main():
    with _lock(Path("weights.lock"), threading.Event()):
        pass
    for model in (ScriptedModel({"*": {"position": "Tea"}}), ScriptedModel([])):
        agent = rt.AgentConfig(id="ada", name="Ada", provider="scripted")
        async with rt.Roundtable([BaseAgent(agent, model)], storage="sqlite:///d.db", cassette="calls.jsonl") as table:
            result = await table.debate("Tea?", rounds=1)
            held = await table.session(result.session_id)
            print(held.status, held.answer)


anyio.run(main)
"""


@pytest.mark.slow
def test_a_debate_runs_and_is_stored_recorded_and_replayed_without_file_locks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.split("\n")[:2]) == (0, ["completed Tea", "completed Tea"]), done.stderr


def test_a_file_has_one_owner_at_a_time_if_locks_exist(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    held: list[bool] = []
    assert lock_file(first)
    waiting = threading.Thread(target=lambda: held.append(lock_file(second)))
    waiting.start()
    assert held == []
    os.close(first)
    waiting.join(60)
    assert held == [True]
    os.close(second)


def test_a_waiting_owner_can_be_stopped_or_gets_the_file_next(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert lock_file(first, stopped=threading.Event())
    stopped = threading.Event()
    stopped.set()
    assert not lock_file(second, stopped=stopped)
    held: list[bool] = []
    waiting = threading.Thread(target=lambda: held.append(lock_file(second, stopped=threading.Event())))
    waiting.start()
    os.close(first)
    waiting.join(60)
    assert held == [True]
    os.close(second)


def test_without_file_locks_there_is_no_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    opened = [os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    assert [lock_file(file) for file in opened] == [False, False]
    for file in opened:
        os.close(file)
