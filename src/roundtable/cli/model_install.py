"""Download the weights of the embedded model before they are needed, and show progress."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from roundtable.cli.event_printer import line
from roundtable.cli.exit_codes import ExitCode
from roundtable.cli.signals import interruptible
from roundtable.core.errors import RoundtableError
from roundtable.providers.local import SMOLLM2, find_weights
from roundtable.providers.local.weights import Fetch, check_weights, fetch_weights

if TYPE_CHECKING:
    from pathlib import Path

    from roundtable.api import Roundtable
    from roundtable.cli.context import CommandContext
    from roundtable.cli.render import Screen
    from roundtable.settings import Settings

__all__ = ["install_weights", "show_progress"]


def show_progress(table: Roundtable, screen: Screen) -> None:
    """Show download progress on the screen, for models that are downloaded before their first call."""
    for info in table.catalog.provider_infos():
        if info.downloads:
            # A built-in factory is loaded when it is asked for an attribute, which `isinstance` of a protocol is not.
            show = getattr(table.catalog.providers.get(info.name), "show_progress", None)
            if show is not None:
                show(partial(screen.progress, what=info.stand_in or f"a model of {info.label}"))


async def install_weights(context: CommandContext) -> ExitCode:
    """Download the embedded model unless it is installed, and check it."""
    screen, settings = context.screen, context.settings
    existing = find_weights(SMOLLM2, settings)
    if existing is None:
        outcome = await interruptible(lambda: _fetch(settings, screen), screen)
        if outcome.value is None:
            screen.error(RoundtableError("interrupted; nothing was saved", code=outcome.code.name))
            return outcome.code
        path = outcome.value
    else:
        path = existing
        await anyio.to_thread.run_sync(check_weights, path, SMOLLM2)
    if screen.as_json:
        screen.data({"path": str(path), "sha256": SMOLLM2.sha256, "fetched": existing is None})
    else:
        state = "is already installed" if existing else "was downloaded"
        screen.show([line(f"The embedded model {state}: {path}", wraps=False)])
    return ExitCode.OK


async def _fetch(settings: Settings, screen: Screen) -> Path:
    stopped = threading.Event()
    try:
        return await anyio.to_thread.run_sync(
            fetch_weights, SMOLLM2, settings, Fetch(screen.progress), stopped, abandon_on_cancel=True
        )
    finally:
        stopped.set()
