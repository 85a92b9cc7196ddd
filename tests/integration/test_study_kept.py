"""Studies under a name survive whatever ends their process, and refuse to become another study."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from integration.study_child import AGENTS, MODES, questions, table_for

import roundtable
from roundtable import Budget, Roundtable, sync
from roundtable.bench import Question, StudyReport, read_questions, run_study
from roundtable.errors import ConfigurationError
from roundtable.exits import ConsensusReached
from roundtable.results.many import Progress
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import SessionFilter

CHILD = Path(__file__).with_name("study_child.py")
ENVIRONMENT = {"PYTHONPATH": str(CHILD.parents[1]), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
PATIENCE_S = 60


def calls_of(folder: Path) -> Counter[str]:
    file = folder / "calls.txt"
    return Counter(file.read_text().splitlines()) if file.exists() else Counter()


def until_called(folder: Path, number: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while calls_of(folder).total() < number:
        assert time.monotonic() < end
        time.sleep(0.02)


def stored_turns(storage: str) -> set[str]:
    with sync.Roundtable(storage=storage) as table:
        held = [table.session(summary.id) for summary in table.sessions(SessionFilter(limit=1000))]
    return {
        f"{result.session_id} {turn.agent_id} {turn.round} {turn.slot}"
        for result in held
        for record in result.rounds
        for turn in record.turns
        if turn.outcome == "answered"
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> StudyReport:
    folder = tmp_path_factory.mktemp("undisturbed")
    with table_for("memory://", folder, 0.0) as table:
        return sync.run_study(table, questions(6), modes=MODES, resamples=200)


def same_answers(one: StudyReport, other: StudyReport) -> bool:
    def told(report: StudyReport) -> list[Any]:
        return [answer.model_dump(exclude={"session_id"}) for answer in report.answers]

    return told(one) == told(other) and one.arms == other.arms and one.pairs == other.pairs


@pytest.mark.slow
def test_a_killed_study_is_finished_by_the_same_call(tmp_path: Path, undisturbed: StudyReport) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    words = [sys.executable, str(CHILD), storage, str(tmp_path), "0.05"]
    first = subprocess.Popen(words, env=ENVIRONMENT)
    until_called(tmp_path, 40)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = stored_turns(storage)
    subprocess.run([*words[:-1], "0"], env=ENVIRONMENT, check=True, timeout=PATIENCE_S)
    report = StudyReport.model_validate_json((tmp_path / "report.json").read_text())
    assert same_answers(report, undisturbed)
    again = {turn: count for turn, count in calls_of(tmp_path).items() if count > 1}
    assert 20 <= len(before) <= 60
    assert not before & again.keys()
    assert len(again) <= 4 * len(MODES) * len(AGENTS)  # calls that were running when it was killed
    assert set(again.values()) <= {2}


def test_every_answer_names_its_source(undisturbed: StudyReport) -> None:
    first = undisturbed.answers[0]
    assert (first.question, first.gold, first.category) == ("Item 0: yes or no?", "yes", "odd")
    assert first.models == tuple(f"scripted:{name}" for name in AGENTS)
    assert first.library_version == roundtable.__version__
    assert first.prompt_version
    modes = {answer.arm: answer.mode.partition(":")[0] for answer in undisturbed.answers}
    assert modes["single"] == "independent-vote"
    assert modes["self-consistency as delphi"] == "self-consistency"
    assert {mode: modes[mode] for mode in MODES} == {mode: mode for mode in MODES}
    assert len({answer.session_id for answer in undisturbed.answers}) == 6 * (len(MODES) + 2)
    row = undisturbed.to_records()[0]
    assert (row["question"], row["gold"], row["category"], row["models"]) == (
        *("Item 0: yes or no?", "yes", "odd"),
        "; ".join(first.models),
    )
    assert [*undisturbed.to_frame().columns] == [*row]
    assert repr(undisturbed) == "StudyReport(arms=10, questions=6, failed=0)"


@pytest.mark.slow
def test_progress_counts_the_debates_of_all_arms(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with table_for("memory://", tmp_path, 0.0) as table:
        report = sync.run_study(table, questions(3), modes=MODES[:1], on_progress=seen.append, resamples=200)
        assert [(one.ended, one.total) for one in seen] == [(ended, 9) for ended in range(1, 10)]
        assert seen[-1].usage.calls == calls_of(tmp_path).total()
        assert report.arm("collaborative").questions == 3
        again: list[Progress] = []
        for _ in range(2):
            again.clear()
            sync.run_study(table, questions(2), modes=MODES[:1], study="again", on_progress=again.append, resamples=200)
        assert [one.ended for one in again] == [1, 2, 3, 4, 5, 6]


@pytest.mark.anyio
async def test_a_larger_budget_continues_a_study(tmp_path: Path) -> None:
    agents = scripted_agents(dict.fromkeys(AGENTS, "yes"))
    async with Roundtable(agents, storage=f"sqlite:///{tmp_path}/study.db", analyzer="declared") as table:
        with pytest.raises(roundtable.RoundtableError, match="every question failed"):
            await run_study(table, questions(2), study="s", resamples=200, budget=Budget(max_calls=4))
        report = await run_study(table, questions(2), study="s", resamples=200, budget=Budget(max_calls=40))
        assert report.arm("collaborative").usage.calls == 12
        assert len(await table.sessions()) == 6


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"questions": questions(3)}, r"questions\.2 is new"),
    ({"questions": questions(1)}, r"questions\.1 is missing"),
    (
        {"questions": [*questions(1), Question(id="1", question="Other: yes or no?", gold="yes")]},
        r"questions\.1 has changed",
    ),
    ({"rounds": 3}, r"modes\.collaborative\.rounds was 2 and is left out"),
    ({"modes": ("delphi",)}, r"modes\.collaborative was .* and is left out; modes\.delphi was left out"),
    ({"decide": "majority"}, "decide"),
    ({"normalise": "exact"}, 'normalise was "casefold" and is "exact"'),
    ({"extract": str.upper}, "extract was null"),
    ({"exit_when": ConsensusReached("0.9")}, "exit"),
]


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(("change", "message"), CHANGES)
async def test_another_study_under_the_same_name_is_refused_with_the_difference(
    change: dict[str, Any], message: str
) -> None:
    agents = scripted_agents(dict.fromkeys(AGENTS, "yes"))
    async with Roundtable(agents, storage="memory://", analyzer="declared") as table:
        asked: dict[str, Any] = {"questions": questions(2), "rounds": 2, "resamples": 200, "study": "s"}
        await run_study(table, **asked)
        sessions = len(await table.sessions())
        with pytest.raises(ConfigurationError, match=message) as refused:
            await run_study(table, **(asked | change))
        assert refused.value.details is not None
        assert refused.value.details["differences"]
        assert len(await table.sessions()) == sessions
        await run_study(table, **(asked | {"concurrency": 1, "resamples": 300, "seed": 4}))
        await table.for_tenant("acme").debate("?", rounds=1)
        await run_study(table.for_tenant("acme"), **(asked | change | {"normalise": "casefold"}))


@pytest.mark.anyio
async def test_other_agents_make_another_study() -> None:
    table = Roundtable(scripted_agents({"ada": "yes", "bo": "no"}), storage="memory://", analyzer="declared")
    await run_study(table, questions(1), study="s", resamples=200)
    with pytest.raises(ConfigurationError, match=r"agents was .*\\\"ada\\\"|agents was \[\{\"id\": \"ada\""):
        await run_study(table, questions(1), study="s", resamples=200, agents=scripted_agents({"cy": "yes"}))


@pytest.mark.anyio
async def test_studies_that_cannot_be_kept_are_refused() -> None:
    table = Roundtable(scripted_agents({"ada": "yes"}), storage="memory://", analyzer="declared")
    with pytest.raises(ConfigurationError, match="is not a valid name"):
        await run_study(table, questions(1), study="two words")
    with pytest.raises(ConfigurationError, match="on= needs study="):
        await run_study(table, questions(1), on=object())  # type: ignore[arg-type]


def test_a_category_is_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "questions.csv"
    file.write_text("question,gold,Subject\n2 + 2?,4,sums\n", "utf-8")
    assert read_questions(file)[0].category == "sums"


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_fleet_gives_the_same_report(tmp_path: Path, undisturbed: StudyReport) -> None:
    pytest.importorskip("dbos")
    from roundtable.fleet import Fleet

    seen: list[Progress] = []
    blocking = table_for(f"sqlite:///{tmp_path}/study.db", tmp_path, 0.0)
    async with blocking._table as table, Fleet(table) as fleet:
        asked: dict[str, Any] = {"modes": MODES, "study": "s", "on": fleet, "resamples": 200}
        report = await run_study(table, questions(6), on_progress=seen.append, **asked)
        assert same_answers(report, undisturbed)
        assert (seen[-1].ended, seen[-1].total) == (30, 30)
        calls = calls_of(tmp_path)
        assert set(calls.values()) == {1}
        again = await run_study(table, questions(6), **asked)
        here = await run_study(table, questions(6), modes=MODES, study="s", resamples=200)
        assert again == here == report
        assert calls_of(tmp_path) == calls


CELL = """
import json
from pathlib import Path
from integration.study_child import MODES, questions, table_for
from roundtable import sync
from roundtable.bench import print_progress

folder = Path({folder!r})
with table_for({storage!r}, folder, {delay}) as table:
    report = sync.run_study(
        table, questions(60), modes=MODES, study="sixty", on_progress=print_progress, concurrency=16, resamples=200
    )
print(report.arm("delphi").questions)
"""


@pytest.mark.slow
def test_a_notebook_cell_finishes_after_an_interrupt_and_a_killed_kernel(tmp_path: Path) -> None:
    """60 questions in three modes: 60 * (3 + 2) sessions; interrupted at a third, killed at two thirds."""
    from jupyter_client import KernelManager

    storage = f"sqlite:///{tmp_path}/study.db"
    environment = {**os.environ, "PYTHONPATH": str(CHILD.parents[1])}
    before: set[str] = set()
    for stop_at, how in ((700, "interrupt"), (1400, "kill"), (None, "")):
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env=environment, cwd=str(tmp_path))
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE_S)
        client.execute(CELL.format(folder=str(tmp_path), storage=storage, delay=0.02 if stop_at else 0.0))
        if stop_at is None:
            outputs = _outputs(client)
            assert any(output == "60\n" for output in outputs), outputs
            assert any("of 300 debates" in output for output in outputs)
        else:
            until_called(tmp_path, stop_at)
            if how == "interrupt":
                manager.interrupt_kernel()
                assert any("KeyboardInterrupt" in output for output in _outputs(client))
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        now = stored_turns(storage)
        assert before <= now
        before = now if stop_at is not None else before
        asked = calls_of(tmp_path)
        if how == "kill":
            stored_at_kill = now
            asked_at_kill = asked
    assert len(before) > 1000
    assert len(stored_turns(storage)) == len(asked)
    assert not [turn for turn in stored_at_kill if asked[turn] != asked_at_kill[turn]]
    assert sum(count > 1 for count in asked.values()) <= 2 * 16 * len(MODES) * len(AGENTS)


def _outputs(client: Any) -> list[str]:
    """Return what a cell printed or raised, when it has ended."""
    outputs: list[str] = []
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE_S)
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            outputs.append(content["text"])
        elif kind == "error":
            outputs.append(json.dumps(content["traceback"]))
        elif kind == "status" and content["execution_state"] == "idle" and outputs:
            return outputs


async def test_a_storage_that_cannot_store_a_study_is_refused_with_both_alternatives() -> None:
    class Bare(MemoryStorage):
        kv = None  # type: ignore[assignment]

    async with Roundtable(scripted_agents({"ada": "1", "bo": "1"}), storage=Bare()) as table:
        with pytest.raises(ConfigurationError, match="cannot keep a study") as caught:
            await run_study(table, questions(1), study="kept")
    assert caught.value.hint == "Use sqlite:///... or postgresql://..., or leave out study=."
