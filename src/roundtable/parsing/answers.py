"""From a model's text to the answer asked for, or to a failure that says what was wrong.

The rules, in order:

1. The last JSON object with the leading member of the kind asked for counts; objects of another shape are
   passed over, and so are objects within objects.
2. If the text breaks off within that object, it counts when its leading member is whole (`truncated=True`);
   a half position is never taken for a position.
3. An object with slips is repaired where no valid one is found (`repaired=True`).
4. Anything else is a `ParseFailure`. The agent then asks the model once more.

A confidence that is missing or no finite number is reported as 0.5, one outside its scale is moved to the
nearest end; both with a warning. Zero is zero. A choice is the option spelt the same, else the only option
spelt the same up to case, brackets, quotes, a final point and spaces, else none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from roundtable._foreign import well_formed
from roundtable.parsing.documents import MAX_CHARS, find_document, is_json_like
from roundtable.parsing.texts import text_in, texts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.types import AnswerKind, JsonObject, JsonValue, Stance

__all__ = ["ParseFailure", "Parsed", "parse_answer", "parse_prose"]

DEFAULT_CONFIDENCE = 0.5
_PROSE_POSITION_CHARS = 200
_ONLY_THOUGHTS = "there were thoughts and no answer behind them"
_LEADING = {"position": "position", "ballot": "choice", "ranking": "ranking", "scores": "scores", "plan": "goal"}
_NUMERAL = re.compile(r"\s*+([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3})?)\s*+(%?)\s*+")
_DRESS = re.compile(r"[()<>\[\]{}|*_`\"'\u2018\u2019\u201c\u201d]+")
# The start of an answer object, whole or not.
_KEY = re.compile(r"\{\s*+[\"'\u201c]?(?:position|reasoning)\b")

_THOUGHTS = re.compile(r"\s*+<(think|thinking)>")

_Spellings: TypeAlias = "list[dict[str, str | None]]"


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A text that holds no answer."""

    reason: str
    """What was missing, in words the model can act on; ours alone, since they enter a prompt unquoted."""
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
    r"""Read an answer of one kind; no text makes it raise.

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
    text, too_long = _readable(text)
    if not text.strip():
        return ParseFailure("the answer was empty", text)
    if kind == "text":
        said = _spoken(text)
        if not said:
            return ParseFailure(_ONLY_THOUGHTS, text)
        return Parsed(text=said, truncated=bool(too_long), warnings=too_long)
    leading = _LEADING[kind]
    found = find_document(text, lambda fields: leading in fields)
    if found is None:
        return ParseFailure(f'no JSON object with "{leading}" was found', text)
    if leading in found.partial:
        return ParseFailure(f'"{leading}" is cut off or not quoted properly', text, found.span)
    read = _READERS[kind](found.fields, _spellings(options), confidence_scale)
    if isinstance(read, str):
        return ParseFailure(read, text, found.span)
    truncated = found.truncated or bool(too_long)
    return replace(read, truncated=truncated, repaired=found.repaired, warnings=too_long + read.warnings)


def parse_prose(text: str) -> Parsed | ParseFailure:
    """Take plain prose as it is: the last resort after a model was asked twice.

    The position is the first 200 characters, cut at a word; nothing is read into the words. A block of
    thoughts in tags before the answer is left out. A text that tries to be JSON is not prose, nor is one
    without a letter or digit.
    """
    text, too_long = _readable(text)
    plain = _spoken(text)
    if not plain and text.strip():
        return ParseFailure(_ONLY_THOUGHTS, text)
    if not any(map(str.isalnum, plain)) or _KEY.search(plain) or is_json_like(plain):
        return ParseFailure("neither the JSON asked for nor plain prose", text)
    position = plain
    if len(plain) > _PROSE_POSITION_CHARS:
        position = plain[:_PROSE_POSITION_CHARS].rsplit(None, 1)[0] + "…"
    return Parsed(
        position=position,
        reasoning=plain,
        repaired=True,
        truncated=bool(too_long),
        warnings=(*too_long, "the answer was prose, taken as it is"),
    )


def _readable(text: str) -> tuple[str, tuple[str, ...]]:
    if len(text) <= MAX_CHARS:
        return well_formed(text), ()
    return well_formed(text[:MAX_CHARS]), (f"only the first {MAX_CHARS:,} characters of the answer were read",)


def _spoken(text: str) -> str:
    """Leave out the block of thoughts that some models write before they answer; one without an end is all there is."""
    opened = _THOUGHTS.match(text)
    if opened is None:
        return text.strip()
    return text[opened.end() :].partition(f"</{opened[1]}>")[2].strip()


def _words_or_number(value: JsonValue) -> str:
    """Give a text, or a number as it is written: `42` answers a question as well as `"42"`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text_in(value)
    return str(value) if math.isfinite(value) else ""


def _confidence(fields: JsonObject, scale: int) -> tuple[float, tuple[str, ...]]:
    raw = _number(fields.get("confidence"), percent_of=scale)
    if raw is None:
        return DEFAULT_CONFIDENCE, ("no usable confidence was given; 0.5 stands in",)
    # Adding zero turns -0.0 into 0.0.
    share = raw / scale + 0.0
    if 0.0 <= share <= 1.0:
        return share, ()
    return (0.0 if share < 0 else 1.0), (
        f"confidence {raw:g} lies outside 0 to {scale} and was moved to the nearest end",
    )


def _number(value: JsonValue, *, percent_of: int | None = None) -> float | None:
    """Read a finite number, or text that is nothing but one; a percentage only where that has a meaning."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return float(value)
    numeral = _NUMERAL.fullmatch(value)
    if numeral is None or (numeral[2] and percent_of is None):
        return None
    number = float(numeral[1])
    if numeral[2]:
        number *= (percent_of or 1) / 100
    return number if math.isfinite(number) else None


def _stance(value: JsonValue) -> Stance | None:
    match text_in(value).upper():
        case "YES":
            return "YES"
        case "NO":
            return "NO"
        case "NEUTRAL":
            return "NEUTRAL"
        case _:
            return None


def _position(fields: JsonObject, options: _Spellings | None, scale: int) -> Parsed | str:
    position = _words_or_number(fields.get("position"))
    if not position:
        return 'the JSON object has no text in "position"'
    confidence, warnings = _confidence(fields, scale)
    # Where nothing was to be chosen from, a choice says nothing that the position does not.
    choice, unknown = (None, ()) if options is None else _choice_beside(position, fields.get("choice"), options)
    warnings += unknown
    return Parsed(
        position=position,
        reasoning=text_in(fields.get("reasoning")),
        confidence=confidence,
        stance=_stance(fields.get("stance")),
        choice=choice,
        warnings=warnings,
    )


def _spellings(options: Sequence[str] | None) -> _Spellings | None:
    """List the options by ever looser spelling; a spelling that two of them share means neither."""
    if options is None:
        return None
    tables: list[dict[str, str | None]] = []
    for key in (str.strip, _folded, _bare):
        table: dict[str, str | None] = {}
        for option in dict.fromkeys(options):
            table[key(option)] = None if key(option) in table else option
        tables.append(table)
    return tables


def _choice_beside(position: str, value: JsonValue, options: _Spellings) -> tuple[str | None, tuple[str, ...]]:
    """Find the option that is meant; one that is left out stands in the position if that is an option and no more."""
    choice, unknown = _choice(value, options)
    if choice is None and not _words_or_number(value):
        said, _ = _choice(position, options)
        return (said, ("the position was taken for the choice",)) if said else (None, unknown)
    return choice, unknown


def _choice(value: JsonValue, options: _Spellings | None) -> tuple[str | None, tuple[str, ...]]:
    """Find the option that is meant, and say why there is none."""
    choice = _words_or_number(value)
    if not choice:
        return None, ("no option was chosen",)
    if options is None:
        return choice, ()
    exactly, folded, loosely = options
    found = exactly.get(choice) or folded.get(_folded(choice)) or loosely.get(_bare(choice))
    return (found, ()) if found else (None, (f"the choice {choice[:80]!r} is none of the options",))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _bare(text: str) -> str:
    folded = _folded(text)
    return " ".join(_DRESS.sub(" ", folded).split()).rstrip(".,;:!") or folded


def _ballot(fields: JsonObject, options: _Spellings | None) -> Parsed | str:
    vote = fields["choice"]
    choice, _ = _choice(vote, options)
    if choice is None and vote is not None:
        return '"choice" is none of the options; give null to abstain'
    return Parsed(choice=choice, reasoning=text_in(fields.get("reasoning")))


def _ranking(fields: JsonObject, options: _Spellings | None) -> Parsed | str:
    raw = fields["ranking"]
    if not isinstance(raw, list):
        return '"ranking" must be a list of options, best first'
    groups: list[tuple[str, ...]] = []
    warnings: list[str] = []
    seen: set[str] = set()
    for item in raw:
        group: list[str] = []
        for name in item if isinstance(item, list) else [item]:
            option, unknown = _choice(name, options)
            warnings += unknown
            if option in seen:
                warnings.append(f"{option[:80]!r} is ranked twice; its first place counts")
            elif option is not None:
                seen.add(option)
                group.append(option)
        if group:
            groups.append(tuple(group))
    if not groups:
        return '"ranking" names no option'
    return Parsed(ranking=tuple(groups), reasoning=text_in(fields.get("reasoning")), warnings=tuple(warnings))


def _scores(fields: JsonObject, options: _Spellings | None) -> Parsed | str:
    raw = fields["scores"]
    if not isinstance(raw, dict):
        return '"scores" must be an object of option to number'
    scores: dict[str, float] = {}
    warnings: list[str] = []
    for name, value in raw.items():
        option, unknown = _choice(name, options)
        number = _number(value)
        if option is None or number is None:
            warnings += unknown or (f"the score of {name[:80]!r} is no finite number",)
        elif option in scores:
            warnings.append(f"{option[:80]!r} is scored twice; its first score counts")
        else:
            scores[option] = number
    if not scores:
        return '"scores" holds no usable score'
    reasoning = text_in(fields.get("reasoning"))
    return Parsed(scores=tuple(scores.items()), reasoning=reasoning, warnings=tuple(warnings))


def _plan(fields: JsonObject) -> Parsed | str:
    if not text_in(fields["goal"]):
        return 'the JSON object has no text in "goal"'
    criteria = fields.get("successCriteria", fields.get("success_criteria"))
    listed = criteria if isinstance(criteria, list) else []
    return Parsed(
        goal=text_in(fields["goal"]),
        strategy=text_in(fields.get("strategy")),
        success_criteria=texts_in(listed),
    )


_READERS: dict[AnswerKind, Callable[[JsonObject, _Spellings | None, int], Parsed | str]] = {
    "position": _position,
    "ballot": lambda fields, options, _scale: _ballot(fields, options),
    "ranking": lambda fields, options, _scale: _ranking(fields, options),
    "scores": lambda fields, options, _scale: _scores(fields, options),
    "plan": lambda fields, _options, _scale: _plan(fields),
}
