"""Formulas that a text shows over several lines."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["with_displays_in_line"]

_SIGN: Final = re.compile(r"\\[\[\]()]|\$\$|\\(?:begin|end)\{(?:equation|displaymath|math)\*?\}")
_CLOSING: Final = {"\\[": "\\]", "\\(": "\\)", "$$": "$$"}
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
