"""Options that are numbers, in a short reply that counts: *There are 5 primes*, beside the option `B) 5`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from roundtable.core.types.answers import Reading
from roundtable.reading.number_words import worded_number
from roundtable.reading.numbers import whole_number
from roundtable.reading.options import option_texts, own_labels
from roundtable.reading.values import read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["counted_option"]

_COUNTED: Final = re.compile(
    r"[\s*_]*(?:(?:so|thus|hence|therefore|also|donc|entonces|quindi|dus),?\s)?(?:there (?:are|were)"
    r"|that(?:'s| is| makes| gives)|this (?:makes|gives)|it(?:'s| is| makes)|(?:the )?(?:sum|total|result)(?: is|:)"
    r"|es (?:sind|gibt)|das (?:sind|macht)|il y (?:en )?a|(?:cela|ça) fait|hay|son|ci sono|sono|há|são|er zijn|dat is"
    r"|(?:一共|总共|共)?有|это)[\s*_]*(?P<number>[0-9]++)[*_]*"
    r"(?:\s(?!(?:agent|round|option|choice|answer|candidate|debater|participant|model|vote|voter|of)s?(?![a-z]))"
    r"[^\W\d_]+)?[*_.!\s]*",
    re.IGNORECASE,
)
"""A sentence that counts, and says nothing else."""
_MOST_CHARS: Final = 80


def counted_option(text: str, start: int, options: Sequence[str], labels: Sequence[str]) -> Reading | None:
    """Return the option whose number is all that a short reply says, or that it counts; `None` if there is none.

    All options are different numbers, and none has a number as its label.

    Args:
        text: The folded text.
        start: Start of the answer, behind the thoughts.
        options: The options of the question.
        labels: The labels under which the question lists them; may be empty.
    """
    reply = text[start:].strip()
    values = [number.value for shown in option_texts(options) if (number := whole_number(shown)) is not None]
    has_numbers = any(label.strip("()[]. ").isdigit() for label in (*labels, *own_labels(options)))
    if not reply or len(reply) > _MOST_CHARS or has_numbers or len(set(values)) != len(options):
        return None
    counted = _COUNTED.fullmatch(reply)
    value = worded_number(reply) if counted is None and " " not in reply else None
    if counted is not None and read_number(text, start).certainty == "certain":
        value = int(counted["number"])
    if value not in values:
        return None
    at = start + text[start:].index(reply)
    begin, end = counted.span("number") if counted is not None else (0, len(reply))
    value_at = (at + begin, at + end)
    return Reading(
        certainty="certain", rule="closing", value=options[values.index(Fraction(value or 0))], span=value_at
    )
