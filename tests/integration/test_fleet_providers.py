"""Limits of calls at once per provider, for all workers of a fleet together."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable import Roundtable
from roundtable.__main__ import main
from roundtable._core.owner import current_owner
from roundtable.errors import ConfigurationError
from roundtable.fleet import Fleet
from roundtable.providers import ScriptedModel
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply

pytest.importorskip("dbos")
from roundtable.fleet.worker import equal_part

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
HEARTBEAT_S = 4.0


@pytest.fixture
def anyio_backend() -> str:
    """A worker needs asyncio."""
    return "asyncio"


class Crowd:
    """Answers calls, and counts how many it answers at the same time."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def answer(self, seen: Seen) -> WireReply:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.1)  # how long the answer takes
        with self._lock:
            self._now -= 1
        return chat_reply(json.dumps({"position": "Tea", "reasoning": "It keeps."}), stream=seen.wants_stream)


def started(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "roundtable", *words], env=ENVIRONMENT)


@pytest.mark.slow
@pytest.mark.anyio
async def test_workers_share_the_calls_at_once_to_a_provider(tmp_path: Path) -> None:
    crowd = Crowd()
    place = "--storage", f"sqlite:///{tmp_path}/debates.db"
    limit = "--concurrency", "8", "--provider-concurrency", "compatible=5"
    with LoopbackServer(crowd.answer) as provider:
        work = "fleet", "work", *limit, "--base-url", f"compatible={provider.url}", *place
        workers = [started(*work) for _ in range(2)]
        try:
            async with Roundtable(storage=place[1]) as table, Fleet(table) as fleet:
                with anyio.fail_after(60):
                    while await fleet.workers() < 2:  # noqa: ASYNC110  (other processes change it)
                        await anyio.sleep(0.05)
                    await anyio.sleep(HEARTBEAT_S + 0.5)  # then each worker knows of the other
                    await fleet.submit(
                        "drinks", [f"Tea {n}?" for n in range(24)], agents=["compatible:a", "compatible:b"], rounds=1
                    )
                    status = await fleet.wait("drinks")
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert status.completed == 24
    assert crowd.most == 5


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_worker_waits_while_others_share_all_calls(tmp_path: Path, caplog) -> None:
    caplog.set_level(logging.WARNING, logger="roundtable.fleet")
    agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
    limits = {"scripted": 1}
    async with (
        Roundtable(agents, storage=f"sqlite:///{tmp_path}/debates.db") as table,
        Fleet(table, provider_concurrency=limits) as fleet,
    ):
        await fleet.submit("drinks", ["Tea?", "Coffee?"], rounds=1)
        _, records = await fleet._open()
        await records.add_worker(current_owner("other"), 60)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: fleet.work(until_done="drinks"))
                while "waits until another ends" not in caplog.text:  # noqa: ASYNC110  (a log has no event)
                    await anyio.sleep(0.02)
                assert (await fleet.status("drinks")).queued == 2
                assert [owner.name for owner in await records.workers()] == ["other"]
                await records.remove_worker("other")
        assert (await fleet.status("drinks")).completed == 2
        assert table.wiring.models.gateway._provider_limits == {}


@given(st.integers(1, 40), st.integers(0, 200))
def test_the_parts_of_all_workers_are_about_equal_and_add_up(workers: int, more: int) -> None:
    most = workers + more
    parts = [equal_part(most, number, workers) for number in range(workers)]
    assert sum(parts) == most
    assert max(parts) - min(parts) <= 1


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"openia": 4}, "unknown provider 'openia'; known: .*openai"),
        ({"openai": 0}, "of 'openai' must be a whole number of at least 1, not 0"),
        ({"openai": True}, "not True"),
        ({"openai": "4"}, "not '4'"),
        (4, "must map providers to numbers, not int"),
    ],
)
def test_limits_that_cannot_be_are_refused(limits, message: str, tmp_path: Path) -> None:
    table = Roundtable(storage=f"sqlite:///{tmp_path}/debates.db")
    with pytest.raises(ConfigurationError, match=message) as error:
        Fleet(table, provider_concurrency=limits)
    assert error.value.hint is not None


def test_the_providers_of_own_models_are_known(tmp_path: Path) -> None:
    models = [ScriptedModel(["Tea"], provider="own") for _ in range(2)]
    table = Roundtable(models, storage=f"sqlite:///{tmp_path}/debates.db")
    assert Fleet(table, provider_concurrency={"own": 2}).provider_concurrency == {"own": 2}


@pytest.mark.parametrize("text", ["openai", "openai=", "=4", "openai=many", "openai=-1"])
def test_the_command_refuses_what_is_no_limit(text: str, tmp_path: Path, capsys) -> None:
    assert main(["fleet", "work", "--provider-concurrency", text, "--db", f"{tmp_path}/debates.db"]) == 2
    assert "--provider-concurrency takes provider=number" in capsys.readouterr().err
