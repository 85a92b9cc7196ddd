"""Limits of calls at once per provider, for all workers of a fleet together."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integration.test_fleet import ending

from roundtable import Roundtable
from roundtable.__main__ import main
from roundtable.core.base.owner import current_owner
from roundtable.errors import ConfigurationError
from roundtable.fleet import Fleet
from roundtable.providers import ScriptedModel
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, chat_reply

pytest.importorskip("dbos")
from roundtable.fleet.worker import fair_share

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
HEARTBEAT_S = 4.0
"""How long the other workers take to notice one that joins."""


@pytest.fixture
def anyio_backend() -> str:
    """A worker needs asyncio."""
    return "asyncio"


class Crowd:
    """Answers the calls of two workers, and counts how many it answers at the same time.

    As soon as both workers call, answers are held until as many calls are in progress as are allowed.
    """

    def __init__(self, allowed: int) -> None:
        self.most = 0
        self.is_full = False
        """Whether as many calls as are allowed were in progress, of both workers."""
        self._allowed = allowed
        self._now: Counter[str] = Counter()
        self._both_called = False
        self._change = threading.Condition()

    def answer(self, worker: str, seen: Seen) -> WireReply:
        with self._change:
            self._now[worker] += 1
            self.most = max(self.most, self._now.total())
            self._both_called |= len(self._now) == 2
            self.is_full |= len(+self._now) == 2 and self._now.total() >= self._allowed
            self._change.notify_all()
            if self._both_called:
                self._change.wait_for(lambda: self.is_full, 30)
        if not self.is_full:
            time.sleep(0.3)  # how long an answer takes: the job must not end before the second worker begins
        with self._change:
            self._now[worker] -= 1
        return chat_reply(json.dumps({"position": "Tea", "reasoning": "It keeps."}), stream=seen.wants_stream)


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "roundtable", *words], env=ENVIRONMENT, text=True)


@pytest.mark.slow
@pytest.mark.anyio
async def test_workers_share_the_concurrent_calls_of_a_provider_from_the_first_call_of_each(tmp_path: Path) -> None:
    crowd = Crowd(allowed=5)
    place = "--storage", f"sqlite:///{tmp_path}/debates.db"
    limit = "--concurrency", "8", "--provider-concurrency", "compatible=5"
    topics = [f"Tea {n}?" for n in range(80)]
    async with Roundtable(storage=place[1]) as table, Fleet(table) as fleet:
        with ExitStack() as stack, anyio.fail_after(120):
            for number in (1, 2):
                provider = stack.enter_context(LoopbackServer(partial(crowd.answer, f"worker {number}")))
                words = "fleet", "work", *limit, "--base-url", f"compatible={provider.url}", *place
                stack.enter_context(ending(started(*words)))
                while await fleet.workers() < number:  # noqa: ASYNC110  (another process changes it)
                    await anyio.sleep(0.05)
            await fleet.submit("drinks", topics, agents=["compatible:a", "compatible:b"], rounds=1)
            status = await fleet.wait("drinks")
    assert status.completed == len(topics)
    assert crowd.is_full
    assert crowd.most == 5


@pytest.mark.slow
@pytest.mark.anyio
class TestJoining:
    """A worker in this process, beside one that only gives signs of life."""

    @pytest.fixture
    async def fleet(self, tmp_path: Path) -> AsyncIterator[Fleet]:
        agents = scripted_agents({"ada": "Tea", "bo": "Tea"})
        async with Roundtable(agents, storage=f"sqlite:///{tmp_path}/debates.db") as table, Fleet(table) as fleet:
            await fleet.submit("drinks", ["Tea?", "Coffee?"], rounds=1)
            yield fleet

    async def test_a_worker_waits_while_others_share_all_calls(self, fleet: Fleet, caplog) -> None:
        caplog.set_level(logging.WARNING, logger="roundtable.fleet")
        fleet.provider_concurrency = {"scripted": 1}
        _, records = await fleet._open()
        await records.add_worker(current_owner("other"), 60)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: fleet.work(until_done="drinks"))
                while "waits until another worker ends" not in caplog.text:  # noqa: ASYNC110  (a log has no event)
                    await anyio.sleep(0.02)
                assert (await fleet.status("drinks")).queued == 2
                assert [owner.name for owner in await records.workers()] == ["other"]
                await records.remove_worker("other")
        assert (await fleet.status("drinks")).completed == 2
        assert fleet.table._wiring.models.gateway._provider_limits == {}

    async def test_a_joining_worker_starts_when_the_other_makes_fewer_calls(self, fleet: Fleet) -> None:
        fleet.provider_concurrency = {"scripted": 2}
        _, records = await fleet._open()
        await records.add_worker(current_owner("other"), 60)
        begun = datetime.now(UTC)
        with anyio.fail_after(60):
            await fleet.work(until_done="drinks")
        assert (await fleet.status("drinks")).completed == 2
        first = min(session.created_at for session in await fleet.table.sessions())
        assert (first - begun).total_seconds() >= HEARTBEAT_S

    @pytest.mark.parametrize(("limits", "others"), [({"scripted": 2}, 0), ({}, 1)], ids=["no other", "no limit"])
    async def test_a_worker_starts_at_once_if_no_other_has_to_make_fewer_calls(
        self, fleet: Fleet, limits: dict[str, int], others: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("roundtable.fleet.worker._PARTS_CHANGE_S", 3600)
        fleet.provider_concurrency = limits
        _, records = await fleet._open()
        for number in range(others):
            await records.add_worker(current_owner(f"other {number}"), 60)
        with anyio.fail_after(60):
            await fleet.work(until_done="drinks")
        assert (await fleet.status("drinks")).completed == 2

    async def test_a_worker_that_is_cancelled_while_it_joins_leaves_no_heartbeat(
        self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("roundtable.fleet.worker._PARTS_CHANGE_S", 3600)
        fleet.provider_concurrency = {"scripted": 2}
        _, records = await fleet._open()
        await records.add_worker(current_owner("other"), 60)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(fleet.work)
                while await fleet.workers() < 2:  # noqa: ASYNC110  (the worker writes its sign)
                    await anyio.sleep(0.02)
                group.cancel_scope.cancel()
        assert [owner.name for owner in await records.workers()] == ["other"]
        assert (await fleet.status("drinks")).queued == 2


@given(st.integers(1, 40), st.integers(0, 200))
def test_the_shares_of_all_workers_are_about_equal_and_add_up_to_the_limit(workers: int, more: int) -> None:
    most = workers + more
    parts = [fair_share(most, number, workers) for number in range(workers)]
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
def test_invalid_limits_are_refused(limits, message: str, tmp_path: Path) -> None:
    table = Roundtable(storage=f"sqlite:///{tmp_path}/debates.db")
    with pytest.raises(ConfigurationError, match=message) as error:
        Fleet(table, provider_concurrency=limits)
    assert error.value.hint is not None


def test_the_providers_of_custom_models_are_known(tmp_path: Path) -> None:
    models = [ScriptedModel(["Tea"], provider="own") for _ in range(2)]
    table = Roundtable(models, storage=f"sqlite:///{tmp_path}/debates.db")
    assert Fleet(table, provider_concurrency={"own": 2}).provider_concurrency == {"own": 2}


@pytest.mark.parametrize("limits", [None, {}])
def test_a_fleet_without_limits_does_not_create_the_parts_of_its_table(limits, tmp_path: Path) -> None:
    table = Roundtable(storage=f"sqlite:///{tmp_path}/debates.db")
    assert Fleet(table, provider_concurrency=limits).provider_concurrency == {}
    assert table._loaded_wiring is None


@pytest.mark.parametrize("text", ["openai", "openai=", "=4", "openai=many", "openai=-1"])
def test_the_command_refuses_an_invalid_limit(text: str, tmp_path: Path, capsys) -> None:
    assert main(["fleet", "work", "--provider-concurrency", text, "--db", f"{tmp_path}/debates.db"]) == 2
    assert "--provider-concurrency takes provider=number" in capsys.readouterr().err
