"""Health of agents: a small test call, the status in a registry, and a cache of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.base.clock import SystemClock
from roundtable.core.base.text import error_text
from roundtable.core.chat_models import make_ready, with_one_try
from roundtable.core.types.agents import AgentHealth, AgentInfo
from roundtable.core.types.chat import ChatRequest, Message
from roundtable.gateway import Gateway

if TYPE_CHECKING:
    from roundtable.core.protocols import ChatModel, Clock

__all__ = ["HEALTH_TIMEOUT_S", "HEALTH_TTL_S", "AgentStatus", "HealthCache", "check_health"]

HEALTH_TIMEOUT_S: Final = 15.0
"""Seconds that a model has to answer a health check; the time to download and load the model does not count."""

HEALTH_TTL_S: Final = 60.0
"""Seconds for which the result of a health check is valid."""


class AgentStatus(AgentInfo):
    """An agent in a registry, and whether it is active.

    Example:
        >>> AgentStatus(id="ada", name="Ada", provider="openai", model="gpt-5.2", active=False, error="down").error
        'down'
    """

    active: bool
    """Whether the agent takes part: it is not deactivated, and its last health check, if any, succeeded."""
    error: str | None = None
    """Why the agent does not take part."""


class HealthCache:
    """Cache for results of health checks, so that another check soon after costs no call.

    Args:
        ttl_s: Seconds for which a result is valid; a result of exactly this age is still valid.
        clock: Source of time.

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
        self._results: dict[str, tuple[AgentHealth, float]] = {}

    def get(self, agent_id: str) -> AgentHealth | None:
        """Return the last result for an agent; `None` if there is none, or if it has expired."""
        health, checked_at = self._results.get(agent_id, (None, 0.0))
        if health is not None and self._clock.monotonic() - checked_at > self.ttl_s:
            del self._results[agent_id]
            return None
        return health

    def is_good_since(self, agent_id: str, moment: float) -> bool:
        """Check whether an agent's last check succeeded and took place after `moment`, in the clock's `monotonic`."""
        health, checked_at = self._results.get(agent_id, (None, 0.0))
        return health is not None and health.healthy and checked_at > moment

    def set(self, agent_id: str, health: AgentHealth) -> None:
        """Store a new result, with the current time."""
        self._results[agent_id] = (health, self._clock.monotonic())

    def forget(self, agent_id: str) -> None:
        """Drop the result for an agent."""
        self._results.pop(agent_id, None)

    def clear(self) -> None:
        """Drop all results."""
        self._results.clear()

    def __len__(self) -> int:
        return len(self._results)


async def check_health(model: ChatModel, name: str, agent_id: str) -> AgentHealth:
    """Ask a model for one word, without retries: a caller that waits for the result can retry, or try another model.

    Errors are reported in the result, never raised.

    Args:
        model: The model that is asked.
        name: Model id of the request.
        agent_id: Id of the agent that is checked.
    """
    request = ChatRequest(
        model=name,
        messages=(Message(role="user", content="Reply with OK."),),
        max_tokens=16,
        temperature=None,
        search=model.profile.no_search,
        metadata={"agent": agent_id},
    )
    try:
        await make_ready(model)
        await with_one_try(model, HEALTH_TIMEOUT_S, Gateway().guard).complete(request)
    except Exception as error:  # noqa: BLE001  (a health check reports every error)
        return AgentHealth(healthy=False, error=error_text(error) or type(error).__name__)
    return AgentHealth(healthy=True)
