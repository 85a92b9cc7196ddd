"""Short replies of a set form, as in *Lisbon? No, Porto* and *The second option, Porto*."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.phrases import ORDINAL_NOUNS, ORDINALS, words_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.reading.options import Named, OptionTable

__all__ = ["short_form"]

_MOST_CHARS: Final = 300
_OPTION: Final = "\ufffc"
"""What stands for each option in the form of a reply."""
_SECOND: Final = (
    r"(?:back-?up|fall-?back|plan b|plano b|second choice|alternative|alternativa|runner-up|reserve|reserva|respaldo"
    r"|ersatz|notlösung|solution de repli|riserva|alternatief)(?: option| choice| plan| city| solution)?"
)
_FIRST_WORD: Final = (
    r"(?:initially|at first|earlier|previously|originally|zuerst|zunächst|anfangs|d'abord|au début|al principio|primero"
    r"|all'inizio|prima|no início|primeiro|eerst|najpierw)"
)
_NOW_WORD: Final = r"(?:now|jetzt|maintenant|ahora|adesso|ora|agora|nu|teraz)"
_SAYING: Final = r"(?:i (?:chose|said|thought|picked|choose|say|pick|was for|am for) |it was |it's |it is )?"
_NO: Final = r"(?:no|nope|nein|non|nee|não|nie)"
_CHOICE: Final = r"(?:choice|pick|preference)(?::| is)"
_MANY_THINK: Final = (
    r"(?:(?:many|most|some|a lot of)(?: people)?|people|one might|you might) (?:think|believe|say|assume|guess)"
    r"[^@.!?]{0,30}@[^@.!?]{0,30}?,? but (?:it's|it is|that's|the (?:real|correct|right|actual) (?:answer|one) is)"
    r" (?:actually|really|in fact|in reality) @"
)
_MISTAKEN: Final = (
    r"the answer is @[.!]* (?:(?:actually|wait|sorry|hmm|no|oh)[,.!]* ){0,3}(?:i made an? (?:mistake|error)|i was wrong"
    r"|let me correct (?:that|myself)|my mistake|correction)[:,.;\u2014]* (?:the )?(?:(?:correct|right|final) )?"
    r"(?:answer|it) (?:is|should be) @"
)
_BY_RANK: Final = (
    rf"(?:my |our )?(?:first|top|1st) {_CHOICE} @[.,;]* (?:and )?(?:my |our )?(?:second|2nd) {_CHOICE} @"
    rf"(?:[.,;]* (?:and )?(?:my )?third {_CHOICE} @)?"
)
_WITH_BACKUP: Final = (
    r"@,? (?:with|and|mit|und|avec|et|con|y|e|com|met|en) @ (?:as|als|comme|en|como|come)"
    rf" (?:(?:an?|the|our|my|une?|la|le|una?|o|um|uma|een) )?{_SECOND}"
)
_CORRECTED: Final = rf"@\? {_NO}[,.!:\u2014-]*\s(?:it's |it is |that's |es ist |c'est |es |è |é )?(?:actually )?@"
_UNTIL_NOW: Final = (
    rf"{_FIRST_WORD}[,:]? {_SAYING}@[,;.\u2014]* (?:(?:but|and|aber|mais|pero|ma|mas|maar|ale) )?"
    rf"{_NOW_WORD}[,:]? {_SAYING}@"
)
_NOT_ANOTHER: Final = (
    r"@[.,;:!\u2014-]* (?:and |und |et |y |e |en )?(?:not|nicht|kein|keine|pas|no|non|não|niet|nie|не) @"
    r"(?:(?:,| or|,? and|,? nor) @)*"
)
_SWITCHED: Final = (
    r"(?:so )?i(?:'m| am|'ve| have)? (?:now )?(?:switch|switching|switched|change|changing) (?:my \w+ )?from @ to @"
)
_PREFERRED: Final = (
    r"(?:i|we)(?:'d| would)? prefer @ (?:to|over|rather than) @(?: (?:and|or) @)?"
    r"|je préfère @ à @|prefiero @ a @|preferisco @ a @|prefiro @ a @"
)


def _form_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a form that is written with `@` for the sign of an option."""
    return re.compile(rf"(?:{pattern})[.!]*".replace("@", _OPTION))


_CHOOSES_FIRST: Final = tuple(map(_form_pattern, (_BY_RANK, _WITH_BACKUP, _PREFERRED, _NOT_ANOTHER)))
"""Forms whose first option is chosen."""
_CHOOSES_SECOND: Final = tuple(map(_form_pattern, (_CORRECTED, _UNTIL_NOW, _MANY_THINK, _MISTAKEN, _SWITCHED)))
"""Forms whose second option is chosen."""
_BETTER: Final = _form_pattern(
    r"(?:(?:i (?:think|believe)|in my opinion|overall|personally),? (?:that )?)?@"
    r" (?:(?:is|would be)(?: clearly| much| far| simply)? better than|ist besser als|est (?:mieux|meilleure?) que"
    r"|es mejor que|è (?:migliore|meglio) di|é melhor (?:do )?que|is beter dan|jest leps[a-z]+ (?:niż|od))"
    r" (?:(?P<all>(?:all (?:of )?)?(?:the )?others?(?: options| choices| cities| two| ones)?)"
    r"|(?:both |either )?@(?:(?:,|,? (?:and|or|und|oder|et|y|e|en|i)) @)*)"
)
_MEANT: Final = _form_pattern(
    r"(?:ich|wir) (?:denken?|glauben?|finden?|meinen?),? dass @ (?:die|der|das) (?:beste|richtige|bessere)"
    r" (?:wahl|option|lösung|stadt|antwort|ort|entscheidung) (?:ist|wäre)"
)
_PLACED: Final = re.compile(
    rf"(?:(?:option|choice|answer|number|no\."
    rf"|#) ?)?[(\[]?(?P<number>[1-9][0-9]?)[)\].:]*(?: [\u2013\u2014-])? {_OPTION}[.!]*"
)
"""An option behind its place in the list."""
_ORDINAL_BEFORE: Final = tuple(
    re.compile(
        rf"(?:(?:the|my choice is the|i choose the|die|der|das|la|le|el|il|lo|a|o|de|het) )?(?:{words_pattern(words)})"
        rf" (?:{words_pattern((*ORDINAL_NOUNS, 'city'))}),?\s{_OPTION}[.!]*"
    )
    for words in ORDINALS
)


def short_form(text: str, start: int, table: OptionTable) -> Named | None:
    """Return the option that a reply chooses whose form as a whole is known.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        table: The options.
    """
    if len(text) - start > _MOST_CHARS:
        return None
    mentions = table.mentions(text, start, len(text))
    if not mentions:
        return None
    form = _form(text, start, mentions)
    for chosen, patterns in enumerate((_CHOOSES_FIRST, _CHOOSES_SECOND)):
        if any(pattern.fullmatch(form) for pattern in patterns) and mentions[0].options != mentions[1].options:
            return mentions[chosen]
    if len(mentions) == 1 and _MEANT.fullmatch(form):
        return mentions[0]
    if (better := _BETTER.fullmatch(form)) is not None:
        others = {named.options for named in mentions[1:]}
        is_best = better["all"] is not None or len(others - {mentions[0].options}) == len(table.options) - 1
        return mentions[0] if is_best else None
    return mentions[0] if len(mentions) == 1 and _is_at_its_place(form, mentions[0], table) else None


def _form(text: str, start: int, mentions: Sequence[Named]) -> str:
    """Return a text in small letters, with a sign for each option and single spaces, without emphasis."""
    pieces: list[str] = []
    at = start
    for named in mentions:
        pieces += [text[at : named.start], _OPTION]
        at = named.end
    pieces.append(text[at:])
    return " ".join(re.sub(r"[*_`\"]", "", "".join(pieces)).casefold().split())


def _is_at_its_place(form: str, named: Named, table: OptionTable) -> bool:
    """Check whether a reply gives an option and its right place among the options, as in *(2) Porto*."""
    if len(named.options) != 1 or named.by != "text":
        return False
    place = table.options.index(named.options[0])
    if (placed := _PLACED.fullmatch(form)) is not None:
        return int(placed["number"]) == place + 1
    return place < len(_ORDINAL_BEFORE) and _ORDINAL_BEFORE[place].fullmatch(form) is not None
