"""Agents: the base class, the registry, the personas, and one agent class per provider.

The names of `roundtable.compat` are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.agents.base import BaseAgent
from roundtable.agents.callables import from_callable
from roundtable.agents.health import HEALTH_TTL_S, AgentStatus, HealthCache
from roundtable.agents.personas import (
    GENERAL_PERSONAS,
    personas_for,
    seat_personas,
)
from roundtable.agents.registry import (
    AgentFactory,
    AgentRegistry,
    config_of,
    first_synthesizer,
)
from roundtable.agents.synthesis import Synthesizer
from roundtable.core.base.lazy import lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.compat.agents import (
        ChatGPTAgent,
        ClaudeAgent,
        GeminiAgent,
        PerplexityAgent,
        PerplexitySearchOptions,
        create_chatgpt_agent,
        create_claude_agent,
        create_gemini_agent,
        create_perplexity_agent,
    )
    from roundtable.compat.setup import (
        AgentSetup,
        ModelTiers,
        ProviderAvailability,
        check_provider_availability,
        create_default_agents,
        create_light_model_agent,
        get_availability_report,
        get_global_registry,
        reset_global_registry,
        select_preferred_agent,
        setup_agents,
        setup_providers,
    )

__all__ = [
    "GENERAL_PERSONAS",
    "HEALTH_TTL_S",
    "AgentFactory",
    "AgentRegistry",
    "AgentSetup",
    "AgentStatus",
    "BaseAgent",
    "ChatGPTAgent",
    "ClaudeAgent",
    "GeminiAgent",
    "HealthCache",
    "ModelTiers",
    "PerplexityAgent",
    "PerplexitySearchOptions",
    "ProviderAvailability",
    "Synthesizer",
    "check_provider_availability",
    "config_of",
    "create_chatgpt_agent",
    "create_claude_agent",
    "create_default_agents",
    "create_gemini_agent",
    "create_light_model_agent",
    "create_perplexity_agent",
    "first_synthesizer",
    "from_callable",
    "get_availability_report",
    "get_global_registry",
    "personas_for",
    "reset_global_registry",
    "seat_personas",
    "select_preferred_agent",
    "setup_agents",
    "setup_providers",
]

_HOMES = {
    "ChatGPTAgent": ".compat.agents",
    "ClaudeAgent": ".compat.agents",
    "GeminiAgent": ".compat.agents",
    "PerplexityAgent": ".compat.agents",
    "PerplexitySearchOptions": ".compat.agents",
    "create_chatgpt_agent": ".compat.agents",
    "create_claude_agent": ".compat.agents",
    "create_gemini_agent": ".compat.agents",
    "create_perplexity_agent": ".compat.agents",
    "get_global_registry": ".compat.setup",
    "reset_global_registry": ".compat.setup",
    "AgentSetup": ".compat.setup",
    "ModelTiers": ".compat.setup",
    "ProviderAvailability": ".compat.setup",
    "check_provider_availability": ".compat.setup",
    "create_default_agents": ".compat.setup",
    "create_light_model_agent": ".compat.setup",
    "get_availability_report": ".compat.setup",
    "select_preferred_agent": ".compat.setup",
    "setup_agents": ".compat.setup",
    "setup_providers": ".compat.setup",
}

__getattr__: Callable[[str], object]
__dir__: Callable[[], list[str]]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
