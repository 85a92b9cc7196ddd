"""Sums of what happened at a server: laws of adding, bounds of names, and their form for Prometheus."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from roundtable.fleet import FleetState, JobStatus
from roundtable.fleet.jobs import RunningDebate
from roundtable.server.metrics import GAUGES, MOST_JOBS, MOST_NAMES, MOST_REQUESTS, OTHERS, Exposition, NameTally, Tally
from roundtable.server.metrics_report import report_of
from roundtable.testing.storage_samples import NOON
from roundtable.types import Budget, Usage

FULL_JOB = JobStatus(
    job="nightly",
    debates=9,
    running=1,
    completed=4,
    failed=3,
    errors={"QUORUM_LOST": 2, "TIMEOUT": 1},
    usage=Usage(calls=40, input_tokens=900, output_tokens=100, cost_usd=0.25),
    budget=Budget(max_calls=100, max_tokens=5_000, max_cost_usd=2.0),
    submitted_at=NOON,
    per_minute=12.5,
    longest_running=(RunningDebate(session_id="s", seconds=75.0),),
)
NAMES = st.sampled_from(["ada", "bo", "cy"])
SECONDS = st.sampled_from([0.0, 0.004, 0.005, 0.25, 1.0, 7.5, 300.0, 1000.0])  # powers of two and ends of classes


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    tally = Tally(begun=draw(st.integers(0, 9)), completed=draw(st.integers(0, 9)), broken=draw(st.integers(0, 9)))
    for seconds in draw(st.lists(SECONDS, max_size=3)):
        tally.times.note(seconds)
        tally.note_request("GET", "/api/sessions", 200, seconds)
    for name in draw(st.lists(NAMES, max_size=3)):
        tally.note_error(name)
        tally.note_refusal(name)
    return tally


def added(*tallies: Tally) -> Any:
    """Sum copies; the order of names and the last bits of sums are left out."""
    whole = Tally()
    for tally in tallies:
        whole.add(tally)
    stored: Any = whole.stored()
    for times in (stored["times"], *stored["requests"].values()):
        times["total_s"] = round(times["total_s"], 6)
    return stored


@given(tallies(), tallies(), tallies())
def test_tallies_can_be_added_in_any_order(one: Tally, two: Tally, three: Tally) -> None:
    before = deepcopy(two)
    assert added(one, two, three) == added(three, one, two)
    assert two == before


@given(tallies())
def test_a_stored_tally_is_read_back(tally: Tally) -> None:
    assert Tally.read(tally.stored()) == tally


def test_without_stored_figures_all_counts_are_zero() -> None:
    assert Tally.read(None) == Tally()
    with pytest.raises(ValidationError):
        Tally.read({"begun": "many"})


def test_the_number_of_names_is_limited() -> None:
    tally = Tally()
    for number in range(MOST_NAMES + 25):
        tally.note_error(f"code {number}")
    assert len(tally.errors) == MOST_NAMES + 1
    assert tally.errors[OTHERS] == 25
    for number in range(MOST_REQUESTS + 25):
        tally.note_request("GET", f"/{number}", 200, 0.1)
    assert len(tally.requests) == MOST_REQUESTS + 1
    report = report_of("24h", NOON, NOON, [(NOON, tally)])
    assert (report.requests[0].route, report.requests[0].status, report.requests[0].count) == (OTHERS, 0, 25)


def test_without_figures_there_are_no_rates() -> None:
    report = report_of("24h", NOON, NOON, [(NOON, Tally())])
    assert report.conversations.completion_rate is None
    assert report.conversations.mean_s is None
    assert report.conversations.p95_s is None
    assert report.usage.tokens_per_conversation is None
    assert report.usage.cost_usd_per_conversation is None


@given(st.lists(SECONDS, min_size=1))
def test_a_quantile_is_no_less_than_its_share_and_no_more_than_the_longest(seconds: list[float]) -> None:
    tally = Tally()
    for one in seconds:
        tally.times.note(one)
    found = tally.times.quantile_s(0.95)
    assert found is not None
    assert sum(one <= found for one in seconds) >= 0.95 * len(seconds)
    assert found <= max(seconds)


def test_prometheus_can_read_the_metrics() -> None:
    tally = Tally(begun=3, completed=2, input_tokens=10, cost_usd=0.5)
    tally.times.note(2.0)
    tally.note_request("GET", '/a"b\\c', 200, 0.3)
    tally.note_error("API_TIMEOUT")
    exposition = Exposition(tally, {"streams_open": ("Open.", lambda: 7)})
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition.text().decode())
        for sample in family.samples
    }
    assert samples["roundtable_conversations_begun_total", ()] == 3
    assert samples["roundtable_runs_ended_total", (("outcome", "completed"),)] == 2
    assert samples["roundtable_streams_open", ()] == 7
    assert samples["roundtable_run_seconds_bucket", (("le", "2.5"),)] == 1
    assert samples["roundtable_run_seconds_sum", ()] == 2.0
    assert samples["roundtable_errors_total", (("code", "API_TIMEOUT"),)] == 1
    request = (("method", "GET"), ("route", '/a"b\\c'), ("status", "200"))
    assert samples["roundtable_request_seconds_count", request] == 1
    assert samples["roundtable_cost_usd_total", ()] == 0.5


def test_the_page_of_metrics_lists_exactly_the_existing_metrics() -> None:
    tally = Tally(agents={"Ada": NameTally()}, tools={"weigh": NameTally()}, errors={"X": 1}, refusals={"rounds": 1})
    tally.note_request("GET", "/x", 200, 0.1)
    gauges = {name: (what, lambda: 0) for name, what in GAUGES.items()}
    told = set()
    exposition = Exposition(tally, gauges)
    exposition.text([FleetState(name="default", workers=2, jobs=(FULL_JOB,))])
    for family in exposition.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
        told.add((f"`{name}`", family.type, ", ".join(f"`{label}`" for label in labels), family.documentation))
    page = (Path(__file__).parents[2] / "docs/reference/server-metrics.md").read_text("utf-8")
    rows = [line.strip("| ").split("|") for line in page.splitlines() if line.startswith("| `roundtable_")]
    assert {tuple(cell.strip() for cell in row) for row in rows} == told


def test_jobs_of_fleets_are_exported_and_bounded() -> None:
    unlimited = FULL_JOB.model_copy(update={"job": "late", "budget": None, "longest_running": ()})
    many = tuple(FULL_JOB.model_copy(update={"job": f"old-{number}"}) for number in range(MOST_JOBS))
    fleets = [
        FleetState(name="default", workers=2, jobs=(FULL_JOB, unlimited)),
        FleetState(name="b", workers=0, jobs=many),
    ]
    families = {
        family.name: {
            tuple(sample.labels[name] for name in sorted(sample.labels)): sample.value for sample in family.samples
        }
        for family in text_string_to_metric_families(Exposition(Tally(), {}).text(fleets).decode())
    }
    assert families["roundtable_fleet_workers"] == {("default",): 2, ("b",): 0}
    debates = families["roundtable_fleet_debates"]
    counts = {state: debates["default", "nightly", state] for state in ("queued", "running", "completed", "failed")}
    assert counts == {"queued": 0, "running": 1, "completed": 4, "failed": 3}
    assert families["roundtable_fleet_failures"]["QUORUM_LOST", "default", "nightly"] == 2
    assert families["roundtable_fleet_cost_usd"]["default", "nightly"] == 0.25
    assert families["roundtable_fleet_budget_usd"]["default", "nightly"] == 2.0
    assert ("default", "late") not in families["roundtable_fleet_budget_usd"]
    longest = families["roundtable_fleet_longest_running_seconds"]
    assert (longest["default", "nightly"], longest["default", "late"]) == (75.0, 0.0)
    assert len([names for names in longest if names[0] == "b"]) == MOST_JOBS


def test_a_server_without_fleets_exports_none() -> None:
    assert b"fleet" not in Exposition(Tally(), {}).text()
