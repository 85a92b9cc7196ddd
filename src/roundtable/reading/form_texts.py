"""The words that tell an agent how to fill in its form; an agent that only repeats them has said nothing.

The prompts are written with these texts, and the reader recognises them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.folding import without_control_marks

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COMPACT_FORMAT",
    "COMPACT_LINE",
    "LINE_WANTED",
    "MOTION_FIELDS",
    "OPTION_FIELDS",
    "PLAN_FIELDS",
    "POSITION_FIELDS",
    "says_nothing",
]

POSITION_FIELDS: Final[Mapping[str, str]] = {
    "position": "your answer to the question in one or two sentences",
    "reasoning": "your reasons, laid out as instructed",
    "bottom_line": 'the bare answer in at most twelve words: a name, a number with unit, or just "Yes" or "No"; '
    '"ABSTAIN" if you cannot answer',
    "choice": "one of the options, spelt exactly as given",
    "value": "an object that says the same as your position, and fits the JSON Schema below",
}
"""What to write into each text of a position."""
OPTION_FIELDS: Final[Mapping[str, str]] = {
    "choice": "the option you vote for, or null to abstain",
    "ranking": "a list of options, best first",
    "approved": "a list of all options that you can accept, or null to abstain",
    "scores": "an object that gives each option a number, higher is better",
}
"""What to write into the leading member of a vote on options."""
MOTION_FIELDS: Final[Mapping[str, str]] = {
    "choice": "the letter of the motion you vote for, or null to abstain",
    "ranking": "the letters of the motions, best first; a motion left out is last; [] to abstain",
    "approved": "the letters of all motions that you can accept; null to abstain",
    "scores": "an object that gives the letter of each motion its number, higher is better; {} to abstain",
}
"""What to write into the leading member of a vote on motions."""
PLAN_FIELDS: Final[Mapping[str, str]] = {
    "goal": "what to achieve, in a sentence",
    "strategy": "how",
    "successCriteria": "a list of signs that the goal is reached",
}
"""What to write into a plan."""
COMPACT_FORMAT: Final = "Answer in one sentence, and give the reason."
"""The instruction for a tiny model."""
COMPACT_LINE: Final = "the answer in at most five words"
"""The instruction for the bottom line of a tiny model."""
LINE_WANTED: Final = (
    'Write the answer itself in at most twelve words and nothing else, or "ABSTAIN" if you cannot answer.'
)
"""The instruction for an agent whose answer could not be read."""

_WORD: Final = re.compile(r"[^\W_]+")
_FEWEST_WORDS: Final = 3
_MOST_CHARS: Final = 300
_FORM: Final = tuple(
    tuple(_WORD.findall(text.casefold()))
    for text in (
        *(text for fields in (POSITION_FIELDS, OPTION_FIELDS, MOTION_FIELDS, PLAN_FIELDS) for text in fields.values()),
        COMPACT_FORMAT,
        COMPACT_LINE,
        LINE_WANTED,
        LINE_WANTED.removeprefix("Write "),
    )
)
_BEGINNINGS: Final = frozenset(words[:_FEWEST_WORDS] for words in _FORM)
_TO_FILL_IN: Final = re.compile(
    r"<(?:your[\s_][^<>]{1,60}|(?:(?:the|my|final|bare|short)[\s_])*(?:answer|position|choice|bottom[\s_]line|reasoning)"
    r"(?:\s[^<>]{0,40})?)>",
    re.IGNORECASE,
)
"""A place to be filled in, as in `<your answer>`."""
_NO_WORDS: Final = re.compile(
    r"(?:[.\u2026_?!\s]*|[\s\u2013\u2014-]*"
    r"|[\s`~]*(?:`{3}|~{3})[ \t]*(?:json[5cl]?|text|txt|plaintext|markdown|md|python|py|xml|yaml)?[\s`~]*)",
    re.IGNORECASE,
)


def says_nothing(text: str) -> bool:
    r"""Check whether a text holds no answer: nothing, dots, an empty block of code, or the words of the form itself.

    Example:
        >>> says_nothing("..."), says_nothing("```json\n```"), says_nothing("[PAD][PAD]"), says_nothing("Tea")
        (True, True, True, False)
        >>> says_nothing("The bare answer in at most twelve words")
        True
    """
    if len(text) > _MOST_CHARS:
        return not text.strip()
    if _NO_WORDS.fullmatch(without_control_marks(text)) is not None or _TO_FILL_IN.fullmatch(text.strip()) is not None:
        return True
    words = tuple(_WORD.findall(text.casefold()))
    return words[:_FEWEST_WORDS] in _BEGINNINGS and any(
        len(words) >= _FEWEST_WORDS and words == form[: len(words)] for form in _FORM
    )
