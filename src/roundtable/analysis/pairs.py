"""Comparing two short positions by cues that can be named: no model, no claim to understand."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from roundtable.analysis.lexicon import HEDGES, KOREAN_NEGATION, NEGATIONS, NO, STOP_WORDS, YES, opposites, stem
from roundtable.scoring import casefold
from roundtable.types import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LexicalScorer", "PairScore", "PairScorer"]

_LONGEST: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+|\d[\d.,]*")
_QUOTES: Final = str.maketrans("", "", "'\u2019`")
_KOREAN: Final = re.compile(KOREAN_NEGATION)
_TOPICAL: Final = 0.3
_OPPOSED: Final = 0.1
_HEDGED: Final = 0.55
_SAME_SIDE: Final = 0.75
_OTHER_WORDS: Final = 0.4


class PairScore(Value):
    """How far two positions agree, and why."""

    score: float
    """From 0, contradiction or nothing in common, to 1, the same."""
    reasons: tuple[str, ...] = ()
    """The cues behind it, in words."""


class PairScorer(Protocol):
    """Compares positions two by two. A scorer backed by a model goes where `LexicalScorer` goes."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[PairScore]:
        """Compare each pair; the order within a pair must not matter, and a text agrees with itself (1.0)."""


@dataclass(frozen=True, slots=True)
class _Cues:
    plain: str
    words: frozenset[str]
    numbers: frozenset[str]
    negations: int
    ends: tuple[tuple[int, int], ...]
    hedged: bool
    opening: int


@lru_cache(maxsize=4096)
def _cues(text: str) -> _Cues:
    plain = casefold(text[:_LONGEST])
    tokens = _WORD.findall(unicodedata.normalize("NFC", plain).translate(_QUOTES))
    numbers = frozenset(token.strip(".,").replace(",", "") for token in tokens if token[0].isdigit())
    words = [token for token in tokens if not token[0].isdigit()]
    sides: Counter[int] = Counter()
    content: set[str] = set()
    for word in words:
        root = stem(word)
        for dimension, end in opposites().get(root, ()):
            sides[dimension] += end
        if word not in STOP_WORDS and word not in NEGATIONS and root not in opposites():
            content.add(root)
    first = words[0] if words else ""
    opening = 1 if first in YES else -1 if first in NO else 0
    turned = sum(word in NEGATIONS for word in words[1:] if opening) or (0 if opening else _negations(words))
    return _Cues(
        plain=plain,
        words=frozenset(content),
        numbers=numbers,
        negations=turned + len(_KOREAN.findall(plain)),
        ends=tuple(sorted((dimension, 1 if end > 0 else -1) for dimension, end in sides.items() if end)),
        hedged=any(word in HEDGES for word in words),
        opening=opening,
    )


def _negations(words: Sequence[str]) -> int:
    return sum(word in NEGATIONS for word in words)


class LexicalScorer:
    """Compares two positions by their words: negation, opposites, numbers, hedges, what they have in common.

    It sees short, explicit statements on one question, in English and partly in Korean. It does not see a stance that
    no word gives away, and finds paraphrases only as far as they share words; figures stand in the benchmarks.

    Example:
        >>> scored = LexicalScorer().score([("AI is dangerous", "AI is not dangerous"), ("Buy 40", "Buy 42")])
        >>> [(one.score, one.reasons) for one in scored]
        [(0.1, ('one of them negates',)), (0.1, ('numbers differ: 40 / 42',))]
    """

    def score(self, pairs: Sequence[tuple[str, str]]) -> tuple[PairScore, ...]:
        """Compare each pair; see `PairScorer`."""
        return tuple(_compare(_cues(one), _cues(other)) for one, other in pairs)


def _compare(one: _Cues, other: _Cues) -> PairScore:
    if one.plain == other.plain:
        return PairScore(score=1.0, reasons=("the same words",))
    common = _overlap(one.words, other.words)
    flips, reasons = _flips(one, other)
    if one.opening and other.opening:
        if one.opening != other.opening:
            return PairScore(score=0.0, reasons=("one says yes, the other no",))
        side = "yes" if one.opening > 0 else "no"
        return PairScore(score=max(round(common, 6), _SAME_SIDE), reasons=(f"both say {side}",))
    shares_ends = bool({place for place, _ in one.ends} & {place for place, _ in other.ends})
    about = common >= _TOPICAL or (shares_ends and not (one.words and other.words))
    if one.numbers and other.numbers and one.numbers != other.numbers and about:
        told = " / ".join(", ".join(sorted(cues.numbers)) for cues in sorted((one, other), key=lambda cue: cue.plain))
        return PairScore(score=_OPPOSED, reasons=(f"numbers differ: {told}",))
    if flips % 2:
        return PairScore(score=_OPPOSED if about else min(common, _OPPOSED), reasons=tuple(reasons))
    return _alike(one, other, common, reasons, shares_ends=shares_ends)


def _alike(one: _Cues, other: _Cues, common: float, reasons: list[str], *, shares_ends: bool) -> PairScore:
    """Score a pair without any sign of contradiction by what it has in common."""
    if shares_ends and not one.words ^ other.words:
        common, reasons = max(common, _SAME_SIDE), [*reasons, "they judge alike"]
    if not common:
        return PairScore(score=0.0, reasons=("no word in common",))
    if common < 1 and _both_differ(one.words, other.words):
        common = min(common, _OTHER_WORDS)
        reasons = [*reasons, "each says what the other does not"]
    if one.hedged != other.hedged and common > _HEDGED:
        return PairScore(score=_HEDGED, reasons=(*reasons, "one of them hedges"))
    return PairScore(score=round(common, 6), reasons=(*reasons, f"{round(common * 100)} % of the words in common"))


def _flips(one: _Cues, other: _Cues) -> tuple[int, list[str]]:
    """Count what turns one of two statements against the other."""
    mine, yours = dict(one.ends), dict(other.ends)
    opposed = any(yours[place] != end for place, end in mine.items() if place in yours)
    turned = (one.negations + other.negations) % 2
    reasons = (["opposite words"] if opposed else []) + (["one of them negates"] if turned else [])
    return opposed + turned, reasons


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def _both_differ(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return bool(one and other) and 2 * (len(one) - shared) >= len(one) and 2 * (len(other) - shared) >= len(other)
