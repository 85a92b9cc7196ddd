"""Read rankings, approvals and scores that are not in the form that was asked for.

A ballot is read only if it has one reading: every part of it names exactly one option, no option stands twice, and
nothing is left over. Options are recognised as in all other answers, by `roundtable.reading`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable.core.types.answers import Reading
from roundtable.parsing.ballot_notes import approval_in, is_best_first, is_plain_note, ordered, place_in
from roundtable.parsing.ballot_phrases import approval_sentence, reasons_below, without_heading
from roundtable.parsing.ballot_signs import MEANT, marks_in
from roundtable.parsing.ballot_tables import table_entries
from roundtable.parsing.forms import LEADING_MEMBER
from roundtable.parsing.json_in_text import RepairBudget, parse_object, parse_slips
from roundtable.parsing.numerals import finite_number, score_number
from roundtable.parsing.other_json import unfenced
from roundtable.reading import ABSTAIN, read_answer
from roundtable.reading.folding import fold
from roundtable.reading.options import option_table
from roundtable.reading.sites import contains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.parsing.ballot_signs import Sign
    from roundtable.reading import Asked

__all__ = ["OtherBallot", "VoteList", "ballot_in_member", "ballot_in_text", "has_notes"]

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
_COLUMNS: Final[Mapping[VoteList, tuple[str, frozenset[str]]]] = {
    "ranking": (
        "rank",
        _RANKS
        | {"ranking", "#", "no", "no.", "platz", "rang", "puesto", "posizione", "posi\u00e7\u00e3o", "plaats"}
        | {"\u6392\u540d", "\u540d\u6b21", "\u9806\u4f4d", "\u043c\u0435\u0441\u0442\u043e"},
    ),
    "approval": ("approved", _NAMES["approval"] | {"vote", "akzeptabel", "zustimmung"}),
    "scores": (
        "score",
        _NAMES["scores"]
        | {"punkte", "bewertung", "puntos", "puntuaci\u00f3n", "punteggio", "voto", "pontos", "punten", "cijfer"}
        | {"\u8bc4\u5206", "\u5206\u6570", "\u5f97\u5206", "\u70b9\u6570", "\u043e\u0446\u0435\u043d\u043a\u0430"},
    ),
}
"""The member with a value, and the titles of the column of a table that holds it."""
_LEAD_WORDS: Final = frozenset[str]().union(
    {"i", "i'd", "i'll", "would", "will", "can", "do", "here", "is", "are", "was", "my", "own", "the", "our", "final"},
    {"full", "complete", "as", "follows", "of", "on", "to", "in", "from", "these", "this", "them", "answers"},
    {"option", "options", "motion", "motions"},
)
"""Words that may stand beside them before a ballot, as in *Here is my ranking:*; none of them turns it around."""
_VERBS: Final = frozenset({"approve", "approved", "accept", "accepted", "rank", "of", "is", "are"})
"""Words behind which a ballot may begin without a colon."""
_PLAIN_LIST: Final = re.compile(r"\[([^\[\]{}\"]++)\]")
"""A list of options without quotes."""
_BEST_TO_WORST: Final = re.compile(
    r"[(,]?\s?(?:\bfrom\s)?\bbest(?:\sfirst)?\sto\sworst(?:\slast)?\s?\)?", re.IGNORECASE
)
_WORD: Final = re.compile(r"[\s*_#]*([^\W\d_]+(?:['\u2019][^\W\d_]+)?)")
_COLON: Final = re.compile(r"[\s*_]*:[\s*_]*")
_ARROWS: Final = re.compile(r"\s*(?:>{1,3}|\u227b|\u2192|->)\s*")
_RISING: Final = re.compile(r"\s*(?:<{1,3}|\u227a)\s*")
_TIES: Final = re.compile(r"\s*[=~]\s*")
_COMMAS: Final = re.compile(r"\s*[,;\uff0c\u3001\uff1b]\s*(?:then\s+)?|\s+then\s+")
_JOINTS: Final = re.compile(r"\s*[,;\uff0c\u3001\uff1b]\s*(?:and\s+)?|\s+(?:and|und|et|&)\s+")
_SHORT_WORDS: Final = ("e", "y", "i", "o")
"""Words for *and* and *or* that may be labels of options."""
_ALL_JOINTS: Final = re.compile(
    r"\s*[,;\uff0c\u3001\uff1b]\s*(?:(?:and|und)\s+)?|\s+(?:and|und|et|y|e|en|i|og|och|ve|\u0438|&)\s+"
    r"|\s*(?:\u548c|\u4e0e|\u4ee5\u53ca|\u8ddf)\s*"
)
_OR_JOINTS: Final = re.compile(r"\s*[,;\uff0c\u3001\uff1b]\s*(?:or\s+)?|\s+(?:n?or|oder|noch|ou|o|of)\s+|\s*\u6216\s*")
_KEYCAP: Final = re.compile(r"([0-9])\ufe0f?\u20e3\ufe0f?")
_IN_LINE: Final = re.compile(r"(?:^|[\s,;\uff0c\u3001\uff1b]{1,3}(?:and\s)?)\(?([0-9]{1,2})[.)]\s+(?=\S)")
"""A number of a list in one line."""
_PLACED: Final = re.compile(r"([^:]{1,40}?)\s*:\s+(\S.*)", re.DOTALL)
_POINTED: Final = re.compile(
    r"(.+?)(?:\s*[:=]|\s[-\u2013\u2014])?\s*[(\[]?(?<=[\s(\[])(?:an?\s|eine?\s|une?\s|um\s|een\s)?"
    r"([0-9]{1,9}(?:\.[0-9]{1,9})?(?:\s?(?:/|out of)\s?[0-9]{1,9})?(?:\s(?:points?|pts?\.?))?)[)\]]?"
    r"(?:\s*\(([^()]*)\)|\s[-\u2013\u2014]\s(.*))?",
    re.DOTALL,
)
"""An option with a score behind it, and perhaps a reason."""
_NUMBERED: Final = re.compile(r"\s*[(#]?([0-9]{1,2})[.):]\s+")
_BULLET: Final = re.compile(r"\s*[-*\u2022\u00b7\u2013]\s+")
_SCORED: Final = re.compile(r"(.+)(?::|=|\s[-\u2013\u2014]\s)(.+)", re.DOTALL)
_NOTED: Final = re.compile(r"(.*\S)\s*(?:\(([^()]*)\)|\[([^\[\]]*)\])[\s.]*", re.DOTALL)
_JUDGED: Final = re.compile(r"(.*[^\s:=([-])(?:\s*[:=]\s*|\s+[-\u2013\u2014]\s+|\s*[(\[]|\s)(.+)", re.DOTALL)
"""An option, and behind it a word or sign of approval."""
_BESIDE: Final = re.compile(r"([^:\u2013\u2014]+?)(?:\s*:|\s[-\u2013\u2014])\s+(\S.*)", re.DOTALL)
_ORDINAL: Final = re.compile(r"#?([0-9]{1,2})(?:st|nd|rd|th)?\.?")
_MEDALS: Final[dict[Sign, int]] = {"first": 1, "second": 2, "third": 3}
_UNCHANGED: Final = frozenset({"whole", "form"})
_NONE: Final = "none"
"""What a ballot says that rejects every option."""
_MOST_CHARS: Final = 20_000
_BOX_CHARS: Final = len("[x]")
_MOST_NOTED_CHARS: Final = 500
_MOST_PLACE_WORDS: Final = 4


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
    bare = unfenced(text)
    content = ballot.without_lead(bare)
    content = unfenced(without_heading(bare, kind) if content == bare else content)
    if content[:1] not in {"[", "{"} or marks_in(content[:_BOX_CHARS]).signs:
        return ballot.in_words(ballot.lines(content)) or ballot.sentence(bare) or ballot.single(reading, text)
    value = _json_in(content)
    if value is None and kind != "scores" and (plain := _PLAIN_LIST.fullmatch(content)) is not None:
        return ballot.read(" ".join(plain[1].split()))
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
    return _Ballot(kind, asked, high, is_member=True).read(value, fields)


def has_notes(value: JsonValue, asked: Asked) -> bool:
    """Check whether a part of a list, or a name of an object, names an option with something beside it.

    Args:
        value: The leading member of a ballot.
        asked: The options.

    Example:
        >>> from roundtable.reading import Asked
        >>> cities = Asked("choice", ("Lisbon", "Porto"))
        >>> has_notes(["Lisbon (worst)", "Porto"], cities), has_notes(["lisbon", "Madrid (worst)"], cities)
        (True, False)
    """
    ballot = _Ballot("ranking", asked, None)
    items = [*value] if isinstance(value, dict | list) else []
    parts = [part for item in items for part in (item if isinstance(item, list) else [item])]
    return any(isinstance(part, str) and ballot.is_noted(part) for part in parts)


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
        return [(name, _number_in(item, numbers)) for name, item in value.items()]
    entries = [_entry(item, numbers) for item in value] if isinstance(value, list) else []
    return [entry for entry in entries if entry is not None] if None not in entries else []


def _number_in(item: JsonValue, numbers: frozenset[str]) -> JsonValue:
    """Return the number in an object such as `{"score": 7, "reason": "near"}`; other values stay as they are."""
    if not isinstance(item, dict):
        return item
    members = {name.casefold(): value for name, value in item.items() if name.casefold() not in _NOTES}
    given = [value for name, value in members.items() if name in numbers]
    return given[0] if len(given) == len(members) == 1 else item


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


class _Part(NamedTuple):
    """A part of a ballot."""

    option: str
    """The option that it names."""
    place: int | None = None
    """The place that a note or a number beside it names."""


class _Judged(NamedTuple):
    """A part of a ballot of approvals."""

    option: JsonValue
    """What names the option."""
    verdict: bool | None = None
    """Whether it is approved; `None` if nothing beside it says so."""
    is_box: bool = False
    """Whether an empty box says that it isn't."""


class _Ballot:
    """How a ballot of one kind is read.

    Args:
        kind: What the ballot is.
        asked: The options.
        high: Highest score of the scale, for scores.
        is_member: Whether the ballot is a member of the form, whose parts may have words around the option.
    """

    def __init__(self, kind: VoteList, asked: Asked, high: float | None, *, is_member: bool = False) -> None:
        self._kind: VoteList = kind
        self._asked, self._high, self._is_member = asked, high, is_member
        self._table = option_table(asked.options, asked.labels)
        self._names = _NAMES[kind] | _ANY_BALLOT
        self._has_places = kind == "ranking" and not is_member
        self._has_figures = any(self._table.whole(str(number)) for number in range(1, len(asked.options) + 1))

    def read(self, value: JsonValue, others: JsonObject | None = None) -> OtherBallot | None:
        """Read a value in any form; `others` are the other members of the ballot."""
        found, words = self._found(value)
        if found is None or not words:
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
            approved = self._approval(value)
            return None if approved is None else [*approved], ", ".join(approved or ()) or _NONE
        scores = self._scores(value) or {}
        given: JsonObject = dict(scores.items())
        return given, ", ".join(f"{name} {score:g}" for name, score in scores.items())

    def lines(self, text: str) -> str:
        """Return a text without empty lines, with single spaces, and with the usual colons and numbers."""
        is_colon = not any("\uff1a" in option for option in self._asked.options)
        text = _KEYCAP.sub(r"\1. ", text.replace("\uff1a", ": ") if is_colon else text)
        return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))

    def in_words(self, text: str) -> OtherBallot | None:
        """Read a text of lines: a list, a table, or one of them above its reasons."""
        value_name, titles = _COLUMNS[self._kind]
        rows = table_entries(text, lambda cell: len(self._table.whole(cell)) == 1, titles, _NOTES)
        if rows is not None:
            ranks = [_ORDINAL.fullmatch(value) if self._kind == "ranking" else None for _, value in rows]
            values = [rank[1] if rank else value for rank, (_, value) in zip(ranks, rows, strict=True)]
            return self.read([{"option": row[0], value_name: value} for row, value in zip(rows, values, strict=True)])
        if (found := self.read(text)) is not None:
            return found
        ballot, reasons = reasons_below(text)
        found = self.read(ballot) if reasons else None
        return found if found is not None and self._agrees(found, reasons) else None

    def _agrees(self, found: OtherBallot, reasons: str) -> bool:
        """Check whether reasons state no other answer than a ballot, and take nothing back."""
        best = found.fields[LEADING_MEMBER[self._kind]]
        if isinstance(best, dict):
            scores = {name: finite_number(score) or 0 for name, score in best.items()}
            best = [name for name, score in scores.items() if score == max(scores.values())]
        best = best[0] if self._kind == "ranking" and isinstance(best, list) else best
        stated = read_answer(reasons, self._asked).value
        is_same = stated is None or (isinstance(best, list) and stated in best)
        return is_same and not contains("mistake", fold(reasons))

    def sentence(self, text: str) -> OtherBallot | None:
        """Read a sentence that approves of options, such as *Lisbon and Porto are acceptable*."""
        said = approval_sentence(text) if self._kind == "approval" else None
        if said is None:
            return None
        joints = (_ALL_JOINTS, _OR_JOINTS) if said.any_of else (_ALL_JOINTS,)
        approved = self._joined(said.approved, joints)
        rejected = self._joined(said.rejected, (_ALL_JOINTS, _OR_JOINTS)) if said.rejected else ()
        if approved is None or rejected is None or not {*approved}.isdisjoint(rejected):
            return None
        return self.read([*approved])

    def _joined(self, text: str, joints: Sequence[re.Pattern[str]]) -> tuple[str, ...] | None:
        """Return the options of a list in a sentence; one kind of signs and words stands between them."""
        lists = [[text] if self._table.whole(text) else self._split(text, joint) for joint in joints]
        return next((found for items in lists if (found := self._options_in(items)) is not None), None)

    def single(self, reading: Reading, text: str) -> OtherBallot | None:
        """Return the ballot of a text that names one option and no other, such as *I vote for Porto*."""
        option = reading.value
        if self._kind == "scores" or option is None or reading.certainty != "certain" or reading.rule in _UNCHANGED:
            return None
        if {"no", "empty", "unclear"}.intersection(marks_in(text, self._asked.options).signs):
            return None
        folded = fold(text)
        named = {name for mention in self._table.mentions(folded, 0, len(folded)) for name in mention.options}
        if reading.rule == "opening" and reading.span and not is_plain_note(text[reading.span[1] :]):
            return None
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

    def is_noted(self, text: str) -> bool:
        """Check whether a text is not an option alone, but names one."""
        is_marked = marks_in(text, self._asked.options).signs or self._place_before(text)[0] is not None
        if self._table.whole(text) and not is_marked:
            return False
        folded = fold(text)
        return bool(self._table.mentions(folded, 0, len(folded)))

    def _part(self, item: JsonValue) -> _Part | None:
        """Return the option that a part of a ballot names; a note may stand beside it."""
        if not isinstance(item, str | int) or isinstance(item, bool):
            return None
        text = str(item)
        if len(text) > _MOST_NOTED_CHARS:
            return self._alone(text)
        number, text = self._place_before(text)
        text, signs = marks_in(text, self._asked.options)
        named = self._alone(text) or self._noted(text)
        # A medal is a place in a ranking. All other signs are a vote for or against the option.
        if named is None or (signs and (self._kind != "ranking" or not _MEDALS.keys() >= {*signs})):
            return None
        places = {number, named.place, *map(_MEDALS.get, signs)} - {None}
        return _Part(named.option, *places) if len(places) < 2 else None

    def _alone(self, text: str) -> _Part | None:
        """Return the option that a whole text is."""
        found = self._table.whole(text)
        return _Part(found[0]) if len(found) == 1 else None

    def _place_before(self, text: str) -> tuple[int | None, str]:
        """Return the number before an option, as in *2. Lisbon*, and the text without it."""
        number = _NUMBERED.match(text) if self._kind == "ranking" and not self._has_figures else None
        if number is None and self._has_places and (placed := _PLACED.fullmatch(text)) is not None:
            place = None if self._table.whole(placed[1]) else place_in(placed[1])
            return (None, text) if place is None else (place, placed[2])
        if number is None or any(option.startswith(number[0].strip()) for option in self._asked.options):
            return None, text
        return int(number[1]), text[number.end() :]

    def _noted(self, text: str) -> _Part | None:
        """Return the option of a part with a note, if the note names its place or may be dropped."""
        match = _NOTED.fullmatch(text) or _BESIDE.fullmatch(text)
        if match is not None:
            found, note = self._table.whole(match[1]), next((part for part in match.groups()[1:] if part), "")
            if len(found) != 1 or self._is_part(match[1]):
                return None
            place = place_in(note) if self._kind == "ranking" else None
            return _Part(found[0], place) if place is not None or self._is_plain(note) else None
        if self._kind == "ranking" and (placed := self._place_behind(text)) is not None:
            return placed
        reading = read_answer(text, self._asked) if self._is_member else None
        if reading is None or reading.certainty != "certain" or reading.value in {None, ABSTAIN} or not reading.span:
            return None
        start, end = reading.span
        is_plain = self._is_plain(f"{text[:start]} {text[end:]}")
        return _Part(reading.value or "") if is_plain else None

    def _place_behind(self, text: str) -> _Part | None:
        """Return the option of a part such as *Porto first*, with its place."""
        words = text.split()
        for number in range(1, min(len(words), _MOST_PLACE_WORDS + 1)):
            found, place = self._table.whole(" ".join(words[:-number])), place_in(" ".join(words[-number:]))
            if place is not None and len(found) == 1:
                return _Part(found[0], place)
        return None

    def _is_part(self, name: str) -> bool:
        """Check whether brackets behind an option may be a part of another one."""
        return any(option.casefold().startswith(f"{name.strip().casefold()} (") for option in self._asked.options)

    def _is_plain(self, note: str) -> bool:
        """Check whether a note may be dropped, and names no other option."""
        folded = fold(note)
        return is_plain_note(note) and not self._table.mentions(folded, 0, len(folded))

    def _parts_in(self, items: Sequence[JsonValue]) -> tuple[_Part, ...] | None:
        """Return parts of a ballot; `None` if a part names no option, or one that stood before."""
        found = [part for part in map(self._part, items) if part is not None]
        names = {part.option for part in found}
        return tuple(found) if found and len(found) == len(items) == len(names) else None

    def _options_in(self, items: Sequence[JsonValue]) -> tuple[str, ...] | None:
        """Return the options that parts of a ballot name; `None` if a part names none, or one that stood before."""
        parts = self._parts_in(items)
        return None if parts is None else tuple(part.option for part in parts)

    def _split(self, text: str, pattern: re.Pattern[str]) -> list[str]:
        """Split a text, unless an option holds what it would be split at."""
        is_word = pattern in {_ALL_JOINTS, _OR_JOINTS} and any(map(self._table.whole, _SHORT_WORDS))
        return [text] if is_word or any(map(pattern.search, self._asked.options)) else pattern.split(text)

    def _parts(self, text: str, pattern: re.Pattern[str], *, bare: bool = True) -> list[str]:
        """Return the parts of a list in words: its lines, or what stands between the signs of its only line.

        Args:
            text: The list.
            pattern: The signs.
            bare: Whether the parts are returned without the numbers of a numbered list.
        """
        lines = text.splitlines()
        if len(lines) == 1:
            lines = [text] if self._table.whole(text) else self._split(text.removesuffix("."), pattern)
        numbers = [_NUMBERED.match(line) for line in lines]
        is_numbered = [number and int(number[1]) for number in numbers] == [*range(1, len(lines) + 1)]
        marks = numbers if is_numbered and not self._has_figures and bare else [_BULLET.match(line) for line in lines]
        unmarked = [line[mark.end() :] for line, mark in zip(lines, marks, strict=True) if mark is not None]
        return unmarked if len(unmarked) == len(lines) else lines

    def _ranking(self, value: JsonValue) -> tuple[tuple[str, ...], ...] | None:
        if isinstance(value, str):
            return self._ranking_in_words(value)
        if isinstance(value, list) and not all(isinstance(item, dict) for item in value):
            return self._levels([item if isinstance(item, list) else [item] for item in value])
        entries = _entries(value, _RANKS)
        if isinstance(value, dict):
            ranks = [_ORDINAL.fullmatch(name) for name in value]
            places = [int(rank[1]) for rank in ranks if rank is not None and not self._has_figures]
            entries = [*zip(value.values(), places, strict=True)] if len(places) == len(ranks) else []
            is_ranked = sorted(finite_number(rank) or 0 for rank in value.values()) == [
                *range(1, len(self._asked.options) + 1)
            ]
            entries = [*value.items()] if is_ranked and not entries and not self._has_figures else entries
        return self._by_rank(entries)

    def _ranking_in_words(self, text: str) -> tuple[tuple[str, ...], ...] | None:
        """Return the ranking in a text; a note behind it may say that it begins with the best."""
        noted = _NOTED.fullmatch(text)
        if noted is not None and is_best_first(noted[2] or ""):
            text = noted[1]
        is_falling, is_rising = _ARROWS.search(text) is not None, _RISING.search(text) is not None
        pattern = _ARROWS if is_falling else _RISING if is_rising else _COMMAS
        text = text if is_falling or is_rising else self._numbered_lines(text)
        parts = self._parts(text, pattern)
        levels = [[*self._split(part, _TIES)] for part in (parts[::-1] if is_rising and not is_falling else parts)]
        is_marked = is_falling or is_rising or parts != self._parts(text, pattern, bare=False)
        return self._levels(levels, is_marked=is_marked) or self._placed(text)

    def _numbered_lines(self, text: str) -> str:
        """Return a numbered list in one line, such as *1) Porto 2) Lisbon*, with a line for each part."""
        numbers = [int(match[1]) for match in _IN_LINE.finditer(text)]
        is_list = len(numbers) > 1 and numbers in ([*range(1, len(numbers) + 1)], [*range(len(numbers), 0, -1)])
        if "\n" in text or not is_list or self._has_figures or any(map(_IN_LINE.search, self._asked.options)):
            return text
        return _IN_LINE.sub(lambda match: f"\n{match[1]}. ", text).removeprefix("\n").removesuffix(".")

    def _placed(self, text: str) -> tuple[tuple[str, ...], ...] | None:
        """Return the ranking of a sentence that names the place of each option: *Porto first and Lisbon second*."""
        found = [self._part(part) for part in self._split(text.rstrip(" ."), _ALL_JOINTS)]
        if any(part is None or part.place is None for part in found):
            return None
        return self._levels([[part] for part in self._split(text.rstrip(" ."), _ALL_JOINTS)])

    def _levels(
        self, levels: Sequence[Sequence[JsonValue]], *, is_marked: bool = False
    ) -> tuple[tuple[str, ...], ...] | None:
        """Return groups of options, best first; `None` if an option stands twice, or if notes contradict the order.

        Args:
            levels: The parts of the ballot, in order.
            is_marked: Whether signs or numbers say that the first one is the best.
        """
        groups = [group for level in levels if (group := self._parts_in(level)) is not None]
        names = [part.option for group in groups for part in group]
        if len(groups) != len(levels) or len(names) != len({*names}):
            return None
        noted = [group[0].place for group in groups]
        if any(part.place is not None for group in groups for part in group) and len(names) > len(groups):
            return None
        order = ordered(noted, len(self._asked.options), is_marked=is_marked)
        if order is None or (order != sorted(order) and self._counts_options(groups)):
            return None
        return tuple(tuple(part.option for part in groups[index]) for index in order)

    def _counts_options(self, groups: Sequence[Sequence[_Part]]) -> bool:
        """Check whether numbers beside options may be their places in the question, and not in the ranking."""
        options = self._asked.options
        return all(part.place == options.index(part.option) + 1 for group in groups for part in group)

    def _by_rank(self, entries: Sequence[tuple[JsonValue, JsonValue]]) -> tuple[tuple[str, ...], ...] | None:
        """Return groups of options by their ranks: from 1 to at most the number of options."""
        levels: dict[float, list[JsonValue]] = {}
        for option, rank in entries:
            levels.setdefault(finite_number(rank) or 0, []).append(option)
        if 1 not in levels or any(rank not in range(1, len(entries) + 1) for rank in levels):
            return None
        return self._levels([levels[rank] for rank in sorted(levels)], is_marked=True)

    def _approval(self, value: JsonValue) -> tuple[str, ...] | None:
        if isinstance(value, str):
            lists = [self._parts(value, joints) for joints in (_JOINTS, _ALL_JOINTS)]
            approved = (self._approved([self._judged(part) for part in parts]) for parts in lists)
            return next((options for options in approved if options is not None), None)
        if isinstance(value, list) and not all(isinstance(item, dict) for item in value):
            judged = [self._judged(item) if isinstance(item, str) else _Judged(item) for item in value]
            # An item that rejects its option contradicts a list of those that are approved.
            return None if any(item.verdict is False for item in judged) else self._approved(judged)
        entries = _entries(value, _APPROVALS)
        verdicts = [approval_in(item) if isinstance(item, str) else item for _, item in entries]
        if not all(isinstance(verdict, bool) for verdict in verdicts):
            return None
        return self._approved(
            [_Judged(option, verdict is True) for (option, _), verdict in zip(entries, verdicts, strict=True)]
        )

    def _judged(self, part: str) -> _Judged:
        """Return what names an option, and whether signs or words beside it approve of the option."""
        if len(part) > _MOST_NOTED_CHARS:
            return _Judged(part)
        text, signs = marks_in(part, self._asked.options)
        said = {MEANT.get(sign) for sign in signs}
        behind = None if self._table.whole(text) else _SCORED.fullmatch(text) or _JUDGED.fullmatch(text)
        if behind is not None and (verdict := approval_in(behind[2])) is not None:
            text = behind[1]
            said.add(verdict)
        if len(said) > 1 or None in said:
            return _Judged(None)
        return _Judged(text, said.pop() if said else None, is_box="empty" in signs)

    def _approved(self, judged: Sequence[_Judged]) -> tuple[str, ...] | None:
        """Return the options that are approved: those with a yes or, if nothing is judged, all that are named.

        None is approved if every option is rejected by a word or sign; a form with empty boxes alone says nothing.
        """
        options = self._options_in([item.option for item in judged])
        verdicts = {item.verdict for item in judged}
        if options is None or verdicts == {None}:
            return options
        if None in verdicts or (
            True not in verdicts and (len(options) < len(self._asked.options) or any(item.is_box for item in judged))
        ):
            return None
        return tuple(option for option, item in zip(options, judged, strict=True) if item.verdict)

    def _scores(self, value: JsonValue) -> dict[str, float] | None:
        if isinstance(value, str):
            lists = [self._parts(value, joints) for joints in (_COMMAS, _ALL_JOINTS)]
            found = [[self._scored(part) for part in parts] for parts in lists]
            entries = next(([entry for entry in those if entry] for those in found if None not in those), [])
        else:
            entries = [entry for entry in _entries(value, _SCORES) if entry[1] is not None]
        options = self._options_in([option for option, _ in entries]) or ()
        scores = [score for _, item in entries if (score := score_number(item, self._high)) is not None]
        return dict(zip(options, scores, strict=True)) if len(options) == len(scores) else None

    def _scored(self, part: str) -> tuple[JsonValue, JsonValue] | None:
        """Return the option and the score of a part; a reason may stand behind them."""
        scored = _SCORED.fullmatch(part)
        if scored is not None:
            score = scored[2].strip(" *_`").removesuffix(".")
            if score_number(score, self._high) is not None:
                return scored[1], score
        pointed = _POINTED.fullmatch(part.removesuffix(".")) if len(part) <= _MOST_NOTED_CHARS else None
        if pointed is None or self._table.whole(part) or self._alone(pointed[1].strip(" *_`")) is None:
            return None
        return (pointed[1], pointed[2]) if self._is_plain(pointed[3] or pointed[4] or "") else None
