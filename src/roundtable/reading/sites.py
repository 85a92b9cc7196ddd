"""Places of a text at which an answer may stand: boxes, sentences that state it, its first and last line."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from roundtable.reading.folding import FIRST_WITHOUT_SPACES
from roundtable.reading.owners import belongs_to_others
from roundtable.reading.phrases import (
    ADJECTIVES,
    ADVERBIALS,
    ADVERSE,
    ANSWER_NOUNS,
    BARE_VERBS,
    BEFORE_STATEMENTS,
    CHOICE_VERBS,
    CONCLUSIONS,
    CONDITIONS,
    DOUBTS,
    EXCEPTIONS,
    FIRM_ADVERBS,
    HEDGES,
    IDIOMS,
    IMPERATIVES,
    LABEL_NOUNS,
    LINK_ADVERBS,
    LINKS,
    MISTAKES,
    NEGATIONS,
    NOUN_WORDS,
    OTHERS,
    REJECTIONS,
    REPORTS,
    SHORT_LEADS,
    SPEAKERS,
    WRONG_NOUNS,
    words_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Site",
    "boxes",
    "closing_sentence",
    "contains",
    "cue_sites",
    "is_example",
    "is_offer",
    "is_own",
    "is_quoted",
    "is_theirs",
    "last_sentences",
    "lines",
    "opening_sentence",
    "quotes_others",
    "sentence_end",
    "sentence_start",
    "states_too_often",
]

_CLOSERS: Final = ".!*_`\"'।。！"
_MOST_HITS: Final = 40
_MOST_WORDS: Final = 200
_MOST_LINE: Final = 4_000
_MOST_CLAUSE: Final = 400
_MOST_LEAD: Final = 80
_BOX: Final = re.compile(r"\\(?:boxed|fbox|framebox)\s*+\{")
_BRACE: Final = re.compile(r"(?<!\\)[{}]")
_DENIED_BOX: Final = re.compile(
    r"(?<![^\W\d_])(?:not|never|isn't|cannot be|nicht|kein|keine|pas|no es|non è|não é|niet|nie|не|不是|ليس)"
    r"(?:\s(?:the|simply|just|equal to))?[\s:$*({\[\\]*\Z",
    re.IGNORECASE,
)
_BOX_VERB: Final = re.compile(
    r"[\s$*)\]\\]*+(?:is|was|would be|ist|wäre|est|serait|es|sería|è|é)(?![^\W\d_])", re.IGNORECASE
)
_BOX_CONDITION: Final = re.compile(rf"[\s$*)\]\\,]*+(?:only\s)?(?:{words_pattern(CONDITIONS)})", re.IGNORECASE)
_REST_OF_CLAUSE: Final = re.compile(r"[,;:]\s|\s(?:because|since|but|and|weil|denn|car|porque)\s")
_WOULD: Final = re.compile(r"(?<![a-z])would(?![a-z])", re.IGNORECASE)
_HASHES: Final = re.compile(r"^#{4}\s++(?=\S)", re.MULTILINE)
_TAG: Final = re.compile(
    r"<(?:(?:final_?)?answer|choice|bottom_line)>\s*+(?P<inside>[^<>]{1,400}?)\s*"
    r"</(?:(?:final_?)?answer|choice|bottom_line)>",
    re.IGNORECASE,
)


_LINK: Final = re.compile(
    rf"(?:\s?\((?:s|final)\)|(?:\s(?:{words_pattern(ADJECTIVES)})){{1,3}}"
    r"|\s(?:to|for|of|du|de|des|del|della|do|da|van|von|der|des)"
    rf"\s[^.\n:?!]{{1,80}}?)?[\s*_`\"']*+"
    rf"(?:(?:,?\s?(?:therefore|then|thus|here|also|daher|donc)\s?,?\s?)?(?:{words_pattern(LINKS)})|[:=]"
    rf"|-{{1,2}}(?=\s)|—|→|[=-]>|(?<=[\u0900-\u097f]\s)(?=[^।.,;:\n]{{1,60}}\sहै))"
    rf"(?:\s(?:{words_pattern(LINK_ADVERBS)})(?![a-z]))?"
    r"(?:[\s*_`]*+(?:[:=]|—))?(?:\s+(?:that|clearly|definitely|obviously|certainly|undoubtedly|surely|simply"
    r"|therefore|thus|still|indeed|again|most\slikely)(?![a-z]),?)?",
    re.IGNORECASE,
)
_BEST: Final = re.compile(
    r"(?<![^\W\d_])(?:the|our|my)\s(?:best|right|correct|better|optimal|ideal|preferred|most\s[a-z]{4,16})"
    r"\s[a-z]{2,16}\s(?:is|would be)\s",
    re.IGNORECASE,
)
"""What calls the thing that follows the best of its kind, in a conclusion."""
_INTERIM: Final = re.compile(r"(?<![a-z])(?:current|reigning|defending|last|previous) (?:winner|leader)", re.IGNORECASE)
_NOUN: Final = re.compile(rf"(?:{words_pattern(ANSWER_NOUNS)})", re.IGNORECASE)
_VERB: Final = re.compile(
    rf"(?:{words_pattern(CHOICE_VERBS)})(?:\s(?:{words_pattern(LINK_ADVERBS)})(?![a-z]))?"
    r"(?:[\s:*_`\"']*+(?:that|for|the|für|voor|pour|por|za|за)(?![a-z]))?"
    r"(?:\s(?:taking|using|choosing|picking|selecting|adopting|keeping|going\swith|to\s(?:take|use|choose|adopt"
    r"|keep)))?",
    re.IGNORECASE,
)
_OF_OTHERS: Final = re.compile(
    r"\s(?:of|von|de|di|do|da|van)\s(?:the\s|most\s|all\s|la\s|der\s)*(?:majority|group|others|agents|mehrheit|majorité"
    r"|mayoría|vote|(?-i:[A-Z][^\W\d_]+)(?=\s(?:is|ist|est|es|è|é)(?![^\W\d_])))"
    r"|\s(?:of|in|von|de|di|van)\s(?:[12][0-9]{3}|last|vorig|letzt)"
    r"|\sfor\s(?!(?:the|this|that|these|our|us|me|an?|your|question|part|problem|each|all|which|it)(?![a-z]))[a-z]",
    re.IGNORECASE,
)
"""Whose answer it is, or for whom else: *the choice of Bo is*, *the best choice for families is*."""
_BARE_VERB: Final = re.compile(rf"(?:{words_pattern(BARE_VERBS)})(?:\s(?:for|the)(?![a-z]))?", re.IGNORECASE)
_WITH_ADVERB: Final = re.compile(
    r"(?<![a-z'])(?:I|we)(?:'d|'ll|'m|\s(?:would|will|do|am|must|should|shall))?"
    rf"(?:\s(?:{words_pattern(FIRM_ADVERBS)})){{1,3}}\s\Z",
    re.IGNORECASE,
)
"""The author and an adverb, before a verb of a choice."""
_PAST: Final = re.compile(
    r"(?:i|we)\s(?:chose|picked|selected)|ich habe|j'ai|he |ho |(?:eu )?escolhi|ik heb|wybra|я выбра", re.IGNORECASE
)
_NOT_NOW: Final = re.compile(
    r"(?<![a-z])(?:when|before|last|previous|previously|earlier|at first|initially|originally|in round|but"
    r"|vorher|zuerst|zunächst|ursprünglich|anfangs|aber|avant|d'abord|initialement|mais|antes|primero|al principio|pero"
    r"|prima|inizialmente|ma|primeiro|mas|eerst|eerder|maar|najpierw|wcześniej|ale|сначала|раньше|но)(?![^\W\d_])",
    re.IGNORECASE,
)
"""Words that say that a choice was made earlier."""
_SWITCH: Final = re.compile(
    r"(?<![^\W\d_])(?:I|we)(?:'m|'ll|'ve|\sam|\swill|\shave|\snow)*\s(?P<verb>(?:chang|switch|mov|updat"
    r"|revis)[a-z]{1,4})"
    r"\s(?:(?:my|our)\s(?:[a-z]+\s){1,2})?from\s[^.\n]{1,80}?\sto\s",
    re.IGNORECASE,
)
"""*I change my answer from A to*, before what is chosen now."""
_FILLED: Final = re.compile(r"[\s*_`:]*+")
_SENTENCE_END: Final = re.compile(r"[.!?](?=[\s\"'*_)\]]|\Z)|[।。！？\n]")
_ABBREVIATION: Final = re.compile(
    r"(?<![A-Za-z])(?:e\.g|i\.e|etc|vs|approx|ca|no|nr|dr|mr|mrs|bzw|z\.B|rs)\Z|\n\s*[0-9]{1,3}\Z", re.IGNORECASE
)
_INITIAL: Final = re.compile(r"(?<![A-Za-z])[A-Za-z]\Z")
_AFTER_INITIAL: Final = re.compile(
    r"\.\s?[A-Za-z]\.|\.\s[a-z]"
    r"|\.\s?(?!(?:However|Therefore|Thus|Hence|So|Also|Then|Yes|No|Here|Overall|Moreover|Note|Otherwise|Instead"
    r"|[A-Z][a-z]+ly|Jedoch|Daher|Denn|Cependant|Donc|Sin|Pero|Ainsi|Wait|Sorry|Scratch|Moment|Warte|Espera)[ ,.])"
    r"[A-Z][a-z]+(?:[ -][A-Z][a-z]+)?(?:[.,;!)*]|\s*\Z|\n)"
)
"""A further initial, a name at the end of a clause, or a word in the middle of a sentence."""
_NEW_SENTENCE: Final = re.compile(
    r"\.\s+(?:I|We|It|The|So|But|However|My|This|That|They|Therefore|Thus|Hence|Ich|Wir|Es|Die|Der|Das|Aber|Je|Nous"
    r"|Mais"
    r"|Donc|Yo|Pero|Io|Ma|Eu|Mas|Ik|Maar)(?![^\W\d_])"
)
"""A point and a word that begins many sentences."""
_BEFORE_INITIAL: Final = re.compile(r"(?<![A-Za-z])[A-Za-z]\.\s?\Z|(?<![^\W\d_])(?P<name>[A-Z][a-z]+)\s\Z")
_NO_NAMES: Final = frozenset({*LABEL_NOUNS, *ANSWER_NOUNS, *CONCLUSIONS, *LINK_ADVERBS, "choose", "pick", "is"})
_CLAUSE: Final = re.compile(
    r"[,;:—，、]|(?<![^\W\d_])(?:but|however|so|therefore|thus|hence|then|aber|jedoch|also|daher|mais|donc|pero|"
    r"sino|ma|quindi|mas|maar|ale|więc|но|поэтому)(?![^\W\d_])|[但所]",
    re.IGNORECASE,
)
_VETO: Final = {
    "report": re.compile(
        rf"(?:{words_pattern((*REPORTS, *SPEAKERS))})|[^\W\d_]'s?\s(?:(?:final|first|initial|own)\s)?"
        r"(?:answer|choice|vote|position|view|pick|suggestion"
        rf"|option)(?![a-z])|[^\W\d_]'s?\s(?:[^\W\d_]++\s)?\Z|(?<![^\W\d_])(?:his|her|their|your|its|seine|ihre|son"
        rf"|sa|leur|su)(?:\s[^\W\d_]++)?\s*\Z",
        re.IGNORECASE,
    ),
    "others": re.compile(rf"(?:{words_pattern(OTHERS)})", re.IGNORECASE),
    "negation": re.compile(rf"(?:{words_pattern(NEGATIONS)})|n't(?![a-z])", re.IGNORECASE),
    "mistake": re.compile(rf"(?:{words_pattern(MISTAKES)})", re.IGNORECASE),
    "hearsay": re.compile(rf"(?:{words_pattern(REPORTS)})", re.IGNORECASE),
    "condition": re.compile(
        rf"(?:{words_pattern(CONDITIONS)})"
        # In the middle of a clause, it is a pronoun in four languages.
        r"|(?:\A|[,;:(–—]|(?<![^\W\d_])(?:solo|anche|tranne|depende|dipende|só|apenas|mesmo|exceto))\s?se(?=\s)",
        re.IGNORECASE,
    ),
    "hedge": re.compile(rf"(?:{words_pattern(HEDGES)})", re.IGNORECASE),
    "doubt": re.compile(rf"(?:{words_pattern(DOUBTS)})", re.IGNORECASE),
    "exception": re.compile(rf"(?:{words_pattern(EXCEPTIONS)})", re.IGNORECASE),
    "rejection": re.compile(rf"(?:{words_pattern(REJECTIONS)})", re.IGNORECASE),
    "adverse": re.compile(rf"(?:{words_pattern(ADVERSE)})|[0-9]\s?/\s?[0-9]|n't(?![a-z])", re.IGNORECASE),
    "conclusion": re.compile(rf"(?:{words_pattern(CONCLUSIONS)})", re.IGNORECASE),
}
_IDIOM: Final = re.compile(rf"(?:{words_pattern(IDIOMS)})", re.IGNORECASE)
_IMPERATIVE: Final = re.compile(rf"(?:{words_pattern(IMPERATIVES)})(?:\s(?:the|für|voor))?", re.IGNORECASE)
_HEADING: Final = re.compile(
    rf"^[ \t]*+(?:#{{1,6}}\s++|\*\*)[*_ ]*+(?:my |final |the |short )?(?:{words_pattern(ANSWER_NOUNS)})"
    rf"(?:\s(?:{words_pattern(ADJECTIVES)}))?[:*_ \t]*+\n\s*+",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading that says that the answer follows."""
_OWN_SPEECH: Final = re.compile(
    r"(?<![^\W\d_])(?:i|we|ich|wir|je|nous|yo|io|eu|ik|я)\s(?:[^\W\d_']++\s){0,2}\Z|(?:我|我们|私は)\s?\Z",
    re.IGNORECASE,
)
_OWN_OPINION: Final = re.compile(
    r"(?<![自他她你您人们])我(?:们|個人|个人|依然|仍然|还是|也|始终|坚持|坚定地){0,2}认为"
    r"|(?<![^\W\d_])(?i:je pense)(?![^\W\d_])"
)
"""The author and a verb of opinion in Chinese and French, which elsewhere shows what somebody else thinks."""
_ACCORDING: Final = re.compile(
    r"(?<![^\W\d_])(?:i|we)\s(?:was|were)\stold\s"
    r"|(?<![^\W\d_])(?:according to|laut|selon|según|secondo|volgens|według)\s(?!(?:the|this|these|our|my|der|dem"
    r"|den|la|le|el|il|het|de)\s"
    r"(?!other|others|first|second|third|agent|previous|majority|anderen|autres|otros|altri)"
    r"|(?:me|mij|moi|mí|noi|nous)(?![^\W\d_]))",
    re.IGNORECASE,
)
"""What somebody else says; what a table or a text says is not hearsay."""
_OFFER: Final = re.compile(
    r"[\s*_]*+(?:let me know|i hope|hope this|feel free|if you(?:'d| would)? (?:like|want|need)|please (?:let|feel"
    r"|note)|do you|would you|"
    r"lass(?:en sie)? (?:mich|es)|ich hoffe|gern|n'hésitez|j'espère|espero|si (?:quieres|necesitas|desea)|se vuoi"
    r"|spero|laat (?:het )?me|daj znać|"
    r"если (?:нужно|хотите)|希望|如果您|如果你|ご不明|お役に|필요하시면|آمل|إذا كنت)",
    re.IGNORECASE,
)
"""How a model offers more help at the end of a reply."""
_WRONG_NOUN: Final = re.compile(rf"(?:{'|'.join(map(re.escape, WRONG_NOUNS))})\s?\Z", re.IGNORECASE)
_FIRST_FOREIGN: Final = "\u0590"
"""First character of the scripts in which words are not told apart before a noun."""
_ASSUMED: Final = re.compile(
    r"[\s*_]*+(?:suppose|assume|supposing|assuming|imagine|angenommen|nehmen wir an|admettons|digamos"
    r"|(?:manche|einige|viele) sagen|supposons|supongamos|supponiamo|suponhamos|stel"
    r"|załóżmy|предположим|假设|仮に|for example|for instance|e\.g\.|example|format|template|had|were|should"
    r"|normally|usually|typically|ordinarily|ideally|in an ideal world|with (?:a (?:bigger|larger|higher)|more)"
    r"|without|saying"
    r"|given more|on [a-z]+ alone|right now|for now"
    r"|zum beispiel|z\.b\.|par exemple|por ejemplo|per esempio|ad esempio|por exemplo|bijvoorbeeld|na przykład"
    r"|например|例如|たとえば|예를 들어)(?![a-z])",
    re.IGNORECASE,
)
"""Beginning of a sentence that its author only supposes, or gives as an example."""
_EXAMPLE_ABOVE: Final = re.compile(
    r"(?:example|e\.g\.|(?<!requested )(?<!required )(?<!given )(?<!your )(?<!right )format|template"
    r"|zum beispiel|beispiel|par exemple|exemple|por ejemplo|ejemplo|ad esempio"
    r"|esempio|por exemplo|exemplo|bijvoorbeeld|na przykład|например|例如|例|예)[\s*_]*[:：]?[\s*_`>#]*\Z",
    re.IGNORECASE,
)
"""What stands before an example of the form."""
_ABOUT_WORDS: Final = re.compile(
    r"\"[\s.,\u2013\u2014-]*+(?:this|that|the|such an?)\s(?:claim|statement|argument|view|idea|position"
    r"|answer)(?![a-z])",
    re.IGNORECASE,
)
"""What shows behind a quotation that its words are talked about."""
_THEIR_SPEECH: Final = re.compile(
    r"(?<![^\W\d_])(?:(?i:some|many|most|few|several|you|critics|experts|opponents|people)(?:\s[^\W\d_]+){0,2}"
    r"|(?!I\s|We\s)[A-Z][^\W\d_]+)\s(?:(?:also|still|would|will|may|all)\s)?"
    r"(?:think|believe|say|argue|feel|claim|maintain|suggest|insist|contend|hold|agree|answer|choose|pick|guess"
    r"|assume)(?:\sthat)?[\s,:*_\"]*+\Z"
)
"""What somebody else says, directly before a statement: *Some think that*, *Ada and Bo say*."""
_SPEAKER: Final = re.compile(
    r"[\s>*_#-]*+(?P<name>[A-Z][^\W\d_]+(?:\s(?:[A-Z][^\W\d_]*|[0-9]{1,2}))?)[\s*_]*+:[\s*_]*+\Z"
)
"""A name and a colon before a statement, as in a transcript."""
_HEADINGS: Final = frozenset(
    {*ANSWER_NOUNS, *CONCLUSIONS, *ADJECTIVES, *NOUN_WORDS, *SHORT_LEADS, *LABEL_NOUNS}
    | {"analysis", "assistant", "explanation", "justification", "note", "rationale", "reason", "reasoning", "response"}
    | {"result", "results", "reply", "step", "statement", "thus", "round", "part", "begründung", "erklärung", "antwort"}
    | {"explication", "explicación", "spiegazione", "explicação", "uitleg", "wyjaśnienie", "объяснение", "output"}
)
"""Words before a colon that are no name."""
_NO_DOUBT: Final = re.compile(
    r"(?<![a-z])(?:(?:there(?: is|'s) )?no (?:doubt|question)|without (?:a |any )?doubt|not only)(?![a-z])"
    r"|不错|不錯|不仅|不僅|不但|不过(?!是)|不過(?!是)|不只|不光|不止|不论|不管",
    re.IGNORECASE,
)
_AT_LEAST: Final = re.compile(r"(?<![a-z])(?:at least|last but not least|not the least)(?![a-z])", re.IGNORECASE)
_QUOTE_MARK: Final = re.compile(r"[\"']")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*'?")
_NOUN_WORDS: Final = frozenset(NOUN_WORDS)
_NOUN_WORDS_AT_END: Final = re.compile(rf"(?:(?:{words_pattern(NOUN_WORDS)})[\s*_\"]*+){{1,4}}\Z", re.IGNORECASE)
_THEIR_WORDS: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:,\s?(?:or so\s)?(?:[A-Z][^\W\d_]+\s(?:says|said|claims|claimed|argues"
    r"|argued|thinks|thought|believes)"
    r"|(?:says|said|claims|argues|thinks|believes|sagt|meint|dit|dice|diz|zegt)\s[A-Z])|,?\s?according to\s"
    r"|,?\s?(?:laut|selon|según|secondo|segundo|volgens)\s[A-Z])"
)
"""What shows behind a statement that somebody else made it."""
_BEFORE_STATEMENTS: Final = frozenset(BEFORE_STATEMENTS)
_AT_A_TIME: Final = re.compile(r"(?<![a-z])(?:before|when|by the time|every time|the day|after)\s\Z", re.IGNORECASE)
_SOMETIMES: Final = frozenset(
    {
        "usually",
        "typically",
        "normally",
        "generally",
        "initially",
        "previously",
        "originally",
        "supposedly",
        "allegedly",
    }
)
_ADVERBIALS: Final = frozenset(ADVERBIALS)


@dataclass(frozen=True, slots=True)
class Site:
    """A place at which an answer may stand."""

    rule: str
    """Name of the rule that found it."""
    start: int
    """Start of the words in which the answer is."""
    end: int
    """End of these words."""
    is_final: bool = False
    """Whether the sentence concludes."""


def contains(kind: str, text: str) -> bool:
    """Check whether a text has a word of a kind.

    Args:
        kind: `report`, `hearsay`, `others`, `negation`, `mistake`, `condition`, `hedge`, `doubt`, `exception`,
            `rejection`, `adverse` or `conclusion`.
        text: The text.
    """
    if kind == "negation":
        text = _NO_DOUBT.sub("", text)
    if kind == "condition":
        text = _IDIOM.sub("", text)
    if kind in {"rejection", "adverse"}:
        text = _AT_LEAST.sub("", text)
    if kind in {"report", "hearsay"}:
        text = _OWN_OPINION.sub("", text)
    if kind in {"report", "hearsay"} and _ACCORDING.search(text) is not None:
        return True
    return _VETO[kind].search(text) is not None


def sentence_end(text: str, at: int, end: int) -> int:
    """Return where the sentence ends in which an index lies, without its last sign."""
    limit = min(end, at + _MOST_LINE)
    for match in _SENTENCE_END.finditer(text, at, limit):
        if match[0] != "." or not _is_abbreviated(text, match.start(), at):
            return match.start()
    return limit


def _is_abbreviated(text: str, point: int, start: int, *, is_behind: bool = False) -> bool:
    """Check whether a point belongs to an abbreviation or an initial, and does not end the sentence.

    Args:
        text: The folded text.
        point: Index of the point.
        start: Start of the text that may be looked at.
        is_behind: Whether the sentence behind the point is sought. A lone letter may be the label of an option, whose
            text follows, as in *not A. Lisbon*; only a word that begins many sentences shows the contrary.
    """
    if abbreviation := _ABBREVIATION.search(text, max(start, point - 8), point):
        # "No. 5" is a number, and "No." alone an answer; "Rs. 5" are rupees.
        return abbreviation[0].casefold() not in {"no", "rs"} or text[point + 1 : point + 3].strip().isdigit()
    if _INITIAL.search(text, max(start, point - 2), point) is None:
        return False
    if is_behind or _AFTER_INITIAL.match(text, point):
        return not is_behind or _NEW_SENTENCE.match(text, point) is None
    before = _BEFORE_INITIAL.search(text, max(0, point - 25), point - 1)
    if before is None or not text[point + 2 : point + 3].isupper():
        return False
    return before["name"] is None or before["name"].casefold() not in _NO_NAMES


def sentence_start(text: str, at: int, start: int) -> int:
    """Return where the sentence begins in which an index lies."""
    begin = max(start, at - _MOST_CLAUSE)
    for match in reversed([*_SENTENCE_END.finditer(text, begin, at)]):
        if match[0] != "." or not _is_abbreviated(text, match.start(), begin, is_behind=True):
            return match.end()
    return begin


def boxes(text: str, start: int) -> Iterator[Site]:
    """Yield the contents of the innermost boxes of formulas."""
    for match in _matches(_BOX, text, start):
        end = _closing_brace(text, match.end())
        if end is None or _BOX.search(text, match.end(), end) or _is_box_denied(text, match.start(), end + 1):
            continue
        yield Site("boxed", match.end(), end, is_final=_is_conclusion(text, match.start(), end, start))


def _is_box_denied(text: str, begin: int, end: int) -> bool:
    """Check whether *not* stands directly before a box, or *is wrong* and the like directly behind it."""
    if _DENIED_BOX.search(text, max(0, begin - 40), begin):
        return True
    if _BOX_CONDITION.match(text, end):
        return True
    verb = _BOX_VERB.match(text, end)
    if verb is None:
        return False
    behind = text[verb.end() : min(sentence_end(text, verb.end(), len(text)), verb.end() + 60)]
    behind = _REST_OF_CLAUSE.split(behind)[0]
    return any(contains(kind, behind) for kind in ("negation", "hedge", "mistake", "rejection"))


def _is_conclusion(text: str, box: int, end: int, start: int) -> bool:
    """Check whether a box stands alone in the last line, or in a sentence that concludes."""
    before = text[sentence_start(text, box, start) : box]
    if not before.strip("$\\[( \t") and not text[end + 1 :].strip("$\\]).}* \t\n"):
        return True
    return contains("conclusion", before) and not contains("hedge", before) and _WOULD.search(before) is None


def _closing_brace(text: str, at: int) -> int | None:
    depth = 1
    for match in _BRACE.finditer(text, at, at + _MOST_LINE):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return None


def cue_sites(text: str, start: int) -> Iterator[Site]:
    """Yield what follows *the answer is*, *Final answer:*, *I choose* and the like, up to the end of its sentence."""
    if text.isascii() and text[start:].strip(" .\n").isalnum():
        return  # a single word
    for match in _matches(_HASHES, text, start):
        line_end = text.find("\n", match.end())
        yield Site("hashes", match.end(), line_end if line_end >= 0 else len(text), is_final=True)
    for match in _matches(_TAG, text, start):
        yield Site("tag", *match.span("inside"), is_final=True)
    for match in _matches(_HEADING, text, start):
        line_end = text.find("\n", match.end())
        yield Site("answer", match.end(), line_end if line_end >= 0 else len(text), is_final=True)
    yield from _verb_sites(text, start, lowered := _lowered(text))
    for at in _hits(lowered, start, ANSWER_NOUNS):
        noun = _NOUN.match(text, at)
        is_interim = _INTERIM.search(text, max(start, at - 10), at + 8) is not None
        link = _LINK.match(text, noun.end()) if noun is not None and not is_interim else None
        if link is not None and not _is_of_others(link[0]) and is_own(text, at, start, noun=True):
            yield _cue("answer", text, at, link.end(), start)


def _verb_sites(text: str, start: int, lowered: str) -> Iterator[Site]:
    """Yield what follows the verb of a choice."""
    for match in _matches(_SWITCH, text, start):
        if is_own(text, match.start("verb"), start):
            yield _cue("choose", text, match.start("verb"), match.end(), start)
    for at in _hits(lowered, start, IMPERATIVES):
        verb = _IMPERATIVE.match(text, at)
        if verb is not None and _begins_clause(text, at, start) and is_own(text, at, start):
            yield _cue("choose", text, at, verb.end(), start)
    for match in _matches(_BEST, text, start):
        before = text[sentence_start(text, match.start(), start) : match.start()]
        if contains("conclusion", before) and is_own(text, match.start(), start):
            yield _cue("answer", text, match.start(), match.end(), start)
    for at in _hits(lowered, start, CHOICE_VERBS):
        verb = _VERB.match(text, at)
        if verb is not None and is_own(text, at, start) and not _is_past(text, at, verb[0], start):
            yield _cue("choose", text, at, verb.end(), start)
    for at in _hits(lowered, start, BARE_VERBS):
        verb = _BARE_VERB.match(text, at)
        subject = _WITH_ADVERB.search(text, max(start, at - _MOST_LEAD), at)
        if verb is not None and subject is not None and is_own(text, subject.start(), start):
            yield _cue("choose", text, subject.start(), verb.end(), start)


def _is_of_others(link: str) -> bool:
    """Check whether the words between a noun and the answer give it to others, or reject it."""
    return _OF_OTHERS.match(link) is not None or contains("rejection", link)


def _is_past(text: str, at: int, verb: str, start: int) -> bool:
    """Check whether a sentence says that something was chosen earlier, as in *I chose B in round one*."""
    if _PAST.match(verb) is None:
        return False
    return _NOT_NOW.search(text, sentence_start(text, at, start), sentence_end(text, at, len(text))) is not None


def _lowered(text: str) -> str:
    """Return a text in lower case, of the same length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)


def _matches(pattern: re.Pattern[str], text: str, start: int) -> list[re.Match[str]]:
    """Return the matches of a pattern, in order; of very many, the first and the last ones."""
    matches = pattern.finditer(text, start)
    return [*islice(matches, _MOST_HITS), *deque(matches, _MOST_HITS)]


def states_too_often(text: str, start: int) -> bool:
    """Check whether a text states answers in so many places that not all of them are read."""
    return any(
        next(islice(pattern.finditer(text, start), 2 * _MOST_HITS, None), None) is not None
        for pattern in (_BOX, _HASHES, _TAG, _HEADING, _SWITCH, _BEST)
    )


def _hits(lowered: str, start: int, words: tuple[str, ...]) -> list[int]:
    """Return where words may stand, in order; of very many places, the first and the last ones.

    Searching for each word by itself is ten times as fast as a pattern of all words.
    """
    found: set[int] = set()
    for word in _beginnings(words, only_ascii=lowered.isascii()):
        at, count = lowered.find(word, start), 0
        while at >= 0 and count < _MOST_WORDS:
            found.add(at)
            at, count = lowered.find(word, at + 1), count + 1
        at = lowered.rfind(word, start) if count == _MOST_WORDS else -1
        while at >= 0 and count < 2 * _MOST_WORDS:
            found.add(at)
            at, count = lowered.rfind(word, start, at + len(word) - 1), count + 1
    places = sorted(found)
    return places if len(places) <= 2 * _MOST_WORDS else places[:_MOST_WORDS] + places[-_MOST_WORDS:]


@cache
def _beginnings(words: tuple[str, ...], *, only_ascii: bool) -> tuple[str, ...]:
    """Return the words without those that begin with another one, whose places are found with it."""
    kept = dict.fromkeys(word for word in words if word.isascii() or not only_ascii)
    return tuple(word for word in kept if not any(word[:length] in kept for length in range(1, len(word))))


def _begins_clause(text: str, at: int, start: int) -> bool:
    """Check whether an index is at the beginning of a sentence, or behind a colon."""
    before = text[sentence_start(text, at, start) : at].rstrip(" *_`\t")
    return not before or before.endswith((":", "：")) or before.casefold() in {"so", "then", "also", "donc", "dus"}


def _cue(rule: str, text: str, cue: int, at: int, start: int) -> Site:
    filled = _FILLED.match(text, at)
    at = filled.end() if filled else at
    before = text[sentence_start(text, cue, start) : at]
    return Site(
        rule,
        at,
        sentence_end(text, at, len(text)),
        is_final=contains("conclusion", before.rpartition("answer")[0]) or "final" in before.casefold(),
    )


def is_own(text: str, cue: int, start: int, *, noun: bool = False) -> bool:
    """Check that a statement is the author's own and stands without a condition, a negation or a doubt.

    Args:
        text: The folded text.
        cue: Start of the noun or the verb of the statement.
        start: Start of the answer, behind the thoughts.
        noun: Whether the statement begins with a noun, before which only some words may stand.
    """
    if is_quoted(text, cue, start) or is_example(text, cue, start):
        return False
    sentence = text[sentence_start(text, cue, start) : cue]
    clause = sentence
    for match in _CLAUSE.finditer(sentence):
        clause = sentence[match.end() :]
    if contains("condition", sentence) or (noun and not _may_precede_noun(clause)):
        return False
    if text[cue] >= _FIRST_FOREIGN and belongs_to_others(clause):
        return False
    if _is_said_by_others(sentence, clause, text[cue : cue + 1]):
        return False
    if any(contains(kind, clause) for kind in ("negation", "hedge", "mistake", "doubt")):
        return False
    if _ASSUMED.match(sentence) is not None or _AT_A_TIME.search(clause) or contains("others", clause):
        return False
    if contains("report", clause):
        found = _VETO["report"].search(clause)
        return found is not None and _OWN_SPEECH.search(clause[: found.start()]) is not None
    return _ACCORDING.search(sentence) is None


def _is_said_by_others(sentence: str, clause: str, cue: str) -> bool:
    """Check whether the words before a statement are those of somebody else who is speaking.

    Args:
        sentence: The sentence up to the statement.
        clause: Its last clause.
        cue: The first letter of the statement.
    """
    if clause[-1:].isascii() and clause[-1:].isalpha() and cue >= FIRST_WITHOUT_SPACES:
        return True  # a name before a verb of a script without spaces, as in "Ada选择"
    lead = _NOUN_WORDS_AT_END.sub("", sentence[-_MOST_LEAD:])
    if _THEIR_SPEECH.search(lead) is not None:
        return True
    speaker = _SPEAKER.match(lead) if len(sentence) <= _MOST_LEAD else None
    if speaker is not None and _HEADINGS.isdisjoint(speaker["name"].casefold().split()):
        return True
    before = sentence[: len(sentence) - len(clause)].rstrip()
    report = None
    if before.endswith((",", ":")):  # "Ada sagt, die Antwort ist A"
        report = next((match for match in _VETO["hearsay"].finditer(before) if match.end() == len(before) - 1), None)
    return report is not None and _OWN_SPEECH.search(before[: report.start()]) is None


def _may_precede_noun(clause: str) -> bool:
    """Check that what stands before a noun such as *answer* makes it the author's answer, and no worse one."""
    if _WRONG_NOUN.search(clause):
        return False
    words = [word.casefold() for word in _WORD.findall(clause) if word[0] < _FIRST_FOREIGN]
    if clause.rstrip()[-1:] >= _FIRST_FOREIGN:
        return True
    first = words[0] if words else ""
    while words and words[-1] in _NOUN_WORDS:
        words.pop()
    is_adverb = bool(words) and words[-1].endswith("ly") and words[-1] not in _SOMETIMES
    return words in ([], ["x"]) or words[-1] in _BEFORE_STATEMENTS or is_adverb or first in _ADVERBIALS


def is_quoted(text: str, at: int, start: int) -> bool:
    """Check whether an index lies in a quoted line, or within quotation marks.

    Marks count behind a colon or a comma, and where the sentence goes on to say whose words they are, or that they are
    wrong.
    """
    begin = text.rfind("\n", start, at) + 1 or start
    before = text[begin:at]
    if before.lstrip().startswith(">"):
        return True
    if before.count('"') % 2 == 0:
        return False
    if before.rpartition('"')[0].rstrip().endswith((":", ",")):
        return True
    closing = text.find('"', at, at + _MOST_LEAD)
    if closing >= 0 and _ABOUT_WORDS.match(text, closing):
        return True
    behind = text[closing + 1 : sentence_end(text, closing + 1, closing + 1 + _MOST_LEAD)] if closing >= 0 else ""
    return any(contains(kind, behind) for kind in ("report", "negation", "mistake", "doubt"))


def is_theirs(behind: str) -> bool:
    """Check whether the words behind a statement give it to somebody else, as in *The answer is B, says Ada*."""
    return _THEIR_WORDS.match(behind) is not None


def is_example(text: str, at: int, start: int) -> bool:
    """Check whether words such as *for example* stand directly before an index.

    Args:
        text: The folded text.
        at: The index.
        start: Start of the answer, behind the thoughts.
    """
    return _EXAMPLE_ABOVE.search(text[max(start, at - _MOST_LEAD) : at]) is not None


def is_offer(text: str, end: int) -> bool:
    """Check whether the last sentence before an index offers more help.

    Args:
        text: The folded text.
        end: The index.
    """
    stop = len(text[:end].rstrip())
    return _OFFER.match(text, sentence_start(text, stop - 1, 0)) is not None


def quotes_others(sentence: str) -> bool:
    """Check whether a sentence says what other people say, as in *Many students answer "B"*."""
    return any(_THEIR_SPEECH.search(sentence[: match.start()]) for match in _QUOTE_MARK.finditer(sentence))


def opening_sentence(text: str, start: int) -> tuple[int, int]:
    """Return start and end of the first sentence."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start, sentence_end(text, start, len(text))


def last_sentences(text: str, start: int, most: int) -> list[tuple[int, int]]:
    """Return start and end of the last sentences, the last one first; questions and offers at the end are left out.

    Before very many questions, no sentence is looked for.
    """
    found: list[tuple[int, int]] = []
    end = len(text)
    for _ in range(most + _MOST_HITS):
        if len(found) == most:
            break
        while end > start and (text[end - 1].isspace() or text[end - 1] in _CLOSERS):
            end -= 1
        if end <= start:
            break
        is_question = text[end - 1] in "?？؟"
        if (
            text[end - 1] == ")"
            and (opening := text.rfind("(", start, end)) > 0
            and text[opening - 1 : opening].isspace()
        ):
            before = text[start:opening].rstrip()
            if before[-1:] in {".", "!", "。"}:
                end = start + len(before)
                continue
        begin = sentence_start(text, end - is_question, start)
        if not is_question and (found or not _OFFER.match(text, begin)):
            found.append((begin, end))
        end = min(begin, end - 1)
    return found


def closing_sentence(text: str, start: int) -> tuple[int, int]:
    """Return start and end of the last sentence."""
    end = len(text)
    while end > start and (text[end - 1].isspace() or text[end - 1] in _CLOSERS):
        end -= 1
    return sentence_start(text, end, start), end


def lines(text: str, start: int) -> list[tuple[int, int]]:
    """Return start and end of each line that is not blank, without white space around it."""
    found: list[tuple[int, int]] = []
    at = start
    for line in text[start:].split("\n"):
        if stripped := line.strip():
            begin = at + line.index(stripped)
            found.append((begin, begin + len(stripped)))
        at += len(line) + 1
    return found
