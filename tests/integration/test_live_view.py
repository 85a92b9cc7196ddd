"""A debate in a cell of a notebook while it runs: its state by event, plain lines elsewhere, the result in the end."""

from __future__ import annotations

import json
import time
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import roundtable as rt
from roundtable import sync
from roundtable.errors import APIAuthError
from roundtable.report.notebook import MOST_BYTES
from roundtable.results import LiveView, live, show_live, show_live_async
from roundtable.testing import scripted_agents
from roundtable.types import AgentToolCall, ErrorInfo, Retry, ToolCall, utc_now

pytestmark = pytest.mark.slow

SAYS: Any = {"ada": ["Tea", "Tea"], "bo": ["<b>Milk</b>", "Tea"], "cy": [APIAuthError("no key"), "Tea"]}


def lines_of(says: Any, **options: Any) -> list[str]:
    """Show a debate as lines."""
    lines: list[str] = []
    agents = scripted_agents(says, chunks=4)
    with sync.Roundtable(agents, storage="memory://") as table, table.stream("Tea?", rounds=2, **options) as stream:
        result = show_live(stream, write=lines.append)
    assert lines.pop() == str(result)
    return lines


def test_outside_a_notebook_each_answer_is_a_line() -> None:
    lines = lines_of(SAYS)
    assert lines[:2] == ["Tea? (collaborative)", "Round 1"]
    second = lines.index("Round 2")
    assert {"  Ada: Tea (80%)", "  Cy failed: no key"} < {*lines[2:second]}
    assert lines[second - 1].startswith("  agreement: ")
    assert lines[-1] == "  agreement: 1.00 (Tea: Ada, Bo, Cy)"


@pytest.mark.both_loops
async def test_the_async_twin_shows_the_same() -> None:
    lines: list[str] = []
    async with (
        rt.Roundtable(scripted_agents(SAYS), storage="memory://") as table,
        table.stream("Tea?", rounds=2) as stream,
    ):
        result = await show_live_async(stream, write=lines.append)
    assert (lines[0], lines[-1]) == ("Tea? (collaborative)", str(result))
    assert sorted(lines[1:-1]) == sorted(lines_of(SAYS)[1:])


def test_a_cell_shows_who_writes_and_the_escaped_position_of_each_agent() -> None:
    view, pages = LiveView(), []
    agents = scripted_agents(SAYS, chunks=4)
    with sync.Roundtable(agents, storage="memory://") as table, table.stream("Tea & milk?", rounds=2) as stream:
        for event in stream:
            view.add(event)
            pages.append((event.type, view.to_html()))
    writing = [page for kind, page in pages if kind == "agent_response_chunk"]
    assert any("writes, " in page and " characters" in page for page in writing)
    last = pages[-1][1]
    assert "Tea &amp; milk?" in last
    assert "round 2 of 2" in last
    assert "<b>Milk</b>" not in "".join(page for _, page in pages)
    assert "failed: no key" in "".join(page for _, page in pages)
    assert "<strong>Round 2</strong>, agreement: 1.00. Tea: Ada, Bo, Cy" in last


def test_tools_and_retries_are_shown_next_to_the_agent() -> None:
    view, facts = LiveView(), {"session_id": "s", "timestamp": utc_now(), "agent": "ada", "round": 1}
    call = ToolCall(id="1", name="weather<b>", arguments={})
    assert view.add(AgentToolCall.model_validate({**facts, "step": 1, "tool_call": call})) == ""
    assert "uses weather&lt;b&gt;" in view.to_html()
    error = ErrorInfo(name="APIRateLimitError", message="slow down", code="API_RATE_LIMIT")
    view.add(Retry.model_validate({**facts, "attempt": 2, "delay_s": 1.0, "error": error}))
    assert "tries again: slow down" in view.to_html()


def test_the_view_is_never_larger_than_a_cell() -> None:
    wide = "\u8336 <&> \U0001f375 " * 300
    says = {
        f"agent-{number}-{wide[:40]}".replace(" ", "").replace("<&>", "-"): f"{number} {wide}" for number in range(40)
    }
    view = LiveView()
    with (
        sync.Roundtable(scripted_agents(says), storage="memory://") as table,
        table.stream(wide[:900], rounds=4) as stream,
    ):
        sizes = [len(view.to_html().encode()) for event in stream if view.add(event) or event.type == "round_complete"]
    assert 5_000 < max(sizes) <= MOST_BYTES


def test_characters_that_are_long_in_html_leave_room_for_fewer_agents() -> None:
    quotes = '"' * 400
    view = LiveView()
    says = {f"agent{number}": f"{number} {quotes}" for number in range(24)}
    with sync.Roundtable(scripted_agents(says), storage="memory://") as table, table.stream("Tea?", rounds=4) as stream:
        sizes = [len(view.to_html().encode()) for event in stream if view.add(event)]
    assert 5_000 < max(sizes) <= MOST_BYTES
    assert "more</p>" in view.to_html()


class _Page:
    """What stands for IPython's display: it counts what it is asked to draw."""

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def HTML(self, text: str) -> str:  # noqa: N802  (IPython's name)
        return text

    def display(self, shown: Any, *, display_id: bool) -> _Page:
        assert display_id
        self.drawn.append(shown)
        return self

    def update(self, shown: Any) -> None:
        self.drawn.append(shown)


def test_a_stream_of_pieces_redraws_a_few_times_a_second_and_ends_with_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = _Page()
    monkeypatch.setattr(live, "_notebook_display", lambda: page)
    agents = scripted_agents({"ada": "Tea " * 400}, chunks=400)
    began = time.monotonic()
    with sync.Roundtable(agents, storage="memory://") as table, table.stream("Tea?", rounds=1) as stream:
        result = show_live(stream)
    elapsed_s = time.monotonic() - began
    assert page.drawn[-1] is result
    assert len(page.drawn) <= 8 + elapsed_s / 0.2


@pytest.mark.slow
def test_a_kernel_has_one_output_that_is_updated_and_ends_as_the_result() -> None:
    code = """
from roundtable import sync
from roundtable.results import show_live
from roundtable.testing import Delay, scripted_agents

agents = scripted_agents({"ada": Delay(0.3, "Tea"), "bo": Delay(0.5, "Tea")})
with sync.Roundtable(agents, storage="memory://") as table, table.stream("Tea or coffee?", rounds=2) as stream:
    result = show_live(stream)
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client = NotebookClient(notebook, timeout=60)
    updates: list[str] = []
    plain = client.process_message

    def watched(message: Any, cell: Any, index: int) -> Any:
        if message["msg_type"] in {"display_data", "update_display_data"}:
            updates.append(message["content"]["data"]["text/html"])
        return plain(message, cell, index)

    client.process_message = watched  # type: ignore[method-assign]
    client.execute()
    (output,) = notebook.cells[0].outputs
    assert (output.output_type, len(updates) > 4) == ("display_data", True)
    assert "writes" in "".join(updates[:-1])
    assert "Answer:" in output.data["text/html"]
    assert len(json.dumps(output)) < 45_000
