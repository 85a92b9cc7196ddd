"""What changed between two successive answers of an agent, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable._core.words import shortened
from roundtable.report.sanitize import plain, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ChangeView", "Piece", "compare_words", "new_sentences"]

Piece: TypeAlias = tuple[Literal["same", "new", "gone"], str]
"""Words with their kind: `same` if both texts have them, `new` if only the later text has them, `gone` if only the
earlier."""

_MAX_WORDS: Final = 400
_LEAST_SHARED: Final = 0.4
_MAX_SENTENCES: Final = 4
_MAX_SENTENCE: Final = 240
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """A comparison of an answer with the agent's previous answer."""

    summary: str
    """What changed, in one line."""
    position: tuple[Piece, ...] = ()
    """The two positions as one marked text; empty if they are equal."""
    sentences: tuple[str, ...] = ()
    """Sentences of the reasons that the previous answer did not have."""


def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """Return two texts as one, in which new and removed words are marked; empty if they are equal.

    Texts that share few words or are very long become two pieces: the whole earlier text and the whole later text.

    Example:
        >>> compare_words("Tea at noon", "Tea at night")
        (('same', 'Tea at'), ('gone', 'noon'), ('new', 'night'))
    """
    old, new = plain(before).split(), plain(after).split()
    if old == new:
        return ()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if max(len(old), len(new)) > _MAX_WORDS or matcher.ratio() < _LEAST_SHARED:
        whole: tuple[Piece, ...] = (("gone", " ".join(old)), ("new", " ".join(new)))
        return tuple(piece for piece in whole if piece[1])
    return tuple(_pieces(matcher, old, new))


def _pieces(matcher: SequenceMatcher[str], old: list[str], new: list[str]) -> Iterator[Piece]:
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield "same", " ".join(new[new_start:new_end])
            continue
        if old_end > old_start:
            yield "gone", " ".join(old[old_start:old_end])
        if new_end > new_start:
            yield "new", " ".join(new[new_start:new_end])


def new_sentences(before: str, after: str) -> tuple[str, ...]:
    """Return the first sentences of `after` that are not in `before`, at most four.

    Example:
        >>> new_sentences("It keeps. It is cheap.", "It keeps. It travels well.")
        ('It travels well.',)
    """
    known = {_key(sentence) for sentence in _SENTENCE_END.split(unmarked(before))}
    sentences = dict.fromkeys(
        plain(sentence)
        for sentence in _SENTENCE_END.split(unmarked(after))
        if _key(sentence) and _key(sentence) not in known
    )
    return tuple(shortened(sentence, _MAX_SENTENCE) for sentence in list(sentences)[:_MAX_SENTENCES])


def _key(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.casefold()))
