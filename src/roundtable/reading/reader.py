"""The reader of answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, assert_never

from roundtable.core.types.answers import Reading
from roundtable.reading.abstentions import ABSTAIN, is_refusal
from roundtable.reading.choices import only_option_behind, only_option_later, read_choice
from roundtable.reading.counts import counted_option
from roundtable.reading.displays import with_displays_in_line, without_code_marks
from roundtable.reading.folding import fold, without_control_marks
from roundtable.reading.own_words import read_words
from roundtable.reading.phrases import RETRACTION_HEADS, RETRACTIONS, STATES_NOTHING, words_pattern
from roundtable.reading.references import find_pointer
from roundtable.reading.sites import states_too_often
from roundtable.reading.thoughts import answer_start
from roundtable.reading.values import leads_to_another, read_number
from roundtable.reading.yes_no import NO_WORDS, YES_WORDS, checked_yes_no, read_yes_no

if TYPE_CHECKING:
    from roundtable.reading.asked import Asked

__all__ = ["READER_VERSION", "read_answer"]

READER_VERSION: Final = 1
"""Version of the rules; stored with each reading."""
_MOST_CHARS: Final = 1_000_000
"""Reading a hostile text of this length takes up to two seconds."""
_MOST_SHORT: Final = 600
"""A text up to this length cannot state an answer in too many places."""
_MOST_NAME: Final = 2
_COLON: Final = re.compile(r"[\s*_]*+(?:[:\u2014]|-{1,2}\s)[\s*_]*+(?=\S)")
_COMMA: Final = re.compile(r"[\s*_]*+(?:[:,\u2014]|-{1,2}\s)[\s*_]*+(?=\S)")
"""What stands before the answer in *I stand by my answer: Lisbon*."""


_STRUCK_OUT: Final = re.compile(r"~~(?=[^\s~])[^~\n]{1,400}~~|<(del|strike)>[^<\n]{1,400}</\1>", re.IGNORECASE)
"""Words that the author crossed out."""
_EXPLANATION: Final = re.compile(
    r"\n[ \t*_#>-]*+(?:(?:my |the |brief |short |step-by-step )?(?:reasoning|reasons?|rationale|explanation"
    r"|justification|because|why|begründung|erklärung|grund|gründe|raisonnement|explication|justification|raisons?|razonamiento"
    r"|explicación|justificación|razón|ragionamento|spiegazione|motivazione|raciocínio|explicação|justificativa"
    r"|uitleg|redenering|toelichting|motivering|uzasadnienie|wyjaśnienie|обоснование|объяснение|пояснение|gerekçe"
    r"|açıklama|理由|解释|解釋|説明|解説|이유|설명|근거|السبب|التفسير|कारण|व्याख्या)[*_\s]*+[:：]|because\s)",
    re.IGNORECASE,
)
"""The beginning of a paragraph that explains the answer before it."""
_HEADING: Final = re.compile(
    r"\W*(?:analysis|question|problem|task|summary|overview|introduction|context|background|step|part|answer|response"
    r"|solution|hello|hi|hey|dear|sure|okay|ok|great|good|thanks|thank|analyse|frage|question|pregunta|domanda)(?![^\W\d_])",
    re.IGNORECASE,
)
"""The first word of a heading or a greeting."""
_UNSURE: Final = re.compile(
    r"(?<![^\W\d_])(?:not (?:so |entirely |completely |really |very |too |quite )?(?:sure|certain|confident)|unsure"
    r"|uncertain|might be wrong|may be wrong|just a guess|nicht sicher|unsicher|pas (?:sûre?|certaine?)"
    r"|no estoy segur[oa]"
    r"|non sono sicur[oa]|não tenho certeza|niet zeker|nie jestem pew|не уверен)",
    re.IGNORECASE,
)
_REPLY: Final = re.compile(
    rf"[\s*_`\"']*+(?:{words_pattern(sorted((*YES_WORDS, *NO_WORDS)))})[*_]*+\s?[,\u2014，、-]\s?", re.IGNORECASE
)
"""A yes or no with which a text replies to somebody."""
_THEIRS: Final = re.compile(r"\W*(?:the\s)?[^\W\d_]+'s\s[^\W\d_]+\W*", re.IGNORECASE)
"""Somebody else's answer with which nobody agrees, as in *Student's answer: A*."""
_RETRACTION: Final = re.compile(
    rf"(?:(?<=[.,;:!?()\u2014\u2013\u2026。，；！？])|(?<=\n)(?!\n)|(?<=\s-))[\s*_`\"'(#>]{{0,12}}+"
    rf"(?:(?:oh|hmm|hm|sorry|no|nein|non|ah|oops)[,.:]?\s)*(?:(?:{words_pattern(RETRACTIONS)})"
    rf"|(?:{words_pattern(RETRACTION_HEADS)})\s?[*_]*+[:,：，])",
    re.IGNORECASE,
)
"""What takes back the words before it, at the beginning of a clause."""


def read_answer(text: str, asked: Asked) -> Reading:
    r"""Read the answer in a whole text.

    The reading is certain only if the text can be read in one way. All places that state the answer must agree: a box,
    a sentence such as *The answer is B*, the first line, the last line. Drafts in thoughts don't count. The whole
    text is read; one of more than 1,000,000 characters is not read at all.

    Args:
        text: The whole text that the agent wrote.
        asked: What the question asks for.

    Example:
        >>> from roundtable.reading import Asked, read_answer
        >>> cities = Asked("choice", ("A) Lisbon", "B) Porto"))
        >>> read_answer("Lisbon is larger, but I'd go with (B).", cities).value
        'B) Porto'
        >>> read_answer("A or B, I can't tell.", cities).certainty
        'unread'
        >>> read_answer(r"So 17 \times 24 = \boxed{408}.", Asked("number")).value
        '408'
    """
    if len(text) > _MOST_CHARS:
        return Reading(certainty="unread", rule="too_long")
    start = answer_start(text)
    if start is None:
        return Reading(certainty="unread", rule="thoughts")
    text = without_control_marks(text)  # marks of channels tell thoughts from the answer
    text = _STRUCK_OUT.sub(lambda struck: " " * len(struck[0]), text)
    folded = fold(text)
    reading = _unless_retracted(_stated(folded, start, text, asked), folded, start, asked)
    if (label := _EXPLANATION.search(folded, start)) is not None:
        reading = _with_explanation(reading, folded, start, text, asked=asked, label=label)
    answer = text[start:]
    if (reply := _said_in_reply(reading, answer, start, asked)) is not None:
        return reply
    pointer = find_pointer(answer)
    # "My answer is unchanged" states no answer; what stands behind such a phrase may.
    is_pointed = pointer is not None and reading.span is not None and reading.span[0] < start + pointer.end
    if reading.rule not in {"none", "whole"} and not (is_pointed and asked.kind in {"open", "formula"}):
        is_none = asked.kind in {"open", "formula"} and reading.value is not None and is_refusal(reading.value)
        return reading.model_copy(update={"rule": "abstention", "value": ABSTAIN}) if is_none else reading
    if pointer is not None:
        colon = (_COLON if asked.kind in {"open", "formula", "number"} else _COMMA).match(folded, start + pointer.end)
        behind = _stated(folded, colon.end(), text, asked) if colon is not None else None
        is_theirs = _THEIRS.fullmatch(answer[: pointer.end]) is not None
        if behind is not None and behind.certainty == "certain" and not is_theirs:
            return behind
        stated = _name_behind(answer[pointer.end :]) if asked.kind == "open" else ()
        return Reading(certainty="unread", rule="reference", points_to=pointer.name, candidates=stated)
    if is_refusal(answer):
        option = only_option_behind(folded, start, asked.options, asked.labels) if asked.kind == "choice" else None
        if option is None and asked.kind == "choice":
            option = only_option_later(folded, start, asked.options, asked.labels)
        if option is not None:
            return Reading(certainty="unread", rule="none", candidates=(option,))
        return Reading(certainty="certain", rule="abstention", value=ABSTAIN)
    return reading


def _with_explanation(
    reading: Reading, folded: str, start: int, text: str, *, asked: Asked, label: re.Match[str]
) -> Reading:
    """Return the answer before a paragraph that only explains it, as in *Lisbon*, then *Reasoning: ...*.

    An explanation that leads to another answer takes the certainty away.
    """
    if reading.span is not None and reading.span[0] < label.start():
        return reading
    answer = _unless_retracted(
        _stated(folded[: label.start()], start, text[: label.start()], asked), folded, start, asked
    )
    if answer.certainty != "certain" or answer.value is None:
        return reading
    if asked.kind in {"open", "formula"}:
        return answer if reading.value is None and _HEADING.match(answer.value) is None else reading
    if reading.value is not None:
        candidates = tuple(dict.fromkeys((answer.value, reading.value)))
        return answer if len(candidates) == 1 else Reading(certainty="unread", rule="several", candidates=candidates)
    is_other = asked.kind == "number" and leads_to_another(folded, label.end(), answer.value)
    return reading if is_other or reading.rule == "several" or _UNSURE.search(folded, label.end()) else answer


def _said_in_reply(reading: Reading, answer: str, start: int, asked: Asked) -> Reading | None:
    """Return the reading of a yes or no that only opens a reference or a refusal, as in *No, I keep my answer*."""
    if asked.kind not in {"choice", "yes_no"} or reading.certainty != "certain" or reading.span is None:
        return None
    opening = _REPLY.match(answer)
    if opening is None or reading.span[0] >= start + opening.end():
        return None
    pointer = find_pointer(answer[opening.end() :])
    if pointer is not None:
        return Reading(certainty="unread", rule="reference", points_to=pointer.name)
    return reading.model_copy(update={"certainty": "likely"}) if is_refusal(answer[opening.end() :]) else None


def _name_behind(behind: str) -> tuple[str, ...]:
    """Return the name that is all that stands behind a reference, such as `Porto` behind *I agree with Ada*."""
    name = behind.strip(" .!:;,*_`\"'\n\u2014-")
    is_name = (
        behind[:1] in {".", "!", ":", ";", "\u2014", "\n"} and name[:1].isupper() and len(name.split()) <= _MOST_NAME
    )
    return (name,) if is_name and name.casefold() not in STATES_NOTHING and find_pointer(name) is None else ()


def _unless_retracted(reading: Reading, folded: str, start: int, asked: Asked) -> Reading:
    """Return a reading that is only likely if the text takes it back further on. A repeated answer is read last."""
    if reading.certainty != "certain" or reading.span is None:
        return reading
    if len(folded) > _MOST_SHORT and states_too_often(folded, start):
        return reading.model_copy(update={"certainty": "likely"})
    # The words of an open answer may hold the retraction themselves.
    behind = reading.span[0] + 1 if asked.kind in {"open", "formula"} else reading.span[1]
    if all(_is_name(folded, found) for found in _RETRACTION.finditer(folded, behind)):
        return reading
    return reading.model_copy(update={"certainty": "likely"})


def _is_name(folded: str, found: re.Match[str]) -> bool:
    """Check whether a word that may take back what was said is the name of a side, as in *The other side, No, lost*."""
    return folded[found.start() - 1] == "," and found[0].strip(" *_`\"'(")[:1].isupper()


def _stated(folded: str, start: int, text: str, asked: Asked) -> Reading:
    match asked.kind:
        case "choice":
            reading = read_choice(folded, start, asked.options, asked.labels, text, is_short=asked.is_short)
            if reading.rule == "none" and not reading.candidates:
                reading = counted_option(folded, start, asked.options, asked.labels) or reading
            return checked_yes_no(reading, folded, start, asked.options, text)
        case "number":
            return read_number(without_code_marks(with_displays_in_line(folded, start), start), start)
        case "yes_no":
            return read_yes_no(folded, start, text)
        case "formula" | "open":
            return read_words(with_displays_in_line(folded, start), start, text, is_formula=asked.kind == "formula")
        case _:
            assert_never(asked.kind)
