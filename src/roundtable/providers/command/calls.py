"""One call of a command-line agent: the six checkpoints, without retries, which the gateway makes."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roundtable._secrets import Scrubber
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    RoundtableError,
)
from roundtable.providers.command.binary import find_binary, visible_environment
from roundtable.providers.command.options import is_session
from roundtable.providers.command.process import run_command
from roundtable.settings import Settings, process_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.providers.command.process import Finished
    from roundtable.providers.command.profiles import CommandProfile
    from roundtable.providers.command.readers import Reply

__all__ = ["SKIPPED", "Call", "Gone", "make_call"]

logger: logging.Logger = logging.getLogger("roundtable.providers.command")

SHOWN_CHARS: Final = 500
LONGEST_WORD_BYTES: Final = 120 * 1024
"""Linux takes 128 KiB in one argument."""
SKIPPED: Final = "permission prompts were skipped: the agent could do whatever it wanted"

_QUOTA: Final = re.compile(r"\b403\b|quota|usage limit|credit balance|billing", re.IGNORECASE)
_KEY: Final = re.compile(r"\b401\b|invalid api key|unauthorized|not logged in|please (?:run )?.?/?login", re.IGNORECASE)
_RATE: Final = re.compile(r"\b429\b|rate.?limit|too many requests|overloaded", re.IGNORECASE)
_LATE: Final = re.compile(r"timeout|timed out|\b504\b", re.IGNORECASE)
_NETWORK: Final = re.compile(
    r"econnrefused|enotfound|econnreset|enetunreach|connection (?:refused|reset)|network (?:is )?unreachable",
    re.IGNORECASE,
)


class Gone(AgentError):
    """The conversation to go on with is not there any more; a fresh one can be begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What one call consists of."""

    profile: CommandProfile
    """Which agent."""
    prompt: str
    """What it reads."""
    model: str = ""
    """Model it uses; empty leaves that to it."""
    system: str = ""
    """Who it is; only of a fresh conversation."""
    session: str = ""
    """Conversation to go on with; empty begins one."""
    turns: int = 0
    """Steps it may take; 0 leaves that to it."""
    budget_usd: float | None = None
    """Most it may spend."""
    timeout_s: float = 600.0
    """Seconds it has."""
    cwd: str | None = None
    """Where it works."""
    yolo: bool = False
    """Whether it may do whatever it wants."""

    @property
    def _has_option_for_system(self) -> bool:
        """Whether who it is goes into an option: not where it has none, nor what no single word can hold."""
        fits = len(self.system.encode("utf-8", "replace")) <= LONGEST_WORD_BYTES and "\0" not in self.system
        return bool(self.system and self.profile.system) and fits

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments; nothing that was made up by a user or a model is among them but as the value of an option."""
        profile = self.profile
        template = profile.resume if self.session else profile.start
        made = [*profile.words(template, model=self.model, session=self.session, turns=self.turns)]
        extra: list[str] = []
        if self._has_option_for_system and not self.session:
            # One word, so that a prompt that begins with a dash is no option.
            extra.append(f"{profile.system}={self.system}")
        if self.budget_usd is not None and profile.budget:
            extra += [profile.budget, f"{self.budget_usd:g}"]
        if self.yolo and profile.skip_permissions:
            extra.append(profile.skip_permissions)
        last = [made.pop()] if made and made[-1] == "-" else []
        return (*made, *extra, *last)

    @property
    def stdin(self) -> str:
        """What it reads: the prompt, behind who it is where it has no option for that."""
        alone = not self.system or self.session or self._has_option_for_system
        return self.prompt if alone else f"{self.system}\n\n{self.prompt}"


async def make_call(
    call: Call,
    *,
    environment: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Reply:
    """Start the agent, wait for it, and read what it wrote.

    Raises:
        RoundtableError: It is not installed, did not end well or in time, or wrote no answer.
        Gone: The conversation to go on with is not there.
    """
    variables = process_environment() if environment is None else environment
    try:
        return await _make_call(call, variables, on_progress)
    except RoundtableError as error:
        # Programs repeat keys in what they complain about.
        error.message = Scrubber(Settings(environment=variables).secrets).text(error.message)
        error.args = (error.message,)
        raise


async def _make_call(call: Call, variables: Mapping[str, str], on_progress: Callable[[str], None] | None) -> Reply:
    profile = call.profile
    file = find_binary(profile, path=variables.get("PATH"))
    if call.yolo:
        logger.warning("%s: %s", profile.name, SKIPPED, extra={"provider": profile.name})
    finished = await run_command(
        (file, *call.words),
        stdin=call.stdin,
        timeout_s=call.timeout_s,
        environment=visible_environment(profile, variables),
        cwd=call.cwd,
        title=profile.title,
        on_progress=on_progress,
    )
    reply = _read(call, finished)
    if reply.failed:
        _raise_gone(call, reply.text)
        error = AgentError(f"{profile.title} agent error: {reply.text[:SHOWN_CHARS]}", hint=_agent_hint(reply.text))
        error.usage = reply.usage
        raise error
    # What a program writes may be what a model made up, and the next call puts the id among the arguments.
    return reply if is_session(reply.session_id) else reply._replace(session_id="")


def _read(call: Call, finished: Finished) -> Reply:
    profile = call.profile
    if finished.code != 0:
        # A program that stops for a reason of its own says so in its answer, whatever its exit code.
        try:
            reply = profile.read(finished.stdout)
        except AgentError:
            reply = None
        if reply is not None and reply.failed:
            return reply
        _raise_gone(call, finished.stderr + finished.stdout)
        raise _ended_badly(profile, finished)
    return profile.read(finished.stdout)


def _raise_gone(call: Call, text: str) -> None:
    said = text.lower()
    if call.session and any(words in said for words in call.profile.gone):
        raise Gone(f"{call.profile.title} has no conversation {call.session!r} any more")


def _ended_badly(profile: CommandProfile, finished: Finished) -> RoundtableError:
    """Say what kind of trouble a program met, by its own words."""
    said = finished.stderr.strip()[:SHOWN_CHARS]
    message, details = f"{profile.title} exited {finished.code}: {said}", {"exit_code": finished.code}
    if _QUOTA.search(said):
        return AgentError(message, details=details, hint="The account has nothing left; see the vendor's console.")
    if _KEY.search(said):
        return APIAuthError(
            message, details=details, hint=f"Log in with the program {profile.program!r}, or set its key."
        )
    if _RATE.search(said):
        return APIRateLimitError(message, details=details)
    if _LATE.search(said):
        return APITimeoutError(message, details=details)
    if _NETWORK.search(said):
        return APINetworkError(message, details=details)
    hint = f"Run {profile.program!r} by hand to see what it says; check model, budget and login."
    return AgentError(message, retryable=True, details=details, hint=hint)


def _agent_hint(text: str) -> str:
    if "max_turns" in text:
        return "Raise `max_turns`, or ask for less."
    if "budget" in text.lower():
        return "Raise `max_budget_usd`, or ask for less."
    return "This is what the agent itself reports; ask for something else, or look at its own log."
