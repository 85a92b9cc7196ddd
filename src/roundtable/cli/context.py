"""What the caller answers to agents that asked for information, as words of a command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from roundtable.cli.lines import Line, line
from roundtable.errors import ConfigurationError
from roundtable.types import ContextResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.changes import OnChange
    from roundtable.result import DebateResult

__all__ = ["Supplied", "asked_lines", "read_context"]


class Supplied(NamedTuple):
    """What the caller answers."""

    results: tuple[ContextResult, ...] = ()
    """Answers to requests."""
    force: bool = False
    """Whether to go on without those that are required."""
    adopt: bool = False
    """Whether to take over what changed since the session began."""

    @property
    def on_change(self) -> OnChange:
        """The same as `Roundtable.resume` takes it."""
        return "adopt" if self.adopt else "error"


def read_context(given: Sequence[str] | None) -> tuple[ContextResult, ...]:
    """Read answers: `REQUEST=TEXT`, or `REQUEST=@FILE` for what stands in a file.

    Raises:
        ConfigurationError: One is of another form, or its file cannot be read.

    Example:
        >>> read_context(["ctx-1=Two boxes."])[0].result
        'Two boxes.'
    """
    return tuple(_answer(text) for text in given or ())


def _answer(text: str) -> ContextResult:
    request, equals, answer = text.partition("=")
    if not request.strip() or not equals or not answer.strip():
        msg = f"--context takes REQUEST=TEXT or REQUEST=@FILE, not {text[:80]!r}"
        raise ConfigurationError(msg, hint="`roundtable show ID` lists what the agents ask for.")
    if answer.startswith("@"):
        path = Path(answer[1:]).expanduser()
        try:
            answer = path.read_text("utf-8")
        except (OSError, ValueError) as error:
            msg = f"--context: {str(path)!r} cannot be read as text: {error}"
            raise ConfigurationError(msg, hint="Name a text file in UTF-8.") from error
    return ContextResult(request_id=request.strip(), success=True, result=answer)


def asked_lines(result: DebateResult) -> list[Line]:
    """List what the agents of a debate ask for, with the id that an answer names."""
    names = {agent.id: agent.name for agent in result.agents}
    told = ((names.get(asked.agent_id, asked.agent_id), asked) for asked in result.context_requests)
    return [line(f"{name} asks ({asked.priority}) {asked.id}: {asked.query}", "magenta") for name, asked in told]
