"""The agents of auxiliary roles, such as judges; callers choose their models with `seats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.agents import BaseAgent
from roundtable.core.types.agents import AgentConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.protocols import ChatModel

__all__ = ["agents_of"]


def agents_of(seat: str, models: Sequence[ChatModel]) -> tuple[BaseAgent, ...]:
    """Create the agents for one auxiliary role (`seat`), such as the judges; one agent per model."""
    several = len(models) > 1
    return tuple(
        BaseAgent(
            AgentConfig(
                id=f"{seat}-{number}" if several else seat,
                name=f"{seat.title()} {number}" if several else seat.title(),
                provider=model.provider,
                model=model.model,
                temperature=0.0,
                search=False,
            ),
            model,
        )
        for number, model in enumerate(models, start=1)
    )
