"""Find the phrases of the files in a text, in time that doesn't grow with the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, count
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.reading.letters import letters_of
from roundtable.reading.phrase_files import phrases

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roundtable.reading.phrase_files import PhraseFile, PhrasesOfLanguage

__all__ = ["Found", "compile_phrase", "find_phrases", "is_phrase"]

_TOKEN: Final = re.compile(r"\.\.\.|(?<![A-Z])[A-Z]{2,}(?![A-Z])|\s+|.")
_LIST_NAME: Final = re.compile("[A-Z]{2,}")
_NAME_WORD: Final = r"(?:[^\s.,;:!?'()\[\]{}|\u2014]|\.(?=\w)|'(?=\w\w)){1,40}?"
_NAME: Final = (
    rf"((?:(?:dr|mr|mrs|ms|prof|st)\. )?{_NAME_WORD}(?: {_NAME_WORD}){{0,3}}?"
    rf"(?: (?:and|und|et|y|e|en|i|\u0438|ve|&) {_NAME_WORD}(?: {_NAME_WORD})??)??)"
)
_GAP: Final = r"(?:[^.!?\n]{1,60}?)"
_CLAUSE_END: Final = r"(?= ?(?:[.,:](?![a-z0-9])|[!?;()\[\]{}|\n\u2014]|--|\Z)| -)"
_PAUSES: Final = {
    ",": r"(?: ?[,:;\u2014]++| --?+(?= ))",
    ";": r"(?: ?[,:;.!?\n\u2014]++| --?+(?= ))",
    ".": _CLAUSE_END,
}
_MOST_START: Final = 3
"""Most letters by which phrases are looked up."""
_SPACE: Final = r"(?:[ \n]|(?='))"
"""A space between words; before a short form, such as `'m`, there is none."""
_WORD_END: Final = r"(?![^\W\d_]|[\u0900-\u0903\u093a-\u094f])"


class Found(NamedTuple):
    """A phrase in a text."""

    match: re.Match[str]
    """The match; its last group is the name."""
    language: str
    """Language of the phrase."""


def find_phrases(
    file: PhraseFile, section: str, letters: str, start: int, *, language: str = "", ending: str = ""
) -> Iterator[Found]:
    """Yield the phrases of a section that begin at an index of a text.

    Args:
        file: The file.
        section: Name of the section.
        letters: The text, reduced by `letters_of`.
        start: The index.
        language: The only language to look for; empty for all.
        ending: Name of a section of phrases of the same language: one of them must follow, unless the clause ends.
    """
    for phrase in _beginning_with(file, section, ending, letters, start):
        if language in {"", phrase.of.language} and (match := phrase.match(letters, start)):
            yield Found(match, phrase.of.language)


def is_phrase(file: PhraseFile, section: str, letters: str) -> bool:
    """Check whether a whole text is one of the phrases of a section."""
    return any(phrase.pattern().fullmatch(letters) for phrase in _beginning_with(file, section, "", letters, 0))


def compile_phrase(phrase: str, lists: Mapping[str, str]) -> str:
    """Return the pattern of a phrase, for texts that `letters_of` reduced.

    No part of it repeats without a bound.

    Raises:
        ValueError: A bracket is not closed, or a list is not defined.

    Example:
        >>> re.match(compile_phrase("I (still) [keep|hold] my answer", {}), "i still hold my answer").end()
        22
    """
    is_spaced = not any(char >= "\u2e80" for char in phrase)
    tokens = _TOKEN.findall(phrase)
    compiler = _Compiler(phrase, lists, _SPACE if is_spaced else "[ \n]?")
    regex, rest = compiler.alternatives(tokens, 0)
    if rest < len(tokens):
        raise ValueError(f"phrase {phrase!r} closes the bracket {tokens[rest]!r} that it does not open")
    return f"(?:{regex}){_WORD_END if is_spaced else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class _Phrase:
    """A phrase that is compiled when a text first begins like it."""

    text: str
    of: PhrasesOfLanguage
    ending: str
    number: int
    """Its place among the phrases of the section."""
    starts: frozenset[str]
    """Letters with which it may begin; an empty text stands for any."""
    compiled: dict[str, re.Pattern[str]] = field(default_factory=dict)
    """The patterns so far: of the phrase alone, and with what must follow."""

    def match(self, letters: str, start: int) -> re.Match[str] | None:
        """Return the match at an index. What must follow takes long to compile: only behind the phrase is it tried."""
        match = self.pattern().match(letters, start)
        return self.pattern(self.ending).match(letters, start) if match and self.ending else match

    def pattern(self, ending: str = "") -> re.Pattern[str]:
        """Return the pattern of the phrase, and of a section of phrases that must follow."""
        if ending not in self.compiled:
            end = _end(self.of, ending) if ending else ""
            self.compiled[ending] = re.compile(compile_phrase(self.text, self.of.lists) + end)
        return self.compiled[ending]


@cache
def _end(of: PhrasesOfLanguage, ending: str) -> str:
    """Return the pattern of what must follow a phrase: the end of its clause, or a phrase of a section."""
    endings = [compile_phrase(phrase, of.lists) for phrase in of.sections.get(ending, ())]
    return rf"(?:{_CLAUSE_END}|(?=[ \n]?(?<![^\W\d_])(?:{'|'.join(endings)})))" if endings else _CLAUSE_END


@cache
def _by_start(file: PhraseFile, section: str, ending: str) -> Mapping[str, tuple[_Phrase, ...]]:
    """Return the phrases of a section by the letters with which they may begin."""
    found: dict[str, list[_Phrase]] = {}
    numbers = count()
    for of in phrases(file):
        for text in of.sections.get(section, ()):
            phrase = _Phrase(text, of, ending, next(numbers), _starts(text, of.lists))
            for start in phrase.starts:
                found.setdefault(start, []).append(phrase)
    return {start: tuple(those) for start, those in found.items()}


@cache
def _any_unknown(file: PhraseFile, section: str, ending: str) -> re.Pattern[str]:
    """Return the pattern of all phrases of a section that may begin with any letter."""
    those = _by_start(file, section, ending).get("", ())
    return re.compile("|".join(compile_phrase(phrase.text, phrase.of.lists) for phrase in those) or r"(?!)")


def _beginning_with(file: PhraseFile, section: str, ending: str, letters: str, at: int) -> Sequence[_Phrase]:
    """Return the phrases that may begin at an index, in the order of the file."""
    by_start = _by_start(file, section, ending)
    start = letters[at : at + _MOST_START].replace("\n", " ")
    found = [those for length in range(1, len(start) + 1) if (those := by_start.get(start[:length]))]
    if _any_unknown(file, section, ending).match(letters, at):
        found.append(by_start[""])
    return found[0] if len(found) == 1 else sorted(chain(*found), key=attrgetter("number"))


def _starts(phrase: str, lists: Mapping[str, str]) -> frozenset[str]:
    """Return the letters with which a phrase may begin, up to the first sign whose letters aren't known."""
    is_spaced = not any(char >= "\u2e80" for char in phrase)
    closed: set[str] = set()
    read, _ = _read_alternatives(_TOKEN.findall(phrase), 0, {""}, closed, lists, is_spaced=is_spaced)
    starts = {start.rstrip(" ") for start in closed | read}
    # A start that another one begins with is enough.
    return frozenset(start for start in starts if not any(start[:length] in starts for length in range(len(start))))


def _read_alternatives(
    tokens: list[str], at: int, before: set[str], closed: set[str], lists: Mapping[str, str], *, is_spaced: bool
) -> tuple[set[str], int]:
    """Add alternatives, up to a closing bracket or the end, to the letters before them; also return their end.

    Args:
        tokens: The signs.
        at: Index of the first one.
        before: The letters before it.
        closed: Receives the letters behind which others may follow that aren't known, or that are enough.
        lists: Lists of words.
        is_spaced: Whether there are spaces between words.
    """
    behind: set[str] = set()
    read = before
    while at < len(tokens) and tokens[at] not in {")", "]"}:
        sign = tokens[at]
        if sign == "|":
            behind, read = behind | read, before
        elif sign in {"(", "["}:
            inner, at = _read_alternatives(tokens, at + 1, read, closed, lists, is_spaced=is_spaced)
            read = read | inner if sign == "(" else inner
        elif sign in lists:
            read, _ = _read_alternatives(_TOKEN.findall(lists[sign]), 0, read, closed, lists, is_spaced=is_spaced)
        elif sign in {"...", "*", "NAME", "'", *_PAUSES} or (sign.isspace() and not is_spaced):
            closed |= read
            read = set()
        else:
            letters = " " if sign.isspace() else _letters(sign)
            read = {start + letters if letters != " " else _spaced(start) for start in read}
            closed |= {start[:_MOST_START] for start in read if len(start) >= _MOST_START}
            read = {start for start in read if len(start) < _MOST_START}
        at += 1
    return behind | read, at


def _spaced(start: str) -> str:
    """Return the letters with a space behind them; where there are none, and behind another space, there is none."""
    return start if start[-1:] in {"", " "} else f"{start} "


class _Piece(NamedTuple):
    """A part of a phrase between spaces."""

    regex: str
    is_optional: bool = False
    is_glued: bool = False
    """Whether no space stands before it."""


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Compiles the signs of a phrase."""

    phrase: str
    lists: Mapping[str, str]
    space: str
    """Pattern of a space."""

    def alternatives(self, tokens: list[str], at: int) -> tuple[str, int]:
        """Compile up to a closing bracket or the end; also return its index."""
        branches: list[str] = []
        while True:
            pieces, at = self._pieces(tokens, at)
            branches.append(self._joined(pieces))
            if at == len(tokens) or tokens[at] in {")", "]"}:
                # The longest first: behind "language model", a phrase goes on where it does not behind "language".
                return "|".join(sorted(branches, key=len, reverse=True)), at
            at += 1

    def _joined(self, pieces: list[_Piece]) -> str:
        written = ""
        has_word = False
        for piece in pieces:
            space = "" if piece.is_glued else self.space
            if piece.is_optional:
                written += f"(?:{space}{piece.regex})?" if has_word else f"(?:{piece.regex}{self.space})?"
            else:
                written += (space if has_word else "") + piece.regex
                has_word = True
        return written

    def _pieces(self, tokens: list[str], at: int) -> tuple[list[_Piece], int]:
        """Compile one alternative into pieces between spaces."""
        pieces: list[_Piece] = []
        atoms: list[_Piece] = []
        while at < len(tokens) and tokens[at] not in {"|", ")", "]"}:
            token = tokens[at]
            if token.isspace():
                pieces.extend(_merged(atoms))
                atoms = []
                at += 1
                continue
            atom, at = self._atom(tokens, at)
            if atom.is_glued:
                pieces.extend([*_merged(atoms), atom])
                atoms = []
            else:
                atoms.append(atom)
        return [*pieces, *_merged(atoms)], at

    def _atom(self, tokens: list[str], at: int) -> tuple[_Piece, int]:
        """Compile one sign, or a bracket with what is in it; also return the index behind it."""
        sign = tokens[at]
        if sign in {"(", "["}:
            inner, end = self.alternatives(tokens, at + 1)
            if end == len(tokens) or tokens[end] != {"(": ")", "[": "]"}[sign]:
                raise ValueError(f"phrase {self.phrase!r} does not close the bracket {sign!r}")
            return _Piece(f"(?:{inner})", is_optional=sign == "(", is_glued=tokens[at + 1] in _PAUSES), end + 1
        if sign == "'" and at and len(tokens[at - 1]) == 1 and tokens[at - 1].isalpha():
            return _Piece("'?"), at + 1  # people leave it out in words such as "don't"
        return self._word(sign), at + 1

    def _word(self, sign: str) -> _Piece:
        if sign in _PAUSES:
            return _Piece(_PAUSES[sign], is_glued=True)
        if sign == "...":
            return _Piece(_GAP, is_optional=True)
        if sign == "*":
            return _Piece(r"[^\W\d_]{0,20}")
        if sign == "NAME":
            return _Piece(_NAME if self.space == _SPACE else f" ?{_NAME} ?")
        if _LIST_NAME.fullmatch(sign):
            if sign not in self.lists:
                raise ValueError(f"phrase {self.phrase!r} names the list {sign}, which is not defined for its language")
            return _Piece(f"(?:{self.alternatives(_TOKEN.findall(self.lists[sign]), 0)[0]})")
        return _Piece(re.escape(_letters(sign)))


@cache
def _letters(sign: str) -> str:
    """Return what counts of one letter, or of a sign without a meaning of its own."""
    return letters_of(sign).text


def _merged(atoms: list[_Piece]) -> Iterator[_Piece]:
    """Yield the piece that atoms without spaces between them form, if there are any."""
    if len(atoms) == 1:
        yield atoms[0]
    elif atoms:
        yield _Piece("".join(f"{atom.regex}?" if atom.is_optional else atom.regex for atom in atoms))
