"""Parse a model's text into the requested answer, or into a failure that explains the fault.

The rules, in order:

1. The last JSON object with the leading member of the requested kind counts. Objects of another shape are skipped, and
   so are objects within objects.
2. If the text breaks off within that object, the object counts if its leading member is complete (`truncated=True`).
   Half a position never counts as a position.
3. If no valid object is found, an object with slips is repaired (`repaired=True`).
4. If there is no such object, but the text is exactly one of the options, that option is the choice. This applies only
   to a position or a vote.
5. Anything else is a `ParseFailure`. The agent then asks the model once more.

Thoughts before the answer don't count, with any objects and options in them. Thoughts without an end count only if the
text ends with the object: the model forgot the closing tag.

A confidence that is missing or not a finite number becomes 0.5; a confidence outside its scale is moved to the nearest
end of the scale. Both add a warning. Zero stays zero.

A short member of a position, such as the choice or the bottom line, does not count if it is cut off, or given twice
with different values. A ballot with such a fault is a `ParseFailure`, and so is a list of a vote that is not valid JSON
and has parts that cannot be read.

The choice is the option with the same spelling. If there is none, it is the only option with the same spelling apart
from case, brackets, quotes, a final point and spaces, also after the word "option", or "motion" in a vote on motions.
Otherwise, there is no choice.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable._core.strict_json import is_too_deep
from roundtable._core.text import well_formed
from roundtable.parsing.claims import ParsedClaim, parse_claims
from roundtable.parsing.json_in_text import MAX_CHARS, find_document, is_json_like
from roundtable.parsing.thoughts import without_thoughts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundtable.parsing.json_in_text import Document
    from roundtable.types import AnswerKind, JsonObject, JsonValue, Stance

__all__ = ["ParseFailure", "Parsed", "parse_answer", "parse_prose", "text_in", "texts_in"]

DEFAULT_CONFIDENCE = 0.5
_PROSE_POSITION_CHARS = 200
_MOST_LINE_CHARS: Final = 200
_MOST_VERDICTS: Final = 50
_NO_ANSWER_AFTER_THOUGHTS = "there were thoughts and no answer behind them"
_LEADING_MEMBER = {
    "position": "position",
    "ballot": "choice",
    "ranking": "ranking",
    "approval": "approved",
    "scores": "scores",
    "plan": "goal",
}
_VOTE_LISTS: Final = frozenset({"ranking", "approval", "scores"})
_GUESSED_MEMBERS: Final = frozenset({"bottomLine", "bottom_line", "choice"})
_SHORT_MEMBERS: Final = _GUESSED_MEMBERS | {"confidence", "stance"}
_NUMERAL = re.compile(
    r"\s*+([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,3})?)\s*+(%|per ?cent|)\s*+", re.IGNORECASE
)
_DECORATION = re.compile(r"[()<>\[\]{}|*_`\"'\u2018-\u201f\u00ab\u00bb\u2039\u203a\u300c-\u300f]+")
# The start of an answer object, complete or not.
_ANSWER_START = re.compile(r"\{\s*+[\"'\u201c]?(?:position|reasoning)\b")
_CLAIMS_MEMBER = re.compile(r",\s*+\"claims\"\s*+:")
_OTHER_MEMBER = re.compile(
    r"[\"'](?:position|reasoning|confidence|stance|choice|bottomLine|bottom_line|compared)[\"']\s*+:"
)

_CUT_COMPARISON: Final = "the comparison with earlier answers is cut off; only what comes before its last entry counts"


def text_in(value: JsonValue) -> str:
    """Return a text without surrounding white space; empty if the value is not a text.

    Example:
        >>> text_in(" Tea. "), text_in(None)
        ('Tea.', '')
    """
    return value.strip() if isinstance(value, str) else ""


def texts_in(value: JsonValue, most: int | None = None) -> tuple[str, ...]:
    """Return the non-blank texts of a list, at most `most` of them; empty if the value is not a list.

    Example:
        >>> texts_in(["Tea.", " ", 7, "Milk."], 1), texts_in("Tea.")
        (('Tea.',), ())
    """
    texts = [text_in(item) for item in value] if isinstance(value, list) else []
    return tuple(text for text in texts if text)[:most]


_SpellingTables: TypeAlias = "list[dict[str, str | None]]"
"""For each way to compare spellings: spelling to option, or to `None` if two options share the spelling."""


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A text that contains no answer."""

    reason: str
    """What was missing, in words that help the model; never text of the model, since the reason enters a prompt
    unquoted."""
    text: str
    """The text."""
    span: tuple[int, int] = (0, 0)
    """Part of the text that is most similar to an answer."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed answer. Only the fields of the requested kind are filled."""

    position: str = ""
    reasoning: str = ""
    confidence: float = DEFAULT_CONFIDENCE
    stance: Stance | None = None
    choice: str | None = None
    bottom_line: str | None = None
    compared: tuple[tuple[str, Literal["same", "different"]], ...] = ()
    claims: tuple[ParsedClaim, ...] = ()
    value: JsonObject | None = None
    ranking: tuple[tuple[str, ...], ...] = ()
    approved: tuple[str, ...] | None = None
    scores: tuple[tuple[str, float], ...] = ()
    same: tuple[tuple[str, ...], ...] = ()
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
    motions: bool = False,
    claims: bool = False,
) -> Parsed | ParseFailure:
    r"""Parse an answer of one kind; never raises an error, whatever the text.

    Args:
        text: What the model wrote.
        kind: The requested kind of answer.
        confidence_scale: Upper end of the requested confidence scale, 1 or 100.
        options: Options to choose from.
        motions: Whether the options are motions of a vote. In that case, an empty list is an abstention, and groups are
            read.
        claims: Whether claims were requested; only then are they read.

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
        answer = without_thoughts(text)
        if not answer:
            return ParseFailure(_NO_ANSWER_AFTER_THOUGHTS, text)
        return Parsed(text=answer, truncated=bool(too_long), warnings=too_long)
    member = _LEADING_MEMBER[kind]
    document = find_document(text, lambda fields: member in fields)
    if document is None and claims:
        document = _find_before_claims(text, member)
    if document is None:
        return _parse_without_object(text, kind, options, too_long)
    if problem := _member_problem(document, kind):
        return ParseFailure(problem, text, document.span)
    fields, uncounted = _countable_fields(document)
    tables = _spelling_tables(options, prefix="motion " if motions else "option ")
    if motions and fields[member] in ([], {}, None) and kind in {"ranking", "scores"}:
        parsed: Parsed | str = Parsed(reasoning=text_in(fields.get("reasoning")))  # an abstention
    else:
        parsed = _READERS[kind](fields, tables, confidence_scale)
    if not isinstance(parsed, str) and kind in _VOTE_LISTS and parsed.warnings and _is_guessed(document):
        parsed = f'the JSON is not valid, and a part of "{member}" cannot be read'
    if not isinstance(parsed, str) and motions:
        parsed = _with_groups(parsed, fields.get("same"), tables)
    if isinstance(parsed, str):
        is_lettered = motions and options and all(len(option) == 1 for option in options)
        reason = f"{parsed}; the letters of the motions are {', '.join(options or ())}" if is_lettered else parsed
        return ParseFailure(reason, text, document.span)
    if claims:
        parsed = _with_claims(parsed, document)
    truncated = document.truncated or bool(too_long)
    cut = (_CUT_COMPARISON,) if "compared" in document.partial else ()
    twice = tuple(
        f"the answer compared as {label[:80]!r} is called both the same and different"
        for label, _ in parsed.compared
        if label in document.contradicted
    )
    compared = tuple(verdict for verdict in parsed.compared if verdict[0] not in document.contradicted)
    warnings = too_long + uncounted + parsed.warnings + cut + twice
    return replace(
        parsed,
        compared=compared,
        value=None if "value" in document.partial else parsed.value,
        truncated=truncated,
        repaired=document.repaired,
        warnings=warnings,
    )


def _member_problem(document: Document, kind: AnswerKind) -> str:
    """Return why the leading member of an answer cannot be read; empty if it can."""
    member = _LEADING_MEMBER[kind]
    if member in document.partial:
        return f'"{member}" is cut off or not quoted properly'
    if kind in {"position", "plan"}:
        return ""
    if member in document.contradicted:
        return f'"{member}" is given twice, with different values'
    scores = document.fields[member]
    if isinstance(scores, dict) and not document.contradicted.isdisjoint(scores):
        return f'"{member}" gives two different values to one option'
    return ""


def _countable_fields(document: Document) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the members of an answer without short ones that are cut off, guessed or contradictory, with warnings.

    A short text that is cut off may be another answer: "C" of "C++", or "1" of "15".
    """
    unsure = document.partial & (_SHORT_MEMBERS if document.truncated else _GUESSED_MEMBERS)
    names = sorted(unsure | (document.contradicted & _SHORT_MEMBERS))
    fields = {name: value for name, value in document.fields.items() if name not in names}
    fault = "cut off" if document.truncated else "not quoted properly"
    return fields, tuple(
        f'"{name}" is {fault if name in unsure else "given twice, with different values"}; it does not count'
        for name in names
    )


def _is_guessed(document: Document) -> bool:
    """Check whether the structure of an object is a guess, since it is not valid JSON."""
    return document.repaired and not document.truncated


def _find_before_claims(text: str, member: str) -> Document | None:
    """Return the object of an answer without its claims, if they come last and only they make it unreadable."""
    members = [*_CLAIMS_MEMBER.finditer(text)]
    if not members or _OTHER_MEMBER.search(text, members[-1].end()):
        return None
    end = members[-1].start()
    document = find_document(f"{text[:end]}}}", lambda fields: member in fields)
    if document is None or document.truncated or document.span[1] <= end:
        return None
    return replace(document, partial=document.partial | {"claims"}, repaired=True)


def _value(value: JsonValue) -> JsonObject | None:
    """Return an object without unpaired surrogates; `None` for other values and for values nested too deep."""
    if not isinstance(value, dict) or is_too_deep(value):
        return None
    clean: JsonObject = json.loads(well_formed(json.dumps(value, ensure_ascii=False)))
    return clean


def _with_claims(parsed: Parsed, document: Document) -> Parsed:
    """Add the claims; if they are missing or unusable, the answer counts without them."""
    if "claims" in document.partial:
        fault = "are cut off" if document.truncated else "cannot be read"
        return replace(parsed, warnings=(*parsed.warnings, f"the claims {fault}; they do not count"))
    claims, warnings = parse_claims(document.fields.get("claims"))
    if not claims and not warnings:
        warnings = ("no claims were given",)
    return replace(parsed, claims=claims, warnings=parsed.warnings + warnings)


def _parse_without_object(
    text: str, kind: AnswerKind, options: Sequence[str] | None, too_long: tuple[str, ...]
) -> Parsed | ParseFailure:
    """Parse a text that is exactly one of the options; the choice is clear, so the model is not asked again."""
    answer = without_thoughts(text)
    if not answer:
        return ParseFailure(_NO_ANSWER_AFTER_THOUGHTS, text)
    has_choice = options is not None and kind in {"position", "ballot"}
    choice = _choice(answer, _spelling_tables(options))[0] if has_choice else None
    if choice is None:
        return ParseFailure(f'no JSON object with "{_LEADING_MEMBER[kind]}" was found', text)
    warnings = (*too_long, "the answer was only an option")
    if kind == "ballot":
        return Parsed(choice=choice, repaired=True, warnings=warnings)
    _, unsure = _confidence({}, 1)
    return Parsed(position=choice, choice=choice, repaired=True, warnings=(*warnings, *unsure))


def parse_prose(text: str) -> Parsed | ParseFailure:
    """Return an answer that is plain prose: the last resort after the model was asked twice.

    The position is the first 200 characters, cut at a word; the words are not interpreted. A block of thoughts in tags
    before the answer is left out. A text that resembles JSON does not count as prose, nor does a text without a letter
    or digit.
    """
    text, too_long = _readable(text)
    prose = without_thoughts(text)
    if not prose and text.strip():
        return ParseFailure(_NO_ANSWER_AFTER_THOUGHTS, text)
    if not any(map(str.isalnum, prose)) or _ANSWER_START.search(prose) or is_json_like(prose):
        return ParseFailure("neither the JSON asked for nor plain prose", text)
    position = prose
    if len(prose) > _PROSE_POSITION_CHARS:
        position = prose[:_PROSE_POSITION_CHARS].rsplit(None, 1)[0] + "…"
    return Parsed(
        position=position,
        reasoning=prose,
        repaired=True,
        truncated=bool(too_long),
        warnings=(*too_long, "the answer was prose, which is used unchanged"),
    )


def _readable(text: str) -> tuple[str, tuple[str, ...]]:
    if len(text) <= MAX_CHARS:
        return well_formed(text), ()
    return well_formed(text[:MAX_CHARS]), (f"only the first {MAX_CHARS:,} characters of the answer were read",)


def _text_or_number(value: JsonValue) -> str:
    """Return a text, or a number as text, since `42` answers a question as well as `"42"` does."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text_in(value)
    return str(value) if math.isfinite(value) else ""


def _confidence(fields: JsonObject, scale: int) -> tuple[float, tuple[str, ...]]:
    raw = _number(fields.get("confidence"), percent_of=scale)
    if raw is None:
        return DEFAULT_CONFIDENCE, ("no usable confidence was given; 0.5 is assumed",)
    # Adding zero turns -0.0 into 0.0.
    share = raw / scale + 0.0
    if 0.0 <= share <= 1.0:
        return share, ()
    return (0.0 if share < 0 else 1.0), (
        f"confidence {raw:g} lies outside 0 to {scale} and was moved to the nearest end",
    )


def _number(value: JsonValue, *, percent_of: int | None = None) -> float | None:
    """Parse a finite number, or a text that is only a number; parse a percentage only if `percent_of` is given."""
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
    match _undecorated(text_in(value)).upper():
        case "YES":
            return "YES"
        case "NO":
            return "NO"
        case "NEUTRAL":
            return "NEUTRAL"
        case _:
            return None


def _position(fields: JsonObject, options: _SpellingTables | None, scale: int) -> Parsed | str:
    position = _text_or_number(fields.get("position"))
    if not position:
        return 'the JSON object has no text in "position"'
    confidence, warnings = _confidence(fields, scale)
    # Without options, a choice adds nothing to the position.
    choice, unknown = (None, ()) if options is None else _choice_or_position(position, fields.get("choice"), options)
    line = fields.get("bottom_line")
    bottom_line, unusable = _bottom_line(fields.get("bottomLine") if line in (None, "") else line)
    compared, dropped = _parse_comparisons(fields.get("compared"))
    warnings += unknown + unusable + dropped
    return Parsed(
        position=position,
        reasoning=text_in(fields.get("reasoning")),
        confidence=confidence,
        stance=_stance(fields.get("stance")),
        choice=choice,
        bottom_line=bottom_line,
        compared=compared,
        value=_value(fields.get("value")),
        warnings=warnings,
    )


def _bottom_line(value: JsonValue) -> tuple[str | None, tuple[str, ...]]:
    """Return the short answer, or a warning that it does not count; in that case, the position counts alone."""
    line = " ".join(_text_or_number(value).split())
    if 0 < len(line) <= _MOST_LINE_CHARS:
        return line, ()
    if line:
        return None, (f"the bottom line has more than {_MOST_LINE_CHARS} characters and does not count",)
    return None, () if value is None or value == "" else ("the bottom line is not a text and does not count",)


def _parse_comparisons(
    value: JsonValue,
) -> tuple[tuple[tuple[str, Literal["same", "different"]], ...], tuple[str, ...]]:
    """Return the verdicts on earlier answers by label, and a warning for each that cannot be read."""
    if not isinstance(value, dict):
        return (), () if value is None else ("the comparison with earlier answers is not an object; it does not count",)
    verdicts: list[tuple[str, Literal["same", "different"]]] = []
    warnings: list[str] = []
    for label, verdict in list(value.items())[:_MOST_VERDICTS]:
        match text_in(verdict).casefold().strip(" .!"):
            case "same":
                verdicts.append((label, "same"))
            case "different":
                verdicts.append((label, "different"))
            case _ if verdict is not None:
                warnings.append(f"the answer compared as {label[:80]!r} is neither the same nor different")
            case _:
                pass  # by the schema, null means that the model cannot decide
    if len(value) > _MOST_VERDICTS:
        warnings.append(f"only the first {_MOST_VERDICTS} of {len(value)} comparisons were read")
    return tuple(verdicts), tuple(warnings)


def _spelling_tables(options: Sequence[str] | None, prefix: str = "") -> _SpellingTables | None:
    """Return the options by exact, folded and undecorated spelling; a spelling that two options share matches neither.

    Args:
        options: The options.
        prefix: A word that may come before an option, such as in "motion A".
    """
    if options is None:
        return None
    tables: list[dict[str, str | None]] = []
    for key in (str.strip, _folded, _undecorated, partial(_prefixed, prefix=prefix)):
        table: dict[str, str | None] = {}
        for option in dict.fromkeys(options):
            table[key(option)] = None if key(option) in table else option
        tables.append(table)
    return tables


def _prefixed(text: str, prefix: str) -> str:
    return prefix + _undecorated(text)


def _choice_or_position(
    position: str, value: JsonValue, options: _SpellingTables
) -> tuple[str | None, tuple[str, ...]]:
    """Find the chosen option; if no choice is given, a position that is exactly one of the options counts."""
    choice, unknown = _choice(value, options)
    if choice is None and not _text_or_number(value):
        option, _ = _choice(position, options)
        return (option, ("the position was taken for the choice",)) if option else (None, unknown)
    return choice, unknown


def _choice(value: JsonValue, options: _SpellingTables | None) -> tuple[str | None, tuple[str, ...]]:
    """Find the chosen option; if there is none, return a warning with the reason."""
    choice = _text_or_number(value)
    if not choice:
        return None, ("no option was chosen",)
    if options is None:
        return choice, ()
    exactly, folded, *loosely = options
    option = exactly.get(choice) or folded.get(_folded(choice))
    for table in loosely:
        option = option or table.get(_undecorated(choice))
    return (option, ()) if option else (None, (f"the choice {choice[:80]!r} is none of the options",))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _undecorated(text: str) -> str:
    folded = _folded(text)
    if not folded.isascii():  # such as a space of no width, or a mark of the direction of writing
        folded = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    return " ".join(_DECORATION.sub(" ", folded).split()).rstrip(".,;:! ") or folded


def _ballot(fields: JsonObject, options: _SpellingTables | None) -> Parsed | str:
    vote = fields["choice"]
    choice, _ = _choice(vote, options)
    if choice is None and vote is not None:
        return '"choice" is none of the options; give null to abstain'
    return Parsed(choice=choice, reasoning=text_in(fields.get("reasoning")))


def _ranking(fields: JsonObject, options: _SpellingTables | None) -> Parsed | str:
    raw = fields["ranking"]
    if not isinstance(raw, list):
        return '"ranking" must be a list of options, best first'
    groups: list[tuple[str, ...]] = []
    warnings: list[str] = []
    seen: set[str] = set()
    for item in raw:
        names = item if isinstance(item, list) else [item]
        group, unusable = _once(names, options, seen, "is ranked twice; its first place counts")
        warnings += unusable
        if group:
            groups.append(group)
    if not groups:
        return '"ranking" names no option'
    return Parsed(ranking=tuple(groups), reasoning=text_in(fields.get("reasoning")), warnings=tuple(warnings))


def _with_groups(parsed: Parsed, value: JsonValue, options: _SpellingTables | None) -> Parsed:
    """Add the groups of motions that say the same; if a motion is named twice, the first mention counts."""
    if not isinstance(value, list):
        unread = () if value is None else ("the groups of motions that say the same are not a list; they do not count",)
        return replace(parsed, warnings=parsed.warnings + unread)
    if not any(isinstance(item, list) for item in value):
        value = [value]  # one group, written without its own brackets
    groups: list[tuple[str, ...]] = []
    warnings: list[str] = []
    seen: set[str] = set()
    for item in value[:_MOST_VERDICTS]:
        names = item if isinstance(item, list) else [item]
        group, unusable = _once(names[:_MOST_VERDICTS], options, seen, "is in two groups; the first counts")
        warnings += unusable
        if len(group) > 1:
            groups.append(group)
    return replace(parsed, same=tuple(groups), warnings=(*parsed.warnings, *warnings))


def _once(
    names: Sequence[JsonValue], options: _SpellingTables | None, seen: set[str], repeated: str
) -> tuple[tuple[str, ...], list[str]]:
    """Return the options that a list names and that are not in `seen`, and a warning for each other name."""
    chosen: list[str] = []
    warnings: list[str] = []
    for name in names:
        option, unknown = _choice(name, options)
        warnings += unknown
        if option in seen:
            warnings.append(f"{option[:80]!r} {repeated}")
        elif option is not None:
            seen.add(option)
            chosen.append(option)
    return tuple(chosen), warnings


def _approval(fields: JsonObject, options: _SpellingTables | None) -> Parsed | str:
    raw, reasoning = fields["approved"], text_in(fields.get("reasoning"))
    if raw is None:
        return Parsed(reasoning=reasoning)
    if not isinstance(raw, list):
        return '"approved" must be a list of options; give null to abstain'
    approved, warnings = _once(raw, options, set(), "is approved twice")
    if raw and not approved:
        return '"approved" names no option; give null to abstain'
    return Parsed(approved=approved, reasoning=reasoning, warnings=tuple(warnings))


def _scores(fields: JsonObject, options: _SpellingTables | None) -> Parsed | str:
    raw = fields["scores"]
    if not isinstance(raw, dict):
        return '"scores" must be an object of option to number'
    scores: dict[str, float] = {}
    warnings: list[str] = []
    for name, value in raw.items():
        option, unknown = _choice(name, options)
        number = _number(value)
        if option is None or number is None:
            warnings += unknown or (f"the score of {name[:80]!r} is not a finite number",)
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
    criteria_list = criteria if isinstance(criteria, list) else []
    return Parsed(
        goal=text_in(fields["goal"]),
        strategy=text_in(fields.get("strategy")),
        success_criteria=texts_in(criteria_list),
    )


_READERS: dict[AnswerKind, Callable[[JsonObject, _SpellingTables | None, int], Parsed | str]] = {
    "position": _position,
    "ballot": lambda fields, options, _scale: _ballot(fields, options),
    "ranking": lambda fields, options, _scale: _ranking(fields, options),
    "approval": lambda fields, options, _scale: _approval(fields, options),
    "scores": lambda fields, options, _scale: _scores(fields, options),
    "plan": lambda fields, _options, _scale: _plan(fields),
}
