"""Sentences that propose an option without a verb of choice, as in *We should hold the offsite in Porto*."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from roundtable.reading.judgements import is_praised_behind
from roundtable.reading.sites import contains, is_own, sentence_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.reading.options import Named, OptionTable

__all__ = ["inverted_options", "proposed_options"]

_VERB: Final = (
    r"(?:hold|host|have|organi[sz]e|arrange|schedule|do|meet|gather|go|travel|fly|move|relocate|use|adopt|build|start"
    r"|begin|stay|stick|invest|launch|deploy|implement|buy|take|choose|pick|select|opt|book)"
)
_GERUND: Final = (
    r"(?:holding|hosting|having|organi[sz]ing|arranging|meeting|gathering|going|travell?ing|moving|relocating|using"
    r"|adopting|building|starting|staying|investing|deploying|choosing|picking|selecting|booking)"
)
_OTHER: Final = (
    r"(?!(?:next|last|first|second|third|previous|other|future|whole|same|to|and|or|not|of|from|without|against|instead"
    r"|only|near|than)(?![^\W\d_]))"
)
_THING: Final = (
    rf"(?:(?:\s(?:it|this|that|everything|(?:the|our|your|this|an?|my)(?:\s{_OTHER}[^\W\d_]{{2,20}}){{1,3}}))?"
    r"\s(?:in|at|to|with|on|for|by|nach|mit|auf|bei|naar|met))?"
)
_AUTHOR: Final = (
    r"(?:(?:so|therefore|thus|hence|overall|ultimately|personally|in conclusion|to conclude|in my opinion|in my view"
    r"|for me|and),?\s)?(?:(?:i|we)\s(?:still |also |strongly |personally |firmly )?"
    r"(?:think|believe|feel|say|suggest|recommend|propose)(?:\sthat)?\s)?"
)
_PROPOSAL: Final = (
    rf"{_AUTHOR}(?:(?:(?:we|you|one)\s(?:should|must|ought to|need to|have to)|i(?:'d|\swould)|let's|let us)"
    rf"(?:\s(?:definitely|therefore|clearly|simply|just|really))?\s{_VERB}"
    rf"|(?:i|we)\s(?:would\s|strongly\s|highly\s)?(?:recommend|suggest|propose)\s{_GERUND}"
    rf"|(?:i|we)\s(?:would\s|strongly\s|highly\s)?(?:recommend|suggest|propose)\s(?:that\s)?(?:we|you)\s{_VERB}"
    rf"|(?:my|our|the best)\s(?:recommendation|suggestion|advice|proposal|choice|option|plan|answer)"
    rf"\s(?:is|would be)\sto\s{_VERB}"
    rf"|(?:the|our)(?:\s{_OTHER}[^\W\d_]{{2,20}}){{1,3}}\sshould\s(?:be(?:\s(?:held|hosted|organi[sz]ed|placed"
    r"|located|built|moved))?|take place|happen)\s(?:in|at|on|to|with)"
    r"|nous devrions (?:organiser|tenir|faire|aller|choisir|utiliser)(?:\s(?:le|la|l'|notre)"
    r"\s?[^\W\d_]+){0,2}(?:\s(?:à|en))?"
    r"|deberíamos (?:celebrar|hacer|organizar|ir|elegir|usar)(?:\s(?:el|la|nuestr[oa])\s[^\W\d_]+){0,2}(?:\s(?:en|a))?"
    r"|dovremmo (?:tenere|fare|organizzare|andare|scegliere|usare)(?:\s(?:il|la|lo|l')\s?[^\W\d_]+){0,2}(?:\s(?:a|in))?"
    r"|(?:devemos|deveríamos) (?:realizar|fazer|organizar|ir|escolher|usar)(?:\s(?:o|a)\s[^\W\d_]+){0,2}(?:\s(?:em"
    r"|para|a))?)"
)
_ADVICE: Final = (
    r"(?:hold|host|organi[sz]e|arrange|meet|go|travel|move|relocate|use|adopt|build|start|begin|stick|invest|deploy)"
)
_ADVICE_HEAD: Final = (
    r"(?:(?:recommendation|proposal|suggestion|advice|conclusion|verdict|position|answer)[*_]*:[*_\s]*)?"
)
_FROM: Final = r"(?:(?<=[.!?\n:])|\A)[\s*_#>-]{0,12}+"
_BETWEEN: Final = re.compile(rf"{_THING}\s(?:(?:the|an?)\s)?[*_`\"']*", re.IGNORECASE)
"""What may stand between a verb and the option: a thing and a preposition."""
_SENTENCE: Final = re.compile(rf"{_FROM}(?P<cue>{_PROPOSAL})", re.IGNORECASE)
_GERMAN: Final = re.compile(
    rf"{_FROM}(?P<cue>(?:ich (?:denke|finde|meine|glaube),?\s(?:dass\s)?)?(?:wir sollten|ich würde|we moeten"
    rf"|we zouden|das"
    r" (?!nächste)[^\W\d_]+ sollte|der (?!nächste)[^\W\d_]+ sollte|die (?!nächste)[^\W\d_]+ sollte)"
    r"(?:\s(?:das|den|die|unser|unseren|unsere|het|de)\s[^\W\d_]+)?(?:\s(?:in|nach|mit|auf|bei|naar|met))?)",
    re.IGNORECASE,
)
_GERMAN_END: Final = re.compile(
    r"[*_]*\s(?:abhalten|veranstalten|machen|durchführen|organisieren|stattfinden|gehen|fahren|reisen|einsetzen"
    r"|verwenden|nutzen"
    r"|anfangen|beginnen|houden|organiseren|gaan|gebruiken|beginnen)(?=[*_]*(?:[.!]|\s*\Z|,\s(?:weil|da|denn|omdat"
    r"|want)\s))",
    re.IGNORECASE,
)
_ALONE: Final = re.compile(rf"[\s*_#>]*+{_ADVICE_HEAD}(?P<cue>{_ADVICE})", re.IGNORECASE)
"""Advice with which a text begins, as in *Hold the offsite in Porto*."""
_GERUND_SENTENCE: Final = re.compile(rf"{_FROM}(?P<cue>{_AUTHOR}{_GERUND})", re.IGNORECASE)
_END: Final = re.compile(
    r"[*_`\"']*(?:[.!](?=[\s*_]|\Z)|\s*\Z|\s*\n|,?\s(?:because|since|due to|given|as (?:it|the|this|we|they)"
    r"|for its)\s)"
)
_INVERTED: Final = re.compile(
    rf"{_FROM}(?:(?:meiner (?:meinung|ansicht) nach|meines erachtens|für mich|für uns|aus meiner sicht|insgesamt"
    rf"|daher|deshalb"
    r"|somit|also|unterm strich|naar mijn mening|volgens mij|wat mij betreft|daarom|dus|al met al)\s(?:ist|wäre|is"
    r"|zou))\s[*_]*",
    re.IGNORECASE,
)
"""What stands before an option in a German or Dutch sentence that calls it the best behind it."""
_INVERTED_PRAISE: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:(?:eindeutig|klar|ganz klar|definitiv|duidelijk|zeker)\s)?(?:(?:die|der|das)\s(?:beste"
    r"|richtige|bessere"
    r"|geeignetste|sinnvollste|ideale)|am besten|meine|unsere|de\s(?:beste|juiste|ideale)|het\s(?:beste|juiste)"
    r"|mijn)(?![^\W\d_])",
    re.IGNORECASE,
)
_ANY: Final = (_SENTENCE, _GERMAN, _GERUND_SENTENCE)
_MOST_FOUND: Final = 20
_MOST_BETWEEN: Final = 200
_MOST_ALONE: Final = 2_000


def proposed_options(text: str, start: int, table: OptionTable) -> Iterator[Named]:
    """Yield the options that sentences of the author propose.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        table: The options.
    """
    for pattern in _ANY:
        for found in islice(pattern.finditer(text, start), _MOST_FOUND):
            named = _object(text, found.end(), table)
            is_stated = named is not None and is_own(text, found.start("cue"), start)
            if named is not None and is_stated and _is_end(pattern, text, named):
                yield named
    advice = _ALONE.match(text, start) if len(text) - start <= _MOST_ALONE else None
    if advice is not None:
        named = _object(text, advice.end(), table)
        named_options = {one.options for one in table.mentions(text, start, len(text))}
        if named is not None and len(named_options) == 1 and _END.match(text, named.end):
            yield named


def _object(text: str, at: int, table: OptionTable) -> Named | None:
    """Return the option behind the verb before an index, with at most a thing and a preposition between."""
    named = next(iter(table.mentions(text, at, min(sentence_end(text, at, len(text)), at + _MOST_BETWEEN))), None)
    is_object = named is not None and named.by == "text" and _BETWEEN.fullmatch(text, at, named.start) is not None
    return named if is_object else None


def _is_end(pattern: re.Pattern[str], text: str, named: Named) -> bool:
    """Check whether nothing but a reason follows an option, or, behind a gerund, what calls it the best."""
    if pattern is _GERUND_SENTENCE:
        end = sentence_end(text, named.end, len(text))
        return is_praised_behind(text, named, end) and not contains("condition", text[named.end : end])
    return (_GERMAN_END if pattern is _GERMAN else _END).match(text, named.end) is not None


def inverted_options(text: str, start: int, table: OptionTable) -> Iterator[Named]:
    """Yield the options between a verb and praise, as in *Meiner Meinung nach ist Porto die beste Wahl*.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        table: The options.
    """
    for found in islice(_INVERTED.finditer(text, start), _MOST_FOUND):
        end = sentence_end(text, found.end(), len(text))
        named = table.leading(text, found.end(), end)
        is_open = text[end : end + 1] == "?" or contains("condition", text[found.end() : end])
        if named is not None and not is_open and is_praised_behind(text, named, end, verb=_INVERTED_PRAISE):
            yield named
