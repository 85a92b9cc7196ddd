"""Comparison of two short positions by word lists and other cues, without a model."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from roundtable.core.base.text import normal_form
from roundtable.core.types.base import Value
from roundtable.scoring import casefold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "HEDGES",
    "KOREAN_ENDINGS",
    "KOREAN_NEGATION",
    "NEGATIONS",
    "NO",
    "STOP_WORDS",
    "YES",
    "LexicalScorer",
    "PairScore",
    "PairScorer",
    "opposites",
    "stem",
]

YES: Final = frozenset({"yes", "yeah", "yep", "agree", "agreed", "absolutely", "definitely", "네", "예", "그렇다"})
"""First words that mean yes."""
NO: Final = frozenset({"no", "nope", "disagree", "disagreed", "아니요", "아니오", "아니다"})
"""First words that mean no."""

KOREAN_NEGATION: Final = r"않|못\s?하|못한|없[다는이을어습]|아니[다라며]|안\s|말아야|말자"
"""Pattern of negations in Korean words."""

_OPPOSITES: Final = """
good great beneficial positive helpful useful worthwhile valuable | bad harmful negative useless detrimental damaging
safe secure harmless | dangerous unsafe risky hazardous insecure
better superior outperform | worse inferior underperform
increase rise grow raise higher more expand improve | decrease fall shrink lower fewer less reduce decline drop worsen
support favor favour endorse accept approve adopt keep retain | oppose reject refuse abandon against ban scrap drop
allow permit legal legalize legalise enable | forbid prohibit ban illegal criminalize outlaw banned unlawful
possible feasible able | impossible infeasible unable
necessary needed essential required mandatory compulsory | unnecessary needless optional superfluous voluntary
right correct true accurate valid | wrong incorrect false inaccurate invalid
justified moral ethical fair | unjustified immoral unethical unfair unjust
success succeed win gain profit benefit advantage | failure fail lose loss harm cost disadvantage
always everybody everyone everything | never nobody nothing
easy simple cheap fast quick affordable | hard difficult complex expensive slow costly unaffordable
strong strengthen stable reliable robust | weak weaken unstable unreliable fragile
likely probable certain | unlikely improbable doubtful
start begin open create build introduce | stop end close destroy demolish abolish remove
before early earlier | after late later
free public open | paid private closed
buy hire up | sell fire down
hot warm | cold cool
guilty | innocent
healthy | unhealthy sick
happy satisfied | unhappy dissatisfied
effective efficient productive | ineffective inefficient unproductive
important significant relevant | unimportant insignificant irrelevant
alive live | dead die
centralized monolith together united | decentralized microservices apart divided
찬성 지지 | 반대
좋 유익 긍정 | 나쁘 나쁜 해롭 해로 부정
안전 | 위험
증가 늘 상승 확대 | 감소 줄 하락 축소
허용 허가 합법 | 금지 불법
가능 | 불가능
필요 | 불필요
도입 유지 | 폐지 철폐
성공 이익 | 실패 손해
강화 | 약화
옳 공정 | 그르 불공정
쉽 쉬운 싸 저렴 | 어렵 어려운 비싸 비싼
효과적 효율적 | 비효과적 비효율적
"""
"""Opposite words: each line is a dimension, with the words of its two ends."""

_SUFFIXES: Final = ("ingly", "edly", "ings", "ies", "ing", "ied", "ed", "es", "ly", "s")

_LONGEST: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+|\d[\d.,]*")
_QUOTES: Final = str.maketrans("", "", "'\u2019`")
_KOREAN: Final = re.compile(KOREAN_NEGATION)
_TOPICAL: Final = 0.3
_OPPOSED: Final = 0.1
_HEDGED: Final = 0.55
_SAME_SIDE: Final = 0.75
_OTHER_WORDS: Final = 0.4


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NEGATIONS: Final = frozenset(
    _words(
        """
    not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt
    werent wont wouldnt shouldnt couldnt mustnt neednt hasnt havent hadnt aint hardly scarcely barely
    """
    )
)
"""Words that negate a sentence."""


KOREAN_ENDINGS: Final = _words(
    """
    하지 지않는다 해야한다 입니다 합니다 습니다 됩니다 이다 한다 하다 된다 되다 해야 하는
    에서 으로 에게 까지 부터 은 는 이 가 을 를 에 의 도 로 와 과 만 다 지
    """
)
"""Endings and particles to remove from Korean words; a longer one comes before the shorter ones that it ends with."""

HEDGES: Final = frozenset(
    _words(
        """
    might maybe perhaps possibly partly partially somewhat depends depending unless if only provided
    conditional conditionally sometimes unclear uncertain unsure 아마 어쩌면 부분적 일부 조건부 경우
    """
    )
)
"""Words that limit a position or make it conditional."""

STOP_WORDS: Final = frozenset(
    _words(
        """
    a an the and or but so as of to in on at by for from with into onto about than then that this these
    those it its is are was were be been being am do does did done has have had having will would shall
    should can could may must i we you he she they them their our your my me us one there here who whom
    which what when where why how all any each every some more most very much many also just really
    quite rather too such same own because since while think believe feel say says said argue hold view
    position opinion answer overall therefore thus hence however use choose pick go take make get let
    need ought case point fact way thing things people 그 이 저 것 수 등 및 더 가장 매우
    """
    )
)
"""Words that do not show that two texts have a common subject."""


def stem(word: str) -> str:
    """Remove common endings from a word, so that its forms become equal.

    Example:
        >>> stem("improves"), stem("improving"), stem("bus")
        ('improv', 'improv', 'bus')
    """
    if not word.isascii():
        for ending in KOREAN_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 2:
                return word[: -len(ending)]
        return word
    for ending in _SUFFIXES:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending in {"ies", "ied"} else "")
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


@cache
def opposites() -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the dimensions of each stem, and the end at which it is: 1 or -1."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for dimension, line in enumerate(_OPPOSITES.strip().splitlines()):
        for words, end in zip(line.split("|"), (1, -1), strict=True):
            for word in words.split():
                ends.setdefault(stem(word), []).append((dimension, end))
    return {word: tuple(word_ends) for word, word_ends in ends.items()}


class PairScore(Value):
    """Agreement of two positions, with reasons."""

    score: float
    """From 0 (contradiction, or nothing in common) to 1 (the same)."""
    reasons: tuple[str, ...] = ()
    """Descriptions of the cues behind the score."""


class PairScorer(Protocol):
    """Protocol for a comparison of answers in pairs, for example by a model of textual entailment."""

    def score(self, topic: str, pairs: Sequence[tuple[str, str]]) -> Sequence[PairScore]:
        """Score each pair of answers to a question; the order within a pair must not matter.

        Args:
            topic: The question.
            pairs: Pairs of different answers.

        Returns:
            For each pair, 1 if both say the same, 0 if they contradict each other, and about 0.5 if it is not known.
        """


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
    tokens = _WORD.findall(normal_form(plain, "NFC").translate(_QUOTES))
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
    first_word = words[0] if words else ""
    opening = 1 if first_word in YES else -1 if first_word in NO else 0
    negations = sum(word in NEGATIONS for word in words[1:] if opening) or (0 if opening else _negations(words))
    return _Cues(
        plain=plain,
        words=frozenset(content),
        numbers=numbers,
        negations=negations + len(_KOREAN.findall(plain)),
        ends=tuple(sorted((dimension, 1 if end > 0 else -1) for dimension, end in sides.items() if end)),
        hedged=any(word in HEDGES for word in words),
        opening=opening,
    )


def _negations(words: Sequence[str]) -> int:
    return sum(word in NEGATIONS for word in words)


class LexicalScorer:
    """Scorer that compares two positions by their words: negation, opposites, numbers, hedges, common words.

    It handles short, explicit statements on one question, in English and partly in Korean. It does not recognise
    implicit stances, and it recognises paraphrases only if they share words. The benchmarks show how well it works.

    Example:
        >>> scored = LexicalScorer().score("AI?", [("AI is dangerous", "AI is not dangerous"), ("Buy 40", "Buy 42")])
        >>> [(pair.score, pair.reasons) for pair in scored]
        [(0.1, ('one of them negates',)), (0.1, ('numbers differ: 40 / 42',))]
    """

    def score(self, topic: str, pairs: Sequence[tuple[str, str]]) -> tuple[PairScore, ...]:
        """Compare each pair; see `PairScorer`. The question has no influence."""
        return tuple(_compare(_cues(first), _cues(second)) for first, second in pairs)


def _compare(first: _Cues, second: _Cues) -> PairScore:
    if first.plain == second.plain:
        return PairScore(score=1.0, reasons=("the same words",))
    common = _overlap(first.words, second.words)
    flips, reasons = _flips(first, second)
    if first.opening and second.opening:
        if first.opening != second.opening:
            return PairScore(score=0.0, reasons=("one says yes, the other no",))
        side = "yes" if first.opening > 0 else "no"
        return PairScore(score=max(round(common, 6), _SAME_SIDE), reasons=(f"both say {side}",))
    shares_ends = bool({dimension for dimension, _ in first.ends} & {dimension for dimension, _ in second.ends})
    same_subject = common >= _TOPICAL or (shares_ends and not (first.words and second.words))
    if first.numbers and second.numbers and first.numbers != second.numbers and same_subject:
        numbers = " / ".join(
            ", ".join(sorted(cues.numbers)) for cues in sorted((first, second), key=lambda cue: cue.plain)
        )
        return PairScore(score=_OPPOSED, reasons=(f"numbers differ: {numbers}",))
    if flips % 2:
        return PairScore(score=_OPPOSED if same_subject else min(common, _OPPOSED), reasons=tuple(reasons))
    return _score_similarity(first, second, common, reasons, shares_ends=shares_ends)


def _score_similarity(
    first: _Cues, second: _Cues, common: float, reasons: list[str], *, shares_ends: bool
) -> PairScore:
    """Score a pair without signs of contradiction by its common words."""
    if shares_ends and not first.words ^ second.words:
        common, reasons = max(common, _SAME_SIDE), [*reasons, "they judge alike"]
    if not common:
        return PairScore(score=0.0, reasons=("no word in common",))
    if common < 1 and _both_differ(first.words, second.words):
        common = min(common, _OTHER_WORDS)
        reasons = [*reasons, "each says what the other does not"]
    if first.hedged != second.hedged and common > _HEDGED:
        return PairScore(score=_HEDGED, reasons=(*reasons, "one of them hedges"))
    return PairScore(score=round(common, 6), reasons=(*reasons, f"{round(common * 100)} % of the words in common"))


def _flips(first: _Cues, second: _Cues) -> tuple[int, list[str]]:
    """Count the cues of a contradiction between two statements; to the caller, two cues cancel each other."""
    first_ends, second_ends = dict(first.ends), dict(second.ends)
    is_opposed = any(second_ends[dimension] != end for dimension, end in first_ends.items() if dimension in second_ends)
    negated = (first.negations + second.negations) % 2
    reasons = (["opposite words"] if is_opposed else []) + (["one of them negates"] if negated else [])
    return is_opposed + negated, reasons


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def _both_differ(first: frozenset[str], second: frozenset[str]) -> bool:
    shared = len(first & second)
    return (
        bool(first and second) and 2 * (len(first) - shared) >= len(first) and 2 * (len(second) - shared) >= len(second)
    )
