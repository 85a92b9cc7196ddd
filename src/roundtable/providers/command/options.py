"""What is asked of a command-line agent, checked before anything is started."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from roundtable.errors import ConfigurationError
from roundtable.types.base import Value

__all__ = [
    "CliAgentResponse",
    "ResumeOptions",
    "SpawnOptions",
    "check_model",
    "check_prompt",
    "check_session",
    "is_session",
]

_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")
_LONGEST_PROMPT: Final = 100_000
_LONGEST_NAME: Final = 200
_DAY_S: Final = 86_400.0


def _folder(given: str | None) -> str | None:
    if given is not None and not (Path(given).is_absolute() and Path(given).is_dir()):
        msg = "the working directory must be the absolute path of a folder"
        raise ValueError(msg)
    return given


def _model(given: str) -> str:
    if not given.strip() or given.startswith("-") or not given.isprintable() or len(given) > _LONGEST_NAME:
        msg = "a model is named by a word such as 'opus', 'sonnet' or 'haiku'"
        raise ValueError(msg)
    return given


Folder = Annotated[str | None, AfterValidator(_folder)]
Model = Annotated[str, Field(max_length=_LONGEST_NAME), AfterValidator(_model)]
Seconds = Annotated[float, Field(gt=0, le=_DAY_S)]
Turns = Annotated[int, Field(ge=1, le=10_000)]
Usd = Annotated[float, Field(gt=0)]


class SpawnOptions(Value):
    """What a new agent is like.

    Example:
        >>> SpawnOptions(model="sonnet", max_budget_usd=1.0, system_prompt="").timeout_s
        600.0
    """

    model: Model
    """`opus`, `sonnet`, `haiku`, or the full name of a model."""
    max_budget_usd: Usd
    """Most it may spend, in US dollars; above 0. The program keeps to it."""
    system_prompt: str
    """Who it is; may be empty."""
    max_turns: Turns | None = None
    """Steps it may take; `DEFAULT_MAX_TURNS` of the model, or 8, when left out."""
    timeout_s: Seconds = 600.0
    """Seconds until it is ended."""
    cwd: Folder = None
    """The folder it works in, as an absolute path; this process's when left out."""
    yolo: bool = False
    """Whether it may do everything without asking (`--dangerously-skip-permissions`)."""


class ResumeOptions(Value):
    """What may differ when an agent goes on; model and system prompt are those it was spawned with."""

    max_turns: Turns = 8
    """Steps it may take."""
    timeout_s: Seconds = 600.0
    """Seconds until it is ended."""
    cwd: Folder = None
    """The folder it works in, as an absolute path; this process's when left out."""
    max_budget_usd: Usd | None = None
    """Most it may spend, in US dollars."""
    yolo: bool = False
    """Whether it may do everything without asking."""


class CliAgentResponse(Value):
    """What an agent answered."""

    content: str
    """The answer."""
    session_id: str
    """What to give `resume_agent`."""
    cost_usd: float
    """What the call cost in US dollars, tries that failed included where they say; 0 where it says nothing."""
    duration_ms: float
    """Milliseconds from the start of the operation to its end, waits included."""


def check_prompt(prompt: str) -> None:
    """Refuse a prompt that cannot be one.

    Raises:
        ConfigurationError: It is blank, or longer than 100,000 characters.
    """
    if not prompt.strip():
        raise ConfigurationError("the prompt is empty", hint="Say what the agent is to do.")
    if len(prompt) > _LONGEST_PROMPT:
        msg = f"the prompt has {len(prompt):,} characters; at most {_LONGEST_PROMPT:,} are taken"
        raise ConfigurationError(msg, hint="Put long material in a file in the agent's working directory.")


def check_model(name: str) -> None:
    """Refuse what is no name of a model, above all what a program could take for an option; empty leaves it to that.

    Raises:
        ConfigurationError: It is none.
    """
    try:
        _model(name or "any")
    except ValueError as error:
        raise ConfigurationError(f"{error}, not {name[:50]!r}") from None


def is_session(session_id: str) -> bool:
    """Tell whether this can be the id of a session, as the argument of an option.

    Example:
        >>> is_session("5f2e-11"), is_session("--yolo")
        (True, False)
    """
    return bool(_SESSION.fullmatch(session_id))


def check_session(session_id: str) -> None:
    """Refuse what is no session id, above all what a program could take for an option.

    Raises:
        ConfigurationError: It is none.
    """
    if not is_session(session_id):
        msg = f"{session_id[:50]!r} is no session id: letters, digits, '-' and '_', and no '-' first"
        raise ConfigurationError(msg, hint="Give the `session_id` of the response before.")
