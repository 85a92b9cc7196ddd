"""Choices that stand apart from their verb: *ich würde Porto wählen*, *Porto is cheap, so that's my choice*."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from roundtable.reading.judgements import affirmed_mentions
from roundtable.reading.phrases import FIRM_ADVERBS, FIRM_HEADS, FRAME_VERBS, FRAMES, LINK_ADVERBS, words_pattern
from roundtable.reading.sites import contains, is_own, is_quoted, last_sentences, opening_sentence, sentence_start
from roundtable.reading.wrapping import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.reading.options import Named, OptionTable

__all__ = ["framed_options", "headed_options", "referred_options"]

_FRAME: Final = re.compile(
    rf"(?<![^\W\d_'])(?P<frame>{'|'.join(frame.replace(' ', chr(92) + 's') for frame in FRAMES)})"
    rf"(?:\s(?:auf jeden fall|{words_pattern((*FIRM_ADVERBS, *LINK_ADVERBS))})){{0,2}}\s",
    re.IGNORECASE,
)
_FRAME_VERB: Final = re.compile(
    rf"[\s*_`\"')\]]*+(?:{words_pattern(FRAME_VERBS)})(?=\s?[.,;!\n]|\s?\Z|\s(?:weil|da|omdat|want))", re.IGNORECASE
)
_OBJECT: Final = re.compile(
    r"(?:(?:den|die|das|dem|de|het|diesen|diese|dit|deze|the|this|that)\s[^\W\d_]{2,30}\s)?", re.IGNORECASE
)
_VERB_END: Final = re.compile(
    r"(?:\s(?:it|them|the|this|these|that)(?:\s[^\W\d_]{2,20}){0,2})?\s?(?:[.,;!\n]|\Z|\s(?:because|since|weil|da|omdat))"
)
_SO_CHOSEN: Final = re.compile(
    r"(?:\A|(?<=[,;:.\u2014\u2013!])|(?<=\s-))[\s*_]*+(?:(?:so|and|hence|thus|also|daher|et|donc|y|e|quindi|dus|en)\s)?"
    r"(?:(?:that(?:'s| is)|it(?:'s| is)|this is|he's|she's)\s(?:therefore\s|thus\s|clearly\s|why\sit's\s)?(?:my|our)"
    r"|(?:das|dies|es) ist (?:daher |also |deshalb )?meine?|c'est (?:donc )?m(?:on|a)"
    r"|(?:es[ao]|est[ae]) es (?:por tanto )?mi"
    r"|(?:questa |quella |ed? )?è (?:quindi |dunque )?(?:la mia|il mio)"
    r"|(?:ess[ae]|est[ae]) é (?:portanto )?(?:a minha|o meu)"
    r"|dat is (?:dus |daarom )?mijn)\s(?:(?:final|clear|top|first|klare|endgültige)\s)?"
    r"(?:choice|recommendation|pick|vote|answer|favou?rite|winner|preference|wahl|empfehlung|antwort|favorit|choix"
    r"|recommandation|réponse|elección|recomendación|respuesta|voto|scelta|raccomandazione|risposta|escolha|recomendação"
    r"|resposta|keuze|aanbeveling|antwoord)(?=[\s*_]*[.!;,]|[\s*_]*\Z|\s(?:because|weil|car|porque|perché|omdat))",
    re.IGNORECASE,
)
"""*so that's my choice*: what calls the option named before it the author's choice."""
_FIRM_HEAD: Final = re.compile(rf"(?:{words_pattern(FIRM_HEADS)})", re.IGNORECASE)
_COLON: Final = re.compile(r"[:：][\s*_]*(?=[^:：]*\Z)")
_MOST_FRAMES: Final = 50
_MOST_SENTENCE: Final = 400
_KINDS: Final = ("negation", "hedge", "condition", "hearsay", "others", "rejection", "doubt", "mistake")
_MOST_LETTERS: Final = 4
"""Fewest letters of an option that may be the verb of a sentence."""


def framed_options(text: str, start: int, table: OptionTable) -> Iterator[Named]:
    """Yield the options between the author and the verb of the choice, and options that are this verb.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        table: The options.
    """
    for frame in islice(_FRAME.finditer(text, start), _MOST_FRAMES):
        if not is_own(text, frame.start(), start):
            continue
        line_end = text.find("\n", frame.end())
        end = line_end if line_end >= 0 else len(text)
        named = table.leading(text, frame.end(), end)
        if named is not None and _FRAME_VERB.match(text, named.end, end):
            yield named
            continue
        is_english = frame["frame"].casefold().startswith(("i", "we")) and "ich" not in frame["frame"].casefold()
        thing = None if is_english else _OBJECT.match(text, frame.end(), end)
        named = table.leading(text, thing.end() if thing else frame.end(), end)
        if named is not None and named.by == "text" and _is_verb(text, named) and _VERB_END.match(text, named.end, end):
            yield named


def _is_verb(text: str, named: Named) -> bool:
    """Check whether an option may be the verb of a sentence: a word in small letters."""
    word = text[named.start : named.end]
    return word.islower() and word.isalpha() and len(word) >= _MOST_LETTERS


def referred_options(text: str, start: int, table: OptionTable) -> Iterator[Named]:
    """Yield the only option of the words before *so that's my choice* and the like."""
    for begin, end in last_sentences(text, start, 3):
        match = _SO_CHOSEN.search(text, begin, end)
        if match is None:
            continue
        is_before = not table.mentions(text, begin, match.start()) and begin > start
        at = sentence_start(text, len(text[start:begin].rstrip()) + start - 1, start) if is_before else begin
        before = text[at : match.start()]
        mentions = table.mentions(text, at, match.start())
        is_only = len({named.options for named in mentions}) == 1
        if not is_only or len(before) > _MOST_SENTENCE or any(contains(kind, before) for kind in _KINDS):
            continue
        if affirmed_mentions(text, at, mentions) == mentions and not table.mentions(text, match.end(), end):
            yield mentions[-1]


def headed_options(text: str, start: int, table: OptionTable) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield the option that is all that stands behind a colon, if the words before it lead to the answer."""
    for begin, end in dict.fromkeys((opening_sentence(text, start), *last_sentences(text, start, 1))):
        colon = _COLON.search(text, begin, min(end, begin + _MOST_SENTENCE))
        if colon is None or text[end : end + 1] in {"?", "？"}:
            continue
        head = text[begin : colon.start()]
        whole = table.whole(cleaned(text[colon.end() : end]))
        is_firm = _FIRM_HEAD.search(head) is not None
        is_doubted = any(contains(kind, head) for kind in _KINDS[1:]) or is_quoted(text, colon.end(), start)
        if len(whole) == 1 and is_firm and not is_doubted:
            yield whole, colon.end(), end
