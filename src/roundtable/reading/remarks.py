"""Remarks at the end of an answer that do not belong to it: how sure its author is, and thanks."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["remark_start", "shows_doubt"]

_LEAD: Final = r"(?:\s*+[,;，；、]|\s++(?:[–—]|-{1,2})(?=\s)|\s*—|\.{3}|…)"
_AND: Final = r"(?:\s++(?:and|und|et|y|e|en|i|и|ve)(?=\s))"
_CERTAINTY: Final = (
    r"(?:confidence|certainty|confident|certain|sure|konfidenz|sicherheit|zuversicht|sicher|confiance|certitude|sûre?"
    r"|confianza|certeza|segur[oa]|fiducia|certezza|sicur[oa]|confiança|cert[oa]|zekerheid|zeker|pewność|pewności(?:ą)?"
    r"|pewien|pewna|уверенность(?:ю)?|уверен(?:а)?)"
)
_FIGURE: Final = r"(?:[0-9]{1,3}(?:[.,][0-9]{1,4})?\s?%?)"
_FIRM: Final = re.compile(
    rf"(?:{_LEAD}{_AND}?|{_AND})\s*+(?:"
    r"(?:with|at|mit|avec|con|com|met|z|с)\s(?:an?\s|my\s|eine[rm]?\s|une\s|una\s|uma\s|een\s)?"
    rf"(?:(?:{_FIGURE}|high|full|great|complete|absolute|moderate|low|hoher|voller|haute|grande|alta|pena|hoge|dużą)\s"
    rf"{_CERTAINTY}|{_CERTAINTY}(?:\s(?:level|score))?\s?(?:of|von|de|di|van|:|=)?\s?{_FIGURE})"
    rf"|(?:my\s)?(?:confidence|certainty|konfidenz|confiance|confianza|fiducia|confiança)(?:\s(?:level|score))?"
    rf"\s?(?:is|:|=|ist|est|es|è|é)?\s?{_FIGURE}"
    rf"|(?:i'm|i am|we're|we are|ich bin(?: mir)?|je suis|estoy|sono|estou|ik ben|jestem|я)\s"
    rf"(?:(?:very|absolutely|completely|totally|fully|quite certainly|{_FIGURE}|sehr|ganz|absolut|tout à fait|muy"
    rf"|totalmente|molto|assolutamente|heel|bardzo)\s)?{_CERTAINTY}(?:\s(?:of|about)\s(?:it|this|that))?"
    r"|(?:many\s)?thanks(?:\sa lot|\sfor asking)?|thank you(?:\s(?:very|so) much|\sfor asking)?|you're welcome|cheers"
    r"|danke(?:\s(?:schön|sehr))?|vielen dank|merci(?:\sbeaucoup)?|(?:muchas\s)?gracias|(?:mille\s)?grazie"
    r"|(?:muito\s)?obrigad[oa]|bedankt|dank je(?:\swel)?|dziękuję|спасибо|teşekkürler|谢谢"
    r"|ありがとう(?:ございます)?|감사합니다"
    r"|i(?:'d| would)? (?:think|believe|reckon|say)(?:\sso)?|(?:denke|glaube|meine) ich|ich (?:denke|glaube)"
    r"|je (?:crois|pense)|creo(?: yo)?|pienso|credo|penso|(?:eu )?acho|creio|(?:denk|geloof) ik"
    r"|(?:tak )?(?:myślę|sądzę)|(?:я )?думаю|sanırım|我想|我觉得"
    r"|no doubt|without (?:a )?doubt|for sure|ohne zweifel|sans (?:aucun )?doute|sin duda|senza dubbio|sem dúvida"
    r"|zonder twijfel|bez wątpienia|без сомнения"
    r")(?![^\W\d_])[\s*_`\"'.!)。]*\Z",
    re.IGNORECASE,
)
_DOUBTFUL: Final = re.compile(
    rf"(?:{_LEAD}|\s)\s*+(?:(?:or so|but|at least|aber|mais|pero|ma|mas|maar|ale|но)\s)?(?:"
    r"i(?:'d| would)? (?:guess|suppose|assume)(?:\sso)?|i hope|if i(?:'m| am) not mistaken"
    r"|probably|perhaps|maybe|possibly|presumably|most likely"
    r"|(?:i'm|i am) (?:not|fairly|pretty|quite|rather|somewhat|almost|reasonably)\s(?:[^\W\d_]{1,12}\s)?"
    r"(?:sure|certain|confident|positive)"
    r"|(?:vermute|schätze) ich|ich (?:vermute|schätze)|vermutlich|wahrscheinlich"
    r"|vielleicht|je suppose|il me semble|peut-être|probablement|supongo|quizás?"
    r"|probablemente|suppongo|forse|probabilmente|suponho|talvez|provavelmente"
    r"|vermoed ik|misschien|waarschijnlijk|chyba|prawdopodobnie"
    r"|наверное|кажется|возможно|galiba|belki|我猜|大概|也许|可能|たぶん|おそらく|아마(?:도)?"
    r")[\s*_`\"'.!)。]*\Z",
    re.IGNORECASE,
)
_WIDE_LEAD: Final = re.compile(r"[,;，；、—…]|\.{3}")
_MOST_CHARS: Final = 60
"""Most characters of a remark."""


def remark_start(text: str, begin: int, end: int) -> int:
    """Return where the remark begins with which an answer ends; the end if it has none.

    Args:
        text: The folded text.
        begin: Start of the answer.
        end: End of the answer with the remark.

    Example:
        >>> remark_start("42, with confidence 0.9", 0, 23), remark_start("42, I think", 0, 11), remark_start("42", 0, 2)
        (2, 2, 2)
    """
    if len(text[begin:end].split(maxsplit=1)) < 2 and not _WIDE_LEAD.search(text, begin, end):
        return end  # one word
    for pattern in (_FIRM, _DOUBTFUL):
        found = pattern.search(text[begin:end], max(1, end - begin - _MOST_CHARS))
        if found is not None:
            return begin + found.start()
    return end


def shows_doubt(text: str, at: int, end: int) -> bool:
    """Check whether a remark behind an answer says that its author only supposes so; *I think* does not count.

    Args:
        text: The folded text.
        at: End of the answer.
        end: End of the sentence.

    Example:
        >>> shows_doubt("42, I guess", 2, 11), shows_doubt("42, I think", 2, 11)
        (True, False)
    """
    return _DOUBTFUL.match(text[at : min(end, at + _MOST_CHARS)]) is not None
