"""Formulas that a text shows over several lines, and marks around numbers."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["with_displays_in_line", "without_code_marks"]

_SIGN: Final = re.compile(r"\\[\[\]()]|\$\$|\\(?:begin|end)\{(?:equation|displaymath|math)\*?\}")
_CLOSING: Final = {"\\[": "\\]", "\\(": "\\)", "$$": "$$"}
_CALCULATION: Final = re.compile(r"<<[^<>\n]{1,120}>>")
"""What a calculator was asked, before its result, as in `<<20-12=8>>8`."""
_FENCE: Final = re.compile(r"\s*```[a-z]{0,12}(?=\s)(?P<inside>[^`]{1,200})```\s*\Z")
"""A text that is one short block of code."""
_MOST_SHOWN: Final = 800
"""Most characters of a formula that is read like one in a line."""


def with_displays_in_line(text: str, start: int) -> str:
    r"""Return a text of the same length in which a formula that is shown over several lines stands in one line.

    Args:
        text: The folded text.
        start: Start of the answer.

    Example:
        >>> with_displays_in_line("The answer is:\n\\[\n25\n\\]", 0)
        'The answer is:\n\\[ 25 \\]'
    """
    if "\n" not in text:
        return text
    parts: list[str] = []
    at, opening = start, None
    for sign in _SIGN.finditer(text, start):
        if opening is not None and sign[0] == _closing(opening[0]):
            if sign.start() - opening.end() <= _MOST_SHOWN:
                parts += [text[at : opening.end()], text[opening.end() : sign.start()].replace("\n", " ")]
                at = sign.start()
            opening = None
        elif sign[0] in _CLOSING or sign[0].startswith("\\begin"):
            opening = sign
    return "".join([text[:start], *parts, text[at:]])


def _closing(opening: str) -> str:
    return _CLOSING.get(opening) or opening.replace("\\begin", "\\end")


def without_code_marks(text: str, start: int) -> str:
    r"""Return a text of the same length without marks of a calculator, or without the fence around all of it.

    Args:
        text: The folded text.
        start: Start of the answer.

    Example:
        >>> without_code_marks("```\n42\n```", 0).strip(), without_code_marks("<<20-12=8>>8", 0).strip()
        ('42', '8')
    """
    text = _CALCULATION.sub(lambda mark: " " * len(mark[0]), text)
    fence = _FENCE.match(text, start)
    if fence is None:
        return text
    begin, end = fence.span("inside")
    return f"{text[:start]}{' ' * (begin - start)}{text[begin:end]}{' ' * (len(text) - end)}"
