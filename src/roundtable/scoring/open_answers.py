"""The rule `open`: which open answers are equal, contradict each other, or abstain, by their texts alone.

Equal means certainly equal. Different wording proves nothing: "the capital" and "Lisbon" may be the same answer.
Without a reader, only two kinds of answers contradict each other: different numbers with the same unit, of which none
may be the other one rounded, and a bare yes and a bare no.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from roundtable.core.base.text import normal_form
from roundtable.reading.abstentions import ABSTAIN, is_refusal
from roundtable.reading.yes_no import NO_WORDS, YES_WORDS
from roundtable.scoring.letter_case import are_words, fold_words

__all__ = [
    "ABSTAIN",
    "MOST_KEY_CHARS",
    "Amount",
    "OpenText",
    "amount_of",
    "contradict",
    "is_abstention",
    "open_key",
    "parse_open",
    "yes_or_no",
]

MOST_KEY_CHARS: Final = 20_000
"""Longest text whose spelling is looked at. Longer texts are the same only if they are equal apart from white space:
a fold may write 18 characters for one, and it would keep the process busy."""
_SYMBOLS: Final = frozenset({"Ne", "Si"})
"""Bare answers that may also be neon and silicon. They have keys of their own, and so have `NO` and `SI`, which may be
nitric oxide and the international system of units."""
_LONGEST_SYMBOL: Final = 2
_STRESS: Final = "!！ "

_ABSTENTIONS: Final = frozenset(
    phrase.casefold()
    for phrase in (
        "abstain",
        "i abstain",
        "i don't know",
        "i do not know",
        "i dont know",
        "don't know",
        "dont know",
        "do not know",
        "i'm not sure",
        "i am not sure",
        "not sure",
        "no idea",
        "i have no idea",
        "no opinion",
        "i have no opinion",
        "i can't answer",
        "i cannot answer",
        "i can't say",
        "i cannot say",
        "cannot answer",
        "no answer",
        "i can't help with that",
        "i cannot help with that",
        "i'm sorry, but i can't help with that",
        "ich weiß es nicht",
        "ich weiß nicht",
        "weiß nicht",
        "keine ahnung",
        "enthaltung",
        "ich enthalte mich",
        "je m'abstiens",
        "me abstengo",
        "mi astengo",
        "je ne sais pas",
        "aucune idée",
        "no sé",
        "no lo sé",
        "non lo so",
        "não sei",
        "ik weet het niet",
        "jag vet inte",
        "jeg vet ikke",
        "jeg ved det ikke",
        "vet ikke",
        "ved ikke",
        "vet inte",
        "en tiedä",
        "nie wiem",
        "nevím",
        "не знаю",
        "я не знаю",
        "bilmiyorum",
        "nem tudom",
        "δεν ξέρω",
        "わかりません",
        "分かりません",
        "我不知道",
        "不知道",
        "모르겠습니다",
        "لا أعرف",
        "मुझे नहीं पता",
        "tôi không biết",
        "לא יודע",
        "לא יודעת",
    )
)
"""Whole answers that abstain, in the languages listed above, and in Finnish, Vietnamese and Hebrew."""

_LONGEST_REFUSAL: Final = 300
_SENTENCE_END: Final = re.compile(r"[.!?][\"'”’)]*+\s|[。！？।](?=.)")
"""End of a sentence that another one follows."""

_QUOTES: Final = frozenset("\"'“”„‟‘’‚‛«»‹›「」『』")
_CODE: Final = re.compile(r"(?P<ticks>`++)(?P<inner>[^`]++)(?P=ticks)")
"""Code in Markdown; its letter case counts."""
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "（": "）", "【": "】", "〔": "〕"}
_MOST_LAYERS: Final = 32
_EMPHASIS: Final = ("***", "**", "*")
_FORMULAS: Final = (("$$", "$$", "$"), ("$", "$", "$"), ("\\[", "\\]", "\\]"), ("\\(", "\\)", "\\)"))
"""Signs before and after a formula, and the sign that shows that a text has several formulas."""
_FIGURE: Final = re.compile(r"[+\-.]?[0-9\\]")
"""Beginning of a formula that is a number or a command; signs around other texts may belong to code, as in `$x$`."""
_COMMAND: Final = re.compile(r"\\(?:boxed|text|textbf)(?=\{)", re.IGNORECASE)
"""A command of LaTeX around a whole answer, as in `\\boxed{42}`; other commands may change the meaning."""
_STOPS: Final = ".。．।۔።"
_HYPHENS: Final = "-‐‑–"
_DASHES: Final = frozenset("-‐‑–−")
"""Signs of a range, such as `5–8`; a space before one would make it a minus."""
_UNIT_SIGNS: Final = frozenset("%‰'\"′″/")
"""Punctuation with which a unit may begin."""
_SPELLINGS: Final = {ord(mark): "'" for mark in "’ʼ＇"} | str.maketrans("µ٫٬٪", "μ.,%") | {ord("ŉ"): "'n"}
"""Signs with the same meaning: apostrophes, the two letters for micro, and the Arabic signs in numbers."""
_WIDTHS: Final = ("<wide>", "<narrow>", "<noBreak>", "<small>")
_MINUS: Final = re.compile(
    r"(?<![^\s(\[{<=>,;:*_\"'`$“„«|+/])[\N{MINUS SIGN}\N{EN DASH}\N{HYPHEN}\N{NON-BREAKING HYPHEN}](?=[$€£¥]?\.?[0-9])"
)
"""A minus before a number, other than `-`. After a letter or digit, the sign may also stand for a range."""
_GROUP_SPACE: Final = re.compile(r"(?<![\w.,])[1-9][0-9]{0,2}(?:[\u00a0\u2009\u202f][0-9]{3}){1,130}(?![\w]|[.,][0-9])")
"""A number with narrow or fixed spaces between thousands."""
_PLAIN: Final = r"[0-9]{1,400}"
_NUMBER: Final = re.compile(
    r"\s*(?P<sign>[+-]?)"
    rf"(?P<whole>[1-9][0-9]{{0,2}}(?:,[0-9]{{3}}){{1,130}}(?![0-9])|{_PLAIN})?(?P<rest>\.{_PLAIN})?"
)
_NO_NUMBER: Final = re.compile(rf"\.\w|[{_HYPHENS}][^\W\d_]")
"""What follows the digits of a date, a version or a list item: in `1.10.2024` and `3.10-beta`, the zero counts."""
_AMBIGUOUS: Final = re.compile(r"0*[1-9][0-9]{0,2}\.[0-9]{3}")
"""A number that may have a point between thousands, or may be a decimal with three places."""
_WHOLE_THOUSANDS: Final = re.compile(r"[0-9]{2,400}000")
"""A whole number that may be rounded to thousands; years and small counts are exact."""


class Amount(NamedTuple):
    """A number with its unit."""

    value: Fraction
    """The number."""
    unit: str
    """The currency sign before the number, followed by the text after the number; may be empty. Letter case counts."""


class OpenText(NamedTuple):
    """An open answer, parsed once."""

    key: str
    """The part of the answer that counts: answers with equal keys are equal."""
    amount: Amount | None
    """The number and unit with which the answer begins."""
    side: Literal["YES", "NO"] | None
    """The side of a bare yes or no."""
    abstains: bool
    """Whether it abstains."""

    def contradicts(self, other: OpenText) -> bool:
        """Check whether two answers certainly contradict each other."""
        if self.side is not None and other.side is not None:
            return self.side != other.side
        amount, other_amount = self.amount, other.amount
        if (
            amount is None
            or other_amount is None
            or amount.unit != other_amount.unit
            or _may_be_rounded(amount.value, other_amount.value)
        ):
            return False
        if amount.unit and not _may_begin_unit(amount.unit[0]):  # a name or a list item, such as 5-HT or 1)Lisbon
            return False
        return len(amount.unit.split()) <= 1 and not any(letter.isdigit() for letter in amount.unit)


def parse_open(text: str) -> OpenText:
    """Parse an open answer.

    Example:
        >>> parse_open("5 km.")
        OpenText(key='5 km', amount=Amount(value=Fraction(5, 1), unit='km'), side=None, abstains=False)
    """
    if len(text) > MOST_KEY_CHARS and len(text := " ".join(text.split())) > MOST_KEY_CHARS:
        return OpenText(text, None, None, abstains=False)
    bare = _without_wrapping(_plain(text))
    code = _CODE.fullmatch(bare)
    if code is None:
        return _parse_bare(bare)
    inner = code["inner"].strip()
    parsed = parse_open(inner)
    if parsed.key == inner or parsed.amount or parsed.side or parsed.abstains:
        return parsed
    return OpenText(f"`{inner}`", None, None, abstains=False)


def _parse_bare(bare: str) -> OpenText:
    """Parse an answer without quotes, emphasis and the like around it."""
    amount = _amount(bare)
    if amount is not None:
        # A gain of ten per cent is not ten per cent.
        plus = "+" if bare[0] == "+" and amount.unit[:1] in set("%‰") else ""
        space = "" if amount.unit[:1] in _DASHES else " "
        return OpenText(f"{plus}{_decimal(amount.value)}{space}{amount.unit}".strip(), amount, None, abstains=False)
    folded = _fold(bare)
    word = folded.rstrip(_STRESS).lstrip("¡ ")
    side: Literal["YES", "NO"] | None = "YES" if word in YES_WORDS else "NO" if word in NO_WORDS else None
    abstains = folded.replace("ß", "ss").rstrip("!.… ") in _ABSTENTIONS or (side is None and _refuses(bare))
    if side is not None:
        written = bare.rstrip(_STRESS).lstrip("¡ ")
        is_symbol = written in _SYMBOLS or (written.isupper() and len(written) <= _LONGEST_SYMBOL)
        return OpenText(written if is_symbol else side.lower(), None, side, abstains)
    return OpenText(fold_words(bare, _fold), None, side, abstains)


def _refuses(bare: str) -> bool:
    """Check whether an answer is a single sentence that refuses; further sentences may hold the answer."""
    return len(bare) <= _LONGEST_REFUSAL and not _SENTENCE_END.search(bare) and is_refusal(bare)


def open_key(text: str) -> str:
    r"""Return the key of an open answer: two answers with the same key say the same.

    White space, outer quotes, emphasis and full stops do not count, nor do signs of a formula around a whole answer,
    such as `\boxed{42}`. Letter case, and brackets around the answer, do not count where the whole text is ordinary
    words; in signs, units, code and abbreviations they do (see `fold_words`). Signs that belong to a word count. A
    number counts by its value, in the digits of any script; dates and versions, such as `1.10.2024`, are text. A bare
    yes or true has the same key in every language of the list, and so has a bare no. In a text of more than 20,000
    characters, only white space does not count. Idempotent.

    Example:
        >>> open_key(' "Lisbon." '), open_key("LISBON"), open_key("1,000"), open_key("Ja!"), open_key("10²")
        ('lisbon', 'lisbon', '1000', 'yes', '10 ²')
        >>> open_key("5 MW") == open_key("5 mW"), open_key("CO") == open_key("Co"), open_key("Oui") == open_key("yes")
        (False, False, True)
    """
    return parse_open(text).key


def amount_of(text: str) -> Amount | None:
    """Return the number and unit with which a text begins; `None` for a text that does not begin with a number.

    Only plain decimals count; they may have commas between thousands. `1.000` may be one or a thousand, so it stays
    text. `0,125` and `1.10.2024` stay text too.

    Example:
        >>> amount_of("-1,250.50 km"), amount_of("$5"), amount_of("1.000"), amount_of("Lisbon")
        (Amount(value=Fraction(-2501, 2), unit='km'), Amount(value=Fraction(5, 1), unit='$'), None, None)
    """
    return parse_open(text).amount


def yes_or_no(text: str) -> Literal["YES", "NO"] | None:
    """Return the side of a bare yes or no; `None` for any other text.

    Example:
        >>> yes_or_no("Yes."), yes_or_no("Nein"), yes_or_no("False"), yes_or_no("Yes, if it rains")
        ('YES', 'NO', 'NO', None)
    """
    return parse_open(text).side


def contradict(text: str, other_text: str) -> bool:
    """Check whether two open answers certainly contradict each other.

    Example:
        >>> (
        ...     contradict("42 km", "43 km"),
        ...     contradict("42 km", "43 miles"),
        ...     contradict("yes", "No."),
        ...     contradict("a", "b"),
        ... )
        (True, False, True, False)
    """
    return parse_open(text).contradicts(parse_open(other_text))


def is_abstention(text: str) -> bool:
    """Check whether a whole answer abstains: `ABSTAIN`, "I don't know", or a similar phrase in another language.

    Example:
        >>> is_abstention("ABSTAIN"), is_abstention("I don’t know."), is_abstention("I don't know Lisbon")
        (True, True, False)
    """
    return parse_open(text).abstains


def _amount(bare: str) -> Amount | None:
    before = bare[0] if bare and unicodedata.category(bare[0]) == "Sc" else ""
    match = _NUMBER.match(bare, len(before))
    if match is None or not (match["whole"] or match["rest"]):
        return None
    written = f"{match['whole'] or ''}{match['rest'] or ''}"
    after = bare[match.end() :]
    if match["whole"] and after[:1] == "," and after[1:2].isdigit():
        return None
    if _NO_NUMBER.match(after) and (match["rest"] or after[0] == "."):
        return None
    value = Fraction(written.replace(",", "") if written[0] != "." else f"0{written}")
    if _AMBIGUOUS.fullmatch(written) or _AMBIGUOUS.fullmatch(_decimal(value)):
        return None
    return Amount(-value if match["sign"] == "-" else value, f"{before}{after}".strip())


def _may_be_rounded(value: Fraction, other: Fraction) -> bool:
    """Check whether two numbers are equal, or one of them may be the other one rounded or cut: 3.14 and 3.14159.

    Nobody cuts a number to thousands: 40,500 may be rounded to 41,000, and never to 40,000.
    """
    if value == other:
        return True
    rounded, full = sorted((value, other), key=_places)
    places = _places(rounded)
    if places == _places(full):
        return False
    step = Fraction(10) ** -places
    distance = 2 * abs(rounded - full)
    if places < 0:
        return distance < step or (distance == step and abs(rounded) > abs(full))
    return distance <= step or rounded == int(full / step) * step


def _places(value: Fraction) -> int:
    """Return the decimal places of a number; -3 for one that may be rounded to thousands."""
    written = _decimal(abs(value))
    return -3 if _WHOLE_THOUSANDS.fullmatch(written) else len(written.partition(".")[2])


def _plain(text: str) -> str:
    """Compose letters, convert letters of other widths and digits of other scripts, and collapse white space.

    Letter case stays.
    """
    if not text.isascii():
        text = _GROUP_SPACE.sub(lambda number: ",".join(number[0].split()), text)
        text = "".join(map(_plain_letter, normal_form(text.translate(_SPELLINGS), "NFC")))
        text = _MINUS.sub("-", normal_form(text, "NFC"))
    return " ".join(text.split())


def _plain_letter(letter: str) -> str:
    if letter.isascii():
        return letter
    if letter.isdecimal():
        return str(unicodedata.decimal(letter))
    return normal_form(letter, "NFKC") if unicodedata.decomposition(letter).startswith(_WIDTHS) else letter


def _fold(text: str) -> str:
    # "Maße" is not "Masse", though both fold to "masse".
    while (folded := "ß".join(_folded(part) for part in text.replace("ẞ", "ß").split("ß"))) != text:
        text = folded  # the result may contain a letter that changes when it is folded again
    return text


def _folded(text: str) -> str:
    return normal_form(text.casefold().translate(_SPELLINGS), "NFC")


def _without_wrapping(text: str) -> str:
    """Remove quotes, brackets, emphasis and signs of a formula around a whole text, and full stops at its end.

    A text that consists of nothing else stays as it is, and so does a text with very many layers, which would be slow.
    """
    inner = text
    for _ in range(_MOST_LAYERS):
        unwrapped = _unwrapped(inner)
        if not unwrapped or unwrapped == inner:
            return inner
        inner = unwrapped
    return text


def _unwrapped(text: str) -> str:
    inner = text.rstrip(f"{_STOPS} ") if text[-1:] and text[-1] in _STOPS and text[-2:-1] not in set(_STOPS) else text
    if inner != text:
        return inner
    if len(text) < 3:
        return text
    if text[0] in _QUOTES and text[-1] in _QUOTES:
        return text[1:-1].strip()
    if text[0] != "{" and _PAIRS.get(text[0]) == text[-1] and _closes_at_the_end(text):
        return inner if are_words(inner := text[1:-1].strip()) else text
    for mark in _EMPHASIS:
        if (
            text.startswith(mark)
            and text.endswith(mark)
            and len(text) > 2 * len(mark)
            and mark[0] not in text[len(mark) : -len(mark)]
        ):
            return text[len(mark) : -len(mark)].strip()
    return _without_formula(text)


def _without_formula(text: str) -> str:
    """Remove the signs of a formula around a whole text, and a command that only frames it."""
    for opening, closing, sign in _FORMULAS:
        inner = text[len(opening) : -len(closing)].strip()
        if text.startswith(opening) and text.endswith(closing) and _FIGURE.match(inner) and sign not in inner:
            # The signs may also be the brackets of an interval, with the backslashes that Markdown asks for.
            return text if opening[0] == "\\" and _has_several_numbers(inner) else inner
    command = _COMMAND.match(text)
    if command is not None and text[-1] == "}" and _closes_at_the_end(text[command.end() :]):
        return text[command.end() + 1 : -1].strip()
    return text


def _may_begin_unit(letter: str) -> bool:
    return letter in _UNIT_SIGNS or not unicodedata.category(letter).startswith("P")


def _has_several_numbers(inner: str) -> bool:
    """Check whether brackets enclose an interval or a list: `[0, 1]` contains its ends, and `(0, 1)` does not."""
    match = _NUMBER.match(inner)
    after = inner[match.end() :] if match else inner
    return any(mark in after for mark in ",;，；") and any(letter.isdigit() for letter in inner)


def _closes_at_the_end(text: str) -> bool:
    """Check whether the last character of a text closes the bracket that opens it."""
    opening, closing = text[0], _PAIRS[text[0]]
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == opening) - (letter == closing)
        if depth == 0:
            return index == len(text) - 1
    return False


def _decimal(value: Fraction) -> str:
    """Write a plain decimal without an exponent."""
    whole, remainder = divmod(abs(value.numerator), value.denominator)
    places = ""
    while remainder:
        digit, remainder = divmod(remainder * 10, value.denominator)
        places += str(digit)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{places}" if places else f"{sign}{whole}"
