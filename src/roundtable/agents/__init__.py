"""Agents: the template, the registry, the personas, and the agents of the providers."""

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
    "MODE_PERSONAS",
    "ROLE_PERSONAS",
    "AgentFactory",
    "AgentRegistry",
    "BaseAgent",
    "ChatGPTAgent",
    "ClaudeAgent",
    "GeminiAgent",
    "PerplexityAgent",
    "PerplexitySearchOptions",
    "config_of",
    "create_chatgpt_agent",
    "create_claude_agent",
    "create_gemini_agent",
    "create_perplexity_agent",
    "get_global_registry",
    "personas_for",
    "reset_global_registry",
    "seat_personas",
]
