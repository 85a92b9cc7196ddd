"""Command-line agents: programs such as `claude` that answer questions on this machine.

In a debate they are models like any other: `claude-cli:sonnet`, `codex-cli`, `gemini-cli`, `command:mytool`. By
themselves they are spawned and resumed:

    from roundtable.providers.command import SpawnOptions, resume_agent, spawn_agent

    first = await spawn_agent("Name a fruit.", SpawnOptions(model="haiku", max_budget_usd=0.1, system_prompt=""))
    then = await resume_agent(first.session_id, "Name another one.")
"""

from __future__ import annotations

from roundtable.providers.command.agents import resume_agent, spawn_agent
from roundtable.providers.command.binary import find_binary, visible_environment
from roundtable.providers.command.model import CommandModel, CommandProvider, command_providers
from roundtable.providers.command.options import CliAgentResponse, ResumeOptions, SpawnOptions
from roundtable.providers.command.process import KILL_GRACE_S, Finished, run_command
from roundtable.providers.command.profiles import (
    CLAUDE,
    CODEX,
    DEFAULT_MAX_TURNS,
    GEMINI,
    CommandProfile,
    plain_profile,
)
from roundtable.providers.command.readers import CliEnvelope, Reply, parse_output

__all__ = [
    "CLAUDE",
    "CODEX",
    "DEFAULT_MAX_TURNS",
    "GEMINI",
    "KILL_GRACE_S",
    "CliAgentResponse",
    "CliEnvelope",
    "CommandModel",
    "CommandProfile",
    "CommandProvider",
    "Finished",
    "Reply",
    "ResumeOptions",
    "SpawnOptions",
    "command_providers",
    "find_binary",
    "parse_output",
    "plain_profile",
    "resume_agent",
    "run_command",
    "spawn_agent",
    "visible_environment",
]
