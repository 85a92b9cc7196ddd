r"""Numbers in a text: their exact values, with units, in the notations that people and models use.

The notations: signs of all scripts, decimals, digits in groups (`1,000`, `1 000`, `1'000`, `1.234.567`, `1{,}000`,
`12,34,567`), decimal commas, powers of ten (`3.5e6`, `1.2 \times 10^{-3}`), fractions (`3/4`, `\frac{3}{4}`), mixed
numbers (`2 1/2`), currencies and units. A date, a time, a version, the number of a list item and the digits of a name
are not numbers. The end of a range and a bound, such as *at least 5*, are not single numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from roundtable.core.base.text import normal_form
from roundtable.reading.bounds import is_bound
from roundtable.reading.folding import FIRST_WITHOUT_SPACES, fold
from roundtable.reading.number_phrases import NOT_UNITS, RANGES
from roundtable.reading.phrases import words_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NumberFound", "find_numbers", "is_operand", "plain", "whole_number"]

_MOST_DIGITS: Final = 300
_MOST_POWER: Final = 400
_CONTEXT: Final = 40
"""Characters before a number that may say that it is not a single number."""

# All repeats are possessive or bounded, so that no text causes backtracking.
_CURRENCY: Final = r"(?:[RAC]\$|[$€£¥₹₩₽₺]|\\\$|USD|EUR|GBP|US\$|CHF|INR|(?<![A-Za-z])Rs\.?)"
_VULGAR: Final = r"[\u00bc-\u00be\u2150-\u215e]"
_BRACES: Final = r"\{{\s*+(?P<{name}>{digits})\s*+\}}"
_GROUPED: Final = (
    r"[1-9][0-9]{0,2}(?:(?:,|\{,\}|\\,)[0-9]{3})++(?![0-9])(?:\.[0-9]++)?"  # 1,234.5
    r"|[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}+(?![0-9])(?:,[0-9]++)?"  # 1.234.567,8
    r"|[1-9][0-9]{0,2}(?:\.[0-9]{3})++,[0-9]{1,2}(?![0-9])"  # 1.234,5
    r"|[1-9][0-9]{0,2}(?:'[0-9]{3})++(?![0-9])(?:[.,][0-9]++)?"  # 1'234.5
    r"|[1-9][0-9]{0,2}(?: [0-9]{3})++(?![0-9])(?:[.,][0-9]{1,2}(?![0-9])|\.[0-9]++)?"  # 1 234,5
    r"|[1-9][0-9]?(?:,[0-9]{2}(?=,))++,[0-9]{3}(?![0-9])(?:\.[0-9]++)?"  # 12,34,567
)
_DIGITS: Final = rf"(?P<digits>{_GROUPED}|[0-9]++(?:(?:[.,]|\{{,\}})[0-9]++)?|\.[0-9]++)"
_FRACTION: Final = (
    r"\\[dt]?frac\s*+(?:"
    + _BRACES.format(name="top", digits="-?[0-9]{1,40}")
    + r"\s*+"
    + _BRACES.format(name="bottom", digits="[0-9]{1,40}")
    + r"|(?P<topdigit>[0-9])\s?(?P<bottomdigit>[0-9]))"
)
_MIXED: Final = (
    rf"\s?(?P<partvulgar>{_VULGAR})"
    r"|\s*+\\[dt]?frac\s*+"
    + _BRACES.format(name="parttop", digits="[0-9]{1,9}")
    + r"\s*+"
    + _BRACES.format(name="partbottom", digits="[0-9]{1,9}")
    + r"|[ -](?P<mixedtop>[0-9]{1,4})/(?P<mixedbottom>[0-9]{1,4})(?![\w/])"
)
_OVER: Final = r"\s?/\s?(?P<over>[0-9]{1,40})(?![\w/]|[.,][0-9])"
_POWER: Final = (
    r"[eE](?P<exponent>[+-]?[0-9]{1,4})(?![\w.])"
    r"|\s*+(?:\\times|\\cdot|[×xX*·])\s*+10\s*+(?:\^\s*+(?:\{\s*+)?(?P<power>[+-]?[0-9]{1,4})(?:\s*+\})?"
    r"|(?P<raised>[⁺⁻]?[⁰¹²³⁴-⁹]{1,4}))"
)
_SIGN: Final = rf"(?P<sign>[+-]\s?(?={_CURRENCY}?[0-9.\\]|{_VULGAR}))"
_NUMBER: Final = re.compile(
    rf"(?P<before>{_CURRENCY}\s?)?{_SIGN}?(?P<currency>{_CURRENCY}\s?)?"
    rf"(?:{_FRACTION}|(?P<vulgar>{_VULGAR})|{_DIGITS}(?:{_MIXED}|{_OVER}|{_POWER})?)"
)
_STUCK_BEFORE: Final = re.compile(r"[A-Za-z\u00c0-\u2e7f_^][-.]?\Z(?<!^[-.])|[_^][{(]\Z|[0-9][.,:/]\Z|[/^]\Z|[0-9]-\Z")
"""What must not stand directly before a number: the letter of `A4`, the point of a version, the slash of a date."""
_STUCK_AFTER: Final = re.compile(
    r"_|\^(?!\{?\s?\\circ)|[\u2070-\u209c\u00b9\u00b2\u00b3]|[.,:/-][0-9]|-[A-Za-z]|(?:st|nd|rd|th)(?![a-z])"
    r"|(?!(?:[kcdmµ]?m|ft|in|yd|mi)[23](?![0-9]))[A-Za-z]{1,3}[0-9]"
)
"""What must not follow a number directly; `5 cm3` is a number with a unit, `0x1F` is none."""
_UNIT: Final = re.compile(
    r"\s?(?P<percent>\\?[%‰])|\s?(?P<money>[$€£¥₹])"
    r"|\s?(?:\\(?:text|mathrm|textrm|,|;|:|!|quad| )\s*+)*+\{?\s*+(?P<word>"
    r"[\u2e80-\uffef](?:(?!以|이)[\u2e80-\uffef])?|[^\W\d_\\][\w/°²³^]*+(?:[ -][^\W\d_]\w*+)?)\}?"
    r"|\s?(?P<degrees>(?:°|\^\{?\\circ\}?)\s?[CFK]?)"
)
_SCALES: Final = {
    word: 10**power
    for power, words in (
        (
            3,
            (
                "thousand tausend tsd mille mil mila duizend tysięcy tysiąc tysiące tysiąca tys тысяч тысячи тысяча "
                "тысячу тыс bin हज़ार हजार 千 천"
            ),
        ),
        (2, "hundred hundert honderd 百 백 सौ"),
        (4, "万 萬 만"),
        (5, "लाख lakh"),
        (
            6,
            (
                "million millions mio millionen millón millones milione milioni milhão milhões miljoen milion milionów "
                "miliony miliona mln миллион миллиона миллионов млн milyon"
            ),
        ),
        (7, "करोड़ crore"),
        (8, "亿 億 억"),
        (12, "兆 trilhão trilhões biliony bilionów biljoen billones billón"),
        (
            9,
            (
                "billion billions bn milliarde milliarden mrd milliard milliards miliardo miliardi miljard miliard "
                "miliardy miliarda miliardów mld bilhão bilhões миллиард миллиарда миллиардов млрд milyar"
            ),
        ),
    )
    for word in words.split()
}
"""Words behind a number that multiply it."""
_SCALE_WORD: Final = "|".join(sorted(map(re.escape, _SCALES), key=len, reverse=True))
_SCALE: Final = re.compile(
    rf"\s?({_SCALE_WORD})(?:\.(?=\s))?(?:(?<=[\u2e80-\uffef])|(?![^\W\d_\u2e80-\uffef]))"
    # a kilogram, a per cent and "as much as" are no scales
    r"(?<!千(?=[克米瓦卡赫焦帕伏字]))(?<!百(?=[分科]))(?<!만(?=큼))",
    re.IGNORECASE,
)
_MOST_SCALES: Final = 3
_SCALE_LETTERS: Final = {"k": 3, "m": 6, "b": 9}
_SCALE_LETTER: Final = re.compile(r"[kKmMbB](?![^\W_])")
"""A letter behind an amount of money, as in `$2.5M`; elsewhere, only `k` is a scale, and the others may be units."""
_OTHER_SCALE: Final = re.compile(
    r"[KMBT](?![^\W_])|\s[MB](?![^\W_])|\s?(?:조|京|十|십)(?![^\W\d_])"
    r"|\s?(?i:trillion|quadrillion|billionen|trillionen|billions|dozen|dutzend|douzaine|docena|dozzin|dúzia|dozijn"
    r"|tuzin|hundreds|thousands|score|(?:ten|hundred|thousand|million)ths)(?i:s?)(?![^\W\d_])"
)
"""What multiplies a number by a factor that differs between languages, or that is not exact."""
_SCALED_BEFORE: Final = re.compile(rf"[0-9]\s?(?:{_SCALE_WORD})\s?\Z", re.IGNORECASE)
_NOT_UNIT: Final = re.compile(rf"(?:{words_pattern(NOT_UNITS)})", re.IGNORECASE)
_ITEM_START: Final = re.compile(r"(?:\A|\n)[ \t>*_#-]*+\Z")
_ITEM_END: Final = re.compile(r"[.)](?:\s++\S|\*\*\S)|\*\*[.)]\s*+\S")
_RANGE_SIGNS: Final = r"-{1,2}|–|—|~|〜|\.\.\.?|±|\\pm|か|や"
_RANGE_AFTER: Final = re.compile(
    rf"\s?(?:%|[^\W\d_]{{1,12}})?\s*+(?:{_RANGE_SIGNS}|{words_pattern(RANGES)})\s*+[$€£]?[-+]?\.?[0-9]", re.IGNORECASE
)
_RANGE_BEFORE: Final = re.compile(
    r"(?:between|zwischen|entre|tra|tussen|między|между)\s[^.\n]{1,24}?\s(?:and|und|et|y|e|en|i|и)\s++[$€£]?\Z"
    rf"|[0-9]\s?(?:%|[^\W\d_]{{1,12}})?\s*+(?:{_RANGE_SIGNS}|{words_pattern(RANGES)})\s*+[$€£]?\Z",
    re.IGNORECASE,
)
_LOOKS: Final = (
    "text|textbf|textrm|textit|textsf|mathrm|mathbf|mathit|mathsf|boldsymbol|mbox|underline|displaystyle|emph|bf"
    "|[fd]?box(?:ed)?|framebox|boxed|approx|sim|q?quad|left|right|big[lr]?|Big[lr]?|large|Large|huge|hspace|space|circ"
    "|degree|end|implies|therefore|to|iff|(?:[Ll]ong)?[Rr]ightarrow|leadsto|square|blacksquare|euro|pounds|checkmark"
    "|newline|n|color|bm|geq?|leq?|pm|neq?|equiv"
)
"""Commands of formulas beside a number that leave it as it is, or that are bounds."""
_OPERAND_BEFORE: Final = re.compile(
    rf"\\(?!(?:{_LOOKS})(?![A-Za-z]))[A-Za-z]+(?:_\{{?\w+\}}?)?(?:\[[^\]]{{0,9}}\])?[\s({{]*\Z"
    r"|\\[dt]?frac\s*+(?:\{[^{}]{0,40}\}|[A-Za-z0-9])?\s*+\{?\s*+\Z|\}\{\s?\Z"
    r"|[√∛∜×÷]\s?[({]?\Z|[\w)}] ?[/·] ?\Z|[\w)}]\*\Z|[\w)}] \* \Z"
    r"|(?<![^\W\d_])(?:(?:twice|thrice|double|triple|half|minus|negative|times|plus|log|ln|lg|sqrt|sin|cos|tan|doppelt"
    r"|zweimal|minus|negativ|moins|menos|meno|eksi|минус|дважды|mínus|ujemne|reciprocal|opposite)"
    r"|(?:half|third|quarter|root|square|cube|factorial|logarithm|inverse|reciprocal|opposite|double|triple) of"
    r"|(?:doppelte|dreifache|hälfte|drittel|viertel|wurzel|quadrat|fakultät)(?: von| aus)?"
    r"|(?:double|triple|moitié|racine carrée|racine|carré|tiers|quart|doble|triple|mitad|raíz cuadrada|raíz|cuadrado"
    r"|tercio|cuarto|doppio|triplo|metà|radice quadrata|radice|quadrato|dobro|metade|raiz quadrada|raiz) d[eio]"
    r"|(?:dubbele|helft|wortel) van|połowa|połowę|pierwiastek z|половина|корень из|квадрат|удвоенное"
    r"|question|step|version|problem|exercise|agent|approach|frage|schritt|étape|paso|шаг)[\s*_`$(}]{1,4}\Z"
    r"|(?:根号|根號|ルート|루트|零下|氷点下|영하|负数?|負數?|マイナス|마이너스)\s?\Z",
    re.IGNORECASE,
)
"""What stands before a number that is only a part of a sum, of a formula, or of words for one."""
_OPERAND_AFTER: Final = re.compile(
    rf" ?\\(?!(?:{_LOOKS})(?![A-Za-z]))[A-Za-z]+|\.\\[a-z]|\.\([0-9]"
    r"| ?(?:[√π∞]|pi(?![^\W\d_]))| ?[+×÷] ?[\w(\\√$]|\*[A-Za-z0-9(\\]| \* [\w(\\]"
    r"|!\s?[}$=+/\\]|\((?=\s?-?[a-z]\s?[-+^)])"
    r"| ?/ ?(?:[a-z](?![^\W\d_])|[\\(√π])| ?- ?(?:[b-hj-z](?![^\W\d_])|[\\√π])"
    r"|(?:[abcefijnopqruvwxyz]|x[yz]{1,2}|yz|ab)(?![^\W\d_']|/)| [bcfijnpqrvwxyz](?![^\W\d_'.])"
    r"|[\s*_`$)]{1,4}(?i:squared|cubed|factorial|plus|and a (?:half|third|quarter)"
    r"|et demie?|divided by|multiplied by|to the power|mod|modulo|zum quadrat|hoch"
    r"|fakultät|au carré|au cube|al cuadrado|al cubo|al quadrato|ao quadrado|в квадрате|do kwadratu|times the)"
    r"(?![^\W\d_])"
    r"|\s?的(?:平方|立方|两倍|兩倍|[0-9]倍|三倍|一半|阶乘)|\s?の(?:[0-9二三]乗|[0-9二三]?倍|半分|平方根|階乗)"
    r"|\s?의 ?(?:제곱|세제곱|두 ?배|절반)"
    r"|[\s*_`$)]{0,4}(?:°[CF]? |[^\W\d_]{1,12} )?(?i:below zero|below freezing|unter null|unter dem gefrierpunkt"
    r"|sous zéro|au-dessous de zéro|bajo cero|sotto zero|abaixo de zero|onder nul|poniżej zera|ниже нуля)(?![^\W\d_])"
)
"""What follows a number that is only a part of a sum, of a formula, or of words for one."""
_PAIR: Final = re.compile(r"[0-9]++,[0-9]++")
_OPENS_PAIR: Final = re.compile(r"(?:\\\{|[(\[])\s?\Z")
_CLOSES_PAIR: Final = re.compile(r"\s?(?:\\right\s?)?(?:\\\}|[)\]])")
_RAISED: Final = {ord(sign): digit for sign, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)}
_POINT_OF_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_MAY_BE_SEVERAL: Final = re.compile(r"(?P<first>[0-9]{3})(?P<rest>(?: [0-9]{3})+)")
"""Digits in groups by spaces of which the first is as long as the others."""
_NO_FRACTIONS: Final = frozenset({"24/7"})
_COMMA_OF_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")


@dataclass(frozen=True, slots=True)
class NumberFound:
    """A number in a text."""

    value: Fraction
    """Exact value; a percentage has the value of its digits."""
    span: tuple[int, int]
    """Start and end of the number, with its currency, but without its unit."""
    end: int
    """End of the unit; the end of the number if there is none."""
    unit: str = ""
    """Currency or unit as it is written; may be empty."""
    is_single: bool = True
    """Whether the text states this number alone: not as a bound, an end of a range, or something that it is not."""
    is_ambiguous: bool = False
    """Whether `1.234` may be a decimal or a whole number, and `100 200` one number or two."""


def find_numbers(text: str) -> Iterator[NumberFound]:
    r"""Yield the numbers of a text, in order.

    Example:
        >>> [str(found.value) for found in find_numbers("1,000 km, then 3/4 of it, \u22125 and 2 1/2.")]
        ['1000', '3/4', '-5', '5/2']
        >>> [found.value for found in find_numbers("Release 3.10.2 of 12/05/2024, step A4")]
        []
    """
    folded = fold(text)
    at = 0
    while match := _NUMBER.search(folded, at):
        found = _number(folded, match)
        at = max(match.end(), match.start() + 1)
        if found is None:
            at = _skip(folded, at)
        else:
            yield found


def whole_number(text: str) -> NumberFound | None:
    r"""Return the number that a whole text states, perhaps with a unit; `None` for any other text.

    Example:
        >>> whole_number("$1,250.50").value, whole_number("3 apples").unit, whole_number("3 of 4")
        (Fraction(2501, 2), 'apples', None)
    """
    found = next(find_numbers(text), None)
    if found is None or text[: found.span[0]].strip() or text[found.end :].strip(" .!。．"):
        return None
    return found


def plain(value: Fraction) -> str:
    """Return a number as a plain decimal or, if it is not a finite decimal, as a fraction in lowest terms.

    Example:
        >>> plain(Fraction(-5, 2)), plain(Fraction(1, 3)), plain(Fraction(3_500_000))
        ('-2.5', '1/3', '3500000')
    """
    rest, places = value.denominator, 0
    for factor in (2, 5):
        count = 0
        while rest % factor == 0:
            rest, count = rest // factor, count + 1
        places = max(places, count)
    if rest != 1:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def is_operand(text: str, start: int, end: int) -> bool:
    r"""Check whether the number between two indices of a text is only a part of an expression, or of words for one.

    Example:
        >>> is_operand(r"\sqrt{5}", 6, 7), is_operand("twice 5", 6, 7), is_operand("5x", 0, 1), is_operand("5 m", 0, 1)
        (True, True, True, False)
    """
    before = text[max(0, start - _CONTEXT) : start]
    return _OPERAND_BEFORE.search(before) is not None or _OPERAND_AFTER.match(text, end) is not None


def _skip(folded: str, at: int) -> int:
    """Return the index behind the word, date or version of which a part looked like a number."""
    while at < len(folded) and (folded[at].isalnum() or (folded[at] in ".,:/-" and folded[at + 1 : at + 2].isdigit())):
        at += 1
    return at


def _number(folded: str, match: re.Match[str]) -> NumberFound | None:
    start, end = match.span()
    value = _value(match)
    if value is None or _stands_in_word(folded, match) or _is_list_item(folded, match):
        return None
    factor, scaled_end = _scale(folded, match)
    value, end = value * factor, scaled_end
    unit, unit_end = _unit(folded, match, end)
    before, after = folded[max(0, start - _CONTEXT) : start], folded[end : end + _CONTEXT]
    is_end = _RANGE_BEFORE.search(before) or _RANGE_AFTER.match(after)
    is_part = _is_part(folded, match, end) or is_operand(folded, start, end)
    return NumberFound(
        value=value,
        span=(start, end),
        end=unit_end,
        unit=unit,
        is_single=not is_end and not is_part and not is_bound(before, folded, end),
        is_ambiguous=_is_ambiguous(match["digits"] or "", has_unit=bool(unit) or end > match.end()),
    )


def _is_ambiguous(digits: str, *, has_unit: bool) -> bool:
    """Check whether digits may be read as two values: a point may separate thousands, and a space two numbers."""
    if (groups := _MAY_BE_SEVERAL.fullmatch(digits)) is not None:
        return not has_unit or not groups["rest"].replace(f" {groups['first']}", "")
    return _POINT_OF_THOUSANDS.fullmatch(digits) is not None


def _scale(folded: str, match: re.Match[str]) -> tuple[int, int]:
    """Return by what the words behind a number multiply it, and where they end."""
    factor, end = 1, match.end()
    for _ in range(_MOST_SCALES):
        scale = _SCALE.match(folded, end)
        if scale is None:
            break
        factor, end = factor * _SCALES[scale[1].casefold()], scale.end()
    letter = _SCALE_LETTER.match(folded, end) if factor == 1 else None
    if letter is not None and (letter[0] == "k" or match["before"] or match["currency"]):
        return 10 ** _SCALE_LETTERS[letter[0].casefold()], letter.end()
    return factor, end


def _is_part(folded: str, match: re.Match[str], end: int) -> bool:
    """Check whether a number, with its scale, is one of a pair in brackets, or a part of a longer number or sum."""
    start = match.start()
    before = folded[max(0, start - _CONTEXT) : start]
    if match["sign"] and match["sign"][1:].isspace() and before.rstrip()[-1:].isalnum() and "\n" not in before[-2:]:
        return True  # an operator
    if match["over"] and (match["over"] == match["digits"] or f"{match['digits']}/{match['over']}" in _NO_FRACTIONS):
        return True  # fifty-fifty
    if _OTHER_SCALE.match(folded, end) or _SCALED_BEFORE.search(before):
        return True
    if end > match.end() and folded[end : end + 2].lstrip()[:1].isdigit():
        return True
    if not _PAIR.fullmatch(match["digits"] or "") or not _CLOSES_PAIR.match(folded, end):
        return False
    opening = _OPENS_PAIR.search(before.removesuffix("\\left"))
    if opening is None:
        return False
    is_in_formula = opening[0][0] != "(" or before[: opening.start()][-1:] in {"{", "$", "\\"}
    return is_in_formula or not _COMMA_OF_THOUSANDS.fullmatch(match["digits"])


def _stands_in_word(folded: str, match: re.Match[str]) -> bool:
    """Check whether the digits belong to a name, a date, a time, a version or a power."""
    start, end = match.span()
    before, after = folded[max(0, start - 2) : start], folded[end : end + 8]
    if match["sign"]:
        is_stuck = _is_letter(before[-1:]) or before[-1:].isdigit()
    else:
        is_stuck = bool(before) and not match["currency"] and _STUCK_BEFORE.search(before) is not None
    return is_stuck or _STUCK_AFTER.match(after) is not None


def _is_letter(char: str) -> bool:
    """Check for a letter of a script that separates words by spaces; digits may follow others directly."""
    return char.isalpha() and char < FIRST_WITHOUT_SPACES


def _is_list_item(folded: str, match: re.Match[str]) -> bool:
    """Check for the number of an item at the beginning of a line, such as `1.` or `2)`, with text behind it."""
    digits = match["digits"] or ""
    if match["sign"] or not digits.isdigit() or len(digits) > 2 or match.end("digits") < match.end():
        return False
    line = folded[max(0, match.start() - _CONTEXT) : match.start()]
    return _ITEM_START.search(line) is not None and _ITEM_END.match(folded, match.end()) is not None


def _unit(folded: str, match: re.Match[str], end: int) -> tuple[str, int]:
    """Return the currency or unit of a number that ends at an index, and where the unit ends."""
    currency = (match["before"] or match["currency"] or "").strip().lstrip("\\")
    if currency == "$" and folded[end : end + 2].lstrip().startswith("$"):
        return "", end  # signs of a formula, as in $56$
    behind = _UNIT.match(folded, end)
    if behind is None or (behind["money"] == "$" and folded[match.start()] == "$"):
        return currency, end
    word = behind["word"] or ""
    if word and (currency or _NOT_UNIT.match(word)):
        return currency, end
    return currency or (behind["percent"] or behind["money"] or behind["degrees"] or word).strip().lstrip(
        "\\"
    ), behind.end()


def _value(match: re.Match[str]) -> Fraction | None:
    sign = -1 if (match["sign"] or "").startswith("-") else 1
    if match["vulgar"]:
        return sign * _vulgar(match["vulgar"])
    if match["digits"] is None:
        return _ratio(match["top"] or match["topdigit"], match["bottom"] or match["bottomdigit"], sign)
    if len(match["digits"]) > _MOST_DIGITS:
        return None
    value = _decimal(match["digits"])
    if match["over"]:
        return sign * value / int(match["over"]) if int(match["over"]) else None
    if match["partvulgar"] or match["parttop"] or match["mixedtop"]:
        return _mixed(match, value, sign)
    power = match["exponent"] or match["power"] or (match["raised"] or "").translate(_RAISED)
    if power:
        return sign * value * Fraction(10) ** int(power) if abs(int(power)) <= _MOST_POWER else None
    return sign * value


def _ratio(top: str, bottom: str, sign: int) -> Fraction | None:
    return sign * Fraction(int(top), int(bottom)) if int(bottom) else None


def _mixed(match: re.Match[str], whole: Fraction, sign: int) -> Fraction | None:
    """Return the value of a mixed number, such as `2 1/2`; `None` if its parts do not fit."""
    part: Fraction | None
    if match["partvulgar"]:
        part = _vulgar(match["partvulgar"])
    else:
        part = _ratio(match["parttop"] or match["mixedtop"], match["partbottom"] or match["mixedbottom"], 1)
    return sign * (whole + part) if part is not None and part < 1 and whole.denominator == 1 else None


def _vulgar(sign: str) -> Fraction:
    """Return the value of a sign such as ½."""
    top, _, bottom = normal_form(sign, "NFKC").partition("\N{FRACTION SLASH}")
    return Fraction(int(top), int(bottom))


def _decimal(digits: str) -> Fraction:
    """Return the value of digits with points, commas or other signs between groups or before decimals."""
    digits = digits.replace("{,}", ",").replace("\\,", ",").replace(" ", "").replace("'", "")
    if digits.startswith("."):
        return Fraction(f"0{digits}")
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        decimal = max(digits.rfind("."), digits.rfind(","))
        return Fraction(re.sub("[.,]", "", digits[:decimal]) + "." + digits[decimal + 1 :])
    if points > 1 or commas > 1 or _COMMA_OF_THOUSANDS.fullmatch(digits):
        return Fraction(re.sub("[.,]", "", digits))
    return Fraction(digits.replace(",", "."))
