"""Labels before an answer in own words: *Total* in `**Total:** 42`, and *Capital* in a heading above `Canberra`."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.numbers import whole_number
from roundtable.reading.sites import contains, lines
from roundtable.reading.values import EQUALS, INNER_END, JOINED
from roundtable.reading.wrapping import cleaned

__all__ = ["is_label", "labelled_value"]

_SIGNS: Final = r"(?:\*\*|__|\*|_)"
_LABEL: Final = re.compile(
    rf"(?:(?P<heading>\#{{1,6}}\s+){_SIGNS}?|{_SIGNS})(?P<label>[^\s:*_][^:*_\n]{{0,79}}?)\s?"
    rf"(?::\s?{_SIGNS}?|{_SIGNS}\s?:)\s*"
)
"""A label in bold, italics or a heading at the beginning of a line, with its colon."""
_TITLE: Final = re.compile(
    rf"(?:\#{{1,6}}\s+{_SIGNS}?|{_SIGNS})(?P<label>[^\s:*_][^:*_\n]{{0,79}}?)\s?{_SIGNS}?:?{_SIGNS}?"
)
"""A label that is a whole line."""
_AMOUNTS: Final = (
    r"(?:total|sum|count|number|amount|quantity|age|year|price|cost|distance|length|duration|speed|area|volume|weight"
    r"|height|population|probability|percentage|average|product|difference|profit"
    r"|summe|anzahl|gesamt|gesamtzahl|insgesamt|zahl|alter|jahr|preis|kosten"
    r"|somme|nombre|quantité|âge|année|prix|coût|suma|número|cantidad|edad|año|precio|somma|totale|numero|quantità|età"
    r"|anno|prezzo|soma|quantidade|idade|ano|preço|totaal|aantal|leeftijd|jaar|prijs|razem|liczba|wiek|rok|cena"
    r"|итого|всего|сумма|количество|число|возраст|год|цена|toplam|sayı|yaş|yıl|fiyat"
    r"|总数|总计|总和|合计|数量|人数|合計|総数|個数|합계|총합|개수|المجموع|العدد|कुल|योग|संख्या)"
)
_NAMES: Final = (
    r"(?:name|capital|capital city|city|country|person|author|title|location|place|language|river|planet|element"
    r"|hauptstadt|stadt|land|autor|ort|titel|capitale|ville|pays|nom|auteur|lieu|ciudad|país|nombre|lugar|città|paese"
    r"|nome|autore|luogo|cidade|hoofdstad|plaats|naam|stolica|miasto|kraj|imię|столица|город|страна|имя|başkent|şehir"
    r"|ülke|首都|城市|国家|名称|名字|都市|国|名前|수도|도시|나라|이름|العاصمة|المدينة|राजधानी|शहर)"
)
_OF: Final = r"(?:\s(?:of|in|von|der|des|de|du|del|della|di|do|da|van)\s[^:()]{1,60})?"
_AMOUNT: Final = re.compile(
    rf"(?:(?:the|total|grand|overall|exact)\s){{0,2}}{_AMOUNTS}{_OF}|total(?:\s[^\W\d_]+){{1,2}}"
    r"|[^\W\d_]+(?:\s[^\W\d_]+)?\sin total",
    re.IGNORECASE,
)
_NAME: Final = re.compile(rf"(?:the\s)?{_NAMES}{_OF}", re.IGNORECASE)
_TOTAL: Final = re.compile(
    r"(?:grand )?total(?: (?:number|sum))?(?: of [^:()]{1,40})?|sum|summe|gesamt|insgesamt|totale|totaal|somme|suma"
    r"|somma|soma|razem|итого|всего|toplam|总数|总计|合计|合計|합계|المجموع|कुल",
    re.IGNORECASE,
)
"""A label of the last line of a calculation."""
_KINDS: Final = (
    *("negation", "mistake", "rejection", "report", "others", "hedge", "doubt", "exception", "condition"),
    "adverse",
)
_MOST_WORDS: Final = 4


def is_label(text: str) -> bool:
    """Check whether bold words are a label, and no answer: they end with a colon, or name a kind of answer.

    Example:
        >>> is_label("Total:"), is_label("Capital of Australia"), is_label("Canberra")
        (True, True, False)
    """
    text = text.strip()
    return text.endswith(":") or any(kind.fullmatch(text) is not None for kind in (_AMOUNT, _NAME))


def labelled_value(text: str, start: int) -> tuple[int, int] | None:
    """Return the place of the value behind a label in bold, italics or a heading; `None` without such a label.

    The label stands at the beginning of a text of one line, in a line above the only other one, or before a total in
    the last line. The place is empty if what follows the label may be no answer, as in `**Note:** It rains.`

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
    """
    found = lines(text, start)
    if not found:
        return None
    begin, end = found[-1]
    label = _LABEL.match(text, begin, end)
    if len(found) == 1:
        return None if label is None else _value(text, label["label"], label.end(), end)
    if label is not None:
        totals = [line for line in found[:-1] if (other := _LABEL.match(text, *line)) and _is_total(other["label"])]
        return _value(text, label["label"], label.end(), end) if _is_total(label["label"]) and not totals else None
    title = _TITLE.fullmatch(text, *found[0]) if len(found) == 2 else None
    return _value(text, title["label"], begin, end) if title is not None and is_label(title["label"]) else None


def _is_total(label: str) -> bool:
    return _TOTAL.fullmatch(label.strip()) is not None


def _value(text: str, label: str, begin: int, end: int) -> tuple[int, int]:
    """Return the place of a value that fits its label; else an empty one."""
    equals = [match.end() for match in EQUALS.finditer(text, begin, end)]
    value = cleaned(text[equals[-1] if equals else begin : end])
    number = whole_number(value)
    is_amount = number is not None and number.is_single and not number.is_ambiguous
    is_brief = len(value.split()) <= _MOST_WORDS and not (INNER_END.search(value) or JOINED.search(value))
    fits = (_AMOUNT if is_amount else _NAME).fullmatch(label.strip()) is not None
    is_doubted = any(contains(kind, f"{label} {value}") for kind in _KINDS)
    return (begin, end) if value and fits and is_brief and not is_doubted and value[-1] not in "?:" else (begin, begin)
