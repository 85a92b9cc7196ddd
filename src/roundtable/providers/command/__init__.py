"""Command-line agents: programs on this machine, such as `claude`, that answer questions.

In a debate, they are models like any other: `claude-cli:sonnet`, `codex-cli`, `gemini-cli`, `command:mytool`. Outside
of a debate, start them with `spawn_agent` and continue with `resume_agent`:

    from roundtable.providers.command import SpawnOptions, resume_agent, spawn_agent

    first = await spawn_agent("Name a fruit.", SpawnOptions(model="haiku", max_budget_usd=0.1, system_prompt=""))
    then = await resume_agent(first.session_id, "Name another one.")
"""

from __future__ import annotations

from roundtable.providers.command.model import (
    CommandModel,
    CommandProvider,
    resume_agent,
    spawn_agent,
)
from roundtable.providers.command.parsers import CliEnvelope, Reply, parse_output
from roundtable.providers.command.process import (
    KILL_GRACE_S,
    ProcessResult,
    find_binary,
    run_command,
    visible_environment,
)
from roundtable.providers.command.profiles import (
    CLAUDE,
    CODEX,
    DEFAULT_MAX_TURNS,
    GEMINI,
    CliAgentResponse,
    CommandProfile,
    ResumeOptions,
    SpawnOptions,
    plain_profile,
)

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
    "ProcessResult",
    "Reply",
    "ResumeOptions",
    "SpawnOptions",
    "find_binary",
    "parse_output",
    "plain_profile",
    "resume_agent",
    "run_command",
    "spawn_agent",
    "visible_environment",
]
