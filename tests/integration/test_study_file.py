"""A study is one object: from a file and from Python it is equal, asks the same, and goes on under its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import roundtable as rt
from roundtable import sync
from roundtable.bench import Question, Study, read_study
from roundtable.errors import ConfigurationError
from roundtable.testing import scripted_agents
from roundtable.types import Budget

QUESTIONS = (
    Question(id="1", question="What is 17 * 24?", gold="408", category="sums"),
    Question(id="q2", question="Which is a prime?", gold="97", options=("91", "97")),
)
PYTHON = Study(
    name="sums",
    description="Is debating worth it?",
    questions=QUESTIONS,
    modes=("collaborative", "delphi"),
    normalise="numeric",
    extract="number",
    resamples=200,
    seed=3,
    debate={"rounds": 1, "decide": "plurality"},
)
YAML = """
name: sums
description: Is debating worth it?
questions:
  - {id: "1", question: "What is 17 * 24?", gold: "408", category: sums}
  - {id: q2, question: "Which is a prime?", gold: "97", options: ["91", "97"]}
modes: [collaborative, delphi]
normalise: numeric
extract: number
resamples: 200
seed: 3
debate:
  rounds: 1
  decide: plurality
"""


def agents() -> list[rt.BaseAgent]:
    return scripted_agents({"ada": {"position": "It is 408.", "choice": "97", "confidence": 0.8}, "bo": "408"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(YAML)
    return path


def test_a_study_file_and_python_give_the_same_object(file: Path, tmp_path: Path) -> None:
    assert read_study(file) == PYTHON
    written = tmp_path / "study.json"
    for encoding in ("utf-8", "utf-8-sig"):  # some editors write a byte order mark
        written.write_text(PYTHON.to_json(), encoding)
        assert read_study(written) == PYTHON


def test_questions_can_be_in_a_file_next_to_the_study_file(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text(
        "question,gold,options,category,id\nWhat is 17 * 24?,408,,sums,1\nWhich is a prime?,97,91|97,,q2\n"
    )
    lines = [line for line in YAML.splitlines() if not line.startswith("  - {")]
    (tmp_path / "study.yaml").write_text("\n".join(lines).replace("questions:", "questions: questions.csv"))
    assert read_study(tmp_path / "study.yaml") == PYTHON


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_study_from_a_file_runs_like_run_study_and_continues_under_its_name(
    anyio_backend: str, tmp_path: Path
) -> None:
    async with rt.Roundtable(agents(), storage=f"sqlite:///{tmp_path}/s.db", analyzer="declared") as table:
        report = await PYTHON.run(table)
        assert report.modes == ("collaborative", "delphi")
        assert (report.resamples, report.seed, dict(report.failed)) == (200, 3, {})
        stored = len(await table.sessions())
        assert (await PYTHON.run(table)).answers == report.answers
        assert len(await table.sessions()) == stored
        other = PYTHON.model_copy(update={"normalise": "exact"})
        with pytest.raises(ConfigurationError, match="normalise was"):
            await other.run(table)


@pytest.mark.parametrize("exit_when", ["max_rounds(1)", {"kind": "max_rounds", "rounds": 1}], ids=["text", "JSON"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_study_file_takes_a_criterion_as_text_and_as_json(anyio_backend: str, exit_when: Any) -> None:
    study = PYTHON.model_copy(update={"name": None, "questions": QUESTIONS[:1], "modes": ("delphi",)})
    study = Study.model_validate({**json.loads(study.to_json()), "debate": {"rounds": 3, "exit_when": exit_when}})
    async with rt.Roundtable(agents(), storage="memory://", analyzer="declared") as table:
        report = await study.run(table)
        held = [await table.session(session.id) for session in await table.sessions()]
    assert dict(report.failed) == {}
    assert [len(result.rounds) for result in held if result.mode == "delphi"] == [1]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_criterion_of_an_unknown_kind_is_named(anyio_backend: str) -> None:
    study = PYTHON.model_copy(update={"name": None, "debate": {"exit_when": {"kind": "bell"}}})
    async with rt.Roundtable(agents(), storage="memory://", analyzer="declared") as table:
        with pytest.raises(ConfigurationError, match="unknown exit 'bell'"):
            await study.run(table)


def test_a_study_file_has_the_arguments_of_the_blocking_function() -> None:
    small = PYTHON.model_copy(update={"name": None, "questions": QUESTIONS[:1], "modes": ("delphi",)})
    with sync.Roundtable(agents(), storage="memory://", analyzer="declared") as table:
        report = sync.run_study(table, **small.arguments())
    assert report.arm("delphi").questions == 1
    assert PYTHON.model_copy(update={"debate": {"budget": {"maxCalls": 7}}}).arguments()["budget"] == Budget(
        max_calls=7
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"questions": ()}, "questions"),
        ({"debate": {"mode": "delphi"}}, "debate cannot have 'mode'"),
        ({"debate": {"rouds": 1}}, "debate: rouds: unknown field; choose from rounds, agents, decide, "),
        ({"debate": {"rounds": 0}}, "debate: rounds"),
        ({"name": "two words"}, "name"),
        ({"extract": "("}, r"the extract pattern '\(' is not a regular expression"),
        ({"normalise": "fuzzy"}, "normalise"),
        ({"mods": ()}, "mods: unknown field; choose from .*questions, modes, "),
    ],
)
def test_a_wrong_field_of_a_study_file_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    path.write_text(json.dumps({**json.loads(PYTHON.to_json()), **change}))
    with pytest.raises(ConfigurationError, match=message) as refused:
        read_study(path)
    assert str(path) in refused.value.message
