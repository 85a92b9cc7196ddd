"""The seeds' API is there under its Python names, and what is not there yet is marked as planned."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from contract.examples import EXAMPLES
from contract.seed_api import DONE, ISSUES, ROWS, is_done, status
from contract.seed_checks import exists, fits, problems
from contract.seed_rows import Call, Parameter, Row, _line, snake
from contract.showing import shown

KEPT = [row for row in ROWS if is_done(row)]
LATER = [row for row in ROWS if not is_done(row)]


def _name(row: Row) -> str:
    return f"{row.seed:03d}-{row.kind}-{row.name}"


@pytest.mark.parametrize("row", KEPT, ids=_name)
def test_a_promise_of_finished_work_is_kept(row: Row) -> None:
    assert problems(row) == []


def test_every_seed_and_every_piece_of_work_has_rows() -> None:
    assert {row.seed for row in ROWS} == {0, 1, 2, 3, 4}
    assert {row.issue for row in ROWS} == set(ISSUES)
    assert set(ISSUES) >= DONE


def test_no_promise_is_listed_twice() -> None:
    keys = [(row.seed, row.kind, row.name, row.python) for row in ROWS]
    assert len(keys) == len(set(keys))


def test_every_row_without_an_expectation_is_shown_by_a_test_that_runs_it() -> None:
    examples = ((seed, "type", name) for seed, name in EXAMPLES)
    found = {*shown(Path(__file__).parent), *examples}
    rows = {(row.seed, row.kind, row.name): row for row in ROWS}
    assert found <= set(rows), "a test shows a row that is not there"
    bare = {key for key, row in rows.items() if row.expects is None and row.kind != "environment"}
    assert sorted(bare - found) == []


def test_python_names_follow_the_house_style() -> None:
    for row in ROWS:
        assert re.fullmatch(r"roundtable(\.[a-z_]+)+", row.module), row
        if row.kind in {"method", "function", "field"}:
            assert row.path[-1][0].isupper() or row.path[-1] == row.path[-1].lower(), row


def test_later_work_that_is_already_there_is_listed_and_still_called_planned() -> None:
    early = [row for row in LATER if exists(row)]
    # Shown by `pytest -rP`.
    sys.stdout.write("\n".join(f"{row.name} -> {row.python} {problems(row) or ''}" for row in early))
    assert {status(row) for row in early} <= {"planned"}
    assert {status(row) for row in KEPT} == {"available"}


@pytest.mark.parametrize(
    ("text", "name", "expects"),
    [
        pytest.param("close()", "close", Call(()), id="no parameter"),
        pytest.param("async f(aB, c?)", "f", Call((Parameter("a_b"), Parameter("c", optional=True)), True), id="async"),
        pytest.param("f(a?=(1, 2), b)", "f", Call((Parameter("a", True, (1, 2)), Parameter("b"))), id="default"),
        pytest.param("f(input as tool_input)", "f", Call((Parameter("tool_input"),)), id="renamed"),
        pytest.param("f(a, ...)", "f", Call((Parameter("a"),), asks_more=True), id="more"),
    ],
)
def test_the_notation_is_read(text: str, name: str, expects: Call) -> None:
    line = _line(text)
    assert (line.name, line.expects) == (name, expects)


def test_a_line_outside_the_notation_is_refused() -> None:
    with pytest.raises(ValueError, match="notation"):
        _line("nonsense")


def test_names_turn_into_snake_case() -> None:
    assert [snake(name) for name in ("maxTokens", "getSession", "session_id", "id")] == [
        "max_tokens",
        "get_session",
        "session_id",
        "id",
    ]


BROKEN = [
    pytest.param("roundtable.errors:NoSuchError", None, "missing", id="no such name"),
    pytest.param("roundtable.nowhere:Thing", None, "missing", id="no such module"),
    pytest.param("roundtable.types:utc_now", Call((Parameter("zone"),)), "takes", id="other parameters"),
    pytest.param("roundtable.types:utc_now", Call((), is_async=True), "not async", id="not awaited"),
]


@pytest.mark.parametrize(("place", "expects", "complaint"), BROKEN)
def test_a_broken_promise_is_noticed(place: str, expects: Call | None, complaint: str) -> None:
    (problem,) = problems(Row(0, 2, "function", "broken", place, expects))
    assert complaint in problem


def test_wrong_types_are_noticed() -> None:
    assert fits("string", {"type": "string"})
    assert fits("Citation[]", {"type": "array", "items": {"$ref": "#/$defs/Citation"}})
    assert not fits("number", {"type": "string"})
    assert not fits("string[]", {"type": "array", "items": {"type": "integer"}})
    assert not fits("'a'|'b'", {"enum": ["a"]})
    assert not fits("'a'", {"enum": ["a", "b"]})
    assert fits("'a'|...", {"enum": ["b", "a"]})
    assert not fits("'a'|...", {"enum": ["b"]})
    assert not fits("Date", {"type": "string"})
