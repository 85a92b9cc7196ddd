"""Spellings of characters that mean the same to a reader, folded without changing the length of a text.

Because the length stays, a place in the folded text is the same place in the text as the agent wrote it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["FIRST_WITHOUT_SPACES", "fold", "without_control_marks"]

FIRST_WITHOUT_SPACES: Final = "\u2e80"
"""The first letter of the scripts that write words and digits next to each other, such as Chinese."""
_MINUS: Final = "\N{MINUS SIGN}\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{SMALL HYPHEN-MINUS}"
_SIGNS: Final = {
    **dict.fromkeys(_MINUS, "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\N{MODIFIER LETTER APOSTROPHE}\N{PRIME}", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f", '"'),
    "\N{ARABIC DECIMAL SEPARATOR}": ".",
    "\N{ARABIC THOUSANDS SEPARATOR}": ",",
    "\N{ARABIC COMMA}": ",",
    "\N{ARABIC PERCENT SIGN}": "%",
    "\N{ARABIC QUESTION MARK}": "?",
    "\N{IDEOGRAPHIC COMMA}": ",",
    "\N{LEFT BLACK LENTICULAR BRACKET}": "[",
    "\N{RIGHT BLACK LENTICULAR BRACKET}": "]",
    "\N{FRACTION SLASH}": "/",
    "\N{DIVISION SLASH}": "/",
    "\N{BULLET OPERATOR}": "\N{MIDDLE DOT}",
    "\N{DOT OPERATOR}": "\N{MIDDLE DOT}",
}


class _Folding(dict[int, str]):
    """A translation table that is filled as characters are met."""

    def __missing__(self, code: int) -> str:
        """Return the folded spelling of a character; one character for one."""
        char = chr(code)
        folded = _SIGNS.get(char) or char
        if folded == char and code > 127:
            if (digit := unicodedata.decimal(char, None)) is not None:
                folded = str(digit)
            elif 0xFF01 <= code <= 0xFF5E:
                folded = chr(code - 0xFEE0)
            elif unicodedata.category(char) in {"Zs", "Cf"}:
                folded = " "
        if len(self) < _MOST_KEPT:
            self[code] = folded
        return folded


_MOST_KEPT: Final = 4096
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TEMPLATE_MARK: Final = re.compile(
    r"</?s>|<(?:[be]os|pad|unk)>|<(?:start|end)_of_turn>|<\|[a-z0-9_]{2,24}\|>|\[/?INST\]|\[(?:PAD|UNK|CLS|SEP|[BE]OS)\]"
    r"|<\uff5c[\w\u2581 ]{2,40}\uff5c>"
)
_FOLDING: Final = _Folding()


def fold(text: str) -> str:
    r"""Return a text of the same length in which digits, signs and spaces of all scripts have their ASCII spelling.

    Example:
        >>> fold("\u0664\u0662\u066b\u0665"), fold("\uff21\uff09"), fold("\u22125")
        ('42.5', 'A)', '-5')
    """
    return text if text.isascii() else text.translate(_FOLDING)


def without_control_marks(text: str) -> str:
    r"""Return a text of the same length without what does not belong to the answer.

    Marks of a chat template, such as `</s>`, become spaces. A surrogate becomes the replacement character, since
    a value with a surrogate cannot be stored.

    Example:
        >>> without_control_marks("Tea</s>"), without_control_marks("Tea" + chr(0xD800)) == "Tea" + chr(0xFFFD)
        ('Tea    ', True)
    """
    if "<" in text or "[" in text:
        text = _TEMPLATE_MARK.sub(lambda match: " " * len(match[0]), text)
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
