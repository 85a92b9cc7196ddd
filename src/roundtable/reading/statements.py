"""Names in sentences that state a fact, as *Canberra* in *The capital of Australia is Canberra*."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.folding import FIRST_WITHOUT_SPACES
from roundtable.reading.phrases import ANSWER_NOUNS, LEADS, STATES_NOTHING, words_pattern
from roundtable.reading.sites import contains

__all__ = ["brief_name", "is_name", "stated_name"]

_VERB: Final = (
    r"(?:is|was|are|were|ist|war|sind|waren|est|était|es|era|fue|è|é|foi|jest|był|была|było)(?![^\W\d_])"
    r"(?:\s(?:called|named|clearly|indeed|still|also))?|\u2014(?:\sэто)?|-(?:\sэто)?|это"
)
_CONTRAST: Final = (
    r"(?:(?:nicht|not|pas|no|non|não|niet|nie|не)\s[^,.\n]{1,40},\s?(?:sondern|but|mais|sino|ma|mas|maar|lecz|а)\s)?"
)
_ARTICLE: Final = r"(?:(?:the|il|lo|la|le|les|el|o|a|os|as|der|die|das|den|de|het|rather)\s|l')?"
_CAPITAL: Final = r"[A-Z\u00c0-\u00dd\u0104-\u017d\u0410-\u042f]"
_PARTICLE: Final = r"(?:(?:of|the|de|da|do|di|du|del|della|des|dos|la|le|von|van|der|den|al|bin|y|e|und|and)\s){0,2}"
_NAME: Final = rf"(?P<name>{_CAPITAL}[\w.'-]*(?:\s{_PARTICLE}{_CAPITAL}[\w'-]*){{0,4}})"
_END: Final = (
    r"(?=\s*(?:[.!]?\s*\Z|[;:\u2014]\s|,\s(?!(?:but|or|though|although|aber|oder|mais|ou|pero|o|ma|mas|maar|of|но|или)\s))"
    r"|\s(?:since|because|desde|seit|depuis|dal|sinds|from|in)\s)"
)
_STATEMENT: Final = re.compile(
    r"[\s*_`\"']*(?P<subject>(?:The|Its|His|Her|Their|Our|Die|Der|Das|Ihr|Sein|Ihre|Seine|La|Le|L'|El|Il|Lo|O|A|Su|Sa|Son|De"
    rf"|Het|[\u0410-\u042f][\u0430-\u044f\u0451]+(?:ая|ое|ый|ий))\s?[^.,;:!?\n\u2014]{{2,80}}?)\s(?:{_VERB})\s"
    rf"{_CONTRAST}{_ARTICLE}[*_`\"]*{_NAME}[*_`\"]*{_END}"
)
_WIDE: Final = re.compile(
    r"\s*(?P<subject>[^，。,、\n是は]{2,24})(?:就?是|は)(?P<name>[^，。,、\n是的不はがをにのこそいな]{1,14}?)(?:です|でした|である)?[。.\s]*"
)
_KOREAN: Final = re.compile(
    r"\s*(?P<subject>[\uac00-\ud7a3 ]{2,40})(?:은|는)\s(?P<name>[^\s,.]{1,14}?)(?:입니다|이다|이에요|예요)[.\s]*"
)
_INVERTED: Final = re.compile(rf"\s*(?:It's|It is|C'est|Es ist|È)\s{_NAME}\s(?:who|that|which|qui|der|die|das|che)\s")
"""*It's Ada who*: the name comes first."""
_JUDGED: Final = re.compile(
    r"(?<![^\W\d_])(?:risks?|problem|danger|threat|drawback|disadvantage|benefit|advantage|loser|alternative|exception"
    r"|opposite|enemy|risiko|gefahr|nachteil|vorteil|risque|avantage|riesgo|ventaja|rischio|vantaggio|risco|vantagem)"
    r"(?![^\W\d_])|风险|问题|优点|缺点|危険|問題|利点|欠点",
    re.IGNORECASE,
)
"""Subjects of a judgement: with another one, the same name would be another answer."""
_KINDS: Final = ("adverse", "rejection", "mistake", "doubt", "others", "hearsay", "hedge", "condition")
_UNSURE: Final = ("hedge", "condition", "rejection", "others", "hearsay")
_IS_THE: Final = re.compile(
    rf"\s*{_NAME}\s(?:is|was|ist|war|est|était|es|era|fue|è|é|foi|jest|był|была|—)\s"
    r"(?:(?:the|die|der|das|la|le|el|il|lo|a|o|de|het)\s|l')[^.,;:\n—]{2,80}[.!]?\s*"
)
"""*Canberra is the capital of Australia*."""
_IT_IS: Final = re.compile(
    r"\s*(?:(?i:i (?:believe|think|say)|ich glaube|je crois|creo|credo|acho|ik denk|myślę)"
    r"(?:\s(?:that|dass|que|che|dat|że))?,?\s)?"
    rf"(?i:{words_pattern(LEADS)})\s?{_ARTICLE}[*_`\"]*{_NAME}[*_`\"]*(?=\s*(?:[.!]?\s*\Z|,\s))"
)
"""*It's Canberra, not Sydney*."""
_ALONE: Final = re.compile(rf"[\s*_`\"']*{_NAME}[*_`\"'.!\s]*")
_MOST_NAME: Final = 2
_MOST_WIDE: Final = 8
_NOTHING: Final = frozenset(STATES_NOTHING)
_NOUNS: Final = tuple(noun for noun in ANSWER_NOUNS if not noun.isascii())


def stated_name(text: str, start: int) -> tuple[int, int] | None:
    """Return the place of the name that the only sentence of a text states of its subject.

    The place is empty if the sentence states the answer of somebody else.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
    """
    match = _STATEMENT.match(text, start) or _INVERTED.match(text, start)
    match = match or _WIDE.fullmatch(text, start) or _KOREAN.fullmatch(text, start)
    if match is None:
        return None
    subject = match.groupdict().get("subject") or ""
    if _JUDGED.search(subject) or any(contains(kind, subject) for kind in _KINDS):
        return None
    if subject.rstrip().endswith(_NOUNS):
        return start, start  # a statement of the author was looked for before
    return None if contains("hedge", text[match.start() :]) else match.span("name")


def is_name(text: str) -> bool:
    """Check whether a whole text may be a name of at most two words, or of eight letters of a script without spaces.

    Example:
        >>> is_name("Canberra"), is_name("lower rents"), is_name("Agreed"), is_name("堪培拉")
        (True, False, False, True)
    """
    found = _ALONE.fullmatch(text)
    if found is None:
        return 1 < len(text) <= _MOST_WIDE and all(sign >= FIRST_WITHOUT_SPACES and sign.isalpha() for sign in text)
    return len(found["name"].split()) <= _MOST_NAME and found["name"].casefold() not in _NOTHING


def brief_name(position: str) -> str | None:
    """Return the name that one short statement gives as the answer; `None` if it gives none, or may only mention it.

    Args:
        position: A folded text of one sentence.

    Example:
        >>> brief_name("It's Canberra, not Sydney."), brief_name("Canberra is the capital.")
        ('Canberra', 'Canberra')
    """
    if (at := stated_name(position, 0)) is not None:
        name = position[slice(*at)]
    elif (found := _ALONE.fullmatch(position) or _IT_IS.match(position) or _IS_THE.fullmatch(position)) is not None:
        name = found["name"]
    elif (name := position.strip(" 。.!")) < FIRST_WITHOUT_SPACES:
        return None
    name = name.strip(" .")
    if not is_name(name) or any(contains(kind, position) for kind in _UNSURE):
        return None
    return name
