"""Read which option a text chooses."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.core.types.answers import Reading
from roundtable.reading.descriptions import is_described, is_subject_without_praise
from roundtable.reading.folding import FIRST_WITHOUT_SPACES
from roundtable.reading.frames import framed_options, headed_options, referred_options
from roundtable.reading.judgements import (
    CHOOSING,
    CONTRAST,
    FIRST_FOREIGN,
    REASON,
    SO,
    VERB_AFTER,
    affirmed_mentions,
    is_answer_to_adverse,
    is_called_best,
    is_followed_by_rejection,
    is_judged_badly,
    is_odd_note,
    is_rejected_behind,
    praise_behind,
    standing_mentions,
)
from roundtable.reading.marks import marked_option
from roundtable.reading.options import FACTORIAL, option_table, option_texts
from roundtable.reading.other_options import APART, COMPARISON, MOST_OTHER, OPENING_END, other_named
from roundtable.reading.phrases import (
    ARTICLES,
    CONCLUDED_ENDINGS,
    CONTRASTS,
    JOINERS,
    LABEL_NOUNS,
    LEADS,
    OFFERS,
    REASONS,
    SHORT_LEADS,
    words_pattern,
)
from roundtable.reading.proposals import inverted_options, proposed_options
from roundtable.reading.reservations import has_reservation
from roundtable.reading.short_forms import short_form
from roundtable.reading.sites import (
    Site,
    boxes,
    contains,
    cue_sites,
    is_example,
    is_own,
    is_quoted,
    is_theirs,
    last_sentences,
    lines,
    opening_sentence,
    quotes_others,
    sentence_end,
    sentence_start,
)
from roundtable.reading.verbless import is_only_described
from roundtable.reading.wide_clauses import is_chosen_by_others, is_limited, is_only_topic
from roundtable.reading.wrapping import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roundtable.reading.options import Named, OptionTable

__all__ = ["only_option_behind", "only_option_later", "read_choice"]

_PLACEHOLDER: Final = re.compile(r"\(\s?[Xx]\s?\)\s*+(?=\S)")
"""`(X)` before an answer, copied from a question that asks for the form `(X)`."""
_ENCLOSED_AT_END: Final = re.compile(r"[(\[]\s?(?:[^\W\d_]{3,12}\s)?[^\W_]{1,2}\s?[)\]][\s.*_`!]*+\Z")
_MOST_ENCLOSED: Final = 24
_SHORT_LEAD: Final = re.compile(
    rf"[\s*_`\"'>#]*+(?:{words_pattern(SHORT_LEADS)})[*_]*+[,:：，]?[\s*_]++", re.IGNORECASE
)
_LEAD_IN: Final = re.compile(r"[\s*_`>#\"'\U0001f300-\U0001faff☀-➿]*+(?:[-•→⇒➜=]>?\s++)?[*_`\"']*+")
_LEADS: Final = re.compile(
    rf"[\s*_`\"']*+(?:{words_pattern(LEADS)})(?:\s(?:{words_pattern(ARTICLES)}))?(?:\s(?:{words_pattern(LABEL_NOUNS)}))?\s*+",
    re.IGNORECASE,
)
_MARKED: Final = re.compile(r"\*\*[^*\n]{1,200}\*\*|\"[^\"\n]{1,200}\"|__[^_\n]{1,200}__")
_MOST_MARKED: Final = 100
_AFTERTHOUGHT: Final = re.compile(
    r"[\s*_`\"')\],]*+(?:is|ist|est|es|è|é|can|would|looks?|seems?|may|might|could|says|and|or)(?![a-z])"
)
_DOUBT: Final = re.compile(r"(?<![a-z])(?:wrong|incorrect|good|falsch|gut|bon|mal)(?![a-z])")
_BUT: Final = re.compile(r"[\s*_`\"')\]]*+[,;]?\s*+(?:but|though|although|aber|mais|pero|mas|maar|ale|но|但)(?![a-z])")
_LIST_SIGN: Final = re.compile(r"\w[:)]")
_BULLET: Final = re.compile(r"[ \t>]*+(?:[-*•+]|[0-9]{1,2}[.)]|#{1,6})\s++[*_]{0,3}")
_ENCLOSED_BEFORE: Final = re.compile(
    rf"(?:[)\]]\s?[,/;]?|(?:{words_pattern((*JOINERS, 'nor', 'noch', 'ni'))}))[\s*_]*+\Z", re.IGNORECASE
)
"""What joins a label in brackets to the words before it."""
_OR_ELSE: Final = re.compile(
    r"[\s*_`\"')\]]*+,?\s?(?:or|oder|ou|o|of|lub|или|veya)\s(?:another|something else|maybe|perhaps|any|one|else"
    r"|ein|un|otr|altr|outr|een ander|inn|друг|başka)",
    re.IGNORECASE,
)
"""What leaves another option open, as in *A or another*."""
_ALIKE: Final = re.compile(
    r"(?<![^\W\d_])(?:equally|just as|every bit as|(?:is|are|be) as)\s[^\W\d_]+|(?<![^\W\d_])(?:ebenso|genauso) \w"
    r"|(?<![^\W\d_])tout aussi|(?<![^\W\d_])igual de|(?<![^\W\d_])altrettanto|(?<![^\W\d_])igualmente",
    re.IGNORECASE,
)
"""What calls another option as good."""
_PARENTHESIS: Final = re.compile(r"[\s*_`\"')\]]*+,\s[^,.;:!?]{1,24},(?=\s)")
_NO_BEHIND: Final = re.compile(
    r"[\s*_]*+[:\u2014-][\s*_]*+(?:no|nope|nein|non|nee|nie|нет|否|不)(?![^\W\d_])", re.IGNORECASE
)
_LISTED_BEFORE: Final = re.compile(r"(?<![0-9])[0-9][.)]\s*+\Z")
_MOST_LAST: Final = 4
_ANSWER_ABOVE: Final = re.compile(
    r"(?<![a-z])(?:(?:correct |final |best |right )?(?:answer|choice|option|vote)\s(?:is|would be|remains)"
    r"|i (?:conclude|choose|recommend|select|maintain|agree)[a-z ]{0,20})\s?[:：]\Z",
    re.IGNORECASE,
)
"""A statement of the author that ends with a colon."""
_NOT_THE_ANSWER: Final = re.compile(
    r"[^\W\d_](?<!here)(?<!that)(?<!let)'s\s"
    r"|(?<![a-z])(?:runner-up|previous|exclude[ds]?|rule out|ruled out|worst|second)(?![a-z])",
    re.IGNORECASE,
)
_BREAKS_OFF: Final = re.compile(r"[.!?]\s+(?:[^\W\d_]++[ ,]{1,2}){4,}[^\W\d_]++\s*\Z")
"""A last sentence without an end."""
_ANSWER_BEFORE: Final = re.compile(
    r"(?<![^\W\d_])(?:answer|antwort|réponse|respuesta|risposta|resposta|antwoord|odpowiedź|ответ|cevap)\Z|答案\Z"
    r"|答え\Z|정답\Z",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:not|nicht|niet|değil|नहीं|ليس)(?:\s[^\s.,]{1,4})?[\s.!।*_]*+\Z", re.IGNORECASE
)
_UP_TO_COMMA: Final = re.compile(r"[^,;，、；]*+")
_INSTEAD: Final = re.compile(r"ではなく|じゃなく|でなく|아니라|아닌")
_LAST_CLAUSE: Final = re.compile(rf"[,;:，；：]\s*|\s[-–—]\s|(?:{words_pattern(CONTRASTS)})", re.IGNORECASE)
_NO_CLAUSE: Final = re.compile(rf"\s*(?:{words_pattern((*JOINERS, *REASONS))})", re.IGNORECASE)
_CONCLUDED: Final = re.compile(rf"(?:{words_pattern(CONCLUDED_ENDINGS)})", re.IGNORECASE)
_HEAD: Final = re.compile(r"[\s*_`\"')\]]*?(?:(?P<sign>[:：]|\s[-\u2013\u2014]\s)|[*_ \t]*(?=\n))")
"""What follows an option that heads a judgement: a sign, or the end of the line."""
_SENTENCE_GAP: Final = re.compile(r"[.!;。！；]\s*")
_MOST_HEADED: Final = 40
_ASIDE: Final = re.compile(
    r"[*_`\"')\]]*+,?\s(?:as an? example|for example|for instance|off the|for the sake of|to an?\s|together with"
    r"|alongside"
    r"|was\s(?:my|the|our)\s(?:first|initial|earlier|previous|original)"
    r"|being\s|for now|for the moment|in round|in the (?:last|first|previous)|previously|earlier|has\s|needs\s|lacks\s"
    r"|zum beispiel|auf platz|von der liste|par exemple|por ejemplo|per esempio|por exemplo|bijvoorbeeld)",
    re.IGNORECASE,
)
"""What shows behind an option that it is not chosen: an example, a statement about it, an earlier choice."""
_REJECTING: Final = re.compile(
    r"(?:no|nope|nein|non|nee|nie|нет|否|不|reject|rejected|against|oppose|disagree|decline|deny|ablehnen|dagegen|contre"
    r"|contra|don't .*|do not .*|not .*)[.!]?",
    re.IGNORECASE,
)
"""An option that is chosen for reasons that sound adverse."""
_BUT_NOT: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:for|in|on|at)\s[^.;!?]{1,60}?,?\sbut\s(?:not|never)\s(?:for\s)?(?:us|this|here|our|in)(?![a-z])",
    re.IGNORECASE,
)
_CROSS: Final = r"[\u274c\u2717\u2718\u2716\U0001f44e\U0001f6ab\u26d4\u2610]"
_CROSSED: Final = re.compile(rf"{_CROSS}|\[\s?\]")
_CROSSED_BEHIND: Final = re.compile(rf"[ \t*_`\"':(\[–—-]*+(?:{_CROSS}|(?<=[(\[])n[)\]])", re.IGNORECASE)
"""Marks against an option."""
_UNFINISHED: Final = frozenset(",、，:：;；")
"""Signs at the end of a text that breaks off."""
_CHATTY: Final = re.compile(
    rf"[\s*_`\"')\]]*+,?\s(?:(?:so|then)\s)?(?:{OFFERS}|let'?s|let me|i see|i understand|i hear|i get|good question"
    r"|great question"
    r"|give me|one moment|that'?s an? (?:good|great|fair|interesting|important)"
    r"|das ist eine (?:gute|interessante|wichtige)"
    r"|c'est une (?:bonne|excellente)|es una (?:buena|excelente)|è una (?:buona|bella)|é uma (?:boa|ótima)"
    r"|dat is een goede"
    r"|to dobre|это хороший)",
    re.IGNORECASE,
)
"""What follows a word such as *Yes* or *Right* that only opens a conversation."""
_HEADING: Final = re.compile(
    r"\s*(?:#{1,6}\s*+|\*\*)[*_]*(?:my |our )?(?:perspective|position|view|opinion|stance|choice)[*_:]*\s*\n",
    re.IGNORECASE,
)
_FOR_YOU: Final = re.compile(
    r"\s(?:for your|(?:because of|due to|given|with) its)(?:\s[^\W\d_]+){1,3}\s*\Z", re.IGNORECASE
)
"""Words at the end of a sentence in which *your* and *its* name no other author."""
_MOST_DENIAL: Final = 16
_MOST_CONTRAST: Final = 12
_MOST_CONTRAST_CHARS: Final = 80
_MOST_BEHIND: Final = 8
_MOST_WHOLE: Final = 20_000
_MOST_SENTENCE: Final = 600
_STRONGEST: Final = frozenset({"boxed", "answer", "hashes", "option"})


class _Vote(NamedTuple):
    options: tuple[str, ...]
    rule: str
    start: int
    end: int


def read_choice(
    text: str,
    start: int,
    options: tuple[str, ...],
    labels: tuple[str, ...],
    original: str,
    *,
    meaning: Mapping[str, str] | None = None,
    is_short: bool = False,
) -> Reading:
    """Return the option that a text chooses.

    All places that state an answer must name the same option; otherwise the text is not read.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        options: The options of the question.
        labels: Labels under which the question lists them, if they are not part of the options.
        original: The text as it was written.
        meaning: What each option stands for, if several options may stand for the same; by default, itself.
        is_short: Whether the text is a part of a form that holds nothing but the answer.
    """
    table = option_table(options, labels)
    votes = _whole(text, start, table, original)
    if not votes and (named := short_form(text, start, table)) is not None:
        votes = [_Vote(named.options, "conclusion", named.start, named.end)]
    votes = votes or [*_votes(text, start, table, has_synonyms=meaning is not None)]
    if not votes and is_short:
        votes = _mentioned(text, start, table)
    votes = [vote for vote in votes if not is_answer_to_adverse(text, vote.start, start)]
    stated = dict.fromkeys(meaning[option] if meaning else option for vote in votes for option in vote.options)
    if not stated:
        return Reading(certainty="unread", rule="none")
    if len(stated) > 1:
        return Reading(certainty="unread", rule="several", candidates=tuple(stated))
    first = max(votes, key=lambda vote: (vote.rule in _STRONGEST, vote.start))
    last = max(votes, key=lambda vote: vote.end)
    return Reading(
        certainty="likely" if has_reservation(text, (last.start, last.end), start, table) else "certain",
        rule=first.rule,
        value=next(iter(stated)),
        span=(first.start, first.end),
    )


def _whole(text: str, start: int, table: OptionTable, original: str) -> list[_Vote]:
    """Return the option that is the whole text, without signs around it."""
    begin, end = start, len(text)
    while begin < end and (text[begin].isspace() or text[begin] in "*_`"):
        begin += 1
    while end > begin and (text[end - 1].isspace() or text[end - 1] in "*_`"):
        end -= 1
    if end - begin > _MOST_WHOLE:
        return []
    if _CROSSED.search(text, begin, end) and not any(map(_CROSSED.search, table.options)):
        return []
    spellings = [original[start:], original[begin:end], text[begin:end], cleaned(original[begin:end])]
    if FACTORIAL.search(text, begin, end):
        spellings.pop()
    if original.startswith("```", start):
        spellings.append(cleaned(original[start:].rstrip()))
    found = next((options for spelling in spellings if (options := table.whole(spelling))), ())
    return [_Vote(found, "option", begin, end)] if found else []


def only_option_behind(text: str, start: int, options: tuple[str, ...], labels: tuple[str, ...]) -> str | None:
    """Return the only option that the last clause of the first sentence names, as in *I can't say which, B*.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        options: The options of the question.
        labels: Labels under which the question lists them, if they are not part of the options.
    """
    begin, end = opening_sentence(text, start)
    cuts = [match.end() for match in _LAST_CLAUSE.finditer(text, begin, min(end, begin + _MOST_SENTENCE))]
    if not cuts or _NO_CLAUSE.match(text, cuts[-1]):
        return None
    if contains("negation", text[cuts[-1] : end]):
        return None
    named = _only(option_table(options, labels).mentions(text, cuts[-1], end))
    return named.options[0] if named is not None else None


def only_option_later(text: str, start: int, options: tuple[str, ...], labels: tuple[str, ...]) -> str | None:
    """Return the only option that a text names behind its first sentence, or behind a *but* in it.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        options: The options of the question.
        labels: Labels under which the question lists them, if they are not part of the options.
    """
    begin, end = opening_sentence(text, start)
    contrast = CONTRAST.search(text, begin, end)
    named = _only(option_table(options, labels).mentions(text, contrast.end() if contrast else end, len(text)))
    return named.options[0] if named is not None else None


def _mentioned(text: str, start: int, table: OptionTable) -> list[_Vote]:
    """Return the only option that a short part of a form names."""
    end = min(len(text), start + _MOST_SENTENCE)
    part = text[start:end]
    if _has_veto(part) or any(
        contains(kind, part) for kind in ("mistake", "exception", "rejection", "doubt", "adverse")
    ):
        return []
    named = _only(table.mentions(text, start, end))
    return [_Vote(named.options, "mention", named.start, named.end)] if named is not None else []


def _votes(text: str, start: int, table: OptionTable, *, has_synonyms: bool) -> Iterator[_Vote]:
    sites = (*boxes(text, start), *cue_sites(text, start))
    stated = [vote for site in sites for vote in _at(site, text, table)]
    yield from stated
    if (marked := marked_option(text, start, table, has_synonyms=has_synonyms)) is not None:
        yield _Vote(marked.options, "marked", marked.start, marked.end)
    yield from _apart(text, start, table)
    if found := lines(text, start):
        yield from _opening(text, found, table)
        if text.rstrip(" \n*_`")[-1:] in _UNFINISHED:
            return
        yield from _closing(text, found, table)
        yield from _concluded(text, start, table, most=1 if stated else _MOST_LAST)


def _apart(text: str, start: int, table: OptionTable) -> Iterator[_Vote]:
    """Yield the options that stand apart from the words that choose them."""
    for named in (*framed_options(text, start, table), *proposed_options(text, start, table)):
        if not _is_taken_back(text, named, sentence_end(text, named.end, len(text)), table):
            yield _Vote(named.options, "choose", named.start, named.end)
    for named in (*referred_options(text, start, table), *inverted_options(text, start, table)):
        yield _Vote(named.options, "conclusion", named.start, named.end)
    for options, begin, end in headed_options(text, start, table):
        yield _Vote(options, "conclusion", begin, end)


def _at(site: Site, text: str, table: OptionTable) -> Iterator[_Vote]:
    """Yield the option that stands at the beginning of a site, unless what follows takes it back."""
    if site.rule in {"boxed", "tag"} and len(whole := table.whole(cleaned(text[site.start : site.end]))) == 1:
        yield _Vote(whole, site.rule, site.start, site.end)
        return
    at = _without_placeholder(text, site.start, site.end, table)
    named, end = table.leading(text, at, site.end), site.end
    wide = table.leading(text, at, min(len(text), at + _MOST_SENTENCE))
    if wide is not None and wide.end > end and (wide.by == "both" or text[wide.end - 1] == "!"):
        # The point of "A. Lisbon" and the sign of "n!" end no sentence.
        named, end = wide, sentence_end(text, wide.end, len(text))
    if named is None or _is_listed(text, site, named, table) or _is_taken_back(text, named, end, table):
        return
    if site.rule == "choose" and is_only_topic(text, sentence_start(text, at, 0), named.start, named.end):
        return
    other = other_named(text, named, end, table)
    yield _Vote((*named.options, *(other.options if other else ())), site.rule, named.start, named.end)


def _is_listed(text: str, site: Site, named: Named, table: OptionTable) -> bool:
    """Check whether an option is only the first of a list, behind words such as *The options are:*."""
    if "\n" not in text[max(0, site.start - 3) : site.start]:
        return False
    following = lines(text[: named.end + _MOST_SENTENCE], named.end)
    later = [line for line in following if text.rfind("\n", named.end, line[0]) >= 0]
    return bool(later) and _begins_other(text, later[0], named, table)


def _is_taken_back(text: str, named: Named, end: int, table: OptionTable) -> bool:
    """Check whether another option is joined, or the choice is denied, depends on something, or is a question."""
    is_factorial = FACTORIAL.search(text, named.start, named.end + 1) and not named.options[0].endswith("!")
    if is_factorial or table.is_joined(text, named.end, end) or _OR_ELSE.match(text, named.end, end):
        return True
    if _CROSSED_BEHIND.match(text, named.end):
        return True
    is_ended = named.by == "label" and text[named.end - 1] == "."
    last = sentence_end(text, named.end - is_ended, len(text))
    if text[last : last + 1] in {"?", "？"}:
        return True
    if last <= named.end:
        return False
    behind = text[named.end : min(last, named.end + MOST_OTHER)]
    if _is_denied(text, named, last, table) or is_rejected_behind(text[named.end : last]):
        return True
    if is_theirs(behind) or _BUT_NOT.match(behind) or _ASIDE.match(behind):
        return True
    is_of_others = APART.match(behind) and not is_judged_badly(behind, most=1) and table.mentions(text, named.end, last)
    if is_judged_badly(behind) and not is_of_others and not _REJECTING.fullmatch(option_texts(named.options)[0]):
        return True
    alike = _ALIKE.search(behind)
    if alike is not None and any(sign.search(behind, 0, alike.start()) for sign in (COMPARISON, CONTRAST)):
        return True
    last = min(last, named.end + _MOST_SENTENCE)
    reason = REASON.search(text, named.end, last)
    return contains("condition", text[named.end : reason.start() if reason else last])


def _is_denied(text: str, named: Named, last: int, table: OptionTable) -> bool:
    """Check whether *is not* stands behind an option, as it does in Japanese, Korean, Turkish and Hindi."""
    if _DENIED.match(text, named.end, last):
        return True
    window = _UP_TO_COMMA.match(text, named.end, min(last, named.end + _MOST_DENIAL))
    behind = window[0].lstrip(" *_`\"')]") if window else ""
    if behind[:1] < FIRST_WITHOUT_SPACES:
        return False
    if _INSTEAD.search(behind):
        return True
    others = table.mentions(text, named.end, named.end + len(window[0]) if window else named.end)
    return contains("negation", behind) and not others


def _without_placeholder(text: str, at: int, end: int, table: OptionTable) -> int:
    placeholder = _PLACEHOLDER.match(text, at, end)
    if placeholder is None or table.leading(text, at, placeholder.end()) is not None:
        return at
    return placeholder.end()


def _line_start(text: str, line: tuple[int, int], table: OptionTable) -> Named | None:
    """Return the option with which a line begins: its text, or its label in brackets or before a sign."""
    lead = _SHORT_LEAD.match(text, line[0], line[1]) or _LEAD_IN.match(text, line[0], line[1])
    at = _without_placeholder(text, lead.end() if lead else line[0], line[1], table)
    named = table.leading(text, at, line[1], bare=False) or table.leading(text, at, line[1])
    if named is None or named.by == "both" or text[named.end - 1] in ")]":
        return named
    is_signed = named.by == "label" and text[named.end - 1] in ".:"
    is_called = named.by == "label" and is_called_best(text, named, line[1])
    return named if is_signed or is_called or _ends_here(text, named, line[1]) else None


def _ends_here(text: str, named: Named, end: int) -> bool:
    return OPENING_END.match(text, named.end, end) is not None


def _opening(text: str, found: Sequence[tuple[int, int]], table: OptionTable) -> Iterator[_Vote]:
    """Yield the option with which the first line begins, unless a list of the options begins there."""
    named = _line_start(text, found[0], table)
    if named is None or _CROSSED.search(text, found[0][0], named.start) or _heads_others(text, named, found, table):
        return
    is_quotation = text.startswith(">", found[0][0]) and any(text[begin] != ">" for begin, _ in found)
    if is_quotation or is_quoted(text[: found[0][1]].replace(">", " "), named.start, found[0][0]):
        return
    if len(found) > 1 and _begins_other(text, found[1], named, table):
        return
    if not _is_retracted(text, named, found[0][1], table):
        yield _Vote(named.options, "opening", named.start, named.end)


def _heads_others(text: str, named: Named, found: Sequence[tuple[int, int]], table: OptionTable) -> bool:
    """Check whether other options head further lines or sentences in the same way, as where each is judged in turn."""
    head = _HEAD.match(text, named.end)
    if head is None:
        return False
    line_starts = [line for line in found[1:_MOST_HEADED] if line[0] - found[0][0] < _MOST_WHOLE]
    begin = text[found[0][0] : named.start]
    if head["sign"]:
        sentences = [match.end() for match in _SENTENCE_GAP.finditer(text, named.end, found[0][1])]
        line_starts = [(at, found[0][1]) for at in sentences[:_MOST_HEADED]] + line_starts
    for at, end in line_starts:
        other = table.leading(text, at + len(begin), end) if text.startswith(begin, at) else None
        other_head = _HEAD.match(text, other.end) if other is not None and other.options != named.options else None
        if other_head is not None and bool(other_head["sign"]) == bool(head["sign"]):
            return True
    return False


def _closing(text: str, found: Sequence[tuple[int, int]], table: OptionTable) -> Iterator[_Vote]:
    """Yield the option that the last line is, begins with, or names in brackets at its end."""
    line = found[-1]
    if is_example(text, line[0], found[0][0]) or (len(found) > 1 and _speaks_against(text[slice(*found[-2])])):
        return
    named = _line_start(text, line, table) if len(found) > 1 else None
    is_alone = named is not None and named.by != "both" and not text[named.end : line[1]].strip("*_`.) ]}\\$")
    is_list = named is not None and _ends_list(text, found[-2], named, line, table, is_alone=is_alone)
    if named is not None and not is_list and not _is_retracted(text, named, line[1], table):
        yield _Vote(named.options, "closing", named.start, named.end)
        return
    enclosed = _ENCLOSED_AT_END.search(text, max(line[0], line[1] - _MOST_ENCLOSED), line[1])
    if enclosed is None or is_list or _ENCLOSED_BEFORE.search(text, line[0], enclosed.start()):
        return
    named = table.leading(text, enclosed.start(), line[1]) or table.leading(text, enclosed.start() + 1, line[1])
    begin = sentence_start(text, enclosed.start(), line[0])
    before = text[begin : enclosed.start()]
    others = named is not None and any(
        one.options != named.options for one in table.mentions(text, begin, enclosed.start())
    )
    if named is not None and not others and not _has_veto(before) and _leads_to_label(before):
        yield _Vote(named.options, "closing", named.start, named.end)


def _leads_to_label(before: str) -> bool:
    """Check that a label in brackets ends a statement of the author, as in *and it is (B)*, or stands alone.

    Elsewhere it may stand behind what is rejected or said by others: *I disagree with Ada (B)*.
    """
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", re.split(r"[,;，；]", before)[-1])
    is_example = [word.casefold() for word in words] == ["as", "in"]
    return not is_example and all(word.casefold() in CHOOSING for word in words)


def _speaks_against(heading: str) -> bool:
    """Check whether the line above the last one speaks against what follows: *Runner-up:*, *Ada's choice:*."""
    plain = heading.rstrip(" *_`")
    if _ANSWER_ABOVE.search(plain) is not None or not plain.endswith((":", "?", "：", "？")) or len(plain) > MOST_OTHER:
        return False
    kinds = ("report", "others", "rejection", "mistake", "exception", "adverse", "doubt")
    return _NOT_THE_ANSWER.search(plain) is not None or any(contains(kind, plain) for kind in kinds)


def _ends_list(
    text: str, above: tuple[int, int], named: Named, line: tuple[int, int], table: OptionTable, *, is_alone: bool
) -> bool:
    """Check whether the last line is only the end of a list of options, or of a list below a heading."""
    is_adjacent = text.count("\n", above[1], line[0]) < 2
    if (
        is_alone
        and is_adjacent
        and _BULLET.match(text, line[0])
        and text[above[0] : above[1]].rstrip("* ").endswith(":")
    ):
        return True
    other = _line_start(text, above, table)
    if other is None or other.options == named.options:
        return False
    return not is_alone or (is_adjacent and not text[other.end : above[1]].strip("*_`.) ]}\\$"))


def _begins_other(text: str, line: tuple[int, int], named: Named, table: OptionTable) -> bool:
    other = _line_start(text, line, table)
    return other is not None and other.options != named.options


def _is_retracted(text: str, named: Named, end: int, table: OptionTable) -> bool:
    """Check whether the line goes on to doubt its option, or to weigh other options alike."""
    if _is_taken_back(text, named, end, table) or other_named(text, named, end, table):
        return True
    if is_only_described(text, named.end, end) or is_described(text, (named.start, named.end)):
        return True
    if named.by != "both" and is_followed_by_rejection(text, named.end):
        return True
    if named.by != "text" and is_odd_note(text, named.end, named.by):
        return True
    if (
        _CHATTY.match(text, named.end, end)
        or _BUT.match(text, named.end, end)
        or _NO_BEHIND.match(text, named.end, end)
    ):
        return True
    parenthesis = _PARENTHESIS.match(text, named.end, end)
    behind = parenthesis.end() if parenthesis else named.end
    rest = text[behind : min(sentence_end(text, behind, len(text)), behind + 60)]
    if parenthesis and _AFTERTHOUGHT.match(rest) and not VERB_AFTER.match(rest):
        return True
    if _AFTERTHOUGHT.match(rest) and (contains("negation", rest) or contains("hedge", rest) or _DOUBT.search(rest)):
        return True
    others = table.mentions(text, named.end, min(end, named.end + _MOST_SENTENCE)) if named.by != "text" else []
    return any(
        other.by != "text" and _LIST_SIGN.search(text, other.start, other.end) and other.options != named.options
        for other in others
    )


def _has_veto(sentence: str) -> bool:
    return any(contains(kind, sentence) for kind in ("negation", "hedge", "condition", "report"))


def _concluded(text: str, start: int, table: OptionTable, *, most: int) -> Iterator[_Vote]:
    """Yield the only option that the first or one of the last sentences affirms, if it is marked or concluded."""
    heading = _HEADING.match(text, start)
    first, last = opening_sentence(text, heading.end() if heading else start), last_sentences(text, start, most)
    if _BREAKS_OFF.search(text[-_MOST_SENTENCE:]):
        last = last[:1]  # what follows is missing
    for begin, end in dict.fromkeys((*last, first)):
        if end - begin > _MOST_SENTENCE or text[end : end + 1] in {"?", "？"}:
            continue
        if any(contains(kind, _FOR_YOU.sub("", text[begin:end])) for kind in ("condition", "hedge", "report")):
            continue
        if quotes_others(text[begin:end]):
            continue
        line = text.rfind("\n", start, begin + 1) + 1
        if text[line : begin + 2].lstrip().startswith(">"):
            continue
        if text[line : begin + 2].lstrip().startswith("|"):
            continue  # a row of a table
        is_item = _BULLET.match(text, line) is not None
        if is_item and ((begin, end) not in last[:1] or "?" in text[line:begin]):
            continue
        is_last = (begin, end) == last[0] if last else False
        is_inner = is_last and text[line:begin].strip() and not _LISTED_BEFORE.search(text[line:begin])
        whole = table.whole(text[begin:end]) if is_inner else ()
        if len(whole) == 1:
            yield _Vote(whole, "conclusion", begin, end)
            continue
        is_end = (begin, end) in last
        named = _affirmed_option(text, (begin, end), start, table, is_last=is_last, is_end=is_end)
        if named is None or table.is_joined(text, named.end, end) or is_quoted(text, named.start, start):
            continue
        if _is_denied(text, named, end, table):
            continue
        yield _Vote(named.options, "conclusion", named.start, named.end)


def _affirmed_option(
    text: str, sentence: tuple[int, int], start: int, table: OptionTable, *, is_last: bool, is_end: bool
) -> Named | None:
    """Return the option that a sentence affirms: in bold, before *is the best*, against others, or as a conclusion."""
    begin, end = sentence
    mentions = table.mentions(text, begin, end)
    affirmed = affirmed_mentions(text, begin, mentions)
    standing = standing_mentions(text, sentence, mentions, affirmed)
    marked = _only(_marked(text, sentence, start, standing, table))
    chosen = _only([named for named in standing if is_called_best(text, named, end)])
    if marked or chosen:
        return marked or chosen
    concluded = _only([named for named in affirmed if named.start >= _conclusion_start(text, begin, end)])
    if concluded is not None and is_end and _concludes(text, sentence, concluded):
        return concluded
    if (
        is_last
        and (answer := _only([named for named in affirmed if _follows_noun(text, begin, named, start)])) is not None
    ):
        return answer
    is_contrast = len({named.options for named in mentions}) > 1
    is_brief = len(text[begin:end].split()) <= _MOST_CONTRAST and end - begin <= _MOST_CONTRAST_CHARS
    return _only(affirmed) if is_contrast and is_last and is_brief else None


def _follows_noun(text: str, begin: int, named: Named, start: int) -> bool:
    """Check whether a label stands directly behind a word such as *answer*, as in *so answer C*."""
    before = text[begin : named.start].rstrip(" *_`\"'")
    noun = _ANSWER_BEFORE.search(before)
    return named.by != "text" and noun is not None and is_own(text, begin + noun.start(), start, noun=True)


def _conclusion_start(text: str, begin: int, end: int) -> int:
    """Return where the part of a sentence begins that concludes, as behind *so* in *A and B are far, so C*."""
    starts = [match.end() for match in SO.finditer(text, begin, end)]
    return starts[-1] if starts else begin


def _only(mentions: Sequence[Named]) -> Named | None:
    """Return the last mention, if all name the same option."""
    return mentions[-1] if len({named.options for named in mentions}) == 1 else None


def _concludes(text: str, sentence: tuple[int, int], named: Named) -> bool:
    """Check whether an option follows a word that concludes, or *It's* at the beginning of the sentence."""
    before, behind = text[sentence[0] : named.start].rstrip("*_`\"'([ "), text[named.end : sentence[1]]
    clause = re.split(r"[,:;]\s", before)[-1]
    if _LEADS.fullmatch(f"{clause} ") and (not behind.strip("*_`.!\"') ") or OPENING_END.match(behind)):
        return True
    if named.by == "text" and named.end - named.start < 3 and not OPENING_END.match(behind):
        return False  # an option such as "a" may be any word
    rest = behind.lstrip(" *_`\"')]")
    is_praised = praise_behind(rest, 0, len(rest)) is not None or _CONCLUDED.match(rest) is not None
    if not is_praised and not any(ending.match(rest) for ending in (OPENING_END, REASON)):
        return False
    if len(behind.split()) > _MOST_BEHIND or contains("negation", behind) or contains("mistake", behind):
        return False
    if is_limited(before):
        return False
    return contains("conclusion", before) and (is_praised or _leads_to_choice(before))


def _leads_to_choice(before: str) -> bool:
    """Check that between a word that concludes and an option stand only words that choose: *So I would go with*."""
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", before)]
    if is_chosen_by_others(before):
        return False
    return all(word in CHOOSING or word[0] >= FIRST_FOREIGN for word in words[_last_conclusion(words) + 1 :])


def _last_conclusion(words: Sequence[str]) -> int:
    return max((index for index, word in enumerate(words) if contains("conclusion", word)), default=-1)


def _marked(
    text: str, sentence: tuple[int, int], start: int, affirmed: Sequence[Named], table: OptionTable
) -> list[Named]:
    """Return the option that a sentence has in bold or in quotes, unless the text marks other options alike."""
    spans = [match.span() for match in islice(_MARKED.finditer(text, start), _MOST_MARKED + 1)]
    if len(spans) > _MOST_MARKED:
        return []
    inline = [span for span in spans if not _is_heading(text, span, start)]
    options = {option for begin, end in inline for option in table.whole(cleaned(text[begin:end]))}
    inside = [span for span in inline if sentence[0] < span[0] and span[1] <= sentence[1] + 2]
    if len(options) > 1 or len(inside) != 1:
        return []
    begin, end = inside[0]
    return [
        named
        for named in affirmed
        if begin <= named.start <= begin + 4
        and named.end <= end
        and not text[named.end : end].strip("*\"'_.) (" + named.by)
        and not is_subject_without_praise(text, end, sentence[1])
    ]


def _is_heading(text: str, span: tuple[int, int], start: int) -> bool:
    """Check whether marked words begin a line, as those of a list or a heading do."""
    before = text[max(start, text.rfind("\n", start, span[0]) + 1) : span[0]]
    inside, behind = text[span[0] : span[1]].rstrip("*_ "), text[span[1] : span[1] + 2]
    if before.strip(" \t>"):
        return _BULLET.fullmatch(before) is not None
    is_title = (
        inside.endswith((":", "：", ".", "。")) or behind[:1] in {":", "：", "\n"} or behind in {" –", " —", " -", " ("}
    )
    return is_title and bool(behind.strip())
