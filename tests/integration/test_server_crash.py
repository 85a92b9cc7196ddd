"""A server killed in mid-stream: the client comes back to the next one, and nothing stored is paid for twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import pytest

from roundtable.storage import SQLiteStorage
from roundtable.testing.servers import LoopbackServer, WireReply, chat_reply
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.testing.servers import Seen

CHILD = Path(__file__).with_name("server_child.py")
ENVIRONMENT = {"PYTHONPATH": str(CHILD.parents[1]), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
ASKED = {"agents": ["ada", "bo"], "rounds": 2, "messages": [{"role": "user", "content": "Go."}]}
PLAN = {"goal": "Find it.", "strategy": "Look.", "successCriteria": ["It is found"]}
TURNS = ["initiator 1", "ada 1", "bo 1", "ada 2", "bo 2", "summarizer 2"]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")]


def turn_of(seen: Seen) -> str:
    """Return the agent that a call is for."""
    body: Any = seen.json
    who = re.match(r"You are (\w+)", body["messages"][0]["content"])
    number = re.match(r"Round (\d)", body["messages"][-1]["content"])
    assert who is not None
    assert number is not None
    return f"{who[1]} {number[1]}"


def answer(seen: Seen) -> WireReply:
    """Answer slowly enough to be killed meanwhile."""
    turn = turn_of(seen)
    reply = chat_reply(PLAN if turn == TURNS[0] else f"{turn} is done.", stream=seen.wants_stream)
    slow: list[bytes | float] = []
    for part in reply.parts:
        slow += [0.05, part]
    return WireReply(slow, reply.end)


@contextmanager
def server(storage: Path | str, provider: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server until it is killed, here at the latest."""
    words = [sys.executable, str(CHILD), storage if isinstance(storage, str) else f"sqlite:///{storage}", provider]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def heard(url: str, last: str, stop_at: int) -> list[tuple[str, dict[str, Any]]]:
    """Ask, or come back, and hear so many stored events at most; give all that came whole, with their ids."""
    text, headers = "", {"last-event-id": last} if last else {}
    with (
        httpx.Client(base_url=url, timeout=30, trust_env=False, verify=False) as web,
        web.stream("POST", "/api/chat/multi?ids=1", json=ASKED, headers=headers) as response,
    ):
        assert response.status_code == 200, response.read()
        for piece in response.iter_text():
            text += piece
            if text.count("\nid: ") >= stop_at:
                break
    blocks = [block.split("\n") for block in text[: text.rfind("\n\n") + 2].split("\n\n") if "data: " in block]
    return [(lines[0][4:] if len(lines) > 1 else "", json.loads(lines[-1][6:])) for lines in blocks]


def test_a_conversation_survives_the_end_of_its_server(tmp_path: Path) -> None:
    cuts, database = random.Random(7), tmp_path / "team.db"
    told: list[tuple[str, dict[str, Any]]] = []
    called_before: list[list[str]] = []
    with LoopbackServer(answer) as provider:
        for stop_at in (1, 2, 3, 1000):
            kept = [name for name, _ in told if name]
            with server(database, provider.url) as (process, url):
                told += heard(url, kept[-1] if kept else "", stop_at)
                if stop_at < 1000:
                    time.sleep(cuts.random() * 0.2)
                    os.kill(process.pid, signal.SIGKILL)
                    process.wait()
                    called_before.append([turn_of(seen) for seen in provider.seen])
        calls = [turn_of(seen) for seen in provider.seen]
    stored = [int(name.rpartition(":")[2]) for name, _ in told if name]
    assert stored == sorted(set(stored))
    assert (told[-1][1]["type"], told[-1][1]["data"]["summary"]) == ("conversation_complete", "summarizer 2 is done.")

    async def log() -> Any:
        storage = SQLiteStorage(database)
        (one,) = await storage.list(SessionFilter())
        _, events = await storage.read(one.id)
        await storage.aclose()
        return events

    events = anyio.run(log)
    # Nothing that the seed tells was missed, whatever was told before the last kill.
    owed = [event.seq for event in events if event.type not in {"control", "exit", "debate_complete"}]
    assert stored == owed
    # A call was made again only where a kill had come before its answer was stored.
    assert list(dict.fromkeys(calls)) == TURNS
    for before, after in zip(called_before, [*called_before[1:], calls], strict=True):
        again = after[len(before) :]
        assert not set(again) & set(before[:-1]), (before, again)


def test_a_server_that_is_asked_to_end_says_so_and_the_next_one_continues(tmp_path: Path) -> None:
    database = tmp_path / "team.db"
    with LoopbackServer(answer) as provider:
        with server(database, provider.url) as (process, url):
            first = heard(url, "", 5)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 0
        last = [name for name, _ in first if name][-1]
        with server(database, provider.url) as (_, url):
            rest = heard(url, last, 1000)
    assert rest[-1][1]["type"] == "conversation_complete"
    stored = [int(name.rpartition(":")[2]) for name, _ in [*first, *rest] if name]
    assert stored == sorted(set(stored))


@pytest.mark.postgres
def test_a_conversation_followed_at_one_server_survives_the_end_of_the_other(postgres_url: str) -> None:
    with (
        LoopbackServer(answer) as provider,
        server(postgres_url, provider.url) as (process, first),
        server(postgres_url, provider.url) as (_, second),
    ):
        told = heard(first, "", 2)
        told += heard(second, [name for name, _ in told if name][-1], 2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        before = [turn_of(seen) for seen in provider.seen]
        told += heard(second, [name for name, _ in told if name][-1], 1000)
        after = [turn_of(seen) for seen in provider.seen][len(before) :]
    stored = [int(name.rpartition(":")[2]) for name, _ in told if name]
    assert stored == sorted(set(stored))
    assert (told[-1][1]["type"], told[-1][1]["data"]["summary"]) == ("conversation_complete", "summarizer 2 is done.")
    assert not set(after) & set(before[:-1]), (before, after)
