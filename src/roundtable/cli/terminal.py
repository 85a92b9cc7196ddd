"""Ask people on the terminal: human agents for their answers, and a person who approves tool calls."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from roundtable.core.base.scale import scale_in_words, scale_problem
from roundtable.providers.human import ABSTAINS, parse_scores, read_option, split_ranking
from roundtable.report.sanitize import plain
from roundtable.tools.approval import readable

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonValue
    from roundtable.providers.human import HumanReply, HumanTurn
    from roundtable.tools import ToolRequest

__all__ = ["Terminal"]

_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"", "n", "no"})
_STANCES: Final = ("YES", "NO", "NEUTRAL")
_HINTS: Final = {
    "confidence": " (0 to 100)",
    "stance": " (YES, NO or NEUTRAL)",
    "choice": " (- to abstain)",
    "ranking": " (best > next > ...)",
    "scores": " (option=number, ...)",
}


class Terminal:
    """Asks on standard error and reads lines from standard input, one person at a time.

    If a field cannot be parsed, the person is asked again. An empty line skips a field; an empty first line, or the end
    of the input (Ctrl-D), skips the turn.

    Args:
        source: File descriptor to read lines from.
    """

    def __init__(self, source: int = 0) -> None:
        self._source = source
        self._buffer = b""
        self._lock = anyio.Lock()

    async def ask(self, turn: HumanTurn) -> HumanReply:
        """Show the turn and read an answer field by field; return an empty string if the person skips the turn."""
        async with self._lock:
            sys.stderr.write(f"\n=== {turn.agent or 'Your turn'} ===\n{turn.instructions}\n\n{turn.prompt}\n\n")
            if turn.options:
                sys.stderr.write(_option_list(turn.options))
            if turn.problem:
                sys.stderr.write(f"{turn.problem}\n")
            if not turn.fields:
                return await self._read_line("answer") or ""
            return await self._ask_fields(turn)

    async def approve(self, request: ToolRequest) -> bool | str:
        """Ask whether a tool may be called; an answer other than yes and no refuses, and is the reason."""
        async with self._lock:
            arguments = readable(request.arguments, indent=1)
            sys.stderr.write(
                f"\n=== {plain(request.agent_id) or 'An agent'} wants to call {plain(request.tool_name)} ===\n"
                f"{arguments}\n"
            )
            answer = await self._read_line("allow (y, n, or a reason why not)") or ""
            if answer.casefold() in _YES:
                return True
            return False if answer.casefold() in _NO else answer

    async def _ask_fields(self, turn: HumanTurn) -> HumanReply:
        reply: dict[str, JsonValue] = {}
        for name in turn.fields:
            hint = _hint(name, turn)
            text = await self._read_line(f"{name}{hint}")
            while text:
                try:
                    reply[name] = _parse_field(name, text, turn)
                    break
                except ValueError as error:
                    sys.stderr.write(f"{error}\n")
                text = await self._read_line(f"{name}{hint}")
            if text is None or not reply:
                break
        return reply or ""

    async def _read_line(self, label: str) -> str | None:
        """Ask for a line; return `None` at the end of input."""
        sys.stderr.write(f"{label}: ")
        sys.stderr.flush()
        while b"\n" not in self._buffer:
            try:
                await anyio.wait_readable(self._source)
            except PermissionError:
                await anyio.lowlevel.checkpoint()  # a regular file is always readable
            chunk = os.read(self._source, 65_536)
            if not chunk:
                line, self._buffer = self._buffer, b""
                sys.stderr.write("\n")
                return line.decode("utf-8", "replace").strip() or None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


def _option_list(options: tuple[str, ...]) -> str:
    if not _allows_numbers(options):
        return "".join(["The options, by name:\n", *(f"  {option}\n" for option in options)])
    lines = [f"  {number}. {option}\n" for number, option in enumerate(options, start=1)]
    return "".join(["The options, by name or number:\n", *lines])


def _hint(name: str, turn: HumanTurn) -> str:
    """Return how to write a field."""
    if name == "choice" and "position" in turn.fields:
        return ""
    if name == "scores" and turn.scale != (None, None):
        return f" (option=number, ...; each number{scale_in_words(*turn.scale)})"
    return _HINTS.get(name, "")


def _parse_field(name: str, text: str, turn: HumanTurn) -> JsonValue:
    """Parse one field of an answer.

    Raises:
        ValueError: The field is invalid; the message says what to type instead.
    """
    options = turn.options
    match name:
        case "confidence":
            digits = text.removesuffix("%").strip()
            if not digits.isascii() or not digits.isdigit() or int(digits) > 100:
                raise ValueError("A whole number from 0 to 100, please.")
            return int(digits)
        case "stance":
            if text.upper() not in _STANCES:
                raise ValueError("YES, NO or NEUTRAL, please.")
            return text.upper()
        case "choice":
            return None if text.casefold() in ABSTAINS else _parse_option(text, options)
        case "ranking":
            return [_parse_option(entry, options) for entry in split_ranking(text)]
        case "scores":
            scores = {_parse_option(entry, options): number for entry, number in parse_scores(text).items()}
            if not scores:
                raise ValueError("For example: first option=8, second option=3")
            if problem := scale_problem(scores.values(), *turn.scale):
                raise ValueError(f"{problem[:1].upper()}{problem[1:]}.")
            return dict[str, "JsonValue"](scores)
        case _:
            return text


def _parse_option(text: str, options: tuple[str, ...]) -> str:
    numbers = tuple(str(number) for number, _ in enumerate(options, start=1)) if _allows_numbers(options) else ()
    match = read_option(text, options, numbers)
    if match is None and options:
        raise ValueError(f"{text!r} is not one of the options.")
    return match or text


def _allows_numbers(options: tuple[str, ...]) -> bool:
    """Check whether options can be chosen by number, which is ambiguous if an option is itself a number."""
    return not any(option.strip().isdigit() for option in options)
