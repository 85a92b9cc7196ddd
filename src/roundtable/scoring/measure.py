"""A measured value, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

__all__ = ["Figure", "Measure"]

Figure: TypeAlias = Fraction | float | int
"""A number: exact where arithmetic allows it, a float where it does not (logarithms, roots)."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A value with its side figures; undefined is `None` with a reason, never a number that looks like one.

    Example:
        >>> Measure(None, "nobody voted")
        Measure(value=None, reason='nobody voted')
        >>> float(Measure(Fraction(2, 3)))
        0.6666666666666666
    """

    value: Figure | None
    """The value; `None` when undefined."""
    reason: str | None = None
    """Why there is none."""
    figures: Mapping[str, Figure] = field(default_factory=dict, repr=False, hash=False)
    """Numbers that belong to the value, such as a test statistic."""

    def __float__(self) -> float:
        """Give the value as a float.

        Raises:
            ValueError: It is undefined; the message is the reason.
        """
        if self.value is None:
            raise ValueError(f"undefined: {self.reason}")
        return float(self.value)
