"""What a sentence says of the options that it names: which it affirms, denies, praises or speaks against."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.folding import FIRST_WITHOUT_SPACES
from roundtable.reading.owners import is_acted_by_others
from roundtable.reading.phrases import (
    ADJECTIVES,
    ANSWER_NOUNS,
    ARTICLES,
    BEFORE_STATEMENTS,
    CHOICE_VERBS,
    CONCLUSIONS,
    CONTRASTS,
    IMPERATIVES,
    JOINERS,
    LABEL_NOUNS,
    LEADS,
    LINK_ADVERBS,
    LINKS,
    NOUN_WORDS,
    REASONS,
    VERB_ENDINGS,
    words_pattern,
)
from roundtable.reading.sites import contains, sentence_end, sentence_start
from roundtable.reading.verbless import is_only_described, is_praised_without_verb
from roundtable.reading.wide_clauses import ends_clause, is_beside, is_limited, is_only_topic, is_wide
from roundtable.reading.wide_phrases import WIDE_JOINERS, WIDE_PRAISE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundtable.reading.options import Named

__all__ = [
    "CHOOSING",
    "CONTRAST",
    "FIRST_FOREIGN",
    "REASON",
    "SO",
    "VERB_AFTER",
    "affirmed_mentions",
    "is_answer_to_adverse",
    "is_called_best",
    "is_followed_by_rejection",
    "is_judged_badly",
    "is_odd_note",
    "is_praised_behind",
    "is_rejected_behind",
    "praise_behind",
    "standing_mentions",
]

_ADVERB: Final = rf"(?:[ ](?:{words_pattern(LINK_ADVERBS)}))?[ ]"


def _with_adverbs(phrases: Sequence[str]) -> Iterator[str]:
    """Yield patterns of phrases, with room for an adverb behind the first word: *is clearly the best*."""
    behind: dict[str, list[str]] = {}
    for phrase in phrases:
        first, _, rest = phrase.partition(" ")
        behind.setdefault(first, []).append(rest)
    for first, rests in behind.items():
        word, longer = words_pattern([first]), [rest for rest in rests if rest]
        if longer:
            yield rf"(?:{word}){_ADVERB}(?:{words_pattern(longer)})"
        if "" in rests:
            yield word


VERB_AFTER: Final = re.compile(
    rf"[\s*_`\"')\]]*+(?:{'|'.join(_with_adverbs((*VERB_ENDINGS, *WIDE_PRAISE)))})", re.IGNORECASE
)
"""What calls an option the best, behind it."""
CONTRAST: Final = re.compile(rf"(?:{words_pattern(CONTRASTS)})", re.IGNORECASE)
"""Words between what is denied and what is chosen."""
REASON: Final = re.compile(rf"(?:{words_pattern(REASONS)})", re.IGNORECASE)
"""Words that begin a reason."""
_SERIES: Final = re.compile(
    rf"[\s,、*_`]*+(?:{words_pattern((*JOINERS, *WIDE_JOINERS, 'nor', 'noch', 'ni', 'でも'))})?[\s*_`]*+", re.IGNORECASE
)
"""What stands between the options of a series."""
SO: Final = re.compile(
    r"(?<![^\W\d_])(?:so|therefore|thus|hence|(?<!and )also|daher|deshalb|donc|así que|por tanto|por lo tanto|entonces"
    r"|quindi|dunque|portanto|então|logo|dus|więc|поэтому|значит)(?![^\W\d_])|因此|所以|したがって|따라서|لذلك"
    r"|इसलिए",
    re.IGNORECASE,
)
"""Words that lead to a conclusion within a sentence."""
_COMPARED: Final = re.compile(r"(?<![^\W\d_])(?:than|as\s[a-z]+\sas|als|que|di|niż|чем|dan)(?![^\W\d_])", re.IGNORECASE)
_DENIED_BEHIND: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:(?:is|are|was|were|does|do|did|has|have|can|could|will|would)(?:n't|\snot|\snever|\sno)"
    r"|(?:ist|sind|war|hat|kann)\s(?:nicht|kein)|n'est\spas|no\s(?:es|son)|non\s(?:è|sono)|não\sé|is\s(?:niet|geen)"
    r"|nie\sjest|не\s)(?![^\W\d_])",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[,;:，、；：]\s*|\s[-–—]\s")
_PURPOSE: Final = re.compile(r"(?<![^\W\d_])(?:to|zu|pour|para|per|om)\s[^\W\d_]+", re.IGNORECASE)
_AS_THE: Final = re.compile(
    r"(?:as|als|comme|como|come)\s(?:the|my|our|die|der|das|meine|le|la|el|il|o|a|de|het)\s", re.IGNORECASE
)
_COMMAS: Final = re.compile(r"[,;，、；](?=\s|[^\x00-\u2e80])")
FIRST_FOREIGN: Final = "\u0250"
"""First letter of the scripts whose words are not looked at."""
CHOOSING: Final = frozenset(
    word
    for words in (
        *(ADJECTIVES, ANSWER_NOUNS, ARTICLES, BEFORE_STATEMENTS, CHOICE_VERBS, LABEL_NOUNS, LEADS, LINKS),
        *(LINK_ADVERBS, NOUN_WORDS, IMPERATIVES),
    )
    for phrase in words
    for word in phrase.split()
)
"""Words that may stand between a word that concludes and the option that is chosen."""
_BEFORE_PRAISE: Final = CHOOSING - {"to", "alternative", "alternativa", "alternativ"} | {
    *(
        "i",
        "we",
        "i'm",
        "agree",
        "also",
        "find",
        "personally",
        "clearly",
        "overall",
        "ultimately",
        "still",
        "only",
        "both",
    ),
    *(
        "ich",
        "wir",
        "que",
        "che",
        "denke",
        "glaube",
        "finde",
        "meine",
        "dass",
        "je",
        "nous",
        "pense",
        "crois",
        "trouve",
        "yo",
        "creo",
    ),
    *("am", "are", "confident", "convinced", "sure", "certain"),
    *(
        "secondo",
        "me",
        "parere",
        "mio",
        "avis",
        "mon",
        "opinión",
        "mi",
        "opinião",
        "minha",
        "mening",
        "mijn",
        "volgens",
    ),
    *("mij", "zdaniem", "moim", "meiner", "meinung", "nach", "erachtens", "meines", "view", "opinion"),
    *("pienso", "io", "credo", "penso", "eu", "acho", "ik", "denk", "vind", "myślę", "że", "я", "считаю", "думаю"),
    *(word for phrase in CONCLUSIONS for word in phrase.split()),
}
"""Words that may stand between the beginning of a clause and an option that is called the best."""
_JUDGED: Final = re.compile(
    r"[\s*_`\"')\]]*+(?:(?P<sign>[:：(\u2013\u2014]|-\s)|(?P<comma>[,，])|(?<=[\s*_`\"')\]])"
    r"|(?=[\u2e80-\uffef]))[\s*_`\"'(]*+"
)
"""What stands between an option and a judgement of it."""
_WHY: Final = (
    *("because", "since", "weil", "denn", "car", "parce que", "porque", "perché", "omdat", "потому"),
    *("instead", "rather", "over"),
)
_JUDGEMENT_END: Final = re.compile(
    rf"[,;.!?:，。；]|\s[-\u2013\u2014]\s|(?:{words_pattern(_WHY)})",
    re.IGNORECASE,
)
_ADVERSE_ASIDE: Final = re.compile(
    r"(?:no way|no thanks|never|not!|the (?:worst|weakest|least)|sadly|unfortunately|alas|hardly|last"
    r"|which is (?:too|not))(?![a-z])",
    re.IGNORECASE,
)
_PRAISED: Final = re.compile(
    r"(?:[\s*_]++(?:choice|option|answer|fit|pick|solution|one|candidate|bet|way|selection|alternative|approach|overall"
    r"|here|indeed|city|place|spot|location|destination|venue|site|language|tool|framework|database|strategy|plan"
    r"|method|model|candidate|compromise|match|course|path|route|design|technology|system|platform|class|category|label|sentiment|wahl|antwort|lösung|entscheidung|choix|réponse|opción|respuesta"
    r"|elección|scelta|opzione|risposta|escolha|opção|resposta|keuze|optie|antwoord|wybór|wyborem|odpowiedź|odpowiedzią"
    r"|выбор|ответ|вариант|seçenek|seçim|cevap|yanıt"
    r"|choose|pick|take|recommend|use|prefer|select|suggest|(?:go|vote|opt|reach) (?:with|for))(?![^\W\d_]))*+"
    r"(?:\s(?:for|für|pour|para|per|voor|dla|для)\s(?:us|our|your|you|this|me|the|uns|unser[a-z]*|diese[a-z]*|nous|notre"
    r"|nosotros"
    r"|nuestr[a-z]+|noi|nostr[a-z]|nós|ons|onze)(?![^\W\d_])[^.,;!?\n]{0,60})?"
    r"(?:[\s*_`\"')\]]*+(?:[.,;:!\n(\u2013\u2014\u3002\uff0c\uff01]|\Z)|\s-\s|(?=[\u2e80-\uffef])|\s(?:हूँ|हूं|है)(?![^\W\d_])"
    r"|\s(?:because|since|as|given|due|considering|among|between|of\sthe|of\sthese|in\s(?:this|our)|to\s(?:the|this)"
    r"|and|weil|da|denn|car|puisque|porque|ya que|perché|poiché|pois|omdat|ponieważ|потому|from|based|with"
    r"|supported|in\sthe)(?![^\W\d_]))",
    re.IGNORECASE,
)
"""The rest of a clause that calls an option the best: a noun, for whom, and the end of the clause or a reason."""
_UNLESS: Final = re.compile(
    r"[\s,]*+(?:but|although|though|yet|if|unless|so far|aber|obwohl|mais|pero|ma|mas|maar|ale|но)(?![^\W\d_])",
    re.IGNORECASE,
)
_LIMITED: Final = re.compile(
    r"[\s*_]*+(?:from an?\s[^,]{1,40}(?:perspective|standpoint|point of view)|in terms of|in theory|[a-z]+-wise"
    r"|although|while"
    r"|granted|admittedly|true,|it's true|it is true|obwohl|zwar|bien que|aunque|sebbene|embora|hoewel|虽然)",
    re.IGNORECASE,
)
"""Beginning of a sentence that admits something, or looks at one side alone."""
_AGREED: Final = re.compile(
    r"(?<![^\W\d_])(?:I|we)\s(?:also\s|fully\s|strongly\s)?agree\swith\s[^.,;:]{1,40}\sthat\s[*_`\"'(]*\Z",
    re.IGNORECASE,
)
"""What makes a statement of somebody else the author's own."""
_CLAUSE_START: Final = re.compile(
    r"[,;:\u2013\u2014\uff0c\uff1b\uff1a]|\s-\s|(?<![^\W\d_])(?:so|therefore|thus|hence|but|then|also|daher|aber"
    r"|donc|mais"
    r"|pero|entonces|quindi|ma|portanto|mas|dus|maar|więc|ale|поэтому|но)(?![^\W\d_])",
    re.IGNORECASE,
)
_TO_JUDGEMENT: Final = re.compile(r"(?:(?<=\.)|[\s*_`\"')\]]*+[.!?])[\s*_`\"')\]]++(?=\S)")
"""The end of the sentence that is an option alone."""
_INTENSIFIER: Final = re.compile(
    r"(?:(?:an?|far|way|much|simply|just|really|very|so|ein|eine|une?|una?|um|uma|een)\s)+", re.IGNORECASE
)
_NOT_ADVERSE: Final = re.compile(
    r"(?:too good|no (?:doubt|question|other|matter|need)|not (?:only|just|even close)|nothing|no one|nobody|last"
    r"|second|alas|out|pass|points|votes|only|nur)(?![^\W\d_])",
    re.IGNORECASE,
)
_DENIAL: Final = re.compile(
    r"(?:not|never|no|nope|nicht|nie|nein|kein|keine|pas|jamais|non|no|nunca|mai|não|niet|nooit|nee|nie|не|нет|никогда)"
    r"(?![^\W\d_])",
    re.IGNORECASE,
)
_CALLED_FALSE: Final = re.compile(
    r"[\s*_`\"')]*(?:(?:it|this|that)(?:'s|\sis)\s)?(?:clearly\s|simply\s)?(?:false|i (?:strongly |still )?disagree"
    r"|i (?:don't|do not) agree|falsch|falso|falsa|faux|fout|ложь|非)[\s*_`\"')]*",
    re.IGNORECASE,
)
"""A judgement that calls an option false and says nothing else."""
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,80}\"")
"""Words that are spoken about, as in *"not bad" is positive*."""
_NOTE: Final = re.compile(
    r"[\s*_`\"')\]]*+(?P<sign>[:：(\[]|[-\u2013\u2014]\s)?[\s*_`\"']*+(?P<words>[^.,;:!?\n\u3002\uff0c]{1,40}?)[\s*_`\"')\].!\u3002]*+"
)
"""A note behind an option with which the text ends, on the same line."""
_SHARE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?)\s?%")
_LIKELIER: Final = 50.0
_MOST_NOTE: Final = 2
_APPROVING: Final = CHOOSING | {
    *(
        "yes",
        "ok",
        "okay",
        "definitely",
        "absolutely",
        "clearly",
        "certainly",
        "sure",
        "winner",
        "first",
        "recommended",
    ),
    *("ja", "oui", "sí", "si", "sì", "sim", "tak", "evet", "да", "richtig", "correcto", "correcta", "perfect", "great"),
    *("good", "easily", "always", "obviously", "exactly", "indeed", "preferred", "favourite", "favorite", "approved"),
    *("selected", "chosen", "confirmed", "accepted", "agreed", "agree", "support", "true", "verified", "done"),
}
"""Words of a note that do not speak against an option."""
_MOST_DENIAL: Final = 3
_OF_OTHERS: Final = re.compile(r"(?<![a-z])(?:did|does|would)\s(?!I\s|(?i:we|you|it|the|this|that)\s)[A-Z][a-z]+\s")
_MOST_JUDGEMENT: Final = 6
"""Most words behind an option in which a judgement of it begins."""
_MOST_REJECTION: Final = 60


def is_judged_badly(behind: str, most: int = 6) -> bool:
    """Check whether the first words behind an option speak against it: *Lisbon: too dear*, *I'd choose Lisbon last*.

    Args:
        behind: The words.
        most: Most of them in which a judgement of the option begins.
    """
    lead = _JUDGED.match(behind)
    if lead is None:
        return False
    clause = _JUDGEMENT_END.split(behind[lead.end() : lead.end() + _MOST_REJECTION], maxsplit=1)[0]
    if lead["comma"] and not _ADVERSE_ASIDE.match(clause):
        return False
    clause = " ".join(clause.split()[:most])
    return (
        _CALLED_FALSE.fullmatch(clause) is not None
        or contains("adverse", clause)
        or (bool(lead["sign"]) and contains("report", clause))
    )


def is_odd_note(text: str, at: int, by: str) -> bool:
    """Check whether the text ends with a short note on an option that may judge it: *B: misleading*, *B (per Ada)*.

    Args:
        text: The folded text.
        at: End of the option.
        by: Whether the option is named by its label, its text or both.
    """
    note = _NOTE.fullmatch(text, at)
    is_signed = note is not None and (note["sign"] is not None or (by == "label" and text[at - 1] in ":："))
    if note is None or not is_signed:
        return False
    if number := _SHARE.fullmatch(note["words"]):
        return float(number[1]) < _LIKELIER
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?|[0-9]+", note["words"])
    return len(words) <= _MOST_NOTE and not all(word.casefold() in _APPROVING for word in words)


def is_followed_by_rejection(text: str, at: int) -> bool:
    """Check whether a short sentence behind an option only speaks against it, as in *A. Too expensive!*.

    Args:
        text: The folded text.
        at: End of the option.
    """
    begin = _TO_JUDGEMENT.match(text, at)
    if begin is None:
        return False
    sentence = text[begin.end() : sentence_end(text, begin.end(), begin.end() + _MOST_REJECTION)]
    words = sentence.split()
    if not words or len(words) > _MOST_JUDGEMENT or _NOT_ADVERSE.match(sentence):
        return False
    is_denied = len(words) <= _MOST_DENIAL and _DENIAL.match(sentence) is not None
    return is_denied or contains("adverse", _INTENSIFIER.sub("", sentence, count=1).split()[0])


def is_answer_to_adverse(text: str, at: int, start: int) -> bool:
    """Check whether what stands at an index answers a question of the text for the worst, or for the choice of others.

    Args:
        text: The folded text.
        at: The index.
        start: Start of the answer, behind the thoughts.
    """
    end = sentence_start(text, at, start)
    before = text[start:end].rstrip(" \n*_`\"'>")
    if before[-1:] not in {"?", "？"}:
        return False
    question = before[sentence_start(before, len(before) - 1, 0) :]
    kinds = ("rejection", "mistake", "others", "report")
    return _OF_OTHERS.search(question) is not None or any(contains(kind, question) for kind in kinds)


def is_rejected_behind(behind: str) -> bool:
    """Check whether an option is called the worst, dropped or the like in the clause behind it."""
    clause = _CLAUSE_END.split(behind, maxsplit=1)[0][:_MOST_REJECTION]
    clause = _PURPOSE.sub("", clause)
    if (reason := REASON.search(clause)) and not _AS_THE.match(clause, reason.start()):
        clause = clause[: reason.start()]
    return contains("rejection", clause)


def is_called_best(text: str, named: Named, end: int) -> bool:
    """Check whether *is the best* and the like stand behind an option, and nothing else is said or meant by it.

    Args:
        text: The folded text.
        named: The option.
        end: End of its sentence.
    """
    before = text[max(0, text.rfind("\n", 0, named.start)) : named.start]
    if (praise := praise_behind(text, named.end, end)) is None:
        begin = sentence_start(text, named.start, 0)
        return is_praised_without_verb(text, begin, named.start, named.end, end)
    if is_wide(text, praise.end() - 1):
        return not is_limited(before[sentence_start(before, len(before), 0) :]) and _begins_own_clause(before)
    return is_praised_behind(text, named, end) and _begins_own_clause(before)


def is_praised_behind(text: str, named: Named, end: int, *, verb: re.Pattern[str] = VERB_AFTER) -> bool:
    """Check whether *is the best* and the like stand behind an option, whatever stands before it.

    Args:
        text: The folded text.
        named: The option.
        end: End of its sentence.
        verb: What calls it the best.
    """
    praise = verb.match(text, named.end, end)
    if praise is None:
        return False
    stop = _PRAISED.match(text, praise.end(), end)
    if stop is None or _UNLESS.match(text, stop.end(), end):
        return False
    return not contains("mistake", text[praise.end() : stop.end()])  # "the right choice for the wrong job"


def praise_behind(text: str, at: int, end: int) -> re.Match[str] | None:
    """Return the words behind an option that call it the best; in Chinese, Japanese and Korean, they end the clause.

    Args:
        text: The folded text.
        at: End of the option.
        end: End of the sentence.
    """
    praise = VERB_AFTER.match(text, at, end)
    if praise is None or text[praise.end() - 1] < FIRST_WITHOUT_SPACES or ends_clause(text, praise.end(), end):
        return praise
    return None


def standing_mentions(
    text: str, sentence: tuple[int, int], mentions: Sequence[Named], affirmed: Sequence[Named]
) -> list[Named]:
    """Return the affirmed mentions that a sentence neither joins to other options nor only describes.

    Without them, *東京か大阪です* would name one option, and *Казань — плохой выбор* would choose it.

    Args:
        text: The folded text.
        sentence: Start and end of the sentence.
        mentions: The options that the sentence names, in order.
        affirmed: Those of them that are not negated.
    """
    return [
        named
        for named in affirmed
        if not is_only_described(text, named.end, sentence[1])
        and not is_only_topic(text, sentence[0], named.start, named.end)
        and not _is_joined_before(text, named, mentions)
    ]


def _is_joined_before(text: str, named: Named, mentions: Sequence[Named]) -> bool:
    """Check whether an option is joined to one before it, or compared with it, in a script without spaces."""
    others = [other for other in mentions if other.end <= named.start and other.options != named.options]
    if not others:
        return False
    before, between = text[max(0, others[-1].start - 8) : others[-1].start], text[others[-1].end : named.start]
    is_foreign = is_wide(text, named.end) or max(between, default="") >= FIRST_WITHOUT_SPACES
    return is_foreign and is_beside(before, between)


def _begins_own_clause(before: str) -> bool:
    """Check that an option begins a clause of the author, unlike in *The claim that Porto is the best choice*."""
    sentence = before[sentence_start(before, len(before), 0) :]
    share = _SHARE.search(sentence)
    if _LIMITED.match(sentence) is not None or (share is not None and float(share[1]) < _LIKELIER):
        return False
    sentence = _AGREED.sub("", sentence)
    cuts = [match.end() for match in _CLAUSE_START.finditer(sentence)]
    clause = sentence[cuts[-1] if cuts else 0 :]
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", clause)
    if is_acted_by_others(clause):
        return False
    return all(word.casefold() in _BEFORE_PRAISE or word[0] >= FIRST_FOREIGN for word in words)


def affirmed_mentions(text: str, begin: int, mentions: Sequence[Named]) -> list[Named]:
    """Return the mentions that are not negated, as A is in *not A but B*, *B, not A* and *neither A nor C, so B*.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        mentions: The options that the sentence names, in order.
    """
    negated: list[bool] = []
    at = begin
    for index, named in enumerate(mentions):
        before = text[at : named.start]
        behind = text[named.end : mentions[index + 1].start if index + 1 < len(mentions) else named.end + 12]
        contrasts = [match.end() for match in CONTRAST.finditer(before)]
        if index and not negated[-1] and not contrasts and (comma := max(before.rfind(","), before.rfind(";"))) > 0:
            # "Faro doesn't convince me, Porto does": the negation is about what stands before it.
            negated[-1] = contains("negation", before[:comma])
            before = before[comma:]
        is_negated = contains("negation", _QUOTED.sub("", before[contrasts[-1] if contrasts else 0 :]))
        is_negated = is_negated or (behind.lstrip()[:1] >= "\u2e80" and contains("negation", behind))
        is_last = index + 1 == len(mentions)
        rest = text[named.end : sentence_end(text, named.end, len(text)) if is_last else mentions[index + 1].start]
        if _COMPARED.search(rest) and _DENIED_BEHIND.match(rest):
            return []  # "A is not better than B" chooses neither
        is_negated = is_negated or _DENIED_BEHIND.match(rest) is not None
        is_negated = is_negated or _is_rejected_before(before) or is_rejected_behind(rest)
        if index and negated[-1] and _SERIES.fullmatch(before):
            is_negated = True
        negated.append(is_negated)
        at = named.end
    for index in range(len(mentions) - 1, 0, -1):
        if negated[index] and _SERIES.fullmatch(text, mentions[index - 1].end, mentions[index].start):
            negated[index - 1] = True
    return [named for named, is_negated in zip(mentions, negated, strict=True) if not is_negated]


def _is_rejected_before(before: str) -> bool:
    """Check whether the clause before an option rejects it, as in *we drop Lisbon* and *all except Lisbon*."""
    starts = [match.end() for pattern in (SO, _COMMAS) for match in pattern.finditer(before)]
    clause = before[max(starts, default=0) :]
    if any(contains(kind, clause) for kind in ("exception", "mistake")) or contains("doubt", clause.split(":")[-1]):
        return True
    contrasts = [match.end() for match in CONTRAST.finditer(clause)]
    return contains("rejection", clause[contrasts[-1] if contrasts else 0 :])
