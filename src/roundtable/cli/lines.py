"""Lines of text, clean whatever a model or a user wrote, before anyone decides how they look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundtable.report import in_words, plain

if TYPE_CHECKING:
    from roundtable.types import AnyTurn, RoundRecord

__all__ = ["Line", "agreement_line", "line", "percent", "round_head", "round_lines", "turn_lines"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line to show. Its text holds no control characters, and is never read as markup."""

    text: str
    """What it says."""
    style: str = ""
    """How it looks where there are colours, in the words of rich."""
    indent: int = 0
    """Blanks before it."""
    paragraph: bool = False
    """Whether it may be long and is to be wrapped even where no terminal is."""
    hang: int = 0
    """Further blanks before what does not fit into the first line."""


def line(text: str, style: str = "", *, indent: int = 0, paragraph: bool = False, hang: int = 0) -> Line:
    r"""Make a line of any text.

    Example:
        >>> line("\x1b[31mred\x1b[0m [bold]tea[/bold]\n").text
        '[31mred[0m [bold]tea[/bold]'
    """
    return Line(plain(text), style, indent, paragraph, hang)


def percent(share: float | None) -> str:
    """Write a share as a percentage, with a blank before it; nothing where there is none."""
    return "" if share is None else f" ({share:.0%})"


def turn_lines(turn: AnyTurn) -> list[Line]:
    """Show what became of one turn."""
    name = turn.agent_name or turn.agent_id
    who = name if turn.role == "participant" else f"{name} ({turn.role})"
    if turn.outcome == "failed":
        found = [line(f"{who} FAILED: {turn.error.message}", "bold red", indent=2, hang=2)]
        return [*found, line(f"hint: {turn.error.hint}", "red", indent=4)] if turn.error.hint else found
    said = turn.answer
    says, why = in_words(said)
    head = f"{who}: {says}"
    if said.kind == "position":
        chosen = f" [{said.choice}]" if said.choice else ""
        head = f"{who}{percent(said.confidence)}:{chosen} {says}"
    shown = [line(head, "bold", indent=2, hang=2)]
    shown += [line(part, indent=4, paragraph=True) for part in plain(why, lines=True).splitlines() if part.strip()]
    sources = said.citations if said.kind == "position" else ()
    shown += [line(f"source: {cited.title} {cited.url}", "dim", indent=4) for cited in sources]
    return shown + [line(f"note: {warning}", "yellow", indent=4) for warning in turn.result.warnings]


def round_lines(held: RoundRecord, total: int) -> list[Line]:
    """Show a whole stored round."""
    shown = [round_head(held.number, total, held.focus_question)]
    for turn in held.turns:
        shown += turn_lines(turn)
    if held.consensus is not None:
        level = held.consensus
        shown.append(agreement_line(level.agreement_level, level.method, level.summary))
    elif not held.complete:
        shown.append(line("not completed", "yellow", indent=2))
    return [*shown, Line("")]


def round_head(number: int, total: int, focus_question: str | None) -> Line:
    """Head a round."""
    focus = f": {focus_question}" if focus_question else ""
    return line(f"Round {number} of {total}{focus}", "bold cyan")


def agreement_line(level: float, method: str, summary: str) -> Line:
    """Show the agreement of a round."""
    return line(f"Agreement {level:.2f} ({method}): {summary}", "cyan", indent=2, hang=2)
