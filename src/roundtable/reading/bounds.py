"""Numbers that are only bounds: *at least 5*, *5 or more*, 5以上."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.number_phrases import BOUNDS, BOUNDS_BEHIND, NOT_UNITS
from roundtable.reading.phrases import words_pattern

__all__ = ["is_bound"]

_BEFORE: Final = re.compile(
    rf"(?:{words_pattern(BOUNDS)}|n't|[<>≤≥±~≠∈∉]|\\(?:geq?|leq?|pm|neq?|(?:not)?in)|>=|<=|(?<![0-9])!="
    r"|(?<![^\W\d_\\])(?:max|min|maximal|minimal|maximum|minimum)\.?"
    # In other languages, these words are something else within a sentence.
    r"|(?:\A[\s*_]*|(?<![^\W\d_])(?:jest|są|to|wynosi|będzie)\s|[:=]\s?)(?:do|od))[\s*_`$(\[\\]{0,6}\Z",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"</?[A-Za-z][\w-]{0,20}>[\s*_`]{0,4}\Z")
_WIDE: Final = tuple(word for word in BOUNDS_BEHIND if word[0] >= "\u2e80")
_SPACED: Final = tuple(word for word in BOUNDS_BEHIND if word[0] < "\u2e80")
_UNIT: Final = (
    rf"(?:(?!{words_pattern(NOT_UNITS)})[^\W\d_](?:[\w/°²³^.]|[\u0900-\u0963]){{0,19}}[\s*_`]{{1,3}}"
    r"|(?:\\?[%‰]|[$€£¥₹₽]|°[CFK]?)[\s*_`]{0,3})"
)
_BEHIND: Final = re.compile(
    rf"\+(?![0-9])|[ *_`$),(}}\\]{{0,6}}(?:{_UNIT}){{0,2}}\(?(?:{words_pattern(_SPACED)}"
    # 25'ten fazla, 25 kilodan az, 25'in üzerinde, 25 yaş ve üstü, 25'e kadar
    r"|(?:[^\W\d_]{0,12}'?(?:[dt][ea]n|[yn][ea]|[ea])\s)?(?:daha\s|veya\s|ve\s){0,2}(?:fazla|az|çok|büyük|küçük|aşağı"
    r"|yukarı|üzeri|üstü|altı|kadar|itibaren)(?![^\W\d_])"
    r"|[^\W\d_]{0,12}'?[ıiuü]n\s(?:üzeri|üstü|altı)n(?:de|da|a|e)(?![^\W\d_]))"
    rf"|[ *_`$}}]{{0,4}}[\u2e80-\uffef]{{0,4}}?\s?(?:{words_pattern(_WIDE)}|(?<![すだん])から(?!な))"
    r"|\s?(?:多(?!少)|余(?!り)|几|數|数)(?=[\u2e80-\uffef\s]|\Z)"
    r"|[\u4e00-\u9fff\s]{1,4}?(?<=[天周月年时秒钟里米元])内(?!容)|\s?[元块円]起(?![\u4e00-\u9fff])",
    re.IGNORECASE,
)


def is_bound(before: str, text: str, end: int) -> bool:
    """Check whether words beside a number make it only a bound, or deny it.

    Args:
        before: What stands before the number.
        text: The folded text.
        end: Where the number ends, without its unit.

    Example:
        >>> is_bound("at least ", "at least 5", 10), is_bound("", "5 km or more", 1), is_bound("", "5 km", 1)
        (True, True, False)
    """
    before = _TAG.sub("", before)  # the sign of a tag such as <answer> compares nothing
    return _BEFORE.search(before) is not None or _BEHIND.match(text, end) is not None
