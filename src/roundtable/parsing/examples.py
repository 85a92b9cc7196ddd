"""Objects that a text only shows as an example or as a template of the form, and that are no answer."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from roundtable.parsing.json_in_text import MAX_CHARS, outermost
from roundtable.reading.form_texts import says_nothing

__all__ = ["without_examples"]

_EXAMPLE: Final = (
    r"(?:for (?:example|instance)|as an? (?:example|illustration)|e\.g\.|(?:an? |the )?(?:example|sample)s?"
    r"|zum beispiel|als beispiel|z\.\s?b\.|beispiel(?:antwort|ausgabe)?|par exemple|(?:un )?exemple|por ejemplo"
    r"|(?:un )?ejemplo|ad esempio|(?:un )?esempio|por exemplo|(?:um )?exemplo|bijvoorbeeld|(?:een )?voorbeeld"
    r"|na przykład|przykład|например|пример|örneğin|örnek|例如|比如|示例|例えば|たとえば|예를 들어|예시)"
)
_FORM: Final = (
    r"(?:json(?: object)?|answer|output|response|reply|result|format|form|object|ballot|vote|it|antwort|ausgabe|réponse"
    r"|respuesta|risposta|resposta|antwoord|odpowiedź|ответ)"
)
_ANNOUNCED: Final = re.compile(
    rf"[\s>*_#-]*+{_EXAMPLE}(?![^\W\d_])"
    rf"|(?:^|[\s>*_#-])(?:the|a|an|your|this|that|such an?|any)\s(?:[^\W\d_]+\s){{0,2}}?{_FORM}\s"
    r"(?:should|could|might|would|can|may|must|will|has to)\s(?:then\s|simply\s)?(?:look|be|read|appear)(?![a-z])"
    r"|(?:die|eine|deine) (?:json-)?antwort (?:sollte|könnte|kann|würde) (?:so|wie folgt)"
    r"|la réponse (?:devrait|pourrait|peut) ressembler|la respuesta (?:debería|podría|puede) (?:verse|ser)"
    r"|la risposta (?:dovrebbe|potrebbe) essere|a resposta (?:deveria|poderia) ser",
    re.IGNORECASE,
)
"""Words that announce an example, in the line before an object."""
_TEMPLATE_NOUN: Final = (
    r"(?:format|template|schema|structure|skeleton|form|vorlage|modèle|plantilla|modello|modelo|sjabloon|szablon|шаблон"
    r"|формат|格式|模板|形式|형식)"
)
_TEMPLATE: Final = re.compile(
    r"[\s>*_#-]*+(?:here(?: is|'s)\s)?(?:the\s|an?\s)?(?:(?:required|requested|expected|json|output|answer|response"
    rf"|following)\s){{0,3}}{_TEMPLATE_NOUN}(?![^\W\d_])",
    re.IGNORECASE,
)
"""Words that announce the form, which may be filled in or not."""
_OWN: Final = re.compile(
    r"(?<![^\W\d_])(?:my|our|mine|i|we|i'd|i'll|final|meine?|ich|ma|mon|je|mi|mia|io|minha|meu|eu|mijn|ik|moja|mój|мой|я)"
    r"(?![^\W\d_])|我|私|저|제|나",
    re.IGNORECASE,
)
"""Words that make what follows the author's own answer."""
_SENTENCE: Final = re.compile(r"[.!?]\s+(?=[A-Z])")
_TEXT: Final = re.compile(r":\s?\"(?P<text>[^\"\n]{0,40})\"")
_BRACE: Final = re.compile(r"\{")
_MOST_BRACES: Final = 20
_MOST_LEAD: Final = 200
_AROUND: Final = " \t\r\n`~\"'"


def without_examples(text: str) -> str:
    r"""Return a text of the same length in which spaces stand for the objects that it only shows as examples.

    A line directly before the object announces it: *As an example:*, *The JSON should look like this:*. A template, as
    in *Here is the format:*, is one only if a part of it isn't filled in. Words such as *my answer* in this line make
    the object an answer.

    Example:
        >>> without_examples('As an example: {"choice": "B"}').rstrip()
        'As an example:'
        >>> without_examples('Here is my answer as an example of brevity: {"choice": "B"}').count("B")
        1
    """
    braces = [brace.start() for brace in islice(_BRACE.finditer(text), _MOST_BRACES)]
    if len(braces) < _MOST_BRACES and not any(_lead_of(text, brace) for brace in braces):
        return text  # as nearly all do, and finding where objects end takes long
    spans, tail = outermost(text[:MAX_CHARS])
    for start, end in [*spans, *([tail.span] if tail is not None else [])]:
        lead = _lead_of(text, start)
        if lead and _is_announced(lead, text[start:end]):
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _lead_of(text: str, start: int) -> str:
    """Return the line directly before an object if it may announce an example; else an empty text."""
    before = text[max(0, start - _MOST_LEAD) : start].rstrip(_AROUND).removesuffix("json").rstrip(_AROUND)
    lead = _SENTENCE.split(before.rpartition("\n")[2])[-1].rstrip(" *_")
    is_direct = lead.endswith((":", "\uff1a")) or "\n" not in text[max(0, start - _MOST_LEAD) + len(before) : start]
    if not lead or not is_direct or lead.endswith((".", "!", "。")) or _OWN.search(lead) is not None:
        return ""
    return lead if _ANNOUNCED.match(lead) is not None or _TEMPLATE.match(lead) is not None else ""


def _is_announced(lead: str, shown: str) -> bool:
    """Check whether a line of `_lead_of` announces an example, or a form that isn't filled in."""
    return _ANNOUNCED.match(lead) is not None or any(says_nothing(text["text"]) for text in _TEXT.finditer(shown))
