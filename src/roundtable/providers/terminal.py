"""A person asked on the terminal: one member of an answer a line, each looked at before the next is asked for."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    from roundtable.providers.human import HumanReply, HumanTurn
    from roundtable.types import JsonObject, JsonValue

__all__ = ["ABSTAINS", "Terminal", "chosen", "listed", "scored"]

ABSTAINS: Final = frozenset({"abstain", "-"})
"""What stands for no vote."""
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

    What cannot be understood is asked for again. An empty line leaves a member out; an empty first line, or the end of
    input (Ctrl-D), leaves the turn.

    Args:
        source: File descriptor that lines are read from.
    """

    def __init__(self, source: int = 0) -> None:
        self._source = source
        self._buffer = b""
        self._lock = anyio.Lock()

    async def ask(self, turn: HumanTurn) -> HumanReply:
        """Show the turn and read an answer, member by member; empty where the person left the turn."""
        async with self._lock:
            sys.stderr.write(f"\n=== {turn.agent or 'Your turn'} ===\n{turn.instructions}\n\n{turn.prompt}\n\n")
            if turn.options:
                sys.stderr.write(_offer(turn.options))
            if not turn.fields:
                return await self._line("answer") or ""
            return await self._members(turn)

    async def _members(self, turn: HumanTurn) -> HumanReply:
        said: dict[str, JsonValue] = {}
        for name in turn.fields:
            hint = "" if name == "choice" and "position" in turn.fields else _HINTS.get(name, "")
            text = await self._line(f"{name}{hint}")
            while text:
                try:
                    said[name] = _value(name, text, turn.options)
                    break
                except ValueError as error:
                    sys.stderr.write(f"{error}\n")
                text = await self._line(f"{name}{hint}")
            if text is None or not said:
                break
        return said or ""

    async def _line(self, label: str) -> str | None:
        """Ask for a line; `None` where input has ended."""
        sys.stderr.write(f"{label}: ")
        sys.stderr.flush()
        while b"\n" not in self._buffer:
            try:
                await anyio.wait_readable(self._source)
            except PermissionError:
                await anyio.lowlevel.checkpoint()  # a plain file can always be read
            more = os.read(self._source, 65_536)
            if not more:
                line, self._buffer = self._buffer, b""
                sys.stderr.write("\n")
                return line.decode("utf-8", "replace").strip() or None
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


def _offer(options: tuple[str, ...]) -> str:
    if not _numbered(options):
        return "".join(["The options, to be given by name:\n", *(f"  {option}\n" for option in options)])
    lines = [f"  {place}. {option}\n" for place, option in enumerate(options, start=1)]
    return "".join(["The options, to be given by name or number:\n", *lines])


def _value(name: str, text: str, options: tuple[str, ...]) -> JsonValue:
    """Read one member.

    Raises:
        ValueError: It says what is wanted instead.
    """
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
            return None if text.casefold() in ABSTAINS else _option(text, options)
        case "ranking":
            return [_option(one, options) for one in listed(text)]
        case "scores":
            scores = {_option(one, options): number for one, number in scored(text).items()}
            if not scores:
                raise ValueError("Such as: first option=8, second option=3.")
            return dict[str, "JsonValue"](scores)
        case _:
            return text


def _option(text: str, options: tuple[str, ...]) -> str:
    named = chosen(text, options)
    if named is not None or not options:
        return named or text
    place = int(text) if _numbered(options) and text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= place <= len(options):
        raise ValueError(f"{text!r} is none of the options.")
    return options[place - 1]


def _numbered(options: tuple[str, ...]) -> bool:
    """Tell whether options can be called by their places: not where one of them is a number itself."""
    return not any(option.strip().isdigit() for option in options)


def chosen(text: str, options: tuple[str, ...]) -> str | None:
    """Find the option a person names."""
    return next((option for option in options if option.casefold() == text.casefold()), None)


def listed(text: str) -> list[str]:
    """Split a ranking, best first."""
    return [part.strip() for part in re.split(r"[>\n,;]", text) if part.strip()]


def scored(text: str) -> JsonObject:
    """Read scores, written as option=number."""
    pairs = re.findall(r"([^=,;\n]+)=\s*(-?\d+(?:\.\d+)?)", text)
    return {name.strip(): float(number) for name, number in pairs}
