"""Other options that stand beside the chosen one, so that a clause names two."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.judgements import REASON
from roundtable.reading.phrases import COMPARISONS, JOINERS, words_pattern
from roundtable.reading.sites import contains, sentence_end

if TYPE_CHECKING:
    from roundtable.reading.options import Named, OptionTable

__all__ = ["APART", "COMPARISON", "MOST_OTHER", "OPENING_END", "other_named"]

OPENING_END: Final = re.compile(
    r"[\s*_`\"')\]}$]*+(?:[.:,;!\n–—(。।，：番号번]|-\s|\Z"
    r"|[\u2600-\u2712\u2764\u2b50\U0001f300-\U0001f44d\U0001f450-\U0001f6aa]"
    r"|(?:because|since|weil|parce que|car|porque|perché|omdat|ponieważ|потому)(?![^\W\d_])"
    r"|(?:ftw|pls|please|for sure|all the way|any day|hands down|no contest|obviously|definitely|eindeutig"
    r"|sin duda|sem dúvida)(?=[.,!]|\Z)"
    r"|(?:it|them|this|that|es|sie|ihn)(?=[.!]|\Z)"
    r"|(?:it|they|he|she|we|this|that)\s(?:is|are|was|were|does|do|did|has|have|can|will|should)(?:n't"
    r"|\snot)?(?=[.!,;]|\Z))",
    re.IGNORECASE,
)
COMPARISON: Final = re.compile(rf"(?:{words_pattern(COMPARISONS)})", re.IGNORECASE)
APART: Final = re.compile(r"[,;:(–—，；：]|\s-\s")
_TOGETHER: Final = re.compile(
    r"(?:[,\s](?<!compared\s)(?<!comparison\s)with|alongside|plus)\s[*_`\"']*\Z", re.IGNORECASE
)
_CASE: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:(?:for|in|on|at|when|during|für|im|bei|pour|en|para|per|voor|dla|для)\s)",
    re.IGNORECASE,
)
"""What follows an option that is chosen for one case alone."""
_JOINS: Final = re.compile(rf"(?:[,;，、；]|{words_pattern(JOINERS)})[\s*_`\"']*\Z", re.IGNORECASE)
_COMPANION: Final = re.compile(
    r"(?:,\s(?:together |paired |combined |along )?(?:with|mit|avec|con|com|met|z|с)|(?<![a-z])(?:alongside|plus))"
    r"(?:\s[^\W\d_]{1,4})?[\s*_`\"']*\Z",
    re.IGNORECASE,
)
"""What joins a second option behind a purpose, as in *, with Redis*."""
_ROLE: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:as|for|als|für|comme|pour|como|para|come|per|voor|jako|dla|как|для)\s", re.IGNORECASE
)
_YET: Final = re.compile(r"(?:but|yet|aber|jedoch|mais|pero|ma|mas|maar|ale|но|但)[\s*_`\"']*\Z", re.IGNORECASE)
_PREFERRED: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:(?:over|above|before|ahead of|to (?:either|both)|more|even|first|instead|vor|über|noch|avant"
    r"|plutôt|antes|sobre|prima|boven|przed)(?![^\W\d_])|[.!]|\Z)",
    re.IGNORECASE,
)
"""What puts the option behind a *but* above the one before it."""
MOST_OTHER: Final = 240


def other_named(text: str, named: Named, end: int, table: OptionTable) -> Named | None:
    """Return another option that the clause behind an option names, unless it is only compared with it."""
    end = min(end, sentence_end(text, named.end - (text[named.end - 1] == "."), len(text)), named.end + MOST_OTHER)
    if end <= named.end:
        return None
    reason = REASON.search(text, named.end, end)
    stop = reason.start() if reason else end
    for other in table.mentions(text, named.end, stop):
        between = text[named.end : other.start]
        if other.options == named.options:
            continue
        if _TOGETHER.search(between):
            return other
        if COMPARISON.search(between):
            third = [
                one for one in table.mentions(text, other.end, end) if one.options not in {named.options, other.options}
            ]
            return third[0] if third else None
        is_apart = APART.search(between) is not None
        if is_apart and other.by == "text" and contains("negation", APART.split(between)[-1]):
            continue
        if not is_apart or other.by == "label" or OPENING_END.match(text, other.end, stop):
            return other
    if (beside := _beside(text, named, end, table)) is not None:
        return beside
    return _parallel(text, named, end, table)


def _beside(text: str, named: Named, end: int, table: OptionTable) -> Named | None:
    """Return an option that a reason does not keep from being chosen too: *A for orders, with B as a cache*."""
    last = named
    for other in table.mentions(text, named.end, end):
        between = text[last.end : other.start]
        is_beside = _COMPANION.search(between) or (_JOINS.search(between) and _ROLE.match(text, other.end, end))
        is_above = _YET.search(between) and _PREFERRED.match(text, other.end, end)
        if other.options != named.options and (is_beside or is_above):
            return other
        last = other
    return None


def _parallel(text: str, named: Named, end: int, table: OptionTable) -> Named | None:
    """Return an option that stands beside another for another case, as in *Lisbon in summer, Porto in winter*."""
    case = _CASE.match(text, named.end, end)
    if case is None:
        return None
    for other in table.mentions(text, case.end(), end):
        is_joined = _JOINS.search(text, case.end(), other.start) is not None
        if other.options != named.options and is_joined and _CASE.match(text, other.end, end):
            return other
    return None
