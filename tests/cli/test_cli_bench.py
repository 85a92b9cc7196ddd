"""`roundtable bench`: experiments, comparisons and studies from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cli.kit import ROOT, Command, always, as_process, said, script

QUICK = str(ROOT / "examples" / "experiments" / "quick.yaml")
AGENTS = {"ada": "Yes", "bo": "I agree with Ada: yes"}


def test_the_quick_experiment_runs_on_scripted_models_and_writes_its_folder(command: Command) -> None:
    done = command("bench", "run", QUICK, "--agents", always(Path.cwd(), AGENTS))
    assert done.code == 0, done.both
    assert "1 of 1 debate completed." in done.out
    (metadata,) = Path("results").rglob("metadata.json")
    assert metadata.parts[2:4] == ("quick", "collaborative")
    assert json.loads(metadata.read_text("utf-8"))["success"]
    assert not [*Path.cwd().rglob("*.db")]


@pytest.mark.slow
def test_the_quick_experiment_runs_in_its_own_process(tmp_path: Path) -> None:
    agents = always(tmp_path, AGENTS)
    done = as_process(tmp_path, ["bench", "run", QUICK, "--agents", agents, "--json", "-o", "out"])
    assert done.code == 0, done.both
    (one,) = json.loads(done.out)
    assert (one["success"], one["metrics"]["usage"]["calls"]) == (True, 2)
    assert (tmp_path / one["folder"] / "rounds" / "round-1.json").is_file()


def plan(folder: Path, agents: str = "default") -> str:
    file = folder / "plan.toml"
    text = 'name = "drinks"\ndescription = "Two by two."\n[variables]\nmodes = ["delphi", "council"]\nrounds = [1, 2]\n'
    file.write_text(f'{text}topics = ["Tea?"]\nagents = {json.dumps(agents.split(","))}\n', "utf-8")
    return str(file)


def test_the_matrix_is_listed_and_narrowed_without_a_call(command: Command) -> None:
    file = plan(Path.cwd())
    assert "drinks: 4 debates. Two by two." in command("bench", "matrix", file).out
    shown = command("bench", "run", file, "--dry-run", "--filter-mode", "delphi", "--filter-rounds", "2").out
    assert "delphi, 2 rounds: Tea?" in shown
    assert "council" not in shown
    found = command("bench", "matrix", file, "--filter-mode", "council", "--json").json
    assert [one["rounds"] for one in found] == [1, 2]  # type: ignore[attr-defined]
    assert command("bench", "matrix", file, "--filter-mode", "duel").code == 2
    assert not Path("results").exists()


def test_the_agents_of_the_file_debate_unless_the_command_line_names_others(command: Command) -> None:
    file = plan(Path.cwd(), always(Path.cwd(), {"ada": "Tea", "bo": "Tea"}))
    words = ("bench", "run", file, "--filter-mode", "council", "--filter-rounds", "1", "--json")
    (one,) = command(*words).json  # type: ignore[misc]
    assert set(one["metrics"]["latency"]["perAgentMs"]) == {"scripted-ada.json", "scripted-bo.json"}
    others = always(Path.cwd(), {"ada": "Tea", "bo": "Tea", "cy": "Tea"})
    (one,) = command(*words, "--agents", others).json  # type: ignore[misc]
    assert len(one["metrics"]["latency"]["perAgentMs"]) == 3


def test_a_debate_that_fails_is_shown_and_gives_exit_code_1(command: Command) -> None:
    agents = script(Path.cwd(), "mute", [])
    done = command("bench", "run", QUICK, "--agents", agents)
    assert (done.code, "FAILED" in done.out) == (1, True)
    assert "0 of 1 debate" in done.out
    done = command("bench", "single", "Tea?", "--agents", agents, "--rounds", "1")
    assert (done.code, "FAILED" in done.out) == (1, True)


def test_an_experiment_with_an_unknown_mode_is_refused_before_any_call(command: Command) -> None:
    file = Path("plan.toml")
    file.write_text('name = "x"\n[variables]\nmodes = ["collaborative", "delfi"]\nrounds = [1]\ntopics = ["Tea?"]\n')
    done = command("bench", "run", str(file), "--agents", script(Path.cwd(), "mute", []))
    assert (done.code, done.out) == (2, "")
    assert "Did you mean 'delphi'?" in done.err
    assert not Path("results").exists()


def test_a_single_debate_shows_its_figures(command: Command) -> None:
    agents = always(Path.cwd(), AGENTS)
    words = ("bench", "single", "Tea?", "--agents", agents, "--rounds", "2", "--repetitions", "2")
    shown = command(*words).out
    for part in ("100% of 2 completed", "Agreement", "references", "Standard deviation"):
        assert part in shown
    found = command(*words, "--json").json
    assert found["metrics"]["usage"]["calls"] == 8  # type: ignore[index]
    silent = always(Path.cwd(), {"ada": "Yes", "bo": "Yes"})
    assert "Signs of groupthink" in command("bench", "single", "Tea?", "--agents", silent, "--rounds", "1").out
    assert command("bench", "single", " ", "--agents", agents).code == 2
    strayed = command("bench", "single", "Tea?", "--agents", silent, "--rounds", "1", "--mode", "devils-advocate").out
    assert "answers left their assigned side" in strayed


def test_experiments_are_listed(command: Command) -> None:
    folder = str(ROOT / "examples" / "experiments")
    assert "quick.yaml: 1 debateOne mode" in command("bench", "list", folder).out.replace("\n  ", "")
    assert len(command("bench", "list", folder, "--json").json) == 5  # type: ignore[arg-type]
    assert command("bench", "list").code == 2


def test_two_folders_of_results_are_compared(command: Command) -> None:
    for folder, agents in (("old", {"ada": "Yes", "bo": "No"}), ("new", AGENTS)):
        assert command("bench", "run", QUICK, "-o", folder, "--agents", always(Path.cwd(), agents), "-q").code == 0
    shown = command("bench", "compare", "old", "new").out
    assert shown.split("\n")[0] in {"adopt", "reject", "conditional"}
    assert "interaction +100.0 %" in shown
    assert "qualityScore" in command("bench", "compare", "old", "new", "--json").json["delta"]  # type: ignore[index]
    assert command("bench", "compare", "old", "nowhere").code == 2


@pytest.mark.slow
def test_a_study_shows_its_tables(command: Command) -> None:
    Path("q.csv").write_text("question,gold\n2 + 2?,4\n3 + 3?,6\n", "utf-8")
    agents = ",".join(script(Path.cwd(), name, {"*": said("4")}) for name in ("ada", "bo", "cy"))
    words = ("bench", "study", "q.csv", "--modes", "collaborative,delphi", "--agents", agents, "--normalise", "numeric")
    done = command(*words)
    assert done.code == 0, done.both
    assert "| single | 1 of 2 (50%)" in done.out
    assert "- delphi: conditional" in done.out
    found = command(*words, "--json").json
    assert [one["correct"] for one in found["arms"]] == [1] * 7  # type: ignore[index]
    assert command("bench", "study", "q.csv", "--agents", agents, "--normalise", "fuzzy").code == 2
    wordy = ",".join(script(Path.cwd(), name, {"*": said("It is 4, I think.")}) for name in ("ada", "bo", "cy"))
    assert "| single | 0 of 2" in command("bench", "study", "q.csv", "--agents", wordy).out
    assert "| single | 1 of 2" in command("bench", "study", "q.csv", "--agents", wordy, "--extract", "number").out
    refused = command("bench", "study", "q.csv", "--agents", wordy, "--extract", "(")
    assert refused.code == 2
    assert "Error: the extract pattern '(' is not a regular expression" in refused.err


def test_a_study_from_a_file_is_run_stored_and_continued(command: Command) -> None:
    Path("q.csv").write_text("question,gold\n2 + 2?,4\n3 + 3?,6\n", "utf-8")
    Path("s.yaml").write_text("name: sums\nquestions: q.csv\nmodes: [delphi]\nresamples: 100\ndebate: {rounds: 1}\n")
    agents = ",".join(script(Path.cwd(), name, {"*": said("4")}) for name in ("ada", "bo"))
    words = ("bench", "study", "s.yaml", "--agents", agents, "--analyzer", "declared")
    done = command(*words, "--db", "s.db")
    assert done.code == 0, done.both
    assert "- delphi: conditional" in done.out
    assert "Every answer is stored" in done.err
    assert command(*words, "--db", "s.db").out == done.out
    refused = command(*words, "--modes", "council")
    assert refused.code == 2
    assert "--modes is not an option for the study in 's.yaml'" in refused.err


def test_a_stored_study_makes_its_calls_once_and_stays_the_same_study(command: Command) -> None:
    Path("q.csv").write_text("question,gold\n2 + 2?,4\n", "utf-8")
    agents = ",".join(script(Path.cwd(), name, {"*": said("4")}) for name in ("ada", "bo"))
    words = ("bench", "study", "q.csv", "--agents", agents, "--analyzer", "declared", "--study", "sums", "--db", "s.db")
    done = command(*words)
    assert done.code == 0, done.both
    assert "run the same command again to continue" in done.err
    assert "3 of 3 debates" in done.err
    kept = command("sessions", "--db", "s.db", "--json").json
    again = command(*words, "--quiet")
    assert (again.code, again.out, again.err) == (0, done.out, "")
    assert command("sessions", "--db", "s.db", "--json").json == kept
    other = command(*words, "--rounds", "3")
    assert (other.code, "rounds was 2" in other.err) == (2, True), other.both
    assert command("bench", "study", "q.csv", "--agents", agents, "--fleet", "night").code == 2


@pytest.mark.parametrize("file", ["none.yaml", "q.csv"])
def test_a_missing_file_is_a_usage_error(command: Command, file: str) -> None:
    assert command("bench", "run", file).code == 2
    assert command("bench", "study", file).code == 2


@pytest.mark.slow
def test_a_study_writes_a_folder_for_a_paper(command: Command, tmp_path: Path) -> None:
    questions = tmp_path / "questions.csv"
    questions.write_text("question,gold\n2 + 2?,4\n", "utf-8")
    words = ("bench", "study", questions, "--agents", always(tmp_path, AGENTS), "--report", tmp_path / "paper")
    done = command(*map(str, words))
    assert (tmp_path / "paper" / "methods.md").exists(), done
    assert "The report is in" in done.err


def test_a_study_makes_no_call_when_matplotlib_is_missing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = tmp_path / "questions.csv"
    questions.write_text("question,gold\n2 + 2?,4\n", "utf-8")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ("bench", "study", questions, "--agents", always(tmp_path, AGENTS), "--report", tmp_path / "paper")
    done = command(*map(str, words))
    assert done.code == 2
    assert "roundtable-sdk[plot]" in done.err
    assert not (tmp_path / "paper").exists()
