"""What changed between two successive answers of an agent, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.core.base.words import shortened
from roundtable.report.sanitize import plain, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ChangeView", "Piece", "Sentence", "compare_words", "new_sentences", "split_sentences"]

Piece: TypeAlias = tuple[Literal["same", "new", "gone"], str]
"""Words with their kind: `same` if both texts have them, `new` if only the later text has them, `gone` if only the
earlier."""

Sentence: TypeAlias = tuple[str, str]
"""The words of a sentence in lower case, by which sentences are compared, and the sentence."""

_MAX_WORDS: Final = 400
_LEAST_SHARED: Final = 0.4
_MAX_SENTENCES: Final = 4
_MAX_SENTENCE: Final = 240
_WORD: Final = re.compile(r"\w+")
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
    if max(len(old), len(new)) <= _MAX_WORDS:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        if matcher.ratio() >= _LEAST_SHARED:
            return tuple(_pieces(matcher, old, new))
    whole: tuple[Piece, ...] = (("gone", " ".join(old)), ("new", " ".join(new)))
    return tuple(piece for piece in whole if piece[1])


def _pieces(matcher: SequenceMatcher[str], old: list[str], new: list[str]) -> Iterator[Piece]:
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield "same", " ".join(new[new_start:new_end])
            continue
        if old_end > old_start:
            yield "gone", " ".join(old[old_start:old_end])
        if new_end > new_start:
            yield "new", " ".join(new[new_start:new_end])


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text without Markdown marks; sentences without a word are left out.

    Example:
        >>> split_sentences("It **keeps**. It is cheap!")
        (('it keeps', 'It keeps.'), ('it is cheap', 'It is cheap!'))
    """
    pairs = ((_key(sentence), sentence) for sentence in _SENTENCE_END.split(unmarked(text)))
    return tuple(pair for pair in pairs if pair[0])


def new_sentences(before: Sequence[Sentence], after: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the first sentences of `after` that are not in `before`, at most four.

    Example:
        >>> new_sentences(split_sentences("It keeps. It is cheap."), split_sentences("It keeps. It travels well."))
        ('It travels well.',)
    """
    known = {key for key, _ in before}
    new: dict[str, None] = {}
    for key, sentence in after:
        if key not in known:
            new[plain(sentence)] = None
        if len(new) == _MAX_SENTENCES:
            break
    return tuple(shortened(sentence, _MAX_SENTENCE) for sentence in new)


def _key(sentence: str) -> str:
    return " ".join(_WORD.findall(sentence.casefold()))
