"""Lines at the end of a text that belong to no answer: an offer of help, how sure its author is."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.numbers import find_numbers
from roundtable.reading.phrases import CHECKS, CONTRASTS, NEGATIONS, words_pattern
from roundtable.reading.sites import lines

__all__ = ["is_check", "without_tail"]

_TAIL: Final = re.compile(
    r"[\s*_]*+(?:(?:let me know|i hope|hope (?:this|that|it)|feel free|please (?:let|feel)|if you(?:'d| would)? (?:like"
    r"|want|need|have)|happy to|lass(?:en sie)? (?:mich|es)|ich hoffe|n'hésitez|j'espère|espero que|spero che"
    r"|laat (?:het )?me|ik hoop|daj znać|mam nadzieję|надеюсь|если (?:нужно|хотите|у вас)|希望|如果您|如果你|ご不明"
    r"|お役に|도움이|필요하시면|آمل|إذا كنت)"
    r"|(?:this|that|it) (?:all )?(?:follows|comes from|results from|is because)|das (?:folgt|ergibt sich)"
    r"|(?:cela|ceci) (?:découle|résulte)|esto (?:se deduce|se sigue|resulta)|questo (?:segue|deriva)"
    r"|isso (?:segue|decorre)|dit volgt|wynika to|это следует)[^\n0-9:：\\]*+\Z"
    r"|[\s*_]*+(?:my )?(?:confidence|certainty|konfidenz|sicherheit|zuversicht|confiance|confianza|fiducia|confiança"
    r"|zekerheid|pewność|уверенность|置信度|信心|確信度|신뢰도)(?: level| score)?[*_\s]*[:：=][^\n]{1,40}\Z",
    re.IGNORECASE,
)
"""A line behind an answer that offers more help, says that it follows, or says how sure its author is."""
_TAKES_BACK: Final = re.compile(
    rf"(?:{words_pattern(NEGATIONS)}|n't|{words_pattern(CONTRASTS)}|instead|however|wrong|except)", re.IGNORECASE
)
_CHECK_SENTENCE: Final = re.compile(
    rf"[\s*_]*+(?:(?:as )?an? |to |quick |sanity |zur )*(?:{words_pattern(CHECKS)})[\s*_]*+[:：,]", re.IGNORECASE
)
_MOST_BEFORE: Final = 200


def without_tail(text: str, start: int) -> str:
    """Return a text without the lines at its end that belong to no answer; at least one line stays."""
    found = lines(text, start)
    while len(found) > 1 and _TAIL.match(text, *found[-1]) and not _TAKES_BACK.search(text, *found[-1]):
        found.pop()
        text = text[: found[-1][1]]
    return text


def is_check(text: str, start: int, begin: int, end: int) -> bool:
    """Check whether a sentence checks the last number before it, as in *It is 408. Check: 408 / 17 = 24*."""
    if _CHECK_SENTENCE.match(text, begin) is None:
        return False
    before = text[max(start, begin - _MOST_BEFORE) : begin]
    written = [before[slice(*found.span)] for found in find_numbers(before)]
    return bool(written) and written[-1] in text[begin:end]
