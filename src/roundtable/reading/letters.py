"""Texts reduced to what counts when phrases are compared: letters without case and accents, and single spaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roundtable.core.base.text import normal_form
from roundtable.reading.folding import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Letters", "letters_of"]

_LEFT_OUT: Final = frozenset('*_`"\u0640\u093c\ufeff')
"""Signs of emphasis, code and quotation; the Arabic sign that stretches words, and the dot under letters in Hindi."""
_ALIKE: Final = {
    "\u0131": "i",  # letters that lose their dot or stroke when people type in a hurry
    "\u0142": "l",
    "\u00f8": "o",
    "\u0111": "d",
    "\u0901": "\u0902",  # two signs in Hindi for a vowel through the nose
    "\u2026": "...",
    **dict.fromkeys("\N{IDEOGRAPHIC FULL STOP}\N{DEVANAGARI DANDA}\N{ARABIC FULL STOP}\uff61", "."),
    **dict.fromkeys("\N{IDEOGRAPHIC COMMA}\N{ARABIC COMMA}", ","),
    "\N{ARABIC SEMICOLON}": ";",
    "\N{ARABIC QUESTION MARK}": "?",
    **dict(
        zip(
            "無為對這個問題請幫選擇觀點見變維堅與樣從還沒認應該說討論場決定確貫過個後當繼續將會",
            "无为对这个问题请帮选择观点见变维坚与样从还没认应该说讨论场决定确贯过个后当继续将会",
            strict=True,
        )
    ),
}
_MOST_KEPT: Final = 4096


class _Table(dict[int, str]):
    """A translation table that is filled as characters are met."""

    def __missing__(self, code: int) -> str:
        """Return what is left of a character; nothing for a mark that does not count."""
        char = chr(code)
        plain = fold(char).casefold()
        if plain in _LEFT_OUT or _is_accent(plain):
            reduced = ""
        elif plain in _ALIKE:
            reduced = _ALIKE[plain]
        elif plain.isspace():
            reduced = "\n" if plain in "\n\r\u2028\u2029" else " "
        elif "\u3040" <= plain <= "\u30ff" or "\uac00" <= plain <= "\ud7a3":  # taken apart, they are other letters
            reduced = plain
        else:
            apart = fold(normal_form(plain, "NFKD")).casefold()
            kept = (letter for letter in apart if letter not in _LEFT_OUT and not _is_accent(letter))
            reduced = "".join(_ALIKE.get(letter, letter) for letter in kept)
        if len(self) < _MOST_KEPT:
            self[code] = reduced
        return reduced


def _is_accent(letter: str) -> bool:
    """Check for an accent of a Latin, Greek or Cyrillic letter, or a vowel sign or hamza of an Arabic one."""
    return "\u0300" <= letter <= "\u036f" or "\u064b" <= letter <= "\u0655" or letter == "\u0670"


_TABLE: Final = _Table()
_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9.,:;!?'()]|[ ](?![ \n])|\n(?![ \n]))*+")
"""A text of which only the case of the letters is to be reduced."""


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of a text, each with its place in the text."""

    text: str
    """The letters, without case and accents, with single spaces between words and single line ends."""
    places: Sequence[int]
    """Index in the original text of each of them."""

    def end_in_original(self, end: int) -> int:
        """Return the index in the original text behind the first `end` letters."""
        return self.places[end - 1] + 1 if end else 0


def letters_of(text: str) -> Letters:
    """Reduce a text to what counts when phrases are compared.

    Example:
        >>> letters_of("**D\u00e9sol\u00e9**,\u00a0 NON.").text
        'desole, non.'
    """
    if _PLAIN.fullmatch(text):
        return Letters(text.lower(), range(len(text)))
    letters: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        for letter in _TABLE[ord(char)]:
            if letter in " \n" and letters and letters[-1] in " \n":
                letters[-1] = "\n" if "\n" in {letter, letters[-1]} else " "
                continue
            letters.append(letter)
            places.append(place)
    return Letters("".join(letters), tuple(places))
