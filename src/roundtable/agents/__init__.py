"""Agents: the template, the registry, the personas."""

from roundtable.agents.base import BaseAgent
from roundtable.agents.personas import (
    GENERAL_PERSONAS,
    MODE_PERSONAS,
    ROLE_PERSONAS,
    personas_for,
    seat_personas,
)
from roundtable.agents.registry import (
    AgentFactory,
    AgentRegistry,
    config_of,
    get_global_registry,
    reset_global_registry,
)

__all__ = [
    "GENERAL_PERSONAS",
    "MODE_PERSONAS",
    "ROLE_PERSONAS",
    "AgentFactory",
    "AgentRegistry",
    "BaseAgent",
    "config_of",
    "get_global_registry",
    "personas_for",
    "reset_global_registry",
    "seat_personas",
]
