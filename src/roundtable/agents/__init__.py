"""Agents: the template, the registry, the personas, and the agents of the providers."""

from roundtable.agents.base import BaseAgent
from roundtable.agents.health import HEALTH_TTL_S, AgentStatus, HealthCache
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
    first_writer,
    get_global_registry,
    reset_global_registry,
)
from roundtable.agents.setup import (
    AgentSetup,
    ModelTiers,
    ProviderAvailability,
    check_provider_availability,
    create_default_agents,
    create_light_model_agent,
    get_availability_report,
    select_preferred_agent,
    setup_agents,
    setup_providers,
)
from roundtable.agents.synthesis import Synthesizer
from roundtable.agents.vendors import (
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

__all__ = [
    "GENERAL_PERSONAS",
    "HEALTH_TTL_S",
    "MODE_PERSONAS",
    "ROLE_PERSONAS",
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
    "first_writer",
    "get_availability_report",
    "get_global_registry",
    "personas_for",
    "reset_global_registry",
    "seat_personas",
    "select_preferred_agent",
    "setup_agents",
    "setup_providers",
]
