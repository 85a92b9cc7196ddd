r"""Repair slips in JSON that have one meaning: literals of Python, comments, quotation marks, commas, backslashes."""

from __future__ import annotations

import json
import re
from typing import Final

__all__ = ["double_lone_backslashes", "literal_end", "unescaped", "without_slips"]

# Half an escape at the end of a text is not a lone backslash, but cut off.
_ESCAPE: Final = re.compile(r"\\(?:([\"\\/bfnrt]|u[0-9a-fA-F]{4}|(?:u[0-9a-fA-F]{0,3})?\Z)|('))?")
_ANY_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U(00[0-9a-fA-F]{6})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_MEANINGS: Final = {
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "\n": "",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
}
# A text without an end takes the rest, so that no text is read twice. All repeats are possessive.
_TOKEN: Final = re.compile(
    r"(?:(?<!\w)(?P<raw>[rR])|(?<!\w)[uU])?(?:"
    r"'''(?P<triple>(?:[^'\\]|\\.|'(?!''))*+)(?:'''|\Z)|\"\"\"(?P<quoted_triple>(?:[^\"\\]|\\.|\"(?!\"\"))*+)(?:\"\"\"|\Z)"
    r"|'(?P<single>(?:[^'\\]|\\.)*+)(?:'|\\?\Z)|\"(?P<double>(?:[^\"\\]|\\.)*+)(?:\"|\\?\Z))"
    r"|(?P<comment>//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))"
    r"|(?P<word>[A-Za-z_]\w*+)(?P<name>(?=\s*+:))?|[()]",
    re.DOTALL,
)
_BRACE: Final = re.compile(r"'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|[{}]", re.DOTALL)
_LAST_COMMA: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|,(?=\s*+[}\]])', re.DOTALL)
_CURLY: Final = re.compile(
    r"(?P<sign>[{\[,:\uff1a\uff0c]\s*+)(?:\u201c(?P<double>(?:[^\u201c\u201d\"\\]|\\.)*+)\u201d"
    r"|\u2018(?P<single>(?:[^\u2018\u2019\u201c\u201d\"\\]|\\.)*+)\u2019)(?=\s*+[,:}\]\uff1a\uff0c])",
    re.DOTALL,
)
"""A text in typographic quotation marks between two signs of JSON."""
_ASCII_SIGNS: Final = {"\uff1a": ":", "\uff0c": ","}
_WORDS: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null", "(": "[", ")": "]"}


def double_lone_backslashes(text: str) -> str:
    r"""Return JSON in which each backslash that begins no escape is doubled, and an escaped apostrophe is one.

    Example:
        >>> print(double_lone_backslashes(r'{"a": "\alpha \n \"it\'s\""}'))
        {"a": "\\alpha \n \"it's\""}
    """
    return _ESCAPE.sub(lambda match: match[2] or (match[0] if match[1] is not None else r"\\"), text)


def unescaped(text: str) -> str:
    r"""Return the content of a text in JSON or Python, without its outer quotes; unknown escapes stay as they are.

    Example:
        >>> print(unescaped(r"{\"a\": \"\\alpha \(x\)\"}"))
        {"a": "\alpha \(x\)"}
    """

    def meaning(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits is None:
            return _MEANINGS.get(match[4], match[0])
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else match[0]

    return _ANY_ESCAPE.sub(meaning, text)


def without_slips(text: str) -> str:
    """Return an object as JSON if its slips have one meaning; otherwise, the result is not valid JSON.

    Example:
        >>> without_slips("{'sure': True, 'ranking': ('A', 'B'), why: None,} # done")
        '{"sure": true, "ranking": ["A", "B"], "why": null}  '
    """
    if '"' not in text and ("\u201c" in text or "\u2018" in text):
        text = _CURLY.sub(_straightened, text)
    return _LAST_COMMA.sub(lambda match: "" if match[0] == "," else match[0], _TOKEN.sub(_as_json, text))


def literal_end(text: str, start: int, end: int) -> int | None:
    """Return the end of an object that starts at an index, if its texts are quoted as in Python.

    Args:
        text: The text.
        start: Index of the opening brace.
        end: Where to stop.

    Example:
        >>> literal_end("{'a': '}'} ", 0, 11)
        10
    """
    depth = 0
    for match in _BRACE.finditer(text, start, end):
        if match[0] in "{}":
            depth += 1 if match[0] == "{" else -1
            if depth == 0:
                return match.end()
    return None


def _straightened(match: re.Match[str]) -> str:
    """Return a text in typographic quotation marks, and the sign before it, with the signs of JSON."""
    sign, content = match["sign"], match["single"] if match["double"] is None else match["double"]
    return f'{_ASCII_SIGNS.get(sign[0], sign[0])}{sign[1:]}"{content}"'


def _as_json(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "comment":
        return " "
    if kind == "name":
        return f'"{match["word"]}"'
    if kind is None or kind == "word":
        return _WORDS.get(match[0], match[0])
    content = match[kind]
    return json.dumps(content if match["raw"] else unescaped(content), ensure_ascii=False)
