"""What the command writes to: results on standard output, remarks on standard error, colours on terminals only."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from roundtable.cli.lines import Line, line

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from pydantic import JsonValue
    from rich.console import Console

    from roundtable.cli.story import Story
    from roundtable.errors import RoundtableError

__all__ = ["Screen"]

WIDTH = 96
"""Letters in a line of a paragraph that does not go to a terminal."""
LEAST: Final = 16
"""Letters that a line holds however narrow the terminal is."""


class Screen:
    """The two streams of a command.

    Standard output takes results: lines, or exactly one JSON document. Standard error takes remarks and progress.
    Nothing that is written is read as markup, and no control character of a model gets through.

    Args:
        as_json: Whether the result is a JSON document; then lines are not written at all.
        live: Whether a terminal shows a debate as it goes; `False` writes plain lines there too.
        quiet: Whether only the end of a debate is shown.
        debug: Whether errors in JSON carry their stack.
    """

    def __init__(self, *, as_json: bool = False, live: bool = True, quiet: bool = False, debug: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.debug = debug
        self._out: TextIO = sys.stdout
        self._err: TextIO = sys.stderr
        for stream in (self._out, self._err):
            # A terminal that lacks a letter gets another one; losing a debate to it would be absurd.
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="replace")
        self._console = self._make_console() if live and not as_json and self._out.isatty() else None
        self._progress_shown = -1

    def _make_console(self) -> Console | None:
        from rich.console import Console

        console = Console(file=self._out, markup=False, emoji=False, highlight=False)
        return None if console.is_dumb_terminal else console

    @property
    def width(self) -> int | None:
        """Letters that fit into a line of the terminal; `None` where there is none."""
        if self._console is not None:
            return self._console.width
        try:
            return os.get_terminal_size(self._out.fileno()).columns or None
        except (OSError, ValueError):
            return None

    def show(self, lines: Iterable[Line]) -> None:
        """Write lines to standard output."""
        if self.as_json:
            return
        for shown in lines:
            if self._console is None:
                self._out.write(_wrapped(shown, self.width) + "\n")
            else:
                _print(self._console, shown)
        self._out.flush()

    def document(self, text: str) -> None:
        """Write one JSON document to standard output."""
        self._out.flush()
        buffer = getattr(self._out, "buffer", None)
        if buffer is None:
            self._out.write(text + "\n")
        else:
            # JSON is UTF-8, whatever the terminal speaks.
            buffer.write(text.encode() + b"\n")
        self._out.flush()

    def data(self, value: JsonValue) -> None:
        """Write a value as a JSON document."""
        self.document(json.dumps(value, ensure_ascii=False))

    def remark(self, text: str) -> None:
        """Write a line to standard error."""
        self._err.write(line(text).text + "\n")
        self._err.flush()

    def error(self, error: RoundtableError, **more: JsonValue) -> None:
        """Say what went wrong and how to mend it; with JSON, as the one document on standard output."""
        if self.as_json:
            self.data({**error.to_dict(debug=self.debug), **more})
            return
        self.remark(f"Error: {error.message}")
        if error.hint:
            self.remark(f"Hint: {error.hint}")

    def progress(self, done: int, total: int) -> None:
        """Say how far a download is; may be called from any thread."""
        share = 100 * done // max(total, 1)
        megabytes = f"Fetching the embedded model: {share} % of {total // 10**6} MB"
        if self._err.isatty():
            self._err.write(f"\r{megabytes}" + ("\n" if done >= total else ""))
            self._err.flush()
        elif share // 25 > self._progress_shown:
            self._progress_shown = share // 25
            self.remark(megabytes)

    @contextmanager
    def following(self, story: Story) -> Generator[None]:
        """Show at the bottom of a terminal who is doing what, while the block runs."""
        if self._console is None or self.quiet:
            yield
            return
        from roundtable.cli.live import live_view

        with live_view(story, self._console):
            yield

    def restore(self) -> None:
        """Give the terminal back as it was found, before the process ends in the middle of things."""
        if self._console is not None:
            self._console.show_cursor()
        self._out.flush()


def _print(console: Console, shown: Line) -> None:
    from rich.text import Text

    room = max(console.width - shown.indent - shown.hang, LEAST)
    lines = Text(shown.text, style=shown.style).wrap(console, room) or [Text()]
    for number, part in enumerate(lines):
        part.rstrip()
        part.pad_left(shown.indent + (shown.hang if number else 0))
        console.print(part, soft_wrap=True)


def _wrapped(shown: Line, width: int | None) -> str:
    blanks = " " * shown.indent
    if width is None and not shown.paragraph:
        return (blanks + shown.text).rstrip()
    room = max(width or WIDTH, shown.indent + shown.hang + LEAST)
    return textwrap.fill(shown.text, room, initial_indent=blanks, subsequent_indent=blanks + " " * shown.hang)
