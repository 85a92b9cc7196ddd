"""Two servers and two workers on one PostgreSQL, started by their commands; a worker and a server are killed."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from integration.browser_kit import browser
from integration.hosts_kit import until

from roundtable.fleet import Fleet
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

pytest.importorskip("dbos")
pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "PYTHONUNBUFFERED": "1"}
DEBATES, ROUNDS, CONCURRENCY = 6, 4, 2
PATIENCE_S = 240.0


class Turn(NamedTuple):
    """A turn of a debate of the job."""

    question: int
    agent: str
    round: int


EVERY_TURN = [Turn(q, agent, r) for q in range(DEBATES) for agent in "ab" for r in range(1, ROUNDS + 1)]


def turn_of(seen: Seen) -> Turn:
    """Return the turn that a request to the provider is for."""
    body = seen.json
    found = re.search(r"Round (\d+) of .*?Question (\d+): tea", json.dumps(body["messages"]))
    assert found is not None, body
    return Turn(int(found[2]), str(body["model"]), int(found[1]))


class Provider(LoopbackServer):
    """A provider whose answers all differ; in round 2, it answers the second agent only after `may_go_on` is set."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.may_go_on = threading.Event()
        self._numbers = itertools.count(1)

    def answer(self, seen: Seen) -> WireReply:
        turn = turn_of(seen)
        if (turn.agent, turn.round) == ("b", 2):
            assert self.may_go_on.wait(PATIENCE_S)
        text = json.dumps({"position": f"Tea {next(self._numbers)}", "reasoning": "It keeps.", "confidence": 0.8})
        return chat_reply(text, stream=seen.wants_stream)

    @property
    def turns(self) -> list[Turn]:
        """The turns of all requests, in their order."""
        return [turn_of(seen) for seen in list(self.seen)]


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


class Holder(NamedTuple):
    """Which process runs the debate of a question."""

    question: int
    process: int


async def holders_of(storage: str) -> dict[str, Holder]:
    """Return who runs each running session of the job, by the ids of the sessions."""
    async with Fleet(storage=storage) as fleet:
        queue, records = await fleet._open()
        rows = await queue.debates((await records.job("drinks")).workflow_ids, loads=True)
        processes = {owner.name: owner.pid for owner in await records.workers()}
    return {
        row.session_id: Holder(number_of(json.loads(row.request)["topic"]), processes[row.worker])
        for row in rows
        if row.state == "running" and row.worker is not None
    }


def number_of(topic: str) -> int:
    return int(topic.split()[1].strip(":"))


class Cluster:
    """Two servers and two workers on one database, with a job."""

    def __init__(self, stack: ExitStack, postgres_url: str, folder: Path) -> None:
        file = folder / "drinks.jsonl"
        file.write_text("".join(f'"Question {number}: tea?"\n' for number in range(DEBATES)))
        self.storage = postgres_url
        self.provider = stack.enter_context(Provider())
        stack.callback(self.provider.may_go_on.set)
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

    def kill_in_round_two(self, session: str) -> None:
        """Kill the worker that runs a session, and the first server, while the second agents' answers are awaited."""
        first, second = ([turn for turn in EVERY_TURN if turn[1:] == (agent, 2)] for agent in "ab")
        until(lambda: len({*second} & {*self.provider.turns}) == 2 * CONCURRENCY)
        until(lambda: len({*first} & self.stored_turns()) == 2 * CONCURRENCY)
        holders = self.holders()
        worker = next(worker for worker in self.workers if worker.pid == holders[session].process)
        for process in (worker, self.servers[0]):
            process.kill()
            process.wait()
        self.stored_before, self.requested_before = self.stored_turns(), len(self.provider.seen)
        self.in_flight = [Turn(held.question, "b", 2) for held in holders.values() if held.process == worker.pid]
        self.provider.may_go_on.set()

    def holders(self) -> dict[str, Holder]:
        """Return who runs each running session."""
        with start_blocking_portal() as portal:  # Playwright has an event loop in this thread
            return portal.call(holders_of, self.storage)

    def stored_turns(self) -> set[Turn]:
        """Return the turns whose answers are stored."""
        return {turn for turn, _ in self.answers()}

    def answers(self) -> list[tuple[Turn, str]]:
        """Return all stored answers, with their turns."""
        results = [self.webs[1].get(f"/api/sessions/{one['sessionId']}").json() for one in sessions(self.webs[1])]
        turns = [
            (number_of(result["topic"]), record["number"], turn)
            for result in results
            for record in result["rounds"]
            for turn in record["turns"]
        ]
        return [
            (Turn(question, turn["agentId"].removeprefix("compatible-"), number), turn["result"]["answer"]["position"])
            for question, number, turn in turns
            if turn["outcome"] == "answered"
        ]

    def check_whole(self) -> None:
        """Wait for the job, and check that all of it is stored and that no stored turn was requested again."""
        until(lambda: done(self.webs[1]))
        stored = self.answers()
        assert sorted(turn for turn, _ in stored) == EVERY_TURN
        assert len({position for _, position in stored}) == len(stored)
        assert not self.stored_before & {*self.provider.turns[self.requested_before :]}
        # Only the turns that were being answered when the worker was killed were requested again, and once.
        assert len(self.in_flight) == CONCURRENCY
        assert Counter(self.provider.turns) == Counter([*EVERY_TURN, *self.in_flight])


def test_a_stream_continues_and_the_job_is_completed(postgres_url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, postgres_url, tmp_path)
        session = cluster.running()
        first = cluster.until_round_two(session)
        cluster.kill_in_round_two(session)
        rest = events(cluster.webs[1], session, first[-1][0], lambda event: event["type"] == "debate_complete")
        cluster.check_whole()
    numbers = [int(name.rpartition(":")[2]) for name, _ in [*first, *rest]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.browser
def test_a_page_continues_while_a_worker_and_the_other_server_are_killed(
    browser: Browser, postgres_url: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, postgres_url, tmp_path)
        session = cluster.running()
        page = stack.enter_context(browser.new_context()).new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.goto(f"{cluster.urls[1]}/sessions/{session}")
        cluster.until_round_two(session)
        cluster.kill_in_round_two(session)
        page.locator("#state", has_text="completed").wait_for(timeout=1000 * PATIENCE_S)
        cluster.check_whole()


def sessions(web: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = web.get("/api/sessions").json()["sessions"]
    return found


def done(web: httpx.Client) -> bool:
    found = sessions(web)
    return len(found) == DEBATES and {one["sessionStatus"] for one in found} == {"completed"}
