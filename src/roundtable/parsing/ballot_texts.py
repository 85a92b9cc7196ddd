"""Read rankings, approvals and scores that are not in the form that was asked for.

A ballot is read only if it has one reading: every part of it names exactly one option, no option stands twice, and
nothing is left over. Options are recognised as in all other answers, by `roundtable.reading`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.parsing.forms import LEADING_MEMBER
from roundtable.parsing.json_in_text import RepairBudget, parse_object, parse_slips
from roundtable.parsing.numerals import finite_number, score_number
from roundtable.parsing.other_json import unfenced
from roundtable.reading import ABSTAIN, read_answer
from roundtable.reading.folding import fold
from roundtable.reading.options import option_table
from roundtable.reading.sites import contains
from roundtable.types.answers import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.reading import Asked
    from roundtable.types import JsonObject, JsonValue

__all__ = ["OtherBallot", "VoteList", "ballot_in_member", "ballot_in_text"]

VoteList: TypeAlias = Literal["ranking", "approval", "scores"]
"""Kinds of answers that name several options."""

_OTHER_MEMBERS: Final = frozenset({"reasoning", "same"})
_NOTES: Final = frozenset({"reason", "reasoning", "note", "comment", "why", "explanation"})
_OPTIONS: Final = frozenset({"option", "name", "choice", "motion", "candidate", "label", "letter", "answer"})
_RANKS: Final = frozenset({"rank", "place", "position"})
_SCORES: Final = frozenset({"score", "points", "rating", "grade", "value"})
_APPROVALS: Final = frozenset({"approved", "approve", "accepted", "accept", "acceptable"})
_NAMES: Final[Mapping[VoteList, frozenset[str]]] = {
    "ranking": frozenset(
        {"ranking", "rankings", "ranked", "rank", "order", "preference", "preferences", "preferred", "best", "first"}
    ),
    "approval": _APPROVALS | {"approves", "approval", "approvals", "accepts"},
    "scores": frozenset(
        {"score", "scores", "scored", "rate", "rated", "rating", "ratings", "grade", "grades", "points"}
    ),
}
"""Words that name a ballot of each kind."""
_ANY_BALLOT: Final = frozenset({"ballot", "vote", "votes", "choice", "answer"})
_LEAD_WORDS: Final = frozenset[str]().union(
    {"i", "i'd", "i'll", "would", "will", "can", "do", "here", "is", "are", "was", "my", "own", "the", "our", "final"},
    {"full", "complete", "as", "follows", "of", "on", "to", "in", "from", "these", "this", "them", "answers"},
    {"option", "options", "motion", "motions"},
)
"""Words that may stand beside them before a ballot, as in *Here is my ranking:*; none of them turns it around."""
_VERBS: Final = frozenset({"approve", "approved", "accept", "accepted", "rank", "of", "is", "are"})
"""Words behind which a ballot may begin without a colon."""
_BEST_TO_WORST: Final = re.compile(
    r"[(,]?\s?(?:\bfrom\s)?\bbest(?:\sfirst)?\sto\sworst(?:\slast)?\s?\)?", re.IGNORECASE
)
_WORD: Final = re.compile(r"[\s*_#]*([^\W\d_]+(?:['\u2019][^\W\d_]+)?)")
_COLON: Final = re.compile(r"[\s*_]*:[\s*_]*")
_ARROWS: Final = re.compile(r"\s*(?:>{1,3}|\u227b|\u2192|->)\s*")
_TIES: Final = re.compile(r"\s*[=~]\s*")
_COMMAS: Final = re.compile(r"\s*[,;\uff0c\u3001\uff1b]\s*(?:then\s+)?|\s+then\s+")
_JOINTS: Final = re.compile(r"\s*[,;\uff0c\u3001\uff1b]\s*(?:and\s+)?|\s+(?:and|und|et|&)\s+")
_NUMBERED: Final = re.compile(r"\s*[(#]?([0-9]{1,2})[.):]\s+")
_BULLET: Final = re.compile(r"\s*[-*\u2022\u00b7\u2013]\s+")
_SCORED: Final = re.compile(r"(.+)(?::|=|\s[-\u2013\u2014]\s)(.+)", re.DOTALL)
_NOTED: Final = re.compile(r"(.*\S)\s*\(([^()]*)\)\s*", re.DOTALL)
_ORDINAL: Final = re.compile(r"#?([0-9]{1,2})(?:st|nd|rd|th)?\.?")
_UNCHANGED: Final = frozenset({"whole", "form"})
_MOST_CHARS: Final = 20_000
_MOST_NOTED_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class OtherBallot:
    """A ballot that was read although it is not in the form that was asked for."""

    fields: JsonObject
    """The ballot in the form that was asked for; its leading member is `None` for an abstention."""
    reading: Reading
    """What was read."""


def ballot_in_text(text: str, kind: VoteList, asked: Asked, high: float | None = None) -> OtherBallot | None:
    r"""Read a ballot in a reply without the object that was asked for; `None` if it has no reading, or several.

    Args:
        text: A reply without thoughts.
        kind: What the ballot is.
        asked: The options.
        high: Highest score of the scale, for scores.

    Example:
        >>> from roundtable.reading import Asked
        >>> cities = Asked("choice", ("Lisbon", "Porto", "Faro"))
        >>> ballot_in_text("1. Porto\n2. Faro", "ranking", cities).fields
        {'ranking': [['Porto'], ['Faro']]}
        >>> ballot_in_text("I approve of Porto and Faro.", "approval", cities).reading.value
        'Porto, Faro'
        >>> ballot_in_text("Porto: 9, Faro: high", "scores", cities) is None
        True
    """
    ballot = _Ballot(kind, asked, high)
    reading = read_answer(text, asked)
    if reading.certainty == "certain" and reading.value == ABSTAIN:
        return OtherBallot({LEADING_MEMBER[kind]: None}, reading)
    if len(text) > _MOST_CHARS:
        return None
    content = unfenced(ballot.without_lead(unfenced(text)))
    if content[:1] not in {"[", "{"}:
        lines = [" ".join(line.split()) for line in content.splitlines()]
        return ballot.read("\n".join(filter(None, lines))) or ballot.single(reading, text)
    value = _json_in(content)
    if not isinstance(value, dict):
        return ballot.read(value)
    others = {name: item for name, item in value.items() if name in _OTHER_MEMBERS}
    return ballot.read(_said(value, kind), others)


def ballot_in_member(fields: JsonObject, kind: VoteList, asked: Asked, high: float | None = None) -> OtherBallot | None:
    """Read a ballot whose leading member has another form, such as a text; `None` if it has no reading, or several.

    Args:
        fields: The members of the ballot.
        kind: What the ballot is.
        asked: The options.
        high: Highest score of the scale, for scores.

    Example:
        >>> from roundtable.reading import Asked
        >>> cities = Asked("choice", ("Lisbon", "Porto"))
        >>> ballot_in_member({"ranking": {"Porto": 1, "Lisbon": 2}}, "ranking", cities).reading.value
        'Porto > Lisbon'
    """
    value = fields[LEADING_MEMBER[kind]]
    if isinstance(value, str):
        read = ballot_in_text(value, kind, asked, high)
        return read and OtherBallot(fields | read.fields, read.reading)
    if kind == "ranking" and isinstance(value, dict) and not any(map(_ORDINAL.fullmatch, value)):
        ranks: list[JsonValue] = [{"option": name, "rank": rank} for name, rank in value.items()]
        return _Ballot(kind, asked, high).read(ranks, fields)
    return _Ballot(kind, asked, high).read(value, fields)


def _plain(word: str) -> str:
    return word.casefold().replace("\u2019", "'")


def _json_in(text: str) -> JsonValue:
    """Return the JSON of a text that holds nothing else; `None` if it can't be read, or has two values for a name."""
    wrapped = f'{{"ballot": {text}}}'
    span = (0, len(wrapped))
    document = parse_object(wrapped, span) or parse_slips(wrapped, span, RepairBudget())
    if document is None or document.contradicted or document.partial or [*document.fields] != ["ballot"]:
        return None
    return document.fields["ballot"]


def _said(value: JsonObject, kind: VoteList) -> JsonValue:
    """Return what an object says beside its reasons: the value of its only member, if the name says what it is."""
    said = {name: item for name, item in value.items() if name not in _OTHER_MEMBERS}
    if len(said) != 1:
        return said
    name, item = next(iter(said.items()))
    return item if name.casefold() in _NAMES[kind] | _ANY_BALLOT and not isinstance(item, bool | int | float) else said


def _entries(value: JsonValue, numbers: frozenset[str]) -> list[tuple[JsonValue, JsonValue]]:
    """Return the options and numbers of an object, or of a list of objects; empty if they are not both.

    Args:
        value: The value.
        numbers: Names of the members with the numbers.
    """
    if isinstance(value, dict):
        return [*value.items()]
    entries = [_entry(item, numbers) for item in value] if isinstance(value, list) else []
    return [entry for entry in entries if entry is not None] if None not in entries else []


def _entry(item: JsonValue, numbers: frozenset[str]) -> tuple[JsonValue, JsonValue] | None:
    """Return the option and the number of an entry such as `{"option": "Porto", "rank": 1}`.

    Args:
        item: The entry.
        numbers: Names of the member with the number.
    """
    if not isinstance(item, dict):
        return None
    members = {name.casefold(): value for name, value in item.items() if name.casefold() not in _NOTES}
    named = [value for name, value in members.items() if name in _OPTIONS]
    given = [value for name, value in members.items() if name in numbers]
    return (named[0], given[0]) if len(named) == len(given) == 1 and len(members) == 2 else None


class _Ballot:
    """How a ballot of one kind is read."""

    def __init__(self, kind: VoteList, asked: Asked, high: float | None) -> None:
        self._kind: VoteList = kind
        self._asked, self._high = asked, high
        self._table = option_table(asked.options, asked.labels)
        self._names = _NAMES[kind] | _ANY_BALLOT
        self._has_figures = any(self._table.whole(str(number)) for number in range(1, len(asked.options) + 1))

    def read(self, value: JsonValue, others: JsonObject | None = None) -> OtherBallot | None:
        """Read a value in any form; `others` are the other members of the ballot."""
        found, words = self._found(value)
        if not words:
            return None
        reading = Reading(certainty="certain", rule="form", value=words)
        return OtherBallot((others or {}) | {LEADING_MEMBER[self._kind]: found}, reading)

    def _found(self, value: JsonValue) -> tuple[JsonValue, str]:
        """Return the leading member of a ballot, and what it says in words; these are empty if it can't be read."""
        if self._kind == "ranking":
            groups = self._ranking(value) or ()
            ranking: list[JsonValue] = [[*group] for group in groups]
            return ranking, " > ".join(map(" = ".join, groups))
        if self._kind == "approval":
            approved: list[JsonValue] = [*(self._approval(value) or ())]
            return approved, ", ".join(map(str, approved))
        scores = self._scores(value) or {}
        given: JsonObject = dict(scores.items())
        return given, ", ".join(f"{name} {score:g}" for name, score in scores.items())

    def single(self, reading: Reading, text: str) -> OtherBallot | None:
        """Return the ballot of a text that names one option and no other, such as *I vote for Porto*."""
        option = reading.value
        if self._kind == "scores" or option is None or reading.certainty != "certain" or reading.rule in _UNCHANGED:
            return None
        folded = fold(text)
        named = {name for mention in self._table.mentions(folded, 0, len(folded)) for name in mention.options}
        return self.read([option]) if named <= {option} and not contains("negation", folded) else None

    def without_lead(self, text: str) -> str:
        """Return a text without the words that say what follows, such as *My ranking:*."""
        text = _BEST_TO_WORST.sub(" order", text, count=1) if ":" in text else text
        at = end = 0
        is_named = False  # "The options are: ..." repeats the question
        while (word := _WORD.match(text, at)) and (name := _plain(word[1])) in self._names | _LEAD_WORDS:
            at = word.end()
            is_named = is_named or name in self._names
            colon = _COLON.match(text, at)
            if colon is not None and is_named and not self._table.whole(text[:at]):
                return text[colon.end() :]
            end = at if is_named and name in _VERBS else end
        return text[end:].lstrip() if text[end : end + 1].isspace() else text

    def _option(self, item: JsonValue) -> str | None:
        """Return the option that a part of a ballot names; a note in brackets may stand behind a ranked one."""
        if not isinstance(item, str | int) or isinstance(item, bool):
            return None
        found = self._table.whole(str(item))
        is_noted = not found and self._kind == "ranking" and len(str(item)) <= _MOST_NOTED_CHARS
        noted = _NOTED.fullmatch(str(item)) if is_noted else None
        if noted is not None and self._is_note(noted[1], noted[2]):
            found = self._table.whole(noted[1])
        return found[0] if len(found) == 1 else None

    def _is_note(self, name: str, note: str) -> bool:
        """Check whether the brackets behind an option are not a part of it, and name no other one."""
        folded = fold(note)
        is_part = any(option.casefold().startswith(f"{name.strip().casefold()} (") for option in self._asked.options)
        is_plain = not contains("negation", folded) and not self._table.mentions(folded, 0, len(folded))
        return is_plain and not is_part

    def _options_in(self, items: Sequence[JsonValue]) -> tuple[str, ...] | None:
        """Return the options that parts of a ballot name; `None` if a part names none, or one that stood before."""
        found = [option for option in map(self._option, items) if option is not None]
        return tuple(found) if found and len(found) == len(items) == len({*found}) else None

    def _split(self, text: str, pattern: re.Pattern[str]) -> list[str]:
        """Split a text, unless an option holds what it would be split at."""
        return [text] if any(map(pattern.search, self._asked.options)) else pattern.split(text)

    def _parts(self, text: str, pattern: re.Pattern[str]) -> list[str]:
        """Return the parts of a list in words: its lines, or what stands between the signs of its only line."""
        lines = text.splitlines()
        if len(lines) == 1:
            lines = [text] if self._table.whole(text) else self._split(text.removesuffix("."), pattern)
        numbers = [_NUMBERED.match(line) for line in lines]
        is_numbered = [number and int(number[1]) for number in numbers] == [*range(1, len(lines) + 1)]
        marks = numbers if is_numbered and not self._has_figures else [_BULLET.match(line) for line in lines]
        unmarked = [line[mark.end() :] for line, mark in zip(lines, marks, strict=True) if mark is not None]
        return unmarked if len(unmarked) == len(lines) else lines

    def _ranking(self, value: JsonValue) -> tuple[tuple[str, ...], ...] | None:
        if isinstance(value, str):
            pattern = _ARROWS if _ARROWS.search(value) else _COMMAS
            return self._levels([[*self._split(part, _TIES)] for part in self._parts(value, pattern)])
        if isinstance(value, list) and not all(isinstance(item, dict) for item in value):
            return self._levels([item if isinstance(item, list) else [item] for item in value])
        entries = _entries(value, _RANKS)
        if isinstance(value, dict):
            ranks = [_ORDINAL.fullmatch(name) for name in value]
            places = [int(rank[1]) for rank in ranks if rank is not None and not self._has_figures]
            entries = [*zip(value.values(), places, strict=True)] if len(places) == len(ranks) else []
        return self._by_rank(entries)

    def _levels(self, levels: Sequence[Sequence[JsonValue]]) -> tuple[tuple[str, ...], ...] | None:
        """Return groups of options, best first; `None` if an option stands twice."""
        groups = [group for level in levels if (group := self._options_in(level)) is not None]
        names = [name for group in groups for name in group]
        return tuple(groups) if len(groups) == len(levels) and len(names) == len({*names}) else None

    def _by_rank(self, entries: Sequence[tuple[JsonValue, JsonValue]]) -> tuple[tuple[str, ...], ...] | None:
        """Return groups of options by their ranks: from 1 to at most the number of options."""
        levels: dict[float, list[JsonValue]] = {}
        for option, rank in entries:
            levels.setdefault(finite_number(rank) or 0, []).append(option)
        if 1 not in levels or any(rank not in range(1, len(entries) + 1) for rank in levels):
            return None
        return self._levels([levels[rank] for rank in sorted(levels)])

    def _approval(self, value: JsonValue) -> tuple[str, ...] | None:
        if isinstance(value, str):
            return self._options_in(self._parts(value, _JOINTS))
        if isinstance(value, list) and not all(isinstance(item, dict) for item in value):
            return self._options_in(value)
        entries = _entries(value, _APPROVALS)
        if self._options_in([option for option, _ in entries]) is None:
            return None
        approved = [option for option, is_approved in entries if is_approved is True]
        is_clear = all(isinstance(is_approved, bool) for _, is_approved in entries)
        return self._options_in(approved) if is_clear else None

    def _scores(self, value: JsonValue) -> dict[str, float] | None:
        if isinstance(value, str):
            parts = [_SCORED.fullmatch(part) for part in self._parts(value, _COMMAS)]
            entries: list[tuple[JsonValue, JsonValue]] = [
                (part[1], part[2].strip(" *_`").removesuffix(".")) for part in parts if part is not None
            ]
            entries = entries if len(entries) == len(parts) else []
        else:
            entries = [entry for entry in _entries(value, _SCORES) if entry[1] is not None]
        options = self._options_in([option for option, _ in entries]) or ()
        scores = [score for _, item in entries if (score := score_number(item, self._high)) is not None]
        return dict(zip(options, scores, strict=True)) if len(options) == len(scores) else None
