"""Read the answer in JSON that is not in the form that was asked for, such as `{"result": {"vote": "B"}}`."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.types.answers import Reading
from roundtable.parsing.json_in_text import RepairBudget, outermost, parse_object, parse_slips
from roundtable.reading import read_answer
from roundtable.reading.phrases import ANSWER_NOUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.reading import Asked

__all__ = ["Notes", "is_taken_back", "notes_in", "only_text", "read_cut_choice", "read_other_json", "unfenced"]

_ANSWERS: Final = frozenset(
    [
        "label",
        "letter",
        "final",
        "selected",
        "chosen",
        "value",
        "number",
        "total",
        "count",
        "amount",
        "quantity",
        "sum",
        "prediction",
        "bottom",
        "line",
        "content",
        "text",
        "name",
        "equation",
        "formula",
        "voto",
        "stimme",
        "голос",
        "nummer",
        "número",
        "numero",
        "numéro",
    ]
) | {noun.replace(" ", "") for noun in ANSWER_NOUNS}
"""Words in names of members that hold an answer."""
_CHOICES: Final = frozenset({"choice", "answer", "vote", "option"})
"""Names of members that hold a choice, in an object that breaks off."""
_NEUTRAL: Final = frozenset(
    [
        "my",
        "own",
        "the",
        "a",
        "an",
        "your",
        "our",
        "final",
        "correct",
        "right",
        "best",
        "is",
        "of",
        "to",
        "for",
        "overall",
        "short",
        "one",
        "agent",
        "output",
        "response",
        "reply",
        "message",
        "data",
        "arguments",
        "parameters",
        "args",
        "input",
        "mein",
        "meine",
        "ma",
        "mon",
        "mi",
        "mia",
        "minha",
    ]
)
"""Words that may stand beside them."""
_DENIALS: Final = frozenset(
    [
        "no",
        "not",
        "never",
        "false",
        "wrong",
        "incorrect",
        "invalid",
        "rejected",
        "reject",
        "refused",
        "refuse",
        "refusal",
        "declined",
        "denied",
        "error",
        "failed",
        "eliminated",
        "excluded",
        "discarded",
        "withdrawn",
        "retracted",
        "abstain",
        "abstained",
        "unsure",
        "uncertain",
        "falsch",
        "faux",
        "falso",
        "errado",
        "неверно",
        "错误",
    ]
)
"""Words in the name or the value of a member that may take back the answer beside it."""
_REASONS: Final = frozenset(
    [
        "reason",
        "reasons",
        "reasoning",
        "why",
        "because",
        "rationale",
        "explanation",
        "justification",
        "motivo",
        "begründung",
        "grund",
        "razón",
        "raison",
        "motivazione",
        "理由",
        "解释",
    ]
)
"""Words in names of members that hold the reasons."""
_AFFIRMED: Final = ({"yes"}, {"true"})
_MOST_WORDS_OF_A_DENIAL: Final = 4
_WORDS: Final = re.compile(r"[^\W\d_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FENCE: Final = re.compile(r"```\w*+")
_BARE: Final = re.compile(r"\s*\{\s*\"(?P<name>\w{1,40})\"\s*:\s*(?P<value>[^\s\"{}\[\]:,'][^\"{}\[\]:\n]{0,80})\}\s*")
"""An object of one member whose text has no quotes."""
_MOST_LEVELS: Final = 6
_MOST_LEAVES: Final = 64
_MOST_OBJECTS: Final = 16
_MOST_CHARS: Final = 20_000


class _Leaf(NamedTuple):
    """A text or number in JSON, with the objects that hold it, the outermost first."""

    text: str = ""
    is_named: bool = False
    within: tuple[JsonObject, ...] = ()


def read_other_json(text: str, asked: Asked, *, is_named: bool = False) -> Reading:
    """Read the members of JSON objects whose names say that they hold the answer, such as *vote* and *final answer*.

    Other members don't hold the answer, even if there is only one: `{"loser": "B"}` chooses nothing. Neither does an
    answer count that another member takes back, as in `{"option": "B", "verdict": "rejected"}`. A value without any
    name counts.

    Args:
        text: A reply without thoughts.
        asked: What the question asks for.
        is_named: Whether the answer to an open question needs such a name.

    Example:
        >>> from roundtable.reading import Asked
        >>> read_other_json('{"result": {"number": "37"}}', Asked("number")).value
        '37'
    """
    leaves = [*_leaves_in(text)]
    may_be_bare = len(leaves) == 1 and not leaves[0].within and not (is_named and asked.kind == "open")
    texts = leaves if may_be_bare else [leaf for leaf in leaves if leaf.is_named]
    read = [(leaf, read_answer(leaf.text, asked)) for leaf in texts]
    certain = [(leaf, reading) for leaf, reading in read if reading.certainty == "certain"]
    values = tuple(dict.fromkeys(reading.value or "" for _, reading in certain))
    if len(values) != 1:
        return Reading(certainty="unread", rule="form" if not values else "several", candidates=values)
    objects = {id(fields): fields for leaf, _ in certain for fields in leaf.within}
    if any(is_taken_back(fields, values[0], asked) for fields in objects.values()):
        return Reading(certainty="unread", rule="several", candidates=values)
    return certain[0][1].model_copy(update={"span": None})


def read_cut_choice(answer: str, asked: Asked) -> Reading | None:
    """Read the choice in JSON that breaks off; `None` without a choice. What follows it could have taken it back."""
    tail = outermost(answer)[1]
    members = () if tail is None else [name for name in tail.fields if name.casefold() in _CHOICES]
    if tail is None or not members:
        return None
    complete = {name: tail.fields[name] for name in members if name not in tail.partial}
    reading = read_other_json(json.dumps(complete), asked, is_named=True)
    if reading.certainty != "certain":
        return Reading(certainty="unread", rule="none", place="choice")
    return reading.model_copy(update={"certainty": "likely", "place": "choice", "span": None})


def only_text(value: JsonValue) -> str:
    """Return the text or number of a member, also in a list of one or under a name that says that it answers.

    Returns:
        The text without surrounding white space; empty if there is none, or if there are several.

    Example:
        >>> only_text({"answer": "Canberra"}), only_text(["Canberra"]), only_text(["Canberra", "Sydney"])
        ('Canberra', 'Canberra', '')
    """
    if isinstance(value, bool):
        return ""
    is_named = not isinstance(value, dict | list) or _is_list_of_one(value)
    leaves = _leaves(value, _Leaf(is_named=is_named), levels=_MOST_LEVELS)
    texts = [leaf.text for leaf in leaves if leaf.is_named]
    return texts[0].strip() if len(texts) == 1 else ""


def unfenced(text: str) -> str:
    r"""Return the content of a text that is one block of code; other texts without surrounding white space.

    Example:
        >>> unfenced("```json\n[1]\n```"), unfenced(" [1] ")
        ('[1]', '[1]')
    """
    text = text.strip()
    inner = text.removeprefix("```").removesuffix("```")
    if len(inner) > len(text) - 6:
        return text
    language, line_break, rest = inner.partition("\n")
    is_language = bool(line_break) and (not language.strip() or language.strip().isalnum())
    return (rest if is_language else inner.removeprefix("json")).strip()


def _is_list_of_one(value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], str | int | float)


def is_taken_back(fields: JsonObject, answer: str, asked: Asked) -> bool:
    """Check whether a member of a JSON object takes back the answer in it, as `"rejected": true` does.

    Args:
        fields: The object.
        answer: What was read in it.
        asked: What the question asks for.
    """
    return any(_takes_back(name, value, answer, asked) for name, value in fields.items())


def _takes_back(name: str, value: JsonValue, answer: str, asked: Asked) -> bool:
    """Check whether a member of an object says that the answer in it is wrong, or that it is not given at all."""
    names = _words_of(name)
    if isinstance(value, dict | list) or not names.isdisjoint(_REASONS):
        return False  # such as a list of the other options, which were rejected
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value or "")
    words = set(_WORDS.findall(text.casefold()))
    is_denial = not words.isdisjoint(_DENIALS) and len(words) <= _MOST_WORDS_OF_A_DENIAL
    if names.isdisjoint(_DENIALS):
        is_answer = not names.isdisjoint(_ANSWERS)
        return is_denial and not (is_answer and read_answer(text, asked).value == answer)
    return not is_denial and (words in _AFFIRMED or read_answer(text, asked).value == answer)


class Notes(NamedTuple):
    """What a reply says besides the answer."""

    reasoning: str = ""
    """The text around the JSON, and the reasons in it."""
    confidence: JsonValue = None
    """The first confidence that is stated in the JSON, in whatever form."""


def notes_in(text: str) -> Notes:
    r"""Return what a reply in JSON of another form says besides the answer.

    Example:
        >>> notes_in('Here: {"vote": "B", "reason": "It is warm.", "confidence": 0.9}')
        Notes(reasoning='Here:\n\nIt is warm.', confidence=0.9)
    """
    if len(text) > _MOST_CHARS:
        return Notes()
    reasons = [*_texts_around(text)]
    confidences: list[JsonValue] = []
    for name, value in itertools.islice(_members(text), _MOST_LEAVES):
        names = _words_of(name)
        if "confidence" in names:
            confidences.append(value)
        elif not names.isdisjoint(_REASONS):
            items = value if isinstance(value, list) else [value]
            reasons += [item.strip() for item in items if isinstance(item, str)]
    return Notes("\n\n".join(filter(None, reasons)), next(iter(confidences), None))


def _texts_around(text: str) -> Iterator[str]:
    """Yield the texts before, between and behind the JSON objects of a reply."""
    spans = sorted(outermost(text)[0])
    ends = [0, *(end for _, end in spans)] if spans else []
    for end, start in zip(ends, [*(start for start, _ in spans), len(text)], strict=False):
        around = _FENCE.sub("", text[end:start]).strip()
        if any(map(str.isalnum, around)):
            yield around


def _members(text: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield the members of the JSON objects in a reply, and of the objects that they hold by known names."""
    values = [*_values_in(text)]
    for _ in range(_MOST_LEVELS):
        objects = [value for item in values for value in (item if isinstance(item, list) else [item])]
        members = [member for value in objects if isinstance(value, dict) for member in value.items()]
        yield from members
        values = [value for name, value in members if _words_of(name) <= _ANSWERS | _NEUTRAL]


def _words_of(name: str) -> set[str]:
    return set(_WORDS.findall(_CAMEL.sub("_", name).casefold()))


def _leaves_in(text: str) -> Iterator[_Leaf]:
    """Yield the texts and numbers in the JSON of a reply that have no name, or only known ones."""
    if len(text) > _MOST_CHARS:
        return
    found = 0
    for value in _values_in(text):
        for leaf in _leaves(value, _Leaf(is_named=_is_list_of_one(value)), levels=_MOST_LEVELS):
            yield leaf
            found += 1
            if found == _MOST_LEAVES:
                return


def _values_in(text: str) -> Iterator[JsonValue]:
    try:
        yield json.loads(unfenced(text), object_pairs_hook=_without_doubt)
    except (ValueError, RecursionError):
        pass
    else:
        return
    if (bare := _BARE.fullmatch(unfenced(text))) is not None:
        yield {bare["name"]: bare["value"].strip()}
        return
    budget = RepairBudget()
    spans, _ = outermost(text)
    for start, end in spans[-_MOST_OBJECTS:]:
        raw = text[start:end]
        document = parse_object(raw, (start, end)) or parse_slips(raw, (start, end), budget)
        if document is not None and not document.contradicted:
            yield document.fields


def _without_doubt(members: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return an object.

    Raises:
        ValueError: A name stands twice, with different values.
    """
    found = dict(members)
    if any(found[name] != value for name, value in members):
        raise ValueError("a name stands twice, with different values")
    return found


def _leaves(value: JsonValue, at: _Leaf, *, levels: int) -> Iterator[_Leaf]:
    match value:
        case bool():
            yield at._replace(text="yes" if value else "no")
        case str() if levels and value.lstrip()[:1] in {"{", "["}:
            try:
                yield from _leaves(json.loads(value), at, levels=levels - 1)
            except (ValueError, RecursionError):
                yield at._replace(text=value)
        case str() | int() | float():
            yield at._replace(text=str(value))
        case list() if levels and len(value) == 1:
            yield from _leaves(value[0], at, levels=levels - 1)
        case dict() if levels:
            for name, item in value.items():
                words = _words_of(name)
                # "ada_answer", "answer_if_rain" and "loser" are not the answer.
                if words and words <= _ANSWERS | _NEUTRAL:
                    is_named = at.is_named or not words.isdisjoint(_ANSWERS)
                    inner = at._replace(is_named=is_named, within=(*at.within, value))
                    yield from _leaves(item, inner, levels=levels - 1)
        case _:
            return
