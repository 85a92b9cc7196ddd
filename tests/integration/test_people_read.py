"""What people read about a debate says what happened: in reports, on pages and in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from integration.pages_kit import visiting
from integration.server_kit import served_table

import roundtable as rt
from roundtable.cli.render import Screen
from roundtable.cli.sessions import list_sessions
from roundtable.cli.storage_location import StorageLocation
from roundtable.cli.summary import summary_lines
from roundtable.testing import scripted_agents
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


async def stopped_debate(table: rt.Roundtable) -> rt.DebateResult:
    """Hold the first of two rounds, then stop the debate."""
    handle = await table.start("Tea or coffee?", rounds=2, step=True)
    await handle.result()
    await table.stop(handle.session_id)
    return await table.session(handle.session_id)


async def test_a_stopped_debate_is_called_stopped_in_reports_and_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.db"
    place = StorageLocation(f"sqlite:///{path}", path)
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage=place.url) as table:
        result = await stopped_debate(table)
        assert (result.session_status, result.status) == ("completed", "partial")
        assert "- **Status:** stopped\n" in result.to_markdown()
        assert "Status: stopped\n" in result.to_text()
        assert "This debate is stopped." in result.to_html()
        assert "<th>Status</th><td>stopped</td>" in result._repr_html_()
        summary = "\n".join(shown.text for shown in summary_lines(result, place))
        assert "Status: stopped" in summary
        for shown in (result.to_markdown(), result.to_text(), result.to_html(), result._repr_html_(), summary):
            assert not {"completed", "finished", "partial"} & {word.strip(".,:;()") for word in shown.split()}
        await list_sessions(table, place, Screen(live=False), SessionFilter())
        (row,) = capsys.readouterr().out.splitlines()[1:]
        assert row.split()[1] == "stopped"


async def test_a_stopped_debate_is_called_stopped_on_the_pages() -> None:
    table = served_table(agents=scripted_agents({"ada": "Tea", "bo": "Tea"}))
    async with visiting(table=table) as ann, table.for_tenant("ann") as own:
        result = await stopped_debate(own)
        await ann.log_in()
        assert '<span class="chip state-completed">stopped</span>' in ann.page
        await ann.get(f"/sessions/{result.session_id}")
        assert 'id="state">stopped</span>' in ann.page
        (entry,) = (await ann.get("/api/sessions", headers={"accept": "application/json"})).json()["sessions"]
        assert (entry["sessionStatus"], entry["exitReason"]) == ("completed", "stopped")
        assert "It is stopped: the caller asked to stop." in (
            await ann.get(f"/sessions/{result.session_id}/events?after=0")
        ).text
