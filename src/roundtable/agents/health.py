"""How agents fare: what a registry knows about each, and answers of health checks that are kept for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable._clock import SystemClock
from roundtable.types import AgentInfo

if TYPE_CHECKING:
    from roundtable.protocols import Clock
    from roundtable.types import AgentHealth

__all__ = ["HEALTH_TTL_S", "AgentStatus", "HealthCache"]

HEALTH_TTL_S: Final = 60.0
"""Seconds an answer of a health check is good for."""


class AgentStatus(AgentInfo):
    """An agent as a registry sees it.

    Example:
        >>> AgentStatus(id="ada", name="Ada", provider="openai", model="gpt-5.2", active=False, error="down").error
        'down'
    """

    active: bool
    """Whether it takes part: not switched off, and its last health check, if any, passed."""
    error: str | None = None
    """Why it does not."""


class HealthCache:
    """Keeps what health checks found, so that asking again soon costs no call.

    Args:
        ttl_s: Seconds an answer is good for; one exactly that old still is.
        clock: Where time comes from.

    Example:
        >>> from roundtable.types import AgentHealth
        >>> cache = HealthCache()
        >>> cache.set("ada", AgentHealth(healthy=True))
        >>> cache.get("ada").healthy, cache.get("bo"), len(cache)
        (True, None, 1)
    """

    def __init__(self, ttl_s: float = HEALTH_TTL_S, *, clock: Clock | None = None) -> None:
        self.ttl_s = ttl_s
        self._clock: Clock = clock or SystemClock()
        self._found: dict[str, tuple[AgentHealth, float]] = {}

    def get(self, agent_id: str) -> AgentHealth | None:
        """Give what was found for an agent; `None` when nothing was, or too long ago."""
        health, at = self._found.get(agent_id, (None, 0.0))
        if health is not None and self._clock.monotonic() - at > self.ttl_s:
            del self._found[agent_id]
            return None
        return health

    def set(self, agent_id: str, health: AgentHealth) -> None:
        """Keep what was found just now."""
        self._found[agent_id] = (health, self._clock.monotonic())

    def forget(self, agent_id: str) -> None:
        """Drop what is kept about an agent."""
        self._found.pop(agent_id, None)

    def clear(self) -> None:
        """Drop everything."""
        self._found.clear()

    def __len__(self) -> int:
        return len(self._found)
