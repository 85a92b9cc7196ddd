"""Remove what stands around an answer: emphasis, signs of formulas, quotes, and the point at its end."""

from __future__ import annotations

import html
import re
from typing import Final

__all__ = ["FORMULA_SIGNS", "cleaned"]

FORMULA_SIGNS: Final = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
"""Signs at the beginning and at the end of a formula."""
_FRAME: Final = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|mbox|underline|displaystyle|bf|fbox|boxed)\s*+\{([^{}]*+)\}"
)
"""A command that changes only how its content looks."""
_MOST_FRAMES: Final = 3
_MOST_LAYERS: Final = 8
_SPACING: Final = re.compile(r"\\[,;:! ]|\\q?quad(?![a-z])|(?<=[0-9])~(?=[a-z])")
_EMPHASIS: Final = ("***", "**", "__", "*", "`", "_")
_TAG: Final = re.compile(r"<(b|strong|i|em|u|p|div|span|code|mark)>([^<>]*+)</\1>", re.IGNORECASE)
_CODE: Final = re.compile(r"```[a-z]{0,12}\s([^`]*+)```", re.IGNORECASE)
"""The HTML tags and the block of code that may stand around a whole answer."""
_APPLAUSE: Final = "\u2705\u2714\u2611\ufe0f\u2728\u2b50\U0001f3af\U0001f3c6\U0001f389\U0001f44d\U0001f4af"
"""Signs behind an answer with which its author is pleased."""
_FIRST_SYMBOL: Final = "\u2600"
_QUOTES: Final = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("'", "'"))


def cleaned(text: str) -> str:
    r"""Return an answer without what stands around it.

    Example:
        >>> cleaned("**Porto**."), cleaned(r"$\boxed{1{,}000}$"), cleaned('"Tea"'), cleaned("<b>C#</b>")
        ('Porto', '1,000', 'Tea', 'C#')
    """
    inner = _SPACING.sub(" ", text).replace("\\%", "%").replace("\\$", "$").replace("{,}", ",")
    for _ in range(_MOST_FRAMES):
        inner = _FRAME.sub(r"\1", inner)
    inner = " ".join(html.unescape(inner).split())
    if inner and inner[-1] > _FIRST_SYMBOL:
        inner = inner.rstrip(f" {_APPLAUSE}") or inner
    for _ in range(_MOST_LAYERS):
        if inner[:1].isalnum() and inner[-1:].isalnum():
            return inner
        unwrapped = _without_layer(inner)
        if unwrapped == inner:
            break
        inner = unwrapped
    return inner.removeprefix("**").removesuffix("**").strip()


def _without_layer(text: str) -> str:
    if (around := _TAG.fullmatch(text)) or (around := _CODE.fullmatch(text)):
        text = around[around.re.groups].strip()
    for mark in _EMPHASIS:
        if text.startswith(mark) and text.endswith(mark) and len(text) > 2 * len(mark):
            text = text[len(mark) : -len(mark)].strip()
    for opening, closing in (*FORMULA_SIGNS, *_QUOTES):
        inside = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inside.strip() and closing not in inside:
            text = inside.strip()
    if text.endswith((".", "。", ",", "!")) and not text.endswith(".."):
        text = text[:-1].rstrip()
    return text
