"""Whose statement a clause is in scripts that write the owner directly before it, such as Chinese."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.folding import FIRST_WITHOUT_SPACES
from roundtable.reading.phrases import (
    WIDE_ADVERBS,
    WIDE_LEADS,
    WIDE_REASON_ENDS,
    WIDE_SELF,
    WIDE_SUBJECTS,
    WIDE_TOPICS,
)

__all__ = ["belongs_to_others", "is_acted_by_others"]

_ADJECTIVE: Final = re.compile(
    rf"(?:(?:最も|最|更|较|比较|唯一|相对|一番|가장\s)[^\s,、，]{{1,8}}?(?:的|な|い|한|은)|{'|'.join(WIDE_ADVERBS)})\s*\Z"
)
"""The last adjective before a noun or an adverb before a verb, in a clause."""
_LEAD: Final = re.compile(rf"(?:{'|'.join((*WIDE_SELF, *WIDE_LEADS))})\s*\Z")
"""What shows at the end of the words before a statement that its author makes it."""
_REASON: Final = re.compile("|".join(WIDE_REASON_ENDS))
_SUBJECT: Final = re.compile(rf"(?:{'|'.join(WIDE_SUBJECTS)})")
_SELF: Final = re.compile("|".join(WIDE_SELF))
_HANGUL: Final = re.compile(r"[\uac00-\ud7a3]\s?\Z")
_TOPIC: Final = re.compile(r"([\uac00-\ud7a3]+)(?:은|는|이|가)\s")
_DEVANAGARI: Final = re.compile(r"[\u0900-\u097f]+")
_OWN_WORDS: Final = frozenset((*WIDE_SELF, *WIDE_LEADS, *WIDE_ADVERBS, *WIDE_REASON_ENDS))
_TOPICS: Final = frozenset(WIDE_TOPICS)
_OWNER: Final = re.compile(r"[\uac00-\ud7a3]의\s*\Z|(?:का|की|के)\s*\Z")
_MOST_ADJECTIVES: Final = 6


def belongs_to_others(clause: str) -> bool:
    """Check whether the words directly before a noun such as *answer*, or before a verb, name somebody else.

    Args:
        clause: The words between the beginning of the clause and the noun or verb.

    Example:
        >>> belongs_to_others("小明的"), belongs_to_others("我的"), belongs_to_others("因此最终")
        (True, False, False)
    """
    before = clause.rstrip(" *_`\"'")
    if not before or (before[-1] < FIRST_WITHOUT_SPACES and _OWNER.search(before) is None):
        return False
    if _HANGUL.search(before) is not None and _OWNER.search(before) is None:
        return False  # Korean writes words apart, and an owner with an ending
    for _ in range(_MOST_ADJECTIVES):
        adjective = _ADJECTIVE.search(before)
        if adjective is None:
            break
        before = before[: adjective.start()]
    before = before.rstrip(" *_`\"'的")
    return bool(before) and before[-1] not in ":：\n" and _LEAD.search(before) is None


def is_acted_by_others(clause: str) -> bool:
    """Check whether the words before an option whose verb follows name another subject, as in *太郎はポルトを選びます*.

    Args:
        clause: The words between the beginning of the clause and the option.

    Example:
        >>> is_acted_by_others("多くの人が"), is_acted_by_others("私は"), is_acted_by_others("海が近いので")
        (True, False, False)
    """
    reasons = [match.end() for match in _REASON.finditer(clause)]
    own = clause[reasons[-1] if reasons else 0 :]
    words = _DEVANAGARI.findall(own)
    if words and not _OWN_WORDS.issuperset(words):
        return True
    if topics := [*_TOPIC.finditer(own)]:
        return topics[-1][1] not in _TOPICS or belongs_to_others(own[: topics[-1].start()])
    return _SUBJECT.search(own) is not None and _SELF.search(own) is None
