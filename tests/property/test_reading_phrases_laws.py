"""Laws of refusals and references: they never raise, and their time does not grow with the text."""

import re._constants as signs
import re._parser as parser
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundtable.reading.abstentions import is_refusal
from roundtable.reading.letters import letters_of
from roundtable.reading.openings import statement_starts
from roundtable.reading.phrase_files import PHRASE_FILES, PhraseFile, phrases
from roundtable.reading.phrase_patterns import compile_phrase
from roundtable.reading.references import find_pointer

WORDS = st.sampled_from(
    (
        *("I", "agree", "with", "Ada", "and", "Bo", "can't", "help", "sorry", "after", "the", "others", "no", "change"),
        *("my", "answer", "is", "unchanged", "ich", "kann", "nicht", "我", "同意", "的", "回答", "は", "답변", "수"),
        *("없습니다", "لا", "أعرف", "मैं", "नहीं", "İ", "ß", "ſ", "e\u0301", "\u200b", ",", ".", ":", "—", ";", "\n"),
        *("**", "'", "...", "(a", "[b", "the", "as", "you"),
    )
)
TEXTS = st.text() | st.lists(WORDS).map(" ".join) | st.lists(WORDS).map("".join)
PIECES = (
    *("a", "a ", ", ", "after, ", "sorry, ", "i agree with ", "の回答", "、", "답변 ", "i am ", "bu konuda ", "मैं "),
    *("no, ", "\u0301", "\n", "我也", "Ada, Bo and ", "- ", "'", "my answer ", "same ", "i still ", "ich kann nicht "),
    *("I can't help, but ", "(", "[", "I see no reason to ", "the ", "as ", "...", "İ", "ﷺ"),
)
LARGEST = 200_000
HEAD = 1_200


@given(text=TEXTS)
@example(text="\u0130 agree with \u0130")
def test_no_text_raises_and_a_pointer_lies_in_the_text(text: str) -> None:
    is_refusal(text)
    pointer = find_pointer(text)
    if pointer is not None:
        assert 0 < pointer.end <= len(text)
        assert pointer.name == "you" or pointer.name[0] in text


@given(text=TEXTS, space=st.text(" \n\t", max_size=3))
def test_surrounding_white_space_does_not_count(text: str, space: str) -> None:
    assert is_refusal(f"{space}{text}{space}") == is_refusal(text)
    pointer, moved = find_pointer(text), find_pointer(space + text)
    assert moved == (None if pointer is None else (pointer.name, pointer.end + len(space)))


@given(text=TEXTS)
def test_each_letter_keeps_its_position_in_the_text(text: str) -> None:
    letters = letters_of(text)
    assert len(letters.places) == len(letters.text)
    assert list(letters.places) == sorted(letters.places)
    assert letters_of(letters.text).text == letters.text


@pytest.mark.deep
def test_the_letters_of_every_character_are_reduced_once() -> None:
    codes = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    for start in range(0, len(codes), 200):
        once = letters_of(" ".join(map(chr, codes[start : start + 200]))).text
        assert letters_of(once).text == once, hex(codes[start])


@pytest.mark.parametrize("piece", PIECES)
def test_only_the_head_of_a_long_text_is_read(piece: str) -> None:
    # What takes bounded time on the head takes bounded time on the whole.
    text = piece * (LARGEST // len(piece))
    assert is_refusal(text) == is_refusal(text.strip()[:HEAD])
    assert find_pointer(text.lstrip()) == find_pointer(text.lstrip()[:HEAD])
    assert len(statement_starts(letters_of(text[:HEAD]).text)) <= 40


def repeats(pattern: Any, factor: int = 1) -> Iterator[tuple[int, bool]]:
    """Yield the times that each part of a pattern may be repeated, and whether it gives nothing back."""
    for sign, value in pattern:
        if sign in {signs.MAX_REPEAT, signs.MIN_REPEAT, signs.POSSESSIVE_REPEAT}:
            _, most, inner = value
            yield (most if most is not signs.MAXREPEAT else LARGEST) * factor, sign is signs.POSSESSIVE_REPEAT
            yield from repeats(inner, factor * (1 if sign is signs.POSSESSIVE_REPEAT else most))
        elif sign is signs.SUBPATTERN:
            yield from repeats(value[3], factor)
        elif sign is signs.BRANCH:
            for branch in value[1]:
                yield from repeats(branch, factor)
        elif sign in {signs.ASSERT, signs.ASSERT_NOT}:
            yield from repeats(value[1], factor)


def gaps(pattern: Any) -> int:
    """Return the largest number of gaps and names on a way through a pattern."""
    count = 0
    for sign, value in pattern:
        if sign is signs.BRANCH:
            count += max(map(gaps, value[1]))
        elif sign is signs.SUBPATTERN:
            count += gaps(value[3])
        elif sign is signs.MIN_REPEAT and value[1] == 60:
            count += 1
        elif sign in {signs.MAX_REPEAT, signs.MIN_REPEAT}:
            count += gaps(value[2])
    return count


@pytest.mark.slow
@pytest.mark.parametrize("file", PHRASE_FILES)
def test_no_part_of_a_phrase_repeats_without_a_bound(file: PhraseFile) -> None:
    for of in phrases(file):
        for listed in of.sections.values():
            for phrase in listed:
                pattern = parser.parse(compile_phrase(phrase, of.lists))
                for most, gives_nothing_back in repeats(pattern):
                    assert most <= 200 or gives_nothing_back, (of.language, phrase)
                # Each gap multiplies the ways to match by sixty.
                assert gaps(pattern) <= 3, (of.language, phrase)
