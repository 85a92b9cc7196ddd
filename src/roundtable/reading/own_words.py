"""Read a formula or an answer in own words."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from roundtable.core.types.answers import Reading
from roundtable.reading.folding import fold
from roundtable.reading.form_texts import says_nothing
from roundtable.reading.labels import is_label, labelled_value
from roundtable.reading.numbers import plain, whole_number
from roundtable.reading.phrases import ANSWER_NOUNS, JUDGEMENTS, LINKS, NOUN_WORDS, STATES_NOTHING
from roundtable.reading.remarks import remark_start, shows_doubt
from roundtable.reading.sites import Site, boxes, closing_sentence, contains, cue_sites, lines, sentence_end
from roundtable.reading.statements import stated_name
from roundtable.reading.tails import without_tail
from roundtable.reading.values import (
    AROUND,
    ENDS_OPEN,
    EQUALS,
    INNER_END,
    JOINED,
    LED_TO,
    MOST_BRIEF,
    MOST_CHARS,
    OPERATOR,
    TURN,
    Value,
    agreed,
    first,
)
from roundtable.reading.wrapping import FORMULA_SIGNS, cleaned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.reading.numbers import NumberFound

__all__ = ["read_words"]


_MOST_WORDS: Final = 12
_MOST_NAME: Final = 2
_MOST_WIDE: Final = 24
"""Most characters of a short answer in a script without spaces."""
_ANY_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAD_WORDS: Final = frozenset(word for phrase in (*NOUN_WORDS, *ANSWER_NOUNS, *LINKS) for word in phrase.split())
"""Words of which the lead of a statement consists, such as *the final answer is*."""
_PLACEHOLDER: Final = re.compile(
    r"\[[^\W\d_][^\[\]]*\s[^\[\]]*\]|<[^\W\d_][^<>]*>|\{\{?[^\W\d_][^{}]*\}\}?|_{3,}|\.{3,}"
)
"""A place to be filled in, as in *Answer: [your answer]*."""
_STATES_NOTHING: Final = frozenset(STATES_NOTHING)
_NOTHING_BEHIND_A_CUE: Final = frozenset((*STATES_NOTHING, *JUDGEMENTS))
_ITEM_SIGN: Final = re.compile(r"\A(?:[>\u2022*]\s+(?=[^\W\d_])|-\s+(?=[A-Z\u00c0-\u00de][^\W\d_]))")
"""The sign of a quotation or of a list, before the words of its only item."""
_CLOSING: Final = frozenset("*_`\"'”»")
"""Signs behind the question mark of a title."""
_PROBABLY: Final = re.compile(
    r"(?:most )?(?:probably|likely|possibly|perhaps|maybe|wahrscheinlich|vermutlich|vielleicht|probablement|peut-être"
    r"|probablemente|quizás?|probabilmente|forse|provavelmente|talvez|waarschijnlijk|misschien|prawdopodobnie|вероятно"
    r"|возможно|可能|多分|たぶん|아마)(?:\s|(?<=[\u2e80-\uffef]))",
    re.IGNORECASE,
)
_COPULA: Final = re.compile(r"(?:です|でした|である|입니다|이다)[。.\s]*\Z")
"""The verb that ends a statement in Japanese and Korean."""
_BOLD_LINE: Final = re.compile(r"\*\*[^*\n:]{1,100}\*\*\.?")
_BOLD: Final = re.compile(r"\*\*([^*\n]{1,100})\*\*")
_SHOWN_FORMULA: Final = re.compile(
    r"\$\$[^$]{1,400}\$\$|\\\[[^\n]{1,400}?\\\]|(?<![\w$])\$[^$\n]{1,200}\$(?![\w$])|\\\([^\n]{1,200}?\\\)"
)
"""A formula between the signs of formulas."""
_MARKED_LINE: Final = re.compile(r"\*\*[^*\n]{1,200}\*\*\.?|\$\$?[^$\n]{1,300}\$\$?\.?|`[^`\n]{1,200}`\.?")
_FENCE: Final = re.compile(r"```[^\n`]*\n(?P<inside>[^`]*?)\n?```")
_FORMULA_WORD: Final = re.compile(
    r"(?<![\\A-Za-z])(?!(?:sin|cos|tan|cot|log|ln|lg|exp|max|min|lim|sqrt|arcsin|arccos"
    r"|arctan)(?![a-z]))[^\W\d_]*[a-zà-ž]{2,}"
)
"""A word that is neither a name in a formula nor a function."""
_MOST_FORMULA: Final = 30
_MOST_LEAD: Final = 60


def read_words(text: str, start: int, original: str, *, is_formula: bool = False) -> Reading:
    """Return the answer in own words: the content of a box, what follows *the answer is*, or a whole short text.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        original: The text as it was written.
        is_formula: Whether the answer is a formula, whose equals sign belongs to it.
    """
    text = without_tail(text, start)
    original = original[: len(text)]
    boxed = [
        value
        for site in boxes(text, start)
        if (value := _words_at(text, site, original, is_formula=is_formula)) is not None
    ]
    cues = _innermost(text, [site for site in cue_sites(text, start) if site.rule != "choose"])
    said = [value for site in cues if (value := _words_at(text, site, original, is_formula=is_formula)) is not None]
    # Words beside a box explain it; another number contradicts it.
    stated = boxed + [value for value in said if not boxed or not isinstance(value.key, str) or _differs(value, boxed)]
    if stated:
        return _unless_doubted(agreed(stated, text), text)
    if any(cleaned(original[site.start : site.end]).casefold() in _NOTHING_BEHIND_A_CUE for site in cues):
        return Reading(certainty="unread", rule="none")
    if (place := labelled_value(text, start)) is not None:
        value = _words_at(text, Site("closing", *place), original, is_formula=is_formula)
        return Reading(certainty="unread", rule="none") if value is None else agreed([value], text)
    if (marked := _marked_answer(text, start, original, is_formula=is_formula)) is not None:
        return marked
    if not is_formula and closing_sentence(text, start)[0] <= first(text, start):
        name = stated_name(text, start)
        if name is not None and name[0] == name[1]:
            return Reading(certainty="unread", rule="none")
        if name is not None:
            return Reading(certainty="certain", rule="closing", value=cleaned(original[slice(*name)]), span=name)
    return _brief(original, start, is_formula=is_formula)


def _innermost(text: str, sites: Sequence[Site]) -> list[Site]:
    """Return places without those that begin with another statement, as in *Final Answer: The final answer is 42*."""
    starts = [site.start for site in sites]

    def leads_on(site: Site) -> bool:
        within = [at for at in starts if site.start < at <= min(site.end, site.start + _MOST_LEAD)]
        return any(set(_ANY_WORD.findall(text[site.start : at].casefold())) <= _LEAD_WORDS for at in within)

    return [site for site in sites if not leads_on(site)]


def _unless_doubted(reading: Reading, text: str) -> Reading:
    """Return a reading that is only likely if its author adds *I think* and the like."""
    if reading.certainty != "certain" or reading.span is None:
        return reading
    at = reading.span[1]
    is_doubted = shows_doubt(text, at, sentence_end(text, at, len(text)))
    return reading.model_copy(update={"certainty": "likely"}) if is_doubted else reading


def _differs(said: Value, boxed: Sequence[Value]) -> bool:
    """Check whether a name is stated that shares no word with the names in boxes."""
    words = set(str(said.key).split())
    return len(words) <= _MOST_NAME and all(
        isinstance(box.key, str) and box.key.replace(" ", "").isalpha() and words.isdisjoint(box.key.split())
        for box in boxed
    )


def _marked_answer(text: str, start: int, original: str, *, is_formula: bool) -> Reading | None:
    """Return the only bold words of the last sentence, or of a formula, the only formula of the text."""
    if is_formula:
        shown = [match.span() for match in islice(_SHOWN_FORMULA.finditer(text, start), 2)]
        alone = [line for line in lines(text, start)[-1:] if _MARKED_LINE.fullmatch(text, *line)]
        for begin, end in alone or (shown if len(shown) == 1 else []):
            return Reading(certainty="certain", rule="closing", value=cleaned(original[begin:end]), span=(begin, end))
    found = lines(text, start)
    ends = [line for line in (found[0], found[-1]) if _BOLD_LINE.fullmatch(text, *line)] if found else []
    ends = [line for line in ends if not is_label(cleaned(text[slice(*line)]))]
    values = {cleaned(original[slice(*line)]) for line in ends}
    if len(found) > 1 and len(values) == 1 and len(next(iter(values)).split()) <= MOST_BRIEF:
        return Reading(certainty="certain", rule="marked", value=values.pop(), span=ends[0])
    begin, end = closing_sentence(text, start)
    bold = [match.span(1) for match in _BOLD.finditer(text, begin, min(len(text), end + 2))]
    if len(bold) != 1 or contains("negation", text[begin : bold[0][0]]) or contains("report", text[begin : bold[0][0]]):
        return None
    if text[slice(*bold[0])].rstrip().endswith(":") or text[bold[0][1] + 2 :].lstrip().startswith(":"):
        return None  # a label
    is_all = begin <= first(text, start)
    value = cleaned(original[slice(*bold[0])])
    is_led_to = LED_TO.search(text, begin, bold[0][0] - 2) is not None and bold[0][1] >= end
    if not value or len(value.split()) > _MOST_WORDS or not (is_led_to or is_all):
        return None
    return Reading(certainty="certain", rule="closing", value=value, span=bold[0])


def _brief(original: str, start: int, *, is_formula: bool) -> Reading:
    """Return a whole text that is short, and that is one statement."""
    whole = original[start:].strip()
    rest = whole if is_formula or len(whole) > MOST_CHARS else whole[: remark_start(fold(whole), 0, len(whole))]
    if rest != whole:
        cut = original.index(whole, start) + len(rest)
        reading = _brief(original[:cut], start, is_formula=is_formula)
        is_doubted = reading.certainty == "certain" and shows_doubt(fold(whole), len(rest), len(whole))
        return reading.model_copy(update={"certainty": "likely"}) if is_doubted else reading
    fence = _FENCE.search(whole)
    if is_formula and fence is not None and whole.count("```") == 2:
        inside = fence["inside"].strip()
        at = original.index(inside, start)
        return Reading(certainty="certain", rule="fence", value=inside, span=(at, at + len(inside)))
    if len(whole) > MOST_CHARS or says_nothing(whole):
        return Reading(certainty="unread", rule="none")
    inner = whole.strip(AROUND + "\\[]()")
    is_line = is_formula and "=" in inner and not _FORMULA_WORD.search(inner)
    most = _MOST_FORMULA if is_line else MOST_BRIEF
    is_wide = any(char >= "\u2e80" for char in whole)
    if len(whole.split()) > most or (is_wide and len(whole) > _MOST_WIDE):
        return Reading(certainty="unread", rule="none")
    value = cleaned(whole if is_formula or "\n" in whole else _ITEM_SIGN.sub("", whole, count=1))
    if not value or INNER_END.search(inner) or ENDS_OPEN.search(value) or JOINED.search(value):
        return Reading(certainty="unread", rule="none")
    if (
        value.casefold().rstrip("!") in _STATES_NOTHING
        or contains("hedge", value)
        or (is_formula and re.search(r", |、", value))
    ):
        return Reading(certainty="unread", rule="none")
    at = start + original[start:].index(whole)
    return Reading(certainty="certain", rule="whole", value=value, span=(at, at + len(whole)))


def _words_at(text: str, site: Site, original: str, *, is_formula: bool) -> Value | None:
    begin, end = site.start, site.end
    if site.rule == "boxed" and OPERATOR.match(text, end + 1):
        return None
    if site.rule != "boxed" and text[end : end + 1] in {"?", "？"} and text[end + 1 : end + 2] not in _CLOSING:
        return None
    if site.rule != "boxed":
        end = _end_of_answer(text, begin, end, is_formula=is_formula)
    equals = [] if is_formula else [match.end() for match in EQUALS.finditer(text, begin, end)]
    if equals and (site.rule != "boxed" or whole_number(cleaned(original[equals[-1] : end])) is not None):
        begin = equals[-1]
    written = cleaned(_COPULA.sub("", original[begin:end]))
    if _PLACEHOLDER.fullmatch(written):
        return None
    if not written or len(written) > MOST_CHARS or len(written.split()) > _MOST_WORDS or ENDS_OPEN.search(written):
        return None
    if written.casefold() in (_STATES_NOTHING if site.rule == "boxed" else _NOTHING_BEHIND_A_CUE):
        return None
    number = None if is_formula else whole_number(written)
    if number is not None and number.is_single and not number.is_ambiguous:
        return Value(number.value, _with_unit(number, written), site.rule, begin, end, site.is_final)
    is_sure = _PROBABLY.match(written) is None
    return Value(_key(written), written, site.rule, begin, end, site.is_final, is_sure=is_sure)


def _end_of_answer(text: str, begin: int, end: int, *, is_formula: bool) -> int:
    """Return where the answer ends that begins at an index: before a reason, or with its formula."""
    for opening, closing in FORMULA_SIGNS:
        if text.startswith(opening, begin):
            close = text.find(closing, begin + len(opening))
            return close + len(closing) if close >= 0 else end
    turn = TURN.search(text, begin, end)
    if turn is not None and turn.start() > begin and not (is_formula and turn[0] == "("):
        end = turn.start()
    end = remark_start(text, begin, end)
    comma = text.find(", ", begin, end)
    return comma if comma > begin and len(text[begin:end].split()) > _MOST_WORDS else end


def _with_unit(number: NumberFound, written: str) -> str:
    """Return a number in plain notation with its unit; with a unit of several words, as it is written."""
    shown = plain(number.value)
    if not number.unit:
        return shown
    if number.unit in "%‰":
        return f"{shown} {number.unit}"
    return written if number.unit[0].isalpha() else f"{number.unit}{shown}"


def _key(text: str) -> str:
    return " ".join(fold(text).casefold().split()).strip("\"'`.*_ ")
