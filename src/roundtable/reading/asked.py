"""What a question asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = ["Asked", "QuestionKind"]

QuestionKind: TypeAlias = Literal["choice", "number", "yes_no", "formula", "open"]
"""What a question asks for: one of several options, a number, yes or no, a formula, or an answer in own words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The kind of a question, with its options."""

    kind: QuestionKind = "open"
    """What the question asks for."""
    options: tuple[str, ...] = ()
    """The options of a choice, as the question spells them; empty for other kinds."""
    labels: tuple[str, ...] = ()
    """Labels under which the question lists the options, one each, if they are not part of the options."""
    is_short: bool = False
    """Whether the text to read is a short part of a form, which holds nothing but the answer."""

    def __post_init__(self) -> None:
        """Check the kind.

        Raises:
            ValueError: The kind is unknown.
        """
        if self.kind not in get_args(QuestionKind):
            raise ValueError(f"a question asks for {', '.join(get_args(QuestionKind))}, not {self.kind!r}")
