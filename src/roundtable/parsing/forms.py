"""Find the answer object in a text, whatever form a model, or its server, put around it.

An object counts by what it says, not by how it is spelt: the names of its members may have capitals, hyphens, spaces or
underscores, and the object may be the value of `answer`, the arguments of a call, or a JSON text within a JSON text.
Each form is opened only if it has one reading.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from roundtable.core.base.text import well_formed
from roundtable.parsing.formulas import restore_commands
from roundtable.parsing.json_in_text import (
    MAX_CHARS,
    MAX_OBJECTS,
    MAX_REPAIRS,
    Document,
    RepairBudget,
    ends_with,
    guess_object,
    literal_span,
    outermost,
    parse_object,
    parse_slips,
    unsure_members,
)
from roundtable.parsing.lines_form import form_in_lines
from roundtable.parsing.slips import unescaped
from roundtable.reading.form_texts import says_nothing
from roundtable.reading.thoughts import answer_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from roundtable.core.types.answers import AnswerKind
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["LEADING_MEMBER", "SeveralAnswers", "find_answer", "holds_form", "is_answer_text"]

LEADING_MEMBER: Final[dict[AnswerKind, str]] = {
    "position": "position",
    "ballot": "choice",
    "ranking": "ranking",
    "approval": "approved",
    "scores": "scores",
    "plan": "goal",
}
"""For each kind of answer in JSON, the member that an object needs in order to be that answer."""
_MEMBERS: Final[dict[AnswerKind, tuple[str, ...]]] = {
    "position": (
        *("position", "reasoning", "confidence", "stance", "choice", "bottom_line", "compared", "claims", "value"),
    ),
    "ballot": ("choice", "reasoning", "same"),
    "ranking": ("ranking", "reasoning", "same"),
    "approval": ("approved", "reasoning", "same"),
    "scores": ("scores", "reasoning", "same"),
    "plan": ("goal", "strategy", "successCriteria"),
}
_SAID: Final = frozenset(
    {"position", "choice", "bottom_line", "stance", "value", "same", "goal", "strategy"}
) | frozenset(LEADING_MEMBER.values())
"""Members that say what the answer is; two objects that differ only in the others give the same answer."""
_ONE_LINE: Final = frozenset({"choice", "bottom_line", "ranking", "approved", "scores", "same"})
_WRAPPERS: Final = frozenset(
    {"answer", "finalanswer", "response", "finalresponse", "result", "output", "json", "data", "message", "content"}
    | {"text", "arguments", "args", "parameters", "input", "function", "functioncall", "toolcall", "toolcalls"}
    | {"properties", "vote", "ballot", "plan"}
)
"""Folded names of members whose value may be the answer."""
_SCHEMA_WORDS: Final = frozenset({"type", "description", "enum", "anyOf", "$ref"})
_MOST_LEVELS: Final = 3
_MOST_DOCUMENTS: Final = 256
_MOST_TEXTS: Final = 32
_MOST_PLACEHOLDER_CHARS: Final = 200
_MOST_ITEMS: Final = 16
_MOST_NAME_CHARS: Final = 40
_JOINTS: Final = re.compile(r"[\s_-]+")
# The start of an object in a JSON text, whose quotes are escaped.
_ESCAPED_START: Final = re.compile(r"\{(?:\s|\\++[nrt])*+\\++\"")
_ESCAPED_TEXT: Final = re.compile(r"(?:[^\"\\]|\\.)*+", re.DOTALL)
_JSON_TEXT: Final = re.compile(r"\s*+(?:```\w*+\s*+)?[\[\"\\\s]*+\{")
_AROUND: Final = re.compile(r"(?:```(?:json)?|[\s\"\\,\[\]])*+", re.IGNORECASE)
_QUOTED: Final = re.compile(r"[ \t]{0,8}>")
_QUOTE_MARK: Final = re.compile(r"^[ \t]{0,8}>[ \t]?", re.MULTILINE)
_ALL_QUOTED: Final = re.compile(r"(?:[ \t]{0,8}>[^\n]*+(?:\n|\Z)|[ \t\r]*+\n)++")
_NOUNS: Final = (
    r"(?:answer|position|choice|option|reasoning|reasons?|goal|strategy|text|string|str|number|value|bottom[ _]line)"
)
_PLACEHOLDER: Final = re.compile(
    rf"|[.\u2026]{{2,}}|\u2026|_{{2,}}|-{{2,}}|\?{{2,}}|<(?:[^<>]*[\s|-][^<>]*|{_NOUNS})>|[\[{{](?:(?:your|the|insert|enter)\b[^\[\]{{}}]*|{_NOUNS})[\]}}]"
    rf"|(?:your )?{_NOUNS}(?: here)?",
    re.IGNORECASE,
)
_ANSWER_TEXT: Final = re.compile(
    r"[\s`\"\\]*+(?:json\s++)?\{[\s\\nrt]*+[\"'\u201c]?(?:position|reasoning)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SeveralAnswers:
    """Several objects of a text, which give different answers."""

    span: tuple[int, int]
    """Start and end of the last object in the text."""


def find_answer(text: str, kind: AnswerKind) -> Document | SeveralAnswers | None:
    r"""Return the object that answers, with the members of its kind under their own names.

    If several objects give the same answer, the last whole one counts. An empty form, such as a repeated example, does
    not count beside a filled one, nor does an object in lines that begin with `>` beside one outside of them.

    Objects in thoughts before the answer are drafts and don't count. If the thoughts have no end, an object counts only
    if the text ends with it.

    Args:
        text: The model's text, which may have code fences and prose around the object.
        kind: The requested kind of answer, not `text`.

    Example:
        >>> document = find_answer('Sure! {"answer": {"Bottom-Line": "Tea", "Position": "Tea keeps."}}', "position")
        >>> document.fields
        {'bottom_line': 'Tea', 'position': 'Tea keeps.'}
        >>> find_answer('{"position": "Tea"} {"position": "Milk"}', "position")
        SeveralAnswers(span=(20, 40))
    """
    text = well_formed(text[:MAX_CHARS])
    start = answer_start(text)
    search = _Search(kind)
    documents = search.documents(text, start or 0)
    if not documents and _ALL_QUOTED.fullmatch(text):
        documents = search.documents(_QUOTE_MARK.sub("", text), 0)
    if not documents and kind == "position" and start is not None and (fields := form_in_lines(text[start:])):
        return Document(fields, frozenset(), repaired=True, truncated=False, span=(start, len(text)))
    if start is None:
        last = documents[-1] if documents else None
        return last if last is not None and ends_with(text, last) else None
    return search.only_answer([item for item in documents if not _is_quoted(text, item.span[0])] or documents)


def is_answer_text(value: JsonValue) -> bool:
    r"""Check whether a text begins like an answer object, so that it is not an answer in words.

    Example:
        >>> is_answer_text('{\\"position\\": '), is_answer_text("{x} is my position")
        (True, False)
    """
    return isinstance(value, str) and _ANSWER_TEXT.match(value) is not None


def holds_form(fields: JsonObject, kind: AnswerKind) -> bool:
    """Check whether an object has the members of a form and no others, with one that says what the answer is.

    Example:
        >>> holds_form({"Choice": "B", "reasoning": "It is near."}, "position"), holds_form({"city": "B"}, "position")
        (True, False)
    """
    if kind not in _MEMBERS:
        return False
    names = {_folded(name) for name in fields}
    answers = {"position", "choice", "bottomline"} if kind == "position" else {LEADING_MEMBER[kind]}
    return names <= {_folded(name) for name in _MEMBERS[kind]} and not names.isdisjoint(answers)


def _folded(name: str) -> str:
    """Return a name without what spellings differ in: case, hyphens, spaces, underscores."""
    return _JOINTS.sub("", name).casefold() if len(name) <= _MOST_NAME_CHARS else name


@cache
def _names_of(kind: AnswerKind) -> Mapping[str, str]:
    """Return the members of a kind of answer by their names without what spellings differ in."""
    return {_folded(name): name for name in _MEMBERS[kind]}


class _Search:
    """The search for one kind of answer in one text; it holds what the repair of slips may still cost."""

    def __init__(self, kind: AnswerKind) -> None:
        self._leading = LEADING_MEMBER[kind]
        self._is_vote = kind not in {"position", "plan"}
        self._names = _names_of(kind)
        self._exact, self._guesses = RepairBudget(), RepairBudget()
        self._left = _MOST_DOCUMENTS

    def documents(self, text: str, at: int, level: int = 0) -> list[Document]:
        """Return the objects of the kind in a text from an index on, in order.

        Args:
            text: The text.
            at: Where the search begins.
            level: Number of objects and texts that were opened around this text.
        """
        if level > _MOST_LEVELS:
            return []
        spans, tail = outermost(text, at)
        found: list[Document] = []
        broken: list[tuple[int, int]] = []
        for span in reversed(spans):
            raw = _without_quote_marks(text, span)
            document = parse_object(raw, span)
            if document is None:
                broken.append(span)
            else:
                found += self._opened(document, raw, level)
        self._add_repaired(found, text, broken, level)
        found += self._escaped(text, at, [*spans, *([tail.span] if tail else [])], level)
        found.sort(key=lambda item: item.span)
        return [*found, *(self._opened(tail, text[tail.span[0] :], level) if tail else ())]

    def only_answer(self, documents: list[Document]) -> Document | SeveralAnswers | None:
        """Return the one that counts of several objects; `SeveralAnswers` if they differ in what they answer."""
        documents = [item for item in documents if not self._is_blank(item.fields)] or documents
        if len(documents) < 2:
            return documents[0] if documents else None
        last = documents[-1]
        if self._leading in last.partial:
            return last
        said: dict[str, set[str]] = {}
        for document in documents:
            for name in _SAID & (document.fields.keys() - document.partial):
                value = document.fields[name]
                if not _is_empty(value) or (self._is_vote and name == self._leading):
                    said.setdefault(name, set()).add(_comparable(value))
        if any(len(values) > 1 for values in said.values()):
            return SeveralAnswers(last.span)
        return next((item for item in reversed(documents) if not item.truncated), last)

    def _add_repaired(self, found: list[Document], text: str, broken: list[tuple[int, int]], level: int) -> None:
        """Add the answers in objects with slips, outside of those that were found.

        Args:
            found: The answers in valid objects.
            text: The text.
            broken: Spans of the objects that are not valid, the last one first.
            level: Number of objects and texts that were opened around the text.
        """
        spans = {part for span in broken for part in (span, literal_span(text, span[0])) if part is not None}
        last = sorted(part for part in spans if self._leading in text[slice(*part)].casefold())[-MAX_REPAIRS:]
        for parse, budget in ((parse_slips, self._exact), (guess_object, self._guesses)):
            is_guess, certain = parse is guess_object, bool(found)
            for part in sorted(last, key=lambda part: (part[0], -part[1]), reverse=is_guess):
                around = [item for item in found if _overlaps(part, [item.span])]
                if around if is_guess else any(item.span[0] <= part[0] for item in around):
                    continue
                raw = _without_quote_marks(text, part)
                document = parse(raw, part, budget)
                opened = [] if document is None else self._opened(document, raw, level)
                if opened and not is_guess:
                    # What looked like an object within the texts of this one is part of it.
                    found[:] = [item for item in found if item not in around]
                # Beside an object that can be read, a guess counts for nothing.
                found += [item for item in opened if not certain or self._leading not in item.partial]

    def _escaped(self, text: str, at: int, spans: list[tuple[int, int]], level: int) -> list[Document]:
        """Return the objects in texts within a text: those whose quotes are escaped."""
        found: list[Document] = []
        for start, end in _escaped_texts(text, at, spans)[-_MOST_TEXTS:]:
            is_quoted = text.startswith('"', end) and (level > 0 or text[start - 1 : start] == '"')
            found += [
                replace(item, span=(start, end), repaired=item.repaired or not is_quoted)
                for item in self.documents(unescaped(text[start:end]), 0, level + 1)
            ]
        return found

    def _opened(self, document: Document, raw: str, level: int) -> list[Document]:
        """Return the answers that an object is, or contains in a member whose value may be an answer."""
        self._left -= 1
        if self._left < 0 or level > _MOST_LEVELS:
            return []
        named = self._named(document)
        if self._leading in named.fields:
            return [self._with_inner(named, raw, level)]
        if "bottom_line" in named.fields and not named.truncated and holds_form(document.fields, "position"):
            return [replace(named, fields={"position": None, **named.fields})] if self._leading == "position" else []
        return [
            opened
            for name, value in document.fields.items()
            if _folded(name) in _WRAPPERS
            for opened in self._unwrapped(document, name, value, raw, level + 1)
        ]

    def _unwrapped(self, document: Document, name: str, value: JsonValue, raw: str, level: int) -> Iterator[Document]:
        """Yield the answers in the value of a member."""
        if isinstance(value, str):
            yield from self._in_text(value, document, name, level)
        for item in value[:_MOST_ITEMS] if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                continue
            for opened in self._opened(_inner(document, item, raw), raw, level):
                leading = opened.fields[self._leading]
                is_schema = isinstance(leading, dict) and not _SCHEMA_WORDS.isdisjoint(leading)
                if not (is_schema and _folded(name) == "properties"):
                    yield opened

    def _in_text(self, value: str, outer: Document, name: str, level: int) -> list[Document]:
        """Return the answers in a text that holds nothing else; broken-off ones only if the text is cut off."""
        if not _JSON_TEXT.match(value):
            return []
        documents = self.documents(value, 0, level)
        ends = [0, *(item.span[1] for item in documents)]
        starts = [*(item.span[0] for item in documents), len(value)]
        if not all(_AROUND.fullmatch(value, end, start) for end, start in zip(ends, starts, strict=True)):
            return []
        if name not in outer.partial and any(item.truncated for item in documents):
            return []
        return [
            replace(
                item,
                repaired=item.repaired or outer.repaired,
                truncated=item.truncated or outer.truncated,
                span=outer.span,
            )
            for item in documents
        ]

    def _named(self, document: Document) -> Document:
        """Return an object whose members have the names that were asked for.

        Of two spellings of one name, an empty value does not count; two different values are a contradiction.
        """
        fields: JsonObject = {}
        contradicted = set(document.contradicted)
        partial = set(document.partial)
        for name, value in document.fields.items():
            member = self._names.get(_folded(name), name)
            if name in document.contradicted:
                contradicted.add(member)
            if name in document.partial:
                partial.add(member)
            given = _restored_lines(value) if member in _ONE_LINE else value
            if member in fields and not _is_empty(given) and not _is_empty(fields[member]) and fields[member] != given:
                contradicted.add(member)
            if member not in fields or not _is_empty(given):
                fields[member] = given
        return replace(document, fields=fields, partial=frozenset(partial), contradicted=frozenset(contradicted))

    def _with_inner(self, outer: Document, raw: str, level: int) -> Document:
        """Return an answer; if its leading member is a whole answer itself, with the members of that one."""
        value = outer.fields[self._leading]
        if isinstance(value, str):
            documents = self._in_text(value, outer, self._leading, level + 1)
        elif isinstance(value, dict):
            documents = self._opened(_inner(outer, value, raw), raw, level + 1)
        else:
            return outer
        inner = self.only_answer(documents)
        if not isinstance(inner, Document):
            return outer
        own = {
            name: item
            for name, item in inner.fields.items()
            if name == self._leading or name not in outer.fields or not _is_empty(item)
        }
        twice = {
            name
            for name in _SAID & outer.fields.keys() & own.keys() - {self._leading}
            if not _is_empty(outer.fields[name]) and _comparable(outer.fields[name]) != _comparable(own[name])
        }
        return replace(
            inner,
            fields=outer.fields | own,
            partial=(outer.partial - own.keys()) | inner.partial,
            contradicted=outer.contradicted | inner.contradicted | twice,
        )

    def _is_blank(self, fields: JsonObject) -> bool:
        """Check whether an object is a form that nobody filled in; a vote of only `null` abstains."""
        texts = [value for name, value in fields.items() if name in self._names.values() and isinstance(value, str)]
        leading = fields[self._leading]
        if isinstance(leading, int | float) or not all(map(_is_empty, texts)):
            return False
        return _is_empty(leading) and (not self._is_vote or bool(texts))


def _inner(document: Document, fields: JsonObject, raw: str) -> Document:
    """Return an object within an object."""
    unsure = unsure_members(raw, fields) if document.guessed else frozenset[str]()
    return replace(document, fields=fields, partial=unsure)


def _restored_lines(value: JsonValue) -> JsonValue:
    """Return a value whose texts have one line each, with the commands of their formulas."""
    if isinstance(value, str):
        return restore_commands(value, one_line=True)
    if isinstance(value, list):
        return [_restored_lines(item) for item in value]
    if isinstance(value, dict):
        return {restore_commands(name, one_line=True): item for name, item in value.items()}
    return value


def _is_empty(value: JsonValue) -> bool:
    """Check whether a value says nothing: nothing is given, or words that stand for an answer."""
    if isinstance(value, str):
        value = value.strip()
        is_short = len(value) <= _MOST_PLACEHOLDER_CHARS
        return says_nothing(value) or (is_short and _PLACEHOLDER.fullmatch(value) is not None)
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return value is None or value == {}


def _comparable(value: JsonValue) -> str:
    """Return a value as text; two values with the same text say the same."""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _escaped_texts(text: str, at: int, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of texts that begin like an object whose quotes are escaped, outside of other objects."""
    if len(spans) >= MAX_OBJECTS:  # what was before these objects was not read
        at = max(at, min(spans)[0])
    found: list[tuple[int, int]] = []
    while match := _ESCAPED_START.search(text, at):
        start, at = match.span()
        around = max((end for begin, end in spans if begin < at and start < end), default=0)
        if around:
            at = around
        else:
            content = _ESCAPED_TEXT.match(text, start)
            at = content.end() if content else at
            found.append((start, at))
    return found


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _is_quoted(text: str, at: int) -> bool:
    """Check whether an index is in a line of a quotation."""
    return _QUOTED.match(text, text.rfind("\n", 0, at) + 1) is not None


def _without_quote_marks(text: str, span: tuple[int, int]) -> str:
    raw = text[slice(*span)]
    return _QUOTE_MARK.sub("", raw) if _is_quoted(text, span[0]) else raw
