"""Profiles of command-line agents: data on how to start and resume an agent, and how to parse its output."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import AfterValidator, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.base import Value
from roundtable.providers.command.parsers import read_claude, read_codex, read_gemini, read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roundtable.providers.command.parsers import Reply

__all__ = [
    "CLAUDE",
    "CODEX",
    "DEFAULT_MAX_TURNS",
    "GEMINI",
    "CliAgentResponse",
    "CommandProfile",
    "ResumeOptions",
    "SpawnOptions",
    "check_model",
    "check_prompt",
    "check_session",
    "is_session",
    "plain_profile",
]

_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{4,199}")
_LONGEST_PROMPT: Final = 100_000
_LONGEST_NAME: Final = 200
_MOST_SHOWN: Final = 80

_HINTS: Final = {
    "model": "Give 'opus', 'sonnet', 'haiku', or the full name of a model that the program knows.",
    "max_budget_usd": "Give an amount in US dollars of at least 0.01.",
    "system_prompt": "Give at most 100,000 characters, or '' for none.",
    "max_turns": "Give a whole number of steps from 1 to 10,000.",
    "timeout_s": "Give seconds from 5 to 3,600.",
    "cwd": "Give the absolute path of a folder that exists, or None for the folder of this process.",
    "yolo": "Give True or False.",
}

DEFAULT_MAX_TURNS: Final = {"opus": 20, "sonnet": 15, "haiku": 8}
"""The most steps of an agent in one call, by model; other models have 8."""

OTHER_MAX_TURNS: Final = 8

_GOOGLE_CLOUD: Final = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "GCLOUD_PROJECT",
    "CLOUDSDK_CONFIG",
)
"""Environment variables for a login to Google Cloud."""


def _folder(path: str | None) -> str | None:
    if path is not None and not (Path(path).is_absolute() and Path(path).is_dir()):
        msg = "must be the absolute path of a folder"
        raise ValueError(msg)
    return path


def _persona(text: str) -> str:
    if text and not text.strip():
        msg = "must be empty, or contain more than white space"
        raise ValueError(msg)
    return text


def _model(name: str) -> str:
    if not name.strip() or name.startswith("-") or not name.isprintable() or len(name) > _LONGEST_NAME:
        msg = "a model is named by a word such as 'opus', 'sonnet' or 'haiku'"
        raise ValueError(msg)
    return name


Folder = Annotated[str | None, AfterValidator(_folder)]
Model = Annotated[str, Field(max_length=_LONGEST_NAME), AfterValidator(_model)]
Persona = Annotated[str, Field(max_length=_LONGEST_PROMPT), AfterValidator(_persona)]
Seconds = Annotated[float, Field(ge=5, le=3600)]
Turns = Annotated[int, Field(ge=1, le=10_000)]
Usd = Annotated[float, Field(ge=0.01)]


class _Options(Value):
    """Base of options; an invalid value raises a `ConfigurationError` with a hint."""

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise _options_error(cls, error) from None


def _options_error(kind: type[Value], error: ValidationError) -> ConfigurationError:
    """Return the error for invalid options: the first invalid field, its value, and a hint."""
    first = error.errors(include_url=False)[0]
    value, location = repr(first["input"]), [str(part) for part in first["loc"]]
    value = value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}..."
    field = next((name for name, info in kind.model_fields.items() if location[:1] in ([name], [info.alias])), "")
    problem = first["msg"].removeprefix("Value error, ")
    name = f"{kind.__name__}.{field or '.'.join(location)}".rstrip(".")
    if first["type"] == "missing":
        value = "nothing"
    takes = f"{kind.__name__} takes: {', '.join(kind.model_fields)}."
    return ConfigurationError(f"{name} is not valid: {problem}, not {value}", hint=_HINTS.get(field, takes))


class SpawnOptions(_Options):
    """Options of a new agent.

    Example:
        >>> SpawnOptions(model="sonnet", max_budget_usd=1.0, system_prompt="").timeout_s
        600.0
    """

    model: Model
    """`opus`, `sonnet`, `haiku`, or the full name of a model."""
    max_budget_usd: Usd
    """Spending limit in US dollars, at least 0.01; enforced by the program."""
    system_prompt: Persona
    """System prompt of at most 100,000 characters; may be empty."""
    max_turns: Turns | None = None
    """The most steps; if left out, the value for the model in `DEFAULT_MAX_TURNS`, or 8."""
    timeout_s: Seconds = 600.0
    """Deadline in seconds, from 5 to 3,600."""
    cwd: Folder = None
    """Working directory, as an absolute path; if left out, the working directory of this process."""
    yolo: bool = False
    """Whether to skip all permission prompts (`--dangerously-skip-permissions`)."""


class ResumeOptions(_Options):
    """Options of a resumed agent; it keeps the model and the system prompt of its `SpawnOptions`."""

    max_turns: Turns = 8
    """The most steps in a call."""
    timeout_s: Seconds = 600.0
    """Deadline in seconds, from 5 to 3,600."""
    cwd: Folder = None
    """Working directory, as an absolute path; if left out, the working directory of this process."""
    max_budget_usd: Usd | None = None
    """Spending limit in US dollars, at least 0.01."""
    yolo: bool = False
    """Whether to skip all permission prompts."""


class CliAgentResponse(Value):
    """Answer of an agent."""

    content: str
    """The answer."""
    session_id: str
    """Session id for `resume_agent`."""
    cost_usd: float
    """Cost in US dollars. It includes failed tries that report a cost; it is 0 if no cost is reported."""
    duration_ms: float
    """Milliseconds from start to end, including waits between tries."""


def check_prompt(prompt: str) -> None:
    """Reject an invalid prompt.

    Raises:
        ConfigurationError: The prompt is blank, not a text, or longer than 100,000 characters.
    """
    if not isinstance(prompt, str):
        raise ConfigurationError(f"the prompt must be a text, not {prompt!r}", hint="Write what the agent should do.")
    if not prompt.strip():
        raise ConfigurationError("the prompt is empty", hint="Write what the agent should do.")
    if len(prompt) > _LONGEST_PROMPT:
        msg = f"the prompt has {len(prompt):,} characters; at most {_LONGEST_PROMPT:,} are allowed"
        raise ConfigurationError(msg, hint="Put long material in a file in the agent's working directory.")


def check_model(name: str) -> None:
    """Reject an invalid model name, especially a name that a program could read as an option. An empty name is valid.

    Raises:
        ConfigurationError: The name is invalid.
    """
    try:
        _model(name or "any")
    except ValueError as error:
        raise ConfigurationError(f"{error}, not {name[:50]!r}", hint=_HINTS["model"]) from None


def is_session(session_id: str) -> bool:
    """Check whether a text can be a session id, and is safe as the argument of an option.

    Example:
        >>> is_session("5f2e-11"), is_session("--yolo")
        (True, False)
    """
    return isinstance(session_id, str) and bool(_SESSION.fullmatch(session_id))


def check_session(session_id: str) -> None:
    """Reject an invalid session id, especially an id that a program could read as an option.

    Raises:
        ConfigurationError: The session id is invalid.
    """
    if not is_session(session_id):
        shown = repr(session_id)[:_MOST_SHOWN]
        msg = f"a session id has 5 to 200 letters, digits, '-' and '_', and does not begin with '-'; got {shown}"
        raise ConfigurationError(msg, hint="Pass the `session_id` of the previous response.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProfile:
    """A command-line agent that reads a prompt from standard input and writes its answer to standard output.

    `start` and `resume` may contain the placeholders `{model}`, `{session}` and `{turns}`. A placeholder without a
    value is left out, together with the option (a word that begins with `-`) before it.

    Example:
        >>> CLAUDE.words(CLAUDE.resume, session="5f2e", turns=8)
        ('-p', '--output-format', 'json', '--resume', '5f2e', '--max-turns', '8')
    """

    name: str
    """Name of the provider."""
    program: str
    """Name of the program on the `PATH`."""
    title: str
    """Name of the agent in messages."""
    install: str = ""
    """Address of the installation guide."""
    start: tuple[str, ...] = ()
    """Arguments that start a conversation."""
    resume: tuple[str, ...] = ()
    """Arguments that resume a conversation; empty if the agent cannot resume one."""
    system: str | None = None
    """Option for the system prompt. If there is none, the system prompt is written in front of the prompt."""
    budget: str | None = None
    """Option for a spending limit in US dollars."""
    skip_permissions: str | None = None
    """Option that skips all permission prompts."""
    sums_usage: bool = False
    """Whether the token counts of a resumed conversation include those of its earlier calls."""
    gone: tuple[str, ...] = ()
    """Messages, in lower case, that report that a conversation no longer exists."""
    environment: tuple[str, ...] = ()
    """Environment variables that the agent gets in addition to the common ones. A name may end in `*` to match a
    prefix."""
    clouds: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], hash=False)
    """Further variables for each cloud. The key is the variable that selects the cloud, such as
    `CLAUDE_CODE_USE_BEDROCK`; the variables are passed only if it is `1`, `true`, `yes` or `on`."""
    read: Callable[[str], Reply] = read_plain
    """Function that parses the standard output of the agent."""
    profile: ModelProfile = field(default_factory=lambda: ModelProfile(context_tokens=200_000))
    """Profile that prompts are written for."""

    def words(
        self, template: tuple[str, ...], *, model: str = "", session: str = "", turns: int = 0
    ) -> tuple[str, ...]:
        """Fill in a template. Each value becomes exactly one argument, whatever characters it contains."""
        values = {"{model}": model, "{session}": session, "{turns}": str(turns or "")}
        arguments: list[str] = []
        for word in template:
            value = values.get(word, word)
            if value:
                arguments.append(value)
            elif arguments and arguments[-1].startswith("-"):
                arguments.pop()
        return tuple(arguments)

    def max_turns(self, model: str) -> int:
        """Return the highest number of steps that an agent may take in one call."""
        return DEFAULT_MAX_TURNS.get(model, OTHER_MAX_TURNS)


CLAUDE: Final = CommandProfile(
    name="claude-cli",
    program="claude",
    title="Claude",
    install="https://claude.ai/cli",
    start=("-p", "--output-format", "json", "--model", "{model}", "--max-turns", "{turns}"),
    resume=("-p", "--output-format", "json", "--resume", "{session}", "--max-turns", "{turns}"),
    system="--append-system-prompt",
    budget="--max-budget-usd",
    skip_permissions="--dangerously-skip-permissions",
    gone=("no conversation found",),
    environment=(
        "ANTHROPIC_*",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_*",
        "CLAUDE_CODE_SKIP_*",
    ),
    # https://code.claude.com/docs/en/env-vars
    clouds={
        "CLAUDE_CODE_USE_BEDROCK": ("AWS_*",),
        "CLAUDE_CODE_USE_MANTLE": ("AWS_*",),
        "CLAUDE_CODE_USE_ANTHROPIC_AWS": ("AWS_*",),
        "CLAUDE_CODE_USE_VERTEX": (*_GOOGLE_CLOUD, "CLOUD_ML_REGION", "VERTEX_REGION_*"),
        "CLAUDE_CODE_USE_FOUNDRY": ("AZURE_*",),
    },
    read=read_claude,
)

CODEX: Final = CommandProfile(
    name="codex-cli",
    program="codex",
    title="Codex",
    install="https://developers.openai.com/codex/cli",
    start=("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "--model", "{model}", "-"),
    resume=("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "resume", "{session}", "-"),
    sums_usage=True,
    gone=("no rollout found", "session not found", "thread not found"),
    skip_permissions="--dangerously-bypass-approvals-and-sandbox",
    environment=("OPENAI_*", "CODEX_*"),
    read=read_codex,
)

GEMINI: Final = CommandProfile(
    name="gemini-cli",
    program="gemini",
    title="Gemini",
    install="https://geminicli.com/docs/get-started",
    start=("--output-format", "json", "--model", "{model}"),
    resume=("--output-format", "json", "--resume", "{session}"),
    gone=("error resuming session", "invalid session identifier", "no previous sessions"),
    skip_permissions="--yolo",
    environment=(
        "GEMINI_*",
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_*",
        "GOOGLE_GENAI_*",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_PROJECT_ID",
    ),
    # https://geminicli.com/docs/get-started/authentication
    clouds={
        "GOOGLE_GENAI_USE_VERTEXAI": (*_GOOGLE_CLOUD, "GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_*"),
        "GOOGLE_GENAI_USE_GCA": ("GOOGLE_CLOUD_ACCESS_TOKEN",),
    },
    read=read_gemini,
)


def plain_profile(program: str) -> CommandProfile:
    """Return the profile of any program that reads a question and writes an answer.

    If the answer is an envelope like Claude's, with a session id, the conversation is resumed with `--resume ID`.

    Example:
        >>> plain_profile("mytool").words(plain_profile("mytool").resume, session="7")
        ('--resume', '7')
    """
    return CommandProfile(name="command", program=program, title=program, resume=("--resume", "{session}"))
