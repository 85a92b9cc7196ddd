"""Agents that say what they are told to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roundtable.agents import BaseAgent
from roundtable.providers.scripted import Delay, ScriptedModel
from roundtable.types import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.providers.scripted import Reply

__all__ = ["Delay", "ScriptedModel", "scripted_agents"]


def scripted_agents(
    says: Mapping[str, Reply | Sequence[Reply]], *, confidence: float = 0.8, chunks: int = 0
) -> list[BaseAgent]:
    """Make one agent per entry.

    A plain text is a position, and becomes an answer that is complete: one call a turn, and no second try. To
    script the very text of a model, well-formed or not, use `ScriptedModel`.

    Args:
        says: Agent id to what it says: one reply for every round, or a sequence with one for each. A reply is
            a plain text, or anything else that `ScriptedModel` takes; a text that begins with `{` is passed on.
        confidence: Confidence that goes with plain texts.
        chunks: In how many pieces each answer is streamed; 0 gives it whole.

    Example:
        >>> agents = scripted_agents({"ada": "Tea", "bo": ["Coffee", "Tea"]})
        >>> [agent.name for agent in agents]
        ['Ada', 'Bo']
    """
    agents = []
    for agent_id, said in says.items():
        script: Reply | list[Reply]
        if isinstance(said, Sequence) and not isinstance(said, str):
            script = [_answer(reply, agent_id, confidence) for reply in said]
        else:
            script = _answer(said, agent_id, confidence)
        config = AgentConfig(id=agent_id, name=agent_id.title(), provider="scripted", model="scripted")
        agents.append(BaseAgent(config, ScriptedModel({agent_id: script}, chunks=chunks)))
    return agents


def _answer(reply: Reply, agent_id: str, confidence: float) -> Reply:
    if isinstance(reply, Delay):
        return Delay(reply.seconds, _answer(reply.reply, agent_id, confidence))
    if not isinstance(reply, str) or reply.lstrip().startswith("{"):
        return reply
    return {"position": reply, "reasoning": f"{agent_id} thinks so.", "confidence": confidence}
