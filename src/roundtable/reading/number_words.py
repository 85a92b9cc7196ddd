"""Numbers that are written in words, in the languages whose words are listed: *forty-two*, *zweiundvierzig*, 四十二."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Final

__all__ = ["worded_number"]

_WORDS: Final = {
    0: "zero null zéro cero zéro nul ноль sıfır",
    1: "one eins ein eine un une uno una um uma één een jeden jedna jedno один одна одно bir 하나 한",
    2: "two zwei deux dos due dois duas twee dwa dwie два две iki 둘 두",
    3: "three drei trois tres tre três drie trzy три üç 셋 세",
    4: "four vier quatre cuatro quattro quatro cztery четыре dört 넷 네",
    5: "five fünf cinq cinco cinque vijf pięć пять beş 다섯",
    6: "six sechs seis sei zes sześć шесть altı 여섯",
    7: "seven sieben sept siete sette sete zeven siedem семь yedi 일곱",
    8: "eight acht huit ocho otto oito osiem восемь sekiz 여덟",
    9: "nine neun neuf nueve nove negen dziewięć девять dokuz 아홉",
    10: "ten zehn dix diez dieci dez tien dziesięć десять on 열",
    11: "eleven elf onze once undici jedenaście одиннадцать",
    12: "twelve zwölf douze doce dodici doze twaalf dwanaście двенадцать",
    13: "thirteen dreizehn treize trece tredici treze dertien trzynaście тринадцать",
    14: "fourteen vierzehn quatorze catorce quattordici catorze veertien czternaście четырнадцать",
    15: "fifteen fünfzehn quinze quince quindici vijftien piętnaście пятнадцать",
    16: "sixteen sechzehn seize dieciséis sedici dezesseis zestien szesnaście шестнадцать",
    17: "seventeen siebzehn dix-sept diecisiete diciassette dezessete zeventien siedemnaście семнадцать",
    18: "eighteen achtzehn dix-huit dieciocho diciotto dezoito achttien osiemnaście восемнадцать",
    19: "nineteen neunzehn dix-neuf diecinueve diciannove dezenove negentien dziewiętnaście девятнадцать",
    20: "twenty zwanzig vingt veinte veinti venti vent vinte twintig dwadzieścia двадцать yirmi 스물 스무",
    22: "veintidós",
    23: "veintitrés",
    26: "veintiséis",
    30: "thirty dreißig dreissig trente treinta trenta trent trinta dertig trzydzieści тридцать otuz 서른",
    40: "forty fourty vierzig quarante cuarenta quaranta quarant quarenta veertig czterdzieści сорок kırk 마흔",
    50: "fifty fünfzig cinquante cincuenta cinquanta cinquant cinquenta vijftig pięćdziesiąt пятьдесят elli 쉰",
    60: "sixty sechzig soixante sesenta sessanta sessant sessenta zestig sześćdziesiąt шестьдесят altmış 예순",
    70: "seventy siebzig septante setenta settanta settant zeventig siedemdziesiąt семьдесят yetmiş 일흔",
    80: "eighty achtzig huitante quatre-vingts quatre-vingt ochenta ottanta ottant oitenta tachtig osiemdziesiąt"
    " восемьдесят seksen 여든",
    90: "ninety neunzig nonante noventa novanta novant negentig dziewięćdziesiąt девяносто doksan 아흔",
    100: "hundred hundert cent cents cien ciento cento cem honderd sto сто yüz",
    1000: "thousand tausend mille mil mila duizend tysiąc tysiące tysięcy тысяча тысячи тысяч bin",
    1_000_000: "million millionen millions millón milione milhão miljoen milion миллион milyon",
}
_JOINTS: Final = ("and", "und", "et", "y", "e", "en", "ën", "i", "и")
"""Words between the parts of a number."""
_ENGLISH: Final = frozenset(words.split()[0] for words in _WORDS.values())
_COINS: Final = frozenset({"cent", "cents"})
"""Coins in English, and hundreds in French."""
_AMBIGUOUS: Final = frozenset(
    {"on", "bin", "once", "cent", "cents", "mil", "um", "elf", "null", "sei", "한", "두", "세", "네", "сто"}
)
"""Words that are something else in another language, unless a further word of a number stands beside them."""
_NOT_COUNTED: Final = frozenset(
    {"or", "oder", "ou", "o", "of", "lub", "или", "veya", "moment", "second", "more", "less", "other", "things"}
)
_CHINESE: Final = re.compile(
    r"(?P<number>[零〇一二两兩三四五六七八九十百千万萬亿億]+|[영공일이삼사오육칠팔구십백천만억]+)\s?(?P<unit>[^\W\d_]{0,2})"
)
_SIGNS: Final = ("零〇영공", "一일", "二两兩이", "三삼", "四사", "五오", "六육", "七칠", "八팔", "九구")
_DIGITS: Final = {sign: value for value, signs in enumerate(_SIGNS) for sign in signs}
_POWERS: Final = {"十": 10, "십": 10, "百": 100, "백": 100, "千": 1000, "천": 1000}
_MYRIADS: Final = {"万": 10**4, "萬": 10**4, "만": 10**4, "亿": 10**8, "億": 10**8, "억": 10**8}
_AROUND: Final = " \t\r\n.*_`\"'$!。"
_MOST_CHARS: Final = 80


@cache
def _token() -> re.Pattern[str]:
    words = sorted((word for words in _WORDS.values() for word in words.split()), key=len, reverse=True)
    return re.compile(
        rf"(?P<inner>und|ën|en)|(?P<word>{'|'.join(words)})|(?P<joint>(?<!\w)(?:{'|'.join(_JOINTS)})(?!\w))|[\s-]+"
    )


@cache
def _values() -> dict[str, int]:
    return {word: value for value, words in _WORDS.items() for word in words.split()}


def worded_number(text: str) -> int | None:
    """Return the number that a whole text writes in words, perhaps with one word behind it; else `None`.

    Example:
        >>> worded_number("forty-two"), worded_number("Zweiundvierzig Tage"), worded_number("四百零八")
        (42, 42, 408)
        >>> worded_number("two or three"), worded_number("one moment"), worded_number("two three")
        (None, None, None)
    """
    text = text.strip(_AROUND).casefold()
    if not text or len(text) > _MOST_CHARS:
        return None
    if (chinese := _CHINESE.fullmatch(text)) is not None:
        return _chinese(chinese["number"])
    value = _spoken(text)
    if value is None and " " in text:
        before, _, unit = text.rpartition(" ")
        is_counted = unit.isalpha() and unit not in _NOT_COUNTED and unit not in _JOINTS and unit not in _values()
        value = _spoken(before) if is_counted else None
        return None if value == 1 else value
    return value


def _spoken(text: str) -> int | None:
    """Return the value of words of numbers."""
    parts: list[tuple[int, bool]] = []
    at, is_joined, last = 0, False, ""
    while at < len(text):
        token = _token().match(text, at)
        joint = token and (token["inner"] or token["joint"])
        if token is None or (joint and not parts):
            return None
        if token["word"]:
            parts.append((_values()[token["word"]], is_joined))
            is_joined, last = False, token["word"]
        is_joined = is_joined or bool(joint)
        at = token.end()
    if not parts or is_joined or (len(parts) == 1 and last in _AMBIGUOUS):
        return None
    before, _, coin = text.rpartition(" ")
    if coin in _COINS and not _ENGLISH.isdisjoint(re.split(r"[\s-]+", before)):
        return None  # five cents
    return _sum(parts)


def _sum(parts: list[tuple[int, bool]]) -> int | None:
    """Return the value of parts such as 2, 100 and 40, each with whether *and* stands before it."""
    total, group, scale = 0, 0, 10**9
    for value, is_joined in parts:
        if value >= 1000:
            if value >= scale:
                return None
            total, group, scale = total + (group or 1) * value, 0, value
        elif value == 100:
            if group >= 100:
                return None
            group = (group or 1) * 100
        elif not _follows(group % 100, value, is_joined=is_joined):
            return None
        else:
            group += value
    return total + group


def _follows(before: int, value: int, *, is_joined: bool) -> bool:
    """Check whether a part may follow what stands before it below a hundred, as 2 follows 40, and 40 *2 and*."""
    if before == 0:
        return True
    is_tens = before % 10 == 0 and before >= 20
    return (
        (is_tens and 0 < value < 10)
        or (before in {60, 80} and 10 <= value < 20)
        or (before == 10 and 0 < value < 10)
        or (is_joined and before < 10 and value % 10 == 0 and 20 <= value < 100)
    )


def _chinese(text: str) -> int | None:
    """Return the value of Chinese numerals, of which each digit stands before its power of ten."""
    if any(one in _DIGITS and other in _DIGITS and _DIGITS[one] for one, other in pairwise(text)):
        return None
    total, group, digit = 0, 0, 0
    for sign in text:
        if sign in _MYRIADS:
            total, group, digit = (total + (group + digit or 1)) * _MYRIADS[sign], 0, 0
        elif sign in _POWERS:
            group, digit = group + (digit or 1) * _POWERS[sign], 0
        else:
            digit = _DIGITS[sign]
    return total + group + digit
