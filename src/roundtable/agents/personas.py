"""Points of view for agents that share one model, so that a debate is not a chorus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.types import AgentConfig, Persona

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GENERAL_PERSONAS", "seat_personas"]

GENERAL_PERSONAS: Final = (
    Persona(name="Synthesizer", description="You look for what different views have in common."),
    Persona(name="Analyst", description="You ask for evidence and numbers before you agree."),
    Persona(name="Skeptic", description="You look for what could go wrong and who would pay for it."),
    Persona(name="Pragmatist", description="You care about what works with the people and the money at hand."),
    Persona(name="Visionary", description="You think about where this leads in ten years."),
)
"""Personas for any mode, in the order seats are filled."""


def seat_personas(seats: Sequence[tuple[str, str | None]]) -> tuple[AgentConfig, ...]:
    """Fill seats with agents that differ by persona.

    Args:
        seats: Provider and model of each seat; the first persona goes to the first seat, and so on.

    Example:
        >>> [agent.id for agent in seat_personas([("local", None), ("local", None)])]
        ['synthesizer', 'analyst']
    """
    agents = []
    for place, (provider, model) in enumerate(seats):
        turn, index = divmod(place, len(GENERAL_PERSONAS))
        persona = GENERAL_PERSONAS[index]
        suffix = f"-{turn + 1}" if turn else ""
        agents.append(
            AgentConfig(
                id=persona.name.lower() + suffix,
                name=persona.name + suffix.replace("-", " "),
                provider=provider,
                model=model,
                persona=persona,
            )
        )
    return tuple(agents)
