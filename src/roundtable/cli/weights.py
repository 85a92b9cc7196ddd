"""The weights of the embedded model: where they are, and fetching them before they are needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio.to_thread

from roundtable.cli.codes import ExitCode
from roundtable.cli.lines import line
from roundtable.cli.signals import interruptible
from roundtable.errors import RoundtableError
from roundtable.providers.local import SMOLLM2, LocalProvider, find_weights
from roundtable.providers.local.download import Fetch
from roundtable.providers.local.weights import check_weights, fetch_weights

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.api import Roundtable
    from roundtable.cli.desk import Desk
    from roundtable.cli.screen import Screen
    from roundtable.settings import Settings

__all__ = ["install_weights", "tell_progress"]


def tell_progress(table: Roundtable, screen: Screen) -> None:
    """Have a model that is fetched on first use say on the screen how far that is."""
    provider = table.wiring.catalog.providers.get("local")
    if isinstance(provider, LocalProvider):
        provider.progress = screen.progress


async def install_weights(desk: Desk) -> ExitCode:
    """Fetch the embedded model unless it is there, and check it."""
    screen, settings = desk.screen, desk.settings
    found = find_weights(SMOLLM2, settings)
    if found is None:
        outcome = await interruptible(lambda: _fetched(settings, screen), screen)
        if outcome.value is None:
            screen.error(RoundtableError("interrupted; nothing was kept", code=outcome.code.name))
            return outcome.code
        path = outcome.value
    else:
        path = found
        await anyio.to_thread.run_sync(check_weights, path, SMOLLM2)
    if screen.as_json:
        screen.data({"path": str(path), "sha256": SMOLLM2.sha256, "fetched": found is None})
    else:
        state = "is there already" if found else "was fetched"
        screen.show([line(f"The embedded model {state}: {path}")])
    return ExitCode.OK


async def _fetched(settings: Settings, screen: Screen) -> Path:
    stopped = threading.Event()
    try:
        return await anyio.to_thread.run_sync(
            fetch_weights, SMOLLM2, settings, Fetch(screen.progress), stopped, abandon_on_cancel=True
        )
    finally:
        stopped.set()
