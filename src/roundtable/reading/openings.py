"""Where the statement of a text may begin: behind greetings, headings, apologies and leading clauses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.phrase_patterns import find_phrases

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["statement_starts"]

_SIGNS: Final = re.compile(r"[\s'#>(\[{|.,;:!?\u2014\u2022~-]*+")
_PAUSE: Final = re.compile(r"[,;\u2014]| -++(?= )| (?:and|und|et|en|y|e|i|и|ve) |(?P<end>[.!?])")
_MOST_CLAUSE: Final = 240
_MOST_STARTS: Final = 40


def statement_starts(letters: str) -> list[int]:
    """Return the indices at which the statement of a text may begin, nearest first; at most forty.

    Args:
        letters: The text, reduced by `letters_of`.

    Example:
        >>> text = "hello. as i have read the others, i agree."
        >>> text.index("i agree") in statement_starts(text)
        True
    """
    starts = [_behind_signs(letters, 0)]
    for start in starts:  # grows meanwhile: behind a greeting, an apology may follow
        for end in _ends_of_openings(letters, start):
            behind = _behind_signs(letters, end)
            if behind not in starts and len(starts) < _MOST_STARTS:
                starts.append(behind)
    return starts


def _ends_of_openings(letters: str, start: int) -> Iterator[int]:
    for found in find_phrases("openings", "short", letters, start):
        yield found.match.end()
    for found in find_phrases("openings", "clause", letters, start):
        yield from _pauses(letters, found.match.end())


def _pauses(letters: str, at: int) -> Iterator[int]:
    """Yield the ends of the commas, dashes and *and* of a sentence, and the end of the sentence."""
    for pause in _PAUSE.finditer(letters, at, at + _MOST_CLAUSE):
        yield pause.end()
        if pause["end"]:
            return


def _behind_signs(letters: str, at: int) -> int:
    signs = _SIGNS.match(letters, at)
    return signs.end() if signs else at
