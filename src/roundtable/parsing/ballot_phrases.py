"""Words around the options of a ballot: what stands before them, behind them and below them, in many languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from roundtable.reading.letters import letters_of
from roundtable.reading.phrase_patterns import find_phrases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.reading.letters import Letters

__all__ = ["Approval", "approval_sentence", "reasons_below", "without_heading"]

_HEADINGS: Final = {"ranking": "ranking", "approval": "approval", "scores": "scores"}
_SENTENCES: Final = {"ranking": "", "approval": "approve", "scores": "score"}
"""Sections of the phrases behind which a ballot begins: with a colon, and without one."""
_COLON: Final = re.compile(r" ?:[ \n]?")
_EDGES: Final = re.compile(r"(?<![^\W_])(?=[^\W_])|(?<=[\u2e80-\uffff])|(?=[\u2e80-\uffff,])")
"""Where a word begins; between signs of Chinese, Japanese and Korean, everywhere."""
_MOST_HEAD: Final = 200
_MOST_SENTENCE: Final = 500
_MOST_LINES: Final = 200
_END: Final = " .\u3002"


class Approval(NamedTuple):
    """A sentence that approves of options."""

    approved: str
    """What names the options that are approved."""
    rejected: str = ""
    """What names the options that are not; empty if the sentence names none."""
    any_of: bool = False
    """Whether *or* may stand between the options."""


def without_heading(text: str, kind: Literal["ranking", "approval", "scores"]) -> str:
    """Return a ballot without the heading, or the beginning of its sentence, that says what it is.

    Args:
        text: The ballot.
        kind: What it is.

    Example:
        >>> without_heading("Mein Ranking: Porto > Lisbon", "ranking"), without_heading("I give Porto 9", "scores")
        ('Porto > Lisbon', 'Porto 9')
    """
    head = letters_of(text[:_MOST_HEAD])
    start = len(head.text) - len(head.text.lstrip("# "))
    for found in find_phrases("ballots", _HEADINGS[kind], head.text, start):
        if (colon := _COLON.match(head.text, found.match.end())) is not None:
            return text[head.end_in_original(colon.end()) :].lstrip(" *_\n")
    behind = [found.match.end() for found in find_phrases("ballots", _SENTENCES[kind], head.text, start)]
    return text[head.end_in_original(max(behind)) :].lstrip() if behind else text


def approval_sentence(text: str) -> Approval | None:
    """Return what a sentence says about options that it approves, and those that it doesn't; `None` if it isn't one.

    Args:
        text: The sentence.

    Example:
        >>> approval_sentence("Lisbon and Porto are acceptable.").approved
        'Lisbon and Porto'
        >>> approval_sentence("I approve of Lisbon, but not Porto.").rejected
        'Porto'
        >>> approval_sentence("Lisbon and Porto are unacceptable.") is None
        True
    """
    text = text.strip(_END + "\n")
    if "\n" in text or len(text) > _MOST_SENTENCE:
        return None
    letters = letters_of(text)
    any_of = [found.match.end() for found in find_phrases("ballots", "accept any", letters.text, 0)]
    body = text[letters.end_in_original(max(any_of)) :].lstrip() if any_of else without_heading(text, "approval")
    letters = letters_of(body)
    rejected = ""
    for start, end in _places(letters, "but not"):
        rejected, body = body[end:].strip(), body[:start].rstrip(" ,")
        break
    letters = letters_of(body)
    for start, end in _places(letters, "acceptable"):
        if end == len(body):
            body = body[:start].rstrip()
            break
    return None if body == text else Approval(body, rejected, bool(any_of))


def _places(letters: Letters, section: str) -> Iterator[tuple[int, int]]:
    """Yield where phrases of a section stand in a text, first the leftmost one, as indices of the original."""
    for edge in _EDGES.finditer(letters.text):
        ends = [found.match.end() for found in find_phrases("ballots", section, letters.text, edge.start())]
        if ends and edge.start():
            yield letters.places[edge.start()], letters.end_in_original(max(ends))


def reasons_below(text: str) -> tuple[str, str]:
    r"""Return a ballot and the reasons below it, which begin with a heading such as *Reasoning:*.

    Args:
        text: The ballot, a line for each part.

    Example:
        >>> reasons_below("1. Porto\n2. Lisbon\nReasoning: Porto is cheap.")
        ('1. Porto\n2. Lisbon', 'Porto is cheap.')
    """
    lines = text.splitlines()
    for number, line in enumerate(lines[:_MOST_LINES]):
        head = letters_of(line[:_MOST_HEAD])
        start = len(head.text) - len(head.text.lstrip("# "))
        for found in find_phrases("ballots", "reasons", head.text, start) if number else ():
            if (colon := _COLON.match(f"{head.text} ", found.match.end())) is not None:
                rest = line[head.end_in_original(min(colon.end(), len(head.text))) :]
                return "\n".join(lines[:number]), "\n".join([rest, *lines[number + 1 :]]).strip(" *_\n")
    return text, ""
