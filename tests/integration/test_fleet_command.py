"""The commands of `fleet`, as processes: queue, hold, watch, cancel and retry a job, and get its answers."""

from __future__ import annotations

import csv
import json
import shlex
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from integration.test_fleet import ENVIRONMENT

from roundtable.cli.fleet import _lines
from roundtable.fleet import JobStatus

pytest.importorskip("dbos")

SUBMIT = "submit", "drinks.jsonl", "--rounds", "1", "--agents", "scripted:ada.json,scripted:bo.json"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_whole(folder, "fleet", *words, "--db", "debates.db")


def run_suggested(folder: Path, output: str) -> subprocess.CompletedProcess[str]:
    """Run the command that the last line of an output suggests."""
    return run_whole(folder, *shlex.split(output.splitlines()[-1].partition(": roundtable ")[2]))


def run_whole(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "roundtable", *words],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def begin(folder: Path, count: int) -> None:
    script = {"*": {"position": "Tea", "reasoning": "It keeps."}}
    for name in ("ada", "bo"):
        (folder / f"{name}.json").write_text(json.dumps(script))
    (folder / "drinks.jsonl").write_text("".join(f'"question-{n}: tea?"\n' for n in range(count)))


def test_the_status_names_the_agents_that_workers_need() -> None:
    status = JobStatus(
        job="ours", debates=3, queued=3, set_aside=2, agents=("openai:a", "google:b"), submitted_at=datetime.now(UTC)
    )
    texts = [shown.text for shown in _lines(status)]
    assert texts[0] == "ours: 3 queued (of 3)"
    assert "2 debates can run only in workers with the agents of the job: openai:a, google:b; other" in texts[1]


@pytest.mark.slow
def test_one_command_runs_a_job(tmp_path: Path) -> None:
    begin(tmp_path, 5)
    seats = "scripted:ada.json,scripted:bo.json"
    done = run(tmp_path, "submit", "drinks.jsonl", "--rounds", "1", "--agents", seats)
    assert (done.returncode, "drinks: 5 completed (of 5)" in done.stdout) == (0, True), done
    rows = json.loads(run(tmp_path, "results", "drinks", "--json").stdout)
    assert [(row["topic"], row["answer"]) for row in rows] == [(f"question-{n}: tea?", "Tea") for n in range(5)]
    (state,) = json.loads(run(tmp_path, "status", "--json").stdout)
    assert (state["job"], state["completed"], state["usage"]["calls"]) == ("drinks", 5, 10)
    watched = run(tmp_path, "status", "drinks", "--watch", "0.5")
    assert (watched.returncode, watched.stdout.count("drinks: 5 completed")) == (0, 1), watched
    assert run(tmp_path, "status", "--watch", "0").returncode == 2
    again = run(tmp_path, "submit", "drinks.jsonl", "--rounds", "2", "--agents", seats)
    assert (again.returncode, "Choose another name" in again.stderr) == (2, True), again
    refused = run(tmp_path, "status", "other")
    assert (refused.returncode, "known jobs: drinks" in refused.stderr) == (2, True), refused


@pytest.mark.parametrize(
    "count", [pytest.param(200, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.deep)]
)
def test_ctrl_c_interrupts_a_job_and_the_same_command_continues_it(tmp_path: Path, count: int) -> None:
    begin(tmp_path, count)
    limits = "--concurrency", "4", "--provider-concurrency", "scripted=3"
    words = ["submit", "drinks.jsonl", "--rounds", "2", "--agents", "scripted:ada.json,scripted:bo.json", *limits]
    whole = [sys.executable, "-m", "roundtable", "fleet", *words, "--db", "debates.db"]
    with subprocess.Popen(whole, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if f"of {count:,} debates" in line and not line.startswith("0 "):
                break
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == 130
    continuing = "fleet work --until-done drinks --concurrency 4 --provider-concurrency scripted=3 --db debates.db"
    assert f"Continue with: roundtable {continuing}" in told
    (state,) = json.loads(run(tmp_path, "status", "--json").stdout)
    assert state["running"] == 0
    assert 0 < state["completed"] < count
    done = run(tmp_path, *words)
    assert (done.returncode, f"drinks: {count:,} completed (of {count:,})" in done.stdout) == (0, True), done


@pytest.mark.slow
def test_a_worker_that_gets_sigterm_lets_running_calls_finish(tmp_path: Path) -> None:
    begin(tmp_path, 2)
    answer = json.dumps({"position": "Tea", "reasoning": "It keeps."})
    # Each call leaves a file, and answers when a file says so.
    program = tmp_path / "slow"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, time, uuid\n"
        "folder = pathlib.Path(__file__).parent\n"
        "(folder / f'{uuid.uuid4()}.call').touch()\n"
        "while not (folder / 'answer').exists(): time.sleep(0.05)\n"
        f"print({answer!r})\n"
    )
    program.chmod(0o755)
    agents = f"command:{program},scripted:bo.json"
    queued = run(tmp_path, "submit", "drinks.jsonl", "--rounds", "1", "--agents", agents, "--no-work")
    assert queued.returncode == 0, queued
    work = [sys.executable, "-m", "roundtable", "fleet", "work", "--grace", "60", "--db", "debates.db"]
    with subprocess.Popen(work, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while len(list(tmp_path.glob("*.call"))) < 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        shown = []
        for line in process.stderr:
            shown.append(line)
            if line.startswith("Interrupted: running calls have 60 s to finish."):
                break
        (tmp_path / "answer").touch()
        told = process.stderr.read()
    assert (process.returncode, "fleet work --grace 60 --db debates.db" in told) == (143, True), (queued, shown, told)
    done = run(tmp_path, "work", "--until-done", "drinks")
    assert (done.returncode, "drinks: 2 completed (of 2)" in done.stdout) == (0, True), done
    assert len(list(tmp_path.glob("*.call"))) == 2


@pytest.mark.slow
def test_a_fleet_in_memory_is_refused(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "roundtable", "fleet", "status", "--storage", "memory://"]
    done = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, "a fleet cannot work in memory" in done.stderr) == (2, True)


@pytest.mark.slow
def test_cancelled_debates_continue_after_a_retry(tmp_path: Path) -> None:
    begin(tmp_path, 3)
    assert run(tmp_path, *SUBMIT, "--no-work").returncode == 0
    cancelled = run(tmp_path, "cancel", "drinks")
    assert (cancelled.returncode, cancelled.stdout) == (0, "drinks: 3 cancelled (of 3)\n"), cancelled
    assert run(tmp_path, "work", "--until-done", "drinks").stdout == "drinks: 3 cancelled (of 3)\n"
    retried = run(tmp_path, "retry", "drinks")
    assert (retried.returncode, retried.stdout) == (0, "drinks: 3 queued (of 3)\n"), retried
    done = run_suggested(tmp_path, retried.stderr)
    assert (done.returncode, "drinks: 3 completed (of 3)" in done.stdout) == (0, True), done
    nothing = run(tmp_path, "retry", "drinks")
    assert (nothing.returncode, "Nothing to retry" in nothing.stderr) == (0, True), nothing
    (state,) = json.loads(run(tmp_path, "cancel", "drinks", "--json").stdout)
    assert (state["completed"], state["cancelled"], state["usage"]["calls"]) == (3, 0, 6)


@pytest.mark.slow
def test_debates_skipped_for_the_budget_are_run_after_a_retry_with_a_larger_one(tmp_path: Path) -> None:
    begin(tmp_path, 2)
    failed = run(tmp_path, *SUBMIT, "--job-budget", "calls=1")
    assert (failed.returncode, "failed by BUDGET_EXCEEDED: 2" in failed.stdout) == (1, True), failed
    assert "roundtable fleet results drinks --db debates.db" in failed.stderr
    assert "roundtable fleet retry drinks --db debates.db" in failed.stderr
    answers = run(tmp_path, "results", "drinks").stdout
    assert answers.count("-> failed: the budget of the job is used up") == 2, answers
    refused = run(tmp_path, "retry", "drinks", "--job-budget", "seconds=5")
    assert (refused.returncode, "limits calls, tokens and dollars" in refused.stderr) == (2, True), refused
    retried = run(tmp_path, "retry", "drinks", "--job-budget", "calls=100", "--json")
    (state,) = json.loads(retried.stdout)
    assert (state["queued"], state["budget"]["maxCalls"], retried.stderr) == (2, 100, ""), retried
    done = run(tmp_path, "work", "--until-done", "drinks")
    assert (done.returncode, "drinks: 2 completed (of 2)" in done.stdout) == (0, True), done


@pytest.mark.slow
def test_answers_are_written_to_a_file_completely_or_not_at_all(tmp_path: Path) -> None:
    begin(tmp_path, 2)
    assert run(tmp_path, *SUBMIT, "--no-work").returncode == 0
    assert run(tmp_path, "results", "drinks").stdout == "No debate has ended yet.\n"
    assert run(tmp_path, "work", "--until-done", "drinks").returncode == 0
    file = tmp_path / "answers.jsonl"
    file.write_text("old")
    written = run(tmp_path, "results", "drinks", "--output", "answers.jsonl")
    assert (written.returncode, "2 results are in answers.jsonl." in written.stderr) == (0, True), written
    assert written.stdout == ""
    as_json = run(tmp_path, "results", "drinks", "--output", "answers.jsonl", "--json")
    assert json.loads(as_json.stdout) == {"file": "answers.jsonl", "results": 2}
    rows = json.loads(run(tmp_path, "results", "drinks", "--json").stdout)
    assert [json.loads(text) for text in file.read_text().splitlines()] == rows
    assert [row["topic"] for row in rows] == ["question-0: tea?", "question-1: tea?"]
    assert run(tmp_path, "results", "drinks", "-o", "answers.json").returncode == 0
    assert json.loads((tmp_path / "answers.json").read_text()) == rows
    assert run(tmp_path, "results", "drinks", "-o", "answers.CSV").returncode == 0
    with (tmp_path / "answers.CSV").open(newline="", encoding="utf-8-sig") as table:
        assert [(row["topic"], row["answer"]) for row in csv.DictReader(table)] == [
            ("question-0: tea?", "Tea"),
            ("question-1: tea?", "Tea"),
        ]
    before = sorted(tmp_path.iterdir())
    refused = run(tmp_path, "results", "drinks", "-o", "answers.xlsx")
    message = "--output: results cannot be written as '.xlsx': 'answers.xlsx'"
    assert (refused.returncode, message in refused.stderr) == (2, True), refused
    assert "ends in .jsonl, .json or .csv" in refused.stderr
    for name, reason in (("missing/answers.jsonl", "No such file or directory"), (".", "Is a directory")):
        refused = run(tmp_path, "results", "drinks", "-o", name)
        assert (refused.returncode, f"'{name}' cannot be written: {reason}" in refused.stderr) == (7, True), refused
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_unknown_jobs_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    begin(tmp_path, 1)
    assert run(tmp_path, *SUBMIT, "--no-work").returncode == 0
    output = "--output", "answers.jsonl"
    for words in (["cancel", "other"], ["retry", "other"], ["results", "other", *output]):
        refused = run(tmp_path, *words)
        assert (refused.returncode, "unknown job 'other'; known jobs: drinks" in refused.stderr) == (2, True), refused
    assert not (tmp_path / "answers.jsonl").exists()
    (state,) = json.loads(run(tmp_path, "status", "--json").stdout)
    assert state["queued"] == 1


@pytest.mark.slow
def test_a_suggested_command_names_the_fleet(tmp_path: Path) -> None:
    begin(tmp_path, 1)
    named = "--fleet", "nightly"
    submitted = run(tmp_path, *SUBMIT, "--no-work", *named)
    assert "roundtable fleet work --fleet nightly --db debates.db" in submitted.stderr
    assert "has no job in" in run(tmp_path, "cancel", "drinks").stderr
    assert run(tmp_path, "cancel", "drinks", *named).stdout == "drinks: 1 cancelled (of 1)\n"
    done = run_suggested(tmp_path, run(tmp_path, "retry", "drinks", *named).stderr)
    assert (done.returncode, "drinks: 1 completed (of 1)" in done.stdout) == (0, True), done
    assert run(tmp_path, "results", "drinks", *named).stdout == "question-0: tea? -> Tea\n"


@pytest.mark.slow
def test_a_suggested_command_has_the_limits_of_the_original_command(tmp_path: Path) -> None:
    begin(tmp_path, 1)
    limits = "--concurrency", "3", "--provider-concurrency", "scripted=2", "--provider-concurrency", "openai=4"
    submitted = run(tmp_path, *SUBMIT, "--no-work", *limits)
    assert submitted.stderr == f"Start workers with: roundtable fleet work {' '.join(limits)} --db debates.db\n"
    default = run(tmp_path, *SUBMIT, "--no-work", "--concurrency", "8")
    assert default.stderr == "Start workers with: roundtable fleet work --db debates.db\n"
