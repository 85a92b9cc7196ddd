"""Frames of debates: what they hold is what was stored; their columns are stable and typed, also without a row."""

from __future__ import annotations

import csv
import gc
import io
import json
import sys
import weakref
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, get_args

import pandas as pd
import pytest
from unit.opinion_kit import CITIES, debated

from roundtable import DebateResult, Results, Roundtable
from roundtable.api import stored_sessions
from roundtable.errors import ConfigurationError
from roundtable.report.latex import latex_table
from roundtable.results.frames import (
    FRAME_COLUMNS,
    LATEX_COLUMNS,
    FrameBackend,
    FrameBuilder,
    FrameKind,
    frame_of_rows,
    rows_of,
)
from roundtable.results.many import FailedDebate
from roundtable.testing import scripted_agents
from roundtable.types import ErrorInfo, JsonObject, SessionFilter

KINDS = ("turns", "sessions", "votes", "pairs")


@pytest.fixture(scope="module")
def moved() -> DebateResult:
    return debated(CITIES)


@pytest.mark.parametrize("kind", get_args(FrameKind))
def test_a_frame_without_rows_has_its_columns_and_types(kind: FrameKind) -> None:
    frame = frame_of_rows(kind, ())
    assert [*frame.columns] == [*FRAME_COLUMNS[kind]]
    names = {"text": "string", "whole": "Int64", "number": "float64", "flag": "boolean", "time": "datetime64"}
    for column, type_name in FRAME_COLUMNS[kind].items():
        assert str(frame[column].dtype).startswith(names[type_name])
    assert frame_of_rows(kind, (), "records") == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_cell_of_a_frame_equals_that_of_its_record(moved: DebateResult, kind: FrameKind) -> None:
    rows = moved.frames(kind, "records")
    frame = moved.frames(kind)
    assert len(frame) == len(rows) > 0
    assert all(row.keys() == FRAME_COLUMNS[kind].keys() for row in rows)
    for name, type_name in FRAME_COLUMNS[kind].items():
        for cell, row in zip(frame[name], rows, strict=True):
            if row[name] is None:
                assert pd.isna(cell)
            else:
                assert (cell.isoformat() if type_name == "time" else cell) == row[name]
    assert {row["sessionId"] for row in rows} == {moved.session_id}
    assert {row["mode"] for row in rows} == {moved.mode}


def test_turns_name_their_model_and_versions(moved: DebateResult) -> None:
    row = moved.frames("turns", "records")[0]
    assert row["topic"] == moved.topic
    assert (row["provider"], row["model"], row["seed"]) == ("scripted", "scripted", moved.config.seed)
    assert row["promptVersion"]
    assert row["independent"] is True
    assert row["inputTokens"] + row["outputTokens"] == row["tokens"]
    assert {*moved.to_records()[0]} <= {*row}


def test_votes_are_those_of_the_decision(moved: DebateResult) -> None:
    assert moved.decision is not None
    last = [row for row in moved.frames("votes", "records") if row["round"] == 3]
    assert {row["rule"] for row in last} == {"plurality"}
    assert sum(row["won"] is True for row in last) == moved.decision.scores["Lisbon"]
    assert [row["vote"] for row in last] == [*moved.ballots()]


def test_pairs_are_known_only_if_they_were_compared(moved: DebateResult) -> None:
    rows = {(row["round"], row["agentId"], row["otherId"]): row["relation"] for row in moved.frames("pairs", "records")}
    assert (rows[1, "ada", "bo"], rows[2, "ada", "bo"], rows[2, "ada", "dee"]) == ("unknown", "same", "different")


def test_many_debates_are_one_frame_with_the_failed_ones(moved: DebateResult) -> None:
    error = ErrorInfo(name="Error", code="X", message="no")
    failed = FailedDebate(topic="Why?", mode="delphi", error=error)
    results = Results([moved, failed, FailedDebate(topic="Where?", mode="delphi", error=error, partial=moved)])
    assert [row["status"] for row in results.frames("sessions", "records")] == ["completed", "error", "error"]
    assert len(results.frames("turns")) == 2 * len(moved.frames("turns"))
    assert results.frames()["topic"][1] == "Why?"


def test_the_text_of_a_frame_is_csv_or_latex(moved: DebateResult) -> None:
    rows = [*csv.DictReader(io.StringIO(moved.frames("votes", "csv")))]
    assert [row["vote"] for row in rows] == [row["vote"] or "" for row in moved.frames("votes", "records")]
    table = moved.frames("pairs", "latex")
    assert table.count("\\\\\n") == 1 + len(moved.frames("pairs", "records"))


@pytest.mark.parametrize("kind", get_args(FrameKind))
def test_a_latex_table_has_the_columns_that_fit_a_page(kind: FrameKind) -> None:
    columns = LATEX_COLUMNS[kind]
    assert len(columns) <= 8
    assert set(columns) <= set(FRAME_COLUMNS[kind])
    head = frame_of_rows(kind, [], "latex").splitlines()[2]
    assert head.count("&") == len(columns) - 1


def test_long_texts_of_a_latex_table_break_within_half_a_line() -> None:
    rows: list[JsonObject] = [{"a": "long " * 20, "b": "x" * 50, "c": "short", "d": 1}]
    assert latex_table(("a", "b", "c", "d"), rows).startswith(r"\begin{tabular}{p{0.25\linewidth}p{0.25\linewidth}lr}")


def test_special_characters_are_escaped_in_latex() -> None:
    rows = [{"a": r"\input{x} & 50% of $5_a^b ~ #1", "b": None}, {"a": "[x]", "b": 0.123456}, {"a": True, "b": 1}]
    assert latex_table(("a", "b"), rows).splitlines()[4:-2] == [
        r"\textbackslash{}input\{x\} \& 50\% of \$5\_a\textasciicircum{}b \textasciitilde{} \#1 &  \\",
        r"{}[x] & 0.1235 \\",
        r"yes & 1 \\",
    ]
    assert latex_table(("a", "b"), rows).startswith("\\begin{tabular}{lr}")


@pytest.mark.parametrize("backend", ["polars", "arrow", "pandas"])
def test_a_missing_library_is_named_with_how_to_install_it(
    moved: DebateResult, backend: FrameBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("polars", "pyarrow", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigurationError, match="needs") as refused:
        moved.frames("turns", backend)
    assert "pip install" in (refused.value.hint or "")


def test_what_is_not_a_frame_is_refused(moved: DebateResult) -> None:
    with pytest.raises(ConfigurationError, match="unknown kind of frame 'turn'; choose turns"):
        moved.frames("turn")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="unknown kind of frame 'turn'; choose turns"):
        Results([moved]).frames("turn")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="unknown backend 'excel'; choose pandas"):
        moved.frames("turns", "excel")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="a result has no events") as refused:
        [*rows_of("events", moved)]
    assert "Roundtable" in (refused.value.hint or "")


@pytest.fixture
async def table() -> Any:
    async with Roundtable(scripted_agents({"ada": "Tea", "bo": "Milk"}), storage="memory://") as made:
        yield made


async def test_events_are_those_of_the_storage(table: Roundtable) -> None:
    result = await table.debate("Tea or milk?", rounds=1)
    rows = await table.frames("events", "records")
    assert [row["seq"] for row in rows] == [*range(1, len(rows) + 1)]
    types = [row["type"] for row in rows]
    assert types[0] == "debate_start"
    assert types[-1] == "debate_complete"
    spoken = [row for row in rows if row["type"] == "agent_complete"]
    # Agents of one stage end in any order; trio shuffles it.
    assert sorted((row["round"], row["agentId"]) for row in spoken) == [(1, "ada"), (1, "bo")]
    assert json.loads(spoken[0]["data"])["turn"]["agentName"]
    assert {row["sessionId"] for row in rows} == {result.session_id}
    assert str((await table.frames("events"))["timestamp"].dtype) == "datetime64[us, UTC]"


async def test_frames_of_a_table_are_those_of_its_results(table: Roundtable) -> None:
    results = await table.debate_many(["Tea?", "Milk?"], rounds=1, concurrency=1)
    for kind in KINDS:
        stored = await table.frames(kind, "records")  # type: ignore[arg-type]
        held = [row for result in reversed(results) for row in result.frames(kind, "records")]  # type: ignore[arg-type]
        assert stored == held
    assert len(await table.frames("sessions", wanted=SessionFilter(topic="milk"))) == 1
    with pytest.raises(ConfigurationError, match="unknown backend"):
        await table.frames("turns", "excel")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="unknown kind of frame 'turn'; choose turns"):
        await table.frames("turn")  # type: ignore[arg-type]


@pytest.mark.slow
async def test_all_sessions_are_listed_page_by_page(table: Roundtable, monkeypatch: pytest.MonkeyPatch) -> None:
    results = await table.debate_many([f"Question {number}?" for number in range(55)], rounds=1, concurrency=1)
    ids = [result.session_id for result in reversed(results)]
    assert [found.id for found in await table.sessions()] == ids
    for size in (1, 7, 11, 55, 56):
        monkeypatch.setattr(stored_sessions, "_SESSIONS_AT_ONCE", size)
        assert [found.id for found in await table.sessions(SessionFilter(mode="collaborative"))] == ids
    assert [found.id for found in await table.sessions(SessionFilter(limit=50))] == ids[:50]


LIBRARIES = {"pandas": "pandas", "arrow": "pyarrow", "polars": "polars"}


@pytest.mark.parametrize("backend", [backend for backend, name in LIBRARIES.items() if find_spec(name)])
def test_a_frame_of_columns_keeps_no_rows_while_it_is_filled(backend: Any) -> None:
    class Row(dict[str, Any]):
        """A row that can be watched."""

    held: list[weakref.ref[Row]] = []

    def rows() -> Iterator[Row]:
        for number in range(100):
            assert sum(watch() is not None for watch in held) <= 2  # the one before is not let go yet
            row = Row(sessionId="s", seq=number, type="round_start")
            held.append(weakref.ref(row))
            yield row
            del row

    builder = FrameBuilder("events", backend)
    builder.add(rows())
    gc.collect()
    assert not any(watch() is not None for watch in held)
    assert len(builder.build()) == 100
