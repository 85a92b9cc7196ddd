"""What the names of OpenAI's models say about them, whatever the wire."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["reasons", "refuses_temperature"]

_FAMILY: Final = re.compile(r"(?:.*/)?(?:o\d|codex-|gpt-(?:[5-9]|\d\d)(?!\d))")
_KEEPS_TEMPERATURE: Final = re.compile(r"gpt-5\.[124](?![\d.])(?!-(?:codex|pro))|-chat")


def reasons(model: str) -> bool:
    """Tell whether a model of OpenAI reasons before it answers.

    Example:
        >>> [reasons(model) for model in ("gpt-5.2", "o4-mini", "gpt-4.1", "gpt-5-chat-latest")]
        [True, True, False, False]
    """
    return bool(_FAMILY.match(model)) and "-chat" not in model


def refuses_temperature(model: str) -> bool:
    """Tell whether a model refuses a sampling temperature: those do in which reasoning cannot be switched off.

    See https://platform.openai.com/docs/guides/latest-model.

    Example:
        >>> [refuses_temperature(model) for model in ("gpt-5-mini", "o3", "gpt-5.2", "gpt-4.1")]
        [True, True, False, False]
    """
    return reasons(model) and not _KEEPS_TEMPERATURE.search(model)
