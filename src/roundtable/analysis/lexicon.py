"""Words that tell sides apart without a model: negations, opposites, hedges; English and Korean.

The lists are ours and short on purpose: each entry is a cue that a reader can check, not knowledge of the language.
"""

from __future__ import annotations

from functools import cache
from typing import Final

__all__ = ["HEDGES", "KOREAN_ENDINGS", "KOREAN_NEGATION", "NEGATIONS", "NO", "STOP_WORDS", "YES", "opposites", "stem"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


YES: Final = frozenset({"yes", "yeah", "yep", "agree", "agreed", "absolutely", "definitely", "네", "예", "그렇다"})
"""Openings that say yes."""
NO: Final = frozenset({"no", "nope", "disagree", "disagreed", "아니요", "아니오", "아니다"})
"""Openings that say no."""

NEGATIONS: Final = frozenset(
    _words(
        """
    not no never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt
    werent wont wouldnt shouldnt couldnt mustnt neednt hasnt havent hadnt aint hardly scarcely barely
    """
    )
)
"""Words that turn a sentence round."""

KOREAN_NEGATION: Final = r"않|못\s?하|못한|없[다는이을어습]|아니[다라며]|안\s|말아야|말자"
"""The same within Korean words."""

KOREAN_ENDINGS: Final = _words(
    """
    하지 지않는다 해야한다 입니다 합니다 습니다 됩니다 이다 한다 하다 된다 되다 해야 하는
    에서 으로 에게 까지 부터 은 는 이 가 을 를 에 의 도 로 와 과 만 다 지
    """
)
"""Endings and particles that are cut off Korean words, longest first where several fit."""

HEDGES: Final = frozenset(
    _words(
        """
    might maybe perhaps possibly partly partially somewhat depends depending unless if only provided
    conditional conditionally sometimes unclear uncertain unsure 아마 어쩌면 부분적 일부 조건부 경우
    """
    )
)
"""Words that hold a position only in part, or under a condition."""

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
"""Words that are no evidence of a common subject."""

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
"""One line a dimension: its two ends."""

_SUFFIXES: Final = ("ingly", "edly", "ings", "ies", "ing", "ied", "ed", "es", "ly", "s")


def stem(word: str) -> str:
    """Cut common endings off a word, so that forms of one word meet.

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
    """Give, by stem, the dimensions a word stands on, each with the end it stands at: 1 or -1."""
    found: dict[str, list[tuple[int, int]]] = {}
    for dimension, line in enumerate(_OPPOSITES.strip().splitlines()):
        for words, end in zip(line.split("|"), (1, -1), strict=True):
            for word in words.split():
                found.setdefault(stem(word), []).append((dimension, end))
    return {word: tuple(places) for word, places in found.items()}
