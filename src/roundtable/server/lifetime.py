"""What a server has while it runs: made before the first request, left in order after the last."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from roundtable.api.desks import Desks
from roundtable.auth.values import values_of
from roundtable.server.exposition import GAUGES, Exposition
from roundtable.server.health import Readiness
from roundtable.server.limits import Limits, UserLimits
from roundtable.server.state import ServerState
from roundtable.server.streams import Streams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from fastapi import FastAPI

    from roundtable.api import Roundtable
    from roundtable.protocols import SleepingClock
    from roundtable.server.figures import Figures
    from roundtable.server.pages.entrance import Entrance
    from roundtable.server.state import ServerOptions

__all__ = ["lifetime"]


def lifetime(
    table: Roundtable, entrance: Entrance, figures: Figures, clock: SleepingClock, options: ServerOptions
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Give what FastAPI enters before the first request; endpoints find the objects by `state_of`.

    Raises:
        ConfigurationError: The storage keeps no values beside sessions.
    """
    values = values_of(table.wiring.storage, "limits")
    chosen = options.get("limits") or Limits.from_settings(table.wiring.settings)
    limits = UserLimits(values, chosen, clock=clock, refused=figures.refused)

    @asynccontextmanager
    async def alive(app: FastAPI) -> AsyncGenerator[None]:
        # Desks are left before limits and figures: what ran at them has ended when its places are given back.
        async with (
            figures.open(),
            limits.open(),
            Desks(lambda tenant: table.for_tenant(tenant, observers=[figures])) as desks,
            Streams(limits.limits, options, figures.refused) as streams,
        ):
            looks = {"conversations_running": lambda: limits.running, "streams_open": lambda: len(streams)}
            gauges = {name: (what, looks[name]) for name, what in GAUGES.items()}
            app.state.roundtable = ServerState(
                table=table,
                desks=desks,
                entrance=entrance,
                limits=limits,
                clock=clock,
                streams=streams,
                figures=figures,
                exposition=Exposition(figures.total, gauges),
                readiness=Readiness(values),
                options=options,
            )
            yield
        await table.aclose()

    return alive
