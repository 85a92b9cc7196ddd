"""What a tool works with while it answers one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from roundtable.api.desks import Desk
    from roundtable.mcp.following import Progress
    from roundtable.types import ContextRequest

__all__ = ["Call"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    desk: Desk
    """Table and running debates of the user who calls."""
    progress: Progress
    """Tells the caller how far it is."""
    heartbeat_s: float
    """Seconds after which a caller who waits hears something."""
    ask: Callable[[Sequence[tuple[ContextRequest, str]]], Awaitable[dict[str, str | None]]]
    """Puts requests, each with the name of the agent that asks, to the user; gives answers by the id of the request,
    `None` for one that was refused, and nothing where the client cannot ask its user."""
