"""Notes beside the options of a ballot, such as `(worst)`: what they say on the order, and whether they may be dropped.

A note is dropped only if it says nothing on order, number, rejection or quality. A note that names a place has to fit
the order of the ranking, or to turn all of it around.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.parsing.ballot_signs import MEANT, marks_in
from roundtable.reading.folding import fold
from roundtable.reading.sites import contains

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LAST", "approval_in", "has_reversed_order", "is_best_first", "is_plain_note", "ordered", "place_in"]

LAST: Final = -1
"""The place of an option that is called the last or the worst one."""
_FIRST_PLACE: Final = re.compile(
    r"(?:(?:my |the |clear )*(?:very )?(?:best|first|top|favou?rite|most preferred|most favou?red|winner|highest)"
    r"|(?:my |the )*(?:first|top|best) (?:choice|pick|place|rank|option)|ranked first)"
)
_LAST_PLACE: Final = re.compile(
    r"(?:(?:my |the |clear )*(?:very )?(?:worst|last|lowest|bottom|least preferred|least favou?red|least favou?rite)"
    r"|(?:my |the )*(?:last|worst) (?:choice|pick|place|rank|option)|ranked last)"
)
_NAMED_PLACES: Final = (
    "first|erste[rs]?|erstens|premi(?:er|ère)|primer[oa]?|primo|primeir[oa]|eerste|第一(?:名|位)?",
    "second|zweite[rs]?|zweitens|deuxième|seconde|segund[oa]|secondo|tweede|第二(?:名|位)?",
    "third|dritte[rs]?|drittens|troisième|tercer[oa]?|terz[oa]|terceir[oa]|derde|第三(?:名|位)?",
    "fourth|vierte[rs]?|viertens|quatrième|cuart[oa]|quart[oa]|vierde|第四(?:名|位)?",
    "fifth|fünfte[rs]?|fünftens|cinquième|quint[oa]|vijfde|第五(?:名|位)?",
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
_NAMED_PLACE: Final = tuple(
    re.compile(
        rf"(?:my |the |ranked |in |meine? |auf |mon |ma |mi |il |la |o |a |mijn )*(?:{words})"
        r"(?: (?:choice|pick|place|rank|option|wahl|platz|choix|opción|lugar|puesto|posto|scelta|opção|keuze|plaats))?"
    )
    for words in _NAMED_PLACES
)
_NUMBERED_PLACE: Final = re.compile(
    r"(?:(?:rank|ranked|place|position|no\.?|number|platz|rang|puesto|lugar|posto|posizione|posição|plaats|第) ?#? ?"
    r"([0-9]{1,2})(?:名|位)?|# ?([0-9]{1,2})|([0-9]{1,2})(?:st|nd|rd|th)(?: (?:choice|pick|place|rank))?"
    r"|([0-9]{1,2})位)"
)
_BEST_FIRST: Final = re.compile(r"(?:from )?best(?: first)? (?:to|->) worst(?: last)?|best first")
_WORST: Final = r"(?:the )?(?:worst|lowest|bottom|last|least(?: (?:preferred|favou?red|liked|favou?rite))?)"
_BEST: Final = r"(?:the )?(?:best|highest|top|first|most(?: (?:preferred|favou?red|liked|favou?rite))?)"
_WORST_FIRST: Final = re.compile(
    rf"(?:(?:from|in|ordered|sorted|ranked|listed|order:?) )*(?:{_WORST} (?:to|->|\u2192|-) ?{_BEST}|{_WORST} first"
    r"|ascending|reversed?)(?: order)?"
)
_MOST_ORDER: Final = 80
"""Characters of the longest text that says in which order a ranking is written."""
_SPEAKING: Final = re.compile(
    r"[0-9%\u2705\u2714\u2713\u2611\u274c\u2717\u2718\u2716\u2605\u2606\u2b50\U0001f44d\U0001f44e"
    r"\U0001f947-\U0001f949\U0001f3c6?!<>=+*\u0370-\U0001f000]"
    r"|(?<![^\W\d_])(?:best|better|worst|worse|first|second|third|fourth|fifth|last|top|bottom|lowest|highest|least|most|low"
    r"|high|middle|medium|ranks?|ranked|places?|placed|positions?|points?|scores?|scored|grades?|ratings?|rated|stars?"
    r"|favou?rites?|prefer(?:red|ence)?|winners?|wins?|losers?|loses?|runner[- ]?up|ties?|tied|equal(?:ly)?|same|order"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|zero|half|good|bad|great|poor(?:ly)?|excellent|fine|ok|okay"
    r"|mediocre|awful|terrible|decent|strong(?:est)?|weak(?:est)?|yes|no|true|false|right|wrong|correct|incorrect"
    r"|(?:un|in)?accept(?:able|ed)?|approved?|disapproved?|reject(?:ed)?|veto(?:ed)?|against|for|unsuitable|suitable"
    r"|hate[sd]?|dislike[sd]?|unsafe|unaffordable|dangerous|risky|invalid|valid|recommended|chosen|selected|choice|pick|eliminated|excluded|abstain|instead|ascending|descending"
    r"|reversed?|backup|fallback|alternative|ideal|perfect|avoid|never|unless|except|only"
    r"|beste[nrs]?|schlecht\w*|erste[nrs]?|zweite[nrs]?|dritte[nrs]?|letzte[nrs]?|platz|rang|punkte?|gut|falsch|richtig"
    r"|ja|nein|meilleure?|pire|premi(?:er|ère)|deuxième|troisième|derni(?:er|ère)|rang|bon(?:ne)?|mauvaise?|oui|non|faux"
    r"|mejor|peor|primer[oa]?|segund[oa]|tercer[oa]?|últim[oa]|puesto|puntos?|buen[oa]?|mal[oa]?|sí"
    r"|miglior[ei]?|peggior[ei]?|prim[oa]|second[oa]|terz[oa]|ultim[oa]|posto|punt[oi]|buon[oa]?"
    r"|melhor|pior|primeir[oa]|terceir[oa]|lugar|pontos?|bo[am]|má|mau|sim|não"
    r"|slechtste?|eerste|tweede|derde|laatste|plaats|punten|goed|nee)(?![^\W\d_])",
    re.IGNORECASE,
)
"""Signs and words on order, number, rejection or quality, and letters of scripts whose words are not looked up."""
_FEATURE: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:(?:has|have|having|with|offers?) (?:the )?)?(?:good|great|nice|excellent)"
    r"|(?:has|have|having|with|offers?) (?:the )?best)"
    r" (?!(?:options?|candidates?|city|cities|compromise|enough|idea|bet|match|overall|but|and|or|all|as|in|on|at|to"
    r"|of|if|too|though|case|chance|claim|value|balance|mix|fit)(?![^\W\d_]))(?=[^\W\d_]{3})",
    re.IGNORECASE,
)
"""Praise of a feature of an option, as in *good airport* and *has the best food*; it says nothing on the order."""
_KINDS: Final = ("negation", "rejection", "adverse", "mistake", "doubt", "hedge", "condition", "exception", "others")
_YES: Final = frozenset(
    {"yes", "approve", "approved", "accept", "accepted", "acceptable", "true", "ja", "oui", "s\u00ed", "sim", "y", "+"}
)
_NO: Final = frozenset(
    {"no", "reject", "rejected", "disapprove", "disapproved", "unacceptable", "not acceptable", "not approved"}
    | {"false", "nein", "non", "n\u00e3o", "n", "-", "\u2212", "\u2013"}
)
_FEWEST_REVERSED: Final = 2


def is_plain_note(note: str) -> bool:
    """Check whether a note says nothing on order, number, rejection or quality, so that it may be dropped.

    Example:
        >>> is_plain_note("by the sea"), is_plain_note("worst"), is_plain_note("3 points"), is_plain_note("incorrect")
        (True, False, False, False)
    """
    folded = fold(note)
    is_speaking = (
        _SPEAKING.search(_FEATURE.sub("", folded)) is not None or marks_in(note).signs or approval_in(note) is not None
    )
    return not is_speaking and not any(contains(kind, folded) for kind in _KINDS)


def place_in(note: str) -> int | None:
    """Return the place that a whole note names: from 1 on, or `LAST`; `None` if it names no place.

    Example:
        >>> place_in("best"), place_in("rank 3"), place_in("2nd"), place_in("least preferred"), place_in("3 points")
        (1, 3, 2, -1, None)
    """
    words = " ".join(fold(note).casefold().split()).strip(" .*_")
    if (numbered := _NUMBERED_PLACE.fullmatch(words)) is not None:
        return int(next(filter(None, numbered.groups())))
    if _FIRST_PLACE.fullmatch(words):
        return 1
    if _LAST_PLACE.fullmatch(words):
        return LAST
    return next((place for place, named in enumerate(_NAMED_PLACE, 1) if named.fullmatch(words)), None)


def is_best_first(note: str) -> bool:
    """Check whether a whole note says that a ranking begins with the best, as *best to worst* does."""
    return _BEST_FIRST.fullmatch(" ".join(note.casefold().split()).strip(" .")) is not None


def has_reversed_order(text: str) -> bool:
    """Check whether a whole text says that a ranking begins with the worst.

    Example:
        >>> has_reversed_order("worst to best"), has_reversed_order("best to worst")
        (True, False)
    """
    words = "" if len(text) > _MOST_ORDER else " ".join(text.casefold().split()).strip(" .")
    return _WORST_FIRST.fullmatch(words) is not None


def approval_in(words: str) -> bool | None:
    """Return whether words or signs behind an option approve of it; `None` if they say neither, or both.

    Example:
        >>> approval_in("Yes."), approval_in("rejected"), approval_in("perhaps"), approval_in("(N)")
        (True, False, None, False)
    """
    text, signs = marks_in(words)
    word = " ".join(text.casefold().split()).strip(" .!*_`\"'()[]:")
    said = {MEANT.get(sign) for sign in signs}
    if word:
        said.add(True if word in _YES else False if word in _NO else None)
    return said.pop() if len(said) == 1 else None


def ordered(places: Sequence[int | None], most: int, *, is_marked: bool) -> list[int] | None:
    """Return the order in which the levels of a ranking stand by the places that notes give them, best first.

    The order is the written one if every note fits it. Otherwise, the notes must name all places, or both the first
    and the last one of a list that begins with the last.

    Args:
        places: For each level, the place that its note names, if it has such a note.
        most: Number of options of the question.
        is_marked: Whether signs such as `>` or numbers say that the list is written best first.

    Returns:
        The indices of the levels; `None` if they contradict each other, or leave the order open.

    Example:
        >>> ordered([LAST, None, 1], 3, is_marked=False), ordered([None, None, LAST], 3, is_marked=False)
        ([2, 1, 0], [0, 1, 2])
        >>> ordered([LAST, None, None], 3, is_marked=False) is None
        True
    """
    count = len(places)
    if LAST in places and count < most:
        return None  # the options that were left out would come after the last one
    given = [count if place == LAST else place for place in places]
    written = [*range(count)]
    if all(place is None or place == index + 1 for index, place in enumerate(given)):
        return written
    if is_marked or count < _FEWEST_REVERSED:
        return None
    if sorted(place or 0 for place in given) == [*range(1, count + 1)]:
        return sorted(written, key=lambda index: given[index] or 0)
    is_turned = given[0] == count and given[-1] == 1
    is_fitting = all(place is None or place == count - index for index, place in enumerate(given))
    return written[::-1] if is_turned and is_fitting else None
