"""Numbers that are a step on the way, and no result: *7 days in a week*, *3 reasons*, *multiply by 12*."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.numbers import find_numbers
from roundtable.reading.sites import contains, opening_sentence, sentence_end, sentence_start
from roundtable.reading.units import stated_units

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["counts_speech", "is_step"]

_FACTORS: Final = {
    ("second", "minute"): {60},
    ("minute", "hour"): {60},
    ("hour", "day"): {24},
    ("day", "week"): {7},
    ("day", "month"): {28, 30, 31},
    ("day", "year"): {365, 366},
    ("week", "month"): {4},
    ("week", "year"): {52},
    ("month", "year"): {12},
    ("cent", "dollar"): {100},
    ("cent", "euro"): {100},
    ("inch", "foot"): {12},
    ("foot", "yard"): {3},
    ("foot", "mile"): {5280},
    ("mm", "cm"): {10},
    ("cm", "metre"): {100},
    ("metre", "km"): {1000},
    ("gram", "kg"): {1000},
    ("ounce", "lb"): {16},
    ("ml", "litre"): {1000},
}
"""How many of the first unit are one of the second."""
_ONE: Final = (
    r"(?:(?:an?|one|each|every|the|einem|einer|ein|eine|jede[mr]?|une?|uno|una|um|uma|een|elk|каждом|одном)\s|un'|l')?"
)
_IN_WHOLE: Final = re.compile(
    r"[\s*_]*+[^\W\d_]+[\s*_]+(?:in|per|to|pro|par|por|en|dans|em|nel|al|na|w|в|'s in)\s"
    rf"{_ONE}(?P<whole>[^\W\d_]+)",
    re.IGNORECASE,
)
"""*days in a week*, behind a number."""
_OF_WHOLE: Final = re.compile(
    rf"(?<![^\W\d_]){_ONE}(?P<whole>[^\W\d_]+)\s(?:has|have|is|contains|equals|hat|ist|a|compte|tiene|ha|tem|heeft|ma)"
    r"[\s*_]+\Z",
    re.IGNORECASE,
)
"""*a week has*, before a number."""
_SPEECH: Final = re.compile(
    r"[\s*_]*+(?:[^\W\d_]+\s)?(?:reasons?|steps?|arguments?|considerations?|aspects?|points to|things to|remarks?"
    r"|comments?|objections?|questions?|scenarios?|facts?|details?|clues?|hints?"
    r"|gründe|schritte|argumente|punkte zu|fragen|aspekte"
    r"|raisons?|étapes|arguments"
    r"|remarques|questions|razones|pasos|argumentos|preguntas|aspectos|ragioni|motivi|passaggi|argomenti|domande"
    r"|razões|passos|perguntas|redenen|stappen|argumenten|vragen|powody|powodów|kroki|kroków|argumentów"
    r"|причины?|шага|шагов|аргумент(?:а|ов)?|вопрос(?:а|ов)?|neden(?:im)?|adım|个(?:原因|理由|步骤|问题|论点)"
    r"|つの(?:理由|論点|質問)|가지 (?:이유|질문))(?![a-z])",
    re.IGNORECASE,
)
"""Parts of what somebody says, behind the number that counts them."""
_SPOKEN: Final = re.compile(
    r"[\s*_]*+(?:there are|there're|i(?: have|'ve| see| give| need)|we (?:have|need)|here are"
    r"|es gibt|ich (?:habe|sehe)|hier sind"
    r"|il y a|j'ai|voici|hay|tengo|ci sono|ho|há|tenho|er zijn|ik heb|są|mam|есть|у меня|有|我有)[\s*_]*+\Z",
    re.IGNORECASE,
)
"""What stands before the number of such parts."""
_OPERAND: Final = re.compile(
    r"(?<![^\W\d_])(?:multiply|divide|add|subtract|multiplizier(?:e|en|t)|teile|teilt?|dividier(?:e|en|t)|addier(?:e|en|t)"
    r"|multiplie[rzs]?|divise[rzs]?|ajoute[rzs]?|multipli(?:ca|que|car|camos)|divid(?:e|ir|imos|a)|suma|moltiplica(?:re)?"
    r"|divid(?:i|ere)|vermenigvuldig|deel|pomnóż|podziel|умножь(?:те)?|умножаем|раздели(?:те)?|делим)"
    r"(?![^\W\d_])[^=.;\n]{0,80}?\s(?:by|to|from|with|mit|durch|zu|par|à|por|entre|per|met|door|przez|на)[\s*_$]+\Z",
    re.IGNORECASE,
)
"""What tells to calculate with the number behind it."""
_TOLD: Final = re.compile(
    r"[\s*_#]*+(?:(?:now|then|next|first|just|simply|please|let's|let us|to [^,\n]{1,40},)\s)*(?:use|apply|plug in"
    r"|substitute|insert|consider|recall|try|start with|begin with|set|put|add|subtract|multiply|divide)\s",
    re.IGNORECASE,
)
"""A sentence that tells what to do next."""
_LEADS_ON: Final = re.compile(
    r"\s(?:to (?:get|obtain|find|reach)|gives|giving|which is|makes)\s[^\n]*\Z|=[^\n]*[+*/×-][^\n]*=|[+*/×-][^\n]*=",
    re.IGNORECASE,
)
"""What leads from a calculation to its result."""
_PARTS_OF_A_NUMBER: Final = re.compile(
    r"[\s*_]*+(?:digits?|decimals?|decimal places?|characters?|letters?|words?|parts?|significant (?:digits|figures)"
    r"|stellen|ziffern|chiffres|décimales|cifras|dígitos|decimales|cifre|decimali|casas|cijfers|cyfr[ya]?|цифр[ыа]?|位数?|桁)"
    r"(?![^\W\d_])",
    re.IGNORECASE,
)
_HAS_PARTS: Final = re.compile(
    r"(?<![^\W\d_])(?:answer|result|solution|total|sum|number|antwort|ergebnis|zahl|réponse|résultat|nombre|respuesta"
    r"|resultado|número|risposta|risultato|numero|resposta|antwoord|resultaat|getal|wynik|ответ|результат|число)\s"
    r"(?:has|have|consists of|hat|a|tiene|ha|tem|heeft|ma)[\s*_]+\Z",
    re.IGNORECASE,
)
"""*The answer has*, before the number of its digits."""
_FIRST_STEP: Final = re.compile(
    r"[\s*_#]*+(?:first(?:ly)?|to (?:begin|start)(?: with)?|step 1|let's (?:first|start|begin)|we first|zuerst|zunächst"
    r"|als erstes|schritt 1|(?:tout )?d'abord|premièrement|étape 1|primero|en primer lugar|paso 1|prima(?: di tutto)?"
    r"|innanzitutto|primeiro|passo 1|eerst|ten eerste|stap 1|najpierw|po pierwsze|krok 1|сначала|во-первых|шаг 1|首先"
    r"|第一步|まず|먼저|우선)(?![a-z])",
    re.IGNORECASE,
)
_MOST_CHARS: Final = 80
_LIST_BEGUN: Final = re.compile(r"\s*1[.)]\s*")
"""The number of the first item of a list, of which nothing else was written."""


def is_step(text: str, start: int, at: int) -> bool:
    """Check whether a number at the end of a text is only a step on the way.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        at: Where the number begins.
    """
    number = next(find_numbers(text[at : at + _MOST_CHARS]), None)
    if number is None or number.span[0] > 0:
        return False  # a number in words
    end = at + number.span[1]
    begin = sentence_start(text, at, start)
    if _LIST_BEGUN.fullmatch(text, start) or (_SPOKEN.fullmatch(text, begin, at) and counts_speech(text, end)):
        return True
    if _OPERAND.search(text, begin, at) or (_TOLD.match(text, begin, at) and not _LEADS_ON.search(text, begin, at)):
        return True
    if _PARTS_OF_A_NUMBER.match(text, end) and _HAS_PARTS.search(text, begin, at):
        return True
    sentence = text[begin : sentence_end(text, end, len(text))]
    if "=" in sentence or contains("conclusion", sentence):
        return False
    opening = opening_sentence(text, start)
    is_second = begin > opening[1] and not text[opening[1] + 1 : begin].strip()
    is_of_first_step = is_second and _FIRST_STEP.match(text, opening[0]) is not None
    return is_of_first_step or _is_known_factor(text, begin, (at, end), number.value)


def counts_speech(text: str, end: int) -> bool:
    """Check whether a number counts parts of what is said, as in *3 reasons*.

    Args:
        text: The folded text.
        end: End of the number.

    Example:
        >>> counts_speech("I have 3 reasons.", 8), counts_speech("I have 3 apples.", 8)
        (True, False)
    """
    return _SPEECH.match(text, end) is not None


def _is_known_factor(text: str, begin: int, span: tuple[int, int], value: Fraction) -> bool:
    """Check whether a number only says how many units another one has, as in *There are 7 days in a week*.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        span: Start and end of the number.
        value: The number.
    """
    whole = _IN_WHOLE.match(text, span[1]) or _OF_WHOLE.search(text, begin, span[0])
    if whole is None:
        return False
    wholes = stated_units(f"1 {whole['whole']}")
    return any(value in _FACTORS.get((unit, other), ()) for unit in stated_units(text, span[0]) for other in wholes)
