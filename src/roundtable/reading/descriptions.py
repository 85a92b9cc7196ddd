"""Words behind an option that describe or judge it: *Porto: a mistake*, *Porto, a city, has an airport*."""

from __future__ import annotations

import re
from typing import Final

from roundtable.reading.phrases import VERB_ENDINGS, words_pattern
from roundtable.reading.sites import contains

__all__ = ["is_described", "is_subject_without_praise"]

_SIGN: Final = re.compile(r"[\s*_`\"')\]]*+(?P<sign>[:：,，(\u2013\u2014]|-{1,2}\s)[\s*_`\"'(]*+")
_SIDE: Final = re.compile(
    r"(?:yes|yeah|yep|no|nope|true|false|correct|incorrect|ja|nein|wahr|falsch|oui|non|vrai|faux|sí|si|no|sì|vero"
    r"|falso|sim|não"
    r"|nee|tak|nie|evet|hayır|да|нет|support|oppose|agree|disagree|for|against)",
    re.IGNORECASE,
)
_SOFTLY: Final = (
    r"(?:(?:just|only|simply|merely|still|but|as|nur|bloß|einfach|noch|seulement|simplement|solo|sólo|solamente"
    r"|simplemente|soltanto|semplicemente|apenas|simplesmente|slechts|gewoon|tylko)\s){0,2}"
)
_OPEN: Final = r"an?|another|bir|ein|eine|einer|eines|noch ein|une?|una?|uno|uma?|um|een"
_DEFINITE: Final = (
    r"the|our|my|their|its|your|one of (?:the|our)|der|die|das|den|unsere?|meine?|le|la|les|l'(?=\w)|notre|mon|ma|el"
    r"|los|las"
    r"|nuestr[oa]|mi|il|lo|la nostra|il nostro|la mia|il mio|o|a minha|o meu|a nossa|o nosso|de|het|onze|ons|mijn"
    r"|[A-Z][^\W\d_]+'s|(?:nasz|nasza|nasze|mój|moja|moje|to|bizim)"
)
_NOUN_PHRASE: Final = re.compile(
    rf"{_SOFTLY}(?:(?P<open>{_OPEN})(?![^\W\d_])"
    rf"|(?P<definite>{_DEFINITE})(?![^\W\d_]))\s?(?P<rest>[^.;!?\n。]{{0,160}})",
    re.IGNORECASE,
)
_WITH_ARTICLE_INSIDE: Final = re.compile(
    r"(?:[^\W\d_]+\s){1,3}bir(?![^\W\d_])\s?(?P<rest>[^.;!?\n]{0,160})", re.IGNORECASE
)
"""A Turkish noun phrase: its article stands before the noun."""
_PART_END: Final = re.compile(
    r"[,:()\u2013\u2014]|\s-{1,2}\s"
    r"|(?<![^\W\d_])(?:because|since|weil|denn|da|car|parce que|porque|ya que|perché|poiché|pois|omdat|want|ponieważ|bo"
    r"|çünkü)(?![^\W\d_])",
    re.IGNORECASE,
)
_PREPOSITION: Final = re.compile(
    r"(?<![^\W\d_])(?:of|in|on|at|for|with|from|by|to|near|that|which|who|von|in|im|am|an|mit|für|de|du|des|d'|en"
    r"|avec|pour"
    r"|del|con|para|di|della|per|do|da|com|van|met|voor|w|na|z|dla)(?![^\W\d_])",
    re.IGNORECASE,
)
_RELATIVE: Final = re.compile(
    r"(?<![^\W\d_])(?:that|which|who|whom|whose|where|qui|que|où|che|cui|die|der|das|dat|waar|który|która"
    r"|które|gdzie)(?![^\W\d_])",
    re.IGNORECASE,
)
_VERB: Final = re.compile(
    r"(?<![^\W\d_])(?:is|are|was|were|has|have|had|can|could|will|would|does|do|did|offers?|gives?|makes?|costs?|lies"
    r"|means?"
    r"|needs?|allows?|works?|looks?|seems?|keeps?|saves?|helps?|stays?|remains?|goes|go|runs?|fits?|suits?|wins?|takes?"
    r"|says?|shows?|suggests?|tells?|proves?|points?|agrees?|indicates?|supports?|confirms?|favou?rs?"
    r"|beats?|matters?|matches|likes?|wants?|prefers?|knows?|should|must|may|'s|isn't|aren't"
    r"|ist|sind|war|waren|hat|haben|kann|können|wird|werden|liegt|bietet|bieten|kostet|kosten"
    r"|est|sont|était|ont|peut|offre|offrent|coûte|coûtent|es|son(?=\s[^\W\d_]+s)|era|tiene|tienen|puede|ofrece|ofrecen|cuesta"
    r"|cuestan"
    r"|está|están|è|sono|ha|hanno|può|offre|offrono|costa|costano|é|são|tem|têm|pode|oferece|fica|zijn|heeft|hebben|kan"
    r"|kunnen|biedt|kost|jest|są|mają|może|kosztuje)(?![^\W\d_])",
    re.IGNORECASE,
)
"""Verbs that make words a sentence with a subject of its own, which gives a reason."""
_APPROVING: Final = re.compile(
    r"(?<![^\W\d_])(?:best|better|right|correct|ideal|perfect|good|great|excellent|obvious|clear|clearly|natural"
    r"|logical|sensible"
    r"|only|cheap|cheaper|cheapest|safe|safer|safest|strong|stronger|strongest|smart|smarter|wise|wiser|solid"
    r"|reasonable"
    r"|nice|nicer|nicest|fine|easy|easier|easiest|simpler|simplest|fast|faster|fastest|winner|favou?rite|top|preferred"
    r"|recommended|superior|optimal|suitable|practical|balanced|attractive|lovely|beautiful|charming|wonderful"
    r"|fantastic"
    r"|amazing|brilliant|affordable|most|more|fewer|less|lower|lowest|shorter|shortest|higher|highest|closer|closest"
    r"|nearer"
    r"|nearest|near|close|low|direct|short|quick|mild|winning|no-brainer|must|sure|true|proven|reliable|vibrant|ultimate"
    r"|champion|answer|solution"
    r"|beste[nrs]?|bessere[nrs]?|gute[nrs]?|richtige[nrs]?|ideale[nrs]?|perfekte[nrs]?|klare[nrs]?|schöne[nrs]?"
    r"|günstigste[nrs]?"
    r"|günstigere[nrs]?|sicherste[nrs]?|einzige[nrs]?|tolle[nrs]?"
    r"|meilleure?s?|bonne?|idéale?|parfaite?|belle?|beau|excellente?|seule?|plus"
    r"|mejor|buena?|buen|correct[ao]|perfect[ao]|excelente|única|único|más"
    r"|migliore?|buon[ao]?|giust[ao]|perfett[ao]|ottim[ao]|eccellente|unic[ao]|più"
    r"|melhor|bo[am]|cert[ao]|perfeit[ao]|ótim[ao]|únic[ao]|mais"
    r"|betere?|goede?|juiste|perfecte?|enige|najlepsz[yae]|dobr[yae]|lepsz[yae]|idealn[yae]|świetn[yae]"
    r"|iyi|doğru|ideal|mükemmel|harika|güzel)(?![^\W\d_]|[- ]known)",
    re.IGNORECASE,
)
"""Words of praise, which say why an option is chosen."""
_CHOSEN: Final = re.compile(
    r"(?<![^\W\d_])(?:choice|option|answer|pick|winner|solution|one|favou?rite|wahl|lösung|antwort|choix|réponse|opción"
    r"|elección|respuesta|scelta|opzione|risposta|escolha|opção|resposta|keuze|optie|antwoord|wybór|odpowiedź|seçim"
    r"|seçenek)(?![^\W\d_])",
    re.IGNORECASE,
)
_SECONDARY: Final = re.compile(
    r"(?<![^\W\d_])(?:fall-?back|back-?up|plan b|alternative|second(?:ary)?|third|runner-up|reserve|last resort|stopgap"
    r"|mistakes?|errors?|traps?|jokes?|gambles?|disasters?|nightmares?|failures?|pity|shame|no-go|blunder|letdown"
    r"|disappointment|waste|odd|strange|questionable|doubtful|dubious|losing|loser|imitation|overrated|boring|dull"
    r"|costly|pricey"
    r"|notlösung|ersatz(?:lösung|plan)?|zweit[a-z]*|fehler|irrtum|schlecht[a-z]*|fehlgriff|katastrophe|risiko"
    r"|solution de repli|secours|mauvaise?|erreur|piège|catastrophe|pis-aller"
    r"|mal[ao]?|error|trampa|desastre|segund[ao]|repuesto|reserva"
    r"|ripiego|riserva|second[ao]|pessim[ao]|cattiv[ao]|brutt[ao]|sbaglio|errore|trappola|disastro"
    r"|erro|má|mau|péssim[ao]|armadilha|noodoplossing|slechte?|fout|vergissing|ramp|reserveplan"
    r"|zł[yae]|kiepsk[iae]+|słab[yae]|błąd|pomyłka|porażka|zapasow[yae]|awaryjn[yae]|drug[iae]"
    r"|kötü|hata|yanlış|felaket|yedek|ikinci|berbat)(?![^\W\d_])",
    re.IGNORECASE,
)
"""Words of a judgement against an option, or one that makes it the second choice."""
_BARE_JUDGEMENT: Final = re.compile(
    rf"{_SOFTLY}(?:(?:very|really|sehr|très|muy|molto|muito|heel|bardzo|çok|to)\s)?(?:{_SECONDARY.pattern})"
    r"(?:\s[^\W\d_]+){0,2}[\s*_`\"')\]]*(?:[.!,;]|\Z|\n)",
    re.IGNORECASE,
)
"""A judgement without an article, as a whole: *Plan B*, *zły wybór*."""
_PRAISING_VERB: Final = re.compile(rf"[\s,]*+(?:{words_pattern(VERB_ENDINGS)})", re.IGNORECASE)
_MOST_WORDS: Final = 3
"""Most words of a noun phrase with *the*, before a preposition; longer ones are sentences with another verb."""
_MOST_LOOKED_AT: Final = 240


def is_described(text: str, span: tuple[int, int]) -> bool:
    """Check whether a noun phrase that describes or judges an option follows it, and doesn't say why it is chosen.

    Behind a yes or no, it describes what the question asks about.

    Args:
        text: The folded text.
        span: Start and end of the option.

    Example:
        >>> is_described("Porto: a mistake.", (0, 5)), is_described("Porto, a city by the sea, has a port.", (0, 5))
        (True, True)
        >>> is_described("Porto: the best choice.", (0, 5)), is_described("Porto: the flights are cheap.", (0, 5))
        (False, False)
    """
    behind = text[span[1] : span[1] + _MOST_LOOKED_AT]
    sign = _SIGN.match(behind)
    if sign is None or _SIDE.fullmatch(text, *span):
        return False
    if _BARE_JUDGEMENT.match(behind, sign.end()):
        return True
    phrase = _NOUN_PHRASE.match(behind, sign.end()) or _WITH_ARTICLE_INSIDE.match(behind, sign.end())
    return phrase is not None and _describes(phrase, sign["sign"])


def is_subject_without_praise(text: str, at: int, end: int) -> bool:
    """Check whether the rest of a sentence says something about an option that does not praise it.

    So does *would be expensive* behind *I think Porto*, which states no choice.

    Args:
        text: The folded text.
        at: Where the rest begins.
        end: End of the sentence.
    """
    rest = text[at : min(end, at + _MOST_LOOKED_AT)].lstrip(" *_`\"')")
    return _VERB.match(rest) is not None and _APPROVING.search(rest) is None


def _describes(phrase: re.Match[str], sign: str) -> bool:
    """Check whether a noun phrase behind a sign is a judgement or a description, and neither praise nor a reason."""
    part = _PART_END.split(phrase["rest"], maxsplit=1)[0]
    rest = phrase["rest"][len(part) :]
    if rest.startswith((",", "，")) and _PRAISING_VERB.match(rest, 1):
        return False
    begin = phrase[0][: len(phrase[0]) - len(phrase["rest"])]
    head = _RELATIVE.split(part, maxsplit=1)[0]
    verb = _VERB.search(head)
    if _SECONDARY.search(begin + (part[: verb.start()] if verb else part)):
        return True
    if verb is not None or sign == "(":
        return False  # in brackets, it is a gloss, as in "Canberra (the capital of Australia)"
    if contains("mistake", part) or contains("rejection", part):
        return True
    is_aside = sign in {",", "，"}
    if is_aside and _is_apposition(rest):
        return not (_APPROVING.search(part) and _CHOSEN.search(part))
    is_definite = phrase.groupdict().get("definite") is not None
    is_long = is_definite and len(_PREPOSITION.split(head, maxsplit=1)[0].split()) > _MOST_WORDS
    return not is_long and _APPROVING.search(part if is_aside else phrase["rest"]) is None


def _is_apposition(rest: str) -> bool:
    """Check whether a comma and a verb follow a noun phrase, so that a sentence about the option goes on behind it."""
    words = rest[1:].split(maxsplit=1) if rest.startswith((",", "，")) else []
    return bool(words) and _VERB.fullmatch(words[0]) is not None
