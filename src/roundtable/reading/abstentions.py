"""Recognise answers that are none: refusals of models, and texts that say that their author does not know."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.letters import letters_of
from roundtable.reading.openings import statement_starts
from roundtable.reading.phrase_patterns import Found, find_phrases

__all__ = ["ABSTAIN", "is_refusal"]

ABSTAIN: Final = "ABSTAIN"
"""The word with which an agent abstains."""

_MOST_CHARS: Final = 1_200
_MOST_SENTENCE: Final = 160
_WORD: Final = re.compile(r"(?<![^\W\d_])[^\W\d_]")
_SENTENCE_END: Final = re.compile(r"[.!?\n]")


def is_refusal(text: str) -> bool:
    """Check whether a text begins like a refusal or an "I don't know".

    What may stand before, such as an apology, is in `texts/openings.txt`, and the phrases are in `texts/refusals.txt`.
    Whether the text also states an answer is for the caller to check.

    Example:
        >>> is_refusal("I'm sorry, but I can't assist with that request."), is_refusal("Ich kann dabei nicht helfen.")
        (True, True)
        >>> is_refusal("I can't recommend Lisbon highly enough."), is_refusal("I don't know Lisbon.")
        (False, False)
    """
    letters = letters_of(text.strip()[:_MOST_CHARS]).text
    return any(_refuses(letters, start) for start in statement_starts(letters))


def _refuses(letters: str, start: int) -> bool:
    found = [*find_phrases("refusals", "phrases", letters, start)]
    if not found or any(True for _ in find_phrases("refusals", "but not", letters, start)):
        return False
    if any(not _is_of_request(letters, claim) for claim in find_phrases("refusals", "claims", letters, start)):
        return False
    return not any(_is_answered(letters, phrase) for phrase in found)


def _is_answered(letters: str, phrase: Found) -> bool:
    end = phrase.match.end()
    end += letters.startswith(" ", end)
    return any(True for _ in find_phrases("refusals", "unless followed by", letters, end, language=phrase.language))


def _is_of_request(letters: str, claim: Found) -> bool:
    """Check whether a sentence that may be a claim, as *We cannot share the costs* is, speaks of what was asked for."""
    begin = claim.match.end()
    stop = _SENTENCE_END.search(letters, begin, begin + _MOST_SENTENCE)
    end = stop.start() if stop else min(len(letters), begin + _MOST_SENTENCE)
    words = [word.start() for word in _WORD.finditer(letters, begin, end)]
    return not words or any(
        True
        for word in words
        for _ in find_phrases("refusals", "of the request", letters, word, language=claim.language)
    )
