"""Sentences of Russian and Arabic that call an option something without a verb: *Казань — лучший выбор*.

The dash of Russian stands for *is*, so what follows it may be any statement: *Казань — плохой выбор*.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_only_described", "is_praised_without_verb"]

_CLOSERS: Final = r"[\s*_`\"')\]]*+"
_DASH: Final = re.compile(
    rf"{_CLOSERS}(?:(?:\u2014|(?<=\s)-{{1,2}}(?=\s))\s?(?:это\s)?|,\sэто\s)[*_`\"']*+(?=[\u0400-\u04ff])", re.IGNORECASE
)
_REPLY: Final = re.compile(r"(?<![^\W\d_])(?:да|нет|за|против|согласен|согласна)\Z", re.IGNORECASE)
"""Options behind which a dash leads to a reason: *Да — это безопасно*."""
_END: Final = (
    r"(?=[\s*_`\"')\]]*+(?:[.;:!\n(]|\Z|,(?!\s?(?:но|а|однако|если|хотя|ولكن|لكن)(?![^\W\d_])))"
    r"|\s(?:потому|так\sкак|поскольку|لأن|для\s(?:нас|наш|эт(?:ой|ого)|данн)"
    r"|из\s(?:всех|тр[её]х|двух|этих|предложенных|вариантов)))"
)
_BEST: Final = re.compile(
    r"(?:(?:явно|безусловно|определ[её]нно|однозначно|самый|самая|самое)\s){0,2}"
    r"(?:наи)?(?:лучш|оптимальн|идеальн|правильн|верн|подходящ)(?:ий|ый|ая|ое|ее|яя)"
    rf"(?:\s(?:выбор|вариант|ответ|город|место|решение|площадка|кандидат))?{_END}"
    r"|(?:мо[йя]|наш[аеу]?)\s(?:(?:окончательный|итоговый|главный)\s)?(?:выбор|вариант|ответ|голос|рекомендация)"
    rf"{_END}",
    re.IGNORECASE,
)
"""What calls an option the best behind the dash."""
_REASON: Final = re.compile(r"(?:потому|так\sкак|поскольку|ведь|из-за|благодаря)(?![^\W\d_])", re.IGNORECASE)
_ARABIC: Final = re.compile(
    rf"{_CLOSERS}(?:هي|هو)\s(?:(?:(?:الخيار|المدينة|المكان|الحل|الجواب|الإجابة)\s)?(?:الأفضل|الأنسب|الأمثل|الصحيح|الصحيحة)"
    rf"|(?:أفضل|أنسب)\s(?:خيار|مدينة|مكان|حل)|(?:اختياري|خياري|إجابتي)){_END}"
)
_OWN: Final = re.compile(
    r"[\s*_`\"'(]*+(?:(?:[^,.;:]{1,80},\s?(?:а|но|зато|поэтому|لذلك|لذا)\s)?"
    r"(?:(?:(?:я|мы)\s)?(?:считаю|считаем|думаю|думаем|полагаю|уверена?)|по[\s-]моему(?:\sмнению)?|на\sмой\sвзгляд"
    r"|итак|поэтому|таким\sобразом|в\sитоге|следовательно|значит|в\sцелом"
    r"|(?:أنا\s)?(?:أعتقد|أرى|أظن)\sأن|في\sرأيي|برأيي|لذلك|لذا|إذن|إذا)?(?:,?\sчто)?[\s,:*_`\"'(]*+)",
    re.IGNORECASE,
)
"""What may stand before such a sentence of the author."""


def is_only_described(text: str, at: int, end: int) -> bool:
    """Check whether a dash of Russian follows an option, and behind it no praise and no reason.

    Args:
        text: The folded text.
        at: End of the option.
        end: Where to stop.

    Example:
        >>> is_only_described("Казань — столица", 6, 16), is_only_described("Казань — мой выбор", 6, 18)
        (True, False)
    """
    dash = _DASH.match(text, at, end)
    if dash is None or _REPLY.search(text, max(0, at - 10), at):
        return False
    return _BEST.match(text, dash.end(), end) is None and _REASON.match(text, dash.end(), end) is None


def is_praised_without_verb(text: str, begin: int, start: int, at: int, end: int) -> bool:
    """Check whether the author calls an option the best in Russian or Arabic, without a verb.

    Args:
        text: The folded text.
        begin: Start of the sentence.
        start: Start of the option.
        at: End of the option.
        end: End of the sentence.

    Example:
        >>> is_praised_without_verb("Думаю, Казань — лучший выбор", 0, 7, 13, 28)
        True
    """
    dash = _DASH.match(text, at, end)
    is_best = _BEST.match(text, dash.end(), end) if dash else _ARABIC.match(text, at, end)
    return is_best is not None and _OWN.fullmatch(text, begin, start) is not None
