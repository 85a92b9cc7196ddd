"""What contradicts the short part of a form: the other answer that its position or its stance gives."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from roundtable.reading.abstentions import ABSTAIN
from roundtable.reading.folding import fold
from roundtable.reading.number_steps import counts_speech
from roundtable.reading.numbers import find_numbers, whole_number
from roundtable.reading.phrases import NEGATIONS, words_pattern
from roundtable.reading.reader import read_answer
from roundtable.reading.sites import contains, sentence_start
from roundtable.reading.statements import brief_name, is_name
from roundtable.reading.units import are_different, stated_units
from roundtable.reading.values import INNER_END, is_stated
from roundtable.reading.yes_no import NO_WORDS, YES_WORDS, sides_of

if TYPE_CHECKING:
    from fractions import Fraction

    from roundtable.core.types.answers import Reading
    from roundtable.reading.asked import Asked

__all__ = ["contrary_of", "contrary_stance"]

_STANCES: Final = frozenset({"yes", "no"})
_EQUALS: Final = re.compile(
    r"(?:=|≈|\\approx)[\s*_`$\\({\[]*\Z|(?:total|result|sum|product)(?: is|:)[\s*_`$]*\Z", re.IGNORECASE
)
"""What stands directly before the result of a sum."""
_MOST_BRIEF: Final = 12
"""Most words of a position that may state another answer merely by naming it."""
_FIRM: Final = frozenset({"boxed", "answer", "hashes", "closing", "choose"})
"""Rules of sentences in a position that may contradict the short part of the form."""

_STATED: Final = frozenset({"boxed", "answer", "hashes"})
"""Rules of statements in a position that contradict a bottom line in other words."""
_MOST_STATED: Final = 4
_MOST_SIGN: Final = 3
_CLAUSES: Final = frozenset({"that", "to", "because", "when", "if", "by", "in", "on", "at", "for"})
_SMALL: Final = frozenset({"of", "the", "and", "for"})
_ANY_WORD: Final = re.compile(r"[^\W_]+")


_NOT: Final = re.compile(rf"(?:{words_pattern(NEGATIONS)}|n't)[\s*_`\"']+(?:(?:the|in|at)\s)?\Z", re.IGNORECASE)
"""A negation directly before a name."""
_MOST_WORDS: Final = 10
"""Most words of a position that is one short statement."""
_MOST_CHARS: Final = 120
_ROUNDED: Final = 100
"""Two numbers of which one may be the other one rounded differ by less than this part of the greater one."""
_MOST_TIMES: Final = 10
"""A number that is more than so many times the other one may answer something else."""


def contrary_stance(asked: Asked, first: Reading, stance: str) -> str | None:
    """Return the stance, if it contradicts the yes or no that a form answers; else `None`.

    Args:
        asked: What the question asks for.
        first: The reading of the answer.
        stance: The stance of the form; may be empty.
    """
    said = stance.strip().casefold()
    if said not in _STANCES:
        return None
    if asked.kind == "yes_no":
        side = first.value
    elif asked.kind == "choice":
        side = next((side for side, option in sides_of(asked.options).items() if option == first.value), None)
    else:
        side = _side(first.value or "")
    return said if side is not None and side != said else None


def contrary_of(asked: Asked, first: Reading, other: Reading, text: str) -> str | None:
    """Return the other answer that a position states beside the short part of the form; `None` if it agrees.

    Args:
        asked: What the question asks for.
        first: The reading of the short part.
        other: The reading of the position.
        text: The position.
    """
    if asked.kind in {"choice", "yes_no"}:
        if other.certainty != "certain" and len(text.split()) <= _MOST_BRIEF:
            other = read_answer(text, replace(asked, is_short=True))  # "Porto is the better city."
        return other.value or "" if other.certainty == "certain" and other.value != first.value else None
    is_open = asked.kind == "open" and first.place == "bottom_line"
    brief = _brief(text) if is_open else ""
    number = whole_number(first.value or "")
    if number is None:
        line = first.value or ""
        return (_other_words(line, other) or (_other_brief(asked, line, brief) if brief else None)) if is_open else None
    as_number = read_answer(text, replace(asked, kind="number"))
    readings = (other, as_number) if _is_result(text, as_number) else (other,)
    for reading in readings:
        stated = whole_number(reading.value or "")
        is_firm = reading.rule in _FIRM or reading is as_number
        if reading.certainty == "certain" and is_firm and stated and stated.value != number.value:
            return reading.value
    return _other_number(first.value or "", number.value, brief) if brief else None


def _brief(position: str) -> str:
    """Return a position that is one short statement, in folded letters; else an empty text."""
    text = fold(position).strip()
    is_brief = len(text) <= _MOST_CHARS and len(text.split()) <= _MOST_WORDS and not text.endswith(("?", "？"))
    return text if is_brief and INNER_END.search(text.rstrip(" .!。")) is None else ""


def _side(line: str) -> str | None:
    """Return the side of a bare yes or no."""
    word = fold(line).casefold().strip(" .!*_`\"'。")
    return "yes" if word in YES_WORDS else "no" if word in NO_WORDS else None


def _other_brief(asked: Asked, line: str, position: str) -> str | None:
    """Return the yes or no, or the name, that a short position states and that isn't what the bottom line says.

    Args:
        asked: What the question asks for.
        line: The bottom line.
        position: The position, one short statement.
    """
    if (side := _side(line)) is not None:
        other = read_answer(position, replace(asked, kind="yes_no"))
        return other.value if other.certainty == "certain" and other.value != side else None
    if not is_name(line):
        return None
    at = position.casefold().find(line.casefold())
    if at > 0 and _NOT.search(position, 0, at):
        return position
    name = brief_name(position)
    return name if name is not None and _shares_nothing(line, name) else None


def _other_number(line: str, value: Fraction, position: str) -> str | None:
    """Return the only number that a short position states, if it isn't that of the bottom line.

    A number with another unit may be the same quantity, unless its value is the same: 3 hours are 180 minutes, and
    not 3 days.

    Args:
        line: The bottom line, a number with or without a unit.
        value: The number of the bottom line.
        position: The position, one short statement.
    """
    numbers = [*islice(find_numbers(position), 2)]
    if len(numbers) != 1 or not numbers[0].is_single or numbers[0].is_ambiguous:
        return None
    found = numbers[0]
    start, end = found.span
    if not (is_stated(position, start) or not position[:start].strip(" *_`$")) or _NOT.search(position, 0, start):
        return None
    has_other_unit = are_different(stated_units(line), stated_units(position, start))
    if found.value == value:
        return position[start : found.end] if has_other_unit else None
    less, more = sorted((abs(found.value), abs(value)))
    is_alike = abs(found.value - value) * _ROUNDED >= more and less * _MOST_TIMES >= more
    return position[start:end] if is_alike and not has_other_unit and not counts_speech(position, end) else None


def _shares_nothing(line: str, name: str) -> bool:
    """Check whether two names have no word in common, and neither is a sign or the initials of the other."""
    one, other = (_ANY_WORD.findall(text.casefold()) for text in (line, name))
    if min(len(line), len(name)) <= _MOST_SIGN and line.isascii():
        return False
    initials = {"".join(word[0] for word in words if word not in _SMALL) for words in (one, other)}
    return set(one).isdisjoint(other) and initials.isdisjoint(("".join(one), "".join(other)))


def _other_words(line: str, position: Reading) -> str | None:
    """Return what a position states if it certainly isn't what the bottom line says in other words.

    Words that both share, initials, signs, and a claim beside a bare yes or no may be the same answer.

    Args:
        line: The bottom line.
        position: The reading of the position.
    """
    stated = position.value or ""
    if position.certainty != "certain" or position.rule not in _STATED or len(stated.split()) > _MOST_STATED:
        return None
    if line == ABSTAIN:
        return stated
    said, other = _ANY_WORD.findall(line.casefold()), _ANY_WORD.findall(stated.casefold())
    if not said or not other or not set(said).isdisjoint(other) or other[0] in _CLAUSES:
        return None
    if _STANCES & {*said, *other}:
        return stated if frozenset((said[0], other[0])) == _STANCES else None
    initials = {"".join(word[0] for word in words if word not in _SMALL) for words in (said, other)}
    is_plain = all(word.isalpha() for word in (*said, *other)) and min(map(len, (line, stated))) > _MOST_SIGN
    return stated if is_plain and initials.isdisjoint(("".join(said), "".join(other))) else None


def _is_result(text: str, reading: Reading) -> bool:
    """Check whether a number in a position is its result, and not one that it mentions, as in *There are 3 reasons*."""
    if reading.rule != "closing" or reading.span is None:
        return reading.rule in _FIRM or reading.rule == "whole"
    begin = reading.span[0]
    before = text[sentence_start(text, begin, 0) : begin]
    is_line = not before.strip(" *_`$") and reading.span[1] >= len(text.rstrip())
    return is_line or _EQUALS.search(before) is not None or contains("conclusion", before)
