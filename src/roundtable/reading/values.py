"""Read a number; also what numbers and answers in own words have in common."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from roundtable.core.types.answers import Reading
from roundtable.reading.bounds import is_bound
from roundtable.reading.judgements import CONTRAST
from roundtable.reading.number_doubts import (
    is_counted_behind,
    is_cut_off,
    is_denied_behind,
    is_first_item,
    is_incidental,
    is_labelled_as_example,
    is_limited,
    is_limited_next,
    is_other_in_words,
    is_rejected,
    is_rejected_above,
    is_spoken_about,
    is_supposed,
    repeated_number,
    stands_beside,
    with_minus_signs,
)
from roundtable.reading.number_steps import is_step
from roundtable.reading.number_words import worded_number
from roundtable.reading.numbers import find_numbers, is_operand, plain, whole_number
from roundtable.reading.phrases import (
    APPROXIMATIONS,
    ARTICLES,
    CHECKS,
    JOINERS,
    LINK_ADVERBS,
    LINKS,
    MONTHS,
    NEGATIONS,
    REASONS,
    RESULT_VERBS,
    words_pattern,
)
from roundtable.reading.sites import (
    boxes,
    contains,
    cue_sites,
    is_offer,
    is_theirs,
    last_sentences,
    lines,
    opening_sentence,
    sentence_end,
    sentence_start,
)
from roundtable.reading.tails import is_check, without_tail
from roundtable.reading.wrapping import cleaned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.reading.numbers import NumberFound
    from roundtable.reading.sites import Site

__all__ = [
    "AROUND",
    "ENDS_OPEN",
    "EQUALS",
    "INNER_END",
    "JOINED",
    "LED_TO",
    "MOST_BRIEF",
    "MOST_CHARS",
    "OPERATOR",
    "TURN",
    "Value",
    "agreed",
    "first",
    "is_stated",
    "leads_to_another",
    "read_number",
]

_MOST_LEAD: Final = 30
MOST_BRIEF: Final = 6
_MOST_NUMBERS: Final = 12
MOST_CHARS: Final = 200
_MOST_DENIAL: Final = 24
"""Characters behind *is* in which the words behind a number deny it."""
_MOST_CORRECTION: Final = 12
"""Characters behind the beginning of a remark in which it takes back what was said."""
EQUALS: Final = re.compile(r"(?:=|\\approx|≈|\\Rightarrow|⇒)(?!=)")
AROUND: Final = " \t\r\n.*_`\"'$:;,!。"
TURN: Final = re.compile(
    rf"[,;(–—]\s*+(?:{words_pattern(JOINERS)})?\s*+(?:{words_pattern(REASONS)})"
    r"|(?<![^\W\d_])(?:because|weil|parce que|porque|perché|omdat|ponieważ|потому)(?![^\W\d_])|;"
    r"|(?<=\s)(?:including|incl\.|excluding|inklusive|inkl\.|einschließlich|y compris|incluyendo|incluido|compreso"
    r"|incluindo|inclusief|включая)\s"
    r"|(?<=\s)\((?!\s?[0-9.,]+\s?\))",
    re.IGNORECASE,
)
"""Where a reason, a correction or a remark begins behind an answer."""
_TOTAL: Final = re.compile(r",\s(?:and\s)?for a (?:grand |combined )?total of\s", re.IGNORECASE)
_OR_IN_BRACKETS: Final = re.compile(r"\(\s?(?:or|oder|ou|o|of|lub|или|或)\s", re.IGNORECASE)
_TWO_VALUES: Final = re.compile(
    r"(?<![\w)^*/+-])([A-Za-z])\s?=\s?-?[0-9][0-9./]*\s?(?:,|;|and|or|und|et|y|e)\s?\1\s?=\s?-?[0-9]", re.IGNORECASE
)
"""Two values of one name, as in `x = 3, x = 4`."""
OPERATOR: Final = re.compile(r"\s*+(?:\([^()\n]{0,60}\)\s*+)?(?:[^\W\d_]{1,12}\s*+)?(?:[+*/×÷=-]|\\times|\\div|\\cdot)")
"""What follows a box that is only a part of a sum."""
LED_TO: Final = re.compile(
    rf"(?:=|\\approx|≈|(?:{words_pattern((*LINKS, *RESULT_VERBS))}))"
    r"(?:\s(?:therefore|thus|then|exactly|a total of|in total|genau|exactement|exactamente|esattamente|exatamente))?"
    r"[\s*_`$\\(\[{]*\Z",
    re.IGNORECASE,
)
"""Words directly before the number to which a sentence leads."""
_STATES: Final = re.compile(rf"(?:{words_pattern((*LINKS, *RESULT_VERBS))})", re.IGNORECASE)
_STATED: Final = re.compile(rf"{_STATES.pattern}[\s*_`$]*\Z", re.IGNORECASE)
"""Words that state the number behind them, without a sum."""
_TIME_OR_CASE: Final = re.compile(
    r"[\s*_-]*+(?:in|by|for|before|after|without|with|at|on|für|vor|nach|ohne|mit|im|en|pour|avant|après|sans|para|antes"
    r"|después|sin|per|prima|dopo|senza|antes|depois|sem|voor|na|zonder)\s",
    re.IGNORECASE,
)
"""The beginning of a sentence that holds at one time, or in one case."""
_ABOUT: Final = re.compile(rf"(?:{words_pattern(APPROXIMATIONS)})[\s*_`$]*\Z", re.IGNORECASE)
_SINCE: Final = re.compile(
    r"(?<![^\W\d_])(?:since|in|on|until|till|by|from|after|before|seit|im|am|bis|vor|nach|ab|depuis|en|au|le|avant"
    r"|après|desde|hasta|dal|nel|fino al|for|per|für|pour|para|voor|dla|для|"
    r"since|em|até|sinds|op|od|do|w|с|до|в|к|2)[\s*_`]*\Z",
    re.IGNORECASE,
)
"""Words before a date or an intermediate figure."""
_MONTH: Final = re.compile(rf"[\s.]*+(?:{words_pattern(MONTHS)})", re.IGNORECASE)
_TIME: Final = re.compile(
    rf"(?<=[0-9])\s?(?:am|pm|a\.m\.|p\.m\.|uhr|o'clock)(?![a-z])|(?<=[0-9]{{4}})s(?![a-z])"
    rf"|(?<=[0-9])\s(?:{words_pattern(MONTHS)})"
    r"(?=[\s*_]*(?:[.,;!?)\n]|[0-9]|\Z))",
    re.IGNORECASE,
)
"""What makes a number a time, a date or a decade."""
_CANNOT_TELL: Final = re.compile(
    r"(?<![^\W\d_])(?:cannot|can't|could not|couldn't|unable to|not possible|impossible|not enough|missing"
    r"|not (?:given|known|stated|specified|provided|clear)|unknown|undetermined|unclear)(?![^\W\d_])"
    r"|n't (?:given|known|stated|specified|provided|know|clear|tell|say)(?![^\W\d_])"
    r"|无法|無法|不能|できません|できない|알 수 없|nicht berechnen|impossible de|no se puede|non è possibile"
    r"|не могу|нельзя",
    re.IGNORECASE,
)
"""Words behind a given number that say that the result can't be told."""
_NOT_A_RESULT: Final = re.compile(
    r"(?<![a-z])(?:[A-Z][a-z]+'s (?:estimate|answer|formula|result|figure|guess|number|calculation)|other agents?"
    r"|others"
    r"|(?:previous|last|earlier) (?:round|answer|estimate)|(?:obvious|naive|expected|usual) (?:answer|calculation"
    r"|result)"
    r"|wrong to|withdraw|(?i:(?:lower|upper) bound|maximum is|minimum is|exceed)|% sure|(?i:my confidence"
    r"|confidence:|i'm [0-9]+)"
    r"|(?i:i have [0-9]+ questions|there are [0-9]+ (?:cases|ways|questions|factors|interpretations|options"
    r"|problems|steps))"
    r"|(?i:so far|up to now|until now|sub-?total|intermediate (?:result|value(?! theorem)|sum|total|step)"
    r"|partial (?:result|sum)|(?:typical|common|usual) (?:mistake|error)|mistake is"
    r"|trap answer|intuitive answer|zwischen(?:ergebnis|summe)|intermédiaire|intermedi[oa]"
    r"|промежуточн)|中间结果|中間|途中"
    r"|(?i:error(?: code)?:|error [0-9]|failed,|failed:|exception:|rate limit|status(?: code)?:)|HTTP|ret ="
    r"|forgot|is wrong)"
)
"""What shows that the number of a sentence is somebody else's, an earlier one, a bound, or no result at all."""
_UNSOLVED: Final = re.compile(
    r"(?:(?<![\w.])[0-9]+\s?[a-z]|[a-z](?:\^2|\^\{?2\}?|²)|[a-z]\s?[+-]\s?[0-9]+)[\s$\\]*=[\s$\\]*-?\Z"
)
"""The left side of an equation that is not solved, as in `3x = 36`."""
_MORE_THAN: Final = re.compile(
    r"(?<![a-z])(?:higher|lower|larger|smaller|bigger|greater|closer?|close) (?:than|to)\s[$*]{0,3}\Z", re.IGNORECASE
)
_JUDGED: Final = re.compile(
    r"[\s*_`]+(?:sounds|seems|looks|appears|is|was|can't|cannot|isn't|wasn't|ignores|does|doesn't|would|could|may"
    r"|might)"
    r"(?![a-z])(?!\s(?:the|my|our)?\s?(?:final\s|correct\s|right\s)?(?:answer|result|correct|right|solution|total))",
    re.IGNORECASE,
)
"""A verb behind a number: the sentence says something about it."""
_REFERS: Final = re.compile(
    r"(?<![a-z])(?:equation|page|figure|table|step|section|line|multiple of|sum of the first|rounded to|power of"
    r"|divisible by)"
    r"\s(?:the\s)?\Z",
    re.IGNORECASE,
)
_MORE_BEHIND: Final = re.compile(
    r"%?\s(?:(?:more|less|fewer|higher|lower|larger|smaller|greater) than|decimal places)(?![a-z])",
    re.IGNORECASE,
)
_FOR_EXAMPLE: Final = re.compile(
    r"(?:e\.g\.|for example|such as|z\.\s?b\.|par exemple|por ejemplo|例如)[\s,:*_`]*\Z", re.IGNORECASE
)
_BOLD_NUMBER: Final = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_CLAUSE: Final = re.compile(
    r"[,;:]\s(?:so|therefore|thus|hence|but|also|daher|donc|mais|así que|pero|quindi|ma|portanto|mas|dus|maar|więc"
    r"|ale|поэтому|но)(?![^\W\d_])|因此|所以",
    re.IGNORECASE,
)
_LINKED: Final = re.compile(rf"(?:{words_pattern(LINKS)})", re.IGNORECASE)
_MOST_CLAUSE: Final = 14
_CHECK: Final = re.compile(rf"[\s*_]*+(?:{words_pattern(CHECKS)})[\s*_]*+[:：]", re.IGNORECASE)
_MOST_SOLE: Final = 25
_MOST_WIDE_BEHIND: Final = 6
_SUM: Final = re.compile(r"[=+*/×÷]")
INNER_END: Final = re.compile(r"[.!?](?=\s\S)|[。！？](?=.)|\n")
ENDS_OPEN: Final = re.compile(rf"(?:[:?,=？：]|(?<![^\W\d_])(?:{words_pattern(LINKS)}))\s*+\Z", re.IGNORECASE)
JOINED: Final = re.compile(
    r"(?<!\w)(?:or|oder|ou|o|of|lub|или|ya da|veya)(?!\w)|或|还是|還是|または|それとも|또는|아니면",
    re.IGNORECASE,
)


_ITEM: Final = re.compile(r"[ \t]*[+-]\s")
"""A sign at the beginning of a line that is the mark of an item, not of a number."""
_NEXT_ITEM: Final = re.compile(r"\n[\s*_]*+[0-9]{1,2}[.)]\s")
"""A line that begins with the number of an item."""
_MINUS_WORD: Final = re.compile(r"[\s*_`]*(?:minus|negative|moins|menos|meno|минус|eksi)\s", re.IGNORECASE)
_BANG: Final = re.compile(r"[0-9]!\s*[$}\\]")
"""A factorial at the end of a formula."""
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s*+\{[^{}]*+\}|[$\[\]\\]")
_MOST_JOINED: Final = 4
"""Most words between two numbers of which one is meant."""
_FEWEST_BESIDE_BOXES: Final = 3
_MOST_BESIDE_BOXES: Final = 8
"""Most words of a text that is hardly more than its boxes."""
_SPLIT: Final = re.compile(r";\s*+[-+]?[0-9$]|;\s*+[A-Za-z]\s?=")
_SEVERAL_NAMES: Final = re.compile(
    r"[0-9)}][^=\n]{0,20}?(?:[,;\n]|\\\\|\\q?quad|(?<![^\W\d_])(?:and|und|et|y|e|en|i|и|or|oder|ou|o|of|lub"
    r"|или)(?![^\W\d_])"
    r"|[和と或])[\s$}\\(,]*(?:\\text\{[^{}]{0,20}\})?[\s$]*([A-Za-z][0-9₀-₉]?(?:_\{?\w{1,6}\}?)?)[\s$]*\Z"
)
"""What lies between the equals signs of `x = 3, y = 4`."""
_NAME: Final = re.compile(r"([A-Za-z][0-9₀-₉]?(?:_\{?\w{1,6}\}?)?)[\s$]*\Z")
_GIVEN: Final = re.compile(r"(?<![^\W\d_])(?:when|if|for|at|with|given|since|für|bei|wenn)[\s$\\(]*\Z", re.IGNORECASE)
"""Words before a name whose value is given."""
_CASE: Final = re.compile(
    r"[0-9][^=\n]{0,20}(?<![^\W\d_])(?:for|if|when|für|wenn|pour|si|para|per|voor|als|dla|для|если|当|若)"
    r"[\s$]*\\?[A-Za-z]\w{0,2}\s?(?:=|\\geq?|\\leq?|[<>≤≥])"
)
"""A number that is the answer only in a case, as in *5 for n = 1*."""
_CORRECTED: Final = re.compile(
    r"(?<![^\W\d_])(?:no,? wait|wait|scratch that|correction|oops|i mean|or rather|nein,? (?:warte|doch)|halt|moment"
    r"|non,? attends|attendez|no,? espera|espera|no,? aspetta|aspetta"
    r"|nie,? czekaj|нет,? подождите|стоп|不对|等等)(?![^\W\d_])"
    r"|不对|等等|いや|아니,",
    re.IGNORECASE,
)
"""Words with which an author takes back a number."""
_DENIED_BEFORE: Final = re.compile(
    rf"(?:{words_pattern(NEGATIONS)}|n't|rather than|instead of|anstelle von|statt|au lieu de|en lugar de|invece di)"
    r"(?:\s(?:simply|just|the|really|equal to|einfach|le|la|el|il))?[\s$*_`(\\\[{]*\Z",
    re.IGNORECASE,
)
"""Words directly before a box that is not the answer."""
_DENIED_BEHIND: Final = re.compile(
    r"[\s}$*_`)\\\]]*+(?:isn't|(?:is|was|would|could|might|may|seems?|looks?|appears?|cannot|can't|ist|wäre|war"
    r"|est|serait|es|sería|è|sarebbe|é|seria|jest|będzie)(?![^\W\d_])|不是|并非)",
    re.IGNORECASE,
)
_THOUGHT: Final = re.compile(
    r"(?:not|n't|wrong|incorrect|mistake|error|trap|tempting|might|would|could|at first|naive|too|if|falsch|nicht|man"
    r" denken|faux|pas|incorrecto|sbagliat[oa]|errad[oa]|błędn[ey]|不是|错|错误)(?![a-z])",
    re.IGNORECASE,
)
"""Words that say of a number that it is not the answer."""
_MAY_PRECEDE: Final = frozenset(
    (
        *(*ARTICLES, *APPROXIMATIONS, *LINKS, *LINK_ADVERBS, *RESULT_VERBS),
        *("answer", "total", "boxed", "exactly", "only", "just", "simply", "precisely", "now"),
        *("genau", "nur", "exactement", "exactamente", "esattamente", "exatamente", "precies", "dokładnie", "ровно"),
    )
)
"""Single words that may stand before a number without changing it."""


_MOST_CHECKS: Final = 3
"""Most sentences at the end that are looked at to skip checks of the result."""


class Value(NamedTuple):
    """A value that a place of a text states."""

    key: Fraction | str
    written: str
    rule: str
    start: int
    end: int
    is_final: bool
    is_sure: bool = True
    """Whether nothing speaks against the value, as *probably* does."""


def read_number(text: str, start: int) -> Reading:
    """Return the number that a text gives as its answer.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
    """
    text = with_minus_signs(without_tail(text, start), start)
    reading = _stated_number(text, start)
    if reading.certainty != "certain" or reading.span is None:
        return reading
    is_on_the_way = reading.rule in {"closing", "whole", "choose"} and is_step(text, start, reading.span[0])
    if is_labelled_as_example(text, reading.span[0]):
        return Reading(certainty="unread", rule="none")
    if is_on_the_way or is_cut_off(text, reading.span[0]) or is_limited_next(text, reading.span[1]):
        return reading.model_copy(update={"certainty": "likely"})
    return reading


def _stated_number(text: str, start: int) -> Reading:
    """Return the number that a text gives as its answer, if nothing behind it speaks against it."""
    if _is_list(text, start):
        return Reading(certainty="unread", rule="several")
    if (alone := _alone(text, start)) is not None:
        return _certain(alone)
    if (words := _in_words(text, start, len(text))) is not None:
        # A lone word may be a name or a title as well.
        return _certain(words).model_copy(update={"certainty": "likely"})
    sites = (*boxes(text, start), *cue_sites(text, start))
    stated = [value for site in sites if (value := _number_at(text, site)) is not None]
    if (opening := _opening_number(text, start)) is not None:
        stated.append(opening)
    closing = _closing_number(text, start)
    if closing is not None and is_rejected_above(text, closing.start):
        closing = None
    if not stated:
        return Reading(certainty="unread", rule="none") if closing is None else _certain(closing)
    reading = agreed(stated, text)
    if closing is not None and closing.start > max(value.end for value in stated) and _is_other(closing, reading):
        # A result at the very end contradicts the answer that was stated before.
        return reading.model_copy(
            update={"certainty": "likely", "candidates": (plain(_fraction(closing)),), "rule": "several"}
        )
    return reading


def _is_answer(text: str, found: NumberFound) -> bool:
    """Check whether a text states a number alone: not a bound, an item, a part of a sum, or what it takes back."""
    start, end = found.span
    if not found.is_single or found.is_ambiguous or is_operand(text, start, end):
        return False
    if is_bound(text[max(0, start - _MOST_LEAD) : start], text, end):
        return False  # the words may stand outside of bold signs or of a box
    if _TIME.match(text, end) or is_theirs(text[end : end + MOST_CHARS]) or _MORE_BEHIND.match(text, end):
        return False
    if _REFERS.search(text, max(0, start - _MOST_LEAD), start):
        return False
    if _ITEM.match(text, start) and not text[text.rfind("\n", 0, start) + 1 : start].strip():
        return False
    is_denied = _is_denied(text, found.end) or is_denied_behind(text, found.span[1])
    return not is_denied and not is_other_in_words(text, found.end, found.value)


def _is_denied(text: str, end: int) -> bool:
    """Check whether the words behind a number say that it is not the answer, as in *42 is what one might think*."""
    verb = _DENIED_BEHIND.match(text, end)
    if verb is None:
        return False
    limit = min(verb.end() + _MOST_DENIAL, sentence_end(text, verb.end(), len(text)))
    return _THOUGHT.search(text, verb.start(), limit) is not None


def _is_list(text: str, start: int) -> bool:
    """Check whether each line of a text is a number, and not all the same one."""
    found = lines(text, start)
    if not 1 < len(found) <= _MOST_NUMBERS:
        return False
    numbers = [whole_number(cleaned(text[slice(*line)]).lstrip("-+*•· ")) for line in found]
    return all(numbers) and len({number.value for number in numbers if number}) > 1


def _turn_end(text: str, begin: int, end: int) -> int | None:
    """Return where a reason or a remark begins, else the end; `None` if another number stands behind a semicolon."""
    turn = TURN.search(text, begin, end)
    if turn is None or turn.start() <= begin or _TOTAL.match(text, turn.start()):
        return end
    is_other = (
        _SPLIT.match(text, turn.start())
        or (_OR_IN_BRACKETS.match(text, turn.start()) and not _is_same(text[begin:end]))
        or _CORRECTED.search(text, turn.start(), turn.end() + _MOST_CORRECTION)
    )
    return None if is_other else turn.start()


def _is_same(text: str) -> bool:
    """Check whether two numbers of a text, and there are no others, are equal, as in *3/4 or 0.75*."""
    numbers = [*islice(find_numbers(text), 3)]
    are_single = all(number.is_single and not number.is_ambiguous for number in numbers)
    return len(numbers) == 2 and are_single and numbers[0].value == numbers[1].value


def _is_of_several(text: str, begin: int, equals: Sequence[re.Match[str]]) -> bool:
    """Check whether equations give values to several names, or several to one: `x = 3, y = 4` and `x = 3 or x = 4`."""
    if len(equals) < 2:
        return False
    if _TWO_VALUES.search(text, begin, equals[-1].end() + 2):
        return True
    segment = text[equals[-2].end() : equals[-1].start()][-MOST_CHARS:]
    last = _SEVERAL_NAMES.search(segment)
    first = _NAME.search(text, max(begin, equals[-2].start() - MOST_CHARS), equals[-2].start())
    if last is None or first is None:
        return False
    if first[1] == last[1]:
        return JOINED.search(segment) is not None
    return _GIVEN.search(text, begin, first.start()) is None


def _fraction(value: Value) -> Fraction:
    return Fraction(value.key)


def _is_other(closing: Value, reading: Reading) -> bool:
    return reading.certainty == "certain" and reading.value not in {closing.written, plain(_fraction(closing))}


def _alone(text: str, start: int) -> Value | None:
    """Return the number that is the whole text, perhaps with *about*, a unit and a few more words."""
    stripped = text[start:].strip()
    if not stripped or len(stripped) > MOST_CHARS:
        return None
    at = start + text[start:].index(stripped)
    if (repeated := repeated_number(stripped)) is not None and (number := whole_number(repeated)) is not None:
        return Value(number.value, _with_percent(number), "whole", at, at + len(stripped), is_final=True)
    cut = _turn_end(text, at, at + len(stripped))
    if cut is None or _BANG.search(text, at) or stripped.endswith(("?", "？")):
        return None
    end = cut
    numbers = [_shifted(found, at) for found in find_numbers(text[at:end])]
    singles = [number for number in numbers if number.is_single]
    if (
        len(singles) != 1
        or not _is_answer(text, singles[0])
        or (len(numbers) > 1 and not CONTRAST.search(text, at, end))
    ):
        return None
    found = singles[0]
    before = text[at : found.span[0]].strip(AROUND + "([{\\")
    if len(numbers) == 1 and before and not _ABOUT.fullmatch(before):
        return None
    behind = text[found.end : end].strip(AROUND + ")]}\\")
    if (
        len(behind.split()) > 3
        or _is_said_of(text, found)
        or _JUDGED.match(text, found.span[1])
        or _MONTH.match(text, found.span[1], end)
        or INNER_END.search(text, found.end, end)
        or is_limited(text, found.span[1])
    ):
        return None
    return Value(found.value, _with_percent(found), "whole", found.span[0], found.end, is_final=True)


def _certain(value: Value) -> Reading:
    written = value.written or _written(value.key)
    certainty: Literal["certain", "likely"] = "certain" if value.is_sure else "likely"
    return Reading(certainty=certainty, rule=value.rule, value=written, span=(value.start, value.end))


def agreed(stated: Sequence[Value], text: str) -> Reading:
    """Return the value of all places or, if others are stated on the way to it, the value of the conclusion.

    The conclusion is the last box. It counts if its sentence says that it concludes, and names no other value. Two
    different statements such as *The answer is* contradict each other.
    """
    keys = dict.fromkeys(value.key for value in stated)
    last = max(stated, key=lambda value: value.end)
    if len(keys) == 1:
        return _certain(last)
    explicit = {value.key for value in stated if value.rule in {"answer", "hashes", "choose"}} - {last.key}
    begin = sentence_start(text, last.start, 0)
    together = {value.key for value in stated if value.start >= begin}
    is_boxed = any(value.rule == "boxed" and value.key == last.key for value in stated)
    beside = len(_BOXED.sub(" ", text).split())
    concluded = {value.key for value in stated if value.rule == "boxed" and value.is_final}
    # Boxes alone are several answers, and so are several conclusions without a way to the last one.
    is_worked_out = beside > _MOST_BESIDE_BOXES or (beside > _FEWEST_BESIDE_BOXES and len(concluded) == 1)
    if last.is_final and len(together) == 1 and is_boxed and is_worked_out and not explicit:
        return _certain(last)
    return Reading(certainty="unread", rule="several", candidates=tuple(map(_written, keys)))


def _written(key: Fraction | str) -> str:
    return key if isinstance(key, str) else plain(key)


def _with_percent(found: NumberFound) -> str:
    """Return a number in plain notation, with the sign of a percentage; other units are left out."""
    return f"{plain(found.value)}{found.unit}" if found.unit in {"%", "‰"} else plain(found.value)


def _number_at(text: str, site: Site) -> Value | None:
    """Return the number of a box, or the number with which the words of a site begin or to which they lead."""
    begin, end = site.start, site.end
    if (site.rule == "boxed" and OPERATOR.match(text, end + 1)) or is_first_item(text, begin):
        return None
    cut = _turn_end(text, begin, end) if site.rule != "boxed" else end
    if cut is None or (site.rule == "boxed" and _is_denied_box(text, site)):
        return None
    end = cut
    found = _in_part(text, begin, end)
    if found is None and text[end : end + 1] not in {"?", "？"}:
        return _in_words(text, begin, end, rule=site.rule)
    if found is None or not _is_answer(text, found) or _BANG.match(text, found.span[1] - 1):
        return None
    if contains("condition", text[begin:end]) or text[end : end + 1] == "?":
        return None
    if site.rule != "boxed" and is_limited(text, found.span[1]):  # words behind a box often repeat what is given
        return None
    return Value(found.value, _with_percent(found), site.rule, found.span[0], found.end, site.is_final)


def _in_words(text: str, begin: int, end: int, rule: str = "whole") -> Value | None:
    """Return the number that is written in words and is all of a part of a text."""
    minus = _MINUS_WORD.match(text, begin, end)
    found = worded_number(text[minus.end() if minus else begin : end])
    if found is None:
        return None
    value = Fraction(-found if minus else found)
    return Value(value, plain(value), rule, begin, end, is_final=rule == "whole")


def _is_denied_box(text: str, site: Site) -> bool:
    """Check whether the words beside a box say that it is not the answer."""
    box = max(0, text.rfind("\\", 0, site.start))
    begin = sentence_start(text, box, 0)
    return _DENIED_BEFORE.search(text, begin, box) is not None or _is_denied(text, site.end + 1)


def _in_part(text: str, begin: int, end: int) -> NumberFound | None:
    """Return the only number of a part of a text or, of an equation, the number behind the last equals sign."""
    equals = list(EQUALS.finditer(text, begin, end))
    if _is_of_several(text, begin, equals) or _CASE.search(text, begin, end) or _CORRECTED.search(text, begin, end):
        return None
    at = equals[-1].end() if equals else begin
    numbers = [_shifted(found, at) for found in islice(find_numbers(text[at:end]), _MOST_NUMBERS)]
    if not numbers or len(numbers) == _MOST_NUMBERS or _UNSOLVED.search(text, begin, numbers[0].span[0]):
        return None
    before = text[at : numbers[0].span[0]].strip(AROUND + "{(")
    if before.isalpha() and len(before) > 1 and before < "\u2e80" and before.casefold() not in _MAY_PRECEDE:
        return None  # a word such as "twice"
    if len({number.value for number in numbers}) == 1:
        return numbers[0]
    is_explained = _EXPLAINED.match(text, numbers[0].end) is not None
    return numbers[0] if not before and not equals and is_explained else None


_EXPLAINED: Final = re.compile(r"\s*+(?:[,.](?!\s*+[-+$]?[0-9])|(?:which|after|per|for|in|on|out of|of the)(?![a-z]))")


def _shifted(found: NumberFound, by: int) -> NumberFound:
    return replace(found, span=(found.span[0] + by, found.span[1] + by), end=found.end + by)


def _opening_number(text: str, start: int) -> Value | None:
    """Return the number that is the whole first sentence, as in "206. Babies have more"."""
    begin, end = opening_sentence(text, start)
    if end >= len(text.rstrip()) or "\n" in text[end : end + 1] or text[end] == "?":
        return None
    if _NEXT_ITEM.search(text, end) or text[end + 1 : end + _MOST_CORRECTION].lstrip()[:1].isdigit():
        return None
    found = whole_number(text[begin:end])
    if found is None or _is_said_of(text[begin:end], found):
        return None
    if not _is_answer(text, _shifted(found, begin)) or len(text[begin:end].split()) > 4:
        return None
    return Value(found.value, _with_percent(found), "opening", begin, end, is_final=False)


def _closing_number(text: str, start: int) -> Value | None:
    """Return the number to which the end of a text leads.

    It is the last line, or stands in the last sentence: at its end behind *is* or an equals sign, in bold, or as the
    only number of a reply of one sentence.
    """
    kept = lines(text, start)
    while len(kept) > 1 and _CHECK.match(text, kept[-1][0]):
        kept.pop()  # a check of the result
    for begin, end in kept[-1:]:
        found = whole_number(cleaned(text[begin:end]))
        if any(sign.search(text, begin, end) for sign in (_BANG, _TIME)) or _ITEM.match(text, begin, end):
            return None
        if found is not None and _is_said_of(cleaned(text[begin:end]), found):
            return None
        if found is not None and found.is_single and not found.is_ambiguous and len(found.unit.split()) <= 2:
            return Value(found.value, _with_percent(found), "closing", begin, end, is_final=True)
    stop = kept[-1][1] + 1 if kept else len(text)
    if text[:stop].rstrip()[-1:] in {"?", "？"} and not is_offer(text, stop):
        return None  # it asks back
    for begin, end in last_sentences(text[:stop], start, _MOST_CHECKS):
        if is_check(text, start, begin, end):
            continue
        value = _number_in_sentence(text, begin, end, is_all=begin <= first(text, start))
        return None if value is None or stands_beside(text, start, begin, value.start) else value
    return None


def _is_said_of(text: str, found: NumberFound) -> bool:
    """Check whether the words behind a number say something about it, and are no unit."""
    return is_spoken_about(text, found.span[1]) or is_denied_behind(text, found.span[1])


def first(text: str, start: int) -> int:
    """Return the index of the first character of an answer."""
    return start + len(text[start:]) - len(text[start:].lstrip())


def _is_own_result(clause: str) -> bool:
    """Check that a sentence supposes and doubts nothing, and that its number belongs to its author."""
    kinds = ("condition", "hedge", "hearsay", "doubt")
    return _NOT_A_RESULT.search(clause) is None and not any(contains(kind, clause) for kind in kinds)


def _number_in_sentence(text: str, begin: int, end: int, *, is_all: bool) -> Value | None:
    if is_all and (colon := text.find(": ", begin, end)) > 0 and any(True for _ in find_numbers(text[begin:colon])):
        if whole_number(text[colon + 1 : end]) is not None or contains("hedge", text[colon:end]):
            return None  # "There are 3 reasons: 42"
        end = colon
    clause = text[begin:end]
    if not _is_own_result(clause):
        return None
    bold = [match.span(1) for match in _BOLD_NUMBER.finditer(text, begin, min(len(text), end + 2))]
    if len(bold) == 1 and (marked := _sole_number(text, *bold[0])) is not None and _is_answer(text, marked):
        is_denied = contains("negation", text[_clause_start(text, begin, bold[0][0]) : bold[0][0]])
        return None if is_denied else _closing_value(marked)
    cut = _turn_end(text, begin, end)
    if cut is None or _CASE.search(text, begin, end):
        return None
    full, end = end, cut
    numbers = [_shifted(number, begin) for number in islice(find_numbers(text[begin:end]), _MOST_NUMBERS)]
    if not numbers and (verb := [match.end() for match in _STATES.finditer(text, begin, end)]):
        return _in_words(text, verb[-1], end, rule="closing") if len(text[verb[-1] : end].split()) == 1 else None
    if is_counted_behind(text, begin, end, numbers) and _STATED.search(text, begin, numbers[0].span[0]):
        return _closing_value(numbers[0]) if _is_led_to(text, begin, numbers[:1]) else None
    if not numbers or ENDS_OPEN.search(clause) or not _is_led_to(text, begin, numbers):
        return None
    last = numbers[-1]
    if (
        is_supposed(text, begin, *last.span)
        or is_limited(text, last.span[1])
        or is_rejected(text, _clause_start(text, begin, last.span[0]), last.span[0], full)
    ):
        return None
    if _is_beside_another(text, begin, end, full, last):
        return None
    return _closing_of_numbers(text, begin, end, numbers, is_all=is_all)


def _closing_of_numbers(
    text: str, begin: int, end: int, numbers: Sequence[NumberFound], *, is_all: bool
) -> Value | None:
    """Return the last number of a sentence if the sentence leads to it, or has no other one."""
    last, clause = numbers[-1], text[begin:end]
    is_only = len({number.value for number in numbers}) == 1
    is_dated = _SINCE.search(text, begin, last.span[0]) or _MONTH.match(text, last.span[1], end)
    is_sole = is_only and is_all and len(clause.split()) <= _MOST_SOLE and not is_dated and "\n" not in clause
    if _ends_clause(text, begin, end, numbers) or _leads_to(text, begin, end, last, is_only=is_only):
        return _closing_value(last)
    if is_only and _is_result(text, begin, last):
        return _closing_value(last)
    is_sure = not is_incidental(text, begin, last.span, end)
    return _closing_value(last)._replace(is_sure=is_sure) if is_sole else None


def _is_beside_another(text: str, begin: int, end: int, full: int, last: NumberFound) -> bool:
    """Check whether a sentence, or the one before it, states another number alike: *In 1990 it was 5, now it is 7*.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        end: End of the part in which the number is the last one.
        full: End of the sentence.
        last: The number.
    """
    clause = _clause_start(text, begin, last.span[0])
    if (clause > begin and CONTRAST.search(text, max(begin, clause - 8), clause) is None) or _SUM.search(
        text, begin, full
    ):
        return False
    numbers = [_shifted(number, begin) for number in islice(find_numbers(text[begin:full]), _MOST_NUMBERS)]
    stated = [number for number in numbers if _STATED.search(text, begin, _before_about(text, begin, number))]
    if last.value not in {number.value for number in stated}:
        return False
    if any(number.value != last.value for number in stated):
        return True
    case = _TIME_OR_CASE.match(text, begin, end)
    before = text[sentence_start(text, begin - 1, 0) : begin] if case and begin else ""
    other = _TIME_OR_CASE.match(before)
    return bool(case and other) and any(number.value != last.value for number in find_numbers(before))


def is_stated(text: str, start: int) -> bool:
    """Check whether words directly before a number state it, as in *There are 42* and *The total is 42*.

    Args:
        text: The folded text.
        start: Index of the number.
    """
    return _STATED.search(text, 0, start) is not None


def leads_to_another(text: str, start: int, value: str | None) -> bool:
    """Check whether a text leads to another number, as an explanation may that does not fit the answer before it.

    Args:
        text: The folded text.
        start: Where the explanation begins.
        value: The number of the answer.
    """
    own = whole_number(value or "")
    found = [_shifted(number, start) for number in islice(find_numbers(text[start:]), MOST_CHARS)]
    led = [number for number in found if LED_TO.search(text, start, number.span[0])]
    return bool(led) and own is not None and led[-1].value != own.value and led[-1] == found[-1]


def _is_led_to(text: str, begin: int, numbers: Sequence[NumberFound]) -> bool:
    """Check that a sentence leads to its last number: it is not denied, judged, compared, or one of several."""
    last = numbers[-1]
    start, end = last.span
    if any(sign.search(text, begin, start) for sign in (_UNSOLVED, _MORE_THAN, _FOR_EXAMPLE)) or _JUDGED.match(
        text, end
    ):
        return False
    if not _is_answer(text, last) or contains("negation", text[_clause_start(text, begin, start) : start]):
        return False
    if _CANNOT_TELL.search(text, last.end, sentence_end(text, last.end, len(text))):
        return False
    if _is_of_several(text, begin, list(EQUALS.finditer(text, begin, start))):
        return False
    between = text[numbers[-2].span[1] : start] if len(numbers) > 1 else ""
    return len(between.split()) > _MOST_JOINED or JOINED.search(between) is None


def _is_result(text: str, end: int, found: NumberFound) -> bool:
    """Check whether the last equation before an index results in a number, as in *12 * 7 = 84. She reads 84 pages*."""
    equals = text.rfind("=", max(0, end - MOST_CHARS), end)
    if equals < 0:
        return False
    result = next(iter(find_numbers(text[equals + 1 : end])), None)
    return result is not None and result.value == found.value and not text[equals + 1 :][: result.span[0]].strip(AROUND)


def _sole_number(text: str, begin: int, end: int) -> NumberFound | None:
    """Return the only number of a part of a text."""
    numbers = [_shifted(number, begin) for number in islice(find_numbers(text[begin:end]), 2)]
    return numbers[0] if len(numbers) == 1 and not numbers[0].is_ambiguous else None


def _closing_value(found: NumberFound) -> Value:
    return Value(found.value, _with_percent(found), "closing", found.span[0], found.end, is_final=True)


def _clause_start(text: str, begin: int, end: int) -> int:
    """Return where the last clause begins, behind words such as *, so* and *, but*."""
    return max([begin, *(match.end() for match in _CLAUSE.finditer(text, begin, end))])


def _ends_clause(text: str, begin: int, end: int, numbers: Sequence[NumberFound]) -> bool:
    """Check whether a concluding clause at the end, as behind *, so*, has only one number."""
    start = _clause_start(text, begin, numbers[-1].span[0])
    inside = {number.value for number in numbers if number.span[0] >= start}
    is_so = start > begin and contains("conclusion", text[max(begin, start - 12) : start])
    return (
        is_so
        and len(inside) == 1
        and len(text[start:end].split()) <= _MOST_CLAUSE
        and not _SINCE.search(text, start, numbers[-1].span[0])
    )


def _leads_to(text: str, begin: int, end: int, last: NumberFound, *, is_only: bool) -> bool:
    behind = text[last.end : end].strip(AROUND + ")]}\\")
    if _MONTH.match(text, last.span[1], end) or _SUM.search(behind):
        return False
    is_near = len(behind.split()) <= 3 and (behind[:1] < "\u2e80" or len(behind) <= _MOST_WIDE_BEHIND)
    if LED_TO.search(text, begin, last.span[0]) or LED_TO.search(text, begin, _before_about(text, begin, last)):
        return is_near
    before = text[begin : last.span[0]]
    if is_only and not behind and _LINKED.search(before):
        return True
    return is_only and contains("conclusion", before) and len(behind.split()) <= 6


def _before_about(text: str, begin: int, last: NumberFound) -> int:
    match = _ABOUT.search(text, begin, last.span[0])
    return match.start() if match else last.span[0]
