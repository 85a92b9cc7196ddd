"""Read the answer in the parts of a form: the choice, the bottom line and the position."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.core.types.answers import Reading
from roundtable.reading.asked import Asked
from roundtable.reading.contradictions import contrary_of, contrary_stance
from roundtable.reading.folding import without_control_marks
from roundtable.reading.form_texts import says_nothing
from roundtable.reading.reader import read_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Part", "as_stated", "read_parts"]

Part: TypeAlias = Literal["choice", "bottom_line", "position", "stance"]
"""A part of the form in which agents answer."""

_ORDER: Final[tuple[Part, ...]] = ("choice", "bottom_line", "position")
_SHORT: Final[tuple[Part, ...]] = ("choice", "bottom_line")


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
    if (stance := contrary_stance(asked, first, parts.get("stance", ""))) is not None:
        return first.model_copy(update={"certainty": "likely", "candidates": (stance,)})
    for part, other in readings.items():
        if first.place == part:
            continue
        if (contrary := contrary_of(asked, first, other, parts[part])) is not None:
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
