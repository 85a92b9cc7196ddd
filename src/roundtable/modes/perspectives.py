"""Perspectives of an expert panel: given by the caller, written by a facilitator, or four that fit most questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.parsing.documents import find_document
from roundtable.types import GeneratedPerspective, Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.types import AnyPerspective, JsonValue

__all__ = ["DEFAULT_PERSPECTIVES", "fit_perspectives", "parse_perspectives", "perspective_notes"]

DEFAULT_PERSPECTIVES: Final = (
    GeneratedPerspective(
        name="Technical",
        description="Whether it can be built, run and kept running.",
        focus_areas=("feasibility", "complexity over time", "dependence on tools and suppliers"),
        evidence_types=("measurements", "reports from those who operate such systems", "standards"),
        key_questions=("What breaks first?", "What does it take to keep it running?"),
        anti_patterns=("counting features instead of failures", "taking a demonstration for a proof"),
    ),
    GeneratedPerspective(
        name="Economic",
        description="What it costs, what it brings, and who pays.",
        focus_areas=("cost over the whole life", "incentives", "what else the money could do"),
        evidence_types=("accounts and prices", "comparable cases", "studies with a control group"),
        key_questions=("Who gains and who pays?", "What is the cost of being wrong?"),
        anti_patterns=("leaving out running costs", "treating a forecast as a result"),
    ),
    GeneratedPerspective(
        name="Ethical",
        description="What is owed to those it touches.",
        focus_areas=("harm and consent", "fairness", "who can object"),
        evidence_types=("rights and duties that apply", "accounts of those affected", "earlier cases and their harm"),
        key_questions=("Who bears a risk without a say?", "Would it be acceptable in public?"),
        anti_patterns=("hiding a value behind a number", "excusing harm by intent"),
    ),
    GeneratedPerspective(
        name="Social",
        description="How people will live and work with it.",
        focus_areas=("habits and trust", "groups that gain or lose", "effects that come late"),
        evidence_types=("surveys and field studies", "history of similar changes", "what people do, not say"),
        key_questions=("Who will refuse, and why?", "What changes when everybody does it?"),
        anti_patterns=("taking one group for everybody", "assuming that people do as planned"),
    ),
)
"""Perspectives where nobody gave any."""

_LISTS: Final = {
    "focus_areas": ("focusAreas", "focus_areas"),
    "evidence_types": ("evidenceTypes", "evidence_types"),
    "key_questions": ("keyQuestions", "key_questions"),
    "anti_patterns": ("antiPatterns", "anti_patterns"),
}
_TITLES: Final = {
    "focus_areas": "Focus areas",
    "evidence_types": "Evidence that counts",
    "key_questions": "Key questions",
    "anti_patterns": "To be avoided",
}


def parse_perspectives(text: str, count: int) -> tuple[GeneratedPerspective, ...]:
    """Read what a facilitator wrote; never fails.

    Args:
        text: The facilitator's text, with a JSON array of perspectives in it.
        count: How many are needed; more are cut off, missing ones are taken from the defaults.

    Example:
        >>> [one.name for one in parse_perspectives('Here: [{"name": "Legal"}, "Medical"]', 3)]
        ['Legal', 'Medical', 'Technical']
    """
    start, end = text.find("["), text.rfind("]")
    listed = text[start : end + 1] if 0 <= start < end else "[]"
    found = find_document(f'{{"perspectives": {listed}}}', lambda fields: "perspectives" in fields)
    items = found.fields.get("perspectives") if found else None
    read = [_read(item, place) for place, item in enumerate(items if isinstance(items, list) else [], start=1)]
    return fit_perspectives(read, count)


def fit_perspectives(given: Sequence[GeneratedPerspective], count: int) -> tuple[GeneratedPerspective, ...]:
    """Cut a list to a length, or fill it up with defaults that are not in it, cycled."""
    names = {one.name.casefold() for one in given}
    spare = [one for one in DEFAULT_PERSPECTIVES if one.name.casefold() not in names] or DEFAULT_PERSPECTIVES
    filled = list(given[:count])
    while len(filled) < count:
        filled.append(spare[(len(filled) - len(given)) % len(spare)])
    return tuple(filled)


def _read(item: JsonValue, place: int) -> GeneratedPerspective:
    if not isinstance(item, dict):
        return GeneratedPerspective(name=_text(item) or f"Perspective {place}")
    lists = {
        field: _texts(next((item[name] for name in names if name in item), None)) for field, names in _LISTS.items()
    }
    name = _text(item.get("name")) or f"Perspective {place}"
    return GeneratedPerspective(name=name, description=_text(item.get("description")) or None, **lists)


def _text(value: JsonValue) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _texts(value: JsonValue) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items if (text := _text(item)))


def perspective_notes(perspectives: Sequence[AnyPerspective], place: int) -> tuple[Note, ...]:
    """Write down for one seat which perspective is its own, and which are the others'.

    Args:
        perspectives: At least one; given out round-robin.
        place: Place of the seat, from 0.
    """
    own = perspectives[place % len(perspectives)]
    lines = [own.name, *([own.description] if own.description else [])]
    lines += [f"{title}: {'; '.join(items)}" for name, title in _TITLES.items() if (items := getattr(own, name, ()))]
    brief = f"{own.name}. {own.description}" if own.description else own.name
    notes = [Note(label="your perspective", text="\n".join(lines), brief=brief)]
    others = [one.name for one in perspectives if one is not own]
    if others:
        brief = ", ".join(others)
        notes.append(Note(label="perspectives of the other experts", text="\n".join(others), brief=brief))
    return tuple(notes)
