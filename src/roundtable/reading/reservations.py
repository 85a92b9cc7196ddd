"""What an author adds to an answer and thereby takes back its certainty: a doubt, another option as good, a warning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.reading.phrases import IMPERATIVES, LABEL_NOUNS, words_pattern
from roundtable.reading.sites import contains, last_sentences, sentence_end, sentence_start

if TYPE_CHECKING:
    from roundtable.reading.options import OptionTable

__all__ = ["has_reservation"]

_SIGNS: Final = r"[\s*_`\"')\]]"
_DOUBTS: Final = (
    r"(?:(?:just|only|merely|but|it's|it is|this is|that's|that is) ){0,2}(?:an? |my )?(?:(?:best|wild|pure|random"
    r"|educated"
    r"|rough) )?guess(?:work|ing)?|maybe|perhaps|possibly|probably|presumably|tentative(?:ly)?|unconfirmed"
    r"|(?:i|we) (?:guess|suppose)|(?:i'm|i am) (?:just |only )?guessing"
    r"|(?:(?:i'm|i am|we're|we are) (?:still )?)?(?:not (?:(?:too|so|very|that|really|entirely|completely|fully|quite"
    r"|absolutely|totally|yet|100 ?%|at all) )*(?:sure|certain|confident)|unsure|uncertain|undecided|torn)"
    r"|i (?:can't|cannot) be (?:sure|certain)|i (?:could|may|might) (?:well )?be (?:wrong|mistaken)"
    r"|i (?:still )?have (?:my |some |serious )?doubts|i (?:don't|do not) (?:really )?know(?: for (?:sure|certain))?"
    r"|don't quote me(?: on (?:that|this|it))?"
    r"|(?:with )?(?:low|little) confidence|hard to say"
    r"|vielleicht|wahrscheinlich|vermutlich|möglicherweise|eventuell|geraten|unsicher|(?:nur |bloß )?(?:eine? )?"
    r"(?:vermutung|schätzung)|(?:(?:ich bin|bin ich) )?(?:mir )?(?:da |dabei |aber )?(?:nicht (?:ganz |so |wirklich "
    r"|völlig )?"
    r"sicher|unsicher)|ich könnte mich irren|keine ahnung"
    r"|ich weiß (?:es |das )?nicht|ich habe zweifel"
    r"|peut-être|probablement|(?:je (?:n'en|ne) suis )?pas (?:tout à fait |vraiment |très )?(?:sûre?|certaine?)"
    r"|je ne sais pas"
    r"|(?:juste )?une supposition|au hasard|je peux me tromper|j'ai des doutes"
    r"|quizás?|tal vez|probablemente|posiblemente|no estoy (?:muy |del todo |totalmente )?segur[oa]|no (?:lo )?sé"
    r"|supongo"
    r"|(?:es )?(?:solo |sólo )?una suposición|puedo equivocarme|tengo (?:mis )?dudas"
    r"|forse|probabilmente|non (?:ne )?sono (?:del tutto |molto |proprio )?(?:sicur[oa]|cert[oa])|non (?:lo )?so"
    r"|suppongo"
    r"|(?:è )?(?:solo )?un'ipotesi|potrei sbagliar(?:mi|e)|ho (?:dei |qualche )dubbi?o?"
    r"|talvez|provavelmente|possivelmente|não (?:tenho (?:muita |total )?certeza|estou (?:muito )?cert[oa]|sei)|suponho"
    r"|(?:é )?(?:só |apenas )?um palpite|posso estar (?:errad[oa]|enganad[oa])|tenho dúvidas"
    r"|misschien|waarschijnlijk|mogelijk|(?:ik ben (?:er )?|ik weet het )?niet (?:helemaal |zo )?zeker(?: van)?"
    r"|ik weet het niet"
    r"|een gok|(?:ik gok|gok ik)|ik twijfel|ik kan het mis hebben"
    r"|(?:być )?może|prawdopodobnie|chyba|nie jestem (?:do końca |całkiem )?pew(?:ien|na)|nie (?:mam pewności|wiem)"
    r"|zgaduję|mogę się mylić|mam wątpliwości"
    r"|belki|galiba|emin değilim|tahmin(?:im|en)?|bilmiyorum"
    r"|(?:or )?(?:so )?(?:they|people|some|many|others) say|(?:or )?(?:so )?i(?:'ve| have)? (?:heard|read|hear)"
    r"|(?:or )?(?:so )?i(?:'m| am|'ve been| was) told|supposedly|allegedly|reportedly|apparently|sagt man|heißt es"
    r"|angeblich|paraît-il|dit-on|apparemment|(?:según )?dicen|supuestamente|al parecer|dicono|a quanto pare|dizem"
    r"|supostamente|naar verluidt|zegt men|podobno|ponoć|rzekomo|говорят|якобы|вроде бы|güya|sözde"
)
_DENIALS: Final = (
    r"(?:i'm |i am )?not (?:(?:too|so|very|really|entirely|completely|fully|quite|yet) )*convinced"
    r"|(?:at least )?i (?:don't|do not) (?:think|believe)(?: so)?|or not|(?:glaube|denke) ich (?:zumindest "
    r"|jedenfalls |eher |aber )?"
    r"nicht|oder (?:auch )?nicht|je ne (?:le )?(?:crois|pense) pas|ou pas|creo que no|no lo creo|o no|non credo"
    r"|credo di no"
    r"|acho que não|ou não|denk ik niet|of niet|nie sądzę|chyba nie"
)
"""Denials, which take back any answer but a no."""
_NO: Final = re.compile(r"\W*(?:no|nope|n|false|nein|falsch|non|faux|não|falso|nee|nie|нет|hayır)\W*", re.IGNORECASE)
_STOP: Final = (
    rf"(?={_SIGNS}*+(?:[.,;:!…]|\Z|\n)|\s(?:though|however|yet|about (?:it|this|that|my (?:answer|choice))|of (?:it"
    rf"|this|that)"
    r"|here|at all|honestly|really|to be honest|anymore)(?![a-z]))"
)
_BUT: Final = (
    r"(?:(?:but|though|although|and|yet|however,?|still,?|that said,?|even though|jedoch|cependant,?|sin embargo,?"
    r"|tuttavia,?|no entanto,?|echter|aber|obwohl|und|mais|bien que|et|pero|aunque|y|ma|anche se|e|mas"
    r"|embora"
    r"|maar|hoewel|en|ale|choć|i|ama)\s)?"
)
_CLAUSE: Final = (
    r"(?:(?:[,;:(\[\u2013\u2014…]|\s-)[\s*_]*+|\s(?=but|though|although|aber|obwohl|mais|pero|aunque|ma |mas |maar"
    r"|ale|ama))"
    rf"{_BUT}"
)
_DOUBTED: Final = re.compile(rf"{_CLAUSE}(?:{_DOUBTS})(?![^\W\d_]){_STOP}", re.IGNORECASE)
"""A doubt in a clause behind an answer."""
_DENIED: Final = re.compile(rf"(?:{_CLAUSE}|\s)(?:{_DENIALS})(?![^\W\d_]){_STOP}", re.IGNORECASE)
_DOUBTED_AT_ONCE: Final = re.compile(rf"{_SIGNS}++(?:{_DOUBTS})(?![^\W\d_]){_STOP}", re.IGNORECASE)
_DOUBT_ALONE: Final = re.compile(
    rf"{_SIGNS}*+{_BUT}(?:{_DOUBTS})(?:[\s,]+(?:though|however|about (?:it|this|that|my (?:answer|choice))|of (?:it"
    rf"|this|that)"
    rf"|aber|allerdings|pero|però|porém)){{0,2}}{_SIGNS}*+[.!]?{_SIGNS}*+",
    re.IGNORECASE,
)
"""A sentence that is a doubt."""
_CHOOSING: Final = r"(?:vote for|choose|pick|take|select|recommend|support|want|go with|opt for)"
_NONE: Final = (
    rf"(?:i|we)(?:'d|'ll|\swould|\swill)?\s(?:still\s|rather\s)?{_CHOOSING}\s(?:none|neither|no one|nothing|no option)"
    r"|(?:none|neither) of (?:these|them|those|the (?:above|options))(?=[\s*_]*(?:[.,!;]|\Z)|\sfor (?:me|us)(?![a-z]))"
    r"|(?:i|we)\s(?:won't|will not|wouldn't|would not|can't|cannot|don't|do not|refuse to|decline to)\s(?:want to\s)?"
    r"(?:choose|pick|decide|vote|select|commit)(?:\s(?:any|one|either|between|at all)(?![a-z]))?"
    r"(?=[\s*_]*(?:[.!,;]|\Z)|\s(?:any|one|either|between|at all))"
    r"|ich\s(?:wähle|nehme|will|empfehle|stimme für)\s(?:trotzdem\s|dennoch\s|aber\s|lieber\s)?(?:keine[nrs]?|nichts)"
    r"|keine[rs]? (?:davon|der optionen)|je ne (?:choisis|prends|vote pour) (?:aucun|rien)|aucune? (?:d'entre|des"
    r"|de ces)|no (?:elijo|escojo|voto por) (?:ningun|nada)|ningun[oa] de|non (?:scelgo|voto per) (?:ness|niente)"
    r"|nessun[oa] d"
    r"|não (?:escolho|voto em) (?:nenhum|nada)|nenhum[a]? d|ik kies (?:toch )?geen|geen van|nie wybieram żadn"
    r"|żadn[aey] z|я (?:всё же )?не выбираю|ни один|ни одна"
)
_NONE_OF_THEM: Final = re.compile(rf"{_CLAUSE}(?:{_NONE})", re.IGNORECASE)
_NONE_ALONE: Final = re.compile(
    rf"{_SIGNS}*+{_BUT}(?:{_NONE}|not\s*(?:[.!]|\Z)|都不选|我不选|どれも選ば|どちらも選ば)", re.IGNORECASE
)
"""A sentence that chooses none, behind an answer."""
_AS_ANOTHER: Final = re.compile(r"[,;]\s(?:and\s|but\s|while\s)?as an?\s[^,;.]{1,40}\Z", re.IGNORECASE)
"""What joins an option for somebody else, as in *As a tourist I'd choose Porto, as a resident Lisbon*."""
_PEOPLE: Final = (
    r"(?:families|couples|singles|groups|beginners|experts|professionals|travell?ers|tourists|visitors|students|children|kids"
    r"|adults|seniors|parties|nightlife|beaches|culture|history|food|budgets|lovers|fans|trips|enthusiasts)"
)
_FOR_SOME: Final = re.compile(
    rf"[\s*_`\"'#>-]*+(?:for\s(?:those|people|anyone|everyone|somebody|someone)\s(?:who|with|in|looking)\s[^,.;:\n]{{3,40}}?(?:,|(?=\sI\s))"
    rf"|for\s(?:(?:[a-z]+\s){{0,2}}{_PEOPLE}|a\s(?:limited|tight|small|low|high|large)\sbudget)(?:,|(?=\sI\s))"
    r"|when it comes to\s[^,.;:\n]{3,40},|as for\s(?!my|our|me|us|the (?:answer|choice|vote))[^,.;:\n]{3,40}"
    r",|in (?:spring|summer|autumn|fall|winter),|culturally,|historically,"
    r"|pour les\s(?:familles|couples|groupes|débutants|enfants|étudiants|voyageurs|touristes)[^,.;:\n]{0,20},"
    r"|para\s(?:las\s|los\s)?(?:familias|parejas|grupos|principiantes|niños|estudiantes|viajeros|turistas)[^,.;:\n]{0,20},"
    r"|per (?:le|i|gli)\s(?:famiglie|coppie|gruppi|principianti|bambini|studenti|viaggiatori|turisti)[^,.;:\n]{0,20},"
    r"|для (?:семей|пар|групп|детей|студентов|туристов)[^,.;:\n]{0,20},)",
    re.IGNORECASE,
)
"""The beginning of a sentence that is about some people or one side only: *For families, Faro is the best choice*."""
_HEARD: Final = re.compile(
    r"(?<![^\W\d_])(?:ich habe (?:gehört|gelesen)|mir wurde gesagt|man sagt|es heißt|j'ai (?:entendu|lu)|on m'a dit"
    r"|he (?:oído|leído)|me (?:han dicho|dijeron)|ho (?:sentito|letto)|mi hanno detto|(?:eu )?(?:ouvi|li)|me disseram"
    r"|ik heb (?:gehoord|gelezen)|słyszał[ae]m|я (?:слышал|читал)а?)(?![^\W\d_])",
    re.IGNORECASE,
)
"""What shows before an option that its author only heard of the choice."""
_OR_ELSE: Final = re.compile(
    r"[\s*_`\"')\].,;:!…\u2013\u2014-]*+(?:or\s(?:is|was|maybe|perhaps|rather|should|could|would|might|possibly|even"
    r"|wait"
    r"|so(?=[\s*_]*[.,;!]|[\s*_]*\Z)|similar|something|thereabouts|the like|equivalent)"
    r"|oder\s(?:doch|ist|wäre|vielleicht|eher|so|ähnlich|etwas)|ou\s(?:est-ce|peut-être|bien|plutôt|alors|quelque)"
    r"|o\s(?:es|quizás?|tal vez|será|mejor|algo|forse|magari|è|qualcosa|simile)|ou\s(?:é|será|talvez|algo)"
    r"|of\s(?:is|toch|misschien|iets|zoiets)|(?:lub|albo|czy)\s(?:może|coś|jest|to)|(?:veya|ya da"
    r"|yoksa)\s)(?![^\W\d_])",
    re.IGNORECASE,
)
"""What leaves another answer open, in the same sentence or the next one."""
_LEANING: Final = re.compile(r"(?<![^\W\d_])leaning\stowards?\s(?:the\s)?[*_`\"'(]*\Z", re.IGNORECASE)
_SO_IS: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:so|as)\s(?:is|are|was|would be|will be|does|do|can|could|would)|just like|(?:as|like) is"
    r"|ebenso(?:\s(?:wie|ist))?|genauso(?:\s(?:wie|ist))?|tout comme|de même que|(?:al )?igual que|lo mismo que"
    r"|così come|al pari di|(?:assim|tal) como|net als|evenals|podobnie jak|tak samo jak)"
    r"\s(?:the\s)?[*_`\"'(]*\Z",
    re.IGNORECASE,
)
"""What says of a further option what was said of the one before."""
_AS_GOOD: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:equally|just as|every bit as|as)\s(?:good|well|fine|valid|suitable|viable|strong|attractive"
    r"|correct"
    r"|right|acceptable|possible|plausible|reasonable|nice|great|sensible)"
    r"|(?:ebenso|genauso|gleich)\s(?:gut|richtig|geeignet|sinnvoll)|tout aussi\s(?:bon|bien|valable|correct)"
    r"|(?:igual de|igualmente)\s(?:buen|bien|válid|correct|bo[am]|cert)|altrettanto\s(?:buon|bene|valid|corrett|adatt)"
    r"|(?:net zo|even)\sgoed|równie\sdobr)",
    re.IGNORECASE,
)
_COULD_ALSO: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:it|this|that|the answer)\s(?:could|might|may)\s(?:also|as well|just as well|equally well"
    r"|equally|easily|well)\sbe|(?:i|we|one|you)\s(?:could|might|can|would)\s(?:also|as well|just as (?:well|easily)"
    r"|equally(?: well)?"
    r"|as easily|easily)\s(?:say|choose|pick|take|go|argue|answer|vote|select|opt|recommend|defend)|(?:ich|man"
    r"|wir)\s(?:könnte|könnten|würde)\s(?:auch|ebenso|genauso)|(?:je|on)\s(?:pourrais|pourrait) aussi"
    r"|también (?:podría|diría)|podría también|potrei anche|também (?:poderia|diria)|poderia também|(?:ik|men) (?:zou"
    r"|kan) ook"
    r"|(?:mógłbym|mogłabym) też)\s",
    re.IGNORECASE,
)
_IMPERATIVE_BEFORE: Final = re.compile(
    rf"(?:\A|:)[\s*_`\"'#>]*+(?:(?:so|then|also|donc|dus)\s)?(?:{words_pattern(IMPERATIVES)})"
    rf"(?:\s(?:the|für|voor|{words_pattern(LABEL_NOUNS)}))?[\s*_`\"'(]*+\Z",
    re.IGNORECASE,
)
_CONSEQUENCE: Final = re.compile(
    rf"{_SIGNS}*+(?:,\s|(?<=\s))(?:at (?:your|one's) (?:own )?(?:risk|peril)|(?:and|und|et|en|i)\s(?:you|we|it|they"
    rf"|the|your|our|this|that"
    r"|there|everyone|everything|du|sie|ihr|wir|es|man|die|vous|tu|on|nous|je|u|het|zapłacisz)(?![^\W\d_])|(?:y"
    r"|e)\s[^\W\d_]+"
    r"(?:ás|éis|án|emos|rai|rete|rás|remos)(?![^\W\d_])|(?:auf eigene gefahr|à vos risques|bajo tu propio riesgo"
    r"|a tuo rischio|por sua conta|op eigen risico|na własne ryzyko))",
    re.IGNORECASE,
)
"""What happens if advice is followed, which makes it a warning, as in *Choose Porto and you will pay*."""
_PARALLEL: Final = re.compile(
    r"(?<![^\W\d_])(?:for|für|pour|para|per|voor|dla)\s[^,;]{1,60}[,;]\s(?:(?:and|but|while|whereas)\s)?[*_`\"'(]*\Z",
    re.IGNORECASE,
)
"""What joins an option for another purpose, as in *Porto for our budget, Lisbon for comfort*."""
_FOR: Final = re.compile(rf"{_SIGNS}*+(?<=\s)(?:for|für|pour|para|per|voor|dla)\s", re.IGNORECASE)
_MOST_SENTENCE: Final = 400


def has_reservation(text: str, span: tuple[int, int], start: int, table: OptionTable) -> bool:
    """Check whether the words around an option that a text chooses take the certainty from it.

    Args:
        text: The folded text.
        span: Start and end of the option.
        start: Start of the answer, behind the thoughts.
        table: The options.
    """
    end = _end_of_sentence(text, span[1])
    before = text[sentence_start(text, span[0], start) : span[0]]
    behind = text[span[1] : end]
    if _HEARD.search(before):
        return True
    if _FOR_SOME.match(before):
        return True
    if _LEANING.search(before) or _SO_IS.search(before) or _OR_ELSE.match(text, span[1]):
        return True
    if _IMPERATIVE_BEFORE.match(before.lstrip()) and _CONSEQUENCE.match(behind):
        return True
    if _DOUBTED_AT_ONCE.match(behind) or _DOUBTED.search(behind):
        return True
    if _NONE_OF_THEM.search(behind) or any(_NONE_ALONE.match(text, *one) for one in _later_sentences(text, end)):
        return True
    if _DENIED.search(behind) and not _NO.fullmatch(text, *span):
        return True
    if any(_DOUBT_ALONE.fullmatch(text, *sentence) for sentence in _later_sentences(text, end)):
        return True
    return _names_another(text, span, end, table)


def _end_of_sentence(text: str, at: int) -> int:
    """Return the end of a sentence; an option that ends with the point of its label doesn't end it."""
    return sentence_end(text, at, min(len(text), at + _MOST_SENTENCE))


def _later_sentences(text: str, end: int) -> list[tuple[int, int]]:
    """Return start and end of the next sentence and the last one."""
    begin = min(end + 1, len(text))
    following = (begin, _end_of_sentence(text, begin))
    return [following, *last_sentences(text, begin, 1)]


def _names_another(text: str, span: tuple[int, int], end: int, table: OptionTable) -> bool:
    """Check whether another option is called as good, in the rest of the sentence or in the next one."""
    if not text[span[1] :].strip(" \n.*_`"):
        return False
    chosen = {named.options for named in table.mentions(text, *span)}
    for begin, stop in ((span[1], end), (end + 1, _end_of_sentence(text, min(end + 1, len(text))))):
        others = [named for named in table.mentions(text, begin, stop) if named.options not in chosen]
        if not others:
            continue
        if any(_SO_IS.search(text[begin : named.start]) for named in others):
            return True
        if any(_PARALLEL.search(text[begin : named.start]) and _FOR.match(text, named.end) for named in others):
            return True
        if any(_AS_ANOTHER.search(text[begin : named.start].rstrip(" *_")) for named in others):
            return True
        if (also := _COULD_ALSO.search(text, begin, stop)) and others[-1].start >= also.end():
            return True
        is_next = begin > end
        if is_next and (as_good := _AS_GOOD.search(text, begin, stop)):
            rest = text[as_good.end() : stop]
            return (
                not contains("negation", text[begin:stop])
                and not contains("adverse", rest)
                and "but" not in rest.split()
            )
    return False
