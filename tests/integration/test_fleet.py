"""Fleets on SQLite: jobs through a queue, budgets, failures, cancelling, workers that end or die."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from integration.fleet_child import ROUNDS, STEPS, table_for
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased

import roundtable
from roundtable import AgentConfig, ProviderConfig, Roundtable
from roundtable.core.types.request import DebateRequest
from roundtable.errors import CircuitOpen, ConfigurationError, StorageError
from roundtable.exits import MaxRounds
from roundtable.fleet import Fleet, JobStatus, read_jsonl
from roundtable.fleet import worker as fleet_worker
from roundtable.fleet.jobs import Job, file_hashes, queued_request, request_from_queue
from roundtable.fleet.queue import FORMAT
from roundtable.fleet.tracing import job_traced, within_trace
from roundtable.fleet.worker import polling_interval
from roundtable.plugins.observer_thread import ObserverThread
from roundtable.plugins.otel import OpenTelemetryObserver
from roundtable.providers import ScriptedModel
from roundtable.results.debate_result import DebateResult
from roundtable.results.many import FailedDebate
from roundtable.settings import Settings
from roundtable.types import Attachment, Budget, ChatRequest, ChatResponse, DebateStart, JsonValue, RoundStart

pytest.importorskip("dbos")

NOW = datetime.now(UTC)
ANSWER = {"position": "Tea", "reasoning": "It keeps."}
CHILD = Path(__file__).with_name("fleet_child.py")
SOURCES = os.pathsep.join([str(CHILD.parents[1]), str(Path(roundtable.__file__).parents[1])])
ENVIRONMENT = {"PYTHONPATH": SOURCES, "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}


@pytest.fixture
def anyio_backend() -> str:
    """A worker needs asyncio."""
    return "asyncio"


def address(folder: Path) -> str:
    return f"sqlite:///{folder}/debates.db"


def questions(number: int) -> list[str]:
    return [f"question-{index}: tea or coffee?" for index in range(number)]


def queue_bytes(folder: Path) -> bytes:
    """Return all that the files of the queue's database hold."""
    return b"".join(file.read_bytes() for file in folder.glob("debates.fleet.db*"))


def files_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def calls_of(folder: Path) -> Counter[str]:
    return Counter((folder / "calls.txt").read_text().splitlines())


async def until_running(fleet: Fleet, job: str, number: int) -> None:
    while (await fleet.status(job)).running < number:  # noqa: ASYNC110  (other processes change it)
        await anyio.sleep(0.05)


async def until_called(folder: Path, number: int) -> None:
    file = folder / "calls.txt"
    while not file.exists() or sum(calls_of(folder).values()) < number:  # noqa: ASYNC110
        await anyio.sleep(0.02)


def child(
    storage: str, folder: Path, job: str, *numbers: float, dies_after: str | None = None
) -> subprocess.Popen[str]:
    words = [sys.executable, str(CHILD), storage, str(folder), job, *map(str, numbers)]
    environment = ENVIRONMENT if dies_after is None else {**ENVIRONMENT, "DIES_AFTER": dies_after}
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, text=True)


@contextmanager
def ending(*workers: subprocess.Popen[str]) -> Iterator[None]:
    """Kill workers that still run at the end of the block."""
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


@pytest.mark.anyio
class TestJobs:
    @pytest.mark.slow
    async def test_a_job_is_held_and_its_results_are_in_the_order_of_the_questions(self, tmp_path: Path) -> None:
        seen: list[JobStatus] = []
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            queued = await fleet.submit("drinks", questions(5), rounds=1, metadata={"who": "me"})
            assert (queued.debates, queued.queued, queued.is_done) == (5, 5, False)
            await fleet.work(until_done="drinks", on_progress=seen.append)
            results = await fleet.results("drinks")
            status = await fleet.status("drinks")
        assert [result.topic for result in results] == questions(5)
        assert {result.answer for result in results} == {"Tea"}
        assert {result.config.metadata["who"] for result in results} == {"me"}
        assert status.completed == 5
        assert status.is_done
        assert status.usage == results.usage.model_copy(update={"cost_usd": None})
        assert status.usage.calls == 10
        assert seen[-1] == status
        assert (tmp_path / "debates.fleet.db").stat().st_mode & 0o077 == 0

    @pytest.mark.slow
    async def test_files_of_questions_are_stored_once_for_each_job(self, tmp_path: Path) -> None:
        shared, own = Attachment(name="rules.md", text="Be brief."), Attachment(name="own.txt", text="Only mine.")
        asked = [*questions(2), DebateRequest(topic="question-2: tea?", attachments=(own, shared))]
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("drinks", asked, rounds=1, attachments=[shared])
            assert (await fleet.submit("drinks", asked, rounds=1, attachments=[shared])).debates == 3
            await fleet.work(until_done="drinks")
            results = await fleet.results("drinks")
            for result, files in zip(results, [(shared,), (shared,), (own, shared)], strict=True):
                record = (await table._wiring.sessions.load(result.session_id)).record
                assert [(file.name, file.text) for file in record.attachments] == [(f.name, f.text) for f in files]
        assert b"Be brief." not in queue_bytes(tmp_path)

    async def test_a_request_in_which_an_earlier_version_queued_its_files_whole_is_read(self) -> None:
        whole, stored = Attachment(name="rules.md", text="Be brief."), Attachment(name="own.txt", text="Only mine.")
        queued = json.loads(queued_request(DebateRequest(topic="Tea?", rounds=1, attachments=(whole, stored))))
        queued["attachments"][0] = whole.model_dump(mode="json", exclude_unset=True)
        text = json.dumps(queued)
        digest = stored.info.sha256
        assert file_hashes(text) == (digest,)
        request = request_from_queue(text, {digest: "Only mine."})
        assert request.given_options().keys() == {"rounds", "attachments"}
        assert [(file.name, file.text) for file in request.attachments or ()] == [
            ("rules.md", "Be brief."),
            ("own.txt", "Only mine."),
        ]
        with pytest.raises(StorageError, match=r"the content of 'own\.txt' is missing"):
            request_from_queue(text, {})
        assert request_from_queue(text, None).attachments == (whole,)

    async def test_the_version_of_the_queue_changes_with_what_is_queued(self) -> None:
        request = DebateRequest(topic="Tea?", rounds=1, attachments=(Attachment(name="rules.md", text="Be brief."),))
        digest = hashlib.sha256(b"Be brief.").hexdigest()
        file = {"name": "rules.md", "mediaType": "text/plain", "size": 9, "sha256": digest, "pages": None}
        form = {"topic": "Tea?", "rounds": 1, "attachments": [file]}
        assert (FORMAT, json.loads(queued_request(request))) == ("3", form)

    async def test_a_file_of_a_question_is_checked_when_it_is_submitted(self, tmp_path: Path) -> None:
        broken = {"topic": "Tea?", "attachments": [{"name": "chart.png", "data": "no base64!"}]}
        foreign = {"topic": "Tea?", "attachments": [{"name": "chart.png", "text": "not a picture"}]}
        lines = tmp_path / "lines.jsonl"
        lines.write_text(json.dumps(foreign))
        async with Fleet(storage=address(tmp_path)) as fleet:
            with pytest.raises(ConfigurationError, match=r"question 2: 'chart\.png' has data that is not base64"):
                await fleet.submit("drinks", ["Tea?", broken])
            with pytest.raises(ConfigurationError, match=r"line 1: 'chart\.png' is called image/png"):
                read_jsonl(lines)
            assert await fleet.jobs() == ()

    @pytest.mark.slow
    async def test_a_debate_whose_files_cannot_be_read_once_is_tried_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failed: list[str] = []
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            values = table._wiring.storage.kv
            read = values.get

            async def get(key: str, **given: str) -> object:
                if key.startswith("fleet-files/") and not failed:
                    failed.append(key)
                    raise StorageError("the database is locked", retryable=True)
                return await read(key, **given)

            await fleet.submit("drinks", questions(1), rounds=1, attachments=[Attachment(text="Be brief.")])
            monkeypatch.setattr("roundtable.fleet.worker._FIRST_PAUSE_S", 0.01)
            monkeypatch.setattr(values, "get", get)
            await fleet.work(until_done="drinks")
            status = await fleet.status("drinks")
        assert (status.completed, status.failed, len(failed)) == (1, 0, 1)

    @pytest.mark.slow
    async def test_submitting_a_job_again_changes_nothing_and_another_job_of_its_name_is_refused(
        self, tmp_path: Path
    ) -> None:
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("drinks", questions(2), rounds=1)
            await fleet.work(until_done="drinks")
            assert (await fleet.submit("drinks", questions(2), rounds=1)).completed == 2
            with pytest.raises(ConfigurationError, match="a job 'drinks' of 2 debates with other questions"):
                await fleet.submit("drinks", questions(2), rounds=2)
            assert [status.job for status in await fleet.jobs()] == ["drinks"]
        assert set(calls_of(tmp_path).values()) == {1}

    @pytest.mark.slow
    async def test_the_options_of_a_question_replace_those_of_the_job(self, tmp_path: Path) -> None:
        asked = [
            {"question": "question-1?", "rounds": 2},
            DebateRequest(topic="question-2?", exit_when={"kind": "max_rounds", "rounds": 1}, rounds=3),
            "question-3?",
        ]
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("mixed", asked, rounds=1, mode="delphi")  # type: ignore[arg-type]
            await fleet.work(until_done="mixed")
            results = await fleet.results("mixed")
        assert [(len(result.rounds), result.mode.partition(":")[0]) for result in results] == [
            (2, "delphi"), (1, "delphi"), (1, "delphi"),
        ]  # fmt: skip

    @pytest.mark.slow
    async def test_jobs_with_a_lower_number_are_run_first(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("later", ["question-9?"] * 3, rounds=1)
            await fleet.submit("first", ["question-1?"] * 3, rounds=1, priority=1)
            await fleet.work(until_done="later", concurrency=1)
        lines = (tmp_path / "calls.txt").read_text().splitlines()
        assert [line.partition(" ")[0] for line in lines] == ["question-1"] * 6 + ["question-9"] * 6

    @pytest.mark.slow
    async def test_tenants_share_no_jobs(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path) as table:
            other = table.for_tenant("acme")
            async with Fleet(table) as one, Fleet(other) as two:
                await one.submit("drinks", questions(2), rounds=1)
                await two.submit("drinks", questions(1), rounds=1)
                await two.work(until_done="drinks")
                assert (await one.status("drinks")).queued == 2
                assert [result.topic for result in await two.results("drinks")] == questions(1)
                assert await table.sessions() == ()
                await one.work(until_done="drinks")
            assert (len(await other.sessions()), len(await table.sessions())) == (1, 2)

    @pytest.mark.slow
    async def test_fleets_with_different_names_share_no_jobs(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as one, Fleet(table, name="b") as two:
            await one.submit("drinks", questions(1), rounds=1)
            await two.submit("drinks", questions(2), rounds=1)
            await two.work(until_done="drinks")
            assert (await one.status("drinks")).queued == 1
            assert (await two.status("drinks")).completed == 2
            await one.work(until_done="drinks")
            assert (await one.status("drinks")).completed == 1


@pytest.mark.anyio
class TestFailures:
    @pytest.mark.slow
    async def test_failed_debates_are_counted_by_cause_and_retried(self, tmp_path: Path) -> None:
        works = False

        def reply(request: ChatRequest) -> Exception | Mapping[str, str]:
            is_bad = "bad" in request.messages[-1].content
            return ConfigurationError("no such thing") if is_bad and not works else {"position": "Tea"}

        models = [ScriptedModel(reply, model=name) for name in ("ada", "bo")]
        async with Roundtable(models, storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.submit("some", ["good?", "bad?"], rounds=1)
            await fleet.work(until_done="some")
            status = await fleet.status("some")
            assert (status.completed, status.failed, status.errors) == (1, 1, {"QUORUM_LOST": 1})
            good, bad = (await fleet.results("some")).held
            assert isinstance(good, DebateResult)
            assert isinstance(bad, FailedDebate)
            assert (bad.topic, bad.error.code, bad.error.name) == ("bad?", "QUORUM_LOST", "QuorumLost")
            works = True
            assert (await fleet.retry("some")).queued == 1
            await fleet.work(until_done="some")
            assert [result.answer for result in await fleet.results("some")] == ["Tea", "Tea"]
            assert (await fleet.status("some")).errors == {}

    @pytest.mark.slow
    async def test_the_worker_that_lacks_a_key_is_named_with_the_way_to_retry(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING, "roundtable.fleet"):
            async with Roundtable(storage=address(tmp_path), settings=Settings()) as table, Fleet(table) as fleet:
                await fleet.submit("paid", questions(2), agents=["openai:gpt-5.2", "openai:gpt-5.2"], rounds=1)
                await fleet.work(until_done="paid")
                assert (await fleet.status("paid")).errors == {"CONFIGURATION_ERROR": 2}
                failed = (await fleet.results("paid")).held[0]
        assert isinstance(failed, FailedDebate)
        where = f"the worker on {socket.gethostname()!r}, process {os.getpid()}, cannot run this debate"
        assert failed.error.message == f"{where}: the provider 'openai' needs an API key"
        assert failed.error.hint is not None
        assert "Set OPENAI_API_KEY" in failed.error.hint
        assert failed.error.hint.endswith("Then run: roundtable fleet retry paid")
        assert [where in record.getMessage() for record in caplog.records] == [True]

    @pytest.mark.slow
    async def test_a_temporary_error_is_tried_again(self, tmp_path: Path) -> None:
        seen: list[str] = []

        def reply(request: ChatRequest) -> Exception | Mapping[str, str]:
            seen.append(request.metadata["agent"])
            return StorageError("away", retryable=True) if len(seen) <= 2 else {"position": "Tea"}

        models = [ScriptedModel(reply, model=name) for name in ("ada", "bo")]
        async with Roundtable(models, storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.submit("one", ["question?"], rounds=1)
            await fleet.work(until_done="one")
            assert (await fleet.status("one")).completed == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("longest_outage_s", [3600.0, 0.0])
    async def test_an_outage_of_a_provider_is_waited_for(
        self, longest_outage_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("roundtable.fleet.worker._FIRST_PAUSE_S", 0.01)
        monkeypatch.setattr("roundtable.fleet.worker._LONGEST_OUTAGE_S", longest_outage_s)
        asked: list[float] = []

        def reply(_: ChatRequest) -> Exception | Mapping[str, str]:
            asked.append(anyio.current_time())
            return CircuitOpen("open", retry_after_s=0.2) if len(asked) <= 10 else {"position": "Tea"}

        models = [ScriptedModel(reply, model=name) for name in ("ada", "bo")]
        async with Roundtable(models, storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.submit("one", ["question?"], rounds=1)
            await fleet.work(until_done="one")
            status = await fleet.status("one")
        waits = [later - earlier for earlier, later in zip(asked[::2], asked[2::2], strict=False)]
        assert min(waits) >= 0.2
        assert (status.completed, status.failed, len(asked)) == ((1, 0, 12) if longest_outage_s else (0, 1, 6))

    @pytest.mark.slow
    async def test_a_paused_debate_counts_as_failed_and_can_continue(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("small", ["question-1?"], rounds=2, budget=Budget(max_calls=3))
            await fleet.work(until_done="small")
            assert (await fleet.status("small")).errors == {"SESSION_ERROR": 1}
            (failed,) = (await fleet.results("small")).failures
            assert failed.error.message == "the debate ended early: budget"
            assert failed.partial is not None


@pytest.mark.anyio
class TestBudgets:
    @pytest.mark.slow
    async def test_a_budget_in_dollars_needs_the_prices_of_all_models(self, tmp_path: Path) -> None:
        prices = {f"scripted:{name}": {"input": 1, "output": 1} for name in ("ada", "bo")}
        models = [ScriptedModel(lambda _: ANSWER, model=name) for name in ("ada", "bo")]
        async with Fleet(storage=address(tmp_path)) as fleet:  # it does not know the agents of the workers
            await fleet.submit("paid", questions(1), rounds=1, job_budget=Budget(max_cost_usd=1))
        async with Roundtable(models, storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.work(until_done="paid")
            assert (await fleet.status("paid")).errors == {"CONFIGURATION_ERROR": 1}
            assert (await fleet.status("paid")).usage.calls == 0
        async with Roundtable(models, storage=address(tmp_path), prices=prices) as table, Fleet(table) as fleet:
            await fleet.retry("paid")
            await fleet.work(until_done="paid")
            assert (await fleet.status("paid")).completed == 1

    @pytest.mark.parametrize("limits", [{"job_budget": Budget(max_cost_usd=1)}, {"budget": Budget(max_cost_usd=1)}])
    async def test_a_budget_in_dollars_is_refused_if_the_prices_of_known_agents_are_unknown(
        self, tmp_path: Path, limits: dict[str, Budget]
    ) -> None:
        models = [ScriptedModel(lambda _: ANSWER, model=name) for name in ("ada", "bo")]
        providers = {"compatible": ProviderConfig(base_url="http://127.0.0.1:9/v1")}
        asked = ["question-1?", {"topic": "question-2?", "agents": ["compatible:cy"]}]
        message = "no price is known for compatible:cy, scripted:ada, scripted:bo"
        async with (
            Roundtable(models, storage=address(tmp_path), providers=providers) as table,
            Fleet(table) as fleet,
        ):
            with pytest.raises(ConfigurationError, match=message):
                await fleet.submit("paid", asked, **limits)
            assert await fleet.jobs() == ()
            assert (await fleet.submit("free", asked, job_budget=Budget(max_calls=9))).queued == 2
            # Another process may have the key.
            keyless: list[str | dict[str, JsonValue]] = [{"topic": "question-3?", "agents": ["anthropic"]}]
            assert (await fleet.submit("keyless", keyless, **limits)).queued == 1

    @pytest.mark.slow
    async def test_the_budget_of_a_job_holds_for_all_its_debates_at_once(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path, delay_s=0.02) as table, Fleet(table) as fleet:
            worst = table.estimate("question-1?", rounds=1).calls
            await fleet.submit("paid", questions(8), rounds=1, job_budget=Budget(max_calls=worst + 4))
            await fleet.work(until_done="paid", concurrency=8)
            status = await fleet.status("paid")
            # Each debate needs 2 calls, and `worst` are set aside before it begins: the last ones do not fit.
            assert status.usage.calls <= worst + 4
            assert sum(calls_of(tmp_path).values()) == status.usage.calls == 2 * status.completed
            assert status.errors == {"BUDGET_EXCEEDED": status.failed}
            assert status.completed >= 3
            await fleet.retry("paid", job_budget=Budget(max_calls=100))
            await fleet.work(until_done="paid")
            status = await fleet.status("paid")
        assert (status.completed, status.usage.calls) == (8, 16)
        assert set(calls_of(tmp_path).values()) == {1}

    @pytest.mark.parametrize("limit", [{"max_seconds": 5}, {"max_calls": 5, "synthesis_share": 0.5}])
    async def test_limits_of_one_debate_are_refused_for_a_job(self, tmp_path: Path, limit: dict[str, float]) -> None:
        async with Fleet(storage=address(tmp_path)) as fleet:
            with pytest.raises(ConfigurationError, match="limits calls, tokens and dollars"):
                await fleet.submit("paid", ["question?"], job_budget=Budget.model_validate(limit))


@pytest.mark.anyio
class TestCancelling:
    @pytest.mark.slow
    async def test_queued_and_running_debates_can_be_cancelled_and_continue_after_a_retry(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path, delay_s=3600) as table, Fleet(table) as fleet:
            await fleet.submit("long", questions(3), rounds=8)
            async with anyio.create_task_group() as group:

                async def work() -> None:
                    await fleet.work(until_done="long", concurrency=2)

                group.start_soon(work)
                await until_called(tmp_path, 4)
                assert (await fleet.cancel("long")).cancelled == 3
            held = (await fleet.results("long")).held
            assert [one.status for one in held if isinstance(one, DebateResult)] == ["paused"] * 2
            assert {one.exit.reason for one in held if isinstance(one, DebateResult) and one.exit} == {"paused"}
            assert await table.recover() == ()
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            assert (await fleet.retry("long")).queued == 3
            await fleet.work(until_done="long", concurrency=3)
            assert [result.status for result in await fleet.results("long")] == ["completed"] * 3
            # Each turn was stored once; only the calls that ran at the cancellation were made again.
            assert sum(calls_of(tmp_path).values()) == 48 + 4

    @pytest.mark.slow
    async def test_a_stopped_debate_fails_again_when_it_is_retried(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path, delay_s=0.2) as table, Fleet(table) as fleet:
            await fleet.submit("one", questions(1), rounds=8)
            async with anyio.create_task_group() as group:
                group.start_soon(partial(fleet.work, until_done="one"))
                await until_running(fleet, "one", 1)
                await until_called(tmp_path, 2)
                ((session,),) = [await table.sessions()]
                await table.stop(session.id)
            assert (await fleet.status("one")).errors == {"SESSION_ERROR": 1}
            assert (await fleet.retry("one")).queued == 1
            await fleet.work(until_done="one")
            status = await fleet.status("one")
            assert (status.completed, status.failed) == (0, 1)

    @pytest.mark.slow
    async def test_a_debate_that_is_cancelled_between_two_tries_does_not_start_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("roundtable.fleet.worker._FIRST_PAUSE_S", 3.0)
        has_failed, is_away = anyio.Event(), False
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            append = table._wiring.storage.append

            async def fails_at_the_second_round(*arguments: Any, **options: Any) -> int:
                nonlocal is_away
                event = arguments[3][0]
                if isinstance(event, RoundStart) and event.round == 2 and not has_failed.is_set():
                    is_away = True
                    has_failed.set()
                if is_away and event.type != "control":
                    raise StorageError("away", retryable=True)  # so the session stays active
                return await append(*arguments, **options)

            monkeypatch.setattr(table._wiring.storage, "append", fails_at_the_second_round)
            await fleet.submit("one", questions(1), rounds=3)
            with anyio.move_on_after(8):
                async with anyio.create_task_group() as group:
                    group.start_soon(fleet.work)
                    await has_failed.wait()
                    await fleet.cancel("one")
                    await anyio.sleep(0.5)
                    is_away = False
            assert sum(calls_of(tmp_path).values()) == 2
            assert (await fleet.status("one")).cancelled == 1
            (result,) = (await fleet.results("one")).held
            assert (isinstance(result, DebateResult), result.status) == (True, "paused")

    async def test_a_job_is_submitted_without_the_keys_of_its_agents(self, tmp_path: Path) -> None:
        agents = ["anthropic:claude-sonnet-4-5", AgentConfig(id="bo", name="Bo", provider="openai", model="gpt-5")]
        async with Roundtable(agents, storage=address(tmp_path)) as table, Fleet(table) as fleet:
            assert (await fleet.submit("keyless", questions(2))).queued == 2
            _, records = await fleet._open()
            assert (await records.job("keyless")).agents == ("anthropic:claude-sonnet-4-5", "openai:gpt-5")

    @pytest.mark.parametrize(
        ("status", "worker", "state", "is_set_aside"),
        [
            pytest.param("PENDING", "first", "queued", True, id="it runs there"),
            pytest.param("PENDING", "second", "running", False, id="another worker took it over"),
            pytest.param("CANCELLED", "first", "cancelled", False, id="it was cancelled"),
        ],
    )
    async def test_a_worker_requeues_only_debates_that_it_still_runs(
        self, tmp_path: Path, status: str, worker: str, state: str, *, is_set_aside: bool
    ) -> None:
        async with Fleet(storage=address(tmp_path)) as fleet:
            await fleet.submit("job", questions(1))
            queue, _ = await fleet._open()
            ids = ["default.job.00000001"]
            for act, is_aside in (
                (partial(queue.set_aside, ids[0], "first", ("scripted:ada",)), is_set_aside),
                (partial(queue.give_back, ids, "first"), False),
            ):
                with closing(sqlite3.connect(tmp_path / "debates.fleet.db")) as database:
                    database.execute("UPDATE workflow_status SET status = ?, executor_id = ?", (status, worker))
                    database.commit()
                await act()
                (row,) = await queue.debates(ids)
                assert (row.state, row.is_set_aside) == (state, is_aside)

    @pytest.mark.slow
    async def test_a_job_of_a_table_with_an_empty_list_of_agents_is_left_to_no_worker(self, tmp_path: Path) -> None:
        async with Roundtable([], storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.submit("anybodys", questions(1), rounds=1)
        with anyio.fail_after(30):
            async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
                await fleet.work(until_done="anybodys")
                assert (await fleet.status("anybodys")).completed == 1

    @pytest.mark.slow
    async def test_a_worker_leaves_debates_for_other_agents_to_workers_that_have_them(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        models = {name: ScriptedModel(lambda _: ANSWER, model=name) for name in ("ada", "bo")}
        async with Roundtable([models["ada"]], storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.submit("ours", [*questions(20), {"topic": "own?", "agents": ["compatible:cy"]}], rounds=1)
        async with Roundtable(storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await fleet.submit("anybodys", ["question-2?"], rounds=1)
        with anyio.fail_after(60), caplog.at_level(logging.WARNING, "roundtable.fleet"):
            async with Roundtable([models["bo"]], storage=address(tmp_path)) as table, Fleet(table) as fleet:
                # The job of lower rank is not held up by debates that this worker cannot run.
                await fleet.work(until_done="anybodys", concurrency=4)
                status = await fleet.status("ours")
                assert (status.queued, status.set_aside, status.failed) == (20, 20, 1)
                assert status.agents == ("scripted:ada",)
                with pytest.raises(ConfigurationError, match=r"agents \(scripted:bo\).*missing: scripted:ada"):
                    await fleet.work(until_done="ours")
                assert (await fleet.status("anybodys")).completed == 1
        refusals = [record.getMessage() for record in caplog.records if "other agents" in record.getMessage()]
        assert len(refusals) == 1
        assert "the job 'ours' needs (scripted:ada); missing: scripted:ada; it leaves the job to" in refusals[0]
        with anyio.fail_after(60):
            async with Roundtable([models["ada"]], storage=address(tmp_path)) as table, Fleet(table) as fleet:
                await fleet.work(until_done="ours")
                status = await fleet.status("ours")
        assert (status.completed, status.set_aside, status.errors) == (20, 0, {"CONFIGURATION_ERROR": 1})


@pytest.mark.anyio
class TestWorkers:
    @pytest.mark.slow
    async def test_an_ended_worker_returns_its_debates_and_another_continues_them(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path, delay_s=0.1) as table, Fleet(table) as fleet:
            await fleet.submit("long", questions(4), rounds=5)
            with anyio.move_on_after(1.5):
                await fleet.work(concurrency=4)
            status = await fleet.status("long")
            assert (status.running, status.queued + status.completed) == (0, 4)
            await fleet.work(until_done="long", concurrency=4)
            assert (await fleet.status("long")).completed == 4
            results = await fleet.results("long")
        stored = {(turn.agent_id, record.number) for record in results[0].rounds for turn in record.turns}
        assert len(stored) == 10
        # At most the calls that ran when the first worker ended were made again.
        assert sum(calls_of(tmp_path).values()) <= 40 + 8

    @pytest.mark.slow
    async def test_the_calls_of_an_ended_worker_finish_and_are_not_made_again(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path, delay_s=1.0) as table, Fleet(table) as fleet:
            await fleet.submit("long", questions(4), rounds=3)
            async with anyio.create_task_group() as group:
                group.start_soon(partial(fleet.work, concurrency=3, grace_s=60.0))
                await until_called(tmp_path, 6)
                group.cancel_scope.cancel()
            status = await fleet.status("long")
            assert (status.running, status.queued, sum(calls_of(tmp_path).values())) == (0, 4, 6)
            paused = [session for session in await table.sessions() if session.status == "paused"]
            assert [session.response_count for session in paused] == [2, 2, 2]
            await fleet.work(until_done="long", concurrency=4)
            assert (await fleet.status("long")).completed == 4
        assert set(calls_of(tmp_path).values()) == {1}
        assert len(calls_of(tmp_path)) == 4 * 3 * 2

    @pytest.mark.slow
    async def test_calls_that_outlast_the_grace_of_a_worker_are_interrupted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("roundtable.fleet.worker._BEAT_S", 0.1)
        async with table_for(address(tmp_path), tmp_path, delay_s=3600) as table, Fleet(table) as fleet:
            await fleet.submit("long", questions(2), rounds=1)
            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    group.start_soon(partial(fleet.work, grace_s=0.5))
                    await until_called(tmp_path, 4)
                    group.cancel_scope.cancel()
            status = await fleet.status("long")
            assert (status.running, status.queued) == (0, 2)
            assert {session.status for session in await table.sessions()} == {"paused"}

    async def test_a_worker_that_ends_starts_no_debate(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("one", questions(1), rounds=1)
            queue, records = await fleet._open()
            worker = fleet_worker.Worker(table, queue, records, 1, {}, grace_s=60.0)
            worker._stopping = True
            run = fleet_worker._Run("s1")
            with run.scope:
                await worker._when_free(run, await records.job("one"), "tea or coffee?", {"rounds": 1})
            assert run.scope.cancelled_caught
            assert await table.sessions() == ()
        assert not (tmp_path / "calls.txt").exists()

    @pytest.mark.slow
    async def test_a_worker_keeps_only_the_accounts_of_jobs_whose_debates_it_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("roundtable.fleet.worker._BEAT_S", 0.1)

        async def until_kept(*jobs: str) -> None:
            while (worker := fleet_worker._worker) is None or worker._accounts.keys() != {*jobs}:  # noqa: ASYNC110
                await anyio.sleep(0.02)

        async with table_for(address(tmp_path), tmp_path, delay_s=3600) as table, Fleet(table) as fleet:
            await fleet.submit("long", questions(1), rounds=1)
            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    group.start_soon(fleet.work)
                    await until_kept("long")
                    await fleet.submit("other", questions(1), rounds=1)
                    await until_kept("long", "other")
                    await fleet.cancel("other")
                    await until_kept("long")
                    group.cancel_scope.cancel()

    @pytest.mark.slow
    async def test_one_process_has_one_worker(self, tmp_path: Path) -> None:
        async with (
            table_for(address(tmp_path), tmp_path, delay_s=0.2) as table,
            Fleet(table) as fleet,
            anyio.create_task_group() as group,
        ):
            await fleet.submit("long", questions(1), rounds=8)
            group.start_soon(fleet.work)
            await until_running(fleet, "long", 1)
            with pytest.raises(ConfigurationError, match="already runs a worker"):
                await fleet.work()
            group.cancel_scope.cancel()

    @pytest.mark.slow
    async def test_debates_of_a_killed_worker_are_continued_without_repeating_stored_answers(
        self, tmp_path: Path
    ) -> None:
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("long", questions(4), rounds=6)
            process = child(address(tmp_path), tmp_path, "long", 0.15)
            await until_called(tmp_path, 20)
            process.kill()
            process.wait()
            stored = stored_turns(await all_sessions(table))
            assert stored
            before = calls_of(tmp_path)
            await fleet.work(until_done="long", concurrency=4)
            status = await fleet.status("long")
            assert status.completed == 4
            # What the killed worker spent is booked too.
            assert status.usage.calls == (await fleet.results("long")).usage.calls == 48
        again = calls_of(tmp_path) - before
        assert not stored & set(again)
        assert set(calls_of(tmp_path)) == {
            f"question-{q} scripted-{a} {r}" for q in range(4) for a in ("ada", "bo") for r in range(1, 7)
        }

    @pytest.mark.slow
    async def test_a_question_that_kills_its_workers_is_parked(self, tmp_path: Path) -> None:
        async with Fleet(storage=address(tmp_path)) as fleet:
            await fleet.submit("bad", ["poison-1?", "question-2: tea?"], rounds=1)
            codes: list[int] = []
            while not (await fleet.status("bad")).is_done and len(codes) < 12:
                process = child(address(tmp_path), tmp_path, "bad", 0.0)
                codes.append(await anyio.to_thread.run_sync(process.wait))
            status = await fleet.status("bad")
            (parked,) = (await fleet.results("bad")).failures
        assert (status.completed, status.failed, status.errors) == (1, 1, {"WORKER_DIED": 1})
        assert parked.error.message == "5 workers died while they ran this debate"
        assert codes == [-signal.SIGKILL] * 5 + [0]

    @pytest.mark.slow
    @pytest.mark.parametrize(("step", "answers"), list(STEPS.items()))
    async def test_a_debate_whose_worker_dies_after_any_step_is_completed_and_charged_once(
        self, tmp_path: Path, step: str, answers: int
    ) -> None:
        budget = Budget(max_calls=100)
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("one", questions(1), rounds=ROUNDS, job_budget=budget)
            process = child(address(tmp_path), tmp_path, "-", dies_after=step)
            with ending(process), anyio.fail_after(60):
                code = await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
            assert (code, (await fleet.status("one")).running) == (-signal.SIGKILL, 1)
            assert len(stored_turns(await all_sessions(table))) == answers
            with anyio.fail_after(60):
                await fleet.work(until_done="one")
            status = await fleet.status("one")
            results = list(await fleet.results("one"))
            assert len(await table.sessions()) == 1
        assert (status.completed, status.failed, status.usage.calls) == (1, 0, 2 * ROUNDS)
        # No call ran when the worker died, so none was made again.
        assert calls_of(tmp_path) == Counter(stored_turns(results))
        assert sum(calls_of(tmp_path).values()) == 2 * ROUNDS


async def all_sessions(table: Roundtable) -> list[DebateResult]:
    return [await table.session(summary.id) for summary in await table.sessions()]


def stored_turns(results: list[DebateResult]) -> set[str]:
    return {
        f"{result.topic.partition(':')[0]} {turn.agent_id} {record.number}"
        for result in results
        for record in result.rounds
        for turn in record.turns
        if turn.outcome == "answered"
    }


@pytest.mark.anyio
class TestRates:
    @pytest.mark.slow
    async def test_workers_share_the_rates_of_providers(self, tmp_path: Path) -> None:
        """Each model has 12 calls a minute; without sharing, two workers would make 24 of each at once."""
        workers = [child(address(tmp_path), tmp_path, "-", 0.0, 12.0) for _ in range(2)]
        try:
            async with Roundtable(storage=address(tmp_path)) as table, Fleet(table) as fleet:
                _, records = await fleet._open()
                while len(await records.workers()) < 2:  # noqa: ASYNC110  (other processes change it)
                    await anyio.sleep(0.05)
                await anyio.sleep(2 * fleet_worker._BEAT_S)  # until each has looked for the other
                submitted = anyio.current_time()
                await fleet.submit("drinks", questions(24), rounds=1)
                await until_called(tmp_path, 20)
                begun = Counter(line.split()[1] for line in (tmp_path / "calls.txt").read_text().splitlines())
                refilled = 12 * (anyio.current_time() - submitted) / 60  # a slow machine takes longer
            assert len(begun) == 2
            assert all(count <= 12 + 2 + refilled for count in begun.values()), begun
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()

    @pytest.mark.slow
    async def test_the_status_of_a_job_has_its_rate_and_the_longest_running_debates(self, tmp_path: Path) -> None:
        opens = anyio.Event()

        class Held(ScriptedModel):
            async def complete(self, request: ChatRequest) -> ChatResponse:
                await opens.wait()
                return await super().complete(request)

        models = [Held(lambda _: ANSWER, model=name) for name in ("ada", "bo")]
        begun = anyio.current_time()
        async with Roundtable(models, storage=address(tmp_path)) as table, Fleet(table) as fleet:
            queued = await fleet.submit("drinks", questions(6), rounds=1)
            assert (queued.per_minute, queued.left_s, queued.longest_running) == (0.0, None, ())
            async with anyio.create_task_group() as group:
                group.start_soon(partial(fleet.work, concurrency=3))
                await until_running(fleet, "drinks", 3)
                while len(await table.sessions()) < 3:  # noqa: ASYNC110  (the worker changes it)
                    await anyio.sleep(0.02)
                running = (await fleet.status("drinks")).longest_running
                sessions = {summary.id for summary in await table.sessions()}
                assert len(running) == 3
                assert {one.session_id for one in running} <= sessions
                seconds = [one.seconds for one in running]
                assert seconds == sorted(seconds, reverse=True)
                # The queue stores the begin of a debate in whole seconds.
                assert all(0 < passed <= anyio.current_time() - begun + 1 for passed in seconds)
                opens.set()
                done = await fleet.wait("drinks")
                group.cancel_scope.cancel()
        assert (done.longest_running, done.left_s) == ((), 0.0)
        assert done.per_minute > 0

    @pytest.mark.slow
    async def test_a_worker_uses_its_share_of_the_rates_while_it_works(self, tmp_path: Path) -> None:
        async with table_for(address(tmp_path), tmp_path, 0.0, 600.0) as table, Fleet(table) as fleet:
            gateway = table._wiring.models.gateway
            await fleet.submit("drinks", questions(4), rounds=1)
            other = child(address(tmp_path), tmp_path, "-", 0.2, 600.0)
            try:
                await until_called(tmp_path, 4)
                with anyio.fail_after(120):
                    async with anyio.create_task_group() as group:
                        group.start_soon(fleet.work)
                        while gateway._parts != 2:  # noqa: ASYNC110  (another task changes it)
                            await anyio.sleep(0.02)
                        group.cancel_scope.cancel()
                assert gateway._parts == 1
            finally:
                other.kill()
                other.wait()


class TestRefusals:
    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("asked", "options", "message"),
        [
            ([], {}, "at least one question"),
            ([""], {}, "question 1: topic"),
            (["a?", 7], {}, "question 2: a question is a text or an object, not int"),
            ([{"topic": "a?", "question": "b?"}], {}, "either `question` or `topic`"),
            ([{"topic": "a?", "round": 2}], {}, "question 1: round"),
            (["a?"], {"exit_when": MaxRounds(2)}, "question 1: exit_when"),
            (["a?"], {"mode": "delphy"}, "question 1: .*delphy"),
            (["a?"], {"decide": "shulze"}, "question 1: .*shulze"),
            (["a?"], {"exit_when": "consenus(0.9)"}, "question 1: .*consenus"),
            (["a?"], {"rounds": 99}, "question 1: .*rounds"),
            (["a?", {"topic": "b?", "agents": ["antropic:x"]}], {}, "question 2: .*antropic.*mean 'anthropic'"),
            (["a?"], {"agents": ["openai", "opnai"]}, "question 1: .*opnai"),
        ],
    )
    async def test_a_wrong_job_is_refused_before_anything_is_queued(
        self, tmp_path: Path, asked: list[object], options: dict[str, object], message: str
    ) -> None:
        async with Fleet(storage=address(tmp_path)) as fleet:
            with pytest.raises(ConfigurationError, match=message):
                await fleet.submit("wrong", asked, **options)  # type: ignore[arg-type]
            assert await fleet.jobs() == ()

    @pytest.mark.anyio
    @pytest.mark.parametrize("name", ["", "a b", "a/b", "a.b", "é", "x" * 101, 7])
    async def test_invalid_names_of_fleets_and_jobs_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigurationError, match="is not a valid name"):
            Fleet(storage=address(tmp_path), name=name)
        async with Fleet(storage=address(tmp_path)) as fleet:
            with pytest.raises(ConfigurationError, match="is not a valid name"):
                await fleet.submit(name, ["a?"])

    @pytest.mark.anyio
    async def test_wrong_numbers_and_unknown_jobs_are_refused(self, tmp_path: Path) -> None:
        async with Fleet(storage=address(tmp_path)) as fleet:
            for priority in (0, 1_000_001, True, 1.5):
                with pytest.raises(ConfigurationError, match="priority"):
                    await fleet.submit("a", ["a?"], priority=priority)  # type: ignore[arg-type]
            for concurrency in (0, 1001, True, "8"):
                with pytest.raises(ConfigurationError, match="concurrency"):
                    await fleet.work(concurrency=concurrency)  # type: ignore[arg-type]
            for act in (fleet.status, fleet.cancel, fleet.retry, fleet.results, fleet.wait):
                with pytest.raises(
                    ConfigurationError, match=r"unknown job 'x': the fleet 'default' has no job in '/.*'"
                ):
                    await act("x")
            await fleet.submit("a", ["a?"])
            with pytest.raises(ConfigurationError, match="unknown job 'x'; known jobs: a"):
                await fleet.status("x")

    @pytest.mark.anyio
    async def test_reading_creates_no_files(self, tmp_path: Path) -> None:
        async with Fleet(storage=address(tmp_path)) as fleet:
            assert (await fleet.jobs(), await fleet.workers()) == ((), 0)
            for act in (fleet.status, fleet.cancel, fleet.retry, fleet.results, fleet.wait):
                with pytest.raises(ConfigurationError, match="has no job in"):
                    await act("x")
            with pytest.raises(ConfigurationError, match="has no job in"):
                await fleet.work(until_done="x")
            assert files_of(tmp_path) == []
        async with Roundtable(storage=address(tmp_path)) as table, Fleet(table) as fleet:
            await table.sessions()
            assert await fleet.jobs() == ()
            assert not (tmp_path / "debates.fleet.db").exists()

    @pytest.mark.anyio
    async def test_a_fleet_in_memory_is_refused(self) -> None:
        async with Fleet(storage="memory://") as fleet:
            with pytest.raises(ConfigurationError, match="cannot store its queue with MemoryStorage"):
                await fleet.submit("a", ["a?"])
        with pytest.raises(ConfigurationError, match="either a table or a storage"):
            Fleet(Roundtable(storage="memory://"), storage="memory://")

    def test_a_worker_needs_asyncio(self, tmp_path: Path) -> None:
        async def submit_and_work() -> None:
            async with Fleet(storage=address(tmp_path)) as fleet:
                assert (await fleet.submit("a", ["a?"])).queued == 1
                with pytest.raises(ConfigurationError, match="needs asyncio"):
                    await fleet.work()

        anyio.run(submit_and_work, backend="trio")

    def test_a_file_with_bad_lines_is_refused_with_their_numbers(self, tmp_path: Path) -> None:
        file = tmp_path / "questions.jsonl"
        file.write_text('"Tea?"\n\n{"topic": "Coffee?", "rounds": 2}\n')
        assert [(request.topic, request.rounds) for request in read_jsonl(file)] == [("Tea?", 3), ("Coffee?", 2)]
        # A byte order mark, and characters in a text at which Python also splits lines.
        file.write_text('"Tea\u2028or\x85coffee?"\n', "utf-8-sig")
        assert [request.topic for request in read_jsonl(file)] == ["Tea\u2028or\x85coffee?"]
        file.write_text('{"topic": "Tea?", "topic": "Water?"}\n')
        with pytest.raises(
            ConfigurationError, match="line 1: the name 'topic' occurs twice in one object; nothing was submitted"
        ):
            read_jsonl(file)
        file.write_text('"Tea?"\n{"topic": \n{"topic": "Water?", "colour": 1}\n')
        with pytest.raises(ConfigurationError, match=r"line 2: .* \(and 1 more\); nothing was submitted") as caught:
            read_jsonl(file)
        errors = caught.value.details["errors"]
        assert isinstance(errors, list)
        assert [str(error)[:6] for error in errors] == ["line 2", "line 3"]
        with pytest.raises(ConfigurationError, match="cannot be read as text"):
            read_jsonl(tmp_path / "missing.jsonl")
        file.write_bytes(b"\xff\xfe")
        with pytest.raises(ConfigurationError, match="cannot be read as text"):
            read_jsonl(file)


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_log_of_the_queue_is_quiet(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO):
        async with table_for(address(tmp_path), tmp_path) as table, Fleet(table) as fleet:
            await fleet.submit("drinks", questions(1), rounds=1)
            await fleet.work(until_done="drinks")
    assert [record for record in caplog.records if record.name.startswith("dbos")] == []
    assert capfd.readouterr().err == ""


@pytest.mark.anyio
async def test_two_fleets_with_the_same_name_submit_the_same_job_once_and_refuse_a_different_one(
    tmp_path: Path,
) -> None:
    async with Fleet(storage=address(tmp_path)) as one, Fleet(storage=address(tmp_path)) as other:
        refused: list[ConfigurationError] = []

        async def submit(fleet: Fleet, topics: list[str]) -> None:
            try:
                await fleet.submit("nightly", topics)
            except ConfigurationError as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(submit, one, questions(2))
            group.start_soon(submit, other, questions(3))
        (error,) = refused
        assert "with other questions or options" in error.message
        assert error.hint
        status = await one.status("nightly")
        assert status == await other.status("nightly")
        assert (status.debates, status.queued) in {(2, 2), (3, 3)}


class TestTraces:
    @pytest.mark.anyio
    @pytest.mark.slow
    async def test_all_debates_of_a_job_are_one_trace(self, tmp_path: Path) -> None:
        spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        agents = [ScriptedModel(lambda _: ANSWER, model=name) for name in ("ada", "bo")]
        observer = OpenTelemetryObserver(provider.get_tracer("test"))
        threads = ObserverThread("otel", observer)  # as an observer with a name has
        async with (
            Roundtable(agents, storage=address(tmp_path), observers=[threads]) as table,
            Fleet(table) as fleet,
        ):
            await fleet.submit("first", questions(3), rounds=1)
            await fleet.submit("second", questions(2), rounds=1)
            await fleet.work(until_done="first")
            await fleet.work(until_done="second")
        threads.close(timeout_s=20)
        debates = [span for span in spans.get_finished_spans() if span.name == "debate"]
        assert sorted(Counter(span.context.trace_id for span in debates).values()) == [2, 3]
        turns = [span for span in spans.get_finished_spans() if span.name.startswith("invoke_agent")]
        assert {span.context.trace_id for span in turns} == {span.context.trace_id for span in debates}
        assert len(turns) == 10

    def test_a_job_that_a_tracing_program_submits_belongs_to_its_current_span(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
        job = Job(
            fleet="default", name="nightly", debates=2, digest="", nonce="ab" * 16, submitted_at=datetime.now(UTC)
        )
        with provider.get_tracer("program").start_as_current_span("evaluation"):
            traced = job_traced(job)
        with within_trace(traced):
            provider.get_tracer("worker").start_span("debate").end()
        held = {span.name: span for span in spans.get_finished_spans()}
        assert len({span.context.trace_id for span in held.values()}) == 1
        parents = {name: span.parent and span.parent.span_id for name, span in held.items()}
        ids = {name: span.context.span_id for name, span in held.items()}
        assert parents == {"evaluation": None, "fleet job": ids["evaluation"], "debate": ids["fleet job"]}
        assert dict(held["fleet job"].attributes or {})["roundtable.job"] == "nightly"

    def test_a_job_of_a_program_without_tracing_gets_its_own_trace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "opentelemetry.trace")
        job = Job(
            fleet="default", name="nightly", debates=2, digest="", nonce="ab" * 16, submitted_at=datetime.now(UTC)
        )
        traced = job_traced(job)
        assert traced.trace is not None
        assert traced.trace.startswith(f"00-{'ab' * 16}-")
        with within_trace(traced):
            assert "opentelemetry.trace" not in sys.modules

    @pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
    def test_samplers_of_workers_decide_whether_the_trace_of_a_job_is_recorded(
        self, rate: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorded: list[bool] = []
        jobs = [
            Job(fleet="default", name="n", debates=1, digest="", nonce=f"{number:02x}" * 16, submitted_at=NOW)
            for number in range(1, 255, 9)
        ]
        traced: list[Job] = []
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, "opentelemetry.trace")
            traced = [job_traced(job) for job in jobs]
        own_root = TraceIdRatioBased(rate)
        for job in traced:
            spans = InMemorySpanExporter()
            provider = TracerProvider(sampler=ParentBased(own_root))
            provider.add_span_processor(SimpleSpanProcessor(spans))
            observer = OpenTelemetryObserver(provider.get_tracer("own"))
            begun = DebateStart(session_id="s", timestamp=NOW, topic="Tea?", mode="m", agents=(), rounds=1)
            with within_trace(job):
                observer.notify(begun)
            observer.close()
            with monkeypatch.context() as patch:
                patch.setattr(trace, "get_tracer", provider.get_tracer)
                with within_trace(job):
                    provider.get_tracer("worker").start_span("call").end()
            names = [span.name for span in spans.get_finished_spans()]
            assert names in ([], ["debate", "call"])
            assert {span.context.trace_id for span in spans.get_finished_spans()} <= {int(job.nonce, 16)}
            recorded.append(bool(names))
        expected = [own_root.should_sample(None, int(job.nonce, 16), "x").decision.is_sampled() for job in jobs]
        assert recorded == expected
        assert set(recorded) == ({True, False} if rate == 0.5 else {bool(rate)})

    def test_a_trace_that_a_program_does_not_record_is_not_recorded_by_workers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trace, "get_tracer", TracerProvider(sampler=ParentBased(ALWAYS_OFF)).get_tracer)
        job = job_traced(Job(fleet="default", name="n", debates=1, digest="", nonce="ab" * 16, submitted_at=NOW))
        spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
        with within_trace(job):
            provider.get_tracer("worker").start_span("debate").end()
        assert spans.get_finished_spans() == ()


@pytest.mark.parametrize(
    ("durations", "seconds"),
    [
        ([], 0.2),
        ([0.01] * 7, 0.2),  # too few to tell
        ([0.01] * 8, 0.04),
        ([0.2, 0.4] * 4, 0.15),
        ([1.0] * 8, 0.2),
        ([60.0] * 20, 0.2),
    ],
)
def test_a_worker_looks_for_short_debates_more_often(durations: list[float], seconds: float) -> None:
    assert polling_interval(durations, concurrency=8) == pytest.approx(seconds)
