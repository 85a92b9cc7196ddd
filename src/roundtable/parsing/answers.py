"""From a model's text to the answer asked for, or to a failure that says what was wrong.

The rules, in order:

1. The last valid JSON object with the members asked for counts; objects of another shape are passed over.
2. Without one, an object with slips is repaired (`repaired=True`).
3. An object that was cut off counts when its leading member is whole (`truncated=True`); a half position
   is never taken for a position.
4. Anything else is a `ParseFailure`. The agent then asks the model once more.

A confidence that is missing or no finite number is reported as 0.5, one outside its scale is moved to the
nearest end; both with a warning. Zero is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never

from roundtable.parsing.documents import Document, find_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.types import AnswerKind, JsonValue, Stance

__all__ = ["ParseFailure", "Parsed", "parse_answer", "parse_prose"]

DEFAULT_CONFIDENCE = 0.5
_PROSE_POSITION_CHARS = 200
_LEADING = {
    "position": ("position", "reasoning"),
    "ballot": ("choice",),
    "ranking": ("ranking",),
    "scores": ("scores",),
    "plan": ("goal",),
}


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A text that holds no answer."""

    reason: str
    """What was missing, in words the model can act on."""
    text: str
    """The text."""
    span: tuple[int, int] = (0, 0)
    """Part of the text that came closest."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read. Only the members of the kind asked for are filled."""

    position: str = ""
    reasoning: str = ""
    confidence: float = DEFAULT_CONFIDENCE
    stance: Stance | None = None
    choice: str | None = None
    ranking: tuple[tuple[str, ...], ...] = ()
    scores: tuple[tuple[str, float], ...] = ()
    goal: str = ""
    strategy: str = ""
    success_criteria: tuple[str, ...] = ()
    text: str = ""
    truncated: bool = False
    repaired: bool = False
    warnings: tuple[str, ...] = ()


def parse_answer(
    text: str,
    kind: AnswerKind = "position",
    *,
    confidence_scale: int = 1,
    options: Sequence[str] | None = None,
) -> Parsed | ParseFailure:
    r"""Read an answer of one kind.

    Args:
        text: What the model wrote.
        kind: What it was asked for.
        confidence_scale: Upper end of the scale it was asked to use, 1 or 100.
        options: Options it was asked to choose from.

    Example:
        >>> parse_answer('Sure! ```json\n{"position": "Yes", "confidence": 0}\n```').confidence
        0.0
        >>> parse_answer("I would say yes.").reason
        'no JSON object with "position" was found'
    """
    if not text.strip():
        return ParseFailure("the answer was empty", text)
    if kind == "text":
        return Parsed(text=text.strip())
    leading = _LEADING[kind]
    found = find_document(text, lambda fields: any(name in fields for name in leading))
    if found is None:
        return ParseFailure(f'no JSON object with "{leading[0]}" was found', text)
    if leading[0] in found.partial:
        return ParseFailure(f'the answer was cut off within "{leading[0]}"', text, found.span)
    read = _read(kind, found, options, confidence_scale)
    if isinstance(read, str):
        return ParseFailure(read, text, found.span)
    return replace(read, truncated=bool(found.partial), repaired=found.repaired)


def parse_prose(text: str) -> Parsed | ParseFailure:
    """Take plain prose as it is: the last resort after a model was asked twice.

    The position is the first 200 characters, cut at a word; nothing is read into the words. A text
    that tries to be JSON is not prose.
    """
    plain = text.strip()
    if not plain or plain[0] in "{[`" or find_document(plain, bool) is not None:
        return ParseFailure("neither the JSON asked for nor plain prose", text)
    position = plain
    if len(plain) > _PROSE_POSITION_CHARS:
        position = plain[:_PROSE_POSITION_CHARS].rsplit(None, 1)[0] + "…"
    return Parsed(position=position, reasoning=plain, repaired=True, warnings=("the answer was prose, taken as it is",))


def _words(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


def _confidence(fields: dict[str, JsonValue], scale: int) -> tuple[float, tuple[str, ...]]:
    raw = fields.get("confidence")
    if isinstance(raw, str):
        raw = _numeral(raw, scale)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        return DEFAULT_CONFIDENCE, ("no usable confidence was given; 0.5 stands in",)
    share = raw / scale
    if 0.0 <= share <= 1.0:
        return float(share), ()
    return (0.0 if share < 0 else 1.0), (
        f"confidence {raw:g} lies outside 0 to {scale} and was moved to the nearest end",
    )


def _numeral(raw: str, scale: int) -> float | None:
    text = raw.strip()
    percent = text.endswith("%")
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        return None
    return value * scale / 100 if percent else value


def _stance(value: JsonValue) -> Stance | None:
    match _words(value).upper():
        case "YES":
            return "YES"
        case "NO":
            return "NO"
        case "NEUTRAL":
            return "NEUTRAL"
        case _:
            return None


def _position(found: Document, options: Sequence[str] | None, scale: int) -> Parsed | str:
    fields = found.fields
    position, reasoning = _words(fields.get("position")), _words(fields.get("reasoning"))
    if not position:
        return 'the JSON object has no text in "position"'
    confidence, warnings = _confidence(fields, scale)
    choice, unknown = _choice(fields.get("choice"), options)
    return Parsed(
        position=position,
        reasoning=reasoning,
        confidence=confidence,
        stance=_stance(fields.get("stance")),
        choice=choice,
        warnings=warnings + unknown,
    )


def _choice(value: JsonValue, options: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    choice = _words(value)
    if options is None:
        return choice or None, ()
    if not choice:
        return None, ("no option was chosen",)
    known = {option.strip().casefold(): option for option in options}
    match = known.get(choice.casefold())
    return (match, ()) if match is not None else (None, (f"the choice {choice[:80]!r} is none of the options",))


def _ballot(found: Document, options: Sequence[str] | None) -> Parsed | str:
    choice, warnings = _choice(found.fields.get("choice"), options)
    return Parsed(choice=choice, reasoning=_words(found.fields.get("reasoning")), warnings=warnings)


def _ranking(found: Document, options: Sequence[str] | None) -> Parsed | str:
    raw = found.fields.get("ranking")
    if not isinstance(raw, list):
        return '"ranking" must be a list of options, best first'
    groups, warnings = [], list[str]()
    for item in raw:
        names = item if isinstance(item, list) else [item]
        chosen = [_choice(name, options) for name in names]
        warnings += [warning for _, found_warnings in chosen for warning in found_warnings]
        group = tuple(name for name, _ in chosen if name)
        if group:
            groups.append(group)
    if not groups:
        return '"ranking" names no option'
    return Parsed(ranking=tuple(groups), reasoning=_words(found.fields.get("reasoning")), warnings=tuple(warnings))


def _scores(found: Document, options: Sequence[str] | None) -> Parsed | str:
    raw = found.fields.get("scores")
    if not isinstance(raw, dict):
        return '"scores" must be an object of option to number'
    scores, warnings = [], list[str]()
    for name, value in raw.items():
        option, unknown = _choice(name, options)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if option is None or not usable:
            warnings += unknown or (f"the score of {name[:80]!r} is no finite number",)
        else:
            scores.append((option, float(value)))  # type: ignore[arg-type]
    if not scores:
        return '"scores" holds no usable score'
    return Parsed(scores=tuple(scores), reasoning=_words(found.fields.get("reasoning")), warnings=tuple(warnings))


def _plan(found: Document) -> Parsed | str:
    fields = found.fields
    if not _words(fields.get("goal")):
        return 'the JSON object has no text in "goal"'
    criteria = fields.get("successCriteria", fields.get("success_criteria"))
    listed = criteria if isinstance(criteria, list) else []
    return Parsed(
        goal=_words(fields.get("goal")),
        strategy=_words(fields.get("strategy")),
        success_criteria=tuple(_words(item) for item in listed if _words(item)),
    )


def _read(
    kind: Literal["position", "ballot", "ranking", "scores", "plan"],
    found: Document,
    options: Sequence[str] | None,
    scale: int,
) -> Parsed | str:
    match kind:
        case "position":
            return _position(found, options, scale)
        case "ballot":
            return _ballot(found, options)
        case "ranking":
            return _ranking(found, options)
        case "scores":
            return _scores(found, options)
        case "plan":
            return _plan(found)
        case _:
            assert_never(kind)
