"""Clauses of Chinese, Japanese and Korean: how they end behind an option, and what joins or compares options.

In these scripts, the ending of the verb shows whether an option is chosen (*大阪を選びます*) or only considered
(*大阪を選ぶと*, *大阪を選ぶ理由*). So only endings that are known count.
"""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.folding import FIRST_WITHOUT_SPACES
from roundtable.reading.owners import belongs_to_others
from roundtable.reading.phrases import CONTRASTS, words_pattern
from roundtable.reading.wide_phrases import (
    WIDE_APART,
    WIDE_BUT,
    WIDE_CORRECTIONS,
    WIDE_ENDINGS,
    WIDE_JOINERS,
    WIDE_LIMITS,
    WIDE_NOUNS,
    WIDE_OPINIONS,
    WIDE_OWNERS,
    WIDE_PURPOSES,
)

__all__ = ["ends_clause", "is_beside", "is_chosen_by_others", "is_limited", "is_only_topic", "is_wide"]

_END: Final = (
    r"[\s*_`\"')\]]*+(?:[.,;:!\n(\u2013\u2014\u3002\uff01]|\Z|\s-\s|因为|因為|由于"
    r"|[\u2600-\u27bf\U0001f300-\U0001faff])"
)
_FINITE: Final = re.compile(
    rf"(?:[的なの의은]?\s?(?:{words_pattern(WIDE_NOUNS)}))?(?:\s?(?:{words_pattern(WIDE_ENDINGS)}))?"
    rf"(?:{words_pattern(WIDE_OPINIONS)})?(?:一些|一点|些|[了呢ねよ])?(?={_END})"
)
"""The rest of a clause that says no more than that an option is chosen or the best."""
_BUT: Final = re.compile(rf"[\s*_`\"')\],;]*+(?:{words_pattern(WIDE_BUT)})")
_COMPARED: Final = re.compile(r"(?<!相)[比较較]\s?[*_`\"']*\Z")
"""What stands before an option to which another one is compared in Chinese: 上海比北京更好."""
_THAN: Final = re.compile(r"(?:比起|相比于?|相较于?|相对于|而不是|不是|不選|不选)\s?[*_`\"']*\Z")
"""What stands before an option that is only compared with the next one, or rejected for it: 比起北京,上海更好."""
_APART: Final = re.compile(rf"(?:{words_pattern((*CONTRASTS, *WIDE_APART))})")
_JOINER: Final = re.compile(rf"(?:{words_pattern(WIDE_JOINERS)})?")
_CLAUSE: Final = re.compile(r"[,;:。—]|\s-\s")
_SIGNS: Final = " \n\t*_`\"'()/&+・"
_CLOSERS: Final = re.compile(r"[\s*_`\"')\]]*+")
_LIMIT: Final = re.compile(rf"(?:{words_pattern(WIDE_LIMITS)})")
_IN_MY_PLACE: Final = re.compile(r"(?:私|わたし|僕|俺|自分)(?:なら|だったら|であれば)|(?:고려|생각|비교|감안)하면")
"""Words that begin like a case and are none, as in 私なら大阪を選びます."""
_VERB: Final = re.compile(r"(?:选择|選擇|选|選|推荐|推薦|投票给|支持|剩下)\Z")
_OUTCOME: Final = r"[^,;。.!\n]{0,30}?(?:会(?!议)|會(?!議)|将|將|可能|就|则|則|需要|意味|必须|必須|可以|要|风险|風險)"
"""What follows from a choice that is only considered."""
_CHOSEN: Final = re.compile(
    rf"(?:市|这个|這個|这座|这一)?(?:{words_pattern(WIDE_NOUNS)})?"
    rf"(?:[了吧]?(?={_END})|(?:{words_pattern(WIDE_CORRECTIONS)})"
    rf"|(?:{words_pattern(WIDE_PURPOSES)})(?![时何后前外说]|{_OUTCOME})"
    r"|是?(?:更|最|比较)?(?:好|佳|优|合适|适合|合理|稳妥|明智|理想)"
    rf"的?(?:{words_pattern(WIDE_NOUNS)})?(?={_END}))"
)
"""What may follow an option directly behind a Chinese verb of choice."""
_OWN_REASON: Final = re.compile(r"的(?:主要|首要)?(?:理由|原因)")
"""What follows the option in 我选择北京的理由, which chooses it."""
_OWN: Final = re.compile(rf"(?:{words_pattern(WIDE_OWNERS)})")
_TOPIC: Final = re.compile(rf",\s?(?!因为|因為|由于|理由|原因){_OUTCOME}")
"""A comma behind a choice that is only considered: 选择北京,我们会失去灵活性."""


def is_wide(text: str, at: int) -> bool:
    """Check whether a word of a script without spaces stands at an index, or behind the closing signs there.

    Example:
        >>> is_wide("**大阪**です", 4), is_wide("Porto it is", 5)
        (True, False)
    """
    behind = _CLOSERS.match(text, at)
    at = behind.end() if behind else at
    return text[at : at + 1] >= FIRST_WITHOUT_SPACES and text[at].isalnum()


def ends_clause(text: str, at: int, end: int) -> bool:
    """Check whether a clause ends behind words of choice or praise without a further verb, a noun, or a *but*.

    Args:
        text: The folded text.
        at: Index behind the words.
        end: End of the sentence.

    Example:
        >>> ends_clause("大阪が最適だと思います", 5, 11), ends_clause("大阪が最適な理由", 5, 8)
        (True, False)
    """
    rest = _FINITE.match(text, at, end)
    return rest is not None and _BUT.match(text, rest.end(), end) is None


def is_beside(before: str, between: str) -> bool:
    """Check whether the words between two options join or compare them, and don't set them apart.

    Args:
        before: The words before the first option.
        between: The words between the options, of a script without spaces.

    Example:
        >>> is_beside("", "か"), is_beside("", "比"), is_beside("比起", ","), is_beside("", "は高いので、")
        (True, True, False, False)
    """
    if _COMPARED.search(between) is not None:
        return True
    if _THAN.search(before) is not None:
        return False
    parts = [part.strip(_SIGNS) for part in _CLAUSE.split(between)]
    if len(parts) > 1:
        return all(_JOINER.fullmatch(part) for part in parts)
    return _APART.search(between) is None


def is_limited(before: str) -> bool:
    """Check whether the words before a judgement limit it to one side or case: *交通方面*, *夏なら*, *여름이라면*."""
    before = _IN_MY_PLACE.sub("", before)
    return _LIMIT.search(before) is not None or _COMPARED.search(before) is not None


def is_chosen_by_others(before: str) -> bool:
    """Check whether a Chinese verb of choice ends the words before an option, and somebody else chooses.

    Example:
        >>> is_chosen_by_others("因此专家们推荐"), is_chosen_by_others("因此我选择"), is_chosen_by_others("因此")
        (True, False, False)
    """
    clause = _CLAUSE.split(before)[-1].rstrip(" *_`\"'(")
    verb = _VERB.search(clause)
    return verb is not None and belongs_to_others(clause[: verb.start()])


def is_only_topic(text: str, begin: int, start: int, end: int) -> bool:
    """Check whether a Chinese verb of choice and its option are only spoken about: *选择北京会很贵*.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        start: Start of the option.
        end: End of the option.

    Example:
        >>> is_only_topic("选择北京会很贵", 0, 2, 4), is_only_topic("选择北京,因为近", 0, 2, 4)
        (True, False)
    """
    before = text[begin:start].rstrip(" *_`\"'(:")
    if _VERB.search(before) is None:
        return False
    behind = _CLOSERS.match(text, end)
    at = behind.end() if behind else end
    is_own = _OWN.search(before) is not None
    if is_wide(text, at) and _CHOSEN.match(text, at) is None:
        return "我" not in before or _OWN_REASON.match(text, at) is None
    return not is_own and _TOPIC.match(text, at) is not None
