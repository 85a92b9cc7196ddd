"""Bare answers that mean yes or no, and how a text says yes or no."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from roundtable.core.types.answers import Reading
from roundtable.reading.choices import read_choice
from roundtable.reading.folding import fold
from roundtable.reading.options import option_texts
from roundtable.reading.phrases import OFFERS
from roundtable.reading.sites import contains, sentence_end, sentence_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "NO_WORDS",
    "YES_NO_BY_LANGUAGE",
    "YES_WORDS",
    "checked_yes_no",
    "contradicts_side",
    "read_yes_no",
    "sides_of",
]

YES_NO_BY_LANGUAGE: Final[Mapping[str, tuple[str, str]]] = {
    "English": ("yes yeah yep true", "no nope false"),
    "German": ("ja jawohl wahr", "nein falsch"),
    "French": ("oui si vrai", "non faux"),
    "Spanish": ("sí si verdadero", "no falso"),
    "Italian": ("sì si vero", "no falso"),
    "Portuguese": ("sim verdadeiro", "não nao falso"),
    "Dutch": ("ja", "nee"),
    "Swedish, Norwegian and Danish": ("ja", "nej"),
    "Polish": ("tak", "nie"),
    "Czech": ("ano", "ne"),
    "Russian": ("да верно", "нет неверно"),
    "Other Slavic languages": ("da", "ne"),
    "Turkish": ("evet", "hayır"),
    "Hungarian": ("igen", "nem"),
    "Greek": ("ναι nai", "όχι"),
    "Chinese": ("是 是的 对 對 正确 正確", "不 不是 否 不对 不對 错误 錯誤"),
    "Japanese": ("はい", "いいえ"),
    "Korean": ("예 네", "아니요 아니오"),
    "Arabic": ("نعم", "لا"),
    "Hindi": ("हाँ हां", "नहीं"),
}
"""Bare answers that mean yes, and those that mean no, by language, with spaces between them.

True and false are bare answers too. `ne` is "no" as in Czech, not "yes" as in Greek.
"""

YES_WORDS: Final = frozenset(word for yes, _ in YES_NO_BY_LANGUAGE.values() for word in yes.split())
"""Bare answers that mean yes, in all languages of the list."""
NO_WORDS: Final = frozenset(word for _, no in YES_NO_BY_LANGUAGE.values() for word in no.split())
"""Bare answers that mean no, in all languages of the list."""


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# Only where a question is answered by yes or no, judgements of a statement answer it too.
_APPROVALS: Final = ("correct", "richtig", "可以")
_REJECTIONS: Final = ("incorrect", "不正确", "不可以")
_MEANING: Final = {
    **dict.fromkeys([*sorted(YES_WORDS), *_APPROVALS], "yes"),
    **dict.fromkeys([*sorted(NO_WORDS), *_REJECTIONS], "no"),
}
_BEHIND: Final = r"[\s*_`\"'),.:;!\u2014\uff0c\u3002-]*+"
"""Signs between a yes or no and the words behind it."""
_STOP: Final = (
    r"(?:[\s*_`\"')]*+(?:[.,:;!?\n\u2014\u3002\uff0c\uff01\u061f]|\Z)"
    r"|\s(?:and|but|because|since|now|anyway|und|aber|weil|et|mais|y|pero|e|ma|mas|maar|ale|но)(?![^\W\d_]))"
)
_BREAK: Final = r"(?:[.,:;!\u2014\u3002\uff0c\uff1a\uff01]|\n(?!\n))[\s*_`\"'(]*+"
_CLAUSE_START: Final = (
    rf"{_BREAK}(?:(?:but|and|so|yet|still|overall|however|therefore|instead|actually|in fact|i think|i believe|that"
    r"|aber|und|also|daher|insgesamt|mais|donc|et|pero|y|ma|e|mas|maar|ale|но|а)[\s,]{1,2}|但是|所以|但)*+"
)
_ECHO_SUBJECT: Final = r"(?:it|we|you|they|he|she|i|this|that|there)"
_ECHO: Final = re.compile(
    rf"{_BEHIND}(?:{_ECHO_SUBJECT}(?:\s(?:is|are|was|were|do|does|did|can|could|should|will|would|has|have|must|may)"
    rf"|'s|'re|\s(?:ca|wo))(?P<english>n't|\snot|not)?"
    r"|(?:(?:kann|soll|sollte|sollten|darf|muss|müssen|ist|sind|wird|will|tut|geht|stimmt)\s(?:man|es|das|ich|wir|sie)"
    r"|(?:man|es|das|ich|wir|sie)\s(?:kann|können|soll|sollte|sollten|darf|ist|sind|wird|will|tut|geht|stimmt))"
    r"(?P<german>(?:\ses)?\snicht)?"
    r"|(?:dat|het)\s(?:is|kan|mag|moet)(?:\shet)?(?P<dutch>\sniet)?"
    rf"|(?P<other>ce n'est pas (?:vrai|le cas)|on ne peut pas|no se puede|no lo es|non si può|non lo è|não é"
    rf"|não se pode|nie można|нельзя|olmaz|değil|不能|不可以|不应该|不行|できません|안 됩니다))(?={_STOP})",
    re.IGNORECASE,
)
"""A short clause that repeats a yes or no, as in *No, it isn't*, and in the contradiction *No it is*."""
_DOING: Final = (
    r"(?:do|adopt|introduce|approve|accept|build|buy|allow|permit|proceed|use|support|implement|launch|sign|ship|merge"
    r"|pursue|start|pass|endorse|back|try|go ahead|go for)"
)
_DONE_SO: Final = r"(?:\s(?:with|for))?(?:\s(?:it|this|that|so|them|one|ahead))?"
_SHOULD: Final = (
    r"(?:should|must|ought to|shall)(?:\s(?:definitely|absolutely|really|certainly|still|simply|just|clearly))?"
)
_AGAINST_DOING: Final = re.compile(
    rf"(?<![^\W\d_])(?:(?:should|must|ought|shall|need)(?:n't|\snot)(?:\sto)?(?:\s{_DOING})?{_DONE_SO}"
    r"|(?:sollten?|dürfen|darf)\s(?:wir\s|man\s|ich\s)?(?:(?:es|das|dies)\s)?nicht(?:\s(?:tun"
    r"|machen|annehmen|einführen))?"
    r"|(?:ne devrions|ne devrait|ne devons|ne doit|ne faut) pas(?: (?:le faire|l'adopter|l'accepter))?"
    r"|no (?:deberíamos|debemos|debería|se debe)(?: (?:hacerlo|adoptarlo|aceptarlo))?"
    r"|non (?:dovremmo|dobbiamo|dovrebbe|si deve)(?: (?:farlo|adottarlo|accettarlo))?"
    r"|não (?:deveríamos|devemos|deve|deveria)(?: (?:fazê-lo|fazer isso|adotá-lo|aceitá-lo))?"
    r"|(?:moeten|mogen|zouden) (?:we |wij )?(?:het|dit|dat) niet(?: moeten)?(?: doen| invoeren)?"
    r"|nie powinniśmy(?: tego)?(?: robić| zrobić| przyjmować)?"
    r"|не (?:следует|стоит|должны|надо|нужно)(?: этого| это)?(?: делать| принимать)?"
    rf"|yapmamalıyız)(?={_STOP})|(?:不应该|不應該|不该|不應)(?:这样|這樣|这么)?(?:做|采纳|接受)?(?={_STOP})"
    r"|(?:べきではありません|べきではない|べきでない|해서는 안|하지 말아야)",
    re.IGNORECASE,
)
"""A clause that it should not be done."""
_FOR_DOING: Final = re.compile(
    rf"{_CLAUSE_START}(?:(?:we|you|they|one|i)\s{_SHOULD}\s{_DOING}{_DONE_SO}"
    r"|(?:(?:wir|man|ich)\ssollten?|sollten?\s(?:wir|man|ich))\s(?:es|das|dies)(?:\s(?:unbedingt|auf jeden fall|doch))?"
    r"\s(?:tun|machen|annehmen|einführen)"
    r"|(?:nous devrions|nous devons|on devrait|on doit|il faut) (?:le faire|l'adopter|l'accepter)"
    r"|(?:deberíamos|debemos|hay que) (?:hacerlo|adoptarlo|aceptarlo)"
    r"|(?:dovremmo|dobbiamo|bisogna) (?:farlo|adottarlo|accettarlo)"
    r"|(?:deveríamos|devemos) (?:fazê-lo|fazer isso|adotá-lo|aceitá-lo)"
    r"|(?:we|wij) (?:moeten|zouden) (?:het|dit|dat) (?:moeten )?(?:doen|invoeren)"
    r"|powinniśmy to (?:zrobić|robić|przyjąć)|(?:нам |мы )?(?:следует|стоит|должны|надо|нужно) это (?:сделать|принять)"
    rf"|(?:bunu )?yapmalıyız|(?:我们)?(?:应该|應該)(?:这样|這樣|这么)?(?:做|采纳|接受))(?={_STOP})",
    re.IGNORECASE,
)
"""A clause of its own that it should be done."""
_BARE_YES: Final = re.compile(
    rf"{_CLAUSE_START}(?:{_alternatives(YES_WORDS)})(?=[\s*_`\"')]*+(?:[.!\n\u3002]|\Z))", re.IGNORECASE
)
_BARE_NO: Final = re.compile(
    rf"{_CLAUSE_START}(?:{_alternatives(NO_WORDS)})(?=[\s*_`\"')]*+(?:[.!\n\u3002]|\Z))", re.IGNORECASE
)
"""A yes or no that is a clause of its own, unless it answers a question in the text."""
_DISAGREEING: Final = re.compile(
    rf"{_CLAUSE_START}(?:i (?:disagree|do not agree|don't agree|am against (?:it|this)|say no|vote no)"
    r"|i'm against (?:it|this)|ich bin dagegen|ich stimme nicht zu|je ne suis pas d'accord|je suis contre"
    r"|no estoy de acuerdo|estoy en contra|non sono d'accordo|sono contrari[oa]|não concordo|discordo"
    rf"|ik ben het er niet mee eens|ik ben tegen|nie zgadzam się|я не соглас(?:ен|на)|я против|katılmıyorum"
    rf"|我不同意|我反对)(?={_STOP})",
    re.IGNORECASE,
)
_SAID: Final = re.compile(
    rf"{_BEHIND}(?:(?:says|said|say|wrote|writes|answered|answers|replied|argued|sagt|sagte|schrieb|meint|meinte|dit"
    r"|écrit|répond|dice|dijo|scrive|disse|diz|zegt|zei|mówi|powiedział|говорит|сказал)\s[^\W\d_]"
    rf"|[^\W\d_]{{1,40}}\s(?:says|said|wrote|answered|replied|sagt|sagte|dit|dice|diz|zegt)(?={_STOP}))",
    re.IGNORECASE,
)
"""Words that make a yes or no somebody else's."""
_CALLED_WRONG: Final = re.compile(
    rf"{_BEHIND}(?!(?i:it|this|that|the|they|he|she|es|das|il|c'|esto|questo|isto|dat|to|это|bu)(?![^\W\d_]))"
    r"(?P<first>[^\W\d_])[\w-]{0,39}(?:\s[0-9A-Z]\w{0,20})?\s?(?:(?:is|'s)\s(?:wrong|mistaken|incorrect)"
    r"|liegt\sfalsch|irrt|hat\sunrecht|a\stort|se\strompe|se\sequivoca|está\sequivocad[oa]|si\ssbaglia|ha\storto"
    r"|está\serrad[oa]|heeft\songelijk|się\smyli|nie\sma\sracji|ошибается|не\sправа?|yanılıyor|错了|は間違)",
)
"""*No, Bo is wrong*: a no to a person."""
_OPPOSING: Final = re.compile(
    r"(?<![^\W\d_])(?:i (?:still )?(?:oppose|reject)|(?:should|must) (?:be rejected|reject)"
    r"|i remain opposed)(?![^\W\d_])",
    re.IGNORECASE,
)
_CONCEDING: Final = re.compile(
    r"[.!;]\s(?:but|still|however|nevertheless)(?![a-z])[^.!?]{0,80}(?:can't|cannot|don't|not|opposed|against)",
    re.IGNORECASE,
)
_FAVOURING: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:plan|proposal|motion|it|policy|measure) should be (?:adopted|approved|accepted|passed"
    r"|supported))(?![^\W\d_])",
    re.IGNORECASE,
)
"""Clauses that are for what a *no* before them denies."""
_OPPOSED: Final = re.compile(r"(?<![^\W\d_])(?:disagree|against|despite|although|though|refute|object)", re.IGNORECASE)
_AGREED: Final = re.compile(r"(?<![^\W\d_])(?:i|we)\s(?:fully\s|also\s)?(?:agree|concur)", re.IGNORECASE)
_FIRST: Final = re.compile(
    rf"[\s*_`\"']*+(?:(?P<yes>{_alternatives(YES_WORDS)})|(?:{_alternatives(NO_WORDS)}))(?![^\W\d_]|[\u0900-\u097f])"
    r"(?!\s(?:doubt|question|reason|need|matter)(?![a-z]))",
    re.IGNORECASE,
)
"""A yes or no at the beginning."""
_LEAD: Final = (
    r"(?:(?:contrary to (?:popular|common) (?:belief|opinion)|despite (?:popular|common) belief"
    r"|entgegen der landläufigen meinung"
    r"|contrairement aux idées reçues|contrariamente a quanto si (?:crede|pensa)|al contrario de lo que se cree"
    r"|in my (?:humble |honest )?(?:opinion|view)|on balance|overall|all in all|personally|honestly"
    r"|all things considered|(?:there is |there's )?no doubt(?: about it)?|without (?:a |any )?doubt"
    r"|i(?:'d| would)? (?:have to )?say|indeed|i agree|agreed"
    r"|(?:generally|in general|usually|mostly|im allgemeinen|generell|en général|en general|in generale|em geral"
    r"|in het algemeen|na ogół)(?=[,\s]{1,2}[^\W\d_]{1,6}[\s*_`\"'.!]*+\Z)|i (?:think|believe)|it(?:'s| is) an?"
    r"|that(?:'s| is) an?"
    r"|meiner meinung nach|meines erachtens|insgesamt|unterm strich"
    r"|ich sage|ohne zweifel|à mon avis|je dis|sans aucun doute|dans l'ensemble|en mi opinión|digo"
    r"|sin duda|a mio parere|secondo me|dico"
    r"|na minha opinião|sem dúvida|naar mijn mening|volgens mij|moim zdaniem|по-моему|на мой взгляд"
    r"|bence)[,:\s\u2014]{1,3}"
    r"|(?:我认为|我觉得|我说|在我看来|私の意見では)[,:\s]{0,2})"
)
"""Words before a plain yes or no."""
_BEHIND_PLAIN: Final = (
    r"(?=[\s*_`\"')]*+(?:[.!,;:\n\u3002\u2014]|\Z)|\s(?:because|since|weil|da|car|porque|perché|omdat|bo)\s)"
)
_SURELY: Final = (
    r"of course|absolutely|definitely|certainly|sure|i think so|i believe so|natürlich|selbstverständlich"
    r"|auf jeden fall|bien sûr(?: que oui)?|absolument|je pense que oui|por supuesto|claro que sí"
    r"|desde luego|creo que sí|certo che sì"
    r"|certamente|penso di sì|com certeza|claro que sim|acho que sim|zeker|natuurlijk|oczywiście|конечно|kesinlikle"
    r"|elbette|当然|もちろん(?:です)?|물론입니다"
)
"""What is a yes only as a whole text: with it a chatty text begins too."""
_SURELY_NOT: Final = (
    r"(?:absolutely|definitely|certainly|of course|surely|unfortunately|sadly|alas,?|i'm afraid) not|not at all|no way"
    r"|not really"
    r"|nicht wirklich|pas vraiment|no realmente|non proprio|niet echt|nie bardzo|не совсем"
    r"|leider (?:nein|nicht)|malheureusement (?:non|pas)|(?:lamentablemente|desgraciadamente|por desgracia),? no"
    r"|purtroppo,? no|infelizmente,? não|helaas,? n(?:iet|ee)|niestety,? nie|к сожалению,? нет|很遗憾，?不(?:是)?"
    r"|i (?:don't|do not) (?:think|believe) so|i think not|auf keinen fall|keinesfalls"
    r"|natürlich nicht|ich glaube nicht|ganz und gar nicht|pas du tout"
    r"|(?:bien sûr|je pense|je crois) que non|(?:certainement|absolument) pas|je ne (?:le )?(?:crois|pense) pas"
    r"|(?:claro|por supuesto|creo) que no|en absoluto|de ninguna manera|certo che no|assolutamente no|penso di no"
    r"|non credo|(?:claro|acho) que não|de jeito nenhum|(?:zeker|natuurlijk|absoluut) niet|oczywiście,? że nie"
    r"|na pewno nie|конечно,? нет|ни в коем случае|kesinlikle hayır|当然不(?:是)?|绝对不(?:是)?"
)
_OUTRIGHT: Final = (
    r"(?:absolutely|definitely)(?=[!.])(?!\W+(?:here|let|i(?:'d|'ll| can| would| will|'m)|happy|great|good"
    r"|this is an?|you asked"
    r"|below|the following|first|to answer|we need|there are))"
    r"|(?:certo che sì|claro que s[íi]m?|por supuesto que sí|bien sûr que oui|mais oui|aber ja|natürlich ja"
    r"|of course yes"
    r"|ja natuurlijk|oczywiście,? że tak|конечно,? да|当然是|もちろんです)(?![^\W\d_])"
)
"""What is a yes though a sentence follows."""
_PLAIN: Final = re.compile(
    rf"[\s*_`\"']*+(?:(?P<surely>(?:{_SURELY})(?=[\s*_`\"'.!\u3002]*+\Z)|{_OUTRIGHT})"
    rf"|(?P<surely_not>{_SURELY_NOT}){_BEHIND_PLAIN}"
    rf"|{_LEAD}(?:(?P<yes>{_alternatives(YES_WORDS)})|(?P<no>{_alternatives(NO_WORDS)}))"
    rf"(?:\s(?:from|for) me)?{_BEHIND_PLAIN}"
    r"|(?:(?P<yes_as>yes|yeah|ja|oui|sí|sì|sim)|(?P<no_as>no|nope|nein|non|não|nee))"
    r"(?=\s(?:because|weil|car|parce que|porque|perché|omdat)\s)"
    rf"|(?:(?P<yes_it>yes|yeah)|(?P<no_it>no|nope))(?!\s{OFFERS})(?=\s{_ECHO_SUBJECT}(?:'s|'re|\s[a-z]+(?:n't)?)\s))",
    re.IGNORECASE,
)
"""A yes or no in other words, or with its reason directly behind."""
_LETTER: Final = re.compile(r"[\s*_`\"'(\[]*+(?:(?P<yes>[Yy])|[Nn])[\s*_`\"')\].!]*+")
"""Y or N, as a whole text."""
_NUMBERED: Final = re.compile(r"[\s*_]*+(?:no|nr|nº)\.\s?[0-9]", re.IGNORECASE)


def contradicts_side(text: str, start: int, side: Literal["YES", "NO"]) -> bool:
    """Check whether a text goes on to contradict the yes or no with which it answers, or addresses a person with it.

    Args:
        text: The folded text.
        start: Index behind the yes or no.
        side: What the text says so far.

    Example:
        >>> contradicts_side("No it is.", 2, "NO"), contradicts_side("Yes, we should not do it.", 3, "YES")
        (True, True)
        >>> contradicts_side("No, we should not do it.", 2, "NO"), contradicts_side("No, Bo is wrong.", 2, "NO")
        (False, True)
    """
    if _SAID.match(text, start) is not None:
        return True
    if (echo := _ECHO.match(text, start)) is not None:
        return (side == "YES") == any(echo.groups())
    if side == "YES":
        is_denied = any(sign.search(text, start) for sign in (_BARE_NO, _DISAGREEING, _OPPOSING, _CONCEDING))
        return is_denied or _is_against_doing(text, start)
    wrong = _CALLED_WRONG.match(text, start)
    is_to_person = wrong is not None and not wrong["first"].islower()
    return is_to_person or any(pattern.search(text, start) for pattern in (_BARE_YES, _FOR_DOING, _FAVOURING))


def _is_against_doing(text: str, start: int) -> bool:
    """Check whether the author says that it should not be done, and does not only report or reject that."""
    for found in _AGAINST_DOING.finditer(text, start):
        begin = sentence_start(text, found.start(), start)
        before = text[begin : found.start()]
        if _AGREED.search(text, begin, sentence_end(text, found.end(), len(text))):
            return True
        if not any(contains(kind, before) for kind in ("report", "mistake", "negation")) and not _OPPOSED.search(
            before
        ):
            return True
    return False


def read_yes_no(text: str, start: int, original: str) -> Reading:
    """Return whether a text answers yes or no.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        original: The text as it was written.
    """
    first = _FIRST.match(text, start)
    if first is not None and contradicts_side(text, first.end(), "YES" if first["yes"] else "NO"):
        return Reading(certainty="unread", rule="several", candidates=("yes", "no"))
    if _NUMBERED.match(text, start):
        return Reading(certainty="unread", rule="none")
    if (letter := _LETTER.fullmatch(text, start)) is not None:
        value = "yes" if letter["yes"] else "no"
        return Reading(certainty="certain", rule="option", value=value, span=letter.span(0))
    reading = read_choice(text, start, tuple(_MEANING), (), original, meaning=_MEANING)
    if reading.rule == "opening" and reading.span is not None:
        led_to: Literal["YES", "NO"] = "YES" if reading.value == "yes" else "NO"
        if contradicts_side(text, reading.span[1], led_to):
            return Reading(certainty="unread", rule="several", candidates=("yes", "no"))
    found = _PLAIN.match(text, start)
    if found is None:
        return reading
    side: Literal["YES", "NO"] = "YES" if found.lastgroup in {"surely", "yes", "yes_as", "yes_it"} else "NO"
    if reading.certainty == "certain" and reading.value != side.lower():
        return Reading(certainty="unread", rule="several", candidates=("yes", "no"))
    if reading.rule != "none" or reading.candidates or not _is_plain(text, found, side):
        return reading
    return Reading(certainty="certain", rule="option", value=side.lower(), span=found.span())


def _is_plain(text: str, found: re.Match[str], side: Literal["YES", "NO"]) -> bool:
    """Check that a text doesn't go on to doubt the yes or no that it begins with in other words."""
    end = sentence_end(text, found.end(), len(text))
    rest = text[found.end() : end]
    is_negated = contains("negation", rest)
    is_denied = is_negated if found["yes_it"] else found["no_it"] is not None and not is_negated
    is_doubted = text[end : end + 1] in {"?", "\uff1f"} or any(contains(kind, rest) for kind in ("condition", "hedge"))
    return not (is_denied or is_doubted or contradicts_side(text, found.end(), side))


def sides_of(options: Sequence[str]) -> dict[str, str]:
    """Return which of two options is yes and which is no, by the words `yes` and `no`; empty for other options.

    Example:
        >>> sides_of(["A) Ja", "B) Nein"]), sides_of(["Tea", "Milk"])
        ({'yes': 'A) Ja', 'no': 'B) Nein'}, {})
    """
    if len(options) != 2:
        return {}
    texts = option_texts(options)
    sides = {
        _MEANING.get(fold(text).casefold().strip(" .!"), ""): option
        for text, option in zip(texts, options, strict=True)
    }
    return sides if sides.keys() == {"yes", "no"} else {}


def checked_yes_no(reading: Reading, text: str, start: int, options: Sequence[str], original: str) -> Reading:
    """Return what a text chooses of the options yes and no, given what was read of it as of any two options.

    Args:
        reading: What was read.
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        options: The options.
        original: The text as it was written.
    """
    sides = sides_of(options)
    if sides and _NUMBERED.match(text, start) and reading.rule == "opening":
        return Reading(certainty="unread", rule="none")
    if not sides or reading.rule not in {"none", "several", "opening", "conclusion", "choose"}:
        return reading
    found = read_yes_no(text, start, original)
    if found.value is not None:
        found = found.model_copy(update={"value": sides[found.value]})
    if found.candidates:
        found = found.model_copy(update={"candidates": tuple(sides[side] for side in found.candidates)})
    return found if found.rule != "none" or reading.rule not in {"opening", "choose"} else reading
