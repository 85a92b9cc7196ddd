"""The story of the README: begin, lose the process, watch from elsewhere, go on, hand the page to somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli.test_cli_process import AGENTS, Slow, process, told

from roundtable.testing.servers import LoopbackServer

if TYPE_CHECKING:
    from pathlib import Path

    from cli.kit import Command


@pytest.mark.slow
def test_a_killed_debate_is_watched_resumed_and_exported(place: Path, command: Command) -> None:
    slow = Slow(quick=4)
    with LoopbackServer(slow) as server:
        base = ("--base-url", f"compatible={server.url}")
        with process(place, "Tea?", *AGENTS, *base) as running:
            slow.wait_for(2, running)
            told(running, 4)
            with process(place, "watch", "last") as watching:
                seen = told(watching, 4)
                running.kill()
                running.wait(timeout=20)
                asked = len(server.seen)
                assert watching.stderr is not None
                said = [watching.stderr.readline() for _ in range(3)]
                assert "its process is gone. Resume: roundtable resume" in said[1]
                slow.quick = 10**6
                resumed = command("resume", "last", *base)
                assert resumed.code == 0, resumed.both
                rest, err = watching.communicate(timeout=30)
        assert len(server.seen) == asked + 2  # of six answers four were stored
    assert watching.returncode == 0, err
    assert "Answer: Tea" in rest
    assert (seen + rest).count("Agreement 1.00") == 2
    assert command("export", "last", "--html", "debate.html").code == 0
    page = (place / "debate.html").read_text("utf-8")
    assert all(f"Tea {number}" in page for number in range(1, 5))
