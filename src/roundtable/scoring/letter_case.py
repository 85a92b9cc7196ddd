"""Where letter case does not count: in texts of ordinary words.

In formulas, units, code, options of commands and abbreviations, letter case is the answer: Co is cobalt and CO is
carbon monoxide. Nothing shows for certain which of the two a text is, so that everything that may be such a sign keeps
its case.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable.core.base.text import normal_form

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["are_words", "fold_words"]

FEWEST_LETTERS: Final = 3
"""Minimum letters of a capitalised word: `Tea` is `tea`, but `Aa`, `Co` and `Bb` may be signs."""
FEWEST_CAPITALS: Final = 5
"""Minimum letters of a lone word in capitals: `PARIS` is `Paris`, but `AIDS`, `WHO`, `US` and `MIX` may be signs."""

_ENGLISH: Final = "an as at be by do go he if in is it me my no of on or so to up us we"
_GERMAN: Final = "am du er es im ja ob um wo zu"
_ROMANCE: Final = "al ce da de di el en es et ha il je la le lo ne on os ou se si su tu un ya"
_SHORT_WORDS: Final = frozenset(f"{_ENGLISH} {_GERMAN} {_ROMANCE}".split())
"""Words of two letters with which a sentence may begin."""
_NAMES: Final = "august bath china cork god job lent mark march may mercury mobile nice polish reading slough turkey"
_ACRONYMS: Final = "basic smart start swift"
_CALORIES: Final = "cal calorie calories gal"  # 1 Cal is 1000 cal
_OTHER_MEANINGS: Final = frozenset(f"{_NAMES} {_ACRONYMS} {_CALORIES}".split())
"""Words that mean another thing with a capital, or in capitals."""
_TYPES: Final = (
    "any array boolean byte char date dict double float function integer list long map number object set short string "
    "symbol tuple type"
)
_FILES: Final = "changelog dockerfile gemfile jenkinsfile license makefile procfile rakefile readme vagrantfile"
_NAMES_IN_CODE: Final = frozenset(f"{_TYPES} {_FILES}".split())
"""Words that may be a type or a file if they are the whole text: `String` and `string` are two types in TypeScript."""
_PREFIXED_UNIT: Final = re.compile(
    r"[mpyz](?:bars?|barns?|bits?|bytes?|cal|grays?|hertz|joules?|litres?|mol|newtons?|ohms?|pascals?|rads?|rems?|secs?|"
    r"teslas?|volts?|watts?)"
)
"""A unit with a prefix that is another one as a capital: Mbar is a billion mbar."""
_FORMULA_LETTERS: Final = (frozenset("HBCNOFPSKVYIWU"), frozenset("ACGTUN"), frozenset("IVXLCDM"))
"""Letters of formulas in capitals, of nucleic acids, and of Roman numbers: `HCOOH`, `GATTACA`, `XVIII`."""
_VOWELS: Final = frozenset("aeiouyæøœıə")

_APOSTROPHE: Final = "'"
_HYPHENS: Final = "-\N{HYPHEN}"
_JOINERS: Final = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
_ELIDED: Final = frozenset("cdjlmnst")
"""Letters that stand for a word before an apostrophe, as in `L'amour`."""
_ENDS: Final = ".:!?…"
_NUMBER: Final = re.compile(r"[0-9]++(?:[.,:][0-9]++)*+[%‰]?")
_BEFORE: Final = "\"'“”„‘’«»‹›「」『』(（[¿¡"
_AFTER: Final = "\"'“”‘’«»‹›「」『』)）],;:.?!…。，、；：？！।۔።"

_Case: TypeAlias = Literal["lower", "capital", "upper", "mixed"]


class _Part(NamedTuple):
    """A word, or the part of a word between hyphens and apostrophes."""

    letters: str
    case: _Case
    place: int
    """Index of its word in the text."""
    begins: bool
    """Whether a sentence begins with it, and is longer."""
    is_elided: bool
    """Whether an apostrophe follows."""


def fold_words(text: str, fold: Callable[[str], str]) -> str:
    """Fold letter case where it certainly does not count: in a text that consists of ordinary words and plain numbers.

    Ordinary words are in lower case, capitalised (at least three letters), or in capitals (in a text that has nothing
    but capitals: one word of at least five letters, or several words). They have a vowel, if they are in the Latin
    script, and no signs but those of punctuation. Among other words, capitals are an abbreviation, which keeps its
    case. Any other text stays as it is.

    Args:
        text: The text, in NFC, with single spaces.
        fold: Folds letter case.

    Example:
        >>> [fold_words(text, str.casefold) for text in ("The answer is Lisbon", "LISBON", "The EU")]
        ['the answer is lisbon', 'lisbon', 'the EU']
        >>> [fold_words(text, str.casefold) for text in ("Aa", "AIDS", "camelCase", "Git -D", "Main.java")]
        ['Aa', 'AIDS', 'camelCase', 'Git -D', 'Main.java']
    """
    parts = _parts(text)
    kept = None if parts is None else _abbreviations(text, parts)
    if kept is None:
        return text
    if not kept:
        return fold(text)
    return " ".join(word if place in kept else fold(word) for place, word in enumerate(text.split(" ")))


def are_words(text: str) -> bool:
    """Check whether a text consists of ordinary words alone, so that brackets around it say nothing.

    Brackets around a letter, a number or a sign may belong to a list, an interval, a group or a formula: `[1]` is not
    `1`, and `[NaCl]` is not `NaCl`.

    Example:
        >>> [are_words(text) for text in ("Lisbon", "the red house", "a", "0, 1", "NaCl")]
        [True, True, False, False, False]
    """
    parts = _parts(text)
    if not parts or any(letter.isdigit() for letter in text) or _abbreviations(text, parts) != frozenset():
        return False
    is_long = [len(part.letters) >= FEWEST_LETTERS or not _has_case(part.letters) for part in parts]
    return any(is_long) and all(
        long or len(part.letters) > 1 or part.is_elided or (part.begins and part.letters in {"A", "a", "I"})
        for part, long in zip(parts, is_long, strict=True)
    )


def _abbreviations(text: str, parts: Sequence[_Part]) -> frozenset[int] | None:
    """Return the indices of words that keep their case in a text; `None` if the whole text keeps its case."""
    if all(part.case == "upper" or part.letters in {"A", "I"} for part in parts):
        return frozenset() if _are_words_in_capitals(parts) else None
    is_title = all(part.case == "capital" for part in parts if len(part.letters) >= FEWEST_LETTERS)
    kept = {part.place for part in parts if part.case == "upper" or _is_lone_capital(part)}
    others = [part for part in parts if part.case != "lower" and part.place not in kept]
    if text.casefold() in _NAMES_IN_CODE or not all(_is_capitalised_word(part, is_title=is_title) for part in others):
        return None
    return frozenset(kept)


def _is_lone_capital(part: _Part) -> bool:
    """Check whether a part is a capital that is a sign, as in `type O`: not an article, a pronoun or an elided word."""
    if part.case != "capital" or len(part.letters) > 1:
        return False
    is_elided = part.is_elided and part.letters.casefold() in _ELIDED
    return not is_elided and not (part.begins and part.letters in {"A", "I"})


def _parts(text: str) -> list[_Part] | None:
    """Return the words of a text; `None` if it has anything but words, plain numbers and punctuation."""
    parts: list[_Part] = []
    tokens = text.split(" ")
    follows_number, begins = False, True
    for position, token in enumerate(tokens, 1):
        core = token.lstrip(_BEFORE).rstrip(_AFTER)
        pieces = () if _NUMBER.fullmatch(core) else _pieces(core)
        if pieces is None:
            return None
        words = [
            _Part(
                piece,
                _case(piece),
                position - 1,
                begins=begins and not index and position < len(tokens),
                is_elided=is_elided,
            )
            for index, (piece, is_elided) in enumerate(pieces)
            if not _NUMBER.fullmatch(piece)
        ]
        if follows_number and any(word.case != "lower" for word in words):
            return None  # it may be a unit
        follows_number, begins = not pieces, token[-1] in _ENDS
        parts += words
    return parts


def _pieces(core: str) -> list[tuple[str, bool]] | None:
    """Split a word at hyphens and apostrophes; each piece with whether an apostrophe follows. `None` if not a word."""
    if core.isalpha():
        return [(core, False)]
    pieces: list[tuple[str, bool]] = []
    start = 0
    for index, letter in enumerate(f"{core}-"):
        if letter != _APOSTROPHE and letter not in _HYPHENS:
            continue
        piece = core[start:index]
        if not piece or not (all(map(_is_letter, piece)) or _NUMBER.fullmatch(piece)):
            return None
        pieces.append((piece, letter == _APOSTROPHE))
        start = index + 1
    return pieces


def _is_letter(letter: str) -> bool:
    return letter.isalpha() or letter in _JOINERS or unicodedata.category(letter) in {"Mn", "Mc"}


def _case(word: str) -> _Case:
    if word.islower():
        return "lower"
    if not any(map(_is_capital, word[1:])):
        return "capital" if _is_capital(word[0]) else "lower"
    return "upper" if not any(letter.islower() for letter in word) else "mixed"


def _is_capital(letter: str) -> bool:
    return letter.isupper() or letter.istitle()


def _has_case(word: str) -> bool:
    return any(letter.islower() or _is_capital(letter) for letter in word)


def _is_capitalised_word(part: _Part, *, is_title: bool) -> bool:
    if part.case != "capital":
        return False
    word = part.letters.casefold()
    if len(part.letters) == 1:
        return True  # such as an article
    if len(part.letters) < FEWEST_LETTERS:
        return word in _SHORT_WORDS and (part.begins or is_title)
    return _is_like_a_word(word) and word not in _OTHER_MEANINGS and not _PREFIXED_UNIT.fullmatch(word)


def _are_words_in_capitals(parts: Sequence[_Part]) -> bool:
    """Check whether a text in capitals has a word of five letters, or two shorter ones, and no abbreviations."""
    longest = max((len(part.letters) for part in parts), default=0)
    several = sum(len(part.letters) >= FEWEST_LETTERS for part in parts) > 1
    return (longest >= FEWEST_CAPITALS or several) and all(map(_is_word_in_capitals, parts))


def _is_word_in_capitals(part: _Part) -> bool:
    word, letters = part.letters.casefold(), set(part.letters)
    if len(part.letters) < FEWEST_LETTERS:
        return word in _SHORT_WORDS or part.letters in {"A", "I"}
    if not _is_like_a_word(word) or word in _OTHER_MEANINGS | _NAMES_IN_CODE:
        return False
    return len(part.letters) < FEWEST_CAPITALS or not any(letters <= formula for formula in _FORMULA_LETTERS)


def _is_like_a_word(word: str) -> bool:
    """Check whether letters look like a word: with a vowel, and not with the same letter twice at the beginning.

    Genotypes begin so: `Aabb` is not `aabb`.
    """
    base = normal_form(word, "NFD")
    is_latin = all(letter.isascii() or unicodedata.combining(letter) for letter in base)
    return base[0] != base[1] and (not is_latin or not _VOWELS.isdisjoint(base))
