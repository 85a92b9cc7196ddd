"""Properties of OpenAI's models that follow from their names, for every wire format."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_reasoning_model", "rejects_temperature"]

_REASONING_MODEL: Final = re.compile(r"(?:.*/)?(?:o\d|codex-|gpt-(?:[5-9]|\d\d)(?!\d))")
_TAKES_TEMPERATURE: Final = re.compile(r"gpt-5\.[124](?![\d.])(?!-(?:codex|pro))|-chat")


def is_reasoning_model(model: str) -> bool:
    """Check whether a model of OpenAI reasons before it answers.

    Example:
        >>> [is_reasoning_model(model) for model in ("gpt-5.2", "o4-mini", "gpt-4.1", "gpt-5-chat-latest")]
        [True, True, False, False]
    """
    return bool(_REASONING_MODEL.match(model)) and "-chat" not in model


def rejects_temperature(model: str) -> bool:
    """Check whether a model rejects a sampling temperature. Models that always reason reject it.

    See https://platform.openai.com/docs/guides/latest-model.

    Example:
        >>> [rejects_temperature(model) for model in ("gpt-5-mini", "o3", "gpt-5.2", "gpt-4.1")]
        [True, True, False, False]
    """
    return is_reasoning_model(model) and not _TAKES_TEMPERATURE.search(model)
