"""What is known of each command-line agent, as data: how it is started, resumed and read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from roundtable.providers.command.readers import read_claude, read_codex, read_gemini, read_plain
from roundtable.types import ModelProfile

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.providers.command.readers import Reply

__all__ = ["CLAUDE", "CODEX", "DEFAULT_MAX_TURNS", "GEMINI", "CommandProfile", "plain_profile"]

DEFAULT_MAX_TURNS: Final = {"opus": 20, "sonnet": 15, "haiku": 8}
"""Steps that an agent may take in one call, by model; 8 for others."""

OTHER_MAX_TURNS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProfile:
    """A command-line agent. The prompt goes to its standard input, its answer comes from its standard output.

    Words of `start` and `resume` may hold `{model}`, `{session}` and `{turns}`; a word that stands before such a word
    and begins with `-` is left out with it where there is nothing to put in.

    Example:
        >>> CLAUDE.words(CLAUDE.resume, session="5f2e", turns=8)
        ('-p', '--output-format', 'json', '--resume', '5f2e', '--max-turns', '8')
    """

    name: str
    """Name of the provider."""
    program: str
    """Name of the program on the path."""
    title: str
    """How it is called in messages."""
    install: str = ""
    """Where it comes from, for who lacks it."""
    start: tuple[str, ...] = ()
    """Words that begin a conversation."""
    resume: tuple[str, ...] = ()
    """Words that go on with one; none where it cannot."""
    system: str | None = None
    """Option that takes the system prompt; without one it stands before the prompt."""
    budget: str | None = None
    """Option that takes a limit in US dollars."""
    skip_permissions: str | None = None
    """Option that lets the agent do whatever it wants."""
    gone: tuple[str, ...] = ()
    """What it says, in small letters, when the conversation to go on with is not there."""
    environment: tuple[str, ...] = ()
    """Variables it is given besides the usual ones; those that end in `*` by their beginning."""
    read: Callable[[str], Reply] = read_plain
    """Reads what it wrote to its standard output."""
    profile: ModelProfile = field(default_factory=lambda: ModelProfile(context_tokens=200_000))
    """What prompts are made for."""

    def words(
        self, template: tuple[str, ...], *, model: str = "", session: str = "", turns: int = 0
    ) -> tuple[str, ...]:
        """Fill in a template; what is put in is one word, whatever it holds."""
        values = {"{model}": model, "{session}": session, "{turns}": str(turns or "")}
        made: list[str] = []
        for word in template:
            value = values.get(word, word)
            if value:
                made.append(value)
            elif made and made[-1].startswith("-"):
                made.pop()
        return tuple(made)

    def max_turns(self, model: str) -> int:
        """Give the steps that an agent may take in one call."""
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
    environment=("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_*", "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS"),
    read=read_claude,
)

CODEX: Final = CommandProfile(
    name="codex-cli",
    program="codex",
    title="Codex",
    install="https://developers.openai.com/codex/cli",
    start=("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "--model", "{model}", "-"),
    resume=("exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "resume", "{session}", "-"),
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
    environment=("GEMINI_*", "GOOGLE_*"),
    read=read_gemini,
)


def plain_profile(program: str) -> CommandProfile:
    """Give the profile of any program that reads a question and writes an answer.

    Where its answer is an envelope as Claude's is, with a session id, it is gone on with by `--resume ID`.

    Example:
        >>> plain_profile("mytool").words(plain_profile("mytool").resume, session="7")
        ('--resume', '7')
    """
    return CommandProfile(name="command", program=program, title=program, resume=("--resume", "{session}"))
