"""What shows that a number is not its author's answer, or not all of it: a condition, a supposition, a broken end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.bounds import is_bound
from roundtable.reading.number_phrases import NOT_UNITS, RANGES
from roundtable.reading.number_words import worded_number
from roundtable.reading.numbers import find_numbers
from roundtable.reading.phrases import (
    ANSWER_NOUNS,
    APPROXIMATIONS,
    JOINERS,
    LINKS,
    words_pattern,
)
from roundtable.reading.sites import contains, sentence_end, sentence_start

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from roundtable.reading.numbers import NumberFound

__all__ = [
    "is_counted_behind",
    "is_cut_off",
    "is_denied_behind",
    "is_first_item",
    "is_incidental",
    "is_labelled_as_example",
    "is_limited",
    "is_limited_next",
    "is_other_in_words",
    "is_rejected",
    "is_rejected_above",
    "is_spoken_about",
    "is_supposed",
    "repeated_number",
    "stands_beside",
    "with_minus_signs",
]

_MOST_BEHIND: Final = 60
"""Characters behind the start of a number in which the text may break off."""
_MOST_REST: Final = 160
"""Characters behind a number in which a condition may stand."""
_MOST_LEAD: Final = 30
_MOST_THINGS: Final = 3
"""Most words for what is counted."""
_MOST_REPEATED: Final = 200
_REASON: Final = re.compile(
    r"(?<![^\W\d_])(?:because|since|as|for|given|considering|which|so|weil|denn|da|parce|car|puisque|porque|ya que"
    r"|perché|poiché|pois|omdat|want|ponieważ|bo|потому|так как|çünkü)(?![^\W\d_])"
    r"|因为|因為|なぜなら|왜냐하면|لأن|क्योंकि|[:;：；]",
    re.IGNORECASE,
)
"""What begins a reason, whose conditions belong to the way to the number."""
_COMPARED: Final = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]{2,20}er|mehr)(?:\s[^\W\d_]{1,20}){0,2}\sals(?![^\W\d_])", re.IGNORECASE
)
"""The German *als* behind a comparative, which is not a condition as it is in Dutch."""
_GIVEN: Final = re.compile(r"(?<=[a-z]\s)provided(?=\s*[.,)]|\s*\Z)", re.IGNORECASE)
"""*The sequence provided*, which is not a condition."""
_LIMIT_NEXT: Final = re.compile(
    r"[\s*_`$)}\]\\.!,;。，]*+(?:but |aber |mais |pero |ma |mas |maar |ale |но )?"
    r"(?:\([^()\n]{1,40}\)\s(?:or|oder|ou|o|of|или)\s[$€£]?[0-9]+"
    r"|(?:unless|(?:however,?|but) if|or is it|only if|only when|except|provided"
    r"|as long as|es sei denn|sofern|nur wenn|nur falls|vorausgesetzt|à moins|sauf|seulement si|pourvu"
    r"|salvo|a menos|sólo si|solo si|siempre que|a meno che|solo se|tranne|purché|a não ser|só se|apenas se|desde que"
    r"|tenzij|alleen als|mits|chyba że|tylko jeśli|pod warunkiem|если только|только если|при условии|yalnızca|eğer)"
    r"(?![^\W\d_])|除非|只有|前提|ただし|但し|단,|إلا إذا|بشرط|बशर्ते)",
    re.IGNORECASE,
)
"""A condition at the beginning of what stands behind an answer."""
_NOUN: Final = (
    rf"(?:{words_pattern(ANSWER_NOUNS)}|(?<![^\W\d_])(?:number|value|figure|total|sum|estimate|guess|claim|zahl|wert"
    r"|summe|schätzung|nombre|valeur|somme|número|valor|suma|numero|valore|somma|soma|getal|waarde|som|liczba|wartość"
    r"|suma|число|значение|сумма|sayı|değer|toplam)(?![^\W\d_]))"
)
_WRONG_WORD: Final = (
    r"(?:wrong|incorrect|false|mistaken|erroneous|flawed|inaccurate|faulty|bogus|falsche?[nrs]?|inkorrekte?[nrs]?|fausse?"
    r"|erronée?|incorrecte?|incorrect[oa]|equivocad[oa]|errad[oa]|erróne[oa]|errónea|sbagliat[oa]|errat[oa]|foute?"
    r"|verkeerde|onjuiste|błędn[aey]|niepoprawn[aey]|неверн[ыао][йяе]|неправильн[ыао][йяе]|ошибочн[ыао][йяе]|yanlış"
    r"|hatalı)"
)
_WRONG: Final = re.compile(
    rf"(?<![^\W\d_]){_WRONG_WORD}\s(?:[^\W\d_]+\s)?{_NOUN}|{_NOUN}\s{_WRONG_WORD}(?![^\W\d_])"
    r"|错误的?(?:答案|结果)|错的|間違った|間違い|誤った|틀린|잘못된|오답|गलत|خاطئ",
    re.IGNORECASE,
)
"""*The wrong answer*, before a number."""
_WRONG_BEHIND: Final = re.compile(
    rf"(?<![^\W\d_])(?:{_WRONG_WORD}|mistake|unlikely|impossible|implausible|irrelevant|unknown|falsch|inkorrekt"
    r"|unmöglich|faux|erroné|incorrect|erróneo|equivocado|sbagliato|errato|errado|incorreto|fout|onjuist|verkeerd"
    r"|błędne|błędny|błędem|niepoprawne|неверно|неправильно|ошибочно|ошибка|yanlıştır|hatalıdır|fel|forkert|feil|galt"
    r"|väärin|väärä|špatně|greșit|sai|λάθος|salah|helytelen|невірно|too (?:high|low|big|small|large|much|many|few)"
    r"|zu (?:hoch|niedrig|groß|klein)|trop|demasiado|troppo|te (?:hoog|laag))(?![^\W\d_])"
    r"|言われ|らしい|不正解|間違|誤り|違い|違う|錯|错|有误|틀렸|틀린|오답|गलत|ग़लत|خطأ|خاطئ",
    re.IGNORECASE,
)
"""Words behind a number that call it wrong."""
_VERB_BEHIND: Final = re.compile(
    rf"[\s*_`\"')\]]*+(?:{words_pattern(LINKS)}|(?<![^\W\d_])(?:seems?|looks?|feels?|sounds?|appears?|can't|cannot|isn't"
    r"|doesn't|stimmt|passt|scheint|klopt|lijkt|semble|parece|sembra|está|wydaje|кажется|stämmer|stemmer)"
    r"(?![^\W\d_]))",
    re.IGNORECASE,
)
"""A verb behind a number, so that what follows says something about it, and isn't its unit."""
_NEXT_CLAUSE: Final = re.compile(
    r"[,;:(\u2014\u2013\n\uff0c\u3001\uff1b\uff1a]|[.!?](?=\s|\Z)|[\u3002\uff01\uff1f\u0964]|\s-\s"
    r"|\s(?:because|since|that|who|which|with|without|if|when|where|while|for|and|but|weil|dass|der|die|mit|ohne|parce"
    r"|qui|que|avec|sans|porque|con|sin|perché|che|senza|omdat|dat|met)(?=\s)",
    re.IGNORECASE,
)
_MOST_DENIAL: Final = 60
_MOST_DENYING_WORDS: Final = 5
_FIRST_WIDE: Final = "\u0900"
"""First letter of the scripts in which a verb ends the clause."""
_INCIDENTAL: Final = re.compile(
    r"[\s*_`#>-]*+(?:(?:as of|let me|let's|let us|please|now|then|next|first|to [a-z]+)(?![a-z])[^:]*"
    r"|(?:i'm|i am|my name is|this is|we're|we are|i|we) (?!(?:count(?:ed)?|get|got|find|found|estimate|estimated"
    r"|calculated?|computed?|obtain(?:ed)?|guess|see|have|need|paid|pay|bought|made|did|would|'d)(?![a-z]))[^:]*"
    r"|(?:error|failure|warning|exception|status|http|rate|code|confidence|certainty|model|version|temperature|tokens?|limit"
    r"|timeout|retry|ret|errno|exit|example|sample|expected (?:format|output|answer|result)|placeholder|step|round|page"
    r"|line|note|date|year|id|score|question|task|problem|part|option)(?![a-z])[^:=]{0,30}(?:[:=]|\s)[^:]*)\Z",
    re.IGNORECASE,
)
"""A sentence whose only number is not the result: a message, another label, what its author is about to do."""
_ANSWER_BEHIND: Final = re.compile(
    rf"[\s*_`]*+(?:{words_pattern(LINKS)})\s(?:(?:the|my|our|die|das|la|le|el|il|a|o|het|de)\s)?(?:[^\W\d_]+\s)?"
    rf"(?:{words_pattern(ANSWER_NOUNS)}|total|sum|number)",
    re.IGNORECASE,
)
"""*Is the answer*, behind a number."""
_LINK_BEHIND: Final = re.compile(rf"(?:{words_pattern(LINKS)})", re.IGNORECASE)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+\u2022]|[0-9]{1,2}[.)])[ \t]+(?=\S)")
_ALSO: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:is|are|has|have|was|were)\salso"
    r"|additionally|in addition|außerdem|auch|aussi|también|anche|também|ook|też|także|также)"
    r"(?![^\W\d_])"
    r"|还有|また|또한",
    re.IGNORECASE,
)
"""Words of a sentence that adds something to what was said."""
_HAS: Final = re.compile(r"(?<![^\W\d_])ha(?:s|ve|d)[\s*_`$]+\Z", re.IGNORECASE)
_AT_AN_END: Final = re.compile(
    r"(?:start|starts|started|begins?|began|ends?|ended|opens?|opened)\s(?:with|in|on|at|by)\s[*_`$]*\Z"
    r"|なら\s*\Z",
    re.IGNORECASE,
)
"""*He started with*, whose number is given, or a condition in Japanese."""
_IN_BRACKETS: Final = re.compile(r"\s?\(([^()\n]{1,60})\)")
_WITHOUT_PART: Final = re.compile(r"\s*+(?:minus|plus|moins|menos|meno|минус|плюс)\s", re.IGNORECASE)
"""What adds something unknown to a number, or takes it away: *42 minus tax*."""
_EXAMPLE_LABEL: Final = re.compile(
    r"(?<![^\W\d_])(?:example|sample|expected(?!\svalue)|placeholder|template|dummy|hypothetical|beispiel[a-z]*|exemple|ejemplo"
    r"|esempio|exemplo|voorbeeld[a-z]*|przykład[a-z]*|пример[а-я]*|示例|例)"
    r"(?:\s(?:answer|output|response|format|result|value|reply|solution|antwort|ausgabe|ergebnis|format|antwoord))?"
    r"[\s*_`]*[:：=]\s*[*_`$]*\Z",
    re.IGNORECASE,
)
"""A label that says that what follows is an example."""
_RETRACTS: Final = re.compile(
    r"(?<![^\W\d_])(?:retract|withdraw|rescind|recant|revoke|disown|discard|abandon|take back|taking back|retracting"
    r"|withdrawing|verwerfe|widerrufe|revidiere|zurück|retire|rétracte|reviens sur|abandonne|retiro|retracto|descarto"
    r"|rechazo|ritiro|ritratto|scarto|retrato|rejeito|trek|terug|verwerp|herroep|wycofuję|odwołuję|odrzucam|отзываю"
    r"|отказываюсь|назад|отвергаю|geri çekiyorum|geri alıyorum|vazgeçiyorum|أسحب|أتراجع)(?![^\W\d_])"
    r"|撤回|收回|取り消|철회|취소|वापस ले",
    re.IGNORECASE,
)
_AUTHOR: Final = re.compile(
    r"(?<![^\W\d_])(?:I|we|ich|wir|je|nous|yo|io|eu|ik|ja|я|мы)(?![^\W\d_])|我|私|저는|나는", re.IGNORECASE
)
_NOUN_OF_ANSWER: Final = re.compile(_NOUN, re.IGNORECASE)
_SUPPOSED: Final = re.compile(
    r"[\s*_`$(]*+(?:(?:let(?!'s|\sus|\sme)|suppose|say|set|sei|seien|setze|soit|soient|supposons|posons|sea|sean"
    r"|supongamos|sia|siano|supponiamo|poniamo|seja|sejam|suponhamos|stel|laat|niech|załóżmy|przyjmijmy|пусть"
    r"|предположим|допустим|diyelim)(?![^\W\d_])"
    r"|设|設|令|假设|假設|假定|मान |मानो |ليكن |لنفرض |نفترض )[^,;:，、\n]*\Z",
    re.IGNORECASE,
)
"""The beginning of a sentence that gives a name a value."""
_SUPPOSED_BEHIND: Final = re.compile(
    r"[\s*_`$)]*(?:olsun(?![^\W\d_])|とする|とします|とおく|라고? ?하자)", re.IGNORECASE
)
_CUT_OFF: Final = re.compile(
    rf"(?:(?i:\s(?:to|or|and|und|oder|plus|minus|times|per))|(?-i:{words_pattern((*RANGES, *JOINERS, *NOT_UNITS))})"
    r"|[-+/×÷=<~^(\[{&|]|(?<![A-Za-z\"'/])>|[0-9],)\s*+\Z"
)
"""The end of a text that breaks off."""
_STAR: Final = re.compile(r"\s\*\s*\Z")
_REPEATED: Final = re.compile(r"(?P<number>[$€£]?-?[0-9][0-9.,]*[0-9]%?)(?:\s+(?P=number))+[.!]?")
_MINUS: Final = re.compile(
    r"(?:(?<![^\W\d_])(?:minus|negative|moins|menos|meno|минус|eksi)\s|[负負]|マイナス|마이너스\s?)(?=[$€£]?[0-9])",
    re.IGNORECASE,
)
_BEFORE_MINUS: Final = re.compile(
    rf"(?:\A|[\n:=：]|{words_pattern((*LINKS, *APPROXIMATIONS))}|(?<![^\W\d_])(?:exactly|still|just))[ \t*_`$(]*\Z",
    re.IGNORECASE,
)
"""What stands before a minus in words that is a sign, and does not subtract."""


_COUNTED: Final = re.compile(
    r"[\s*_`]{1,3}(?:dollars |euros |pounds |rupees |cents )?(?:for|für|pour|por|para|per|voor|za|за)\s"
    r"(?:(?:the|all|these|those|his|her|their|a total of|die|alle|les|los|las|le|gli|i|as|os|de)\s){0,3}\Z",
    re.IGNORECASE,
)
"""What stands between a price and the number of things that it is paid for."""
_IN_TOTAL: Final = re.compile(
    r"(?<![^\W\d_])(?:total|totale|totaal|altogether|in all|insgesamt|gesamt|gesamtpreis|łącznie|razem|итого|всего)"
    r"(?![^\W\d_])",
    re.IGNORECASE,
)
_TWO_NUMBERS: Final = 2


def is_counted_behind(text: str, begin: int, end: int, numbers: Sequence[NumberFound]) -> bool:
    """Check whether the last number of a sentence only counts what a price is paid for: *The total is $20 for 4 items*.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        end: End of the sentence.
        numbers: The numbers of the sentence.
    """
    if len(numbers) != _TWO_NUMBERS:
        return False
    price, count = numbers
    lead = text[begin : price.span[0]]
    is_price = price.unit[:1] in {"$", "€", "£", "₹"} or price.unit in {"Rs.", "Rs", "USD", "EUR", "GBP", "INR"}
    return (
        is_price
        and price.is_single
        and count.is_single
        and count.value > 1
        and count.unit[:1].isalpha()
        and _COUNTED.match(text[price.span[1] : count.span[0]]) is not None
        and len(text[count.span[1] : end].split()) <= _MOST_THINGS
        and not text[count.span[1] : end].strip(" .*_").count(",")
        and (contains("conclusion", lead) or _IN_TOTAL.search(lead) is not None)
    )


def is_rejected_above(text: str, at: int) -> bool:
    """Check whether the line above, which leads to a number, calls it wrong or denies it, as *The answer is not:* does.

    Args:
        text: The folded text.
        at: Where the number begins.
    """
    above = text[: text.rfind("\n", 0, at) + 1].rstrip()
    if not above.endswith((":", "：")):
        return False
    begin = sentence_start(text, len(above) - 1, 0)
    lead = above[begin:-1].rstrip(" *_")
    is_denied = is_bound(lead[-_MOST_LEAD:], "", 0) or contains("hedge", lead)
    return is_denied or is_rejected(text, begin, len(above), len(above))


def is_limited(text: str, end: int) -> bool:
    """Check whether the rest of a sentence makes a number depend on something: *25 (if cheap)*.

    Args:
        text: The folded text.
        end: Where the number ends.
    """
    stop = sentence_end(text, end, min(len(text), end + _MOST_REST))
    rest = _REASON.split(text[end:stop], maxsplit=1)[0]
    rest = _GIVEN.sub("", _COMPARED.sub("", rest))
    return any(contains(kind, rest) for kind in ("condition", "exception", "hedge"))


def is_denied_behind(text: str, end: int) -> bool:
    """Check whether the words behind a number deny it or call it wrong: *408 ist falsch*, *408 is not it*.

    Args:
        text: The folded text.
        end: Where the number ends.

    Example:
        >>> is_denied_behind("408 ist falsch.", 3), is_denied_behind("408 apples, not 398.", 3)
        (True, False)
    """
    rest = _NEXT_CLAUSE.split(text[end : end + _MOST_DENIAL], maxsplit=1)[0]
    if _WITHOUT_PART.match(rest):
        return True
    words = rest.split()[:_MOST_DENYING_WORDS]
    if not words:
        return False
    if rest.lstrip(" *_`")[:1] >= _FIRST_WIDE:
        return _denies(" ".join(words))
    if "-" not in words[0] and _denies(words[0]):
        return True
    verb = _LINK_BEHIND.search(rest) or _VERB_BEHIND.match(rest)
    return verb is not None and len(rest[: verb.start()].split()) <= _MOST_THINGS and _denies(rest[verb.start() :])


def _denies(words: str) -> bool:
    return contains("negation", words) or _WRONG_BEHIND.search(words) is not None


def is_other_in_words(text: str, end: int, value: Fraction) -> bool:
    """Check whether brackets behind a number name another one in words, as in *42 (forty-three)*.

    Args:
        text: The folded text.
        end: Where the number ends.
        value: The number.
    """
    inside = _IN_BRACKETS.match(text, end)
    words = None if inside is None else worded_number(inside[1])
    return words is not None and words != abs(value)


def is_spoken_about(text: str, end: int) -> bool:
    """Check whether a verb stands behind a number, so that the rest isn't its unit: *408 scheint zu passen*.

    Args:
        text: The folded text.
        end: Where the number ends.
    """
    return _VERB_BEHIND.match(text, end) is not None


def is_labelled_as_example(text: str, start: int) -> bool:
    """Check whether a label before a number calls it an example, as in *Expected output: 42*.

    Args:
        text: The folded text.
        start: Start of the number.
    """
    return _EXAMPLE_LABEL.search(text, max(0, start - _MOST_DENIAL), start) is not None


def is_limited_next(text: str, end: int) -> bool:
    """Check whether what stands behind an answer begins with a condition, as in *25. Unless it rains*."""
    return _LIMIT_NEXT.match(text, end) is not None


def is_rejected(text: str, begin: int, start: int, end: int) -> bool:
    """Check whether a clause calls a number wrong, or takes it back.

    Args:
        text: The folded text.
        begin: Start of the clause.
        start: Start of the number.
        end: End of the sentence.
    """
    if _WRONG.search(text, begin, start):
        return True
    if _RETRACTS.search(text, begin, end) is None:
        return False
    return any(sign.search(text, begin, end) for sign in (_AUTHOR, _NOUN_OF_ANSWER))


def is_supposed(text: str, begin: int, start: int, end: int) -> bool:
    """Check whether a sentence only gives a name a value, as *Let x = 25* does.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        start: Start of the number.
        end: End of the number.
    """
    return _SUPPOSED.match(text[begin:start]) is not None or _SUPPOSED_BEHIND.match(text, end) is not None


def is_cut_off(text: str, start: int) -> bool:
    """Check whether a text breaks off behind a number, as in *25 or*.

    Args:
        text: The folded text.
        start: Start of the number.
    """
    if len(text) - start > _MOST_BEHIND:
        return False
    behind = text[start:]
    return _CUT_OFF.search(behind) is not None or (text.count("*") % 2 == 1 and _STAR.search(behind) is not None)


def is_first_item(text: str, begin: int) -> bool:
    """Check whether a heading such as *Solution:* is followed by a list of several items, of which none is the answer.

    Args:
        text: The folded text.
        begin: Where what the heading announces begins.
    """
    at = begin + len(text[begin:]) - len(text[begin:].lstrip())
    line = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    if line == 0 or end < 0 or (_ITEM.match(text, line) is None and _ITEM.match(text, at) is None):
        return False
    following = end + len(text[end:]) - len(text[end:].lstrip("\n"))
    item = _ITEM.match(text, following)
    stop = text.find("\n", following)
    return item is not None and any(True for _ in find_numbers(text[item.end() : stop if stop >= 0 else len(text)]))


def stands_beside(text: str, start: int, begin: int, at: int) -> bool:
    """Check whether the last sentence states a number in the same way as the one before it, or in addition to it.

    So do *Anna has 3 apples. Ben has 4 apples.* and *There are 50 states. There are also 5 territories.*

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        begin: Start of the last sentence.
        at: Start of its number.
    """
    before = text[start:begin].rstrip(" .!")
    if not before or "\n" in text[start:begin].strip(" "):
        return False
    first = sentence_start(before, len(before) - 1, 0)
    found = [number for number in find_numbers(before[first:]) if number.is_single]
    own = text[begin:at]
    if len(found) != 1 or first > 0:
        return False
    if _ALSO.search(own):
        return True
    if contains("conclusion", own):
        return False
    counted = next((number.unit for number in find_numbers(text[at:]) if number.span[0] == 0), "")
    is_same = not counted or _first_word(counted) == _first_word(found[0].unit)
    return is_same and all(_HAS.search(lead) for lead in (own, before[: found[0].span[0]]))


def _first_word(unit: str) -> str:
    return unit.split(" ", maxsplit=1)[0].casefold()


def is_incidental(text: str, begin: int, span: tuple[int, int], end: int) -> bool:
    """Check whether the only number of a reply need not be its result: *Error code: 429*, *The 5 apples are red*.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        span: Start and end of its only number.
        end: End of the sentence.

    Example:
        >>> is_incidental("She walked 3000 steps", 0, (11, 15), 21), is_incidental("Now add 5", 0, (8, 9), 9)
        (False, True)
    """
    lead = text[begin : span[0]]
    if _INCIDENTAL.match(lead) or _AT_AN_END.search(lead) or contains("exception", lead):
        return True
    if lead.endswith("(") and worded_number(lead.rstrip(" (")) is not None:
        return True  # "Forty-two (43)"
    is_answer = _ANSWER_BEHIND.match(text, span[1], end) is not None
    return not is_answer and _LINK_BEHIND.search(text, span[1], end) is not None


def repeated_number(text: str) -> str | None:
    """Return the number of two digits or more that a whole text writes several times, as in *408 408 408*."""
    match = _REPEATED.fullmatch(text) if len(text) <= _MOST_REPEATED else None
    return match["number"] if match else None


def _is_subtracted(text: str, start: int, at: int) -> bool:
    """Check whether a minus at the beginning of a line subtracts from a number of the line above it."""
    line = text.rfind("\n", start, at)
    if line < 0 or text[line:at].strip(" \t\n*_`$("):
        return False
    above = text[max(start, line - _MOST_BEHIND) : line].rstrip()
    return not above.endswith((":", "\uff1a")) and any(
        char.isdigit() for char in text[max(start, line - _MOST_REST) : line]
    )


def with_minus_signs(text: str, start: int) -> str:
    """Return a text of the same length in which *minus 5* is -5 where nothing is there to subtract from.

    Args:
        text: The folded text.
        start: Start of the answer.
    """
    parts, at = [], 0
    for match in _MINUS.finditer(text, start):
        lead = text[max(start, match.start() - _MOST_LEAD) : match.start()]
        if _BEFORE_MINUS.search(lead) and not _is_subtracted(text, start, match.start()):
            parts += [text[at : match.start()], " " * (len(match[0]) - 1), "-"]
            at = match.end()
    return "".join([*parts, text[at:]])
