"""Parse a model's text into the requested answer, or into a failure that explains the fault.

The rules, in order:

1. The JSON object with the leading member of the requested kind counts, in any form that has one reading: in fences, as
   the value of `answer`, as the arguments of a call, as a JSON text, with names in capitals or with hyphens. Objects of
   another shape are skipped, and so are other objects within objects.
2. Several such objects that give the same answer count once. If they give different answers, one may be a quotation,
   and the text is a `ParseFailure`. Beside another object, a form that nobody filled in doesn't count, nor does an
   object in lines that begin with `>`.
3. If the text breaks off within that object, the object counts if its leading member is complete (`truncated=True`).
   Half a position never counts as a position.
4. Slips, such as trailing commas or the syntax of Python, are repaired (`repaired=True`). An object whose leading
   member has to be guessed, such as a text without proper quotes, counts only if no other object can be read.
5. Without such an object, prose counts if it states one answer, such as "I'd go with B". So does a ballot in
   another form with one reading, such as "Porto > Lisbon"; see `ballot_texts`.
6. Anything else is a `ParseFailure`. The agent then asks the model once more.

Thoughts before the answer don't count, with any objects and options in them. Thoughts without an end count only if the
text ends with the object: the model forgot the closing tag.

A confidence that is missing or not a finite number becomes 0.5; a confidence outside its scale is moved to the nearest
end of the scale. Both add a warning. Zero stays zero.

A short member of a position, such as the choice or the bottom line, does not count if it is cut off, or given twice
with different values. A leading member with such a fault is a `ParseFailure`, and so is a list of a vote that had to be
guessed and has parts that cannot be read. Scores of which one is off the scale of the vote are a `ParseFailure` too:
without that score, the ballot could put another option first.

The choice is the option that `roundtable.reading` reads with certainty: by its text or by its label, apart from letter
case, brackets, quotes and spaces, unless these tell options apart. An answer that is not read has no choice.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from roundtable.core.base.scale import scale_problem
from roundtable.core.base.strict_json import is_too_deep
from roundtable.core.base.text import well_formed
from roundtable.core.types.answers import AnswerKind, Reading
from roundtable.core.types.debate import ASSUMED_CONFIDENCE
from roundtable.parsing.ballot_notes import has_reversed_order
from roundtable.parsing.ballot_texts import OtherBallot, VoteList, ballot_in_member, ballot_in_text, has_notes
from roundtable.parsing.claims import ParsedClaim, parse_claims
from roundtable.parsing.comparisons import parse_comparisons
from roundtable.parsing.confidence import DEFAULT_CONFIDENCE, loose_confidence, stated_confidence
from roundtable.parsing.examples import without_examples
from roundtable.parsing.forms import LEADING_MEMBER, SeveralAnswers, find_answer, is_answer_text
from roundtable.parsing.json_in_text import MAX_CHARS, Document, is_json_like
from roundtable.parsing.members import DECORATION, stance_in, text_in, text_or_number, texts_in
from roundtable.parsing.numerals import finite_number
from roundtable.parsing.other_json import is_taken_back, notes_in, only_text, read_cut_choice, read_other_json
from roundtable.reading import Asked, read_answer, without_thoughts
from roundtable.reading.abstentions import ABSTAIN
from roundtable.reading.folding import without_control_marks
from roundtable.reading.form_texts import says_nothing
from roundtable.reading.parts import read_parts
from roundtable.reading.sites import sentence_end, sentence_start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.types.answers import Stance
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.reading.parts import Part

__all__ = ["ParseFailure", "Parsed", "parse_answer", "parse_prose", "with_reading"]

_UNCHANGED: Final = frozenset({"whole", "form"})
"""Rules that take a part of the form as it is."""
_MOST_GROUPS: Final = 50
_LONG_LINE: Final = 300
_NO_ANSWER_AFTER_THOUGHTS = "there were thoughts and no answer behind them"
_VOTE_LISTS: Final[dict[AnswerKind, VoteList]] = {"ranking": "ranking", "approval": "approval", "scores": "scores"}
_NOTHING: Final = re.compile(r"\W*(?:null\W*)?", re.IGNORECASE)
_OTHER_FORM: Final = "the ballot is not in the form, but can be read in one way"
_SAYS_MORE: Final = "a part of the ballot says more than an option"
_NO_OBJECT: Final = 'no JSON object with "{}" was found'
_GUESSED_MEMBERS: Final = frozenset({"bottom_line", "choice"})
_SHORT_MEMBERS: Final = _GUESSED_MEMBERS | {"confidence", "stance"}
_TEXTS: Final = frozenset({"position", "bottom_line", "choice", "reasoning"})
_MOST_ENTRIES: Final = 20
"""Entries of a ballot for each option of the question."""
_UNREAD_VOTE: Final = Reading(certainty="unread", rule="none", place="choice")
_UNREAD_POSITION: Final = Reading(certainty="unread", rule="none")
# The start of an answer object, complete or not.
_ANSWER_START = re.compile(r"\{\s*+[\"'\u201c]?(?:position|reasoning)\b")
_POSITION_MEMBER: Final = re.compile(r"position\\*[\"'\u201d]?\s*+:")
_CLAIMS_MEMBER = re.compile(r",\s*+\"claims\"\s*+:")
_OTHER_MEMBER = re.compile(r"[\"'](?:position|reasoning|confidence|stance|choice|bottom_line|compared)[\"']\s*+:")

_SEVERAL_ANSWERS: Final = (
    'there are several JSON objects with "{}", and their answers differ; give only one object, your own final answer'
)
_CUT_COMPARISON: Final = "the comparison with earlier answers is cut off; only what comes before its last entry counts"


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
    reading: Reading | None = None
    """What was read in the text, if it is not in the form; its reading is not certain."""
    asks: Literal["form", "option", "line"] = "form"
    """What to ask for once more: the whole form, the option alone, or the answer alone."""
    words: str = ""
    """What to show of an answer that only has reasons."""
    is_invalid: bool = False
    """Whether the answer was read, and is invalid as a whole: a score is off the scale of the vote."""


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
    reading: Reading | None = field(default=None, compare=False)
    parts: Mapping[Part, str] = field(default_factory=dict, compare=False)
    prose: bool = field(default=False, compare=False)
    truncated: bool = False
    repaired: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The answer that was asked for; see the arguments of `parse_answer`."""

    kind: AnswerKind
    asked: Asked | None
    motions: bool
    scale: tuple[float | None, float | None]

    @property
    def member(self) -> str:
        """Name of the leading member."""
        return LEADING_MEMBER[self.kind]


def parse_answer(
    text: str,
    kind: AnswerKind = "position",
    *,
    confidence_scale: int = 1,
    options: Sequence[str] | None = None,
    motions: bool = False,
    claims: bool = False,
    scale: tuple[float | None, float | None] = (None, None),
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
        scale: Lowest and highest score of the vote; `None` for no limit.

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
    wanted = _Wanted(kind, None if options is None else Asked("choice", tuple(options)), motions, scale)
    parsed = _parse_shown(without_examples(text), wanted, too_long, confidence_scale, claims=claims)
    return replace(parsed, text=text) if isinstance(parsed, ParseFailure) else parsed


def _parse_shown(
    text: str, wanted: _Wanted, too_long: tuple[str, ...], confidence_scale: int, *, claims: bool
) -> Parsed | ParseFailure:
    """Parse a text without the objects that it only shows as examples."""
    kind = wanted.kind
    document = find_answer(text, kind) or (_find_before_claims(text, kind) if claims else None)
    if document is None:
        return _parse_without_object(text, wanted, too_long, confidence_scale)
    if isinstance(document, SeveralAnswers):
        vote = _parse_without_object(text, wanted, too_long, confidence_scale) if kind in _VOTE_LISTS else None
        if isinstance(vote, Parsed):
            return vote  # one list, whose entries are objects
        several = Reading(certainty="unread", rule="several")
        return ParseFailure(_SEVERAL_ANSWERS.format(wanted.member), text, document.span, reading=several)
    if problem := _member_problem(document, kind):
        return _unread_member(problem, text, document.span, wanted)
    fields, uncounted = _countable_fields(document)
    parsed = _read_form(fields, wanted, confidence_scale)
    has_faults = parsed == _SAYS_MORE if isinstance(parsed, str) else parsed.warnings
    if kind in _VOTE_LISTS and has_faults and document.guessed:
        parsed = f'the JSON is not valid, and a part of "{wanted.member}" cannot be read'
    if isinstance(parsed, str):
        return _invalid(parsed, text, document.span, fields, wanted)
    if wanted.motions:
        parsed = _with_groups(parsed, fields.get("same"), wanted.asked)
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
    if not (warnings or truncated or document.repaired or document.partial):
        return parsed
    return replace(
        parsed,
        compared=compared,
        value=None if "value" in document.partial else parsed.value,
        truncated=truncated,
        repaired=parsed.repaired or document.repaired,
        warnings=warnings,
    )


def _read_form(fields: JsonObject, wanted: _Wanted, confidence_scale: int) -> Parsed | str:
    """Return the answer of an object, or why it is none; a ballot may be in another form that has one reading."""
    if wanted.kind not in _VOTE_LISTS:
        return _READERS[wanted.kind](fields, wanted.asked, confidence_scale)
    entries = fields[wanted.member]
    if isinstance(entries, list | dict) and wanted.asked is not None and _is_too_long(entries, wanted.asked):
        return f'"{wanted.member}" has many more entries than there are options'
    parsed = _read_vote(fields, wanted)
    is_noted = wanted.asked is not None and has_notes(fields[wanted.member], wanted.asked)
    is_clear = not isinstance(parsed, str) and not parsed.warnings
    if wanted.kind == "ranking" and any(
        isinstance(item, str) and has_reversed_order(item) for name, item in fields.items() if name != wanted.member
    ):
        return '"ranking" must be best first'
    if (is_clear and not is_noted) or isinstance(parsed, _OffScale) or wanted.asked is None:
        return parsed
    other = ballot_in_member(fields, _VOTE_LISTS[wanted.kind], wanted.asked, wanted.scale[1])
    if other is None:
        return _SAYS_MORE if is_noted else parsed
    return _other_vote(other, wanted)


def _is_too_long(entries: Sequence[JsonValue] | Mapping[str, JsonValue], asked: Asked) -> bool:
    """Check whether a ballot has so many entries that reading them all would take long, also in lists inside."""
    items = entries if isinstance(entries, list) else ()
    number = len(entries) + sum(len(item) for item in items if isinstance(item, list | dict))
    return number > _MOST_ENTRIES * (len(asked.options) + 1)


def _read_vote(fields: JsonObject, wanted: _Wanted) -> Parsed | str:
    """Return a ballot in the form that was asked for, or why it is none."""
    value = fields[wanted.member]
    if wanted.motions and value in ([], {}, None) and wanted.kind != "approval":
        return Parsed(reasoning=text_in(fields.get("reasoning")))  # an abstention
    problem = _scale_problem(value, wanted.asked, wanted.scale) if isinstance(value, dict) else ""
    return problem or _READERS[wanted.kind](fields, wanted.asked, 1)


def _other_vote(other: OtherBallot, wanted: _Wanted) -> Parsed | str:
    """Return a ballot that was in another form, or why it is none."""
    if other.reading.value == ABSTAIN:
        parsed: Parsed | str = Parsed(reasoning=text_in(other.fields.get("reasoning")))
    else:
        parsed = _read_vote(other.fields, wanted)
    if isinstance(parsed, str):
        return parsed
    return replace(parsed, reading=other.reading, repaired=True, warnings=(*parsed.warnings, _OTHER_FORM))


def _vote_in_text(answer: str, text: str, wanted: _Wanted, too_long: tuple[str, ...]) -> Parsed | ParseFailure:
    """Return the ballot in a text without an object of the form.

    Args:
        answer: The text without thoughts.
        text: The text.
        wanted: What the ballot is.
        too_long: A warning, if the text was cut.
    """
    asked = wanted.asked or Asked()
    other = ballot_in_text(answer, _VOTE_LISTS[wanted.kind], asked, wanted.scale[1]) if not too_long else None
    if other is None:
        reading = None if _NOTHING.fullmatch(answer) else _UNREAD_VOTE
        return ParseFailure(_NO_OBJECT.format(wanted.member), text, reading=reading)
    parsed = _other_vote(other, wanted)
    if isinstance(parsed, str):
        return _invalid(parsed, text, (0, len(text)), other.fields, wanted)
    parsed = _with_groups(parsed, other.fields.get("same"), wanted.asked) if wanted.motions else parsed
    return replace(parsed, prose=True)


def _invalid(reason: str, text: str, span: tuple[int, int], fields: JsonObject, wanted: _Wanted) -> ParseFailure:
    """Return why an answer in the form is not one.

    A ballot was given all the same, and could not be read, unless it has a score off its scale. So was a position that
    only has reasons.
    """
    is_off_scale = isinstance(reason, _OffScale)
    options = wanted.asked.options if wanted.asked is not None and wanted.motions else ()
    if options and all(len(option) == 1 for option in options):
        reason = f"{reason}; the letters of the motions are {', '.join(options)}"
    if wanted.kind in _VOTE_LISTS:
        return ParseFailure(reason, text, span, reading=None if is_off_scale else _UNREAD_VOTE, is_invalid=is_off_scale)
    if wanted.kind == "ballot":
        return ParseFailure(reason, text, span, reading=_UNREAD_VOTE, asks="form" if wanted.motions else "option")
    reasons = text_in(fields.get("reasoning")) if wanted.kind == "position" else ""
    reasons = "" if says_nothing(reasons) else reasons
    return ParseFailure(reason, text, span, reading=_UNREAD_POSITION if reasons else None, words=reasons)


def _unread_member(problem: str, text: str, span: tuple[int, int], wanted: _Wanted) -> ParseFailure:
    """Return the failure of a leading member that cannot be read; a choice beside it was given all the same."""
    if wanted.kind == "position" and wanted.asked is not None:
        cut = read_cut_choice(text, wanted.asked)
        if cut is not None:
            return ParseFailure(problem, text, span, reading=cut, asks="option")
    return ParseFailure(problem, text, span, reading=_UNREAD_VOTE if wanted.kind in _VOTE_LISTS else None)


def _member_problem(document: Document, kind: AnswerKind) -> str:
    """Return why the leading member of an answer cannot be read; empty if it can."""
    member = LEADING_MEMBER[kind]
    if member in document.partial:
        return f'"{member}" is cut off or not quoted properly'
    if member in document.contradicted:
        return f'"{member}" is given twice, with different values'
    if kind == "position" and is_answer_text(document.fields[member]):
        return f'"{member}" holds JSON that cannot be read'
    if kind in {"position", "plan"}:
        return ""
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


def _find_before_claims(text: str, kind: AnswerKind) -> Document | SeveralAnswers | None:
    """Return the object of an answer without its claims, if they come last and only they make it unreadable."""
    members = [*_CLAIMS_MEMBER.finditer(text)]
    if not members or _OTHER_MEMBER.search(text, members[-1].end()):
        return None
    end = members[-1].start()
    document = find_answer(f"{text[:end]}}}", kind)
    if not isinstance(document, Document):
        return document
    if document.truncated or document.span[1] <= end:
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


def _parse_without_object(text: str, wanted: _Wanted, too_long: tuple[str, ...], scale: int) -> Parsed | ParseFailure:
    """Parse a text that is not in the form, if it can be read in one way only; then the model is not asked again."""
    answer = without_control_marks(without_thoughts(text)).strip()
    if not answer:
        return ParseFailure(_NO_ANSWER_AFTER_THOUGHTS, text)
    kind = wanted.kind
    if kind in _VOTE_LISTS:
        return _vote_in_text(answer, text, wanted, too_long)
    is_readable = kind == "position" or (kind == "ballot" and wanted.asked is not None)
    reading = _read_unformed(answer, wanted.asked or Asked()) if is_readable else None
    if reading is None or reading.certainty != "certain" or reading.rule in _UNCHANGED:
        if reading is not None and wanted.asked is not None:
            return ParseFailure("it is not clear which option it chooses", text, reading=reading, asks="option")
        return ParseFailure(_NO_OBJECT.format(wanted.member), text, reading=reading)
    if kind == "ballot":
        choice = None if reading.value == ABSTAIN else reading.value
        around = "" if _is_alone(answer, reading) else answer
        return Parsed(
            choice=choice,
            reasoning=around if _is_prose(answer) else notes_in(answer).reasoning,
            reading=reading,
            repaired=True,
            prose=True,
            warnings=(*too_long, _note(answer, reading)),
        )
    if not _is_prose(answer):
        return _other_json_parsed(answer, reading, wanted.asked, scale, too_long)
    parsed = _prose_parsed(answer, reading, wanted.asked, (*too_long, _note(answer, reading)))
    if reading.rule != "option" and reading.value != ABSTAIN:
        return parsed
    return replace(parsed, position=reading.value or "", reasoning="" if _is_alone(answer, reading) else answer)


def _note(answer: str, reading: Reading) -> str:
    """Return the warning about an answer that is not in the form."""
    if not _is_prose(answer):
        return "the answer was JSON in another form"
    is_option = reading.rule == "option" and _is_alone(answer, reading)
    return "the answer was only an option" if is_option else "the answer is not in the form, but can be read in one way"


def _is_alone(answer: str, reading: Reading) -> bool:
    """Check whether a text is the answer that was read, and nothing else."""
    start, end = reading.span or (0, 0)
    return answer.strip(DECORATION) == ABSTAIN or not any(map(str.isalnum, answer[:start] + answer[end:]))


def _other_json_parsed(
    answer: str, reading: Reading, asked: Asked | None, scale: int, too_long: tuple[str, ...]
) -> Parsed:
    """Return a position in JSON of another form, with the reasons and the confidence that stand beside it."""
    notes = notes_in(answer)
    confidence, unsure = loose_confidence(notes.confidence, scale)
    parsed = Parsed(
        position=reading.value or "",
        reasoning=notes.reasoning,
        confidence=confidence,
        repaired=True,
        prose=True,
        warnings=(*too_long, _note(answer, reading), *unsure),
    )
    # The reply is not stored as a whole: what was read in it is.
    placed = reading.model_copy(update={"place": "choice" if asked else "position"})
    return with_reading(parsed, placed, asked.options if asked else None)


def _read_unformed(answer: str, asked: Asked) -> Reading | None:
    """Read the answer in prose, or in JSON of another form; `None` in a text that is neither."""
    if asked.kind == "open" and _NOTHING.fullmatch(answer):
        return None
    if _is_prose(answer):
        return read_answer(answer, asked)
    if not is_json_like(answer) or _POSITION_MEMBER.search(answer):
        return None
    reading = read_other_json(answer, asked, is_named=True)
    if reading.certainty == "certain" or reading.rule == "several":
        return reading
    return read_cut_choice(answer, asked) if asked.kind == "choice" else None


def _is_prose(answer: str) -> bool:
    return any(map(str.isalnum, answer)) and not is_json_like(answer) and not _ANSWER_START.search(answer)


def _prose_parsed(answer: str, reading: Reading, asked: Asked | None, warnings: tuple[str, ...]) -> Parsed:
    """Return a position in prose: the sentence in which the answer was read, else the whole text."""
    sentence = _sentence(answer, reading.span) if reading.span is not None else answer
    parsed = _as_prose(sentence, warnings, "" if sentence == answer else answer)
    return with_reading(parsed, reading, asked.options if asked else None)


def _as_prose(position: str, warnings: tuple[str, ...], reasoning: str = "") -> Parsed:
    notes = (*warnings, ASSUMED_CONFIDENCE)
    return Parsed(position=position, reasoning=reasoning, repaired=True, prose=True, warnings=notes)


def _sentence(text: str, span: tuple[int, int]) -> str:
    """Return the line in which an answer was read or, of a long line, the sentence."""
    begin, end = text.rfind("\n", 0, span[0]) + 1, text.find("\n", span[1])
    end = len(text) if end < 0 else end
    if end - begin > _LONG_LINE:
        begin = max(sentence_start(text, span[0], begin), begin)
        end = min(end, sentence_end(text, span[1], end) + 1)
    return text[begin:end].strip()


def parse_prose(text: str, options: Sequence[str] | None = None, *, confidence_scale: int = 1) -> Parsed | ParseFailure:
    """Return an answer that is plain prose: the last resort after the model was asked twice.

    The position is the whole text, or the sentence in which the answer was read for certain. A block of thoughts in
    tags before the answer is left out. A text that resembles JSON does not count as prose, nor does a text without a
    letter or digit.

    Args:
        text: What the model wrote.
        options: Options to choose from.
        confidence_scale: Upper end of the requested confidence scale, 1 or 100.
    """
    text, too_long = _readable(text)
    prose = without_control_marks(without_thoughts(text)).strip()
    if not prose and text.strip():
        return ParseFailure(_NO_ANSWER_AFTER_THOUGHTS, text)
    asked = None if options is None else Asked("choice", tuple(options))
    reading = _read_unformed(without_examples(prose), asked or Asked())
    if reading is None:
        return ParseFailure("neither the JSON asked for nor plain prose", text)
    is_prose = _is_prose(prose)
    if not is_prose and reading.certainty == "certain":
        return _other_json_parsed(prose, reading, asked, confidence_scale, too_long)
    warnings = (*too_long, "the answer was prose, which is used unchanged" if is_prose else _note(prose, reading))
    if reading.certainty == "certain" and reading.rule not in _UNCHANGED:
        return replace(_prose_parsed(prose, reading, asked, warnings), truncated=bool(too_long))
    parsed = replace(_as_prose(prose, warnings), truncated=is_prose and bool(too_long))
    return with_reading(parsed, reading, asked.options if asked else None)


def _readable(text: str) -> tuple[str, tuple[str, ...]]:
    if len(text) <= MAX_CHARS:
        return well_formed(text), ()
    return well_formed(text[:MAX_CHARS]), (f"only the first {MAX_CHARS:,} characters of the answer were read",)


def _position(fields: JsonObject, asked: Asked | None, scale: int) -> Parsed | str:
    options = () if asked is None else asked.options
    fields = {name: None if name in _TEXTS and _is_blank(value, options) else value for name, value in fields.items()}
    stated = (only_text(fields.get("position")), text_or_number(fields.get("bottom_line")))
    position = next(filter(None, (*stated, _chosen_text(fields.get("choice")) if asked else "")), "")
    if not position:
        return 'the JSON object has no text in "position"'
    confidence, warnings = stated_confidence(fields, scale)
    bottom_line, unusable = _bottom_line(fields.get("bottom_line"))
    compared, dropped = parse_comparisons(fields.get("compared"))
    parts: dict[Part, str] = {"position": stated[0]} if stated[0] else {}
    if bottom_line is not None:
        parts["bottom_line"] = bottom_line
    if (stance := stance_in(fields.get("stance"))) is not None:
        parts["stance"] = stance
    if asked is not None and (chosen := _chosen_text(fields.get("choice"))):
        parts["choice"] = chosen
    reading = read_parts(asked or Asked(), parts)
    parsed = Parsed(
        position=position,
        reasoning=text_in(fields.get("reasoning")),
        confidence=confidence,
        stance=stance,
        bottom_line=bottom_line,
        compared=compared,
        value=_value(fields.get("value")),
        warnings=warnings + unusable + dropped,
        parts=parts,
    )
    return with_reading(parsed, reading, asked.options if asked else None)


def _is_blank(value: JsonValue, options: Sequence[str]) -> bool:
    """Check whether a text of a form says nothing and names no option; the words of the form are never an answer."""
    return isinstance(value, str) and says_nothing(value) and value.strip() not in options


def _chosen_text(value: JsonValue) -> str:
    """Return a choice as text: of a list of one, its item; of other lists, all items, so that it stays unread."""
    if isinstance(value, list):
        return ", ".join(map(text_or_number, value))
    return text_or_number(value)


def with_reading(parsed: Parsed, reading: Reading, options: Sequence[str] | None) -> Parsed:
    """Add what was read: the option, the bottom line, or an abstention; only a certain reading counts.

    Args:
        parsed: The answer.
        reading: What was read in it.
        options: Options to choose from.
    """
    value = reading.value if reading.certainty == "certain" else None
    if value == ABSTAIN:
        return replace(parsed, reading=reading, choice=None, bottom_line=ABSTAIN)
    if not options:
        if reading.certainty != "certain":
            return replace(parsed, reading=reading, bottom_line=None)
        is_line = reading.place == "bottom_line" and reading.rule not in {"answer", "hashes"}
        is_taken = reading.asked_again or reading.source is not None
        is_stated = value is not None and (is_taken or (reading.rule not in _UNCHANGED and not is_line))
        return replace(parsed, reading=reading, bottom_line=value if is_stated else parsed.bottom_line)
    if value is None:
        return replace(
            parsed, reading=reading, choice=None, warnings=(*parsed.warnings, _unread_words(parsed, reading))
        )
    is_position = reading.place == "position" and reading.rule == "option"
    taken = ("the position was taken for the choice",) if is_position else ()
    # What was said about an earlier reading, before it was looked up or asked for once more, is true no longer.
    earlier = parsed.reading and _unread_words(parsed, parsed.reading)
    warnings = tuple(warning for warning in parsed.warnings if warning != earlier)
    return replace(parsed, reading=reading, choice=value, warnings=warnings + taken)


def _unread_words(parsed: Parsed, reading: Reading) -> str:
    """Return why no option counts as chosen."""
    if reading.certainty == "likely" or len(reading.candidates) > 1:
        return "the answer names several options, so none counts as chosen"
    if chosen := parsed.parts.get("choice"):
        return f"the choice {chosen[:80]!r} is none of the options"
    return "no option was chosen"


def _bottom_line(value: JsonValue) -> tuple[str | None, tuple[str, ...]]:
    """Return the short answer in full, or a warning that it is not a text."""
    line = " ".join(text_or_number(value).split())
    if line:
        return line, ()
    return None, () if value is None or value == "" else ("the bottom line is not a text and does not count",)


def _choice(value: JsonValue, asked: Asked | None) -> tuple[str | None, tuple[str, ...]]:
    """Find the chosen option; if there is none, return a warning with the reason."""
    choice = _chosen_text(value)
    if not choice:
        return None, ("no option was chosen",)
    if asked is None:
        return choice, ()
    reading = read_answer(choice, asked)
    if reading.certainty == "certain" and reading.value in asked.options:
        return reading.value, ()
    return None, (f"the choice {choice[:80]!r} is none of the options",)


def _ballot(fields: JsonObject, options: Asked | None) -> Parsed | str:
    vote = fields["choice"]
    choice, _ = _choice(vote, options)
    if choice is None and vote is not None:
        return '"choice" is none of the options; give null to abstain'
    if choice is not None and options is not None and is_taken_back(fields, choice, options):
        return 'another member of the JSON object takes back the "choice"'
    return Parsed(choice=choice, reasoning=text_in(fields.get("reasoning")))


def _ranking(fields: JsonObject, options: Asked | None) -> Parsed | str:
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


def _with_groups(parsed: Parsed, value: JsonValue, options: Asked | None) -> Parsed:
    """Add the groups of motions that say the same; if a motion is named twice, the first mention counts."""
    if not isinstance(value, list):
        unread = () if value is None else ("the groups of motions that say the same are not a list; they do not count",)
        return replace(parsed, warnings=parsed.warnings + unread)
    if not any(isinstance(item, list) for item in value):
        value = [value]  # one group, written without its own brackets
    groups: list[tuple[str, ...]] = []
    warnings: list[str] = []
    seen: set[str] = set()
    for item in value[:_MOST_GROUPS]:
        names = item if isinstance(item, list) else [item]
        group, unusable = _once(names[:_MOST_GROUPS], options, seen, "is in two groups; the first counts")
        warnings += unusable
        if len(group) > 1:
            groups.append(group)
    return replace(parsed, same=tuple(groups), warnings=(*parsed.warnings, *warnings))


def _once(
    names: Sequence[JsonValue], options: Asked | None, seen: set[str], repeated: str
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


def _approval(fields: JsonObject, options: Asked | None) -> Parsed | str:
    raw, reasoning = fields["approved"], text_in(fields.get("reasoning"))
    if raw is None:
        return Parsed(reasoning=reasoning)
    if not isinstance(raw, list):
        return '"approved" must be a list of options; give null to abstain'
    approved, warnings = _once(raw, options, set(), "is approved twice")
    if raw and not approved:
        return '"approved" names no option; give null to abstain'
    return Parsed(approved=approved, reasoning=reasoning, warnings=tuple(warnings))


def _scores(fields: JsonObject, options: Asked | None) -> Parsed | str:
    raw = fields["scores"]
    if not isinstance(raw, dict):
        return '"scores" must be an object of option to number'
    scores: dict[str, float] = {}
    warnings: list[str] = []
    for name, value in raw.items():
        option, unknown = _choice(name, options)
        number = finite_number(value)
        if option is None or number is None:
            warnings += unknown or (f"the score of {name[:80]!r} is not a finite number",)
        elif scores.get(option, number) != number:
            return '"scores" gives two different values to one option'
        elif option in scores:
            warnings.append(f"{option[:80]!r} is scored twice; its first score counts")
        else:
            scores[option] = number
    if not scores:
        return '"scores" holds no usable score'
    reasoning = text_in(fields.get("reasoning"))
    return Parsed(scores=tuple(scores.items()), reasoning=reasoning, warnings=tuple(warnings))


class _OffScale(str):
    """Why scores are invalid as a whole: one of them is off the scale."""

    __slots__ = ()


def _scale_problem(values: JsonObject, options: Asked | None, scale: tuple[float | None, float | None]) -> str:
    """Return the reason why scores are invalid as a whole; empty if there is none."""
    if scale == (None, None):
        return ""
    given = [finite_number(value) for name, value in values.items() if value is not None and _choice(name, options)[0]]
    problem = scale_problem(given, *scale)
    return _OffScale(problem) if problem and None not in given else problem


def _plan(fields: JsonObject) -> Parsed | str:
    if says_nothing(text_in(fields["goal"])):
        return 'the JSON object has no text in "goal"'
    criteria = fields.get("successCriteria")
    criteria_list = criteria if isinstance(criteria, list) else []
    return Parsed(
        goal=text_in(fields["goal"]),
        strategy=text_in(fields.get("strategy")),
        success_criteria=texts_in(criteria_list),
    )


_READERS: dict[AnswerKind, Callable[[JsonObject, Asked | None, int], Parsed | str]] = {
    "position": _position,
    "ballot": lambda fields, options, _scale: _ballot(fields, options),
    "ranking": lambda fields, options, _scale: _ranking(fields, options),
    "approval": lambda fields, options, _scale: _approval(fields, options),
    "scores": lambda fields, options, _scale: _scores(fields, options),
    "plan": lambda fields, _options, _scale: _plan(fields),
}
