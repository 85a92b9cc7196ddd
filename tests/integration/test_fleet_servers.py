"""Two servers and two workers on one PostgreSQL, started by their commands; a worker and a server are killed."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import httpx
import pytest
from integration.browser_kit import browser

from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

pytest.importorskip("dbos")
pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "PYTHONUNBUFFERED": "1"}
DEBATES, ROUNDS, CONCURRENCY = 6, 4, 2
PATIENCE_S = 240.0


def answers() -> Callable[[Seen], WireReply]:
    """Return a provider whose answers all differ, and take a while."""
    numbers = itertools.count(1)

    def answer(seen: Seen) -> WireReply:
        text = json.dumps({"position": f"Tea {next(numbers)}", "reasoning": "It keeps.", "confidence": 0.8})
        reply = chat_reply(text, stream=seen.wants_stream)
        return WireReply([0.25, *reply.parts], reply.end)

    return answer


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command until the block ends."""
    whole = [sys.executable, "-m", "roundtable", *words]
    with subprocess.Popen(
        whole, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def url_of(output: IO[str] | None) -> str:
    assert output is not None
    for line in output:
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found is not None:
            return found[0]
    raise AssertionError("the server ended")


def until(what: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
    """Return what is true in the end."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s")


def events(web: httpx.Client, session: str, last: str, stop: Callable[[dict[str, Any]], bool]) -> list[tuple[str, str]]:
    """Follow a session from an event on, until one is the last; return ids and types of the stored events."""
    told: list[tuple[str, str]] = []
    headers = {"last-event-id": last} if last else {}
    name = ""
    with web.stream("GET", f"/api/sessions/{session}/events?ids=1", headers=headers) as response:
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if line.startswith("id: "):
                name = line[4:]
            elif line.startswith("data: ") and name:
                event = json.loads(line[6:])
                told.append((name, event["type"]))
                name = ""
                if stop(event):
                    break
    return told


class Cluster:
    """Two servers and two workers on one database, with a job."""

    def __init__(self, stack: ExitStack, postgres_url: str, folder: Path) -> None:
        file = folder / "drinks.jsonl"
        file.write_text("".join(f'"Question {number}: tea?"\n' for number in range(DEBATES)))
        self.provider = stack.enter_context(LoopbackServer(answers()))
        place = "--storage", postgres_url
        table = *place, "--base-url", f"compatible={self.provider.url}", "--analyzer", "declared"
        self.servers = [
            stack.enter_context(command("serve", "--no-auth", "--port", "0", *table, "--agents", "compatible:a"))
            for _ in range(2)
        ]
        self.urls = [url_of(server.stdout) for server in self.servers]
        self.webs = [
            stack.enter_context(httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False)) for url in self.urls
        ]
        agents = "--agents", "compatible:a,compatible:b"
        submit = "fleet", "submit", str(file), "--rounds", str(ROUNDS), *agents, *table
        with command(*submit) as submitted:
            assert submitted.wait(PATIENCE_S) == 0
        self.workers = [
            stack.enter_context(command("fleet", "work", "--concurrency", str(CONCURRENCY), *table)) for _ in range(2)
        ]

    def running(self) -> str:
        """Return the id of a session that a worker runs."""
        found = until(lambda: [one for one in sessions(self.webs[0]) if one["sessionStatus"] == "active"])
        return str(found[0]["sessionId"])

    def until_round_two(self, session: str) -> list[tuple[str, str]]:
        """Follow a session at the first server until its second round begins; return its events."""
        return events(
            self.webs[0], session, "", lambda event: event["type"] == "round_start" and event["data"]["round"] == 2
        )

    def kill(self) -> None:
        """Kill a worker and the first server."""
        assert [one for one in sessions(self.webs[0]) if one["sessionStatus"] == "active"]
        for process in (self.workers[0], self.servers[0]):
            process.kill()
            process.wait()

    def check_whole(self) -> None:
        """Wait for the job, and check that all of it is stored and that no stored turn was asked for again."""
        until(lambda: done(self.webs[1]))
        results = [self.webs[1].get(f"/api/sessions/{one['sessionId']}").json() for one in sessions(self.webs[1])]
        calls = len(self.provider.seen)
        assert [result["status"] for result in results] == ["completed"] * DEBATES
        turns = [turn for result in results for held in result["rounds"] for turn in held["turns"]]
        stored = [turn["result"]["answer"]["position"] for turn in turns]
        assert len(set(stored)) == len(stored) == DEBATES * ROUNDS * 2
        # Only the calls that ran when the worker was killed were made again.
        assert calls - len(stored) <= CONCURRENCY * 2


def test_a_stream_goes_on_and_the_job_ends_whole(postgres_url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, postgres_url, tmp_path)
        session = cluster.running()
        first = cluster.until_round_two(session)
        cluster.kill()
        rest = events(cluster.webs[1], session, first[-1][0], lambda event: event["type"] == "debate_complete")
        cluster.check_whole()
    numbers = [int(name.rpartition(":")[2]) for name, _ in [*first, *rest]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.browser
def test_a_page_goes_on_while_a_worker_and_the_other_server_are_killed(
    browser: Browser, postgres_url: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, postgres_url, tmp_path)
        session = cluster.running()
        page = stack.enter_context(browser.new_context()).new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.goto(f"{cluster.urls[1]}/sessions/{session}")
        cluster.until_round_two(session)
        cluster.kill()
        page.locator("#state", has_text="completed").wait_for(timeout=1000 * PATIENCE_S)
        cluster.check_whole()


def sessions(web: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = web.get("/api/sessions").json()["sessions"]
    return found


def done(web: httpx.Client) -> bool:
    found = sessions(web)
    return len(found) == DEBATES and {one["sessionStatus"] for one in found} == {"completed"}
