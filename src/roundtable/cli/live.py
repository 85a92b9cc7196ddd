"""The live view at the bottom of the terminal: who is thinking, who answered what, and the agreement."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from roundtable.cli.event_printer import Doing, EventPrinter

__all__ = ["live_view", "picture"]

STYLES = {"waiting": "dim", "answered": "green", "failed": "red"}


def live_view(story: EventPrinter, console: Console) -> Live:
    """Create a view that refreshes itself; on exit the view disappears, and the lines above it stay."""
    return Live(
        get_renderable=lambda: picture(story, time.monotonic()),
        console=console,
        refresh_per_second=8,
        transient=True,
    )


def picture(story: EventPrinter, now: float) -> Group:
    """Draw what each agent is doing at the time `now`."""
    levels = ", ".join(story.levels)
    title = f"{story.title} · agreement so far: {levels}" if levels else story.title
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True, max_width=24, overflow="ellipsis")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for doing in story.doing:
        table.add_row(Text(doing.name), _state(doing, now), Text(doing.position, style="dim"))
    return Group(Text(title, style="bold", no_wrap=True, overflow="ellipsis"), table)


def _state(doing: Doing, now: float) -> Text:
    seconds = "" if doing.since_s is None else f" {now - doing.since_s:.0f} s"
    return Text(doing.state + seconds, style=STYLES.get(doing.state, "yellow"))
