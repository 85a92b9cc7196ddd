"""Agents that say what they are told to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.agents import BaseAgent
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.providers.scripted import Reply

__all__ = ["Delay", "ScriptedModel", "scripted_agents"]


def scripted_agents(
    says: Mapping[str, str | Reply | Sequence[Reply]], *, confidence: float = 0.8, chunks: int = 0
) -> list[BaseAgent]:
    """Make one agent per entry.

    Args:
        says: Agent id to what it says: a plain text is its position in every round; anything else is a
            reply, or a sequence of replies, of `ScriptedModel`.
        confidence: Confidence that goes with plain texts.
        chunks: In how many pieces each answer is streamed; 0 gives it whole.

    Example:
        >>> [agent.name for agent in scripted_agents({"ada": "Tea", "bo": "Coffee"})]
        ['Ada', 'Bo']
    """
    agents = []
    for agent_id, said in says.items():
        script: Reply | Sequence[Reply] = said
        if isinstance(said, str) and not said.lstrip().startswith("{"):
            script = {"position": said, "reasoning": f"{agent_id} thinks so.", "confidence": confidence}
        config = AgentConfig(id=agent_id, name=agent_id.title(), provider="scripted", model="scripted")
        agents.append(BaseAgent(config, ScriptedModel({agent_id: script}, chunks=chunks)))
    return agents
