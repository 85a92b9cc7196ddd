"""How agents fare: asking one for a word, what a registry knows about each, and answers that are kept for a while."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from roundtable._clock import SystemClock
from roundtable._foreign import error_text
from roundtable.gateway import FallbackModel, Gateway, GuardedModel
from roundtable.gateway.wrapping import make_ready
from roundtable.types import AgentHealth, AgentInfo, ChatRequest, Message

if TYPE_CHECKING:
    from roundtable.protocols import ChatModel, Clock

__all__ = ["HEALTH_TIMEOUT_S", "HEALTH_TTL_S", "AgentStatus", "HealthCache", "checked"]

HEALTH_TIMEOUT_S: Final = 15.0
"""Seconds a model has to answer a health check, once it has fetched and loaded what it needs."""

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


async def checked(model: ChatModel, name: str, agent_id: str) -> AgentHealth:
    """Ask a model for a word, once: whoever waits for the outcome can ask again, or others.

    What is wrong is reported, never raised.

    Args:
        model: Who is asked.
        name: Id of the model that is asked for.
        agent_id: For whom.
    """
    request = ChatRequest(
        model=name,
        messages=(Message(role="user", content="Reply with OK."),),
        max_tokens=16,
        temperature=None,
        metadata={"agent": agent_id},
    )
    try:
        await make_ready(model)
        await _tried_once(Gateway(), model).complete(request)
    except Exception as error:  # noqa: BLE001  (the point of a health check is to report whatever is wrong)
        return AgentHealth(healthy=False, error=error_text(error) or type(error).__name__)
    return AgentHealth(healthy=True)


def _tried_once(gateway: Gateway, model: ChatModel) -> ChatModel:
    """Give a model with one try and a short deadline for each call; each of a fallback's for itself."""
    if isinstance(model, FallbackModel):
        return model.over(partial(_tried_once, gateway))
    guarded = model if isinstance(model, GuardedModel) else gateway.guard(model)
    return guarded.tried_once(HEALTH_TIMEOUT_S)
