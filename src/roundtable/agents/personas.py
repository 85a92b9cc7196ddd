"""Personas for agents that share one model, so that they do not all say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.modes import ModeRegistry, RoleBasedModeStrategy
from roundtable.types import AgentConfig, Persona

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.protocols import DebateModeStrategy

__all__ = ["GENERAL_PERSONAS", "MODE_PERSONAS", "ROLE_PERSONAS", "personas_for", "seat_personas"]

GENERAL_PERSONAS: Final = (
    Persona(name="Synthesizer", description="You look for what different views have in common."),
    Persona(name="Analyst", description="You ask for evidence and numbers before you agree."),
    Persona(name="Skeptic", description="You look for what could go wrong and who would pay for it."),
    Persona(name="Pragmatist", description="You care about what works with the people and the money at hand."),
    Persona(name="Visionary", description="You think about where this leads in ten years."),
)
"""Personas for any mode, in the order in which seats are filled."""

MODE_PERSONAS: Final[Mapping[str, tuple[Persona, ...]]] = {
    "adversarial": (
        Persona(name="Proponent", description="You build the case for a bold answer and defend it."),
        Persona(name="Opponent", description="You build the case against it and press where it is weak."),
    ),
    "socratic": (
        Persona(name="Questioner", description="You ask what words mean and what they rest on."),
        Persona(name="Examiner", description="You follow an answer to where it leads and ask whether that holds."),
    ),
    "expert-panel": (
        Persona(name="Domain Expert", description="You know the field and its evidence from inside."),
        Persona(name="Generalist", description="You connect the field with what lies around it."),
        Persona(name="Skeptic", description="You look for what could go wrong and who would pay for it."),
        Persona(name="Innovator", description="You look for a way nobody has tried."),
    ),
}
"""Personas by mode. Modes with roles use `ROLE_PERSONAS`; all other modes use the general personas."""

ROLE_PERSONAS: Final[Mapping[str, Persona]] = {
    "primary": Persona(name="Advocate", description="You make the case for the proposal."),
    "opposition": Persona(name="Challenger", description="You make the case against the proposal."),
    "evaluator": Persona(name="Evaluator", description="You weigh both cases and judge."),
    "red": Persona(name="Red Team", description="You think like somebody who wants the plan to fail."),
    "blue": Persona(name="Blue Team", description="You think like somebody who has to keep the plan alive."),
    "proposition": Persona(name="Proponent", description="You speak for the motion."),
}
"""Personas by role, for modes that give roles to seats: a persona never contradicts the role of its seat."""

_OPPOSED: Final = Persona(name="Opponent", description="You speak against the motion.")


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
    if strategy is not None and strategy.name == "delphi":
        return (None,) * count
    if isinstance(strategy, RoleBasedModeStrategy):
        roles = [strategy.get_role_for_index(index, count) for index in range(count)]
        return tuple(
            _OPPOSED
            if (strategy.name, role) == ("oxford", "opposition")
            else ROLE_PERSONAS.get(role, GENERAL_PERSONAS[index % len(GENERAL_PERSONAS)])
            for index, role in enumerate(roles)
        )
    personas = MODE_PERSONAS.get(strategy.name, GENERAL_PERSONAS) if strategy is not None else GENERAL_PERSONAS
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
