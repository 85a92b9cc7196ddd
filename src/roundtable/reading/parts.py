"""Read the answer in the parts of a form: the choice, the bottom line and the position."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.reading.abstentions import ABSTAIN
from roundtable.reading.asked import Asked
from roundtable.reading.folding import without_control_marks
from roundtable.reading.form_texts import says_nothing
from roundtable.reading.numbers import whole_number
from roundtable.reading.reader import read_answer
from roundtable.reading.sites import contains, sentence_start
from roundtable.types.answers import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Part", "as_stated", "read_parts"]

Part: TypeAlias = Literal["choice", "bottom_line", "position", "stance"]
"""A part of the form in which agents answer."""

_ORDER: Final[tuple[Part, ...]] = ("choice", "bottom_line", "position")
_SHORT: Final[tuple[Part, ...]] = ("choice", "bottom_line")
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


def read_parts(asked: Asked, parts: Mapping[Part, str]) -> Reading:
    """Return the answer of a form. The shortest part counts, unless the position states another answer.

    Args:
        asked: What the question asks for.
        parts: The texts of the form; those that say nothing, such as `...`, are missing.

    Example:
        >>> from roundtable.reading.asked import Asked
        >>> cities = Asked("choice", ("A) Lisbon", "B) Porto"))
        >>> read_parts(cities, {"choice": "Option B", "position": "Porto is cheaper."}).value
        'B) Porto'
        >>> read_parts(cities, {"choice": "A", "position": "So the answer is B."}).certainty
        'likely'
    """
    readings: dict[Part, Reading] = {}
    for part in _ORDER:
        said = parts.get(part, "")
        if not says_nothing(said) or (said and said.strip() in asked.options):
            readings[part] = _read(asked, parts[part], part)
    if not readings:
        return Reading(certainty="unread", rule="none")
    first = next((reading for reading in readings.values() if reading.certainty == "certain"), None)
    if (pointing := _pointing(readings)) is not None:
        return pointing
    if first is None:
        return next(iter(readings.values()))
    chosen = readings.get("choice")
    if chosen is not None and chosen.certainty != "certain":
        # Something else was chosen than what the other parts say.
        return chosen.model_copy(update={"candidates": (*chosen.candidates, *filter(None, (first.value,)))})
    stance = parts.get("stance", "").strip().casefold()
    if asked.kind == "yes_no" and stance in _STANCES and stance != first.value:
        return first.model_copy(update={"certainty": "likely", "candidates": (stance,)})
    for part, other in readings.items():
        if first.place == part:
            continue
        if (contrary := _contrary(asked, first, other, parts[part])) is not None:
            return first.model_copy(update={"certainty": "likely", "candidates": (contrary,)})
    return first


def as_stated(reading: Reading, parts: Mapping[Part, str]) -> Reading:
    """Return the reading of an answer whose words point to no earlier answer, because nothing had been shown.

    Beside a bottom line such as *No change*, the position is the answer, unless it points to an earlier answer as well:
    then the words of the bottom line stand.

    Example:
        >>> from roundtable.reading.asked import Asked
        >>> pointing = read_parts(Asked(), {"bottom_line": "No change", "position": "My position is unchanged."})
        >>> as_stated(pointing, {"bottom_line": "No change"}).value
        'No change'
    """
    stated: dict[str, object] = {"certainty": "certain", "rule": "whole", "points_to": None, "candidates": ()}
    position = parts.get("position", "")
    if reading.place in {"choice", "bottom_line"} and position.strip() and not _points(position):
        return reading.model_copy(update={**stated, "value": None, "place": "position", "span": _span(position)})
    value = parts.get("bottom_line") if reading.place == "bottom_line" else None
    return reading.model_copy(update={**stated, "value": value})


def _points(position: str) -> bool:
    """Check whether a position only points to an earlier answer."""
    return read_answer(position, Asked()).points_to is not None


def _span(text: str) -> tuple[int, int]:
    """Return start and end of a text without the white space around it."""
    start = len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _pointing(readings: Mapping[Part, Reading]) -> Reading | None:
    """Return the reading of a choice or bottom line that only points to an earlier answer.

    It counts more than what a position says in its own words; what the position states is kept as a candidate.
    """
    for part in _SHORT:
        reading = readings.get(part)
        if reading is None:
            continue
        if reading.certainty == "certain":
            return None
        if reading.points_to is not None:
            position = readings.get("position")
            stated = position.value if position is not None and position.certainty == "certain" else None
            return reading.model_copy(update={"candidates": tuple(filter(None, (stated,)))})
    return None


def _read(asked: Asked, text: str, part: Part) -> Reading:
    reading = read_answer(text, replace(asked, is_short=part != "position"))
    if asked.kind in {"open", "formula"} and reading.rule == "none":
        # A short part holds nothing but the answer, however it is worded; a position is an answer as a whole.
        start = len(text) - len(text.lstrip())
        stripped = without_control_marks(text.strip())
        value = None if part == "position" else stripped
        reading = Reading(certainty="certain", rule="form", value=value, span=(start, start + len(stripped)))
    return reading.model_copy(update={"place": part})


def _contrary(asked: Asked, first: Reading, other: Reading, text: str) -> str | None:
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
    number = whole_number(first.value or "")
    if number is None:
        is_open = asked.kind == "open" and first.place == "bottom_line"
        return _other_words(first.value or "", other) if is_open else None
    as_number = read_answer(text, replace(asked, kind="number"))
    readings = (other, as_number) if _is_result(text, as_number) else (other,)
    for reading in readings:
        stated = whole_number(reading.value or "")
        is_firm = reading.rule in _FIRM or reading is as_number
        if reading.certainty == "certain" and is_firm and stated and stated.value != number.value:
            return reading.value
    return None


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
