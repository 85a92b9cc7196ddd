"""The numbers under which members of a council see answers, resolved to names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from roundtable.modes.delphi import numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.types import DebateConfig

__all__ = ["numbered_answers", "with_names"]

_NUMBERED: Final = re.compile(r"\bAnswer [0-9]{1,3}\b")


def numbered_answers(config: DebateConfig, names: Mapping[str, str]) -> dict[str, str]:
    """Return who gave each answer that a council saw by number, such as `Answer 2`; empty for other modes.

    Args:
        config: The debate.
        names: Names of its agents by id, by seat.
    """
    if config.mode != "council":
        return {}
    numbers = numbers_of(config.seed, config.topic, tuple(names))
    return {f"Answer {numbers[agent]}": name for agent, name in names.items()}


def with_names(text: str, numbered: Mapping[str, str]) -> str:
    """Return text in which each known number of an answer is followed by the name of its author.

    Example:
        >>> with_names("Answer 2 > Answer 3", {"Answer 2": "Bo"})
        'Answer 2 (Bo) > Answer 3'
    """
    if not numbered:
        return text

    def named(match: re.Match[str]) -> str:
        name = numbered.get(match.group())
        return match.group() if name is None else f"{match.group()} ({name})"

    return _NUMBERED.sub(named, text)
