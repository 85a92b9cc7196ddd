"""Spawning and resuming command-line agents, as the TypeScript API had it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from roundtable.gateway import Gateway
from roundtable.providers.command.calls import Call, make_call
from roundtable.providers.command.options import (
    CliAgentResponse,
    ResumeOptions,
    SpawnOptions,
    check_prompt,
    check_session,
)
from roundtable.providers.command.profiles import CLAUDE
from roundtable.providers.whole import WholeAnswers
from roundtable.types import ChatRequest, ChatResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.providers.command.profiles import CommandProfile

__all__ = ["resume_agent", "spawn_agent"]

_BOUNDARY = Gateway()
"""What calls without a gateway of their own share: one breaker for all of them, as the TypeScript API has it."""


async def spawn_agent(
    prompt: str,
    options: SpawnOptions,
    *,
    profile: CommandProfile = CLAUDE,
    gateway: Gateway | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> CliAgentResponse:
    """Start a command-line agent and wait for its answer.

    A call that crashes, times out or meets a rate limit or the network is tried three times more, after 1, 2 and 4
    seconds; after five such failures within a minute, calls fail at once for a minute. What is asked is checked before.

    Args:
        prompt: What it is to do; 1 to 100,000 characters.
        options: What it is like.
        profile: Which agent; Claude when left out.
        gateway: Whose retries and breaker hold; one that all calls share when left out.
        on_progress: Hears pieces of its output as they come.

    Raises:
        ConfigurationError: The prompt cannot be one.
        RoundtableError: The agent is not installed, failed, or gave no answer; `hint` says what helps.
    """
    check_prompt(prompt)
    call = Call(
        profile=profile,
        prompt=prompt,
        model=options.model,
        system=options.system_prompt,
        turns=options.max_turns or profile.max_turns(options.model),
        budget_usd=options.max_budget_usd,
        timeout_s=options.timeout_s,
        cwd=options.cwd,
        yolo=options.yolo,
    )
    return await _guarded(call, gateway, on_progress)


async def resume_agent(
    session_id: str,
    prompt: str,
    options: ResumeOptions | None = None,
    *,
    profile: CommandProfile = CLAUDE,
    gateway: Gateway | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> CliAgentResponse:
    """Go on with a command-line agent; see `spawn_agent`.

    Args:
        session_id: The `session_id` of its last response.
        prompt: What it is to do now.
        options: What differs.
        profile: Which agent; Claude when left out.
        gateway: Whose retries and breaker hold; one that all calls share when left out.
        on_progress: Hears pieces of its output as they come.

    Raises:
        ConfigurationError: The prompt or the session id cannot be one.
        RoundtableError: The agent is not installed, failed, or gave no answer.
    """
    check_session(session_id)
    check_prompt(prompt)
    chosen = options or ResumeOptions()
    call = Call(
        profile=profile,
        prompt=prompt,
        session=session_id,
        turns=chosen.max_turns,
        budget_usd=chosen.max_budget_usd,
        timeout_s=chosen.timeout_s,
        cwd=chosen.cwd,
        yolo=chosen.yolo,
    )
    return await _guarded(call, gateway, on_progress)


async def _guarded(call: Call, gateway: Gateway | None, on_progress: Callable[[str], None] | None) -> CliAgentResponse:
    began = monotonic()
    once = _Once(call, on_progress)
    guarded = (gateway or _BOUNDARY).guard(once)
    response = await guarded.complete(ChatRequest(messages=()))
    return CliAgentResponse(
        content=response.text,
        session_id=once.session_id,
        cost_usd=response.usage.cost_usd or 0.0,
        duration_ms=(monotonic() - began) * 1000,
    )


class _Once(WholeAnswers):
    """One call as a model, so that it passes the gateway; spawned and resumed agents share their state there."""

    def __init__(self, call: Call, on_progress: Callable[[str], None] | None) -> None:
        self.provider = call.profile.name
        self.model = call.profile.program
        self.profile = call.profile.profile
        self.session_id = ""
        self._call = call
        self._on_progress = on_progress

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Make the call."""
        reply = await make_call(self._call, on_progress=self._on_progress)
        self.session_id = reply.session_id
        return ChatResponse(text=reply.text, usage=reply.usage)

    async def aclose(self) -> None:
        """Do nothing; a call leaves nothing behind."""
