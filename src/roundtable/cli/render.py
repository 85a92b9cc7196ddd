"""Output of the command: results on standard output, remarks on standard error, colours on terminals only."""

from __future__ import annotations

import errno
import json
import os
import re
import select
import sys
import textwrap
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

from roundtable.cli.event_printer import Line, line

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from pydantic import JsonValue
    from rich.console import Console

    from roundtable.cli.event_printer import EventPrinter
    from roundtable.core.errors import RoundtableError

__all__ = ["Screen"]


WIDTH = 96
"""Line width of a paragraph when the output is not a terminal, in characters."""
MIN_WIDTH: Final = 16
"""Smallest line width, for very narrow terminals, in characters."""


class Screen:
    """The two streams of a command.

    Standard output gets results: lines, or exactly one JSON document. Standard error gets remarks and progress.
    Output is never interpreted as markup, and control characters from models are removed.

    Args:
        as_json: Whether the result is a JSON document; in this case no lines are written.
        live: Whether a terminal shows the live view; with `False`, a terminal gets plain lines too.
        quiet: Whether to show only the result of a debate.
        debug: Whether errors in JSON include their traceback.
    """

    def __init__(self, *, as_json: bool = False, live: bool = True, quiet: bool = False, debug: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.debug = debug
        self._out: TextIO = sys.stdout
        self._err: TextIO = sys.stderr
        for stream in (self._out, self._err):
            # Replace characters that the terminal cannot show, so that they do not end the debate.
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
        """Width of the terminal in characters; `None` without a terminal."""
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
        for content in lines:
            if self._console is None:
                self._out.write(_wrapped(content, self.width) + "\n")
            else:
                _print(self._console, content)
        self._out.flush()

    def document(self, text: str) -> None:
        """Write one JSON document to standard output."""
        self._out.flush()
        buffer = getattr(self._out, "buffer", None)
        if buffer is None:
            self._out.write(text + "\n")
        else:
            # JSON is UTF-8, whatever the encoding of the terminal.
            buffer.write(text.encode() + b"\n")
        self._out.flush()

    def data(self, value: JsonValue) -> None:
        """Write a value as a JSON document."""
        self.document(json.dumps(value, ensure_ascii=False))

    def write_note(self, text: str) -> None:
        """Write a line to standard error; ignore a closed stream."""
        with suppress(OSError):
            self._err.write(line(text).text + "\n")
            self._err.flush()

    def check(self) -> None:
        """Check that results can be written, for example before any model is called.

        Raises:
            OSError: Standard output is closed, or nobody reads it any more.
        """
        try:
            number = self._out.fileno()
        except (OSError, ValueError):  # not a file, for example when another program calls the command
            return
        os.write(number, b"")
        if hasattr(select, "poll"):
            reader = select.poll()
            reader.register(number, 0)
            if any(state & select.POLLERR for _, state in reader.poll(0)):
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def error(self, error: RoundtableError, **more: JsonValue) -> None:
        """Show an error and its hint; with JSON, as the only document on standard output."""
        if self.as_json:
            self.data({**error.to_dict(debug=self.debug), **more})
            return
        self.write_note(f"Error: {error.message}")
        if error.hint:
            self.write_note(f"Hint: {error.hint}")

    def progress(self, done: int, total: int, *, what: str = "the embedded model") -> None:
        """Show the progress of a download, in bytes; can be called from any thread."""
        percent = 100 * done // max(total, 1)
        text = f"Downloading {what}: {percent} % of {total // 10**6} MB"
        if self._err.isatty():
            with suppress(OSError):
                self._err.write(f"\r{text}" + ("\n" if done >= total else ""))
                self._err.flush()
        elif percent // 25 > self._progress_shown:
            self._progress_shown = percent // 25
            self.write_note(text)

    @contextmanager
    def show_live(self, story: EventPrinter) -> Generator[None]:
        """Show the live view at the bottom of a terminal while the block runs."""
        if self._console is None or self.quiet:
            yield
            return
        from roundtable.cli.live import live_view

        with live_view(story, self._console):
            yield

    def restore(self) -> None:
        """Restore the terminal before the process exits early."""
        with suppress(OSError):  # the terminal may be closed
            if self._console is not None:
                self._console.show_cursor()
            self._out.flush()


def _print(console: Console, content: Line) -> None:
    from rich.text import Text

    width = max(console.width - content.indent - content.hang, MIN_WIDTH)
    lines = _split(content.text, width) if content.wraps else [content.text]
    for number, text in enumerate(lines):
        part = Text(text, style=content.style)
        part.rstrip()
        part.pad_left(content.indent + (content.hang if number else 0))
        console.print(part, soft_wrap=True)


def _split(text: str, width: int) -> list[str]:
    """Wrap a text at spaces. Only long words that can't be paths or addresses are broken, as in Chinese texts."""
    from rich.cells import cell_len, chop_cells

    lines = [""]
    for spaced_word in re.findall(r"\s*\S+", text):
        word = spaced_word
        if lines[-1] and cell_len(lines[-1] + word) > width:
            lines.append("")
            word = word.lstrip()
        if cell_len(word) > width and not any(mark in word for mark in "/\\"):
            *full, word = chop_cells(word, width)
            lines[-1:] = [*full, ""]
        lines[-1] += word
    return lines


def _wrapped(content: Line, width: int | None) -> str:
    indent = " " * content.indent
    if not content.wraps or (width is None and not content.paragraph):
        return (indent + content.text).rstrip()
    line_width = max(width or WIDTH, content.indent + content.hang + MIN_WIDTH)
    return textwrap.fill(
        content.text,
        line_width,
        initial_indent=indent,
        subsequent_indent=indent + " " * content.hang,
        break_long_words=False,  # such as paths
        break_on_hyphens=False,
    )
