"""Personas for agents that share one model, so that they do not all say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.core.mode.base import RoleBasedModeStrategy
from roundtable.core.types.agents import AgentConfig, Persona
from roundtable.modes import ModeRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.protocols import DebateModeStrategy

__all__ = ["GENERAL_PERSONAS", "personas_for", "seat_personas"]

GENERAL_PERSONAS: Final = (
    Persona(name="Synthesizer", description="You look for what different views have in common."),
    Persona(name="Analyst", description="You ask for evidence and numbers before you agree."),
    Persona(name="Skeptic", description="You look for what could go wrong and who would pay for it."),
    Persona(name="Pragmatist", description="You care about what works with the people and the money at hand."),
    Persona(name="Visionary", description="You think about where this leads in ten years."),
)
"""Personas for modes without their own, in the order in which seats are filled."""


def personas_for(count: int, mode: DebateModeStrategy | str | None = None) -> tuple[Persona | None, ...]:
    """Return the persona of each seat.

    Args:
        count: Number of seats at the table.
        mode: The mode, or the name of a built-in mode; if left out, the general personas are used.

    Returns:
        One persona per seat; `None` in Delphi, where nothing may identify the participants.

    Example:
        >>> [persona.name for persona in personas_for(3, "devils-advocate")]
        ['Advocate', 'Challenger', 'Evaluator']
    """
    strategy = _strategy(mode) if isinstance(mode, str) else mode
    own: Sequence[Persona | None] = ()
    if isinstance(strategy, RoleBasedModeStrategy):
        roles = [strategy.role_config(strategy.get_role_for_index(index, count)) for index in range(count)]
        own = [role.persona or GENERAL_PERSONAS[index % len(GENERAL_PERSONAS)] for index, role in enumerate(roles)]
    elif strategy is not None:
        own = getattr(strategy, "personas", ())
    personas = own or GENERAL_PERSONAS
    return tuple(personas[index % len(personas)] for index in range(count))


def _strategy(name: str) -> DebateModeStrategy | None:
    registry = ModeRegistry()
    return registry.get_mode(name) if registry.has_mode(name) else None


def seat_personas(
    seats: Sequence[tuple[str, str | None]], mode: DebateModeStrategy | str | None = None
) -> tuple[AgentConfig, ...]:
    """Return the configuration of an agent for each seat; the agents differ by persona.

    Args:
        seats: Provider and model of each seat; the first persona goes to the first seat, and so on.
        mode: The mode of the debate, so that no persona contradicts a role.

    Example:
        >>> [agent.id for agent in seat_personas([("local", None), ("local", None)])]
        ['synthesizer', 'analyst']
    """
    agents: list[AgentConfig] = []
    count_by_name: dict[str, int] = {}
    for number, persona in enumerate(personas_for(len(seats), mode), start=1):
        name = persona.name if persona else f"Panelist {number}"
        count_by_name[name] = count_by_name.get(name, 0) + 1
        repetition = count_by_name[name] if count_by_name[name] > 1 else 0
        provider, model = seats[number - 1]
        agents.append(
            AgentConfig(
                id=name.lower().replace(" ", "-") + (f"-{repetition}" if repetition else ""),
                name=name + (f" {repetition}" if repetition else ""),
                provider=provider,
                model=model,
                persona=persona,
            )
        )
    return tuple(agents)
