"""Recognise answers that only point to an earlier answer, such as *No change* or *I agree with Ada*."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.reading.letters import Letters, letters_of
from roundtable.reading.openings import statement_starts
from roundtable.reading.phrase_patterns import Found, find_phrases, is_phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OWN", "Pointer", "find_pointer", "points_to"]

OWN: Final = "you"
"""The name in a pointer to the author's own earlier answer."""

_MOST_CHARS: Final = 1_200
_JOINED: Final = re.compile(
    r"(?:,? (and|und|et|y|e|ed|en|i|\u0438|ve|\u0648|\u0914\u0930|&)|,) "
    r"([^\s.,;:!?'()\[\]{}|\u2014]{1,40}(?: [0-9]{1,3})?)"
)
"""The next one of several names, with the word before the last."""
_NAMES_END: Final = re.compile(r" ?(?:[.!?,;:()\n\u2014]|because|since|as |'s |on |here|\Z)")
_EMPHASIS: Final = re.compile(r"[*`\"]")
_NAME_FIRST: Final = "a name before its verb"
_NO_NAMES: Final = {
    "another's answer": ("not a name",),
    _NAME_FIRST: ("not a name", "not a name before its verb"),
}
"""Sections of the file, each with the sections of what cannot be a name there."""
_MOST_NAMES: Final = 12
_BRACKETS: Final = re.compile(r"(?<=[^\W_]) \([^()\s]{1,60}\)")
"""The end of a name such as `Compatible (m1)`."""
_PAUSE: Final = re.compile(r"[.,;:!?\n\u2014]+ ?| (?:and|und|et|y|e|en|i|\u0438|ve) ")
_MOST_PAUSES: Final = 12
_MOST_BETWEEN: Final = 20
"""Most letters between the beginning of a word for what a speaker said and the name, as in *the argument of Ada*."""
_WORD: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]|[\u2e80-\U0002ffff]")


class Pointer(NamedTuple):
    """What a text points to instead of stating an answer."""

    name: str
    """`you` for the author's own earlier answer, else the name of a speaker as it is written.

    A text that agrees with a speaker and keeps the author's own answer has both, as in `Ada + you`. Of a text that
    agrees with no more than a point of a speaker, it is the whole phrase: such a text may answer otherwise.
    """
    end: int
    """Index in the text at which the pointing phrase ends; a statement behind it may still name the answer."""


def points_to(text: str) -> str | None:
    """Return to whose earlier answer a text points: `you`, or a name as it is written; else `None`.

    Example:
        >>> points_to("I stand by my answer."), points_to("No change."), points_to("I agree with Ada, she is right.")
        ('you', 'you', 'Ada')
        >>> points_to("No change in the law is needed.") is None
        True
    """
    pointer = find_pointer(text)
    return pointer.name if pointer else None


def find_pointer(text: str) -> Pointer | None:
    """Return to whose earlier answer the beginning of a text points, and where the pointing phrase ends.

    What may stand before is in `texts/openings.txt`, and the phrases are in `texts/references.txt`. Several names, such
    as *Ada and Bo*, and words such as *everyone* are returned as they are written.

    Example:
        >>> find_pointer("I stand by my answer: Lisbon")
        Pointer(name='you', end=20)
        >>> find_pointer("After reading the others, I agree with Ada and Bo.").name
        'Ada and Bo'
    """
    indent = len(text) - len(text.lstrip())
    original = text[indent : indent + _MOST_CHARS]
    letters = _without_brackets(letters_of(original))
    starts = statement_starts(letters.text)
    for start in starts:
        if (end := _own_end(letters.text, start)) is not None:
            return Pointer(OWN, indent + letters.end_in_original(end))
        if (found := _named("another's answer", original, letters, start)) is not None:
            return found._replace(end=indent + found.end)
    # The last first: in "I think Ada is right", the name is "Ada".
    for start in reversed(starts):
        if (found := _named(_NAME_FIRST, original, letters, start, may_be_small=start == starts[0])) is not None:
            return found._replace(end=indent + found.end)
    return None


def _own_end(letters: str, start: int) -> int | None:
    for found in find_phrases("references", "own answer", letters, start, ending="endings"):
        if not _differs("own", letters, found):
            return found.match.end()
    return None


def _named(section: str, original: str, letters: Letters, start: int, *, may_be_small: bool = True) -> Pointer | None:
    """Return the pointer to another speaker's answer that begins at an index of the letters.

    Args:
        section: Section of the phrases.
        original: The text as it was written.
        letters: The text, reduced.
        start: The index.
        may_be_small: Whether the name may begin with a small letter.
    """
    for found in find_phrases("references", section, letters.text, start, ending="endings"):
        match = found.match
        begin, end = match.span(match.lastindex or 0)
        if any(is_phrase("references", names, letters.text[begin:end]) for names in _NO_NAMES[section]):
            continue
        if not may_be_small and original[letters.places[begin]].islower():
            continue
        own = _own_behind(letters.text, match.end())
        is_other = _differs("another's", letters.text, found)
        is_point = _is_point(letters.text, found)
        if own is not None and (is_other or is_point):
            return Pointer(OWN, letters.end_in_original(own))
        if is_other:
            return None
        name, behind = _name(original, letters, match, begin, end)
        if is_point:
            name = original[letters.places[match.start()] : letters.end_in_original(match.end())]
        return Pointer(name if own is None else f"{name} + {OWN}", letters.end_in_original(own) if own else behind)
    return None


def _name(original: str, letters: Letters, match: re.Match[str], begin: int, end: int) -> tuple[str, int]:
    """Return the names in a phrase as they are written, and the index in the original text behind the phrase."""
    last = _names_end(original, letters, end)
    behind = letters.end_in_original(last)
    brackets = _BRACKETS.match(original, behind)
    behind = brackets.end() if brackets else behind
    phrase = original[letters.places[match.start()] : letters.end_in_original(match.end())]
    name = _EMPHASIS.sub("", original[letters.places[begin] : behind])
    # In a text of an agent, "you" is another speaker; as a name it would be the agent itself.
    is_you = name.casefold() == OWN
    return phrase if is_you else name, max(behind, letters.end_in_original(match.end()))


def _own_behind(letters: str, at: int) -> int | None:
    """Return where a phrase for the author's own answer ends that begins a later clause."""
    for pause in islice(_PAUSE.finditer(letters, at), _MOST_PAUSES):
        rest = letters[pause.end() :]
        for start in statement_starts(rest):
            if (end := _own_end(letters, pause.end() + start)) is not None:
                return end
    return None


def _is_point(letters: str, found: Found) -> bool:
    """Check whether a phrase names only a point or an argument of a speaker, from which no answer follows."""
    if _any_phrase("a point, if not followed by", letters, found.match.end(), found.language):
        return False
    start, end = found.match.span(found.match.lastindex or 0)
    places = [word.start() for word in _WORD.finditer(letters, *found.match.span())]
    words = [at for at in places if start - _MOST_BETWEEN < at < start or at >= end]
    if any(_any_phrase("an answer", letters, at, found.language) for at in words):
        return False
    return any(_any_phrase("a point", letters, at, found.language) for at in words)


def _without_brackets(letters: Letters) -> Letters:
    """Return the letters without the parts in brackets behind names, as in *Compatible (m1) is right*."""
    kept = [*_kept(letters.text)]
    if len(kept) == 1:
        return letters
    places = tuple(letters.places[at] for part in kept for at in part)
    return Letters("".join(letters.text[part.start : part.stop] for part in kept), places)


def _kept(letters: str) -> Iterator[range]:
    at = 0
    for brackets in _BRACKETS.finditer(letters):
        yield range(at, brackets.start())
        at = brackets.end()
    yield range(at, len(letters))


def _names_end(original: str, letters: Letters, end: int) -> int:
    """Return where the last of several names ends, as in *Ada, Bo and Cy*."""
    at, is_joined = end, False
    for _ in range(_MOST_NAMES):
        joined = _JOINED.match(letters.text, at)
        if joined is None or original[letters.places[joined.start(2)]].islower():
            break
        at, is_joined = joined.end(), joined[1] is not None
    return at if is_joined and _NAMES_END.match(letters.text, at) else end


def _differs(whose: str, letters: str, found: Found) -> bool:
    """Check whether what follows a pointing phrase takes it back."""
    return _any_phrase(f"{whose}, unless followed by", letters, found.match.end(), found.language)


def _any_phrase(section: str, letters: str, at: int, language: str) -> bool:
    """Check whether a phrase of a section begins at an index, or behind a space there."""
    at += letters.startswith(" ", at)
    return any(True for _ in find_phrases("references", section, letters, at, language=language))
